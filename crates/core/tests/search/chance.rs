//! Attempts by chance, the same whatever the order of things: each is fixed by its atom, its context and its number.

use std::collections::BTreeMap;

use descent_core::{event::Outcome, id::Digest, state::Intent};

use super::sim::outcome;

/// In a thousand: how often an attempt of an atom succeeds, and how often a failure is like the one before.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Nature {
    pub(crate) succeeds: u64,
    pub(crate) repeats: u64,
}

/// The chances of each atom, by its name.
#[derive(Debug, Clone)]
pub(crate) struct Chance {
    pub(crate) seed: u64,
    pub(crate) atoms: BTreeMap<String, Nature>,
}

impl Chance {
    fn nature(&self, name: &str) -> Nature {
        let always = Nature { succeeds: 1_000, repeats: 0 };
        self.atoms.get(name).copied().unwrap_or(always)
    }

    /// A number below a thousand.
    fn roll(&self, name: &str, intent: &Intent, n: u32, what: &str) -> u64 {
        let text = format!("{} {name} {} {n} {what}", self.seed, intent.context);
        let digest = Digest::sha256(text.as_bytes()).to_string();
        let digits = digest.rsplit(':').next().expect("a digest");
        u64::from_str_radix(&digits[..12], 16).expect("hexadecimal digits") % 1_000
    }

    pub(crate) fn succeeds(&self, name: &str, intent: &Intent) -> bool {
        self.roll(name, intent, intent.n, "succeeds") < self.nature(name).succeeds
    }

    pub(crate) fn attempt(&self, name: &str, intent: &Intent) -> Outcome {
        let has_failed = !self.succeeds(name, intent);
        Outcome {
            excerpt: if has_failed { self.words(name, intent) } else { String::new() },
            ..outcome(i32::from(has_failed))
        }
    }

    /// The output of a failure: as of the one before, or something new.
    pub(crate) fn words(&self, name: &str, intent: &Intent) -> String {
        let is_new = |n: &u32| {
            *n == 1 || self.roll(name, intent, *n, "repeats") >= self.nature(name).repeats
        };
        let first = (1..=intent.n).rev().find(is_new).unwrap_or(1);
        format!("no {}", "x".repeat(usize::try_from(first).expect("small")))
    }
}
