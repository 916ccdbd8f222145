//! The words for an edit that changes neither the goal nor the graph nor the results.

use serde_json::json;

use super::waiting;
use crate::world::{wait_for, wait_for_or};

/// Checks the run's words for the edit of `from` to `to`.
#[track_caller]
fn check(from: &str, to: &str, words: &str) {
    let mut it = waiting();
    it.world.replace_in_state(from, to);
    let saved = it.world.state_bytes();
    wait_for("the edit is in", || it.world.state_bytes() != saved);
    it.world.touch("go");
    let ran = it.run.wait();
    let lines = ran.lines().into_iter();
    let told: Vec<String> =
        lines.filter(|line| line["event"] == "corrected").map(|line| line.to_string()).collect();
    assert!(told.len() == 1 && told[0].contains(words), "{told:?}");
}

#[test]
fn an_atom_that_is_closed_by_hand_stays_open_and_is_named() {
    check(
        "\"depends_on\": [\"A2\"]",
        "\"depends_on\": [\"A2\"], \"status\": \"failed\"",
        "/work_graph/atoms/A3/status: not kept, for it is the program's",
    );
}

#[test]
fn what_decides_nothing_is_told_as_what_it_is() {
    check(
        "\"goal\": \"it is so\"",
        "\"notes\": \"mine\", \"goal\": \"it is so\"",
        "notes: nothing → mine",
    );
}

#[test]
fn a_command_says_that_the_loop_does_not_take_the_file_in() {
    let mut it = waiting();
    let lineage = it.world.state()["lineage"].as_str().unwrap().to_owned();
    let other = lineage.replacen('0', "1", 1);
    it.world.replace_in_state(&lineage, &other);
    let waits = "waiting: the state file is another one now";
    wait_for_or(waits, || it.run.said().contains(waits), || it.run.said());
    let refused = it.world.descent(&["stop", "--json"]).expect(65);
    refused.says("the loop waits for the state file to be mended");
    it.world.replace_in_state(&other, &lineage);
    it.finish();
    assert_eq!(it.world.state()["run"]["status"], json!("completed"));
}

#[test]
fn a_key_that_was_mistyped_during_a_run_is_waited_for_and_told_with_what_was_meant() {
    let mut it = waiting();
    let none = "\"goal\": ";
    let (wrong, right) = ("max_atempts", "max_attempts");
    let with = |key: &str| format!("\"constraints\": {{\"{key}\": 5}}, \"goal\": ");
    it.world.replace_in_state(none, &with(wrong));
    let meant = "did you mean `max_attempts`?";
    wait_for_or(meant, || it.run.said().contains(meant), || it.run.said());
    assert!(it.run.said().contains("waiting"), "{}", it.run.said());
    it.world.replace_in_state(wrong, right);
    it.wait_for_correction();
    let whole = "whole again";
    wait_for_or(whole, || it.run.said().contains(whole), || it.run.said());
    it.finish();
}
