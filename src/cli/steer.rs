//! `descent guide`, `skip` and `retry`: a person's instruction for single atoms. `descent confirm`: what only a person
//! knows, of assertions and of effects that were cut off.

use clap::Args;
use descent_core::{
    change::{Answer, ChangeRefusal, Resolution, Steering},
    doc::suggest,
    event::Event,
    id::AtomId,
    state::State,
    verdict::assertions::{self, Assertion},
    world::earlier::{self, Doubt},
};
use serde::Serialize;

use super::{End, agree, context::Context};
use crate::render;
use descent_engine::ops::{
    self,
    change_view::{ChangeResult, ChangeView},
    steer::SteeringOrder,
};
use descent_store::Store;
use descent_system::{failure::Failure, phrase};

#[derive(Debug, Args)]
#[command(
    long_about = "Say something to those who work on an atom.\n\nThe words become part of the atom, stand in the prompt of every further attempt, and open a new context: all attempts are to be made again, and the failures so far are told. Without --for they are for the atoms that ask."
)]
pub struct GuideArgs {
    /// The words, for all further attempts
    text: String,
    /// An atom or group that the words are for (may be given again)
    #[arg(long = "for", value_name = "ATOM")]
    atoms: Vec<String>,
}

/// The arguments of `skip` and of `retry`.
#[derive(Debug, Args)]
pub struct AtomsArgs {
    /// The atom or group (may be several)
    #[arg(required = true, value_name = "ATOM")]
    atoms: Vec<String>,
    /// Why, for the record
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Do not ask: nothing is asked
    #[arg(short = 'y', long = "yes", hide = true)]
    _yes: bool,
}

/// The instruction stands already.
pub(super) const UNCHANGED: &str = "unchanged: that stands already";
pub(super) const ABOUT_SKIP: &str = "Count an atom as done without doing it.\n\nIt gets a result by your word, and what waits for it goes on. Of a group, all open tasks that are in force are skipped. `descent redirect --forget ATOM` brings it back.";
pub(super) const ABOUT_RETRY: &str = "Try an atom again that failed.\n\nIts failures count no more; they stay in the log and in the prompts. A solved atom is made again by `descent redirect --forget ATOM`.";

pub(super) fn guide(context: &Context, flags: &GuideArgs) -> Result<End, Failure> {
    if flags.text.trim().is_empty() {
        let hint = "say it in quotes: descent guide \"the port is 8443\" --for ATOM";
        return Err(Failure::usage("the guidance is empty", hint));
    }
    let order = SteeringOrder {
        steering: Steering::Guide(&flags.text),
        atoms: ids(&flags.atoms),
        reason: None,
    };
    steer(context, &order)
}

/// A skip or a retry.
pub(super) fn atoms(
    context: &Context,
    steering: Steering<'static>,
    flags: &AtomsArgs,
) -> Result<End, Failure> {
    let (atoms, reason) = (ids(&flags.atoms), flags.reason.as_deref());
    steer(context, &SteeringOrder { steering, atoms, reason })
}

fn ids(names: &[String]) -> Vec<AtomId> {
    names.iter().map(|name| AtomId::new(name.as_str())).collect()
}

fn steer(context: &Context, order: &SteeringOrder<'_>) -> Result<End, Failure> {
    let mut store = context.store()?;
    let Some(done) = ops::steer::steer(&context.client(None), &mut store, order)? else {
        return agree::unchanged(context, &mut store, UNCHANGED);
    };
    let state = &done.loaded.state;
    let view = ChangeView::of(&store, ChangeResult::Changed, state, &done.events);
    Ok(agree::report(context, &view, None))
}

