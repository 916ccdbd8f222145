//! A person's answer about an effect outside that may or may not have happened. It becomes a correction of type
//! `resolution` (contract §8, §10).

use alloc::{
    collections::BTreeSet,
    format,
    string::{String, ToString},
    sync::Arc,
    vec::Vec,
};

use super::{Adoption, Consequence, consequence};
use crate::{
    doc::Node,
    event::Event,
    id::{AtomId, AttemptId, Digest, Serial, UnixMillis},
    measure,
    state::{
        Atom, AtomStatus, Binding, Correction, Entry, EntryKind, Extra, State, Task, TryEnd,
        binding::{SUMMARY_CHARS_MAX, nothing},
        encode::ChangeSet,
        fields::Writer,
        record::{Choices, CorrectionRecord, CorrectionType, InDoubtEntry},
    },
    step::phase,
    world::{World, results},
};

/// An effect that is in doubt.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Doubt {
    pub attempt: AttemptId,
    pub atom: AtomId,
    pub description: String,
    /// The start of its attempt.
    pub since: Option<String>,
    /// Why its effect is in doubt, or whether it may happen again.
    pub reason: Option<String>,
}

/// A person's answer to a doubt.
#[derive(Debug, Clone, Copy)]
pub enum Resolution<'a> {
    /// It happened; in their words, if they gave any.
    Done(Option<&'a str>),
    /// It did not, or may happen again.
    Retry,
}

/// The attempt is not in doubt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotInDoubt;

/// All doubts, in the order of the atoms.
pub fn doubts(state: &State) -> Vec<Doubt> {
    let doubtful = state.atoms.iter().filter_map(|(id, atom)| {
        let AtomStatus::InDoubt(attempt) = &atom.task()?.status else {
            return None;
        };
        let entry = entry_of(state, attempt);
        Some(Doubt {
            attempt: attempt.clone(),
            atom: id.clone(),
            description: atom.title(id).to_string(),
            since: entry.map(|doubt| doubt.started.clone()),
            reason: entry.map(|doubt| doubt.reason.clone()),
        })
    });
    doubtful.collect()
}

/// Resolves a doubt.
pub fn resolve(
    state: &State,
    attempt: &AttemptId,
    said: Resolution<'_>,
    by: &str,
    now: UnixMillis,
) -> Result<Adoption, NotInDoubt> {
    let doubt = doubts(state)
        .into_iter()
        .find(|doubt| doubt.attempt == *attempt);
    let atom = doubt.ok_or(NotInDoubt)?.atom;
    let mut next = state.clone();
    next.serial = Serial(state.serial.0 + 1);
    let at = now.rfc3339();
    if let Some(task) = task(&mut next, &atom) {
        task.status = AtomStatus::Pending;
    }
    let mut changed = BTreeSet::from([atom.clone()]);
    let (what, effect) = match said {
        Resolution::Done(words) => {
            let summary = words.map_or_else(|| format!("done, says {by}"), ToString::to_string);
            let done = bind(&mut next, attempt, &atom, (&summary, by, &at));
            changed.extend(done.plans);
            let effect = if done.is_in_force {
                Consequence::DoubtSettled
            } else {
                Consequence::DoubtOutdated
            };
            (format!("done: {attempt} ({summary})"), effect)
        }
        Resolution::Retry => (
            format!("to be tried again: {attempt}"),
            Consequence::DoubtRetried,
        ),
    };
    let effects = Vec::from([effect]);
    let told = consequence::texts(&effects);
    let id = format!("c{}", next.corrections.len() + 1);
    let correction = Correction::new(CorrectionRecord {
        description: Some(what.clone()),
        changes: told.clone(),
        attempt: Some(attempt.clone()),
        done: Some(matches!(said, Resolution::Done(_))),
        ..CorrectionRecord::new(id, &at, CorrectionType::Resolution, by)
    });
    next.corrections.push(Arc::new(correction));
    Ok(Adoption {
        touched: ChangeSet {
            atoms: changed,
            bindings: BTreeSet::from([atom]),
            run: true,
            ..ChangeSet::default()
        },
        state: next,
        at,
        effects,
        events: Vec::from([Event::Corrected {
            what,
            effects: told,
            lost: Vec::new(),
        }]),
    })
}

/// The trail entries of the doubts that there are, and of those whose atom may come back.
pub(super) fn entries(state: &State) -> Vec<Arc<Entry>> {
    let there = doubts(state).into_iter().map(|doubt| doubt.attempt);
    let absent = of_the_absent(state).into_iter().map(|(_, attempt)| attempt);
    let doubted: BTreeSet<AttemptId> = there.chain(absent).collect();
    let is_of =
        |entry: &&Arc<Entry>| doubt_of(entry).is_some_and(|doubt| doubted.contains(&doubt.attempt));
    state.trail.iter().filter(is_of).cloned().collect()
}

/// The atom and the attempt, if an entry of the trail records a doubt.
fn doubt_of(entry: &Entry) -> Option<&InDoubtEntry> {
    match &entry.kind {
        EntryKind::InDoubt(doubt) => Some(doubt),
        _ => None,
    }
}

fn is_resolved(state: &State, attempt: &AttemptId) -> bool {
    let mut corrections = state.corrections.iter();
    corrections.any(|one| one.data.attempt.as_ref() == Some(attempt))
}

