//! A redirect at a terminal without flags: the loop ends its attempts first, and waits while the person says what shall
//! be another, by an aligner's proposal or by flags.
//!
//! Invariant: however it ends, the loop does not wait for longer than this process lives. Nothing that is proposed counts
//! before a yes.

use clap::{CommandFactory, Parser};
use descent_core::{proposal::Clarification, world::World};

use super::{RedirectArgs, nothing_named, ordered};
use crate::cli::{
    End,
    agree::{self, Manner},
    ask,
    asking::{self, DialogueEnd},
    context::Context,
    help,
};
use descent_agent::config;
use descent_engine::ops::{
    self,
    aligner::Aligner,
    redirect::{OpenRedirect, RedirectOrder},
};
use descent_store::Store;
use descent_system::{clock, failure::Failure, phrase};

const HOW: &str = "\
say what shall be another, by the flags of descent redirect, such as
  --select GROUP=CHOICE --remove ID --set max_attempts=4 --goal 'other words'
`help` shows them all; an empty line leaves everything as it was";

/// A line of flags.
#[derive(Debug, Parser)]
#[command(name = "descent redirect", no_binary_name = true, disable_help_flag = true)]
struct TypedLine {
    #[command(flatten)]
    flags: RedirectArgs,
}

/// A redirect that is being said, while the loop waits.
struct OpenDialogue<'a> {
    context: &'a Context,
    open: OpenRedirect,
    reason: Option<&'a str>,
    /// The person's answers to the aligner.
    answers: Vec<Clarification>,
}

pub(super) fn ask(
    context: &Context,
    store: &mut Store,
    reason: Option<&str>,
) -> Result<End, Failure> {
    let client = context.client(None);
    ops::current(&client, store)?;
    let open = ops::redirect::begin(&client, store, reason)?;
    context.out.say(&phrase::clean(&how_it_stands(&open)));
    let mut said = OpenDialogue { context, open, reason, answers: Vec::new() };
    if let Some(words) = reason
        && let Some(end) = said.propose(store, words)?
    {
        return Ok(end);
    }
    context.out.say(HOW);
    while let Some(line) = ask::now(context.out, "redirect> ").filter(|line| !line.is_empty()) {
        let made = said.typed(store, &line);
        if let Some(end) = said.or_told(store, made)? {
            return Ok(end);
        }
    }
    let is_aborted = ops::redirect::abort(&client, store)?;
    let words =
        if is_aborted { "nothing was changed; the loop goes on" } else { "nothing was changed" };
    agree::unchanged(context, store, words)
}

fn how_it_stands(open: &OpenRedirect) -> String {
    let ended: Vec<&str> = open.ended.iter().map(|id| id.as_str()).collect();
    match (open.is_live, ended.is_empty()) {
        (false, _) => "nothing runs".to_owned(),
        (true, true) => "the loop waits; nothing was in flight".to_owned(),
        (true, false) => format!("the loop waits; ended: {}", ended.join(", ")),
    }
}

impl OpenDialogue<'_> {
    /// Asks an aligner, if there is one, and makes what it proposes after a yes; `None` if the person types flags.
    fn propose(&mut self, store: &mut Store, words: &str) -> Result<Option<End>, Failure> {
        let context = self.context;
        if !asking::is_seen(context) {
            return Ok(None);
        }
        let top = store.place().project.clone();
        let config = config::load(&top).map_err(Failure::from);
        let aligner = config.as_ref().map_err(Clone::clone);
        let aligner = aligner.and_then(|config| Aligner::of(config, &top, clock::now()));
        let (config, aligner) = match (&config, aligner) {
            (Ok(config), Ok(Some(aligner))) => (config, aligner),
            (_, Ok(_)) => return Ok(None),
            (_, Err(failure)) => {
                context.out.failure(&failure);
                return Ok(None);
            }
        };
        // A configuration that may be another's starts nobody unasked.
        let with_agents = context.client(Some(config));
        ops::trust::gate_plan(&with_agents, &top, store.place(), config, None)?;
        let client = context.client(None);
        let world = World::new(ops::current(&client, store)?.state.clone());
        let question = aligner.change(words, &world);
        let redirect = match asking::hold(context, &aligner, &question)? {
            DialogueEnd::Proposed(proposed, answers) => {
                self.answers = answers;
                proposed.value
            }
            DialogueEnd::Unfinished(_, answers) => {
                self.answers = answers;
                return Ok(None);
            }
            DialogueEnd::Nothing | DialogueEnd::Left => return Ok(None),
            DialogueEnd::Signal(signal) => {
                // The process ends: the loop goes on as before.
                ops::redirect::abort(&client, store)?;
                return Ok(Some(End::Signal(signal)));
            }
        };
        let name = &aligner.asked.agent.name;
        if redirect.is_empty() {
            context.out.say(&format!("the aligner `{name}` proposes no change"));
            return Ok(None);
        }
        let order = RedirectOrder { redirect, reason: Some(words.to_owned()), moved: Vec::new() };
        let made = self.offer(store, order, Some(name.as_str()));
        self.or_told(store, made)
    }

    /// Makes what a line of flags says; `None` if the person shall go on.
    fn typed(&self, store: &mut Store, line: &str) -> Result<Option<End>, Failure> {
        let context = self.context;
        if matches!(line, "help" | "?" | "--help" | "-h") {
            context.out.say(&TypedLine::command().render_help().to_string());
            return Ok(None);
        }
        let Some(words) = shlex::split(line) else {
            let hint = "close the quote";
            return Err(Failure::usage("a quote is open at the end of the line", hint));
        };
        let typed = TypedLine::try_parse_from(words);
        let typed = typed
            .map_err(|error| Failure::usage(help::first_line(&error), "`help` shows the flags"));
        let mut flags = typed?.flags;
        flags.text = flags.text.or_else(|| self.reason.map(str::to_owned));
        let order = ordered(context, &flags, store)?;
        if order.redirect.is_empty() {
            return Err(nothing_named(false));
        }
        self.offer(store, order, None)
    }

    /// Shows the difference, and makes it after a yes.
    fn offer(
        &self,
        store: &mut Store,
        mut order: RedirectOrder,
        proposed_by: Option<&str>,
    ) -> Result<Option<End>, Failure> {
        order.redirect.clarifications.clone_from(&self.answers);
        let manner = Manner { open: Some(&self.open), proposed_by, ..Manner::default() };
        agree::agree(self.context, store, &order, &manner)
    }

    /// Tells a failure, and goes on; it ends where nothing that is said can be made any more.
    fn or_told(
        &self,
        store: &mut Store,
        made: Result<Option<End>, Failure>,
    ) -> Result<Option<End>, Failure> {
        match made {
            Err(failure) if !self.open.was_taken_back(&store.read()?.state) => {
                self.context.out.failure(&failure);
                Ok(None)
            }
            made => made,
        }
    }
}