#[derive(Debug, Args)]
#[command(
    long_about = "Say what only a person can know: that an assertion holds, or that an effect outside happened whose attempt was cut off.\n\nWithout a name both are listed. An effect that happened solves its atom; with --no it is made again."
)]
pub struct ConfirmArgs {
    /// The assertion, by its name or its words, or the attempt whose effect is in doubt; without it all are listed
    name: Option<String>,
    /// Say that it does not hold, or did not happen
    #[arg(long, requires = "name")]
    no: bool,
    /// Why, for the record; of an effect that happened: what came of it, for those who build on it
    #[arg(long, value_name = "TEXT", requires = "name")]
    reason: Option<String>,
}

pub(super) fn confirm(context: &Context, flags: &ConfirmArgs) -> Result<End, Failure> {
    let mut store = context.store()?;
    let client = context.client(None);
    let loaded = ops::current(&client, &mut store)?;
    let all = assertions::assertions(&loaded.state);
    let (holds, reason) = (!flags.no, flags.reason.as_deref());
    let said = if holds { ConfirmResult::Confirmed } else { ConfirmResult::Denied };
    let Some(name) = &flags.name else {
        return Ok(tell(context, &store, &loaded.state, ConfirmResult::Listed, &all));
    };
    let doubts = earlier::doubts(&loaded.state);
    let assertion = all.iter().find(|one| one.is_called(name));
    let recorded = match (doubts.iter().find(|doubt| doubt.attempt.as_str() == name), assertion) {
        (Some(doubt), _) => {
            let word = if holds { Resolution::Done(reason) } else { Resolution::Retry(reason) };
            ops::steer::resolve(&client, &mut store, &doubt.attempt, word)?
        }
        (None, Some(assertion)) => {
            let answer = Answer { assertion, holds, on: None, reason };
            ops::steer::confirm(&client, &mut store, loaded, &answer)?
        }
        (None, None) => return Err(nobody_asks(name, &all, &doubts)),
    };
    let (loaded, result) = match recorded {
        Ok(report) => {
            let corrected = report.events.iter();
            for event in corrected.filter(|event| matches!(event, Event::Corrected { .. })) {
                context.out.say(&render::describe_event(event).1);
            }
            (report.loaded, said)
        }
        Err(ChangeRefusal::SameAnswer(earlier)) => {
            let answer = phrase::line(&earlier.word_text());
            context.out.say(&format!("{answer} already"));
            (store.read()?, ConfirmResult::Unchanged)
        }
        Err(ChangeRefusal::NotInDoubt) => return Err(nobody_asks(name, &all, &[])),
        Err(refusal) => return Err(Failure::bug(refusal)),
    };
    Ok(tell(context, &store, &loaded.state, result, assertion.map_or(&[], std::slice::from_ref)))
}

fn nobody_asks(name: &str, all: &[Assertion], doubts: &[Doubt]) -> Failure {
    let what = format!("no assertion and no effect in doubt is called `{}`", phrase::line(name));
    if all.is_empty() && doubts.is_empty() {
        let hint = "there is none; descent status shows what comes next";
        return Failure::usage(what, hint);
    }
    let attempts = doubts.iter().map(|one| one.attempt.as_str());
    let names: Vec<&str> = all
        .iter()
        .flat_map(|one| [one.name.as_str(), one.statement.as_str()])
        .chain(attempts)
        .collect();
    let wanted = name.to_lowercase();
    let near = suggest(name, names.iter().copied())
        .or_else(|| names.iter().copied().find(|known| known.to_lowercase().contains(&wanted)));
    let hint = near.map_or_else(
        || "descent confirm lists them".to_owned(),
        |near| format!("did you mean this? {}", assertions::command(near)),
    );
    Failure::usage(what, hint)
}

/// The assertions and the effects in doubt: `descent confirm --json`
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ConfirmOutput<'a> {
    schema: &'static str,
    result: ConfirmResult,
    /// All of them, or the one that was confirmed.
    assertions: Vec<AssertionOutput<'a>>,
    /// The effects that are still in doubt.
    doubts: Vec<Doubt>,
    /// One command to type next.
    next: String,
}

