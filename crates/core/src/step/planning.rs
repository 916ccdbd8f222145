//! Planning steps: a fragment is accepted or refused, and planned again if it failed whole (contract §5).
//!
//! Invariant: the atoms of a fragment, the change of its step and the entry of the trail are one commit.

use super::{failure::Failure, repair, transaction::Transaction};
use crate::doc::prelude::*;
use crate::{
    difference,
    doc::Fault,
    event::{Event, Outcome},
    fragment::{self, AcceptedFragment},
    graph::{
        Ix,
        active::{ActiveGraph, Selection},
    },
    id::{AtomId, Digest},
    judging::Issue,
    measure::granted,
    profile,
    search::ranking::{self, Round},
    state::{
        AnswerRecord, Atom, EntryKind, FailureClass, Fragment, Intent, IssueRecord, IssuesAnswer,
        JudgedMark, JudgingLevel, KeptAnswer, Question, Try,
        record::{PlanEntry, RefineEntry},
    },
    world,
};

/// Characters at most of the difference between two plans.
const DIFFERENCE_CHARS_MAX: usize = 600;
/// Characters at most of the faults in a failure.
const FAULTS_CHARS_MAX: usize = 4_000;

/// A planner reports success: its fragment is accepted, or the attempt has failed.
pub(super) fn finished(
    transaction: &mut Transaction,
    intent: &Intent,
    outcome: &Outcome,
) -> Result<(), Box<Failure>> {
    let node = fragment::printed(outcome);
    let by_form = node.is_err();
    let asked = world::fragment_request(transaction, intent);
    match node.and_then(|node| fragment::judge(asked, &node, &outcome.facts)) {
        Ok(taken) if outcome.shell_faults.is_empty() => {
            materialise(transaction, intent, outcome, taken);
            Ok(())
        }
        judged => {
            let mut faults = judged.err().unwrap_or_default();
            if fragment::oversteps(&faults) {
                transaction.run().judging_mut().count_overstep();
            }
            faults.extend(fragment::faults_of_shell(&outcome.shell_faults));
            Err(Box::new(Failure { by_form, ..refusal(outcome, &faults) }))
        }
    }
}

fn refusal(outcome: &Outcome, faults: &[Fault]) -> Failure {
    let lines: Vec<String> = faults.iter().map(fragment::line).collect();
    let first = lines.first().cloned().unwrap_or_default();
    let more = match lines.len() {
        0 | 1 => String::new(),
        n => format!("; and {} more", n - 1),
    };
    let rest = if lines.len() > 1 { &*lines } else { &[] };
    let whole: String = rest.join("\n").chars().take(FAULTS_CHARS_MAX).collect();
    let reason = format!("its plan cannot be used: {first}{more}");
    let mut failure = Failure::of(outcome, FailureClass::Logical, reason);
    // The output of the planner is kept among the attempt's own files; the faults stand here.
    (failure.outcome.excerpt, failure.outcome.whole) = (whole, None);
    failure.outcome.changed = Arc::default();
    failure
}

/// Adds all of the fragment, or nothing.
fn materialise(
    transaction: &mut Transaction,
    intent: &Intent,
    outcome: &Outcome,
    taken: AcceptedFragment,
) {
    transaction.land(&intent.id);
    repair::count_success(transaction, intent);
    let AcceptedFragment { atoms, mut fragment, issues, in_spite_of } = taken;
    let issues: Vec<IssueRecord> = issues.iter().map(Issue::record).collect();
    begin_judging(transaction, &mut fragment, &issues);
    let ids = fragment.parts.clone();
    let parts: Vec<String> = ids.iter().map(ToString::to_string).collect();
    let count = atoms.len();
    let is_in_force = transaction.is_in_force(&intent.atom, &intent.context);
    let digest = fragment.digest.clone();
    let differs = difference_from_last(transaction, &intent.atom, &atoms);
    transaction.add_atoms(atoms);
    transaction.change_plan(&intent.atom, |plan| plan.add(fragment, is_in_force));
    transaction.rebuild();
    transaction.record(EntryKind::Plan(PlanEntry {
        atom: intent.atom.clone(),
        attempt: intent.id.clone(),
        fragment: Some(digest),
        parts: ids,
        differs: differs.clone(),
    }));
    transaction.announce(Event::Planned {
        attempt: intent.id.clone(),
        atom: intent.atom.clone(),
        ms: Some(outcome.duration_ms),
        parts,
        atoms: Some(count),
        differs,
        in_spite_of,
    });
    let made = transaction
        .plan_of(&intent.atom)
        .and_then(|plan| plan.fragments().find(|one| one.attempt == intent.id));
    let subject = made.map(|fragment| transaction.graph.plan_subject(fragment));
    if let Some(subject) = subject {
        note_report(transaction, &intent.atom, subject, issues);
    }
}

