//! What starts: attempts of what is ready.
//!
//! Not here: whether anything may start at all (`advance`).

use alloc::{borrow::ToOwned, collections::BTreeSet, sync::Arc, vec::Vec};

use super::{delivery, phase, transaction::Transaction};
use crate::{
    event::Event,
    graph::{Ix, active::ActiveGraph, overlap},
    id::{AtomId, CommitId, Digest},
    measure,
    state::{AtomStatus, Intent, SideEffect},
    world::{self, speculation::Speculation},
};

/// Interruptions from which on an atom runs alone: it may be what ends the loop.
const FRAGILE: u32 = 2;

pub(super) fn go_on(draft: &mut Transaction) {
    if draft.session.base_was_seen && draft.is_line_settled() {
        dispatch(draft, SpeculationMode::On);
    }
    delivery::aim(draft);
}

/// At a dead end: what is ready under the selection in force is brought to its end, and nothing else is tried. True while
/// that goes on.
pub(super) fn bring_to_end(draft: &mut Transaction) -> bool {
    let is_ready = |draft: &Transaction| startable(draft).next().is_some();
    if is_ready(draft) {
        if !draft.session.base_was_seen {
            delivery::aim(draft);
        } else if draft.is_line_settled() {
            dispatch(draft, SpeculationMode::Off);
        }
    }
    is_ready(draft) || !draft.state.run.in_flight.is_empty()
}

/// Whether other choices are tried side by side with the selected ones.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SpeculationMode {
    On,
    Off,
}

fn dispatch(draft: &mut Transaction, speculation: SpeculationMode) {
    let mut free = free_slots(draft);
    let flying = &draft.state.run.in_flight;
    if free == 0
        || flying
            .iter()
            .any(|intent| interruptions(draft, &intent.atom) >= FRAGILE)
    {
        return;
    }
    let mut is_repairing = flying
        .iter()
        .any(|intent| draft.is_repair(&intent.atom, &intent.context));
    // Of many that are ready only a few have a slot: so few are looked for, and more where these had to wait.
    let (mut last, mut most) = (None, free);
    loop {
        let some = ready(draft, last, most);
        let is_all = some.len() < most;
        for x in some {
            if free == 0 {
                return;
            }
            last = Some(x);
            free = start_or_wait(draft, x, free, &mut is_repairing);
        }
        if is_all {
            break;
        }
        most = most.saturating_mul(8);
    }
    if speculation == SpeculationMode::On {
        speculate(draft, free);
    }
}

/// The slots that are free afterwards.
fn start_or_wait(draft: &mut Transaction, x: Ix, free: usize, is_repairing: &mut bool) -> usize {
    let id = draft.graph.id(x);
    let is_fragile = interruptions(draft, id) >= FRAGILE;
    let is_repair = draft
        .standing
        .context(x)
        .is_some_and(|context| draft.is_repair(id, context));
    let context = draft.standing.context(x);
    let is_over = context.is_some_and(|context| !phase::may_start(draft, x, context));
    let must_wait = is_over
        || is_fragile && !draft.state.run.in_flight.is_empty()
        || is_repair && *is_repairing
        || is_in_the_way(draft, id);
    if must_wait {
        return free;
    }
    let standing = Arc::clone(&draft.standing);
    start(draft, x, &standing, draft.state.run.head.clone());
    *is_repairing |= is_repair;
    if is_fragile { 0 } else { free - 1 }
}

/// Slots that are free after all else try other choices side by side with the selected one.
fn speculate(draft: &mut Transaction, mut free: usize) {
    for prospect in draft.prospects().iter() {
        for (x, head) in startable_beside(draft, prospect) {
            if free == 0 {
                return;
            }
            let context = prospect.standing.context(x);
            if context.is_none_or(|context| !phase::may_start(draft, x, context)) {
                continue;
            }
            start(draft, x, &prospect.standing, head);
            free -= 1;
        }
    }
}

/// What may start in a prospect whose tree is there to begin on.
fn startable_beside(draft: &Transaction, prospect: &Speculation) -> Vec<(Ix, Option<CommitId>)> {
    let prospects = draft.prospects();
    let Some(head) = prospect.head(&draft.ground(&prospects)) else {
        return Vec::new();
    };
    let found = draft.graph.tasks().filter(|x| {
        let id = draft.graph.id(*x);
        let is_due = |context| is_due(draft, id, context);
        prospect.is_startable(&draft.graph, &draft.state, *x)
            && prospect.standing.context(*x).is_some_and(is_due)
            && !is_flying(draft, id)
            && interruptions(draft, id) < FRAGILE
    });
    found.map(|x| (x, head.clone())).collect()
}

fn free_slots(draft: &Transaction) -> usize {
    world::slots(&draft.state, &draft.session).saturating_sub(draft.state.run.in_flight.len())
}

