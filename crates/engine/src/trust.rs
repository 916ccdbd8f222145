//! A person's consents on this machine: small records, one file each, outside of repository and cache.
//!
//! Invariant: a record is believed only if it is a plain file of our own that nobody else can read or write. It must
//! name exactly what is asked about. No record is in the cache, which may be deleted at any time. Not here: when a
//! record is needed, and who is asked (`cli`).

#[cfg(test)]
mod tests;

use std::{
    ffi::OsString,
    fmt, io,
    path::{Path, PathBuf},
};

use descent_core::id::{Digest, Lineage, UnixMillis};

use descent_system::{
    failure::{Failure, exit},
    files::private,
};

/// Bytes read of a record at most.
const RECORD_BYTES_MAX: u64 = 16 * 1024;
/// Characters that a record repeats for people at most.
const WORDS_CHARS_MAX: usize = 200;

/// The writer of a change that an attempt may have made.
pub(crate) const UNKNOWN_WRITER: &str = "unknown";

/// One thing that was made or allowed here, or that an attempt made here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fact {
    /// A state of that lineage was made or allowed here: its owner's edits need no consent.
    Lineage(Lineage),
    /// A configuration that this account wrote, as it was met in that lineage.
    InLineage(Lineage, Digest),
    /// A person allowed it, wherever it comes from next.
    Content(Digest),
    /// An attempt wrote it: no consent, but a doubt.
    ByAttempt(Digest),
}

impl Fact {
    fn parts(&self) -> [&str; 3] {
        match self {
            Fact::Lineage(lineage) => ["lineage", lineage.as_str(), ""],
            Fact::InLineage(lineage, digest) => ["in-lineage", lineage.as_str(), digest.as_str()],
            Fact::Content(digest) => ["content", "", digest.as_str()],
            Fact::ByAttempt(digest) => ["by-attempt", "", digest.as_str()],
        }
    }

    /// The name of the record. A lineage comes from a stranger's file, so it is not used as a file
    /// name.
    fn key(&self) -> String {
        let digest = Digest::sha256(serde_json::json!(self.parts()).to_string().as_bytes());
        digest.as_str().trim_start_matches("sha256:").to_owned()
    }

    fn record(&self, at: UnixMillis) -> String {
        let [kind, lineage, digest] = self.parts();
        let lineage: String = lineage.chars().take(WORDS_CHARS_MAX).collect();
        let record = serde_json::json!({
            "schema": "descent/trust-record/1",
            "key": self.key(),
            "kind": kind,
            "lineage": lineage,
            "digest": digest,
            "at": at.rfc3339(),
        });
        format!("{record:#}\n")
    }
}

/// Whether a record proves the fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordState {
    Yes,
    No,
    /// There is a record, but others could have written it: the reason.
    NotBelieved(String),
}

/// All records of this account on this machine.
#[derive(Debug, Clone)]
pub struct Records {
    dir: Option<PathBuf>,
}

impl Records {
    pub fn find() -> Self {
        Self::of(private::variable)
    }

    fn of(var: impl Fn(&str) -> Option<OsString>) -> Self {
        Self { dir: private::state_home(var).map(|home| home.join("trust")) }
    }

    pub fn hold(&self, fact: &Fact) -> bool {
        self.holds(fact) == RecordState::Yes
    }

    pub fn holds(&self, fact: &Fact) -> RecordState {
        let Some(dir) = &self.dir else {
            return RecordState::No;
        };
        let key = fact.key();
        let path = dir.join(format!("{key}.json"));
        match private::read_private(dir, &path, RECORD_BYTES_MAX) {
            Ok(None) => RecordState::No,
            Ok(Some(bytes)) if tells(&bytes, &key) => RecordState::Yes,
            Ok(Some(_)) => not_believed(&path, &"it does not say what its name says"),
            Err(why) => not_believed(&path, &why),
        }
    }

    /// Refuses a place in which no record can be made.
    pub(crate) fn refuse_unwritable(&self) -> Result<(), Failure> {
        self.written(|dir| {
            private::make_private(dir)?;
            Ok(rustix::fs::access(dir, rustix::fs::Access::WRITE_OK)?)
        })
    }

    /// Writes a record; it is durable before anything relies on it.
    pub fn remember(&self, fact: &Fact, at: UnixMillis) -> Result<(), Failure> {
        let name = format!("{}.json", fact.key());
        self.written(|dir| private::write_private(dir, &name, fact.record(at).as_bytes()))
    }

    fn written(&self, write: impl FnOnce(&Path) -> io::Result<()>) -> Result<(), Failure> {
        let why = match &self.dir {
            Some(dir) => match write(dir) {
                Ok(()) => return Ok(()),
                Err(error) => format!(" in {}: {error}", dir.display()),
            },
            None => ": neither XDG_STATE_HOME nor HOME names a place".to_owned(),
        };
        let hint = "set XDG_STATE_HOME to a directory of your own that can be written, then: descent trust";
        let message = format!("what is allowed cannot be remembered{why}");
        Err(Failure::new("E-IO", exit::IO, message, hint))
    }
}

fn not_believed(path: &Path, why: &dyn fmt::Display) -> RecordState {
    RecordState::NotBelieved(format!("{} is not believed: {why}", path.display()))
}

fn tells(bytes: &[u8], key: &str) -> bool {
    serde_json::from_slice::<serde_json::Value>(bytes)
        .is_ok_and(|record| record.get("key").and_then(serde_json::Value::as_str) == Some(key))
}
