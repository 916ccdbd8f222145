//! Changes and remarks of a refiner: tasks taken out, steps that plan, results that contradict, and questions.

use serde_json::{Value, json};

use super::refine::{Refined, add, half, more};
use crate::world::{task, with};

const BLOCKED: &str = r#"echo '{"clarity": "BLOCKED", "summary": "of what?"}' > "$DESCENT_RESULT""#;

/// A step that plans these tasks, once.
fn step(atoms: &Value) -> Value {
    let fragment = json!({"atoms": atoms}).to_string();
    let print = format!("echo '{}'", fragment.replace('\'', r"'\''"));
    json!({"kind": "plan", "description": "plan it", "action": {"run": print}})
}

fn described(words: &str, run: &str) -> Value {
    with(task(run), json!({"description": words}))
}

/// A plan with a task of a planner that cannot be done as it is said.
fn blocked() -> Refined {
    let atoms = json!({
        "one": described("make the file done", "echo 1 > done"),
        "two": described("make it out of nothing", BLOCKED),
    });
    let limits = json!({"planning": {"refinements": 0}});
    Refined::new(&["test -e done", "test -e more"], limits, json!({"N": step(&atoms)}))
}

fn remove(target: &str) -> Value {
    json!({"type": "step_remove", "target": target})
}

fn actions(actions: Value) -> Value {
    json!({"actions": actions})
}

#[test]
fn a_task_of_a_planner_that_cannot_be_done_is_taken_out() {
    let refined = blocked();
    let new = described("make more", "echo 2 > more");
    let add = json!({"type": "step_add", "atoms": {"new": new}});
    refined.answers("refine", &actions(json!([remove("N-2"), add])));
    let ran = refined.world.run().expect(0);
    let lines = ran.lines();
    let change = lines.iter().find(|line| line["event"] == "replanned");
    assert_eq!(change.unwrap()["removed"], json!(["N-2"]));
    let state = refined.world.state();
    assert_eq!(state["work_graph"]["atoms"]["N"]["parts"], json!(["N-1"]));
    assert!(state["work_graph"]["atoms"].get("N-2").is_none());
    refined.world.descent(&["validate"]).expect(0);
    let gone = refined.world.descent(&["why", "N-2"]).expect(2);
    assert!(gone.stderr.contains("r took it out"), "{}", gone.stderr);
    let log = refined.world.descent(&["log"]).expect(0);
    log.shows("r changes the plan (step-1, without N-2; 9 changes left)");
}

#[test]
fn what_takes_the_place_of_another_was_changed_as_often_and_at_the_limit_it_is_marked() {
    let refined = blocked();
    let again = |gone: &str, n: usize| {
        let new = described(&format!("make it, {n}"), BLOCKED);
        actions(json!([remove(gone), {"type": "step_add", "atoms": {"new": new}}]))
    };
    refined.answers("refine.1", &again("N-2", 1));
    refined.answers("refine.2", &again("step-1", 2));
    let words = json!({"description": "make it, 3"});
    let change = json!({"type": "step_modify", "target": "step-2", "changes": words});
    refined.answers("refine.3", &actions(json!([change])));
    let words = json!({"description": "make it, 4"});
    let change = json!({"type": "step_modify", "target": "step-2", "changes": words});
    refined.answers("refine.4", &actions(json!([change])));
    let ran = refined.world.run().expect(5);
    assert_eq!(ran.count("replanned"), 3, "{}", ran.stderr);
    // At its limit nothing of it may be changed, so nobody is asked.
    assert_eq!(refined.asked(), 3);
    let atom = &refined.world.state()["work_graph"]["atoms"]["step-2"];
    assert_eq!(atom["refined"], 3);
    assert_eq!(atom["attention"]["because"], "limit");
    let status = refined.world.descent(&["status"]).expect(0);
    status.shows("step-2 is not changed again by planners: it was changed 3 times");
    let graph = refined.world.descent(&["graph"]).expect(0);
    graph.shows("! limit");

    refined.world.replace_in_state("make it, 3", "make it, by hand");
    refined.world.descent(&["validate"]).expect(0);
    refined.world.run().expect(5);
    let atom = &refined.world.state()["work_graph"]["atoms"]["step-2"];
    assert!(atom.get("attention").is_none(), "{atom}");
}

#[test]
fn a_result_that_contradicts_is_marked_and_stays_and_another_task_mends_it() {
    let refined = half(json!({}));
    let mark = json!({"type": "step_mark_invalid", "target": "A", "reason": "it says 1, not 2",
        "inconsistent": true});
    let mend = json!({"type": "step_add", "atoms": {"new": more()}});
    refined.answers("refine", &actions(json!([mark, mend])));
    let ran = refined.world.run().expect(0);
    assert_eq!(ran.count("attention"), 1);
    let state = refined.world.state();
    let mark = &state["bindings"]["A"]["of"]["attention"];
    assert_eq!(mark["because"], "contradicted");
    let told = "A is said to contradict: it says 1, not 2";
    for command in [&["why", "A"][..], &["status"], &["report"]] {
        refined.world.descent(command).expect(0).shows(told);
    }
    let graph = refined.world.descent(&["graph"]).expect(0);
    graph.shows("! contradicted");
}

