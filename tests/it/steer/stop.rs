//! Stopping: on request, by signal, at once; and going on afterwards.

use rustix::{fs::FlockOperation, process::Signal};
use serde_json::{Value, json};

use crate::passed_over::has;
use crate::world::{
    Ran, Running, World, assert_same, listing, long_nap, plan, processes, task, wait_for, with,
};

pub struct Napping {
    pub world: World,
    pub nap: String,
    pub run: Running,
}

/// A run in the middle of an attempt that naps unless `go` is there.
pub fn napping(more: Value) -> Napping {
    let (world, nap) = (World::new(), long_nap());
    let at = world.out("at").display().to_string();
    let go = world.out("go").display().to_string();
    let run = format!(
        "(setsid sleep {nap} >/dev/null 2>&1 &); echo $DESCENT_ATTEMPT >> {at}; [ -e {go} ] || sleep {nap}; touch done"
    );
    world.align(&plan(&["test -f done"], json!({}), json!({"A1": with(task(&run), more)})));
    let run = world.start(&["run", "--json"]);
    wait_for("the attempt", || !world.left("at").is_empty());
    Napping { world, nap, run }
}

impl Napping {
    /// Stopped, nothing lost: the next run goes on under the same attempt number.
    #[track_caller]
    pub fn check_stopped_and_resumes(&self) {
        let status = self.world.status();
        assert_eq!(
            (&status["status"], &status["live"], &status["in_flight"]),
            (&json!("stopped"), &json!(false), &json!([]))
        );
        assert_eq!(status["spent"]["attempts"], 0, "{status}");
        assert_eq!(processes(&self.nap), Vec::<String>::new());
        self.world.touch("go");
        self.world.run().expect(0);
        assert_eq!(self.world.left("at"), "1\n1\n");
        assert_eq!(self.world.state()["bindings"]["A1"]["attempts"], 1);
    }
}

#[test]
fn a_stop_is_obeyed_by_a_run_that_begins_again_after_a_kill() {
    let Napping { world, run, .. } = napping(json!({}));
    run.kill();
    let mut run = with_no_commit_possible(&world, || {
        let run = world.start(&["run", "--json"]);
        let holder = world.repo().join(".descent/state.json.d/run.lock");
        let line = format!("pid {},", run.pid());
        wait_for("the lease", || {
            std::fs::read_to_string(&holder).is_ok_and(|text| text.starts_with(&line))
        });
        run.signal(Signal::STOP);
        run
    });
    let mut stop = world.start(&["stop"]);
    // A request to the run that was killed would be there at once.
    let is_asked = |_: &usize| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        world.state()["control"]["request"] != Value::Null
    };
    (0..15).find(is_asked);
    run.signal(Signal::CONT);
    // A slow machine may have taken the pause for a loop that hangs.
    if stop.wait().code != Some(0) {
        world.descent(&["stop"]).expect(0);
    }
    run.wait().expect(3);
}

/// Whoever holds the lock of commits keeps everybody from writing.
fn with_no_commit_possible<T>(world: &World, act: impl FnOnce() -> T) -> T {
    let lock = std::fs::File::open(world.repo().join(".descent/state.json.d/commit.lock"))
        .expect("the lock");
    rustix::fs::flock(&lock, FlockOperation::LockExclusive).expect("locked");
    act()
}

#[test]
fn a_stop_ends_what_runs_before_anything_is_written_of_it() {
    let mut it = napping(json!({}));
    it.run.signal(Signal::STOP);
    it.world.descent(&["stop", "--no-wait"]);
    with_no_commit_possible(&it.world, || {
        it.run.signal(Signal::CONT);
        wait_for("its end", || processes(&it.nap).is_empty());
        assert_eq!(it.world.state()["run"]["status"], "running");
    });
    it.run.wait().expect(3);
    it.check_stopped_and_resumes();
}

#[test]
fn a_stop_ends_the_run_with_3_keeps_its_reason_and_costs_no_attempt() {
    let mut it = napping(json!({}));
    assert_eq!(it.world.descent(&["status", "--exit-code"]).code, Some(75));
    it.world.descent(&["stop", "--reason", "lunch"]).expect(0).shows("stopped");
    let result = it.run.wait().expect(3).result();
    assert_eq!((&result["result"], &result["reason"]), (&json!("stopped"), &json!("stopped")));
    let state = it.world.state();
    assert_eq!(
        (&state["control"]["stop_requested"], &state["control"]["request"]),
        (&json!(false), &Value::Null)
    );
    assert!(it.world.state_text().contains("lunch"), "the reason is kept");
    assert_eq!(it.world.descent(&["status", "--exit-code"]).code, Some(3));
    it.check_stopped_and_resumes();
}

