//! Looks at a run from outside: its state, its loop, its work and its events.
//!
//! Invariant: it only reads, and locks nothing. Whatever it reads may be gone or broken at any moment.

use std::{
    fs::Metadata,
    io::{Read, Seek, SeekFrom},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use descent_core::{
    id::{AtomId, AttemptId},
    state::{State, Usage},
    view::work::WorkView,
};

use super::{
    liveness::{self, LoopObservation},
    run::RunReport,
};
use crate::{
    agent,
    events::{EventReader, HappenedEvent},
    failure::Failure,
    files, heartbeat,
    store::{LoadedState, StatePlace, Store},
};

/// Bytes of an output that are read from its end.
const TAIL_BYTES: u64 = 256 * 1024;

/// Looks at one state again and again.
pub struct Lookout {
    store: Store,
    stamp: Option<SaveStamp>,
    loaded: Arc<LoadedState>,
    trouble: Option<String>,
    events: Option<RunEvents>,
}

struct RunEvents {
    run: String,
    reader: EventReader,
}

/// A save of a file: another one has another inode, length or time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SaveStamp {
    inode: u64,
    bytes: u64,
    seconds: i64,
    nanoseconds: i64,
}

impl SaveStamp {
    fn of(meta: &Metadata) -> Self {
        Self {
            inode: meta.ino(),
            bytes: meta.len(),
            seconds: meta.mtime(),
            nanoseconds: meta.mtime_nsec(),
        }
    }
}

/// The findings of one look.
pub struct WatchReport {
    pub loaded: Arc<LoadedState>,
    /// Whether the state is another one than at the last look.
    pub is_news: bool,
    /// Why the file cannot be read now; `loaded` is the last that could.
    pub trouble: Option<String>,
    pub observed: LoopObservation,
    pub work: Option<WorkView>,
    /// The usage that attempts in flight have told.
    pub used: Vec<(AttemptId, Usage)>,
    /// The events since the last look; after a new run began, all of that run.
    pub events: Vec<HappenedEvent>,
}

impl WatchReport {
    pub fn state(&self) -> &State {
        &self.loaded.state
    }

    /// A loop is at work, or about to begin.
    pub fn is_live(&self) -> bool {
        self.observed.holder.is_some()
    }
}

impl Lookout {
    /// The first look has to succeed.
    pub fn new(mut store: Store) -> Result<Self, Failure> {
        let loaded = store.read()?;
        Ok(Self { store, stamp: None, loaded, trouble: None, events: None })
    }

    pub fn place(&self) -> &StatePlace {
        self.store.place()
    }

    /// For a person's command from here.
    pub fn store(&mut self) -> &mut Store {
        &mut self.store
    }

    pub fn look(&mut self) -> WatchReport {
        let meta = self.store.place().state.symlink_metadata();
        let stamp = meta.ok().map(|meta| SaveStamp::of(&meta));
        let is_news = stamp.is_none() || stamp != self.stamp;
        if is_news {
            match self.store.read() {
                Ok(loaded) => (self.loaded, self.trouble) = (loaded, None),
                Err(error) => self.trouble = Some(error.to_string()),
            }
            self.stamp = stamp.filter(|_| self.trouble.is_none());
        }
        let observed = liveness::observe(&self.store, self.loaded.state.run.status);
        let run = self.loaded.state.run.id.as_ref().map(ToString::to_string);
        let run = run.unwrap_or_default();
        let is_live = observed.holder.is_some();
        let work = is_live.then(|| heartbeat::work::read(self.store.place(), &run));
        let attempts = self.store.place().attempts();
        WatchReport {
            used: agent::told_so_far(&attempts, &self.loaded.state.run.in_flight),
            loaded: Arc::clone(&self.loaded),
            is_news,
            trouble: self.trouble.clone(),
            observed,
            work: work.flatten(),
            events: self.events(&run),
        }
    }

    /// The ending that the state tells.
    pub fn ending(&self, report: &WatchReport) -> Result<RunReport, Failure> {
        RunReport::of_state(self.store.place(), report.state().clone())
    }

    fn events(&mut self, run: &str) -> Vec<HappenedEvent> {
        let is_same = self.events.as_ref().is_some_and(|events| events.run == run);
        if !is_same {
            self.events = Some(RunEvents {
                run: run.to_owned(),
                reader: EventReader::of(self.store.place(), run),
            });
        }
        let events = self.events.as_mut();
        events.map_or_else(Vec::new, |events| events.reader.read())
    }
}

/// The newest attempt of an atom that is in flight or whose files are kept.
pub fn newest_attempt(place: &StatePlace, state: &State, atom: &AtomId) -> Option<AttemptId> {
    let in_flight = state.run.in_flight.iter().map(|intent| intent.id.clone());
    let name = |path: &PathBuf| Some(AttemptId::new(path.file_name()?.to_str()?));
    let entries = files::entries(&place.attempts());
    let ids = in_flight.chain(entries.iter().filter_map(name));
    let is_of_atom = |id: &AttemptId| id.parts().is_some_and(|(of, _)| of == atom.as_str());
    AttemptId::newest(ids.filter(is_of_atom))
}

/// The end of what an attempt printed; `None` if nothing is kept of it.
pub fn output_tail(place: &StatePlace, attempt: &AttemptId) -> Option<String> {
    let path = place.attempts().join(attempt.as_str()).join("output.log");
    tail(&path)
}

fn tail(path: &Path) -> Option<String> {
    let mut file = files::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES))).ok()?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
