//! The forms of agents' answers: the JSON Schema of each, and the reading of it. The turn in which an agent corrects its
//! answer and the loop read it alike.
//!
//! Invariant: an answer is taken whole or not at all; ids, numbers and what follows are the program's. Not here: what
//! follows from an answer (`step`).

#[cfg(test)]
mod tests;

use crate::doc::prelude::*;
use crate::{
    doc::{self, Node},
    fragment::{self, delta},
    graph::unjudged::{self, WHOLE_PLAN},
    id::{AtomId, TreeId},
    json_schema::of_answer,
    profile, rating,
    state::{
        AnswerForm, Check, Consult, ISSUES_MAX, IssueRecord, IssuesAnswer, JudgingLevel,
        PassAnswer, Question, State, TextAnswer, answer_records::KindAnswer,
        answer_texts::misspelt, fields::Findings, judged, record::EvidenceRecord, rule::RecordRule,
        value::FieldValue,
    },
    verdict::{Basis, Evaluator},
    wording,
    world::{Session, World, speculation},
};

/// Faults of an answer that are shown to its author.
const FAULTS_MAX: usize = 8;
/// Keys of answers that code adds.
const OF_CODE: &[&str] = &["rule", "unplaced"];

/// The JSON Schema of the answer to a question.
pub fn schema(world: &World, question: Question, consult: Option<&Consult>) -> String {
    let state = &world.state;
    let constraints = &state.objective.constraints;
    let (rule, without): (&RecordRule, &[&str]) = match question.row().form {
        AnswerForm::Change => return delta::schema(),
        AnswerForm::Score => {
            let check = consult.and_then(|asked| rated_leaf(state, asked));
            let schema = check.and_then(rating::schema);
            return schema.map(|schema| doc::write_compact(&schema)).unwrap_or_default();
        }
        AnswerForm::Text if question == Question::Word && wording::compares(state) => {
            (&TextAnswer::RULE, &[])
        }
        AnswerForm::Text => (&TextAnswer::RULE, &["drift"]),
        AnswerForm::Kind => (&KindAnswer::RULE, &[]),
        AnswerForm::Issues => (&IssuesAnswer::RULE, OF_CODE),
        AnswerForm::Opinion => {
            let is_full = profile::judging(state) == JudgingLevel::Full;
            let has_criteria = judged::others(&constraints.convergence).next().is_some();
            let without: &[&str] = match (is_full, has_criteria) {
                (true, true) => OF_CODE,
                (true, false) => &["rule", "criteria"],
                (false, true) => &["issues"],
                (false, false) => &["issues", "criteria"],
            };
            (&PassAnswer::RULE, without)
        }
    };
    of_answer(rule, without)
}

/// Judges an answer to a question.
///
/// # Errors
/// If it cannot be used, in words that its author can correct it by.
pub fn judge(world: &World, consult: &Consult, answer: &Node) -> Result<(), String> {
    let state = &world.state;
    match consult.question.row().form {
        // The shell looks at the place in which the change would be carried out.
        AnswerForm::Change => Ok(()),
        AnswerForm::Kind => read::<KindAnswer>(answer).map(drop),
        AnswerForm::Opinion => opinion(state, answer).map(drop),
        AnswerForm::Text => read::<TextAnswer>(answer).map(drop),
        AnswerForm::Issues => match unjudged::find(&world.graph, state, &consult.subject) {
            Some(plan) => issues(answer, |id| plan.is_of_it(id)).map(drop),
            None => issues_of_all(state, answer).map(drop),
        },
        AnswerForm::Score => match rated_leaf(state, consult) {
            Some(check) => rating::read(check, answer).map(drop),
            None => Ok(()),
        },
    }
}

/// The checks that the rating of a question is for: those of its task, or the base case.
pub fn rated_checks<'s>(state: &'s State, consult: &Consult) -> Option<&'s Check> {
    match &consult.atom {
        Some(atom) => state.atoms.get(atom)?.task()?.spec.checks.as_ref(),
        None => state.objective.base_case.as_ref(),
    }
}

