//! The report of a run as one value: what was agreed, how it ended, and all that was done and tried for it.
//!
//! Invariant: it follows from the state alone, so the same state gives the same report. Not here: how it is written
//! (the shell).

mod agreement;
mod tried;
mod work;

use alloc::{
    string::{String, ToString},
    vec::Vec,
};
use serde::Serialize;

pub use agreement::{AgreementReport, ConstraintReport, LeafReport};
pub use tried::{
    BacktrackReport, DroppedReport, FailedAttempt, FailureGroup, RefutedReport, ReplanReport,
    TriedReport,
};
pub use work::{AtomReport, EvidenceReport, NewestFailure, SolvedReport};

use super::{
    PatternView, SpentView,
    judged::{self, AssessmentView, JudgedView, UnwordedView, assessed, judged, unworded},
    law::{self, DirectiveView, LawView},
    marked::{self, AttentionView, UnclearView},
    next::{by_the_state, is_changed_since},
    passes::{self, ProfileView},
    spent,
};
use crate::{
    audit::{self, AuditFinding},
    change::lost_lines,
    id::{AtomId, CommitId, Lineage},
    state::{
        Correction, JudgedBy, Reason,
        account::{Accountable, LastDirective, RunMetrics},
        check::Thousandths,
        final_result::{FinalOutput, FinalResultRecord, ResultVerdict},
        record::{Choices, CorrectionType},
    },
    step::run_end,
    world::{
        World,
        doubts::{Doubt, doubts},
    },
};

/// All that was agreed, done and tried: `descent report --json`
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Report {
    pub schema: &'static str,
    pub lineage: Lineage,
    pub serial: u64,
    pub agreement: AgreementReport,
    pub outcome: OutcomeReport,
    /// Every atom, each group before its members.
    pub work: Vec<AtomReport>,
    pub tried: TriedReport,
    /// The newest report on a planner's plan, and repairs that were not made: advice, not proof.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judged: Option<JudgedView>,
    /// The newest opinion about a pass that came to its end: advice, not proof.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assessed: Option<AssessmentView>,
    /// The kind of task, where somebody said it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileView>,
    /// The newest report across the phases of a pass: advice, not proof.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reviewed: Option<judged::ReviewView>,
    /// The curve of the control law, with what followed its directives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub law: Option<LawView>,
    /// The auditor's findings in the state alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<AuditFinding>,
    /// Atoms that a person should look at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attention: Vec<AttentionView>,
    /// Questions about tasks, with what is assumed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<UnclearView>,
    /// The changes that people made, the oldest first.
    pub corrections: Vec<CorrectionReport>,
    /// Failures that several atoms share.
    pub patterns: Vec<PatternView>,
    pub spent: SpentView,
    /// The moves of a person, the best first.
    pub next: Vec<String>,
}

/// How it stands. Without an ending only the status is known.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OutcomeReport {
    #[cfg_attr(feature = "schema", schemars(extend("enum" = crate::state::RunStatus::WORDS.map(|(word, _)| word))))]
    pub status: &'static str,
    /// Whether the run ended, so that nothing more is tried by itself.
    pub ended: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    pub summary: String,
    /// The ending in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerReport>,
    /// Why nobody worded it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unworded: Option<UnwordedView>,
    /// How near it came, what it took, and who is accountable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<AccountReport>,
    /// How much of the base case held on the delivered tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<HeldReport>,
    /// Whether a person changed something since this ending.
    pub changed_since: bool,
    /// Checks that failed and held on one tree.
    pub unsteady: Vec<String>,
    /// Agreed steps that are open though the base case holds.
    pub open: Vec<OpenReport>,
    /// Effects outside of which nobody knows whether they happened.
    pub doubts: Vec<Doubt>,
    /// The commit that the run started from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<CommitId>,
    /// The commit of the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
}

