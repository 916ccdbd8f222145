//! What has landed: verdicts that came in, a candidate that becomes its atom's binding, and the tree after a backtrack.

use alloc::{
    collections::BTreeSet,
    format,
    string::{String, ToString},
    sync::Arc,
    vec::Vec,
};

use super::{AttemptProgress, candidate, delivery, phase, reconcile, transaction::Transaction};
use crate::{
    event::{Event, Merge, Outcome, Scope},
    graph::active::ActiveGraph,
    id::{AtomId, AttemptId, CommitId, Digest, TreeId},
    measure,
    state::{Binding, Check, Extra, Intent, ResultCommit, binding::SUMMARY_CHARS_MAX},
    verdict::{Basis, Evaluator, Measurement},
};

/// Paths at most in a binding's list of artifacts.
const ARTIFACTS_MAX: usize = 100;

pub(super) fn judged(
    draft: &mut Transaction,
    scope: &Scope,
    basis: &Basis,
    seen: Vec<(Digest, Measurement)>,
) {
    let Some(check) = check_of(draft, scope) else {
        return;
    };
    let measured_ms: u64 = seen.iter().map(|(_, one)| one.duration_ms).sum();
    for (key, measurement) in seen {
        if let Some(leaf) = check.leaves().into_iter().find(|leaf| leaf.key() == key) {
            draft.session.evidence.record(leaf, basis, measurement);
        }
    }
    match scope {
        Scope::Atom(id) => candidate::ask_again_later(draft, id, &check, basis),
        Scope::BaseCase => {
            let session = &mut draft.session;
            let since_ms = session.active_ms.saturating_sub(session.base_since_ms);
            session.verify_ms += measured_ms.max(since_ms);
            delivery::base_case_judged(draft, &check, basis);
        }
    }
}

fn check_of(draft: &Transaction, scope: &Scope) -> Option<Check> {
    match scope {
        Scope::BaseCase => draft.state.objective.base_case.clone(),
        Scope::Atom(id) => {
            let intent = draft.in_flight(id)?;
            draft.task_of(&intent.atom)?.spec.checks.clone()
        }
    }
}

