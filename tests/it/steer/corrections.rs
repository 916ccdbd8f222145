//! The table of corrections (docs/contract.md §8): each kind of change, in each way that exists, while a loop runs and while
//! none does. A row says what becomes of the trail and of the results, and which corrections are appended. A cell beside it
//! says what becomes of what is in flight.
//!
//! `fork` and `confirm` are in no row: the one changes another state, the other answers a question.
//!
//! Not here: what is refused in a change, and how it is told (`redirect`, `atoms`, `edits`).

mod cell;

use serde_json::{Value, json};

use crate::world::{World, plan, task};

use cell::{Flight, Prepared, Row, Trail, Way, row};

/// Nothing but a correction: the row that the others differ from.
const ROW: Row = Row {
    prepared: None,
    trail: Trail::Kept,
    kinds: &[],
    made: &[],
    bound: &["alone", "next", "other", "same"],
    lasts: &["slow"],
};

/// The failed atom is open again.
const OPEN: Row = Row { made: &["bad"], lasts: &["bad", "slow"], ..ROW };

/// The failed atom was opened before. While it stays failed, what changes the graph or a result beside `right` has `left`
/// judged again, which was refuted with these as they were, and the run ends there.
const AT_WORK: Row = Row {
    prepared: Some(Prepared { args: &["retry", "bad"], starts: &["bad"], lasts: &["bad", "slow"] }),
    lasts: &["bad", "slow"],
    ..ROW
};

fn atom<'s>(state: &'s mut Value, id: &str) -> &'s mut Value {
    &mut state["work_graph"]["atoms"][id]
}

fn take(records: &mut Value, id: &str) -> Value {
    let records = records.as_object_mut().expect("records by name");
    records.remove(id).expect("this record")
}

/// No command but these says what is wanted: `run --set` takes constraints alone.
#[test]
fn another_objective_clears_the_trail_and_opens_what_failed() {
    let ways = [
        (Way::Command(&["redirect", "-y", "--goal", "another"]), Flight::Ends),
        (Way::Plan(|plan| plan["objective"]["goal"] = json!("another")), Flight::Ends),
        (Way::Hand(|state| state["objective"]["goal"] = json!("another")), Flight::GoesOn),
    ];
    let promise = Row { trail: Trail::Cleared, kinds: &["objective_change"], ..OPEN };
    row(promise, &ways);
}

/// No loop lives then. With another goal a plan begins anew, and archives the run (11.2.28).
#[test]
fn another_objective_opens_a_completed_run() {
    let by_redirect = |world: &World| {
        let args = ["redirect", "-y", "--goal", "another"];
        world.descent(&args).expect(0);
    };
    let by_hand = |world: &World| {
        world.replace_in_state("\"goal\": \"it is so\"", "\"goal\": \"another\"");
        world.descent(&["retry", "bad"]).expect(0);
    };
    for change in [by_redirect as fn(&World), by_hand] {
        let world = World::new();
        let atoms = json!({
            "way": {"kind": "any", "choices": ["bad", "good"]},
            "bad": task("exit 1"),
            "good": task("touch done"),
        });
        world.align(&plan(&["test -f done"], json!({}), atoms));
        world.run().expect(0);
        assert_ne!(world.state()["trail"], json!([]));
        change(&world);
        let state = world.state();
        assert_eq!(state["run"]["status"], "aligned");
        assert_eq!(state["trail"], json!([]));
        assert_eq!(state["corrections"][0]["type"], "objective_change");
        assert!(state["bindings"]["good"].is_object(), "what is solved stays");
        world.run().expect(0);
    }
}

/// `redirect` has no flag for the words of an atom: the plan has them.
#[test]
fn other_words_of_an_atom_open_its_result_and_what_was_made_from_it() {
    let ways = [
        (Way::Plan(|plan| atom(plan, "same")["description"] = json!("another")), Flight::GoesOn),
        (
            Way::Hand(|state| state["bindings"]["same"]["of"]["description"] = json!("another")),
            Flight::GoesOn,
        ),
    ];
    let promise = Row { kinds: &["dag_adjustment"], made: &["same", "next"], ..AT_WORK };
    row(promise, &ways);
}

/// By hand a result is forgotten with it: only a command tells the two apart.
#[test]
fn an_atom_that_is_taken_out_goes_with_its_result_and_no_other_is_open() {
    let ways = [
        (Way::Command(&["redirect", "-y", "--remove", "alone"]), Flight::GoesOn),
        (Way::Plan(|plan| drop(take(&mut plan["work_graph"]["atoms"], "alone"))), Flight::GoesOn),
    ];
    let promise = Row { kinds: &["dag_adjustment"], bound: &["next", "other", "same"], ..AT_WORK };
    row(promise, &ways);
}

