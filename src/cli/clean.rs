//! `descent clean`: removes the leftovers of ended runs from the cache, from beside the state and from the repository.
//!
//! Invariant: a lineage whose state is in place is never touched. A result that was not applied is removed only if a
//! person says so. Not here: finding the leftovers.

use std::path::Path;

use clap::Args;
use serde::Serialize;

use super::{End, context::Context};
use crate::{
    failure::Failure,
    render,
    store::StatePlace,
    workspace::{self, Leftover, LeftoverPlace},
};

#[derive(Debug, Args)]
#[command(
    long_about = "Remove what ended runs left: workspaces in the cache, repositories beside the state that no state names any more, and references and worktrees that earlier versions made in your repository.\n\nNothing goes of a run whose state is in place, nor of one that was archived before its result was applied: these are named, and --unapplied removes them too."
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
    let place = place_of(context)?;
    let all = workspace::leftovers(&place, workspace::cache_dir().as_deref())?;
    let stays = |one: &Leftover| {
        let is_wanted = one.is_unapplied || one.saved_state.is_some();
        is_wanted && !flags.unapplied
    };
    let (kept, gone): (Vec<Leftover>, Vec<Leftover>) = all.into_iter().partition(stays);
    if !flags.dry_run {
        gone.iter().try_for_each(|one| one.remove(&place))?;
    }
    if context.out.json {
        context.out.json(&CleanOutput {
            schema: "descent/clean/1",
            dry_run: flags.dry_run,
            removed: &gone,
            kept: &kept,
            bytes: total(&gone),
            next: next(flags, &gone, &kept),
        });
    } else {
        let text = text(flags, &gone, &kept, &place);
        context.out.data(&render::clean(&text));
    }
    Ok(End::Code(0))
}

fn place_of(context: &Context) -> Result<StatePlace, Failure> {
    let found = context.place()?;
    Ok(found.unwrap_or_else(|| StatePlace::at(&context.dir, context.state.as_deref())))
}

fn text(flags: &CleanArgs, gone: &[Leftover], kept: &[Leftover], place: &StatePlace) -> String {
    let mut text = String::new();
    for one in gone {
        for left in &one.left {
            text += &format!("removed   {}\n", describe(left));
        }
    }
    for one in kept {
        let project = one.project.as_deref().unwrap_or(&place.project);
        let (lineage, project) = (&one.lineage, project.display());
        let why = match &one.saved_state {
            Some(path) => format!("its state was saved as {}", shown(path)),
            None => "its result was not applied".to_owned(),
        };
        text += &format!("kept      {lineage}, of {project}: {why}\n");
    }
    let verb = if flags.dry_run { "would be" } else { "were" };
    let count = match gone.len() {
        0 => "nothing is left of ended runs that could be removed".to_owned(),
        1 => format!(
            "what 1 ended run left {verb} removed, {}",
            render::megabytes(total(gone))
        ),
        many => format!(
            "what {many} ended runs left {verb} removed, {}",
            render::megabytes(total(gone))
        ),
    };
    format!("{text}{count}\nnext: {}", next(flags, gone, kept))
}

fn next(flags: &CleanArgs, gone: &[Leftover], kept: &[Leftover]) -> &'static str {
    match (flags.dry_run && !gone.is_empty(), kept.is_empty()) {
        (true, _) if flags.unapplied => "descent clean --unapplied",
        (true, _) => "descent clean",
        (false, false) => "descent clean -n --unapplied",
        (false, true) => "descent status",
    }
}

fn describe(left: &LeftoverPlace) -> String {
    match left {
        LeftoverPlace::Trees(dir) => format!("workspaces  {}", shown(dir)),
        LeftoverPlace::Repository(dir) => format!("repository  {}", shown(dir)),
        LeftoverPlace::References(name) => format!("references  {name}/*"),
        LeftoverPlace::Worktree(dir) => format!("worktree    {}", shown(dir)),
    }
}

fn shown(dir: &Path) -> String {
    super::context::shown(dir)
}

fn total(all: &[Leftover]) -> u64 {
    all.iter().map(|one| one.bytes).fold(0, u64::saturating_add)
}
