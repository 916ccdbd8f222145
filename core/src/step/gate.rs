//! The gate before a planner's plan: nothing of it starts before it was looked at (contract §9.25).
//!
//! Invariant: a gate opens by one commit, on the answer or on the default path. It is no part of the measure, and no
//! answer solves an atom, takes a choice away or ends the run.

use alloc::{
    collections::BTreeSet,
    string::{String, ToString},
    vec::Vec,
};

use super::{
    attention,
    plan_report::{PlanReport, announce, report},
    planning,
    question::{self, NewQuestion, QuestionEnd},
    transaction::Transaction,
    usage,
};
use crate::{
    event::ConsultEnd,
    graph::Ix,
    id::{AtomId, Digest},
    profile,
    search::rounds,
    state::{
        ADVISORIES_MAX, Consult, ISSUES_MAX, IssueRecord, JudgedBy, JudgedMark, Role,
        atom::{AttentionCause, AttentionMark},
    },
    validation,
};

/// A plan in force that nobody has looked at yet.
pub(super) struct UnjudgedPlan {
    x: Ix,
    atom: AtomId,
    subject: Digest,
}

/// The plans that nobody has looked at yet. Hardly ever is there one.
fn unjudged(transaction: &Transaction) -> impl Iterator<Item = UnjudgedPlan> {
    let graph = &transaction.graph;
    graph.plans().filter_map(|x| {
        let atom = graph.id(x);
        let fragment = transaction.plan_of(atom)?.in_force()?;
        let is_closed = fragment.unjudged && transaction.active.is_live(x);
        is_closed.then(|| UnjudgedPlan {
            x,
            atom: atom.clone(),
            subject: graph.plan_subject(fragment),
        })
    })
}

/// The plan that an agent is to look at next.
pub(super) fn wanted(transaction: &Transaction) -> Option<UnjudgedPlan> {
    unjudged(transaction).next()
}

/// The plan that a question is about, if it still waits for its answer.
fn asked_about(transaction: &Transaction, consult: &Consult) -> Option<UnjudgedPlan> {
    unjudged(transaction).find(|plan| plan.subject == consult.subject)
}

/// Whether the answer to a question about a plan is of use.
pub(super) fn is_asked(transaction: &Transaction, consult: &Consult) -> bool {
    let asks = profile::judging(&transaction.state).asks();
    asks && asked_about(transaction, consult).is_some()
}

/// Asks about a plan, or opens its gate where nobody can be asked.
pub(super) fn ask(transaction: &mut Transaction, plan: &UnjudgedPlan) {
    if !profile::judging(&transaction.state).asks() {
        // A person said meanwhile that nobody is to be asked.
        let by_rules = PlanReport {
            by: JudgedBy::Code,
            ..nobody("")
        };
        return open(transaction, plan, by_rules);
    }
    let Some(agent) = transaction.session.agents.in_role(Role::Validate).cloned() else {
        return open(transaction, plan, nobody("no agent is configured for it"));
    };
    if usage::is_unlimited(transaction, &agent)
        || usage::lacking_for(transaction, Role::Validate, &agent).is_some()
    {
        return open(
            transaction,
            plan,
            nobody("what is left of the budget does not suffice"),
        );
    }
    let about = question::about_plan(transaction, &plan.atom);
    let subject = plan.subject.clone();
    let of_plan = NewQuestion::of_plan(transaction, Role::Validate, agent, subject);
    let new = NewQuestion {
        atom: Some(plan.atom.clone()),
        about,
        ..of_plan
    };
    question::put_or_wait(transaction, new);
}

