//! A person's configuration of a project, in `descent.toml` at its top: who does the work, and how a
//! person is told.
//!
//! Invariant: an unknown key is an error, never passed over. Not here: what was agreed for one run
//! (the state file's constraints).

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, Read},
    ops::Range,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use descent_core::{
    doc::{Places, suggest},
    id::AgentName,
    state::Role,
    world::AgentTable,
};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use crate::failure::Failure;

pub const FILE_NAME: &str = "descent.toml";
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The name of the agent that `worker` describes.
const WORKER: &str = "worker";

const TOP_KEYS: &[&str] = &["worker", "notify"];
const WORKER_KEYS: &[&str] = &["run"];

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Config {
    /// The worker for tasks without an action of their own.
    pub worker: Option<Worker>,
    /// The shell command that tells a person of an ending, or that a run waits.
    pub notify: Option<String>,
}

impl Config {
    /// The agents of a run, by role.
    pub fn agents(&self) -> AgentTable {
        let mut agents = AgentTable::default();
        if self.worker.is_some() {
            for role in [Role::Worker, Role::Planner] {
                agents.set(role, AgentName::new(WORKER));
            }
        }
        agents
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worker {
    /// A shell command.
    pub run: String,
}

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("{}:{line}:{column}: {message}", path.display())]
    Fault {
        path: PathBuf,
        line: usize,
        column: usize,
        message: String,
        hint: Option<String>,
    },
    #[error("{} cannot be read", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
}

impl ConfigError {
    pub fn code(&self) -> &'static str {
        "E-CONFIG"
    }

    pub fn exit(&self) -> u8 {
        78
    }

    pub fn hint(&self) -> String {
        match self {
            Self::Fault {
                hint: Some(hint), ..
            } => hint.clone(),
            Self::Fault { hint: None, .. } => {
                r#"it looks like this: worker = {run = "my-agent < \"$DESCENT_PROMPT\""}"#
                    .to_owned()
            }
            Self::Unreadable { .. } => "it is a text file in UTF-8, of 1 MiB at most".to_owned(),
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Failure::new(error.code(), error.exit(), &error, error.hint())
    }
}

/// Without a file the configuration is empty.
pub fn load(project: &Path) -> Result<Config, ConfigError> {
    let path = project.join(FILE_NAME);
    let text = match read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Config::default()),
        Err(source) => return Err(ConfigError::Unreadable { path, source }),
    };
    parse(&text).map_err(|fault| fault.at(path, &text))
}

fn read(path: &Path) -> io::Result<String> {
    let file = File::open(path)?;
    let mut text = String::new();
    file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(text)
}

struct ConfigFault {
    span: Range<usize>,
    message: String,
    hint: Option<String>,
}

impl ConfigFault {
    fn new(span: Range<usize>, message: impl Into<String>) -> Self {
        Self {
            span,
            message: message.into(),
            hint: None,
        }
    }

    fn at(self, path: PathBuf, text: &str) -> ConfigError {
        let (line, column) = Places::new(text).line_col(self.span.start);
        ConfigError::Fault {
            path,
            line,
            column,
            message: self.message,
            hint: self.hint,
        }
    }
}

fn parse(text: &str) -> Result<Config, ConfigFault> {
    let table = DeTable::parse(text).map_err(|error| {
        let first_line = error
            .message()
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned();
        ConfigFault::new(error.span().unwrap_or(0..0), first_line)
    })?;
    let table = table.get_ref();
    only(table, TOP_KEYS)?;
    let worker = table.get("worker").map(|worker| {
        let DeValue::Table(keys) = worker.get_ref() else {
            return Err(ConfigFault::new(worker.span(), "`worker` is not a table"));
        };
        only(keys, WORKER_KEYS)?;
        let run = keys.get("run");
        let run = run.ok_or_else(|| ConfigFault::new(worker.span(), "`worker` has no `run`"))?;
        let run = command("run", run)?;
        Ok(Worker { run })
    });
    let notify = table.get("notify").map(|value| command("notify", value));
    Ok(Config {
        worker: worker.transpose()?,
        notify: notify.transpose()?,
    })
}

