//! A redirect: one commit that changes what is wanted, ends what is in flight, and is heeded at once.

use std::fs;

use serde_json::{Value, json};

use crate::{
    screen::Terminal,
    world::{
        Running, World, after, assert_same, listing, long_nap, plan, processes, task, wait_for,
    },
};

/// `way` naps on its first choice and is done by its second; `other` naps too.
fn choices(world: &World, nap: &str) -> Value {
    let at = world.out("at").display().to_string();
    json!({
        "way": {"kind": "any", "choices": ["slow", "quick"]},
        "slow": task(&format!("echo slow >> {at}; sleep {nap}")),
        "quick": task("touch done"),
        "other": task(&format!("echo other >> {at}; sleep {nap}")),
    })
}

struct AtWork {
    world: World,
    nap: String,
    run: Running,
}

/// A run whose two attempts nap.
fn at_work() -> AtWork {
    let (world, nap) = (World::new(), long_nap());
    world.align(&plan(&["test -f done"], json!({}), choices(&world, &nap)));
    let run = world.start(&["run", "--json"]);
    wait_for("both attempts", || world.left("at").lines().count() == 2);
    AtWork { world, nap, run }
}

/// A run that is exhausted: `bad` failed in every attempt.
fn exhausted() -> World {
    let world = World::new();
    let atoms = json!({
        "good": task("echo one > good"),
        "bad": after(&["good"], "test -f allowed && touch done"),
    });
    world.align(&plan(&["test -f done"], json!({"max_attempts": 1}), atoms));
    world.run().expect(5);
    world
}

#[test]
fn a_redirect_in_mid_run_ends_what_is_in_flight_and_the_loop_goes_on_as_changed() {
    let AtWork { world, nap, mut run } = at_work();
    let flags = [
        "redirect",
        "it takes too long",
        "--select",
        "way=quick",
        "--remove",
        "other",
        "--set",
        "max_attempts=2",
    ];
    let done = world.descent(&[&flags[..], &["-y", "--json"]].concat()).expect(0).json();
    assert_eq!(done["result"], "changed");
    assert_eq!(done["ended"].as_array().map(Vec::len), Some(2), "{done}");
    assert!(done["started"][0].as_str().is_some_and(|id| id.starts_with("quick.")), "{done}");
    assert!(done["answered"].as_u64() > done["serial"].as_u64());
    let ran = run.wait().expect(0);
    assert_eq!(ran.count("corrected"), 2, "{}", ran.stdout);
    assert_eq!(processes(&nap), Vec::<String>::new());
    let state = world.state();
    assert_eq!(state["run"]["spent"]["attempts"], 1, "the others cost nothing");
    let corrections = state["corrections"].as_array().unwrap();
    let kinds: Vec<&str> = corrections.iter().filter_map(|one| one["type"].as_str()).collect();
    assert_eq!(kinds, ["constraint_change", "dag_adjustment"]);
    assert!(corrections.iter().all(|one| one["reason"] == "it takes too long"));
    assert_eq!(state["bindings"]["slow"], Value::Null);
    world.descent(&["validate"]).expect(0);
}

#[test]
fn a_dry_redirect_writes_nothing_and_takes_in_no_edit() {
    let world = exhausted();
    world.replace_in_state("\"max_attempts\": 1", "\"max_attempts\": 2");
    let before = listing(&world.repo());
    let shown =
        world.descent(&["redirect", "--retry", "bad", "--set", "max_attempts=3", "-n"]).expect(0);
    shown
        .shows("max_attempts: 2 → 3")
        .shows("ends after at most")
        .shows("next: descent redirect --retry bad --set max_attempts=3 -y")
        .says("an edit that is not taken in");
    assert_same(&world.repo(), &before);
}

#[test]
fn nobody_is_redirected_unasked() {
    let world = exhausted();
    let before = listing(&world.repo());
    let refused = world.descent(&["redirect", "--retry", "bad"]).expect(2);
    refused.says("descent redirect -y");
    world.descent(&["redirect"]).expect(2).says("nothing is to be changed");
    world.descent(&["redirect", "--check", "", "-y"]).expect(2).says("--check");
    assert_same(&world.repo(), &before);
    let terminal = Terminal::start(&world, 80, &["redirect", "--retry", "bad"], &[]);
    terminal.wait_for("redirect? [y/N] ");
    terminal.types("n");
    terminal.end().expect(4);
    assert_same(&world.repo(), &before);
    let terminal = Terminal::start(&world, 80, &["redirect", "--retry", "bad"], &[]);
    terminal.wait_for("redirect? [y/N] ");
    terminal.types("y");
    let shown = terminal.end().expect(0).text();
    assert!(shown.contains("next: descent run"), "{shown}");
}

