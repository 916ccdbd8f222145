//! The journal beside the state file: every commit, who made it and what it changed, and states
//! that were replaced.
//!
//! Invariant: the journal is derived; no command needs it to go on, and none waits for it. A failed
//! write gives a warning, and an unreadable line is passed over. Only an archive is sure to be
//! there afterwards.
//!
//! A commit appends one line, whose size follows what the commit changed; now and then the line
//! holds the whole state. Each line repeats the patch of the line before, so that a damaged line
//! takes no other with it. Not here: states in memory, the description of a difference (the core).

mod line;
mod read;
mod segments;

use std::io;
use std::path::{Path, PathBuf};

use descent_core::difference::{self, Difference, Weight};
use descent_core::doc::Node;
use descent_core::event::Event;
use descent_core::id::Serial;
use descent_core::state::State;
use descent_core::state::patch::Patch;

use super::disk::Disk;
use super::{CommitContent, LoadedState, load, room};
use descent_system::files;
use line::{Body, JournalLine};

pub use line::Commit;
pub use read::History;
pub(super) use segments::prune;

/// Commits in one file.
const LINES_MAX: usize = 256;
/// Bytes of patches in one file, unless the whole state is larger.
const PATCHES_BYTES_MAX: u64 = 256 << 10;
/// Maximum of files that are kept: the oldest go first, the newest two never.
const SEGMENTS_MAX: usize = 400;
/// Bytes of all files together; beyond them the oldest go.
const BYTES_MAX: u64 = 64 << 20;
/// Maximum of changes in one line, which only a correction by a person has.
const CHANGES_MAX: usize = 40;
/// Maximum of archives of one name.
const ARCHIVES_MAX: u32 = 1000;
/// A chain begins with two whole states, so that losing either one loses nothing of what follows.
const WHOLES_FIRST: u32 = 2;

/// The directory of the journal, and who makes the commits.
#[derive(Debug)]
pub(super) struct Journal {
    dir: PathBuf,
    command: String,
    by: String,
    /// The file that this process appended to last.
    open: Option<OpenSegment>,
    is_broken: bool,
}

#[derive(Debug, Default)]
struct OpenSegment {
    segment: PathBuf,
    /// The length after our last write. Another length means that another process wrote, or damaged
    /// the file.
    len: u64,
    lines: usize,
    /// How many lines from here on must hold the whole state.
    wholes_due: u32,
    patches_len: u64,
    whole_len: u64,
    lineage: String,
    serial: u64,
    /// The patch to the state of the newest line.
    last: Option<Patch>,
}

/// One commit to be noted.
#[derive(Debug, Clone, Copy)]
pub(super) struct CommitNote<'a> {
    /// The committed state before it, if known.
    pub(super) before: Option<&'a LoadedState>,
    pub(super) after: &'a LoadedState,
    /// The content of the commit; with `None` anything may differ from the state before.
    pub(super) content: Option<&'a CommitContent>,
    /// The edit of a person that this commit adopted.
    pub(super) edited: Option<&'a LoadedState>,
    pub(super) at_ms: u64,
}

impl Journal {
    pub(super) fn new(dir: PathBuf) -> Self {
        Self {
            dir,
            command: "descent".to_owned(),
            by: "person".to_owned(),
            open: None,
            is_broken: false,
        }
    }

    /// A journal with the author of another, and no open file yet.
    pub(super) fn with_author_of(other: &Self, dir: PathBuf) -> Self {
        let mut journal = Self::new(dir);
        journal.set_author(&other.command, &other.by);
        journal
    }

    /// Sets which command commits from here on, and for whom.
    pub(super) fn set_author(&mut self, command: &str, by: &str) {
        command.clone_into(&mut self.command);
        by.clone_into(&mut self.by);
    }

    /// Notes a commit, under the commit lock. The commit is durable already: no failure here can
    /// undo it.
    pub(super) fn note(&mut self, made: CommitNote<'_>) {
        let Err(error) = self.try_note(made) else {
            self.is_broken = false;
            return;
        };
        // The next commit begins a new chain.
        self.open = None;
        if !std::mem::replace(&mut self.is_broken, true) {
            let dir = self.dir.display();
            tracing::warn!(%error, %dir, "the history could not be written; the run is not affected");
        }
    }

