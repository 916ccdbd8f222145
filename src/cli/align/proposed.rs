//! A proposal before anything of it runs: all of it is shown, and the person decides.
//!
//! Invariant: every command, every setting that decides, and every word that an agent would be told, is shown whole.

use descent_core::{
    state::{FreeValue, State},
    trust::TrustList,
    view,
    world::World,
};

use super::{
    super::{
        ask,
        context::{Context, runtime},
    },
    AlignArgs,
    preview::WIDTH,
};
use crate::{
    config::Config,
    failure::Failure,
    render::{self, Bounds, Line, Meaning, Page},
};

/// Everything: the answer of an aligner is bounded.
const WHOLE: Bounds = Bounds { items_max: usize::MAX, chars_max: usize::MAX };

/// A person's decision about a draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DraftDecision {
    Yes,
    No,
    /// It is edited first.
    Edit,
}

/// Shows a draft, and asks whether its checks may run.
pub(super) fn decide(
    context: &Context,
    flags: &AlignArgs,
    state: &State,
    config: &Config,
) -> Result<DraftDecision, Failure> {
    context.out.say("");
    context.out.page(&page(flags, state, config));
    let question = "run its checks now, to see how things stand?";
    Ok(runtime()?.block_on(asks(context, question)))
}

/// Asks for a decision; silence is a no.
pub(super) async fn asks(context: &Context, question: &str) -> DraftDecision {
    let question = format!("{question} y: yes, e: edit it first [y/e/N] ");
    let words: [&[&str]; 3] = [&["y", "yes"], &["e", "edit"], &["", "n", "no"]];
    let help = "y for yes, e to edit it, n for no";
    match ask::choice(context.out, &question, &words, help).await {
        Some(0) => DraftDecision::Yes,
        Some(1) => DraftDecision::Edit,
        _ => DraftDecision::No,
    }
}

fn page(flags: &AlignArgs, state: &State, config: &Config) -> Page {
    let world = World::new(state.clone());
    let objective = &state.objective;
    let (deliverables, done) = (&objective.deliverables, &objective.definition_of_done);
    let mut page = Page::new(WIDTH);
    page.push(Line::new().dim(match (&flags.draft, &flags.proposed_by) {
        (Some(super::reading::DraftText::Proposed(_)), Some(name)) => {
            format!("proposed by `{name}`; nothing of it ran:")
        }
        (Some(super::reading::DraftText::Proposed(file)), None) => {
            format!("the {}; nothing of it ran:", file.name.display())
        }
        (Some(_) | None, _) => "as you edited it; nothing of it ran:".to_owned(),
    }));
    page.gap();
    for (head, text) in [
        ("goal:  ", &objective.goal),
        ("why:   ", &objective.background_intent),
        ("gives: ", deliverables),
        ("done:  ", done),
    ] {
        let meaning = if head == "goal:  " { Meaning::Strong } else { Meaning::Plain };
        if !text.is_empty() {
            page.unabridged(Line::new().dim(head), meaning, &render::visible(text));
        }
    }
    for (question, resolution) in clarified(objective.clarifications.as_ref()) {
        let words = render::visible(&format!("{question} {resolution}"));
        page.unabridged(Line::new().dim("asked: "), Meaning::Plain, &words);
    }
    let protected = &objective.constraints.protected;
    if !protected.is_empty() {
        let globs = render::visible(&protected.join(", "));
        let head = Line::new().dim("no attempt may change: ");
        page.unabridged(head, Meaning::Plain, &globs);
    }
    page.gap();
    page.push(Line::new().dim("the work:"));
    page.extend(render::graph_lines(&view::graph::graph(&world)));
    page.gap();
    page.push(Line::new().dim("all that it sets, whole:"));
    let carried = TrustList::of_state(state);
    for line in render::carried(&carried, WHOLE, "descent align") {
        page.whole(Line::indent(2).plain(line));
    }
    if let Some(worker) = config.worker_line() {
        let head = Line::new().dim("the worker: ");
        page.unabridged(head, Meaning::Plain, &render::visible(&worker));
    }
    page.gap();
    page
}

/// Questions with their answers.
fn clarified(all: Option<&FreeValue>) -> Vec<(String, String)> {
    let all = all.and_then(FreeValue::as_array).unwrap_or_default().iter();
    let text = |one: &FreeValue, key| Some(one.get(key)?.as_str()?.to_owned());
    all.filter_map(|one| Some((text(one, "question")?, text(one, "resolution")?))).collect()
}
