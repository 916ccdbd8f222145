//! Brings bindings, attempts in flight and statuses into line with the selection in force: results of another
//! context are parked, those of this one come back, and what was made from other inputs is made again.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    format,
    string::String,
    sync::Arc,
    vec::Vec,
};

use super::{attempt_end, transaction::Transaction};
use crate::{
    event::Event,
    graph::{Graph, Ix, NodeKind, active::ActiveGraph},
    id::{AtomId, CommitId, Digest},
    measure,
    state::{
        AtomStatus, Binding, FailureClass, PlanningStep, ResultCommit, State, Task, Try, TryEnd,
        Workspace,
    },
};

pub(super) fn settle(draft: &mut Transaction) {
    set_aside_stale(draft);
    let is_all_new = !draft.is_settled;
    if is_all_new {
        park_and_revive(draft);
    }
    reopen_changed_inputs(draft, is_all_new);
    draft.is_settled = true;
    end_abandoned(draft);
    statuses(draft, is_all_new);
}

/// A fragment of another context waits until that comes back, and one whose budget is over stands for nothing any more:
/// the step is a leaf again.
fn set_aside_stale(draft: &mut Transaction) {
    let graph = Arc::clone(&draft.graph);
    for x in graph.plans() {
        let in_force = draft.standing.phase(&graph, x);
        let is_stale = draft.standing.is_live(x) && in_force.is_none_or(|phase| phase.is_out);
        let plan = draft.plan_of(graph.id(x));
        if is_stale && plan.is_some_and(|plan| plan.in_force().is_some()) {
            draft.change_plan(graph.id(x), PlanningStep::set_aside);
            let selection = draft.selection();
            draft.set_selection(selection);
        }
    }
}

/// What is resolved under the selection in force.
pub(super) fn solved(graph: &Graph, standing: &ActiveGraph, state: &State) -> Vec<bool> {
    let mut bound = alloc::vec![false; graph.len()];
    graph
        .paired(&state.bindings)
        .for_each(|(x, _)| bound[x] = true);
    solved_by(graph, standing, |x| bound[x])
}

/// What is resolved where these tasks have results.
pub(super) fn solved_by(
    graph: &Graph,
    standing: &ActiveGraph,
    has_result: impl Fn(Ix) -> bool,
) -> Vec<bool> {
    let mut solved = alloc::vec![false; graph.len()];
    for x in graph
        .order()
        .iter()
        .copied()
        .filter(|x| standing.is_live(*x))
    {
        if !graph.waits_for(x).all(|dep| solved[dep]) {
            continue;
        }
        let members = standing.members(graph, x);
        let by_members = || !members.is_empty() && members.iter().all(|y| solved[*y]);
        solved[x] = match graph.vertex(x).kind {
            NodeKind::Task => has_result(x),
            // A person may resolve it instead.
            NodeKind::Plan => has_result(x) || by_members(),
            NodeKind::All | NodeKind::Any => by_members(),
        };
    }
    solved
}

fn park_and_revive(draft: &mut Transaction) {
    let (graph, standing) = (Arc::clone(&draft.graph), Arc::clone(&draft.standing));
    for x in graph.tasks() {
        let id = graph.id(x);
        let in_force = standing.context(x).filter(|_| standing.is_live(x));
        let bound = draft.state.bindings.get(id);
        if bound
            .is_some_and(|binding| !binding.is_by_person() && binding.context.as_ref() != in_force)
        {
            park(draft, id);
        }
        if let Some(context) = in_force {
            revive(draft, id, context);
        }
    }
}

fn park(draft: &mut Transaction, id: &AtomId) {
    let Some(mut binding) = draft.unbind(id) else {
        return;
    };
    draft.say(Event::Parked { atom: id.clone() });
    Arc::make_mut(&mut binding).of = nobody();
    keep_parked(draft, id, Arc::unwrap_or_clone(binding));
}

/// The atom stands around its parked result: a copy of it inside would only grow the file.
pub(super) fn nobody() -> Arc<crate::state::Atom> {
    Arc::new(crate::state::binding::nothing())
}

