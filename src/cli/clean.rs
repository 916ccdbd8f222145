//! `descent clean`: removes the leftovers of ended runs, and tells which it keeps.

use clap::Args;
use serde::Serialize;

use super::{End, context::Context};
use crate::{
    failure::Failure,
    ops::{self, clean::CleanReport},
    render,
    store::StatePlace,
    workspace::{Leftover, LeftoverPlace},
};

#[derive(Debug, Args)]
#[command(
    long_about = "Remove what ended runs left: workspaces in the cache, repositories beside the state that no state names any more, and references to your commits that runs started from.\n\nOf a run whose state is in place only workspaces go, where it has ended and its result was applied: they are made anew when they are needed. A run that was archived before its result was applied is kept and named; --unapplied removes it too."
)]
pub struct CleanArgs {
    /// Show what would be removed, and remove nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Also remove results that were not applied, and states that a run saved when its directory went
    #[arg(long)]
    unapplied: bool,
}

/// The leftovers of ended runs: `descent clean --json`
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct CleanOutput<'a> {
    schema: &'static str,
    /// Nothing was removed.
    dry_run: bool,
    /// The leftovers that go, by lineage.
    removed: &'a [Leftover],
    /// The leftovers that stay, because their results were not applied.
    kept: &'a [Leftover],
    /// The size on the disk of all that goes.
    bytes: u64,
    next: &'static str,
}

pub(super) fn clean(context: &Context, flags: &CleanArgs) -> Result<End, Failure> {
    let found = context.place()?;
    let place = found.unwrap_or_else(|| StatePlace::at(&context.dir, context.state.as_deref()));
    let report = ops::clean::clean(&place, flags.unapplied, flags.dry_run)?;
    let next = next(flags, &report);
    let output = CleanOutput {
        schema: "descent/clean/1",
        dry_run: flags.dry_run,
        removed: &report.removed,
        kept: &report.kept,
        bytes: report.bytes,
        next,
    };
    if !context.out.json && !flags.dry_run && context.out.quiet {
        return Ok(End::Code(0));
    }
    Ok(context.answer(&output, || format!("{}\nnext: {next}", text(flags, &report, &place))))
}

fn text(flags: &CleanArgs, report: &CleanReport, place: &StatePlace) -> String {
    let mut text = String::new();
    for left in report.removed.iter().flat_map(|one| &one.left) {
        text += &format!("removed   {}\n", describe(left));
    }
    for one in &report.kept {
        let project = one.project.as_deref().unwrap_or(&place.project);
        let (lineage, project) = (&one.lineage, project.display());
        let why = match &one.saved_state {
            Some(path) => format!("its state was saved as {}", path.display()),
            None => "its result was not applied".to_owned(),
        };
        text += &format!("kept      {lineage}, of {project}: {why}\n");
    }
    let runs = match report.removed.len() {
        0 => return text + "nothing is left of ended runs that could be removed",
        1 => "1 ended run".to_owned(),
        many => format!("{many} ended runs"),
    };
    let verb = if flags.dry_run { "would be" } else { "was" };
    let size = render::megabytes(report.bytes);
    text + &format!("what {runs} left {verb} removed, {size}")
}

fn next(flags: &CleanArgs, report: &CleanReport) -> &'static str {
    let is_left = flags.dry_run && !report.removed.is_empty();
    match (is_left, report.kept.is_empty()) {
        (true, _) if flags.unapplied => "descent clean --unapplied",
        (true, _) => "descent clean",
        (false, false) => "descent clean -n --unapplied",
        (false, true) => "descent status",
    }
}

fn describe(left: &LeftoverPlace) -> String {
    match left {
        LeftoverPlace::Trees(dir) => format!("workspaces  {}", dir.display()),
        LeftoverPlace::Repository(dir) => format!("repository  {}", dir.display()),
        LeftoverPlace::References(name) => format!("references  {name}/*"),
    }
}
