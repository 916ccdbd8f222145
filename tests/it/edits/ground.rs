//! Another hand changes the ground of a run: links, directories, lock files, limits, signals.

use std::{fs, os::unix::fs::symlink, process::Command};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;

use crate::begun::at_work;
use crate::world::{Running, World, after, plan, task};

fn let_go(world: &World) {
    fs::write(world.out("go"), "").unwrap();
}

#[track_caller]
fn wait_until_said(run: &Running, words: &str) {
    let deadline = std::time::Instant::now() + crate::world::PATIENCE;
    while !run.said().contains(words) {
        assert!(std::time::Instant::now() < deadline, "{}", run.said());
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn a_link_in_the_place_of_the_state_is_waited_out_and_nothing_is_written_through_it() {
    let (world, mut run) = at_work();
    let elsewhere = world.out("state.json");
    fs::rename(world.state_path(), &elsewhere).unwrap();
    symlink(&elsewhere, world.state_path()).unwrap();
    let before = fs::read(&elsewhere).unwrap();
    // Through the link, the same loop is met: no second one begins beside it.
    assert_eq!(world.status()["live"], true);
    world.descent(&["run"]).expect(75).says("E-LEASE-HELD");
    let_go(&world);
    wait_until_said(&run, "is a symbolic link now");
    assert_eq!(fs::read(&elsewhere).unwrap(), before);
    assert!(world.state_path().is_symlink());
    fs::rename(&elsewhere, world.state_path()).unwrap();
    run.wait().expect(0).says("whole again");
}

#[test]
fn another_directory_in_the_place_of_the_states_is_not_written_to() {
    let (world, mut run) = at_work();
    let (dir, other) = (world.repo().join(".descent"), world.out("other"));
    fs::create_dir(&other).unwrap();
    fs::copy(world.state_path(), other.join("state.json")).unwrap();
    let before = world.state_bytes();
    renameat_with(CWD, &dir, CWD, &other, RenameFlags::EXCHANGE).unwrap();
    let_go(&world);
    run.wait().expect(74).says("error[E-STATE-PLACE]").says("put the directory back");
    assert_eq!(world.state_bytes(), before);
    renameat_with(CWD, &dir, CWD, &other, RenameFlags::EXCHANGE).unwrap();
    world.descent(&["run"]).expect(0);
}

#[test]
fn lock_files_removed_during_a_run_let_no_second_one_in() {
    let (world, mut run) = at_work();
    for name in ["run.lock", "commit.lock"] {
        fs::remove_file(world.repo().join(".descent/state.json.d").join(name)).unwrap();
    }
    world.descent(&["run"]).expect(75).says("E-LEASE-HELD");
    let_go(&world);
    run.wait().expect(0);
}

#[test]
fn a_limit_on_file_sizes_is_told_and_leaves_the_state_whole() {
    let world = World::new();
    world.align(&plan(
        &["test -f done"],
        json!({"workspace": "shared"}),
        json!({"A1": task("touch done")}),
    ));
    let before = world.state_bytes();
    let inner = world.command(&["run"]);
    let mut limited = Command::new("sh");
    limited
        .args(["-c", "ulimit -f 1; exec \"$0\" \"$@\""])
        .arg(inner.get_program())
        .args(inner.get_args())
        .env_clear()
        .envs(inner.get_envs().filter_map(|(key, value)| Some((key, value?))))
        .current_dir(inner.get_current_dir().unwrap_or(&world.repo()));
    let ran = Running::of(limited).wait();
    ran.expect(74).says("error[E-MACHINE]").says("ulimit -f unlimited");
    assert_eq!(world.state_bytes(), before);
    world.descent(&["run"]).expect(0);
}

#[test]
fn an_editor_that_keeps_the_state_open_for_writing_holds_no_commit_up_and_is_heard_when_it_writes()
{
    let world = World::new();
    let step = |n: u32| {
        let (at, go) = (world.out(&format!("at{n}")), world.out(&format!("go{n}")));
        let (at, go) = (at.display(), go.display());
        format!("touch {at}; until test -e {go}; do sleep 0.02; done; touch done{n}")
    };
    let atoms = json!({"A1": task(&step(1)), "A2": after(&["A1"], &step(2))});
    world.align(&plan(&["test -f done2"], json!({}), atoms));
    let mut run = world.start(&["run"]);
    world.wait_for_file("at1");
    let mut editor = fs::OpenOptions::new().write(true).open(world.state_path()).unwrap();
    let text = String::from_utf8(world.state_bytes()).unwrap();
    // Whoever has to wait for a lease makes the kernel send this, which ends a process that does not expect it.
    run.signal(rustix::process::Signal::IO);
    fs::write(world.out("go1"), "").unwrap();
    world.wait_for_file("at2");
    let edited = text.replacen("\"objective\"", "\"notes\": \"heard\",\n\"objective\"", 1);
    std::io::Write::write_all(&mut editor, edited.as_bytes()).unwrap();
    drop(editor);
    let state = || String::from_utf8(world.state_bytes()).unwrap();
    let deadline = std::time::Instant::now() + crate::world::PATIENCE;
    // The edit, merged with what was committed since it began.
    while !(state().contains("heard") && world.state()["bindings"]["A1"].is_object()) {
        assert!(std::time::Instant::now() < deadline, "{}\n{}", state(), run.said());
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    fs::write(world.out("go2"), "").unwrap();
    run.wait().expect(0);
    assert!(state().contains("heard"), "{}", state());
}
