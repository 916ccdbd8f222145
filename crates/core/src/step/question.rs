//! A question to an agent that thinks: put into the state before it is asked, and shown when it came to its end.
//!
//! Not here: which question is in flight (`consult`), what makes one due and what its answer changes (`pass_questions`,
//! `gate`, `rate`, `summarise`, `final_words`), how it is asked (the shell).

use super::{provider_wait, provider_wait::backoff_ms, transaction::Transaction, usage};
use crate::doc::prelude::*;
use crate::{
    answer_forms::{self, rated_leaf},
    doc::{self, Node},
    event::{AgentEnd, ConsultAnswer, ConsultEnd, Event},
    graph::Graph,
    id::{AgentName, ConsultId, Digest},
    profile,
    state::{
        AnswerRecord, Check, Consult, KeptAnswer, Leaf, Question, RunStatus, State, Usage,
        check::Thousandths,
    },
    world::{GateWait, Unavailable},
};

/// The reason why an agent that costs too much is not asked.
pub(super) const UNPAID: &str = "what is left of the budget does not suffice";
/// Keys of an atom that change nothing of it.
const REMARKS: [&str; 3] = ["notes", "attention", "questions"];

/// Whether a question is asked at the level of judging in force.
pub(super) fn is_of_level(transaction: &Transaction, question: Question) -> bool {
    profile::judging(&transaction.state) >= question.row().level
}

