//! The order of untried choices by lessons of earlier runs, and by what probes found.
//!
//! Invariant: it only orders: what is last is tried too, when nothing else is left.

use alloc::{collections::BTreeMap, vec::Vec};
use core::cmp::Reverse;

use crate::{
    graph::{Graph, Ix},
    id::{AtomId, Digest},
    state::{Lesson, LessonKind, State},
};

/// The lesson about a choice as an order: the smaller is tried first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LessonRank {
    /// It stands in a result; its place among such lessons, the newest first.
    Preferred(usize),
    Unknown,
    /// It failed for good.
    Avoided,
}

/// The lessons of earlier runs about the choices of a graph.
#[derive(Debug, Default)]
pub struct RememberedChoices(BTreeMap<Ix, LessonRank>);

impl RememberedChoices {
    pub fn of(graph: &Graph, state: &State) -> Self {
        let ranks = ranks(state.lessons());
        if ranks.is_empty() {
            return Self::default();
        }
        let choices = graph.groups().flat_map(|group| &graph.vertex(group).kids);
        let rank = |choice: &Ix| Some((*choice, *ranks.get(&graph.choice_digest(*choice))?));
        Self(choices.filter_map(rank).collect())
    }

    /// The order of a choice among its untried siblings.
    pub fn rank(&self, graph: &Graph, state: &State, choice: Ix) -> (LessonRank, ProbeRank) {
        let known = self.0.get(&choice).copied();
        let probed = probe_rank(state, graph.id(choice));
        (known.unwrap_or(LessonRank::Unknown), probed)
    }
}

fn ranks(lessons: &[Lesson]) -> BTreeMap<&Digest, LessonRank> {
    let of_kind = |kind: LessonKind| lessons.iter().filter(move |one| one.kind == kind);
    let mut preferred: Vec<&Lesson> = of_kind(LessonKind::Prefer).collect();
    preferred.sort_by_key(|one| Reverse(&one.last));
    let preferred = preferred.into_iter().enumerate();
    let preferred = preferred.map(|(place, one)| (one, LessonRank::Preferred(place)));
    let avoided = of_kind(LessonKind::MustNot).map(|one| (one, LessonRank::Avoided));
    let mut ranks = BTreeMap::new();
    for (lesson, rank) in preferred.chain(avoided) {
        if let Some(choice) = &lesson.choice {
            ranks.entry(choice).or_insert(rank);
        }
    }
    ranks
}

/// How much a probe speaks against a task. Feasible ones come first, the smaller estimate before the larger and before
/// none; then those of which nothing was found out; last the infeasible ones.
fn probe_rank(state: &State, id: &AtomId) -> ProbeRank {
    let task = state.atom(id).and_then(|atom| atom.task());
    let mut newest = task.into_iter().flat_map(|task| task.tries.iter().rev());
    let probe = newest.find_map(|tried| tried.probe.as_ref());
    let found = probe.and_then(|probe| Some((probe, probe.feasible?)));
    let Some((probe, is_feasible)) = found else {
        return ProbeRank::Unknown;
    };
    let told = |part: Option<u64>| part.unwrap_or(u64::MAX);
    let estimate = [
        told(probe.cost_usd.map(|cost| cost.0)),
        told(probe.time.as_ref().map(|time| time.ms)),
        told(probe.attempts.map(u64::from)),
    ];
    match is_feasible {
        true => ProbeRank::Feasible(estimate),
        false => ProbeRank::Infeasible(estimate),
    }
}

/// The finding of a probe as an order: the smaller is tried first. An estimate is its cost, time and attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProbeRank {
    Feasible([u64; 3]),
    Unknown,
    Infeasible([u64; 3]),
}
