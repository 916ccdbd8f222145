//! `align` warns of checks that say nothing of the goal, and refuses none.

use serde_json::{Value, json};

use crate::{
    agree::align::{align_with, with_check, with_tool},
    world::World,
};

#[track_caller]
fn check_warning(world: &World, check: Value, words: &str) {
    let checked = with_check(check);
    let value = align_with(world, &checked, &["-n", "--json"])
        .expect(0)
        .json();
    let said = value["warnings"].to_string();
    assert!(said.contains(words), "no `{words}` in {said}");
    align_with(world, &checked, &["-n"])
        .expect(0)
        .shows("warning: ");
}

#[test]
fn every_kind_of_odd_check_is_warned_of_and_none_is_refused() {
    let world = with_tool();
    for (check, words) in [
        (json!({"command": "test -f x || true"}), "cannot fail"),
        (
            json!({"command": "no-such-program-here"}),
            "a program is not found",
        ),
        (
            json!({"not_command": "no-such-program-here"}),
            "a program is not found",
        ),
        (
            json!({"not_command": "grep -q TODO gone.rs"}),
            "because its command breaks",
        ),
        (
            json!({"command": "echo none", "number": "(\\d+) ok", "at_least": 1}),
            "finds no number",
        ),
        (
            json!({"file": "node_modules/made"}),
            "git ignores node_modules/made",
        ),
        (
            json!({"command": "sleep 0.6", "timeout": "1s"}),
            "of the 1.0 s that it may take",
        ),
        (
            json!({"command": "echo x >> a.txt; test -f a.txt"}),
            "changed tracked files: a.txt",
        ),
    ] {
        check_warning(&world, check, words);
    }
    let quiet = with_check(json!({"command": "grep -q hello a.txt"}));
    let ran = align_with(&world, &quiet, &["-n"]).expect(0);
    assert!(!ran.stdout.contains("warning"), "{}", ran.stdout);
}

#[test]
fn a_file_that_an_earlier_command_will_make_is_not_warned_of() {
    let world = with_tool();
    let mut plan = with_check(json!({"command": "sh build.sh"}));
    plan["objective"]["base_case"]["all"]
        .as_array_mut()
        .unwrap()
        .push(json!({"file": "node_modules/made"}));
    let ran = align_with(&world, &plan, &["-n"]).expect(0);
    assert!(!ran.stdout.contains("git ignores"), "{}", ran.stdout);
}

#[test]
fn atoms_that_may_change_one_file_side_by_side_are_told_and_in_one_tree_they_wait() {
    let world = with_tool();
    let mut plan = with_check(json!({"command": "grep -q never a.txt"}));
    let atom = |touches: &str| json!({"action": {"run": "true"}, "touches": [touches]});
    plan["work_graph"] = json!({"atoms": {"A": atom("src/**"), "B": atom("src/b.rs")}});
    let ran = align_with(&world, &plan, &["-n"]).expect(0);
    let words = "`A` (src/**) and `B` (src/b.rs) may change one file";
    assert!(
        ran.stdout.replace("\n         ", "").contains(words),
        "{}",
        ran.stdout
    );
    plan["objective"]["constraints"] = json!({"workspace": "shared"});
    let ran = align_with(&world, &plan, &["-n"]).expect(0);
    assert!(!ran.stdout.contains("may change"), "{}", ran.stdout);
}
