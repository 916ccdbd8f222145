//! Losses by a power cut, and leftovers of a crash: the next run mends them, makes them again, or says what is lost.

use std::{fs, path::PathBuf};

use serde_json::json;

use crate::{
    crashes::crash::Held,
    world::{World, after, listing, plan, task, wait_for, with},
};

/// A run of three atoms that stopped after the second; the third is still to be made.
struct Stopped {
    world: World,
}

impl Stopped {
    fn new() -> Self {
        let world = World::new();
        world.write("mine.txt", "not committed\n");
        let go = world.out("go").display().to_string();
        let ended = world.out("ended").display().to_string();
        let step =
            |name: &str| format!("mkdir -p d; echo {name} > d/{name}; echo {name} >> {ended}");
        let atoms = json!({
            "A1": task(&step("one")),
            "A2": after(&["A1"], &step("two")),
            "A3": after(&["A2"], &format!("[ -e {go} ] || exit 1; {}", step("three"))),
        });
        world.align(&plan(&["[ \"$(ls d | tr '\\n' ,)\" = one,three,two, ]"], json!({}), atoms));
        world.run().expect(5);
        world.touch("go");
        Self { world }
    }

    /// The repository of the lineage.
    fn git_dir(&self) -> PathBuf {
        self.world.repository()
    }

    /// Git's records of the trees of attempts and checks that a run uses. The tree for a person's questions is left
    /// out: another command may be at work in it.
    fn records(&self) -> Vec<PathBuf> {
        let records = fs::read_dir(self.git_dir().join("trees")).unwrap();
        let records = records.map(|record| record.unwrap().path());
        let is_of_runs = |record: &PathBuf| {
            let tree = fs::read(record.join("tree")).unwrap_or_default();
            !tree.trim_ascii_end().ends_with(b"/judging/tree")
        };
        records.filter(is_of_runs).collect()
    }

    fn commit_of(&self, atom: &str) -> String {
        let commit = self.world.state()["bindings"][atom]["commit"].clone();
        commit.as_str().unwrap().to_owned()
    }

    fn object(&self, rev: &str) -> PathBuf {
        let id = self.world.ours(&["rev-parse", rev]);
        let (dir, name) = id.trim().split_at(2);
        self.git_dir().join("objects").join(dir).join(name)
    }

    /// As a file is whose bytes never came to the disk.
    fn empty(&self, path: &PathBuf) {
        fs::remove_file(path).unwrap();
        fs::write(path, "").unwrap();
    }

    fn refs(&self) -> PathBuf {
        let lineage = self.world.state()["lineage"].as_str().unwrap().to_owned();
        self.git_dir().join("refs/descent").join(lineage)
    }

    /// The third is tried again as after any change of a person; it ends with all three, each in once.
    #[track_caller]
    fn check(&self, made: &[&str]) {
        let before = self.world.git(&["rev-parse", "HEAD", "main"]);
        self.world.replace_in_state("\"status\": \"failed\"", "\"status\": \"pending\"");
        self.world.run().expect(0);
        for (path, text) in [("d/one", "one\n"), ("d/two", "two\n"), ("d/three", "three\n")] {
            assert_eq!(self.world.result_file(path), text);
        }
        assert_eq!(self.world.left("ended").lines().collect::<Vec<_>>(), made);
        assert_eq!(self.world.ours(&["fsck", "--no-dangling", "--no-progress"]), "");
        assert_eq!(self.world.git(&["rev-parse", "HEAD", "main"]), before);
        let files = listing(&self.git_dir()).into_keys();
        let locks: Vec<PathBuf> =
            files.filter(|path| path.extension().is_some_and(|end| end == "lock")).collect();
        assert!(locks.is_empty(), "{locks:?}");
        // Nothing that is needed can be pruned.
        self.world.git(&["gc", "-q", "--prune=now"]);
        self.world.ours(&["gc", "-q", "--prune=now"]);
        self.world.descent(&["apply"]).expect(0);
        assert_eq!(self.world.read("d/two"), "two\n");
    }
}

const ONCE: [&str; 3] = ["one", "two", "three"];

