//! One run of git: its arguments, its directory, its input, and the check of its answer.

use super::{Git, GitError, host::Env};
use descent_core::id::{Digest, UnixMillis};
use descent_process::{timeouts::TOOL_MAX, tool::ToolOutput};
use descent_system::{failure::lack_in, space};
use rustix::process::Signal;
use std::{
    ffi::{OsStr, OsString},
    os::unix::{ffi::OsStrExt, process::ExitStatusExt},
    path::{Path, PathBuf},
    time::Duration,
};

/// Nothing runs until one of `output`, `ok`, `line` is called.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) git: &'a Git,
    verb: &'static str,
    before: Vec<OsString>,
    args: Vec<OsString>,
    env: Env,
    /// The tree that it runs on.
    pub(super) cwd: PathBuf,
    stdin: Option<Vec<u8>>,
    bad_id: Option<String>,
    wait_max: Duration,
}

impl Git {
    /// A run in the person's own working tree; the words are its verb, and the arguments that it always has.
    pub(super) fn call(&self, words: &'static str) -> Call<'_> {
        self.call_in(words, self.git_dir(), self.top())
    }

    pub(super) fn call_in(&self, words: &'static str, git_dir: &Path, tree: &Path) -> Call<'_> {
        let mut words = words.split(' ');
        let mut env: Env =
            vec![("GIT_DIR".into(), git_dir.into()), ("GIT_WORK_TREE".into(), tree.into())];
        if self.0.kept.is_some() {
            // No file names another directory for settings.
            env.push(("GIT_COMMON_DIR".into(), self.common_dir().into()));
        }
        Call {
            git: self,
            verb: words.next().unwrap_or_default(),
            before: vec!["--no-pager".into()],
            args: words.map(OsString::from).collect(),
            env,
            cwd: tree.to_owned(),
            stdin: None,
            bad_id: None,
            wait_max: TOOL_MAX,
        }
    }
}

impl Call<'_> {
    pub(super) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    pub(super) fn args<const N: usize>(mut self, args: [&str; N]) -> Self {
        self.args.extend(args.iter().map(OsString::from));
        self
    }

    /// Adds an id; an invalid one never reaches git.
    pub(super) fn id(self, id: impl ToString) -> Self {
        self.id_within("", id, "")
    }

    /// Adds an id whose history is left out.
    pub(super) fn but(self, id: impl ToString) -> Self {
        self.id_within("^", id, "")
    }

    pub(super) fn id_within(self, before: &str, id: impl ToString, after: &str) -> Self {
        let id = id.to_string();
        self.check_id(&id).arg(format!("{before}{id}{after}"))
    }

    /// Adds two trees, or the trees of two commits.
    pub(super) fn trees(self, from: &str, to: &str) -> Self {
        self.id_within("", from, "^{tree}").id_within("", to, "^{tree}")
    }

    pub(super) fn check_id(mut self, id: impl ToString) -> Self {
        let id = id.to_string();
        if !is_id(id.as_bytes()) {
            self.bad_id = Some(id);
        }
        self
    }

    pub(super) fn setting(mut self, setting: &str) -> Self {
        self.before.extend(["-c".into(), setting.into()]);
        self
    }

    /// Kills the run with an error if it takes longer.
    pub(super) fn within(mut self, wait_max: Duration) -> Self {
        self.wait_max = wait_max;
        self
    }

    pub(super) fn env(mut self, key: &str, value: impl AsRef<OsStr>) -> Self {
        self.env.push((key.into(), value.as_ref().to_owned()));
        self
    }

    pub(super) fn index(self, path: &Path) -> Self {
        self.env("GIT_INDEX_FILE", path)
    }

    /// Uses the attributes of that commit, not those of the working tree (git 2.41 and later).
    pub(super) fn attributes_of(self, id: impl ToString) -> Self {
        let id = id.to_string();
        self.check_id(&id).env("GIT_ATTR_SOURCE", id)
    }

    pub(super) fn dated(self, at: UnixMillis) -> Self {
        let date = format!("@{} +0000", at.0 / 1000);
        self.env("GIT_AUTHOR_DATE", &date).env("GIT_COMMITTER_DATE", &date)
    }

    pub(super) fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(bytes.into());
        self
    }