#[test]
fn an_open_atom_that_is_taken_out_ends_its_attempt() {
    let take_out = |state: &mut Value| {
        take(&mut state["work_graph"]["atoms"], "slow");
        atom(state, "right")["parts"] = json!(["bad"]);
    };
    let ways = [
        (Way::Command(&["redirect", "-y", "--remove", "slow"]), Flight::GoesOn),
        (Way::Plan(take_out), Flight::GoesOn),
        (Way::Hand(take_out), Flight::GoesOn),
    ];
    let promise = Row { kinds: &["dag_adjustment"], lasts: &["bad"], ..AT_WORK };
    row(promise, &ways);
}

#[test]
fn an_edit_of_an_atom_in_flight_ends_its_attempt() {
    let ways = [
        (Way::Plan(|plan| atom(plan, "slow")["description"] = json!("another")), Flight::Ends),
        (Way::Hand(|state| atom(state, "slow")["description"] = json!("another")), Flight::Ends),
    ];
    let promise = Row { kinds: &["dag_adjustment"], ..ROW };
    row(promise, &ways);
}

#[test]
fn a_raised_limit_opens_what_it_had_ended() {
    let ways = [
        (Way::Command(&["redirect", "-y", "--set", "max_attempts=2"]), Flight::GoesOn),
        (Way::Run(&["run", "--set", "max_attempts=2"]), Flight::None),
        (
            Way::Plan(|plan| plan["objective"]["constraints"]["max_attempts"] = json!(2)),
            Flight::GoesOn,
        ),
        (
            Way::Hand(|state| state["objective"]["constraints"]["max_attempts"] = json!(2)),
            Flight::GoesOn,
        ),
    ];
    let promise = Row { kinds: &["constraint_change"], ..OPEN };
    row(promise, &ways);
}

/// Only the fact of the edit is known, which counts as one of the graph.
#[test]
fn a_raised_limit_opens_what_it_had_ended_also_where_nobody_knows_what_the_edit_began_from() {
    let raise = |state: &mut Value| state["objective"]["constraints"]["max_attempts"] = json!(2);
    let promise = Row { kinds: &["dag_adjustment"], ..OPEN };
    row(promise, &[(Way::WithoutPast(raise), Flight::None)]);
}

/// An edit of the file has no other start to give: the next row.
#[test]
fn another_start_takes_the_refutations_out_and_opens_what_failed() {
    let ways = [
        (Way::Moved(&["redirect", "-y", "--from", "."]), Flight::Ends),
        (Way::Refused(&["run", "--from", "HEAD"], 2, "E-USAGE"), Flight::None),
    ];
    let promise = Row { trail: Trail::WithoutRefutations, kinds: &["start_change"], ..OPEN };
    row(promise, &ways);
}

#[test]
fn a_start_that_is_written_by_hand_gives_way() {
    let by_hand =
        |state: &mut Value| state["run"]["started_from"]["commit"] = json!("0".repeat(40));
    let promise = Row { kinds: &["resolution"], ..ROW };
    row(promise, &[(Way::Hand(by_hand), Flight::GoesOn)]);
}

/// `skip` gives a result to open atoms alone; a plan has no results.
#[test]
fn a_result_that_is_overwritten_opens_what_was_made_from_it_and_only_that() {
    let ways = [
        (Way::Command(&["redirect", "-y", "--bind", "same=by my word"]), Flight::GoesOn),
        (Way::Refused(&["skip", "same"], 65, "same is solved"), Flight::None),
        (Way::Hand(|state| state["bindings"]["same"]["value"] = json!(2)), Flight::GoesOn),
    ];
    let promise = Row { kinds: &["bindings_override"], made: &["next"], ..AT_WORK };
    row(promise, &ways);
}

#[test]
fn a_result_that_is_given_to_an_open_atom_opens_nothing() {
    let ways = [
        (Way::Command(&["redirect", "-y", "--bind", "bad=by my word"]), Flight::GoesOn),
        (Way::Command(&["skip", "bad"]), Flight::GoesOn),
        (
            Way::Hand(|state| {
                let of = take(&mut state["work_graph"]["atoms"], "bad");
                state["bindings"]["bad"] = json!({"summary": "by my word", "attempts": 0, "by": "person", "at": "2026-01-01T00:00:00Z", "of": of});
            }),
            Flight::GoesOn,
        ),
    ];
    let promise = Row {
        kinds: &["bindings_override"],
        bound: &["alone", "bad", "next", "other", "same"],
        ..ROW
    };
    row(promise, &ways);
}