#[test]
fn faults_of_a_redirect_are_told_together_and_nothing_is_written() {
    let world = exhausted();
    world.write("more.yaml", "work_graph: {atoms: {bad: {action: {run: 'true'}}}}\n");
    let before = listing(&world.repo());
    let flags = [
        "redirect",
        "-y",
        "--remove",
        "good",
        "--retry",
        "baad",
        "--select",
        "good=bad",
        "--add",
        "more.yaml",
    ];
    let refused = world.descent(&flags).expect(65);
    refused
        .says("E-INVALID")
        .says("4 faults")
        .says("/work_graph/atoms/good: bad waits for good (take it out too: --remove bad)")
        .says("/work_graph/atoms/bad: there is an atom bad already")
        .says("/work_graph/atoms/good: good is taken out by this redirect")
        .says("/work_graph/atoms/baad: no atom is named baad (did you mean `bad`?)");
    world.write("broken.yaml", "work_graph: {atoms: {x: {action: 7}}}\n");
    let broken = world.descent(&["redirect", "-y", "--add", "broken.yaml"]).expect(65);
    broken.says("broken.yaml:1:");
    fs::remove_file(world.repo().join("broken.yaml")).unwrap();
    assert_same(&world.repo(), &before);
}

#[test]
fn everything_that_a_redirect_can_change_is_changed_and_the_next_run_is_by_it() {
    let world = exhausted();
    world.write(
        "more.yaml",
        "work_graph: {atoms: {allow: {action: {run: touch allowed}}, last: {depends_on: allow, parts: {p: {action: {run: touch p}}}}}}\n",
    );
    let done = world.descent(&[
        "redirect",
        "-y",
        "--goal",
        "done and p",
        "--why",
        "both count",
        "--deliver",
        "two files",
        "--done",
        "both are there",
        "--check",
        "test -f done",
        "--add-check",
        "test -f p",
        "--set",
        "max_parallel_agents=1",
        "--add",
        "more.yaml",
        "--bind",
        "good=good enough",
        "--retry",
        "bad",
    ]);
    done.expect(0).shows("next: descent run");
    let state = world.state();
    let objective = &state["objective"];
    assert_eq!(
        (&objective["goal"], &objective["definition_of_done"]),
        (&json!("done and p"), &json!("both are there"))
    );
    assert_eq!(state["bindings"]["good"]["by"], "person");
    assert_eq!(state["bindings"]["good"]["summary"], "good enough");
    // `bad` needs what `allow` makes, and nothing says so yet.
    let more = json!({"work_graph": {"atoms": {"again": after(&["allow"], "touch done")}}});
    world.write("again.json", &more.to_string());
    let flags = ["redirect", "-y", "--remove", "bad", "--add", "again.json"];
    world.descent(&flags).expect(0);
    world.run().expect(0);
    assert_eq!(world.result_file("good"), "one\n", "a word leaves the tree");
    let forget = world.descent(&["redirect", "-y", "--forget", "good"]).expect(0);
    forget.shows("next: descent run");
    world.run().expect(0);
    assert_eq!(world.state()["bindings"]["good"]["by"], "action");
}

#[test]
fn log_and_status_tell_what_a_redirect_changed_from_what_to_what() {
    let told = [
        (
            &["redirect", "-y", "--goal", "done", "--add-check", "test -f p"][..],
            "goal: it is so → done; checks added: test -f p",
        ),
        (
            &["redirect", "-y", "--bind", "good=by my word"],
            "result of good: changed good → by my word",
        ),
        (&["redirect", "-y", "--set", "max_attempts=3"], "max_attempts: 1 → 3"),
    ];
    for (args, words) in told {
        let world = exhausted();
        world.descent(args).expect(0);
        let log = world.descent(&["log", "-v"]).expect(0).stdout;
        let of_redirect = log.lines().find(|line| line.contains("by ada: ")).expect("a line");
        assert!(of_redirect.contains(words), "{of_redirect}");
        let status = world.descent(&["status"]).expect(0).stdout;
        assert!(status.contains(words), "{status}");
    }
}

#[test]
fn all_that_stands_already_is_unchanged() {
    let world = exhausted();
    let before = listing(&world.repo());
    let same = world.descent(&["redirect", "-y", "--set", "max_attempts=1", "--json"]);
    assert_eq!(same.expect(0).json()["result"], "unchanged");
    assert_same(&world.repo(), &before);
}

#[test]
fn a_redirect_is_undone_like_every_correction() {
    let world = exhausted();
    world.descent(&["redirect", "-y", "another aim", "--goal", "something else"]).expect(0);
    world.descent(&["log"]).expect(0).shows("another aim");
    world.descent(&["undo", "-y"]).expect(0);
    assert_ne!(world.state()["objective"]["goal"], "something else");
}

/// Begins to redirect at a terminal, and waits until the loop has ended its attempts.
fn asking(world: &World, nap: &str) -> Terminal {
    let terminal = Terminal::start(world, 100, &["redirect", "too slow"], &[]);
    terminal.wait_for("redirect> ");
    let run = world.state()["run"].clone();
    assert_eq!((&run["status"], &run["in_flight"]), (&json!("redirecting"), &json!([])));
    wait_for("the end of both", || processes(nap).is_empty());
    terminal
}

