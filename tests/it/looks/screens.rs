//! Terminal screens, whole: what a person sees from the first `--help` to the result.
//!
//! Each screen is a file of `screens/`; `support::snapshot` compares. Terminals have 80 columns unless a name says
//! otherwise.

use std::{fs, process::Command};

use regex::Regex;

use crate::{
    screen::Terminal,
    snapshot::{assert_kept, folder},
    world::{Running, World},
};

/// A group whose first choice fails a check, whose second fails, and whose third holds.
const SITE: &str = "
objective:
  goal: the site is built by a maintained tool
  background_intent: the old one gets no security fixes
  base_case:
    all:
      - {name: builds, command: grep -q zola site}
      - {name: copied, command: cmp site copy}
work_graph:
  atoms:
    ground: {description: Lay the ground, action: {run: echo ground >ground}}
    tool:
      description: Port the site to a maintained tool
      depends_on: ground
      choices:
        jekyll: {description: Stay with the old one, action: {run: echo jekyll >site}}
        hugo: {description: Port to Hugo, action: {run: 'echo theme not found >&2; exit 3'}}
        zola: {description: Port to Zola, action: {run: echo zola >site}}
    ci: {description: Let CI build with it, depends_on: tool, action: {run: cp site copy}}
";

/// The program with the world as its home, so that every path begins with `~`.
fn command(world: &World, args: &[&str]) -> Command {
    let mut command = world.command(args);
    command.env("HOME", world.root());
    command.env_remove("XDG_CACHE_HOME").env("LANG", "C.UTF-8");
    command
}

/// A repository with a plan that is not committed.
fn with_plan(plan: &str) -> World {
    let world = World::new();
    world.write("plan.yaml", plan);
    world
}

#[track_caller]
fn screen(world: &World, columns: u16, args: &[&str], code: i32) -> String {
    let terminal = Terminal::of(command(world, args), columns);
    terminal.end().expect(code).text()
}

/// The screen of a command that succeeds.
#[track_caller]
fn kept(world: &World, name: &str, args: &[&str]) {
    assert_kept(world, name, &screen(world, 80, args, 0));
}

/// The output where nobody looks: standard output, then standard error.
#[track_caller]
fn kept_piped(world: &World, name: &str, args: &[&str], code: i32) {
    let ran = Running::of(command(world, args)).wait().expect(code);
    assert_kept(world, name, &format!("{}{}", ran.stdout, ran.stderr));
}

#[test]
fn the_help_and_a_directory_where_nothing_is_agreed() {
    let world = World::bare();
    kept(&world, "help", &["--help"]);
    kept(&world, "help-align", &["align", "--help"]);
    kept(&world, "nothing-agreed", &[]);
    let typo = screen(&world, 80, &["statsu"], 2);
    assert_kept(&world, "no-such-command", &typo);
}

#[test]
fn a_plan_is_previewed_asked_for_and_agreed() {
    let world = with_plan(SITE);
    kept(&world, "align-preview", &["align", "-n", "-f", "plan.yaml"]);
    let piped = ["align", "-n", "-f", "plan.yaml"];
    kept_piped(&world, "align-preview-piped", &piped, 0);
    let terminal = Terminal::of(command(&world, &["align", "-f", "plan.yaml"]), 80);
    terminal.wait_for("agree? [y/N] ");
    terminal.types("y");
    let asked = terminal.end().expect(0).text();
    assert_kept(&world, "align-asked", &asked);
    kept(&world, "status-agreed", &[]);
    kept(&world, "graph-agreed", &["graph"]);
    kept(&world, "why-nothing", &["why"]);
    kept(&world, "why-waiting", &["why", "ci"]);
    kept(&world, "constraints", &["status", "--constraints"]);
}

/// An answer of an aligner, with a question.
const PROPOSAL: &str = r#"{"goal": "every greeting is in the log", "why": "people ask who was greeted",
    "base_case": {"all": [{"command": "grep -q hello log", "name": "logged"}]}, "protected": ["Makefile"],
    "atoms": [{"id": "write", "description": "write the log", "kind": "any", "choices": ["append", "replace"]},
        {"id": "append", "description": "at its end", "action": {"run": "echo hello >> log"}},
        {"id": "replace", "description": "a new one each time", "action": {"run": "echo hello > log"}}],
    "questions": [{"question": "How long is a greeting kept?", "why": "the log could grow", "options": ["a day", "for ever"]}]}"#;

#[test]
fn an_aligner_proposes_and_asks_and_nothing_runs_before_a_yes() {
    let world = World::new();
    world.write("Makefile", "test:\n\tgrep -q hello log\n");
    world.write("answer.json", PROPOSAL);
    let agents = "[agents.wise]\nrun = \"cat answer.json\"\n[roles]\naligner = \"wise\"\n";
    let own = world.root().join(".config/descent");
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("config.toml"), agents).unwrap();
    world.commit_all("more");
    let terminal = Terminal::of(command(&world, &["align", "log the greetings"]), 80);
    for (question, answer) in [
        ("leaves it open.", "2"),
        ("run its checks now? y: yes, e: edit it, or say what to change [y/e/N] ", "y"),
        ("agree? y: yes, e: edit it, or say what to change [y/e/N] ", "y"),
    ] {
        terminal.answers(question, answer);
    }
    let asked = terminal.end().expect(0).text();
    assert_kept(&world, "align-aligned", &asked);
}

