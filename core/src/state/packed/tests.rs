//! A state of an earlier version, with packed results and line: read whole, edited and damaged.

use alloc::{string::String, vec::Vec};

use crate::state::{
    State,
    decode::{Decoding, decode},
    encode::StateText,
};

/// Its atoms A001 to A040 are resolved and folded, and so are their commits; B001 failed.
const OLD: &str = include_str!("tests/old-state.json");

fn read(text: &str) -> State {
    let Decoding { state, faults, warnings, .. } = decode(text.as_bytes());
    assert!(faults.is_empty() && warnings.is_empty(), "{faults:?} {warnings:?}");
    state.expect("a state")
}

fn rules(text: &str) -> Vec<&'static str> {
    let Decoding { faults, .. } = decode(text.as_bytes());
    faults.into_iter().map(|fault| fault.rule).collect()
}

#[test]
fn every_result_comes_out_and_the_state_is_written_plainly() {
    let state = read(OLD);
    assert_eq!(state.bindings.len(), 40);
    let one = state.bindings.get("A007").expect("a result");
    assert_eq!(one.artifacts, ["made-007"]);
    assert!(one.of.description.starts_with("step 7: so much to do"));
    assert_eq!(state.run.line.len(), 40);
    for placed in state.run.line.iter() {
        let made = state.bindings.get(&placed.atom).expect("a result");
        assert_eq!(made.commit.as_ref(), Some(&placed.commit));
    }
    let written = StateText::of(&state).text(&state);
    assert!(!written.contains("folded"));
    let again = read(&written);
    assert!(StateText::of(&again).text(&again) == written);
}

#[test]
fn the_seal_tells_whether_a_person_edited_it() {
    let untouched = decode(OLD.as_bytes());
    assert!(untouched.packed_seal.is_some());
    assert_eq!(untouched.packed_seal, untouched.state.and_then(|state| state.seal));
    for (from, to) in [
        ("\"goal\": \"all is done\"", "\"goal\": \"another\""),
        ("40 atoms are resolved", "41 atoms are resolved"),
        ("\"attempts_started\": 60", "\"attempts_started\": 61"),
    ] {
        assert!(OLD.contains(from), "{from}");
        let edited = decode(OLD.replacen(from, to, 1).as_bytes());
        assert_ne!(edited.packed_seal, edited.state.and_then(|state| state.seal));
    }
    let plain = decode(written_plainly().as_bytes());
    assert!(plain.packed_seal.is_none());
}

fn written_plainly() -> String {
    let state = read(OLD);
    StateText::of(&state).text(&state)
}

#[test]
fn a_result_that_a_person_wrote_out_stands_whatever_the_fold_says() {
    let own = r#""bindings": {"A003": {"summary": "mine", "by": "person", "of": {"kind": "task", "depends_on": [], "status": "pending"}},"#;
    let state = read(&OLD.replacen("\"bindings\": {", own, 1));
    let summary = |id: &str| state.bindings.get(id).map(|one| &*one.summary);
    assert_eq!(summary("A003"), Some("mine"));
    assert_eq!(state.bindings.len(), 40);
}

#[test]
fn a_remark_beside_a_fold_goes_to_its_first_result() {
    let state = read(&OLD.replacen("\"folded\":", "\"notes\": \"mine\", \"folded\":", 1));
    let notes = |id: &str| state.bindings.get(id)?.extra.get("notes")?.as_str();
    assert_eq!((notes("A001"), notes("A002")), (Some("mine"), None));
}

#[test]
fn a_text_that_cannot_be_unpacked_is_a_fault() {
    for found in OLD.match_indices("\"folded\": \"") {
        let at = found.0 + found.1.len();
        for damage in ["!!!!", "AAAA"] {
            let mut broken = String::from(OLD);
            broken.replace_range(at..at + 4, damage);
            assert!(rules(&broken).contains(&"bad-fold"), "{:?}", rules(&broken));
        }
    }
}
