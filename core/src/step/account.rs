//! The account of a run in its final result: how near it came, what its work took, and who is accountable (contract §9.36).
//!
//! Invariant: it is made by code from what the state holds, on every ending, and decides nothing.

use super::{delivery, law_point, remedies, transaction::Transaction};
use crate::{
    id::AtomId,
    law::{self, LawInputs},
    memory, search,
    state::{
        Binding, JudgingRecord, Reason, RunStatus, State, Task, TryEnd,
        account::{Accountable, LastDirective, Loss, RunMetrics},
        atom::Rest,
        check::Thousandths,
        final_result::{FinalOutput, FinalResultRecord},
        law::{LawPoint, LawWeights, NearestCommit, SignedThousandths},
    },
};

/// A result with its account.
pub(super) fn add(transaction: &Transaction, result: FinalResultRecord) -> FinalResultRecord {
    let state = &transaction.state;
    let point = state.run.law.as_ref().and_then(|law| law.point.as_ref());
    let is_completed = result.result == Some(RunStatus::Completed);
    let loss = result.loss.clone();
    let given = point.and_then(|point| LastDirective::of_word(point.directive.word()));
    FinalResultRecord {
        grad_l: loss.as_ref().map(|loss| change(loss, point)),
        directive: if is_completed { Some(LastDirective::Accept) } else { given },
        best: best(transaction, loss.as_ref()),
        accountable: Some(accountable(transaction, &result, loss.as_ref())),
        metrics: Some(metrics(transaction)),
        loss,
        ..result
    }
}

/// The numbers of the delivered tree; a leaf that was not measured does not hold.
pub(super) fn loss(transaction: &Transaction, is_completed: bool) -> Option<Loss> {
    let check = transaction.state.objective.base_case.as_ref()?;
    let basis = delivery::result_basis(transaction)?;
    let failing = law_point::failing(transaction, check, &basis);
    let inputs = law_point::inputs(transaction, check, &basis, &failing);
    let inputs = match is_completed {
        // In place, what was measured may be out of date by now.
        true => LawInputs { distance: 0, ..inputs },
        false => inputs,
    };
    let inputs = match law_point::is_for_somebody(transaction) {
        true => inputs,
        // Without a planner nothing counted the failures while they came.
        false => with_failures(&transaction.state, inputs),
    };
    Some(law::loss_of(&LawWeights::OF_PROGRAM, &inputs))
}

fn with_failures(state: &State, inputs: LawInputs) -> LawInputs {
    let failures = state.failures();
    let counts = failures.map(|(_, failed)| law_point::counts_of(failed));
    let of_failures = |(logical, environmental): (u64, u64), (more, others): (u64, u64)| {
        let logical = logical.saturating_add(more);
        (logical, environmental.saturating_add(others))
    };
    let (logical, environmental) = counts.fold((0, 0), of_failures);
    LawInputs {
        logical: inputs.logical.saturating_add(logical),
        environmental: inputs.environmental.saturating_add(environmental),
        ..inputs
    }
}

fn change(loss: &Loss, point: Option<&LawPoint>) -> SignedThousandths {
    let thousandths = |value: Thousandths| i32::try_from(value.0).unwrap_or_default();
    let change = point.map(|point| thousandths(loss.l) - thousandths(point.l));
    SignedThousandths(change.unwrap_or_default())
}