    /// Paths for a git that reads them NUL-terminated.
    pub(super) fn stdin_paths<'p>(self, paths: impl IntoIterator<Item = &'p Vec<u8>>) -> Self {
        let mut bytes = Vec::new();
        for path in paths {
            bytes.extend_from_slice(path);
            bytes.push(0);
        }
        self.stdin(bytes)
    }

    pub(super) fn output(self) -> Result<ToolOutput, GitError> {
        if let Some(text) = self.bad_id {
            return Err(GitError::BadId { text });
        }
        self.git.put_back()?;
        let mut args = self.before;
        args.push(self.verb.into());
        args.extend(self.args);
        let host = self.git.host();
        // It may wait for what an attempt left.
        let ends_with_us = self.cwd != self.git.top();
        host.run_within(self.wait_max, ends_with_us, &self.cwd, args, self.env, self.stdin)
    }

    /// The standard output of a run that must exit with 0.
    pub(super) fn ok(self) -> Result<Vec<u8>, GitError> {
        Ok(self.ran()?.stdout)
    }

    /// All that such a run printed.
    pub(super) fn ran(self) -> Result<ToolOutput, GitError> {
        let verb = self.verb;
        let places = self.places();
        let mut ran = self.output()?;
        if ran.status.success() {
            return Ok(ran);
        }
        tell_of_room(&mut ran, &places);
        Err(failed(verb, &ran))
    }

    /// The directories that it may write to: the working tree, and those named in the environment.
    fn places(&self) -> Vec<PathBuf> {
        let named = self.env.iter().map(|(_, value)| PathBuf::from(value));
        named.filter(|path| path.is_absolute()).chain([self.cwd.clone()]).collect()
    }

    /// The id that a run prints.
    pub(super) fn ok_id(self) -> Result<String, GitError> {
        let verb = self.verb;
        as_id(self.ok()?.trim_ascii_end()).ok_or(GitError::Odd { verb })
    }
}

/// Adds the cause if a disk that git writes to is full; git often says only that a write failed.
pub(super) fn tell_of_room(ran: &mut ToolOutput, places: &[PathBuf]) {
    let stderr = String::from_utf8_lossy(&ran.stderr);
    let is_write = ["unable to write", "couldn't write", "unable to create"];
    let is_write = is_write.iter().any(|words| stderr.contains(words));
    let is_lack = lack_in(&stderr).is_some();
    // Git never gives the cause for a file of the tree, and there may be space again by now.
    let is_file = stderr.contains("unable to write file");
    let is_used_up = || places.iter().any(|place| space::is_used_up(place));
    // Git writes an index through a map of it, and a full disk ends that so.
    let is_map = ran.status.signal() == Some(Signal::BUS.as_raw());
    if !is_lack && (is_write && is_file || (is_write || is_map) && is_used_up()) {
        ran.stderr.extend_from_slice(b"\nNo space left on device");
    }
}

pub(super) fn failed(verb: &'static str, ran: &ToolOutput) -> GitError {
    GitError::failed(verb, ran.status, &ran.stderr)
}

/// SHA-1 or SHA-256, in full.
fn is_id(text: &[u8]) -> bool {
    matches!(text.len(), 40 | 64)
        && text.iter().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte))
}

pub(super) fn as_id(text: &[u8]) -> Option<String> {
    is_id(text).then(|| String::from_utf8_lossy(text).into_owned())
}

/// Only for showing: bytes that are not UTF-8 are replaced.
pub(super) fn shown(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}

pub(super) fn as_path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

/// A file name for any path.
pub(super) fn name_of(path: &[u8]) -> String {
    Digest::sha256(path).as_str().trim_start_matches("sha256:").chars().take(16).collect()
}

/// An absolute directory in a list of those that objects are borrowed from, quoted where git would split it.
pub(super) fn borrowed(dir: &Path) -> Vec<u8> {
    let bytes = dir.as_os_str().as_bytes();
    if !bytes.contains(&b':') && !bytes.contains(&b'\n') {
        return bytes.to_vec();
    }
    let is_special = |byte: &u8| matches!(byte, b'"' | b'\\');
    let escaped =
        bytes.iter().flat_map(|byte| is_special(byte).then_some(b'\\').into_iter().chain([*byte]));
    [b'"'].into_iter().chain(escaped).chain([b'"']).collect()
}

/// The fields of a NUL-terminated listing.
pub(super) fn fields(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let bytes = bytes.strip_suffix(b"\0").unwrap_or(bytes);
    let count = if bytes.is_empty() { 0 } else { usize::MAX };
    bytes.split(|byte| *byte == 0).take(count)
}
