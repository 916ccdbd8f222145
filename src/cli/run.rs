//! `descent run`: starts the loop, or resumes it, and ends with one typed result.

use std::sync::Arc;

use clap::Args;
use descent_core::{
    desired::DesiredWork,
    doc::Node,
    event::Reason,
    id::RunId,
    state::{Run, RunStatus, StartedFrom, State, Workspace},
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
    clock,
    config::{self, Config},
    driver::{self, LoopHost, RealExecutor, RunEnding},
    evidence::{self, EvidenceStore},
    failure::{Failure, exit},
    heartbeat::Heartbeat,
    ops::{self, liveness, result::commit_missing},
    process::programs,
    render::{self, Line, Page},
    store::{Lease, LoadedState, StatePlace, Store, StoreError},
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
    let lease = lease(&store, &first.state)?;
    say_mode(context, &store)?;
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
    look_before(&loaded.state, &config, &environment)?;
    if !environment.withheld.is_empty() {
        context.out.say(&format!(
            "withheld from attempts: {} (name them in `env` to pass them on)",
            environment.withheld.join(", ")
        ));
    }
    let workspaces = open(context, &store, &loaded)?;
    let from = match &flags.from {
        Some(rev) => Some(start_from(&loaded.state, &workspaces, rev)?),
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
        tell: &mut tell,
        say: &mut say,
        on_turn: &mut look,
    };
    let ending = runtime.block_on(driver::run(host, loaded, eyes))?;
    drop(live);
    drop(heart);
    drop(own);
    drop(lease);
    tracing::debug!(state = %path.state.display(), "ended");
    finish((context, flags), &path, &ending, &workspaces)
}

/// Takes the lease. A hung loop keeps it: then a person is told which loop it is, and how to go on.
fn lease(store: &Store, state: &State) -> Result<Lease, Failure> {
    store.lease("run").map_err(|error| {
        let failure = Failure::from(error);
        let look = liveness::look(store, state.run.status);
        if failure.code == "E-LEASE-HELD" && look.is_hung() {
            return look.failure("E-LEASE-HELD", "another loop works on this state; ");
        }
        failure
    })
}

/// Warns a person if a save by hand is less safe here than elsewhere.
fn say_mode(context: &Context, store: &Store) -> Result<(), Failure> {
    match store.mode() {
        Ok(mode) if mode.is_degraded() => {
            let (name, meaning) = (mode.name(), mode.meaning());
            context.out.say(&format!(
                "the file system of the state is degraded ({name}): {meaning}"
            ));
        }
        Ok(_) => {}
        // The first commit will report it better; but a lock is awaited only once.
        Err(error @ StoreError::LockTimeout { .. }) => return Err(error.into()),
        Err(error) => tracing::debug!(%error, "the file system of the state could not be tried"),
    }
    Ok(())
}

/// The workspaces, with the start of the run.
fn open(
    context: &Context,
    store: &Store,
    loaded: &Arc<LoadedState>,
) -> Result<Workspaces, Failure> {
    let state = &loaded.state;
    let constraints = &state.objective.constraints;
    let workspaces = Workspaces::open(store.place(), &state.lineage, constraints)?;
    let Some(start) = &state.run.started_from else {
        return Ok(workspaces.begin()?);
    };
    let Some(trees) = workspaces.trees() else {
        return Ok(workspaces);
    };
    if let Some(words) = trees.move_in(start)? {
        context.out.say(&words);
    }
    // Later commits can be made again; the start of the run cannot, except from the very same files.
    if !trees.start_is_there(start)? {
        if !trees.remake_start(start)? {
            return Err(commit_missing(&start.commit, constraints.workspace()));
        }
        let words = "the repository of this run was lost: it is begun again from the files, which are as they were";
        context.out.say(words);
    }
    Ok(workspaces)
}

/// The commit that `--from` names; only a run that has not begun can start elsewhere.
fn start_from(state: &State, workspaces: &Workspaces, rev: &str) -> Result<StartedFrom, Failure> {
    let constraints = &state.objective.constraints;
    let other = match constraints.workspace() {
        Workspace::Git => None,
        Workspace::Shared => Some((
            "agents work in place here, so there is no other commit to start from",
            "git switch to it, then run without --from; or align with --set workspace=git",
        )),
        Workspace::Shadow => Some((
            "a run starts from the files here: a private repository has no other commits",
            "run without --from; or, in a repository, align with --set workspace=git",
        )),
    };
    if let Some((what, hint)) = other {
        return Err(Failure::usage(what, hint));
    }
    if let (Some(start), Some(_)) = (&state.run.started_from, &state.run.head) {
        let short: String = start.commit.as_str().chars().take(12).collect();
        let what = format!("this run has begun already, from {short}");
        let hint = "descent run goes on with it; to begin anew elsewhere: descent align --force -f PLAN (it archives this run), then descent run --from REV";
        return Err(Failure::new("E-BEGUN", exit::USAGE, what, hint));
    }
    let trees = workspaces.trees();
    let start = trees.map_or(Ok(None), |trees| trees.start_from(rev))?;
    start.ok_or_else(|| {
        let what = format!("'{rev}' names no commit of this repository");
        let hint = "a commit, a tag or a branch, as `git log --oneline --all` shows them";
        Failure::new("E-NO-SUCH-REV", exit::USAGE, what, hint)
    })
}

/// Reports problems that would make every attempt fail before the first one starts.
fn look_before(
    state: &State,
    config: &Config,
    environment: &crate::process::environment::Environment,
) -> Result<(), Failure> {
    let needs_worker = state
        .atoms
        .values()
        .any(|atom| atom.task().is_some_and(|task| task.spec.action.is_none()));
    if !needs_worker {
        return Ok(());
    }
    let Some(worker) = &config.worker else {
        return Err(driver::no_worker());
    };
    let path = environment
        .vars
        .iter()
        .find(|(name, _)| name == "PATH")
        .map(|(_, path)| path.clone())
        .unwrap_or_default();
    match config::missing_program(&worker.run, &path) {
        None => Ok(()),
        Some(program) => {
            let hint = format!("install {program}, or name another worker in descent.toml");
            let message = format!("the worker `{program}` of descent.toml is not installed");
            Err(Failure::new(
                "E-WORKER-MISSING",
                exit::UNAVAILABLE,
                message,
                hint,
            ))
        }
    }
}

fn finish(
    (context, flags): (&Context, &RunArgs),
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
    let reason = result.and_then(|result| result.get("reason")?.as_str());
    match run.status {
        RunStatus::Stopped if reason == Some(Reason::Unavailable.word()) => exit::UNAVAILABLE,
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
    let mut value = serde_json::to_value(result).unwrap_or_default();
    if let Some(map) = value.as_object_mut() {
        map.insert("schema".to_owned(), "descent/result/1".into());
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
