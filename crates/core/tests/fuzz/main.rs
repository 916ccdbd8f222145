//! The parser, the decoder and the merge, over mutations of a kept corpus: no panic, no hang, and their laws.
//!
//! Every input that ever failed stays under `fixtures/fuzz`. `DESCENT_SOAK_FUZZ_SECONDS` runs each for so long.

#![allow(clippy::print_stdout, reason = "a run tells its counts and its seed")]

mod mutate;

use std::path::{Path, PathBuf};

use descent_core::{
    change,
    doc::{self, Limits},
    graph::validate,
    id::UnixMillis,
    state::{State, decode::decode, encode::StateText},
};
use mutate::{corpus, fuzz};
use serde_json::Value;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

/// Refusals that RFC 8259 leaves to us; another reader may take such a text.
const OURS: [&str; 7] = [
    "duplicate-key",
    "too-large",
    "too-many-values",
    "too-deep",
    "number-too-large",
    "number-range",
    "bad-number",
];

#[test]
fn the_parser_takes_what_serde_json_takes_and_reads_the_same() {
    let corpus = corpus(&fixtures(), &["valid", "invalid", "fuzz/parser"]);
    fuzz("parser", &corpus, 20_000, |_, bytes| {
        let parsed = doc::parse_bytes(bytes, &Limits::default());
        let unmarked = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let other = serde_json::from_slice::<Value>(unmarked);
        match (&parsed.node, parsed.faults.is_empty(), other) {
            (Some(node), true, Ok(other)) => {
                let written = doc::write(node);
                let again: Value = serde_json::from_str(&written).expect("what is written is JSON");
                assert_eq!(again, other, "read differently");
            }
            (_, true, other) => panic!("taken by this parser alone: {:?}", other.err()),
            (_, false, Ok(_)) => {
                let strange = parsed.faults.iter().find(|fault| !OURS.contains(&fault.rule));
                assert!(strange.is_none(), "refused by this parser alone: {strange:?}");
            }
            (_, false, Err(_)) => {}
        }
        assert!(parsed.faults.iter().all(|fault| fault.span.end() <= bytes.len() * 3 + 3));
    });
}

/// A state that may be used.
fn usable(bytes: &[u8]) -> Option<State> {
    let decoded = decode(bytes);
    let (state, root) = (decoded.state?, decoded.root?);
    let faults = decoded.faults.len() + validate::check(&state, &root).len();
    (faults == 0).then_some(state)
}

#[track_caller]
fn check_usable(state: &State) {
    let written = text(state);
    let decoded = decode(written.as_bytes());
    let mut faults = decoded.faults;
    if let (Some(state), Some(root)) = (&decoded.state, &decoded.root) {
        faults.extend(validate::check(state, root));
    }
    assert!(faults.is_empty(), "{faults:?}");
}

fn text(state: &State) -> String {
    StateText::of(state).text(state)
}

#[test]
fn a_state_that_is_taken_is_written_so_that_it_is_taken_again_and_stays() {
    let corpus = corpus(&fixtures(), &["valid", "invalid", "fuzz/parser", "fuzz/merge"]);
    fuzz("decoder", &corpus, 10_000, |_, bytes| {
        let Some(state) = usable(bytes) else { return };
        let written = text(&state);
        let again = usable(written.as_bytes()).expect("what is written is taken");
        assert_eq!(text(&again), written);
    });
}

#[test]
fn whatever_two_sides_make_of_a_state_their_merge_is_one() {
    let valid = corpus(&fixtures(), &["valid", "fuzz/merge"]);
    let states: Vec<Vec<u8>> = valid.into_iter().filter(|bytes| usable(bytes).is_some()).collect();
    fuzz("merge", &states, 4_000, |rng, bytes| {
        let Some(theirs) = usable(bytes) else { return };
        let base = usable(rng.of::<Vec<u8>>(&states)).expect("of the corpus");
        let other = mutate::mutated(rng, &states);
        let ours = usable(&other).unwrap_or_else(|| base.clone());
        let known = if rng.below(4) == 0 { None } else { Some(&base) };
        let merged = change::merge(known, Some(&ours), &theirs);
        check_usable(&merged.state);
        let adopted = change::adopt(Some(&ours), merged, "ada", UnixMillis(1));
        check_usable(&adopted.state);
        let same = change::merge(Some(&base), Some(&ours), &base);
        if ours.lineage == base.lineage {
            assert_eq!(same.state.serial, ours.serial.max(base.serial));
        }
    });
}
