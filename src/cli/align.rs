//! `descent align`: the agreement and the first work graph, from a plan or from flags.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::Args;
use descent_core::{
    doc::{self, Fault, Node},
    graph::validate,
    id::Lineage,
    plan::Plan,
    state::{Atom, Check, Objective, RunStatus, State, Workspace},
    step::World,
    trust::Carried,
    verdict::Verdict,
    view::{self, Judged},
};
use tokio_util::sync::CancellationToken;

use super::{
    End, baseline, constraints,
    context::{Context, Waited, interruptible},
    judging, trust,
};
use crate::{
    clock,
    config::{self, Config},
    failure::{Failure, exit},
    plan_file::{self, PlanFile},
    render,
    store::{self, Place, Store, StoreError},
    workspace::{Checkout, Workspaces},
};

#[derive(Debug, Args)]
pub struct Flags {
    /// The goal, in your own words
    goal: Option<String>,
    /// A plan in JSON or YAML, `-` for standard input
    #[arg(short = 'f', long = "plan", value_name = "PLAN")]
    plan: Option<PathBuf>,
    /// A command that passes when the goal is reached (may be given again)
    #[arg(long, value_name = "COMMAND")]
    check: Vec<String>,
    /// What to do, in order; with =COMMAND a shell action, else the worker does it
    #[arg(long, value_name = "TEXT[=COMMAND]")]
    step: Vec<String>,
    /// Why it is wanted
    #[arg(long, value_name = "TEXT")]
    why: Option<String>,
    /// What shall exist
    #[arg(long, value_name = "TEXT")]
    deliver: Option<String>,
    /// When it is done, for people
    #[arg(long, value_name = "TEXT")]
    done: Option<String>,
    /// A constraint, such as max_attempts=2 or workspace=shared
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Replace an unfinished run; what stood there is archived
    #[arg(long)]
    force: bool,
    /// Agree without being asked
    #[arg(short, long)]
    yes: bool,
    /// Show what would be agreed, and write nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(super) fn align(context: &Context, flags: Flags) -> Result<End, Failure> {
    let (state, carried) = read(context, &flags)?;
    let top = top(context)?;
    let existing = existing(context)?;
    if let Some(found) = &existing
        && is_same(&found.state, &state)
    {
        let world = World::new(found.state.clone());
        if context.out.json {
            let mut value = json(&world, &[], &configured(context, &top));
            value["unchanged"] = true.into();
            context.out.json(&value);
        } else {
            let words = "unchanged: this is what is agreed already\nnext: ";
            context
                .out
                .say(&format!("{words}{}", view::next(&world, false)));
        }
        return Ok(End::Code(0));
    }
    refuse_unfinished(existing.as_deref(), flags.force)?;
    let config = configured(context, &top);
    let plan = flags.plan.as_deref().zip(carried.as_ref());
    trust::before_align(context, &top, plan, &config, flags.yes)?;
    let workspaces = Workspaces::open(&top, &state.lineage, &state.objective.constraints)?;
    // Nothing is made where nothing is agreed yet: the sidecars come with the state.
    let place = context
        .place()
        .unwrap_or_else(|| Place::at(&top, context.state.as_deref()));
    context.out.say("evaluating the checks as things stand…");
    let agreed =
        interruptible(|cancel| agree(context, &flags, &config, &place, state, &workspaces, cancel));
    let ending = agreed.and_then(|agreed| match agreed {
        Waited::Signal(signal) => Ok(Some(End::Signal(signal))),
        Waited::Done(None) => Ok(Some(End::Code(0))),
        Waited::Done(Some(state)) => {
            trust::made_here(context, &state.lineage, &config);
            write(&top, context, state, existing.is_some()).map(|()| None)
        }
    });
    if !matches!(ending, Ok(None)) {
        // Nothing came of it: nothing of it stays.
        workspaces.discard()?;
    }
    match ending? {
        Some(end) => Ok(end),
        None => {
            context.out.say("agreed\nnext: descent run");
            Ok(End::Code(0))
        }
    }
}

