//! The events of a run as lines of JSON: what `run --json` prints, and `events/<run>.ndjson` beside the state, which
//! other commands follow. The inputs that led to them are in `inputs/<run>.ndjson`.
//!
//! Invariant: nothing depends on these files. They are never synced, may be deleted at any time, and an error here is
//! no error of the run. A run keeps its newest 16 MiB of each, a state its newest 20 runs.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use descent_core::{
    event::Event,
    id::{RunId, Serial, UnixMillis},
    world::World,
};
use serde::{Deserialize, Serialize};

use descent_store::StatePlace;
use descent_system::{
    clock::{Clock, Stopwatch},
    files, phrase, space,
};

/// A run has two files of this size at most.
const BYTES_MAX: u64 = 8 * 1024 * 1024;
const RUNS_MAX: usize = 20;
const HELD_BYTES_MAX: usize = 64 * 1024;
/// The space that the disk must have left.
const SPARE_BYTES: u64 = 16 * 1024 * 1024;
/// How often the room and the names of the files are looked at.
const LOOK_EVERY_MS: u64 = 1_000;
/// Bytes that one look at the end of a file takes in.
const LOOK_BYTES: u64 = 1024 * 1024;

/// An event that happened: a line of `descent run --json`
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EventLine<'a> {
    schema: &'static str,
    /// When it was told.
    at: String,
    /// The commit that it belongs to.
    serial: Serial,
    /// The halting bound then, if a loop told it.
    #[serde(skip_serializing_if = "Option::is_none")]
    left: Option<String>,
    #[serde(flatten)]
    pub event: &'a Event,
}

impl<'a> EventLine<'a> {
    pub fn new(event: &'a Event, at: String, serial: Serial) -> Self {
        Self { schema: "descent/event/1", at, serial, left: None, event }
    }

    /// The events of a commit, with the bound of the state that they led to.
    #[must_use]
    pub(crate) fn of_world(events: &'a [Event], at: UnixMillis, world: &World) -> Vec<Self> {
        let (at, left) = (at.rfc3339(), world.measure().attempts.to_string());
        let one = |event| Self {
            left: Some(left.clone()),
            ..Self::new(event, at.clone(), world.state.serial)
        };
        events.iter().map(one).collect()
    }
}

/// An event as it was read back.
#[derive(Debug, Clone, Deserialize)]
pub struct HappenedEvent {
    /// The line as it stands.
    #[serde(skip)]
    pub line: String,
    pub at: String,
    #[serde(flatten)]
    pub event: Event,
}

impl HappenedEvent {
    /// `None` for a line that is no event.
    fn read(line: &str) -> Option<Self> {
        Some(Self { line: line.to_owned(), ..serde_json::from_str(line).ok()? })
    }
}

const END: &str = ".ndjson";
/// The directory of the events, beside the state.
pub(crate) const EVENTS: &str = "events";
/// The same of the inputs of the loop.
pub(crate) const INPUTS: &str = "inputs";

/// Writes the lines of one run of one kind.
#[derive(Debug)]
pub(crate) struct RunLog {
    dir: PathBuf,
    run: String,
    file: Option<File>,
    bytes: u64,
    clock: Arc<dyn Clock>,
    /// Since the last look at the room and at the names.
    looked: Option<Stopwatch>,
    /// Lines that nobody follows, and that are written once in a while.
    held: String,
}

/// The last lines are there when the run has ended.
impl Drop for RunLog {
    fn drop(&mut self) {
        self.flush();
    }
}

impl RunLog {
    /// The lines of that kind. The caller holds the lease.
    pub(crate) fn start(
        place: &StatePlace,
        kind: &str,
        run: &RunId,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let dir = place.dir.join(kind);
        if files::make_dir(&dir).is_ok() {
            forget_older(&dir, END);
        }
        Self {
            dir,
            run: run.to_string(),
            file: None,
            bytes: 0,
            clock,
            looked: None,
            held: String::new(),
        }
    }

    /// Appends lines of JSON.
    pub fn append(&mut self, lines: &[impl Serialize]) {
        let lines = lines.iter().map(|line| phrase::json_text(line) + "\n");
        self.held.extend(lines);
        self.flush();
    }

    /// The same for a line that nobody waits for: it costs no call of its own.
    pub(crate) fn append_in_time(&mut self, line: &impl Serialize) {
        self.held += &(phrase::json_text(line) + "\n");
        if self.held.len() > HELD_BYTES_MAX || !self.has_looked() {
            self.flush();
        }
    }

