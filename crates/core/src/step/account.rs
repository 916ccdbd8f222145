//! The account of a run in its final result: how near it came, what its work took, and who is accountable (contract §9.36).
//! The final answer in words.
//!
//! Invariant: it is made by code from what the state holds, on every ending, and decides nothing.

use super::{base_case, law_point, remedies, transaction::Transaction};
use crate::doc::prelude::*;
use crate::{
    id::AtomId,
    law, memory,
    state::{
        AtomStatus, Binding, Extra, JudgedBy, JudgingRecord, Question, Reason, RunStatus, State,
        Task, Try, TryEnd,
        account::{Accountable, RunMetrics},
        atom::{Rest, TaskQuestion},
        check::Thousandths,
        final_result::{FinalOutput, FinalResultRecord},
        law::{LawPoint, LawWeights, Loss, NearestCommit, SignedThousandths},
    },
    verdict::Verdict,
};

/// The numbers of the delivered tree; a leaf that was not measured does not hold.
pub(super) fn loss(transaction: &Transaction, is_completed: bool) -> Option<Loss> {
    let check = transaction.state.objective.base_case.as_ref()?;
    let basis = base_case::result_basis(transaction)?;
    let (mut inputs, _) = law_point::inputs(transaction, check, &basis);
    if is_completed {
        // In place, what was measured may be out of date by now.
        inputs.distance = 0;
    }
    if !law_point::is_for_somebody(transaction) {
        // Without a planner nothing counted the failures while they came.
        for (_, failed) in transaction.state.failures() {
            let (logical, environmental) = law_point::counts_of(failed);
            inputs.logical = inputs.logical.saturating_add(logical);
            inputs.environmental = inputs.environmental.saturating_add(environmental);
        }
    }
    Some(law::loss_of(&LawWeights::OF_PROGRAM, &inputs))
}

/// The change of the loss since the last point.
pub(super) fn change(loss: &Loss, point: Option<&LawPoint>) -> SignedThousandths {
    let thousandths = |value: Thousandths| i32::try_from(value.0).unwrap_or_default();
    let change = point.map(|point| thousandths(loss.l) - thousandths(point.loss.l));
    SignedThousandths(change.unwrap_or_default())
}

/// The delivered tree, unless a point saw one that is nearer.
pub(super) fn best(transaction: &Transaction, loss: Option<&Loss>) -> Option<NearestCommit> {
    let run = &transaction.state.run;
    let delivered = loss.map(|loss| NearestCommit {
        d: loss.d,
        pass: run.pass,
        serial: run.verdict_on_result().map_or(transaction.state.serial.0, |one| one.serial),
        commit: run.result().cloned(),
        extra: Default::default(),
    });
    let seen = run.law.as_ref().and_then(|law| law.best.clone());
    match (delivered, seen) {
        (Some(delivered), Some(seen))
            if seen.d < delivered.d || seen.commit == delivered.commit =>
        {
            Some(seen)
        }
        (delivered, seen) => delivered.or(seen),
    }
}

