//! The auditor (contract §9.36): patterns of a run that a person should know of.
//!
//! Invariant: it only reads, and nothing that decides may read it: no room below names it. The state is enough for it; the
//! history adds what the state no longer tells. Not here: who is accountable for an ending (`step/account`).

mod curve;
mod tools;

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use serde::Serialize;

use crate::{
    event::Event,
    id::{AtomId, Serial},
    memory,
    state::{JudgingRecord, table::words},
    world::World,
};

/// Atoms that are named at most.
const NAMED_MAX: usize = 5;
/// So many atoms that fail alike have one cause.
const SYSTEMIC_MIN: usize = 3;
/// So many proposals that reach for what is not theirs are told.
const OVERSTEPS_MIN: u32 = 3;

words! {
    /// The kinds of findings
    pub enum AuditCode {
        /// Planners were told to break with all that was tried, and the result came no nearer
        Thrashing = "thrashing",
        /// Several passes brought the result no nearer
        NoProgress = "no_progress",
        /// Passes were taken for converged though the base case did not hold
        ConvergenceFailure = "convergence_failure",
        /// Proposals reached for what is not their role's to propose
        Boundary = "boundary",
        /// A tool or a worker is hindered in half of its uses
        ToolHealth = "tool_health",
        /// More is used up than the result came nearer
        BudgetDrift = "budget_drift",
        /// Several atoms fail alike
        Systemic = "systemic",
        /// A directive is seldom followed by progress
        LawIdle = "law_idle",
        /// A lesson of an earlier run spoke against what succeeded
        MemoryConflict = "memory_conflict",
        /// Commits that the journal lacks
        JournalGap = "journal_gap",
    }
}

/// A pattern of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AuditFinding {
    pub code: AuditCode,
    /// How many cases of it there are.
    pub count: u64,
    pub what: String,
    /// The next step of a person.
    pub hint: &'static str,
}

/// A commit that the journal keeps.
#[derive(Debug, Clone, Copy)]
pub struct AuditedCommit<'a> {
    pub serial: Serial,
    pub at: &'a str,
    pub events: &'a [Event],
}

/// The findings of a run, in the order of their kinds. Commits come with the oldest first; without any the state alone is
/// looked at.
pub fn audit(world: &World, commits: &[AuditedCommit<'_>]) -> Vec<AuditFinding> {
    let mut findings = curve::findings(&world.state);
    findings.extend(assessed(world));
    findings.extend(overstepped(world));
    findings.extend(tools::findings(world, commits));
    findings.extend(systemic(world));
    findings.extend(misremembered(world));
    findings.extend(gap(commits));
    findings.sort_by_key(|one| one.code as usize);
    findings
}

fn judging(world: &World) -> Option<&JudgingRecord> {
    world.state.run.judging.as_ref()
}

fn assessed(world: &World) -> Option<AuditFinding> {
    let judging = judging(world).filter(|judging| judging.assessor_errs())?;
    let count = judging.mistaken;
    Some(AuditFinding {
        code: AuditCode::ConvergenceFailure,
        count: count.into(),
        what: format!("{count} passes were taken for converged, and the base case did not hold"),
        hint: "another agent in the role assess, or other criteria: --set convergence=…",
    })
}

fn overstepped(world: &World) -> Option<AuditFinding> {
    let count = judging(world)?.overstepped;
    (count >= OVERSTEPS_MIN).then(|| AuditFinding {
        code: AuditCode::Boundary,
        count: count.into(),
        what: format!("{count} proposals were refused: for keys or atoms of others, or for what is blocked"),
        hint: "descent log shows them; another agent in that role, or descent redirect --unblock TEXT",
    })
}

fn systemic(world: &World) -> impl Iterator<Item = AuditFinding> {
    let patterns = world.state.run.patterns.iter();
    let shared = patterns.filter(|one| one.atoms.len() >= SYSTEMIC_MIN);
    shared.map(|one| {
        let named: Vec<&str> = one.atoms.iter().take(NAMED_MAX).map(AtomId::as_str).collect();
        let more = match one.atoms.len().saturating_sub(NAMED_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        AuditFinding {
            code: AuditCode::Systemic,
            count: one.atoms.len() as u64,
            what: format!("{}{more} fail alike: {}", named.join(", "), one.reason),
            hint: "look for one cause in the environment, or in what they share",
        }
    })
}

fn misremembered(world: &World) -> impl Iterator<Item = AuditFinding> {
    memory::refuted(&world.state, &world.graph).map(|one| AuditFinding {
        code: AuditCode::MemoryConflict,
        count: 1,
        what: format!("{} spoke against what is solved: {}", one.id, one.lesson),
        hint: "descent memory forget ID",
    })
}

/// Serials between the first and the last commit that the journal keeps, and that it lacks.
fn gap(commits: &[AuditedCommit<'_>]) -> Option<AuditFinding> {
    let pairs = commits.iter().zip(commits.iter().skip(1));
    let missing = pairs.map(|(before, after)| {
        let between = after.serial.0.saturating_sub(before.serial.0);
        between.saturating_sub(1)
    });
    let count: u64 = missing.sum();
    (count > 0).then(|| AuditFinding {
        code: AuditCode::JournalGap,
        count,
        what: match count {
            1 => "the journal lacks one commit".to_string(),
            count => format!("the journal lacks {count} commits"),
        },
        hint: "nothing depends on it: what happened then is not looked at",
    })
}
