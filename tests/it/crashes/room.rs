//! A disk that is full, or may not be written, at every phase of a run, and has room again. The tests make small file
//! systems of their own. If none can be made, a test is passed over.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::passed_over::{Lack, passed_over};
use crate::world::{Ran, Running, World, after, plan, task, wait_for, wait_for_or};

/// A small file system of its own, as long as this lives.
struct Small {
    at: PathBuf,
}

impl Small {
    /// `None` where the system gives no such thing: the test is passed over.
    fn at(at: &Path, options: &str) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let mounted = mount(&["-t", "tmpfs", "-o", options, "small"], at);
        if !mounted {
            let why = Lack::Machine("it cannot be mounted here (that takes root)");
            passed_over("a small file system", why);
            return None;
        }
        Some(Self { at: at.to_owned() })
    }

    /// Takes all the room that is left.
    fn fill(&self) {
        use std::io::Write;
        let mut file = fs::File::create(self.at.join("filler")).unwrap();
        let block = vec![b'x'; 4_096];
        while file.write_all(&block).is_ok() {}
    }

    fn free(&self) {
        fs::remove_file(self.at.join("filler")).unwrap();
    }

    /// For whoever comes by its name from now on: what is open stays so, as on a disk that failed.
    fn forbid_writing(&self) {
        let at = self.at.display().to_string();
        assert!(mount(&["--bind", &at], &self.at));
        assert!(mount(&["-o", "remount,bind,ro"], &self.at));
    }

    fn allow_writing(&self) {
        let mut command = Command::new("umount");
        let status = command.arg("-l").arg(&self.at).status();
        assert!(status.is_ok_and(|status| status.success()));
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.at).status();
    }
}

