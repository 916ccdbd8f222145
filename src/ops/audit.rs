//! The auditor: what the state and the journal beside it tell of a run.
//!
//! Not here: what a finding is (`audit` of the core), and findings of the state alone, as an ending tells them.

use descent_core::{
    audit::{self, AuditFinding, AuditedCommit},
    id::{Lineage, Serial, UnixMillis},
    state::account::Accountable,
    step::run_end,
    world::World,
};
use serde::Serialize;

use crate::store::Store;

/// The findings of the auditor: `descent report --audit --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AuditReport {
    schema: &'static str,
    lineage: Lineage,
    pub serial: Serial,
    /// The first commit that the journal keeps; null if it keeps none, and the state alone was looked at.
    pub seen_from: Option<Serial>,
    /// The last one; the state may be ahead of it.
    pub seen_to: Option<Serial>,
    pub findings: Vec<AuditFinding>,
    /// The role that did not bring the last run farther; null before an ending.
    pub accountable: Option<Accountable>,
}

/// Looks at a run. Without a journal the state alone is looked at.
pub fn audit(store: &Store, world: &World) -> AuditReport {
    let commits = store.history().commits(&world.state.lineage);
    let times: Vec<String> =
        commits.iter().map(|commit| UnixMillis(commit.at_ms).rfc3339()).collect();
    let of_program = commits.iter().zip(&times).map(|(commit, at)| AuditedCommit {
        serial: commit.serial,
        at,
        events: &commit.events,
    });
    let audited: Vec<AuditedCommit<'_>> = of_program.collect();
    AuditReport {
        schema: "descent/audit/1",
        lineage: world.state.lineage.clone(),
        serial: world.state.serial,
        accountable: run_end::last_result(world).and_then(|last| last.accountable),
        findings: audit::audit(world, &audited),
        seen_from: audited.first().map(|first| first.serial),
        seen_to: audited.last().map(|last| last.serial),
    }
}
