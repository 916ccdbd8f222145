//! Takes in verdicts, a candidate that becomes its atom's binding, and the tree after a backtrack.

use alloc::{
    format,
    string::{String, ToString},
    sync::Arc,
    vec::Vec,
};

use super::{counts, transaction::Transaction, unusable};
use crate::{
    event::{AgentEnd, AnswerDoubt, Event, Merge, Outcome},
    graph::active::ActiveGraph,
    id::AttemptId,
    state::{Binding, Intent, ResultCommit, atom::MergeConflict, binding::SUMMARY_CHARS_MAX},
    world::results,
};

/// Paths at most in a binding's list of artifacts.
const ARTIFACTS_MAX: usize = 100;

/// Moves the head in the state and binds the atom, in one commit.
pub(super) fn integrate(
    transaction: &mut Transaction,
    id: &AttemptId,
    outcome: &Outcome,
    merge: &Merge,
    evidence: Vec<crate::state::FreeValue>,
) {
    let Some(intent) = transaction.land(id) else {
        return;
    };
    let Some(x) = transaction.ix(&intent.atom) else {
        return;
    };
    let (commit, change, files) = match merge {
        Merge::Clean { commit, change, files, .. } => {
            (Some(commit.clone()), Some(change.clone()), files.clone())
        }
        Merge::Unchanged { .. } | Merge::Conflict(_) | Merge::Broken(_) => (None, None, Vec::new()),
    };
    let lost = lost_in_conflict(transaction, &intent, merge);
    if lost.is_none() {
        forget_conflict(transaction, &intent);
    }
    let attempts = counts::count_success(transaction, &intent);
    unusable::has_worked(transaction, &intent);
    let speculation = speculation_of(transaction, &intent);
    let active = speculation.as_ref().unwrap_or(&transaction.active);
    let inputs = results::inputs(&transaction.graph, active, &transaction.state, x);
    let at = transaction.at().to_string();
    let by = transaction
        .task_of(&intent.atom)
        .map_or("worker", |task| if task.spec.action.is_some() { "action" } else { "worker" });
    let report = outcome.report.clone().unwrap_or_default();
    let doubt = outcome.doubt();
    let is_denied = doubt.as_ref().is_some_and(AnswerDoubt::is_denied);
    let because: String = doubt.as_ref().map_or("", AnswerDoubt::words).into();
    let because: String = because.chars().take(SUMMARY_CHARS_MAX).collect();
    let summary = if report.summary.is_empty() || is_denied {
        let has_tree = !matches!(merge, Merge::Unchanged { tree: None });
        summary(outcome, has_tree.then_some(&files[..]))
    } else {
        report.summary
    };
    let summary = after_conflict(summary, lost.as_ref());
    let whole = outcome.not_taken.after(&summary, SUMMARY_CHARS_MAX);
    let mut artifacts = report.artifacts;
    artifacts.extend(files.iter().cloned());
    artifacts.sort();
    artifacts.dedup();
    artifacts.truncate(ARTIFACTS_MAX);
    let result = |of| Binding {
        summary: whole.clone(),
        value: report.value,
        artifacts,
        commit: commit.clone(),
        change,
        evidence,
        context: Some(intent.context.clone()),
        inputs: Some(inputs),
        attempts,
        by: by.to_string(),
        at,
        of,
        handoff: report.handoff,
        unclear: report.clarity.is_partial() || doubt.is_some(),
        unclear_because: because.clone(),
        read_as: report.read_as,
        ..Binding::default()
    };
    if speculation.is_some() {
        transaction.park(&intent.atom, result(Arc::default()));
    } else {
        transaction.bind(&intent.atom, result);
    }
    if let Some(commit) = commit.clone().filter(|_| speculation.is_none()) {
        let run = transaction.run();
        run.head = Some(commit.clone());
        run.line.push(ResultCommit::new(intent.atom.clone(), commit));
    }
    let ms = outcome.duration_ms;
    let not_taken = outcome.not_taken.in_short(!files.is_empty());
    transaction.announce(Event::Solved {
        attempt: Some(id.clone()),
        atom: intent.atom,
        ms: Some(ms),
        files,
        commit,
        summary,
        unclear: because,
        not_taken,
    });
}

/// The active graph that the attempt was made under, if it is not the one in force.
fn speculation_of(transaction: &Transaction, intent: &Intent) -> Option<Arc<ActiveGraph>> {
    let speculations = transaction.speculations();
    let landing_context = transaction.landing_context(&speculations);
    if landing_context.is_in_force(intent) {
        return None;
    }
    let speculation = landing_context.speculation_of(intent)?;
    Some(Arc::clone(&speculation.active))
}

/// The change that did not merge, if its repair changes nothing and no check sees whether that is right.
fn lost_in_conflict(
    transaction: &Transaction,
    intent: &Intent,
    merge: &Merge,
) -> Option<MergeConflict> {
    let is_unchanged = matches!(merge, Merge::Unchanged { .. });
    let task = transaction.task_of(&intent.atom);
    let unchecked = task.filter(|task| is_unchanged && task.spec.checks.is_none());
    unchecked?.tried(&intent.context)?.conflict.clone()
}

fn forget_conflict(transaction: &mut Transaction, intent: &Intent) {
    let task = transaction.task_of(&intent.atom);
    let tried = task.and_then(|task| task.tried(&intent.context));
    if tried.is_some_and(|tried| tried.conflict.is_some())
        && let Some(tried) = transaction.tried(&intent.atom, &intent.context, &intent.choices)
    {
        tried.conflict = None;
    }
}

fn after_conflict(summary: String, lost: Option<&MergeConflict>) -> String {
    let Some(lost) = lost else {
        return summary;
    };
    let text = format!("no change after a conflict in {}: {summary}", lost.paths.join(", "));
    text.chars().take(SUMMARY_CHARS_MAX).collect()
}

/// Without a summary by its agent: how the attempt ended unless it simply did, the changes, and the last line that is
/// not blank. Without a tree of its own nobody knows what an attempt changed.
fn summary(outcome: &Outcome, files: Option<&[String]>) -> String {
    let end = outcome.agent_end.as_ref().filter(|end| **end != AgentEnd::Done);
    let end = end.map_or_else(|| outcome.how.text(), AgentEnd::text);
    let changed = match files {
        None => None,
        Some([]) => Some(String::from("no file changed")),
        Some([file]) => Some(format!("changed {file}")),
        Some([first, rest @ ..]) => Some(format!("changed {first} and {} more", rest.len())),
    };
    let says_more = changed.is_some() || outcome.last_line.is_some();
    let end = Some(end).filter(|end| end != "exit 0" || !says_more);
    let parts: Vec<String> =
        [end, changed, outcome.last_line.clone()].into_iter().flatten().collect();
    let text = parts.join("; ");
    text.chars().take(SUMMARY_CHARS_MAX).collect()
}