/// The evidence of machines on what a question about a leaf is of, as far as this loop has it.
pub fn measured(state: &State, session: &Session, consult: &Consult) -> Vec<EvidenceRecord> {
    let (Some(check), Some(on)) = (rated_checks(state, consult), consult.on.as_ref()) else {
        return Vec::new();
    };
    let basis = match &consult.atom {
        Some(_) => speculation::basis_of_work(state, session, on),
        None => Some(Basis::Pristine(TreeId::new(on.as_str()))),
    };
    let Some(basis) = basis else {
        return Vec::new();
    };
    let evaluator = Evaluator { ratings: &[], ..session.evaluator(state, &basis) };
    let mut all = evaluator.evidence_of(check);
    all.retain(|one| one.verdict.as_deref().is_some_and(|verdict| verdict != "unknown"));
    all
}

/// The leaf that a question is about.
pub fn rated_leaf<'s>(state: &'s State, consult: &Consult) -> Option<&'s Check> {
    let leaves = rated_checks(state, consult).into_iter().flat_map(Check::leaves);
    leaves.into_iter().find(|leaf| Some(leaf.key()) == consult.leaf)
}

/// The subject of a question in words.
pub fn about(state: &State, consult: &Consult) -> String {
    let step = consult.atom.as_ref();
    match (rated_leaf(state, consult), step) {
        (Some(leaf), Some(atom)) => format!("{} ({atom})", leaf.title()),
        (Some(leaf), None) => leaf.title(),
        (None, step) => {
            let step = step.map(|id| (id, state.atom(id).map_or("", |atom| atom.title(id))));
            consult.question.about(step)
        }
    }
}

/// Reads the text of an answer.
///
/// # Errors
/// If it is no JSON object.
pub fn object(text: &str) -> Result<Node, String> {
    let parsed = doc::parse(text.trim(), &doc::Limits::default());
    let node = parsed.node.filter(|_| parsed.faults.is_empty());
    let node = node.filter(|node| node.as_object().is_some());
    node.ok_or_else(|| "it is no JSON object".to_string())
}

/// Reads an answer of one form.
///
/// # Errors
/// What is wrong with it, in words that its author can correct it by; so of every form.
pub fn read<T: FieldValue>(answer: &Node) -> Result<T, String> {
    let mut found = Findings { near_miss: Some(misspelt), is_answer: true, ..Findings::default() };
    match T::read(answer, "", &mut found) {
        Some(read) if found.faults.is_empty() => Ok(read),
        _ => {
            let lines = found.faults.iter().take(FAULTS_MAX).map(fragment::line);
            Err(lines.collect::<Vec<String>>().join("; "))
        }
    }
}

/// Reads the issues of a plan with these atoms.
///
/// # Errors
/// As of every form.
pub fn issues(answer: &Node, is_known: impl Fn(&str) -> bool) -> Result<IssuesAnswer, String> {
    let mut read: IssuesAnswer = read(answer)?;
    read.unplaced = placed(&mut read.issues, is_known)?;
    Ok(read)
}

/// Reads issues of the whole plan.
///
/// # Errors
/// As of every form.
pub fn issues_of_all(state: &State, answer: &Node) -> Result<IssuesAnswer, String> {
    issues(answer, |id| is_of_plan(state, id))
}

fn is_of_plan(state: &State, id: &str) -> bool {
    id == WHOLE_PLAN || state.atom(&AtomId::new(id)).is_some()
}

/// Reads an opinion of a pass.
///
/// # Errors
/// As of every form.
pub fn opinion(state: &State, answer: &Node) -> Result<PassAnswer, String> {
    let mut read: PassAnswer = read(answer)?;
    let criteria = &state.objective.constraints.convergence;
    read.criteria.retain(|one| judged::others(criteria).any(|wanted| wanted.name == one.name));
    for wanted in judged::others(criteria) {
        if !read.criteria.iter().any(|score| score.name == wanted.name) {
            return Err(format!("`criteria` has a score from 0 to 1 of `{}`", wanted.name));
        }
    }
    read.blame.retain(|id| state.atom(id).is_some());
    placed(&mut read.issues, |id| is_of_plan(state, id))?;
    Ok(read)
}

/// Keeps the issues that name an atom, the heaviest first; gives the number of others.
fn placed(issues: &mut Vec<IssueRecord>, is_known: impl Fn(&str) -> bool) -> Result<u32, String> {
    let all = issues.len();
    if all > ISSUES_MAX {
        return Err(format!("say {ISSUES_MAX} issues at most, the heaviest"));
    }
    issues.retain(|issue| is_known(&issue.location));
    issues.sort_by_key(|issue| issue.severity.rank());
    // An agent is no rule.
    issues.iter_mut().for_each(|issue| issue.rule = None);
    Ok(u32::try_from(all - issues.len()).unwrap_or(u32::MAX))
}
