//! Links, pipes and bombs where descent keeps its own files: refused by name, and nothing is written through them.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::json;

use crate::world::{Ran, Running, World, plan, task};

/// The target of the links, which must stay as it is.
const THEIRS: &str = "# nobody writes here\n";

fn agreed() -> World {
    let world = World::new();
    let atoms = json!({"A1": task("touch done")});
    world.align(&plan(&["test -f done"], json!({}), atoms));
    fs::write(world.out("theirs"), THEIRS).unwrap();
    world
}

fn beside(world: &World, name: &str) -> PathBuf {
    world.repo().join(".descent/state.json.d").join(name)
}

fn put(path: &Path, plant: impl FnOnce(&Path)) {
    let _ = fs::remove_file(path);
    let _ = fs::remove_dir_all(path);
    plant(path);
}

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[track_caller]
fn refused(ran: Ran, path: &Path, what: &str) {
    ran.expect(74).says("E-STATE-PLACE").says(&path.display().to_string()).says(what);
}

#[test]
fn a_link_in_the_place_of_a_lock_is_refused_by_name_and_nothing_is_written_through_it() {
    for (name, command) in [
        ("run.lock", "apply"),
        ("run.lock", "run"),
        ("commit.lock", "run"),
        ("commit.lock", "undo"),
    ] {
        let world = agreed();
        world.replace_in_state("touch done", "touch done; true");
        let (path, before) = (beside(&world, name), world.state_bytes());
        put(&path, |path| symlink(world.out("theirs"), path).unwrap());
        refused(world.descent(&[command]), &path, "is a symbolic link");
        assert_eq!(world.left("theirs"), THEIRS, "{name} {command}");
        assert_eq!(world.state_bytes(), before);
    }
}

#[test]
fn a_lock_with_a_second_name_is_refused_and_left_as_it_is() {
    let world = agreed();
    let path = beside(&world, "run.lock");
    put(&path, |path| fs::hard_link(world.out("theirs"), path).unwrap());
    refused(world.descent(&["run"]), &path, "has a second name");
    assert_eq!(world.left("theirs"), THEIRS);
}

#[test]
fn a_directory_of_sidecars_that_is_a_link_is_refused_and_nothing_is_made_or_removed_where_it_leads()
{
    for name in ["journal", "evidence", "attempts", "repository", "events"] {
        let world = agreed();
        let elsewhere = world.root().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        // As evidence that was cut off is named, and whole evidence.
        for kept in [".new-x", &"0".repeat(64)] {
            fs::write(elsewhere.join(kept), THEIRS).unwrap();
        }
        let path = beside(&world, name);
        put(&path, |path| symlink(&elsewhere, path).unwrap());
        refused(world.descent(&["run"]), &path, "is a symbolic link");
        world.descent(&["status"]).expect(0);
        world.descent(&["log"]).expect(0);
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 2, "{name}");
    }
}

#[test]
fn the_last_number_of_a_segment_that_is_a_link_is_not_appended_to() {
    let world = agreed();
    let last = beside(&world, "journal").join(format!("seg-{}.log", u64::MAX));
    symlink(world.out("theirs"), &last).unwrap();
    world.run().expect(0);
    assert_eq!(world.left("theirs"), THEIRS);
    world.descent(&["log"]).expect(0).shows("A1");
}

#[test]
fn a_pipe_or_a_terminal_in_the_journal_is_waited_for_by_nobody() {
    let world = agreed();
    pipe(&beside(&world, "journal/seg-00000007.log"));
    symlink("/dev/tty", beside(&world, "journal/seg-00000008.log")).unwrap();
    for command in ["status", "log", "why", "stop"] {
        world.descent(&[command]).expect(0);
    }
    world.run().expect(0);
}

#[test]
fn a_pipe_in_the_place_of_a_lock_or_of_a_note_of_processes_is_waited_for_by_nobody() {
    let world = agreed();
    fs::create_dir_all(beside(&world, "attempts")).unwrap();
    pipe(&beside(&world, "attempts/slot-0.json"));
    world.run().expect(0);
    let lock = beside(&world, "run.lock");
    put(&lock, pipe);
    refused(world.descent(&["run"]), &lock, "is a named pipe");
    world.descent(&["status"]).expect(0);
}

#[test]
fn a_bomb_in_the_journal_takes_neither_memory_nor_time_and_what_is_newer_is_read() {
    let world = agreed();
    world.run().expect(0);
    let bomb = fs::File::create(beside(&world, "journal/seg-00000000.log")).unwrap();
    // A hole takes no room on the disk.
    bomb.set_len(10 << 30).unwrap();
    let limited = |args: &str| {
        let mut command = world.bare_command("sh");
        let descent = env!("CARGO_BIN_EXE_descent");
        // 1.5 GB of address space, for a file of 10.
        command.args(["-c", &format!("ulimit -v 1500000; exec {descent} {args}")]);
        Running::of(command).wait()
    };
    limited("status").expect(0);
    limited("log").expect(0).shows("A1");
}

#[test]
fn an_id_that_is_a_path_and_a_serial_without_a_next_one_are_faults() {
    let world = agreed();
    let serial = world.state()["serial"].clone();
    world.replace_in_state(
        &format!("\"serial\": {serial}"),
        &format!("\"serial\": \"{}\"", u64::MAX),
    );
    for command in ["validate", "run", "undo"] {
        let ran = world.descent(&[command]).expect(65);
        assert!((ran.stdout + &ran.stderr).contains("/serial"), "{command}");
    }
    let world = agreed();
    let intent = json!({"id": "../../x", "atom": "A1", "context": "sha256:0", "n": 1, "at": ""});
    let text = world.state_text();
    let run = text.rfind("\"run\": {").unwrap() + "\"run\": {".len();
    let in_flight = format!("{}\n\"in_flight\": [{intent}],{}", &text[..run], &text[run..]);
    world.save(&in_flight);
    let ran = world.descent(&["validate"]).expect(65);
    assert!((ran.stdout + &ran.stderr).contains("the id of an attempt"));
}

#[test]
fn a_line_break_in_a_key_makes_no_line_of_ours() {
    let world = agreed();
    world.replace_in_state(
        "\"objective\": {",
        "\"objective\": {\"x\\nnext: rm -rf .\": 1, \"serial\": {}, \"why\\nnext: y\": {},",
    );
    let ran = world.descent(&["run"]);
    let shown = ran.stdout + &ran.stderr;
    assert!(!shown.contains("\nnext: rm") && !shown.contains("\nnext: y"), "{shown}");
}

#[test]
fn an_earlier_agreement_that_has_the_name_again_is_told_and_what_replaced_it_is_kept() {
    let world = agreed();
    let earlier = world.state_text();
    let other = plan(&["test -f other"], json!({}), json!({"B1": task("touch other")}));
    world.descent(&["align", "-y", "--force", "-f", &world.plan(&other)]).expect(0);
    let later = world.state_text();
    world.save(&earlier);
    let ran = world.descent(&["run"]).expect(0).says("an earlier agreement again");
    let words = ran.stderr.split_whitespace();
    let kept = words.skip_while(|word| *word != "cp").nth(1).unwrap();
    assert_eq!(fs::read_to_string(kept).unwrap(), later);
    let again = world.descent(&["run"]).expect(0);
    assert!(!again.stderr.contains("an earlier agreement"));
}