/// `retry` is for what failed.
#[test]
fn a_result_that_is_forgotten_is_made_again_and_what_was_made_from_it_too() {
    let ways = [
        (Way::Command(&["redirect", "-y", "--forget", "other"]), Flight::GoesOn),
        (Way::Refused(&["retry", "other"], 65, "other is solved"), Flight::None),
        (Way::Hand(|state| crate::whole_records::open(state, "other")), Flight::GoesOn),
    ];
    let promise = Row { kinds: &["bindings_override"], made: &["next", "other"], ..AT_WORK };
    row(promise, &ways);
}

#[test]
fn what_was_made_from_a_forgotten_result_stays_where_the_same_result_is_made_again() {
    let ways = [
        (Way::Command(&["redirect", "-y", "--forget", "same"]), Flight::GoesOn),
        (Way::Hand(|state| crate::whole_records::open(state, "same")), Flight::GoesOn),
    ];
    let promise = Row { kinds: &["bindings_override"], made: &["same"], ..AT_WORK };
    row(promise, &ways);
}

/// `redirect` and a plan have no guidance.
#[test]
fn guidance_opens_a_context_of_the_atoms_that_it_speaks_to_and_of_no_other() {
    let ways = [
        (Way::Command(&["guide", "the port is 8443", "--for", "bad"]), Flight::GoesOn),
        (
            Way::Hand(|state| atom(state, "bad")["guidance"] = json!(["the port is 8443"])),
            Flight::GoesOn,
        ),
    ];
    let promise = Row { kinds: &["guidance"], ..OPEN };
    row(promise, &ways);
}

#[test]
fn guidance_to_an_atom_in_flight_ends_its_attempt() {
    let ways = [
        (Way::Command(&["guide", "the port is 8443", "--for", "slow"]), Flight::Ends),
        (
            Way::Hand(|state| atom(state, "slow")["guidance"] = json!(["the port is 8443"])),
            Flight::Ends,
        ),
    ];
    let promise = Row { kinds: &["guidance"], ..ROW };
    row(promise, &ways);
}

#[test]
fn failures_that_count_no_more_open_their_atom() {
    let ways = [
        (Way::Command(&["redirect", "-y", "--retry", "bad"]), Flight::GoesOn),
        (Way::Command(&["redirect", "-y", "--retry", "bad", "--now"]), Flight::Ends),
        (Way::Command(&["retry", "bad"]), Flight::GoesOn),
        (Way::Hand(|state| atom(state, "bad")["said"] = json!("pending")), Flight::GoesOn),
    ];
    let promise = Row { kinds: &["resolution"], ..OPEN };
    row(promise, &ways);
}

/// `left` stays refuted, so the group is chosen as before.
#[test]
fn a_choice_that_a_person_makes_is_one_of_the_graph() {
    let ways = [
        (Way::Command(&["redirect", "-y", "--select", "way=left"]), Flight::Ends),
        (Way::Hand(|state| atom(state, "way")["selected"] = json!("left")), Flight::Ends),
    ];
    let promise = Row { kinds: &["dag_adjustment"], ..AT_WORK };
    row(promise, &ways);
}

/// The group is chosen anew. `left` stays refuted, and what was under way below `right` has ended.
#[test]
fn a_selected_that_is_taken_out_leaves_the_group_to_be_chosen_anew() {
    let ways = [
        (Way::Hand(|state| atom(state, "way")["selected"] = Value::Null), Flight::Ends),
        (
            Way::Refused(&["redirect", "-y", "--select", "way=rihgt"], 65, "did you mean `right`?"),
            Flight::None,
        ),
    ];
    let promise = Row { kinds: &["dag_adjustment"], ..AT_WORK };
    row(promise, &ways);
}

/// An old file that is saved again changes nothing (`edits::stale`), and no other command goes back.
#[test]
fn undo_restores_the_results_and_ends_what_is_in_flight_but_never_the_trail_of_the_same_objective()
{
    let promise = Row {
        prepared: Some(Prepared {
            args: &["redirect", "-y", "--retry", "bad", "--remove", "alone"],
            starts: &["bad"],
            lasts: &["bad", "slow"],
        }),
        kinds: &["undo"],
        ..ROW
    };
    row(promise, &[(Way::Command(&["undo", "-y"]), Flight::Ends)]);
}

#[test]
fn undo_of_another_objective_restores_the_trail() {
    let promise = Row {
        prepared: Some(Prepared {
            args: &["redirect", "-y", "--goal", "another"],
            starts: &["bad", "slow"],
            lasts: &["bad", "slow"],
        }),
        trail: Trail::Restored,
        kinds: &["undo"],
        ..ROW
    };
    row(promise, &[(Way::Command(&["undo", "-y"]), Flight::Ends)]);
}
