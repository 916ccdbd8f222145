//! Command lines that cannot be read: a code, what is wrong, and the command that was probably meant.

use crate::world::World;

#[track_caller]
fn check(args: &[&str], message: &str, next: &str) {
    let ran = World::bare().descent(args).expect(2);
    assert_eq!(ran.stdout, "", "{args:?}");
    let whole = format!("error[E-USAGE]: {message}\nnext: {next}\n");
    assert_eq!(ran.stderr, whole, "{args:?}");
}

#[test]
fn a_goal_without_quotes_is_shown_with_them() {
    check(
        &["align", "make", "it", "work", "--why", "so"],
        "unexpected argument `it`: a goal of several words stands in quotes",
        "descent align \"make it work\"",
    );
    check(
        &["redirect", "too", "slow", "-y"],
        "unexpected argument `slow`: a reason of several words stands in quotes",
        "descent redirect \"too slow\"",
    );
}

#[test]
fn the_name_that_another_program_has_for_a_command_leads_to_ours() {
    for (typed, meant) in [
        ("list", "descent status"),
        ("ls", "descent status"),
        ("logs", "descent log"),
        ("start", "descent run"),
        ("init", "descent align"),
        ("abort", "descent stop"),
        ("changes", "descent diff"),
        ("rerun", "descent retry"),
        ("aling", "descent align"),
        ("alinge", "descent align"),
        ("foo", "descent --help"),
        ("xyzzy", "descent --help"),
    ] {
        check(&[typed, "S1"], &format!("there is no command `{typed}`"), meant);
    }
}

#[test]
fn a_command_that_became_a_mode_of_another_leads_to_it() {
    for (typed, now) in [
        (&["ps"][..], "descent status --all"),
        (&["show"], "descent log SERIAL"),
        (&["show", "12"], "descent log 12"),
        (&["prompt", "S1"], "descent why S1 --prompt"),
        (&["fork"], "descent undo --into FILE"),
        (&["resolve"], "descent confirm ATTEMPT"),
        (&["resolve", "S1.2", "--done"], "descent confirm S1.2"),
        (&["resolve", "S1.2", "--retry"], "descent confirm S1.2 --no"),
        (&["resolve", "S1.2", "--no"], "descent confirm S1.2 --no"),
        (&["judge", "plan.yaml"], "descent validate plan.yaml"),
        (&["audit"], "descent report --audit"),
        (&["schema", "plan"], "descent dev schema plan"),
        (&["completions", "bash"], "descent dev completions bash"),
    ] {
        let what = format!("there is no command `{}` any more", typed[0]);
        check(typed, &what, now);
    }
}

#[test]
fn an_option_that_is_a_constraint_leads_to_set_and_another_to_the_help() {
    check(
        &["run", "--max-attempts", "3"],
        "unexpected argument `--max-attempts`",
        "descent run --set max_attempts=VALUE",
    );
    check(
        &["redirect", "--max-attempts", "3"],
        "unexpected argument `--max-attempts`",
        "descent redirect --set max_attempts=VALUE",
    );
    check(&["run", "S1"], "unexpected argument `S1`", "descent help run");
    check(&["status", "--watch"], "unexpected argument `--watch`", "descent watch");
}

#[test]
fn a_program_gets_the_same_as_one_value() {
    let ran = World::bare().descent(&["list", "--json"]).expect(2);
    let error = &ran.json()["error"];
    assert_eq!(error["code"], "E-USAGE");
    assert_eq!(error["message"], "there is no command `list`");
    assert_eq!(error["hint"], "descent status");
}
