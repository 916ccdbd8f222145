//! `descent confirm`: a person's answer to an assertion, recorded as a correction.

use clap::Args;
use descent_core::{
    change::ChangeRefusal,
    doc::suggest,
    event::Event,
    id::AtomId,
    state::{Confirmation, State},
    verdict::assertions::{self, Assertion},
    view,
    world::World,
};

use serde::Serialize;

use super::{
    End,
    context::{Context, surroundings},
};
use crate::{
    failure::Failure,
    ops::{self, ChangeDenial, confirm::AnswerRequest},
    render,
};

#[derive(Debug, Args)]
pub struct ConfirmArgs {
    /// The assertion, by its name or its words; without it all are listed
    name: Option<String>,
    /// Say that it does not hold
    #[arg(long, requires = "name")]
    no: bool,
    /// Why, for the record
    #[arg(long, value_name = "TEXT", requires = "name")]
    reason: Option<String>,
}

pub(super) fn confirm(context: &Context, flags: &ConfirmArgs) -> Result<End, Failure> {
    let mut store = context.store()?;
    let client = context.client(None);
    let loaded = ops::current(&client, &mut store)?;
    let all = assertions::assertions(&loaded.state);
    let Some(name) = &flags.name else {
        let around = surroundings(&store, &loaded.state);
        report(context, &loaded.state, &around, ConfirmResult::Listed, &all);
        return Ok(End::Code(0));
    };
    let Some(assertion) = all.iter().find(|one| one.is_called(name)) else {
        return Err(unknown(name, &all));
    };
    let request = AnswerRequest { assertion, holds: !flags.no, reason: flags.reason.as_deref() };
    let recorded = ops::confirm::confirm(&client, &mut store, loaded, &request)?;
    let (state, result) = match recorded {
        Ok(report) => {
            report.events.iter().for_each(|event| print_correction(context, event));
            let result = if flags.no { ConfirmResult::Denied } else { ConfirmResult::Confirmed };
            (report.loaded.state.clone(), result)
        }
        Err(ChangeDenial { refusal: ChangeRefusal::SameAnswer(earlier), state }) => {
            let answer = render::line(&answer_text(&earlier));
            context.out.say(&format!("{answer} already"));
            (*state, ConfirmResult::Unchanged)
        }
        Err(denial) => return Err(Failure::bug(denial.refusal)),
    };
    let around = surroundings(&store, &state);
    report(context, &state, &around, result, std::slice::from_ref(assertion));
    Ok(End::Code(0))
}

fn print_correction(context: &Context, event: &Event) {
    if let Event::Corrected { what, .. } = event {
        context.out.say(&render::line(what));
    }
}

fn unknown(name: &str, all: &[Assertion]) -> Failure {
    if all.is_empty() {
        let hint = "add {\"assertion\": \"what shall be so\"} to the base case, or descent status";
        return Failure::usage(format!("no assertion is called `{name}`: there is none"), hint);
    }
    let names = || all.iter().flat_map(|one| [one.name.as_str(), one.statement.as_str()]);
    let wanted = name.to_lowercase();
    let near = suggest(name, names())
        .or_else(|| names().find(|known| known.to_lowercase().contains(&wanted)));
    let hint = near.map_or_else(
        || "descent confirm lists them".to_owned(),
        |near| format!("did you mean this? {}", assertions::command(near)),
    );
    Failure::usage(format!("no assertion is called `{name}`"), hint)
}

fn answer_text(given: &Confirmation) -> String {
    let verb = if given.holds { "confirmed" } else { "denied" };
    format!("{verb} by {} at {}", given.by, given.at)
}

/// The assertions, for a person to confirm: `descent confirm --json`
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ConfirmOutput<'a> {
    schema: &'static str,
    result: ConfirmResult,
    assertions: Vec<AssertionOutput<'a>>,
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

fn report(
    context: &Context,
    state: &State,
    around: &view::Surroundings,
    result: ConfirmResult,
    shown: &[Assertion],
) {
    let next = match result {
        _ if around.live => "descent status".to_owned(),
        ConfirmResult::Denied => "descent run".to_owned(),
        ConfirmResult::Listed | ConfirmResult::Confirmed | ConfirmResult::Unchanged => {
            view::next(&World::new(state.clone()), around)
        }
    };
    if context.out.json {
        context.out.json(&ConfirmOutput {
            schema: "descent/confirm/1",
            result,
            assertions: shown.iter().map(|one| output(one, state)).collect(),
            next,
        });
        return;
    }
    let mut lines: Vec<String> = shown.iter().map(|one| row(one, state)).collect();
    if shown.is_empty() {
        lines.push("nothing here waits for a person's word".to_owned());
    }
    lines.push(format!("next: {next}"));
    context.out.data(&render::clean(&lines.join("\n")));
}

fn row(one: &Assertion, state: &State) -> String {
    let confirmation = one.confirmation(state);
    let verdict = match confirmation {
        Some(confirmation) if confirmation.holds => "pass",
        Some(_) => "fail",
        None => "unknown",
    };
    let earlier = || assertions::newest(&state.corrections, &one.name, &one.statement, |_| true);
    let answer = match (confirmation, confirmation.is_none().then(earlier).flatten()) {
        (Some(confirmation), _) => answer_text(confirmation),
        (None, Some(earlier)) => format!("{}, of another tree", answer_text(earlier)),
        (None, None) => "nobody said anything of it yet".to_owned(),
    };
    let atoms: Vec<&str> = one.atoms.iter().map(|id| id.as_str()).collect();
    let whose = match (one.in_base_case, atoms.is_empty()) {
        (_, true) => String::new(),
        (true, false) => format!("; also of {}", atoms.join(", ")),
        (false, false) => format!("; of {}", atoms.join(", ")),
    };
    let name = render::line(&one.name);
    format!("  {verdict:<8}{name}  ({answer}{whose})")
}

fn output<'a>(one: &'a Assertion, state: &'a State) -> AssertionOutput<'a> {
    let confirmation = one.confirmation(state);
    AssertionOutput {
        name: &one.name,
        statement: &one.statement,
        base_case: one.in_base_case,
        atoms: &one.atoms,
        holds: confirmation.map(|given| given.holds),
        by: confirmation.map(|given| given.by.as_str()),
        at: confirmation.map(|given| given.at.as_str()),
        on: confirmation.and_then(|given| given.on.as_deref()),
        reason: confirmation.and_then(|given| given.reason.as_deref()),
    }
}
