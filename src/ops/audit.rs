//! The auditor: what the state and the journal beside it tell of a run.
//!
//! Not here: what a finding is (`audit` of the core), and findings of the state alone, as an ending tells them.

use descent_core::{
    audit::{self, AuditFinding, AuditedCommit},
    id::{Serial, UnixMillis},
    world::World,
};

use crate::store::Store;

/// The findings of a run, and the commits that the journal keeps of it.
#[derive(Debug)]
pub struct AuditReport {
    pub findings: Vec<AuditFinding>,
    /// The first commit that the journal keeps; none where it keeps none.
    pub seen_from: Option<Serial>,
    /// The last one.
    pub seen_to: Option<Serial>,
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
        findings: audit::audit(world, &audited),
        seen_from: audited.first().map(|first| first.serial),
        seen_to: audited.last().map(|last| last.serial),
    }
}