fn command(key: &str, value: &Spanned<DeValue<'_>>) -> Result<String, ConfigFault> {
    let fault = |what| ConfigFault::new(value.span(), format!("`{key}` {what}"));
    match value.get_ref() {
        DeValue::String(command) if !command.trim().is_empty() => Ok(command.clone().into_owned()),
        DeValue::String(_) => Err(fault("is empty")),
        _ => Err(fault("is not a string")),
    }
}

/// The first key, as written, that is not in `known`.
fn only(table: &DeTable<'_>, known: &[&str]) -> Result<(), ConfigFault> {
    let unknown = table
        .keys()
        .filter(|key| !known.contains(&key.get_ref().as_ref()));
    let Some(key) = unknown.min_by_key(|key| key.span().start) else {
        return Ok(());
    };
    let name: &str = key.get_ref().as_ref();
    let near = suggest(name, known.iter().copied());
    let hint = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("known here: {}", known.join(", ")),
    };
    let message = format!("unknown key `{}`", name.escape_debug());
    Err(ConfigFault {
        hint: Some(hint),
        ..ConfigFault::new(key.span(), message)
    })
}

/// Words that the shell itself understands: none is a program to look for.
const SHELL_WORDS: &[&str] = &[
    ".", ":", "[", "alias", "bg", "break", "case", "cd", "command", "continue", "do", "done",
    "echo", "elif", "else", "esac", "eval", "exec", "exit", "export", "false", "fc", "fg", "fi",
    "for", "function", "getopts", "hash", "if", "in", "jobs", "kill", "let", "local", "printf",
    "pwd", "read", "readonly", "return", "select", "set", "shift", "source", "test", "then",
    "time", "times", "trap", "true", "type", "typeset", "ulimit", "umask", "unalias", "unset",
    "until", "wait", "while",
];

/// The program that a shell command starts with, if it is sure not to be found in `path`. In doubt
/// (shell syntax, a path that depends on where the command runs) it counts as found.
pub fn missing_program(command: &str, path: &OsStr) -> Option<String> {
    let word = command
        .split_whitespace()
        .find(|word| !is_assignment(word))?;
    let sets_path = command
        .split_whitespace()
        .take_while(|word| is_assignment(word));
    if sets_path.into_iter().any(|word| word.starts_with("PATH=")) || !is_plain(word) {
        return None;
    }
    let is_found = if word.contains('/') {
        !word.starts_with('/') || is_program(Path::new(word))
    } else {
        SHELL_WORDS.contains(&word) || is_in(word, path)
    };
    (!is_found).then(|| word.to_owned())
}

fn is_in(word: &str, path: &OsStr) -> bool {
    // A relative entry means a place that is unknown here.
    std::env::split_paths(path).any(|dir| !dir.is_absolute() || is_program(&dir.join(word)))
}