fn mount(options: &[&str], at: &Path) -> bool {
    let mut command = Command::new("mount");
    command.args(options).arg(at).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// The end of an undisturbed run.
fn end_of(world: &World) -> (Value, Value, String) {
    let state = world.state();
    (
        state["run"]["attempts_started"].clone(),
        state["run"]["spent"]["attempts"].clone(),
        world.result_file("done"),
    )
}

/// Two steps; the first waits for the test in its middle.
fn steps(world: &World) -> Value {
    let (at, go) = (world.out("at"), world.out("go"));
    let first = format!(
        "echo x >> {}; while ! test -f {}; do sleep 0.02; done; echo one >> done",
        at.display(),
        go.display()
    );
    let atoms = json!({"A1": task(&first), "A2": after(&["A1"], "echo two >> done")});
    plan(&["grep -q two done"], json!({}), atoms)
}

fn begun(world: &World) -> Running {
    let run = world.start(&["run", "--json"]);
    wait_for_or("the attempt", || !world.left("at").is_empty(), || run.said());
    run
}

#[track_caller]
fn waits_for_the_disk(world: &World, run: &Running, word: &str) {
    wait_for_or("it waits", || run.said().contains("waiting: "), || run.said());
    assert!(run.said().contains(word), "{}", run.said());
    wait_for("status tells", || {
        let status = world.descent(&["status", "--json"]).json();
        status["waits_for"] == "disk" && status["activity"] == "idle"
    });
}

#[track_caller]
fn went_on(world: &World, ran: Ran) {
    let ran = ran.expect(0);
    assert_eq!(ran.stderr.matches("waiting: ").count(), 1, "{}", ran.stderr);
    ran.says("going on");
    assert_eq!(world.left("at"), "x\n", "what was made is not made again");
    assert_eq!(end_of(world), (json!(2), json!(2), "one\ntwo\n".to_owned()));
}

/// The state's own disk, so that the outcome of the attempt cannot be committed.
#[test]
fn an_outcome_that_finds_the_disk_full_waits_and_is_committed_when_there_is_room() {
    let world = World::new();
    let dir = world.repo().join(".descent");
    let Some(small) = Small::at(&dir, "size=1m,mode=0700") else {
        return;
    };
    world.align(&steps(&world));
    let mut run = begun(&world);
    small.fill();
    world.touch("go");
    waits_for_the_disk(&world, &run, "No space left on device");
    small.free();
    went_on(&world, run.wait());
}

#[test]
fn an_outcome_that_finds_no_inode_left_waits_too() {
    let world = World::new();
    let dir = world.repo().join(".descent");
    let Some(small) = Small::at(&dir, "size=4m,nr_inodes=400,mode=0700") else {
        return;
    };
    world.align(&steps(&world));
    let mut run = begun(&world);
    let fillers = (0..600).map(|n| small.at.join(format!("filler{n}")));
    let made: Vec<PathBuf> = fillers.filter(|path| fs::write(path, "").is_ok()).collect();
    world.touch("go");
    waits_for_the_disk(&world, &run, "No space left on device");
    made.iter().for_each(|path| fs::remove_file(path).unwrap());
    went_on(&world, run.wait());
}

#[test]
fn a_state_that_may_not_be_written_for_a_while_is_waited_for() {
    let world = World::new();
    let dir = world.repo().join(".descent");
    let Some(small) = Small::at(&dir, "size=4m,mode=0700") else {
        return;
    };
    world.align(&steps(&world));
    let mut run = begun(&world);
    small.forbid_writing();
    world.touch("go");
    wait_for_or("it waits", || run.said().contains("waiting: "), || run.said());
    assert!(run.said().contains("Read-only"), "{}", run.said());
    // No beat can be written, and yet it is not taken for hung.
    let status = world.descent(&["status", "--json"]).expect(0).json();
    assert_ne!(status["activity"], "hung", "{status}");
    small.allow_writing();
    went_on(&world, run.wait());
}

/// The repository's: a candidate's objects cannot be written.
#[test]
fn an_integration_that_finds_the_repository_full_waits_and_happens_once() {
    let world = World::new();
    let repository = world.repo().join(".descent/state.json.d/repository");
    let Some(small) = Small::at(&repository, "size=2m,mode=0700") else {
        return;
    };
    world.align(&steps(&world));
    let mut run = begun(&world);
    small.fill();
    world.touch("go");
    waits_for_the_disk(&world, &run, "No space left");
    small.free();
    went_on(&world, run.wait());
}

/// The cache: no checkout can be made for the second attempt.
#[test]
fn a_checkout_that_finds_the_cache_full_is_made_when_there_is_room() {
    let world = World::new();
    let Some(small) = Small::at(&world.cache(), "size=5m") else {
        return;
    };
    world.write("big", &"0123456789abcdef".repeat(30_000));
    world.commit_all("big");
    world.align(&steps(&world));
    let mut run = begun(&world);
    small.fill();
    world.touch("go");
    wait_for_or("it waits", || run.said().contains("waiting: "), || run.said());
    small.free();
    let ran = run.wait().expect(0);
    ran.says("going on");
    assert_eq!(world.result_file("done"), "one\ntwo\n");
    assert_eq!(world.state()["run"]["spent"]["attempts"], 2);
}

/// There is room for all else, so waiting would not help.
#[test]
fn a_disk_too_small_for_a_pristine_checkout_stops_the_run_as_unavailable() {
    let world = World::new();
    let Some(small) = Small::at(&world.cache(), "size=3700k") else {
        return;
    };
    world.write("big", &"0123456789abcdef".repeat(60_000));
    world.commit_all("big");
    world.align(&plan(&["test -e done"], json!({}), json!({"A": task("touch done")})));
    let result = world.run().expect(69).result();
    assert_eq!((&result["result"], &result["reason"]), (&json!("stopped"), &json!("unavailable")));
    assert!(result["summary"].as_str().is_some_and(|text| text.contains("too small")), "{result}");
    assert!(mount(&["-o", "remount,size=16m"], &small.at));
    world.run().expect(0);
}

/// Its run is over: what is left is to write the result out for people.
#[test]
fn a_stop_of_a_loop_that_waits_for_room_after_its_end_says_what_it_waits_for() {
    let world = World::new();
    let Some(small) = Small::at(&world.cache(), "size=2m") else {
        return;
    };
    let fill = format!(
        "test -f done || exit 1; dd if=/dev/zero of={}/filler bs=4k 2>/dev/null; true",
        world.cache().display()
    );
    let atoms = json!({"A1": task("head -c 300000 /dev/urandom > done")});
    world.align(&plan(&[&fill], json!({}), atoms));
    let mut run = world.start(&["run", "--json"]);
    wait_for_or(
        "it waits",
        || run.said().contains("waiting: ") && world.status()["status"] == "completed",
        || run.said(),
    );
    for flags in [&["stop"][..], &["stop", "--no-wait"]] {
        world
            .descent(flags)
            .expect(74)
            .says("error[E-MACHINE]: nothing is requested yet: the loop waits for room on the disk")
            .says("or end the loop: descent stop --now");
    }
    small.free();
    run.wait().expect(0);
    assert_eq!(world.descent(&["stop"]).expect(0).stdout.lines().next(), Some("nothing runs"));
}

/// A failure on a full disk proves nothing: no attempt is spent on it.
#[test]
fn an_attempt_that_fails_on_a_full_disk_is_tried_again_and_costs_none() {
    let world = World::new();
    let Some(small) = Small::at(&world.cache(), "size=4m") else {
        return;
    };
    let full = world.out("full").display().to_string();
    let run = format!(
        "test -e {full} || {{ touch {full}; dd if=/dev/zero of={}/filler bs=64k 2>/dev/null; echo 1 > some || exit 1; }}; touch done",
        world.cache().display()
    );
    let atoms = json!({"A1": task(&run)});
    world.align(&plan(&["test -f done"], json!({}), atoms));
    let mut run = world.start(&["run", "--json"]);
    wait_for_or("it fills", || world.out("full").exists(), || run.said());
    wait_for_or(
        "it is told",
        || {
            let seen = run.stdout.lock().unwrap().clone();
            String::from_utf8_lossy(&seen).contains("transient") || run.said().contains("waiting: ")
        },
        || run.said(),
    );
    small.free();
    run.wait().expect(0);
    assert_eq!(world.state()["run"]["spent"]["attempts"], 1);
}

#[test]
fn what_cannot_begin_on_a_full_disk_says_so_and_begins_when_there_is_room() {
    let world = World::new();
    let dir = world.repo().join(".descent");
    let Some(small) = Small::at(&dir, "size=1m,mode=0700") else {
        return;
    };
    small.fill();
    let plan_file = world.plan(&steps(&world));
    let align = || world.descent(&["align", "-y", "-f", &plan_file]);
    align().expect(74).says("error[E-MACHINE]").says("next: free some space");
    assert!(!world.state_path().exists());
    small.free();
    align().expect(0);
    world.touch("go");
    small.fill();
    let before = world.state_bytes();
    world.descent(&["run"]).expect(74).says("error[E-MACHINE]");
    world.descent(&["confirm", "x"]);
    assert_eq!(world.state_bytes(), before);
    small.forbid_writing();
    world.descent(&["run"]).expect(74).says("error[E-MACHINE]");
    small.allow_writing();
    small.free();
    world.run().expect(0);
    assert_eq!(world.result_file("done"), "one\ntwo\n");
}

/// A run that waits is ended by a signal, and the next one goes on.
#[test]
fn a_run_that_waits_for_room_ends_on_a_signal_and_the_next_goes_on() {
    let world = World::new();
    let dir = world.repo().join(".descent");
    let Some(small) = Small::at(&dir, "size=1m,mode=0700") else {
        return;
    };
    world.align(&steps(&world));
    let mut run = begun(&world);
    small.fill();
    world.touch("go");
    waits_for_the_disk(&world, &run, "No space left on device");
    // A longer file needs another page.
    let why = "so ".repeat(3_000);
    world.descent(&["stop", "--reason", &why]).expect(74).says("error[E-MACHINE]");
    run.signal(rustix::process::Signal::INT);
    run.wait().expect(74).says("error[E-MACHINE]");
    small.free();
    world.run().expect(0);
    assert_eq!(world.result_file("done"), "one\ntwo\n");
    assert_eq!(world.state()["run"]["spent"]["attempts"], 2);
}

#[test]
fn a_run_that_may_open_no_more_files_says_so_and_the_next_goes_on() {
    let world = World::new();
    world.align(&steps(&world));
    world.touch("go");
    let run = world.command(&["run"]);
    let mut limited = Command::new("/bin/sh");
    let line = "ulimit -n 16; exec \"$0\" run";
    limited.args(["-c", line]).arg(run.get_program());
    limited.current_dir(world.repo()).env_clear();
    for (name, value) in run.get_envs() {
        limited.env(name, value.unwrap_or_default());
    }
    let ran = Running::of(limited).wait().expect(74);
    ran.says("error[E-MACHINE]").says("ulimit -n");
    world.run().expect(0);
    assert_eq!(world.result_file("done"), "one\ntwo\n");
}

#[test]
fn a_runtime_that_gets_no_sockets_is_told_as_what_it_is_and_not_by_a_panic() {
    if !crate::passed_over::can_trace() {
        return;
    }
    let world = World::new();
    world.align(&steps(&world));
    world.touch("go");
    let mut traced = world.bare_command("strace");
    traced
        .args(["-f", "--seccomp-bpf", "-qq", "-o", "/dev/null"])
        .args(["-e", "trace=socketpair"])
        .args(["-e", "inject=socketpair:error=EMFILE"])
        .arg(env!("CARGO_BIN_EXE_descent"))
        .arg("run");
    let ran = Running::of(traced).wait().expect(74);
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    ran.says("error[E-MACHINE]");
    world.run().expect(0);
}

/// While there is a file `full`, git says what it says where no more processes can be started.
fn crowded(world: &World) -> Command {
    let path = std::env::var("PATH").expect("a PATH");
    let git = world.program(
        "git",
        &format!(
            "#!/bin/sh\nPATH='{path}'\ncase \"$*\" in *update-index*) if test -e {}; then\n\
             echo 'fatal: cannot fork: Resource temporarily unavailable' >&2; exit 128; fi;; esac\nexec git \"$@\"\n",
            world.out("full").display()
        ),
    );
    let mut command = world.command(&["run"]);
    let own = git.parent().expect("bin").display();
    command.env("PATH", format!("{own}:{path}"));
    command
}

#[test]
fn where_no_more_processes_can_be_started_a_run_waits_and_nothing_is_made_twice() {
    let world = World::new();
    let made = format!(
        "echo x >> {}; touch {}; echo one >> done",
        world.out("at").display(),
        world.out("full").display()
    );
    world.align(&crate::world::plan(
        &["test -f done"],
        serde_json::json!({}),
        serde_json::json!({"A1": crate::world::task(&made)}),
    ));
    let mut run = Running::of(crowded(&world));
    waits_for_the_disk(&world, &run, "Resource temporarily unavailable");
    std::fs::remove_file(world.out("full")).unwrap();
    run.wait().expect(0).says("going on");
    assert_eq!(world.left("at"), "x\n");
}

#[test]
fn where_none_can_be_started_from_the_beginning_nothing_begins_and_it_is_said() {
    let world = World::new();
    world.align(&steps(&world));
    world.write("changed", "x\n");
    world.touch("full");
    let ran = Running::of(crowded(&world)).wait().expect(74);
    ran.says("error[E-MACHINE]").says("ulimit -u");
}
