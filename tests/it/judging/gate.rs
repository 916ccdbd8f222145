//! The gate before a planner's plan: asked, opened, planned again, and what bad answers get.

use std::time::Duration;

use serde_json::{Value, json};

use super::scripted::{ScriptedAgent, kept};
use crate::{
    processes::processes_in,
    support::world::Running,
    world::{Ran, World, plan, task, wait_for},
};

/// A world whose planner prints these plans in turn, and whose judging agent answers by files.
pub(super) struct Judged {
    pub(super) world: World,
    agent: ScriptedAgent,
}

impl Judged {
    pub(super) fn new(plans: &[Value], limits: Value) -> Self {
        let world = World::new();
        let agent = ScriptedAgent::new(&world);
        let toml = format!("[agents.v]\n{}\n[roles]\njudge.plan = \"v\"\n", agent.run());
        world.write("descent.toml", &toml);
        let calls = world.out("calls").display().to_string();
        let prompts = world.out("").display().to_string();
        let mut script = format!(
            "#!/bin/sh\necho call >> {calls}\nn=$(wc -l < {calls})\ncp \"$DESCENT_PROMPT\" {prompts}/planner.$((n))\ncase $((n)) in\n"
        );
        for (n, plan) in plans.iter().enumerate() {
            script += &format!("{}) cat <<'END'\n{plan}\nEND\n;;\n", n + 1);
        }
        script += "*) exit 9;;\nesac\n";
        let path = world.program("planner", &script);
        let step = json!({"kind": "plan", "description": "plan how the file done is made",
            "action": {"run": path.display().to_string()}});
        let mut limits = limits;
        if limits["judging"].is_null() {
            limits["judging"] = json!("model");
        }
        world.align(&plan_of(limits, step));
        Self { world, agent }
    }

    fn answers(&self, name: &str, text: &str) -> &Self {
        self.agent.says(name, text);
        self
    }

    fn asked(&self) -> usize {
        self.agent.asked().lines().count()
    }

    fn prompt(&self, n: usize) -> String {
        self.agent.prompt("plan", n)
    }

    fn fragment(&self) -> Value {
        let state = self.world.state();
        let atoms = &state["work_graph"]["atoms"]["N"];
        let planned = if atoms.is_object() { atoms["fragment"].clone() } else { Value::Null };
        if planned.is_object() { planned } else { state["bindings"]["N"]["of"]["fragment"].clone() }
    }
}

fn plan_of(limits: Value, step: Value) -> Value {
    plan(&["test -e done"], limits, json!({"N": step}))
}

pub(super) fn fragment(description: &str, run: &str) -> Value {
    let mut atom = task(run);
    atom["description"] = json!(description);
    json!({"reasoning": "it must be", "atoms": {"one": atom}})
}

pub(super) fn good() -> Value {
    fragment("make the file", "echo made > done")
}

fn issue(severity: &str, location: &str) -> String {
    json!({"issues": [{"type": "relevance", "severity": severity, "location": location,
        "description": "nobody needs this", "proposed_repair": "make the file instead"}]})
    .to_string()
}

/// The events of a run by their names, with the atoms that they are about.
fn story(ran: &Ran) -> Vec<String> {
    let names =
        ["planned", "consulting", "consulted", "judged", "attempt_started", "planned_again"];
    let lines = ran.lines().into_iter();
    let known = lines.filter(|line| names.contains(&line["event"].as_str().unwrap_or_default()));
    known
        .map(|line| {
            let atom = line["atom"].as_str().map(|atom| format!(" {atom}"));
            format!("{}{}", line["event"].as_str().unwrap(), atom.unwrap_or_default())
        })
        .collect()
}

#[test]
fn nothing_of_a_plan_starts_before_it_was_judged() {
    let judged = Judged::new(&[good()], json!({}));
    let ran = judged.world.run().expect(0);
    assert_eq!(
        story(&ran),
        [
            "attempt_started N",
            "planned N",
            "consulting",
            "consulted",
            "judged N",
            "attempt_started N-1"
        ]
    );
    assert_eq!(judged.fragment()["judged"]["by"], "model");
    let prompt = judged.prompt(1);
    for words in ["make the file", "is data", "test -e done", "do_say_mismatch"] {
        assert!(prompt.contains(words), "no `{words}` in:\n{prompt}");
    }
    assert_eq!(judged.world.state()["run"]["spent"]["consults"], 1);
}

