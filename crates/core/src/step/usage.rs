//! Limits of model calls, tokens and money: whether one is reached, and whether an attempt may start under them.
//!
//! Invariant: the usage of an attempt is reserved by its intent and settled once, when it lands (`transaction/settle`).

use crate::{
    event::Outcome,
    id::{AgentName, AtomId, AttemptId, Epoch},
    state::{AgentSpent, Duty, Intent, Question, Role, Usage, UsageLimit},
    verdict::CommandEnd,
    wording,
};

use super::transaction::Transaction;

/// Takes a report of an attempt in flight; a later one says as much at least.
pub(super) fn reported(transaction: &mut Transaction, id: AttemptId, epoch: Epoch, usage: Usage) {
    let is_it = |intent: &Intent| intent.epoch == epoch;
    if transaction.in_flight(&id).is_some_and(is_it) && !has_ended(transaction, &id) {
        let reported = transaction.session.reported.entry(id).or_default();
        reported.usage.raise_to(&usage);
    }
}

/// Takes the usage that an attempt in flight had told before this run.
pub(super) fn told_before(transaction: &mut Transaction, id: &AttemptId, usage: &Usage) {
    if transaction.in_flight(id).is_some() {
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

/// The first limit that is reached: by attempts that are over, or passed by those under way.
pub(super) fn reached(transaction: &Transaction) -> Option<UsageLimit> {
    let run = &transaction.state.run;
    let constraints = &transaction.state.objective.constraints;
    if !constraints.limits_usage() {
        return None;
    }
    let sums = Sums::of(transaction, &run.spent.usage, run.in_flight.iter());
    let mut limits = UsageLimit::ALL.into_iter();
    limits.find(|limit| {
        let most = wording::for_work(&transaction.state, *limit);
        most.is_some_and(|most| sums.reach(*limit, most))
    })
}

/// The first limit that leaves too little for an attempt of this atom.
pub(super) fn lacking(transaction: &Transaction, atom: &AtomId) -> Option<UsageLimit> {
    let run = &transaction.state.run;
    let constraints = &transaction.state.objective.constraints;
    if !constraints.limits_usage() {
        return None;
    }
    let claimed = claimed(transaction, &run.spent.usage, run.in_flight.iter());
    let wanted = Reservation::of(transaction, atom);
    let mut limits = UsageLimit::ALL.into_iter();
    limits.find(|limit| {
        let most = wording::for_work(&transaction.state, *limit);
        most.is_some_and(|most| !wanted.fits(*limit, claimed.of(*limit), most))
    })
}

/// The first limit that leaves too little for one more duty of this agent.
pub(super) fn lacking_for(
    transaction: &Transaction,
    duty: impl Into<Duty>,
    agent: &AgentName,
) -> Option<UsageLimit> {
    let duty = duty.into();
    let run = &transaction.state.run;
    let constraints = &transaction.state.objective.constraints;
    if !constraints.limits_usage() {
        return None;
    }
    let claimed = claimed(transaction, &run.spent.usage, run.in_flight.iter());
    let wanted = Reservation { usage: run.estimate(duty, Some(agent)), is_free: false };
    let mut limits = UsageLimit::ALL.into_iter();
    limits.find(|limit| {
        let most = match duty.question {
            Some(Question::Word) => constraints.usage(*limit),
            _ => wording::for_work(&transaction.state, *limit),
        };
        most.is_some_and(|most| !wanted.fits(*limit, claimed.of(*limit), most))
    })
}

/// Whether a limit of money is set that cannot hold for this agent. It tells no cost by its configuration, or nothing is
/// known of it, and its attempts so far called models and told none.
pub(super) fn is_unlimited(transaction: &Transaction, agent: &AgentName) -> bool {
    if transaction.state.objective.constraints.budget.cost_usd.is_none() {
        return false;
    }
    let has_told_none = || {
        let is_silent = |row: &AgentSpent| row.agent == *agent && row.is_cost_untold;
        transaction.state.run.spent_by_agent.iter().any(is_silent)
    };
    match transaction.session.agents.tells_cost(agent) {
        Some(tells) => !tells,
        None => has_told_none(),
    }
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

/// Usage of attempts that are over and of those that run, as far as it was reported.
pub(super) struct Sums {
    over: Usage,
    running: Usage,
}

impl Sums {
    pub(super) fn of<'i>(
        transaction: &Transaction,
        settled: &Usage,
        in_flight: impl Iterator<Item = &'i Intent>,
    ) -> Self {
        let mut sums = Self { over: settled.clone(), running: Usage::default() };
        for intent in in_flight {
            let Some(reported) = transaction.session.reported.get(&intent.id) else {
                continue;
            };
            let usage = &reported.usage;
            if has_ended(transaction, &intent.id) {
                sums.over.add(usage)
            } else {
                sums.running.add(usage)
            }
        }
        sums
    }

    /// All usage, as far as it is known.
    pub(super) fn all(&self, limit: UsageLimit) -> u64 {
        self.over.of(limit).saturating_add(self.running.of(limit))
    }

    pub(super) fn reach(&self, limit: UsageLimit, most: u64) -> bool {
        let over = self.over.of(limit);
        over >= most || self.all(limit) > most
    }
}

/// The settled usage, with the larger of reservation and report for each attempt in flight.
pub(super) fn claimed<'i>(
    transaction: &Transaction,
    settled: &Usage,
    in_flight: impl Iterator<Item = &'i Intent>,
) -> Claims {
    let mut claims = Claims(UsageLimit::ALL.map(|limit| settled.of(limit)));
    for intent in in_flight {
        let reported = transaction.session.reported.get(&intent.id);
        for (limit, sum) in UsageLimit::ALL.into_iter().zip(&mut claims.0) {
            let reserved = intent.reserved.of(limit);
            let known = reported.map_or(0, |reported| reported.usage.of(limit));
            *sum = sum.saturating_add(reserved.max(known));
        }
    }
    claims
}

/// An amount for each limit.
pub(super) struct Claims([u64; 3]);

impl Claims {
    pub(super) fn of(&self, limit: UsageLimit) -> u64 {
        let [calls, tokens, cost] = self.0;
        match limit {
            UsageLimit::Calls => calls,
            UsageLimit::Tokens => tokens,
            UsageLimit::Cost => cost,
        }
    }
}

/// Whether the agent is done: what is left to do costs nothing.
fn has_ended(transaction: &Transaction, id: &AttemptId) -> bool {
    transaction.session.progress.contains_key(id)
}

/// Whether an attempt that has ended may still land by itself at a limit of usage.
pub(super) fn is_landing(transaction: &Transaction, intent: &Intent) -> bool {
    has_ended(transaction, &intent.id) && !transaction.awaits_person(intent)
}
