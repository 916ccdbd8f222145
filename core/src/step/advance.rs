//! What follows from a state as it stands: judge it, choose, start what can start, or end the run.
//!
//! Level-triggered: nothing here asks what happened last, so a resumed run goes on exactly as an undisturbed one.

use alloc::{collections::BTreeMap, format, string::String, sync::Arc, vec::Vec};

use super::{
    backtrack::{self, Blocked},
    draft::Draft,
    finish,
    judgement::{self, Facts, Judgement},
    settle, slots, started,
};
use crate::{
    event::{Notice, Reason},
    graph::{Ix, Kind},
    id::{AttemptId, UnixMillis},
    measure,
    state::{Effect, Intent, OnStuck, RunStatus, Status, objective::RequestKind},
    verdict::{self, Verdict},
};

/// Selections looked at in one step at most: each differs from all before, so this is never reached by a search.
const ROUNDS_MAX: usize = 1_000;

pub(super) fn advance(draft: &mut Draft) {
    for _ in 0..ROUNDS_MAX {
        settle::settle(draft);
        note_refutation(draft);
        let blocked = backtrack::blocked(draft);
        let facts = facts(draft, blocked.is_some());
        match judgement::judge(&facts) {
            Judgement::Redirect => started::redirect(draft),
            Judgement::Stop => return stop(draft),
            Judgement::BaseCaseHolds => return held(draft),
            Judgement::HardBudget(reason) => return end_when_quiet(draft, stuck_status(draft), reason, true),
            Judgement::NothingLeft(reason) => return end_when_quiet(draft, guided(draft, reason), reason, false),
            Judgement::GoOn => match blocked {
                // Attempts go on beside; the selection is made anew, and everything is looked at again.
                Some(blocked) if backtrack::choose(draft, &blocked) => {}
                Some(_) => return end_when_quiet(draft, guided(draft, Reason::NoChoice), Reason::NoChoice, false),
                None => return go_on(draft),
            },
        }
    }
}

fn facts(draft: &Draft, is_blocked: bool) -> Facts {
    let control = &draft.state.control;
    Facts {
        redirect: control.redirect_requested,
        stop: control.stop_requested,
        base_case_holds: draft.base_verdict() == Some(Verdict::Pass),
        hard_budget: hard_budget(draft),
        nothing_left: if is_blocked { None } else { nothing_left(draft) },
    }
}

fn hard_budget(draft: &Draft) -> Option<Reason> {
    let constraints = &draft.state.objective.constraints;
    let run = &draft.state.run;
    if constraints.max_iterations.is_some_and(|most| run.iteration >= most) {
        return Some(Reason::Iterations);
    }
    let active_ms = run.spent.active_ms + draft.session.unwritten_ms;
    let is_over = constraints.time_budget.as_ref().is_some_and(|budget| active_ms >= budget.ms);
    is_over.then_some(Reason::Time)
}

/// Nothing runs and nothing can: a person is needed, whatever else.
fn nothing_left(draft: &Draft) -> Option<Reason> {
    if !draft.session.base_was_seen || !draft.state.run.in_flight.is_empty() || draft.has_ready() {
        return None;
    }
    let live_status = |wanted: fn(&Status) -> bool| {
        draft.graph.tasks().any(|x| {
            draft.standing.is_live(x) && draft.task_of(draft.graph.id(x)).is_some_and(|task| wanted(&task.status))
        })
    };
    if live_status(|status| matches!(status, Status::InDoubt(_))) {
        return Some(Reason::InDoubt);
    }
    if live_status(|status| matches!(status, Status::NeedsGuidance)) {
        return Some(Reason::Guidance);
    }
    let waits_for_person = draft.all_resolved() && draft.is_line_settled() && draft.base_waits_for_person();
    waits_for_person.then_some(Reason::Confirmation)
}

fn stuck_status(draft: &Draft) -> RunStatus {
    match draft.state.objective.constraints.on_stuck() {
        OnStuck::Ask => RunStatus::NeedsGuidance,
        OnStuck::Abandon => RunStatus::Exhausted,
    }
}

/// What is in doubt or unconfirmed comes before `exhausted`.
fn guided(draft: &Draft, reason: Reason) -> RunStatus {
    match reason {
        Reason::InDoubt | Reason::Confirmation | Reason::Guidance => RunStatus::NeedsGuidance,
        _ => stuck_status(draft),
    }
}

