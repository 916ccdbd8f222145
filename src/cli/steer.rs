//! `descent guide`, `skip` and `retry`: a person's instruction for single atoms.

use clap::Args;
use descent_core::{
    change::Steering,
    event::Event,
    id::{AtomId, Serial},
};
use serde::Serialize;

use super::{End, context::Context};
use crate::{
    failure::Failure,
    ops::{
        self,
        steer::{SteeringOrder, Unsteered},
    },
};

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

/// The outcome of guidance, a skip or a retry: `descent guide --json`
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct SteerOutput {
    schema: &'static str,
    result: SteerResult,
    /// The changes, in words.
    changes: Vec<String>,
    effects: Vec<String>,
    serial: Serial,
    /// One command to type next.
    next: String,
}

#[derive(Clone, Copy, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
enum SteerResult {
    Changed,
    Unchanged,
}

fn steer(context: &Context, order: &SteeringOrder<'_>) -> Result<End, Failure> {
    let mut store = context.store()?;
    let (result, state, events) = match ops::steer::steer(&context.client(None), &mut store, order)?
    {
        Ok(report) => (SteerResult::Changed, report.loaded.state.clone(), report.events),
        Err(Unsteered(state)) => (SteerResult::Unchanged, *state, Vec::new()),
    };
    let corrected = events.iter().filter_map(|event| match event {
        Event::Corrected { what, effects, .. } => Some((what.clone(), effects.clone())),
        _ => None,
    });
    let (changes, effects): (Vec<String>, Vec<Vec<String>>) = corrected.unzip();
    let output = SteerOutput {
        schema: "descent/steer/1",
        result,
        changes,
        effects: effects.concat(),
        serial: state.serial,
        next: ops::next(&store, &state),
    };
    Ok(context.answer(&output, || {
        let unchanged = [UNCHANGED.to_owned()];
        let lines = match result {
            SteerResult::Changed => &output.changes[..],
            SteerResult::Unchanged => &unchanged,
        };
        let effects = output.effects.iter().map(|effect| format!("\n  → {effect}"));
        let effects = effects.collect::<String>();
        format!("{}{effects}\nnext: {}", lines.join("\n"), output.next)
    }))
}