    /// Makes sure that the state is in the journal, whoever committed it; under the commit lock.
    pub(super) fn keep(&mut self, loaded: &LoadedState, at_ms: u64) {
        if loaded.is_foreign || self.is_newest(loaded) {
            return;
        }
        // This process has the state in its memory: whether the lines before are whole is not asked.
        if self.history().ends_with(loaded) {
            return;
        }
        self.note(CommitNote { before: None, after: loaded, content: None, edited: None, at_ms });
    }

    /// Whether it is the last state in the open file.
    pub(super) fn is_newest(&self, loaded: &LoadedState) -> bool {
        let (serial, lineage) = (loaded.state.serial.0, loaded.state.lineage.as_str());
        self.open.as_ref().is_some_and(|open| {
            open.serial == serial && open.lineage == lineage && open.is_as_left()
        })
    }

    pub(super) fn history(&self) -> History {
        History::of(self.dir.clone())
    }

    fn try_note(&mut self, made: CommitNote<'_>) -> io::Result<()> {
        let patch = match (made.before, made.content) {
            (Some(before), Some(content)) if made.edited.is_none() => {
                Some(Patch::between(&before.state, &made.after.state, &content.touched))
            }
            _ => None,
        };
        let mut open = self.open_segment(&made, patch.is_some())?;
        if let Some(edited) = made.edited {
            open.append(&JournalLine {
                commit: self.commit(&made, "edit"),
                before: None,
                body: Body::Edit(edited.text().into()),
            })?;
        }
        let is_whole = patch.is_none() || open.wholes_due > 0;
        let line = JournalLine {
            commit: self.described(&made),
            before: open.last.take(),
            body: match &patch {
                Some(patch) if !is_whole => Body::Patch(Box::new(patch.clone())),
                _ => Body::Whole(made.after.text().into()),
            },
        };
        open.append(&line)?;
        open.noted(made.after, is_whole, patch);
        self.open = Some(open);
        Ok(())
    }

    /// The file to append to, and how many whole states it must hold first.
    fn open_segment(&mut self, made: &CommitNote<'_>, has_patch: bool) -> io::Result<OpenSegment> {
        let follows = |open: &OpenSegment| {
            made.before.is_some_and(|before| {
                before.state.serial.0 == open.serial
                    && before.state.lineage.as_str() == open.lineage
            })
        };
        // If another process wrote or removed the file, a new chain begins.
        let open = self.open.take();
        let open = open.filter(|open| has_patch && follows(open) && open.is_as_left());
        let wholes_due = match &open {
            Some(open) if !open.is_full() => open.wholes_due,
            Some(_) => 1,
            None => WHOLES_FIRST,
        };
        match open {
            Some(open) if !open.is_full() => Ok(open),
            before => {
                let segment = segments::next(&self.dir)?;
                prune(&self.dir, SEGMENTS_MAX, BYTES_MAX)?;
                let last = before.and_then(|before| before.last);
                Ok(OpenSegment { segment, wholes_due, last, ..OpenSegment::default() })
            }
        }
    }

    /// The commit, with its author and nothing else.
    fn commit(&self, made: &CommitNote<'_>, command: &str) -> Commit {
        Commit {
            lineage: made.after.state.lineage.clone(),
            serial: made.after.state.serial,
            at_ms: made.at_ms,
            by: self.by.clone(),
            command: command.to_owned(),
            is_correction: false,
            stamps: Vec::new(),
            events: Vec::new(),
            changes: Vec::new(),
        }
    }

    /// The commit with its events; of a person's, with its changes too.
    fn described(&self, made: &CommitNote<'_>) -> Commit {
        let after = &made.after.state;
        let kept = self.before_edit(made);
        let before = made.before.map(|before| &before.state).or(kept.as_ref());
        let events = made.content.map_or(&[][..], |content| &content.events);
        let corrects_any = |event: &Event| matches!(event, Event::Corrected { .. });
        let is_by_person = made.edited.is_some() || events.iter().any(corrects_any);
        // The events tell any other change.
        let changes = match before.filter(|_| is_by_person) {
            Some(before) => difference::difference(before, after),
            None => Vec::new(),
        };
        let stamps = made.content.map(|content| content.at.clone());
        Commit {
            is_correction: before.is_some_and(|before| corrects(before, after)),
            stamps: stamps.into_iter().collect(),
            events: line::bounded(events),
            changes: bounded(changes),
            ..self.commit(made, &self.command)
        }
    }

