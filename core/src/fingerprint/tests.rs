//! Which failures are alike.

use alloc::{string::String, vec::Vec};

use super::{Symptoms, of};
use crate::{id::Digest, state::FailureClass};

fn printed(output: &str) -> Digest {
    of(Symptoms {
        class: FailureClass::Logical,
        reason: "exit 1",
        checks: &["cargo test"],
        output,
    })
}

#[test]
fn failures_that_differ_in_paths_numbers_times_and_addresses_are_alike() {
    let pairs = [
        (
            "at /tmp/a1/src/lib.rs:12:5",
            "at /home/ada/x/src/lib.rs:14:7",
        ),
        ("took 1.25 s", "took 31.7 s"),
        (
            "2026-11-24T01:02:03Z refused",
            "2027-01-02T11:12:13Z refused",
        ),
        ("at 0x7ffee4c0ab12", "at 0x55d0aa31bc00"),
        ("commit 9ab53ed1f", "commit 044eba6c2"),
        ("\u{1b}[31merror\u{1b}[0m:  x", "error: x"),
        ("x\n\n\n", "x"),
    ];
    for (one, other) in pairs {
        assert_eq!(printed(one), printed(other), "{one} / {other}");
    }
}

#[test]
fn failures_with_other_words_checks_endings_or_classes_differ() {
    let base = Symptoms {
        class: FailureClass::Logical,
        reason: "exit 1: no such table",
        checks: &["make test"],
        output: "no such table",
    };
    let others = [
        Symptoms {
            class: FailureClass::Environmental,
            ..base
        },
        Symptoms {
            reason: "exit 2: no such table",
            ..base
        },
        Symptoms {
            reason: "exit 1: no such column",
            ..base
        },
        Symptoms {
            checks: &["make lint"],
            ..base
        },
        Symptoms {
            output: "no such column",
            ..base
        },
    ];
    for other in others {
        assert_ne!(of(base), of(other), "{other:?}");
    }
    // A word of hexadecimal letters alone is a word.
    assert_ne!(printed("effaced"), printed("defaced"));
}

#[test]
fn only_the_end_of_a_long_output_counts() {
    let long = |first: &str| {
        let rest: Vec<String> = (0..20)
            .map(|n| alloc::format!("line {}", "x".repeat(n)))
            .collect();
        alloc::format!("{first}\n{}", rest.join("\n"))
    };
    assert_eq!(printed(&long("began here")), printed(&long("began there")));
}
