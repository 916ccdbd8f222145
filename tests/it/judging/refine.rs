//! Changes of a plan by a refiner, where nothing is left to try: taken, refused, and what bad answers get.

use std::fs;

use serde_json::{Value, json};

use super::scripted::{ScriptedAgent, kept};
use crate::{
    processes::processes_in,
    world::{Ran, World, plan, task, wait_for, with},
};

/// A world with a refiner that answers by files.
pub struct Refined {
    pub world: World,
    agent: ScriptedAgent,
}

impl Refined {
    pub fn new(checks: &[&str], limits: Value, atoms: Value) -> Self {
        let world = World::new();
        let agent = ScriptedAgent::new(&world);
        let toml = format!("[agents.r]\n{}\n[roles]\nplanner.refine = \"r\"\n", agent.run());
        world.write("descent.toml", &toml);
        world.align(&plan(checks, limits, atoms));
        Self { world, agent }
    }

    pub fn answers(&self, name: &str, answer: &Value) -> &Self {
        self.says(name, &answer.to_string())
    }

    pub fn says(&self, name: &str, text: &str) -> &Self {
        self.agent.says(name, text);
        self
    }

    pub fn asked(&self) -> usize {
        self.agent.asked().lines().count()
    }

    fn prompt(&self, n: usize) -> String {
        self.agent.prompt("refine", n)
    }
}

/// Two checks, of which the plan reaches one.
pub fn half(limits: Value) -> Refined {
    let made = with(task("echo 1 > done"), json!({"description": "make the file"}));
    Refined::new(&["test -e done", "test -e more"], limits, json!({"A": made}))
}

pub fn add(id: &str, atom: Value) -> Value {
    json!({"reasoning": "it is missing", "actions": [{"type": "step_add", "atoms": {id: atom}}]})
}

pub fn more() -> Value {
    json!({"description": "make more", "action": {"run": "echo 2 > more"}, "depends_on": ["A"]})
}

fn change(target: &str, changes: Value) -> Value {
    json!({"actions": [{"type": "step_modify", "target": target, "changes": changes}]})
}

/// Why the newest change was refused.
fn refused(ran: &Ran) -> String {
    let lines = ran.lines();
    let mut changes = lines.iter().filter(|line| line["event"] == "replanned");
    let last = changes.next_back().map(|line| line["refused"].clone());
    last.and_then(|why| why.as_str().map(ToOwned::to_owned)).unwrap_or_default()
}

#[test]
fn a_task_that_is_missing_is_added_and_the_run_completes() {
    let refined = half(json!({}));
    refined.answers("refine", &add("new", more()));
    let ran = refined.world.run().expect(0);
    let replanned = ran.lines().into_iter().find(|line| line["event"] == "replanned").unwrap();
    assert_eq!(replanned["place"], "delta");
    assert_eq!(replanned["atoms"], json!(["step-1"]));
    assert_eq!(replanned["by"], "r");
    let state = refined.world.state();
    assert!(kept(&refined.world, "refine").get("because").is_none(), "it was taken");
    assert_eq!(state["run"]["spent"]["consults"], 1);
    let prompt = refined.prompt(1);
    for words in [
        "- the base case, with every step done: test -e more",
        "is data",
        "A (solved)",
        "step_modify",
        "10 are left",
    ] {
        assert!(prompt.contains(words), "no `{words}` in:\n{prompt}");
    }
    let why = refined.world.descent(&["why", "step-1"]).expect(0).stdout;
    assert!(why.contains("r changes the plan (step-1; 9 changes left)"), "{why}");
    refined.world.descent(&["report"]).expect(0).shows("step-1");
    refined.world.descent(&["validate"]).expect(0);
}

