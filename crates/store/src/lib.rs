//! The only writer of the state file: it is loaded whole and replaced whole.
//!
//! Not here: the meaning of the state (`descent-core`), when to write (`driver` of `descent-engine`).
//!
//! Interface: [`StatePlace`] finds the file. [`Store`] reads it, creates it, and commits a [`CommitContent`] to it.
//! A [`Lease`] makes this process the one loop, [`exclusive`] guards a command. [`History`] reads the journal.
//! [`probe()`] says what the file system can do. `evidence` keeps the output of checks beside the state.
//!
//! Invariant: a reader sees serial n or n+1, never a mixture. A commit replaces exactly the bytes that it was decided
//! on, compared under the commit lock. A file that cannot be read and validated is never overwritten.

mod aside;
mod disk;
mod error;
pub mod evidence;
mod journal;
mod lease;
mod load;
mod locks;
mod merge_base;
mod names;
#[cfg(test)]
#[path = "../../../tests/it/support/passed_over.rs"]
mod passed_over;
mod place;
mod probe;
mod room;
mod swap;
mod sweep;
#[cfg(any(test, feature = "testing"))]
#[path = "tests/testing.rs"]
pub mod testing;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;

use descent_core::doc::Node;
use descent_core::event::Event;
use descent_core::state::State;
use descent_core::state::encode::{ChangeSet, StateText};
use descent_core::trust::Hand;

use descent_system::failure::Lack;
use descent_system::files::{self, ContentStamp};
use disk::{Disk, RealDisk};
use journal::Journal;
use load::StateFile;
use merge_base::RecentStates;
use names::{Names, Taker};
use swap::{OldFile, Replaced, Swap, SwapError, Writer};

pub use error::{CommitError, PlacedFault, StoreError, count};
pub use journal::{Commit, History};
pub use load::{
    BAD_SCHEMA, LoadedState, check_rules, faults_in_use, pattern_faults, place_faults, read_bytes,
    show_faults,
};
pub use locks::{COMMIT_WAIT_MS, FileLock, Lease, exclusive};
pub use place::StatePlace;
pub use probe::{Mode, Probe, probe};

/// The schema that lies beside each state, for editors.
pub const STATE_SCHEMA: &str = include_str!("../../../state-schema/state.schema.json");

/// How many saves of a person one commit gives way to.
const OVERTAKEN_MAX: u32 = 16;
/// Commits between two sweeps of the files beside the state.
const SWEEP_EVERY: u64 = 8;

/// One state file, and what this process knows of it.
#[derive(Debug)]
pub struct Store {
    place: StatePlace,
    names: Names,
    disk: Box<dyn Disk>,
    /// The file as it was last read or written.
    cached: Option<Arc<LoadedState>>,
    /// The records of `cached` as text; dropped when a commit fails.
    rendered: Option<StateText>,
    known: RecentStates,
    /// The newest sealed state, with its bytes.
    committed: Option<Arc<LoadedState>>,
    /// The file of the newest commit, as it was before it got the name.
    published: Option<ContentStamp>,
    /// Owner and mode of the file when it was last read.
    hand: Option<Hand>,
    /// Commits of this process.
    commits: u64,
    /// A commit failed, maybe after its file had got the name: the state to go on from must be made
    /// durable first.
    may_be_loose: bool,
    /// Rescued saves that were not reported yet.
    newly_rescued: Vec<PathBuf>,
    journal: Journal,
}

impl Drop for Store {
    fn drop(&mut self) {
        if self.commits > 0 {
            self.put_away();
        }
    }
}

/// The content of a commit: the state with its next serial, and the differences from the present
/// one.
#[derive(Debug)]
pub struct CommitContent {
    pub state: State,
    pub touched: ChangeSet,
    /// The time of the new records.
    pub at: String,
    /// The announcements of the commit.
    pub events: Vec<Event>,
}

impl Store {
    pub fn open(place: StatePlace) -> Self {
        let disk = RealDisk::in_dir(place.parent());
        Self::new(place, Box::new(disk))
    }

    fn new(place: StatePlace, disk: Box<dyn Disk>) -> Self {
        Self {
            names: Names::of(&place, room::BYTES_MAX as u64),
            journal: Journal::new(place.journal()),
            place,
            disk,
            cached: None,
            rendered: None,
            known: RecentStates::default(),
            committed: None,
            published: None,
            hand: None,
            commits: 0,
            may_be_loose: false,
            newly_rescued: Vec::new(),
        }
    }