#[test]
fn stop_returns_when_the_loop_is_gone() {
    let mut it = napping(json!({}));
    it.world.descent(&["stop"]).expect(0);
    assert_eq!(it.world.status()["live"], false);
    it.run.wait().expect(3);
}

/// The loop has its lease and has written nothing: its git waits once the lease is taken.
#[test]
fn a_stop_while_the_loop_is_about_to_begin_is_not_lost() {
    if !has("flock", "util-linux") {
        return;
    }
    let world = World::new();
    let atoms = json!({"A1": task(&format!("exec sleep {}", long_nap()))});
    world.align(&plan(&["test -f done"], json!({}), atoms));
    let (lock, at, go) =
        (world.repo().join(".descent/state.json.d/run.lock"), world.out("at"), world.out("go"));
    let path = std::env::var("PATH").expect("a PATH");
    let slow = format!(
        "#!/bin/sh\nPATH='{path}'\nflock -n {} true && exec git \"$@\"\n\
         touch {}; until [ -e {} ]; do sleep 0.02; done\nexec git \"$@\"\n",
        lock.display(),
        at.display(),
        go.display()
    );
    let git = world.program("git", &slow);
    let mut command = world.command(&["run", "--json"]);
    command.env("PATH", format!("{}:{path}", git.parent().expect("bin").display()));
    let mut run = Running::of(command);
    wait_for("the lease", || at.exists());
    let mut stop = world.start(&["stop", "--no-wait"]);
    // Long enough for a stop that would take it that nothing runs.
    std::thread::sleep(std::time::Duration::from_millis(300));
    world.touch("go");
    stop.wait().expect(0).says("stop requested");
    run.wait().expect(3);
}

#[test]
fn a_stop_without_waiting_is_obeyed_all_the_same() {
    let mut it = napping(json!({}));
    it.world.descent(&["stop", "--no-wait"]).expect(0);
    it.run.wait().expect(3);
    it.check_stopped_and_resumes();
}

#[test]
fn the_loop_reacts_to_a_stop_at_once() {
    let mut it = napping(json!({}));
    it.world.descent(&["stop", "--no-wait"]).expect(0);
    let begun = std::time::Instant::now();
    it.run.wait().expect(3);
    // A slow poll would take a second at least.
    assert!(begun.elapsed() < std::time::Duration::from_millis(900), "{:?}", begun.elapsed());
}

#[test]
fn an_interrupt_stops_in_order_and_then_the_run_dies_by_it() {
    let mut it = napping(json!({}));
    it.run.signal(Signal::INT);
    let ran = it.run.wait();
    assert_eq!((ran.code, ran.signal), (None, Some(2)), "{}", ran.stderr);
    it.check_stopped_and_resumes();
}

#[test]
fn a_termination_stops_in_order_and_then_the_run_dies_by_it() {
    let mut it = napping(json!({}));
    it.run.signal(Signal::TERM);
    assert_eq!(it.run.wait().signal, Some(15));
    it.check_stopped_and_resumes();
}

#[test]
fn what_may_not_be_interrupted_finishes_first_on_a_stop() {
    let mut it = napping(json!({"interruptible": false}));
    it.world.descent(&["stop", "--no-wait"]).expect(0);
    wait_for("the loop has seen it", || it.world.state()["control"]["stop_requested"] == true);
    assert!(!processes(&it.nap).is_empty());
    // A second one, now: it is ended.
    it.world.descent(&["stop", "--now"]).expect(0);
    it.run.wait().expect(3);
    it.check_stopped_and_resumes();
}

#[test]
fn a_second_interrupt_ends_at_once_what_may_not_be_interrupted() {
    let mut it = napping(json!({"interruptible": false}));
    it.run.signal(Signal::INT);
    wait_for("the first is taken", || it.world.state()["control"]["stop_requested"] == true);
    assert_eq!(it.world.status()["live"], true);
    it.run.signal(Signal::INT);
    assert_eq!(it.run.wait().signal, Some(2));
    it.check_stopped_and_resumes();
}

#[test]
fn with_nothing_running_a_stop_says_so_and_changes_nothing() {
    let world = World::new();
    world.descent(&["stop"]).expect(0).shows("nothing runs");
    world.align(&plan(&["test -f done"], json!({}), json!({"A1": task("touch done")})));
    let before = world.state_bytes();
    let idle = world.descent(&["stop"]).expect(0);
    idle.shows("nothing runs\nnext: descent run");
    assert_eq!(world.descent(&["stop", "--json"]).expect(0).json()["result"], "nothing runs");
    assert_eq!(world.state_bytes(), before);
}

