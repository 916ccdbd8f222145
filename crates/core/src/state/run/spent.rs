//! Time, attempts and usage that a state has spent, in all and by agent.
//!
//! Invariant: an attempt is settled once, when it leaves the list of those in flight.

use super::{Intent, Run};
use crate::doc::prelude::*;
use crate::{
    doc::{Member, Node, Value},
    id::{AgentName, AttemptId},
    state::{
        Usage,
        consult::Duty,
        fields::{DurationText, Fields},
        rule::Form,
        table::record,
        value::FieldValue,
    },
};

/// Agents that are told apart; the usage of further ones counts in all.
const AGENTS_MAX: usize = 20;
/// The name under which the usage of actions is kept.
pub const ACTION: &str = "action";

record! {
    /// Used up by the runs of this state
    #[derive(Default, PartialEq)]
    pub struct Spent {
        /// Attempts that came to their end, without repairs
        filled[program] attempts: u64,
        filled[program] transient: u64,
        filled[program] repairs: u64,
        /// Questions that were asked
        filled[program] consults: u64,
        /// Time at work
        filled[program] active: ActiveTime,
        part[program] usage: Usage,
    }
}

record! {
    /// Used up by an agent in one role, or for one question
    #[derive(PartialEq)]
    pub struct AgentSpent {
        required[program] agent: AgentName,
        part[program] duty: Duty,
        /// Attempts from the first one on whose usage is known
        always[program] attempts: u64,
        /// Whether an attempt called models to its end and told no cost
        filled[program] is_cost_untold as "cost_untold": bool,
        part[program] usage: Usage,
    }
    with Default;
}

impl Spent {
    /// All of it, for those who print it: with what is 0 too.
    pub(super) fn whole(&self) -> Node {
        let counts =
            [("attempts", self.attempts), ("transient", self.transient), ("repairs", self.repairs)];
        let counts = counts.map(|(key, count)| Member::new(key, Node::uint(count)));
        let time = Member::new("active_ms", Node::uint(self.active.ms));
        let others = self.node().into_members().into_iter();
        let others = others
            .filter(|one| one.key != "active" && counts.iter().all(|count| count.key != one.key));
        let others: Vec<Member> = others.collect();
        Value::Object(counts.into_iter().chain([time]).chain(others).collect()).into()
    }
}

/// Milliseconds that are counted, as a text with units.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ActiveTime {
    pub ms: u64,
}

impl ActiveTime {
    pub fn text(self) -> String {
        let (minutes, ms) = (self.ms / 60_000, self.ms % 60_000);
        let whole = |count: u64, unit: &str| match count {
            0 => String::new(),
            count => format!("{count}{unit}"),
        };
        let seconds = match (ms, self.ms) {
            (0, 1..) => String::new(),
            (ms, _) => {
                format!("{}.{:03}", ms / 1_000, ms % 1_000)
                    .trim_end_matches('0')
                    .trim_end_matches('.')
                    .to_owned()
                    + "s"
            }
        };
        whole(minutes / 60, "h") + &whole(minutes % 60, "m") + &seconds
    }
}

impl FieldValue for ActiveTime {
    fn form() -> Form {
        Form::Pattern("ActiveTime", r"^([0-9]+h)?([0-9]+m)?([0-9]+(\.[0-9]{1,3})?s)?$")
    }

    fn take(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<Self> {
        let text = fields.text(key)?;
        let read = DurationText::parse(&text).map(|time| Self { ms: time.ms });
        if read.is_none() {
            let message = format!("`{key}` is no time, as 1h2m3.5s");
            fields.fault_at(key, "bad-duration", message, None);
        }
        read
    }

    fn node(&self) -> Node {
        Node::string(self.text())
    }
}

impl Intent {
    /// The agent whose usage it is.
    pub fn payer(&self) -> AgentName {
        payer(self.agent.as_ref())
    }
}

fn payer(agent: Option<&AgentName>) -> AgentName {
    agent.cloned().unwrap_or_else(|| AgentName::new(ACTION))
}

impl Run {
    /// The mean of what an agent used for that before; nothing where none is known.
    pub fn estimate(&self, duty: impl Into<Duty>, agent: Option<&AgentName>) -> Usage {
        let (agent, duty) = (payer(agent), duty.into());
        let mut rows = self.spent_by_agent.iter();
        let row = rows.find(|row| row.agent == agent && row.duty == duty);
        row.map_or_else(Usage::default, |row| row.usage.mean(row.attempts))
    }

    /// Takes the usage of an attempt or a question that is over into what is spent; `is_whole` if it came to its end, so that
    /// nothing is left to tell.
    pub fn settle(
        &mut self,
        agent: &AgentName,
        duty: impl Into<Duty>,
        usage: &Usage,
        is_whole: bool,
    ) {
        if let Some(row) = self.count(agent, duty.into(), usage) {
            row.attempts += 1;
            let has_used = usage.calls > 0 || usage.tokens.total() > 0;
            row.is_cost_untold |= is_whole && has_used && usage.cost.is_none();
        }
    }

    /// Counts the usage that attempts and a question in flight have reported, for those who look on.
    pub fn count_told(&mut self, used: &[(AttemptId, Usage)]) {
        for (id, reported) in used {
            if let Some(asked) = self.consult.clone().filter(|asked| asked.attempt() == *id) {
                self.count(&asked.agent, asked.question.into(), reported);
            } else if let Some(one) = self.in_flight.iter().find(|one| one.id == *id).cloned() {
                self.count(&one.payer(), one.role.into(), reported);
            }
        }
    }

    /// Counts usage in all and with its agent; the agent's row, if it has one.
    fn count(&mut self, agent: &AgentName, duty: Duty, usage: &Usage) -> Option<&mut AgentSpent> {
        self.spent.usage.add(usage);
        let is_it = |row: &AgentSpent| row.agent == *agent && row.duty == duty;
        let is_known = self.spent_by_agent.iter().any(is_it);
        if !is_known && (usage.is_none() || !self.has_room_for(agent)) {
            return None;
        }
        let rows: &mut Vec<AgentSpent> = &mut self.spent_by_agent;
        if !is_known {
            rows.push(AgentSpent { agent: agent.clone(), duty, ..AgentSpent::default() });
        }
        let row = rows.iter_mut().find(|row| is_it(row))?;
        row.usage.add(usage);
        Some(row)
    }

    /// Takes the usage that attempts in flight have told into what is reserved for them: it is settled if nobody sees
    /// their end.
    pub fn reserve_told(&mut self, used: &[(AttemptId, Usage)]) {
        for (id, told) in used {
            if let Some(intent) = self.in_flight.iter_mut().find(|intent| intent.id == *id) {
                let mut told = told.clone();
                told.fill_from(&intent.reserved);
                intent.reserved = told;
            }
        }
    }

    fn has_room_for(&self, agent: &AgentName) -> bool {
        let mut known: Vec<&AgentName> = self.spent_by_agent.iter().map(|row| &row.agent).collect();
        known.dedup();
        known.len() < AGENTS_MAX || known.contains(&agent)
    }
}
