//! Conflict-directed backtracking: the next selection, and which group of a conflict changes first (contract §9).

use super::{failure, rest, transaction::Transaction};
use crate::doc::prelude::*;
use crate::{
    event::{ChoiceChange, Event},
    graph::{
        Graph, Ix, NodeKind,
        active::{self, Selection},
    },
    id::AtomId,
    search::{self, SearchSpace},
    state::{
        EntryKind, Intent, SideEffect, State, Task,
        atom::AttentionCause,
        record::{
            BacktrackEntry, ChoiceChanges, ChoiceEntry, Choices, EvidenceRecord, RefutedEntry,
        },
    },
    world::speculation::Speculation,
};

/// Why the run cannot go on under the selection in force.
pub(super) enum BlockCause {
    /// A group that is live has selected nothing.
    Undecided,
    /// A live task failed for good.
    Failed(Ix),
    /// A live task rests.
    Resting(Ix),
    /// Every root is resolved and the base case does not hold.
    Refuted,
}

impl BlockCause {
    /// The choices with which something else could be had.
    fn involved(&self, transaction: &Transaction) -> Choices {
        let (graph, active) = (&transaction.graph, &transaction.active);
        match self {
            Self::Undecided => Choices::new(),
            Self::Failed(x) | Self::Resting(x) => {
                search::conflict(graph, *x, &active.choices(graph, *x))
            }
            Self::Refuted => active.whole(graph),
        }
    }
}

/// Finds a live atom that failed for good, or a group that needs a choice.
pub(super) fn blocked(transaction: &Transaction) -> Option<BlockCause> {
    let (graph, active) = (&transaction.graph, &transaction.active);
    let set_aside = first_set_aside(transaction, !transaction.is_settled);
    debug_assert_eq!(set_aside, first_set_aside(transaction, true));
    if let (Some(x), _) = set_aside {
        return Some(BlockCause::Failed(x));
    }
    if let (_, Some(x)) = set_aside {
        return Some(BlockCause::Resting(x));
    }
    let mut groups = graph.groups();
    if groups.any(|group| active.is_live(group) && !active.selection.contains_key(&group))
        || graph.plans().any(|plan| transaction.is_undecided(plan))
    {
        return Some(BlockCause::Undecided);
    }
    // A refuted selection that is opened again, by a person or for a repair, is resolved and judged once more.
    let is_refuted = || transaction.refuted.contains(&active.whole(graph));
    (transaction.all_resolved() && is_refuted()).then_some(BlockCause::Refuted)
}

/// The first live task that failed for good, and the first that rests.
fn first_set_aside(transaction: &Transaction, of_all: bool) -> (Option<Ix>, Option<Ix>) {
    let tasks = transaction.dirty_tasks(of_all);
    let first = |is_so: fn(&Transaction, Ix, &Task) -> bool| {
        let mut tasks = tasks.iter();
        let found = tasks.find(|(x, task)| is_so(transaction, *x, task));
        found.map(|(x, _)| *x)
    };
    (first(Transaction::has_failed), first(Transaction::is_resting))
}

/// Finds another selection; `None` when nothing is left to try.
pub(super) fn find(transaction: &Transaction, blocked: &BlockCause) -> Option<Selection> {
    let conflicts = search::conflicts(transaction);
    let rank = rank(transaction, blocked);
    let space = transaction.space(&conflicts, !rest::is_any(transaction));
    let prefer = transaction.selection();
    // First all selections of existing fragments are tried, then replanning, and only then other choices below a plan. While
    // something rests nothing is planned again.
    let space = SearchSpace { rank: Some(&rank), ..space };
    let as_planned = || {
        let fixed = ground_of_plans(transaction, blocked)?;
        let fixed = Some(&fixed);
        search::choose(SearchSpace { plans_again: false, fixed, ..space }, &prefer)
    };
    as_planned().or_else(|| search::choose(space, &prefer))
}

/// Selects anew, and gives the reason.
pub(super) fn select_instead(
    transaction: &mut Transaction,
    blocked: &BlockCause,
    selection: &Selection,
) -> String {
    let because = because(transaction, blocked);
    give_back_repairs(transaction);
    select(transaction, selection, &because);
    because
}

/// For every planning step whose fragment the blocked atom depends on: the group choices in force when it was planned.
/// `None` if there is no such step.
fn ground_of_plans(transaction: &Transaction, blocked: &BlockCause) -> Option<Selection> {
    let (graph, active) = (&transaction.graph, &transaction.active);
    let involved = blocked.involved(transaction);
    let involved = involved.keys().filter_map(|id| graph.ix(id));
    let mut plans = involved.filter(|x| active.phase(graph, *x).is_some()).peekable();
    plans.peek()?;
    let upstream = plans.flat_map(|plan| {
        let upstream = active::upstream(graph, plan, &active.selection);
        upstream.into_iter().chain(graph.above(plan))
    });
    let is_group = |x: &Ix| graph.vertex(*x).kind == NodeKind::Any;
    let pairs = active.pairs(graph, upstream.filter(is_group));
    Some(pairs.iter().filter_map(|(group, choice)| graph.pair(group, choice)).collect())
}