#[derive(Clone, Copy, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
enum ConfirmResult {
    Listed,
    Confirmed,
    Denied,
    /// The same was said before: nothing was written.
    Unchanged,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct AssertionOutput<'a> {
    name: &'a str,
    statement: &'a str,
    base_case: bool,
    /// The atoms among whose own checks it is.
    atoms: &'a [AtomId],
    /// Null while nobody said anything that counts on the result as it stands.
    holds: Option<bool>,
    by: Option<&'a str>,
    at: Option<&'a str>,
    /// The tree that it was said of; null where it is for good.
    on: Option<&'a str>,
    reason: Option<&'a str>,
}

fn tell(
    context: &Context,
    store: &Store,
    state: &State,
    result: ConfirmResult,
    shown: &[Assertion],
) -> End {
    let doubts = earlier::doubts(state);
    let next = match (result, doubts.first()) {
        (_, Some(doubt)) => format!("descent confirm {}", doubt.attempt),
        (ConfirmResult::Denied, None) if !store.is_live() => "descent run".to_owned(),
        (_, None) => ops::next(store, state),
    };
    let output = ConfirmOutput {
        schema: "descent/confirm/1",
        result,
        assertions: shown.iter().map(|one| assertion_output(one, state)).collect(),
        doubts,
        next,
    };
    context.answer(&output, || {
        let mut lines: Vec<String> = shown.iter().map(|one| assertion_row(one, state)).collect();
        lines.extend(output.doubts.iter().map(doubt_row));
        if !output.doubts.is_empty() {
            let words = "look whether it happened; if it did not, or may happen again, add --no";
            lines.push(words.to_owned());
        }
        if lines.is_empty() && matches!(result, ConfirmResult::Listed) {
            lines.push("nothing here waits for a person's word".to_owned());
        }
        lines.push(format!("next: {}", output.next));
        lines.join("\n")
    })
}

fn doubt_row(doubt: &Doubt) -> String {
    let since = doubt.since.as_deref().unwrap_or("an unknown time");
    let reason = doubt.reason.as_deref().map(|reason| format!("{}: ", phrase::line(reason)));
    let reason = reason.unwrap_or_default();
    format!(
        "  {}  {}  (started at {since}; {reason}whether its effect happened, or may happen again, only a person can tell)",
        doubt.attempt,
        phrase::line(&doubt.description),
    )
}

fn assertion_row(one: &Assertion, state: &State) -> String {
    let confirmation = one.confirmation(state);
    let verdict = confirmation.map_or("unknown", |one| if one.affirms() { "pass" } else { "fail" });
    let earlier = || assertions::newest(&state.corrections, &one.name, &one.statement, |_| true);
    let answer = match (confirmation, confirmation.is_none().then(earlier).flatten()) {
        (Some(confirmation), _) => confirmation.word_text(),
        (None, Some(earlier)) => format!("{}, of another tree", earlier.word_text()),
        (None, None) => "nobody said anything of it yet".to_owned(),
    };
    let atoms: Vec<&str> = one.atoms.iter().map(|id| id.as_str()).collect();
    let also = if one.in_base_case { "also " } else { "" };
    let whose =
        if atoms.is_empty() { String::new() } else { format!("; {also}of {}", atoms.join(", ")) };
    let name = phrase::line(&one.name);
    format!("  {verdict:<8}{name}  ({answer}{whose})")
}

fn assertion_output<'a>(one: &'a Assertion, state: &'a State) -> AssertionOutput<'a> {
    let confirmation = one.confirmation(state);
    AssertionOutput {
        name: &one.name,
        statement: &one.statement,
        base_case: one.in_base_case,
        atoms: &one.atoms,
        holds: confirmation.map(|given| given.affirms()),
        by: confirmation.and_then(|given| given.by.as_deref()),
        at: confirmation.and_then(|given| given.timestamp.as_deref()),
        on: confirmation.and_then(|given| given.on.as_deref()),
        reason: confirmation.and_then(|given| given.reason.as_deref()),
    }
}
