//! The tool and the target of a command, as far as its words tell them.

use alloc::{
    borrow::ToOwned,
    string::{String, ToString},
    vec::Vec,
};

use super::text::{NAME_CHARS_MAX, clean};
use crate::id::Digest;

/// Characters by which a shell does more than start one program.
const OF_SHELL: &str = "|&;<>()$`\\\n\"'*?[]{}~#!";
/// Programs that only start another one.
const WRAPPERS: &[&str] = &["env", "time", "nice", "nohup", "sudo", "xargs"];
/// Programs of which the first word says what they do.
const WITH_SUBCOMMAND: &[&str] = &[
    "git", "cargo", "npm", "pnpm", "yarn", "go", "make", "docker", "kubectl", "pip", "uv",
    "dotnet", "mvn", "gradle",
];

/// Tool and target of a command. One that a shell must read is `sh`, with a digest of the text.
pub(super) fn of(run: &str) -> (String, String) {
    let run = run.trim();
    if run.contains(|c: char| OF_SHELL.contains(c)) {
        return ("sh".to_owned(), Digest::of(run.as_bytes()).to_string());
    }
    let mut words = run.split_whitespace().peekable();
    while words.next_if(|word| is_wrapper(word)).is_some() {}
    let program = words.next().unwrap_or_default();
    let mut tool = program.rsplit('/').next().unwrap_or_default().to_owned();
    if WITH_SUBCOMMAND.contains(&&*tool)
        && let Some(verb) = words.next_if(|word| !word.starts_with('-'))
    {
        tool = tool + " " + verb;
    }
    let targets: Vec<&str> = words.filter(|word| !word.starts_with('-')).collect();
    (
        clean(&tool, NAME_CHARS_MAX),
        clean(&targets.join(" "), NAME_CHARS_MAX),
    )
}

fn is_wrapper(word: &str) -> bool {
    let is_assignment = word.contains('=') && !word.starts_with('-') && !word.contains('/');
    WRAPPERS.contains(&word) || is_assignment
}
