//! The journal from the view of its readers: every serial, damage, deletion, two writers.

use std::collections::BTreeMap;
use std::path::PathBuf;

use descent_core::difference::Difference;
use descent_core::event::Event;
use descent_core::id::Lineage;

use super::*;
use crate::testing::faulty::Faulty;

struct Past {
    world: World,
    bytes: BTreeMap<u64, Vec<u8>>,
}

impl Past {
    fn of(commits: usize) -> Self {
        let world = World::new();
        let mut past = Self { world, bytes: BTreeMap::new() };
        let mut store = past.store();
        store.write_journal();
        past.go_on(&mut store, commits);
        past
    }

    fn store(&self) -> Store {
        let mut store = self.world.store();
        store.read().unwrap();
        store
    }

    fn go_on(&mut self, store: &mut Store, commits: usize) {
        for _ in 0..commits {
            bump(store).unwrap();
            let loaded = store.read().unwrap();
            self.bytes.insert(loaded.state.serial.0, loaded.bytes().to_vec());
        }
    }

    fn lineage() -> Lineage {
        fixture().lineage
    }

    /// The serials that do not come back as they were committed.
    fn lost(&self) -> Vec<u64> {
        let history = self.store().history();
        let is_lost = |serial: &u64, bytes: &Vec<u8>| {
            let past = history.state(&Self::lineage(), Serial(*serial));
            if let Some(past) = &past {
                assert_eq!(&past.bytes, bytes, "serial {serial} came back as another");
            }
            past.is_none()
        };
        let all = self.bytes.iter();
        all.filter(|(serial, bytes)| is_lost(serial, bytes)).map(|(serial, _)| *serial).collect()
    }

    fn dir(&self) -> PathBuf {
        self.world.path().join(".descent/state.json.d/journal")
    }

    fn files(&self) -> Vec<PathBuf> {
        let files = fs::read_dir(self.dir()).unwrap();
        let mut files: Vec<PathBuf> = files.map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
    }
}

#[test]
fn every_serial_comes_back_byte_for_byte_over_more_than_one_file() {
    let past = Past::of(260);
    assert!(past.files().len() > 1);
    assert_eq!(past.lost(), Vec::<u64>::new());
}

#[test]
fn a_commit_appends_by_what_it_touched_and_not_by_what_the_state_holds() {
    let mut past = Past::of(4);
    let mut store = past.store();
    past.go_on(&mut store, 3);
    let size = |past: &Past| fs::metadata(past.files().last().unwrap()).unwrap().len();
    let before = size(&past);
    past.go_on(&mut store, 10);
    let each = (size(&past) - before) / 10;
    assert!(each < 1_300, "{each} bytes a commit");
}

/// Damages each file at many places; `lost_max` serials may be lost by it.
#[track_caller]
fn check_damage(past: &Past, lost_max: usize) {
    for file in past.files() {
        let whole = fs::read(&file).unwrap();
        let step = (whole.len() / 24).max(1);
        for at in (0..whole.len()).step_by(step) {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x10;
            fs::write(&file, &damaged).unwrap();
            let lost = past.lost();
            assert!(lost.len() <= lost_max, "byte {at} of {}: {lost:?}", file.display());
        }
        fs::write(&file, &whole).unwrap();
    }
    assert_eq!(past.lost(), Vec::<u64>::new());
}

#[test]
fn a_flipped_byte_costs_its_own_line_at_most() {
    check_damage(&Past::of(8), 1);
}

#[test]
fn a_newline_that_is_lost_joins_no_two_lines() {
    let past = Past::of(8);
    let file = past.files().pop().unwrap();
    let whole = fs::read(&file).unwrap();
    let ends = whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    for (at, _) in ends {
        let mut damaged = whole.clone();
        damaged[at] = b'x';
        fs::write(&file, &damaged).unwrap();
        assert_eq!(past.lost(), Vec::<u64>::new(), "the newline at {at}");
    }
}