fn is_program(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

fn is_assignment(word: &str) -> bool {
    let Some((name, value)) = word.split_once('=') else {
        return false;
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    starts_well && name.chars().all(is_name) && (value.is_empty() || is_plain(value))
}

/// Whether nothing in it has a meaning for a shell.
fn is_plain(word: &str) -> bool {
    word.chars()
        .all(|c| c.is_alphanumeric() || "/._-+,:@%".contains(c))
        || word == "["
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods)] // door: tests
    use super::*;

    fn fault(text: &str) -> (String, String) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(FILE_NAME), text).unwrap();
        let error = load(dir.path()).unwrap_err();
        let message = error.to_string();
        let from = message.find(FILE_NAME).unwrap() + FILE_NAME.len();
        (message[from..].to_owned(), error.hint())
    }

    #[test]
    fn without_a_file_the_configuration_is_empty() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(load(dir.path()).unwrap(), Config::default());
    }

    #[test]
    fn the_worker_of_the_contract_is_read_in_both_of_tomls_spellings() {
        for text in [
            r#"worker = {run = "claude -p < \"$DESCENT_PROMPT\""}"#,
            "[worker]\nrun = 'claude -p < \"$DESCENT_PROMPT\"'\n",
        ] {
            let dir = tempfile::tempdir().unwrap();
            std::fs::write(dir.path().join(FILE_NAME), text).unwrap();
            let worker = load(dir.path()).unwrap().worker.unwrap();
            assert_eq!(worker.run, "claude -p < \"$DESCENT_PROMPT\"");
        }
    }

    #[test]
    fn the_command_that_tells_a_person_stands_beside_the_worker_or_alone() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(FILE_NAME), "notify = 'mail ada'\n").unwrap();
        let config = load(dir.path()).unwrap();
        assert_eq!(config.notify.as_deref(), Some("mail ada"));
        assert_eq!(config.worker, None);
    }

    #[test]
    fn an_unknown_key_is_refused_where_it_stands_with_the_one_that_was_meant() {
        let (message, hint) = fault("# who\nworkr = {run = \"x\"}\n");
        assert_eq!(message, ":2:1: unknown key `workr`");
        assert_eq!(hint, "did you mean `worker`?");
        let (message, hint) = fault("worker = {run = \"x\", model = \"y\"}\n");
        assert_eq!(message, ":1:22: unknown key `model`");
        assert_eq!(hint, "known here: run");
    }

    #[test]
    fn what_is_no_command_is_refused_where_it_stands() {
        assert_eq!(fault("worker = 1\n").0, ":1:10: `worker` is not a table");
        assert_eq!(fault("notify = ''\n").0, ":1:10: `notify` is empty");
        assert_eq!(fault("notify = 1\n").0, ":1:10: `notify` is not a string");
        assert_eq!(fault("worker = {}\n").0, ":1:10: `worker` has no `run`");
        assert_eq!(fault("worker = {run = \" \"}\n").0, ":1:17: `run` is empty");
        assert_eq!(
            fault("[worker]\nrun = 3\n").0,
            ":2:7: `run` is not a string"
        );
        assert!(fault("worker = {run = \n").0.starts_with(":1:"));
        assert!(
            fault("worker = {run='a'}\nworker = {run='b'}\n")
                .0
                .starts_with(":2:1")
        );
    }

    #[test]
    fn a_file_that_is_no_text_is_an_error_and_not_a_panic() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(FILE_NAME), b"\xff\xfe\x00").unwrap();
        assert!(matches!(
            load(dir.path()),
            Err(ConfigError::Unreadable { .. })
        ));
    }

    #[test]
    fn a_program_is_missing_only_where_that_is_certain() {
        let dir = tempfile::tempdir().unwrap();
        let tool = dir.path().join("tool");
        std::fs::write(&tool, "").unwrap();
        std::fs::write(dir.path().join("text"), "").unwrap();
        std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
        let path = dir.path().as_os_str();
        let missing = |command: &str| missing_program(command, path);
        for command in [
            "tool -x",
            "A=1 B=two tool",
            "  tool",
            "cd x && nope",
            "if nope; then :; fi",
            "$TOOL x",
            "nope;tool",
            "'no such' x",
            "./nope",
            "bin/nope",
            "PATH=/x nope",
            "(nope)",
            "! nope",
            "A=$(date) nope",
            "",
            "# nope",
            "[ -f x ]",
            "~/nope",
        ] {
            assert_eq!(missing(command), None, "{command}");
        }
        assert_eq!(missing("nope -x").as_deref(), Some("nope"));
        assert_eq!(missing("A=1 nope").as_deref(), Some("nope"));
        assert_eq!(missing("text").as_deref(), Some("text"));
        assert_eq!(
            missing("/no/such/thing a").as_deref(),
            Some("/no/such/thing")
        );
        assert_eq!(missing(&format!("{} a", tool.display())), None);
    }
}
