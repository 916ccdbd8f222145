//! `descent align`: the agreement and the first work graph, from a plan or from flags.

mod agreement;
mod preview;
mod proposed;
mod questions;
mod reading;

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::Args;
use descent_core::{
    change::Redirect,
    doc::Node,
    id::AgentName,
    proposal::Clarification,
    state::{Duty, Role, State, Usage},
    trust::TrustList,
};

use super::{
    End,
    agree::{self, Manner},
    context::{Context, signals_are_given_back},
    help,
};
use descent_agent::config::{self, Config};
use descent_engine::{
    ops::{
        self,
        align::{agreement_view::AgreementView, existing, is_continued, refuse_unfinished},
        redirect::RedirectOrder,
        trust::{self, NamedPlan},
    },
    plan_file,
};
use descent_store::{LoadedState, StatePlace, Store, StoreError};
use descent_system::failure::Failure;

use reading::{FirstState, PlanOrigin, PlanText, read, refuse_a_plan_as_a_goal};

/// The budget that is proposed where an agent works.
const CEILING_TIME: &str = "2h";
const CEILING_USD: u32 = 10;

#[derive(Debug, Default, Args)]
pub struct AlignArgs {
    /// The goal, in your own words
    goal: Option<String>,
    /// A plan in JSON or YAML, `-` for standard input
    #[arg(short = 'f', long = "plan", value_name = "PLAN")]
    pub(super) plan: Option<PathBuf>,
    /// A command that passes when the goal is reached (may be given again)
    #[arg(long, value_name = "COMMAND", value_parser = help::filled)]
    check: Vec<String>,
    /// What to do, in order; with =COMMAND a shell action, else the worker does it
    #[arg(long, value_name = "TEXT[=COMMAND]")]
    step: Vec<String>,
    /// After the steps, this agent plans the work that reaches the goal
    #[arg(long, value_name = "AGENT", conflicts_with = "plan")]
    plan_with: Option<String>,
    /// The work by a pattern: recon, iterate, map or triage; without a name they are listed
    #[arg(long, value_name = "NAME", num_args = 0..=1, conflicts_with_all = ["plan", "step", "plan_with"])]
    pattern: Option<Option<String>>,
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
    #[arg(long, value_name = "GLOB", value_parser = help::filled)]
    protect: Vec<String>,
    /// A path of the project that every workspace shares, such as node_modules (short for --set link=…)
    #[arg(long, value_name = "PATH", value_parser = help::filled)]
    link: Vec<String>,
    /// A command to run once in each new workspace, such as 'npm ci' (short for --set setup.run=…)
    #[arg(long, value_name = "COMMAND", value_parser = help::filled)]
    setup: Option<String>,
    /// Replace an unfinished run; what stood there is archived
    #[arg(long)]
    pub(super) force: bool,
    /// Agree without being asked
    #[arg(short, long)]
    yes: bool,
    /// It is only shown.
    #[arg(skip)]
    dry_run: bool,
    /// Its budget is one that nobody named.
    #[arg(skip)]
    has_ceiling: bool,
    /// The part of `do`.
    #[arg(skip)]
    pub(super) errand: Option<ErrandFlags>,
    /// The plan that flags come over.
    #[arg(skip)]
    text: Option<PlanText>,
    /// The agents that were asked, and all that they used.
    #[arg(skip)]
    used: Vec<(AgentName, Duty, Usage)>,
    /// Whether the person was told that questions come.
    #[arg(skip)]
    is_asked: bool,
    /// A person's answers to an agent's questions and proposals.
    #[arg(skip)]
    clarifications: Vec<Clarification>,
    /// The agent's last proposal, and how often it was asked for another one.
    #[arg(skip)]
    proposal: Option<(Node, usize)>,
    /// The text of the state file, where it is the plan: nobody agreed to it yet.
    #[arg(skip)]
    written: Option<Vec<u8>>,
    /// Whether `run` found that file, so that nobody named it.
    #[arg(skip)]
    is_found: bool,
}