fn with_question(told: &str) -> Value {
    let assume = "the left one";
    let run = format!("grep -q '{told}' \"$DESCENT_PROMPT\" && echo 2 > more");
    let mut answer = add("new", described("make more", &run));
    answer["questions"] =
        json!([{"about": "new", "question": "Which of the two?", "assume": assume}]);
    answer
}

#[test]
fn what_is_unclear_is_assumed_where_nobody_is_asked() {
    let refined = half(json!({}));
    refined.answers("refine", &with_question("Assume: the left one"));
    let result = refined.world.run().expect(0).result();
    let notes = result["output"]["notes"].to_string();
    assert!(notes.contains("step-1: Which of the two? the left one was assumed"), "{notes}");
    let why = refined.world.descent(&["why", "step-1"]).expect(0);
    why.shows("Which of the two? the left one");
}

#[test]
fn what_is_unclear_is_asked_where_a_person_may_answer() {
    let refined = half(json!({"on_stuck": "ask"}));
    refined.answers("refine", &with_question("the right one"));
    let ran = refined.world.run().expect(6);
    assert_eq!(ran.count("needs_guidance"), 1, "{}", ran.stderr);
    let status = refined.world.descent(&["status"]).expect(0);
    status.shows("step-1  Which of the two?");
    let answer = ["guide", "the right one", "--for", "step-1"];
    refined.world.descent(&answer).expect(0);
    let result = refined.world.run().expect(0).result();
    assert_eq!(refined.asked(), 1);
    let notes = result["output"]["notes"].to_string();
    assert!(!notes.contains("assumed"), "{notes}");
}

#[test]
fn a_step_that_plans_is_added() {
    let refined = half(json!({}));
    let plan = step(&json!({"one": described("make more", "echo 2 > more")}));
    let create = json!({"type": "subplan_create", "atoms": {"more": plan}});
    refined.answers("refine", &actions(json!([create])));
    refined.world.run().expect(0);
    let state = refined.world.state();
    let step = &state["work_graph"]["atoms"]["step-1"];
    assert_eq!(step["grant"]["rounds"], 1, "{step}");
    assert!(state["bindings"].get("step-1-1").is_some());
}

/// At the highest level a change is looked at before anything of it starts.
#[test]
fn at_the_highest_level_nothing_of_a_change_starts_before_it_was_judged() {
    for (answer, by) in [
        (
            json!({"issues": [{"type": "relevance", "severity": "high", "location": "step-1",
            "description": "nobody needs this"}]})
            .to_string(),
            "model",
        ),
        ("@exit 1".to_owned(), "nobody"),
    ] {
        let refined = half(json!({"judging": "full", "max_transient": 0}));
        let known = refined.world.read("descent.toml");
        let with_judge = known + "judge.plan = \"r\"\n";
        refined.world.write("descent.toml", &with_judge);
        refined.answers("refine", &add("new", more()));
        refined.says("plan.1", &answer);
        let ran = refined.world.run().expect(0);
        let lines = ran.lines();
        let at = |what: &str| lines.iter().position(|line| line["event"] == what).unwrap();
        let is_start =
            |line: &Value| line["event"] == "attempt_started" && line["atom"] == "step-1";
        let start = lines.iter().position(is_start).unwrap();
        assert!(at("replanned") < at("judged") && at("judged") < start, "{}", ran.stdout);
        assert_eq!(lines[at("judged")]["by"], by);
        let of = &refined.world.state()["bindings"]["step-1"]["of"];
        assert!(of.get("unjudged").is_none(), "{of}");
        assert_eq!(of["attention"]["because"] == "issues", by == "model", "{of}");
    }
}

#[test]
fn a_question_that_was_answered_is_not_put_again_and_is_told_as_answered() {
    let refined = half(json!({"on_stuck": "ask"}));
    refined.answers("refine", &with_question("the right one"));
    refined.world.run().expect(6);
    let answer = ["guide", "the right one", "--for", "step-1"];
    refined.world.descent(&answer).expect(0);
    let status = refined.world.descent(&["status"]).expect(0);
    status.shows("answered step-1: Which of the two?");
}

#[test]
fn work_that_failed_is_not_added_once_more() {
    let atoms = json!({
        "way": {"kind": "any", "choices": ["left"]},
        "left": described("go left", "exit 1"),
    });
    let refined = Refined::new(&["test -e done"], json!({"max_attempts": 1}), atoms);
    let mut answer = add("again", described("go left", "exit 1"));
    answer["actions"][0]["target"] = json!("way");
    refined.answers("refine", &answer);
    let ran = refined.world.run().expect(5);
    assert!(ran.stdout.contains("failed"), "{}", ran.stdout);
    let state = refined.world.state();
    assert_eq!(state["work_graph"]["atoms"]["way"]["choices"], json!(["left"]));
}

#[test]
fn a_persons_word_on_a_marked_result_takes_the_mark_away() {
    let refined = half(json!({}));
    let mark = json!({"type": "step_mark_invalid", "target": "A", "reason": "it says 1, not 2"});
    let mend = json!({"type": "step_add", "atoms": {"new": more()}});
    refined.answers("refine", &actions(json!([mark, mend])));
    refined.world.run().expect(0);
    let forget = ["redirect", "-y", "--forget", "A"];
    refined.world.descent(&forget).expect(0);
    let atom = &refined.world.state()["work_graph"]["atoms"]["A"];
    assert!(atom.get("attention").is_none(), "{atom}");
}