/// The first line of the table that is so.
pub(super) fn accountable(transaction: &Transaction, result: &FinalResultRecord) -> Accountable {
    use Accountable as Role;
    let state = &transaction.state;
    let reason = result.reason.unwrap_or(Reason::Bug);
    let is_logical = result.loss.as_ref().is_some_and(|loss| loss.p > LawWeights::OF_PROGRAM.rho);
    let is_doubted = result.output.as_ref().is_some_and(|output| output.doubted);
    let judge_errs = || state.run.judging.as_ref().is_some_and(JudgingRecord::assessor_errs);
    // Everything was done, and the base case did not hold.
    let is_refuted = state.refutations().next().is_some();
    let has_failed = result.still_failed().next().is_some();
    match reason {
        // It is nobody's fault, unless an agent doubts that it is what was asked.
        Reason::AlreadyHeld | Reason::BaseCase if is_doubted => Role::Judge,
        Reason::AlreadyHeld | Reason::BaseCase => Role::Nobody,
        Reason::Bug => Role::Program,
        Reason::Stopped | Reason::Guidance | Reason::InDoubt | Reason::Confirmation => Role::Person,
        Reason::Unavailable => Role::Environment,
        _ if judge_errs() => Role::Judge,
        _ if memory::refuted(state, &transaction.graph).next().is_some() => Role::Memory,
        _ if !remedies::blocked(transaction).is_empty() => Role::Person,
        _ if is_unmeasured(state, result) => Role::Perceiver,
        Reason::Passes | Reason::Abandoned if came_nearer(state) => Role::ControlLaw,
        _ if is_refuted && law_point::is_for_somebody(transaction) => Role::Planner,
        _ if is_refuted => Role::Person,
        _ if has_no_plan(transaction) => Role::Planner,
        _ if has_failed && failed_by_form(state, result) => Role::Answer,
        _ if has_failed && is_logical => Role::Worker,
        _ if has_failed => Role::Environment,
        _ => Role::Person,
    }
}

/// Whether no leaf of the base case was ever decided.
fn is_unmeasured(state: &State, result: &FinalResultRecord) -> bool {
    let mut held = state.run.verdicts.iter().map(|one| one.held);
    let mut verdicts = result.evidence.iter().filter_map(|one| one.verdict.as_deref());
    held.all(|held| held == 0) && !verdicts.any(|verdict| verdict == "pass" || verdict == "fail")
}

/// Whether the distance fell at the newest point.
fn came_nearer(state: &State) -> bool {
    let point = state.run.law.as_ref().and_then(|law| law.point.as_ref());
    point.is_some_and(|point| law::fell(&LawWeights::OF_PROGRAM, point.grad_d))
}

/// Whether a step that plans has failed for good: it came to no plan, or to no further one.
fn has_no_plan(transaction: &Transaction) -> bool {
    let mut plans = transaction.graph.plans().filter_map(|x| transaction.task(x));
    plans.any(|task| task.tries.iter().any(Try::has_failed))
}

/// Whether all that failed has failed by the form of an answer alone.
fn failed_by_form(state: &State, result: &FinalResultRecord) -> bool {
    result.still_failed().all(|failed| {
        let newest = state.newest_failure(&AtomId::new(failed.atom.as_str()));
        newest.is_some_and(|(_, failure)| failure.by_form)
    })
}

/// Counts of tasks and attempts, as far as the state tells them: a new start forgets failures of the environment.
pub(super) fn metrics(transaction: &Transaction) -> RunMetrics {
    let state = &transaction.state;
    let mut metrics = RunMetrics {
        transient: state.run.spent.transient,
        directives: state.run.law.as_ref().map(|law| law.outcomes.clone()).unwrap_or_default(),
        ..RunMetrics::default()
    };
    let atoms = state.all_atoms().into_iter();
    let tasks = atoms.filter(|(_, atom)| atom.plan().is_none());
    for (id, task) in tasks.filter_map(|(id, atom)| Some((id, atom.task()?))) {
        let result = state.bindings.get(id).map(|result| &**result);
        count_task(&mut metrics, task, result);
    }
    let tried = metrics.solved_at_first + metrics.solved_later + metrics.unsolved;
    let mean = metrics.attempts.saturating_mul(u64::from(law::ONE));
    let mean = mean.checked_div(tried).and_then(|mean| u32::try_from(mean).ok());
    metrics.mean_attempts = mean.map(Thousandths);
    metrics
}