/// `descent align`, with what `do` has otherwise.
#[derive(Debug, Args)]
pub struct AlignCommand {
    #[command(flatten)]
    agreement: AlignArgs,
    /// Show what would be agreed, and write nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

impl AlignCommand {
    pub(super) fn flags(self) -> AlignArgs {
        AlignArgs { dry_run: self.dry_run, ..self.agreement }
    }
}

/// The part of `do` in an agreement.
#[derive(Debug, Clone, Copy)]
pub(super) struct ErrandFlags {
    /// Work that an agent proposes is taken where nobody can be asked.
    pub(super) accept_work: bool,
    /// It was taken so: no check of it runs.
    pub(super) is_unseen: bool,
}

impl AlignArgs {
    /// Proposes a budget where an agent works and the person said none; whether it did.
    fn propose_ceiling(&mut self, state: &State, config: &Config) -> bool {
        let worker = config.agent(Role::Worker, None).ok().flatten();
        let mut tasks = state.atoms.values().filter_map(|atom| atom.task());
        let is_said =
            self.plan.is_some() || self.set.iter().any(|pair| pair.starts_with("budget."));
        let works = tasks.any(|task| task.spec.action.is_none());
        let Some(worker) = worker.filter(|worker| worker.can_propose() && works && !is_said) else {
            return false;
        };
        self.set.push(format!("budget.time={CEILING_TIME}"));
        if worker.tells_cost() == Some(true) {
            self.set.push(format!("budget.cost_usd={CEILING_USD}"));
        }
        self.has_ceiling = true;
        true
    }

    /// The note on a budget that was proposed.
    fn ceiling(&self) -> Option<String> {
        let keys = self.set.iter().filter_map(|pair| pair.split_once('=').map(|(key, _)| key));
        let back = keys.filter(|key| key.starts_with("budget."));
        let back = back.map(|key| format!(" --set {key}=null")).collect::<String>();
        self.has_ceiling.then(|| format!("the budget is proposed; without it:{back}"))
    }

    /// Whether that state is for the goal of these flags.
    pub(super) fn has_goal(&self, state: &State) -> bool {
        let goal = self.goal.as_deref().unwrap_or_default().trim();
        let objective = &state.objective;
        [&objective.goal, &objective.raw_input].iter().any(|text| text.trim() == goal)
    }

