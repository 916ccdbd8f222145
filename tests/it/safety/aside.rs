//! Files beside another's state: moved aside when the state is allowed, and never taken in.

use std::{fs, path::PathBuf};

use serde_json::json;

use crate::{
    safety::trust::{marks, trust},
    world::{Running, World, plan, task, with},
};

/// The file that tells whether a stranger's program was run.
const PWNED: &str = "pwned";

/// A clone of what a stranger committed, sidecars and all: agreed on their machine, with a harmless command.
struct Clone {
    world: World,
}

impl Clone {
    /// `plant` is what the stranger does before the commit.
    fn of(plant: impl FnOnce(&World)) -> Self {
        let world = World::new();
        let atoms = json!({"A1": task("touch done")});
        world.align(&plan(&["test -f done"], json!({}), atoms));
        plant(&world);
        world.git(&["add", "-f", ".descent"]);
        world.git(&["commit", "-qm", "agreed"]);
        // Another machine: its records are not ours.
        fs::remove_dir_all(world.root().join("home")).unwrap();
        fs::create_dir(world.root().join("home")).unwrap();
        fs::remove_dir_all(world.cache()).unwrap();
        fs::create_dir(world.cache()).unwrap();
        Self { world }
    }

    /// The directory of the files that were moved.
    fn aside(&self) -> PathBuf {
        let dir = self.world.repo().join(".descent/state.json.d");
        let entries = fs::read_dir(dir).unwrap().flatten();
        let is_aside = |name: &str| name.starts_with("aside-");
        let mut found = entries.filter(|entry| is_aside(&entry.file_name().to_string_lossy()));
        let only = found.next().expect("a directory").path();
        assert!(found.next().is_none());
        only
    }

    fn is_pwned(&self) -> bool {
        self.world.out(PWNED).exists()
    }
}

fn evil(world: &World) -> String {
    format!("touch {}; touch done", world.out(PWNED).display())
}

/// A newer commit of the lineage stands in the journal, with another command; the state is the older one.
fn journal(world: &World) {
    let benign = world.state_text();
    let mut edit = world.command(&["edit"]);
    edit.env("EDITOR", format!("sed -i 's|touch done|{}|'", evil(world)));
    Running::of(edit).wait().expect(0);
    assert!(world.state_text().contains(PWNED));
    fs::write(world.state_path(), benign).unwrap();
}

/// As a save that came into a file which a commit had swapped out.
fn late_save(world: &World) {
    let theirs = world.state_text().replace("touch done", &evil(world));
    let name = ".descent/.state.json.old-0123456789abcdef-1-1";
    world.write(name, &theirs);
}

#[test]
fn a_journal_that_came_with_a_clone_changes_nothing_of_what_was_allowed() {
    let clone = Clone::of(journal);
    clone.world.descent(&["run"]).expect(77);
    let shown = clone.world.descent(&["trust", "--json"]).expect(77).json();
    assert!(!shown.to_string().contains(PWNED));
    let hash = shown["hash"].as_str().unwrap();
    clone
        .world
        .descent(&["trust", "--hash", hash])
        .expect(0)
        .says("moved aside")
        .says("journal")
        .says("mv -n");
    clone.world.run().expect(0);
    assert!(!clone.is_pwned());
    assert!(clone.aside().join("journal").is_dir());
}

#[test]
fn a_late_save_that_came_with_a_clone_is_not_taken_up() {
    let clone = Clone::of(late_save);
    trust(&clone.world);
    // Long enough for what was swapped out to have come to rest.
    clone.world.replace_in_state("\"touch done\"", "\"sleep 3; touch done\"");
    clone.world.run().expect(0);
    assert!(!clone.is_pwned());
    let kept = clone.aside().join(".state.json.old-0123456789abcdef-1-1");
    assert!(kept.is_file());
}

#[test]
fn no_command_that_writes_takes_in_what_came_with_a_clone() {
    for args in [
        &["undo", "-y"][..],
        &["confirm"],
        &["confirm", "A1-1", "--no"],
        &["undo", "--into"],
        &["edit"],
    ] {
        let clone = Clone::of(|world| {
            journal(world);
            late_save(world);
        });
        let before = clone.world.state_bytes();
        clone.world.descent(args).expect(77).says("E-NOT-TRUSTED");
        assert_eq!(clone.world.state_bytes(), before, "{args:?}");
        trust(&clone.world);
        let mut command = clone.world.command(args);
        command.env("EDITOR", "true");
        Running::of(command).wait();
        let state = clone.world.state_text();
        assert!(!state.contains(PWNED), "{args:?}: {state}");
        for entry in fs::read_dir(clone.world.repo().join(".descent/state.json.d")).unwrap() {
            let path = entry.unwrap().path();
            let text = fs::read_to_string(&path).unwrap_or_default();
            assert!(!text.contains(PWNED), "{args:?}: {}", path.display());
        }
    }
}

#[test]
fn an_outcome_that_came_with_a_clone_is_none_of_ours() {
    let clone = Clone::of(|world| {
        let dir = world.repo().join(".descent/state.json.d/attempts/A1-1");
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("outcome.json"), "{}").unwrap();
        fs::create_dir_all(world.repo().join(".descent/state.json.d/repository/objects")).unwrap();
        fs::write(
            world.repo().join(".descent/state.json.d/repository/HEAD"),
            "ref: refs/heads/main\n",
        )
        .unwrap();
    });
    trust(&clone.world);
    let aside = clone.aside();
    assert!(aside.join("attempts/A1-1/outcome.json").is_file());
    assert!(aside.join("repository/HEAD").is_file());
    clone.world.run().expect(0);
}

