//! The input files of an attempt, written for each.
//!
//! Invariant: nothing is written through a link that an earlier attempt left, and nobody but the
//! person can read the files.

use std::{
    io::{self, Write},
    path::PathBuf,
};

use descent_core::prompt;

use crate::{
    files,
    process::{JobRecord, Reach},
};

use super::{
    AgentError, AttemptJob, InputFile,
    directory::{BINDINGS, OUT, OUTCOME, PROMPT, make_again, make_out, take_over},
};

#[derive(Debug)]
pub struct Inputs {
    /// Absolute, since the attempt runs elsewhere.
    dir: PathBuf,
    /// The record of its processes, for a loop that starts after a kill.
    started: PathBuf,
}

impl Inputs {
    pub(super) fn write(attempt: &AttemptJob<'_>) -> Result<Self, AgentError> {
        let dir = &attempt.context.dir;
        let unwritable = |source| AgentError::Unwritable { path: dir.clone(), source };
        let inputs = Self {
            dir: std::path::absolute(dir).map_err(unwritable)?,
            started: attempt.context.started.clone(),
        };
        if let Some(from) = attempt.reusable.as_deref()
            && take_over(from, dir)
        {
            if inputs.write_all(attempt).is_ok() {
                return Ok(inputs);
            }
            // An earlier attempt may have made it so that nobody can write there.
            let _ = files::move_to(dir, from);
        }
        let cleared = if make_again(dir).map_err(unwritable)? {
            Ok(())
        } else {
            inputs.clear(attempt.session.is_some())
        };
        cleared.and_then(|()| inputs.write_all(attempt)).map_err(unwritable)?;
        Ok(inputs)
    }

    /// Removes what an earlier try of this attempt left.
    fn clear(&self, goes_on: bool) -> io::Result<()> {
        let outcome = self.dir.join(OUTCOME);
        let whole = self.dir.join(prompt::RESULTS_FOLDER);
        let left = [self.prompt(), self.bindings(), whole, outcome];
        left.iter().try_for_each(|path| files::remove(path))?;
        if goes_on {
            return Ok(());
        }
        let session = self.dir.join(super::session::NAME);
        [self.out(), session].iter().try_for_each(|path| files::remove(path))
    }

    fn write_all(&self, attempt: &AttemptJob<'_>) -> io::Result<()> {
        make_out(&self.dir)?;
        files::write_over(&self.prompt(), attempt.prompt.as_bytes())?;
        for file in &attempt.files {
            self.write_beside(file)?;
        }
        if let Some(question) = &attempt.question {
            files::remove(&self.schema())?;
            files::write_new(&self.schema(), question.schema.as_bytes())?;
        }
        if attempt.only_answers() {
            return Ok(());
        }
        files::write_over(&self.bindings(), attempt.bindings.as_bytes())
    }

    /// Writes a file beside the prompt. A name that would lead elsewhere is refused.
    fn write_beside(&self, file: &InputFile) -> io::Result<()> {
        let names: Vec<&str> = file.name.split('/').collect();
        let is_plain = |name: &&str| !["", ".", ".."].contains(name);
        if names.len() > 2 || !names.iter().all(is_plain) {
            return Err(io::ErrorKind::InvalidFilename.into());
        }
        let path = self.dir.join(&file.name);
        if let [folder, _] = names[..] {
            files::make_dir(&self.dir.join(folder))?;
        }
        files::remove(&path)?;
        files::write_new(&path, &file.bytes)
    }

    /// A file beside the prompt.
    pub(super) fn beside(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// The JSON Schema of an answer.
    pub(super) fn schema(&self) -> PathBuf {
        self.dir.join("schema.json")
    }

    pub(super) fn prompt(&self) -> PathBuf {
        self.dir.join(PROMPT)
    }

    pub(super) fn bindings(&self) -> PathBuf {
        self.dir.join(BINDINGS)
    }

    /// The reach of the attempt: its workspace, and the folder of its result.
    pub(super) fn reach(&self) -> Reach {
        Reach::Fenced { out: Some(self.out()) }
    }

    /// The folder that holds the result and nothing else.
    pub(super) fn out(&self) -> PathBuf {
        self.dir.join(OUT)
    }

    pub(super) fn result(&self) -> PathBuf {
        self.dir.join(RESULT)
    }

    pub(super) fn note_started(&self, started: &JobRecord) -> io::Result<()> {
        let mut text = serde_json::to_vec(started)?;
        // The length is nearly always that of the old text: the file is neither truncated nor made
        // anew.
        text.resize(text.len().next_multiple_of(NOTE_BYTES), b' ');
        let mut note = match files::open_or_make(&self.started) {
            Ok(note) => note,
            Err(_) => {
                files::remove(&self.started)?;
                files::open_or_make(&self.started)?
            }
        };
        note.write_all(&text)?;
        let length = text.len() as u64;
        if note.metadata()?.len() > length { note.set_len(length) } else { Ok(()) }
    }
}

const NOTE_BYTES: usize = 1024;
/// The result of an attempt, in its own directory.
pub(super) const RESULT: &str = "out/result.json";