/// Unanswered doubts of atoms that were taken out while their effect was under way.
pub(super) fn of_the_absent(state: &State) -> Vec<(AtomId, AttemptId)> {
    let all = state.all_atoms();
    let is_open = |(atom, attempt): &(AtomId, AttemptId)| {
        !all.contains_key(atom) && !is_resolved(state, attempt)
    };
    let doubts = state.trail.iter().filter_map(|entry| doubt_of(entry));
    let doubts = doubts.map(|doubt| (doubt.atom.clone(), doubt.attempt.clone()));
    doubts.filter(is_open).collect()
}

/// Asks about these doubts if their atoms are back, and open.
pub(super) fn ask(state: &mut State, doubts: Vec<(AtomId, AttemptId)>) {
    for (id, attempt) in doubts {
        let is_open = |atom: &Arc<Atom>| {
            atom.task()
                .is_some_and(|task| task.status == AtomStatus::Pending)
        };
        let Some(atom) = state.atoms.get_mut(&id).filter(|atom| is_open(atom)) else {
            continue;
        };
        if let Some(task) = Arc::make_mut(atom).task_mut() {
            task.status = AtomStatus::InDoubt(attempt);
        }
    }
}

fn entry_of<'s>(state: &'s State, attempt: &AttemptId) -> Option<&'s InDoubtEntry> {
    let mut doubts = state.trail.iter().rev().filter_map(|entry| doubt_of(entry));
    doubts.find(|doubt| doubt.attempt == *attempt)
}

fn task<'s>(state: &'s mut State, atom: &AtomId) -> Option<&'s mut Task> {
    Arc::make_mut(state.atoms.get_mut(atom)?).task_mut()
}

/// The place that the result of a person got.
#[derive(Default)]
struct ReportedResult {
    /// Whether it is bound; otherwise it is kept for when its context is in force.
    is_in_force: bool,
    /// The plans in whose budgets its attempt counts.
    plans: BTreeSet<AtomId>,
}

/// Binds the result in the context that the attempt was started in. It is counted like an attempt that the loop saw
/// succeed.
fn bind(
    state: &mut State,
    attempt: &AttemptId,
    atom: &AtomId,
    said: (&str, &str, &str),
) -> ReportedResult {
    let world = World::new(state.clone());
    let Some(x) = world.graph.ix(atom) else {
        return ReportedResult::default();
    };
    let in_force = world.active.context(x).cloned();
    let recorded = entry_of(state, attempt).and_then(|doubt| doubt.context.clone());
    let Some(context) = recorded.or_else(|| in_force.clone()) else {
        return ReportedResult::default();
    };
    let most = world
        .state
        .atoms
        .get(atom)
        .and_then(|atom| atom.task())
        .map_or(1, |task| measure::attempts_max(state, task));
    let chosen = if in_force.as_ref() == Some(&context) {
        world.active.choices(&world.graph, x)
    } else {
        Choices::default()
    };
    let Some(task) = task(state, atom) else {
        return ReportedResult::default();
    };
    let is_action = task.spec.action.is_some();
    let tried = task.tried_mut(&context, &chosen);
    // Otherwise it is a repair.
    let is_counted = tried.attempts < most;
    tried.attempts += u32::from(is_counted);
    let inputs = results::inputs(&world.graph, &world.active, &world.state, x);
    let is_in_force = in_force.as_ref() == Some(&context);
    let mut binding = Binding {
        summary: said.0.chars().take(SUMMARY_CHARS_MAX).collect(),
        value: None,
        artifacts: Vec::new(),
        commit: None,
        change: None,
        evidence: Vec::from([evidence(said)]),
        context: Some(context),
        inputs: is_in_force.then_some(inputs),
        attempts: tried.attempts,
        by: if is_action { "action" } else { "worker" }.to_string(),
        at: said.2.to_string(),
        of: Arc::new(nothing()),
        handoff: None,
        partial: false,
        extra: Extra::default(),
    };
    let run = Arc::make_mut(&mut state.run);
    run.spent.attempts += u64::from(is_counted);
    run.iteration += 1;
    let plans = if is_counted {
        let one_more = |is_limited: bool, attempts: &mut u32| {
            *attempts = attempts.saturating_add(u32::from(is_limited));
        };
        phase::recount(state, &world.graph, atom, one_more)
    } else {
        BTreeSet::new()
    };
    if !is_in_force {
        if let Some(task) = task_with(state, atom, binding.context.as_ref()) {
            task.ended = Some(TryEnd::Parked(Arc::new(binding)));
        }
    } else if let Some(of) = state.atoms.remove(atom) {
        binding.of = of;
        state.bindings.insert(atom.clone(), Arc::new(binding));
    }
    ReportedResult { is_in_force, plans }
}

fn task_with<'s>(
    state: &'s mut State,
    atom: &AtomId,
    context: Option<&Digest>,
) -> Option<&'s mut crate::state::Try> {
    let task = task(state, atom)?;
    task.tries
        .iter_mut()
        .find(|tried| Some(&tried.context) == context)
}

fn evidence((_, by, at): (&str, &str, &str)) -> Node {
    let mut to = Writer::default();
    to.text("check", "a person says that its effect happened")
        .text("verdict", "pass")
        .text("by", by)
        .text("at", at);
    to.finish(&Extra::default())
}
