//! A question to a judging role: put into the state before it is asked, and told when it came to its end.
//!
//! Not here: when one is put, and what follows from an answer (`consult`, `gate`).

use alloc::{
    format,
    string::{String, ToString},
};

use super::{
    attempt_start::title_of, backoff::backoff_ms, provider_wait, transaction::Transaction, usage,
};
use crate::{
    doc::{self, Node},
    event::{AgentEnd, ConsultAnswer, ConsultEnd, Event},
    graph::Graph,
    id::{AgentName, AtomId, CommitId, Digest},
    state::{Check, Consult, Leaf, Role, RunStatus, State, check::Thousandths},
    world::GateWait,
};

/// The reason why an agent that costs too much is not asked.
pub(super) const UNPAID: &str = "what is left of the budget does not suffice";
/// Keys of an atom that change nothing of it.
const REMARKS: [&str; 3] = ["notes", "attention", "questions"];

/// A question that is put into the state.
pub(super) struct NewQuestion {
    pub(super) role: Role,
    pub(super) agent: AgentName,
    pub(super) subject: Digest,
    /// How often the same is asked.
    pub(super) n: u32,
    pub(super) atom: Option<AtomId>,
    pub(super) leaf: Option<Digest>,
    pub(super) on: Option<String>,
    pub(super) commit: Option<CommitId>,
    /// Its subject in words.
    pub(super) about: String,
}

impl NewQuestion {
    /// A question about the whole plan, on the newest result.
    pub(super) fn of_plan(
        transaction: &Transaction,
        role: Role,
        agent: AgentName,
        subject: Digest,
    ) -> Self {
        let about = Consult::about_whole_plan(role).unwrap_or_default();
        Self {
            role,
            agent,
            subject,
            n: 1,
            atom: None,
            leaf: None,
            on: None,
            commit: transaction.state.run.head.clone(),
            about: about.to_string(),
        }
    }
}

/// The digest of a plan, and of what was tried and done in it. Remarks and marks are no part of it.
pub(super) fn subject_of_plan(state: &State, graph: &Graph) -> Digest {
    let mut text = String::new();
    for x in graph.atoms() {
        let id = graph.id(x);
        let atom = state.atom(id).map(|atom| {
            let node = atom.node().filtered(|key, _| !REMARKS.contains(&key));
            doc::canonical(&node)
        });
        text.push_str(id.as_str());
        text.push_str(&atom.unwrap_or_default());
        if let Some(binding) = state.bindings.get(id) {
            text.push_str(&binding.at);
            text.push_str(&binding.summary);
        }
    }
    Digest::of(text.as_bytes())
}

/// Puts a question, or waits where its agent was silent just now.
pub(super) fn put_or_wait(transaction: &mut Transaction, new: NewQuestion) {
    let waits = transaction.session.gate.as_ref();
    let waits = waits.filter(|wait| wait.subject == new.subject && wait.role == new.role);
    let active_ms = transaction.session.active_ms;
    if waits.is_some_and(|wait| wait.again_at_ms > active_ms) {
        return;
    }
    let n = waits.map_or(0, |wait| wait.asked) + 1;
    put(transaction, NewQuestion { n, ..new });
}

/// The outcome of putting a question about the whole plan.
pub(super) enum AskOutcome {
    Awaited,
    /// No agent is configured for it.
    Nobody,
    /// This agent costs more than is left of the budget.
    Unpaid(AgentName),
}

/// Puts a question about the whole plan, or waits for its agent.
pub(super) fn ask_about_plan(
    transaction: &mut Transaction,
    role: Role,
    subject: &Digest,
) -> AskOutcome {
    let Some(agent) = transaction.session.agents.in_role(role).cloned() else {
        return AskOutcome::Nobody;
    };
    if !usage::can_pay(transaction, role, &agent) {
        return AskOutcome::Unpaid(agent);
    }
    let new = NewQuestion::of_plan(transaction, role, agent, subject.clone());
    put_or_wait(transaction, new);
    AskOutcome::Awaited
}

/// Whether a question is about the plan as it stands.
pub(super) fn is_about_plan(transaction: &Transaction, asked: &Consult) -> bool {
    asked.subject == subject_of_plan(&transaction.state, &transaction.graph)
}

/// Lets a question wait for the provider of its agent: the same is asked again, at no cost. Gives back any other end,
/// and that of a provider that was waited for long enough.
pub(super) fn wait_or_give_back(
    transaction: &mut Transaction,
    asked: &Consult,
    mut end: ConsultEnd,
) -> Option<ConsultEnd> {
    let ConsultAnswer::Ended(ended) = &end.answer else {
        provider_wait::answered(transaction, &asked.agent);
        return Some(end);
    };
    // The run can go without any answer but a rating. Nobody waits for the wording of an ending.
    let is_waited_for = match ended {
        AgentEnd::Limited { .. } => asked.role == Role::Judge,
        ended => ended.is_of_provider(),
    };
    if !is_waited_for || transaction.state.run.status != RunStatus::Running {
        return Some(end);
    }
    let (agent, role) = (asked.agent.clone(), Some(asked.role));
    match provider_wait::begin(transaction, agent, None, role, ended, &end.usage) {
        Ok((wait, _)) => {
            let because = format!("{}; it is asked again at {}", wait.because, wait.until);
            tell(transaction, asked, &because, end.duration_ms);
            None
        }
        Err(outlasted) => {
            end.answer = ConsultAnswer::Ended(outlasted);
            Some(end)
        }
    }
}

