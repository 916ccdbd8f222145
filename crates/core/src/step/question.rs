//! A question to a judging role: put into the state before it is asked, and told when it came to its end. The question
//! for the results of a phase in short.
//!
//! Not here: when one is put, and what follows from an answer (`consult`, `gate`).

use alloc::{
    format,
    string::{String, ToString},
};

use super::{
    attempt_start::title_of, provider_wait, provider_wait::backoff_ms, transaction::Transaction,
    usage,
};
use crate::{
    doc::{self, Node},
    event::{AgentEnd, ConsultAnswer, ConsultEnd, Event},
    graph::{Graph, Ix, NodeKind},
    id::{AgentName, AtomId, ConsultId, Digest},
    phase_summary,
    state::{Check, Consult, Leaf, PhaseSummary, Role, RunStatus, State, check::Thousandths},
    world::{
        GateWait,
        long_phase::{self, LongPhase},
    },
};

/// The reason why an agent that costs too much is not asked.
pub(super) const UNPAID: &str = "what is left of the budget does not suffice";
/// Keys of an atom that change nothing of it.
const REMARKS: [&str; 3] = ["notes", "attention", "questions"];

/// A question about the whole plan, on the newest result; its id and its time come when it is put.
pub(super) fn of_plan(
    transaction: &Transaction,
    role: Role,
    agent: AgentName,
    subject: Digest,
) -> Consult {
    let run = &transaction.state.run;
    Consult {
        id: ConsultId::new(""),
        role,
        subject,
        epoch: run.epoch,
        n: 1,
        atom: None,
        leaf: None,
        on: None,
        commit: run.head.clone(),
        reserved: run.estimate(role, Some(&agent)),
        agent,
        at: String::new(),
        extra: Default::default(),
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
pub(super) fn put_or_wait(transaction: &mut Transaction, new: Consult, about: &str) {
    let waits = transaction.session.gate.as_ref();
    let waits = waits.filter(|wait| wait.subject == new.subject && wait.role == new.role);
    let active_ms = transaction.session.active_ms;
    if waits.is_some_and(|wait| wait.again_at_ms > active_ms) {
        return;
    }
    let n = waits.map_or(0, |wait| wait.asked) + 1;
    put(transaction, Consult { n, ..new }, about);
}

/// Puts a question about the whole plan, where somebody is there for it. True while its answer is awaited. `unpaid` takes
/// an agent that costs more than is left of the budget.
pub(super) fn is_awaited(
    transaction: &mut Transaction,
    role: Role,
    subject: &Digest,
    unpaid: impl FnOnce(&mut Transaction, AgentName),
) -> bool {
    let Some(agent) = transaction.session.agents.in_role(role).cloned() else {
        return false;
    };
    if !usage::can_pay(transaction, role, &agent) {
        unpaid(transaction, agent);
        return false;
    }
    let new = of_plan(transaction, role, agent, subject.clone());
    put_or_wait(transaction, new, Consult::about_whole_plan(role).unwrap_or_default());
    true
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
/// `about`: its subject in words.
pub(super) fn put(transaction: &mut Transaction, new: Consult, about: &str) {
    let is_running = transaction.state.run.status == RunStatus::Running;
    if is_running && transaction.session.provider_wait(&new.agent).is_some() {
        return;
    }
    let at = transaction.at().into();
    let consult = Consult { id: transaction.run().next_consult(), at, ..new };
    transaction.announce(Event::Consulting {
        consult: consult.id.clone(),
        role: consult.role,
        agent: consult.agent.clone(),
        about: about.into(),
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

// The results of a phase put in short by an agent, before a step that builds on them is planned (contract §9.31).
//
// Invariant: the step waits for an answer, and for nothing where there is no agent for it, or none that is paid. A
// fragment is asked about once; without an answer that can be used its results are told by code.

/// Before a step is planned: puts the question, unless it was answered. True while its answer is awaited.
pub(super) fn summarise_is_awaited(transaction: &mut Transaction, step: Ix) -> bool {
    if transaction.graph.vertex(step).kind != NodeKind::Plan {
        return false;
    }
    let Some(agent) = transaction.session.agents.in_role(Role::Summarise).cloned() else {
        return false;
    };
    let (graph, active, state) = (&transaction.graph, &transaction.active, &transaction.state);
    let Some(phase) = long_phase::wanted(graph, active, state, step) else {
        return false;
    };
    if !usage::can_pay(transaction, Role::Summarise, &agent) {
        return false;
    }
    if transaction.state.run.consult.is_none() {
        let about = about_step(transaction, Role::Summarise, &phase.plan);
        let of_plan = of_plan(transaction, Role::Summarise, agent, phase.subject);
        let new = Consult { atom: Some(phase.plan), ..of_plan };
        put_or_wait(transaction, new, &about);
    }
    true
}

fn asked_about(transaction: &Transaction, asked: &Consult) -> Option<LongPhase> {
    let (graph, active, state) = (&transaction.graph, &transaction.active, &transaction.state);
    long_phase::find(graph, active, state, asked.atom.as_ref()?, &asked.subject)
}

/// Whether the answer to a question would still be of use.
pub(super) fn is_asked(transaction: &Transaction, asked: &Consult) -> bool {
    asked_about(transaction, asked).is_some()
}

/// Keeps the answer, or that there is none.
pub(super) fn answered(transaction: &mut Transaction, asked: &Consult, end: ConsultEnd) {
    let Some(phase) = asked_about(transaction, asked) else {
        return;
    };
    let read = |_: &Transaction, node: &Node| phase_summary::read(node);
    let Some(read) = heard(transaction, asked, end, read) else {
        return;
    };
    let summary = PhaseSummary {
        subject: phase.subject,
        agent: asked.agent.clone(),
        because: read.as_ref().err().cloned().unwrap_or_default(),
        text: read.unwrap_or_default(),
        at: transaction.at().into(),
        extra: Default::default(),
    };
    transaction.change_plan(&phase.plan, |step| {
        if let Some(fragment) = step.fragment_mut(&phase.first) {
            fragment.summary = Some(summary);
        }
    });
    // The next step starts the planning, since this one may have looked for work already.
    transaction.session.has_more = true;
}