/// A result that is kept for another choice counts too; a person's took no attempt.
fn count_task(metrics: &mut RunMetrics, task: &Task, result: Option<&Binding>) {
    let of_result = result.and_then(|result| result.context.as_ref());
    let others = task.tries.iter();
    let others = others.filter(|tried| Some(&tried.context) != of_result);
    let attempts = others.map(|tried| u64::from(tried.attempts));
    metrics.attempts += attempts.clone().sum::<u64>();
    let was_tried = attempts.max() > Some(0);
    let kept = task.tries.iter().find_map(|tried| match &tried.ended {
        Some(TryEnd::Parked(_)) => Some(tried.attempts),
        Some(TryEnd::Failed(_)) | None => None,
    });
    let in_force = result.map(|result| result.attempts);
    metrics.attempts += u64::from(in_force.unwrap_or_default());
    match in_force.or(kept) {
        Some(0) => {}
        Some(1) => metrics.solved_at_first += 1,
        Some(_) => metrics.solved_later += 1,
        None => metrics.unsolved += u64::from(was_tried),
    }
    metrics.interruptions += u64::from(task.interruptions);
    for rest in task.tries.iter().filter_map(|tried| tried.rest) {
        metrics.rested += 1;
        metrics.woken += u64::from(rest == Rest::Woken);
    }
}

// The final answer of a run: what was asked, what holds, what was done, and what is open, in words (contract §9.27).
//
// Invariant: it is made by code alone from what the state holds, on every ending, and decides nothing.

/// Characters of the whole text, and of each part.
const TEXT_CHARS_MAX: usize = 4_000;
const GOAL_CHARS_MAX: usize = 600;
const ITEM_CHARS_MAX: usize = 240;
/// Items of each list.
const ITEMS_MAX: usize = 12;
/// Atoms that are named as used.
const USED_MAX: usize = 100;

/// The answer that a result stands for.
pub(super) fn of(transaction: &Transaction, result: &FinalResultRecord) -> FinalOutput {
    let verdicts = result.evidence.iter().map(|one| one.verdict.as_deref());
    let of = verdicts.clone().count() as u64;
    let held = verdicts.filter(|one| *one == Some(Verdict::Pass.word()));
    let held = held.count() as u64;
    let share = (held * 1_000).checked_div(of).unwrap_or(0);
    let used = delivered(&transaction.state);
    FinalOutput {
        text: text(transaction, result, held, of),
        confidence: (of > 0).then(|| Thousandths(u32::try_from(share).unwrap_or(1_000))),
        used: used.into_iter().take(USED_MAX).collect(),
        notes: notes(transaction, result),
        doubted: false,
        by: Some(JudgedBy::Code),
        extra: Extra::default(),
    }
}

/// The atoms whose changes are in the delivered tree. An earlier tree of the same line has those up to its commit.
fn delivered(state: &State) -> Vec<AtomId> {
    let line: Vec<_> = state.run.line.iter().collect();
    let known = match &state.run.delivered {
        None => line.len(),
        Some(commit) => {
            let place = line.iter().position(|one| one.commit == *commit);
            place.map_or(0, |place| place + 1)
        }
    };
    line[..known].iter().map(|one| one.atom.clone()).collect()
}

