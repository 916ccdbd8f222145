//! A plan that was edited, over a state: what the file changed is taken from it, all else stays.

use std::{collections::BTreeMap, sync::Arc};

use descent_core::{
    change::{self, ChangeRefusal, Redirect},
    id::{Digest, Lineage},
    plan,
    state::{Atom, AtomStatus, FailureClass, State, Try, TryEnd},
};
use serde_json::{Value, json};

use super::{DIGEST, NOW, action, atoms, faults, id, redirected, try_redirect};

fn objective() -> Value {
    json!({
        "goal": "it is so", "background_intent": "because",
        "base_case": {"all": [{"command": "test -f done"}]}, "constraints": {"max_attempts": 2}
    })
}

fn task(run: &str) -> Value {
    json!({"description": run, "action": {"run": run}})
}

/// `way` is `left` or `right`; `end` waits for it; `extra` stands alone.
fn file() -> Value {
    let mut end = task("finish");
    end["depends_on"] = json!(["way"]);
    json!({"objective": objective(), "work_graph": {"atoms": {
        "way": {"description": "either", "choices": {"left": task("go left"), "right": task("go right")}},
        "end": end, "extra": task("more")
    }}})
}

fn of_plan(plan: &Value) -> State {
    let read = plan::read(plan.to_string().as_bytes());
    assert_eq!(read.faults, Vec::new());
    read.into_state(Lineage::new("one"))
}

/// The state some time after that plan was taken in: `left` has failed, and `right` is in force.
fn worked(plan: &Value) -> State {
    let mut state = of_plan(plan);
    let mut left = Atom::clone(state.atoms.get(&id("left")).expect("an atom"));
    let task = left.task_mut().expect("a task");
    task.status = AtomStatus::Failed;
    task.tries.push(Try {
        attempts: 2,
        ended: Some(TryEnd::Failed(FailureClass::Logical)),
        ..Try::new(Digest::new(DIGEST), BTreeMap::new())
    });
    state.atoms.insert(id("left"), Arc::new(left));
    state
}

fn edited(plan: &Value) -> Redirect {
    Redirect { plan: Some(Arc::new(of_plan(plan))), ..Redirect::default() }
}

#[test]
fn what_the_file_changed_is_taken_in_and_all_else_stays() {
    let before = worked(&file());
    let mine = Redirect {
        goal: Some("it is better".to_owned()),
        into: Some(id("way")),
        ..atoms(&json!({"work_graph": {"atoms": {"mine": action("my way")}}}))
    };
    let before = redirected(&before, &mine).state;
    let mut plan = file();
    plan["objective"]["constraints"]["max_attempts"] = json!(3);
    let all = plan["work_graph"]["atoms"].as_object_mut().expect("a map");
    all.remove("extra");
    all.insert("new".to_owned(), task("new"));
    all["end"]["action"]["run"] = json!("finish well");
    all["way"]["choices"]["other"] = task("another way");
    let made = redirected(&before, &edited(&plan));
    let state = &made.state;
    assert_eq!(state.objective.goal, "it is better", "a redirect said so");
    assert_eq!(state.objective.constraints.max_attempts, Some(3));
    assert!(state.atom(&id("extra")).is_none() && state.atom(&id("new")).is_some());
    let way = state.atom(&id("way")).expect("a group");
    let mut kids: Vec<&str> = way.kids().iter().map(|kid| kid.as_str()).collect();
    kids.sort_unstable();
    assert_eq!(kids, ["left", "mine", "other", "right"]);
    let left = state.atom(&id("left")).and_then(|atom| atom.task());
    assert_eq!(left.expect("a task").tries.len(), 1, "what was tried stays");
    let end = state.atom(&id("end")).and_then(|atom| atom.task());
    let run = end.and_then(|task| task.spec.action.as_ref());
    assert_eq!(run.map(|action| action.run.as_str()), Some("finish well"));
    assert_eq!(state.plan, of_plan(&plan).plan, "the next one is compared with it");

    let again = try_redirect(state, &edited(&plan));
    assert!(matches!(again, Err(ChangeRefusal::NoDifference)), "{again:?}");
}

#[test]
fn without_an_earlier_plan_nothing_is_taken_out() {
    let mut before = worked(&file());
    before.plan = None;
    let mut plan = file();
    let all = plan["work_graph"]["atoms"].as_object_mut().expect("a map");
    all.remove("extra");
    all["way"]["choices"].as_object_mut().expect("a map").remove("left");
    all["end"]["action"]["run"] = json!("finish well");
    let made = redirected(&before, &edited(&plan));
    for name in ["extra", "left", "right", "way", "end"] {
        assert!(made.state.atom(&id(name)).is_some(), "{name} is gone");
    }
    let way = made.state.atom(&id("way")).expect("a group");
    assert_eq!(way.kids().len(), 2);
    let roots = |effect: &String| effect.starts_with("nobody's part any more");
    let effects = crate::change::effects_of(&made);
    assert!(!effects.iter().any(roots), "{effects:?}");
}

#[test]
fn an_atom_that_somebody_added_and_that_waits_for_one_that_goes_is_told() {
    let before = worked(&file());
    let mut waits = action("afterwards");
    waits["depends_on"] = json!(["extra"]);
    let before =
        redirected(&before, &atoms(&json!({"work_graph": {"atoms": {"mine": waits}}}))).state;
    let mut plan = file();
    plan["work_graph"]["atoms"].as_object_mut().expect("a map").remove("extra");
    let told = faults(&before, &edited(&plan));
    let told: Vec<(&str, &str)> =
        told.iter().map(|fault| (fault.pointer.as_str(), fault.message.as_str())).collect();
    let why = "mine waits for extra, which the plan does not name any more";
    assert_eq!(told, [("/work_graph/atoms/extra", why)]);
}

