//! The kind of task, said anew at the end of a pass that shows it was taken for another (contract §9.26).
//!
//! Invariant: it is asked about on three signals at once, once a pass, and never where a person said what kind it is. The
//! passes that it gives stay within the limits. Not here: what follows from a profile (`profile`).

use alloc::{
    string::{String, ToString},
    vec::Vec,
};

use super::{
    assess,
    question::{self, AskOutcome},
    transaction::Transaction,
};
use crate::{
    doc::Node,
    event::{ConsultEnd, Event},
    id::Digest,
    profile::{self, inferred, inferred::InferredProfile},
    state::{
        Consult, Role,
        profile::{PROFILE_CHANGES_MAX, ProfileChange, ProfileRecord, ProfileSource, TaskProfile},
    },
};

/// Passes are allocated anew where they differ by more than this share of those before, in percent.
const DIFFERENCE_PERCENT: u32 = 30;

/// At a dead end: puts the question, unless it was answered. True while its answer is awaited.
pub(super) fn is_awaited(transaction: &mut Transaction, subject: &Digest) -> bool {
    is_due(transaction, subject)
        && matches!(
            question::ask_about_plan(transaction, Role::Profile, subject),
            AskOutcome::Awaited
        )
}

/// The pass did not converge, its plan has open issues, and a task could not be done as it was said.
fn is_due(transaction: &Transaction, subject: &Digest) -> bool {
    let state = &transaction.state;
    let Some(known) = known(transaction) else {
        return false;
    };
    let judging = state.run.judging.as_ref();
    let assessed = judging.and_then(|judging| judging.assessment.as_ref());
    let is_unconverged = assessed
        .is_some_and(|assessed| assessed.subject == *subject && assessed.converged == Some(false));
    let has_issues = state.run.issues().any(|one| one.severity.is_heavy());
    known.revised.as_ref() != Some(subject)
        && is_unconverged
        && has_issues
        && assess::has_blocked(transaction)
}

/// An agent's profile that is in force.
fn known(transaction: &Transaction) -> Option<&ProfileRecord> {
    let state = &transaction.state;
    let is_persons = state.objective.constraints.profile.is_some();
    state.run.profile.as_ref().filter(|_| !is_persons)
}

/// Whether the answer to a question would still be of use.
pub(super) fn is_asked(transaction: &Transaction, asked: &Consult) -> bool {
    question::is_about_plan(transaction, asked) && is_due(transaction, &asked.subject)
}

/// Takes the answer about the pass as it ended; that about any other is void.
pub(super) fn answered(transaction: &mut Transaction, asked: &Consult, end: ConsultEnd) {
    if !is_asked(transaction, asked) {
        return;
    }
    let read = |_: &Transaction, node: &Node| inferred::read(node);
    if let Some(read) = question::heard(transaction, asked, end, read) {
        take(transaction, asked, read.ok());
    }
}

fn take(transaction: &mut Transaction, asked: &Consult, said: Option<InferredProfile>) {
    let Some(known) = known(transaction).cloned() else {
        return;
    };
    let mut revised = ProfileRecord { revised: Some(asked.subject.clone()), ..known.clone() };
    if let Some(said) = said {
        let at = transaction.at().to_string();
        let new = profile::record(asked.agent.clone(), at, Ok(said));
        revised = ProfileRecord {
            revised: revised.revised,
            history: revised.history,
            extra: revised.extra,
            ..new
        };
    }
    transaction.run().profile = Some(revised);
    let (were, passes) = allocate(transaction);
    let changes = changes(transaction, &known, were, passes);
    if changes.is_empty() {
        return;
    }
    transaction.announce(Event::Profiled {
        agent: asked.agent.clone(),
        source: ProfileSource::Inferred,
        passes,
        because: changes[0].because.clone(),
    });
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
    let Some(is) = known(transaction) else {
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
    let pairs = fields(&was.profile).into_iter().zip(fields(&is.profile));
    let other = pairs.filter(|(was, is)| was != is);
    let change = |((field, was), (_, is)): ((&str, String), (&str, String))| ProfileChange {
        pass: transaction.state.run.pass,
        field: field.to_string(),
        was,
        is,
        passes_were,
        passes,
        because: self::known(transaction)
            .map(|profile| profile.raw_inference.clone())
            .unwrap_or_default(),
        extra: Default::default(),
    };
    other.map(change).collect()
}