/// A result waits in the try of its context until that is in force.
pub(super) fn keep_parked(draft: &mut Transaction, id: &AtomId, binding: Binding) {
    let Some(context) = binding.context.clone() else {
        return;
    };
    if let Some(tried) = draft
        .task(id)
        .and_then(|task| task.tries.iter_mut().find(|tried| tried.context == context))
    {
        tried.ended = Some(TryEnd::Parked(Arc::new(binding)));
    }
}

fn revive(draft: &mut Transaction, id: &AtomId, context: &Digest) {
    let tried = draft.task_of(id).and_then(|task| task.tried(context));
    let Some(Some(TryEnd::Parked(parked))) = tried.map(|tried| tried.ended.clone()) else {
        return;
    };
    if let Some(task) = draft.task(id) {
        for tried in task
            .tries
            .iter_mut()
            .filter(|tried| tried.context == *context)
        {
            tried.ended = None;
        }
        task.status = AtomStatus::Pending;
    }
    draft.bind(id, |atom| Binding {
        of: atom,
        ..(*parked).clone()
    });
    draft.say(Event::Revived { atom: id.clone() });
}

/// The result of a task in the context that it has under a selection: bound, or parked.
pub(super) fn result_in<'s>(
    graph: &Graph,
    state: &'s State,
    standing: &ActiveGraph,
    x: Ix,
) -> Option<&'s Binding> {
    let (id, context) = (graph.id(x), standing.context(x)?);
    let bound = state.bindings.get(id).map(|binding| &**binding);
    bound
        .filter(|binding| binding.is_by_person() || binding.context.as_ref() == Some(context))
        .or_else(|| parked_in(state, id, context))
}

fn parked_in<'s>(state: &'s State, id: &AtomId, context: &Digest) -> Option<&'s Binding> {
    match &state.atom(id)?.task()?.tried(context)?.ended {
        Some(TryEnd::Parked(parked)) => Some(parked),
        Some(TryEnd::Failed(_)) | None => None,
    }
}

/// The results upstream that an atom is made from, digested along the dependencies.
pub(super) fn inputs(graph: &Graph, standing: &ActiveGraph, state: &State, x: Ix) -> Digest {
    let mut parts = Vec::new();
    let mut todo: Vec<Ix> = graph.waits_for(x).collect();
    while let Some(y) = todo.pop() {
        match graph.vertex(y).kind {
            NodeKind::Task => parts.push(y),
            NodeKind::Plan => {
                parts.push(y);
                todo.extend(standing.members(graph, y));
            }
            NodeKind::All | NodeKind::Any => todo.extend(standing.members(graph, y)),
        }
    }
    parts.sort_unstable();
    parts.dedup();
    let mut text = String::new();
    for part in parts {
        let id = graph.id(part);
        let Some(binding) = result_in(graph, state, standing, part) else {
            continue;
        };
        let before = binding.inputs.as_ref().map_or("", Digest::as_str);
        text.push_str(&format!("{id} {} {before}\n", binding.result_digest()));
    }
    Digest::of(text.as_bytes())
}

/// In topological order, so that what is opened here is not solved for those after it.
fn reopen_changed_inputs(draft: &mut Transaction, is_all_new: bool) {
    let (graph, standing) = (Arc::clone(&draft.graph), Arc::clone(&draft.standing));
    let rebound = core::mem::take(&mut draft.rebound);
    let downstream = if is_all_new {
        BTreeSet::new()
    } else {
        bound_downstream(draft, &rebound)
    };
    if !is_all_new && downstream.is_empty() {
        return;
    }
    for x in graph
        .order()
        .iter()
        .copied()
        .filter(|x| is_all_new || downstream.contains(x))
    {
        let id = graph.id(x);
        let Some(binding) = draft
            .state
            .bindings
            .get(id)
            .filter(|binding| !binding.is_by_person())
        else {
            continue;
        };
        if !graph.waits_for(x).all(|dep| draft.solved()[dep]) {
            continue;
        }
        let now = inputs(&graph, &standing, &draft.state, x);
        if binding.inputs.as_ref().is_some_and(|inputs| *inputs != now) {
            repair(draft, id, "what it was made from is another now");
        }
    }
}

