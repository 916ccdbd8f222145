//! The opinion about a pass that came to its end: asked for, told, and what bad answers get.

use serde_json::{Value, json};

use super::scripted::{ScriptedAgent, kept};
use crate::world::{World, plan, task, wait_for};

/// A world with a judge and a refiner that answer by files, whose plan reaches one of two checks.
struct Assessed {
    world: World,
    agent: ScriptedAgent,
}

impl Assessed {
    fn new(judging: &str) -> Self {
        let world = World::new();
        let agent = ScriptedAgent::new(&world);
        let run = agent.run();
        let roles = "[roles]\njudge = \"j\"\nplanner.refine = \"r\"\n";
        let toml = format!("[agents.j]\n{run}\n[agents.r]\n{run}\n{roles}");
        world.write("descent.toml", &toml);
        let limits = json!({"judging": judging, "max_transient": 0});
        world.align(&plan(
            &["test -e done", "test -e more"],
            limits,
            json!({"A": task("echo 1 > done")}),
        ));
        let refined = json!({"actions": [{"type": "step_add", "atoms":
            {"new": {"description": "make more", "action": {"run": "echo 2 > more"}}}}]});
        agent.says("refine", &refined.to_string());
        Self { world, agent }
    }

    fn says(&self, text: &str) -> &Self {
        self.agent.says("pass", text);
        self
    }

    fn asked(&self) -> String {
        self.agent.asked()
    }

    fn prompt(&self, role: &str) -> String {
        self.agent.prompt(role, 1)
    }

    fn record(&self) -> Value {
        kept(&self.world, "pass")
    }
}

fn opinion(completeness: f64, more: &Value) -> String {
    let mut said = json!({"completeness": completeness, "coherence": 1, "aligned":
        {"plan": true, "step": true, "answer": true, "memory": true}});
    for (key, value) in more.as_object().unwrap() {
        said[key] = value.clone();
    }
    said.to_string()
}

#[test]
fn a_pass_is_assessed_before_the_plan_is_changed_and_the_refiner_is_told() {
    let assessed = Assessed::new("model");
    let more = json!({"missing": ["nothing makes more"], "blame": ["A", "X"]});
    assessed.says(&opinion(0.5, &more));
    let ran = assessed.world.run().expect(0);
    assert_eq!(assessed.asked(), "pass\nrefine\nword\n");
    let lines = ran.lines();
    let line = lines.iter().find(|line| line["event"] == "consulted");
    assert_eq!(line.unwrap()["words"], "incomplete, missing_step, base_case_unmet");
    let record = assessed.record();
    assert_eq!(record["codes"], json!(["incomplete", "missing_step", "base_case_unmet"]));
    assert_eq!(record["answer"]["blame"], json!(["A"]));
    assert!(assessed.prompt("refine").contains("- missing: nothing makes more"));
    for words in ["test -e more", "is data", "- A: "] {
        let prompt = assessed.prompt("pass");
        assert!(prompt.contains(words), "no `{words}` in:\n{prompt}");
    }
    let status = assessed.world.descent(&["status"]).expect(0).stdout;
    assert!(
        status.contains("pass 1 by j: incomplete, missing_step, base_case_unmet; advice"),
        "{status}"
    );
    let report = assessed.world.descent(&["report"]).expect(0).stdout;
    assert!(report.contains("missing: nothing makes more"), "{report}");
}

/// No opinion completes or ends anything.
#[test]
fn whatever_is_said_of_a_pass_the_run_ends_the_same() {
    let unused = |text: &str, words: &'static str| (text.to_owned(), "not_assessed", words);
    for (said, code, words) in [
        (opinion(1.0, &json!({})), "complete", ""),
        (opinion(0.1, &json!({})), "incomplete", ""),
        (opinion(1.0, &json!({"status": "completed"})), "complete", ""),
        unused("it is all there, completed", ""),
        unused("{}", "the key `completeness` is missing"),
        unused(&opinion(2.0, &json!({})), "`completeness` is a number"),
        unused(&opinion(1.0, &json!({"complexty": "higher"})), "did you mean `complexity`?"),
        unused("@exit 75", ""),
        unused("@exit 1", ""),
        unused("@big", ""),
        unused("@prompt", ""),
    ] {
        let assessed = Assessed::new("model");
        assessed.says(&said);
        let ran = assessed.world.run();
        assert_eq!(ran.code, Some(0), "{said}: {}", ran.stderr);
        assert_eq!(ran.result()["reason"], "base_case");
        let record = assessed.record();
        let because = record["because"].as_str().unwrap_or_default();
        assert!(because.contains(words), "{said}: {because}");
        assert_eq!(record["codes"][0], code, "{said}: {record}");
        assert_eq!(because.is_empty(), code != "not_assessed", "{said}: {because}");
        assert_eq!(ran.count("replanned"), 1);
    }
}

/// Unknown keys of an answer are not kept, so no depth of them makes the state unreadable.
#[test]
fn a_key_of_its_own_in_an_answer_is_kept_nowhere() {
    let assessed = Assessed::new("full");
    let deep = format!("{}1{}", "[".repeat(120), "]".repeat(120));
    let said = opinion(0.5, &json!({})).replacen('{', &format!("{{\"own\": {deep}, "), 1);
    assessed.says(&said.replacen("\"aligned\":{", &format!("\"aligned\":{{\"own\": {deep}, "), 1));
    assessed.world.run().expect(0);
    for command in ["status", "validate", "report"] {
        assessed.world.descent(&[command]).expect(0);
    }
    assert!(!assessed.record().to_string().contains("own"), "{}", assessed.record());
}

