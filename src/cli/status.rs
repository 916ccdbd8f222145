//! `descent status`, and `descent` alone: the present state, the activity of a loop, and one command to type next. Also
//! the runs of this machine (`--all`), and `descent graph`.

use clap::{Args, ValueEnum};
use descent_core::{
    state::{RunStatus, State},
    view,
    view::liveness::{Activity, WaitsFor},
    world::World,
};
use serde_json::json;

use super::{
    ALIGN, Context, End, Failure, Line, Meaning, Page, clock, constraints, context::bound_of_start,
    exit, phrase, render, run, surroundings,
};
use crate::render::StatusNote;
use descent_engine::{
    heartbeat,
    ops::{
        self, SeenState,
        liveness::{LoopObservation, OR_END, observe, waits_for},
        watch::{KnownRun, list_runs},
    },
};
use descent_store::Store;
use descent_workspace as workspace;

#[derive(Debug, Default, Args)]
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
Nothing is agreed here. With an agent, descent do \"the goal\" is enough. By hand:

  descent align \"the goal\" --why \"why you want it\" \\
      --check \"a command that passes when it is reached\" \\
      --step \"what to do=a command that does it\"
  descent run

next: descent align --help";

pub(super) fn bare(context: &Context) -> Result<End, Failure> {
    if context.place()?.is_some() {
        return status(context, &StatusArgs::default());
    }
    let none = json!({"schema": "descent/none/1", "status": null, "next": ALIGN});
    Ok(context.answer(&none, || HOW_TO_START.to_owned()))
}

