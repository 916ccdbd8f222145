//! Whether the program of a command is there.
//!
//! Not here: starting it.

use std::{
    ffi::OsStr,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

/// Whether a program is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgramLook {
    Found(PathBuf),
    Missing,
    /// It depends on where the program is started.
    Unknown,
}

/// A program that is started without a shell, looked for in `path`.
pub fn find_program(name: &str, path: &OsStr) -> ProgramLook {
    if name.contains('/') {
        return match (name.starts_with('/'), is_program(Path::new(name))) {
            (false, _) => ProgramLook::Unknown,
            (true, true) => ProgramLook::Found(PathBuf::from(name)),
            (true, false) => ProgramLook::Missing,
        };
    }
    for dir in std::env::split_paths(path) {
        if !dir.is_absolute() {
            return ProgramLook::Unknown;
        }
        let file = dir.join(name);
        if is_program(&file) {
            return ProgramLook::Found(file);
        }
    }
    ProgramLook::Missing
}

/// The program that a shell command starts with, if it is sure not to be found in `path`. In doubt
/// (shell syntax, a path that depends on where the command runs) it counts as found.
pub fn missing_program(command: &str, path: &OsStr) -> Option<String> {
    let word = first_word(command)?;
    let is_found = OF_THE_SHELL.split_ascii_whitespace().any(|one| one == word)
        || find_program(word, path) != ProgramLook::Missing;
    (!is_found).then(|| word.to_owned())
}

/// The same of a command that is started in `dir`: a relative path is looked for there.
pub fn missing_program_in(dir: &Path, command: &str, path: &OsStr) -> Option<String> {
    match first_word(command)? {
        word if is_relative(word) => (!is_program(&dir.join(word))).then(|| word.to_owned()),
        _ => missing_program(command, path),
    }
}

/// Whether it depends on the directory what a program is.
pub(crate) fn is_relative(program: &str) -> bool {
    program.contains('/') && !program.starts_with('/')
}

/// The word that names the program, if it is sure to be one.
fn first_word(command: &str) -> Option<&str> {
    let word = command.split_whitespace().find(|word| !is_assignment(word))?;
    let mut set = command.split_whitespace().take_while(|one| is_assignment(one));
    let sets_path = set.any(|one| one.starts_with("PATH="));
    (!sets_path && is_plain(word)).then_some(word)
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

fn is_assignment(word: &str) -> bool {
    let Some((name, value)) = word.split_once('=') else { return false };
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    starts_well && name.chars().all(is_name) && (value.is_empty() || is_plain(value))
}

/// Whether nothing in it has a meaning for a shell.
fn is_plain(word: &str) -> bool {
    word.chars().all(|c| c.is_alphanumeric() || "/._-+,:@%".contains(c)) || word == "["
}

/// Words that a shell takes for its own as the first of a command: its grammar, and the commands
/// that live in it, of dash, bash, ksh and ash.
const OF_THE_SHELL: &str = "
    case coproc do done elif else esac fi for function if in select then time until while
    . : [ alias autoload bg bind break builtin caller cd chdir command compgen complete compopt
    continue declare dirs disown echo enable eval exec exit export false fc fg float functions
    getopts global hash help hist history integer jobs kill let local logout mapfile nameref newgrp
    popd print printf pushd pwd r read readarray readonly rename return set shift shopt source stop
    suspend test times trap true type typeset ulimit umask unalias unset wait whence
";

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods)] // door: tests
    use super::*;

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
            "chdir x",
        ] {
            assert_eq!(missing(command), None, "{command}");
        }
        assert_eq!(missing("nope -x").as_deref(), Some("nope"));
        assert_eq!(missing("A=1 nope").as_deref(), Some("nope"));
        assert_eq!(missing("text").as_deref(), Some("text"));
        assert_eq!(missing("/no/such/thing a").as_deref(), Some("/no/such/thing"));
        assert_eq!(missing(&format!("{} a", tool.display())), None);
        let missing_there = |command: &str| missing_program_in(dir.path(), command, path);
        for command in ["./tool -x", "../tool; x", "~/nope", "chdir x", "cd x && ./nope", "tool"] {
            assert_eq!(missing_there(command), None, "{command}");
        }
        for (command, program) in [
            ("./nope -x", "./nope"),
            ("A=1 bin/nope", "bin/nope"),
            ("./text", "./text"),
            ("nope", "nope"),
        ] {
            assert_eq!(missing_there(command).as_deref(), Some(program), "{command}");
        }
    }
}
