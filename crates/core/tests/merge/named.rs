//! Cases from a person's work.

use descent_core::{change, state::record::Winner};
use serde_json::{Value, json};

use super::{adopt, beginning, content, merge, state};

/// Merges two edits of the beginning; gives the content, and the lost values as (pointer, winner).
fn check(
    ours: impl Fn(&mut Value),
    theirs: impl Fn(&mut Value),
) -> (Value, Vec<(String, &'static str)>) {
    let base = beginning();
    let (mut committed, mut edited) = (base.clone(), base.clone());
    ours(&mut committed);
    committed["serial"] = json!(9);
    theirs(&mut edited);
    let merged = merge(&base, &committed, &edited);
    let lost = merged.lost.iter().map(|lost| (lost.at.clone(), lost.kept.word()));
    let lost = lost.collect();
    let adopted = adopt(&committed, merged);
    let content = content(&adopted.state);
    state(&content);
    (content, lost)
}

fn solve(value: &mut Value, id: &str) {
    let of = value["work_graph"]["atoms"].as_object_mut().expect("a map").remove(id);
    value["bindings"][id] = json!({"summary": "solved", "attempts": 1, "by": "action", "at": "2026-01-02T00:00:00Z", "of": of});
}

fn at(value: &mut Value, id: &str) -> Value {
    value["work_graph"]["atoms"][id].take()
}

#[test]
fn new_words_for_what_was_solved_meanwhile_are_those_of_the_result() {
    let (is, lost) = check(
        |ours| solve(ours, "A1"),
        |edit| edit["work_graph"]["atoms"]["A1"]["description"] = json!("mine"),
    );
    assert_eq!(is["bindings"]["A1"]["of"]["description"], "mine");
    assert_eq!(is["bindings"]["A1"]["summary"], "solved");
    assert_eq!(lost, []);
}

#[test]
fn what_was_tried_and_the_commit_of_a_result_are_no_persons_to_change() {
    let context = format!("sha256:{}", "1".repeat(64));
    let mut base = beginning();
    base["work_graph"]["atoms"]["A1"]["tries"] = json!([{"context": context, "attempts": 1}]);
    solve(&mut base, "A2");
    base["bindings"]["A2"]["commit"] = json!("a".repeat(40));
    let mut edit = base.clone();
    edit["work_graph"]["atoms"]["A1"]["tries"] = json!([]);
    edit["work_graph"]["atoms"]["A1"]["description"] = json!("mine");
    edit["bindings"]["A2"]["commit"] = json!("b".repeat(40));
    edit["bindings"]["A2"]["summary"] = json!("mine");
    let merged = merge(&base, &base, &edit);
    let mut lost: Vec<&str> = merged.lost.iter().map(|lost| lost.at.as_str()).collect();
    lost.sort_unstable();
    assert_eq!(lost, ["/internal/atoms/A1/tries", "/internal/bindings/A2/commit"]);
    let is = content(&adopt(&base, merged).state);
    assert_eq!(is["bindings"]["A2"]["commit"], base["bindings"]["A2"]["commit"]);
    assert_eq!(is["bindings"]["A2"]["summary"], "mine");
    assert_eq!(is["work_graph"]["atoms"]["A1"]["description"], "mine");
}

#[test]
fn what_happened_with_a_fragment_is_no_persons_to_change_and_its_parts_and_notes_are() {
    let digest = |digit: &str| format!("sha256:{}", digit.repeat(64));
    let fragment = |attempt: &str| json!({"context": digest("1"), "digest": digest("2"), "attempt": attempt, "attempts": 3});
    let mut base = beginning();
    let mut old = fragment("N.1");
    old["parts"] = json!(["N-1"]);
    let atoms = &mut base["work_graph"]["atoms"];
    atoms["N"] = json!({"kind": "plan", "parts": ["N-2", "N-3"], "depends_on": [], "status": "pending",
        "action": {"run": "echo"}, "fragment": fragment("N.2"), "fragments": [old]});
    for part in ["N-1", "N-2", "N-3"] {
        atoms[part] = json!({"kind": "task", "description": part, "depends_on": [], "status": "pending", "action": {"run": "true"}});
    }
    let mut edit = base.clone();
    let atoms = &mut edit["work_graph"]["atoms"];
    atoms.as_object_mut().expect("a map").remove("N-2");
    let mine = &mut atoms["N"];
    mine["parts"] = json!(["N-3"]);
    mine["fragment"]["attempts"] = json!(0);
    mine["fragment"]["notes"] = json!("mine");
    mine["fragments"][0]["context"] = json!(digest("9"));
    let merged = merge(&base, &base, &edit);
    let lost: Vec<&str> = merged.lost.iter().map(|lost| lost.at.as_str()).collect();
    let at = "/work_graph/atoms/N/fragment";
    assert_eq!(lost, [at, &format!("{at}s/0")]);
    let is = content(&adopt(&base, merged).state);
    let mut wanted = base["work_graph"]["atoms"]["N"].clone();
    wanted["parts"] = json!(["N-3"]);
    wanted["fragment"]["notes"] = json!("mine");
    for (key, value) in wanted.as_object().expect("an atom") {
        let found = is["work_graph"]["atoms"]["N"].get(key);
        assert_eq!(
            found.unwrap_or(&json!(if key == "status" { "pending" } else { "" })),
            value,
            "{key}"
        );
    }
}

#[test]
fn choices_without_their_group_are_told_to_stand_alone() {
    let (is, lost) = check(
        |_| {},
        |edit| {
            let atoms = edit["work_graph"]["atoms"].as_object_mut();
            atoms.expect("a map").remove("G");
        },
    );
    assert_eq!(lost, []);
    let told = is["corrections"][1]["changes"].to_string();
    assert!(told.contains("like every other root: C1, C2"), "{told}");
}

#[test]
fn the_kind_of_workspace_is_settled_by_the_first_start() {
    let shared = |edit: &mut Value| edit["objective"]["constraints"]["workspace"] = json!("shared");
    let at = "/objective/constraints/workspace".to_owned();
    let (is, lost) = check(|ours| ours["run"]["id"] = json!("run"), shared);
    assert_eq!(is["objective"]["constraints"]["workspace"], Value::Null);
    assert_eq!(lost, [(at, "program")]);
    let (is, lost) = check(|_| {}, shared);
    assert_eq!(is["objective"]["constraints"]["workspace"], "shared");
    assert_eq!(lost, []);
}

#[test]
fn both_change_one_text_and_the_persons_stands_and_the_other_is_kept() {
    let (is, lost) = check(
        |ours| ours["objective"]["goal"] = json!("theirs"),
        |edit| edit["objective"]["goal"] = json!("mine"),
    );
    assert_eq!(is["objective"]["goal"], "mine");
    assert_eq!(lost, [("/objective/goal".to_owned(), "edit")]);
    assert_eq!(
        is["corrections"][1]["lost"],
        json!([{"at": "/objective/goal", "kept": "edit", "value": "theirs"}])
    );
}

#[test]
fn both_change_a_status_and_the_programs_stands() {
    let (is, lost) = check(
        |ours| ours["work_graph"]["atoms"]["A1"]["status"] = json!("needs_guidance"),
        |edit| edit["work_graph"]["atoms"]["A1"]["status"] = json!("failed"),
    );
    assert_eq!(is["work_graph"]["atoms"]["A1"]["status"], "needs_guidance");
    assert_eq!(lost, [("/internal/atoms/A1/status".to_owned(), "program")]);
}

#[test]
fn both_change_a_count_and_the_programs_stands() {
    let (is, lost) = check(
        |ours| ours["work_graph"]["atoms"]["A1"]["interruptions"] = json!(2),
        |edit| edit["work_graph"]["atoms"]["A1"]["interruptions"] = json!(5),
    );
    assert_eq!(is["work_graph"]["atoms"]["A1"]["interruptions"], 2);
    let at = "/work_graph/atoms/A1/interruptions".to_owned();
    assert_eq!(lost, [(at, "program")]);
}

#[test]
fn what_is_taken_out_while_it_was_solved_stays_out_and_its_result_is_kept_in_the_correction() {
    let (is, lost) = check(
        |ours| solve(ours, "C2"),
        |edit| {
            at(edit, "C2");
            edit["work_graph"]["atoms"].as_object_mut().expect("a map").remove("C2");
            edit["work_graph"]["atoms"]["G"]["choices"] = json!(["C1"]);
        },
    );
    assert!(
        is["bindings"].get("C2").is_none() && is["work_graph"]["atoms"].get("C2").is_none(),
        "{is:#}"
    );
    assert_eq!(lost, [("/bindings/C2".to_owned(), "edit")]);
    assert_eq!(is["corrections"][1]["lost"][0]["value"]["summary"], "solved");
}

#[test]
fn what_is_taken_out_and_was_needed_meanwhile_stays() {
    let (is, lost) = check(
        |ours| {
            ours["work_graph"]["atoms"]["N"] =
                json!({"kind": "task", "depends_on": ["G"], "description": "n"})
        },
        |edit| {
            for id in ["G", "C1", "C2"] {
                edit["work_graph"]["atoms"].as_object_mut().expect("a map").remove(id);
            }
        },
    );
    assert!(is["work_graph"]["atoms"].get("G").is_some(), "{is:#}");
    assert!(
        lost.iter().any(|(at, kept)| at == "/work_graph/atoms/G" && *kept == "program"),
        "{lost:?}"
    );
}

#[test]
fn arrows_that_close_a_circle_together_are_the_programs() {
    let (is, lost) = check(
        |ours| ours["work_graph"]["atoms"]["C1"]["notes"] = json!("x"),
        |edit| edit["work_graph"]["atoms"]["G"]["depends_on"] = json!(["A3"]),
    );
    assert_eq!(is["work_graph"]["atoms"]["G"]["depends_on"], json!(["A3"]));
    assert_eq!(lost, []);
    let (is, lost) = check(
        |ours| ours["work_graph"]["atoms"]["A1"]["depends_on"] = json!(["G"]),
        |edit| edit["work_graph"]["atoms"]["G"]["depends_on"] = json!(["A1"]),
    );
    assert_eq!(is["work_graph"]["atoms"]["A1"]["depends_on"], json!(["G"]));
    assert!(lost.iter().any(|(at, _)| at == "/work_graph/atoms/G"), "{lost:?}");
}

#[test]
fn a_result_by_a_person_stands_against_the_loops() {
    let (is, lost) = check(
        |ours| solve(ours, "A1"),
        |edit| {
            solve(edit, "A1");
            edit["bindings"]["A1"]["summary"] = json!("by hand");
            edit["bindings"]["A1"]["by"] = json!("person");
        },
    );
    assert_eq!(is["bindings"]["A1"]["summary"], "by hand");
    assert_eq!(is["bindings"]["A1"]["by"], "person");
    assert_eq!(lost, [("/bindings/A1".to_owned(), "edit")]);
}

#[test]
fn a_forgotten_result_is_open_again_and_an_atom_taken_out_is_not() {
    let (is, _) = check(
        |_| {},
        |edit| {
            let result = edit["bindings"].as_object_mut().expect("a map").remove("B1");
            edit["work_graph"]["atoms"]["B1"] = result.expect("a result")["of"].take();
        },
    );
    assert_eq!(is["work_graph"]["atoms"]["B1"]["description"], "b");
    let (is, _) =
        check(|_| {}, |edit| drop(edit["bindings"].as_object_mut().expect("a map").remove("B1")));
    assert_eq!(is["work_graph"]["atoms"].get("B1"), None);
}

#[test]
fn both_add_and_both_stay() {
    let (is, lost) = check(
        |ours| ours["work_graph"]["atoms"]["N1"] = json!({"kind": "task", "description": "n1"}),
        |edit| edit["work_graph"]["atoms"]["N2"] = json!({"kind": "task", "description": "n2"}),
    );
    assert_eq!(is["work_graph"]["atoms"]["N1"]["description"], "n1");
    assert_eq!(is["work_graph"]["atoms"]["N2"]["description"], "n2");
    assert_eq!(lost, []);
}

#[test]
fn another_order_is_no_change() {
    let (is, lost) = check(
        |ours| ours["work_graph"]["atoms"]["A3"]["depends_on"] = json!(["A1", "A2", "B1"]),
        |edit| edit["work_graph"]["atoms"]["A3"]["depends_on"] = json!(["A2", "A1"]),
    );
    assert_eq!(is["work_graph"]["atoms"]["A3"]["depends_on"], json!(["A2", "B1", "A1"]));
    assert_eq!(lost, []);
}

#[test]
fn remarks_of_both_sides_stay_and_of_two_in_one_place_the_newer() {
    let (is, lost) = check(
        |ours| {
            ours["run"]["notes"] = json!("ours");
            ours["work_graph"]["atoms"]["A1"]["x-a"] = json!(1);
            ours["notes"] = json!("ours");
        },
        |edit| {
            edit["run"]["spent"]["notes"] = json!("mine");
            edit["work_graph"]["atoms"]["A1"]["x-b"] = json!(2);
            edit["notes"] = json!("mine");
        },
    );
    assert_eq!(
        (&is["run"]["notes"], &is["run"]["spent"]["notes"]),
        (&json!("ours"), &json!("mine"))
    );
    let atom = &is["work_graph"]["atoms"]["A1"];
    assert_eq!((&atom["x-a"], &atom["x-b"]), (&json!(1), &json!(2)));
    assert_eq!(is["notes"], "mine");
    assert_eq!(lost, [("/notes".to_owned(), "edit")]);
}

#[test]
fn a_remark_on_an_entry_of_the_trail_and_on_a_correction_stays() {
    let (is, lost) = check(
        |ours| {
            ours["trail"]
                .as_array_mut()
                .expect("a list")
                .push(json!({"type": "probe", "at": "later", "serial": 8, "pass": 1}))
        },
        |edit| {
            edit["trail"][0]["notes"] = json!("odd");
            edit["corrections"][0]["notes"] = json!("even");
        },
    );
    assert_eq!(
        (&is["trail"][0]["notes"], &is["trail"][1]["type"]),
        (&json!("odd"), &json!("probe"))
    );
    assert_eq!(is["corrections"][0]["notes"], "even");
    assert_eq!(lost, []);
}

/// The only entry of the beginning is replaced by a newer one.
fn left_out(ours: &mut Value) {
    ours["trail"] = json!([{"type": "choice", "at": "2026-01-01T00:00:01Z", "serial": 4, "pass": 1,
        "group": "G", "choice": "C2"}]);
}

#[test]
fn an_edit_that_began_before_an_entry_was_left_out_brings_it_not_back_and_loses_nothing() {
    let (is, lost) = check(left_out, |edit| {
        edit["work_graph"]["atoms"]["A1"]["description"] = json!("uno");
    });
    let trail = is["trail"].as_array().expect("a list");
    let types: Vec<&Value> = trail.iter().map(|entry| &entry["type"]).collect();
    assert_eq!(
        (types, &trail[0]["serial"]),
        (vec![&json!("choice"), &json!("user_correction")], &json!(4))
    );
    assert_eq!(is["work_graph"]["atoms"]["A1"]["description"], "uno");
    assert_eq!(lost, []);
}

#[test]
fn a_remark_on_an_entry_that_was_left_out_meanwhile_is_told() {
    let (is, lost) = check(left_out, |edit| edit["trail"][0]["notes"] = json!("odd"));
    assert_eq!(is["trail"].as_array().map(Vec::len), Some(1));
    assert_eq!(lost, [("/trail/0".to_owned(), "program")]);
}

#[test]
fn a_stop_by_hand_in_an_old_copy_is_a_stop() {
    let (is, lost) = check(
        |ours| ours["run"]["iteration"] = json!(6),
        |edit| edit["control"]["stop_requested"] = json!(true),
    );
    assert_eq!(is["control"]["stop_requested"], true);
    assert_eq!(is["run"]["iteration"], 6);
    assert_eq!(lost, []);
}

#[test]
fn an_edited_serial_lineage_and_fact_are_the_programs() {
    let (mut base, mut edited) = (beginning(), beginning());
    base["seal"] = json!("sha256:aa");
    edited["seal"] = json!("sha256:aa");
    edited["serial"] = json!(99);
    edited["lineage"] = json!("two");
    edited["run"]["epoch"] = json!(5);
    edited["objective"]["goal"] = json!("mine");
    let merged = merge(&base, &base, &edited);
    assert_eq!(merged.state.lineage.as_str(), "one");
    assert_eq!(merged.state.serial.0, 7);
    assert_eq!(merged.state.objective.goal, "mine");
    let lost: Vec<(&str, Winner)> =
        merged.lost.iter().map(|lost| (lost.at.as_str(), lost.kept)).collect();
    let program = |at| (at, Winner::Program);
    let of_program = ["/internal/lineage", "/internal/serial", "/run/epoch"];
    assert_eq!(lost, of_program.map(program));
}

#[test]
fn a_remark_on_the_goal_opens_nothing_again() {
    let (is, _) = check(
        |_| {},
        |edit| {
            edit["objective"]["notes"] = json!("a remark");
            edit["objective"]["base_case"]["all"][0]["notes"] = json!("another");
        },
    );
    assert_eq!(is["run"]["epoch"], 1);
    assert_eq!(is["work_graph"]["atoms"]["A3"]["status"], "failed");
    assert_eq!(is["corrections"].as_array().map(Vec::len), Some(1));
}

#[test]
fn an_edit_of_another_commit_of_the_same_serial_forgets_nothing_of_this_one() {
    let sealed = |by: &str| {
        let mut state = beginning();
        state["serial"] = json!(9);
        state["seal"] = json!(format!("sha256:{}", by.repeat(64)));
        state
    };
    let (mut committed, mut edited) = (sealed("1"), sealed("2"));
    solve(&mut committed, "A1");
    edited["work_graph"]["atoms"]["A2"]["description"] = json!("mine");
    let merged = change::merge(None, Some(&state(&committed)), &state(&edited));
    let adopted = content(&adopt(&committed, merged).state);
    assert_eq!(adopted["bindings"]["A1"]["summary"], "solved");
    let told = adopted["corrections"].to_string();
    assert!(!told.contains("forgotten"), "{told}");
}