#[test]
fn a_request_to_a_run_that_was_killed_is_retired_and_never_obeyed_by_the_next() {
    let it = napping(json!({"interruptible": false}));
    it.world.descent(&["stop", "--no-wait"]).expect(0);
    it.run.kill();
    it.world.touch("go");
    let ran = it.world.run().expect(0);
    assert_eq!(ran.count("retired"), 1);
    let log = it.world.descent(&["log"]).expect(0);
    log.shows("asked     by ada: stop").shows(": it was for an earlier run");
}

#[test]
fn a_flag_set_by_hand_stops_the_present_run() {
    let mut it = napping(json!({}));
    it.world.replace_in_state("\"stop_requested\": false", "\"stop_requested\": true");
    it.run.wait().expect(3);
    it.check_stopped_and_resumes();
}

#[test]
fn a_stop_while_it_waits_to_try_again_is_obeyed_at_once() {
    let world = World::new();
    let at = world.out("at").display().to_string();
    let atom = task(&format!("echo x >> {at}; [ $(wc -l < {at}) -gt 4 ] || exit 75; touch done"));
    world.align(&plan(&["test -f done"], json!({"max_transient": 9}), json!({"A1": atom})));
    let mut run = world.start(&["run", "--json"]);
    wait_for("two tries", || world.left("at").lines().count() >= 2);
    world.descent(&["stop"]).expect(0);
    run.wait().expect(3);
    let tries = world.left("at").lines().count();
    assert!(tries <= 3, "{tries}");
    assert_eq!(world.status()["spent"]["attempts"], 0);
}

#[test]
fn a_reader_that_goes_away_does_not_end_the_run() {
    let world = World::new();
    world.align(&plan(&["test -f done"], json!({}), json!({"A1": task("touch done")})));
    let mut command = world.command(&["run", "--json"]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    command.stdout(writer);
    let status = command.status().unwrap();
    assert_eq!(status.code(), Some(0));
    assert_eq!(world.state()["run"]["status"], "completed");
}

#[test]
fn the_loop_of_a_second_state_file_is_another_one() {
    let it = napping(json!({}));
    let path =
        it.world.plan(&plan(&["test -f other"], json!({}), json!({"A1": task("touch other")})));
    it.world.descent(&["--state", "other.json", "align", "-y", "-f", &path]).expect(0);
    it.world.descent(&["--state", "other.json", "stop"]).expect(0).shows("nothing runs");
    it.world.descent(&["--state", "other.json", "run"]).expect(0);
    assert_eq!(it.world.status()["live"], true);
    assert!(!processes(&it.nap).is_empty(), "what is not its own is left alone");
}

/// A check that naps, outside of any loop: `args` evaluates it, is interrupted, and leaves nothing running.
#[track_caller]
fn check_interrupted(world: &World, args: &[&str], nap: &str) -> Ran {
    let mut looking = world.start(args);
    wait_for("the check runs", || {
        processes("sleep").iter().any(|line| line.contains(&format!(" sleep {nap}")))
    });
    looking.signal(Signal::INT);
    let ran = looking.wait();
    assert_eq!(ran.signal, Some(2));
    assert_eq!(processes(nap), Vec::<String>::new());
    ran
}

#[test]
fn an_interrupt_during_align_leaves_no_process_and_makes_nothing() {
    let (world, nap) = (World::new(), long_nap());
    let path =
        world.plan(&plan(&[&format!("sleep {nap}")], json!({}), json!({"A1": task("true")})));
    let before = listing(&world.repo());
    for args in [&["align", "-y", "-f", &path][..], &["align", "--json", "-f", &path]] {
        let ran = check_interrupted(&world, args, &nap);
        assert_eq!(ran.stdout, "", "what was cut off is shown as an agreement: {args:?}");
        assert_same(&world.repo(), &before);
    }
}

#[test]
fn an_interrupt_during_verify_leaves_no_process() {
    let (world, nap) = (World::new(), long_nap());
    let go = world.out("go").display().to_string();
    world.align(&plan(
        &[&format!("[ ! -e {go} ] || sleep {nap}")],
        json!({}),
        json!({"A1": task("true")}),
    ));
    world.touch("go");
    check_interrupted(&world, &["verify"], &nap);
}
