//! `align` that helps: proposals from the project, questions on a terminal, every check twice. Not here: what is odd about a check (`odd_checks`).

use std::{fs, os::unix::process::ExitStatusExt};

use serde_json::{Value, json};

use crate::{
    terminal::Terminal,
    world::{Ran, World, assert_same, listing, plan, task},
};

const MAKEFILE: &str = "test:\n\tgrep -q done log\nlint:\n\ttest -f log\n";

/// A project with a Makefile and tests, all committed.
fn project() -> World {
    let world = World::new();
    world.write("Makefile", MAKEFILE);
    fs::create_dir(world.repo().join("tests")).unwrap();
    world.write("tests/a.sh", "true\n");
    commit(&world);
    world
}

fn commit(world: &World) {
    world.commit_all("more");
}

/// A check uses a tool that git ignores, so a fresh checkout lacks it.
pub fn with_tool() -> World {
    let world = World::new();
    world.write(".gitignore", "node_modules\n*.log\n");
    fs::create_dir(world.repo().join("node_modules")).unwrap();
    world.write("node_modules/tool", "#!/bin/sh\ntrue\n");
    world.write("x.log", "");
    commit(&world);
    world
}

const TOOL: &str = "sh node_modules/tool";

#[track_caller]
pub fn nothing_is_left(world: &World) {
    assert!(!world.repo().join(".descent").exists());
    assert_eq!(world.git(&["for-each-ref", "refs/descent"]), "");
    assert_eq!(world.git(&["worktree", "list"]).lines().count(), 1);
    let cached = listing(&world.cache());
    assert!(cached.len() <= 1, "{:?}", cached.keys());
}

#[test]
fn without_a_check_the_refusal_lists_what_the_project_proposes_and_a_line_to_paste() {
    let world = project();
    let before = listing(&world.root());
    let ran = world.descent(&["align", "a log", "--why", "it's wanted", "-y"]).expect(4);
    let ran = ran
        .says("E-NOT-ALIGNED")
        .says("could be: --check 'make test' (Makefile)")
        .says("could be: --protect 'tests/**' (tests by their place)");
    let hint = r"next: descent align 'a log' --why 'it'\''s wanted' --check 'make test' --step 'WHAT TO DO=COMMAND' -y";
    assert!(ran.stderr.contains(hint), "{}", ran.stderr);
    assert_same(&world.root(), &before);
    let error = world.descent(&["align", "a log", "--json"]).expect(4).json();
    let details = error["error"]["details"].as_array().unwrap();
    let offers =
        details.iter().filter(|line| line.as_str().unwrap().starts_with("could be: --check"));
    assert_eq!(offers.count(), 1, "{error}");
    assert!(error["error"]["hint"].as_str().unwrap().contains("--why WHY"));
}

#[test]
fn the_line_to_paste_is_one_that_works() {
    let world = project();
    let ran =
        world.descent(&["align", "a log", "--why", "w", "--step", "do=echo done > log"]).expect(4);
    let line = ran.stderr.lines().find_map(|line| line.strip_prefix("next: descent ")).unwrap();
    let mut command = world.command(&[]);
    let program = command.get_program().to_owned();
    command = {
        let mut shell = std::process::Command::new("sh");
        shell.arg("-c").arg(format!("\"$0\" {line}")).arg(program);
        shell.current_dir(world.repo()).env_clear();
        shell.envs(command.get_envs().filter_map(|(key, value)| Some((key, value?))));
        shell
    };
    crate::world::Running::of(command).wait().expect(0).says("agreed without asking: no terminal");
    assert_eq!(world.state()["objective"]["base_case"], json!({"all": [{"command": "make test"}]}));
}

#[test]
fn on_a_terminal_what_is_missing_is_asked_for_and_nothing_else() {
    let world = project();
    let mut at = Terminal::start(&world, &["align", "have a log"]);
    at.sees("Why is it wanted?  (--why)").sees("> ").types("");
    at.sees("cannot be left out").sees("> ").types("somebody reads it");
    at.sees("1. make test").sees("(Makefile)").sees("> ").types("7");
    at.sees("no 7 in the list").sees("> ").types("1");
    at.sees("(--step)").sees("No worker is named yet").sees("> ").types("write=echo done > log");
    at.sees("And then?").sees("> ").types("");
    at.sees("(--protect)").sees("1. tests/**").sees("> ").types("1");
    at.sees("have a log").sees("somebody reads it").sees("fail").sees("make test");
    at.sees("agree? [y/N] ").types("y").sees("next: descent run");
    assert_eq!(at.ends().code(), Some(0));
    assert!(!at.screen().contains("What shall be reached"), "{}", at.screen());
    let objective = &world.state()["objective"];
    assert_eq!(objective["background_intent"], "somebody reads it");
    assert_eq!(objective["base_case"], json!({"all": [{"command": "make test"}]}));
    assert_eq!(objective["constraints"], json!({"protected": ["tests/**"], "on_stuck": "ask"}));
    world.run().expect(0);
}

