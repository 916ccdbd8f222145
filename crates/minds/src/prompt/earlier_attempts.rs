//! The earlier attempts of an atom: how each ended, what its checks printed, what it reported and changed, and the files
//! with it.

use super::{
    section::{LateValues, PromptSection, cut, flag, in_a_line, indented, last_lines, led, names},
    subject::PromptSubject,
};
use descent_core::doc::prelude::*;
use descent_core::{
    doc,
    event::Clarity,
    fingerprint,
    id::AttemptId,
    state::{
        FailureClass, FailureEntry, Workspace, atom::MergeConflict, record::ToolCall, side::LiesAt,
    },
    world::earlier::{self, EarlierFailure},
};

/// Maximum of failures described, the newest.
const FAILURES_MAX: usize = 10;
/// Maximum of different reasons of older failures, the newest.
const REASONS_MAX: usize = 8;
/// Maximum of bytes of each thing that is told of a failure.
const REASON_BYTES_MAX: usize = 1_000;
const OUTPUT_BYTES_MAX: usize = 3_000;
const REPORT_BYTES_MAX: usize = 2_000;
const VALUE_BYTES_MAX: usize = 1_000;
/// How many failures are told with all of this, and how many with half of it; older ones are a line.
const WHOLE_MAX: usize = 1;
const HALF_MAX: usize = 2;
/// Attempts that are named on one line.
const NAMES_MAX: usize = 5;
const TOOLS_BYTES_MAX: usize = 1_500;
const TOOL_BYTES_MAX: usize = 160;
const CHECK_BYTES_MAX: usize = 200;
const CHECKS_MAX: usize = 8;
const FILES_MAX: usize = 20;
const FILE_BYTES_MAX: usize = 120;
/// Bytes of an older failure, on one line.
const LINE_BYTES_MAX: usize = 200;

/// Whether an attempt failed, and not only did not merge.
pub(super) fn has_failed(subject: &PromptSubject<'_>) -> bool {
    !earlier::failures_of(&subject.world.state, &subject.intent.atom).is_empty()
}

/// The earlier attempts, within that section.
pub(super) fn values(
    subject: &PromptSubject<'_>,
    files: &PromptFiles<'_>,
    section: &PromptSection,
) -> LateValues {
    let state = &subject.world.state;
    let mut newest = earlier::failures_of(state, &subject.intent.atom);
    let conflict = earlier::conflict_of(state, subject.intent);
    if newest.is_empty() && conflict.is_none() {
        return LateValues::new();
    }
    let older = newest.split_off(newest.len().min(FAILURES_MAX));
    let mut values = ways(&newest);
    values.extend(start(subject, files));
    values.insert("older", alike(older.iter().map(|one| &*one.entry.reason)));
    if let Some(MergeConflict { attempt, paths, .. }) = conflict {
        let whose = attempt.as_ref().map(|attempt| format!("The change of {attempt}"));
        values.extend([
            ("unmerged", whose.unwrap_or_else(|| "The result that it had".to_string())),
            ("unmerged_paths", some_paths(paths)),
            ("unmerged_change", attempt.iter().map(|one| patch(one, files)).collect()),
        ]);
    }
    let room = section.room_for("failures", &values);
    values.insert("failures", told(subject, files, &newest, room));
    values
}