fn stop(draft: &mut Draft) {
    let is_now = draft.state.control.request.as_ref().is_some_and(|request| request.kind == RequestKind::StopNow);
    interrupt(draft, |intent, must_finish| !must_finish || is_now && !intent.effect.is_once_only(), "stopped");
    if is_now {
        let rest: Vec<AttemptId> = draft.state.run.in_flight.iter().map(|intent| intent.id.clone()).collect();
        rest.iter().for_each(|id| super::ended::lost(draft, id));
    }
    if draft.state.run.in_flight.is_empty() {
        finish::finish(draft, RunStatus::Stopped, Reason::Stopped);
    }
}

fn held(draft: &mut Draft) {
    interrupt(draft, |_, must_finish| !must_finish, "the base case holds");
    if draft.state.run.in_flight.is_empty() {
        let has_worked = draft.session.has_dispatched(&draft.state);
        let reason = if has_worked { Reason::BaseCase } else { Reason::AlreadyHeld };
        finish::finish(draft, RunStatus::Completed, reason);
    }
}

/// Nothing new starts; what is in flight finishes, or is ended where a budget is over and it may be.
fn end_when_quiet(draft: &mut Draft, status: RunStatus, reason: Reason, interrupts: bool) {
    if interrupts {
        interrupt(draft, |_, must_finish| !must_finish, "the budget is over");
    }
    if draft.state.run.in_flight.is_empty() {
        finish::finish(draft, status, reason);
    }
}

/// Ends attempts at no cost.
fn interrupt(draft: &mut Draft, which: impl Fn(&Intent, bool) -> bool, why: &'static str) {
    let chosen: Vec<AttemptId> = draft
        .state
        .run
        .in_flight
        .iter()
        .filter(|intent| which(intent, draft.must_finish(intent)))
        .map(|intent| intent.id.clone())
        .collect();
    for id in chosen {
        if let Some(intent) = draft.land(&id) {
            draft.say(Notice::Interrupted { attempt: id, atom: intent.atom, why });
        }
    }
}

fn go_on(draft: &mut Draft) {
    aim_base_case(draft);
    if draft.session.base_was_seen && draft.is_line_settled() {
        dispatch(draft);
    }
}

/// Decides on what the base case is evaluated next: one evaluation at a time.
fn aim_base_case(draft: &mut Draft) {
    let Some(basis) = draft.basis() else { return };
    let all_resolved = draft.all_resolved();
    if draft.session.base_target.is_some() && !all_resolved {
        return;
    }
    let wants = draft.base_is_open(&basis) && draft.is_line_settled();
    let is_due = draft.session.base_again_at.is_none_or(|at| at <= draft.now);
    let is_affordable = draft.session.verify_ms.saturating_mul(4) <= draft.session.active_ms;
    let is_asked = all_resolved || !draft.session.base_was_seen || is_affordable;
    draft.session.base_target = (wants && is_due && is_asked).then_some(basis);
}

fn dispatch(draft: &mut Draft) {
    let mut free = slots(&draft.state, &draft.session).saturating_sub(draft.state.run.in_flight.len());
    let fragile_flies = draft.state.run.in_flight.iter().any(|intent| draft.interruptions(&intent.atom) >= 2);
    if fragile_flies || free == 0 {
        return;
    }
    for x in draft.ready() {
        if free == 0 {
            return;
        }
        // What was cut off twice may be what ends the loop: it runs alone.
        let is_fragile = draft.interruptions(draft.graph.id(x)) >= 2;
        if is_fragile && !draft.state.run.in_flight.is_empty() {
            continue;
        }
        start(draft, x);
        free = if is_fragile { 0 } else { free - 1 };
    }
}

fn start(draft: &mut Draft, x: Ix) {
    let (graph, standing) = (Arc::clone(&draft.graph), Arc::clone(&draft.standing));
    let atom = graph.id(x).clone();
    let Some(context) = standing.context(x).cloned() else { return };
    let choices = standing.choices(&graph, x);
    let Some(tried) = draft.tried(&atom, &context, &choices) else { return };
    let n = tried.attempts + 1;
    let (effect, of) = match draft.task_of(&atom) {
        Some(task) => (task.spec.effect, measure::attempts_max(&draft.state, task)),
        None => (Effect::Tree, n),
    };
    let at = draft.at().into();
    draft.session.waits.remove(&(atom.clone(), context.clone()));
    let description = super::ended::title(draft, &atom);
    let run = draft.run();
    run.attempts_started += 1;
    let id = AttemptId::new(format!("{atom}.{}", run.attempts_started));
    let (epoch, base) = (run.epoch, run.head.clone());
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
    draft.say(Notice::AttemptStarted { attempt: id, atom, n, of: of.max(n), description });
}

