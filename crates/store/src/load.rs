//! Reads a state file at rest, and turns its bytes into a usable state, or into all of its faults.
//!
//! Invariant: the result has no fault of syntax, type, pattern or graph. Not here: replacing the file (`swap`).

use std::{
    fs::File,
    io,
    io::Read,
    path::Path,
    sync::{Arc, OnceLock},
    time::Duration,
};

use descent_core::{
    doc::{Fault, Node, Places, readable},
    graph::validate,
    state::{
        State, VERSION,
        check::{Pattern, PatternKind, schemas},
        decode::{Decoding, deciding, decode, decode_past, decode_without_internal},
        encode::StateText,
    },
    trust::TrustList,
};

use super::{
    Store, StoreError,
    disk::{self, DirectoryCheck, FileBytes, OpenFile, dangling},
    error::{PlacedFault, lines},
    locks,
    swap::{self, Writer},
};
use descent_system::{files, files::ContentStamp, shape::Shape};

/// The rule of a schema that cannot be used.
pub const BAD_SCHEMA: &str = "bad-schema";

/// A state with the text of its file.
#[derive(Debug)]
pub struct LoadedState {
    pub state: State,
    text: Arc<String>,
    /// The seal does not match: a person edited the file.
    pub is_foreign: bool,
    remarks: OnceLock<Remarks>,
    carried: OnceLock<TrustList>,
}

/// Remarks on a usable state, with places in its bytes.
#[derive(Debug)]
struct Remarks {
    warnings: Vec<Fault>,
    gate: Vec<Fault>,
}

impl LoadedState {
    /// A state with the text that it was just written as.
    pub(super) fn written(state: State, text: Arc<String>) -> Self {
        Self { state, text, is_foreign: false, remarks: OnceLock::new(), carried: OnceLock::new() }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn bytes(&self) -> &[u8] {
        self.text.as_bytes()
    }

    /// Everything in it that can execute or decide, and what agents are told.
    pub fn carried(&self) -> &TrustList {
        self.carried.get_or_init(|| TrustList::of_state(&self.state))
    }

    /// Whether it is the same content as another.
    pub fn is(&self, other: &Self) -> bool {
        std::ptr::eq(self, other) || self.text() == other.text()
    }

    /// Unknown keys and similar faults, which do not make the state unusable.
    pub fn warnings(&self) -> &[Fault] {
        &self.remarks().warnings
    }

    /// The faults that the start gate still demands to be mended.
    pub fn gate(&self) -> &[Fault] {
        &self.remarks().gate
    }

    /// Places come from a reading, which a commit does not wait for.
    fn remarks(&self) -> &Remarks {
        self.remarks.get_or_init(|| {
            let decoded = decode(self.bytes());
            let root = decoded.root.unwrap_or_else(Node::null);
            Remarks { warnings: decoded.warnings, gate: validate::gate(&self.state, &root) }
        })
    }
}

impl LoadedState {
    /// Values that a run would have to decide by and does not understand, one line each. A newer
    /// version counts too, since its keys may decide.
    pub fn not_understood(&self, path: &Path) -> Vec<String> {
        let deciding: Vec<Fault> = deciding(self.warnings()).cloned().collect();
        let values = show_faults(path, self.bytes(), &deciding);
        let (at, found) = (path.display(), self.state.version);
        let words = || {
            format!(
                "{at}: /version: the file has version {found}, and this descent knows {VERSION}"
            )
        };
        let newer = (found > VERSION).then(words);
        newer.into_iter().chain(values).collect()
    }