#[test]
fn the_reference_of_the_result_follows_the_state_and_never_goes_before_it() {
    let world = World::new();
    // The check sees the candidate: what the state does not name yet.
    let check = format!(
        "[ \"$(git --git-dir {}/.descent/state.json.d/repository/* for-each-ref --format='%(objectname)' 'refs/descent/*/result')\" \
         != \"$(git rev-parse HEAD)\" ] || touch {}; test -f really",
        world.repo().display(),
        world.out("before").display()
    );
    let refuses = json!({"checks": {"all": [{"command": check}]}, "depends_on": ["A1"]});
    let atoms = json!({
        "A1": task("echo one > one"),
        "A2": with(task("echo almost > two"), refuses),
    });
    world.align(&plan(&["test -f two"], json!({}), atoms));
    world.run().expect(5);
    let state = world.state();
    let lineage = state["lineage"].as_str().unwrap();
    let result = world.ours(&["rev-parse", &format!("refs/descent/{lineage}/result")]);
    assert!(!world.out("before").exists());
    assert_eq!(state["run"]["head"], result.trim());
    assert_eq!(state["bindings"]["A1"]["commit"], result.trim());
}

#[test]
fn references_that_are_gone_come_back() {
    let stopped = Stopped::new();
    fs::remove_dir_all(stopped.git_dir().join("refs/descent")).unwrap();
    stopped.check(&ONCE);
}

#[test]
fn references_without_their_bytes_come_back() {
    let stopped = Stopped::new();
    let refs = listing(&stopped.refs()).into_keys().filter(|path| path.is_file());
    refs.for_each(|path| stopped.empty(&path));
    stopped.check(&ONCE);
}

#[test]
fn locks_of_our_own_that_a_crash_left_are_removed() {
    let stopped = Stopped::new();
    for name in ["start.lock", "result.lock", "keep/A3.4.lock"] {
        fs::write(stopped.refs().join(name), "").unwrap();
    }
    for record in stopped.records() {
        fs::write(record.join("HEAD.lock"), "").unwrap();
        fs::write(record.join("index.lock"), "").unwrap();
    }
    stopped.check(&ONCE);
}

/// The leftover of a kill in the very instant before, when a reference was deleted.
#[test]
fn a_new_lock_on_all_of_our_references_is_removed_once_nobody_holds_it() {
    let stopped = Stopped::new();
    let packed = "# pack-refs with: peeled fully-peeled sorted \n";
    fs::write(stopped.git_dir().join("packed-refs"), packed).unwrap();
    fs::write(stopped.git_dir().join("packed-refs.lock"), "").unwrap();
    stopped.check(&ONCE);
}

#[test]
fn a_lock_that_everybody_shares_is_removed_when_it_is_old_and_nobody_holds_it() {
    let stopped = Stopped::new();
    let lock = stopped.git_dir().join("packed-refs.lock");
    let file = fs::File::create(&lock).unwrap();
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    file.set_modified(long_ago).unwrap();
    // While it is held it stays, however old.
    stopped.world.run().expect(5);
    assert!(lock.exists());
    drop(file);
    stopped.check(&ONCE);
}

#[test]
fn trees_of_which_nothing_is_known_any_more_are_made_anew() {
    let stopped = Stopped::new();
    fs::remove_dir_all(stopped.git_dir().join("trees")).unwrap();
    stopped.check(&ONCE);
}

#[test]
fn an_index_that_a_killed_loop_worked_with_goes_at_the_next_start() {
    let stopped = Stopped::new();
    let is_of_attempt = |record: &PathBuf| {
        let tree = fs::read_to_string(record.join("tree"));
        tree.unwrap().ends_with("/attempt-0")
    };
    let record = stopped.records().into_iter().find(is_of_attempt);
    let left = record.unwrap().join("descent-killed");
    fs::create_dir(&left).unwrap();
    fs::write(left.join("index.lock"), "").unwrap();
    stopped.check(&ONCE);
    assert!(!left.exists());
}

#[test]
fn torn_records_of_trees_are_made_anew() {
    for what in ["commondir", "tree", "HEAD", "index"] {
        let tears: [fn(&PathBuf); 3] = [
            |path| drop(fs::remove_file(path)),
            |path| fs::write(path, "").unwrap(),
            |path| fs::write(path, [0; 90]).unwrap(),
        ];
        for tear in tears {
            let stopped = Stopped::new();
            for record in stopped.records() {
                tear(&record.join(what));
            }
            stopped.check(&ONCE);
        }
    }
}

