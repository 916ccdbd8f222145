//! What follows from a state as it stands: judge it, choose, start what can start, or end the run.
//!
//! Level-triggered: nothing here asks what happened last, so a resumed run goes on exactly as an undisturbed one.

use alloc::{string::String, vec::Vec};

use super::{
    attempt_end,
    backtrack::{self, BlockCause},
    candidate,
    delivery::{self, Delivery},
    dispatch,
    judgement::{self, Judgement, RunFacts},
    phase, planning, reconcile, run_end, run_start,
    transaction::Transaction,
};
use crate::{
    event::Reason,
    id::AttemptId,
    state::{AtomStatus, Intent, OnStuck, RunStatus, objective::RequestKind},
    verdict::{self, Verdict},
};

/// Selections looked at in one step at most; where there are more, the next step goes on.
const ROUNDS_MAX: usize = 100;

pub(super) fn advance(draft: &mut Transaction) {
    candidate::decide_all(draft);
    draft.session.has_more = (0..ROUNDS_MAX).all(|_| goes_round(draft));
    let head = draft.state.run.head.clone();
    draft.session.forget_trees(head.as_ref());
}

/// Looks at everything once; true where the selection changed, so that all must be looked at again.
fn goes_round(draft: &mut Transaction) -> bool {
    reconcile::settle(draft);
    if backtrack::adopt(draft) {
        return true;
    }
    note_refutation(draft);
    let blocked = backtrack::blocked(draft);
    match judgement::judge(&facts(draft, blocked.is_some())) {
        Judgement::Redirect => {
            run_start::redirect(draft);
            return true;
        }
        Judgement::Stop => stop(draft),
        Judgement::BaseCaseHolds => held(draft),
        Judgement::HardBudget(reason) => {
            interrupt(draft, |_, must_finish| !must_finish, "the budget is over");
            end(draft, reason);
        }
        Judgement::NothingLeft(reason) => {
            set_aside(draft);
            end(draft, reason);
        }
        Judgement::GoOn => return go_on(draft, blocked),
    }
    false
}

/// True where the selection changed, or a phase came to its end.
fn go_on(draft: &mut Transaction, blocked: Option<BlockCause>) -> bool {
    if phase::end_over(draft) {
        return true;
    }
    match blocked {
        // Attempts go on beside.
        Some(blocked) => match backtrack::choose(draft, &blocked) {
            Some(choice) => {
                planning::plan_again(draft, &choice.selection, &choice.because);
                return true;
            }
            None => at_a_dead_end(draft),
        },
        None => dispatch::go_on(draft),
    }
    false
}

/// No selection is left. Where a person is asked, the run ends for that; else what is ready comes to its end first.
fn at_a_dead_end(draft: &mut Transaction) {
    let in_doubt = has_live(draft, |status| matches!(status, AtomStatus::InDoubt(_)));
    let asks = in_doubt.then_some(Reason::InDoubt);
    match asks.or_else(|| unconfirmed(draft)) {
        Some(reason) => end(draft, reason),
        None if dispatch::bring_to_end(draft) => {}
        None => end(draft, Reason::NoChoice),
    }
}

fn facts(draft: &Transaction, is_blocked: bool) -> RunFacts {
    let control = &draft.state.control;
    RunFacts {
        redirect: control.redirect_requested,
        stop: control.stop_requested,
        base_case_holds: delivery::base_verdict(draft) == Some(Verdict::Pass)
            && delivery::may_complete(draft),
        hard_budget: hard_budget(draft),
        nothing_left: if is_blocked {
            None
        } else {
            nothing_left(draft)
        },
    }
}

fn hard_budget(draft: &Transaction) -> Option<Reason> {
    let constraints = &draft.state.objective.constraints;
    let run = &draft.state.run;
    if constraints
        .max_iterations
        .is_some_and(|most| run.iteration >= most)
    {
        return Some(Reason::Iterations);
    }
    let active_ms = draft.spent_ms();
    let is_over = constraints
        .time_budget
        .as_ref()
        .is_some_and(|budget| active_ms >= budget.ms);
    is_over.then_some(Reason::Time)
}

fn has_live(draft: &Transaction, wanted: fn(&AtomStatus) -> bool) -> bool {
    let mut open = draft.graph.paired(&draft.state.atoms);
    open.any(|(x, atom)| {
        draft.standing.is_live(x) && atom.task().is_some_and(|task| wanted(&task.status))
    })
}

/// Nothing runs and nothing can: a person is needed, whatever else.
fn nothing_left(draft: &Transaction) -> Option<Reason> {
    let flying = &draft.state.run.in_flight;
    let all_wait = flying
        .iter()
        .all(|intent| candidate::awaits_person(draft, intent));
    if !draft.session.base_was_seen || !all_wait || dispatch::can_start(draft) {
        return None;
    }
    if has_live(draft, |status| matches!(status, AtomStatus::InDoubt(_))) {
        return Some(Reason::InDoubt);
    }
    if has_live(draft, |status| matches!(status, AtomStatus::NeedsGuidance)) {
        return Some(Reason::Guidance);
    }
    if !draft.state.run.in_flight.is_empty() {
        return Some(Reason::Confirmation);
    }
    let waits_for_person =
        draft.all_resolved() && draft.is_line_settled() && base_waits_for_person(draft);
    waits_for_person.then_some(Reason::Confirmation)
}