/// One line: it is read by programs too, and some of them print it by a shell.
fn text(transaction: &Transaction, result: &FinalResultRecord, held: u64, of: u64) -> String {
    let objective = &transaction.state.objective;
    let mut parts = Vec::from([
        format!("Asked: {}.", short(&objective.goal, GOAL_CHARS_MAX)),
        match of {
            0 => format!("Ended: {}.", result.summary),
            _ => format!("Ended: {}; {held} of {of} checks hold.", result.summary),
        },
    ]);
    let failing = result.evidence.iter().filter(|one| {
        one.verdict.as_deref().is_some_and(|verdict| verdict != Verdict::Pass.word())
    });
    let failing = failing.map(|one| {
        let verdict = one.verdict.as_deref().unwrap_or_default();
        let check = one.check.as_deref().unwrap_or_default();
        format!("{check} ({verdict})")
    });
    parts.extend(list("Not there yet", failing));
    let order = transaction.graph.order().iter();
    let done = order.filter_map(|x| {
        let id = transaction.graph.id(*x);
        let binding = transaction.state.bindings.get(id)?;
        Some(format!("{id}: {}", binding.summary))
    });
    match transaction.state.run.delivered.is_some() {
        // That tree has none of what is done now.
        true => parts.push("An earlier tree is delivered: it is nearer.".into()),
        false => parts.extend(list("Done", done)),
    }
    let open = result.open.iter().map(|step| {
        let why = step.reason.as_deref().map(|why| format!(" ({why})"));
        format!("{}: {}{}", step.atom, step.description, why.unwrap_or_default())
    });
    let is_completed = result.result == Some(RunStatus::Completed);
    // A choice that failed is not open where another one led to the goal.
    let failed = result.still_failed().filter(|_| !is_completed);
    let failed = failed.map(|one| format!("{}: {}", one.atom, one.reason));
    let is_told = |id: &AtomId| {
        let mut told = result.open.iter().map(|step| &step.atom);
        told.any(|one| one == id) || result.failed.iter().any(|one| one.atom == id.as_str())
    };
    let graph = &transaction.graph;
    let leaves = transaction.live_tasks().map(|(x, _)| x);
    let leaves = leaves.filter(|x| transaction.active.is_leaf(graph, *x)).map(|x| graph.id(x));
    let waiting = leaves.filter(|id| !is_told(id)).map(|id| {
        let title = transaction.state.atom(id).map_or("", |atom| atom.title(id));
        format!("{id}: {title} (not done)")
    });
    parts.extend(list("Open", open.chain(failed).chain(waiting)));
    short(&parts.join(" "), TEXT_CHARS_MAX)
}

/// A head with the first of its items; nothing of an empty list.
fn list(head: &str, items: impl Iterator<Item = String>) -> Option<String> {
    let items: Vec<String> = items.collect();
    let more = items.len().saturating_sub(ITEMS_MAX);
    let shown = items.iter().take(ITEMS_MAX);
    let mut shown: Vec<String> = shown.map(|item| short(item, ITEM_CHARS_MAX)).collect();
    if more > 0 {
        shown.push(format!("and {more} more"));
    }
    (!shown.is_empty()).then(|| format!("{head}: {}.", shown.join("; ")))
}

fn notes(transaction: &Transaction, result: &FinalResultRecord) -> Vec<String> {
    let unsteady = result.unsteady.iter();
    let unsteady = unsteady.map(|check| format!("`{check}` failed and held on the same files"));
    let missing = result.missing.iter();
    let missing = missing.map(|part| format!("{} was left out of {}", part.atom, part.of));
    let judged = transaction.state.run.kept(Question::Plan);
    let judged = judged.filter(|report| report.by() == JudgedBy::Nobody);
    let judged = judged.map(|report| {
        let (why, step) = (&report.because, report.atom.as_ref().map_or("", AtomId::as_str));
        format!("the plan of {step} was not judged by a model: {why}")
    });
    let unclear = transaction.state.bindings.iter();
    let unclear = unclear.filter(|(_, binding)| binding.unclear);
    let unclear = unclear.map(|(id, binding)| match binding.unclear_because.as_str() {
        "" => format!("the result of {id} is only partially clear"),
        words => format!("the result of {id} is unclear: {words}"),
    });
    let state = &transaction.state;
    let asked = state.all_atoms().into_iter().flat_map(|(id, atom)| {
        let is_assumed = |task: &&Task| task.status != AtomStatus::NeedsGuidance;
        let task = atom.task().filter(is_assumed);
        let questions = task.map_or(&[][..], |task| &task.questions);
        let questions = questions.iter().filter(|one| !one.assume.is_empty());
        let assumed =
            |one: &TaskQuestion| format!("{id}: {} {} was assumed", one.question, one.assume);
        questions.map(assumed).collect::<Vec<String>>()
    });
    let all = unsteady.chain(missing).chain(judged).chain(unclear);
    let all = all.chain(asked);
    all.map(|note| short(&note, ITEM_CHARS_MAX)).take(ITEMS_MAX).collect()
}

fn short(text: &str, chars_max: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    match line.chars().nth(chars_max) {
        None => line,
        Some(_) => line.chars().take(chars_max - 1).chain(['…']).collect(),
    }
}