#[test]
fn a_head_that_is_gone_is_made_again_and_what_was_before_it_stays() {
    let stopped = Stopped::new();
    fs::remove_file(stopped.object(&stopped.commit_of("A2"))).unwrap();
    stopped.check(&["one", "two", "two", "three"]);
}

#[test]
fn a_file_of_the_result_without_its_bytes_is_made_again() {
    let stopped = Stopped::new();
    stopped.empty(&stopped.object(&format!("{}:d/two", stopped.commit_of("A2"))));
    stopped.check(&["one", "two", "two", "three"]);
}

#[test]
fn a_tree_below_without_its_bytes_is_made_again() {
    let stopped = Stopped::new();
    stopped.empty(&stopped.object(&format!("{}:d", stopped.commit_of("A2"))));
    stopped.check(&["one", "two", "two", "three"]);
}

#[test]
fn what_stands_on_a_commit_that_is_gone_is_made_again_with_it() {
    let stopped = Stopped::new();
    fs::remove_file(stopped.object(&stopped.commit_of("A1"))).unwrap();
    fs::remove_dir_all(stopped.git_dir().join("refs/descent")).unwrap();
    stopped.check(&["one", "two", "one", "two", "three"]);
}

#[test]
fn the_state_alone_is_enough_at_every_stage() {
    for point in [
        "whole",
        "before-one",
        "check-one",
        "after-bad",
        "before-two",
        "before-three",
        "check-three",
    ] {
        let held = Held::new();
        held.hold(point);
        let run = held.world.start(&["run"]);
        held.world.wait_for_file(&format!("at-{point}"));
        run.kill();
        held.release(point);
        held.world.run_away_with_sidecars();
        held.check_end_after_loss();
    }
}

/// Results that depend on it, at whatever distance, cannot be kept either.
#[test]
fn after_an_undo_to_a_state_whose_oldest_commit_is_lost_the_run_makes_all_of_it_again() {
    let world = World::new();
    let atoms = json!({
        "A1": task("echo one > one"),
        "A2": after(&["A1"], "echo two > two"),
        "A3": after(&["A2"], "echo three > three"),
    });
    world.align(&plan(&["test -f never"], json!({}), atoms));
    world.run().expect(5);
    let serial = world.state()["serial"].to_string();
    let commit = world.state()["bindings"]["A1"]["commit"].clone();
    let (dir, name) = commit.as_str().unwrap().split_at(2);
    let lost = world.repository().join("objects").join(dir).join(name);
    fs::remove_file(&lost).unwrap();
    // In the same second the very same commit would be made.
    let second = || std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let then = second();
    wait_for("another second", || second() != then);
    world.run().expect(5);
    for _ in 0..2 {
        world.descent(&["undo", &serial, "-y"]).expect(0);
        world.run().expect(5);
        world.run().expect(5);
    }
    assert_eq!(world.result_file("three"), "three\n");
}

#[test]
fn the_only_result_that_is_taken_out_is_made_again() {
    let world = World::new();
    world.align(&plan(&["test -f done"], json!({}), json!({"A1": task("touch done")})));
    world.run().expect(0);
    for command in [&["run", "--json"][..], &["run", "--json", "--set", "max_attempts=2"]] {
        let mut state = world.state();
        crate::whole_records::open(&mut state, "A1");
        world.save_records(&state);
        world.descent(&["validate"]).expect(0);
        let ran = world.descent(command).expect(0).shows("bindings forgotten: A1");
        assert_eq!(ran.result()["result"], "completed");
    }
}

/// Before the state knows where the run starts, the person's repository has the reference already, or its lock.
#[test]
fn a_lock_that_a_kill_left_before_the_first_commit_of_a_run_is_removed() {
    let world = World::new();
    let atoms = json!({"A1": task("echo 1 > one")});
    world.align(&plan(&["test -f one"], json!({}), atoms));
    let lineage = world.state()["lineage"].as_str().unwrap().to_owned();
    let refs = world.repo().join(".git/refs/descent").join(lineage);
    fs::create_dir_all(&refs).unwrap();
    fs::write(refs.join("start.lock"), "").unwrap();
    world.run().expect(0);
    assert!(!refs.join("start.lock").exists());
}
