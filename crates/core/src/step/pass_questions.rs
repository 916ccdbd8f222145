//! The questions where nothing is left to try: what is said of the pass (contract §9.30), the kind of task said anew
//! (§9.26), and a change of the plan (§9.29).
//!
//! Invariant: each is put once about the same plan with the same failures. An opinion steers what those who change the
//! plan are told. It ends nothing, solves nothing and takes no choice away. Not here: which change is admitted
//! (`replan`), the forms of answers (`answer_forms`).

use super::{
    backtrack::{self, BlockCause},
    question, replan,
    transaction::Transaction,
};
use crate::doc::prelude::*;
use crate::{
    answer_forms,
    doc::{Fault, Node},
    event::ConsultEnd,
    fragment::{
        self,
        delta::{self, AcceptedDelta, DeltaRequest},
    },
    id::Digest,
    judging::PlanFacts,
    profile,
    state::{
        AnswerForm, AnswerRecord, AssessmentCode, AtomStatus, Consult, DELTAS_MAX, IssueRecord,
        IssueType, KeptAnswer, Moment, PassAnswer, Question, TextAnswer,
        answer_records::KindAnswer,
        profile::{PROFILE_CHANGES_MAX, ProfileChange, ProfileRecord, TaskProfile},
    },
};

/// Faults of an answer that are shown.
const FAULTS_MAX: usize = 8;

/// Puts the first question that is due and was not answered. True while its answer is awaited.
pub(super) fn is_awaited(
    transaction: &mut Transaction,
    blocked: &BlockCause,
    subject: &Digest,
) -> bool {
    Question::at(Moment::DeadEnd).any(|question| {
        is_due(transaction, question, subject)
            && (question.row().form != AnswerForm::Change
                || replan::may_refine(transaction, blocked))
            && question::is_awaited(transaction, question, subject)
    })
}

fn is_due(transaction: &Transaction, question: Question, subject: &Digest) -> bool {
    question::is_of_level(transaction, question)
        && !question::is_answered(transaction, question, subject)
        && (question.row().form != AnswerForm::Kind || is_another_kind(transaction, subject))
}

/// Whether the answer to a question would still be of use.
pub(super) fn is_asked(transaction: &Transaction, asked: &Consult) -> bool {
    asked.subject == question::subject_of_plan(&transaction.state, &transaction.graph)
        && is_due(transaction, asked.question, &asked.subject)
}

/// Takes the answer about the plan as it is; that about any other is void.
pub(super) fn answered(transaction: &mut Transaction, asked: &Consult, end: ConsultEnd) {
    if !is_asked(transaction, asked) {
        return;
    }
    match asked.question.row().form {
        AnswerForm::Change => refined(transaction, asked, end),
        AnswerForm::Kind => profiled(transaction, asked, end),
        AnswerForm::Opinion => assessed(transaction, asked, end),
        AnswerForm::Text | AnswerForm::Issues | AnswerForm::Score => {
            noted(transaction, asked, end);
        }
    }
}

/// Keeps an answer from which nothing follows but what people and those who change the plan are told.
fn noted(transaction: &mut Transaction, asked: &Consult, end: ConsultEnd) {
    let read = |transaction: &Transaction, node: &Node| {
        if asked.question.row().form == AnswerForm::Issues {
            let found = answer_forms::issues_of_all(&transaction.state, node)?;
            let words = issues_in_short(&found.issues);
            return Ok((KeptAnswer::Issues(found), words));
        }
        let answer: TextAnswer = answer_forms::read(node)?;
        let words = answer.text.clone();
        Ok((KeptAnswer::Text(answer), words))
    };
    if let Some(read) = question::heard(transaction, asked, end, read) {
        question::keep(transaction, asked, read.map(Some));
    }
}

fn issues_in_short(issues: &[IssueRecord]) -> String {
    match issues.len() {
        1 => "1 issue".to_string(),
        n => format!("{n} issues"),
    }
}

// The opinion of a pass that came to its end.

