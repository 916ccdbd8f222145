//! Decides what follows from a state: judge it, choose, start what can start, or end the run.
//!
//! Level-triggered: nothing here depends on the last input, so a resumed run goes on exactly as an undisturbed one.

use super::{
    attempt_end,
    backtrack::{self, BlockCause},
    base_case::{self, Delivery},
    candidate, consult,
    dead_end::{self, DeadEnd, DeadEndFacts},
    dispatch,
    judgement::{self, Judgement, RunFacts},
    law_point, pass_questions, phase, planning, probing, question, rate, reconcile, redirect,
    replan, rest, run_end,
    transaction::Transaction,
    usage,
};
use crate::doc::prelude::*;
use crate::{
    event::Reason,
    state::{AtomStatus, Intent, OnStuck, RunStatus, objective::RequestKind},
    verdict::{CheckProgress, Verdict},
    world::Unavailable,
};

/// Selections tried in one step at most; if there are more, the next step goes on.
const ROUNDS_MAX: usize = 100;

pub(super) fn advance(transaction: &mut Transaction) {
    let awaits_change = transaction.state.run.status == RunStatus::Redirecting;
    if awaits_change && !transaction.state.control.stop_requested {
        return;
    }
    replan::grant(transaction);
    candidate::decide_all(transaction);
    transaction.session.has_more = (0..ROUNDS_MAX).all(|_| goes_round(transaction));
    consult::follow(transaction);
    let run = &transaction.state.run;
    let bases = run.in_flight.iter().filter_map(|intent| intent.base.as_ref());
    let needed: Vec<_> = bases.chain(&run.head).cloned().collect();
    transaction.session.forget_trees(&needed);
}

/// Checks everything once; true if the selection changed, so that all must be checked again.
fn goes_round(transaction: &mut Transaction) -> bool {
    reconcile::reconcile_results(transaction);
    if backtrack::adopt(transaction) {
        return true;
    }
    if probing::prefer(transaction) {
        return true;
    }
    note_refutation(transaction);
    let blocked = backtrack::blocked(transaction);
    base_case::see_what_is_known(transaction);
    match judgement::judge(&facts(transaction, blocked.is_some())) {
        Judgement::Redirect => {
            redirect::obey(transaction);
            return true;
        }
        Judgement::Stop => stop(transaction),
        Judgement::AwaitChange => {}
        Judgement::BaseCaseHolds => {
            let has_begun = transaction.state.run.attempts_started > 0;
            let reason = if has_begun { Reason::BaseCase } else { Reason::AlreadyHeld };
            end_now(transaction, RunStatus::Completed, reason, "the base case holds");
        }
        Judgement::Unavailable => {
            let (status, reason) = (RunStatus::Stopped, Reason::Unavailable);
            end_now(transaction, status, reason, "an agent cannot be used");
        }
        Judgement::HardBudget(reason) => {
            interrupt_at_limit(transaction, reason);
            end(transaction, reason);
        }
        Judgement::NothingLeft(reason) => end(transaction, reason),
        Judgement::GoOn => return go_on(transaction, blocked),
    }
    false
}

/// True if the selection or the plan changed, a phase came to its end, or an agent cannot be used.
fn go_on(transaction: &mut Transaction, blocked: Option<BlockCause>) -> bool {
    if phase::end_over(transaction) {
        return true;
    }
    match blocked {
        // Other attempts go on meanwhile.
        Some(blocked) => {
            if at_a_dead_end(transaction, &blocked) {
                return true;
            }
        }
        None => dispatch::go_on(transaction),
    }
    // Something that was to start cannot: that is judged at once.
    transaction.session.unavailable.is_some()
}

