//! Prints the texts of an attempt: all that it printed (`why --output`, `log --output`), and its prompt (`why --prompt`).

use descent_core::view::named::AttemptEnd;
use serde::Serialize;

use super::{End, context::Context};
use crate::{
    ops::{
        output::{AttemptOutput, OutputSource},
        prompt::PromptReport,
    },
    render,
};

pub(super) fn print(context: &Context, found: &AttemptOutput) -> End {
    whole_text(context, found, note(found), &found.whole)
}

pub(super) fn print_prompt(context: &Context, report: &PromptReport) -> End {
    let note = report.note.as_deref().map(render::line);
    whole_text(context, report, note, report.text.as_bytes())
}

/// Byte for byte, but for a terminal: there control characters are shown, not obeyed.
fn whole_text(
    context: &Context,
    value: &impl Serialize,
    note: Option<String>,
    bytes: &[u8],
) -> End {
    if context.out.json {
        context.out.json(value);
        return End::Code(0);
    }
    if let Some(note) = note {
        context.out.say(&note);
    }
    if !render::is_for_eyes() {
        context.out.bytes(bytes);
    } else if !bytes.is_empty() {
        let text = String::from_utf8_lossy(bytes);
        let mut page = render::Page::new(usize::MAX);
        let lines = text.lines().map(render::Line::of);
        lines.for_each(|line| page.whole(line));
        context.out.page(&page);
    }
    End::Code(0)
}

/// The words for a person beside the text.
fn note(found: &AttemptOutput) -> Option<String> {
    let attempt = &found.attempt;
    let is_running = found.ended == AttemptEnd::Running;
    match found.source {
        OutputSource::Log | OutputSource::Evidence if found.whole.is_empty() => {
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
