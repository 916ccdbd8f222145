//! The start of a run, and its fate when the ground under it moves.

use std::fs;

use serde_json::json;

use crate::begun::at_work;
use crate::world::{World, long_nap, plan, processes, task};

fn aligned() -> World {
    let world = World::new();
    world.write("a.txt", "hello\nsecond\n");
    world.git(&["commit", "-qam", "second"]);
    world.git(&["tag", "-am", "a tag", "v2"]);
    world.write("a.txt", "hello\nsecond\nuncommitted\n");
    let atoms = json!({"A1": task("cp a.txt seen.txt; echo new > new.txt")});
    world.align(&plan(&["test -f new.txt"], json!({}), atoms));
    world
}

#[test]
fn from_a_commit_a_tag_or_a_branch_nothing_uncommitted_comes_along() {
    for (rev, seen) in
        [("HEAD~1", "hello\n"), ("v2", "hello\nsecond\n"), ("main", "hello\nsecond\n")]
    {
        let world = aligned();
        world.descent(&["run", "--from", rev]).expect(0);
        let from = &world.status()["started_from"];
        let commit = world.git(&["rev-parse", &format!("{rev}^{{commit}}")]);
        assert_eq!((&from["commit"], &from["dirty"]), (&json!(commit.trim()), &json!(false)));
        assert_eq!(world.result_file("seen.txt"), seen);
        world.descent(&["status"]).expect(0).shows(&format!("from     {rev} at"));
        let applied = world.descent(&["apply", "--json"]).expect(0).json();
        assert_eq!(
            (&applied["applied"], &applied["files"]),
            (&json!("files"), &json!(["new.txt", "seen.txt"]))
        );
        assert_eq!(world.read("a.txt"), "hello\nsecond\nuncommitted\n");
    }
}

#[test]
fn apply_compares_with_where_the_run_started() {
    let world = World::new();
    world.write("a.txt", "hello\nsecond\n");
    world.git(&["commit", "-qam", "second"]);
    let atoms = json!({"A1": task("echo other >> a.txt")});
    world.align(&plan(&["grep -q other a.txt"], json!({}), atoms));
    world.descent(&["run", "--from", "HEAD~1"]).expect(0);
    world.descent(&["apply"]).expect(1).says("a.txt").says("--branch");
    world.descent(&["apply", "--branch", "other"]).expect(0);
    assert_eq!(world.git(&["show", "other:a.txt"]), "hello\nother\n");
}

#[test]
fn what_names_no_commit_is_refused_and_nothing_begins() {
    let world = aligned();
    let before = world.state_bytes();
    for rev in ["nowhere", "", "--all", "HEAD^{tree}", "HEAD:a.txt", "a\u{1b}[31m"] {
        let flag = format!("--from={rev}");
        let refused = world.descent(&["run", &flag]).expect(2);
        refused.says("E-USAGE");
    }
    assert_eq!(world.state_bytes(), before);
    assert_eq!(world.ours(&["for-each-ref", "refs/descent/*/result"]), "");
}

#[test]
fn a_run_that_has_begun_is_not_started_elsewhere() {
    let world = aligned();
    world.run().expect(0);
    let before = world.state_bytes();
    let refused = world.descent(&["run", "--from", "v2"]).expect(2);
    refused.says("E-USAGE").says("align --force");
    assert_eq!(world.state_bytes(), before);
    let same = world.root().join("plan.json").display().to_string();
    world.descent(&["align", "-y", "--force", "-f", &same]).expect(0);
    world.descent(&["run", "--from", "v2"]).expect(0);
    assert_eq!(world.result_file("seen.txt"), "hello\nsecond\n");
}

#[test]
fn in_place_there_is_nowhere_else_to_start() {
    let world = World::new();
    world.align(&plan(&["false"], json!({"workspace": "shared"}), json!({"A1": task("true")})));
    world.descent(&["run", "--from", "HEAD"]).expect(2).says("in place");
}

/// Its outcome finds no directory to be recorded in, and must not make one: what is put back would lie in it.
#[test]
fn an_attempt_that_ends_just_when_the_directory_is_gone_makes_no_other_one() {
    let (world, mut run) = at_work();
    let dir = world.repo().join(".descent");
    fs::remove_dir_all(&dir).unwrap();
    world.touch("go");
    run.wait().expect(74).says("E-STATE-PLACE");
    assert!(!dir.exists());
}

/// Does `harm` to a run at work; it has to end its agents, save the state, and say what puts it back.
#[track_caller]
fn comes_back_after(harm: impl Fn(&World)) {
    let world = World::new();
    let nap = long_nap();
    let slow = format!("echo > '{}'; exec sleep {nap}", world.out("slow").display());
    let checks = [format!("test -e '{}'", world.out("held").display())];
    let constraints = json!({"finish_early": true});
    world.align(&plan(&[&checks[0]], constraints, json!({"A1": task(&slow)})));
    let mut run = world.start(&["run"]);
    world.wait_for_file("slow");
    harm(&world);
    let ended = run.wait().expect(74).says("E-STATE-PLACE");
    assert_eq!(processes(&nap), Vec::<String>::new());
    let (_, command) = ended.stderr.split_once("\nnext: ").expect("a command");
    let shell = std::process::Command::new("sh").args(["-c", command.trim()]).status();
    assert!(shell.expect("sh").success(), "{command}");
    let status = world.status();
    assert_eq!((&status["status"], &status["live"]), (&json!("running"), &json!(false)));
    world.touch("held");
    world.run().expect(0);
    assert_eq!(world.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_state_whose_file_or_whole_directory_goes_during_a_run_can_be_put_back() {
    comes_back_after(|world| {
        fs::rename(world.state_path(), world.out("state.json")).unwrap();
    });
    comes_back_after(|world| {
        fs::rename(world.repo().join(".descent"), world.out("moved")).unwrap();
    });
    comes_back_after(|world| fs::remove_dir_all(world.repo().join(".descent")).unwrap());
}

#[test]
fn a_state_that_became_a_link_is_written_where_it_leads() {
    let world = aligned();
    let real = world.out("state.json");
    fs::rename(world.state_path(), &real).unwrap();
    std::os::unix::fs::symlink(&real, world.state_path()).unwrap();
    world.run().expect(0);
    assert!(world.state_path().is_symlink());
    assert_eq!(world.state()["run"]["status"], "completed");
    world.descent(&["apply"]).expect(0);
}