/// The selection in force is blocked. True if another was taken, or the plan changed.
fn at_a_dead_end(transaction: &mut Transaction, blocked: &BlockCause) -> bool {
    let selection = backtrack::find(transaction, blocked);
    let mut facts = DeadEndFacts {
        another_selection: selection.is_some(),
        rests: rest::is_any(transaction),
        ..DeadEndFacts::default()
    };
    match &selection {
        Some(selection) if planning::is_planned_again(transaction, selection) => {
            if law_point::is_awaited(transaction) {
                return false;
            }
            if law_point::take(transaction) {
                return true;
            }
        }
        Some(_) => {}
        None if facts.rests => {}
        None => facts = without_selection(transaction),
    }
    if matches!(dead_end::judge(&facts), DeadEnd::ChangePlan | DeadEnd::End)
        && law_point::take(transaction)
    {
        return true;
    }
    let mut change = None;
    if dead_end::judge(&facts) == DeadEnd::ChangePlan {
        if is_opinion_awaited(transaction, blocked) {
            return false;
        }
        change = replan::next_change(transaction, blocked);
        facts.may_change = change.is_some();
    }
    match dead_end::judge(&facts) {
        DeadEnd::TakeSelection => {
            if let Some(selection) = selection {
                let because = backtrack::select_instead(transaction, blocked, &selection);
                planning::plan_again(transaction, &selection, &because);
            }
            return true;
        }
        DeadEnd::Wake => {
            rest::wake(transaction);
            return true;
        }
        DeadEnd::AskFirst(reason) => end(transaction, reason),
        DeadEnd::BringToEnd | DeadEnd::AwaitVerdict => {}
        DeadEnd::ChangePlan => {
            if let Some(change) = change {
                replan::change(transaction, change);
            }
            return true;
        }
        DeadEnd::AskForGuidance => end(transaction, Reason::Guidance),
        DeadEnd::Complete | DeadEnd::End => {
            let reason = match () {
                () if replan::is_given_up(transaction) => Reason::Abandoned,
                () if replan::are_passes_over(transaction) => Reason::Passes,
                () => Reason::NoChoice,
            };
            end(transaction, reason);
        }
    }
    false
}

/// Whether an agent is asked first: about the pass that came to its end, then for a change of the plan.
fn is_opinion_awaited(transaction: &mut Transaction, blocked: &BlockCause) -> bool {
    if let Some(asked) = transaction.state.run.consult.clone() {
        if consult::is_wanted(transaction, &asked) {
            return true;
        }
        // Nothing else would follow from a question that is void.
        question::close(transaction, None);
    }
    let subject = question::subject_of_plan(&transaction.state, &transaction.graph);
    pass_questions::is_awaited(transaction, blocked, &subject)
}

/// The facts where no selection is left. It starts ready work, and has the tree to deliver judged only after that.
fn without_selection(transaction: &mut Transaction) -> DeadEndFacts {
    let in_doubt = has_live(transaction, |status| matches!(status, AtomStatus::InDoubt(_)));
    let in_doubt = in_doubt.then_some(Reason::InDoubt);
    // Only a person's confirmation is missing on the present tree.
    let unconfirmed = transaction.is_line_settled() && base_waits_for_person(transaction);
    let mut facts = DeadEndFacts {
        asks_first: in_doubt.or(unconfirmed.then_some(Reason::Confirmation)),
        may_change: replan::may_change(transaction),
        awaits_guidance: asks(transaction),
        ..DeadEndFacts::default()
    };
    if facts.asks_first.is_some() {
        return facts;
    }
    facts.is_at_work = dispatch::bring_to_end(transaction);
    if !facts.is_at_work {
        match base_case::choose(transaction) {
            Delivery::Awaited => facts.awaits_verdict = true,
            Delivery::Holds(_) => facts.base_case_holds = true,
            Delivery::Best(_) => {}
        }
    }
    facts
}

fn facts(transaction: &Transaction, is_blocked: bool) -> RunFacts {
    let control = &transaction.state.control;
    let awaits_change = transaction.state.run.status == RunStatus::Redirecting;
    RunFacts {
        redirect: control.redirect_requested && !awaits_change,
        stop: control.stop_requested,
        awaits_change,
        base_case_holds: base_case::base_verdict(transaction) == Some(Verdict::Pass)
            && base_case::may_complete(transaction),
        unavailable: transaction.session.unavailable.is_some(),
        hard_budget: hard_budget(transaction),
        nothing_left: if is_blocked { None } else { nothing_left(transaction) },
    }
}

