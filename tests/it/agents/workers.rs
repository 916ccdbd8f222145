//! Tasks without an action: the worker of `descent.toml`, what it is told, and what it may say of itself.

use serde_json::{Value, json};

use crate::world::{World, plan, task, with};

/// A world whose worker is this shell script.
pub(crate) fn world(script: &str) -> World {
    let world = World::new();
    let path = world.program(
        "worker",
        &format!("#!/bin/sh\n{script}\n")
            .replace("OUT", &world.root().join("out").display().to_string()),
    );
    world.write(
        "descent.toml",
        &format!("agents.worker.run = \"{}\"\nroles.worker = \"worker\"\n", path.display()),
    );
    world
}

pub(crate) fn by_worker(words: &str) -> Value {
    let mut atom = task("");
    atom.as_object_mut().unwrap().remove("action");
    with(atom, json!({"description": words}))
}

#[test]
fn a_worker_is_told_the_day_the_words_the_checks_and_every_earlier_failure() {
    let world = world(
        "cp \"$DESCENT_PROMPT\" OUT/prompt.$DESCENT_ATTEMPT; echo because of the weather >&2; [ $DESCENT_ATTEMPT = 2 ] || exit 4; touch done",
    );
    let atom = with(
        by_worker("build the parser"),
        json!({"checks": {"all": [{"command": "test -e done"}]}}),
    );
    world.align(&plan(
        &["test -f done"],
        json!({"max_attempts": 2, "protected": ["tests/**"]}),
        json!({"A1": atom}),
    ));
    world.run().expect(0);
    let (first, second) = (world.left("prompt.1"), world.left("prompt.2"));
    let today = std::process::Command::new("date").args(["-u", "+%Y-%m-%d"]).output().unwrap();
    let today = String::from_utf8(today.stdout).unwrap();
    for words in [
        today.trim(),
        "please, make it so: \"exactly\"",
        "it is so",
        "somebody waits for it",
        "build the parser",
        "test -e done",
        "test -f done",
        "- tests/**",
        "$DESCENT_RESULT",
    ] {
        assert!(first.contains(words), "no `{words}` in:\n{first}");
    }
    assert!(!first.contains("tried before"), "{first}");
    for words in ["tried before", "exit 4", "because of the weather"] {
        assert!(second.contains(words), "no `{words}` in:\n{second}");
    }
}

#[test]
fn the_last_step_of_a_command_line_is_tried_again_while_the_goal_does_not_hold() {
    let world =
        world("cp \"$DESCENT_PROMPT\" OUT/prompt.$DESCENT_ATTEMPT; echo $DESCENT_ATTEMPT >n");
    let check = "grep -q 2 n || { echo too small; exit 1; }";
    let args = ["align", "count", "--why", "w", "--check", check, "--step", "count", "-y"];
    world.descent(&args).expect(0);
    world.run().expect(0);
    assert!(world.left("prompt.2").contains("too small"));
}

#[test]
fn a_worker_gets_the_results_it_depends_on_and_gives_its_own() {
    let world = world(
        r#"cp "$DESCENT_BINDINGS" OUT/bindings.$DESCENT_ATOM
case $DESCENT_ATOM in
A1) echo '{"summary": "the port is 80", "value": {"port": 80}, "artifacts": ["a.txt"], "clarity": "CLEAR", "handoff": "mind the gap"}' > "$DESCENT_RESULT";;
A2) touch done;;
esac"#,
    );
    let atoms = json!({"A1": by_worker("find a port"), "A2": with(by_worker("use it"), json!({"depends_on": ["A1"]}))});
    world.align(&plan(&["test -f done"], json!({}), atoms));
    world.run().expect(0);
    let bound = &world.state()["bindings"]["A1"];
    assert_eq!(
        (&bound["summary"], &bound["value"]),
        (&json!("the port is 80"), &json!({"port": 80}))
    );
    assert_eq!(
        (&bound["handoff"], &bound["artifacts"]),
        (&json!("mind the gap"), &json!(["a.txt"]))
    );
    assert!(bound["by"].as_str().unwrap().starts_with("worker"), "{bound}");
    let told: Value = serde_json::from_str(&world.left("bindings.A2")).unwrap();
    assert_eq!(
        (&told["A1"]["summary"], &told["A1"]["value"]["port"]),
        (&json!("the port is 80"), &json!(80))
    );
    assert_eq!(serde_json::from_str::<Value>(&world.left("bindings.A1")).unwrap(), json!({}));
}