fn assessed(transaction: &mut Transaction, asked: &Consult, end: ConsultEnd) {
    let read = |transaction: &Transaction, node: &Node| {
        let said = answer_forms::opinion(&transaction.state, node)?;
        let codes = codes(transaction, Some(&said));
        let words = match said.issues.as_slice() {
            [] => codes.join(", "),
            issues => format!("{}; {}", codes.join(", "), issues_in_short(issues)),
        };
        Ok(((said, codes), words))
    };
    let Some(read) = question::heard(transaction, asked, end, read) else {
        return;
    };
    let (answer, codes) = match read {
        Ok((said, codes)) => (Ok(Some(KeptAnswer::Opinion(said))), codes),
        Err(why) => (Err(why), codes(transaction, None)),
    };
    let record = AnswerRecord { codes, ..question::record(transaction, asked, answer) };
    let criteria = &transaction.state.objective.constraints.convergence;
    // A pass is looked at where the base case does not hold at its end.
    let is_wrong = record.opinion().is_some_and(|said| said.has_converged(criteria));
    let judging = transaction.run().judging_mut();
    judging.mistaken = judging.mistaken.saturating_add(u32::from(is_wrong));
    judging.keep(record);
}

/// The reasons in codes, in the order of their list; a criterion's is `criterion:` and its name. The base case does not
/// hold where this is asked.
fn codes(transaction: &Transaction, said: Option<&PassAnswer>) -> Vec<String> {
    let state = &transaction.state;
    let criteria = &state.objective.constraints.convergence;
    let names_what_is_not_there = {
        let own = said.into_iter().flat_map(|said| &said.issues);
        let mut issues = state.run.issues().chain(own);
        issues.any(|one| one.kind == IssueType::Hallucination)
    };
    let mut codes = match said {
        Some(said) => said.codes(criteria),
        None => Vec::from([AssessmentCode::NotAssessed.word().to_string()]),
    };
    let seen = [
        (names_what_is_not_there, AssessmentCode::HallucinatedTool),
        (true, AssessmentCode::BaseCaseUnmet),
        (has_blocked(transaction), AssessmentCode::BlockedAtoms),
    ];
    let seen = seen.into_iter().filter(|(holds, _)| *holds);
    codes.extend(seen.map(|(_, code)| code.word().to_string()));
    codes
}

/// Whether a task said that it cannot be done.
fn has_blocked(transaction: &Transaction) -> bool {
    let mut tasks = transaction.graph.tasks().filter_map(|x| transaction.task(x));
    tasks.any(|task| matches!(task.status, AtomStatus::Invalid(_)))
}

// The kind of task, said anew at the end of a pass that shows it was taken for another (contract §9.26).
//
// Invariant: it is asked about on three signals at once, once a pass, and never where a person said what kind it is.
// The passes that it gives stay within the limits.

/// Passes are allocated anew where they differ by more than this share of those before, in percent.
const DIFFERENCE_PERCENT: u32 = 30;

/// The pass did not converge, its plan has open issues, and a task could not be done as it was said.
fn is_another_kind(transaction: &Transaction, subject: &Digest) -> bool {
    let state = &transaction.state;
    let criteria = &state.objective.constraints.convergence;
    let said = state.run.kept(Question::Pass);
    let said = said.filter(|known| known.subject == *subject).and_then(|known| known.opinion());
    known(transaction).is_some()
        && said.is_some_and(|said| !said.has_converged(criteria))
        && state.run.issues().any(|one| one.severity.is_heavy())
        && has_blocked(transaction)
}

/// An agent's profile that is in force.
fn known(transaction: &Transaction) -> Option<&ProfileRecord> {
    let state = &transaction.state;
    let is_persons = state.objective.constraints.profile.is_some();
    state.run.profile.as_ref().filter(|_| !is_persons)
}

fn profiled(transaction: &mut Transaction, asked: &Consult, end: ConsultEnd) {
    let read = |_: &Transaction, node: &Node| {
        let said: KindAnswer = answer_forms::read(node)?;
        let words = said.raw_inference.clone();
        Ok((said, words))
    };
    let Some(read) = question::heard(transaction, asked, end, read) else {
        return;
    };
    let said = read.as_ref().map(|_| None).map_err(String::clone);
    question::keep(transaction, asked, said);
    if let Ok(said) = read {
        take_kind(transaction, asked, said);
    }
}

fn take_kind(transaction: &mut Transaction, asked: &Consult, said: KindAnswer) {
    let Some(known) = known(transaction).cloned() else {
        return;
    };
    let at = transaction.at.clone();
    let new = profile::record(asked.agent.clone(), at, Ok(said));
    let (history, extra) = (known.history.clone(), known.extra.clone());
    transaction.run().profile = Some(ProfileRecord { history, extra, ..new });
    let (were, passes) = allocate(transaction);
    let changes = changes(transaction, &known, were, passes);
    if let Some(profile) = &mut transaction.run().profile {
        profile.history.extend(changes);
        let old = profile.history.len().saturating_sub(PROFILE_CHANGES_MAX);
        profile.history.drain(..old);
    }
}

