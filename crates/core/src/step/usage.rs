//! Limits of model calls, tokens and money: whether one is reached, and whether an attempt may start under them.
//!
//! Invariant: the usage of an attempt is reserved by its intent and settled once, when it lands (`transaction/settle`).

use crate::doc::prelude::*;
use crate::{
    event::Outcome,
    id::{AgentName, AtomId, AttemptId, Epoch},
    search::Facts,
    state::{AgentSpent, Consult, Duty, Intent, Question, Role, State, Usage, UsageLimit},
    verdict::CommandEnd,
    wording,
};

use super::transaction::Transaction;

/// Takes a report of an attempt or a question in flight; a later one says as much at least.
pub(super) fn reported(transaction: &mut Transaction, id: &AttemptId, epoch: Epoch, usage: &Usage) {
    let is_it = |intent: &Intent| intent.epoch == epoch;
    let is_attempt = transaction.in_flight(id).is_some_and(is_it) && !has_ended(transaction, id);
    if is_attempt || is_asked(transaction, id) {
        told_before(transaction, id, usage);
    }
}

/// Whether the id is that of the question in flight.
fn is_asked(transaction: &Transaction, id: &AttemptId) -> bool {
    let asked = transaction.state.run.consult.as_ref();
    asked.is_some_and(|asked| asked.attempt() == *id)
}

/// Takes usage of an attempt or a question in flight, also of what it reported before this run.
pub(super) fn told_before(transaction: &mut Transaction, id: &AttemptId, usage: &Usage) {
    if transaction.in_flight(id).is_some() || is_asked(transaction, id) {
        let reported = transaction.session.reported.entry(id.clone()).or_default();
        reported.usage.raise_to(usage);
    }
}

/// Takes the last report of an attempt that is over.
pub(super) fn ended(transaction: &mut Transaction, id: &AttemptId, outcome: &Outcome) {
    let reported = transaction.session.reported.entry(id.clone()).or_default();
    reported.usage.raise_to(&outcome.usage);
    // An agent that called no model before it was cut off used nothing.
    let is_cut = outcome.was_cut_off() && reported.usage.calls > 0;
    reported.is_whole = !is_cut && outcome.how != CommandEnd::TimedOut;
}

/// The first limit of the run that is reached.
pub(super) fn reached(transaction: &Transaction) -> Option<UsageLimit> {
    let reached = LimitedUsage::of_run(transaction, wording::for_work)?.reached();
    reached.map(|(limit, _)| limit)
}

/// The first limit that leaves too little for an attempt of this atom.
pub(super) fn lacking(transaction: &Transaction, atom: &AtomId) -> Option<UsageLimit> {
    let limits = LimitedUsage::of_run(transaction, wording::for_work)?;
    limits.lacking(&Reservation::of(transaction, atom))
}

/// The first limit that leaves too little for a duty of this agent; if that is a question in flight, it is not one more.
pub(super) fn lacking_for(
    transaction: &Transaction,
    duty: impl Into<Duty>,
    agent: &AgentName,
) -> Option<UsageLimit> {
    let duty = duty.into();
    let mut limits = match duty.question {
        Some(Question::Word) => LimitedUsage::of_run(transaction, |state, limit| {
            state.objective.constraints.usage(limit)
        }),
        _ => LimitedUsage::of_run(transaction, wording::for_work),
    }?;
    limits.asked = limits.asked.filter(|asked| Duty::from(asked.question) != duty);
    let usage = transaction.state.run.estimate(duty, Some(agent));
    limits.lacking(&Reservation { usage, is_free: false })
}

/// The usage that a limit counts of the run, with what its attempts in flight may still take; 0 where none is set.
pub(super) fn claimed(transaction: &Transaction, limit: UsageLimit) -> u64 {
    let limits = LimitedUsage::of_run(transaction, wording::for_work);
    limits.map_or(0, |limits| limits.claimed(limit))
}

/// Whether a limit of money is set that cannot hold for this agent. It tells no cost by its configuration, or nothing is
/// known of it, and its attempts so far called models and told none.
pub(super) fn is_unlimited(transaction: &Transaction, agent: &AgentName) -> bool {
    let is_silent = |row: &AgentSpent| row.agent == *agent && row.is_cost_untold;
    let has_told_none = || transaction.state.run.spent_by_agent.iter().any(is_silent);
    let tells = transaction.session.agents.tells_cost(agent);
    transaction.state.objective.constraints.budget.cost_usd.is_some()
        && tells.map_or_else(has_told_none, |tells| !tells)
}

/// Whether a question to this agent fits what is left of the budget.
pub(super) fn can_pay(transaction: &Transaction, duty: impl Into<Duty>, agent: &AgentName) -> bool {
    !is_unlimited(transaction, agent) && lacking_for(transaction, duty, agent).is_none()
}