#[test]
fn a_state_alone_is_allowed_without_a_word_of_moving() {
    let clone = Clone::of(|world| {
        for entry in fs::read_dir(world.repo().join(".descent")).unwrap().flatten() {
            if entry.path() != world.state_path() {
                let _ = fs::remove_file(entry.path());
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    });
    let hash = clone.world.descent(&["trust", "--json"]).expect(77).json()["hash"].clone();
    let ran = clone.world.descent(&["trust", "--hash", hash.as_str().unwrap()]);
    assert!(!ran.expect(0).stderr.contains("moved aside"));
    clone.world.run().expect(0);
}

#[test]
fn another_state_in_the_same_directory_stays_where_it_is() {
    let clone = Clone::of(|world| {
        world.descent(&["undo", "--into"]).expect(0).shows("fork-1.json").code.map_or((), |_| ())
    });
    trust(&clone.world);
    let dir = clone.world.repo().join(".descent");
    assert!(dir.join("fork-1.json").is_file() && dir.join("fork-1.json.d").is_dir());
    let fork = dir.join("fork-1.json").display().to_string();
    clone.world.descent(&["--state", &fork, "run"]).expect(77);
    let shown = clone.world.descent(&["--state", &fork, "trust", "--json"]).expect(77).json();
    let hash = shown["hash"].as_str().unwrap().to_owned();
    clone.world.descent(&["--state", &fork, "trust", "--hash", &hash]).expect(0).says("journal");
    clone.world.descent(&["--state", &fork, "run"]).expect(0);
    assert_eq!(marks(&clone.world), 0);
}

#[test]
fn what_a_pull_brings_beside_a_state_that_was_allowed_is_moved_aside_too() {
    let clone = Clone::of(|_| ());
    trust(&clone.world);
    // As a pull would leave it.
    let world = &clone.world;
    late_save(world);
    world.git(&["add", "-f", ".descent/.state.json.old-0123456789abcdef-1-1"]);
    world.git(&["commit", "-qm", "more"]);
    world.replace_in_state("\"touch done\"", "\"sleep 3; touch done\"");
    world.run().expect(0).says("moved aside");
    assert!(!clone.is_pwned());
}

#[test]
fn a_state_that_a_pull_changed_is_asked_about_and_ones_own_commit_is_not() {
    let clone = Clone::of(|_| ());
    let world = &clone.world;
    trust(world);
    world.git(&["rm", "-rq", "--cached", ".descent"]);
    let committed = || {
        world.git(&["add", "-f", ".descent/state.json"]);
        world.git(&["commit", "-qm", "another"]);
    };
    // An edit that no command took in is in no journal.
    world.replace_in_state("touch done", "true; touch done");
    committed();
    world.descent(&["verify"]).expect(77).says("git has the file as it is");
    trust(world);
    world.descent(&["redirect", "-y", "--set", "max_attempts=4"]).expect(0);
    committed();
    world.descent(&["verify"]).expect(1);
    world.replace_in_state("true; touch done", &evil(world));
    committed();
    for command in [&["run"][..], &["verify"], &["undo"], &["undo", "--into"]] {
        let ran = world.descent(command).expect(77);
        ran.says("git has the file as it is, and the journal beside it does not");
    }
    assert!(!clone.is_pwned());
    trust(world);
    world.run().expect(0);
    assert!(clone.is_pwned(), "allowed is allowed");
}

/// A journal that git has says nothing of who wrote the state.
#[test]
fn a_journal_that_a_pull_brings_makes_no_state_ones_own() {
    let clone = Clone::of(|_| ());
    let world = &clone.world;
    trust(world);
    world.replace_in_state("touch done", &evil(world));
    world.descent(&["redirect", "-y", "--set", "max_attempts=4"]).expect(0);
    world.git(&["add", "-f", ".descent/state.json", ".descent/state.json.d/journal"]);
    world.git(&["commit", "-qm", "more"]);
    world.descent(&["run"]).expect(77).says("git has the file as it is");
    assert!(!clone.is_pwned());
}

/// A world where what runs would mark it, as `trust` of another machine sees it.
#[test]
fn what_replaces_an_allowed_state_before_the_lease_is_neither_run_nor_written_over() {
    use std::os::fd::AsFd;
    let world = World::new();
    let mark = format!("touch {}", world.out(PWNED).display());
    world.align(&plan(
        &["test -f done"],
        json!({}),
        json!({"A1": with(task("touch done"), json!({}))}),
    ));
    let theirs = world
        .state_text()
        .replace(world.state()["lineage"].as_str().unwrap(), "01980000-0000-7000-8000-000000000000")
        .replace("touch done", &format!("{mark}; touch done"));
    // Holds the run after its first look: it tries the file system of the state under this lock, with its lease taken.
    let lock = fs::File::options()
        .read(true)
        .write(true)
        .open(world.repo().join(".descent/state.json.d/commit.lock"))
        .unwrap();
    rustix::fs::flock(lock.as_fd(), rustix::fs::FlockOperation::LockExclusive).unwrap();
    let mut run = world.start(&["run"]);
    crate::world::wait_for("the lease", || {
        world.descent(&["status", "--json"]).expect(0).json()["live"] == true
    });
    world.save(&theirs);
    drop(lock);
    run.wait().expect(77).says("E-NOT-TRUSTED");
    assert!(!world.out(PWNED).exists());
    assert_eq!(world.state_text(), theirs);
}
