//! `descent run`: starts the loop, or resumes it, and ends with one typed result.

use std::sync::Arc;

use clap::Args;
use descent_core::{
    desired::DesiredWork,
    doc::Node,
    event::Reason,
    id::RunId,
    state::{Run, RunStatus},
    step::run_end,
    view::{self, Surroundings},
    world::World,
};

use super::{
    End, constraints,
    context::{Context, WaitOutcome, interruptible, runtime, signals},
    live::LiveArea,
    newer,
};
use crate::{
    clock, config,
    driver::{self, LoopHost, RealExecutor, RunEnding},
    evidence::{self, EvidenceStore},
    failure::{Failure, exit},
    heartbeat::Heartbeat,
    ops,
    process::programs,
    render::{self, Line, Page},
    store::StatePlace,
    workspace::{self, Checkout, Workspaces, Worktrees},
};

#[derive(Debug, Args)]
pub struct RunArgs {
    /// Change a constraint first, such as max_attempts=3 (may be given again)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Bring the result into the working tree when the run completes
    #[arg(long)]
    apply: bool,
    /// Start from this commit, tag or branch instead of from the working tree (a run that has not begun)
    #[arg(long, value_name = "REV")]
    from: Option<String>,
}

pub(super) fn run(context: &Context, flags: &RunArgs) -> Result<End, Failure> {
    let mut store = context.store()?;
    let first = store.read()?;
    newer::gate(&store, &first)?;
    ops::align::refuse_incomplete(&first.state)?;
    let config = config::load(&store.place().project)?;
    let client = context.client(Some(&config));
    let first = ops::trust::gate(&client, &mut store)?;
    let lease = ops::run::lease(&store, &first.state)?;
    ops::run::check_mode(&client, &store)?;
    let run = RunId::new(uuid::Uuid::now_v7().to_string());
    let clock = clock::real();
    let heart = Heartbeat::start(store.place(), &run, Arc::clone(&clock));
    let loaded = store.read()?;
    newer::gate(&store, &loaded)?;
    context.warn(&store, &loaded);
    ops::keep_superseded(&client, &store, &loaded)?;
    let mut loaded = ops::limits::adopt_under_lease(&client, &mut store, loaded)?;
    if !flags.set.is_empty() {
        let changes = constraints::changes(&flags.set)?;
        let changed = ops::limits::change(&client, &mut store, loaded, &changes)?;
        changed.1.iter().for_each(|event| context.tell(event));
        loaded = changed.0;
    }
    let environment = context.environment(&loaded.state);
    ops::run::check_worker(&loaded.state, &config, &environment)?;
    if !environment.withheld.is_empty() {
        context.out.say(&format!(
            "withheld from attempts: {} (name them in `env` to pass them on)",
            environment.withheld.join(", ")
        ));
    }
    let workspaces = ops::run::open(&client, &store, &loaded.state)?;
    let from = match &flags.from {
        Some(rev) => Some(ops::run::start_from(&loaded.state, &workspaces, rev)?),
        None => None,
    };
    if let Some(trees) = workspaces.trees() {
        trees.tidy()?;
    }
    let path = store.place().clone();
    crate::process::prepare()?;
    // Removed before the lease is released.
    let own = crate::process::own_tag::OwnTag::begin(&format!("{}/{run}/tools", path.mark()));
    let live = LiveArea::start(context);
    let out = context.out;
    let evidence = EvidenceStore::of(&path, Box::new(move |text| out.say(text)));
    let hands = RealExecutor {
        evidence: Arc::new(evidence),
        place: path.clone(),
        run: run.clone(),
        workspaces: workspaces.clone(),
        config,
        environment,
        programs: programs::real(),
        clock: Arc::clone(&clock),
        measuring: live.measuring(),
        held: driver::PendingOutcomes::default(),
    };
    let runtime = runtime()?;
    let host = LoopHost {
        store,
        clock,
        signals: runtime.block_on(async { signals() })?,
        watch: driver::Watch::of(&path.state),
        executor: Arc::new(hands),
        run,
        by: Context::by(),
        from,
    };
    let mut tell = |event: &_| context.tell(event);
    let mut say = |text: &str| context.out.say(text);
    let mut look = |world: &World, desired: &DesiredWork, waits_for| {
        live.look(world, desired);
        heart.turn(world, desired, waits_for);
    };
    let eyes = driver::Observer {
        on_event: &mut tell,
        on_note: &mut say,
        on_turn: &mut look,
    };
    let ending = runtime.block_on(driver::run(host, loaded, eyes))?;
    drop(live);
    drop(heart);
    drop(own);
    drop(lease);
    tracing::debug!(state = %path.state.display(), "ended");
    finish(context, flags, &path, &ending, &workspaces)
}

