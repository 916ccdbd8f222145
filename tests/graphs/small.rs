//! The smallest graphs on which plausible rules of the search are wrong. `needs z`: succeeds only while z is in force.

use super::{model::Model, trial, world::Workspace};

#[track_caller]
fn check(text: &str, is_completed: bool) {
    let mut model = Model::of(text);
    model.wants_whole = true;
    assert_eq!(!model.solutions().is_empty(), is_completed, "the test is wrong about\n{model}");
    for (slots, workspace) in [(1, Workspace::Git), (3, Workspace::Shadow)] {
        model.slots = slots;
        match trial::run(&model, workspace) {
            Ok(outcome) => assert_eq!(outcome.is_completed, is_completed, "{model}"),
            Err(what) => panic!("{what}\n{workspace:?}\n{model}"),
        }
    }
}

#[track_caller]
fn completes(text: &str) {
    check(text, true);
}

#[track_caller]
fn exhausts(text: &str) {
    check(text, false);
}

#[test]
fn the_groups_upstream_of_a_failed_choice_are_blamed_too() {
    completes("G: any a b\nH: any x y\nx: after G needs b\ny: never");
}

#[test]
fn choices_given_up_under_one_choice_come_back_under_another() {
    completes("G: any a b\nH: any x y\nF: after G H needs b x");
}

#[test]
fn a_choice_of_the_group_taken_first_is_not_skipped() {
    completes("G: any a b\nH: any x y\nF: after G H needs a y");
}

#[test]
fn an_atom_that_never_succeeds_is_tried_under_every_choice_and_then_it_ends() {
    exhausts("G: any a b\nH: any x y\nF: after G H never");
}

#[test]
fn the_dependency_of_a_parent_is_upstream() {
    completes("G: any a b\nP: all F after G\nF: needs b");
}

#[test]
fn a_group_inside_a_dependency_is_upstream() {
    completes("G: any a b\nD: all G\nF: after D needs b");
}

#[test]
fn what_a_part_of_a_dependency_waits_for_is_upstream() {
    completes("G: any a b\nD: all c\nc: after G\nF: after D needs b");
}

#[test]
fn what_a_choice_not_selected_waits_for_is_not_waited_for() {
    completes("R: never\nS: any R q\nG: any a b\nb: after S\nF: after G");
}

#[test]
fn a_context_that_comes_back_brings_its_count_back() {
    exhausts("G: any a b\nH: any x y\nc: after G at 2\nF: after c H never");
}

#[test]
fn a_result_that_comes_back_is_not_made_again() {
    completes("G: any a b\nH: any x y\nc: after G at 2\nF: after c H needs a y");
}

#[test]
fn what_comes_back_with_a_choice_stands_behind_it() {
    completes("H: any p q\nG: any z y\na: after G\nwant q z a");
}

#[test]
fn a_refuted_selection_is_not_judged_again() {
    completes("G: any a b c\nH: any x y\nwant c y");
}

#[test]
fn a_group_in_a_choice_is_searched_only_where_it_is_live() {
    completes("G: any P b\nP: all H c\nH: any x y\nc: after H never\nF: after G needs b");
}

#[test]
fn failures_that_a_check_finds_are_failures_like_any_other() {
    completes("G: any a b\na: never checked\nb: at 2 checked\nF: after G needs b checked");
}

#[test]
fn a_file_that_is_refused_leaves_the_tree_with_its_choice() {
    completes("G: any a b\nH: any x y\nrefuse a\nF: after H");
}

#[test]
fn choices_tried_side_by_side_leave_only_the_one_that_is_solved() {
    completes("G: any a P beside\nP: all b c\nb:\nc: after b\na: never\nF: after G needs c");
}

#[test]
fn choices_tried_side_by_side_that_all_fail_end_the_run() {
    exhausts("G: any a b beside\na: never\nb: never checked\nF: after G");
}

#[test]
fn a_choice_tried_beside_sees_what_all_else_has_made() {
    completes("x:\nG: any a b beside after x\na: never\nb: needs x at 2\nF: after G needs b");
}

#[test]
fn nothing_to_choose_and_one_that_fails_ends_with_what_was_done() {
    exhausts("a:\nb: after a never\nc: after b");
}
