//! `descent apply`: applies the difference between the start of a run and its result: to the working tree, as a branch,
//! or as a patch. `descent diff` shows it, or that of an atom or an attempt.

use std::path::{Path, PathBuf};

use clap::Args;
use descent_core::state::Workspace;
use serde::Serialize;

use super::{Context, End, Failure, Line, exit, phrase, quoted};
use crate::render;
use descent_engine::ops::{
    self,
    result::{self, ApplyReport, ApplyTarget, ResultSource, ResultTree},
};
use descent_workspace::git::{ApplyOutcome, BranchOutcome, FileLines};

/// Files named on a terminal; `--json` has all.
const NAMED_MAX: usize = 200;
/// Uncommitted files that are named in one line.
const UNCOMMITTED_MAX: usize = 6;
const SCHEMA: &str = "descent/apply/1";

#[derive(Debug, Args, Default)]
pub struct ApplyArgs {
    /// Make a branch of the result, a commit an atom, and write nothing else
    #[arg(long, value_name = "NAME", conflicts_with = "patch")]
    branch: Option<String>,
    /// Write the difference as a patch for `git apply` (`-`: to standard output), and nothing else
    #[arg(long, value_name = "FILE")]
    patch: Option<PathBuf>,
    /// Bring the tree of the last attempts, where the run delivered one that is nearer
    #[arg(long)]
    last: bool,
    /// Show what would happen, and write nothing; ends with 1 where it would be refused
    #[arg(short = 'n', long)]
    dry_run: bool,
}

/// How the result was brought home: `descent apply --json`
#[serde_with::skip_serializing_none]
#[derive(Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ApplyOutput<'a> {
    schema: &'static str,
    applied: ApplyWord,
    /// Whether it was only looked at.
    dry_run: bool,
    /// Whether the run has not completed.
    partial: bool,
    files: Vec<&'a str>,
    changes: &'a [FileLines],
    /// Files among them that say which program works next; what they start is asked about first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    configures: Vec<&'a str>,
    /// Files of the person's that are in the way (`refused`, with --dry-run).
    overlaps: Option<Vec<String>>,
    /// The branch that holds the result; null where HEAD is detached.
    branch: Option<Option<String>>,
    /// The files of its first commit that were not committed when the run began (`branch`).
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    uncommitted: &'a [String],
    /// The file that holds the patch.
    patch: Option<String>,
    /// Why only files are changed (`files`).
    no_commit: Option<String>,
    #[serde(skip)]
    words: String,
    #[serde(skip)]
    next: String,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
enum ApplyWord {
    #[default]
    Nothing,
    FastForward,
    Files,
    Branch,
    Patch,
    Refused,
}

impl<'a> ApplyOutput<'a> {
    /// After a dry run, the same command without `-n` comes next.
    fn of(
        flags: &ApplyArgs,
        result: &'a ResultSource,
        applied: ApplyWord,
        words: String,
        next: String,
    ) -> Self {
        let last = if flags.last { " --last" } else { "" };
        let again = match (&flags.branch, &flags.patch) {
            (Some(name), _) => format!("descent apply{last} --branch {}", quoted(name)),
            (None, Some(file)) => format!("descent apply{last} --patch {}", quoted(file)),
            (None, None) => format!("descent apply{last}"),
        };
        Self {
            schema: SCHEMA,
            applied,
            dry_run: flags.dry_run,
            partial: result.is_partial(),
            files: result.lines.iter().map(|lines| lines.path.as_str()).collect(),
            changes: &result.lines,
            configures: result.configures.iter().map(String::as_str).collect(),
            words,
            next: if flags.dry_run { again } else { next },
            ..Self::default()
        }
    }

    /// Nothing is to be applied.
    fn nothing(flags: &ApplyArgs, words: &str, next: &str) -> Self {
        let (words, next) = (words.to_owned(), next.to_owned());
        Self { schema: SCHEMA, dry_run: flags.dry_run, words, next, ..Self::default() }
    }

    fn print(&self, context: &Context) -> End {
        context.answer(self, || {
            let written = self.configures.iter().map(|path| ops::result::configures(path) + "\n");
            let written = written.collect::<String>();
            format!("{}{written}{}\nnext: {}", listed(self.changes), self.words, self.next)
        })
    }
}

