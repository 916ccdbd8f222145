//! The gate before a planner's plan: nothing of it starts before it was looked at (contract §9.25). Marks that
//! ask a person to look.
//!
//! Invariant: a gate opens by one commit, on the answer or on the default path. It is no part of the measure, and no
//! answer solves an atom, takes a choice away or ends the run.

use super::{
    planning::{self, announce, mark, report},
    question::{self, UNPAID},
    transaction::Transaction,
    usage,
};
use crate::doc::prelude::*;
use crate::{
    answer_forms,
    doc::Node,
    event::{ConsultEnd, Event},
    graph::unjudged::{self, UnjudgedPlan},
    id::{AgentName, AtomId},
    profile,
    search::ranking,
    state::{
        ADVISORIES_MAX, AnswerRecord, Consult, ISSUES_MAX, IssueRecord, IssuesAnswer, JudgedBy,
        JudgingLevel, Question, Role, Task,
        atom::{AttentionCause, AttentionMark},
    },
};

/// The plan that an agent is to look at next.
pub(super) fn wanted(transaction: &Transaction) -> Option<UnjudgedPlan> {
    let mut all = unjudged::all(&transaction.graph, &transaction.state).into_iter();
    all.find(|plan| is_in_force(transaction, plan))
}

fn is_in_force(transaction: &Transaction, plan: &UnjudgedPlan) -> bool {
    let mut atoms = plan.atoms.iter().filter_map(|id| transaction.graph.ix(id));
    match plan.step {
        Some(step) => transaction.active.is_live(step),
        None => atoms.any(|x| transaction.active.is_live(x)),
    }
}

/// The plan that a question is about, if it still waits for its answer.
fn asked_about(transaction: &Transaction, consult: &Consult) -> Option<UnjudgedPlan> {
    let plan = unjudged::find(&transaction.graph, &transaction.state, &consult.subject);
    plan.filter(|plan| is_in_force(transaction, plan))
}

/// Closes a gate before what a refiner's change touches, where an agent is to look at that.
pub(super) fn close(transaction: &mut Transaction, touched: &[AtomId]) {
    let is_full = profile::judging(&transaction.state) == JudgingLevel::Full;
    if !is_full || transaction.session.agents.in_role(Question::Plan).is_none() {
        return;
    }
    for id in touched {
        if let Some(task) = transaction.task_mut(id) {
            task.unjudged = true;
        }
    }
    transaction.rebuild();
}

/// Whether the answer to a question about a plan is of use.
pub(super) fn is_asked(transaction: &Transaction, consult: &Consult) -> bool {
    question::is_of_level(transaction, Question::Plan)
        && asked_about(transaction, consult).is_some()
}

/// Asks about a plan, or opens its gate where nobody can be asked.
pub(super) fn ask(transaction: &mut Transaction, plan: &UnjudgedPlan) {
    if !question::is_of_level(transaction, Question::Plan) {
        // A person said meanwhile that nobody is to be asked.
        return open(transaction, plan, None, Ok(IssuesAnswer::default()));
    }
    let Some(agent) = transaction.session.agents.in_role(Question::Plan).cloned() else {
        let why = "no agent is configured for it".to_string();
        return open(transaction, plan, None, Err(why));
    };
    if !usage::can_pay(transaction, Question::Plan, &agent) {
        return open(transaction, plan, None, Err(UNPAID.to_string()));
    }
    let subject = plan.subject.clone();
    let of_plan = question::of_plan(transaction, Question::Plan, agent, subject);
    question::put_or_wait(transaction, Consult { atom: Some(plan.atom.clone()), ..of_plan });
}

/// The answer to a question about a plan.
pub(super) fn answered(transaction: &mut Transaction, asked: &Consult, end: ConsultEnd) {
    let Some(plan) = asked_about(transaction, asked) else {
        return;
    };
    let read = |_: &Transaction, node: &Node| {
        Ok((answer_forms::issues(node, |id| plan.is_of_it(id))?, String::new()))
    };
    if let Some(read) = question::heard(transaction, asked, end, read) {
        open(transaction, &plan, Some(asked.agent.clone()), read);
    }
}