    /// The state before an edit, for a process that begins with an edited file. It is the newest
    /// commit, however old the edited buffer was; without one it is the edit's base.
    fn before_edit(&self, made: &CommitNote<'_>) -> Option<State> {
        let edited = made.edited.filter(|_| made.before.is_none())?;
        let (lineage, history) = (&edited.state.lineage, self.history());
        let newest = made.after.state.serial.0.saturating_sub(1);
        let kept = [Serial(newest), edited.state.serial]
            .into_iter()
            .find_map(|serial| history.state(lineage, serial))?;
        Some(kept.state)
    }
}

impl OpenSegment {
    fn is_as_left(&self) -> bool {
        segments::len(&self.segment) == Some(self.len)
    }

    fn is_full(&self) -> bool {
        self.lines >= LINES_MAX || self.patches_len >= PATCHES_BYTES_MAX.max(self.whole_len)
    }

    fn append(&mut self, line: &JournalLine<'_>) -> io::Result<()> {
        let len = segments::append(&self.segment, self.len, line)?;
        if matches!(line.body, Body::Patch(_)) {
            self.patches_len += len - self.len;
        }
        self.len = len;
        self.lines += 1;
        Ok(())
    }

    fn noted(&mut self, after: &LoadedState, is_whole: bool, patch: Option<Patch>) {
        after.state.lineage.as_str().clone_into(&mut self.lineage);
        self.serial = after.state.serial.0;
        self.last = patch;
        if is_whole {
            self.wholes_due = self.wholes_due.saturating_sub(1);
            self.whole_len = after.text().len() as u64;
        }
    }
}

/// Keeps a state that is about to lose its name, for callers without a journal.
pub(super) fn keep(dir: &Path, serial: u64, bytes: &[u8]) -> io::Result<()> {
    let read = load::read(dir, bytes.to_vec());
    let (loaded, _) = read.map_err(|error| io::Error::other(error.to_string()))?;
    let mut journal = Journal::new(dir.to_owned());
    journal.keep(&loaded, 0);
    if journal.is_broken || loaded.state.serial.0 != serial {
        Err(io::Error::other("the state could not be kept"))
    } else {
        Ok(())
    }
}

/// Keeps bytes for good, for a state that is replaced; they are durable when this returns, and never half written. The
/// same bytes twice are one file.
pub(super) fn archive(
    disk: &dyn Disk,
    journal: &Path,
    name: &str,
    bytes: &[u8],
) -> io::Result<PathBuf> {
    files::make_dir_durably(journal)?;
    for n in 0..ARCHIVES_MAX {
        let suffix = if n == 0 { String::new() } else { format!("-{n}") };
        let path = journal.join(format!("archive-{name}{suffix}.json"));
        match disk.create(&path, 0o600) {
            Ok(file) => {
                // Half an archive would be taken for a whole one.
                let written = disk.write(&file, bytes).and_then(|()| disk.fsync(&file));
                written.inspect_err(|_| drop(disk.unlink(&path)))?;
                disk.fsync_dir(journal)?;
                return Ok(path);
            }
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Err(_)
                if files::read(&path, room::BYTES_MAX as u64).is_ok_and(|there| there == bytes) =>
            {
                return Ok(path);
            }
            Err(_) => {}
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Whether a person changed the agreement; a remark on an assertion changes nothing of it.
fn corrects(before: &State, after: &State) -> bool {
    let added = after.corrections.iter().skip(before.corrections.len());
    let mut kinds = added.map(|one| one.node.get("type").and_then(Node::as_str));
    kinds.any(|kind| kind != Some("confirmation"))
}

/// Sorts by importance, and keeps no more than a line should hold.
fn bounded(mut changes: Vec<Difference>) -> Vec<Difference> {
    changes.sort_by_key(|change| change.weight == Weight::Detail);
    changes.truncate(CHANGES_MAX);
    changes
}