/// Both attempts begin once more.
#[track_caller]
fn goes_on_as_before(world: &World) {
    wait_for("both again", || world.left("at").lines().count() == 4);
    assert_eq!(world.state()["run"]["status"], "running");
    assert_eq!(world.state()["corrections"], json!([]));
}

#[test]
fn at_a_terminal_the_loop_waits_until_the_person_has_said_what_shall_be_another() {
    let AtWork { world, nap, mut run } = at_work();
    let terminal = asking(&world, &nap);
    terminal.wait_for("the loop waits; ended: ");
    let status = world.descent(&["status"]).expect(0);
    status.shows("redirecting").shows("next: descent redirect --abort");
    terminal.types("--select way=quik");
    terminal.wait_for("did you mean `quick`?");
    terminal.types("--select way=quick --remove other");
    terminal.wait_for("redirect? [y/N] ");
    terminal.types("n");
    terminal.types("--select 'way=quick' --remove other");
    wait_for("the second question", || terminal.written().matches("redirect? [y/N]").count() == 2);
    terminal.types("y");
    let shown = terminal.end().expect(0).text();
    assert!(shown.contains("starts: quick."), "{shown}");
    run.wait().expect(0);
    let corrections = world.state()["corrections"].clone();
    assert_eq!(corrections[0]["reason"], "too slow");
}

#[test]
fn an_empty_line_takes_a_redirect_back_and_the_loop_goes_on_as_before() {
    let AtWork { world, nap, run, .. } = at_work();
    let terminal = asking(&world, &nap);
    terminal.types("");
    let shown = terminal.end().expect(0).text();
    assert!(shown.contains("nothing was changed; the loop goes on"), "{shown}");
    goes_on_as_before(&world);
    world.descent(&["stop"]).expect(0);
    drop(run);
}

#[test]
fn a_loop_does_not_wait_for_a_process_that_was_killed_while_it_asked() {
    let AtWork { world, nap, run, .. } = at_work();
    let terminal = asking(&world, &nap);
    terminal.signal(rustix::process::Signal::KILL);
    goes_on_as_before(&world);
    let log = world.descent(&["log"]).expect(0);
    log.shows("who asked is gone");
    world.descent(&["stop"]).expect(0);
    drop(run);
}

#[test]
fn a_second_redirect_names_the_first_and_abort_takes_it_back() {
    let AtWork { world, nap, run, .. } = at_work();
    let terminal = asking(&world, &nap);
    let second = world.descent(&["redirect", "-y", "--set", "max_attempts=3"]).expect(75);
    second.says("E-REDIRECT").says("descent redirect --abort");
    let aborted = world.descent(&["redirect", "--abort"]).expect(0);
    aborted.shows("taken back").shows("next: descent status");
    goes_on_as_before(&world);
    world.descent(&["redirect", "--abort"]).expect(0).shows("no redirect waits");
    terminal.types("--select way=quick");
    terminal.wait_for("redirect? [y/N] ");
    terminal.types("y");
    let shown = terminal.end().expect(75).text();
    assert!(shown.contains("E-REDIRECT"), "{shown}");
    assert_eq!(world.state()["corrections"], json!([]), "nothing is changed");
    world.descent(&["stop"]).expect(0);
    drop(run);
}

#[test]
fn a_stop_is_obeyed_at_once_while_a_redirect_waits_and_the_change_is_made_to_a_stopped_run() {
    let AtWork { world, nap, mut run } = at_work();
    let terminal = asking(&world, &nap);
    world.descent(&["stop"]).expect(0);
    run.wait().expect(3);
    terminal.types("--select way=quick --remove other");
    terminal.wait_for("redirect? [y/N] ");
    terminal.types("y");
    let shown = terminal.end().expect(0).text();
    assert!(shown.contains("next: descent run"), "{shown}");
    world.run().expect(0);
}

#[test]
fn words_without_a_flag_are_told_to_be_the_reason_and_that_the_goal_stays() {
    let world = World::new();
    let atoms = json!({"A1": task("touch done")});
    world.align(&plan(&["test -f done"], json!({}), atoms));
    let (set, stays) =
        (["--set", "max_attempts=9"], "the goal stays: it is done  (--goal TEXT changes it)");
    let goal = world.state()["objective"]["goal"].as_str().unwrap().to_owned();
    let stays = stays.replace("it is done", &goal);
    let words = [&["redirect", "seven numbers"][..], &set, &["-n"]].concat();
    world.descent(&words).expect(0).says("the reason: seven numbers").says(&stays);
    let with_goal = [&words[..], &["--goal", "seven numbers"]].concat();
    let ran = world.descent(&with_goal).expect(0);
    assert!(!ran.stderr.contains("the goal stays"), "{}", ran.stderr);
    let ran = world.descent(&[&["redirect"][..], &set, &["-n"]].concat()).expect(0);
    assert!(!ran.stderr.contains("reason"), "{}", ran.stderr);
    world.descent(&["redirect", "seven numbers"]).expect(2).says("--goal TEXT");
}