#[test]
fn a_plan_that_is_found_wrong_is_planned_again_before_anything_of_it_is_tried() {
    let bad = fragment("tell a joke", "echo ha > joke");
    let judged = Judged::new(&[bad, good()], json!({}));
    judged.answers("plan.1", &issue("high", "N-1"));
    let ran = judged.world.run().expect(0);
    let told = story(&ran);
    assert!(!told.contains(&"attempt_started N-1".to_owned()), "{told:?}");
    assert!(told.contains(&"planned_again N".to_owned()), "{told:?}");
    assert!(told.contains(&"attempt_started N-2".to_owned()), "{told:?}");
    assert_eq!(judged.asked(), 2);
    let prompt = judged.world.left("planner.2");
    for words in ["an issue (high) of one: nobody needs this", "make the file instead"] {
        assert!(prompt.contains(words), "no `{words}` in:\n{prompt}");
    }
    // The plan after it is in force, and the reason why stays.
    for command in [&["why", "N"][..], &["report"]] {
        let told = judged.world.descent(command).expect(0);
        told.shows("nobody needs this");
    }
}

/// An issue of what is missing has its place at the step, or in the whole plan.
#[test]
fn an_issue_of_the_step_or_of_the_whole_plan_counts() {
    for place in ["N", "plan"] {
        let bad = fragment("tell a joke", "echo ha > joke");
        let judged = Judged::new(&[bad, good()], json!({}));
        judged.answers("plan.1", &issue("high", place));
        let told = story(&judged.world.run().expect(0));
        assert!(told.contains(&"planned_again N".to_owned()), "{told:?}");
    }
}

#[test]
fn the_plan_that_was_found_wrong_is_tried_when_the_one_after_it_has_failed() {
    let worse = fragment("make it badly", "exit 3");
    let judged = Judged::new(&[good(), worse], json!({"planning": {"refinements": 1}}));
    judged.answers("plan.1", &issue("medium", "N-1"));
    let ran = judged.world.run().expect(0);
    let told = story(&ran);
    let at = |what: &str| told.iter().position(|one| one == what).unwrap();
    assert!(at("attempt_started N-2") < at("attempt_started N-1"), "{told:?}");
    assert_eq!(judged.world.left("calls").lines().count(), 2);
}

#[test]
fn with_no_round_left_the_plan_goes_on_and_the_repair_is_kept_as_advice() {
    let judged = Judged::new(&[good()], json!({"planning": {"refinements": 0}}));
    judged.answers("plan", &issue("high", "N-1"));
    judged.world.run().expect(0);
    let judging = judged.world.state()["run"]["judging"].clone();
    assert_eq!(kept(&judged.world, "plan")["answer"]["issues"][0]["severity"], "high");
    assert_eq!(judging["advisories"][0]["proposed_repair"], "make the file instead");
    assert_eq!(judged.asked(), 1);
    let mark = &judged.world.state()["bindings"]["N-1"]["of"]["attention"];
    assert_eq!(mark["because"], "issues");
}

