//! What an attempt made is merged, judged and integrated; and the tree after a backtrack.

use alloc::{
    collections::BTreeSet,
    format,
    string::{String, ToString},
    sync::Arc,
    vec::Vec,
};

use super::{
    Progress, Session,
    draft::Draft,
    ended::{self, Failure},
    settle,
};
use crate::{
    event::{Merge, Notice, Outcome, Scope},
    id::{AtomId, AttemptId, CommitId, Digest, TreeId, UnixMillis},
    measure,
    state::{
        Binding, Check, Extra, FailureClass, Intent, Placed, State,
        binding::SUMMARY_CHARS_MAX,
    },
    verdict::{self, Basis, Court, Measurement, Verdict},
};

/// Paths at most in a binding's list of artifacts.
const ARTIFACTS_MAX: usize = 100;

/// Its change on a head: the candidate.
pub(super) fn tried(draft: &mut Draft, id: &AttemptId, onto: Option<CommitId>, merge: Merge) {
    let Some(Progress::Finished(outcome) | Progress::Merged { outcome, .. }) = draft.session.progress.get(id) else {
        return;
    };
    let outcome = Arc::clone(outcome);
    if onto != draft.state.run.head {
        return;
    }
    if let Merge::Clean { protected, .. } = &merge
        && !protected.is_empty()
    {
        let reason = format!("it changed what judges it: {}", protected.join(", "));
        return ended::failed(draft, id, failure(&outcome, FailureClass::Logical, reason));
    }
    match &merge {
        Merge::Conflict(paths) => return remake(draft, id, paths),
        Merge::Clean { commit, tree, .. } => drop(draft.session.trees.insert(commit.clone(), tree.clone())),
        Merge::Unchanged { tree: Some(tree) } => {
            if let Some(onto) = &onto {
                draft.session.trees.insert(onto.clone(), tree.clone());
            }
        }
        Merge::Unchanged { tree: None } => {}
    }
    draft.session.progress.insert(id.clone(), Progress::Merged { outcome, onto, merge: Arc::new(merge) });
}

/// A result that does not merge is made again on the new head.
fn remake(draft: &mut Draft, id: &AttemptId, paths: &[String]) {
    let Some(intent) = draft.land(id) else { return };
    let _ = draft.tried(&intent.atom, &intent.context, &intent.choices);
    let why = format!("its change does not merge: {}", paths.join(", "));
    settle::count_repair(draft, &intent.atom, &intent.context, &why);
}

/// How far the checks of a candidate are, on the head as it stands; `None` where it has none to be judged.
pub(crate) fn of_candidate<'c>(
    state: &'c State,
    session: &Session,
    intent: &Intent,
    serial: u64,
) -> Option<(Basis, verdict::Progress<'c>)> {
    let Some(Progress::Merged { onto, merge, .. }) = session.progress.get(&intent.id) else { return None };
    let check = state.atoms.get(&intent.atom)?.task()?.spec.checks.as_ref().filter(|_| *onto == state.run.head)?;
    let basis = basis_of(merge, serial);
    let confirmed = super::confirmed(state);
    let again_max = state.objective.constraints.max_transient();
    let court = Court { ledger: &session.ledger, basis: &basis, confirmed: &confirmed, again_max };
    let progress = court.judge(check);
    Some((basis, progress))
}

/// Whether all that a machine can check of a candidate holds, and a person must say the rest.
pub(super) fn awaits_person(draft: &Draft, intent: &Intent) -> bool {
    let serial = draft.state.serial.0.saturating_sub(1);
    let seen = of_candidate(&draft.state, &draft.session, intent, serial);
    matches!(seen, Some((_, verdict::Progress::Confirm(_))))
}

/// Takes in every candidate that its checks have decided.
pub(super) fn decide_all(draft: &mut Draft) {
    let flying: Vec<AttemptId> = draft.state.run.in_flight.iter().map(|intent| intent.id.clone()).collect();
    flying.iter().for_each(|id| decide(draft, id));
}

/// Where the evidence of an attempt's own checks is taken.
pub(crate) fn basis_of(merge: &Merge, serial: u64) -> Basis {
    match merge {
        Merge::Clean { tree, .. } | Merge::Unchanged { tree: Some(tree) } => Basis::Tree(tree.clone()),
        Merge::Unchanged { tree: None } | Merge::Conflict(_) => Basis::Serial(serial),
    }
}