fn start(draft: &mut Transaction, x: Ix, standing: &ActiveGraph, base: Option<CommitId>) {
    let graph = Arc::clone(&draft.graph);
    let atom = graph.id(x).clone();
    let Some(context) = standing.context(x).cloned() else {
        return;
    };
    let choices = standing.choices(&graph, x);
    let Some(tried) = draft.tried(&atom, &context, &choices) else {
        return;
    };
    let n = tried.attempts + 1;
    let (effect, of) = match draft.task_of(&atom) {
        Some(task) => (task.spec.effect, measure::attempts_max(&draft.state, task)),
        None => (SideEffect::Tree, n),
    };
    let at = draft.at().into();
    draft
        .session
        .waits_until_ms
        .remove(&(atom.clone(), context.clone()));
    let description = draft
        .state
        .atom(&atom)
        .map_or(atom.as_str(), |one| one.title(&atom))
        .to_owned();
    let run = draft.run();
    let id = run.next_attempt(&atom);
    let epoch = run.epoch;
    run.in_flight.push(Intent {
        id: id.clone(),
        atom: atom.clone(),
        context,
        choices,
        epoch,
        n,
        effect,
        base,
        at,
        extra: Default::default(),
    });
    draft.say(Event::AttemptStarted {
        attempt: id,
        atom,
        n,
        of: of.max(n),
        description,
    });
}

/// The first of what comes after that one, could start, and is not waiting for its backoff.
fn ready(draft: &Transaction, last: Option<Ix>, most: usize) -> Vec<Ix> {
    let is_due = |x: &Ix| {
        let context = draft.standing.context(*x);
        context.is_some_and(|context| is_due(draft, draft.graph.id(*x), context))
    };
    let next = startable(draft).filter(|x| last.is_none_or(|last| *x > last));
    next.filter(is_due).take(most).collect()
}

fn is_due(draft: &Transaction, id: &AtomId, context: &Digest) -> bool {
    let waits = &draft.session.waits_until_ms;
    if waits.is_empty() {
        return true;
    }
    let until_ms = waits.get(&(id.clone(), context.clone()));
    until_ms.is_none_or(|until_ms| *until_ms <= draft.session.active_ms)
}

/// Live, pending, not in flight, and everything that it waits for resolved. A planning step whose fragments are to be
/// chosen from is none.
fn startable(draft: &Transaction) -> impl Iterator<Item = Ix> {
    let flying: BTreeSet<&AtomId> = draft
        .state
        .run
        .in_flight
        .iter()
        .map(|intent| &intent.atom)
        .collect();
    let graph = &draft.graph;
    let open = graph.paired(&draft.state.atoms).filter(|(x, atom)| {
        let is_pending = atom
            .task()
            .is_some_and(|task| task.status == AtomStatus::Pending);
        is_pending && draft.standing.is_live(*x) && draft.standing.is_leaf(&draft.graph, *x)
    });
    open.map(|(x, _)| x).filter(move |x| {
        let context = draft.standing.context(*x);
        !flying.contains(graph.id(*x))
            && !draft.is_undecided(*x)
            && graph.waits_for(*x).all(|dep| draft.solved()[dep])
            && context.is_some_and(|context| phase::may_start(draft, *x, context))
    })
}

/// Whether something may start now or after its backoff, with a slot to start it in.
pub(super) fn can_start(draft: &Transaction) -> bool {
    free_slots(draft) > 0 && (startable(draft).next().is_some() || can_speculate(draft))
}

fn can_speculate(draft: &Transaction) -> bool {
    let prospects = draft.prospects();
    prospects.iter().any(|prospect| {
        let ground = draft.ground(&prospects);
        let mut tasks = draft.graph.tasks();
        let may_start = |x: Ix| {
            let context = prospect.standing.context(x);
            context.is_some_and(|context| phase::may_start(draft, x, context))
        };
        (prospect.wants_staging(&ground) || prospect.head(&ground).is_some())
            && tasks.any(|x| prospect.is_startable(&draft.graph, &draft.state, x) && may_start(x))
    })
}

fn is_flying(draft: &Transaction, atom: &AtomId) -> bool {
    let mut flying = draft.state.run.in_flight.iter();
    flying.any(|intent| intent.atom == *atom)
}

/// Whether something in flight touches what this atom touches.
fn is_in_the_way(draft: &Transaction, atom: &AtomId) -> bool {
    let workspace = draft.state.objective.constraints.workspace();
    let Some(task) = draft.task_of(atom).filter(|task| !task.touches.is_empty()) else {
        return false;
    };
    let flying = draft.state.run.in_flight.iter();
    let mut others = flying.filter_map(|intent| draft.task_of(&intent.atom));
    others.any(|other| overlap::clash(&task.touches, &other.touches, workspace))
}

fn interruptions(draft: &Transaction, atom: &AtomId) -> u32 {
    draft.task_of(atom).map_or(0, |task| task.interruptions)
}