pub(super) fn apply(context: &Context, flags: &ApplyArgs) -> Result<End, Failure> {
    let is_text = flags.patch.as_deref() == Some(Path::new("-"));
    if is_text && context.out.json {
        let hint = "give a file to --patch, or leave --json out";
        let what = "`--patch -` and --json both write to standard output";
        return Err(Failure::usage(what, hint));
    }
    let file = flags.patch.as_ref().map(|file| shortest(&context.dir.join(file)));
    let to = match (&flags.branch, &file) {
        (Some(name), _) => ApplyTarget::Branch(name),
        (None, Some(file)) => ApplyTarget::Patch(Some(file.as_path()).filter(|_| !is_text)),
        (None, None) => ApplyTarget::Tree,
    };
    let mut store = context.store()?;
    let client = context.client(None);
    let Some((result, report)) =
        result::apply(&client, &mut store, tree(flags.last), &to, flags.dry_run)?
    else {
        let words =
            "there is nothing to apply: no run has made a result apart from the working tree";
        if !is_text {
            return Ok(ApplyOutput::nothing(flags, words, "descent status").print(context));
        }
        context.out.say(words);
        return Ok(End::Code(0));
    };
    if result.is_partial() {
        let word = result.status.word();
        context.out.say(&format!("the run has not completed ({word}): this is a partial result"));
    }
    if result.is_set_aside {
        let words = "this is the tree of the last attempts; `descent apply` brings a nearer one";
        context.out.say(words);
    }
    let report = match report {
        ApplyReport::Tree(ApplyOutcome::Refused(paths)) => {
            return refused(context, flags, &result, paths);
        }
        ApplyReport::Patch { text, .. } if is_text && !flags.dry_run => {
            context.out.bytes(&text);
            return Ok(End::Code(0));
        }
        ApplyReport::Patch { text, .. } if text.is_empty() && !is_text => {
            let words = "the result changes nothing: no patch was written";
            ApplyOutput::nothing(flags, words, "descent status")
        }
        ApplyReport::Tree(outcome) => of_tree(flags, &result, outcome),
        ApplyReport::Branch(outcome) => of_branch(flags, &result, outcome)?,
        ApplyReport::Patch { is_taken, .. } => {
            of_patch(flags, &result, &file.unwrap_or_default(), is_taken)?
        }
    };
    Ok(report.print(context))
}

fn of_tree<'r>(
    flags: &ApplyArgs,
    result: &'r ResultSource,
    applied: ApplyOutcome,
) -> ApplyOutput<'r> {
    let is_shadow = result.kind == Workspace::Shadow;
    let look = if is_shadow { "descent status".to_owned() } else { git_here(result, "status") };
    let of = |how, words| ApplyOutput::of(flags, result, how, words, look.clone());
    match applied {
        ApplyOutcome::Nothing | ApplyOutcome::Refused(_) => ApplyOutput {
            partial: result.is_partial(),
            ..ApplyOutput::nothing(flags, "the working tree has it all already", &look)
        },
        ApplyOutcome::FastForward { branch, .. } => {
            let name = branch.as_deref().unwrap_or("HEAD");
            let words = match flags.dry_run {
                true => format!("would move {name} to the result, a commit an atom"),
                false => format!("{name} now holds the result, a commit an atom"),
            };
            ApplyOutput { branch: Some(branch), ..of(ApplyWord::FastForward, words) }
        }
        ApplyOutcome::Files { why, .. } => {
            let (done, made) = if flags.dry_run {
                ("would change these files, and nothing else", "would be")
            } else {
                ("the changes are in the files", "was")
            };
            if is_shadow {
                return of(ApplyWord::Files, done.to_owned());
            }
            let words = format!(
                "{done}; no commit {made} made: {why}\n(a commit an atom: descent apply --branch NAME)"
            );
            ApplyOutput { no_commit: Some(why), ..of(ApplyWord::Files, words) }
        }
    }
}

fn refused(
    context: &Context,
    flags: &ApplyArgs,
    result: &ResultSource,
    paths: Vec<String>,
) -> Result<End, Failure> {
    let message =
        "your files differ from what the run started from, where the result changes them too";
    let (aside, other) = match result.kind {
        Workspace::Shadow => (
            "put your own versions of these files aside",
            "the changes as a patch: descent apply --patch FILE",
        ),
        Workspace::Git | Workspace::Shared => (
            "undo your own changes to these files",
            "a branch and merge it: descent apply --branch NAME; or let the run go on from your files: descent redirect --from . && descent run",
        ),
    };
    let hint = format!("{aside}, then `descent apply` again; or take {other}");
    if !flags.dry_run {
        let failure = Failure::new("E-APPLY", exit::NOT_SO, message, hint);
        return Err(failure.with(paths));
    }
    let overlaps: Vec<String> = paths.iter().map(|path| format!("\n  overlaps  {path}")).collect();
    let words = format!("would refuse: {message}{}", overlaps.concat());
    let report = ApplyOutput {
        overlaps: Some(paths),
        next: hint,
        ..ApplyOutput::of(flags, result, ApplyWord::Refused, words, String::new())
    };
    report.print(context);
    Ok(End::Code(exit::NOT_SO))
}