pub(super) fn status(context: &Context, flags: &StatusArgs) -> Result<End, Failure> {
    if flags.all {
        return Ok(print_all(context));
    }
    let mut store = context.store()?;
    let read = store.read();
    let loaded =
        read.map_err(|error| with_note(&observe(&store, RunStatus::Running), error.into()))?;
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
    let edited = edit.iter().enumerate().map(|(n, text)| {
        let head = if n == 0 { "edited by hand, and the next run takes it in: " } else { "then " };
        StatusNote { meaning: Meaning::Unknown, text: format!("{head}{}", phrase::line(text)) }
    });
    let mut notes: Vec<_> = note_on_loop(&observed).into_iter().chain(edited).collect();
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

/// A stop that waits for what must not be cut off.
fn stop_under_way(state: &State) -> Option<StatusNote> {
    let request = state.control.request.as_ref();
    let request = request.filter(|_| state.control.stop_requested)?;
    let names: Vec<&str> = state.run.in_flight.iter().map(|one| one.atom.as_str()).collect();
    let waits =
        (!names.is_empty()).then(|| format!("; it waits for {}", phrase::listed(&names, 6)));
    let waits = waits.unwrap_or_default();
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

/// Columns of the first word, of the time and of the work.
const WORD_WIDTH: usize = 16;
const TIME_WIDTH: usize = 10;
const WORK_WIDTH: usize = 10;

fn print_all(context: &Context) -> End {
    let listing = list_runs();
    for warning in &listing.warnings {
        context.out.say(warning);
    }
    context.answer_page(&listing, || {
        let mut page = Page::new(context.out.width());
        if listing.runs.is_empty() {
            page.push(Line::of("no run is known on this machine"));
        }
        for run in &listing.runs {
            run_lines(&mut page, run);
        }
        page.next(&listing.next);
        page
    })
}

fn run_lines(page: &mut Page, run: &KnownRun) {
    let age = phrase::since(&run.since, clock::now()).map(phrase::age).unwrap_or_default();
    let when = if run.live { format!("for {age}") } else { format!("{age} ago") };
    let work = format!("{} of {}", run.resolved, run.resolved + run.unresolved);
    let goal = run.goal.as_ref().or(run.problem.as_ref());
    let goal = goal.map(|text| phrase::line(text)).unwrap_or_default();
    let (meaning, word) = run_word(run);
    let head = Line::new().put(meaning, word).pad(WORD_WIDTH);
    let head = head.then(Line::of(when).pad(TIME_WIDTH));
    page.push(head.then(Line::of(work).pad(WORK_WIDTH)).plain(goal));
    let place = if run.is_usual { &run.project } else { &run.state };
    let detached = if run.detached { ", detached" } else { "" };
    let process = run.pid.map(|pid| format!("  pid {pid}{detached}"));
    let place = Line::indent(WORD_WIDTH).plain(place.display().to_string());
    page.whole(place.dim(process.unwrap_or_default()));
}

/// How the run stands, in a word or two.
fn run_word(run: &KnownRun) -> (Meaning, &'static str) {
    match (run.activity, run.status) {
        (Activity::Idle, _) if run.live => {
            let word = match run.waits_for {
                Some(WaitsFor::File) => "waits for file",
                Some(WaitsFor::Disk) => "waits for disk",
                Some(WaitsFor::Repository) => "waits for repository",
                Some(WaitsFor::Redirect) => "redirecting",
                Some(WaitsFor::Backoff) | None => "waits",
            };
            (Meaning::Unknown, word)
        }
        (Activity::Idle, Some(status)) => (Meaning::of(status), status),
        (Activity::Idle, None) => (Meaning::Fail, "unreadable"),
        (Activity::Running, _) => (Meaning::Running, "running"),
        (Activity::Hung, _) => (Meaning::Fail, "hung"),
        (Activity::Asleep, _) => (Meaning::Unknown, "asleep"),
        (Activity::Dead, Some(_)) => (Meaning::Unknown, "cut off"),
        (Activity::Dead, None) => (Meaning::Fail, "unreadable"),
    }
}

/// One line on the activity of a loop, if there is any.
pub(super) fn note_on_loop(observed: &LoopObservation) -> Option<StatusNote> {
    let (meaning, text) = match (observed.liveness.activity, observed.holder.as_deref()) {
        (Activity::Running, who) => (Meaning::Running, format!("a loop is at work: {}", who?)),
        (Activity::Idle, who) => {
            let what = waits_for(observed.liveness.waits_for?);
            (Meaning::Unknown, format!("a loop waits {what}: {}", who?))
        }
        (Activity::Hung, _) => (Meaning::Fail, observed.hung()),
        (Activity::Asleep, who) => {
            let slept_ms = observed.heartbeat().and_then(|heartbeat| heartbeat.slept_ms);
            let slept = phrase::age(slept_ms.unwrap_or(0));
            let text = format!("the machine slept for {slept}; the loop goes on: {}", who?);
            (Meaning::Running, text)
        }
        (Activity::Dead, _) => {
            let heartbeat = observed.heartbeat()?;
            let (now, doing, pid) = (clock::now(), heartbeat.phase.describe(), heartbeat.pid);
            let seen = phrase::since_moment(heartbeat::last_sign(heartbeat, now), now);
            (Meaning::Dim, format!("its last sign of life: {seen}, {doing} (pid {pid})"))
        }
    };
    Some(StatusNote { meaning, text })
}

/// Adds the state of a loop to a failure: one that waits for the file can still be ended.
pub(super) fn with_note(observed: &LoopObservation, mut failure: Failure) -> Failure {
    let is_waiting = observed.liveness.waits_for == Some(WaitsFor::File);
    if let Some(note) = note_on_loop(observed).filter(|_| is_waiting) {
        failure.details.push(note.text);
        failure.hint.push_str(OR_END);
    }
    failure
}

#[derive(Debug, Args)]
pub struct GraphArgs {
    /// How it is written: a tree, or for Mermaid
    #[arg(long, value_enum, default_value_t = GraphFormat::Text)]
    format: GraphFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum GraphFormat {
    Text,
    Mermaid,
}

pub(super) fn graph(context: &Context, flags: &GraphArgs) -> Result<End, Failure> {
    let (_, loaded) = context.read()?;
    let view = view::graph::graph(&World::new(loaded.state.clone()));
    let out = context.out;
    match flags.format {
        _ if out.json => out.json(&view),
        GraphFormat::Text => out.page(&render::graph(&view, out.width())),
        GraphFormat::Mermaid => out.raw(&render::mermaid(&view.nodes.iter().collect::<Vec<_>>())),
    }
    Ok(End::Code(0))
}