/// Selects a solved speculation, and ends attempts under other choices. False if there is no such speculation, or if an
/// attempt in flight may happen once only: its end is awaited.
pub(super) fn adopt(transaction: &mut Transaction) -> bool {
    let speculations = Arc::clone(transaction.speculations());
    let is_won =
        |speculation: &&Speculation| speculation.is_won(&transaction.graph, transaction.solved());
    let Some(won) = speculations.iter().find(is_won) else {
        return false;
    };
    let control = &transaction.state.control;
    let is_bound =
        |intent: &Intent| intent.effect.is_once_only() && !won.is_of(&transaction.graph, intent);
    if control.stop_requested
        || control.redirect_requested
        || transaction.state.run.in_flight.iter().any(is_bound)
    {
        return false;
    }
    let because = transaction.graph.id(won.choice).to_string() + " was solved first";
    give_back_repairs(transaction);
    select(transaction, &won.active.selection, &because);
    true
}

/// Selects one choice of a group, where some selection with it has no conflict. True if it did.
pub(super) fn take(transaction: &mut Transaction, group: Ix, choice: Ix, because: &str) -> bool {
    let conflicts = search::conflicts(transaction);
    let fixed = Selection::from([(group, choice)]);
    let space = SearchSpace { fixed: Some(&fixed), ..transaction.space(&conflicts, false) };
    let Some(selection) = search::choose(space, &transaction.selection()) else {
        return false;
    };
    select(transaction, &selection, because);
    true
}

/// Another choice may leave an unrelated result with nothing to apply to, so that it is made again. Each change gives
/// every live atom one repair back: thus a search of many choices uses none of them up.
fn give_back_repairs(transaction: &mut Transaction) {
    let graph = Arc::clone(&transaction.graph);
    for x in graph.tasks() {
        let (id, context) = (graph.id(x), transaction.active.context(x).cloned());
        let Some(context) = context else { continue };
        let repaired = |task: &Task| {
            let tried = task.tried(&context)?;
            (!tried.has_failed()).then_some(tried.repairs)
        };
        let bound = transaction.state.bindings.get(id);
        let is_given_back = match bound {
            Some(binding) => binding.of.task().and_then(repaired).is_some_and(|n| n > 0),
            // The count tells whether an open atom is under repair.
            None => transaction.task_of(id).and_then(repaired).is_some_and(|n| n > 1),
        };
        if is_given_back {
            transaction.change_work(id, |task| {
                let mut tries = task.tries.iter_mut();
                if let Some(tried) = tries.find(|tried| tried.context == context) {
                    tried.repairs -= 1;
                }
            });
        }
    }
}

fn select(transaction: &mut Transaction, selection: &Selection, because: &str) {
    let graph = Arc::clone(&transaction.graph);
    let mut changes = Vec::new();
    let mut chosen = Vec::new();
    for (group, choice) in selection {
        let before =
            transaction.state.atom(graph.id(*group)).and_then(|atom| atom.selected().cloned());
        if before.as_ref() == Some(graph.id(*choice)) {
            continue;
        }
        if graph.vertex(*group).kind == NodeKind::Plan {
            // An earlier fragment comes into force.
            let plan = transaction.plan_of(graph.id(*group));
            let in_force = plan.and_then(|plan| plan.in_force()?.first());
            if in_force != Some(graph.id(*choice)) {
                transaction.select(graph.id(*group), graph.id(*choice));
            }
            continue;
        }
        transaction.select(graph.id(*group), graph.id(*choice));
        match before {
            Some(_) if transaction.active.is_live(*group) => {
                changes.push(ChoiceChange {
                    group: graph.id(*group).clone(),
                    from: before,
                    to: graph.id(*choice).clone(),
                });
            }
            _ => chosen.push((*group, *choice)),
        }
    }
    if !changes.is_empty() {
        transaction.tell(EntryKind::Backtrack(BacktrackEntry {
            changes: ChoiceChanges(changes),
            reason: because.to_string(),
        }));
    }
    for (group, choice) in chosen {
        let others = graph.vertex(group).kids.iter().filter(|kid| **kid != choice);
        let untried: Vec<AtomId> = others.map(|kid| graph.id(*kid).clone()).collect();
        transaction.tell(EntryKind::Choice(ChoiceEntry {
            group: graph.id(group).clone(),
            choice: graph.id(choice).clone(),
            untried,
            commit: None,
            reason: None,
        }));
    }
    let selection = transaction.selection();
    transaction.set_selection(selection);
}

