//! The directory of an attempt's own files, beside the state, and the inputs that are written there for each.
//!
//! Invariant: nothing is written through a link that an earlier attempt left, and nobody but the person can read the files.

use std::{
    io,
    path::{Path, PathBuf},
};

use descent_core::{
    event::{AgentEnd, Outcome, event_record},
    state::Intent,
    verdict::CommandEnd,
};
use descent_minds::prompt;
use serde::{Deserialize, Serialize};

use super::{AgentError, AttemptJob, InputFile, JobContext};
use descent_process::JobRecord;
use descent_system::{files, secrets};

pub(super) const PROMPT: &str = "prompt.md";
pub(super) const BINDINGS: &str = "bindings.json";
/// The JSON Schema of an answer.
pub(super) const SCHEMA: &str = "schema.json";
pub(super) const OUTCOME: &str = "outcome.json";
/// The answers of a model, until the outcome is recorded.
pub(super) const ANSWERS: &str = "answers.json";
/// The folder that an attempt may write to. All else beside the state is closed to it.
pub(super) const OUT: &str = "out";

/// The prompt of a correcting turn.
fn turn_file(n: u32) -> String {
    format!("turn-{n}.md")
}

/// Makes an attempt's own directory and its parent; returns whether it is new, and so empty. It does not make the
/// directory beside the state. If that is gone, so is the state, and a new directory would keep it from being put back.
pub(super) fn make(dir: &Path) -> io::Result<bool> {
    // An attempt can write there, and may have put a link in its place.
    dir.parent().map_or(Ok(()), files::no_link)?;
    match files::make_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            dir.parent().map_or(Ok(false), files::make_dir)?;
            files::make_dir(dir)
        }
        made => made,
    }
}

/// The same where something else may be in its place: that is removed, a link without what it leads to.
pub(super) fn make_again(dir: &Path) -> io::Result<bool> {
    match files::plain_dir(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            dir.parent().map_or(Ok(()), files::no_link)?;
            files::remove(dir)?;
        }
        _ => {}
    }
    make(dir)
}

/// Writes a file of that directory. It is durable when this returns, as are the directory and its parent, which may be as new.
pub(super) fn write_durably(path: &Path, bytes: &[u8]) -> io::Result<()> {
    files::write_durably(path, bytes)?;
    path.ancestors().skip(1).take(2).try_for_each(files::sync_dir)
}

/// Reads a record of an attempt, where its directory is none of a link.
pub(super) fn read(
    attempts: &Path,
    intent: &Intent,
    name: &str,
    bytes_max: u64,
) -> Option<Vec<u8>> {
    let dir = attempts.join(intent.id.as_str());
    files::plain_dir(&dir).ok()?;
    files::read(&dir.join(name), bytes_max).ok()
}

impl AttemptJob<'_> {
    /// Writes the inputs of an attempt into its directory.
    pub(super) fn write_inputs(&self) -> Result<(), AgentError> {
        let dir = &self.context.dir;
        let cleared = make_again(dir).and_then(|is_new| if is_new { Ok(()) } else { self.clear() });
        let written = cleared.and_then(|()| match self.turn() {
            0 => self.write_all(),
            // All else lies there since the first turn.
            n => files::write_anew(&self.context.beside(&turn_file(n)), self.prompt.as_bytes()),
        });
        written.map_err(|source| AgentError::Unwritable { path: dir.clone(), source })
    }

    /// Removes what an earlier try of this attempt left.
    fn clear(&self) -> io::Result<()> {
        let inputs: &[&str] = match self.turn() {
            0 => &[OUTCOME, PROMPT, BINDINGS, prompt::RESULTS_FOLDER],
            // Another turn gives another result.
            _ if self.begins_turn() => &[OUTCOME, RESULT],
            _ => &[OUTCOME],
        };
        let of_session = [OUT, NAME].into_iter().filter(|_| self.session.is_none());
        let mut left = inputs.iter().copied().chain(of_session);
        left.try_for_each(|name| files::remove(&self.context.beside(name)))
    }

    fn write_all(&self) -> io::Result<()> {
        let [out, schema] = [OUT, SCHEMA].map(|name| self.context.beside(name));
        // Anything else in the place of the folder is removed, a link without what it leads to.
        if files::plain_dir(&out).is_err() {
            files::remove(&out)?;
            files::make_dir(&out)?;
        }
        files::write_anew(&self.context.beside(PROMPT), self.prompt.as_bytes())?;
        for file in &self.files {
            self.context.write_beside(file)?;
        }
        if let Some(question) = &self.question {
            files::remove(&schema)?;
            files::write_new(&schema, question.schema.as_bytes())?;
        }
        if self.only_answers() {
            return Ok(());
        }
        files::write_anew(&self.context.beside(BINDINGS), self.bindings.as_bytes())
    }
}

