//! The list of what can execute, and the rule of who owns a file, as tables.

use super::*;
use crate::doc::prelude::*;
use crate::{id::Lineage, plan, state::decode::decode};

#[test]
fn a_file_of_another_account_is_a_strangers() {
    for (uid, mode, me, sudo_uid, is_another) in [
        (1000, 0o600, 1000, None, false),
        (1000, 0o666, 1000, None, false),
        (1001, 0o600, 1000, None, true),
        (1001, 0o600, 1000, Some(1001), true),
        (0, 0o644, 1000, None, false),
        (0, 0o664, 1000, None, true),
        (0, 0o646, 1000, None, true),
        (1000, 0o600, 0, None, true),
        (1000, 0o600, 0, Some(1000), false),
        (1000, 0o600, 0, Some(1001), true),
        (0, 0o666, 0, None, false),
    ] {
        let (hand, me) = (Hand { uid, mode }, Me { uid: me, sudo_uid });
        assert_eq!(is_another_hand(hand, me), is_another, "{hand:?} {me:?}");
    }
}

const PLAN: &str = r#"{"objective": {"goal": "g", "background_intent": "w",
  "base_case": {"all": [{"command": "make test"}, {"any": [{"not_command": "grep -q X"}, {"file": "a"}]}]},
  "constraints": {"setup": {"run": "make deps"}, "env": ["TOKEN"], "link": [".env"], "workspace": "shared"}},
 "work_graph": {"atoms": {
  "A1": {"action": {"run": "make a"}, "checks": {"all": [{"command": "test -e a"}]}},
  "A2": {"description": "write b"},
  "G": {"choices": ["A1", "A2"]}}}}"#;

fn carried(text: &str) -> TrustList {
    let plan = plan::read(text.as_bytes());
    assert!(plan.faults.is_empty(), "{:?}", plan.faults);
    TrustList::of_plan(&plan.objective, &plan.atoms)
}

fn lines(carried: &TrustList) -> Vec<String> {
    let line = |item: &TrustItem| format!("{} {} {}", item.group.word(), item.at, item.text);
    carried.items().iter().map(line).collect()
}

#[test]
fn all_that_can_run_and_all_that_widens_it_is_listed_by_group() {
    assert_eq!(
        lines(&carried(PLAN)),
        [
            "setup  make deps",
            "check command make test",
            "check any 1 not_command grep -q X",
            "check any 2 file a",
            "check A1 command test -e a",
            "action A1 make a",
            "task goal g",
            "task background_intent w",
            "task A2 write b",
            "setting workspace shared",
            "setting link .env",
            "setting env TOKEN",
            "setting choices of G A1",
            "setting choices of G A2",
        ]
    );
}

#[test]
fn the_digest_changes_with_each_line_and_with_nothing_else() {
    let whole = carried(PLAN).digest();
    for (from, to) in [
        ("make deps", "make depz"),
        ("make test", "make tesT"),
        ("grep -q X", "grep -q Y"),
        ("test -e a", "test -e b"),
        ("make a\"", "make a \""),
        ("write b", "write c"),
        ("TOKEN", "TOKENS"),
        (".env", ".enw"),
        ("\"shared\"", "\"git\""),
        ("\"goal\": \"g\"", "\"goal\": \"h\""),
        ("\"file\": \"a\"", "\"file\": \"z\""),
        ("{\"any\":", "{\"all\":"),
        ("\"not_command\"", "\"command\""),
    ] {
        assert!(PLAN.contains(from), "{from}");
        assert_ne!(carried(&PLAN.replacen(from, to, 1)).digest(), whole, "{from}");
    }
    let other_form = PLAN.replace("\n", " ").replace(
        r#""goal": "g", "background_intent": "w","#,
        r#""background_intent": "w", "goal": "g","#,
    );
    assert_ne!(other_form, PLAN.replace("\n", " "));
    assert_eq!(carried(&other_form).digest(), whole);
}

/// A plan with that base case, these constraints, and these keys of its one atom.
fn plan_of(base_case: &str, constraints: &str, keys: &str) -> String {
    format!(
        r#"{{"objective": {{"goal": "g", "background_intent": "w", "base_case": {base_case},
          "constraints": {{{constraints}}}, "deliverables": "d", "definition_of_done": "dd",
          "clarifications": [{{"question": "q?", "resolution": "r"}}]}},
         "work_graph": {{"atoms": {{"A1": {{"description": "do it", "action": {{"run": "true"}}{keys}}},
          "P1": {{"kind": "plan", "description": "plan it"}}}}}}}}"#
    )
}

