//! A redirect beside attempts in flight: which of them it ends.

use std::collections::BTreeMap;

use descent_core::{
    change::{self, ConstraintChange, Redirect},
    id::AtomId,
    state::limits,
};

use super::{doubted::checked, *};

fn set(key: &str, value: &str) -> Redirect {
    let node = descent_core::doc::parse(value, &Default::default()).node;
    let rule = limits::all().into_iter().find(|rule| rule.key == key).expect("a constraint");
    let one = ConstraintChange::new(&rule, node.expect("a value")).expect("it fits");
    Redirect { constraints: vec![one], ..Redirect::default() }
}

/// The atoms whose attempts end. The words of the change name them.
fn ended(before: &State, redirect: &Redirect) -> Vec<String> {
    let now = UnixMillis(2_000_000);
    let made = change::redirect(before, redirect, None, "ada", now).expect("a redirect");
    let ended = change::ended_by(before, &made.state, now);
    let ended: Vec<String> = ended.iter().map(|intent| intent.atom.to_string()).collect();
    let told = made.events.iter().find_map(|event| match event {
        Event::Corrected { effects, .. } => effects
            .iter()
            .find_map(|one| one.strip_prefix("what is in flight ends, and costs no attempt: ")),
        _ => None,
    });
    assert_eq!(told.unwrap_or_default(), ended.join(", "), "{redirect:?}");
    ended
}

#[test]
fn what_every_attempt_is_told_or_works_in_ends_all_and_any_other_change_its_own() {
    let atoms = json!({
        "A": checked(json!({})), "G": {"kind": "any", "choices": ["B", "C"]},
        "B": checked(json!({})), "C": task(json!({})), "D": task(json!({"depends_on": ["A"]}))
    });
    let run = Loop::new(&json!({"workspace": "git"}), &atoms);
    let before = &run.world.state;
    assert_eq!(before.run.in_flight.len(), 2);
    for redirect in [
        Redirect { goal: Some("it is better".to_owned()), ..Redirect::default() },
        Redirect { why: Some("else".to_owned()), ..Redirect::default() },
        Redirect { more_checks: vec!["true".to_owned()], ..Redirect::default() },
        Redirect { interrupts: true, ..set("max_attempts", "5") },
        set("protected", r#"["x"]"#),
        set("link", r#"["x"]"#),
        set("env", r#"["X"]"#),
        set("setup.run", r#""true""#),
        set("warm", r#""off""#),
    ] {
        assert_eq!(ended(before, &redirect), ["A", "B"], "{redirect:?}");
    }
    for redirect in [
        set("budget.time", r#""2h""#),
        set("max_parallel_agents", "2"),
        set("judging", r#""off""#),
        set("max_attempts", "5"),
        set("corrections", "0"),
        Redirect { removed: vec![AtomId::new("D")], ..Redirect::default() },
    ] {
        assert!(ended(before, &redirect).is_empty(), "{redirect:?}");
    }
    let selected = BTreeMap::from([(AtomId::new("G"), AtomId::new("C"))]);
    let other = Redirect { selected, ..Redirect::default() };
    assert_eq!(ended(before, &other), ["B"]);
    let results = BTreeMap::from([(AtomId::new("A"), "by hand".to_owned())]);
    let bound = Redirect { results, ..Redirect::default() };
    assert_eq!(ended(before, &bound), ["A"]);
}