/// With all roots resolved and the base case failed on this very tree, the selection is refuted.
fn note_refutation(draft: &mut Draft) {
    if draft.base_verdict() != Some(Verdict::Fail) || !draft.all_resolved() || !draft.is_line_settled() {
        return;
    }
    if !draft.state.run.in_flight.is_empty() || matches!(backtrack::blocked(draft), Some(Blocked::Refuted)) {
        return;
    }
    let (Some(basis), Some(check)) = (draft.basis(), draft.state.objective.base_case.clone()) else { return };
    let mut failed = Vec::new();
    let mut text = String::new();
    for leaf in check.leaves() {
        let Some(seen) = draft.session.ledger.get(&leaf.key(), &basis) else { continue };
        if seen.verdict != Verdict::Pass {
            failed.push(leaf.title());
            text.push_str(&seen.measurement.excerpt);
        }
    }
    let evidence = verdict::evidence_of(&check, &basis, &draft.session.ledger);
    backtrack::refute(draft, failed, evidence, &text);
}

impl Draft {
    /// Whether it finishes although the run is about to end.
    fn must_finish(&self, intent: &Intent) -> bool {
        let interruptible = self.task_of(&intent.atom).is_none_or(|task| task.interruptible);
        intent.effect.is_once_only() || !interruptible
    }

    fn interruptions(&self, atom: &crate::id::AtomId) -> u32 {
        self.task_of(atom).map_or(0, |task| task.interruptions)
    }

    pub(super) fn all_resolved(&self) -> bool {
        let solved = settle::solved(&self.graph, &self.standing, &self.state);
        self.graph.roots().iter().all(|root| solved[*root])
    }

    /// Whether the tree is made of exactly what stays.
    pub(super) fn is_line_settled(&self) -> bool {
        self.is_shared() || settle::line_wanted(&self.graph, &self.standing, &self.state) == self.state.run.line
    }

    /// The verdict on the head as it stands; `None` while it is not known.
    pub(super) fn base_verdict(&self) -> Option<Verdict> {
        if !self.is_line_settled() {
            return None;
        }
        let check = self.state.objective.base_case.as_ref()?;
        self.court(&self.basis()?, |court| match court.judge(check) {
            verdict::Progress::Decided(verdict) => Some(verdict),
            _ => None,
        })
    }

    fn base_is_open(&self, basis: &verdict::Basis) -> bool {
        let Some(check) = self.state.objective.base_case.as_ref() else { return false };
        self.court(basis, |court| {
            matches!(court.judge(check), verdict::Progress::Measure(_) | verdict::Progress::Again(_))
        })
    }

    fn base_waits_for_person(&self) -> bool {
        let (Some(check), Some(basis)) = (self.state.objective.base_case.as_ref(), self.basis()) else { return false };
        self.court(&basis, |court| {
            matches!(court.judge(check), verdict::Progress::Confirm(_) | verdict::Progress::Decided(Verdict::Unknown))
        })
    }

    /// Live, pending, not in flight, everything that it waits for resolved, and no backoff under way.
    fn ready(&self) -> Vec<Ix> {
        self.startable().into_iter().filter(|x| self.wait_of(*x).is_none_or(|until| until <= self.now)).collect()
    }

    fn has_ready(&self) -> bool {
        !self.startable().is_empty()
    }

    fn wait_of(&self, x: Ix) -> Option<UnixMillis> {
        let context = self.standing.context(x)?.clone();
        self.session.waits.get(&(self.graph.id(x).clone(), context)).copied()
    }

    fn startable(&self) -> Vec<Ix> {
        let solved = settle::solved(&self.graph, &self.standing, &self.state);
        let flying: BTreeMap<_, ()> = self.state.run.in_flight.iter().map(|intent| (&intent.atom, ())).collect();
        let tasks = (0..self.graph.len()).filter(|x| self.graph.vertex(*x).kind == Kind::Task && self.standing.is_live(*x));
        tasks
            .filter(|x| {
                let id = self.graph.id(*x);
                let is_pending = self.task_of(id).is_some_and(|task| task.status == Status::Pending);
                is_pending && !flying.contains_key(id) && self.graph.waits_for(*x).all(|dep| solved[dep])
            })
            .collect()
    }
}

impl super::Session {
    /// Whether this run has started an attempt.
    fn has_dispatched(&self, state: &crate::state::State) -> bool {
        state.run.attempts_started > self.started_with
    }
}

