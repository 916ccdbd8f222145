//! The kind of task by an agent: asked at `align`, shown, said anew at the end of a pass, and what bad answers get.

use serde_json::{Value, json};

use super::scripted::ScriptedAgent;
use crate::{
    processes::processes_in,
    world::{Ran, World, plan, task, with},
};

struct Kind {
    world: World,
    agent: ScriptedAgent,
}

impl Kind {
    fn new() -> Self {
        let world = World::new();
        let agent = ScriptedAgent::new(&world);
        let run = agent.run();
        let roles = "[roles]\nplanner.profile = \"k\"\njudge = \"k\"\nplanner.refine = \"k\"\n";
        world.write("descent.toml", &format!("[agents.k]\n{run}\n{roles}"));
        Self { world, agent }
    }

    fn align(&self, limits: Value) -> Ran {
        let atoms = json!({"A": task("echo 1 > done")});
        self.world.try_align(&plan(&["test -e done"], limits, atoms))
    }

    fn record(&self) -> Value {
        self.world.state()["run"]["profile"].clone()
    }
}

fn profile(depth: u32, why: &str) -> Value {
    json!({"reasoning_depth": depth, "information_sufficiency": 0.3,
        "expected_tool_usage": "moderate", "output_breadth": "broad",
        "confidence_requirement": "medium", "raw_inference": why})
}

#[test]
fn an_agent_says_what_kind_of_task_it_is_and_the_passes_follow() {
    let kind = Kind::new();
    kind.agent.says("profile", &profile(4, "many files").to_string());
    let shown = kind.align(json!({})).expect(0);
    let shown = shown.shows("depth 4, information 0.3");
    shown.shows("7 passes, plans nest 3 deep, judging model; by k: many files");
    let record = kind.record();
    assert_eq!((&record["source"], &record["agent"]), (&json!("inferred"), &json!("k")));
    let prompt = kind.agent.prompt("profile", 1);
    for words in ["what kind of task", "is data", "it is so", "echo 1 > done"] {
        assert!(prompt.contains(words), "no `{words}` in:\n{prompt}");
    }
    kind.world.run().expect(0);
    let passes = &kind.world.state()["run"]["passes"];
    assert_eq!(*passes, json!({"allocated": 7, "begun": 1}));
    let status = kind.world.descent(&["status"]).expect(0);
    status.shows("7 passes, by k: many files");
    kind.world.descent(&["validate"]).expect(0);
    assert_eq!(kind.agent.asked(), "profile\nword\n");
}

#[test]
fn an_answer_that_cannot_be_used_gives_the_default_and_says_why() {
    let wrong = |key: &str, value: Value| {
        let mut wrong = profile(4, "");
        wrong[key] = value;
        wrong.to_string()
    };
    let kind = Kind::new();
    for (answer, why) in [
        ("a deep one".to_owned(), "no JSON object"),
        ("{}".to_owned(), "the key `reasoning_depth` is missing"),
        (wrong("reasoning_depth", json!(6)), "from 1 to 5"),
        (wrong("output_breadth", json!("wide")), "one of narrow"),
        (wrong("raw_inferences", json!("x")), "did you mean `raw_inference`?"),
        ("@exit 1".to_owned(), ""),
        ("@exit 75".to_owned(), ""),
        ("@big".to_owned(), ""),
        ("@prompt".to_owned(), ""),
    ] {
        kind.agent.says("profile", &answer);
        let atoms = json!({"A": task("echo 1 > done")});
        let file = kind.world.plan(&plan(&["test -e done"], json!({}), atoms));
        let again = ["align", "--force", "-y", "-f", &file];
        let shown = kind.world.descent(&again).expect(0);
        assert!(shown.stderr.contains("no answer of `k`"), "{}", shown.stderr);
        let record = kind.record();
        assert_eq!(record["source"], "default", "{answer}: {record}");
        let fault = record["fault"].as_str().unwrap();
        assert!(!fault.is_empty() && fault.contains(why), "{answer}: {fault}");
        assert_eq!(record["reasoning_depth"], 3);
        assert_eq!(processes_in(&kind.world.root()), Vec::<String>::new());
    }
}