/// The final answer
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AnswerReport {
    pub text: String,
    /// The share of the leaves of the base case that hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<String>,
    /// The atoms whose changes are in the result.
    pub used: Vec<AtomId>,
    pub notes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<JudgedBy>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HeldReport {
    pub held: u64,
    pub of: u64,
    /// Taken in a checkout made anew.
    pub pristine: bool,
    /// The choices that the tree was made under.
    pub choices: Choices,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OpenReport {
    pub atom: AtomId,
    pub description: String,
    /// The reason of its newest failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CorrectionReport {
    pub at: String,
    /// Absent for a type of another version.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<CorrectionType>,
    pub by: String,
    pub description: String,
    /// Its consequences.
    pub effects: Vec<String>,
    /// Values that gave way, a line each.
    pub gave_way: Vec<String>,
}

pub fn report(world: &World) -> Report {
    let state = &world.state;
    Report {
        schema: "descent/report/1",
        lineage: state.lineage.clone(),
        serial: state.serial.0,
        agreement: agreement::agreement(world),
        outcome: outcome(world),
        work: work::work(world),
        patterns: super::patterns(state),
        tried: tried::tried(world),
        judged: judged(state),
        assessed: assessed(state),
        profile: passes::profile(state),
        reviewed: judged::reviewed(state),
        law: law::of_run(state),
        findings: audit::audit(world, &[]),
        attention: marked::marks(state),
        questions: marked::questions(state),
        corrections: state.corrections.iter().map(|one| correction(one)).collect(),
        spent: spent(state),
        next: by_the_state(world),
    }
}

fn outcome(world: &World) -> OutcomeReport {
    let state = &world.state;
    let last = run_end::last_result(world);
    let last = last.as_ref();
    OutcomeReport {
        status: state.run.status.word(),
        ended: last.is_some(),
        reason: last.and_then(|one| one.reason),
        at: last.and_then(|one| one.at.clone()),
        summary: last.map(|one| one.summary.clone()).unwrap_or_default(),
        answer: last.and_then(|one| one.output.as_ref()).map(answer),
        unworded: last.and_then(|_| unworded(state)),
        account: last.and_then(account),
        verdict: last.and_then(|one| one.verdict.as_ref()).map(held),
        changed_since: last.is_some() && is_changed_since(world),
        unsteady: last.map(|one| one.unsteady.clone()).unwrap_or_default(),
        open: last.map(open).unwrap_or_default(),
        doubts: doubts(state),
        base: state.run.started_from.as_ref().map(|from| from.commit.clone()),
        commit: state.run.result().cloned(),
    }
}

fn answer(output: &FinalOutput) -> AnswerReport {
    AnswerReport {
        text: output.text.clone(),
        confidence: output.confidence.map(Thousandths::text),
        used: output.used.clone(),
        notes: output.notes.clone(),
        by: output.by,
    }
}

fn held(verdict: &ResultVerdict) -> HeldReport {
    HeldReport {
        held: verdict.held,
        of: verdict.of,
        pristine: verdict.pristine,
        choices: verdict.choices.clone(),
    }
}

fn open(last: &FinalResultRecord) -> Vec<OpenReport> {
    let open = last.open.iter().map(|step| OpenReport {
        atom: step.atom.clone(),
        description: step.description.clone(),
        reason: step.reason.clone(),
    });
    open.collect()
}

fn correction(one: &Correction) -> CorrectionReport {
    let data = &one.data;
    CorrectionReport {
        at: data.timestamp.clone().unwrap_or_default(),
        kind: data.kind,
        by: data.by.clone().unwrap_or_else(|| "person".to_string()),
        description: data.description.clone().unwrap_or_default(),
        effects: data.changes.clone(),
        gave_way: lost_lines(&data.lost),
    }
}

/// How near a run came, what it took, and who is accountable. Shares are from 0 to 1.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AccountReport {
    pub accountable: Accountable,
    /// The distance of the delivered tree from the base case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub d: Option<String>,
    /// The share of logical failures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p: Option<String>,
    /// The used share of changes and budgets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub omega: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub l: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directive: Option<LastDirective>,
    /// How often the plan was changed.
    pub changes: u64,
    /// The nearest commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best: Option<CommitId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<MetricsReport>,
}

/// Counts of the tasks of the state, and of their attempts.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MetricsReport {
    /// Tasks that were solved by their first attempt.
    pub solved_at_first: u64,
    pub solved_later: u64,
    /// Tasks that were tried and are not solved.
    pub unsolved: u64,
    pub attempts: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_attempts: Option<String>,
    pub rested: u64,
    pub woken: u64,
    pub transient: u64,
    pub interruptions: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub directives: Vec<DirectiveView>,
}

fn account(last: &FinalResultRecord) -> Option<AccountReport> {
    let loss = last.loss.as_ref();
    Some(AccountReport {
        accountable: last.accountable?,
        d: loss.map(|loss| loss.d.text()),
        p: loss.map(|loss| loss.p.text()),
        omega: loss.map(|loss| loss.omega.text()),
        l: loss.map(|loss| loss.l.text()),
        directive: last.directive,
        changes: last.changes,
        best: last.best.as_ref().and_then(|best| best.commit.clone()),
        metrics: last.metrics.as_ref().map(metrics),
    })
}

fn metrics(of: &RunMetrics) -> MetricsReport {
    MetricsReport {
        solved_at_first: of.solved_at_first,
        solved_later: of.solved_later,
        unsolved: of.unsolved,
        attempts: of.attempts,
        mean_attempts: of.mean_attempts.map(Thousandths::text),
        rested: of.rested,
        woken: of.woken,
        transient: of.transient,
        interruptions: of.interruptions,
        directives: of.directives.iter().map(DirectiveView::from).collect(),
    }
}

#[cfg(test)]
mod tests;