impl Transaction {
    /// Judges by what the ledger holds of `basis`.
    pub(super) fn court<T>(&self, basis: &Basis, judge: impl FnOnce(Evaluator<'_>) -> T) -> T {
        let again_max = self.state.objective.constraints.max_transient();
        judge(Evaluator {
            ledger: &self.session.evidence,
            basis,
            corrections: &self.state.corrections,
            again_max,
        })
    }
}

/// The head moves in the state, the atom becomes its binding: one commit.
pub(super) fn integrate(
    draft: &mut Transaction,
    id: &AttemptId,
    outcome: &Outcome,
    merge: &Merge,
    evidence: Vec<crate::state::FreeValue>,
) {
    let Some(intent) = draft.land(id) else { return };
    let Some(x) = draft.ix(&intent.atom) else {
        return;
    };
    let (commit, change, files) = match merge {
        Merge::Clean {
            commit,
            change,
            files,
            ..
        } => (Some(commit.clone()), Some(change.clone()), files.clone()),
        Merge::Unchanged { .. } | Merge::Conflict(_) | Merge::Broken(_) => (None, None, Vec::new()),
    };
    let attempts = count_success(draft, &intent);
    let beside = prospect_of(draft, &intent);
    let standing = beside.as_ref().unwrap_or(&draft.standing);
    let inputs = reconcile::inputs(&draft.graph, standing, &draft.state, x);
    let at = draft.at().to_string();
    let by = draft.task_of(&intent.atom).map_or("worker", |task| {
        if task.spec.action.is_some() {
            "action"
        } else {
            "worker"
        }
    });
    let report = outcome.report.clone().unwrap_or_default();
    let summary = if report.summary.is_empty() {
        summary(outcome, &files)
    } else {
        report.summary
    };
    let mut artifacts = report.artifacts;
    artifacts.extend(files.iter().cloned());
    artifacts.sort();
    artifacts.dedup();
    artifacts.truncate(ARTIFACTS_MAX);
    let result = |of| Binding {
        summary: summary.clone(),
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
        partial: false,
        extra: Extra::default(),
    };
    if beside.is_some() {
        reconcile::keep_parked(draft, &intent.atom, result(reconcile::nobody()));
    } else {
        draft.bind(&intent.atom, result);
    }
    if let Some(commit) = commit.clone().filter(|_| beside.is_none()) {
        let run = draft.run();
        run.head = Some(commit.clone());
        run.line
            .push(ResultCommit::new(intent.atom.clone(), commit));
    }
    let ms = outcome.duration_ms;
    draft.say(Event::Solved {
        attempt: id.clone(),
        atom: intent.atom,
        ms,
        files,
        commit,
        summary,
    });
}

/// How things stand where the attempt was made, if that is not under the selection in force.
fn prospect_of(draft: &Transaction, intent: &Intent) -> Option<Arc<ActiveGraph>> {
    let prospects = draft.prospects();
    let ground = draft.ground(&prospects);
    if ground.is_in_force(intent) {
        return None;
    }
    let prospect = ground.prospect_of(intent)?;
    Some(Arc::clone(&prospect.standing))
}

pub(super) fn count_success(draft: &mut Transaction, intent: &Intent) -> u32 {
    draft.run().iteration += 1;
    let most = draft
        .task_of(&intent.atom)
        .map_or(1, |task| measure::attempts_max(&draft.state, task));
    let Some(tried) = draft.tried(&intent.atom, &intent.context, &intent.choices) else {
        return 1;
    };
    tried.transient = 0;
    // Else it is a repair.
    let is_counted = tried.attempts < most;
    tried.attempts += u32::from(is_counted);
    let attempts = tried.attempts;
    if is_counted {
        draft.run().spent.attempts += 1;
        phase::count(draft, &intent.atom);
    }
    attempts
}

/// Without a result file: how it ended, how long it took, what changed, and the last line that is not blank.
fn summary(outcome: &Outcome, files: &[String]) -> String {
    let seconds = outcome.duration_ms / 1_000;
    let tenths = outcome.duration_ms % 1_000 / 100;
    let mut text = format!("{} after {seconds}.{tenths} s", outcome.how.text());
    match files {
        [] => text.push_str("; no file changed"),
        [file] => text.push_str(&format!("; changed {file}")),
        [first, rest @ ..] => text.push_str(&format!("; changed {first} and {} more", rest.len())),
    }
    if let Some(line) = &outcome.last_line {
        text.push_str("; ");
        text.push_str(line);
    }
    text.chars().take(SUMMARY_CHARS_MAX).collect()
}

/// The tree stands as the selection wants it; what no longer applies is made again.
pub(super) fn built(
    draft: &mut Transaction,
    head: CommitId,
    line: Vec<ResultCommit>,
    dropped: &[AtomId],
) {
    let kept = line.len();
    let stays: BTreeSet<&AtomId> = line.iter().map(|placed| &placed.atom).collect();
    let before = draft
        .state
        .run
        .line
        .iter()
        .map(|placed| placed.atom.clone());
    let taken_back: Vec<AtomId> = before.filter(|atom| !stays.contains(atom)).collect();
    for placed in &line {
        let is_moved = draft
            .state
            .bindings
            .get(&placed.atom)
            .is_some_and(|b| b.commit.as_ref() != Some(&placed.commit));
        if is_moved {
            draft.change_binding(&placed.atom, |binding| {
                binding.commit = Some(placed.commit.clone())
            });
        }
    }
    for atom in dropped {
        // What a person said stands, though its change to the tree is gone.
        if draft
            .state
            .bindings
            .get(atom)
            .is_some_and(|binding| binding.is_by_person())
        {
            draft.change_binding(atom, |binding| binding.commit = None);
        } else {
            reconcile::repair(draft, atom, "its commit no longer applies");
        }
    }
    let run = draft.run();
    run.line = line.into();
    run.head = Some(head.clone());
    draft.say(Event::Rebuilt {
        kept,
        taken_back,
        head,
    });
}

/// The host told the tree of a commit.
pub(super) fn learn(draft: &mut Transaction, commit: CommitId, tree: TreeId) {
    draft.session.trees.insert(commit, tree);
}

/// Forgets the trees of commits that nothing asks for any more.
pub(super) fn forget_trees(draft: &mut Transaction) {
    let session = &mut draft.session;
    let candidates = session
        .progress
        .values()
        .filter_map(|progress| match progress {
            AttemptProgress::Merged { merge, .. } => match &**merge {
                Merge::Clean { commit, .. } => Some(commit),
                Merge::Unchanged { .. } | Merge::Conflict(_) | Merge::Broken(_) => None,
            },
            AttemptProgress::Finished(_) => None,
        });
    let needed: BTreeSet<&CommitId> = candidates.chain(&draft.state.run.head).collect();
    let target = session.base_target.as_ref();
    session.trees.retain(|commit, tree| {
        needed.contains(commit) || target.and_then(Basis::tree) == Some(tree)
    });
}