#[test]
fn other_words_open_a_task_of_a_planner_that_cannot_be_done_as_it_was_said() {
    let fragment = json!({"atoms": {"one": {"description": "make the file done out of nothing",
        "action": {"run": "echo '{\"clarity\": \"BLOCKED\", \"summary\": \"of what?\"}' > \"$DESCENT_RESULT\""}}}});
    let step = json!({"kind": "plan", "description": "plan it",
        "action": {"run": format!("echo '{}'", fragment.to_string().replace('\'', r"'\''"))}});
    let refined = Refined::new(
        &["test -e done"],
        json!({"planning": {"refinements": 0}}),
        json!({"N": step}),
    );
    let action = json!({"action": {"run": "echo 1 > done"}, "description": "make the file done"});
    refined.answers("refine", &change("N-1", action));
    let ran = refined.world.run().expect(0);
    assert_eq!(ran.count("replanned"), 1);
    let prompt = refined.prompt(1);
    for words in ["N-1 (may be changed)", "N-1 cannot be done as it is said: of what?"] {
        assert!(prompt.contains(words), "no `{words}` in:\n{prompt}");
    }
    let state = refined.world.state();
    assert_eq!(state["bindings"]["N-1"]["of"]["refined"], 1);
    assert_eq!(state["bindings"]["N-1"]["of"]["description"], "make the file done");
}

#[test]
fn a_group_whose_choices_failed_gets_one_more() {
    let atoms = json!({
        "way": {"kind": "any", "choices": ["left"]},
        "left": task("exit 1"),
    });
    let refined = Refined::new(&["test -e done"], json!({"max_attempts": 1}), atoms);
    let mut answer = add("right", task("echo 1 > done"));
    answer["actions"][0]["atoms"]["right"]["description"] = json!("the other way");
    answer["actions"][0]["target"] = json!("way");
    refined.answers("refine", &answer);
    refined.world.run().expect(0);
    let state = refined.world.state();
    assert_eq!(state["work_graph"]["atoms"]["way"]["choices"], json!(["left", "way-1"]));
    assert!(refined.prompt(1).contains("way (may get a choice)"));
}

/// Each uses its change up, tells why, leaves the plan as it was, and ends the run as without a refiner.
#[test]
fn an_answer_that_cannot_be_taken_is_told_and_changes_nothing() {
    let with_key = |key: &str, value: Value| add("new", with(more(), json!({key: value})));
    let prose = json!("I would add a step.").to_string();
    let big = add("new", with(more(), json!({"timeout": "100d"})));
    let idle = with_key("action", json!({"run": "true"}));
    let nowhere =
        with(more(), json!({"action": {"run": "no-such-program-at-all"}, "depends_on": []}));
    let nowhere = add("new", nowhere);
    let one = |action: Value| json!({"actions": [action]}).to_string();
    let asking =
        |questions: Value| with(add("new", more()), json!({"questions": questions})).to_string();
    // Each run that a person starts anew asks once more.
    let mut left = 60;
    let refined = half(json!({"max_transient": 0, "planning": {"changes": left}}));
    for (answer, words) in [
        (prose, "no JSON object"),
        ("{}".to_owned(), "`actions` is a list"),
        (json!({"actions": [], "status": "solved"}).to_string(), "`actions` is a list"),
        (json!({"action": []}).to_string(), "`action` is no key of the answer"),
        (json!({"actions": [{"type": "step_solve"}]}).to_string(), "`step_solve` is no type"),
        (change("A", json!({"description": "x"})).to_string(), "`A` was written by a person"),
        (change("X", json!({"description": "x"})).to_string(), "`X` is no atom of the plan"),
        (add("A", more()).to_string(), "`A` is there already"),
        (with_key("depends_on", json!(["X"])).to_string(), "there is no atom `X`"),
        (with_key("depends_on", json!(["new"])).to_string(), "new"),
        (with_key("status", json!("solved")).to_string(), "status"),
        (with_key("guidance", json!(["do it"])).to_string(), "guidance"),
        (with_key("kind", json!("plan")).to_string(), "is no task"),
        (with_key("checks", json!({"file": "b["})).to_string(), "not a glob"),
        (big.to_string(), "more than"),
        (idle.to_string(), "does nothing"),
        (nowhere.to_string(), "no-such-program-at-all"),
        (add("new", json!({"description": "by a worker"})).to_string(), "there is no worker"),
        (one(json!({"type": "step_remove", "target": "A"})), "`A` was written by a person"),
        (
            one(json!({"type": "step_mark_invalid", "target": "X", "reason": "r"})),
            "`X` is not solved",
        ),
        (one(json!({"type": "step_mark_invalid", "target": "A"})), "`reason` says what"),
        (one(json!({"type": "step_mark_invalid", "target": "A", "reason": "r"})), "nothing to try"),
        (one(json!({"type": "subplan_create", "atoms": {"new": more()}})), "is no planning step"),
        (
            one(
                json!({"type": "subplan_create", "atoms": {"new": {"kind": "plan", "description": "more"}}}),
            ),
            "there is no planner",
        ),
        (asking(json!([1, 2, 3, 4])), "at most 3"),
        (asking(json!([{"about": "new"}])), "`question` and `assume`"),
        (
            asking(json!([{"about": "A", "question": "q", "assume": "a"}])),
            "`A` was written by a person",
        ),
        ("@exit 1".to_owned(), ""),
        ("@exit 75".to_owned(), ""),
        ("@big".to_owned(), ""),
        ("@prompt".to_owned(), ""),
    ] {
        refined.says("refine", &answer);
        let ran = refined.world.run();
        assert_eq!(ran.code, Some(5), "{answer}: {}", ran.stderr);
        let why = refused(&ran);
        assert!(!why.is_empty() && why.contains(words), "{answer}: {why}");
        let state = refined.world.state();
        assert_eq!(state["work_graph"]["atoms"], json!({}), "{answer}");
        assert!(state["run"].get("consult").is_none());
        left -= 1;
        assert_eq!(state["run"]["grant"]["left"], left, "{answer}");
        assert_eq!(processes_in(&refined.world.root()), Vec::<String>::new());
    }
}

