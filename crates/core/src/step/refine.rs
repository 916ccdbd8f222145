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
    backtrack::{self, BlockCause},
    question, replan,
    transaction::Transaction,
};
use crate::{
    doc::{Fault, Node},
    event::ConsultEnd,
    fragment::{
        self,
        delta::{self, AcceptedDelta, DeltaRequest},
    },
    id::Digest,
    judging::PlanFacts,
    profile,
    state::{Consult, DELTAS_MAX, JudgingLevel, RefinementRecord, Role},
};

/// Faults of an answer that are told.
const FAULTS_MAX: usize = 8;

/// At a dead end: puts the question, unless it was answered. True while its answer is awaited.
pub(super) fn is_awaited(
    transaction: &mut Transaction,
    blocked: &BlockCause,
    subject: &Digest,
) -> bool {
    let state = &transaction.state;
    let known = state.run.judging.as_ref();
    let known = known.and_then(|judging| judging.refinement.as_ref());
    let is_answered = known.is_some_and(|known| known.subject == *subject);
    profile::judging(state) != JudgingLevel::Off
        && !is_answered
        && replan::may_refine(transaction, blocked)
        && question::is_awaited(transaction, Role::Refine, subject, |_, _| ())
}

/// Whether the answer to a question would still be of use.
pub(super) fn is_asked(transaction: &Transaction, asked: &Consult) -> bool {
    question::is_about_plan(transaction, asked)
        && profile::judging(&transaction.state) != JudgingLevel::Off
}

/// Takes the answer about the plan as it stands; that about any other is void.
pub(super) fn answered(transaction: &mut Transaction, asked: &Consult, end: ConsultEnd) {
    let Some(blocked) = backtrack::blocked(transaction) else {
        return;
    };
    let (facts, shell_faults) = (end.facts.clone(), end.shell_faults.clone());
    let mut oversteps = false;
    let read = |transaction: &Transaction, node: &Node| {
        let judged = judge(transaction, asked, node, &facts);
        oversteps = judged.as_ref().is_err_and(|faults| fragment::oversteps(faults));
        read(transaction, judged, &shell_faults)
    };
    let read = question::heard(transaction, asked, end, read);
    if oversteps {
        transaction.run().judging_mut().count_overstep();
    }
    if let Some(read) = read {
        take(transaction, asked, &blocked, read);
    }
}

fn judge(
    transaction: &Transaction,
    asked: &Consult,
    answer: &Node,
    facts: &PlanFacts,
) -> Result<AcceptedDelta, Vec<Fault>> {
    let request =
        DeltaRequest { state: &transaction.state, graph: &transaction.graph, consult: &asked.id };
    delta::judge(request, answer, facts)
}

fn read(
    transaction: &Transaction,
    judged: Result<AcceptedDelta, Vec<Fault>>,
    shell_faults: &[(String, String)],
) -> Result<AcceptedDelta, String> {
    let mut faults: Vec<_> = fragment::faults_of_shell(shell_faults).collect();
    let delta = match judged {
        Ok(delta) if faults.is_empty() => delta,
        judged => {
            faults.splice(0..0, judged.err().unwrap_or_default());
            let lines = faults.iter().take(FAULTS_MAX).map(fragment::line);
            return Err(lines.collect::<Vec<String>>().join("; "));
        }
    };
    if delta.needs_planner() && !transaction.session.agents.has_planner() {
        return Err("there is no planner for a step that plans".to_string());
    }
    let judging = transaction.state.run.judging.as_ref();
    if judging.is_some_and(|judging| judging.deltas.contains(&delta.digest)) {
        Err("the same change was proposed before".to_string())
    } else {
        Ok(delta)
    }
}

fn take(
    transaction: &mut Transaction,
    asked: &Consult,
    blocked: &BlockCause,
    read: Result<AcceptedDelta, String>,
) {
    let digest = read.as_ref().ok().map(|delta| delta.digest.clone());
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

/// In a run that a person starts anew, an agent whose answer was of no use is asked once more.
pub(super) fn forget_refusal(transaction: &mut Transaction) {
    let judging = transaction.state.run.judging.as_ref();
    let refined = judging.and_then(|judging| judging.refinement.as_ref());
    let assessed = judging.and_then(|judging| judging.assessment.as_ref());
    let is_refused = refined.is_some_and(|known| !known.taken);
    let is_silent = assessed.is_some_and(|known| known.converged.is_none());
    let reviewed = judging.and_then(|judging| judging.review.as_ref());
    let is_unreviewed = reviewed.is_some_and(|known| !known.because.is_empty());
    if is_refused {
        transaction.run().judging_mut().refinement = None;
    }
    if is_silent {
        transaction.run().judging_mut().assessment = None;
    }
    if is_unreviewed {
        transaction.run().judging_mut().review = None;
    }
}
