//! Prints the texts of an attempt: all that it printed (`why --output`, `log --output`), and its prompt (`why --prompt`).

use descent_core::{
    id::{AtomId, AttemptId},
    view::named::AttemptEnd,
};
use serde::Serialize;

use super::{End, context::Context};
use crate::{
    ops::{
        output::{AttemptOutput, OutputSource},
        prompt::PromptReport,
    },
    render,
};

/// Bytes of an output in `--json` at most, from its end.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// All that an attempt printed: `descent log --output ATTEMPT --json`
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct PrintedOutput<'a> {
    schema: &'static str,
    attempt: &'a AttemptId,
    atom: &'a AtomId,
    ended: AttemptEnd,
    /// The place of it.
    source: OutputSource,
    /// The file; null of an excerpt, and where nothing was printed.
    path: Option<String>,
    /// The length of what was found.
    bytes: usize,
    /// Its last MiB; bytes that are no UTF-8 are replaced.
    text: String,
    /// Whether it is longer than that.
    cut: bool,
    /// One command to type next.
    next: String,
}

pub(super) fn print(context: &Context, found: &AttemptOutput) -> End {
    let (attempt, atom) = (&found.attempt.id, &found.attempt.atom);
    if context.out.json {
        let from = found.bytes.len().saturating_sub(TEXT_BYTES_MAX);
        let path = found.path.as_ref();
        context.out.json(&PrintedOutput {
            schema: "descent/output/1",
            attempt,
            atom,
            ended: found.attempt.end,
            source: found.source,
            path: path.map(|path| path.display().to_string()),
            bytes: found.bytes.len(),
            text: String::from_utf8_lossy(&found.bytes[from..]).into_owned(),
            cut: from > 0,
            next: format!("descent why {atom}"),
        });
        return End::Code(0);
    }
    if let Some(note) = note(found) {
        context.out.say(&note);
    }
    whole_text(context, &found.bytes);
    End::Code(0)
}

/// Byte for byte, but for a terminal: there control characters are shown, not obeyed.
fn whole_text(context: &Context, bytes: &[u8]) {
    if !render::is_for_eyes() {
        context.out.bytes(bytes);
    } else if !bytes.is_empty() {
        let text = String::from_utf8_lossy(bytes);
        let mut page = render::Page::new(usize::MAX);
        let lines = text.lines().map(render::Line::of);
        lines.for_each(|line| page.whole(line));
        context.out.page(&page);
    }
}

/// The words for a person beside the text.
fn note(found: &AttemptOutput) -> Option<String> {
    let attempt = &found.attempt.id;
    let is_running = found.attempt.end == AttemptEnd::Running;
    match found.source {
        OutputSource::Log | OutputSource::Evidence if found.bytes.is_empty() => {
            Some(format!("{attempt} printed nothing{}", if is_running { " yet" } else { "" }))
        }
        OutputSource::Log if is_running => {
            Some(format!("{attempt} is in flight; so far it printed:"))
        }
        OutputSource::Log | OutputSource::Evidence => Some(format!("{attempt} printed:")),
        OutputSource::Setup if is_running => {
            Some(format!("{attempt} has printed nothing yet; `setup` printed before it:"))
        }
        OutputSource::Setup => {
            Some(format!("{attempt} printed nothing; `setup` printed before it:"))
        }
        OutputSource::Excerpt => {
            Some(format!("the whole output of {attempt} is gone; the state keeps this of it:"))
        }
    }
}

/// The prompt of an atom: `descent why ATOM --prompt --json`
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

pub(super) fn print_prompt(context: &Context, report: &PromptReport) -> End {
    if context.out.json {
        context.out.json(&prompt_output(report));
        return End::Code(0);
    }
    if let Some(note) = &report.note {
        context.out.say(&render::line(note));
    }
    whole_text(context, report.text.as_bytes());
    End::Code(0)
}

fn prompt_output(report: &PromptReport) -> PromptOutput<'_> {
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
