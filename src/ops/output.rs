//! The output of an attempt: its log beside the state, else the side file of its failure, else the excerpt in the state.

use std::path::{Component, Path, PathBuf};

use descent_core::{
    id::{AtomId, AttemptId},
    view::{
        named::{self, AttemptEnd, KnownAttempt},
        why,
    },
    world::World,
};
use serde::Serialize;

use super::diff::{events, unknown};
use crate::{
    evidence,
    failure::{Failure, exit},
    files, secrets,
    store::{StatePlace, Store},
};

/// A log has 8 MiB and a line that says so.
const BYTES_MAX: u64 = 9 << 20;
/// Bytes of an output in `--json` at most, from its end.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// The place of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OutputSource {
    /// The log of the attempt.
    Log,
    /// The log of `setup`, which came before: the attempt itself printed nothing.
    Setup,
    /// The side file of its failure.
    Evidence,
    /// The excerpt in the state: the whole is gone.
    Excerpt,
}

/// All that an attempt printed: `descent log --output ATTEMPT --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AttemptOutput {
    schema: &'static str,
    pub attempt: AttemptId,
    atom: AtomId,
    pub ended: AttemptEnd,
    /// The place of it.
    pub source: OutputSource,
    /// The file; null of an excerpt, and where nothing was printed.
    path: Option<String>,
    /// The length of what was found.
    bytes: usize,
    /// Its last MiB; bytes that are no UTF-8 are replaced.
    text: String,
    /// Whether it is longer than that.
    cut: bool,
    /// One command to type next.
    next: String,
    #[serde(skip)]
    pub whole: Vec<u8>,
}

/// The output of an attempt by its id.
pub fn of_attempt(store: &mut Store, name: &str) -> Result<AttemptOutput, Failure> {
    let loaded = store.read()?;
    let events = events(store, &loaded.state);
    let known = named::known_attempts(&loaded.state, &events);
    match known.get(&AttemptId::new(name)) {
        Some(attempt) => find(store.place(), attempt),
        None => Err(unknown(&loaded.state, &known, name, "attempt")),
    }
}

/// The output of the newest attempt of an atom; without one, of the atom that is most worth asking about.
pub fn of_atom(store: &mut Store, name: Option<&str>) -> Result<AttemptOutput, Failure> {
    let loaded = store.read()?;
    let world = World::new(loaded.state.clone());
    let events = events(store, &loaded.state);
    let known = named::known_attempts(&loaded.state, &events);
    let asked = match name {
        Some(name) => AtomId::new(name),
        None => {
            let asking = why::worth_asking(&world).atoms.into_iter();
            let mut ids = asking.map(|asked| asked.atom);
            ids.find(|id| named::newest_of(&known, id).is_some()).ok_or_else(nothing_tried)?
        }
    };
    if !loaded.state.all_atoms().contains_key(&asked) {
        return Err(unknown(&loaded.state, &known, asked.as_str(), "atom"));
    }
    match named::newest_of(&known, &asked) {
        Some(attempt) => find(store.place(), attempt),
        None => {
            let what = format!("{asked} has not been tried: nothing was printed");
            Err(Failure::usage(what, format!("descent why {asked}")))
        }
    }
}

fn nothing_tried() -> Failure {
    let what = "nothing runs and nothing failed";
    let hint = "name an atom: descent why --output ATOM; descent graph lists them";
    Failure::usage(what, hint)
}

fn find(place: &StatePlace, attempt: &KnownAttempt) -> Result<AttemptOutput, Failure> {
    let found = |source, path: Option<PathBuf>, bytes: Vec<u8>| {
        let whole = secrets::all().hide_bytes(&bytes).into_owned();
        let from = whole.len().saturating_sub(TEXT_BYTES_MAX);
        AttemptOutput {
            schema: "descent/output/1",
            attempt: attempt.id.clone(),
            atom: attempt.atom.clone(),
            ended: attempt.end,
            source,
            path: path.map(|path| path.display().to_string()),
            bytes: whole.len(),
            text: String::from_utf8_lossy(&whole[from..]).into_owned(),
            cut: from > 0,
            next: format!("descent why {}", attempt.atom),
            whole,
        }
    };
    if let Some(dir) = dir_of(place, &attempt.id) {
        let logs = [("output.log", OutputSource::Log), ("setup.log", OutputSource::Setup)];
        for (name, source) in logs {
            let path = dir.join(name);
            if let Ok(bytes) = files::read(&path, BYTES_MAX) {
                return Ok(found(source, Some(path), bytes));
            }
        }
        // A log begins with the first byte that is printed.
        return Ok(found(OutputSource::Log, None, Vec::new()));
    }
    // The output of a check is none of the attempt.
    if attempt.is_of_check {
        return Err(gone(attempt));
    }
    let whole = attempt.whole.as_ref();
    if let Some(path) = whole.and_then(|whole| evidence::find(place, whole))
        && let Ok(bytes) = files::read(&path, BYTES_MAX)
    {
        return Ok(found(OutputSource::Evidence, Some(path), bytes));
    }
    if attempt.excerpt.is_empty() {
        Err(gone(attempt))
    } else {
        let bytes = attempt.excerpt.clone().into_bytes();
        Ok(found(OutputSource::Excerpt, None, bytes))
    }
}

/// The attempt's own directory, if it is there. The id may have been written by a person, so it must be one plain name.
pub(super) fn dir_of(place: &StatePlace, attempt: &AttemptId) -> Option<PathBuf> {
    let mut parts = Path::new(attempt.as_str()).components();
    let (Some(Component::Normal(plain)), None) = (parts.next(), parts.next()) else {
        return None;
    };
    let dir = place.attempts().join(plain);
    files::plain_dir(&dir).ok()?;
    Some(dir)
}

fn gone(attempt: &KnownAttempt) -> Failure {
    let what = format!("what {} printed, if anything, is not kept any more", attempt.id);
    let hint = format!("descent why {} tells what is kept of it", attempt.atom);
    Failure::new("E-GONE", exit::UNAVAILABLE, what, hint)
}
