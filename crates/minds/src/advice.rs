//! Warns of unreliable checks before a run depends on them, by the check and its measurements.
//!
//! Invariant: a warning never refuses, and says what to do. Not here: measuring (the shell), verdicts (`verdict`).

#[cfg(test)]
mod tests;

use descent_core::doc::prelude::*;
use descent_core::{
    judging,
    state::{
        Check, Leaf,
        check::{CommandLeaf, FileLeaf, NotCommandLeaf},
    },
    verdict::{self, CommandEnd, Measurement, MeasurementKind, Verdict},
};

/// Maximum of paths named in one warning.
const PATHS_MAX: usize = 3;

/// Maximum of files named that a check left behind.
const LEFT_MAX: usize = 5;

/// A problem with a check, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Advice {
    pub check: String,
    pub what: String,
    pub hint: String,
}

/// The present facts about one leaf.
#[derive(Debug, Default)]
pub struct LeafFacts<'a> {
    /// The measurement in the working directory, if there is one.
    pub here: Option<&'a Measurement>,
    /// The measurement in a fresh checkout, if there is one.
    pub fresh: Option<&'a Measurement>,
    pub timeout_ms: u64,
    /// Git ignores the path of a file leaf.
    pub is_ignored: bool,
    /// An earlier command may make the file once the work is done.
    pub may_be_made: bool,
    /// Tracked files of the working directory that changed while it ran.
    pub changed: &'a [String],
    /// Untracked files there, not ignored, that appeared or changed while it ran.
    pub left: &'a [String],
}

impl<'a> LeafFacts<'a> {
    fn both(&self) -> impl Iterator<Item = &'a Measurement> {
        self.here.into_iter().chain(self.fresh)
    }

    /// Whether the command ended with this code in every place where it ran.
    fn exit_everywhere(&self, code: i32) -> bool {
        let mut ends = self.both().filter_map(|seen| how(seen)).peekable();
        ends.peek().is_some() && ends.all(|how| *how == CommandEnd::Exit(code))
    }
}

fn how(seen: &Measurement) -> Option<&CommandEnd> {
    match &seen.what {
        MeasurementKind::Command { how, .. } => Some(how),
        MeasurementKind::Files { .. } | MeasurementKind::SetupFailed { .. } => None,
    }
}

/// The problems of one leaf.
pub fn of_leaf(check: &Check, facts: &LeafFacts<'_>) -> Vec<Advice> {
    let Some(leaf) = check.leaf() else {
        return Vec::new();
    };
    let found = [
        cannot_fail(leaf),
        not_found(leaf, facts),
        wrong_reason(leaf, facts),
        no_number(leaf, facts),
        ignored_file(leaf, facts),
        slow(leaf, facts),
        changes_files(facts),
        leaves_files(facts),
    ];
    let found = found.into_iter().flatten();
    found.map(|(what, hint)| Advice { check: check.title(), what, hint }).collect()
}

type Objection = Option<(String, String)>;

fn cannot_fail(leaf: &Leaf) -> Objection {
    let (what, hint) = match judging::constant(leaf)? {
        Verdict::Pass => (
            "it cannot fail: its command always ends the same way",
            "give a command that fails as long as the goal is not reached",
        ),
        Verdict::Fail | Verdict::Unknown => {
            ("it cannot pass: its command always ends with 0", "give a command that can fail")
        }
    };
    Some((what.to_owned(), hint.to_owned()))
}

fn not_found(leaf: &Leaf, facts: &LeafFacts<'_>) -> Objection {
    let (expected, hint) = if let Leaf::Command(rule) = leaf {
        let hint = "install it or mend the command; if the work makes it, all is well";
        (Some(rule.expect_exit), hint)
    } else if let Leaf::NotCommand(rule) = leaf {
        let hint = "install it or mend the command: as it is, it never counts as a pass";
        (rule.expect_exit, hint)
    } else {
        return None;
    };
    let code = [127, 126]
        .into_iter()
        .find(|code| Some(*code) != expected && facts.exit_everywhere(*code))?;
    Some((missing_words(code, facts), hint.to_owned()))
}

fn missing_words(code: i32, facts: &LeafFacts<'_>) -> String {
    let what = if code == 127 { "a program is not found" } else { "a program is not executable" };
    let last = facts.both().find_map(last_line);
    match last {
        Some(last) => format!("{what}, which says nothing of the goal ({last})"),
        None => format!("{what}, which says nothing of the goal (exit {code})"),
    }
}

const ERROR_WORDS: &[&str] =
    &["No such file or directory", "command not found", ": not found", "Permission denied"];