fn of_branch<'r>(
    flags: &ApplyArgs,
    result: &'r ResultSource,
    outcome: BranchOutcome,
) -> Result<ApplyOutput<'r>, Failure> {
    let name = flags.branch.as_deref().unwrap_or_default();
    let mut words = match outcome {
        BranchOutcome::New if flags.dry_run => {
            format!("would make the branch {name}, and nothing else")
        }
        BranchOutcome::New => format!("the branch {name} holds the result"),
        BranchOutcome::AlreadyThere => format!("the branch {name} stands at the result already"),
        BranchOutcome::BadName => {
            let what = format!("'{name}' cannot be the name of a branch");
            let hint = "a name such as try-parser; see git help check-ref-format";
            return Err(Failure::usage(what, hint));
        }
        BranchOutcome::Taken(by) => {
            let what = format!("there is a branch {by} already; it was left as it is");
            let hint = "give another name, or move it away first: git branch -m OLD NEW";
            return Err(Failure::new("E-APPLY", exit::NOT_SO, what, hint));
        }
    };
    if !result.uncommitted.is_empty() {
        let holds = if flags.dry_run { "would hold" } else { "holds" };
        let files: Vec<_> = result.uncommitted.iter().map(|path| phrase::line(path)).collect();
        let files = phrase::listed(&files, UNCOMMITTED_MAX);
        words += &format!(
            "\nits first commit {holds} what was not committed when the run began: {files}"
        );
    }
    let short: String = result.before.as_str().chars().take(12).collect();
    Ok(ApplyOutput {
        branch: Some(Some(name.to_owned())),
        uncommitted: &result.uncommitted,
        ..ApplyOutput::of(
            flags,
            result,
            ApplyWord::Branch,
            words,
            git_here(result, &format!("log --stat {short}..{name}")),
        )
    })
}

fn of_patch<'r>(
    flags: &ApplyArgs,
    result: &'r ResultSource,
    file: &Path,
    is_taken: bool,
) -> Result<ApplyOutput<'r>, Failure> {
    let shown = file.display().to_string();
    if is_taken {
        let typed = flags.patch.as_deref().unwrap_or(file);
        let hint = format!(
            "give another name, or write over it: descent apply --patch - > {}",
            quoted(typed)
        );
        let what = format!("{shown} exists already; it was left as it is");
        return Err(Failure::new("E-APPLY", exit::NOT_SO, what, hint));
    }
    let words = match flags.dry_run {
        true => "would write these changes as a patch, and nothing else".to_owned(),
        false => format!("the patch is {shown}"),
    };
    let next = match result.is_at_head {
        true => "descent status".to_owned(),
        false => format!("git -C {} apply {}", quoted(result.top()), quoted(file)),
    };
    let output = ApplyOutput::of(flags, result, ApplyWord::Patch, words, next);
    Ok(ApplyOutput { patch: Some(shown), ..output })
}

/// The path without `..` and links, if the folder exists: it is shown to be typed again.
fn shortest(path: &Path) -> PathBuf {
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    match (folder, path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

/// A command of git that works from where the person is.
fn git_here(result: &ResultSource, rest: &str) -> String {
    let is_here = std::env::current_dir().is_ok_and(|here| here.starts_with(result.top()));
    let at = if is_here { String::new() } else { format!("-C {} ", quoted(result.top())) };
    format!("git {at}{rest}")
}

/// The tree that the flag asks for.
pub(super) fn tree(is_last: bool) -> ResultTree {
    if is_last { ResultTree::Last } else { ResultTree::Delivered }
}

/// A line a file: its added and removed lines, and its name.
pub(super) fn listed(lines: &[FileLines]) -> String {
    let one = |lines: &FileLines| {
        let counts = lines.added.zip(lines.removed);
        let counts = counts.map(|(added, removed)| format!("+{added} -{removed}"));
        let counts = counts.unwrap_or_else(|| "binary".to_owned());
        format!("  {counts:<11} {}\n", phrase::line(&lines.path))
    };
    let mut text: String = lines.iter().take(NAMED_MAX).map(one).collect();
    if let Some(more) = lines.len().checked_sub(NAMED_MAX).filter(|more| *more > 0) {
        text.push_str(&format!("  … and {more} more\n"));
    }
    text
}

#[derive(Debug, Args)]
pub struct DiffArgs {
    /// An atom, or an attempt as `run` names it; without one the result
    #[arg(value_name = "ATOM|ATTEMPT")]
    name: Option<String>,
    /// The tree of the last attempts, where the run delivered one that is nearer
    #[arg(long, conflicts_with = "name")]
    last: bool,
    /// Only the files, with their added and removed lines
    #[arg(long, conflicts_with = "name_only")]
    stat: bool,
    /// Only the names of the files
    #[arg(long)]
    name_only: bool,
}

pub(super) fn diff(context: &Context, flags: &DiffArgs) -> Result<End, Failure> {
    let mut store = context.store()?;
    let mut report = ops::diff::diff(&mut store, flags.name.as_deref(), tree(flags.last))?;
    if context.out.json {
        if !flags.stat && !flags.name_only {
            report.with_patch()?;
        }
        let text = phrase::exact_json(&report) + "\n";
        context.out.bytes(text.as_bytes());
        return Ok(End::Code(0));
    }
    if let Some(note) = &report.note {
        context.out.say(&phrase::line(note));
    }
    if flags.name_only {
        context.out.lines(report.files.iter().map(|file| Line::of(phrase::line(&file.path))));
    } else if flags.stat {
        let text = format!("{}next: {}", listed(&report.files), report.next);
        context.out.data(&phrase::clean(&text));
    } else if render::is_for_eyes() {
        let text = report.readable_patch()?;
        context.out.page(&render::patch(&String::from_utf8_lossy(&text)));
    } else {
        // Byte for byte, as there is no person at a terminal.
        context.out.bytes(&report.patch()?);
    }
    Ok(End::Code(0))
}