/// The delivered tree, unless a point saw one that is nearer.
fn best(transaction: &Transaction, loss: Option<&Loss>) -> Option<NearestCommit> {
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
fn accountable(
    transaction: &Transaction,
    result: &FinalResultRecord,
    loss: Option<&Loss>,
) -> Accountable {
    use Accountable as Role;
    let reason = result.reason.unwrap_or(Reason::Bug);
    let facts = AccountFacts::of(transaction, result);
    let is_logical = loss.is_some_and(|loss| loss.p.0 > LawWeights::OF_PROGRAM.rho.0);
    match reason {
        Reason::AlreadyHeld | Reason::BaseCase => of_completed(result.output.as_ref()),
        Reason::Bug => Role::Program,
        Reason::Stopped | Reason::Guidance | Reason::InDoubt | Reason::Confirmation => Role::Person,
        Reason::Unavailable => Role::Environment,
        _ if facts.judge_errs => Role::Judge,
        _ if facts.memory_errs => Role::Memory,
        _ if !remedies::blocked(transaction).is_empty() => Role::Person,
        _ if facts.is_unmeasured => Role::Perceiver,
        Reason::Passes | Reason::Abandoned if facts.came_nearer => Role::ControlLaw,
        _ if facts.is_refuted && facts.has_planner => Role::Planner,
        _ if facts.is_refuted => Role::Person,
        _ if facts.has_no_plan => Role::Planner,
        _ if facts.has_failed && facts.by_form => Role::Answer,
        _ if facts.has_failed && is_logical => Role::Worker,
        _ if facts.has_failed => Role::Environment,
        _ => Role::Person,
    }
}

/// A base case that holds is nobody's fault, unless an agent doubts that it is what was asked.
pub(super) fn of_completed(output: Option<&FinalOutput>) -> Accountable {
    if output.is_some_and(|output| output.doubted) {
        Accountable::Judge
    } else {
        Accountable::Nobody
    }
}

/// The facts about an ending without success.
struct AccountFacts {
    /// An assessor took several passes for converged.
    judge_errs: bool,
    /// A lesson spoke against a choice that is solved.
    memory_errs: bool,
    /// No leaf of the base case was ever decided.
    is_unmeasured: bool,
    /// The distance fell at the newest point.
    came_nearer: bool,
    /// Everything was done, and the base case did not hold.
    is_refuted: bool,
    has_planner: bool,
    /// A step that plans has failed for good: it came to no plan, or to no further one.
    has_no_plan: bool,
    has_failed: bool,
    /// All that failed has failed by the form of an answer alone.
    by_form: bool,
}

impl AccountFacts {
    fn of(transaction: &Transaction, result: &FinalResultRecord) -> Self {
        let state = &transaction.state;
        let judging = state.run.judging.as_ref();
        let decided = |verdict: &str| verdict == "pass" || verdict == "fail";
        let mut held = state.run.verdicts.iter().map(|one| one.held);
        let mut verdicts = result.evidence.iter().filter_map(|one| one.verdict.as_deref());
        let point = state.run.law.as_ref().and_then(|law| law.point.as_ref());
        let least = i64::from(LawWeights::OF_PROGRAM.epsilon.0);
        let mut plans = transaction.graph.plans().map(|x| transaction.graph.id(x));
        let has_no_plan = |id: &AtomId| {
            let mut tries = search::tries(state, id).iter();
            tries.any(|tried| tried.has_failed())
        };
        Self {
            judge_errs: judging.is_some_and(JudgingRecord::assessor_errs),
            memory_errs: memory::has_erred(state, &transaction.graph),
            is_unmeasured: held.all(|held| held == 0) && !verdicts.any(decided),
            came_nearer: point.is_some_and(|point| {
                let fell = -i64::from(point.grad_d.0);
                fell > 0 && fell >= least
            }),
            is_refuted: state.refutations().next().is_some(),
            has_planner: law_point::is_for_somebody(transaction),
            has_no_plan: plans.any(has_no_plan),
            has_failed: result.still_failed().next().is_some(),
            by_form: result.still_failed().all(|failed| {
                let newest = state.newest_failure(&AtomId::new(failed.atom.as_str()));
                newest.is_some_and(|(_, failure)| failure.by_form)
            }),
        }
    }
}

/// Counts of tasks and attempts, as far as the state tells them: a new start forgets failures of the environment.
fn metrics(transaction: &Transaction) -> RunMetrics {
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
