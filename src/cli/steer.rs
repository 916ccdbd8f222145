//! `descent guide`, `skip` and `retry`: a person's instruction for single atoms.

use clap::Args;
use descent_core::{
    change::Steering, event::Event, id::AtomId, id::Serial, state::State, view, world::World,
};
use serde::Serialize;

use super::{
    End,
    context::{Context, surroundings},
};
use crate::{
    failure::Failure,
    ops::{
        self,
        steer::{SteeringOrder, SteeringOutcome},
    },
    render,
    store::Store,
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

pub(super) fn skip(context: &Context, flags: &AtomsArgs) -> Result<End, Failure> {
    steer(context, &flags.order(Steering::Skip))
}

pub(super) fn retry(context: &Context, flags: &AtomsArgs) -> Result<End, Failure> {
    steer(context, &flags.order(Steering::Retry))
}

impl AtomsArgs {
    fn order(&self, steering: Steering<'static>) -> SteeringOrder<'_> {
        SteeringOrder { steering, atoms: ids(&self.atoms), reason: self.reason.as_deref() }
    }
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
    let client = context.client(None);
    match ops::steer::steer(&client, &mut store, order)? {
        SteeringOutcome::Made(report) => {
            let corrected = report.events.iter().filter_map(|event| match event {
                Event::Corrected { what, effects, .. } => Some((what, effects)),
                _ => None,
            });
            let (what, effects): (Vec<String>, Vec<Vec<String>>) =
                corrected.map(|(what, effects)| (what.clone(), effects.clone())).unzip();
            let state = &report.loaded.state;
            report_outcome(context, &store, state, SteerResult::Changed, what, effects.concat());
        }
        SteeringOutcome::Unchanged(state) => {
            let (none, nothing) = (Vec::new(), Vec::new());
            report_outcome(context, &store, &state, SteerResult::Unchanged, none, nothing);
        }
    }
    Ok(End::Code(0))
}

fn report_outcome(
    context: &Context,
    store: &Store,
    state: &State,
    result: SteerResult,
    changes: Vec<String>,
    effects: Vec<String>,
) {
    let around = surroundings(store, state);
    let next = if around.live {
        "descent status".to_owned()
    } else {
        view::next(&World::new(state.clone()), &around)
    };
    if context.out.json {
        return context.out.json(&SteerOutput {
            schema: "descent/steer/1",
            result,
            changes,
            effects,
            serial: state.serial,
            next,
        });
    }
    let mut lines = match result {
        SteerResult::Changed => changes,
        SteerResult::Unchanged => vec!["unchanged: that stands already".to_owned()],
    };
    lines.extend(effects.iter().map(|effect| format!("  → {effect}")));
    lines.push(format!("next: {next}"));
    context.out.data(&render::clean(&lines.join("\n")));
}