fn hard_budget(transaction: &Transaction) -> Option<Reason> {
    let constraints = &transaction.state.objective.constraints;
    let run = &transaction.state.run;
    if constraints.budget.iterations.is_some_and(|most| run.iteration >= most) {
        return Some(Reason::Iterations);
    }
    let active_ms = transaction.spent_ms();
    let is_over = constraints.budget.time.as_ref().is_some_and(|budget| active_ms >= budget.ms);
    if is_over {
        return Some(Reason::Time);
    }
    let lacks = dispatch::lacks(transaction).or_else(|| rate::lacks(transaction));
    let lacks = lacks.filter(|_| !consult::is_due(transaction));
    usage::reached(transaction).or(lacks).and_then(Reason::of_limit)
}

fn has_live(transaction: &Transaction, wanted: fn(&AtomStatus) -> bool) -> bool {
    transaction.live_tasks().any(|(_, task)| wanted(&task.status))
}

/// Whether a person's words are waited for: by an atom in force, or by the agent of any other.
fn asks(transaction: &Transaction) -> bool {
    let mut open = transaction.open_tasks();
    has_live(transaction, |status| *status == AtomStatus::NeedsGuidance)
        || open
            .any(|(_, task)| task.status == AtomStatus::NeedsGuidance && !task.questions.is_empty())
}

/// Nothing runs and nothing can start: a person is needed.
fn nothing_left(transaction: &Transaction) -> Option<Reason> {
    let in_flight = &transaction.state.run.in_flight;
    if !transaction.session.base_was_seen
        || !transaction.is_idle()
        || dispatch::can_start(transaction)
    {
        return None;
    }
    if has_live(transaction, |status| matches!(status, AtomStatus::InDoubt(_))) {
        return Some(Reason::InDoubt);
    }
    if asks(transaction) {
        return Some(Reason::Guidance);
    }
    if !in_flight.is_empty() {
        return Some(Reason::Confirmation);
    }
    let waits_for_person = transaction.all_resolved()
        && transaction.is_line_settled()
        && base_waits_for_person(transaction);
    waits_for_person.then_some(Reason::Confirmation)
}

/// A doubt or a missing confirmation comes before `exhausted`.
fn guided(transaction: &Transaction, reason: Reason) -> RunStatus {
    match transaction.state.objective.constraints.on_stuck() {
        OnStuck::Abandon if !reason.asks_a_person() => RunStatus::Exhausted,
        OnStuck::Abandon | OnStuck::Ask => RunStatus::NeedsGuidance,
    }
}

fn stop(transaction: &mut Transaction) {
    let request = transaction.state.control.request.as_ref();
    let is_now = request.is_some_and(|request| request.kind == RequestKind::StopNow);
    let which = |transaction: &Transaction, intent: &Intent| {
        !transaction.must_finish(intent) || is_now && !intent.effect.is_once_only()
    };
    interrupt(transaction, which, "stopped");
    if is_now {
        let mut lost = transaction.all_in_flight();
        lost.retain(|intent| !transaction.is_parked(intent));
        lost.iter().for_each(|one| attempt_end::lost(transaction, one));
    }
    if transaction.is_at_rest() {
        run_end::finish(transaction, RunStatus::Stopped, Reason::Stopped, None);
    }
}

/// A verdict needs something that is missing: the run stops, and nothing is completed.
pub(super) fn unavailable(transaction: &mut Transaction, why: String) {
    for intent in transaction.all_in_flight() {
        attempt_end::lost(transaction, &intent);
    }
    transaction.session.unavailable = Some(Unavailable::outside(why));
    run_end::finish(transaction, RunStatus::Stopped, Reason::Unavailable, None);
}