#[test]
fn enter_takes_the_first_proposal_and_the_goal_as_the_work() {
    let world = project();
    world.write(
        "descent.toml",
        "agents.worker.run = \"echo done > log\"\nroles.worker = \"worker\"\n",
    );
    let mut at = Terminal::start(&world, &["align"]);
    at.sees("(GOAL)").sees("> ").types("have a log");
    at.sees("(--why)").sees("> ").types("w");
    at.sees("(--check)").sees("> ").types("");
    at.sees("for the worker (echo done > log)").sees("> ").types("");
    at.sees("(--protect)").sees("> ").types("");
    at.sees("worker: echo done > log").sees("agree? [y/N] ").types("y");
    assert_eq!(at.ends().code(), Some(0));
    let state = world.state();
    assert_eq!(state["work_graph"]["atoms"]["S1"]["description"], "have a log");
    // A failure of the goal fails the only attempt at it, which is tried again.
    assert_eq!(state["work_graph"]["atoms"]["S1"]["checks"], state["objective"]["base_case"]);
    assert_eq!(state["objective"]["base_case"], json!({"all": [{"command": "make test"}]}));
    assert!(state["objective"]["constraints"].get("protected").is_none());
}

#[test]
fn a_no_gives_the_answers_back_and_neither_yes_nor_no_is_asked_again() {
    let world = project();
    let args = ["align", "g", "--check", "make test", "--step", "x=true"];
    let mut at = Terminal::start(&world, &args);
    at.sees("(--why)").sees("> ").types("it is wanted");
    at.sees("(--protect)").sees("> ").types("1");
    at.sees("agree? [y/N] ").types("what?");
    at.sees("y for yes, n for no").sees("agree? [y/N] ").types("No");
    assert_eq!(at.ends().code(), Some(4));
    let screen = at.screen();
    let line = "descent align g --why 'it is wanted' --check 'make test' --step x=true --protect 'tests/**'";
    assert!(screen.contains(line), "{screen}");
    nothing_is_left(&world);
    let mut at = Terminal::start(
        &world,
        &["align", "g", "--why", "w", "--check", "make test", "--step", "x=true", "--protect", "t"],
    );
    at.sees("agree? [y/N] ").types("Yes").sees("agreed");
    assert_eq!(at.ends().code(), Some(0));
}

#[test]
fn whoever_leaves_leaves_nothing_behind() {
    let leave = |how: &dyn Fn(&mut Terminal)| {
        let world = project();
        let before = listing(&world.root());
        let mut at = Terminal::start(&world, &["align", "g"]);
        at.sees("(--why)").sees("> ");
        how(&mut at);
        let ended = at.ends();
        assert_same(&world.root(), &before);
        ended
    };
    assert_eq!(
        leave(&|at| {
            at.ends_input();
        })
        .code(),
        Some(4)
    );
    assert_eq!(
        leave(&|at| {
            at.interrupt();
        })
        .signal(),
        Some(2)
    );
    // The same where the checks have run already.
    let consent = |how: &dyn Fn(&mut Terminal)| {
        let world = project();
        let args = ["align", "g", "--why", "w", "--check", "make test", "--step", "x=true"];
        let mut at = Terminal::start(&world, &args);
        at.sees("agree? [y/N] ");
        how(&mut at);
        let ended = at.ends();
        nothing_is_left(&world);
        ended
    };
    assert_eq!(
        consent(&|at| {
            at.ends_input();
        })
        .code(),
        Some(4)
    );
    assert_eq!(
        consent(&|at| {
            at.types("");
        })
        .code(),
        Some(4)
    );
    assert_eq!(
        consent(&|at| {
            at.interrupt();
        })
        .signal(),
        Some(2)
    );
}

#[test]
fn nobody_is_asked_in_ci_with_no_input_or_for_a_program() {
    let world = project();
    for args in
        [&["align", "g", "--no-input"][..], &["align", "g", "--json"], &["align", "g", "-y"]]
    {
        assert_eq!(Terminal::start(&world, args).ends().code(), Some(4));
    }
    let mut command = world.command(&["align", "g"]);
    command.env("CI", "1");
    assert_eq!(Terminal::of(command).ends().code(), Some(4));
    nothing_is_left(&world);
}

#[test]
fn who_is_asked_when_stuck_is_told_by_the_terminal_of_align() {
    let args = ["align", "-y", "g", "--why", "w", "--check", "test -f x", "--step", "a=touch x"];
    let world = World::new();
    world.descent(&args).expect(0);
    assert_eq!(world.state()["objective"]["constraints"], json!({}));
    let world = World::new();
    assert_eq!(Terminal::start(&world, &args).ends().code(), Some(0));
    assert_eq!(world.state()["objective"]["constraints"], json!({"on_stuck": "ask"}));
    world.descent(&args).expect(0).says("unchanged");
    let world = World::new();
    let chosen = [&args[..], &["--set", "on_stuck=abandon"]].concat();
    assert_eq!(Terminal::start(&world, &chosen).ends().code(), Some(0));
    assert_eq!(world.state()["objective"]["constraints"], json!({"on_stuck": "abandon"}));
}