    /// Whether the plan is none that the person wrote: it is decided on before anything of it runs.
    fn has_draft(&self) -> bool {
        self.text.as_ref().is_some_and(|text| text.from != PlanOrigin::Named)
    }
}

pub(super) fn align(context: &Context, mut flags: AlignArgs) -> Result<End, Failure> {
    refuse_a_plan_as_a_goal(context, &flags)?;
    flags.text = match (&flags.pattern, &flags.plan) {
        (Some(None), _) => {
            context.out.data(&reading::patterns());
            return Ok(End::Code(0));
        }
        (Some(Some(name)), _) => Some(reading::pattern(name)?),
        (None, Some(path)) => {
            let file = plan_file::read(&context.dir, path)?;
            Some(PlanText { file, from: PlanOrigin::Named })
        }
        (None, None) => None,
    };
    flags.written = begun_by_hand(context, &flags)?;
    let top = context.top()?;
    let config = config::load(&top)?;
    let mut first = read(&flags)?;
    if let Some(end) = take_edited(context, &flags, &first, &top, &config)? {
        return Ok(end);
    }
    first.warnings.iter().for_each(|line| context.out.say(line));
    if !first.missing.is_empty() && asks(context, &flags) {
        refuse_unfinished(existing(context.place()?)?.as_deref(), flags.force)?;
        // A pattern is the work already.
        if flags.pattern.is_none()
            && let Some(end) = proposed::hold(context, &mut flags, &first.missing, &top, &config)?
        {
            return Ok(end);
        }
        let missing = read(&flags)?.missing;
        questions::presume(&mut flags, &missing, &config);
        first = read(&flags)?;
        if !first.missing.is_empty() {
            questions::fill(context.out, &mut flags, &first.missing, &top, &config)?;
            first = read(&flags)?;
        }
    } else if flags.errand.is_some() {
        if let Some(end) = proposed::take_work(context, &mut flags, &first.missing, &top, &config)?
        {
            return Ok(end);
        }
        let missing = read(&flags)?.missing;
        questions::presume(&mut flags, &missing, &config);
        first = read(&flags)?;
    }
    if !first.missing.is_empty() {
        return Err(questions::complete(&first.missing, &flags, &top, &config));
    }
    if asks(context, &flags) && flags.propose_ceiling(&first.state, &config) {
        first = read(&flags)?;
    }
    let ended = agreement::conclude(context, &mut flags, &config, &top, first);
    ended.map_err(|failure| questions::with_answers(failure, &flags))
}

/// The text of the state file, if it is the plan that is given. Nothing else may take the place of a file that a person
/// wrote.
fn begun_by_hand(context: &Context, flags: &AlignArgs) -> Result<Option<Vec<u8>>, Failure> {
    let Some(path) = context.not_agreed()? else {
        return Ok(None);
    };
    let given = flags.plan.as_ref().and_then(|plan| context.dir.join(plan).canonicalize().ok());
    if given == path.canonicalize().ok() {
        Ok(flags.text.as_ref().map(|text| text.file.bytes.clone()))
    } else {
        Err(StoreError::NotAgreed { path }.into())
    }
}

/// Agrees to a state file that a person wrote from nothing, as to a plan; `run` goes on with the store.
pub(super) fn first(
    context: &Context,
    mut store: Store,
) -> Result<ControlFlow<End, Store>, Failure> {
    let Err(StoreError::NotAgreed { path }) = store.read() else {
        return Ok(ControlFlow::Continue(store));
    };
    let flags = AlignArgs { plan: Some(path), is_found: true, ..AlignArgs::default() };
    let end = align(context, flags)?;
    signals_are_given_back()?;
    Ok(match context.not_agreed()? {
        Some(_) => ControlFlow::Break(end),
        None => ControlFlow::Continue(context.store()?),
    })
}

/// Takes a plan that was edited, over what stands here, in as a redirect; `None` if the plan begins something: nothing
/// stands here, or it is replaced.
fn take_edited(
    context: &Context,
    flags: &AlignArgs,
    edited: &FirstState,
    top: &Path,
    config: &Config,
) -> Result<Option<End>, Failure> {
    if flags.plan.is_none() || flags.force {
        return Ok(None);
    }
    let Some(found) = existing(context.place()?)? else {
        return Ok(None);
    };
    if !is_continued(&found.state, &edited.state) {
        return Ok(None);
    }
    edited.warnings.iter().for_each(|line| context.out.say(line));
    gate(context, flags, top, config, edited.carried.as_ref())?;
    if found.state.plan.is_none() {
        let words = "no earlier plan is kept here: nothing is taken out, and what the file says is added or changed";
        context.out.say(words);
    }
    let plan = Arc::new(edited.state.clone());
    let order = RedirectOrder {
        redirect: Redirect { plan: Some(Arc::clone(&plan)), ..Redirect::default() },
        reason: None,
        moved: Vec::new(),
    };
    let (dry_run, yes) = (flags.dry_run, flags.yes);
    let manner = Manner { command: "align", dry_run, yes, ..Manner::default() };
    let mut store = context.store()?;
    if let Some(end) = agree::agree(context, &mut store, &order, &manner)? {
        return Ok(Some(end));
    }
    if !flags.dry_run {
        ops::redirect::keep_plan(&context.client(None), &mut store, &plan)?;
    }
    let found = store.read()?;
    unchanged(context, &found, config).map(Some)
}

/// A person is asked if there is one, unless they agreed to all or a program wants JSON.
fn asks(context: &Context, flags: &AlignArgs) -> bool {
    context.may_ask && !context.out.json && !flags.yes
}

/// Checks trust in the configuration, and in the plan that the person names.
fn gate(
    context: &Context,
    flags: &AlignArgs,
    top: &Path,
    config: &Config,
    carried: Option<&TrustList>,
) -> Result<(), Failure> {
    let place = context.place()?.unwrap_or_else(|| StatePlace::at(top, context.state.as_deref()));
    let mut client = context.client(Some(config));
    client.may_ask &= !flags.yes;
    let (dir, is_found) = (&context.dir, flags.is_found);
    let plan = flags.plan.as_deref().zip(carried);
    let plan = plan.map(|(path, carried)| NamedPlan { dir, path, carried, is_found });
    trust::gate_plan(&client, top, &place, config, plan)?;
    if flags.written.is_some() && !flags.dry_run {
        trust::begins_alone(&client, &place)
    } else {
        Ok(())
    }
}

fn unchanged(context: &Context, found: &LoadedState, config: &Config) -> Result<End, Failure> {
    if context.out.json {
        context.out.json(&AgreementView::unchanged(&found.state, config));
    } else {
        let next = ops::next(&context.store()?, &found.state);
        context.out.say(&format!("unchanged: this is what is agreed already\nnext: {next}"));
    }
    Ok(End::Code(0))
}
