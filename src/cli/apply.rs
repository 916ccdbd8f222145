//! `descent apply`: applies the difference between the start of a run and its result: to the working tree, as a branch,
//! or as a patch.

use std::path::{Path, PathBuf};

use clap::Args;
use descent_core::state::Workspace;
use serde::Serialize;

use super::{End, context::Context};
use crate::{
    failure::{Failure, exit, quoted},
    git::{ApplyOutcome, BranchOutcome, FileLines},
    ops::result::{self, ResultSource},
    render, workspace,
};

/// Files named on a terminal; `--json` has all.
const NAMED_MAX: usize = 200;

#[derive(Debug, Args, Default)]
pub struct ApplyArgs {
    /// Make a branch of the result, a commit an atom, and write nothing else
    #[arg(long, value_name = "NAME", conflicts_with = "patch")]
    branch: Option<String>,
    /// Write the difference as a patch for `git apply` (`-`: to standard output), and nothing else
    #[arg(long, value_name = "FILE")]
    patch: Option<PathBuf>,
    /// Show what would happen, and write nothing; ends with 1 where it would be refused
    #[arg(short = 'n', long)]
    dry_run: bool,
}

/// How the result was brought home: `descent apply --json`
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
    changes: Vec<ChangedFile<'a>>,
    #[serde(flatten)]
    place: ApplyPlace,
}

/// The place of the result, or the files in its way.
#[derive(Clone, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ApplyPlace {
    /// Files of the person's that are in the way (`refused`, with --dry-run).
    #[serde(skip_serializing_if = "Option::is_none")]
    overlaps: Option<Vec<String>>,
    /// The branch that holds the result; null where HEAD is detached.
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<Option<String>>,
    /// The file that holds the patch.
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<String>,
}

/// Without counts where it is not text
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ChangedFile<'a> {
    path: &'a str,
    added: Option<u64>,
    removed: Option<u64>,
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

/// The outcome of an apply, or of a dry run.
struct ApplyReport {
    how: ApplyWord,
    words: String,
    next: String,
    place: ApplyPlace,
}

pub(super) fn apply(context: &Context, flags: &ApplyArgs) -> Result<End, Failure> {
    refuse_mixed(context, flags)?;
    let mut store = context.store()?;
    // Read first: without a state nothing is made beside it.
    store.read()?;
    // Only writing to the working tree requires that no loop runs.
    let _lease = match (flags.dry_run, &flags.branch, &flags.patch) {
        (false, None, None) => Some(store.lease("apply")?),
        _ => None,
    };
    let loaded = store.read()?;
    let Some(result) = result::open(&loaded.state, store.place())? else {
        let words =
            "there is nothing to apply: no run has made a result apart from the working tree";
        nothing(context, flags, words);
        return Ok(End::Code(0));
    };
    if result.is_partial() {
        let word = result.status.word();
        context.out.say(&format!(
            "the run has not completed ({word}): this is a partial result"
        ));
    }
    let end = match (&flags.branch, &flags.patch) {
        (Some(name), _) => to_branch(context, flags, &result, name)?,
        (None, Some(file)) => return to_patch(context, flags, &result, file),
        (None, None) => to_tree(context, flags, &result)?,
    };
    if !flags.dry_run && matches!(end, End::Code(0)) {
        workspace::note_applied(store.place(), &loaded.state.lineage, result.head());
    }
    Ok(end)
}

fn refuse_mixed(context: &Context, flags: &ApplyArgs) -> Result<(), Failure> {
    let to_stdout = flags.patch.as_deref() == Some(Path::new("-"));
    if to_stdout && context.out.json {
        let hint = "give a file to --patch, or leave --json out";
        let what = "`--patch -` and --json both write to standard output";
        return Err(Failure::usage(what, hint));
    }
    Ok(())
}