#[test]
fn a_worker_that_ends_at_once_in_three_atoms_stops_the_run_and_costs_no_attempt() {
    let world = world("[ -e OUT/login ] || { echo please log in; exit 1; }; touch $DESCENT_ATOM");
    let atoms = json!({"A1": by_worker("a"), "A2": by_worker("b"), "A3": by_worker("c")});
    let check = "test -f A1 && test -f A2 && test -f A3";
    world.align(&plan(&[check], json!({"max_attempts": 1}), atoms));
    let result = world.run().expect(69).result();
    assert_eq!(result["reason"], "unavailable");
    assert_eq!(result["code"], "E-AGENT-PROTOCOL");
    let summary = result["summary"].as_str().unwrap();
    assert!(summary.contains("the agent worker fails at once"), "{summary}");
    assert!(summary.contains("please log in"), "{summary}");
    assert_eq!(result["spent"]["attempts"], 0);
    world.touch("login");
    assert_eq!(world.run().expect(0).result()["spent"]["attempts"], 3);
}

#[test]
fn without_a_result_file_the_summary_says_what_changed_and_its_last_line() {
    let world = world("touch done; echo first; echo all is well; echo");
    world.align(&plan(&["test -f done"], json!({}), json!({"A1": by_worker("x")})));
    world.run().expect(0);
    let summary = world.state()["bindings"]["A1"]["summary"].as_str().unwrap().to_owned();
    for words in ["changed done", "all is well"] {
        assert!(summary.contains(words), "no `{words}` in {summary}");
    }
    assert!(!summary.contains("first"), "{summary}");
}

#[test]
fn a_worker_that_is_blocked_makes_its_atom_invalid_and_its_words_are_kept() {
    let world = world(
        r#"echo '{"summary": "there is no such port", "clarity": "BLOCKED"}' > "$DESCENT_RESULT""#,
    );
    world.align(&plan(
        &["test -f done"],
        json!({"max_attempts": 3}),
        json!({"A1": by_worker("x")}),
    ));
    let ran = world.run().expect(5);
    assert_eq!(ran.count("attempt_started"), 1);
    let atom = world.state()["work_graph"]["atoms"]["A1"].clone();
    assert!(
        atom.to_string().contains("invalid") && atom.to_string().contains("no such port"),
        "{atom}"
    );
    world.descent(&["why", "A1"]).expect(0).shows("invalid").shows("no such port");
    assert!(ran.result()["failed"].to_string().contains("no such port"));
}

#[test]
fn a_result_file_that_cannot_be_used_costs_nothing_and_its_fault_is_kept() {
    let world = world(r#"touch done; echo 'nonsense' > "$DESCENT_RESULT""#);
    world.align(&plan(
        &["test -f done"],
        json!({"max_attempts": 1}),
        json!({"A1": by_worker("x")}),
    ));
    world.run().expect(0);
    let bound = world.state()["bindings"]["A1"].clone();
    let because = bound["unclear_because"].as_str().unwrap();
    assert!(because.contains("result file"), "{bound}");
    assert!(bound["summary"].as_str().unwrap().contains("changed done"));
}

#[test]
fn a_claim_of_success_is_only_a_hint() {
    let world = world(
        r#"echo '{"summary": "all done, trust me", "clarity": "CLEAR"}' > "$DESCENT_RESULT""#,
    );
    world.align(&plan(
        &["test -f done"],
        json!({"max_attempts": 1}),
        json!({"A1": by_worker("x")}),
    ));
    assert_eq!(world.run().expect(5).result()["result"], "exhausted");
}

#[test]
fn an_agent_has_three_attempts_and_counts_them_and_an_action_has_one() {
    let world = world("echo $DESCENT_ATTEMPT >> OUT/tries; exit 1");
    world.align(&plan(&["test -f done"], json!({}), json!({"A1": by_worker("x")})));
    assert_eq!(world.status()["bound"]["attempts"], 3);
    world.run().expect(5);
    assert_eq!(world.left("tries"), "1\n2\n3\n");
}

#[test]
fn a_summary_cannot_steer_the_terminal() {
    let world =
        world(r#"touch done; printf '{"summary": "\\u001b[31mred\\u202e"}' > "$DESCENT_RESULT""#);
    world.align(&plan(&["test -f done"], json!({}), json!({"A1": by_worker("x")})));
    let ran = world.descent(&["run"]).expect(0);
    let shown = ran.stdout + &world.descent(&["why", "A1"]).expect(0).stdout;
    assert!(
        shown.contains("red") && !shown.contains('\u{1b}') && !shown.contains('\u{202e}'),
        "{shown:?}"
    );
}