#[test]
fn the_same_change_is_not_tried_twice_and_the_run_ends() {
    let refined = half(json!({"max_attempts": 1}));
    let vain = with(more(), json!({"action": {"run": "echo 3 > other"}}));
    refined.answers("refine", &add("new", vain));
    let ran = refined.world.run().expect(5);
    assert_eq!(refused(&ran), "the same change was proposed before");
    // Taken once, refused once; the plan is as it was then, and is not asked about again.
    assert_eq!((refined.asked(), ran.count("replanned")), (2, 2));
    assert!(refined.prompt(2).contains("- step-1: the base case does not hold"));
}

/// No task that is added can help there, so the change is left to a planner.
#[test]
fn where_a_task_of_a_person_failed_for_good_no_refiner_is_asked() {
    let limits = json!({"max_attempts": 1});
    let atoms = json!({"A": task("exit 1")});
    let refined = Refined::new(&["test -e done"], limits, atoms);
    refined.answers("refine", &add("new", task("echo 1 > done")));
    refined.world.run().expect(5);
    assert_eq!(refined.asked(), 0);
}

#[test]
fn a_run_that_a_person_starts_anew_asks_once_more_after_a_refusal() {
    let refined = half(json!({}));
    refined.says("refine.1", "nothing comes to my mind");
    refined.world.run().expect(5);
    refined.answers("refine.2", &add("new", more()));
    refined.world.run().expect(0);
    assert_eq!(refined.asked(), 2);
}

#[test]
fn a_step_that_a_person_takes_out_is_not_delivered() {
    let refined = half(json!({}));
    refined.answers("refine.1", &add("new", more()));
    refined.says("refine.2", "nothing comes to my mind");
    refined.world.run().expect(0);
    let out = ["redirect", "-y", "--remove", "step-1"];
    refined.world.descent(&out).expect(0);
    let result = refined.world.run().expect(5).result();
    assert_eq!(result["verdict"]["held"], 1, "{result}");
}

#[test]
fn where_a_refiner_has_no_answer_a_planner_is_asked() {
    let refined = half(json!({}));
    let planner = refined.world.program(
        "planner",
        "#!/bin/sh\necho '{\"atoms\": {\"x\": {\"description\": \"make more\", \"action\": {\"run\": \"echo 2 > more\"}}}}'\n",
    );
    let known = fs::read_to_string(refined.world.repo().join("descent.toml")).unwrap();
    let planner = format!("planner.agent = \"p\"\n[agents.p]\nrun = \"{}\"\n", planner.display());
    refined.world.write("descent.toml", &(known + &planner));
    refined.says("refine", "nothing comes to my mind");
    let ran = refined.world.run().expect(0);
    let lines = ran.lines();
    let places: Vec<&Value> = lines
        .iter()
        .filter(|line| line["event"] == "replanned")
        .map(|line| &line["place"])
        .collect();
    assert_eq!(places, ["nowhere", "root"]);
}