fn wrong_reason(leaf: &Leaf, facts: &LeafFacts<'_>) -> Objection {
    let Leaf::NotCommand(NotCommandLeaf { expect_exit: None, .. }) = leaf else {
        return None;
    };
    let passes = |seen: &&Measurement| verdict::of_leaf(leaf, seen) == Verdict::Pass;
    let seen = facts.fresh.or(facts.here).filter(passes)?;
    let code = how(seen)?.has_run()?;
    ERROR_WORDS.iter().find(|words| seen.excerpt.contains(**words))?;
    let why = match last_line(seen) {
        Some(line) => format!("exit {code}: {line}"),
        None => format!("exit {code}"),
    };
    Some((
        format!("it passes because its command breaks ({why})"),
        "mend the command, or name the code that counts: \"expect_exit\": 1".to_owned(),
    ))
}

fn no_number(leaf: &Leaf, facts: &LeafFacts<'_>) -> Objection {
    let Leaf::Command(CommandLeaf { number: Some(rule), .. }) = leaf else {
        return None;
    };
    let has_run = |seen: &&Measurement| how(seen).and_then(CommandEnd::has_run).is_some();
    let seen = facts.fresh.or(facts.here).filter(has_run)?;
    let MeasurementKind::Command { number: None, .. } = &seen.what else {
        return None;
    };
    let what = match last_line(seen) {
        Some(line) => {
            format!("`{}` finds no number in its output, which ends: {line}", rule.pattern)
        }
        None => format!("`{}` finds no number: it prints nothing", rule.pattern),
    };
    let hint = "mend the pattern: a regular expression with one group around the digits";
    Some((what, hint.to_owned()))
}

fn ignored_file(leaf: &Leaf, facts: &LeafFacts<'_>) -> Objection {
    let Leaf::File(FileLeaf { path, .. }) = leaf else {
        return None;
    };
    let is_there = matches!(facts.fresh.map(|seen| &seen.what), Some(MeasurementKind::Files { found, .. }) if *found > 0);
    if !facts.is_ignored || facts.may_be_made || is_there {
        return None;
    }
    Some((
        format!("git ignores {path}, so what an attempt puts there never reaches a checkout"),
        "put a command that makes it before it, or take it out of .gitignore".to_owned(),
    ))
}

fn slow(leaf: &Leaf, facts: &LeafFacts<'_>) -> Objection {
    let (Leaf::Command(CommandLeaf { timeout, .. })
    | Leaf::NotCommand(NotCommandLeaf { timeout, .. })) = leaf
    else {
        return None;
    };
    let limit_ms = timeout.as_ref().map_or(facts.timeout_ms, |length| length.ms);
    let took_ms = facts.both().map(|seen| seen.duration_ms).max()?;
    if took_ms.saturating_mul(2) <= limit_ms {
        return None;
    }
    let hint = if timeout.is_some() {
        "raise its \"timeout\", or give a faster command"
    } else {
        "give it a \"timeout\" of its own, or a faster command"
    };
    Some((
        format!("it took {} of the {} that it may take", seconds(took_ms), seconds(limit_ms)),
        hint.to_owned(),
    ))
}

fn changes_files(facts: &LeafFacts<'_>) -> Objection {
    let named = some_of(facts.changed, PATHS_MAX)?;
    Some((
        format!("it changed tracked files: {named}"),
        "give a command that only looks, such as one with --check; git diff shows what it did"
            .to_owned(),
    ))
}

fn leaves_files(facts: &LeafFacts<'_>) -> Objection {
    let named = some_of(facts.left, LEFT_MAX)?;
    Some((
        format!("it left files here that the run would start from: {named}"),
        "name them in .gitignore, or remove them, and align again".to_owned(),
    ))
}

/// On files that `setup` changes and git does not ignore.
pub fn of_setup(changed: &[String]) -> Option<Advice> {
    let named = some_of(changed, LEFT_MAX)?;
    Some(Advice {
        check: "setup".to_owned(),
        what: format!(
            "it changes {named}, which git does not ignore: no part of a step's change, and not brought home unless a step changes it too"
        ),
        hint: "commit what it makes, or let git ignore it".to_owned(),
    })
}

/// The first of these paths, and how many more there are; `None` if there are none.
fn some_of(paths: &[String], most: usize) -> Option<String> {
    let (named, more) = paths.split_at(paths.len().min(most));
    let named = (!named.is_empty()).then(|| named.join(", "))?;
    Some(match more.len() {
        0 => named,
        n => format!("{named} and {n} more"),
    })
}

fn seconds(ms: u64) -> String {
    if ms < 10_000 {
        return format!("{}.{} s", ms / 1_000, ms % 1_000 / 100);
    }
    (ms / 1_000).to_string() + " s"
}

fn last_line(seen: &Measurement) -> Option<String> {
    let lines = seen.excerpt.lines().rev();
    let line = lines.map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().take(100).collect())
}
