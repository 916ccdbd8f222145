//! A repository in memory, with the leftovers of attempts. A power cut takes everything that is not durable.

use std::collections::{BTreeMap, BTreeSet};

use descent_core::{
    event::Outcome,
    id::{AttemptId, CommitId, Digest, TreeId},
    state::{StartedFrom, fields::Extra},
};

pub(super) const START: &str = "start";

/// One change to the tree.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Piece {
    pub(super) atom: String,
    pub(super) content: String,
    pub(super) is_good: bool,
}

#[derive(Debug)]
pub(super) struct Repo {
    commits: BTreeMap<CommitId, Vec<Piece>>,
    loose: BTreeSet<CommitId>,
    /// Complete results beside the state.
    pub(super) finished: BTreeMap<AttemptId, Outcome>,
    /// How often each effect outside happened, and how often it may.
    pub(super) effects: BTreeMap<String, u32>,
    pub(super) allowed: BTreeMap<String, u32>,
    /// Loops so far. Work that an earlier loop started ends when the next one sweeps.
    pub(super) life: u32,
    /// Leaves that were measured on a tree.
    pub(super) asked: BTreeSet<(String, String)>,
    pub(super) delivered: Option<CommitId>,
}

impl Repo {
    pub(super) fn new() -> Self {
        Self {
            commits: BTreeMap::from([(CommitId::new(START), Vec::new())]),
            loose: BTreeSet::new(),
            finished: BTreeMap::new(),
            effects: BTreeMap::new(),
            allowed: BTreeMap::new(),
            life: 0,
            asked: BTreeSet::new(),
            delivered: None,
        }
    }

    pub(super) fn start(&self) -> StartedFrom {
        let commit = CommitId::new(START);
        StartedFrom {
            tree: self.tree(&commit).unwrap(),
            head: commit.clone(),
            commit,
            branch: None,
            dirty: false,
            extra: Extra::default(),
        }
    }

    pub(super) fn at(&self, commit: &CommitId) -> Result<Vec<Piece>, String> {
        let found = self.commits.get(commit).cloned();
        found.ok_or_else(|| format!("the repository does not hold {commit}"))
    }

    pub(super) fn holds(&self, commit: &CommitId) -> bool {
        self.commits.contains_key(commit)
    }

    pub(super) fn tree(&self, commit: &CommitId) -> Result<TreeId, String> {
        let pieces: BTreeSet<Piece> = self.at(commit)?.into_iter().collect();
        Ok(TreeId::new(Digest::sha256(format!("{pieces:?}").as_bytes()).to_string()))
    }

    /// The same change on the same commit gives the same commit.
    pub(super) fn put(&mut self, onto: &CommitId, piece: Piece) -> Result<CommitId, String> {
        let mut pieces = self.at(onto)?;
        if pieces.iter().any(|known| known.atom == piece.atom) {
            return Err(format!("{} stands in the tree twice", piece.atom));
        }
        let name =
            CommitId::new(Digest::sha256(format!("{onto} {piece:?}").as_bytes()).to_string());
        pieces.push(piece);
        if self.commits.insert(name.clone(), pieces).is_none() {
            self.loose.insert(name.clone());
        }
        Ok(name)
    }

    pub(super) fn make_durable(&mut self, commit: &CommitId) {
        self.loose.remove(commit);
    }

    /// A power cut: loose commits are gone, and so is all that runs.
    pub(super) fn cut(&mut self) {
        for commit in std::mem::take(&mut self.loose) {
            self.commits.remove(&commit);
        }
        self.life += 1;
    }

    pub(super) fn keep_only(&mut self, needed: &BTreeSet<CommitId>) {
        self.commits.retain(|commit, _| needed.contains(commit) || commit.as_str() == START);
    }
}