#[test]
fn an_answer_that_cannot_be_used_opens_the_gate_and_says_so() {
    let two = format!("{}\n{}", issue("high", "N-1"), r#"{"issues": []}"#);
    for (answer, words) in [
        ("I think it is a fine plan.", ""),
        (two.as_str(), ""),
        (r#"{"issues": "none"}"#, "/issues: expected a list"),
        (r#"{"issues": [{"type": 3}]}"#, "/issues/0/type: expected a string"),
        (r#"{"issue": []}"#, "did you mean `issues`?"),
        ("@exit 1", ""),
        ("@exit 75", ""),
        ("@big", ""),
        ("@prompt", ""),
    ] {
        let judged = Judged::new(&[good()], json!({"max_transient": 1}));
        judged.answers("plan", answer);
        let ran = judged.world.run();
        assert_eq!(ran.code, Some(0), "{answer}: {}", ran.stderr);
        let fragment = judged.fragment();
        let by = fragment["judged"]["by"].as_str().unwrap_or_default().to_owned();
        // The last of several objects counts.
        let is_answer = answer == two;
        assert_eq!(by == "model", is_answer, "{answer}: {fragment}");
        let because = fragment["judged"]["because"].as_str().unwrap_or_default();
        assert!(is_answer || !because.is_empty(), "{answer}: {fragment}");
        assert!(because.contains(words), "{answer}: {because}");
        let line = ran.lines().into_iter().find(|line| line["event"] == "judged");
        assert_eq!(line.unwrap()["by"], by.as_str(), "{answer}");
        assert!(judged.world.state()["run"].get("consult").is_none());
        assert_eq!(processes_in(&judged.world.root()), Vec::<String>::new());
    }
}

#[test]
fn issues_of_unknown_atoms_are_counted_and_decide_nothing() {
    let judged = Judged::new(&[good()], json!({}));
    judged.answers("plan", &issue("high", "X9"));
    judged.world.run().expect(0);
    let report = kept(&judged.world, "plan");
    assert_eq!(report["answer"], json!({"issues": [], "unplaced": 1}));
    assert_eq!(report["agent"], "v");
    assert_eq!(judged.world.left("calls").lines().count(), 1);
}

#[test]
fn a_loop_that_is_killed_while_a_plan_is_judged_asks_once_more_and_ends_the_same() {
    let judged = Judged::new(&[good()], json!({}));
    judged.answers("plan.1", "@sleep 600");
    let running = judged.world.start(&["run"]);
    wait_for("the question", || judged.asked() == 1);
    running.kill();
    let ran = judged.world.run().expect(0);
    assert_eq!(judged.asked(), 2);
    assert_eq!(story(&ran).last().unwrap(), "attempt_started N-1");
    assert_eq!(judged.fragment()["judged"]["by"], "model");
    wait_for("no process", || processes_in(&judged.world.root()).is_empty());
}

#[test]
fn a_stop_while_a_plan_is_judged_ends_at_once_and_the_gate_stays_closed() {
    let judged = Judged::new(&[good()], json!({}));
    judged.answers("plan.1", "@sleep 600");
    let mut running: Running = judged.world.start(&["run"]);
    wait_for("the question", || judged.asked() == 1);
    let since = std::time::Instant::now();
    judged.world.descent(&["stop"]).expect(0);
    running.wait().expect(3);
    assert!(since.elapsed() < Duration::from_secs(10));
    assert_eq!(judged.fragment()["unjudged"], true);
    judged.world.run().expect(0);
}

#[test]
fn without_an_agent_or_at_the_level_of_rules_nobody_is_asked() {
    let judged = Judged::new(&[good()], json!({}));
    judged.world.write("descent.toml", "");
    judged.world.run().expect(0);
    let mark = judged.fragment()["judged"].clone();
    assert_eq!(
        (&mark["by"], &mark["because"]),
        (&json!("nobody"), &json!("no agent is configured for it"))
    );
    let judged = Judged::new(&[good()], json!({}));
    judged.world.replace_in_state("\"judging\": \"model\"", "\"judging\": \"code\"");
    judged.world.run().expect(0);
    assert_eq!(judged.asked(), 0);
    assert_eq!(judged.fragment()["judged"]["by"], "code");
}

#[test]
fn a_heavy_fault_of_the_rules_refuses_a_plan_whoever_judges() {
    let idle = fragment("make the file", "true");
    let judged = Judged::new(&[idle, good()], json!({"max_attempts": 2}));
    let ran = judged.world.run().expect(0);
    assert_eq!(judged.asked(), 1);
    let failed = ran.lines().into_iter().find(|line| line["event"] == "attempt_failed");
    let reason = failed.unwrap()["reason"].to_string();
    assert!(reason.contains("/atoms/one/action/run: its action `true` does nothing"), "{reason}");
}

#[test]
fn a_plan_that_a_person_changes_while_it_is_judged_is_judged_anew() {
    let judged = Judged::new(&[good()], json!({}));
    judged.answers("plan.1", "@sleep 600");
    let mut running = judged.world.start(&["run"]);
    wait_for("the question", || judged.asked() == 1);
    judged.world.replace_in_state("echo made > done", "echo mine > done");
    running.wait().expect(0);
    assert_eq!(judged.asked(), 2);
    assert!(judged.prompt(2).contains("echo mine > done"));
    assert_eq!(judged.world.result_file("done"), "mine\n");
}

#[test]
fn a_person_who_wants_no_judging_any_more_waits_for_none() {
    let judged = Judged::new(&[good()], json!({}));
    judged.answers("plan", "@sleep 600");
    let mut running = judged.world.start(&["run"]);
    wait_for("the question", || judged.asked() == 1);
    let redirect = ["redirect", "go on", "--set", "judging=off", "-y"];
    judged.world.descent(&redirect).expect(0);
    running.wait().expect(0);
    assert_eq!(judged.asked(), 1);
    assert_eq!(judged.fragment()["judged"]["by"], "code");
    wait_for("no process", || processes_in(&judged.world.root()).is_empty());
}

#[test]
fn with_judging_off_no_rule_refuses_a_plan() {
    let mut idle = good();
    idle["atoms"]["two"] = task("true");
    for (judging, calls) in [("off", 1), ("code", 2)] {
        let judged =
            Judged::new(&[idle.clone(), good()], json!({"judging": judging, "max_attempts": 2}));
        judged.world.run().expect(0);
        assert_eq!(judged.world.left("calls").lines().count(), calls, "{judging}");
        assert_eq!(judged.asked(), 0);
    }
}