#[test]
fn with_judging_off_no_refiner_is_asked() {
    let refined = half(json!({"judging": "off"}));
    refined.answers("refine", &add("new", more()));
    refined.world.run().expect(5);
    assert_eq!(refined.asked(), 0);
}

#[test]
fn a_loop_that_is_killed_while_a_change_is_asked_for_asks_once_more_and_ends_the_same() {
    let refined = half(json!({}));
    refined.says("refine.1", "@sleep 600");
    refined.answers("refine.2", &add("new", more()));
    let running = refined.world.start(&["run"]);
    wait_for("the question", || refined.asked() == 1);
    running.kill();
    let ran = refined.world.run().expect(0);
    assert_eq!((refined.asked(), ran.count("replanned")), (2, 1));
    wait_for("no process", || processes_in(&refined.world.root()).is_empty());
}

/// Neither opens anything, so the run is where it was: another question, or none.
#[test]
fn what_makes_a_question_void_at_a_dead_end_leaves_no_loop_that_waits_for_nothing() {
    let refined = half(json!({}));
    refined.says("refine.1", "@sleep 600");
    refined.answers("refine.2", &add("new", more()));
    let mut running = refined.world.start(&["run"]);
    wait_for("the question", || refined.asked() == 1);
    let words = "\"description\": \"make the file\"";
    let with_paths = format!("{words}, \"touches\": [\"done\"]");
    refined.world.replace_in_state(words, &with_paths);
    running.wait().expect(0);
    assert_eq!(refined.asked(), 2);

    let refined = half(json!({}));
    refined.says("refine", "@sleep 600");
    let mut running = refined.world.start(&["run"]);
    wait_for("the question", || refined.asked() == 1);
    let off = ["redirect", "-y", "--set", "judging=off"];
    refined.world.descent(&off).expect(0);
    running.wait().expect(5);
}

#[test]
fn a_person_who_changes_the_plan_while_a_change_is_asked_for_makes_the_answer_void() {
    let refined = half(json!({}));
    refined.says("refine.1", "@sleep 600");
    let mut running = refined.world.start(&["run"]);
    wait_for("the question", || refined.asked() == 1);
    let added = json!({"work_graph": {"atoms": {"B": task("echo 2 > more")}}});
    let file = refined.world.out("added.json");
    fs::write(&file, added.to_string()).unwrap();
    let file = file.display().to_string();
    refined.world.descent(&["redirect", "-y", "--add", &file]).expect(0);
    let ran = running.wait().expect(0);
    assert_eq!(refined.asked(), 1);
    assert!(!ran.stderr.contains("replanned"), "{}", ran.stderr);
}

#[test]
fn a_result_by_a_person_while_a_change_is_asked_for_makes_the_answer_void() {
    let atoms = json!({
        "A": with(task("echo 1 > done"), json!({"description": "make the file"})),
        "B": with(task("exit 1"), json!({"description": "fail", "depends_on": ["way"]})),
        "way": {"kind": "any", "choices": ["left"]},
        "left": task("echo 1 > left"),
    });
    let refined = Refined::new(&["test -e never"], json!({"max_attempts": 1}), atoms);
    refined.says("refine.1", "@sleep 600");
    refined.says("refine.2", "nothing comes to my mind");
    let mut running = refined.world.start(&["run"]);
    wait_for("the question", || refined.asked() == 1);
    refined.world.descent(&["skip", "B"]).expect(0);
    running.wait().expect(5);
    assert_eq!(refined.asked(), 2);
}

/// The line that tells most is seldom among the last three.
#[test]
fn a_refiner_is_told_what_a_check_printed() {
    let loud = "printf 'the sum of 1 and 2 is 4\\n1\\n2\\n3\\n4\\n5\\n6\\n7\\n8\\n9\\n10\\n11\\n12\\n13\\n14\\n15\\n16\\n17\\n18\\n19\\n20\\n21\\n22\\n23\\n24\\n25\\n26\\n27\\n28\\n29\\n'; exit 1";
    let atoms = json!({"A": with(task("echo 1 > done"), json!({"description": "make it"}))});
    let refined = Refined::new(&[loud], json!({}), atoms);
    refined.says("refine", "nothing comes to my mind");
    refined.world.run().expect(5);
    let prompt = refined.prompt(1);
    assert!(prompt.contains("    the sum of 1 and 2 is 4"), "{prompt}");
}
