//! A dialogue with the aligner at a terminal, and the questions that it has for the person.
//!
//! Invariant: without a person nobody is asked. A proposal is a draft: nothing of it counts here. Not here: what
//! follows (`align`, `redirect`).

use std::io::IsTerminal;

use descent_core::{
    proposal::{Clarification, OpenQuestion},
    state::Usage,
    view::usage::UsageView,
};
use tokio_util::sync::CancellationToken;

use super::{
    ask::{self, ListAnswer},
    context::{Context, SkippableOutcome, stoppable},
    live::LiveArea,
};
use crate::render::{self, Line, Meaning, Out, Page};
use descent_engine::ops::aligner::{
    ANSWER_MAX, Aligner, AlignerQuestion, AligningTask, Given, Proposed,
};
use descent_system::{failure::Failure, phrase, signal::Signal};

/// Columns of a question.
const WIDTH: usize = 80;
/// How often an answer is asked for again that is not in the list.
const ASKED_MAX: usize = 20;

/// Whether a person sees all that is proposed: a yes to something unseen is none.
pub(super) fn is_seen(context: &Context) -> bool {
    context.may_ask && !context.out.quiet && std::io::stdout().is_terminal()
}

/// The end of a dialogue.
pub(super) enum DialogueEnd<T> {
    Proposed(Proposed<T>, Vec<Clarification>),
    /// Nothing was proposed after these answers; before them it was this.
    Unfinished(Proposed<T>, Vec<Clarification>),
    /// The person was told why there is no proposal.
    Nothing,
    /// The input ended.
    Left,
    /// This process is to end.
    Signal(Signal),
}

/// Has a dialogue with the aligner: it proposes, asks what it cannot settle, and proposes once more by the answers.
pub(super) fn hold<T: 'static>(
    context: &Context,
    aligner: &Aligner<'_>,
    question: &AlignerQuestion<'_, T>,
) -> Result<DialogueEnd<T>, Failure> {
    let first = match propose(context, aligner, question, &Given::default())? {
        SkippableOutcome::Done(first) => first,
        SkippableOutcome::Stopped => return Ok(DialogueEnd::Nothing),
        SkippableOutcome::Signal(signal) => return Ok(DialogueEnd::Signal(signal)),
    };
    let name = aligner.asked.agent.name.as_str();
    let Some(answers) = answers(context.out, name, &first.questions) else {
        return Ok(DialogueEnd::Left);
    };
    if answers.is_empty() {
        return Ok(DialogueEnd::Proposed(first, answers));
    }
    let given = Given { answers: &answers, before: Some(&first.answer), is_alone: false };
    Ok(match propose(context, aligner, question, &given)? {
        SkippableOutcome::Done(last) => DialogueEnd::Proposed(last, answers),
        SkippableOutcome::Stopped => DialogueEnd::Unfinished(first, answers),
        SkippableOutcome::Signal(signal) => DialogueEnd::Signal(signal),
    })
}

/// Asks the aligner for one proposal; without one it shows why.
pub(super) fn propose<T: 'static>(
    context: &Context,
    aligner: &Aligner<'_>,
    question: &AlignerQuestion<'_, T>,
    given: &Given<'_>,
) -> Result<SkippableOutcome<Proposed<T>>, Failure> {
    let who = format!("the aligner `{}`", aligner.asked.agent.name);
    let what = match (question.task, given.before) {
        (AligningTask::Agreement, None) => "an agreement",
        (AligningTask::Agreement, Some(_)) => "the agreement with your answers",
        (AligningTask::Change(_), None) => "a change",
        (AligningTask::Change(_), Some(_)) => "the change with your answers",
    };
    let head = format!("\nasking {who} for {what}");
    let work = |cancel| async move { aligner.ask(question, given, &cancel).await };
    let ended = skippable(context, &who, &head, work)?;
    used(context, &who, &aligner.used());
    let why = match ended {
        SkippableOutcome::Signal(signal) => return Ok(SkippableOutcome::Signal(signal)),
        SkippableOutcome::Done(Ok(proposed)) => return Ok(SkippableOutcome::Done(proposed)),
        SkippableOutcome::Done(Err(why)) => why,
        SkippableOutcome::Stopped => "it was ended".to_owned(),
    };
    let why = phrase::visible(&phrase::line(&why));
    context.out.say(&format!("no proposal of {who}: {why}"));
    Ok(SkippableOutcome::Stopped)
}

/// Asks an agent, and shows that it is being asked. The first Ctrl-C goes on without it.
pub(super) fn skippable<T, F>(
    context: &Context,
    who: &str,
    head: &str,
    work: impl FnOnce(CancellationToken) -> F,
) -> Result<SkippableOutcome<T>, Failure>
where
    F: Future<Output = Result<T, Failure>>,
{
    let minutes = ANSWER_MAX.as_secs() / 60;
    context.out.say(&format!("{head}…\n  {minutes} minutes at most; Ctrl-C goes on without it"));
    let live = LiveArea::of_question(context, &who.replace('`', ""));
    let ended = stoppable(work);
    drop(live);
    ended
}

/// Tells what an agent used.
pub(super) fn used(context: &Context, who: &str, used: &Usage) {
    if let Some(used) = UsageView::of(used) {
        context.out.say(&format!("{who} used {}", render::usage(&used)));
    }
}

/// Asks a person one question after another; an empty answer leaves it open. `None` at the end of the input.
fn answers(out: Out, by: &str, questions: &[OpenQuestion]) -> Option<Vec<Clarification>> {
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
    let words = phrase::visible(&question.question);
    page.unabridged(head, Meaning::Strong, &words);
    if !question.why.is_empty() {
        let why = phrase::visible(&question.why);
        page.unabridged(Line::indent(2).dim("since: "), Meaning::Plain, &why);
    }
    for (n, option) in question.options.iter().enumerate() {
        let head = Line::indent(2).plain(format!("{}. ", n + 1));
        page.unabridged(head, Meaning::Plain, &phrase::visible(option));
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
