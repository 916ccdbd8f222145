//! `descent align`: the agreement and the first work graph, from a plan or from flags.

mod consent;
mod costs;
mod edited;
mod offers;
pub(super) mod preview;
mod proposals;
mod questions;
mod verdict_text;

use std::{
    io::IsTerminal,
    path::{Path, PathBuf},
};

use clap::Args;
use descent_core::{
    graph::validate::{self, MissingPart},
    id::{AgentName, Lineage},
    plan::PlanReading,
    state::{Objective, State},
    trust::TrustList,
    view,
    world::World,
};

use super::{
    End, constraints,
    context::{Context, WaitOutcome, interruptible, surroundings},
    usage,
};
use crate::{
    config::{self, Config},
    failure::{Failure, quoted},
    ops::{
        self,
        agents::{self, AgentLook, AgentUse},
        align::{existing, is_same, isolation, refuse_unfinished},
        compare::CheckoutComparison,
    },
    plan_file::{self, PlanFile},
    process::programs,
    store::{LoadedState, StatePlace},
    workspace::{Size, Workspaces},
};

/// Why a plan and flags make no agreement.
enum AlignRefusal {
    /// These parts are missing: a person can be asked for them.
    Incomplete(Vec<MissingPart>),
    Failed(Failure),
}

impl From<Failure> for AlignRefusal {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

#[derive(Debug, Args)]
pub struct AlignArgs {
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
    /// After the steps, this agent plans the work that reaches the goal
    #[arg(long, value_name = "AGENT", conflicts_with = "plan")]
    plan_with: Option<String>,
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
    /// Files that no attempt may change, such as tests/** (short for --set protected=…; may be given again)
    #[arg(long, value_name = "GLOB")]
    protect: Vec<String>,
    /// A path of the project that every workspace shares, such as node_modules (short for --set link=…)
    #[arg(long, value_name = "PATH")]
    link: Vec<String>,
    /// A command to run once in each new workspace, such as 'npm ci' (short for --set setup=…)
    #[arg(long, value_name = "COMMAND")]
    setup: Option<String>,
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

pub(super) fn align(context: &Context, mut flags: AlignArgs) -> Result<End, Failure> {
    refuse_a_plan_as_a_goal(context, &flags)?;
    let file = match &flags.plan {
        None => PlanFile::none(),
        Some(path) => plan_file::read(&context.dir, path)?,
    };
    let top = context.top()?;
    let config = configured(context, &top);
    let asks = asks(context, &flags);
    if let Some(end) = edited::take_in(context, &flags, &file, &top, &config)? {
        return Ok(end);
    }
    let state = match read(&file, &flags, |line| context.out.say(line)) {
        Err(AlignRefusal::Incomplete(missing)) if asks => {
            refuse_unfinished(existing(context.place()?)?.as_deref(), flags.force)?;
            questions::fill(context.out, &mut flags, &missing, &top, &config)?;
            // The plan's own warnings were printed by the first reading.
            read(&file, &flags, |_| ())
        }
        read => read,
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let has_agent = config.worker_line().is_some() || !agents::installed(&path).is_empty();
    let (mut state, carried) = state.map_err(|refusal| match refusal {
        AlignRefusal::Incomplete(missing) => proposals::complete(&missing, &flags, &top, has_agent),
        AlignRefusal::Failed(failure) => failure,
    })?;
    let existing = existing(context.place()?)?;
    if let Some(found) = &existing
        && !flags.force
        && is_same(&found.state, &state)
    {
        return unchanged(context, found, &config);
    }
    refuse_unfinished(existing.as_deref(), flags.force)?;
    let plan = flags.plan.as_deref().zip(carried.as_ref());
    let mut client = context.client(Some(&config));
    client.may_ask &= !flags.yes;
    ops::trust::gate_plan(&client, &top, &context.dir, plan, &config)?;
    AgentLook {
        config: &config,
        environment: &ops::environment(&state),
        programs: &*programs::real(),
        dir: &top,
    }
    .ready(&state, AgentUse::Agreement)?;
    choose_workspace(context, &top, asks, &mut state)?;
    let place = context
        .place()?
        .unwrap_or_else(|| StatePlace::at(&top, context.state.as_deref()));
    let workspaces = Workspaces::open(&place, &state.lineage, &state.objective.constraints)?;
    let agreed = interruptible(|cancel| {
        let agreeing = consent::Consent {
            context,
            flags: &flags,
            config: &config,
            top: &top,
            place: &place,
            asks,
        };
        agreeing.agree(state, workspaces.clone(), cancel)
    });
    let ending = agreed.and_then(|agreed| match agreed {
        WaitOutcome::Signal(signal) => Ok(Some(End::Signal(signal))),
        WaitOutcome::Done(None) => Ok(Some(End::Code(0))),
        WaitOutcome::Done(Some(state)) => {
            ops::trust::made_here(&client, &state.lineage, &config);
            write(context, &top, state, existing.is_some()).map(|()| None)
        }
    });
    if !matches!(ending, Ok(None)) {
        // The agreement did not come about, so nothing of it stays.
        if let Some(trees) = workspaces.trees() {
            trees.discard()?;
        }
        place.unmake().ok();
    }
    match ending? {
        Some(end) => Ok(end),
        None => {
            let how = how_agreed(context, &flags, asks);
            context.out.say(&format!("{how}\nnext: descent run"));
            Ok(End::Code(0))
        }
    }
}

/// A person is asked if there is one, unless they agreed to all or a program wants JSON.
fn asks(context: &Context, flags: &AlignArgs) -> bool {
    context.may_ask && !context.out.json && !flags.yes
}

fn how_agreed(context: &Context, flags: &AlignArgs, asks: bool) -> &'static str {
    match (asks || flags.yes, std::io::stdin().is_terminal()) {
        (true, _) => "agreed",
        (false, false) => "agreed without asking: no terminal",
        (false, true) if context.out.json => "agreed without asking: --json",
        (false, true) => "agreed without asking: asking is switched off",
    }
}

fn unchanged(context: &Context, found: &LoadedState, config: &Config) -> Result<End, Failure> {
    let world = World::new(found.state.clone());
    if context.out.json {
        let none = CheckoutComparison::default();
        let mut output = preview::output(&world, &none, config);
        output.unchanged = true;
        context.out.json(&output);
    } else {
        let words = "unchanged: this is what is agreed already\nnext: ";
        let next = view::next(&world, &surroundings(&context.store()?, &found.state));
        context.out.say(&format!("{words}{next}"));
    }
    Ok(End::Code(0))
}

/// The configured worker. A mistake in the file makes `run` refuse; here it is a warning.
fn configured(context: &Context, top: &Path) -> Config {
    config::load(top).unwrap_or_else(|error| {
        context.out.say(&format!("warning: {error}"));
        Config::default()
    })
}

fn write(context: &Context, top: &Path, state: State, replaces: bool) -> Result<(), Failure> {
    let mut store = context.open(StatePlace::create(top, context.state.as_deref())?);
    if let Some(archived) = ops::align::write(&mut store, state, replaces)? {
        let state = quoted(&store.place().state);
        let kept = format!("what stood here is kept in {}", archived.display());
        let back = format!("to bring it back: cp {} {state}", quoted(&archived));
        context.out.say(&format!("{kept}\n{back}"));
    }
    Ok(())
}

/// Asks where attempts work if the directory is large and nobody said it.
fn choose_workspace(
    context: &Context,
    top: &Path,
    asks: bool,
    state: &mut State,
) -> Result<(), Failure> {
    let Size::Large { what, largest } = isolation::presume(top, state)? else {
        return Ok(());
    };
    if !asks {
        return Err(isolation::too_large(top, what, &largest));
    }
    let holds = format!("{} holds {what}", top.display());
    let kind = questions::workspace(context.out, &holds, &quoted(&largest))?;
    isolation::set(state, kind);
    Ok(())
}

/// The state from plan and flags, with the plan's own commands; or every fault in them.
fn read(
    file: &PlanFile,
    flags: &AlignArgs,
    warn: impl Fn(&str),
) -> Result<(State, Option<TrustList>), AlignRefusal> {
    let (state, carried) = read_parts(file, flags, warn)?;
    let missing = validate::missing_parts(&state);
    if !missing.is_empty() {
        return Err(AlignRefusal::Incomplete(missing));
    }
    Ok((state, carried))
}

/// The same, whatever is missing.
fn read_parts(
    file: &PlanFile,
    flags: &AlignArgs,
    warn: impl Fn(&str),
) -> Result<(State, Option<TrustList>), Failure> {
    let mut plan = match &flags.plan {
        None => PlanReading::default(),
        Some(_) => file.plan(),
    };
    let from_file = flags.plan.as_ref();
    let carried = from_file.map(|_| TrustList::of_plan(&plan.objective, &plan.atoms));
    if from_file.is_some() {
        plan.keep();
    }
    apply_flags(&mut plan, flags)?;
    let lineage = Lineage::new(uuid::Uuid::now_v7().to_string());
    let draft = plan_file::draft(plan, lineage);
    for line in file.lines(&draft.warnings) {
        warn(&format!("warning: {line}"));
    }
    file.refuse(&draft.faults)?;
    Ok((draft.state, carried))
}

/// Refuses the name of a plan that would be taken for the goal in words.
fn refuse_a_plan_as_a_goal(context: &Context, flags: &AlignArgs) -> Result<(), Failure> {
    let Some(goal) = flags.goal.as_deref().filter(|_| flags.plan.is_none()) else {
        return Ok(());
    };
    let path = Path::new(goal);
    let is_plan = path
        .extension()
        .is_some_and(|kind| ["json", "yaml", "yml"].iter().any(|plan| kind == *plan));
    if !is_plan || !context.dir.join(path).is_file() {
        return Ok(());
    }
    let message = format!("`{goal}` is a file, and a goal is said in words");
    let hint = format!("if it is the plan: descent align -f {}", quoted(path));
    Err(Failure::usage(message, hint))
}

/// Refuses blank flags: an empty check would hold at once.
fn refuse_blank(flags: &AlignArgs) -> Result<(), Failure> {
    let given = [
        ("--check", flags.check.clone()),
        ("--protect", flags.protect.clone()),
        ("--link", flags.link.clone()),
        ("--setup", flags.setup.iter().cloned().collect()),
    ];
    usage::refuse_blank("align", &given)?;
    flags
        .step
        .iter()
        .try_for_each(|step| refuse_half_a_step(step))
}

/// A step with `=` must have a name and a command: without a command it would be the worker's.
fn refuse_half_a_step(step: &str) -> Result<(), Failure> {
    let (name, command) = match step.split_once('=') {
        Some((name, command)) => (name, Some(command)),
        None => (step, None),
    };
    let is_blank = |text: &str| text.trim().is_empty();
    let missing = if is_blank(name) {
        "name"
    } else if command.is_some_and(is_blank) {
        "command"
    } else {
        return Ok(());
    };
    let message = match is_blank(step) {
        true => "`--step` is given an empty text".to_owned(),
        false => format!("the step `{step}` has no {missing}"),
    };
    let hint = "write --step 'NAME=COMMAND', or --step 'NAME' for the worker";
    Err(Failure::usage(message, hint))
}

/// The agent of a planning step, by its name.
fn planner(flags: &AlignArgs) -> Result<Option<AgentName>, Failure> {
    let Some(name) = flags.plan_with.as_deref().map(str::trim) else {
        return Ok(None);
    };
    if !AgentName::is_valid(name) {
        let message = format!("`--plan-with {}` names no agent", name.escape_debug());
        let hint = "the name of an agent of descent.toml: 1 to 64 of a-z, 0-9, `_`, `.` and `-`";
        return Err(Failure::usage(message, hint));
    }
    Ok(Some(AgentName::from(name)))
}

fn apply_flags(plan: &mut PlanReading, flags: &AlignArgs) -> Result<(), Failure> {
    refuse_blank(flags)?;
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
    if flags.plan.is_none() {
        plan.judge_last_step();
    }
    if let Some(agent) = planner(flags)? {
        plan.add_planning(agent);
    }
    if !flags.set.is_empty() {
        plan.objective.constraints = constraints::set(&plan.objective.constraints, &flags.set)?;
    }
    let constraints = &mut plan.objective.constraints;
    add(&mut constraints.protected, &flags.protect);
    add(&mut constraints.link, &flags.link);
    if let Some(setup) = &flags.setup {
        constraints.setup = Some(setup.clone());
    }
    Ok(())
}

fn add(to: &mut Vec<String>, more: &[String]) {
    for text in more {
        if !to.contains(text) {
            to.push(text.clone());
        }
    }
}
