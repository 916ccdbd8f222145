//! `descent prompt`: the text that an agent is told of an atom.

use clap::Args;
use descent_core::id::{AtomId, AttemptId};
use serde::Serialize;

use super::{End, context::Context};
use crate::{
    clock, config,
    failure::Failure,
    ops::prompt::{self, PromptReport},
    render,
};

#[derive(Debug, Args)]
pub struct PromptArgs {
    /// The atom's id
    atom: String,
}

/// The prompt of an atom: `descent prompt ATOM --json`
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct PromptOutput<'a> {
    schema: &'static str,
    atom: &'a AtomId,
    /// The attempt in flight, else the next one.
    attempt: &'a AttemptId,
    /// Counts from 1 in its context.
    n: u32,
    /// Whether the attempt in flight was told this; else it would be told now.
    told: bool,
    bytes: usize,
    /// Empty of a prompt that was told: only its text is kept.
    parts: Vec<PartOutput>,
    text: &'a str,
    /// Why the atom cannot start as it is told here, or which attempt was told this.
    note: Option<&'a str>,
    /// One command to type next.
    next: String,
}

/// A part of a prompt
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PartOutput {
    name: &'static str,
    bytes: usize,
    /// Whether something of it was left out.
    cut: bool,
}

pub(super) fn prompt(context: &Context, flags: &PromptArgs) -> Result<End, Failure> {
    let mut store = context.store()?;
    let config = config::load(&store.place().project)?;
    let report = prompt::prompt(&mut store, config, &flags.atom, clock::now())?;
    if context.out.json {
        context.out.json(&output(&report));
        return Ok(End::Code(0));
    }
    if let Some(note) = &report.note {
        context.out.say(&render::line(note));
    }
    if render::is_for_eyes() {
        let mut page = render::Page::new(usize::MAX);
        let lines = report.text.lines().map(render::Line::of);
        lines.for_each(|line| page.whole(line));
        context.out.page(&page);
    } else {
        context.out.bytes(report.text.as_bytes())
    }
    Ok(End::Code(0))
}

fn output(report: &PromptReport) -> PromptOutput<'_> {
    let part = |part: &descent_core::prompt::PromptPart| PartOutput {
        name: part.name,
        bytes: part.text.len(),
        cut: part.is_cut,
    };
    PromptOutput {
        schema: "descent/prompt/1",
        atom: &report.atom,
        attempt: &report.attempt,
        n: report.n,
        told: report.is_told,
        bytes: report.text.len(),
        parts: report.parts.iter().map(part).collect(),
        text: &report.text,
        note: report.note.as_deref(),
        next: format!("descent why {}", report.atom),
    }
}