fn to_tree(context: &Context, flags: &ApplyArgs, result: &ResultSource) -> Result<End, Failure> {
    let applied = result.to_tree(flags.dry_run)?;
    let is_dry = flags.dry_run;
    let look = match result.kind {
        Workspace::Shadow => "descent status",
        Workspace::Git | Workspace::Shared => "git status",
    };
    let report = match applied {
        ApplyOutcome::Nothing => ApplyReport {
            how: ApplyWord::Nothing,
            words: "the working tree has it all already".into(),
            next: look.into(),
            place: ApplyPlace::default(),
        },
        ApplyOutcome::FastForward { branch, .. } => {
            let name = branch.clone().unwrap_or_else(|| "HEAD".to_owned());
            ApplyReport {
                how: ApplyWord::FastForward,
                words: match is_dry {
                    true => format!("would move {name} to the result, a commit an atom"),
                    false => format!("{name} now holds the result, a commit an atom"),
                },
                next: next(flags, look),
                place: ApplyPlace {
                    branch: Some(branch),
                    ..ApplyPlace::default()
                },
            }
        }
        ApplyOutcome::Files(_) => ApplyReport {
            how: ApplyWord::Files,
            words: match is_dry {
                true => "would change these files, and nothing else".into(),
                false if result.kind == Workspace::Shadow => "the changes are in the files".into(),
                false => "the changes are in the files; commit them when you like".into(),
            },
            next: next(flags, look),
            place: ApplyPlace::default(),
        },
        ApplyOutcome::Refused(paths) => return refused(context, result, is_dry, paths),
    };
    print_report(context, flags, result, report);
    Ok(End::Code(0))
}

fn refused(
    context: &Context,
    result: &ResultSource,
    is_dry: bool,
    paths: Vec<String>,
) -> Result<End, Failure> {
    let message =
        "your files differ from what the run started from, where the result changes them too";
    let hint = match result.kind {
        Workspace::Shadow => {
            "put your own versions of these files aside, then `descent apply` again; or take the changes as a patch: descent apply --patch FILE"
        }
        Workspace::Git | Workspace::Shared => {
            "commit or undo your own changes to these files, then `descent apply` again; or take a branch and merge it: descent apply --branch NAME"
        }
    };
    if !is_dry {
        let failure = Failure::new("E-APPLY-OVERLAP", exit::NOT_SO, message, hint);
        return Err(failure.with(paths));
    }
    if context.out.json {
        let place = ApplyPlace {
            overlaps: Some(paths),
            ..ApplyPlace::default()
        };
        let output = output(true, result, ApplyWord::Refused, place);
        context.out.json(&output);
    } else {
        let overlaps = paths.iter().map(|path| format!("  overlaps  {path}\n"));
        let text = format!(
            "{}would refuse: {message}\n{}next: {hint}",
            listed(&result.lines),
            overlaps.collect::<String>()
        );
        context.out.data(&render::clean(&text));
    }
    Ok(End::Code(exit::NOT_SO))
}

fn to_branch(
    context: &Context,
    flags: &ApplyArgs,
    result: &ResultSource,
    name: &str,
) -> Result<End, Failure> {
    let is_dry = flags.dry_run;
    if result.kind == Workspace::Shadow {
        let what =
            "the result is of a private repository: there is none that a branch could be made in";
        let hint = "descent apply, or descent apply --patch FILE";
        return Err(Failure::usage(what, hint));
    }
    let words = match result.to_branch(name, is_dry)? {
        BranchOutcome::New if is_dry => format!("would make the branch {name}, and nothing else"),
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
            return Err(Failure::new("E-BRANCH-EXISTS", exit::NOT_SO, what, hint));
        }
    };
    let short: String = result.base().as_str().chars().take(12).collect();
    let report = ApplyReport {
        how: ApplyWord::Branch,
        words,
        next: next(flags, &format!("git log --stat {short}..{name}")),
        place: ApplyPlace {
            branch: Some(Some(name.to_owned())),
            ..ApplyPlace::default()
        },
    };
    print_report(context, flags, result, report);
    Ok(End::Code(0))
}

