//! A redirect at a terminal without flags: the loop ends its attempts first, and waits while the person says what shall
//! be another.
//!
//! Invariant: however it ends, the loop does not wait for longer than this process lives.

use clap::{CommandFactory, Parser};
use descent_core::proposal::Clarification;

use super::{
    RedirectArgs, STANDS, lines, make, nothing_named,
    order::order,
    proposed::{self, DialogueEnd},
    unchanged,
};

use crate::{
    cli::{
        End, ask,
        context::{Context, runtime},
    },
    failure::Failure,
    ops::{
        self,
        redirect::{OpenRedirect, Unchanged},
    },
    render,
    store::Store,
};

const HOW: &str = "\
say what shall be another, by the flags of descent redirect, such as
  --select GROUP=CHOICE --remove ID --set max_attempts=4 --goal 'other words'
`help` shows them all; an empty line leaves everything as it was";

/// A line of flags.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct TypedLine {
    #[command(flatten)]
    flags: RedirectArgs,
}

pub(super) fn ask(
    context: &Context,
    store: &mut Store,
    reason: Option<&str>,
) -> Result<End, Failure> {
    let client = context.client(None);
    ops::current(&client, store)?;
    let open = ops::redirect::begin(&client, store, reason)?;
    context.out.say(&render::clean(&how_it_stands(&open)));
    let answers = match reason {
        Some(words) => match proposed::hold(context, store, &open, words)? {
            DialogueEnd::End(end) => return Ok(end),
            DialogueEnd::Typing(answers) => answers,
        },
        None => Vec::new(),
    };
    context.out.say(HOW);
    while let Some(line) = ask::now(context.out, "redirect> ").filter(|line| !line.is_empty()) {
        match try_line(context, store, &open, &line, reason, &answers) {
            Ok(Some(end)) => return Ok(end),
            Ok(None) => {}
            // Nothing that is typed can be made any more.
            Err(failure) if open.was_taken_back(&store.read()?.state) => return Err(failure),
            Err(failure) => context.out.failure(&failure),
        }
    }
    let is_aborted = ops::redirect::abort(&client, store)?;
    let state = store.read()?.state.clone();
    let words =
        if is_aborted { "nothing was changed; the loop goes on" } else { "nothing was changed" };
    Ok(unchanged(context, store, &state, words))
}

fn how_it_stands(open: &OpenRedirect) -> String {
    let ended: Vec<&str> = open.ended.iter().map(|id| id.as_str()).collect();
    match (open.is_live, ended.is_empty()) {
        (false, _) => "nothing runs".to_owned(),
        (true, true) => "the loop waits; nothing was in flight".to_owned(),
        (true, false) => format!("the loop waits; ended: {}", ended.join(", ")),
    }
}

/// `None` if the person shall go on.
fn try_line(
    context: &Context,
    store: &mut Store,
    open: &OpenRedirect,
    line: &str,
    reason: Option<&str>,
    answers: &[Clarification],
) -> Result<Option<End>, Failure> {
    if matches!(line, "help" | "?" | "--help" | "-h") {
        context.out.say(&TypedLine::command().render_help().to_string());
        return Ok(None);
    }
    let Some(words) = shlex::split(line) else {
        let hint = "close the quote";
        return Err(Failure::usage("a quote is open at the end of the line", hint));
    };
    let typed = TypedLine::try_parse_from(words);
    let mut flags = typed.map_err(not_understood)?.flags;
    flags.text = flags.text.or_else(|| reason.map(str::to_owned));
    let mut order = order(context, &flags, store)?;
    if order.redirect.is_empty() {
        return Err(nothing_named(false));
    }
    order.redirect.clarifications = answers.to_vec();
    let client = context.client(None);
    let loaded = ops::current(&client, store)?;
    let planned = match ops::redirect::plan(&client, &loaded.state, &order)? {
        Ok(planned) => planned,
        Err(Unchanged) => {
            context.out.say(STANDS);
            return Ok(None);
        }
    };
    context.out.say(&render::clean(&lines(context, store, &planned).join("\n")));
    if !runtime()?.block_on(context.consents("redirect?")) {
        return Ok(None);
    }
    make(context, store, loaded, &order, Some(open), false).map(Some)
}

fn not_understood(error: clap::Error) -> Failure {
    let text = error.to_string();
    let message = text.lines().next().unwrap_or_default();
    let message = message.trim_start_matches("error: ").to_owned();
    Failure::usage(message, "`help` shows the flags")
}
