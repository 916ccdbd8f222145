//! A question to the aligner at a terminal, and the questions that it has for the person.
//!
//! Invariant: without a person nobody is asked. Not here: what is proposed, and what follows (`align`, `redirect`).

use std::io::IsTerminal;

use descent_core::{
    doc::Node,
    proposal::{Clarification, OpenQuestion},
    view::usage::UsageView,
};

use super::{
    ask::{self, ListAnswer},
    context::{Context, SkippableOutcome, stoppable},
    live::LiveArea,
};
use crate::{
    failure::Failure,
    ops::{
        aligner::{ANSWER_MAX, Aligner, AlignerQuestion},
        outside::OutsideAnswer,
    },
    render::{self, Line, Meaning, Out, Page},
    signal::Signal,
};

/// Columns of a question.
const WIDTH: usize = 80;
/// How often an answer is asked for again that is not in the list.
const ASKED_MAX: usize = 20;

/// Whether a person sees all that is proposed: a yes to something unseen is none.
pub(super) fn is_seen(context: &Context) -> bool {
    context.may_ask && !context.out.quiet && std::io::stdout().is_terminal()
}

/// The end of a question to the aligner.
pub(super) enum AskEnd {
    /// An object whose form was judged.
    Answer(Node),
    /// None: the person was told why.
    Nothing,
    /// This process is to end.
    Signal(Signal),
}

/// Asks the aligner, and shows that it is being asked. The first Ctrl-C goes on without it.
pub(super) fn put(
    context: &Context,
    aligner: &Aligner<'_>,
    question: &AlignerQuestion<'_>,
    what: &str,
) -> Result<AskEnd, Failure> {
    let name = &aligner.agent.name;
    let minutes = ANSWER_MAX.as_secs() / 60;
    context.out.say(&format!(
        "\nasking the aligner `{name}` for {what}…\n  {minutes} minutes at most; Ctrl-C goes on without it"
    ));
    let live = LiveArea::of_question(context, &format!("the aligner {name}"));
    let ended = stoppable(|cancel| async move { aligner.ask(question, &cancel).await });
    drop(live);
    if let Some(used) = UsageView::of(&aligner.used()) {
        let used = render::usage(&used);
        context.out.say(&format!("the aligner `{name}` used {used}"));
    }
    let why = match ended? {
        SkippableOutcome::Signal(signal) => return Ok(AskEnd::Signal(signal)),
        SkippableOutcome::Done(OutsideAnswer::Value(node)) => return Ok(AskEnd::Answer(node)),
        SkippableOutcome::Done(OutsideAnswer::None(why)) => why,
        SkippableOutcome::Stopped | SkippableOutcome::Done(OutsideAnswer::Cancelled) => {
            "it was ended".to_owned()
        }
    };
    let why = render::visible(&render::line(&why));
    context.out.say(&format!("no proposal of the aligner `{name}`: {why}"));
    Ok(AskEnd::Nothing)
}

/// Asks a person one question after another; an empty answer leaves it open. `None` at the end of the input.
pub(super) fn answers(
    out: Out,
    by: &str,
    questions: &[OpenQuestion],
) -> Option<Vec<Clarification>> {
    ask::forget_typed();
    let mut found = Vec::new();
    for (n, question) in questions.iter().enumerate() {
        shown(out, by, question, n + 1, questions.len());
        if let Some(resolution) = answer(out, question)? {
            found.push(Clarification { question: question.question.clone(), resolution });
        }
    }
    Some(found)
}

fn shown(out: Out, by: &str, question: &OpenQuestion, n: usize, all: usize) {
    let mut page = Page::new(WIDTH);
    page.gap();
    let head = Line::new().dim(format!("{by} asks ({n} of {all}): "));
    let words = render::visible(&question.question);
    page.unabridged(head, Meaning::Strong, &words);
    if !question.why.is_empty() {
        let why = render::visible(&question.why);
        page.unabridged(Line::indent(2).dim("since: "), Meaning::Plain, &why);
    }
    for (n, option) in question.options.iter().enumerate() {
        let head = Line::indent(2).plain(format!("{}. ", n + 1));
        page.unabridged(head, Meaning::Plain, &render::visible(option));
    }
    page.push(Line::of(if question.options.is_empty() {
        "Your own words; Enter leaves it open."
    } else {
        "A number, or your own words; Enter leaves it open."
    }));
    let lines: Vec<String> = page.into_lines().iter().map(|line| line.text(false)).collect();
    out.say(&format!("\n{}", lines.join("\n").trim_start()));
}

const HELP: &str = "Your answer goes to the agent that asks, and is kept in the agreement. Left open, it decides itself.";

/// The answer in words, `Some(None)` if there is none.
fn answer(out: Out, question: &OpenQuestion) -> Option<Option<String>> {
    for _ in 0..ASKED_MAX {
        let reply = ask::helped(out, HELP)?;
        match ask::taken(&reply, question.options.len()) {
            ListAnswer::Text(text) if text.is_empty() => return Some(None),
            ListAnswer::Text(text) => return Some(Some(text)),
            ListAnswer::Items(places) => {
                let chosen = places.iter().map(|at| question.options[*at].as_str());
                return Some(Some(chosen.collect::<Vec<_>>().join("; ")));
            }
            // A number may be an answer in words.
            ListAnswer::Wrong(_) if question.options.is_empty() => return Some(Some(reply)),
            ListAnswer::Wrong(number) => out.say(&format!("There is no {number} in the list.")),
        }
    }
    Some(None)
}