/// A question about the whole plan, on the newest result; its id and its time come when it is put.
pub(super) fn of_plan(
    transaction: &Transaction,
    question: Question,
    agent: AgentName,
    subject: Digest,
) -> Consult {
    let run = &transaction.state.run;
    Consult {
        id: ConsultId::new(""),
        question,
        subject,
        epoch: run.epoch,
        n: 1,
        atom: None,
        leaf: None,
        on: None,
        from: None,
        commit: run.head.clone(),
        reserved: run.estimate(question, Some(&agent)),
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
pub(super) fn put_or_wait(transaction: &mut Transaction, new: Consult) {
    let key = (new.question, new.subject.clone());
    let waits = transaction.session.silent.get(&key);
    let active_ms = transaction.session.active_ms;
    if waits.is_some_and(|wait| wait.again_at_ms > active_ms) {
        return;
    }
    let n = waits.map_or(0, |wait| wait.asked) + 1;
    put(transaction, Consult { n, ..new });
}

/// Puts a question about the whole plan, where somebody is there for it. True while its answer is awaited.
pub(super) fn is_awaited(
    transaction: &mut Transaction,
    question: Question,
    subject: &Digest,
) -> bool {
    let Some(agent) = transaction.session.agents.in_role(question).cloned() else {
        return false;
    };
    let new = of_plan(transaction, question, agent.clone(), subject.clone());
    if !usage::can_pay(transaction, question, &agent) {
        keep(transaction, &new, Err(UNPAID.to_string()));
        return false;
    }
    put_or_wait(transaction, new);
    true
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
    // The run goes on without any other answer. Nobody waits for the wording of an ending.
    let is_waited_for = match ended {
        AgentEnd::Limited { .. } => matches!(asked.question, Question::Rate | Question::Refine),
        ended => ended.is_of_provider(),
    };
    if !is_waited_for || transaction.state.run.status != RunStatus::Running {
        return Some(end);
    }
    let (agent, question) = (asked.agent.clone(), Some(asked.question));
    match provider_wait::begin(transaction, agent, None, question, ended, &end.usage) {
        Ok((wait, _)) => {
            let because = format!("{}; it is asked again at {}", wait.because, wait.until);
            announce(transaction, asked, None, ["", &because], end.duration_ms);
            None
        }
        Err(outlasted) => {
            end.answer = ConsultAnswer::Ended(outlasted);
            Some(end)
        }
    }
}

/// Ends the run where its agent cannot be used, and nothing else leads on: the same is asked again once a person has
/// corrected that. True if it ends.
pub(super) fn ends_run(transaction: &mut Transaction, asked: &Consult, end: &ConsultEnd) -> bool {
    let ConsultAnswer::Ended(AgentEnd::Unavailable { kind, words, variable }) = &end.answer else {
        return false;
    };
    let cause = Unavailable::lack(&asked.agent, *kind, words, variable.as_deref());
    transaction.session.unavailable = Some(cause);
    true
}

/// The answer, read, or why there is none; the event says so, with the words that `read` gives beside the value. None
/// where a silent agent is asked again later, as long as that is allowed.
pub(super) fn heard<T>(
    transaction: &mut Transaction,
    asked: &Consult,
    end: ConsultEnd,
    read: impl FnOnce(&Transaction, &Node) -> Result<(T, String), String>,
) -> Option<Result<T, String>> {
    let (duration_ms, key) = (end.duration_ms, (asked.question, asked.subject.clone()));
    if let ConsultAnswer::Silent(why) = &end.answer
        && asked.n <= transaction.state.objective.constraints.max_transient()
    {
        let again_at_ms = transaction.active_in(backoff_ms(asked.n, "consult"));
        let wait = GateWait { asked: asked.n, again_at_ms };
        transaction.session.silent.insert(key, wait);
        announce(transaction, asked, None, ["", why], duration_ms);
        return None;
    }
    transaction.session.silent.remove(&key);
    let read = once(end.answer).and_then(|node| read(transaction, &node));
    let said = match &read {
        Ok((_, words)) => [words.as_str(), ""],
        Err(unused) => ["", unused],
    };
    announce(transaction, asked, None, said, duration_ms);
    Some(read.map(|(value, _)| value))
}

/// Keeps an answer as the newest to its question, or why there is none.
pub(super) fn keep(
    transaction: &mut Transaction,
    asked: &Consult,
    answer: Result<Option<KeptAnswer>, String>,
) {
    let record = record(transaction, asked, answer);
    transaction.run().judging_mut().keep(record);
}

/// The record of an answer, of one that is not kept whole, or of why there is none.
pub(super) fn record(
    transaction: &Transaction,
    asked: &Consult,
    answer: Result<Option<KeptAnswer>, String>,
) -> AnswerRecord {
    AnswerRecord {
        question: asked.question,
        atom: asked.atom.clone(),
        subject: asked.subject.clone(),
        agent: Some(asked.agent.clone()),
        pass: transaction.state.run.pass,
        at: transaction.at.clone(),
        because: answer.as_ref().err().cloned().unwrap_or_default(),
        codes: Vec::new(),
        answer: answer.ok().flatten(),
        extra: Default::default(),
    }
}

/// Whether the question about this subject has its answer.
pub(super) fn is_answered(transaction: &Transaction, question: Question, subject: &Digest) -> bool {
    transaction.state.run.kept(question).is_some_and(|known| known.subject == *subject)
}

/// The answer to a question that is asked once, or why there is none.
pub(super) fn once(answer: ConsultAnswer) -> Result<Node, String> {
    match answer {
        ConsultAnswer::Value(node) => Ok(node),
        ConsultAnswer::Faulty(why) | ConsultAnswer::Silent(why) => Err(why),
        ConsultAnswer::Ended(end) => Err(end.text()),
    }
}

/// Ends the question in flight. Without an end, usage that it did not report counts as was reserved for it.
pub(super) fn close(transaction: &mut Transaction, end: Option<&Usage>) {
    let Some(asked) = transaction.state.run.consult.clone() else {
        return;
    };
    transaction.run().consult = None;
    let reported = transaction.session.reported.remove(&asked.attempt());
    let mut used = reported.map(|reported| reported.usage).unwrap_or_default();
    match end {
        Some(end) => used.raise_to(end),
        None => used.fill_from(&asked.reserved),
    }
    transaction.run().settle(&asked.agent, asked.question, &used, end.is_some());
}

/// Puts a question into the state: it is asked after the commit. It waits as long as its agent does.
pub(super) fn put(transaction: &mut Transaction, new: Consult) {
    let is_running = transaction.state.run.status == RunStatus::Running;
    if is_running && transaction.session.awaits_provider(&new.agent) {
        return;
    }
    let at = transaction.at.clone();
    let consult = Consult { id: transaction.run().next_consult(), at, ..new };
    transaction.announce(Event::Consulting {
        consult: consult.id.clone(),
        question: consult.question,
        agent: consult.agent.clone(),
        about: answer_forms::about(&transaction.state, &consult),
    });
    transaction.run().consult = Some(consult);
}

/// A question came to its end. The score is that of a leaf of the base case; two texts are the answer in words, and why
/// it is of no use.
pub(super) fn announce(
    transaction: &mut Transaction,
    asked: &Consult,
    score: Option<Thousandths>,
    [words, because]: [&str; 2],
    ms: u64,
) {
    let leaf = rated_leaf(&transaction.state, asked).and_then(Check::leaf);
    let holds = match leaf {
        Some(Leaf::Quality(leaf)) => score.map(|score| leaf.passes(score)),
        _ => None,
    };
    transaction.announce(Event::Consulted {
        consult: asked.id.clone(),
        question: asked.question,
        agent: asked.agent.clone(),
        about: answer_forms::about(&transaction.state, asked),
        ms,
        score: score.map(Thousandths::text),
        holds,
        words: words.to_string(),
        because: because.to_string(),
    });
}