    /// The demands of the start gate, one line each.
    pub fn missing(&self, path: &Path) -> Vec<String> {
        show_faults(path, self.bytes(), self.gate())
    }
}

/// Reads untrusted bytes. It also returns the records as text, which the seal was computed from.
pub(super) fn read(path: &Path, bytes: Vec<u8>) -> Result<(LoadedState, StateText), StoreError> {
    read_over(path, bytes, &|| None)
}

/// The same where an earlier commit may be kept: a file without `internal` gets that of the newest one.
pub(super) fn read_over(
    path: &Path,
    bytes: Vec<u8>,
    kept: &dyn Fn() -> Option<Arc<State>>,
) -> Result<(LoadedState, StateText), StoreError> {
    read_decoded(path, bytes, decode, kept)
}

/// A commit that the journal keeps.
pub(super) fn read_past(bytes: Vec<u8>) -> Result<LoadedState, StoreError> {
    read_decoded(Path::new(""), bytes, decode_past, &|| None).map(|(loaded, _)| loaded)
}

fn read_decoded(
    path: &Path,
    bytes: Vec<u8>,
    decode: fn(&[u8]) -> Decoding,
    kept: &dyn Fn() -> Option<Arc<State>>,
) -> Result<(LoadedState, StateText), StoreError> {
    if bytes.is_empty() {
        return Err(StoreError::Empty { path: path.to_owned() });
    }
    let mut decoded = decode(&bytes);
    if decoded.lacks_internal() {
        match kept() {
            Some(kept) => decoded = decode_without_internal(&bytes, &kept),
            None if decoded.is_first_agreement() => {
                return Err(StoreError::NotAgreed { path: path.to_owned() });
            }
            None => {}
        }
    }
    check_rules(&mut decoded);
    let refused = refusal(path, &bytes, &decoded);
    // A text that could be decoded is UTF-8.
    let text = String::from_utf8(bytes).map(Arc::new);
    let (Some(state), Some(root), Ok(text), None) = (decoded.state, decoded.root, text, &refused)
    else {
        let (path, faults) = (path.to_owned(), Vec::new());
        return Err(refused.unwrap_or(StoreError::Invalid { path, faults }));
    };
    let remarks = Remarks { gate: validate::gate(&state, &root), warnings: decoded.warnings };
    // The tree is as large as everything else together, and is no longer needed.
    drop(root);
    let rendered = StateText::of(&state);
    let is_sealed = state.seal.as_ref() == Some(&rendered.seal(&state));
    let loaded = LoadedState {
        is_foreign: !is_sealed || !state.said.is_empty(),
        remarks: remarks.into(),
        carried: OnceLock::new(),
        state,
        text,
    };
    Ok((loaded, rendered))
}

/// Checks what types cannot express: the rules of the graph, and whether patterns compile.
pub fn check_rules(decoded: &mut Decoding) {
    if let (Some(state), Some(root)) = (&decoded.state, &decoded.root) {
        decoded.faults.extend(validate::check(state, root));
        decoded.faults.extend(validate::unmeasured(state, root));
    }
    let bad = decoded.patterns.iter().filter_map(bad_pattern);
    decoded.faults.extend(bad);
}

/// The faults that leave a state usable: demands of the start gate, and schemas that cannot be used.
pub fn faults_in_use(decoded: &Decoding) -> Vec<Fault> {
    let (Some(state), Some(root)) = (&decoded.state, &decoded.root) else {
        return Vec::new();
    };
    let mut faults = validate::gate(state, root);
    faults.extend(pattern_faults(&schemas(root)));
    faults
}

fn refusal(path: &Path, bytes: &[u8], decoded: &Decoding) -> Option<StoreError> {
    let foreign = decoded.version.and_then(|found| StoreError::of_version(path, found));
    if foreign.is_some() || decoded.faults.is_empty() {
        return foreign;
    }
    let faults = [&decoded.faults[..], &faults_in_use(decoded)].concat();
    let faults = place_faults(bytes, &faults);
    Some(StoreError::Invalid { path: path.to_owned(), faults })
}

/// The patterns that do not compile, for readers of a plan.
pub fn pattern_faults(patterns: &[Pattern]) -> Vec<Fault> {
    patterns.iter().filter_map(bad_pattern).collect()
}

fn bad_pattern(pattern: &Pattern) -> Option<Fault> {
    let (rule, message) = match pattern.kind {
        PatternKind::Glob => {
            let error = globset::Glob::new(&pattern.text).err()?;
            ("bad-glob", format!("not a glob: {}", error.kind()))
        }
        PatternKind::Regex => ("bad-regex", bad_regex(&pattern.text, None)?),
        PatternKind::Schema => (BAD_SCHEMA, Shape::fault(&pattern.text)?),
        PatternKind::RegexWithGroup => ("bad-regex", bad_regex(&pattern.text, Some(1))?),
    };
    Some(Fault { span: pattern.span, pointer: pattern.pointer.clone(), rule, message, hint: None })
}

fn bad_regex(text: &str, groups: Option<usize>) -> Option<String> {
    match regex::Regex::new(text) {
        Err(error) => {
            // It draws the pattern above its words.
            let drawn = error.to_string();
            let words = drawn.lines().last().unwrap_or_default().trim_start_matches("error: ");
            Some(format!("not a regular expression: {words}"))
        }
        Ok(regex) => {
            let found = regex.captures_len() - 1;
            let wanted = groups.filter(|wanted| *wanted != found)?;
            Some(format!("needs exactly {wanted} group, has {found}"))
        }
    }
}

/// The bytes of a file that may be a state or a plan.
pub fn read_bytes(path: &Path) -> Result<Vec<u8>, StoreError> {
    let path = path.to_owned();
    if path.is_dir() {
        return Err(StoreError::IsDirectory { path });
    }
    let read = |mut file: File| {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map(|_| bytes)
    };
    match files::open_linked(&path).and_then(read) {
        Ok(bytes) => Ok(bytes),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => match dangling(&path) {
            Some(to) => Err(StoreError::LinkToNothing { path, to }),
            None => Err(StoreError::NoState { looked_from: path, has_journal: false }),
        },
        Err(source) => Err(StoreError::Unreadable { path, source }),
    }
}

/// Faults with their places, sorted by place.
pub fn place_faults(bytes: &[u8], faults: &[Fault]) -> Vec<PlacedFault> {
    let places = Places::new(&readable(bytes));
    let place = |fault: &Fault| {
        let (line, column) = places.line_col(fault.span.start());
        let fault = fault.clone();
        PlacedFault { line, column, fault }
    };
    let mut placed: Vec<PlacedFault> = faults.iter().map(place).collect();
    placed.sort_by_key(|at| (at.line, at.column));
    placed
}

/// One line each: `path:line:col: /json/pointer: what is wrong (hint)`, sorted by place.
pub fn show_faults(path: &Path, bytes: &[u8], faults: &[Fault]) -> Vec<String> {
    lines(path, &place_faults(bytes, faults))
}

// How the store learns what its file holds: read whole, read at rest, or presumed.

/// An editor that renames or truncates leaves the name absent or empty for an instant.
const SETTLE_MS: u64 = 10;
const SETTLE_TIMES: u32 = 10;
/// How often to wait `SETTLE_MS` for a save in place; after that its bytes are adopted later.
const WRITER_TIMES: u32 = 20;

/// The state's file, open, with its content.
pub(super) struct StateFile {
    pub(super) opened: OpenFile,
    pub(super) now: Arc<LoadedState>,
    pub(super) writer: Writer,
}

impl Store {
    pub(super) fn read_bytes(&self) -> Result<FileBytes, StoreError> {
        let mut found = self.find();
        for _ in 0..SETTLE_TIMES {
            match &found {
                Ok(found) if !found.bytes.is_empty() => break,
                Err(StoreError::NoState { .. } | StoreError::Vanished { .. }) | Ok(_) => {
                    std::thread::sleep(Duration::from_millis(SETTLE_MS));
                }
                Err(_) => break,
            }
            found = self.find();
        }
        found
    }