#[test]
fn flags_of_their_own_say_what_is_protected_linked_and_set_up() {
    let world = with_tool();
    let more = ["--protect", "a.txt", "--link", "node_modules", "--setup", "true"];
    align_with(&world, &plan(&[TOOL], json!({"env": ["A"]}), json!({"A1": task("true")})), &more)
        .expect(0)
        .shows("link = node_modules");
    assert_eq!(
        world.state()["objective"]["constraints"],
        json!({"env": ["A"], "protected": ["a.txt"], "link": ["node_modules"], "setup": {"run": "true"}})
    );
}

pub fn align_with(world: &World, plan: &Value, more: &[&str]) -> Ran {
    let path = world.plan(plan);
    world.descent(&[&["align", "-y", "-f", &path], more].concat())
}

pub fn with_check(check: Value) -> Value {
    let mut plan = plan(&["true"], json!({}), json!({"A1": task("true")}));
    plan["objective"]["base_case"] = json!({"all": [check]});
    plan
}

#[test]
fn a_check_that_ends_otherwise_in_a_fresh_checkout_is_shown_with_what_that_lacks() {
    let world = with_tool();
    let checked = with_check(json!({"command": TOOL}));
    let ran = align_with(&world, &checked, &["-n"])
        .expect(0)
        .shows("here: pass")
        .shows("in a fresh checkout: fail")
        .shows("node_modules, x.log")
        .shows("--link node_modules");
    assert!(!ran.stdout.contains("holds already"), "{}", ran.stdout);
    let value = align_with(&world, &checked, &["-n", "--json"]).expect(0).json();
    assert_eq!(value["here"][0]["verdict"], "pass");
    assert_eq!(value["base_case"][0]["verdict"], "fail");
    assert_eq!(value["lacking"]["checkout"], json!(["node_modules", "x.log"]));
    assert_eq!(value["suggested"], json!(["--link node_modules"]));
    nothing_is_left(&world);
    align_with(&world, &checked, &["-n", "--link", "node_modules"])
        .expect(0)
        .shows("it holds already")
        .shows("fails until the goal is reached: --check COMMAND");
    let made = "mkdir node_modules && echo true > node_modules/tool";
    align_with(&world, &checked, &["-n", "--setup", made]).expect(0).shows("it holds already");
}

#[test]
fn on_a_terminal_what_a_fresh_checkout_lacks_is_offered_and_the_checks_run_again() {
    let world = with_tool();
    let path = world.plan(&with_check(json!({"command": TOOL})));
    let mut at = Terminal::start(&world, &["align", "-f", &path]);
    at.sees("here: pass").sees("1. --link node_modules").sees("> ").types("false");
    at.sees("E-SETUP").sees("1. --link node_modules").sees("> ").types("1");
    at.sees("it holds already").sees("agree? [y/N] ").types("y");
    assert_eq!(at.ends().code(), Some(0));
    let constraints = &world.state()["objective"]["constraints"];
    assert_eq!(constraints["link"], json!(["node_modules"]));
    assert!(constraints.get("setup").is_none());
}

#[test]
fn in_the_shared_workspace_every_check_runs_once() {
    let world = World::new();
    let count = |check: &str, constraints: Value| {
        let out = world.out("count");
        let check = format!("echo x >> {}; {check}", out.display());
        let plan = plan(&[&check], constraints, json!({"A1": task("true")}));
        align_with(&world, &plan, &["-n"]).expect(0);
        let times = world.left("count").lines().count();
        fs::remove_file(out).unwrap();
        times
    };
    assert_eq!(count("test -f x", json!({})), 2);
    assert_eq!(count("test -f x", json!({"workspace": "shared"})), 1);
}

#[test]
fn the_preview_says_where_it_starts_from_and_what_was_chosen() {
    let world = World::new();
    world.write("new.txt", "x");
    world.write("a.txt", "y");
    let chosen = json!({"max_attempts": 2, "attempt_timeout": "5m", "budget": {"time": "1h"}});
    let plan = plan(&["test -f done"], chosen, json!({"A1": task("touch done")}));
    align_with(&world, &plan, &["-n"])
        .expect(0)
        .shows("why:  somebody waits for it")
        .shows("starts from: branch main at ")
        .shows("with 2 uncommitted files")
        .shows("5m an attempt; 1h in all")
        .shows("chosen: max_attempts = 2; budget.time = 1h; attempt_timeout = 5m")
        .says("nothing was written");
}