    pub fn place(&self) -> &StatePlace {
        &self.place
    }

    /// The present state; the same value as long as the bytes are the same.
    pub fn read(&mut self) -> Result<Arc<LoadedState>, StoreError> {
        let found = self.read_bytes()?;
        if self.may_be_loose {
            let synced = self.disk.fsync_dir(self.names.dir());
            synced.map_err(|error| StoreError::io("sync", self.names.dir(), error))?;
            self.may_be_loose = false;
        }
        let (uid, mode) = (found.opened.uid, found.opened.mode);
        self.hand = Some(Hand { uid, mode });
        self.take_in(&found.bytes)
    }

    /// Owner and mode of the very file whose bytes `read` returned last.
    pub fn hand(&self) -> Option<Hand> {
        self.hand
    }

    /// Writes the state that `decide` makes of the present one, if it makes any.
    ///
    /// `decide` runs again on the newer state if somebody saved meanwhile. It also runs again on
    /// the state as read if it would write nothing on the presumed one.
    pub fn commit<E>(
        &mut self,
        mut decide: impl FnMut(&LoadedState) -> Result<Option<CommitContent>, E>,
    ) -> Result<Arc<LoadedState>, CommitError<E>> {
        let mut held = self.lock()?;
        if let Some(presumed) = self.presumed()
            && let Ok(Some(next)) = decide(&presumed.now)
            && let Some(done) = self.publish(&presumed, next)?
        {
            return Ok(done);
        }
        for _ in 0..OVERTAKEN_MAX {
            // A lock file that was cleared away meanwhile excludes nobody.
            if !held.is_whole() {
                held = self.lock()?;
            }
            let seen = self.see()?;
            let Some(next) = decide(&seen.now).map_err(CommitError::Decide)? else {
                return Ok(seen.now);
            };
            if let Some(done) = self.publish(&seen, next)? {
                return Ok(done);
            }
        }
        let path = self.place.state.clone();
        Err(StoreError::Restless { path }.into())
    }

    /// Writes the first state, if there is no file.
    pub fn create(&mut self, state: State) -> Result<Arc<LoadedState>, StoreError> {
        let _held = self.lock()?;
        let (loaded, rendered) = self.checked(self.with_schema(state))?;
        swap::first(&*self.disk, &self.names, loaded.bytes())?;
        self.note_commit(None, &loaded, None);
        Ok(self.adopt(loaded, rendered))
    }

    /// Writes the first state over the file that a person wrote it as. False if that no longer has these bytes.
    pub fn agree(&mut self, state: State, bytes: &[u8]) -> Result<bool, StoreError> {
        let _held = self.lock()?;
        let (loaded, rendered) = self.checked(self.with_schema(state))?;
        let (found, taker) = (self.read_bytes()?, Taker::of(&loaded.state));
        let old = OldFile { opened: &found.opened, bytes, taker: Some(&taker) };
        let (disk, writer) = (&*self.disk, Writer::GiveWay);
        let swap = swap::replace(disk, &self.names, old, loaded.bytes(), writer);
        let is_done = swap.map_err(|failed| failed.error)?.swap == Swap::Done;
        if is_done {
            self.commits += 1;
            self.note_commit(None, &loaded, None);
            self.adopt(loaded, rendered);
        }
        Ok(is_done)
    }

    /// Replaces a readable state by another. With `archive`, the journal keeps the old one at the
    /// returned path.
    pub fn replace(
        &mut self,
        state: State,
        archive: bool,
    ) -> Result<(Arc<LoadedState>, Option<PathBuf>), StoreError> {
        let _held = self.lock()?;
        let state = self.with_schema(state);
        for _ in 0..OVERTAKEN_MAX {
            let seen = self.see()?;
            let archived =
                archive.then(|| self.archive(&seen.now.state, seen.now.bytes())).transpose()?;
            let (loaded, rendered) = self.checked(state.clone())?;
            if self.swap(&seen, &loaded)? {
                self.commits += 1;
                self.known.clear();
                self.note_commit(None, &loaded, None);
                return Ok((self.adopt(loaded, rendered), archived));
            }
        }
        let path = self.place.state.clone();
        Err(StoreError::Restless { path })
    }