#[test]
fn at_the_level_of_rules_nobody_assesses_a_pass() {
    let assessed = Assessed::new("code");
    assessed.world.run().expect(0);
    assert_eq!(assessed.asked(), "refine\n");
    assert!(assessed.record().is_null());
}

#[test]
fn a_loop_that_is_killed_while_a_pass_is_assessed_asks_once_more_and_ends_the_same() {
    let assessed = Assessed::new("model");
    assessed.says("@sleep 600");
    let running = assessed.world.start(&["run"]);
    wait_for("the question", || assessed.asked() == "pass\n");
    running.kill();
    assessed.says(&opinion(0.5, &json!({})));
    assessed.world.run().expect(0);
    assert_eq!(assessed.asked(), "pass\npass\nrefine\nword\n");
}

#[test]
fn a_persons_own_criterion_is_scored_and_told() {
    let assessed = Assessed::new("model");
    let criteria =
        json!([{"name": "tested", "statement": "every part has a test", "at_least": "0.8"}]);
    let set = format!("convergence={criteria}");
    assessed.world.descent(&["redirect", "-y", "--set", &set]).expect(0);
    let scores = json!({"criteria": [{"name": "tested", "score": 0.5}], "complexity": "higher"});
    assessed.says(&opinion(1.0, &scores));
    assessed.world.run().expect(0);
    let record = assessed.record();
    let codes = json!(["complete", "criterion:tested", "base_case_unmet"]);
    assert_eq!(record["codes"], codes);
    assert_eq!(record["answer"]["complexity"], "higher");
    let prompt = assessed.prompt("pass");
    assert!(prompt.contains("- `tested`: every part has a test"), "{prompt}");
    let report = assessed.world.descent(&["report"]).expect(0);
    report.shows("tested: 0.5");

    let assessed = Assessed::new("model");
    let wrong = ["redirect", "-y", "--set", r#"convergence=[{"name": "tested", "at_least": "2"}]"#];
    let refused = assessed.world.descent(&wrong).expect(2);
    assert!(refused.stderr.contains("is above 1"), "{}", refused.stderr);
}

#[test]
fn at_the_highest_level_the_same_answer_has_issues_across_the_steps() {
    let assessed = Assessed::new("full");
    let issues = json!({"issues": [
        {"type": "consistency", "severity": "high", "location": "A", "description": "it says 1, not 2"},
        {"type": "relevance", "severity": "low", "location": "X", "description": "of no atom"}]});
    assessed.says(&opinion(0.5, &issues));
    let ran = assessed.world.run().expect(0);
    assert_eq!(assessed.asked(), "pass\nrefine\nplan\nword\n");
    let line = ran.lines().into_iter().find(|line| line["event"] == "consulted").unwrap();
    assert_eq!(line["words"], "incomplete, base_case_unmet; 1 issue");
    assert_eq!(assessed.record()["pass"], 1);
    let prompt = assessed.prompt("refine");
    assert!(prompt.contains("- A (high): it says 1, not 2"), "{prompt}");
    let prompt = assessed.prompt("pass");
    for words in ["across its steps", "- A: changed", "is data"] {
        assert!(prompt.contains(words), "no `{words}` in:\n{prompt}");
    }
    for command in [&["report"][..], &["why", "A"]] {
        let told = assessed.world.descent(command).expect(0);
        told.shows("it says 1, not 2");
    }
    let status = assessed.world.descent(&["status"]).expect(0);
    status.shows("pass 1 by j: incomplete, base_case_unmet; 1 issue; advice");
}

#[test]
fn without_an_answer_about_the_pass_all_goes_on_and_says_so() {
    for answer in ["all is well", "{}", r#"{"issues": 1}"#, "@exit 1", "@big"] {
        let assessed = Assessed::new("full");
        assessed.says(answer);
        assessed.world.run().expect(0);
        assert_eq!(assessed.asked(), "pass\nrefine\nplan\nword\n", "{answer}");
        let report = assessed.world.descent(&["report"]).expect(0);
        report.shows("not answered by j: ");
    }
}

#[test]
fn an_assessor_that_takes_passes_for_converged_is_found_by_the_auditor_and_accountable() {
    let assessed = Assessed::new("model");
    let more_again = json!({"actions": [{"type": "step_add", "atoms":
        {"new": {"description": "make another", "action": {"run": "echo 2 > other"}}}}]});
    assessed.agent.says("refine", &more_again.to_string());
    assessed.says(&opinion(1.0, &json!({})));
    assessed.world.run().expect(5);
    assert_eq!(assessed.world.state()["run"]["judging"]["mistaken"], 2, "two passes");
    let told = assessed.world.descent(&["report", "--audit", "--json"]).expect(0).json();
    let found = told["findings"].as_array().unwrap();
    assert!(
        found.iter().any(|one| one["code"] == "convergence_failure" && one["count"] == 2),
        "{told}"
    );
    assert_eq!(told["accountable"], "judge");
}