#[test]
fn without_a_plan_everything_that_lacks_is_asked_for() {
    let world = World::new();
    world.write("Makefile", "test:\n\tgrep -q done log\n");
    world.commit_all("more");
    let terminal = Terminal::of(command(&world, &["align", "have a log"]), 80);
    for (question, answer) in [
        ("(--why)", "somebody reads it"),
        ("or a command of your own.", "1"),
        ("by the worker that you will name.", "write=echo done > log"),
        ("And then?", ""),
        ("agree? [y/N] ", "y"),
    ] {
        terminal.answers(question, answer);
    }
    let asked = terminal.end().expect(0).text();
    assert_kept(&world, "align-questions", &asked);
}

#[test]
fn a_run_that_switches_twice_and_every_look_at_it() {
    let world = with_plan(SITE);
    screen(&world, 80, &["align", "-y", "-f", "plan.yaml"], 0);
    kept(&world, "run-completed", &["run"]);
    for (name, args) in [
        ("status-completed", &["status"][..]),
        ("graph-completed", &["graph"]),
        ("log", &["log"]),
        ("log-v", &["log", "-v"]),
        ("why", &["why"]),
        ("why-failed", &["why", "hugo"]),
        ("why-group", &["why", "tool"]),
        ("why-solved", &["why", "zola"]),
        ("apply-preview", &["apply", "-n"]),
    ] {
        kept(&world, name, args);
    }
    let wide = screen(&world, 120, &["log"], 0);
    assert_kept(&world, "log-120", &wide);
    let wide = screen(&world, 120, &["status", "--color", "never"], 0);
    assert_kept(&world, "status-120", &wide);
    let verdict = screen(&world, 80, &["verify"], 1);
    assert_kept(&world, "verify-own-files", &verdict);
    world.replace_in_state("Let CI build with it", "Let CI build the site");
    kept(&world, "status-edited", &["status"]);
    screen(&world, 80, &["run"], 0);
    kept(&world, "log-edited", &["log", "-n", "5"]);
    kept(&world, "undo-preview", &["undo", "-n"]);
    kept(&world, "apply", &["apply"]);
    kept(&world, "status-applied", &["status"]);
}

#[test]
fn a_run_that_has_no_choice_left() {
    let without: Vec<&str> = SITE.lines().filter(|line| !line.contains("zola:")).collect();
    let world = with_plan(&without.join("\n"));
    kept_piped(&world, "align-piped", &["align", "-y", "-f", "plan.yaml"], 0);
    kept_piped(&world, "run-exhausted-piped", &["run"], 5);
    kept(&world, "status-exhausted", &["status"]);
    kept(&world, "why-exhausted", &["why", "tool"]);
}

#[test]
fn work_in_progress() {
    let plan = "
objective:
  goal: it is there
  background_intent: somebody waits for it
  base_case: {command: test -f done}
  constraints: {budget: {time: 30m}}
work_graph:
  atoms:
    way:
      choices:
        slow: {description: Wait for it, action: {run: until test -f ~/go; do sleep 0.01; done; touch done}}
        never: {description: Give up, action: {run: 'false'}}
    after: {description: Look at it, depends_on: way, action: {run: ls}}
";
    let world = with_plan(plan);
    screen(&world, 80, &["align", "-y", "-f", "plan.yaml"], 0);
    let run = Terminal::of(command(&world, &["run"]), 80);
    let drawn = run.drawn(|drawn| drawn.contains("at work") && !drawn.contains("▸ base case"));
    assert_kept(&world, "run-live", &drawn);
    kept(&world, "status-live", &["status"]);
    kept(&world, "why-live", &["why", "slow"]);
    run.signal(rustix::process::Signal::INT);
    let interrupted = run.end();
    assert_eq!(interrupted.signal, Some(2));
    assert_kept(&world, "run-interrupted", &interrupted.text());
    kept(&world, "status-stopped", &["status"]);
    let run = Terminal::of(command(&world, &["run"]), 80);
    run.drawn(|drawn| drawn.contains("at work"));
    run.signal(rustix::process::Signal::KILL);
    run.end();
    kept(&world, "status-cut-off", &["status"]);
}

#[test]
fn faults_of_a_state_and_of_a_plan() {
    let world = with_plan(SITE);
    screen(&world, 80, &["align", "-y", "-f", "plan.yaml"], 0);
    world.replace_in_state("\"choices\"", "\"kind\": \"anny\", \"choices\"");
    let faults = screen(&world, 80, &["validate"], 65);
    assert_kept(&world, "validate-state", &faults);
    let refused = screen(&world, 80, &["status"], 65);
    assert_kept(&world, "status-invalid", &refused);
    let faulty = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/plans/faulty.yaml");
    world.write("plan.yaml", &fs::read_to_string(faulty).expect("the fixture"));
    let faults = screen(&world, 80, &["validate", "plan.yaml"], 65);
    assert_kept(&world, "validate-plan", &faults);
}

/// The findings are left out: they differ from machine to machine.
#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "other systems give other things")]
fn what_the_machine_gives() {
    let shown = screen(&World::new(), 80, &["doctor"], 0);
    let world = World::new();
    let found = Regex::new(r"(?m)^((?:\w+ )*\w+ +)(ok|degraded) +.*(\n {25}.*)*").unwrap();
    let shown = found.replace_all(&shown, "${1}<found>");
    let better = Regex::new("; .* could be better").unwrap();
    assert_kept(&world, "doctor", &better.replace(&shown, ""));
}

#[test]
fn no_screen_is_kept_that_no_test_shows() {
    let source = concat!(include_str!("screens.rs"), include_str!("../agents/situations.rs"));
    for entry in fs::read_dir(folder()).expect("the screens").flatten() {
        let name = entry.file_name().into_string().expect("a name");
        let quoted = format!("\"{}\"", name.trim_end_matches(".txt"));
        assert!(source.contains(&quoted), "nothing shows {name}: remove it");
    }
}