fn because(transaction: &Transaction, blocked: &BlockCause) -> String {
    match blocked {
        BlockCause::Undecided => "nothing was chosen".to_string(),
        BlockCause::Failed(x) => {
            let id = transaction.graph.id(*x);
            let asks = transaction.task_of(id).is_some_and(|task| task.open_question().is_some());
            format!("{id} {}", if asks { "waits for an answer" } else { "failed for good" })
        }
        BlockCause::Resting(x) => transaction.graph.id(*x).to_string() + " rests",
        BlockCause::Refuted => "the base case does not hold".to_string(),
    }
}

/// Ranks the groups of the conflict, the most relevant last. Groups with external effects come first, so that they
/// change last. Then count results that are said to contradict, the files that the evidence names, nearness, and how recent a group is.
fn rank(transaction: &Transaction, blocked: &BlockCause) -> BTreeMap<Ix, usize> {
    let (graph, active) = (&transaction.graph, &transaction.active);
    let from = match blocked {
        BlockCause::Failed(x) | BlockCause::Resting(x) => Some(*x),
        BlockCause::Undecided | BlockCause::Refuted => None,
    };
    let involved = blocked.involved(transaction);
    let groups = involved.keys().filter_map(|group| graph.ix(group));
    let named = last_files(&transaction.state);
    let mut scored: Vec<_> = groups
        .filter(|group| graph.vertex(*group).kind == NodeKind::Any && active.is_live(*group))
        .map(|group| {
            let inside = active
                .selection
                .get(&group)
                .map(|choice| graph.subtree(*choice))
                .unwrap_or_default();
            let is_external = inside.iter().any(|x| is_external(transaction, *x));
            let hits = inside.iter().map(|x| hits(transaction, *x, &named)).sum::<usize>();
            let distance = from.map_or(0, |x| distance(graph, x, group));
            let recent = inside.iter().filter_map(|x| place(transaction, *x)).max().unwrap_or(0);
            let contradicts = inside.iter().any(|x| contradicts(transaction, *x));
            (!is_external, contradicts, hits, core::cmp::Reverse(distance), recent, group)
        })
        .collect();
    scored.sort_unstable();
    scored.into_iter().map(|(.., group)| group).zip(0..).collect()
}

fn is_external(transaction: &Transaction, x: Ix) -> bool {
    let task = transaction.task(x);
    task.is_some_and(|task| matches!(task.spec.effect, SideEffect::External { .. }))
}

/// Whether a refiner said that its result contradicts another.
fn contradicts(transaction: &Transaction, x: Ix) -> bool {
    let mark = transaction.task(x).and_then(|task| task.attention.as_ref());
    mark.is_some_and(|mark| mark.because == AttentionCause::Contradicted)
}

/// How many of the named files this atom changed.
fn hits(transaction: &Transaction, x: Ix, named: &[String]) -> usize {
    let binding = transaction.state.bindings.get(transaction.graph.id(x));
    binding
        .map_or(0, |binding| binding.artifacts.iter().filter(|file| named.contains(file)).count())
}

fn place(transaction: &Transaction, x: Ix) -> Option<usize> {
    transaction
        .state
        .run
        .line
        .iter()
        .position(|placed| placed.atom == *transaction.graph.id(x))
        .map(|place| place + 1)
}

/// Steps upwards from `x` to a group above it; groups upstream are farther than all of these.
fn distance(graph: &Graph, x: Ix, group: Ix) -> usize {
    let above =
        graph.above(x).filter(|y| graph.vertex(*y).kind == NodeKind::Any).position(|y| y == group);
    above.unwrap_or_else(|| {
        1_000
            + graph
                .len()
                .saturating_sub(graph.order().iter().position(|y| *y == group).unwrap_or(0))
    })
}

/// Files that the newest evidence of a failure names.
fn last_files(state: &State) -> Vec<String> {
    let mut entries = state.trail.iter().rev();
    let newest = entries.find_map(|entry| {
        let of_failure = entry.failure().map(|failure| &failure.files);
        of_failure.or_else(|| entry.refuted().map(|refuted| &refuted.files))
    });
    newest.cloned().unwrap_or_default()
}

/// Refutes the whole selection, once: every root is resolved and the base case failed on the tree.
pub(super) fn refute(
    transaction: &mut Transaction,
    failed: Vec<String>,
    evidence: Vec<EvidenceRecord>,
    text: &str,
) {
    let graph = Arc::clone(&transaction.graph);
    let choices = transaction.active.whole(&graph);
    let context = search::whole_context(&graph, &transaction.state, &choices);
    let files = failure::files_named(transaction, text);
    transaction.announce(Event::Refuted { choices: choices.clone(), failed });
    transaction.refute(choices.clone());
    transaction.record(EntryKind::Refuted(RefutedEntry {
        conflict: choices,
        context,
        files,
        evidence,
    }));
    // The trail only grows, so it needs no mark of its own; the run does change.
    transaction.run().iteration += 1;
}