/// Shows what would be agreed, with today's verdicts; the state when it is to be written.
async fn agree(
    context: &Context,
    flags: &Flags,
    config: &Config,
    place: &Place,
    mut state: State,
    workspaces: &Workspaces,
    cancel: CancellationToken,
) -> Result<Option<State>, Failure> {
    baseline::forget(&mut state);
    let start = workspaces.snapshot(clock::now())?.map(|start| start.commit);
    let verify = Checkout::Verify;
    let judged = judging::all_leaves(
        context,
        place,
        &state,
        workspaces,
        start.clone(),
        verify,
        cancel.clone(),
    )
    .await?;
    let at = (workspaces, start);
    baseline::measure(context, place, &mut state, &judged, at, cancel).await?;
    let world = World::new(state);
    show(context, &world, &judged, workspaces, config);
    if flags.dry_run {
        return Ok(None);
    }
    if !flags.yes && context.may_ask && !context.consents("agree?").await {
        let hint = "align again when it is right";
        return Err(Failure::new(
            "E-NOT-ALIGNED",
            exit::NOT_ALIGNED,
            "nothing was agreed",
            hint,
        ));
    }
    Ok(Some(world.state))
}

fn write(top: &Path, context: &Context, state: State, replaces: bool) -> Result<(), Failure> {
    let mut store = Store::open(Place::create(top, context.state.as_deref())?);
    if replaces {
        let _lease = store.lease("align")?;
        let (_, archived) = store.replace(state, true)?;
        if let Some(archived) = archived {
            let state = typed(&store.place().state);
            let kept = format!("what stood here is kept in {}", archived.display());
            let back = format!("to bring it back: cp {} {state}", typed(&archived));
            context.out.say(&format!("{kept}\n{back}"));
        }
    } else {
        store.create(state)?;
    }
    store.remember();
    Ok(())
}