    fn has_looked(&self) -> bool {
        self.looked.as_ref().is_some_and(|looked| looked.passed_ms() < LOOK_EVERY_MS)
    }

    fn flush(&mut self) {
        let held = std::mem::take(&mut self.held);
        if held.is_empty() {
            return;
        }
        if let Err(error) = self.try_append(&held) {
            tracing::debug!(%error, "a line is not kept");
            (self.file, self.looked) = (None, None);
        }
    }

    fn try_append(&mut self, text: &str) -> io::Result<()> {
        let newest = newest(&self.dir, &self.run);
        self.look(&newest)?;
        if self.bytes + text.len() as u64 > BYTES_MAX {
            self.file = None;
            let before = older(&self.dir, &self.run);
            files::remove(&before)?;
            files::move_to(&newest, &before)?;
        }
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                let file = files::append(&newest)?;
                self.bytes = file.metadata()?.len();
                self.file.insert(file)
            }
        };
        file.write_all(text.as_bytes())?;
        self.bytes += text.len() as u64;
        Ok(())
    }

    /// Looks once in a while whether there is room. A directory or a file that was deleted is made anew; a link in the
    /// place of the directory is not followed.
    fn look(&mut self, newest: &Path) -> io::Result<()> {
        if self.has_looked() {
            return Ok(());
        }
        let free = space::free_space(&self.dir);
        if free.is_some_and(|space| space.free_bytes < SPARE_BYTES) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        files::make_dir(&self.dir)?;
        let there = newest.symlink_metadata().ok().map(|meta| meta.ino());
        let open = self.file.as_ref().map(File::metadata).transpose()?;
        if open.is_some_and(|meta| Some(meta.ino()) != there) {
            (self.file, self.bytes) = (None, 0);
        }
        self.looked = Some(Stopwatch::start(Arc::clone(&self.clock)));
        Ok(())
    }
}

fn newest(dir: &Path, run: &str) -> PathBuf {
    dir.join(format!("{run}{END}"))
}

/// The name sorts before that of the newer part.
fn older(dir: &Path, run: &str) -> PathBuf {
    dir.join(format!("{run}.0{END}"))
}

/// Makes room for the files of one more run. Ids of runs sort by time, so the first names are the oldest runs.
pub(crate) fn forget_older(dir: &Path, end: &str) {
    let mut runs: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for path in files::entries(dir) {
        let name = path.file_name().and_then(|name| name.to_str()?.strip_suffix(end));
        if let Some(name) = name {
            let run = name.strip_suffix(".0").unwrap_or(name).to_owned();
            runs.entry(run).or_default().push(path);
        }
    }
    // The run that begins adds one.
    let over = (runs.len() + 1).saturating_sub(RUNS_MAX);
    for path in runs.into_values().take(over).flatten() {
        let _ = files::remove_file(&path);
    }
}

/// Follows the events of one run, from the first that are kept.
#[derive(Debug)]
pub(crate) struct EventReader {
    pub run: String,
    path: PathBuf,
    /// The file that was read last, and how far.
    seen: (u64, u64),
    /// The beginning of a line that is not whole yet.
    half: Vec<u8>,
}

impl EventReader {
    pub fn of(place: &StatePlace, run: &str) -> Self {
        let path = newest(&place.dir.join(EVENTS), run);
        Self { run: run.to_owned(), path, seen: (0, 0), half: Vec::new() }
    }

    /// The events that were added since the last look. A file that was replaced is read anew.
    pub fn read(&mut self) -> Vec<HappenedEvent> {
        let lines = self.try_read().unwrap_or_default();
        let events = lines.iter().filter_map(|line| HappenedEvent::read(line));
        events.collect()
    }

    fn try_read(&mut self) -> io::Result<Vec<String>> {
        let mut file = files::open(&self.path)?;
        let meta = file.metadata()?;
        if self.seen.0 != meta.ino() || meta.len() < self.seen.1 {
            (self.seen, self.half) = ((meta.ino(), 0), Vec::new());
        }
        file.seek(SeekFrom::Start(self.seen.1))?;
        self.seen.1 += file.take(LOOK_BYTES).read_to_end(&mut self.half)? as u64;
        let whole = self.half.iter().rposition(|byte| *byte == b'\n');
        let rest = self.half.split_off(whole.map_or(0, |end| end + 1));
        let lines = std::mem::replace(&mut self.half, rest);
        let text = String::from_utf8_lossy(&lines);
        Ok(text.lines().map(str::to_owned).collect())
    }
}