impl JobContext<'_> {
    /// Writes a file beside the prompt. A name that would lead elsewhere is refused.
    fn write_beside(&self, file: &InputFile) -> io::Result<()> {
        let names: Vec<&str> = file.name.split('/').collect();
        let is_plain = |name: &&str| !["", ".", ".."].contains(name);
        if names.len() > 2 || !names.iter().all(is_plain) {
            return Err(io::ErrorKind::InvalidFilename.into());
        }
        let path = self.beside(&file.name);
        if let [folder, _] = names[..] {
            files::make_dir(&self.beside(folder))?;
        }
        files::remove(&path)?;
        files::write_new(&path, &file.bytes)
    }

    /// A file of its directory; absolute, since it runs elsewhere.
    pub(super) fn beside(&self, name: &str) -> PathBuf {
        let path = self.dir.join(name);
        std::path::absolute(&path).unwrap_or(path)
    }

    /// Records its process, for a loop that starts after a kill.
    pub(super) fn note_started(&self, started: &JobRecord) -> io::Result<()> {
        files::write_anew(&self.started, &serde_json::to_vec(started)?)
    }
}

/// The result of an attempt, in its own directory.
pub(super) const RESULT: &str = "out/result.json";

const BYTES_MAX: u64 = 8 << 20;

/// The outcome with names in the place of secrets. A plan or an answer that holds one is refused whole.
pub(super) fn without_secrets(mut outcome: Outcome) -> Outcome {
    if let Some(fault) = outcome.stdout.as_deref().and_then(secrets::fault_of) {
        outcome.stdout = Some(String::new());
        outcome.report_fault.get_or_insert(fault);
    }
    let texts = [&mut outcome.last_line, &mut outcome.report_fault];
    let texts = texts.into_iter().flatten().chain(words_of(&mut outcome.agent_end));
    let texts = texts.chain(match &mut outcome.how {
        CommandEnd::NotRun(why) => Some(why),
        CommandEnd::Exit(_) | CommandEnd::Signal(_) | CommandEnd::TimedOut => None,
    });
    texts.chain([&mut outcome.excerpt]).for_each(secrets::hide_in);
    outcome
}

fn words_of(end: &mut Option<AgentEnd>) -> Option<&mut String> {
    match end.as_mut()? {
        AgentEnd::Refused(words)
        | AgentEnd::OutOfTurns(words)
        | AgentEnd::CutShort(words)
        | AgentEnd::Protocol(words)
        | AgentEnd::Down(words)
        | AgentEnd::TooLong(words)
        | AgentEnd::Unavailable { words, .. } => Some(words),
        AgentEnd::Done | AgentEnd::Silent { .. } | AgentEnd::Limited { .. } => None,
    }
}