#[test]
fn what_a_person_took_out_stays_out_until_the_file_says_something_else_of_it() {
    let gone = Redirect { removed: vec![id("extra")], ..Redirect::default() };
    let before = redirected(&worked(&file()), &gone).state;
    let mut plan = file();
    plan["work_graph"]["atoms"]["end"]["action"]["run"] = json!("finish well");
    let made = redirected(&before, &edited(&plan));
    assert!(made.state.atom(&id("extra")).is_none());
    plan["work_graph"]["atoms"]["extra"]["action"]["run"] = json!("much more");
    let made = redirected(&made.state, &edited(&plan));
    assert!(made.state.atom(&id("extra")).is_some());
}

#[test]
fn keys_that_no_other_correction_tells_of_are_changes_too_and_remarks_are_none() {
    let before = worked(&file());
    let mut plan = file();
    plan["work_graph"]["atoms"]["end"]["notes"] = json!("look at it");
    let refused = try_redirect(&before, &edited(&plan));
    assert!(matches!(refused, Err(ChangeRefusal::NoDifference)), "{refused:?}");
    plan["work_graph"]["atoms"]["end"]["touches"] = json!(["src/**"]);
    let made = redirected(&before, &edited(&plan));
    let end = made.state.atom(&id("end")).and_then(|atom| atom.task());
    assert_eq!(end.map(|task| task.touches.len()), Some(1));
    let told = made.state.corrections.iter();
    let told: Vec<_> = told.filter_map(|one| one.data.description.as_deref()).collect();
    assert_eq!(told, ["changed end: touches: nothing → src/** (it was wrong)"]);
}

#[test]
fn a_measured_baseline_stays_with_its_check_and_a_new_one_needs_its_number() {
    let mut plan = file();
    let leaf = json!({"command": "count", "number": "(\\d+)", "at_least": "baseline"});
    plan["objective"]["base_case"]["all"] = json!([leaf.clone()]);
    let mut before = worked(&plan);
    let objective = Arc::make_mut(&mut before.objective);
    let check = objective.base_case.as_mut().expect("a check");
    check.baselines_mut().into_iter().for_each(|rule| rule.set_baseline(211.0));
    let mut other = plan.clone();
    other["objective"]["base_case"]["all"] = json!([leaf, {"command": "make test"}]);
    let made = redirected(&before, &edited(&other));
    let leaves = made.state.objective.base_case.as_ref().map(|check| check.leaves());
    let leaves = leaves.expect("leaves");
    assert_eq!(leaves.len(), 2);
    let number = leaves[0].leaf().and_then(|leaf| leaf.number());
    let number = number.expect("a number");
    assert_eq!(number.describe(), "at least 211 (baseline)");

    let another = json!({"command": "count more", "number": "(\\d+)", "at_least": "baseline"});
    other["objective"]["base_case"]["all"] = json!([another]);
    let told = faults(&before, &edited(&other));
    let told: Vec<&str> = told.iter().map(|fault| fault.rule).collect();
    assert_eq!(told, ["no-baseline"]);
}

#[test]
fn what_a_planner_made_goes_with_its_step() {
    let mut plan = file();
    plan["work_graph"]["atoms"]["step"] = json!({"kind": "plan", "description": "think"});
    let mut before = worked(&plan);
    let step = json!({
        "kind": "all", "description": "think", "parts": ["step-1"], "depends_on": [],
        "planned": {"status": "pending", "fragment": {"context": DIGEST, "digest": DIGEST, "attempt": "step.1"}}
    });
    let mut made = action("planned");
    made["origin"] = json!({"by": "planner"});
    let planned = json!({"work_graph": {"atoms": {"step": step, "step-1": made}}});
    for (id, atom) in atoms(&planned).atoms {
        before.atoms.insert(id, Arc::new(atom));
    }
    assert_eq!(before.atom(&id("step")).expect("a step").kids().len(), 1);
    plan["work_graph"]["atoms"].as_object_mut().expect("a map").remove("step");
    let made = redirected(&before, &edited(&plan));
    assert!(made.state.atom(&id("step")).is_none() && made.state.atom(&id("step-1")).is_none());
}

#[test]
fn a_plan_that_says_what_stands_already_is_only_kept_and_ends_nothing() {
    let before = worked(&file());
    let changed =
        Redirect { retried: vec![id("left")], removed: vec![id("extra")], ..Redirect::default() };
    let before = redirected(&before, &changed).state;
    let mut plan = file();
    plan["work_graph"]["atoms"].as_object_mut().expect("a map").remove("extra");
    let order = edited(&plan);
    assert!(matches!(try_redirect(&before, &order), Err(ChangeRefusal::NoDifference)));
    let plan = of_plan(&plan);
    let kept = change::keep_plan(&before, &plan, NOW).expect("another plan");
    assert_eq!(kept.state.plan, plan.plan);
    assert_eq!(kept.state.corrections.len(), before.corrections.len());
    assert_eq!(kept.state.run.epoch, before.run.epoch);
    let again = change::keep_plan(&kept.state, &plan, NOW);
    assert!(matches!(again, Err(ChangeRefusal::NoDifference)));
    let left = kept.state.atom(&id("left")).and_then(|atom| atom.task());
    assert_eq!(left.map(|task| &task.status), Some(&AtomStatus::Pending));
}
