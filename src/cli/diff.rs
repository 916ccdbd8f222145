//! `descent diff`: the change of the result, of an atom, or of an attempt.

use clap::Args;

use super::{
    End,
    apply::{listed, tree},
    context::Context,
};
use crate::{
    failure::Failure,
    ops::diff::{self, DiffReport},
    render,
};

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
    let mut report = diff::diff(&mut store, flags.name.as_deref(), tree(flags.last))?;
    if context.out.json {
        if !flags.stat && !flags.name_only {
            report.with_patch()?;
        }
        let text = render::exact_json(&report) + "\n";
        context.out.bytes(text.as_bytes());
        return Ok(End::Code(0));
    }
    if let Some(note) = &report.note {
        context.out.say(&render::line(note));
    }
    if flags.name_only {
        let names = report.files.iter().map(|file| render::line(&file.path));
        let names: Vec<String> = names.collect();
        if !names.is_empty() {
            context.out.data(&names.join("\n"));
        }
    } else if flags.stat {
        let text = format!("{}next: {}", listed(&report.files), report.next);
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