fn to_patch(
    context: &Context,
    flags: &ApplyArgs,
    result: &ResultSource,
    file: &Path,
) -> Result<End, Failure> {
    let patch = result.patch()?;
    if file == Path::new("-") {
        if !flags.dry_run {
            context.out.bytes(&patch);
            return Ok(End::Code(0));
        }
    } else if patch.is_empty() {
        nothing(
            context,
            flags,
            "the result changes nothing: no patch was written",
        );
        return Ok(End::Code(0));
    }
    let path = shortest(&context.dir.join(file));
    let is_taken = file != Path::new("-")
        && match flags.dry_run {
            true => path.symlink_metadata().is_ok(),
            false => !result.write_patch(&path, &patch)?,
        };
    if is_taken {
        let what = format!("{} exists already; it was left as it is", path.display());
        let hint = format!(
            "give another name, or write over it: descent apply --patch - > {}",
            quoted(file)
        );
        return Err(Failure::new("E-FILE-EXISTS", exit::NOT_SO, what, hint));
    }
    let top = quoted(result.top());
    let shown = super::context::shown(&path);
    let report = ApplyReport {
        how: ApplyWord::Patch,
        words: match flags.dry_run {
            true => "would write these changes as a patch, and nothing else".into(),
            false => format!("the patch is {shown}"),
        },
        next: next(flags, &format!("git -C {top} apply {}", quoted(&path))),
        place: ApplyPlace {
            patch: Some(shown),
            ..ApplyPlace::default()
        },
    };
    print_report(context, flags, result, report);
    Ok(End::Code(0))
}

/// The path without `..` and links, if the folder exists: it is shown to be typed again.
fn shortest(path: &Path) -> PathBuf {
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    match (folder, path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

/// After a dry run, the same command without `-n`.
fn next(flags: &ApplyArgs, after: &str) -> String {
    match (flags.dry_run, &flags.branch, &flags.patch) {
        (false, ..) => after.to_owned(),
        (true, Some(name), _) => format!("descent apply --branch {}", quoted(name)),
        (true, None, Some(file)) => format!("descent apply --patch {}", quoted(file)),
        (true, None, None) => "descent apply".to_owned(),
    }
}

fn nothing(context: &Context, flags: &ApplyArgs, words: &str) {
    if context.out.json {
        context.out.json(&ApplyOutput {
            schema: "descent/apply/1",
            dry_run: flags.dry_run,
            ..ApplyOutput::default()
        });
    } else if flags.patch.as_deref() == Some(Path::new("-")) {
        context.out.say(words);
    } else {
        context.out.data(&format!("{words}\nnext: descent status"));
    }
}

fn print_report(context: &Context, flags: &ApplyArgs, result: &ResultSource, report: ApplyReport) {
    if context.out.json {
        let output = output(flags.dry_run, result, report.how, report.place);
        context.out.json(&output);
        return;
    }
    let files = match report.how {
        ApplyWord::Nothing => String::new(),
        _ => listed(&result.lines),
    };
    let text = format!("{files}{}\nnext: {}", report.words, report.next);
    context.out.data(&render::clean(&text));
}

fn output(
    is_dry: bool,
    result: &ResultSource,
    how: ApplyWord,
    place: ApplyPlace,
) -> ApplyOutput<'_> {
    let lines = match how {
        ApplyWord::Nothing => &[][..],
        _ => &result.lines,
    };
    ApplyOutput {
        schema: "descent/apply/1",
        applied: how,
        dry_run: is_dry,
        partial: result.is_partial(),
        files: lines.iter().map(|lines| lines.path.as_str()).collect(),
        changes: lines.iter().map(changed_file).collect(),
        place,
    }
}

fn changed_file(lines: &FileLines) -> ChangedFile<'_> {
    let (added, removed) = lines.counts.unzip();
    ChangedFile {
        path: &lines.path,
        added,
        removed,
    }
}

/// A line a file: its added and removed lines, and its name.
fn listed(lines: &[FileLines]) -> String {
    let one = |lines: &FileLines| match lines.counts {
        Some((added, removed)) => {
            let counts = format!("+{added} -{removed}");
            format!("  {counts:<11} {}\n", render::line(&lines.path))
        }
        None => format!("  {:<11} {}\n", "binary", render::line(&lines.path)),
    };
    let mut text: String = lines.iter().take(NAMED_MAX).map(one).collect();
    if let Some(more) = lines.len().checked_sub(NAMED_MAX).filter(|more| *more > 0) {
        text.push_str(&format!("  … and {more} more\n"));
    }
    text
}
