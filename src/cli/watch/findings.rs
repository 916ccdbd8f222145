//! The auditor's findings while a run is watched: looked for at the beginning and every five minutes, told when they change.
//!
//! Not here: findings of the journal, which may be long (`descent report --audit`).

use descent_core::{
    audit::{self, AuditFinding},
    world::World,
};

use crate::{clock, ops::watch::WatchReport, render};

const AUDIT_EVERY_MS: u64 = 5 * 60_000;

#[derive(Default)]
pub(super) struct FindingsWatch {
    looked_ms: Option<u64>,
    told: Vec<AuditFinding>,
}

impl FindingsWatch {
    /// The findings in short, where they are others than before.
    pub(super) fn news(&mut self, look: &WatchReport) -> Option<String> {
        let now_ms = clock::since_boot().awake_ms;
        let is_due = |before: u64| now_ms.saturating_sub(before) >= AUDIT_EVERY_MS;
        if !self.looked_ms.is_none_or(is_due) {
            return None;
        }
        self.looked_ms = Some(now_ms);
        let found = audit::audit(&World::new(look.state().clone()), &[]);
        let is_news = found != self.told;
        self.told = found;
        let words = render::findings_in_short(&self.told).filter(|_| is_news)?;
        Some(format!("{words} (descent report --audit)"))
    }
}