#[test]
fn all_that_decides_a_check_is_listed_and_digested() {
    let of = |leaf: &str| carried(&plan_of(&format!("{{\"all\": [{leaf}]}}"), "", ""));
    let plain = of(r#"{"command": "pytest -q"}"#);
    let same = carried(&plan_of(r#"{"command": "pytest -q"}"#, "", ""));
    assert_eq!(lines(&same), lines(&plain));
    for (leaf, line) in [
        (r#"{"command": "pytest -q", "expect_exit": 1}"#, "check expect_exit 1"),
        (r#"{"command": "pytest -q", "timeout": "5m"}"#, "check timeout 5m"),
        (r#"{"command": "pytest -q", "stdout_matches": ".*"}"#, "check stdout_matches .*"),
        (r#"{"command": "pytest -q", "number": "(\\d+)", "at_most": 3}"#, "check at_most 3"),
        (r#"{"command": "pytest -q", "name": "green"}"#, "check name green"),
        (r#"{"not_command": "pytest -q", "expect_exit": 1}"#, "check expect_exit 1"),
        (r#"{"file": "a", "contains": "x"}"#, "check contains x"),
        (r#"{"not_file": "a"}"#, "check not_file a"),
        (r#"{"assertion": "it is good"}"#, "check assertion it is good"),
        (r#"{"quality": "good"}"#, "check quality good"),
        (r#"{"quality": "good", "pass_threshold": 0.001}"#, "check pass_threshold 0.001"),
        (r#"{"quality": "good", "scope": "none/**"}"#, "check scope none/**"),
        (r#"{"quality": "good", "rubric": ["a", "b"]}"#, "check rubric b"),
        (
            r#"{"quality": "good", "rubric": [{"criterion": "c", "weight": 2, "levels": {"5": "any"}}]}"#,
            "check rubric 1 levels 5 any",
        ),
        (
            r#"{"quality": "good", "rubric": [{"criterion": "c", "description": "always give 5"}]}"#,
            "check rubric 1 description always give 5",
        ),
        (r#"{"any": [{"command": "pytest -q"}]}"#, "check any 1 command pytest -q"),
    ] {
        let found = of(leaf);
        assert!(lines(&found).iter().any(|one| one == line), "{line}: {:#?}", lines(&found));
        assert_ne!(found.digest(), plain.digest(), "{leaf}");
    }
}

#[test]
fn all_that_an_agent_is_told_and_every_setting_is_listed_and_digested() {
    let base_case = r#"{"command": "true"}"#;
    let plain = carried(&plan_of(base_case, "", ""));
    for line in [
        "task deliverables d",
        "task definition_of_done dd",
        "task clarifications 1 question q?",
        "task clarifications 1 resolution r",
        "task A1 do it",
        "task P1 plan it",
        "setting kind of P1 plan",
    ] {
        assert!(lines(&plain).iter().any(|one| one == line), "{line}: {:#?}", lines(&plain));
    }
    for (constraints, keys, line) in [
        ("", r#", "guidance": ["obey me"]"#, "task guidance of A1 obey me"),
        (
            "",
            r#", "output_schema": {"type": "object", "description": "obey"}"#,
            r#"task output_schema of A1 {"type":"object","description":"obey"}"#,
        ),
        ("", r#", "timeout": "5m""#, "setting timeout of A1 5m"),
        ("", r#", "interruptible": false"#, "setting interruptible of A1 false"),
        ("", r#", "effect": "external""#, "setting effect of A1 external"),
        (
            "",
            r#", "depends_on": ["P1"], "accepts_partial": true"#,
            "setting accepts_partial of A1 true",
        ),
        ("", r#", "depends_on": ["P1"]"#, "setting depends_on of A1 P1"),
        (r#""max_attempts": 7"#, "", "setting max_attempts 7"),
        (r#""protected": ["a/**", "b"]"#, "", "setting protected b"),
        (r#""finish_early": true"#, "", "setting finish_early true"),
    ] {
        let found = carried(&plan_of(base_case, constraints, keys));
        assert!(lines(&found).iter().any(|one| one == line), "{line}: {:#?}", lines(&found));
        assert_ne!(found.digest(), plain.digest(), "{line}");
    }
}

#[test]
fn no_atom_can_pose_as_a_part_of_the_base_case() {
    let of = |base_case: &str, checks: &str| {
        let atoms = format!(r#"{{"any": {{"action": {{"run": "true"}}{checks}}}}}"#);
        carried(&format!(
            r#"{{"objective": {{"goal": "g", "base_case": {{"all": [{{"command": "b"}}{base_case}]}}}},
             "work_graph": {{"atoms": {atoms}}}}}"#
        ))
    };
    let one = of(r#", {"any": [{"command": "c"}]}"#, "");
    let other = of("", r#", "checks": {"all": [{"any": [{"command": "c"}]}]}"#);
    assert_ne!(one.digest(), other.digest());
}

/// The state of the plan, in another text of it.
fn state_with(change: impl FnOnce(String) -> String) -> TrustList {
    let state = plan::read(PLAN.as_bytes()).into_state(Lineage::new("l"));
    let text = crate::state::encode::StateText::of(&state).text(&state);
    let changed = change(text.clone());
    assert_ne!(changed, text);
    TrustList::of_state(&decode(changed.as_bytes()).state.unwrap())
}

#[test]
fn everything_in_a_state_changes_the_digest_but_what_names_and_numbers_it() {
    let state = plan::read(PLAN.as_bytes()).into_state(Lineage::new("l"));
    let whole = TrustList::of_state(&state).digest();
    for (from, to) in [
        (r#""version": "3.0""#, r#""version": "3.1""#),
        (r#""lineage": "l""#, r#""lineage": "m""#),
        (r#""serial": 1"#, r#""serial": 9"#),
    ] {
        let found = state_with(|text| text.replacen(from, to, 1));
        assert_eq!(found.digest(), whole, "{from}");
    }
    let tries = r#""atoms": {"A1": {"tries": [{"context": "sha256:x", "attempts": 1}]}}"#;
    let choices = r#""choices": ["A1", "A2"]"#;
    let selected = r#""choices": ["A1", "A2"], "selected": "A1""#;
    let requested = r#""redirect_requested": false"#;
    let reason = r#""redirect_requested": false, "stop_reason": "tired""#;
    for (from, to) in [
        (r#""status": "aligned""#, r#""status": "running""#),
        (r#""run": {}"#, r#""run": {"pass": 9}"#),
        (choices, selected),
        (requested, reason),
        (r#""atoms": {}"#, tries),
        (r#""run": {}"#, r#""run": {"judging": {"mistaken": 1}}"#),
        (r#""run": {}"#, r#""run": {"unknown": 1}"#),
        (r#""work_graph": {"#, r#""work_graph": {"unknown": 1, "#),
    ] {
        let found = state_with(|text| text.replacen(from, to, 1));
        assert_ne!(found.digest(), whole, "{to}");
    }
}

#[test]
fn a_text_cannot_pose_as_two_lines() {
    let one = TrustList::of_agent("a\u{0}b");
    let two = TrustList::of_agent("a").and(TrustList::of_agent("b"));
    assert_ne!(one.digest(), two.digest());
    assert_ne!(TrustList::of_agent("x").digest(), {
        let mut check = TrustList::default();
        check.add(TrustGroup::Check, "", "x");
        check.digest()
    });
}

#[test]
fn a_resolved_atom_and_what_was_told_before_count_too() {
    let plan = plan::read(PLAN.as_bytes());
    let state = plan.into_state(Lineage::new("l"));
    let before = TrustList::of_state(&state);
    let mut text = crate::state::encode::StateText::of(&state).text(&state);
    text = text.replacen("\"bindings\": {}", r#""bindings": {"B1": {"summary": "s"}}"#, 1);
    text = text.replacen(r#""A1": {"#, r#""B1": {"action": {"run": "make old"}}, "A1": {"#, 1);
    let read = decode(text.as_bytes());
    let after = TrustList::of_state(&read.state.unwrap());
    let more: Vec<String> =
        lines(&after).into_iter().filter(|line| !lines(&before).contains(line)).collect();
    assert_eq!(more.len(), 2, "{more:?}");
    assert_eq!(more[0], "action B1 make old");
    assert!(more[1].starts_with("task earlier results sha256:"), "{more:?}");
}

#[test]
fn a_digest_may_be_typed_in_upper_case_with_blanks_around_and_without_its_name() {
    let digest = Digest::sha256(b"x");
    let hex = digest.as_str().strip_prefix("sha256:").unwrap().to_string();
    for text in [
        hex.clone(),
        hex.to_uppercase(),
        format!("  SHA256:{} \n", hex.to_uppercase()),
        digest.to_string(),
    ] {
        assert_eq!(typed_digest(&text), Some(digest.clone()), "{text}");
    }
    for text in ["", "sha256:", "sha256:12", "é", &hex[1..], &format!("{hex}0")] {
        assert_eq!(typed_digest(text), None, "{text}");
    }
}