/// A path as it is typed in a shell.
fn typed(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+@%:,".contains(c);
    if text.chars().all(is_plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The state that plan and flags make, with what the plan alone can execute; or every fault in them.
fn read(context: &Context, flags: &Flags) -> Result<(State, Option<Carried>), Failure> {
    let (file, mut plan) = match &flags.plan {
        None => (PlanFile::none(), Plan::default()),
        Some(path) => {
            let file = plan_file::read(&context.dir, path)?;
            let plan = file.plan();
            (file, plan)
        }
    };
    let from_file = flags.plan.as_ref();
    let carried = from_file.map(|_| Carried::of_plan(&plan.objective, &plan.atoms));
    apply_flags(&mut plan, flags)?;
    let lineage = Lineage::new(uuid::Uuid::now_v7().to_string());
    let draft = plan_file::draft(plan, lineage);
    for line in file.lines(&draft.warnings) {
        context.out.say(&format!("warning: {line}"));
    }
    file.refuse(&draft.faults)?;
    gate(&draft.state, &draft.root)?;
    Ok((draft.state, carried))
}

fn gate(state: &State, root: &Node) -> Result<(), Failure> {
    let missing = validate::gate(state, root);
    if missing.is_empty() {
        return Ok(());
    }
    Err(not_aligned(&missing))
}

/// The start gate refuses, naming each missing part and how to give it.
pub(super) fn not_aligned(missing: &[Fault]) -> Failure {
    let line = |fault: &Fault| {
        format!(
            "{}: {} ({})",
            fault.pointer,
            fault.message,
            fault.hint.as_deref().unwrap_or_default()
        )
    };
    let lines = missing.iter().map(line).collect();
    let hint =
        "give what is missing: descent align GOAL --why TEXT --check COMMAND --step TEXT[=COMMAND]";
    Failure::new(
        "E-NOT-ALIGNED",
        exit::NOT_ALIGNED,
        "the agreement is not complete",
        hint,
    )
    .with(lines)
}

fn apply_flags(plan: &mut Plan, flags: &Flags) -> Result<(), Failure> {
    let objective: &mut Objective = &mut plan.objective;
    let mut put = |field: fn(&mut Objective) -> &mut String, text: &Option<String>| {
        if let Some(text) = text {
            field(objective).clone_from(text);
        }
    };
    put(|objective| &mut objective.goal, &flags.goal);
    put(|objective| &mut objective.raw_input, &flags.goal);
    put(|objective| &mut objective.background_intent, &flags.why);
    put(|objective| &mut objective.deliverables, &flags.deliver);
    put(|objective| &mut objective.definition_of_done, &flags.done);
    flags.check.iter().for_each(|check| plan.add_check(check));
    flags.step.iter().for_each(|step| plan.add_step(step));
    if !flags.set.is_empty() {
        plan.objective.constraints = constraints::set(&plan.objective.constraints, &flags.set)?;
    }
    Ok(())
}

/// Who will do the work. A mistake in the file is what `run` refuses for: here it is a warning.
fn configured(context: &Context, top: &Path) -> Config {
    config::load(top).unwrap_or_else(|error| {
        context.out.say(&format!("warning: {error}"));
        Config::default()
    })
}

/// Where the agreement is made: the top of the work tree, else here.
pub(super) fn top(context: &Context) -> Result<PathBuf, Failure> {
    if let Some(place) = context.place() {
        return Ok(place.project);
    }
    if context.state.is_some() {
        return Ok(context.dir.clone());
    }
    match crate::git::Git::open(&context.dir) {
        Ok(Some(git)) => Ok(git.top().to_owned()),
        // Whether git is needed is told by the workspace.
        Ok(None) | Err(_) => Ok(context.dir.clone()),
    }
}

fn existing(context: &Context) -> Result<Option<Arc<store::Loaded>>, Failure> {
    let Some(place) = context.place() else {
        return Ok(None);
    };
    match Store::open(place).read() {
        Ok(loaded) => Ok(Some(loaded)),
        Err(StoreError::NoState { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The same agreement, whatever has been done of it since, and whatever was measured for it.
fn is_same(old: &State, new: &State) -> bool {
    let objective = |state: &State| {
        let mut objective = (*state.objective).clone();
        objective.base_case = objective.base_case.as_ref().map(Check::unmeasured);
        doc::canonical(&objective.node())
    };
    let spec = |atom: &Atom| {
        let mut atom = atom.clone();
        if let Some(task) = atom.task_mut() {
            let spec = Arc::make_mut(&mut task.spec);
            spec.checks = spec.checks.as_ref().map(Check::unmeasured);
        }
        atom.spec_digest()
    };
    let shape = |state: &State| -> Vec<_> {
        let atoms = state.all_atoms().into_iter();
        atoms
            .map(|(id, atom)| {
                (
                    id.clone(),
                    std::mem::discriminant(&atom.body),
                    spec(atom),
                    atom.depends_on.clone(),
                    atom.kids().to_vec(),
                )
            })
            .collect()
    };
    objective(old) == objective(new) && shape(old) == shape(new)
}

fn refuse_unfinished(existing: Option<&store::Loaded>, force: bool) -> Result<(), Failure> {
    let Some(loaded) = existing else {
        return Ok(());
    };
    let is_finished = matches!(loaded.state.run.status, RunStatus::Completed);
    if force || is_finished {
        return Ok(());
    }
    let message = format!("a run stands here, {}", loaded.state.run.status.word());
    let hint = "descent run goes on with it; align --force archives it and begins anew";
    Err(Failure::new("E-UNFINISHED", exit::USAGE, message, hint))
}

fn json(world: &World, judged: &[Judged], config: &Config) -> serde_json::Value {
    serde_json::json!({
        "schema": "descent/align/1",
        "goal": world.state.objective.goal,
        "base_case": judged,
        "bound": view::bound(world.measure()),
        "atoms": world.graph.len(),
        "workspace": world.state.objective.constraints.workspace().word(),
        "worker": config.worker.as_ref().map(|worker| &worker.run),
        "unchanged": false,
    })
}

fn show(
    context: &Context,
    world: &World,
    judged: &[Judged],
    workspaces: &Workspaces,
    config: &Config,
) {
    let measure = world.measure();
    if context.out.json {
        context.out.json(&json(world, judged, config));
        return;
    }
    let constraints = &world.state.objective.constraints;
    let mut text = vec![
        format!("goal: {}", world.state.objective.goal),
        "it is reached when this holds:".to_owned(),
    ];
    text.push(render::judged(judged));
    if !judged.is_empty() && judged.iter().all(|check| check.verdict == Verdict::Pass) {
        text.push("  it holds already: a run would end at once, without an agent".to_owned());
    }
    text.push("the work:".to_owned());
    text.push(render::graph(world));
    if let Some(worker) = &config.worker {
        text.push(format!("the worker: {}", render::visible(&worker.run)));
    }
    text.push(format!(
        "at most {} attempts, then it ends",
        measure.attempts
    ));
    text.push(format!(
        "  (and {} transient retries an attempt, {} repairs and {} interruptions an atom)",
        constraints.max_transient(),
        constraints.max_repairs(),
        constraints.max_interruptions()
    ));
    if constraints.workspace() == Workspace::Shared {
        text.push("workspace: shared: agents work in place, and nothing is undone when a choice is abandoned".to_owned());
        if world.graph.groups().next().is_some() {
            text.push(
                "warning: there are groups: what an abandoned choice did stays in the files"
                    .to_owned(),
            );
        }
    } else if workspaces.identity_is_default() {
        text.push(
            "commits will be by descent <descent@localhost>: git has no user.name and user.email"
                .to_owned(),
        );
    }
    for path in workspaces.left_out() {
        text.push(format!("left out: {path} (a repository of its own)"));
    }
    context.out.data(&render::clean(&text.join("\n")));
}
