//! `descent status`, and `descent` alone: the present state, and one command to type next.

use clap::Args;
use descent_core::{
    state::{RunStatus, State},
    view,
    world::World,
};
use serde_json::json;

use super::{
    End, constraints,
    context::{Context, bound_of_start, surroundings},
    liveness, machine_runs, run,
};
use crate::{
    clock,
    failure::{Failure, exit},
    ops::{
        self, SeenState,
        liveness::{LoopObservation, observe},
    },
    render::{self, Meaning, StatusNote},
    store::Store,
    workspace,
};

#[derive(Debug, Args)]
pub struct StatusArgs {
    /// End with the exit code of the last ending; 75 while a loop is at work, 3 where it was cut off
    #[arg(long)]
    exit_code: bool,
    /// Show the constraints in force, and whether somebody chose them
    #[arg(long)]
    constraints: bool,
    /// List the runs of this machine, wherever it is typed
    #[arg(long, conflicts_with_all = ["exit_code", "constraints"])]
    all: bool,
}

const HOW_TO_START: &str = "descent: hand a goal to agents and walk away.
Nothing is agreed here yet. Say what you want, and how a machine can tell:

  descent align \"the goal\" --why \"why you want it\" \\
      --check \"a command that passes when it is reached\" \\
      --step \"what to do=a command that does it\"
  descent run

next: descent align --help";

pub(super) fn bare(context: &Context) -> Result<End, Failure> {
    if context.place()?.is_some() {
        return status(context, &StatusArgs { exit_code: false, constraints: false, all: false });
    }
    let none = json!({"schema": "descent/none/1", "status": null, "next": "descent align --help"});
    Ok(context.answer(&none, || HOW_TO_START.to_owned()))
}

pub(super) fn status(context: &Context, flags: &StatusArgs) -> Result<End, Failure> {
    if flags.all {
        return Ok(machine_runs::print_all(context));
    }
    let mut store = context.store()?;
    let loaded = match store.read() {
        Ok(loaded) => loaded,
        Err(error) => {
            let observed = observe(&store, RunStatus::Running);
            let understood = ops::newer::understood(&store, error);
            let (state, warnings) =
                understood.map_err(|failure| liveness::with_note(&observed, failure))?;
            for line in warnings {
                context.out.say(&format!("warning: {line}"));
            }
            let seen = SeenState { state, edit: Vec::new() };
            return Ok(show(context, flags, &store, seen));
        }
    };
    context.warn(&store, &loaded);
    let seen = ops::seen(&context.client(None), &store, &loaded);
    Ok(show(context, flags, &store, seen))
}

fn show(context: &Context, flags: &StatusArgs, store: &Store, seen: SeenState) -> End {
    let SeenState { state, edit } = seen;
    if flags.constraints {
        return constraints::show(context, &state);
    }
    let world = World::new(ops::with_usage_counted(store.place(), state));
    let observed = observe(store, world.state.run.status);
    let mut notes = notes(&observed, &edit);
    notes.extend(stop_under_way(&world.state).filter(|_| observed.holder.is_some()));
    let around = surroundings(store, &world.state);
    let mut status = view::status(&world, &around, observed.liveness);
    if !around.live {
        status.bound = bound_of_start(store, &world);
    }
    fill_workspace(store, &world, &mut status);
    if !edit.is_empty() {
        status.note_edit(&world);
    }
    context.answer_page(&status, || {
        render::status(&status, &notes, clock::now(), context.out.width())
    });
    let code = match (flags.exit_code, world.state.run.status.is_active()) {
        (false, _) => 0,
        (true, false) => run::code_of(&world.state.run),
        // No ending yet: a loop is at work, or was cut off.
        (true, true) if around.live => exit::LEASE,
        (true, true) => exit::STOPPED,
    };
    End::Code(code)
}

/// Notes beside the state: what a loop does, and whether the file was edited.
fn notes(observed: &LoopObservation, edit: &[String]) -> Vec<StatusNote> {
    let note = |(n, text): (usize, &String)| {
        let head = match n {
            0 => "edited by hand, and the next run takes it in: ",
            _ => "then ",
        };
        StatusNote { meaning: Meaning::Unknown, text: format!("{head}{}", render::line(text)) }
    };
    let edited = edit.iter().enumerate().map(note);
    liveness::note(observed).into_iter().chain(edited).collect()
}

/// A stop that waits for what must not be cut off.
fn stop_under_way(state: &State) -> Option<StatusNote> {
    let request = state.control.request.as_ref();
    let request = request.filter(|_| state.control.stop_requested)?;
    let names: Vec<&str> = state.run.in_flight.iter().map(|one| one.atom.as_str()).collect();
    let waits = if names.is_empty() {
        String::new()
    } else {
        format!("; it waits for {}", render::listed(&names, 6))
    };
    Some(StatusNote {
        meaning: Meaning::Unknown,
        text: format!("{} asked it to stop{waits} (descent stop --now ends it)", request.by),
    })
}

fn fill_workspace(store: &Store, world: &World, status: &mut view::StatusView) {
    let state = &world.state;
    let (place, kind) = (store.place(), state.objective.constraints.workspace());
    if state.run.result().is_some() {
        if let Some((path, branch)) = workspace::result_of(&place.project, &state.lineage, kind) {
            status.workspace.path = path.map(|path| path.display().to_string());
            status.workspace.branch = Some(branch);
        }
    } else if status.workspace.kind == "shared" {
        status.workspace.path = Some(place.project.display().to_string());
    }
}