pub(super) fn judged(draft: &mut Draft, scope: &Scope, basis: &Basis, seen: Vec<(Digest, Measurement)>) {
    let Some(check) = check_of(draft, scope) else { return };
    for (key, measurement) in seen {
        draft.session.verify_ms += measurement.duration_ms;
        if let Some(leaf) = check.leaves().into_iter().find(|leaf| leaf.key() == key) {
            draft.session.ledger.record(leaf, basis, measurement);
        }
    }
    match scope {
        Scope::Atom(id) => ask_again_later(draft, id, &check, basis),
        Scope::BaseCase => base_case_seen(draft, &check, basis),
    }
}

fn check_of(draft: &Draft, scope: &Scope) -> Option<Check> {
    match scope {
        Scope::BaseCase => draft.state.objective.base_case.clone(),
        Scope::Atom(id) => {
            let intent = draft.in_flight(id)?;
            draft.task_of(&intent.atom)?.spec.checks.clone()
        }
    }
}

fn base_case_seen(draft: &mut Draft, check: &Check, basis: &Basis) {
    if draft.session.base_target.as_ref() == Some(basis) {
        draft.session.base_target = None;
    }
    let progress = draft.court(basis, |court| match court.judge(check) {
        verdict::Progress::Decided(verdict) => Some(verdict),
        verdict::Progress::Measure(_) => None,
        verdict::Progress::Again(_) | verdict::Progress::Confirm(_) => Some(Verdict::Unknown),
    });
    let Some(verdict) = progress else { return };
    draft.session.base_was_seen = true;
    let wait_ms = ended::backoff_ms(1, "base case");
    let later = UnixMillis(draft.now.0.saturating_add(wait_ms));
    draft.session.base_again_at = (verdict == Verdict::Unknown).then_some(later);
    draft.say(Notice::BaseCase { verdict });
}

