//! Verdicts on the base case that the state keeps (contract §9): the best one and the newest ones. A run that ends
//! without success delivers the best tree.
//!
//! Invariant: at most `VERDICTS_MAX` are kept, and the best one is always among them. Not here: evidence.

use super::{check::Thousandths, record::Choices, table::record};
use crate::doc::prelude::*;
use crate::id::{CommitId, TreeId};

/// Verdicts kept at most: the best and the newest.
pub const VERDICTS_MAX: usize = 16;

record! {
    /// The share of the base case that held on one commit
    #[derive(PartialEq)]
    pub struct VerdictRecord {
        always[program] serial: u64,
        required[program] commit: CommitId,
        required[program] tree: TreeId,
        /// Leaves that held; a leaf that was not measured did not hold
        required[program] held: u64,
        required[program] of: u64,
        /// How far it is from holding, from 0 to 1
        required[program] d: Thousandths,
        /// Taken in a checkout made anew: of two verdicts on one tree the pristine one counts
        filled[program] is_pristine as "pristine": bool,
        /// Atoms with a result in it
        filled[program] solved: u64,
        /// The selection that the tree was made under
        filled[program] choices: Choices,
    }
}

impl VerdictRecord {
    pub fn holds(&self) -> bool {
        self.held == self.of
    }

    /// Results that count among trees that are as near: none before the pristine verdict, which would have to be taken first.
    pub fn lead(&self) -> u64 {
        if self.is_pristine { self.solved } else { 0 }
    }
}

/// The verdict with the least distance, then with most that is solved, then the newest.
pub fn best(verdicts: &[VerdictRecord]) -> Option<&VerdictRecord> {
    verdicts.iter().max_by_key(|one| (core::cmp::Reverse(one.d), one.lead()))
}

/// Adds one, replacing the one on the same tree. A pristine verdict never gives way to a warm one.
pub fn add(verdicts: &mut Vec<VerdictRecord>, new: VerdictRecord) {
    let known = verdicts.iter().position(|old| old.tree == new.tree);
    if let Some(at) = known {
        if verdicts[at].is_pristine && !new.is_pristine {
            return;
        }
        verdicts.remove(at);
    }
    verdicts.push(new);
    while verdicts.len() > VERDICTS_MAX {
        let kept = best(verdicts).map(|best| best.tree.clone());
        let oldest = verdicts.iter().position(|one| Some(&one.tree) != kept.as_ref());
        verdicts.remove(oldest.unwrap_or(0));
    }
}

record! {
    /// The findings of `align` when it evaluated the base case: a leaf that failed there and holds on the same tree later is
    /// unsteady
    #[derive(PartialEq)]
    pub struct Agreed {
        required[program] tree: TreeId,
        /// Titles of the leaves that failed
        always[program] failed: Vec<String>,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Extra;

    fn verdict(name: &str, held: u64, is_pristine: bool) -> VerdictRecord {
        VerdictRecord {
            serial: 1,
            solved: 0,
            commit: CommitId::new(name),
            tree: TreeId::new(name),
            held,
            of: 3,
            d: Thousandths(1_000 - 300 * u32::try_from(held).unwrap_or(3)),
            is_pristine,
            choices: Choices::default(),
            extra: Extra::default(),
        }
    }

    fn best_of(list: &[VerdictRecord]) -> &str {
        best(list).map_or("none", |one| one.tree.as_str())
    }

    #[test]
    fn the_best_verdict_is_the_fullest_and_newest_of_those_on_which_most_leaves_held() {
        let list = [verdict("a", 2, true), verdict("b", 2, false), verdict("c", 1, true)];
        assert_eq!(best_of(&list), "b");
        let fuller = VerdictRecord { solved: 3, ..verdict("d", 2, true) };
        assert_eq!(best_of(&[fuller, verdict("e", 2, true), verdict("c", 1, true)]), "d");
        assert_eq!(best_of(&[]), "none");
    }

    #[test]
    fn a_pristine_verdict_takes_the_place_of_a_warm_one_on_its_tree_and_never_the_other_way_round()
    {
        let mut list = Vec::from([verdict("a", 3, false), verdict("b", 1, false)]);
        add(&mut list, verdict("a", 0, true));
        assert_eq!(best_of(&list), "b");
        add(&mut list, verdict("a", 3, false));
        assert_eq!(best_of(&list), "b");
    }

    #[test]
    fn the_best_verdict_stays_however_many_come_after_it() {
        let mut list = Vec::new();
        add(&mut list, verdict("good", 2, true));
        for n in 0..200 {
            add(&mut list, verdict(&alloc::format!("t{n}"), 1, true));
        }
        assert_eq!(list.len(), VERDICTS_MAX);
        assert_eq!(best_of(&list), "good");
        let newest: Option<&str> = list.last().map(|one| one.tree.as_str());
        assert_eq!(newest, Some("t199"));
    }
}
