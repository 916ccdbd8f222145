//! The workspace `shadow`: the same operations on a directory without a repository.

use super::*;

fn shadow(more: Constraints) -> Constraints {
    Constraints { workspace: Some(Workspace::Shadow), ..more }
}

fn plain() -> World {
    let world = World::empty();
    put(world.top().join("a.txt"), "one\n");
    put(world.top().join("data/x"), "x\n");
    world
}

fn open(world: &World) -> Worktrees {
    world.open(&shadow(linking(&["data"])))
}

fn lineage(world: &World) -> PathBuf {
    world.dir.path().canonicalize().unwrap().join("cache/1-2-3")
}

#[test]
fn a_plain_directory_has_a_start_attempts_checks_and_a_result() {
    let world = plain();
    let w = open(&world);
    let from = w.start().unwrap();
    assert_eq!((from.head.clone(), from.dirty), (from.commit.clone(), false));
    let made = w.for_attempt(0, Some(&from.commit), Warmth::Cold).unwrap();
    assert_eq!(read(made.path.join("data/x")), "x\n", "linked");
    put(made.path.join("b.txt"), "b\n");
    put(made.path.join("data/y"), "in the linked one\n");
    let merge = taken(&w, &from.commit, &from.commit, "m\n");
    let (one, files, _) = clean(merge);
    assert_eq!(files, ["b.txt"]);
    w.follow(&one).unwrap();
    let result = w.deliver(&one).unwrap();
    assert_eq!(Some(result), result_in(&world));
    assert!(!world.top().join("b.txt").exists() && !world.top().join(".git").exists());
    let applied = w.apply(&from.commit, &one, false).unwrap();
    assert!(matches!(applied, ApplyOutcome::Files { files, .. } if files == ["b.txt"]));
    assert_eq!(read(world.top().join("b.txt")), "b\n");
    assert!(!world.top().join(".git").exists());
}

fn result_in(world: &World) -> Option<PathBuf> {
    let mut places = fs::read_dir(lineage(world)).unwrap().flatten();
    let place = places.find(|place| place.path().join("project").exists())?;
    Some(place.path().join("result"))
}

#[test]
fn a_start_that_was_lost_is_back_where_the_files_are_as_they_were() {
    let world = plain();
    let w = open(&world);
    let from = w.start().unwrap();
    let (one, ..) = clean(change(&w, &from.commit, &from.commit, "b.txt", "b\n"));
    fs::remove_dir_all(world.top().join(".descent/state.json.d/repository")).unwrap();
    let w = open(&world);
    assert!(!w.start_is_there(&from).unwrap());
    put(world.top().join("a.txt"), "two\n");
    assert!(!w.remake_start(&from).unwrap());
    put(world.top().join("a.txt"), "one\n");
    assert!(w.remake_start(&from).unwrap() && w.start_is_there(&from).unwrap());
    let commits = BTreeSet::from([one.clone()]);
    assert_eq!(w.mend(Some(&from), &commits).unwrap(), commits);
}

#[test]
fn a_project_that_was_moved_keeps_what_was_made_of_it() {
    let world = plain();
    let w = open(&world);
    let from = w.start().unwrap();
    let (one, ..) = clean(change(&w, &from.commit, &from.commit, "b.txt", "b\n"));
    let moved = world.top().with_file_name("moved");
    fs::rename(world.top(), &moved).unwrap();
    let opened = world.try_open(&moved, &shadow(linking(&["data"])));
    let w = opened.unwrap().trees().unwrap().clone();
    w.tidy().unwrap();
    assert!(w.is_there(&one).unwrap() && w.start_is_there(&from).unwrap());
    let made = w.for_attempt(0, Some(&one), Warmth::Cold).unwrap();
    assert_eq!(read(made.path.join("data/x")), "x\n");
}

#[test]
fn what_nothing_came_of_leaves_nothing() {
    let world = plain();
    let w = open(&world);
    let base = start(&w);
    w.for_checks(Checkout::Verify, Some(&base), Warmth::Cold).unwrap();
    w.discard().unwrap();
    assert!(!lineage(&world).exists());
}

#[test]
fn more_than_is_usual_is_told_with_where_it_is_unless_it_is_linked() {
    let world = plain();
    let size = |links: &[&str]| size_of(&world.top(), &linking(links)).unwrap();
    assert_eq!(size(&[]), Size::Usual);
    let big = fs::File::create(world.top().join("data/big")).unwrap();
    big.set_len(3 << 30).unwrap();
    let Size::Large { what, largest } = size(&[]) else {
        panic!("usual");
    };
    assert_eq!((what, largest), ("more than 2 GB of files", "data".into()));
    assert_eq!(size(&["data"]), Size::Usual);
    world.git(&["init", "-q", "data"]);
    assert_eq!(size(&[]), Size::Usual, "a repository inside is left out");
}
