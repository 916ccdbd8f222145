//! Usage that attempts report while they run, on its way to the loop.
//!
//! Invariant: of each attempt the newest report alone waits, so their number is that of the slots.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use descent_core::{
    event::Input,
    id::{AttemptId, Epoch},
    state::{Intent, Usage},
};
use tokio::sync::Notify;

/// Shared by the loop and whoever runs attempts.
#[derive(Debug, Clone, Default)]
pub struct UsageReports(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    newest: Mutex<BTreeMap<(AttemptId, Epoch), Usage>>,
    has_news: Notify,
}

impl UsageReports {
    /// All that the attempt used up to now.
    pub fn report(&self, intent: &Intent, usage: Usage) {
        let mut newest = self.0.newest.lock().unwrap_or_else(PoisonError::into_inner);
        newest.insert((intent.id.clone(), intent.epoch), usage);
        self.0.has_news.notify_one();
    }

    /// The reports since they were taken last, when there are any.
    pub(super) async fn next(&self) -> Vec<Input> {
        self.0.has_news.notified().await;
        let mut newest = self.0.newest.lock().unwrap_or_else(PoisonError::into_inner);
        let reports = std::mem::take(&mut *newest).into_iter();
        let input = |((attempt, epoch), usage)| Input::Used { attempt, epoch, usage };
        reports.map(input).collect()
    }
}
