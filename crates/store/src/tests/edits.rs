//! A person's saves, by any editor's method, at any moment of a commit.

use std::io::{Seek, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use descent_core::id::Digest;

use super::*;
use crate::passed_over::{Lack, passed_over};
use crate::testing::faulty::Faulty;

pub(super) fn edited(text: &str) -> String {
    let edited = text.replace("It works", "It works well");
    assert_ne!(edited, text);
    edited
}

/// Saves as an editor does that writes a new file and renames it.
pub(super) fn save_by_rename(file: &Path, text: &str) {
    let beside = file.with_file_name("4913");
    fs::write(&beside, text).unwrap();
    fs::rename(beside, file).unwrap();
}

/// The next commit adopts the edit; then nothing is left beside.
fn adopted_and_tended(world: &World) {
    bump(&mut world.store()).unwrap();
    world.store().tend(later()).unwrap();
    assert!(world.leftovers().is_empty(), "{:?}", world.leftovers());
}

/// Both the edit and the commit are there, the edit first.
fn both_stand(world: &World) {
    let now = world.store().read().unwrap();
    assert_eq!(now.state.objective.goal, "It works well");
    assert_eq!((now.state.serial, now.state.run.iteration), (Serial(8), 1));
    assert!(!now.is_foreign);
    assert!(world.store().rescued().is_empty());
    world.store().tend(later()).unwrap();
    assert_eq!(world.store().read().unwrap().bytes(), now.bytes());
    assert!(world.leftovers().is_empty(), "{:?}", world.leftovers());
}

#[test]
fn an_edit_is_noticed_by_the_seal_and_adopted_by_the_next_commit() {
    let world = World::new();
    world.write(edited(&world.text()));
    let mut store = world.store();
    assert!(store.read().unwrap().is_foreign);
    let mut seen = Vec::new();
    let adopt = |now: &LoadedState| {
        seen.push(now.is_foreign);
        Ok::<_, Infallible>(Some(count_one(now)))
    };
    store.commit(adopt).unwrap();
    assert_eq!(seen, [true]);
    both_stand(&world);
}

/// Saves in place just before that call, on a file system without `lacks`.
fn saved_in_place(before: (&'static str, usize), lacks: &'static [&'static str]) {
    let world = World::new();
    let (file, text) = (world.file(), edited(&world.text()));
    let save = move |call: &str, n: usize| {
        if (call, n) == before {
            fs::write(&file, &text).unwrap();
        }
    };
    bump(&mut world.store_on(Faulty::with(save).lacking(lacks))).unwrap();
    both_stand(&world);
}

#[test]
fn a_save_in_place_between_read_and_lease_is_not_lost() {
    saved_in_place(("lease", 1), &[]);
}

#[test]
fn a_save_in_place_between_read_and_exchange_is_not_lost_where_there_are_no_leases() {
    saved_in_place(("exchange", 0), &["lease"]);
}

#[test]
fn a_save_in_place_that_meets_the_exchange_waits_for_it_and_is_not_lost() {
    let world = World::new();
    let (file, text) = (world.file(), edited(&world.text()));
    let (begun, editor) = (std::sync::Barrier::new(2), Mutex::new(None));
    let (begun, editor) = (Arc::new(begun), Arc::new(editor));
    let editors = Arc::clone(&editor);
    let save = move |call: &str, n: usize| {
        if (call, n) != ("exchange", 0) {
            return;
        }
        let (file, text, ready) = (file.clone(), text.clone(), Arc::clone(&begun));
        let thread = std::thread::spawn(move || {
            ready.wait();
            fs::write(&file, &text).unwrap();
        });
        begun.wait();
        *editors.lock().unwrap() = Some(thread);
    };
    let mut store = world.store_on(Faulty::with(save));
    bump(&mut store).unwrap();
    editor.lock().unwrap().take().unwrap().join().unwrap();
    // It came into the file before or after the exchange: it is under the name, or adopted from beside.
    store.tend(later()).unwrap();
    let now = store.read().unwrap();
    assert!(now.is_foreign);
    assert_eq!(now.state.objective.goal, "It works well");
    assert_eq!(store.newest().unwrap().run.iteration, 1);
}

#[test]
fn an_edit_of_a_state_that_had_the_name_for_an_instant_begins_from_it() {
    let world = World::new();
    let (file, text) = (world.file(), edited(&world.text()));
    let seen: Arc<Mutex<Option<State>>> = Arc::default();
    let (opened, is_saved) = (Arc::clone(&seen), AtomicBool::new(false));
    let person = move |call: &str, _: usize| match call {
        "exchange" if !is_saved.swap(true, Ordering::SeqCst) => save_by_rename(&file, &text),
        "identify" => {
            let bytes = fs::read(&file).unwrap();
            let loaded = load(&file, bytes).unwrap();
            let mut seen = opened.lock().unwrap();
            if loaded.state.serial == Serial(8) && seen.is_none() {
                *seen = Some(loaded.state);
            }
        }
        _ => {}
    };
    let mut store = world.store_on(Faulty::with(person));
    bump(&mut store).unwrap();
    let seen = seen.lock().unwrap().take().unwrap();
    let now = store.read().unwrap();
    assert_eq!(now.state.serial, seen.serial);
    assert_ne!(now.state.seal, seen.seal);
    assert_eq!(now.state.objective.goal, "It works well");
    assert_eq!(store.base(&seen).unwrap().objective.goal, "It works");
    // Another process finds it as long as it lies beside.
    let mut other = world.store();
    other.read().unwrap();
    assert_eq!(other.base(&seen).unwrap().objective.goal, "It works");
}

#[test]
fn an_edit_with_another_seal_began_from_none_that_is_known_of_its_serial() {
    let world = World::new();
    let mut store = world.store();
    bump(&mut store).unwrap();
    let mut edit = (*store.newest().unwrap()).clone();
    assert!(store.base(&edit).is_some());
    edit.seal = Some(Digest::sha256(b"of a commit that did not stay"));
    assert!(store.base(&edit).is_none());
    edit.seal = None;
    assert_eq!(store.base(&edit).unwrap().run.iteration, 1);
}

#[test]
fn an_edit_of_a_state_whose_commit_failed_at_the_end_begins_from_it() {
    let world = World::new();
    let mut store = world.store_on(Faulty::refusing("fsync_dir", 5));
    bump(&mut store).unwrap_err();
    let text = world.text();
    save_by_rename(&world.file(), &edited(&text));
    let edit = load(&world.file(), world.bytes()).unwrap().state;
    assert_eq!(store.base(&edit).unwrap().run.iteration, 1);
}

#[test]
fn a_file_that_is_open_for_writing_is_waited_for_and_then_its_bytes_are_taken_up_afterwards() {
    let world = World::new();
    let text = edited(&world.text());
    let mut store = world.store_on(Faulty::default());
    let mut open = fs::OpenOptions::new().write(true).open(world.file()).unwrap();
    bump(&mut store).unwrap();
    store.tend(later()).unwrap();
    assert_eq!(world.leftovers().len(), 1, "it is open, whatever its age");
    open.set_len(0).unwrap();
    store.tend(later()).unwrap();
    assert_eq!(world.leftovers().len(), 1, "nor is half of it a save");
    open.write_all(text.as_bytes()).unwrap();
    drop(open);
    store.tend(later()).unwrap();
    assert_eq!(world.text(), text);
}

#[test]
fn a_save_by_rename_between_read_and_exchange_is_not_lost() {
    let world = World::new();
    let (file, text) = (world.file(), edited(&world.text()));
    let save = move |call: &str, n: usize| {
        if (call, n) == ("exchange", 0) {
            save_by_rename(&file, &text);
        }
    };
    bump(&mut world.store_on(Faulty::with(save))).unwrap();
    both_stand(&world);
}

#[test]
fn an_editor_that_moves_the_file_away_and_makes_it_anew_is_waited_for() {
    let world = World::new();
    let (file, text) = (world.file(), edited(&world.text()));
    // Absent at the exchange, empty two reads later, whole at the fourth.
    let save = move |call: &str, n: usize| match (call, n) {
        ("exchange", 0) => fs::rename(&file, file.with_file_name("state.json~")).unwrap(),
        ("open", 2) => fs::write(&file, "").unwrap(),
        ("open", 4) => fs::write(&file, &text).unwrap(),
        _ => {}
    };
    bump(&mut world.store_on(Faulty::with(save))).unwrap();
    fs::remove_file(world.path().join(".descent/state.json~")).unwrap();
    both_stand(&world);
}

#[test]
fn of_two_saves_within_one_commit_the_newer_stands_and_the_older_is_kept() {
    let world = World::new();
    let (file, text) = (world.file(), world.text());
    let older = text.replace("It works", "An older thought");
    let (kept, newer) = (older.clone(), edited(&text));
    let save = move |call: &str, n: usize| match (call, n) {
        ("exchange", 0) => save_by_rename(&file, &older),
        ("exchange", 1) => save_by_rename(&file, &newer),
        _ => {}
    };
    bump(&mut world.store_on(Faulty::with(save))).unwrap();
    assert_eq!(world.store().read().unwrap().state.objective.goal, "It works well");
    let rescued = world.store().rescued();
    assert_eq!(rescued.len(), 1);
    assert_eq!(fs::read_to_string(&rescued[0]).unwrap(), kept);
}

#[test]
fn a_person_who_saves_without_end_is_told_so_and_loses_nothing() {
    let world = World::new();
    let (file, text) = (world.file(), world.text());
    let save = move |call: &str, n: usize| {
        if call == "exchange" && n.is_multiple_of(2) {
            let goal = format!("Goal {n}");
            save_by_rename(&file, &text.replace("It works", &goal));
        }
    };
    let Err(CommitError::Store(error)) = bump(&mut world.store_on(Faulty::with(save))) else {
        panic!("committed")
    };
    assert_eq!((error.facts().0, error.facts().1), ("E-BUSY", 75));
    let goal = format!("Goal {}", 2 * (OVERTAKEN_MAX - 1));
    assert_eq!(world.store().read().unwrap().state.objective.goal, goal);
    adopted_and_tended(&world);
}

#[test]
fn a_half_written_save_is_left_alone_until_it_is_whole() {
    let world = World::new();
    let (file, text) = (world.file(), edited(&world.text()));
    let half = text[..text.len() / 2].to_owned();
    let saved = half.clone();
    let save = move |call: &str, n: usize| {
        if (call, n) == ("exchange", 0) {
            fs::write(&file, &saved).unwrap();
        }
    };
    let mut store = world.store_on(Faulty::with(save).lacking(&["lease"]));
    let Err(CommitError::Store(error)) = bump(&mut store) else { panic!("committed") };
    assert_eq!(error.facts().0, "E-STATE-INVALID");
    assert_eq!(world.text(), half);
    world.write(text);
    bump(&mut store).unwrap();
    both_stand(&world);
}

/// An editor that has the file open from before a commit, and writes after it.
fn late_save(world: &World, store: &mut Store, text: &str) {
    let mut open = fs::OpenOptions::new().write(true).open(world.file()).unwrap();
    bump(store).unwrap();
    open.set_len(0).unwrap();
    open.rewind().unwrap();
    open.write_all(text.as_bytes()).unwrap();
}

#[test]
fn a_save_into_the_file_that_lost_its_name_is_taken_up_with_a_base_to_merge_it_on() {
    let world = World::new();
    let text = edited(&world.text());
    let mut store = world.store();
    late_save(&world, &mut store, &text);
    store.tend(UnixMillis(0)).unwrap();
    assert_eq!(store.read().unwrap().state.serial, Serial(8), "it may not be finished yet");
    store.tend(later()).unwrap();
    assert_eq!(world.text(), text);
    let edit = store.read().unwrap();
    assert!(edit.is_foreign);
    assert_eq!(edit.state.serial, Serial(7));
    let mut other = world.store();
    other.read().unwrap();
    assert_eq!(other.base(&begun_at(8)).unwrap().run.iteration, 1);
    // The journal may vanish at any time: the file that the edit replaced lies beside too.
    fs::remove_dir_all(store.place().journal()).unwrap();
    store.tend(later()).unwrap();
    assert_eq!(world.text(), text);
    assert_eq!(other.newest().unwrap().serial, Serial(8));
    adopted_and_tended(&world);
}

#[test]
fn a_late_save_that_is_no_state_is_kept_beside_it() {
    let world = World::new();
    let mut store = world.store();
    late_save(&world, &mut store, "{ half");
    let committed = world.bytes();
    store.tend(later()).unwrap();
    let rescued = store.rescued();
    assert_eq!(fs::read_to_string(&rescued[0]).unwrap(), "{ half");
    assert_eq!(world.bytes(), committed);
}

#[test]
fn what_a_killed_commit_left_is_cleared_away_and_a_persons_file_is_not() {
    let world = World::new();
    let dir = world.path().join(".descent");
    let sealed = world.bytes();
    fs::write(dir.join(".state.json.new-1-1"), &sealed[..90]).unwrap();
    fs::write(dir.join(".state.json.old-0123456789abcdef-1-1"), &sealed).unwrap();
    fs::write(dir.join("state.json.bak"), "mine").unwrap();
    world.store().tend(later()).unwrap();
    assert_eq!(world.leftovers(), ["state.json.bak"]);
}

#[test]
fn sidecars_cleared_away_are_made_again() {
    let world = World::new();
    let mut store = world.store();
    bump(&mut store).unwrap();
    for name in ["state.json.d/commit.lock", ".gitignore"] {
        fs::remove_file(world.path().join(".descent").join(name)).unwrap();
    }
    bump(&mut store).unwrap();
    assert!(world.path().join(".descent/state.json.d/commit.lock").exists());
}

/// Whether the file system is tmpfs or one of the ext family, asked without the store.
#[cfg(target_os = "linux")]
fn has_leases(dir: &Path) -> bool {
    let kind = rustix::fs::statfs(dir).map(|stat| stat.f_type);
    kind.is_ok_and(|kind| [0x0102_1994, 0xef53].contains(&kind))
}

#[cfg(not(target_os = "linux"))]
fn has_leases(_: &Path) -> bool {
    false
}

#[test]
fn nobody_can_begin_to_write_during_the_exchange_where_there_are_leases() {
    use std::os::unix::fs::OpenOptionsExt;
    let world = World::new();
    if world.store().mode().unwrap() != Mode::Full {
        assert!(!has_leases(world.path()), "a file system with leases is not used");
        let why = Lack::Machine("this file system has none");
        return passed_over("read leases", why);
    }
    let (file, seen) = (world.file(), Arc::new(Mutex::new(None)));
    let outcome = Arc::clone(&seen);
    let begin = move |call: &str, n: usize| {
        if (call, n) == ("exchange", 0) {
            let mut options = fs::OpenOptions::new();
            let opened = options.write(true).custom_flags(libc::O_NONBLOCK).open(&file);
            *outcome.lock().unwrap() = Some(opened.map_err(|error| error.kind()).err());
        }
    };
    bump(&mut world.store_on(Faulty::with(begin))).unwrap();
    let seen = seen.lock().unwrap().take();
    assert_eq!(seen, Some(Some(io::ErrorKind::WouldBlock)));
}

/// A store that knows its file, and an edit of it in place and of the same length: only its bytes differ.
fn edited_unnoticed() -> (World, Store) {
    let world = World::new();
    let mut store = world.store();
    bump(&mut store).unwrap();
    let text = world.text().replace("It works", "It broke");
    fs::write(world.file(), text).unwrap();
    (world, store)
}

#[test]
fn who_decides_not_to_write_has_seen_an_edit_of_the_same_length() {
    let (_world, mut store) = edited_unnoticed();
    let now = store.commit(|_| Ok::<_, Infallible>(None)).unwrap();
    assert_eq!(now.state.objective.goal, "It broke");
}

#[test]
fn who_decides_that_it_is_wrong_has_seen_an_edit_of_the_same_length() {
    let (_world, mut store) = edited_unnoticed();
    let decided = store.commit(|now| Err(now.state.objective.goal.clone()));
    assert!(matches!(decided, Err(CommitError::Decide(goal)) if goal == "It broke"));
}

#[test]
fn an_edit_of_the_same_length_is_not_written_over() {
    let (world, mut store) = edited_unnoticed();
    bump(&mut store).unwrap();
    let now = world.store().read().unwrap();
    assert_eq!(now.state.objective.goal, "It broke");
    assert!(!now.is_foreign);
}

/// A commit that got the name adopted a person's save, but was not made durable.
fn taken_up_and_not_made_sure(world: &World) {
    world.write(edited(&world.text()));
    let refused = bump(&mut world.store_on(Faulty::refusing("fsync_dir", 5)));
    assert!(refused.is_err());
    assert!(!world.store().read().unwrap().is_foreign, "it has the name");
}

#[test]
fn what_a_commit_took_up_is_kept_when_an_older_buffer_is_saved_over_that_commit() {
    let world = World::new();
    let text = world.text();
    taken_up_and_not_made_sure(&world);
    save_by_rename(&world.file(), &text.replace("\"serial\": 7", "\"serial\": 7 "));
    bump(&mut world.store()).unwrap();
    world.store().tend(later()).unwrap();
    let rescued = world.store().rescued();
    assert_eq!(rescued.len(), 1, "{:?}", world.leftovers());
    assert_eq!(fs::read_to_string(&rescued[0]).unwrap(), edited(&text));
}

#[test]
fn what_a_commit_took_up_is_let_go_when_another_program_goes_on_from_that_commit() {
    let world = World::new();
    taken_up_and_not_made_sure(&world);
    rescues_nothing(&world);
    let mut store = world.store();
    assert_eq!(store.read().unwrap().state.objective.goal, "It works well");
}

#[test]
fn what_a_commit_took_up_is_let_go_when_an_edit_of_that_commit_is_taken_up() {
    let world = World::new();
    taken_up_and_not_made_sure(&world);
    save_by_rename(&world.file(), &world.text().replace("works well", "works better"));
    rescues_nothing(&world);
}

#[test]
fn what_a_commit_took_up_is_let_go_when_it_is_saved_once_more() {
    let world = World::new();
    let text = edited(&world.text());
    taken_up_and_not_made_sure(&world);
    save_by_rename(&world.file(), &text);
    rescues_nothing(&world);
}

#[track_caller]
fn rescues_nothing(world: &World) {
    let mut store = world.store();
    bump(&mut store).unwrap();
    bump(&mut store).unwrap();
    store.tend(later()).unwrap();
    assert!(store.rescued().is_empty());
    assert!(world.leftovers().is_empty(), "{:?}", world.leftovers());
}