/// How a new plan of a step differs from its last one, in words.
fn difference_from_last(
    transaction: &Transaction,
    step: &AtomId,
    atoms: &BTreeMap<AtomId, Atom>,
) -> String {
    let state = &transaction.state;
    let last = transaction.plan_of(step).and_then(|plan| plan.fragments().last());
    let Some(last) = last else {
        return String::new();
    };
    let inside = transaction.graph.inside(last);
    let before = inside.filter_map(|x| state.atom(transaction.graph.id(x)).map(|atom| &**atom));
    let before: Vec<&Atom> = before.collect();
    let now: Vec<&Atom> = atoms.values().collect();
    let words = difference::of_plans(&before, &now);
    words.chars().take(DIFFERENCE_CHARS_MAX).collect()
}

/// Begins another round of a step whose plan was found wrong before anything of it was tried.
pub(super) fn refine(transaction: &mut Transaction, x: Ix) {
    if let Some(context) = transaction.active.context(x).cloned() {
        begin(transaction, x, &context, "its plan was found wrong before it was tried");
    }
}

/// Whether a selection that is not in force yet has a step planned again.
pub(super) fn is_planned_again(transaction: &Transaction, selection: &Selection) -> bool {
    let graph = &transaction.graph;
    let mut plans = graph.plans().filter(|x| !selection.contains_key(x)).peekable();
    if plans.peek().is_none() {
        return false;
    }
    let active = ActiveGraph::of(graph, selection.clone());
    plans.any(|x| {
        let plan = transaction.plan_of(graph.id(x)).zip(active.context(x));
        let round = plan.map(|(plan, context)| ranking::round(&transaction.state, plan, context));
        matches!(round, Some(Round::Made { may_plan_again: true }))
    })
}

/// Begins another round of planning steps that a selection leaves without a fragment, though they have had one in this
/// context.
pub(super) fn plan_again(transaction: &mut Transaction, selection: &Selection, because: &str) {
    let graph = Arc::clone(&transaction.graph);
    for x in graph.plans().filter(|x| !selection.contains_key(x)) {
        let Some(context) = transaction.active.context(x).cloned() else {
            continue;
        };
        let Some(plan) = transaction.plan_of(graph.id(x)) else {
            continue;
        };
        let is_leaf = plan.in_force().is_none();
        match ranking::round(&transaction.state, plan, &context) {
            Round::Made { may_plan_again: true } => {
                begin(transaction, x, &context, because);
                transaction.run().begin_pass();
            }
            // An older fragment was in force while this round had failed. A person gave the round its attempts again.
            Round::Open if !is_leaf => transaction.set_plan_aside(graph.id(x)),
            Round::Open | Round::Made { .. } | Round::Failed => {}
        }
    }
}

