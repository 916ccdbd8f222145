//! `descent resolve`: a person's report on an effect outside that was cut off.

use clap::Args;
use descent_core::{
    change::Resolution,
    event::Event,
    id::AttemptId,
    state::State,
    view,
    world::{
        World,
        doubts::{self, Doubt},
    },
};

use serde::Serialize;

use super::{
    End,
    context::{Context, surroundings},
};
use crate::{
    failure::{Failure, exit},
    ops, render,
};

#[derive(Debug, Args)]
pub struct ResolveArgs {
    /// The attempt, as `run` named it; without it all that are in doubt are listed
    attempt: Option<String>,
    /// Its effect happened: the atom is solved
    #[arg(long, requires = "attempt", conflicts_with = "retry")]
    done: bool,
    /// What came of it, for those who build on it
    #[arg(long, value_name = "TEXT", requires = "done")]
    summary: Option<String>,
    /// It did not happen, or may happen again: it is made again
    #[arg(long, requires = "attempt")]
    retry: bool,
}

pub(super) fn resolve(context: &Context, flags: &ResolveArgs) -> Result<End, Failure> {
    let mut store = context.store()?;
    let first = ops::trust::gate(&context.client(None), &mut store)?;
    let Some(attempt) = &flags.attempt else {
        let around = surroundings(&store, &first.state);
        report(context, &first.state, &around, ResolveResult::Listed);
        return Ok(End::Code(0));
    };
    let attempt = AttemptId::new(attempt.as_str());
    let (resolution, result) = match (flags.done, flags.retry) {
        (true, _) => (Resolution::Done(flags.summary.as_deref()), ResolveResult::Done),
        (false, true) => (Resolution::Retry, ResolveResult::Retry),
        (false, false) => return Err(undecided(&first.state, &attempt)),
    };
    let client = context.client(None);
    let recorded = ops::resolve::resolve(&client, &mut store, &attempt, resolution)?;
    let committed = recorded.map_err(|denial| not_in_doubt(&denial.state, &attempt))?;
    for event in &committed.events {
        if let Event::Corrected { what, effects, .. } = event {
            let effects = effects.join("; ");
            context.out.say(&render::line(&format!("{what} → {effects}")));
        }
    }
    let state = &committed.loaded.state;
    report(context, state, &surroundings(&store, state), result);
    Ok(End::Code(0))
}

fn undecided(state: &State, attempt: &AttemptId) -> Failure {
    if doubts::doubts(state).iter().all(|doubt| doubt.attempt != *attempt) {
        return not_in_doubt(state, attempt);
    }
    let hint = format!(
        "look whether it happened, then descent resolve {attempt} --done, or descent resolve {attempt} --retry"
    );
    Failure::usage(format!("{attempt} is in doubt, and nothing is said of it"), hint)
}

fn not_in_doubt(state: &State, attempt: &AttemptId) -> Failure {
    let doubts = doubts::doubts(state);
    let names: Vec<&str> = doubts.iter().map(|doubt| doubt.attempt.as_str()).collect();
    let hint = if names.is_empty() {
        "nothing is in doubt: descent status tells how things stand".to_owned()
    } else {
        format!("in doubt: {}", names.join(", "))
    };
    let message = format!("the attempt {} is not in doubt", render::line(attempt.as_str()));
    Failure::new("E-NOT-IN-DOUBT", exit::USAGE, message, hint)
}

/// The effects that are in doubt: `descent resolve --json`
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ResolveOutput {
    schema: &'static str,
    result: ResolveResult,
    /// The effects that are still in doubt.
    doubts: Vec<Doubt>,
    /// One command to type next.
    next: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
enum ResolveResult {
    Listed,
    Done,
    Retry,
}

fn report(context: &Context, state: &State, around: &view::Surroundings, result: ResolveResult) {
    let doubts = doubts::doubts(state);
    let next = match doubts.first() {
        Some(doubt) => format!("descent resolve {} --done", doubt.attempt),
        None if around.live => "descent status".to_owned(),
        None if result == ResolveResult::Listed => view::next(&World::new(state.clone()), around),
        None => "descent run".to_owned(),
    };
    if context.out.json {
        context.out.json(&ResolveOutput { schema: "descent/resolve/1", result, doubts, next });
        return;
    }
    let mut lines: Vec<String> = doubts.iter().map(row).collect();
    if let Some(doubt) = doubts.first() {
        let attempt = &doubt.attempt;
        lines.push(format!(
            "look whether it happened: --done if so, else descent resolve {attempt} --retry"
        ));
    }
    if doubts.is_empty() && result == ResolveResult::Listed {
        lines.push("nothing is in doubt".to_owned());
    }
    lines.push(format!("next: {next}"));
    context.out.data(&render::clean(&lines.join("\n")));
}

fn row(doubt: &Doubt) -> String {
    let since = doubt.since.as_deref().unwrap_or("an unknown time");
    let reason = doubt.reason.as_deref().map(render::line);
    let reason = reason.map_or_else(String::new, |reason| format!("{reason}: "));
    format!(
        "  {}  {}  (started at {since}; {reason}whether its effect happened, or may happen again, only a person can tell)",
        doubt.attempt,
        render::line(&doubt.description),
    )
}