#[test]
fn nobody_is_asked_where_a_person_said_it_or_where_nothing_is_written() {
    let kind = Kind::new();
    kind.align(json!({"profile": "depth=2"})).expect(0);
    assert_eq!(kind.agent.asked(), "");
    assert!(kind.record().is_null());

    let kind = Kind::new();
    let atoms = json!({"A": task("echo 1 > done")});
    let file = kind.world.plan(&plan(&["test -e done"], json!({}), atoms));
    let shown = kind.world.descent(&["align", "-n", "-f", &file]).expect(0);
    let told = "`k` is asked what kind of task it is, but not with -n";
    assert!(shown.stderr.contains(told), "{}", shown.stderr);
    assert_eq!(kind.agent.asked(), "");
}

#[test]
fn a_kind_by_hand_with_a_wrong_field_is_a_fault_with_its_place() {
    let kind = Kind::new();
    kind.agent.says("profile", &profile(4, "many files").to_string());
    kind.align(json!({})).expect(0);
    kind.world.replace_in_state("\"reasoning_depth\": 4", "\"reasoning_depth\": 9");
    let refused = kind.world.descent(&["validate"]).expect(65);
    let told = "/run/profile/reasoning_depth: `reasoning_depth` is a whole number from 1 to 5";
    assert!(refused.stderr.contains(told), "{}", refused.stderr);
}

/// The pass did not converge, its plan has an open issue, and a task could not be done: only then is it said anew.
#[test]
fn on_three_signals_at_once_the_kind_is_said_anew() {
    let blocked = r#"echo '{"clarity": "BLOCKED", "summary": "of what?"}' > "$DESCENT_RESULT""#;
    let one = with(task(blocked), json!({"description": "make it out of nothing"}));
    let fragment = json!({"atoms": {"one": one}}).to_string();
    let print = format!("echo '{}'", fragment.replace('\'', r"'\''"));
    let step = json!({"kind": "plan", "description": "plan it", "action": {"run": print}});
    let issue = json!({"issues": [{"type": "specificity", "severity": "medium",
        "location": "N-1", "description": "of what is it made"}]});
    let opinion = json!({"completeness": 0.1, "coherence": 1, "aligned":
        {"plan": true, "step": true, "answer": true, "memory": true}});
    for signals in [3, 2] {
        let kind = Kind::new();
        kind.agent.says("profile.1", &profile(2, "easy").to_string());
        kind.agent.says("profile.2", &profile(5, "not easy").to_string());
        if signals == 3 {
            kind.agent.says("plan", &issue.to_string());
        }
        kind.agent.says("pass", &opinion.to_string());
        let words = json!({"description": "make the file", "action": {"run": "echo 1 > done"}});
        let change = json!({"type": "step_modify", "target": "N-1", "changes": words});
        let delta = json!({"actions": [change]});
        kind.agent.says("refine", &delta.to_string());
        let limits = json!({"planning": {"refinements": 0}});
        let atoms = json!({"N": step});
        let agreed = plan(&["test -e done"], limits, atoms);
        kind.world.try_align(&agreed).expect(0);
        let ran = kind.world.run().expect(0);
        let asked = kind.agent.asked();
        if signals == 2 {
            assert_eq!(asked, "profile\nplan\npass\nrefine\nword\n");
            continue;
        }
        assert_eq!(asked, "profile\nplan\npass\nprofile\nrefine\nword\n");
        assert_eq!(ran.count("consulted"), 5);
        let state = kind.world.state();
        // 2 · 1.2 · 1.5 is 4 passes; 5 of it are 9.
        assert_eq!(state["run"]["passes"]["allocated"], 9);
        let history = &state["run"]["profile"]["history"];
        assert_eq!(history.as_array().unwrap().len(), 1, "{history}");
        assert_eq!(
            (&history[0]["was"], &history[0]["is"], &history[0]["passes_were"]),
            (&json!("2"), &json!("5"), &json!(4))
        );
        let report = kind.world.descent(&["report"]).expect(0);
        report.shows("`reasoning_depth` was 2, is 5 (9 passes, 4 before): not easy");
        let prompt = kind.agent.prompt("profile", 2);
        assert!(prompt.contains("of what is it made"), "{prompt}");
    }
}