fn begin(transaction: &mut Transaction, x: Ix, context: &Digest, because: &str) {
    let graph = Arc::clone(&transaction.graph);
    let id = graph.id(x);
    let choices = transaction.active.choices(&graph, x);
    let failed = failed_of(transaction, id);
    let is_over = transaction.plan_of(id).is_some_and(|plan| {
        let ends = plan.made_in(context).filter_map(|one| plan.end_of(one));
        ends.last().is_some_and(|end| end.has_failed)
    });
    let because = if is_over { "the budget of the last was over" } else { because };
    let Some(tried) = transaction.tried(id, context, &choices) else {
        return;
    };
    tried.rounds += 1;
    (tried.attempts, tried.transient) = (0, 0);
    let round = tried.rounds;
    if let Some(grant) = granted::after_round(&transaction.state) {
        transaction.run().grant = Some(grant);
    }
    transaction.set_plan_aside(id);
    transaction.tell(EntryKind::Refine(RefineEntry {
        atom: id.clone(),
        round,
        reason: because.to_string(),
        failed,
    }));
}

/// The atoms of the fragment in force that failed for good.
fn failed_of(transaction: &Transaction, plan: &AtomId) -> Vec<AtomId> {
    let fragment = transaction.plan_of(plan).and_then(|plan| plan.in_force()).into_iter();
    let inside = fragment.flat_map(|fragment| transaction.graph.inside(fragment));
    let has_failed =
        |x: &Ix| transaction.task(*x).is_some_and(|task| task.tries.iter().any(Try::has_failed));
    inside.filter(has_failed).map(|x| transaction.graph.id(x).clone()).collect()
}

// The report on a planner's plan: who looked at it, and what they found. Not here: asking an agent, and what follows from
// its answer (`gate`).

/// Closes the gate before a new plan where an agent is to look at it too. It opens at once, and says so, where no agent can
/// be asked.
fn begin_judging(transaction: &Transaction, fragment: &mut Fragment, issues: &[IssueRecord]) {
    let level = profile::judging(&transaction.state);
    let by_rules = IssuesAnswer::of(issues.to_vec());
    let report = report(transaction, &AtomId::default(), Digest::default(), by_rules);
    fragment.unjudged = level.asks();
    fragment.judged = (level == JudgingLevel::Code).then(|| mark(&report, false));
}

/// Keeps the report of the rules on a new plan.
fn note_report(
    transaction: &mut Transaction,
    atom: &AtomId,
    subject: Digest,
    issues: Vec<IssueRecord>,
) {
    if profile::judging(&transaction.state) != JudgingLevel::Off {
        let report = report(transaction, atom, subject, IssuesAnswer::of(issues));
        if !report.issues().is_empty() {
            announce(transaction, &report, false);
        }
        transaction.run().judging_mut().keep(report);
    }
}

/// A report of rules alone.
pub(super) fn report(
    transaction: &Transaction,
    atom: &AtomId,
    subject: Digest,
    found: IssuesAnswer,
) -> AnswerRecord {
    AnswerRecord {
        question: Question::Plan,
        atom: Some(atom.clone()),
        subject,
        agent: None,
        pass: transaction.state.run.pass,
        at: transaction.at.clone(),
        because: String::new(),
        codes: Vec::new(),
        answer: Some(KeptAnswer::Issues(found)),
        extra: Default::default(),
    }
}

pub(super) fn mark(report: &AnswerRecord, again: bool) -> JudgedMark {
    JudgedMark {
        by: report.by(),
        at: report.at.clone(),
        issues: u32::try_from(report.issues().len()).unwrap_or(u32::MAX),
        because: report.because.clone(),
        found: if again { report.issues().to_vec() } else { Vec::new() },
        extra: Default::default(),
    }
}

pub(super) fn announce(transaction: &mut Transaction, report: &AnswerRecord, again: bool) {
    let Some(KeptAnswer::Issues(found)) = &report.answer else {
        return;
    };
    let count = |rank: usize| {
        let issues = found.issues.iter();
        issues.filter(|one| one.severity.rank() == rank).count()
    };
    transaction.announce(Event::Judged {
        atom: report.atom.clone().unwrap_or_default(),
        by: report.by(),
        agent: report.agent.clone(),
        high: count(0),
        medium: count(1),
        low: count(2),
        unplaced: found.unplaced,
        again,
        because: report.because.clone(),
    });
}