/// The bound tasks that were made from these results, or from what was made from them.
fn bound_downstream(draft: &Transaction, results: &BTreeSet<Ix>) -> BTreeSet<Ix> {
    let graph = &draft.graph;
    let mut found = BTreeSet::new();
    let mut todo: Vec<Ix> = results.iter().copied().collect();
    while let Some(x) = todo.pop() {
        let holders = core::iter::once(x).chain(graph.above(x));
        let users = holders
            .flat_map(|y| graph.needed_by(y))
            .flat_map(|user| graph.subtree(*user));
        for user in users {
            if draft.state.bindings.contains_key(graph.id(user)) && found.insert(user) {
                todo.push(user);
            }
        }
    }
    found
}

/// Opens a solved atom again in its context: it is made again, so often and no more. Its attempts are used up by that:
/// what is a repair counts as one.
pub(super) fn repair(draft: &mut Transaction, id: &AtomId, why: &str) {
    let Some(binding) = draft.unbind(id) else {
        return;
    };
    let Some(context) = binding.context.clone() else {
        return;
    };
    let most = draft
        .task_of(id)
        .map_or(1, |task| measure::attempts_max(&draft.state, task));
    if let Some(tried) = draft
        .task(id)
        .and_then(|task| task.tries.iter_mut().find(|t| t.context == context))
    {
        tried.attempts = tried.attempts.max(most);
    }
    if !count_repair(draft, id, &context, why) {
        return attempt_end::out_of_repairs(draft, id, &context, why);
    }
    ask_before_again(draft, id, &context, (&binding.at, why));
}

/// What happened outside already, and may happen once only, is not made again unasked.
fn ask_before_again(draft: &mut Transaction, id: &AtomId, context: &Digest, since: (&str, &str)) {
    let is_once_only = |task: &Task| {
        let has_failed = |tried: &Try| tried.context == *context && tried.has_failed();
        task.spec.effect.is_once_only() && !task.tries.iter().any(has_failed)
    };
    if draft.task_of(id).is_some_and(is_once_only) {
        let attempt = draft.run().next_attempt(id);
        attempt_end::doubt(draft, (id, &attempt), context, since);
    }
}

/// Counts a repair of an open atom; past the limit the atom fails: then it is false.
pub(super) fn count_repair(
    draft: &mut Transaction,
    id: &AtomId,
    context: &Digest,
    why: &str,
) -> bool {
    let most = draft.state.objective.constraints.max_repairs();
    draft.run().spent.repairs += 1;
    let Some(task) = draft.task(id) else {
        return true;
    };
    let Some(tried) = task
        .tries
        .iter_mut()
        .find(|tried| tried.context == *context)
    else {
        return true;
    };
    tried.repairs += 1;
    let repairs = tried.repairs;
    if repairs > most {
        tried.ended = Some(TryEnd::Failed(FailureClass::Environmental));
        return false;
    }
    draft.say(Event::Repair {
        atom: id.clone(),
        repair: repairs,
        of: most,
        why: why.into(),
    });
    true
}

/// Attempts whose context is not in force any more are ended, at no cost.
fn end_abandoned(draft: &mut Transaction) {
    let prospects = draft.prospects();
    let ground = draft.ground(&prospects);
    let abandoned: Vec<_> = draft
        .state
        .run
        .in_flight
        .iter()
        .filter(|intent| {
            let is_in_force = ground.is_in_force(intent) || ground.prospect_of(intent).is_some();
            !is_in_force || !draft.state.atoms.contains_key(&intent.atom)
        })
        .map(|intent| intent.id.clone())
        .collect();
    for id in abandoned {
        attempt_end::cut_off(draft, &id, "its context was abandoned");
    }
}

