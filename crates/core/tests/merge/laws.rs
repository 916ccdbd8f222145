//! The laws, over random edits of both sides.

use proptest::prelude::*;
use serde_json::{Value, json};

use descent_core::{change, id::UnixMillis};

use super::{adopt, beginning, content, holds, merge, state, try_state};

/// One small change; `n` makes its text unique.
#[derive(Debug, Clone)]
struct Change {
    what: u8,
    id: u8,
    n: u32,
}

const IDS: [&str; 7] = ["A1", "A2", "A3", "G", "C1", "C2", "B1"];

impl Change {
    fn text(&self, side: &str) -> String {
        format!("{side}-{}-{}-{}", self.what, self.id, self.n)
    }

    /// Makes the change, unless it would break the state; returns whether it did.
    fn make(&self, side: &str, value: &mut Value) -> bool {
        let mut next = value.clone();
        self.apply(side, &mut next);
        let is_valid = try_state(&next).is_ok();
        if is_valid {
            *value = next;
        }
        is_valid
    }

    fn apply(&self, side: &str, value: &mut Value) {
        let text = self.text(side);
        let id = IDS[self.id as usize % IDS.len()];
        match self.what {
            0 => value["objective"]["goal"] = json!(text),
            1 => value["objective"]["constraints"]["max_attempts"] = json!(self.n % 9 + 1),
            2 => value["objective"]["base_case"]["all"][0]["command"] = json!(text),
            3 => value["objective"]["notes"] = json!(text),
            4 => value["control"]["stop_reason"] = json!(text),
            5 => self.correct(value, text),
            6 => value["trail"][0]["notes"] = json!(text),
            7 => {
                value["work_graph"]["atoms"][format!("N{}", self.n % 3)] = json!({"kind": "task", "description": text,
                "depends_on": [], "status": "pending"})
            }
            8 => remove(value, id),
            9 => bind(value, id, &text),
            10 => push(&mut value["objective"]["constraints"]["protected"], json!(text)),
            _ => self.of_atom(value, id, text),
        }
    }

    /// Ids of the two sides may be the same; those of one side are not.
    fn correct(&self, value: &mut Value, text: String) {
        let id = json!(format!("c{}", self.n % 3 + 2));
        let list = value["corrections"].as_array_mut().expect("a list");
        if list.iter().all(|one| one["id"] != id) {
            list.push(json!({"id": id, "type": "guidance", "timestamp": "2026-02-02T00:00:00Z", "description": text}));
        }
    }

    fn of_atom(&self, value: &mut Value, id: &str, text: String) {
        let Some(atom) = atom(value, id) else { return };
        match self.what {
            11 => atom["description"] = json!(text),
            12 => atom["notes"] = json!(text),
            13 => atom["action"] = json!({"run": text}),
            14 => push(&mut atom["depends_on"], json!(IDS[self.n as usize % IDS.len()])),
            15 => atom["depends_on"] = json!([]),
            16 => atom["x-key"] = json!({"deep": [text]}),
            17 => push(&mut atom["touches"], json!(text)),
            18 => atom["timeout"] = json!("5m"),
            _ => atom["checks"] = json!({"all": [{"command": text}]}),
        }
    }
}

fn push(list: &mut Value, item: Value) {
    match list.as_array_mut() {
        Some(list) => list.push(item),
        None => *list = json!([item]),
    }
}

fn atom<'v>(value: &'v mut Value, id: &str) -> Option<&'v mut Value> {
    if value["bindings"].get(id).is_some() {
        return value["bindings"][id].get_mut("of");
    }
    value["work_graph"]["atoms"].get_mut(id)
}

fn remove(value: &mut Value, id: &str) {
    let bindings = value["bindings"].as_object_mut();
    bindings.expect("a map").remove(id);
    value["work_graph"]["atoms"].as_object_mut().expect("a map").remove(id);
}

fn bind(value: &mut Value, id: &str, text: &str) {
    let Some(of) = value["work_graph"]["atoms"].as_object_mut().expect("a map").remove(id) else {
        return;
    };
    value["bindings"][id] = json!({"summary": text, "attempts": 1, "by": "action", "at": "2026-01-02T00:00:00Z", "of": of});
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let change = (0u8..20, 0u8..7, 0u32..1000).prop_map(|(what, id, n)| Change { what, id, n });
    prop::collection::vec(change, 0..6)
}

/// The state with all changes that could be made, and those changes.
fn side(name: &str, changes: &[Change]) -> (Value, Vec<Change>) {
    let mut value = beginning();
    let made = changes.iter().filter(|change| change.make(name, &mut value));
    let made = made.cloned().collect();
    (value, made)
}

