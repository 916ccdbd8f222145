//! Saves into a file that a commit swapped out: no text is removed, and none comes from an earlier agreement.

use std::sync::Mutex;

use super::edits::{edited, save_by_rename};
use super::*;
use crate::testing::faulty::Faulty;

#[test]
fn nobody_can_begin_to_write_into_what_a_sweep_is_about_to_remove() {
    use std::os::unix::fs::OpenOptionsExt;
    let world = World::new();
    if world.store().mode().unwrap() != Mode::Full {
        println!("not tried: this file system has no leases");
        return;
    }
    bump(&mut world.store()).unwrap();
    let left = world.leftovers();
    assert_eq!(left.len(), 1, "{left:?}");
    let old = world.path().join(".descent/state.json.d").join(&left[0]);
    let seen = Arc::new(Mutex::new(None));
    let outcome = Arc::clone(&seen);
    let begin = move |call: &str, _: usize| {
        if call == "unlink" && old.exists() {
            let mut options = fs::OpenOptions::new();
            let opened = options.write(true).custom_flags(libc::O_NONBLOCK).open(&old);
            *outcome.lock().unwrap() = Some(opened.map_err(|error| error.kind()).err());
        }
    };
    world.store_on(Faulty::with(begin)).tend(later()).unwrap();
    let seen = seen.lock().unwrap().take();
    assert_eq!(seen, Some(Some(io::ErrorKind::WouldBlock)));
}

fn opened(world: &World) -> fs::File {
    let mut options = fs::OpenOptions::new();
    options.write(true).open(world.file()).unwrap()
}

/// An edit of the words of another key than [`edited`] changes.
fn in_capitals(text: &str) -> String {
    let key = r#""background_intent": ""#;
    text.replace(key, &format!("{key}BACKGROUND "))
}

fn save_into(mut open: fs::File, text: &str) {
    open.set_len(0).unwrap();
    io::Write::write_all(&mut open, text.as_bytes()).unwrap();
}

#[test]
fn a_save_over_a_late_one_that_is_not_adopted_yet_costs_neither() {
    let world = World::new();
    let late = edited(&world.text());
    let mut store = world.store();
    let open = opened(&world);
    bump(&mut store).unwrap();
    save_into(open, &late);
    let before = world.text();
    store.tend(later()).unwrap();
    assert_eq!(world.text(), late);
    // An editor that had read the state before it held the late save.
    save_by_rename(&world.file(), &in_capitals(&before));
    bump(&mut store).unwrap();
    store.tend(later()).unwrap();
    assert!(world.text().contains("BACKGROUND"));
    let rescued = store.rescued();
    assert_eq!(rescued.len(), 1);
    assert_eq!(fs::read_to_string(&rescued[0]).unwrap(), late);
    store.tend(later()).unwrap();
    assert_eq!(world.leftovers(), ["state.json.rescued-1"]);
}

/// The first save is written after a commit has taken the name from its file, and before that is noticed.
#[test]
fn a_save_over_one_that_a_commit_gives_the_name_back_costs_neither() {
    let world = World::new();
    let (late, before, file) = (edited(&world.text()), world.text(), world.file());
    let other = in_capitals(&before);
    let (open, text) = (Mutex::new(Some(opened(&world))), late.clone());
    let step = Mutex::new(0);
    let person = move |call: &str, _: usize| {
        let mut step = step.lock().unwrap();
        match (*step, call) {
            (0 | 2, "exchange") => *step += 1,
            (1, _) => {
                save_into(open.lock().unwrap().take().unwrap(), &text);
                *step += 1;
            }
            (3, _) => {
                save_by_rename(&file, &other);
                *step += 1;
            }
            _ => {}
        }
    };
    let mut store = world.store_on(Faulty::with(person).lacking(&["lease"]));
    bump(&mut store).unwrap();
    store.tend(later()).unwrap();
    assert!(world.text().contains("BACKGROUND"));
    let rescued = store.rescued();
    assert_eq!(rescued.len(), 1, "{:?}", world.leftovers());
    assert_eq!(fs::read_to_string(&rescued[0]).unwrap(), late);
}

#[test]
fn a_late_save_in_a_directory_without_second_names_is_kept_beside_the_state() {
    let world = World::new();
    let late = edited(&world.text());
    let mut store = world.store_on(Faulty::default().lacking(&["link"]));
    let open = opened(&world);
    bump(&mut store).unwrap();
    save_into(open, &late);
    let before = world.text();
    store.tend(later()).unwrap();
    assert_eq!(world.text(), before);
    let rescued = store.rescued();
    assert_eq!(fs::read_to_string(&rescued[0]).unwrap(), late);
}

#[test]
fn a_late_save_of_an_earlier_agreement_is_kept_and_does_not_take_the_name() {
    let world = World::new();
    let mut store = world.store();
    let text = edited(&world.text());
    let late = opened(&world);
    let mut other = fixture();
    other.lineage = descent_core::id::Lineage::new("0298c0de-other");
    store.replace(other, true).unwrap();
    save_into(late, &text);
    store.tend(later()).unwrap();
    assert_eq!(store.read().unwrap().state.lineage.as_str(), "0298c0de-other");
    assert_eq!(store.rescued().len(), 1);
}