/// Whether the next attempt shall go another way. An attempt that was hindered says nothing against its way.
fn ways(newest: &[EarlierFailure<'_>]) -> LateValues {
    let of = |class, by_form| {
        let is_meant =
            |one: &&EarlierFailure<'_>| one.entry.class == class && one.entry.by_form == by_form;
        let meant = newest.iter().filter(is_meant);
        names(meant.map(|one| one.entry.attempt.to_string()), NAMES_MAX)
    };
    let mut prints = newest.iter().map(|one| one.entry.fingerprint.as_ref());
    let last = prints.next().flatten();
    LateValues::from([
        ("wrong", of(FailureClass::Logical, false)),
        ("by_form", of(FailureClass::Logical, true)),
        ("hindered", of(FailureClass::Environmental, false)),
        ("alike", flag(last.is_some() && prints.next().flatten() == last)),
    ])
}

/// The tree that the attempt begins from.
fn start(subject: &PromptSubject<'_>, files: &PromptFiles<'_>) -> LateValues {
    let is_shared = subject.world.state.objective.constraints.workspace() == Workspace::Shared;
    match files.start {
        _ if subject.is_plan() => LateValues::new(),
        _ if is_shared => [("in_place", flag(true))].into(),
        TreeStart::Clean => [("clean", flag(true))].into(),
        TreeStart::Laid(attempt) => [("laid", attempt.to_string())].into(),
        TreeStart::Unused { attempt, why } => {
            let why = match why {
                UnusedChange::Conflict(paths) => {
                    format!("it no longer applies ({})", some_paths(paths))
                }
                UnusedChange::Gone => "it is not kept any more".to_string(),
            };
            [("unused", attempt.to_string()), ("why_unused", why)].into()
        }
    }
}

fn some_paths(paths: &[String]) -> String {
    names(paths.iter().map(|path| cut(path, FILE_BYTES_MAX)), FILES_MAX)
}

/// The failures, the newest first. Each may fill half of the room that the newer ones left.
fn told(
    subject: &PromptSubject<'_>,
    files: &PromptFiles<'_>,
    newest: &[EarlierFailure<'_>],
    room: usize,
) -> String {
    let (mut text, mut left) = (String::new(), room);
    for (place, one) in newest.iter().enumerate() {
        let most = match newest.len() {
            1 => left,
            _ => left / 2,
        };
        let told = if place < WHOLE_MAX {
            shortened(failure(subject, files, one, 1), most)
        } else if place < WHOLE_MAX + HALF_MAX {
            shortened(failure(subject, files, one, 2), most)
        } else {
            format!("{}\n", in_a_line(&head(subject, one), LINE_BYTES_MAX))
        };
        match left.checked_sub(told.len()) {
            Some(rest) => left = rest,
            None => break,
        }
        text.push_str(&told);
    }
    text
}

fn shortened(text: String, bytes_max: usize) -> String {
    if text.len() > bytes_max {
        format!("{}\n", cut(&text, bytes_max.saturating_sub(1)))
    } else {
        text
    }
}

/// Who failed, and how.
fn head(subject: &PromptSubject<'_>, one: &EarlierFailure<'_>) -> String {
    let failure = one.entry;
    let how = match failure.class {
        FailureClass::Logical => "failed",
        FailureClass::Environmental => "was hindered",
    };
    let context = failure.context.as_ref();
    let elsewhere = if context.is_none_or(|context| *context == subject.intent.context) {
        ""
    } else {
        ", under other conditions"
    };
    let reason = cut(&failure.reason, REASON_BYTES_MAX);
    format!("- {} {how}{elsewhere}: {reason}\n", failure.attempt)
}

/// One failure; each thing that is told of it has that part of its bytes.
fn failure(
    subject: &PromptSubject<'_>,
    files: &PromptFiles<'_>,
    one: &EarlierFailure<'_>,
    part: usize,
) -> String {
    let failure = one.entry;
    let mut text = head(subject, one);
    if one.is_in_full {
        text.push_str(&changed(subject, failure));
    }
    text.push_str(&patch(&failure.attempt, files));
    text.push_str(&tools(failure, part));
    text.push_str(&checks(failure));
    text.push_str(&printed(failure, part));
    if let Some(path) = failure.whole.as_ref().and_then(files.lies_at) {
        text.push_str(&format!("    (all that was printed: {path})\n"));
    }
    text.push_str(&reports(failure, part));
    text
}

fn changed(subject: &PromptSubject<'_>, failure: &FailureEntry) -> String {
    let constraints = &subject.world.state.objective.constraints;
    if subject.is_plan() || constraints.workspace() == Workspace::Shared {
        return String::new();
    }
    match some_paths(&failure.changed) {
        none if none.is_empty() => "    (it changed no file)\n".to_string(),
        paths => format!("    (it changed {paths})\n"),
    }
}

/// The last tool calls, as many as have room, in their order; they stand in what an agent printed too.
fn tools(failure: &FailureEntry, part: usize) -> String {
    if failure.criteria.is_empty() && !failure.output.is_empty() {
        return String::new();
    }
    let mut left = TOOLS_BYTES_MAX / part;
    let line = |call: &ToolCall| indented(&in_a_line(&call.text(), TOOL_BYTES_MAX));
    let fits = |line: &String| {
        let rest = left.checked_sub(line.len());
        left = rest.unwrap_or(left);
        rest.is_some()
    };
    let mut lines: Vec<String> = failure.tried.iter().rev().map(line).take_while(fits).collect();
    lines.reverse();
    let last = if lines.len() < failure.tried.len() { "last " } else { "" };
    led(&format!("    (its {last}tool calls:)\n"), &lines.concat())
}

fn checks(failure: &FailureEntry) -> String {
    let failed = fingerprint::failed_checks(failure).into_iter();
    let failed = names(failed.map(|check| in_a_line(check, CHECK_BYTES_MAX)), CHECKS_MAX);
    if failed.is_empty() { failed } else { format!("    (checks that did not hold: {failed})\n") }
}

/// The end of what the attempt printed, or the checks that did not hold.
fn printed(failure: &FailureEntry, part: usize) -> String {
    let lines = last_lines(&failure.output, OUTPUT_BYTES_MAX / part);
    let whose = if failure.criteria.is_empty() { "it" } else { "its checks" };
    led(&format!("    (what {whose} printed:)\n"), &lines)
}

/// The parts of its report.
fn reports(failure: &FailureEntry, part: usize) -> String {
    let (words_max, value_max) = (REPORT_BYTES_MAX / part, VALUE_BYTES_MAX / part);
    let handoff = failure.handoff.as_deref().unwrap_or_default();
    let value = failure.value.as_ref().map(doc::write_compact);
    let unclear = Clarity::words(failure.unclear, "");
    let unclear = unclear.map_or_else(String::new, |words| format!("    ({words})\n"));
    let parts = [
        unclear,
        reported("what it reported", &failure.summary, words_max),
        reported("what it left for the next", handoff, words_max),
        reported("its value", &value.unwrap_or_default(), value_max),
    ];
    parts.concat()
}

fn reported(head: &str, words: &str, bytes_max: usize) -> String {
    let words = if words.is_empty() { String::new() } else { indented(&cut(words, bytes_max)) };
    led(&format!("    ({head}:)\n"), &words)
}

/// The file with the change of an attempt.
fn patch(attempt: &AttemptId, files: &PromptFiles<'_>) -> String {
    let patch = files.patches.iter().find(|one| one.attempt == *attempt);
    let is_laid = *files.start == TreeStart::Laid(attempt.clone());
    let to_do = if is_laid { "which is in your tree" } else { "to read or to apply" };
    patch.map_or_else(String::new, |one| format!("    (its change, {to_do}: {})\n", one.path))
}

/// Older failures, the newest first, as lines with how often each came about, the oldest first.
fn alike<'r>(reasons: impl Iterator<Item = &'r str>) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for reason in reasons {
        match counts.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, count)) => *count += 1,
            None => counts.push((reason, 1)),
        }
    }
    counts.truncate(REASONS_MAX);
    let line = |(reason, count): &(&str, usize)| {
        format!("- {count} × {}\n", in_a_line(reason, LINE_BYTES_MAX))
    };
    counts.iter().map(line).collect()
}

// The files around an attempt that its prompt names, and the tree that it begins from: facts of the shell.

/// Earlier changes that lie beside a prompt as patches, the newest.
pub const PATCHES_MAX: usize = 2;
/// A larger change is no patch to read.
pub const PATCH_BYTES_MAX: usize = 1 << 20;

#[derive(Clone, Copy)]
pub struct PromptFiles<'a> {
    pub lies_at: LiesAt<'a>,
    pub patches: &'a [EarlierPatch],
    pub start: &'a TreeStart,
}

/// The change of an earlier attempt, as a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierPatch {
    pub attempt: AttemptId,
    pub path: String,
}

/// The files that an attempt begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeStart {
    /// Those of the commit that it starts from.
    Clean,
    /// The change of this attempt is laid on them.
    Laid(AttemptId),
    /// That was wanted, and the change could not be used.
    Unused { attempt: AttemptId, why: UnusedChange },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnusedChange {
    /// It does not apply to these paths.
    Conflict(Vec<String>),
    /// It is not kept any more.
    Gone,
}

impl core::fmt::Debug for PromptFiles<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("PromptFiles")
            .field("patches", &self.patches)
            .field("start", &self.start)
            .finish_non_exhaustive()
    }
}