fn finish(
    context: &Context,
    flags: &RunArgs,
    place: &StatePlace,
    ending: &RunEnding,
    workspaces: &Workspaces,
) -> Result<End, Failure> {
    if let (Some(signal), true) = (ending.signal, ending.has_no_result) {
        return Ok(End::Signal(signal));
    }
    let run = &ending.world.state.run;
    let applies = flags.apply && run.status == RunStatus::Completed;
    let result = run_end::last_result(&ending.world.state).unwrap_or_else(Node::null);
    // A run that could not begin made no tree of its result.
    let path = run.result().map(|_| workspaces.path_of_result());
    let path = path.filter(|path| path.is_dir());
    let path = path.map(|path| path.display().to_string());
    if context.out.json {
        let mut value = result_json(&ending.world, &result, path.as_deref(), workspaces);
        evidence::locate(place, &mut value);
        context.out.json(&value);
    } else {
        let lies_at = |one: &_| Some(evidence::find(place, one)?.display().to_string());
        let mut page = render::result(&result, path.as_deref(), &lies_at, context.out.width());
        judged_where(&mut page, workspaces, Checkout::Pristine);
        match run.status {
            _ if applies => {}
            RunStatus::Completed => page.next(&next_of(place, &ending.world)),
            _ => render::moves(&mut page, &result),
        }
        context.out.page(&page);
    }
    if let Some(signal) = ending.signal
        && run.status == RunStatus::Stopped
    {
        return Ok(End::Signal(signal));
    }
    if applies {
        return apply(context);
    }
    Ok(End::Code(code_of(run)))
}

/// The command after a completed run; its result may have been applied already.
fn next_of(place: &StatePlace, world: &World) -> String {
    let around = Surroundings {
        live: false,
        applied: workspace::applied(place, &world.state.lineage),
    };
    view::next(world, &around)
}

/// Names the things that a deciding verdict shared with other trees.
pub(super) fn judged_where(page: &mut Page, workspaces: &Workspaces, which: Checkout) {
    let row = |word: &str| Line::indent(2).then(Line::new().dim(word).pad(8));
    let Some(trees) = workspaces.trees() else {
        page.whole(row("shared").plain("checked in place: there is no fresh checkout here"));
        return;
    };
    for kept in trees.keeps() {
        page.whole(row("kept").plain(format!(
            "{kept}: it may be left over from an earlier checkout"
        )));
    }
    for link in trees.linked(which) {
        page.whole(row("linked").plain(format!("{link}: the checks saw what stands there now")));
    }
}

/// The paths that the checks shared with the project.
pub(super) fn linked(workspaces: &Workspaces, which: Checkout) -> Vec<String> {
    let trees = workspaces.trees();
    trees.map_or(Vec::new(), |trees| trees.linked(which))
}

/// Signals are caught by now and must be answered, so a thread of its own waits for git.
fn apply(context: &Context) -> Result<End, Failure> {
    let (over, is_over) = tokio::sync::oneshot::channel::<()>();
    std::thread::scope(|scope| {
        let applying = scope.spawn(move || {
            let applied = super::apply::apply(context, &super::apply::ApplyArgs::default());
            drop(over);
            applied
        });
        let waited = interruptible(|_| async {
            // Its end is the message.
            let _ = is_over.await;
            Ok(())
        });
        let applied = applying.join().map_err(|_| Failure::bug("apply broke"))?;
        match waited? {
            WaitOutcome::Signal(signal) => Ok(End::Signal(signal)),
            WaitOutcome::Done(()) => applied,
        }
    })
}

pub(super) fn code_of(run: &Run) -> u8 {
    let result = run.last_result.as_ref();
    let reason = result.and_then(|result| result.data.reason);
    match run.status {
        RunStatus::Stopped if reason == Some(Reason::Unavailable) => exit::UNAVAILABLE,
        RunStatus::Completed => 0,
        RunStatus::Stopped | RunStatus::Aligned => exit::STOPPED,
        RunStatus::Exhausted => exit::EXHAUSTED,
        RunStatus::NeedsGuidance => exit::PERSON_NEEDED,
        RunStatus::Running | RunStatus::Redirecting => exit::BUG,
    }
}

fn result_json(
    world: &World,
    result: &Node,
    path: Option<&str>,
    workspaces: &Workspaces,
) -> serde_json::Value {
    let mut value = serde_json::json!({"schema": "descent/result/1"});
    if let Some(map) = value.as_object_mut() {
        let result = serde_json::to_value(result).unwrap_or_default();
        map.extend(result.as_object().cloned().unwrap_or_default());
        map.insert("serial".to_owned(), world.state.serial.0.into());
        if let Some(workspace) = map
            .get_mut("workspace")
            .and_then(|workspace| workspace.as_object_mut())
        {
            workspace.insert("path".to_owned(), path.into());
            let branch = workspaces.trees().map(Worktrees::result_ref);
            workspace.insert("branch".to_owned(), branch.into());
            let linked = linked(workspaces, Checkout::Pristine);
            workspace.insert("linked".to_owned(), linked.into());
        }
    }
    value
}
