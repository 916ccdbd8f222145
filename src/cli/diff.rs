//! `descent diff`: the change of the result, of an atom, or of an attempt.

use clap::Args;
use descent_core::{
    id::{AtomId, AttemptId, CommitId},
    view::named::AttemptEnd,
};
use serde::Serialize;

use super::{
    End,
    apply::{ChangedFile, changed_file, listed, tree},
    context::Context,
};
use crate::{
    failure::Failure,
    ops::diff::{self, DiffReport},
    render,
};

/// Bytes of a patch in `--json` at most.
const PATCH_BYTES_MAX: usize = 1 << 20;

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

/// A change to look at: `descent diff --json`
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct DiffOutput<'a> {
    schema: &'static str,
    /// The subject of the change.
    of: DiffSubject,
    atom: Option<&'a AtomId>,
    attempt: Option<&'a AttemptId>,
    /// How the attempt ended, where one is shown.
    ended: Option<AttemptEnd>,
    /// The commit that the change is against.
    base: Option<&'a CommitId>,
    /// The commit that holds it; null of a workspace, and where nothing changed.
    commit: Option<&'a CommitId>,
    files: Vec<ChangedFile<'a>>,
    /// The patch, of at most 1 MiB; null with --stat and --name-only.
    patch: Option<String>,
    /// Whether the patch is longer than that.
    cut: bool,
    /// Why this change is shown, or why there is none.
    note: Option<&'a str>,
    /// One command to type next.
    next: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
enum DiffSubject {
    Result,
    Atom,
    Attempt,
}

pub(super) fn diff(context: &Context, flags: &DiffArgs) -> Result<End, Failure> {
    let mut store = context.store()?;
    let report = diff::diff(&mut store, flags.name.as_deref(), tree(flags.last))?;
    if context.out.json {
        let output = output(flags, &report)?;
        let text = render::exact_json(&output) + "\n";
        context.out.bytes(text.as_bytes());
        return Ok(End::Code(0));
    }
    if let Some(note) = &report.note {
        context.out.say(&render::line(note));
    }
    if flags.name_only {
        let names = report.lines.iter().map(|file| render::line(&file.path));
        let names: Vec<String> = names.collect();
        if !names.is_empty() {
            context.out.data(&names.join("\n"));
        }
    } else if flags.stat {
        let text = format!("{}next: {}", listed(&report.lines), next(flags, &report));
        context.out.data(&render::clean(&text));
    } else {
        patch(context, &report)?;
    }
    Ok(End::Code(0))
}

/// At a terminal for a person, else byte for byte.
fn patch(context: &Context, report: &DiffReport) -> Result<(), Failure> {
    if !render::is_for_eyes() {
        context.out.bytes(&report.patch()?);
        return Ok(());
    }
    let text = report.readable_patch()?;
    let page = render::patch(&String::from_utf8_lossy(&text));
    context.out.page(&page);
    Ok(())
}

fn subject(report: &DiffReport) -> DiffSubject {
    match (&report.atom, &report.attempt) {
        (_, Some(_)) => DiffSubject::Attempt,
        (Some(_), None) => DiffSubject::Atom,
        (None, None) => DiffSubject::Result,
    }
}

fn next(flags: &DiffArgs, report: &DiffReport) -> String {
    match &report.atom {
        Some(atom) => format!("descent why {atom}"),
        None if report.lines.is_empty() => "descent status".to_owned(),
        None if flags.last => "descent apply --last -n".to_owned(),
        None => "descent apply -n".to_owned(),
    }
}

fn output<'a>(flags: &DiffArgs, report: &'a DiffReport) -> Result<DiffOutput<'a>, Failure> {
    let is_whole = !flags.stat && !flags.name_only;
    let patch = is_whole.then(|| report.patch()).transpose()?;
    let cut = patch.as_ref().is_some_and(|text| text.len() > PATCH_BYTES_MAX);
    let attempt = report.attempt.as_ref();
    Ok(DiffOutput {
        schema: "descent/diff/1",
        of: subject(report),
        atom: report.atom.as_ref(),
        attempt: attempt.map(|attempt| &attempt.id),
        ended: attempt.map(|attempt| attempt.end),
        base: report.base.as_ref(),
        commit: report.commit.as_ref(),
        files: report.lines.iter().map(changed_file).collect(),
        patch: patch.map(|text| beginning(&text)),
        cut,
        note: report.note.as_deref(),
        next: next(flags, report),
    })
}

/// The whole lines within the maximum.
fn beginning(text: &[u8]) -> String {
    let within = text.get(..PATCH_BYTES_MAX).map_or(text, |within| {
        let end = within.iter().rposition(|byte| *byte == b'\n');
        &within[..end.map_or(0, |at| at + 1)]
    });
    String::from_utf8_lossy(within).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_patch_is_cut_at_the_end_of_a_line() {
        assert_eq!(beginning(b"+a\n+b\n"), "+a\n+b\n");
        let line = b"+0123456789\n".repeat(PATCH_BYTES_MAX / 10);
        let shown = beginning(&line);
        assert!(shown.len() <= PATCH_BYTES_MAX && shown.ends_with("9\n"));
    }
}