impl Draft {
    /// Judges by what the ledger holds of `basis`.
    pub(super) fn court<T>(&self, basis: &Basis, judge: impl FnOnce(Court<'_>) -> T) -> T {
        let confirmed = super::confirmed(&self.state);
        let again_max = self.state.objective.constraints.max_transient();
        judge(Court { ledger: &self.session.ledger, basis, confirmed: &confirmed, again_max })
    }
}

/// Integrates a candidate once its own checks hold; fails it when they do not.
fn decide(draft: &mut Draft, id: &AttemptId) {
    let Some(Progress::Merged { outcome, onto, merge }) = draft.session.progress.get(id).cloned() else { return };
    let Some(intent) = draft.in_flight(id).cloned() else { return };
    if onto != draft.state.run.head || !draft.is_line_settled() {
        return;
    }
    let check = draft.task_of(&intent.atom).and_then(|task| task.spec.checks.clone());
    let Some(check) = check else { return integrate(draft, id, &outcome, &merge, Vec::new()) };
    let basis = basis_of(&merge, draft.state.serial.0.saturating_sub(1));
    let decided = draft.court(&basis, |court| match court.judge(&check) {
        verdict::Progress::Decided(verdict) => Some(verdict),
        verdict::Progress::Measure(_) | verdict::Progress::Confirm(_) | verdict::Progress::Again(_) => None,
    });
    match decided {
        None => {}
        Some(Verdict::Pass) => {
            let evidence = verdict::evidence_of(&check, &basis, &draft.session.ledger);
            integrate(draft, id, &outcome, &merge, evidence);
        }
        Some(Verdict::Fail | Verdict::Unknown) => {
            ended::failed(draft, id, check_failure(draft, &check, &basis, &outcome));
        }
    }
}

/// What could not be run is asked again after a while.
fn ask_again_later(draft: &mut Draft, id: &AttemptId, check: &Check, basis: &Basis) {
    if draft.court(basis, |court| matches!(court.judge(check), verdict::Progress::Again(_))) {
        let wait_ms = ended::backoff_ms(1, id.as_str());
        let until = UnixMillis(draft.now.0.saturating_add(wait_ms));
        draft.session.check_waits.insert(id.clone(), until);
    }
}

fn failure(outcome: &Outcome, class: FailureClass, reason: String) -> Failure {
    Failure {
        class,
        reason,
        excerpt: outcome.excerpt.clone(),
        criteria: Vec::new(),
        duration_ms: outcome.duration_ms,
    }
}

fn check_failure(draft: &Draft, check: &Check, basis: &Basis, outcome: &Outcome) -> Failure {
    let mut criteria = Vec::new();
    let mut excerpt = String::new();
    let mut reason = "its checks do not hold".to_string();
    let mut class = FailureClass::Logical;
    for leaf in check.leaves() {
        let Some(seen) = draft.session.ledger.get(&leaf.key(), basis) else { continue };
        criteria.push((leaf.title(), seen.verdict.word()));
        if seen.verdict != Verdict::Pass && excerpt.is_empty() {
            reason = format!("its check does not hold: {}", leaf.title());
            excerpt.clone_from(&seen.measurement.excerpt);
            if seen.verdict == Verdict::Unknown {
                reason = format!("its check could not be run: {}", leaf.title());
                class = FailureClass::Environmental;
            }
        }
    }
    Failure { class, reason, excerpt, criteria, duration_ms: outcome.duration_ms }
}

/// The head moves in the state, the atom becomes its binding: one commit.
fn integrate(draft: &mut Draft, id: &AttemptId, outcome: &Outcome, merge: &Merge, evidence: Vec<crate::state::Free>) {
    let Some(intent) = draft.land(id) else { return };
    let Some(x) = draft.ix(&intent.atom) else { return };
    let (commit, change, files) = match merge {
        Merge::Clean { commit, change, files, .. } => (Some(commit.clone()), Some(change.clone()), files.clone()),
        Merge::Unchanged { .. } | Merge::Conflict(_) => (None, None, Vec::new()),
    };
    let attempts = count_success(draft, &intent);
    let inputs = settle::inputs(&draft.graph, &draft.standing, &draft.state, x);
    let at = draft.at().to_string();
    let by = draft.task_of(&intent.atom).map_or("worker", |task| if task.spec.action.is_some() { "action" } else { "worker" });
    let report = outcome.report.clone().unwrap_or_default();
    let summary = if report.summary.is_empty() { summary(outcome, &files) } else { report.summary };
    let mut artifacts = report.artifacts;
    artifacts.extend(files.iter().cloned());
    artifacts.sort();
    artifacts.dedup();
    artifacts.truncate(ARTIFACTS_MAX);
    draft.bind(&intent.atom, |atom| Binding {
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
        of: atom,
        handoff: report.handoff,
        partial: false,
        extra: Extra::default(),
    });
    if let Some(commit) = commit.clone() {
        let run = draft.run();
        run.head = Some(commit.clone());
        run.line.push(Placed { atom: intent.atom.clone(), commit });
    }
    let ms = outcome.duration_ms;
    draft.say(Notice::Solved { attempt: id.clone(), atom: intent.atom, ms, files, commit, summary });
}

fn count_success(draft: &mut Draft, intent: &Intent) -> u32 {
    let run = draft.run();
    run.spent.attempts += 1;
    run.iteration += 1;
    let most = draft.task_of(&intent.atom).map_or(1, |task| measure::attempts_max(&draft.state, task));
    let Some(tried) = draft.tried(&intent.atom, &intent.context, &intent.choices) else { return 1 };
    tried.transient = 0;
    if tried.attempts < most {
        tried.attempts += 1;
    }
    tried.attempts
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
pub(super) fn built(draft: &mut Draft, head: CommitId, line: Vec<Placed>, dropped: &[AtomId]) {
    let kept = line.len();
    let stays: BTreeSet<&AtomId> = line.iter().map(|placed| &placed.atom).collect();
    let before = draft.state.run.line.iter().map(|placed| placed.atom.clone());
    let taken_back: Vec<AtomId> = before.filter(|atom| !stays.contains(atom)).collect();
    for placed in &line {
        let is_moved = draft.state.bindings.get(&placed.atom).is_some_and(|b| b.commit.as_ref() != Some(&placed.commit));
        if is_moved {
            draft.change_binding(&placed.atom, |binding| binding.commit = Some(placed.commit.clone()));
        }
    }
    for atom in dropped {
        // What a person said stands, though its change to the tree is gone.
        if draft.state.bindings.get(atom).is_some_and(|binding| binding.is_by_person()) {
            draft.change_binding(atom, |binding| binding.commit = None);
        } else {
            settle::repair(draft, atom, "its commit no longer applies");
        }
    }
    let run = draft.run();
    run.line = line;
    run.head = Some(head.clone());
    draft.say(Notice::Rebuilt { kept, taken_back, head });
}

/// The host told the tree of a commit.
pub(super) fn learn(draft: &mut Draft, commit: CommitId, tree: TreeId) {
    draft.session.trees.insert(commit, tree);
}

/// Forgets the trees of commits that nothing asks for any more.
pub(super) fn forget_trees(draft: &mut Draft) {
    let session = &mut draft.session;
    let candidates = session.progress.values().filter_map(|progress| match progress {
        Progress::Merged { merge, .. } => match &**merge {
            Merge::Clean { commit, .. } => Some(commit),
            Merge::Unchanged { .. } | Merge::Conflict(_) => None,
        },
        Progress::Finished(_) => None,
    });
    let needed: BTreeSet<&CommitId> = candidates.chain(&draft.state.run.head).collect();
    let target = session.base_target.as_ref();
    session.trees.retain(|commit, tree| {
        needed.contains(commit) || matches!(target, Some(Basis::Tree(wanted)) if wanted == tree)
    });
}