/// Ends the run in order, once all attempts are over but those that must finish.
fn end_now(transaction: &mut Transaction, status: RunStatus, reason: Reason, why: &'static str) {
    interrupt(transaction, |transaction, intent| !transaction.must_finish(intent), why);
    if transaction.is_at_rest() {
        run_end::finish(transaction, status, reason, None);
    }
}

/// Nothing new starts. Attempts in flight finish, then the tree to deliver is judged, and the run ends. If the base
/// case holds on that tree and no person is asked, the run completes with the rest open.
fn end(transaction: &mut Transaction, reason: Reason) {
    if !transaction.is_at_rest() {
        return;
    }
    let status = guided(transaction, reason);
    match base_case::choose(transaction) {
        Delivery::Awaited => {}
        Delivery::Holds(_) | Delivery::Best(_) if reason.asks_a_person() => {
            run_end::finish(transaction, status, reason, None);
        }
        Delivery::Holds(commit) => {
            run_end::finish(transaction, RunStatus::Completed, Reason::BaseCase, commit);
        }
        Delivery::Best(commit) => run_end::finish(transaction, status, reason, commit),
    }
}

/// Ends what must not finish. At a limit of usage, what only has to land does, for that costs nothing.
fn interrupt_at_limit(transaction: &mut Transaction, reason: Reason) {
    let is_of_usage = reason.usage_limit().is_some();
    if is_of_usage {
        question::close(transaction, None);
    }
    let which = |transaction: &Transaction, intent: &Intent| {
        let lands = is_of_usage && usage::is_landing(transaction, intent);
        !transaction.must_finish(intent) && !lands
    };
    interrupt(transaction, which, "the budget is over");
}

/// Ends attempts without counting them, but for candidates that wait for a word.
fn interrupt(
    transaction: &mut Transaction,
    which: impl Fn(&Transaction, &Intent) -> bool,
    why: &'static str,
) {
    for intent in transaction.all_in_flight() {
        if which(transaction, &intent) && !transaction.is_parked(&intent) {
            attempt_end::cut_off(transaction, &intent, why);
        }
    }
}

/// Refutes the selection if all roots are resolved and the base case failed on this very tree.
fn note_refutation(transaction: &mut Transaction) {
    if base_case::base_verdict(transaction) != Some(Verdict::Fail)
        || !transaction.all_resolved()
        || !transaction.is_line_settled()
    {
        return;
    }
    if !transaction.state.run.in_flight.is_empty()
        || matches!(backtrack::blocked(transaction), Some(BlockCause::Refuted))
    {
        return;
    }
    let check = transaction.state.objective.base_case.clone();
    let (Some(basis), Some(check)) = (base_case::deciding_basis(transaction), check) else {
        return;
    };
    let mut failed = Vec::new();
    let mut text = String::new();
    for leaf in check.leaves() {
        let judged = transaction.evaluator(&basis).judge(leaf);
        let seen = transaction.session.evidence.get(&leaf.key(), &basis);
        let seen = seen.filter(|seen| seen.verdict != Verdict::Pass);
        if seen.is_some() || judged == CheckProgress::Decided(Verdict::Fail) {
            failed.push(leaf.title());
        }
        text.extend(seen.map(|seen| seen.measurement.excerpt.as_str()));
    }
    let evidence = transaction.evaluator(&basis).evidence_of(&check);
    backtrack::refute(transaction, failed, evidence, &text);
    law_point::take(transaction);
}

/// Whether all machine checks hold and a person must decide the rest.
fn base_waits_for_person(transaction: &Transaction) -> bool {
    let check = transaction.state.objective.base_case.as_ref();
    let (Some(check), Some(basis)) = (check, base_case::deciding_basis(transaction)) else {
        return false;
    };
    let progress = transaction.evaluator(&basis).judge(check);
    matches!(progress, CheckProgress::Confirm(_) | CheckProgress::Decided(Verdict::Unknown))
}
