//! Notices changes of the state file, by events of its directory as hints, and does the small chores while nothing happens.

use std::path::{Path, PathBuf};

use descent_core::{change, event::Input};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;

use super::Loop;
use descent_system::{failure::Failure, files::CloseStamp};

/// How many idle looks go by before the bytes are compared, although no time of the file tells of a change.
const LOOKS_MAX: u32 = 60;

/// The file when its bytes were compared last.
#[derive(Debug, Default)]
pub(super) struct Compared {
    stamp: Option<CloseStamp>,
    looks: u32,
}

impl Compared {
    /// Whether the bytes are to be compared now. A write through a memory map changes neither length nor time of a file
    /// in memory.
    fn is_due(&mut self, now: Option<CloseStamp>) -> bool {
        self.looks += 1;
        let is_same = now.is_some() && now == self.stamp && self.looks < LOOKS_MAX;
        if !is_same {
            *self = Self { stamp: now, looks: 0 };
        }
        !is_same
    }
}

impl Loop<'_> {
    /// Times of a file can be put back: once in a while only the bytes tell.
    pub(super) fn distrust_stamp(&mut self) {
        if self.compared.is_due(CloseStamp::at(&self.host.store.place().state)) {
            self.watch_stamp = None;
        }
    }
}

/// Events of the directory: a watch on the file itself would miss everything after the file is
/// replaced.
pub struct Watch {
    events: mpsc::Receiver<()>,
    /// If there are no events, the loop's slow poll remains.
    _watcher: Option<RecommendedWatcher>,
    is_deaf: bool,
}

impl Watch {
    #[must_use]
    pub fn of(state: &Path) -> Self {
        let (tell, events) = mpsc::channel(1);
        let name: PathBuf = state.to_owned();
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let is_it = |path: &PathBuf| path.file_name() == name.file_name();
            let concerns = event.map_or(true, |event| {
                let is_there = event.paths.is_empty() || event.paths.iter().any(is_it);
                is_there && !event.kind.is_access()
            });
            if concerns {
                // A full channel says it already.
                let _ = tell.try_send(());
            }
        });
        let watcher = watcher.and_then(|mut watcher| {
            watcher.watch(state.parent().unwrap_or(Path::new(".")), RecursiveMode::NonRecursive)?;
            Ok(watcher)
        });
        if let Err(error) = &watcher {
            tracing::info!(%error, "no file events here: the state file is polled");
        }
        Self { is_deaf: watcher.is_err(), _watcher: watcher.ok(), ..Self::with_events(events) }
    }

    /// Takes the events from a channel.
    pub(super) fn with_events(events: mpsc::Receiver<()>) -> Self {
        Self { events, _watcher: None, is_deaf: false }
    }

    /// Whether there are no events here, so that only polling finds saves.
    pub(super) fn is_deaf(&self) -> bool {
        self.is_deaf
    }

    pub async fn changed(&mut self) {
        if self.is_deaf || self.events.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}

impl Loop<'_> {
    pub(super) async fn look_around(&mut self) -> Result<(), Failure> {
        self.look_at_file().await?;
        // A redirect whose process died before it made its change is retired.
        if change::is_redirect_open(&self.world.state) && !self.host.store.is_redirect_asked() {
            self.pending.push_back(Input::AskerGone);
        }
        self.tend()
    }

    /// Runs the store's small chores while nothing happens.
    pub(super) fn tend(&mut self) -> Result<(), Failure> {
        // Nothing waits for this, and whoever holds the lock goes first.
        if self.waits_for_file.is_some()
            || self.disk_wait.is_lacking()
            || self.host.store.is_lock_taken()
        {
            return Ok(());
        }
        if self.tended != Some(self.world.state.serial)
            && self.host.store.tend(self.host.clock.now())?
        {
            self.tended = Some(self.world.state.serial);
        }
        if self.remembered != self.world.state.serial {
            self.remembered = self.world.state.serial;
            self.host.store.write_journal();
        }
        self.tell_rescued();
        Ok(())
    }

    /// Reports edits that came too late to be read, or whose commit was lost.
    pub(super) fn tell_rescued(&mut self) {
        for path in self.host.store.newly_rescued() {
            let path = path.display();
            (self.observer.on_note)(&format!("an edit that is in no commit was kept as {path}"));
        }
    }
}