    fn find(&self) -> Result<FileBytes, StoreError> {
        let opened = self.open_file()?;
        let bytes = self.disk.read(&opened, self.names.bytes_max);
        let bytes = bytes.map_err(|error| self.cannot_read(error))?;
        Ok(FileBytes { opened, bytes })
    }

    fn open_file(&self) -> Result<OpenFile, StoreError> {
        let ground = self.disk.check_directory().map_err(|error| self.cannot_read(error))?;
        match ground {
            DirectoryCheck::Same => self.disk.open(&self.place.state),
            DirectoryCheck::Gone => Err(io::ErrorKind::NotFound.into()),
            DirectoryCheck::Other => {
                return Err(StoreError::Moved { path: self.names.dir().to_owned() });
            }
        }
        .map_err(|error| self.cannot_read(error))
    }

    /// Reads the file when nobody is writing it. A writer that takes very long is not waited for.
    pub(super) fn see(&mut self) -> Result<StateFile, StoreError> {
        let (mut found, mut writer) = (self.read_bytes()?, Writer::GoOn);
        for _ in 0..WRITER_TIMES {
            if !self.is_written(&found.opened) {
                writer = Writer::GiveWay;
                break;
            }
            std::thread::sleep(Duration::from_millis(SETTLE_MS));
            found = self.read_bytes()?;
        }
        Ok(StateFile { now: self.take_in(&found.bytes)?, opened: found.opened, writer })
    }

    /// Whether another process holds the commit lock now.
    pub fn is_lock_taken(&self) -> bool {
        locks::is_locked(&self.place.commit_lock())
    }

    /// The failure if the commit lock does not become free.
    pub fn lock_timeout(&self) -> StoreError {
        StoreError::LockTimeout { path: self.place.commit_lock() }
    }

    /// The stamp of the file as long as nobody saves over it or into it, if the last commit published one.
    pub fn published(&self) -> Option<ContentStamp> {
        self.published
    }

    /// The content if nobody saved since. The file is not read, because a commit compares it anyway
    /// before it publishes.
    pub(super) fn presumed(&self) -> Option<StateFile> {
        let now = Arc::clone(self.cached.as_ref()?);
        let opened = self.open_file().ok()?;
        let is_likely = opened.len == now.bytes().len() as u64 && !self.is_written(&opened);
        is_likely.then_some(StateFile { opened, now, writer: Writer::GiveWay })
    }

    fn is_written(&self, opened: &OpenFile) -> bool {
        let lease = self.disk.lease(opened).map(drop);
        lease.is_err_and(|error| swap::is_busy(&error))
    }

    pub(super) fn cannot_read(&self, source: io::Error) -> StoreError {
        let path = self.place.state.clone();
        match source.kind() {
            io::ErrorKind::NotFound if self.cached.is_some() => StoreError::Vanished { path },
            io::ErrorKind::NotFound => StoreError::NoState {
                looked_from: path,
                has_journal: self.place.journal().is_dir(),
            },
            io::ErrorKind::IsADirectory => StoreError::IsDirectory { path },
            // A link that was there at the start was followed then, if it led anywhere.
            _ if disk::is_link(&source) && self.cached.is_some() => StoreError::Link { path },
            _ if disk::is_link(&source) => match disk::dangling(&path) {
                Some(to) => StoreError::LinkToNothing { path, to },
                None => StoreError::Unreadable { path, source },
            },
            _ => StoreError::Unreadable { path, source },
        }
    }
}
