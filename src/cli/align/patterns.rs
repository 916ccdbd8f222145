//! Patterns: plans that come with the program. A person gives the goal and the checks, sees the whole, edits it and agrees.

use std::path::PathBuf;

use descent_core::doc::did_you_mean;

use super::{AlignArgs, reading::DraftText};
use crate::{
    failure::Failure,
    plan_file::{Notation, PlanFile},
};

struct WorkPattern {
    name: &'static str,
    text: &'static str,
}

macro_rules! patterns {
    ($($name:literal),*) => {
        const ALL: &[WorkPattern] = &[$(WorkPattern {
            name: $name,
            text: include_str!(concat!("../../../patterns/", $name, ".yaml")),
        }),*];
    };
}

patterns!["recon", "iterate", "map", "triage"];

impl WorkPattern {
    /// Its first line, without its name.
    fn about(&self) -> &'static str {
        let line = self.text.lines().next().unwrap_or_default();
        line.split_once(": ").map_or("", |(_, about)| about)
    }
}

/// The patterns that there are, a line each.
pub(super) fn list() -> String {
    let line = |one: &WorkPattern| format!("{:<8}  {}", one.name, one.about());
    let lines: Vec<String> = ALL.iter().map(line).collect();
    let example =
        "next: descent align \"the goal\" --why \"…\" --check \"a command\" --pattern recon";
    format!("{}\n{example}", lines.join("\n"))
}

/// Takes the plan of the named pattern as a draft; flags come over it.
pub(super) fn take(flags: &mut AlignArgs, name: &str) -> Result<(), Failure> {
    let Some(pattern) = ALL.iter().find(|one| one.name == name) else {
        let names: Vec<&str> = ALL.iter().map(|one| one.name).collect();
        let near = did_you_mean(name, names.iter().copied());
        let near = near.map_or_else(String::new, |near| format!("; {near}"));
        let message = format!("there is no pattern `{}`{near}", name.escape_debug());
        let hint = format!("one of {}; descent align --pattern shows them", names.join(", "));
        return Err(Failure::usage(message, hint));
    };
    flags.draft = Some(DraftText::Proposed(PlanFile {
        name: PathBuf::from(format!("pattern {name}")),
        bytes: pattern.text.as_bytes().to_vec(),
        notation: Notation::Yaml,
    }));
    Ok(())
}