/// `failed` tells of the context in force; the tries tell of each.
fn statuses(draft: &mut Transaction, is_all_new: bool) {
    let graph = Arc::clone(&draft.graph);
    let mut failed = BTreeSet::new();
    let wanted = wanted_statuses(draft, draft.suspects(is_all_new), &mut failed);
    debug_assert_eq!(
        wanted,
        wanted_statuses(draft, draft.suspects(true), &mut BTreeSet::new()),
        "an atom that was not touched stands otherwise than it did"
    );
    draft.set_suspects(failed);
    for (x, status) in wanted {
        if let Some(task) = draft.task(graph.id(x)) {
            task.status = status;
        }
    }
}

fn wanted_statuses(
    draft: &Transaction,
    suspects: Vec<(Ix, &Task)>,
    failed: &mut BTreeSet<AtomId>,
) -> Vec<(Ix, AtomStatus)> {
    let mut wanted = Vec::new();
    for (x, task) in suspects {
        let has_failed = draft.has_failed(x, task);
        if has_failed {
            failed.insert(draft.graph.id(x).clone());
        }
        match (&task.status, has_failed) {
            (AtomStatus::Pending, true) => wanted.push((x, AtomStatus::Failed)),
            (AtomStatus::Failed | AtomStatus::Invalid(_), false) => {
                wanted.push((x, AtomStatus::Pending))
            }
            _ => {}
        }
    }
    wanted
}

/// The commits that the result should be made of: of what is live and solved, in the order in which they stand, but none
/// before what it depends on; new ones at the end.
pub(super) fn line_wanted(graph: &Graph, solved: &[bool], state: &State) -> Vec<ResultCommit> {
    let commit = |x: Ix| state.bindings.get(graph.id(x))?.commit.clone();
    line_of(graph, solved, state, commit)
}

pub(super) fn line_of(
    graph: &Graph,
    solved: &[bool],
    state: &State,
    commit: impl Fn(Ix) -> Option<CommitId>,
) -> Vec<ResultCommit> {
    let line = state.run.line.iter();
    let known: BTreeMap<&AtomId, (usize, &ResultCommit)> = line
        .zip(0..)
        .map(|(placed, place)| (&placed.atom, (place, placed)))
        .collect();
    // The last place of all that stands before one: what comes back under an atom is new, and draws it along.
    let mut places = alloc::vec![0; graph.len()];
    let mut wanted: Vec<(usize, ResultCommit)> = Vec::new();
    for x in graph.order().iter().copied().filter(|x| solved[*x]) {
        let kids = graph.vertex(x).kids.iter().copied();
        let before = graph.waits_for(x).chain(kids).filter(|y| solved[*y]);
        places[x] = before.map(|y| places[y]).max().unwrap_or_default();
        let id = graph.id(x);
        let Some(commit) = commit(x) else {
            continue;
        };
        let known = known.get(id);
        let own = known.map_or(usize::MAX, |(place, _)| *place);
        places[x] = places[x].max(own);
        let extra = known.map(|(_, placed)| placed.extra.clone());
        let placed = ResultCommit {
            extra: extra.unwrap_or_default(),
            ..ResultCommit::new(id.clone(), commit)
        };
        wanted.push((places[x], placed));
    }
    wanted.sort_by_key(|(place, _)| *place);
    wanted.into_iter().map(|(_, placed)| placed).collect()
}

/// Whether the line is the wanted one: it holds what is wanted and as much, and its own order is kept.
pub(super) fn is_line_settled(graph: &Graph, solved: &[bool], state: &State) -> bool {
    if state.objective.constraints.workspace() == Workspace::Shared {
        return true;
    }
    let mut wanted: Vec<Option<&CommitId>> = alloc::vec![None; graph.len()];
    for (x, binding) in graph.paired(&state.bindings).filter(|(x, _)| solved[*x]) {
        wanted[x] = binding.commit.as_ref();
    }
    let is_wanted = |placed: &ResultCommit| {
        graph
            .ix(&placed.atom)
            .is_some_and(|x| wanted[x] == Some(&placed.commit))
    };
    wanted.iter().flatten().count() == state.run.line.len() && state.run.line.iter().all(is_wanted)
}