fn stuck_status(draft: &Transaction) -> RunStatus {
    match draft.state.objective.constraints.on_stuck() {
        OnStuck::Ask => RunStatus::NeedsGuidance,
        OnStuck::Abandon => RunStatus::Exhausted,
    }
}

/// What is in doubt or unconfirmed comes before `exhausted`.
fn guided(draft: &Transaction, reason: Reason) -> RunStatus {
    match reason {
        Reason::InDoubt | Reason::Confirmation | Reason::Guidance => RunStatus::NeedsGuidance,
        _ => stuck_status(draft),
    }
}

fn stop(draft: &mut Transaction) {
    let is_now = draft
        .state
        .control
        .request
        .as_ref()
        .is_some_and(|request| request.kind == RequestKind::StopNow);
    interrupt(
        draft,
        |intent, must_finish| !must_finish || is_now && !intent.effect.is_once_only(),
        "stopped",
    );
    if is_now {
        draft
            .flying()
            .iter()
            .for_each(|id| attempt_end::lost(draft, id));
    }
    if draft.state.run.in_flight.is_empty() {
        run_end::finish(draft, RunStatus::Stopped, Reason::Stopped, None);
    }
}

/// What no verdict can do without is not there: the run stops, and nothing is completed.
pub(super) fn unavailable(draft: &mut Transaction, why: String) {
    for id in draft.flying() {
        attempt_end::lost(draft, &id);
    }
    draft.session.unavailable = Some(why);
    run_end::finish(draft, RunStatus::Stopped, Reason::Unavailable, None);
}

fn held(draft: &mut Transaction) {
    interrupt(draft, |_, must_finish| !must_finish, "the base case holds");
    if draft.state.run.in_flight.is_empty() {
        let has_worked = draft.state.run.attempts_started > draft.session.started_with;
        let reason = if has_worked {
            Reason::BaseCase
        } else {
            Reason::AlreadyHeld
        };
        run_end::finish(draft, RunStatus::Completed, reason, None);
    }
}

/// Nothing new starts; what is in flight finishes, then the tree to deliver is judged, and the run ends. Where the base
/// case holds on it and no person is asked, the run completes with the rest open.
fn end(draft: &mut Transaction, reason: Reason) {
    if !draft.state.run.in_flight.is_empty() {
        return;
    }
    let status = guided(draft, reason);
    match delivery::choose(draft) {
        Delivery::Awaited => {}
        Delivery::Holds(_) | Delivery::Best(_) if reason.asks_a_person() => {
            run_end::finish(draft, status, reason, None);
        }
        Delivery::Holds(commit) => {
            run_end::finish(draft, RunStatus::Completed, Reason::BaseCase, commit);
        }
        Delivery::Best(commit) => run_end::finish(draft, status, reason, commit),
    }
}

/// Candidates that wait for a person's word are made again once it is there.
fn set_aside(draft: &mut Transaction) {
    interrupt(draft, |_, _| true, "a person must confirm it");
}

/// Ends attempts at no cost.
fn interrupt(draft: &mut Transaction, which: impl Fn(&Intent, bool) -> bool, why: &'static str) {
    let chosen: Vec<AttemptId> = draft
        .state
        .run
        .in_flight
        .iter()
        .filter(|intent| which(intent, draft.must_finish(intent)))
        .map(|intent| intent.id.clone())
        .collect();
    chosen
        .iter()
        .for_each(|id| attempt_end::cut_off(draft, id, why));
}

/// With all roots resolved and the base case failed on this very tree, the selection is refuted.
fn note_refutation(draft: &mut Transaction) {
    if delivery::base_verdict(draft) != Some(Verdict::Fail)
        || !draft.all_resolved()
        || !draft.is_line_settled()
    {
        return;
    }
    if !draft.state.run.in_flight.is_empty()
        || matches!(backtrack::blocked(draft), Some(BlockCause::Refuted))
    {
        return;
    }
    let check = draft.state.objective.base_case.clone();
    let (Some(basis), Some(check)) = (delivery::deciding_basis(draft), check) else {
        return;
    };
    let mut failed = Vec::new();
    let mut text = String::new();
    for leaf in check.leaves() {
        if verdict::assertions::is_denied(&draft.state.corrections, leaf, &basis) {
            failed.push(leaf.title());
        }
        let Some(seen) = draft.session.evidence.get(&leaf.key(), &basis) else {
            continue;
        };
        if seen.verdict != Verdict::Pass {
            failed.push(leaf.title());
            text.push_str(&seen.measurement.excerpt);
        }
    }
    let evidence = verdict::evidence_of(
        &check,
        &basis,
        &draft.session.evidence,
        &draft.state.corrections,
    );
    backtrack::refute(draft, failed, evidence, &text);
}

/// Whether all that a machine can tell holds, and a person must say the rest.
fn base_waits_for_person(draft: &Transaction) -> bool {
    let check = draft.state.objective.base_case.as_ref();
    let (Some(check), Some(basis)) = (check, delivery::deciding_basis(draft)) else {
        return false;
    };
    draft.court(&basis, |court| {
        matches!(
            court.judge(check),
            verdict::CheckProgress::Confirm(_) | verdict::CheckProgress::Decided(Verdict::Unknown)
        )
    })
}

/// With nothing left to try: only a person's word is missing on the tree as it stands.
fn unconfirmed(draft: &Transaction) -> Option<Reason> {
    (draft.is_line_settled() && base_waits_for_person(draft)).then_some(Reason::Confirmation)
}
