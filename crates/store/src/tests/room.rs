//! Commits near the size that a state may have.

use descent_core::doc::Node;
use descent_core::state::RunStatus;

use super::*;

/// The bytes that ordinary commits may use.
const LESS: usize = 15 << 20;
/// A little less than the largest value.
const MUCH: usize = 60_000;

type Grow = fn(&mut State, &mut ChangeSet);

fn much() -> String {
    "x".repeat(MUCH)
}

fn set_status(state: &mut State, touched: &mut ChangeSet, status: RunStatus) {
    Arc::make_mut(&mut state.run).status = status;
    touched.run = true;
}

/// A running state with that much room for ordinary commits.
fn with_room(left: usize) -> (World, Store) {
    let world = World::new();
    let mut store = world.store();
    bump(&mut store).unwrap();
    let fill = LESS - left - world.bytes().len();
    let filled = commit(&mut store, |state, touched| {
        describe(state, touched, "test", &"x".repeat(fill));
        set_status(state, touched, RunStatus::Running);
    });
    filled.unwrap();
    (world, store)
}

fn commit(
    store: &mut Store,
    change: impl Fn(&mut State, &mut ChangeSet),
) -> Result<Arc<LoadedState>, StoreError> {
    let committed = store.commit(|now| Ok::<_, Infallible>(Some(next(now, &change))));
    committed.map_err(|error| match error {
        CommitError::Store(error) => error,
        CommitError::Decide(never) => match never {},
    })
}

#[track_caller]
fn refused(
    world: &World,
    store: &mut Store,
    what: &str,
    grow: impl Fn(&mut State, &mut ChangeSet),
) {
    let before = world.bytes();
    assert_eq!(code(commit(store, grow)), "E-STATE-TOO-LARGE", "{what}");
    assert!(world.bytes() == before, "{what}");
}

#[test]
fn whatever_grows_beyond_the_room_is_refused_and_an_end_or_a_request_to_stop_has_room_left() {
    let (world, mut store) = with_room(MUCH / 2);
    let growers: [(&str, Grow); 4] = [
        ("a task, or guidance in it", |state, touched| {
            describe(state, touched, "build", &much());
        }),
        ("the agreement", |state, touched| {
            Arc::make_mut(&mut state.objective).goal = much();
            touched.objective = true;
        }),
        ("the plan", |state, touched| {
            state.plan = Some(Arc::new(Node::string(much())));
            touched.plan = true;
        }),
        ("the record of the run", |state, touched| {
            Arc::make_mut(&mut state.run).parent = Some(Node::string(much()));
            touched.run = true;
        }),
    ];
    for (what, grow) in growers {
        refused(&world, &mut store, what, grow);
    }
    bump(&mut store).unwrap();
    let ends: Grow = |state, touched| {
        describe(state, touched, "build", &much());
        set_status(state, touched, RunStatus::Stopped);
    };
    let ended = commit(&mut store, ends).unwrap();
    assert!(ended.bytes().len() > LESS);
    refused(&world, &mut store, "more of it", |state, touched| {
        describe(state, touched, "build", &(much() + "x"));
    });
    let asks: Grow = |state, touched| {
        Arc::make_mut(&mut state.control).stop_requested = true;
        touched.control = true;
    };
    commit(&mut store, asks).unwrap();
    // Room is made in steps: what makes it no larger is taken.
    let shortens: Grow = |state, touched| describe(state, touched, "build", &much()[1..]);
    commit(&mut store, shortens).unwrap();
    world.store().read().expect("what was written can be read");
}

#[test]
fn a_state_has_no_more_values_than_a_reader_takes() {
    let world = World::new();
    let mut store = world.store();
    let with = |values: usize| {
        move |state: &mut State, touched: &mut ChangeSet| {
            let list = Node::array(vec![Node::uint(1); values]);
            state.plan = Some(Arc::new(Node::object(vec![("list", list)])));
            touched.plan = true;
        }
    };
    refused(&world, &mut store, "950,000 values and more", with(950_000));
    commit(&mut store, with(949_000)).unwrap();
    let told = commit(&mut store, with(950_000)).unwrap_err().to_string();
    let words = "950000 is the most: internal 949010 values (the largest: plan, 949002 values), ";
    assert!(told.contains(words), "{told}");
    world.store().read().expect("what was written can be read");
}

#[test]
fn what_is_large_is_told() {
    let (_world, mut store) = with_room(0);
    let error = bump(&mut store).and_then(|_| bump(&mut store).map(drop));
    assert!(error.is_ok(), "a count of the same length");
    let grow: Grow = |state, touched| describe(state, touched, "build", &much());
    let told = commit(&mut store, grow).unwrap_err().to_string();
    let words = "atoms 14.9 MiB (the largest: test, 14.9 MiB)";
    assert!(told.contains(words), "{told}");
}