/// Records an outcome in the attempt's own directory. If the loop is killed afterwards, the next
/// one finds it. If repeating the attempt would cost something, the record is durable when this
/// returns.
pub fn record(
    dir: &Path,
    intent: &Intent,
    outcome: &Outcome,
    is_paid: bool,
) -> Result<(), AgentError> {
    let text = outcome.record_text(intent);
    let path = dir.join(OUTCOME);
    let written = make_again(dir).and_then(|_| match outcome.outlasts_power(intent, is_paid) {
        true => write_durably(&path, text.as_bytes()),
        // After a kill the kernel has the whole record or a part, and a part is void. So no temporary name is needed.
        false => files::write_anew(&path, text.as_bytes()),
    });
    // From here on the outcome counts, and another attempt under this number asks anew.
    let written = written.and_then(|()| files::remove(&dir.join(ANSWERS)));
    written.map_err(|source| AgentError::Unwritable { path: dir.to_owned(), source })
}

/// The outcome of the attempt with this very intent, if it was recorded whole.
pub fn finished(attempts: &Path, intent: &Intent) -> Option<Outcome> {
    match event_record::read(intent, &read(attempts, intent, OUTCOME, BYTES_MAX)?) {
        Ok(outcome) => Some(outcome),
        Err(void) => {
            tracing::info!(attempt = %intent.id, %void, "the record of an attempt is void");
            None
        }
    }
}

pub(super) const NAME: &str = "session.json";
const SESSION_BYTES_MAX: u64 = 4096;
/// Bytes of any id of an agent at most.
pub(super) const ID_BYTES_MAX: usize = 200;

/// Whether an agent may be given this id again. It becomes an argument of some, so it must not look like an option.
pub(super) fn is_fit(id: &str) -> bool {
    let is_length = !id.is_empty() && id.len() <= ID_BYTES_MAX;
    let is_plain = !id.starts_with('-') && !id.chars().any(char::is_control);
    is_length && is_plain && secrets::fault_of(id).is_none()
}

/// A session that an attempt began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRecord {
    attempt: String,
    context: String,
    /// The workspace that it works in.
    pub slot: usize,
    pub agent: String,
    /// The id by which the agent knows it.
    pub session: String,
    /// The newest correcting turn that it has begun.
    #[serde(default)]
    pub turn: u32,
}

impl SessionRecord {
    /// Whether the turn of the intent has not begun in it.
    pub fn lacks_turn(&self, intent: &Intent) -> bool {
        self.turn < intent.turn_n()
    }

    pub(super) fn new(intent: &Intent, slot: usize, agent: &str, session: &str) -> Self {
        Self {
            attempt: intent.id.to_string(),
            context: intent.context.to_string(),
            slot,
            agent: agent.to_owned(),
            session: session.to_owned(),
            turn: intent.turn_n(),
        }
    }

    /// Without that file the attempt is made again after a kill, and not gone on with.
    pub(super) fn keep(&self, dir: &Path) {
        let text = serde_json::to_vec(self).unwrap_or_default();
        if let Err(error) = write_durably(&dir.join(NAME), &text) {
            tracing::warn!(%error, "the session of an attempt is not kept");
        }
    }
}

/// The session of that attempt.
pub fn session(attempts: &Path, intent: &Intent) -> Option<SessionRecord> {
    let bytes = read(attempts, intent, NAME, SESSION_BYTES_MAX)?;
    let record: SessionRecord = serde_json::from_slice(&bytes).ok()?;
    let is_its_own =
        record.attempt == intent.id.as_str() && record.context == intent.context.as_str();
    (is_its_own && is_fit(&record.session)).then_some(record)
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)] // door: tests
mod tests {
    use super::*;
    use crate::agent::tests::intent;

    #[test]
    fn a_record_with_an_id_that_looks_like_an_option_is_none() {
        let attempts = tempfile::tempdir().unwrap();
        let (intent, dir) = (intent(), attempts.path().join("A1.7"));
        std::fs::create_dir(&dir).unwrap();
        for (id, is_fit) in [
            ("0-1", true),
            ("ses_-a", true),
            ("-c", false),
            ("--dangerously-skip-permissions", false),
            ("", false),
            ("a\nb", false),
            (&"a".repeat(201), false),
        ] {
            SessionRecord::new(&intent, 0, "a", id).keep(&dir);
            assert_eq!(session(attempts.path(), &intent).is_some(), is_fit, "{id:?}");
        }
    }
}