/// The program's side, one commit later.
fn of_program(changes: &[Change]) -> Value {
    let (mut value, _) = side("ours", changes);
    value["serial"] = json!(8);
    value["run"]["iteration"] = json!(5);
    value
}

fn check_valid(merged: &descent_core::change::MergeOutcome) -> Result<(), TestCaseError> {
    let read = try_state(&content(&merged.state));
    prop_assert!(read.is_ok(), "{:?}", read.err());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_edit_that_changes_nothing_leaves_what_was_committed(ours in changes()) {
        let (base, ours) = (beginning(), of_program(&ours));
        let merged = merge(&base, &ours, &base);
        prop_assert_eq!(content(&merged.state), content(&state(&ours)));
        prop_assert_eq!(merged.lost, Vec::new());
    }

    #[test]
    fn an_edit_of_what_was_committed_last_is_taken_as_it_is(theirs in changes()) {
        let (base, (theirs, _)) = (beginning(), side("theirs", &theirs));
        let merged = merge(&base, &base, &theirs);
        prop_assert_eq!(content(&merged.state), content(&state(&theirs)));
        prop_assert_eq!(merged.lost, Vec::new());
    }

    #[test]
    fn an_edit_has_the_consequences_of_the_same_changes_by_command(theirs in changes()) {
        // A correction by hand changes nothing, and `touches` decides nothing: a command alone records it.
        let theirs = theirs.into_iter().filter(|change| !matches!(change.what, 5 | 17));
        let theirs: Vec<Change> = theirs.collect();
        let (before, after) = (state(&beginning()), state(&side("theirs", &theirs).0));
        let wanted = change::Change::to(after.clone());
        let edited = change::adopt(Some(&before), after, "ada", UnixMillis(1_000));
        let Ok(commanded) = change::apply(&before, wanted, "ada", UnixMillis(1_000)) else {
            prop_assert_eq!(edited.state.corrections.len(), before.corrections.len());
            return Ok(());
        };
        let effects = crate::change::effects_of;
        prop_assert_eq!(effects(&commanded), effects(&edited));
        prop_assert_eq!(content(&edited.state), content(&commanded.state));
    }

    #[test]
    fn an_edit_saved_twice_is_taken_once(ours in changes(), theirs in changes()) {
        let (base, ours, (theirs, _)) = (beginning(), of_program(&ours), side("theirs", &theirs));
        let once = merge(&base, &ours, &theirs);
        let mut committed = content(&once.state);
        committed["serial"] = json!(9);
        let twice = merge(&base, &committed, &theirs);
        prop_assert_eq!(content(&twice.state), committed);
    }

    #[test]
    fn nothing_that_a_person_typed_is_gone_without_a_word(ours in changes(), theirs in changes()) {
        let (base, ours, (theirs, made)) = (beginning(), of_program(&ours), side("theirs", &theirs));
        let merged = merge(&base, &ours, &theirs);
        check_valid(&merged)?;
        let typed = theirs.to_string();
        for change in made {
            let text = change.text("theirs");
            // Text that a person overwrote is not in the saved file.
            if typed.contains(&text) {
                prop_assert!(holds(&merged, &text), "{text} in {:#}", content(&merged.state));
            }
        }
        check_valid(&descent_core::change::MergeOutcome::from(adopt(&ours, merged).state))?;
    }

    #[test]
    fn nothing_is_gone_without_a_word_where_nobody_knows_what_the_edit_began_from(ours in changes(), theirs in changes()) {
        let (mut ours, (theirs, made)) = (of_program(&ours), side("theirs", &theirs));
        ours["serial"] = json!(80);
        let merged = descent_core::change::merge(None, Some(&state(&ours)), &state(&theirs));
        check_valid(&merged)?;
        for change in made {
            let text = change.text("theirs");
            if theirs.to_string().contains(&text) {
                prop_assert!(holds(&merged, &text), "{text} in {:#}", content(&merged.state));
            }
        }
        let there = content(&merged.state);
        prop_assert_eq!(&there["run"]["iteration"], &json!(5));
    }

    #[test]
    fn edits_of_different_places_are_the_same_in_either_order(one in changes(), two in changes()) {
        let even = |changes: Vec<Change>, id: u8| -> Vec<Change> {
            changes.into_iter().filter(|change| change.what >= 11 && change.id % 2 == id && change.what != 14).collect()
        };
        let base = beginning();
        let ((one, _), (two, _)) = (side("one", &even(one, 0)), side("two", &even(two, 1)));
        let (ab, ba) = (merge(&base, &one, &two), merge(&base, &two, &one));
        prop_assert_eq!(content(&ab.state), content(&ba.state));
        prop_assert!(ab.lost.is_empty(), "{:?}", ab.lost);
    }
}
