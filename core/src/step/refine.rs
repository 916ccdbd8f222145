//! Changes of a plan by a refiner, where nothing is left to try (contract §9.29): when it is asked, and what its answer
//! changes.
//!
//! Invariant: the same plan with the same failures is put to a refiner once. An answer that is not taken uses one change
//! up and changes nothing else. Not here: what is admitted (`replan`), the form of an answer (`fragment::delta`).

use alloc::{
    string::{String, ToString},
    vec::Vec,
};

use super::{
    backoff::backoff_ms,
    backtrack::{self, BlockCause},
    question::{self, NewQuestion},
    replan,
    transaction::Transaction,
    usage,
};
use crate::{
    doc,
    event::{ConsultAnswer, ConsultEnd},
    fragment::{
        self,
        delta::{self, AcceptedDelta, DeltaRequest},
    },
    graph::Graph,
    id::Digest,
    profile,
    state::{Consult, DELTAS_MAX, JudgingLevel, RefinementRecord, Role, State},
    world::GateWait,
};

/// Faults of an answer that are told.
const FAULTS_MAX: usize = 8;

/// The digest of a plan and of what was tried in it.
pub(super) fn subject(state: &State, graph: &Graph) -> Digest {
    let mut text = String::new();
    for x in graph.atoms() {
        let id = graph.id(x);
        let atom = state.atom(id).map(|atom| doc::canonical(&atom.node()));
        text.push_str(id.as_str());
        text.push_str(&atom.unwrap_or_default());
    }
    Digest::of(text.as_bytes())
}

/// At a dead end: puts the question, unless it was answered. True while its answer is awaited.
pub(super) fn is_awaited(transaction: &mut Transaction) -> bool {
    let state = &transaction.state;
    let agent = transaction.session.agents.in_role(Role::Refine);
    let Some(agent) = agent.filter(|_| profile::judging(state) != JudgingLevel::Off) else {
        return false;
    };
    let (agent, subject) = (agent.clone(), subject(state, &transaction.graph));
    if let Some(asked) = &state.run.consult {
        return asked.role != Role::Refine || asked.subject == subject;
    }
    let known = state.run.judging.as_ref();
    let known = known.and_then(|judging| judging.refinement.as_ref());
    let is_answered = known.is_some_and(|known| known.subject == subject);
    if is_answered
        || usage::is_unlimited(transaction, &agent)
        || usage::lacking_for(transaction, Role::Refine, &agent).is_some()
    {
        return false;
    }
    let waits = transaction.session.gate.as_ref();
    let waits = waits.filter(|wait| wait.subject == subject);
    let active_ms = transaction.session.active_ms;
    if waits.is_some_and(|wait| wait.again_at_ms > active_ms) {
        return true;
    }
    let n = waits.map_or(0, |wait| wait.asked) + 1;
    question::put(
        transaction,
        NewQuestion {
            role: Role::Refine,
            agent,
            subject,
            n,
            atom: None,
            leaf: None,
            on: None,
            commit: transaction.state.run.head.clone(),
            about: question::ABOUT_CHANGE.to_string(),
        },
    );
    true
}

/// Whether the answer to a question would still be of use.
pub(super) fn is_asked(transaction: &Transaction, asked: &Consult) -> bool {
    asked.subject == subject(&transaction.state, &transaction.graph)
        && profile::judging(&transaction.state) != JudgingLevel::Off
}

/// Takes the answer about the plan as it stands; that about any other is void.
pub(super) fn answered(transaction: &mut Transaction, asked: &Consult, end: ConsultEnd) {
    let Some(blocked) = backtrack::blocked(transaction).filter(|_| is_asked(transaction, asked))
    else {
        return;
    };
    if let ConsultAnswer::Silent(why) = &end.answer
        && asked.n <= transaction.state.objective.constraints.max_transient()
    {
        let again_at_ms = transaction.active_in(backoff_ms(asked.n, "consult"));
        transaction.session.gate = Some(GateWait {
            subject: asked.subject.clone(),
            asked: asked.n,
            again_at_ms,
        });
        question::tell(transaction, asked, why, end.duration_ms);
        return;
    }
    transaction.session.gate = None;
    let duration_ms = end.duration_ms;
    let read = read(transaction, asked, end);
    take(transaction, asked, &blocked, read, duration_ms);
}

fn read(
    transaction: &Transaction,
    asked: &Consult,
    end: ConsultEnd,
) -> Result<AcceptedDelta, String> {
    let node = match end.answer {
        ConsultAnswer::Value(node) => node,
        ConsultAnswer::Faulty(why) | ConsultAnswer::Silent(why) => return Err(why),
        ConsultAnswer::Limited { .. } => {
            return Err("its provider takes no more for now".to_string());
        }
        ConsultAnswer::Unavailable { words, .. } => return Err(words),
    };
    let request = DeltaRequest {
        state: &transaction.state,
        graph: &transaction.graph,
        consult: &asked.id,
    };
    let mut faults: Vec<_> = fragment::faults_of_shell(&end.shell_faults).collect();
    let delta = match delta::judge(request, &node, &end.facts) {
        Ok(delta) if faults.is_empty() => delta,
        judged => {
            faults.splice(0..0, judged.err().unwrap_or_default());
            let lines: Vec<String> = faults.iter().take(FAULTS_MAX).map(fragment::line).collect();
            return Err(lines.join("; "));
        }
    };
    let judging = transaction.state.run.judging.as_ref();
    match judging.is_some_and(|judging| judging.knows_delta(&delta.digest)) {
        true => Err("the same change was proposed before".to_string()),
        false => Ok(delta),
    }
}

fn take(
    transaction: &mut Transaction,
    asked: &Consult,
    blocked: &BlockCause,
    read: Result<AcceptedDelta, String>,
    duration_ms: u64,
) {
    let digest = read.as_ref().ok().map(|delta| delta.digest.clone());
    let unused = read.as_ref().err().cloned().unwrap_or_default();
    question::tell(transaction, asked, &unused, duration_ms);
    let taken = replan::refine(transaction, &asked.agent, blocked, read);
    let record = RefinementRecord {
        subject: asked.subject.clone(),
        agent: asked.agent.clone(),
        taken: taken.is_ok(),
        because: taken.err().unwrap_or_default(),
        at: transaction.at().into(),
        extra: Default::default(),
    };
    let judging = transaction.run().judging_mut();
    judging.refinement = Some(record);
    judging.deltas.extend(digest);
    let old = judging.deltas.len().saturating_sub(DELTAS_MAX);
    judging.deltas.drain(..old);
}