/// Allocates the passes anew, where they differ by much. Gives those before, and those now.
fn allocate(transaction: &mut Transaction) -> (u32, u32) {
    let state = &transaction.state;
    let known = state.run.passes.as_ref();
    let known = known.map(|count| (count.allocated, count.begun));
    let (Some((were, begun)), Some(kind)) = (known, profile::in_force(state)) else {
        return (0, 0);
    };
    let most = profile::max_passes(&state.objective.constraints);
    let wanted = profile::passes(&kind, most);
    let wanted = wanted.max(begun.saturating_add(1)).min(most);
    let is_other =
        wanted.abs_diff(were).saturating_mul(100) > were.saturating_mul(DIFFERENCE_PERCENT);
    if !is_other {
        return (were, were);
    }
    if let Some(count) = &mut transaction.run().passes {
        count.allocated = wanted;
    }
    (were, wanted)
}

/// The fields that are other than before.
fn changes(
    transaction: &Transaction,
    was: &ProfileRecord,
    passes_were: u32,
    passes: u32,
) -> Vec<ProfileChange> {
    let Some(new) = known(transaction) else {
        return Vec::new();
    };
    let fields = |one: &TaskProfile| {
        [
            ("reasoning_depth", one.reasoning_depth.to_string()),
            ("information_sufficiency", one.information_sufficiency.text()),
            ("expected_tool_usage", one.expected_tool_usage.word().to_string()),
            ("output_breadth", one.output_breadth.word().to_string()),
            ("confidence_requirement", one.confidence_requirement.word().to_string()),
        ]
    };
    let pairs = fields(&was.profile).into_iter().zip(fields(&new.profile));
    let other = pairs.filter(|(was, is)| was != is);
    let change = |((field, was), (_, is)): ((&str, String), (&str, String))| ProfileChange {
        pass: transaction.state.run.pass,
        field: field.to_string(),
        was,
        is,
        passes_were,
        passes,
        because: new.raw_inference.clone(),
        extra: Default::default(),
    };
    other.map(change).collect()
}

// Changes of a plan by a refiner.
//
// Invariant: an answer that is not taken uses one change up and changes nothing else.

fn refined(transaction: &mut Transaction, asked: &Consult, end: ConsultEnd) {
    let Some(blocked) = backtrack::blocked(transaction) else {
        return;
    };
    let has_planner = transaction.session.agents.has_planner;
    if !has_planner && question::ends_run(transaction, asked, &end) {
        return;
    }
    let (facts, shell_faults) = (end.facts.clone(), end.shell_faults.clone());
    let mut oversteps = false;
    let read = |transaction: &Transaction, node: &Node| {
        let judged = judge(transaction, asked, node, &facts);
        oversteps = judged.as_ref().is_err_and(|faults| fragment::oversteps(faults));
        Ok((read_delta(transaction, judged, &shell_faults)?, String::new()))
    };
    let read = question::heard(transaction, asked, end, read);
    if oversteps {
        transaction.run().judging_mut().count_overstep();
    }
    if let Some(read) = read {
        take_delta(transaction, asked, &blocked, read);
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

fn read_delta(
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
    if delta.needs_planner() && !transaction.session.agents.has_planner {
        return Err("there is no planner for a step that plans".to_string());
    }
    let judging = transaction.state.run.judging.as_ref();
    if judging.is_some_and(|judging| judging.deltas.contains(&delta.digest)) {
        Err("the same change was proposed before".to_string())
    } else {
        Ok(delta)
    }
}

fn take_delta(
    transaction: &mut Transaction,
    asked: &Consult,
    blocked: &BlockCause,
    read: Result<AcceptedDelta, String>,
) {
    let digest = read.as_ref().ok().map(|delta| delta.digest.clone());
    let taken = replan::refine(transaction, &asked.agent, blocked, read);
    question::keep(transaction, asked, taken.map(|()| None));
    let judging = transaction.run().judging_mut();
    judging.deltas.extend(digest);
    let old = judging.deltas.len().saturating_sub(DELTAS_MAX);
    judging.deltas.drain(..old);
}

/// In a run that a person starts anew, an agent whose answer was of no use is asked once more.
pub(super) fn forget_useless(transaction: &mut Transaction) {
    let is_useless = |known: &AnswerRecord| {
        known.question.row().moment == Moment::DeadEnd && !known.because.is_empty()
    };
    let mut answers = transaction.state.run.judging.iter().flat_map(|known| &known.answers);
    if answers.any(is_useless) {
        transaction.run().judging_mut().answers.retain(|known| !is_useless(known));
    }
}
