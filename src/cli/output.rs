//! Prints what an attempt printed: `why --output` and `log --output`.

use descent_core::{
    id::{AtomId, AttemptId},
    view::named::AttemptEnd,
};
use serde::Serialize;

use super::{End, context::Context};
use crate::{
    ops::output::{AttemptOutput, OutputSource},
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
    if !render::is_for_eyes() {
        context.out.bytes(&found.bytes);
    } else if !found.bytes.is_empty() {
        let text = String::from_utf8_lossy(&found.bytes);
        let mut page = render::Page::new(usize::MAX);
        let lines = text.lines().map(render::Line::of);
        lines.for_each(|line| page.whole(line));
        context.out.page(&page);
    }
    End::Code(0)
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