#[test]
fn a_torn_last_line_costs_the_last_commit_alone_and_the_next_one_stands() {
    let whole = Past::of(6);
    let newest = *whole.bytes.keys().last().unwrap();
    let file = whole.files().pop().unwrap();
    let bytes = fs::read(&file).unwrap();
    let line_at = bytes[..bytes.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    for len in (line_at..bytes.len() - 1).step_by(97) {
        fs::write(&file, &bytes[..len]).unwrap();
        assert_eq!(whole.lost(), vec![newest], "torn at {len}");
    }
    let mut past = whole;
    let mut store = past.store();
    past.go_on(&mut store, 3);
    assert_eq!(past.lost(), vec![newest]);
}

#[test]
fn deleting_the_journal_between_two_commits_costs_what_was_in_it_alone() {
    let mut past = Past::of(5);
    let mut store = past.store();
    past.go_on(&mut store, 5);
    let gone: Vec<u64> = past.bytes.keys().copied().collect();
    fs::remove_dir_all(past.dir()).unwrap();
    past.go_on(&mut store, 5);
    assert_eq!(past.lost(), gone);
}

#[test]
fn another_state_of_the_newest_serial_is_kept_too() {
    let past = Past::of(3);
    let mut state = past.store().read().unwrap().state.clone();
    Arc::make_mut(&mut state.objective).goal = "another goal".to_owned();
    let other = crate::room::written(state.clone(), &mut StateText::of(&state), 0, None).unwrap();
    let place = past.store().place().clone();
    Journal::new(place.journal()).keep(&other, 0);
    let kept = past.store().history().state(&state.lineage, state.serial);
    assert_eq!(kept.unwrap().bytes, other.bytes());
}

#[test]
fn a_journal_that_cannot_be_written_stops_no_commit() {
    let mut past = Past::of(1);
    fs::remove_dir_all(past.dir()).unwrap();
    fs::write(past.dir(), "in the way").unwrap();
    let mut store = past.store();
    past.go_on(&mut store, 3);
    store.write_journal();
    fs::remove_file(past.dir()).unwrap();
    past.go_on(&mut store, 2);
    let kept = past.bytes.len() - past.lost().len();
    assert_eq!(kept, 2);
}

#[test]
fn what_a_power_cut_can_take_back_is_not_kept() {
    let world = World::new();
    let kept = |disk: Faulty| {
        let mut store = world.store_on(disk);
        let committed = store.read().unwrap();
        store.write_journal();
        store.history().newest(&committed.state.lineage)
    };
    let io_error = rustix::io::Errno::IO.raw_os_error();
    assert_eq!(kept(Faulty::refusing("fsync_dir", io_error)), None);
    assert_ne!(kept(Faulty::default()), None);
}

#[test]
fn two_writers_in_turns_lose_nothing() {
    let mut past = Past::of(2);
    let (mut one, mut other) = (past.store(), past.store());
    for _ in 0..6 {
        past.go_on(&mut one, 2);
        past.go_on(&mut other, 1);
    }
    assert_eq!(past.lost(), Vec::<u64>::new());
}

#[test]
fn an_older_commit_that_is_saved_again_is_an_edit_that_began_from_itself() {
    let past = Past::of(6);
    let (newest, _) = past.bytes.last_key_value().unwrap();
    let older = past.bytes.values().nth(2).unwrap();
    let check = |store: &mut Store| {
        let now = store.read().unwrap();
        assert!(now.is_foreign && now.bytes() == *older);
        assert_eq!(store.base(&now.state).unwrap().seal, now.state.seal);
        assert_eq!(store.newest().unwrap().serial.0, *newest);
    };
    let mut follows = past.store();
    fs::write(past.world.file(), older).unwrap();
    check(&mut follows);
    check(&mut past.world.store());
    // Without the journal, only the file is known.
    fs::remove_dir_all(past.dir()).unwrap();
    assert!(!past.world.store().read().unwrap().is_foreign);
    check(&mut follows);
}

#[test]
fn the_oldest_go_and_the_newest_two_files_never() {
    let mut past = Past::of(1);
    for _ in 0..6 {
        let mut store = past.store();
        past.go_on(&mut store, 1);
    }
    let before = past.files();
    crate::journal::prune(&past.dir(), 4, u64::MAX).unwrap();
    assert_eq!(past.files(), before[before.len() - 4..]);
    crate::journal::prune(&past.dir(), 0, 0).unwrap();
    assert_eq!(past.files(), before[before.len() - 2..]);
}

#[test]
fn what_a_person_saved_is_an_entry_of_its_own() {
    let mut past = Past::of(3);
    let text = String::from_utf8(past.world.bytes()).unwrap();
    let saved = text.replace("the hard part", "the easy part");
    fs::write(past.world.file(), &saved).unwrap();
    let mut store = past.store();
    past.go_on(&mut store, 1);
    let history = store.history();
    let newest = *past.bytes.keys().last().unwrap();
    let edit = history.edit(&Past::lineage(), Serial(newest));
    assert_eq!(edit, Some(saved.into_bytes()));
    let commits = history.commits(&Past::lineage());
    let last: Vec<(u64, bool)> = commits.iter().map(|one| (one.serial.0, one.is_edit())).collect();
    assert_eq!(last[last.len() - 2..], [(newest, true), (newest, false)]);
    assert_eq!(past.lost(), Vec::<u64>::new());
}

#[test]
fn an_edit_from_an_old_buffer_is_told_by_what_it_changed_and_not_by_what_came_since() {
    let past = Past::of(6);
    let (oldest, stale) = past.bytes.first_key_value().unwrap();
    let text = String::from_utf8(stale.clone()).unwrap();
    let saved = text.replace("the hard part", "the easy part");
    fs::write(past.world.file(), saved).unwrap();
    let mut store = past.store();
    let newest = Serial(*past.bytes.keys().last().unwrap());
    let newest = store.history().state(&Past::lineage(), newest).unwrap();
    let merge = |now: &LoadedState| {
        assert_eq!(now.state.serial.0, *oldest);
        let mut state = newest.state.clone();
        let mut touched = ChangeSet::default();
        describe(&mut state, &mut touched, "build", "Make it");
        state.serial = Serial(state.serial.0 + 1);
        Ok::<_, Infallible>(Some(CommitContent {
            state,
            touched,
            at: String::new(),
            events: Vec::new(),
        }))
    };
    store.commit(merge).unwrap();
    let commits = store.history().commits(&Past::lineage());
    let told: Vec<String> = commits.last().unwrap().changes.iter().map(Difference::text).collect();
    assert_eq!(told, ["build: description: Build it → Make it"]);
}

#[test]
fn a_replaced_state_stays_reachable_by_its_lineage() {
    let mut past = Past::of(3);
    let mut other = fixture();
    other.lineage = Lineage::new("0298c0de-other");
    let mut store = past.store();
    store.replace(other, true).unwrap();
    bump(&mut store).unwrap();
    let newest = *past.bytes.keys().last().unwrap();
    let kept = store.history().state(&Past::lineage(), Serial(newest));
    assert_eq!(kept.unwrap().bytes, past.bytes.remove(&newest).unwrap());
    assert_eq!(store.history().lineages().len(), 2);
}

/// The events of the newest commit, as they are read back.
fn announced(past: &Past, events: Vec<Event>) -> Vec<Event> {
    let mut store = past.store();
    let bumped = |now: &LoadedState| {
        let next = CommitContent { events: events.clone(), ..count_one(now) };
        Ok::<_, Infallible>(Some(next))
    };
    store.commit(bumped).unwrap();
    let mut commits = store.history().commits(&Past::lineage());
    commits.pop().unwrap().events
}

fn event(text: &str) -> Event {
    serde_json::from_str(text).unwrap()
}

#[test]
fn what_a_commit_announced_is_kept_in_its_line_also_by_a_version_that_does_not_know_it() {
    let events = vec![
        event(r#"{"event":"chosen","group":"G","choice":"a","untried":2}"#),
        event(r#"{"event":"scored","loss":{"B":0.5}}"#),
    ];
    assert_eq!(announced(&Past::of(2), events.clone()), events);
}

#[test]
fn a_line_keeps_so_many_events_and_so_much_of_each_and_first_those_of_the_history() {
    let past = Past::of(2);
    let parked = event(r#"{"event":"parked","atom":"A"}"#);
    let mut events = vec![parked; 5_000];
    events.push(event(r#"{"event":"chosen","group":"G","choice":"a","untried":2}"#));
    events.push(Event::Corrected {
        kind: None,
        what: "long ".repeat(100_000),
        effects: vec!["é".repeat(1_000); 1_000],
        lost: Vec::new(),
    });
    let kept = announced(&past, events.clone());
    assert_eq!(kept.len(), 64);
    assert_eq!((&kept[0], &kept[2]), (&events[5_000], &events[0]));
    let Event::Corrected { what, effects, .. } = &kept[1] else {
        panic!("{:?}", kept[1]);
    };
    assert!(what.starts_with("long long") && what.len() < 400, "{what}");
    assert!(effects.len() < 20 && effects[0].len() < 700);
}

#[test]
fn a_line_that_an_older_version_wrote_is_read_without_events() {
    let past = Past::of(2);
    let events = vec![event(r#"{"event":"parked","atom":"A"}"#)];
    assert_eq!(announced(&past, events).len(), 1);
    let file = past.files().pop().unwrap();
    let text = fs::read_to_string(&file).unwrap();
    let older = |line: &str| {
        let mut line: serde_json::Value = serde_json::from_str(&line[17..]).unwrap();
        line.as_object_mut().unwrap().remove("events");
        let line = line.to_string();
        let digest = descent_core::id::Digest::sha256(line.as_bytes());
        format!("{} {line}\n", &digest.as_str()[7..23])
    };
    fs::write(&file, text.lines().map(older).collect::<String>()).unwrap();
    let commits = past.store().history().commits(&Past::lineage());
    assert_eq!(commits.len(), 4);
    assert!(commits.iter().all(|commit| commit.events.is_empty()));
}