/// The role of an attempt, and its agent; none where an action does it.
pub(super) fn agent_of(transaction: &Transaction, atom: &AtomId) -> (Role, Option<AgentName>) {
    let role = match transaction.plan_of(atom) {
        Some(_) => Role::Planner,
        None => Role::Worker,
    };
    let task = transaction.task_of(atom);
    let has_action = task.is_some_and(|task| task.spec.action.is_some());
    let named = task.and_then(|task| task.spec.agent.as_ref());
    let agent = named.or_else(|| transaction.session.agents.in_role(role));
    (role, agent.filter(|_| !has_action).cloned())
}

/// Usage that an attempt will take by its agent's earlier ones.
pub(super) struct Reservation {
    pub(super) usage: Usage,
    /// An action of which no usage is known.
    is_free: bool,
}

impl Reservation {
    pub(super) fn of(transaction: &Transaction, atom: &AtomId) -> Self {
        let (role, agent) = agent_of(transaction, atom);
        let usage = transaction.state.run.estimate(role, agent.as_ref());
        Self { is_free: agent.is_none() && usage.is_none(), usage }
    }

    /// Whether the rest of a limit is enough; of what is not known a part must be left.
    pub(super) fn fits(&self, limit: UsageLimit, claimed: u64, most: u64) -> bool {
        let wanted = self.usage.of(limit).max(1);
        self.is_free || claimed.saturating_add(wanted) <= most
    }
}

/// Limits of usage, and what counts towards them: those of the run, or of a phase.
pub(super) struct LimitedUsage<'d> {
    pub(super) transaction: &'d Transaction,
    /// Usage of attempts that are over.
    pub(super) settled: &'d Usage,
    pub(super) in_flight: Vec<&'d Intent>,
    /// The question in flight, where it counts.
    pub(super) asked: Option<&'d Consult>,
    /// In the order of `UsageLimit::ALL`.
    pub(super) most: [Option<u64>; 3],
}

impl<'d> LimitedUsage<'d> {
    /// `None` where the run has no such limit.
    fn of_run(
        transaction: &'d Transaction,
        most: fn(&State, UsageLimit) -> Option<u64>,
    ) -> Option<Self> {
        let Facts { state, .. } = &**transaction;
        state.objective.constraints.limits_usage().then(|| Self {
            transaction,
            settled: &state.run.spent.usage,
            in_flight: state.run.in_flight.iter().collect(),
            asked: state.run.consult.as_ref(),
            most: UsageLimit::ALL.map(|limit| most(state, limit)),
        })
    }

    fn limits(&self) -> impl Iterator<Item = (UsageLimit, u64)> {
        let limits = UsageLimit::ALL.into_iter().zip(self.most);
        limits.filter_map(|(limit, most)| Some((limit, most?)))
    }

    /// The first limit that is reached, by attempts that are over, or passed by those under way; with all that is used.
    pub(super) fn reached(&self) -> Option<(UsageLimit, u64)> {
        self.limits().find_map(|(limit, most)| {
            let told = |is_over: bool| {
                let intents = self.in_flight.iter();
                let told = intents.filter(|one| has_ended(self.transaction, &one.id) == is_over);
                told.map(|intent| self.told(&intent.id, limit)).fold(0, u64::saturating_add)
            };
            let asked = self.asked.map_or(0, |asked| self.told(&asked.attempt(), limit));
            let over = self.settled.of(limit).saturating_add(told(true));
            let all = over.saturating_add(told(false)).saturating_add(asked);
            (over >= most || all > most).then_some((limit, all))
        })
    }

    /// The first limit that leaves too little.
    pub(super) fn lacking(&self, wanted: &Reservation) -> Option<UsageLimit> {
        let mut limits = self.limits();
        let lacking =
            limits.find(|(limit, most)| !wanted.fits(*limit, self.claimed(*limit), *most));
        lacking.map(|(limit, _)| limit)
    }

    /// The settled usage, with the larger of reservation and report for each attempt in flight, and for the question.
    fn claimed(&self, limit: UsageLimit) -> u64 {
        let in_flight = self.in_flight.iter().map(|one| (one.id.clone(), &one.reserved));
        let asked = self.asked.map(|asked| (asked.attempt(), &asked.reserved));
        let each = in_flight.chain(asked);
        let each = each.map(|(id, reserved)| reserved.of(limit).max(self.told(&id, limit)));
        each.fold(self.settled.of(limit), u64::saturating_add)
    }

    /// The usage that an attempt or a question in flight has reported.
    fn told(&self, id: &AttemptId, limit: UsageLimit) -> u64 {
        let reported = self.transaction.session.reported.get(id);
        reported.map_or(0, |reported| reported.usage.of(limit))
    }
}

/// Whether the agent is done: what is left to do costs nothing.
fn has_ended(transaction: &Transaction, id: &AttemptId) -> bool {
    transaction.session.progress.contains_key(id)
}

/// Whether an attempt that has ended may still land by itself at a limit of usage.
pub(super) fn is_landing(transaction: &Transaction, intent: &Intent) -> bool {
    has_ended(transaction, &intent.id) && !transaction.is_parked(intent)
}