/// The answer, read, or why there is none; it is told that the question came to its end. None where a silent agent is
/// asked again later, as long as that is allowed.
pub(super) fn heard<T>(
    transaction: &mut Transaction,
    asked: &Consult,
    end: ConsultEnd,
    read: impl FnOnce(&Transaction, &Node) -> Result<T, String>,
) -> Option<Result<T, String>> {
    let duration_ms = end.duration_ms;
    if let ConsultAnswer::Silent(why) = &end.answer
        && asked.n <= transaction.state.objective.constraints.max_transient()
    {
        let again_at_ms = transaction.active_in(backoff_ms(asked.n, "consult"));
        transaction.session.gate = Some(GateWait {
            role: asked.role,
            subject: asked.subject.clone(),
            asked: asked.n,
            again_at_ms,
        });
        tell(transaction, asked, why, duration_ms);
        return None;
    }
    transaction.session.gate = None;
    let read = once(end.answer).and_then(|node| read(transaction, &node));
    let unused = read.as_ref().err().cloned().unwrap_or_default();
    tell(transaction, asked, &unused, duration_ms);
    Some(read)
}

/// The answer to a question that is asked once, or why there is none.
pub(super) fn once(answer: ConsultAnswer) -> Result<Node, String> {
    match answer {
        ConsultAnswer::Value(node) => Ok(node),
        ConsultAnswer::Faulty(why) | ConsultAnswer::Silent(why) => Err(why),
        ConsultAnswer::Ended(end) => Err(end.text()),
    }
}

/// Ends the question in flight; what it used counts as was reserved for it.
pub(super) fn drop_it(transaction: &mut Transaction) {
    let Some(asked) = transaction.run().consult.take() else {
        return;
    };
    transaction.run().settle(&asked.agent, asked.role, &asked.reserved, false);
}

/// Puts a question into the state: it is asked after the commit. It waits as long as its agent does.
pub(super) fn put(transaction: &mut Transaction, new: NewQuestion) {
    let is_running = transaction.state.run.status == RunStatus::Running;
    if is_running && transaction.session.provider_wait(&new.agent).is_some() {
        return;
    }
    let at: String = transaction.at().into();
    let reserved = transaction.state.run.estimate(new.role, Some(&new.agent));
    let run = transaction.run();
    let consult = Consult {
        id: run.next_consult(),
        role: new.role,
        subject: new.subject,
        agent: new.agent,
        epoch: run.epoch,
        n: new.n,
        atom: new.atom,
        leaf: new.leaf,
        on: new.on,
        commit: new.commit,
        reserved,
        at,
        extra: Default::default(),
    };
    transaction.announce(Event::Consulting {
        consult: consult.id.clone(),
        role: consult.role,
        agent: consult.agent.clone(),
        about: new.about,
    });
    transaction.run().consult = Some(consult);
}

/// The subject of a question about a step, in words.
pub(super) fn about_step(transaction: &Transaction, role: Role, step: &AtomId) -> String {
    Consult::about_step(role, step, &title_of(transaction, step))
}

/// Tells that a question came to its end without a rating.
pub(super) fn tell(transaction: &mut Transaction, asked: &Consult, because: &str, ms: u64) {
    tell_rated(transaction, asked, None, because, ms);
}

/// The same with the score of a leaf of the base case, if it has one.
pub(super) fn tell_rated(
    transaction: &mut Transaction,
    asked: &Consult,
    score: Option<Thousandths>,
    because: &str,
    ms: u64,
) {
    let leaf = asked.leaf.as_ref();
    let leaf = leaf.and_then(|leaf| leaf_of(transaction, leaf));
    let holds = match leaf.as_ref().and_then(Check::leaf) {
        Some(Leaf::Quality(leaf)) => score.map(|score| leaf.passes(score)),
        _ => None,
    };
    let about = match (&asked.atom, leaf) {
        (Some(atom), _) => about_step(transaction, asked.role, atom),
        (None, Some(leaf)) => leaf.title(),
        (None, None) => Consult::about_whole_plan(asked.role).unwrap_or_default().to_string(),
    };
    transaction.announce(Event::Consulted {
        consult: asked.id.clone(),
        role: asked.role,
        agent: asked.agent.clone(),
        about,
        ms,
        score: score.map(Thousandths::text),
        holds,
        because: because.to_string(),
    });
}

/// The leaf of the base case with that key.
pub(super) fn leaf_of(transaction: &Transaction, key: &Digest) -> Option<Check> {
    let check = transaction.state.objective.base_case.as_ref()?;
    let mut leaves = check.leaves().into_iter();
    leaves.find(|leaf| leaf.key() == *key).cloned()
}