    /// A first state that names the schema beside it, unless it names one.
    fn with_schema(&self, mut state: State) -> State {
        state.extra.put_first("$schema", Node::string(self.place.schema_in_state()));
        self.write_schema();
        state
    }

    /// Writes the schema beside the state. Without it an editor completes nothing, and all else works.
    fn write_schema(&self) {
        let _ = files::write_whole(&self.place.schema(), STATE_SCHEMA.as_bytes());
    }

    /// Whether nothing has the state's name.
    pub fn is_gone(&self) -> bool {
        self.place.state.symlink_metadata().is_err()
    }

    /// The guarantees of this directory for a commit, tried there; the trial leaves nothing.
    pub fn mode(&self) -> Result<Mode, StoreError> {
        let _held = self.lock()?;
        probe::mode_of_state(&*self.disk, &self.names)
    }

    /// Makes sure that the last commit is in the journal, even if that was deleted meanwhile. The
    /// loop calls it when idle, and at its end.
    pub fn write_journal(&mut self) {
        if let (Some(committed), Ok(_held)) = (self.committed.clone(), self.lock())
            && self.is_durable(&committed)
        {
            let at_ms = self.disk.changed_ms(&self.place.state).unwrap_or(0);
            self.journal.keep(&committed, at_ms);
        }
    }

    /// Makes a commit durable, since the process that made it may have been killed before it could.
    /// If only the journal had it, the older file that a power cut brings back would look like a
    /// saved old buffer.
    fn is_durable(&self, committed: &LoadedState) -> bool {
        self.journal.is_newest(committed) || self.disk.fsync_dir(self.names.dir()).is_ok()
    }

    /// Sets who makes the commits of the journal, and by which command.
    pub fn set_author(&mut self, command: &str, by: &str) {
        self.journal.set_author(command, by);
    }

    /// The commits of the past, as far as they are kept.
    pub fn history(&self) -> History {
        self.journal.history()
    }

    fn lock(&self) -> Result<FileLock, StoreError> {
        if !self.place.dir.is_dir() {
            // Only beside an existing file: a question creates nothing.
            self.read_bytes()?;
            self.place.make_dir()?;
        }
        exclusive(&self.place.commit_lock())
    }

    fn take_in(&mut self, bytes: &[u8]) -> Result<Arc<LoadedState>, StoreError> {
        if let Some(cached) = &self.cached
            && cached.bytes() == bytes
        {
            return Ok(Arc::clone(cached));
        }
        let (mut loaded, rendered) = {
            let kept = || self.newest_kept();
            load::read_over(&self.place.state, bytes.to_vec(), &kept)?
        };
        loaded.is_foreign = loaded.is_foreign || self.is_past(&loaded)?;
        Ok(self.adopt(loaded, rendered))
    }

    fn adopt(&mut self, loaded: LoadedState, rendered: StateText) -> Arc<LoadedState> {
        let loaded = Arc::new(loaded);
        if !loaded.is_foreign {
            self.known.committed(Arc::new(loaded.state.clone()));
            self.committed = Some(Arc::clone(&loaded));
        }
        self.cached = Some(Arc::clone(&loaded));
        self.rendered = Some(rendered);
        loaded
    }

    /// `None` if a person's save came first.
    fn publish(
        &mut self,
        seen: &StateFile,
        next: CommitContent,
    ) -> Result<Option<Arc<LoadedState>>, StoreError> {
        let now = &seen.now;
        let (from, to) = (now.state.serial.0, next.state.serial.0);
        // The serial of an edited file is whatever a person typed; the serial of a commit over it
        // comes from the newest commit.
        if to <= from && !now.is_foreign {
            return Err(StoreError::NotNext { from, to });
        }
        let mut rendered = self.render(now, &next);
        let committed = self.committed.as_ref();
        let committed = committed.map_or(0, |committed| committed.bytes().len());
        let whole_up_to = room::whole_up_to(committed, &now.state, &next);
        let loaded = room::written(next.state.clone(), &mut rendered, whole_up_to, Some(now))?;
        if !self.swap(seen, &loaded)? {
            return Ok(None);
        }
        if self.commits.is_multiple_of(SWEEP_EVERY) {
            self.sweep_if_due();
        }
        self.commits += 1;
        self.note_commit(Some(now), &loaded, Some(&next));
        Ok(Some(self.adopt(loaded, rendered)))
    }