/// The answer to a question about a plan.
pub(super) fn answered(transaction: &mut Transaction, asked: &Consult, end: ConsultEnd) {
    let Some(plan) = asked_about(transaction, asked) else {
        return;
    };
    let atoms = atoms(transaction, &plan);
    let duration_ms = end.duration_ms;
    let read = match question::again_or(transaction, asked, end) {
        QuestionEnd::Again => return,
        QuestionEnd::Ended(answer) => {
            answer.and_then(|node| validation::read(&node, |id| atoms.contains(id)))
        }
    };
    let judged = match read {
        Ok(found) => PlanReport {
            by: JudgedBy::Model,
            agent: Some(asked.agent.clone()),
            issues: found.issues,
            unplaced: found.unplaced,
            because: String::new(),
        },
        Err(why) => PlanReport {
            agent: Some(asked.agent.clone()),
            ..nobody(&why)
        },
    };
    let said = match judged.by {
        JudgedBy::Nobody => judged.because.clone(),
        JudgedBy::Code | JudgedBy::Model => String::new(),
    };
    question::tell(transaction, asked, &said, duration_ms);
    open(transaction, &plan, judged);
}

fn nobody(why: &str) -> PlanReport {
    PlanReport {
        by: JudgedBy::Nobody,
        agent: None,
        issues: Vec::new(),
        unplaced: 0,
        because: why.to_string(),
    }
}

/// The ids of all atoms of a plan.
fn atoms(transaction: &Transaction, plan: &UnjudgedPlan) -> BTreeSet<String> {
    let graph = &transaction.graph;
    let fragment = transaction
        .plan_of(&plan.atom)
        .and_then(|step| step.in_force());
    let parts = fragment.into_iter().flat_map(|one| &one.parts);
    let inside = parts.filter_map(|id| graph.ix(id));
    let inside = inside.flat_map(|x| graph.subtree(x));
    inside.map(|x| graph.id(x).to_string()).collect()
}

/// Opens the gate. A plan with heavy issues is planned again first, if its step has a round left. It stays, and is tried
/// when the new one has failed.
fn open(transaction: &mut Transaction, plan: &UnjudgedPlan, mut judged: PlanReport) {
    let known = transaction.state.run.validation();
    let known = known.filter(|report| report.subject == plan.subject);
    let rules: Vec<IssueRecord> = known.map_or_else(Vec::new, |report| report.issues.clone());
    let is_new = |one: &IssueRecord| {
        let is_same = |rule: &IssueRecord| rule.location == one.location && rule.kind == one.kind;
        !rules.iter().any(is_same)
    };
    judged.issues.retain(is_new);
    judged.issues.extend(rules.iter().cloned());
    judged.issues.sort_by_key(|one| one.severity.rank());
    judged.issues.truncate(ISSUES_MAX);
    let is_heavy = judged.issues.iter().any(|one| one.severity.is_heavy());
    let again = is_heavy && judged.by == JudgedBy::Model && may_plan_again(transaction, plan);
    let mark = JudgedMark {
        by: judged.by,
        at: transaction.at().into(),
        issues: u32::try_from(judged.issues.len()).unwrap_or(u32::MAX),
        because: judged.because.clone(),
        extra: Default::default(),
    };
    transaction.change_plan(&plan.atom, |step| {
        if let Some(fragment) = step.in_force_mut() {
            fragment.unjudged = false;
            fragment.judged = Some(mark);
        }
    });
    announce(transaction, &plan.atom, &judged, again);
    if !again {
        advise(transaction, &judged.issues);
        if judged.by == JudgedBy::Model {
            attention::mark(transaction, marks(&judged.issues));
        }
    }
    report(transaction, &plan.atom, plan.subject.clone(), judged);
    if again {
        planning::refine(transaction, plan.x);
    }
    transaction.rebuild();
}

fn may_plan_again(transaction: &Transaction, plan: &UnjudgedPlan) -> bool {
    let step = transaction.plan_of(&plan.atom);
    let context = transaction.active.context(plan.x);
    let (Some(step), Some(context)) = (step, context) else {
        return false;
    };
    let pays = |agent| usage::lacking_for(transaction, Role::Planner, agent).is_none();
    let (_, agent) = usage::agent_of(transaction, &plan.atom);
    rounds::has_round_left(&transaction.state, step, context) && agent.as_ref().is_none_or(pays)
}

/// Marks of the tasks that are tried with a heavy issue.
fn marks(issues: &[IssueRecord]) -> Vec<(AtomId, AttentionMark)> {
    let heavy = issues.iter().filter(|one| one.severity.is_heavy());
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