/// Opens the gate: what an agent found, or why none looked. A plan with heavy issues is planned again first, if its step
/// has a round left. It stays, and is tried when the new one has failed.
fn open(
    transaction: &mut Transaction,
    plan: &UnjudgedPlan,
    agent: Option<AgentName>,
    read: Result<IssuesAnswer, String>,
) {
    let because = read.as_ref().err().cloned().unwrap_or_default();
    let mut found = read.unwrap_or_default();
    let known = transaction.state.run.kept(Question::Plan);
    let known = known.filter(|report| report.subject == plan.subject);
    let rules: Vec<IssueRecord> = known.map_or_else(Vec::new, |report| report.issues().to_vec());
    let is_new = |one: &IssueRecord| {
        let is_same = |rule: &IssueRecord| rule.location == one.location && rule.kind == one.kind;
        !rules.iter().any(is_same)
    };
    found.issues.retain(is_new);
    found.issues.extend(rules.iter().cloned());
    found.issues.sort_by_key(|one| one.severity.rank());
    found.issues.truncate(ISSUES_MAX);
    let is_heavy = found.issues.iter().any(|one| one.severity.is_heavy());
    let (atom, subject) = (&plan.atom, plan.subject.clone());
    let report = AnswerRecord { agent, because, ..report(transaction, atom, subject, found) };
    let is_model = report.by() == JudgedBy::Model;
    let again = is_heavy && is_model && may_plan_again(transaction, plan);
    let mark = mark(&report, again);
    match plan.step {
        Some(_) => transaction.change_plan(atom, |step| {
            if let Some(fragment) = step.in_force_mut() {
                fragment.unjudged = false;
                fragment.judged = Some(mark);
            }
        }),
        None => plan.atoms.iter().for_each(|id| {
            if let Some(task) = transaction.task_mut(id) {
                task.unjudged = false;
            }
        }),
    }
    announce(transaction, &report, again);
    if !again {
        advise(transaction, report.issues());
        if is_model {
            mark_tasks(transaction, marks(report.issues()));
        }
    }
    transaction.run().judging_mut().keep(report);
    if let Some(step) = plan.step.filter(|_| again) {
        planning::refine(transaction, step);
    }
    transaction.rebuild();
    // The next step starts the work that it held back, since this one may have looked for work already.
    transaction.session.has_more = true;
}

fn may_plan_again(transaction: &Transaction, plan: &UnjudgedPlan) -> bool {
    let step = transaction.plan_of(&plan.atom);
    let context = plan.step.and_then(|x| transaction.active.context(x));
    let (Some(step), Some(context)) = (step, context) else {
        return false;
    };
    let pays = |agent| usage::lacking_for(transaction, Role::Planner, agent).is_none();
    let (_, agent) = usage::agent_of(transaction, &plan.atom);
    ranking::has_round_left(&transaction.state, step, context) && agent.as_ref().is_none_or(pays)
}

/// Marks of the tasks that are tried with a heavy issue.
fn marks(issues: &[IssueRecord]) -> Vec<(AtomId, AttentionMark)> {
    let heavy = issues.iter();
    let heavy = heavy.filter(|one| one.severity.is_heavy() && one.rule.is_none());
    let mark = |issue: &IssueRecord| {
        let mark = AttentionMark {
            because: AttentionCause::Issues,
            text: issue.description.clone(),
            extra: Default::default(),
        };
        (AtomId::new(issue.location.as_str()), mark)
    };
    heavy.map(mark).collect()
}

/// Keeps the repairs that are not made.
fn advise(transaction: &mut Transaction, issues: &[IssueRecord]) {
    let repairs = issues.iter().filter(|one| !one.proposed_repair.is_empty());
    let repairs: Vec<IssueRecord> = repairs.cloned().collect();
    if repairs.is_empty() {
        return;
    }
    let advisories = &mut transaction.run().judging_mut().advisories;
    advisories.extend(repairs);
    let old = advisories.len().saturating_sub(ADVISORIES_MAX);
    advisories.drain(..old);
}

// Marks that ask a person to look at an atom (contract §9.29).
//
// Invariant: a mark ranks and tells. It solves nothing, ends nothing, and takes no choice away.

/// Marks atoms, solved or not.
pub(super) fn mark_tasks(transaction: &mut Transaction, marks: Vec<(AtomId, AttentionMark)>) {
    let is_task = |id: &AtomId| transaction.state.atom(id).is_some_and(|one| one.task().is_some());
    let marks: Vec<_> = marks.into_iter().filter(|(id, _)| is_task(id)).collect();
    for (id, mark) in marks {
        let set = |task: &mut Task| task.attention = Some(mark.clone());
        transaction.change_work(&id, set);
        transaction.announce(Event::Attention {
            atom: id,
            cause: mark.because,
            because: mark.text,
        });
    }
}

/// Tells that tasks wait for a person's answer.
pub(super) fn tell(transaction: &mut Transaction, asked: &[AtomId]) {
    for id in asked {
        let task = transaction.task_of(id);
        let newest = task.and_then(|task| task.questions.last());
        let question = newest.map_or_else(String::new, |one| one.question.clone());
        transaction.announce(Event::NeedsGuidance {
            atom: id.clone(),
            question,
            options: Vec::new(),
        });
    }
}