    /// Whether the new file has the name now; it has not if somebody else was first.
    fn swap(&mut self, seen: &StateFile, new: &LoadedState) -> Result<bool, StoreError> {
        let taker = seen.now.is_foreign.then(|| Taker::of(&new.state));
        let old = OldFile { opened: &seen.opened, bytes: seen.now.bytes(), taker: taker.as_ref() };
        let replace =
            |store: &Self| swap::replace(&*store.disk, &store.names, old, new.bytes(), seen.writer);
        let mut swap = replace(self);
        let has_no_room =
            |failed: &SwapError| !failed.was_shown && failed.error.lack() == Some(Lack::Space);
        // A sealed state has the name, as far as this commit knows: older ones are not needed.
        if !seen.now.is_foreign && swap.as_ref().is_err_and(has_no_room) && self.make_room() {
            swap = replace(self);
        }
        self.published = None;
        let (swap, was_shown) = match swap {
            Ok(Replaced { swap, stamp }) => {
                self.published = stamp.filter(|_| swap == Swap::Done);
                (Ok(swap == Swap::Done), swap == Swap::GivenBack)
            }
            Err(failed) => (Err(failed.error), failed.was_shown),
        };
        if was_shown {
            self.known.glimpsed(Arc::new(new.state.clone()));
        }
        match swap {
            Ok(true) => self.may_be_loose = false,
            Ok(false) => {}
            Err(_) => self.may_be_loose = true,
        }
        swap
    }

    /// `rendered` belongs to `now`. It is dropped if the commit fails, and then made anew.
    fn render(&mut self, now: &LoadedState, next: &CommitContent) -> StateText {
        let kept = self.rendered.take();
        if now.is_foreign {
            // A person's save may hold what the next state does not, and no list of changes names
            // that.
            return StateText::of(&next.state);
        }
        let mut rendered = kept.unwrap_or_else(|| StateText::of(&now.state));
        rendered.update(&next.state, &next.touched);
        debug_assert_eq!(
            rendered.seal(&next.state),
            StateText::of(&next.state).seal(&next.state),
            "BUG: `touched` leaves out a record that changed"
        );
        rendered
    }

    /// Checks a whole state that did not come from a step like the content of a file.
    fn checked(&self, state: State) -> Result<(LoadedState, StateText), StoreError> {
        let loaded = room::written(state.clone(), &mut StateText::of(&state), 0, None)?;
        load::read(&self.place.state, loaded.bytes().to_vec())
    }

    /// Notes a commit in the journal. That may fail: the commit stays.
    fn note_commit(
        &mut self,
        now: Option<&LoadedState>,
        after: &LoadedState,
        content: Option<&CommitContent>,
    ) {
        let at_ms = self.disk.changed_ms(&self.place.state).unwrap_or(0);
        let edited = now.filter(|now| now.is_foreign);
        let sealed = self.committed.clone();
        let before = match edited {
            Some(_) => sealed.as_deref(),
            None => now,
        };
        self.journal.note(journal::CommitNote { before, after, content, edited, at_ms });
    }

    /// Archives the newest state of another agreement if the present one has replaced it since, and
    /// returns the path. This happens if somebody put the older file back or saved an old buffer.
    pub fn keep_what_replaced(&self, now: &State) -> Result<Option<PathBuf>, StoreError> {
        let history = self.history();
        let newest = history.newest_lineage();
        let newest = newest.filter(|lineage| *lineage != now.lineage);
        let Some(lineage) = newest.filter(|_| history.newest(&now.lineage).is_some()) else {
            return Ok(None);
        };
        let past = history.newest(&lineage).and_then(|serial| history.state(&lineage, serial));
        past.map(|past| self.archive(&past.state, &past.bytes)).transpose()
    }

    fn archive(&self, state: &State, bytes: &[u8]) -> Result<PathBuf, StoreError> {
        let lineage: String = state.lineage.as_str().chars().take(8).collect();
        let is_plain = lineage.chars().all(|c| c.is_ascii_alphanumeric());
        let lineage = if is_plain { lineage.as_str() } else { "other" };
        let name = format!("{}-{lineage}", state.serial.0);
        let journal = self.place.journal();
        let kept = journal::archive(&*self.disk, &journal, &name, bytes);
        kept.map_err(|error| StoreError::io("archive into", &journal, error))
    }
}
