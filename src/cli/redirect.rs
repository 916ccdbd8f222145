//! `descent redirect`: changes the agreement, the work or its results as one commit, also while a loop runs.
//!
//! Not here: whether the changes fit the state (`descent_core::change`).

mod dialogue;

use std::path::PathBuf;

use clap::Args;
use descent_core::{change::Redirect, id::AtomId, plan::PlanReading, trust::TrustList};

use super::{
    End,
    agree::{self, Manner, STANDS},
    constraints,
    context::Context,
    help,
};
use descent_agent::config;
use descent_engine::{
    ops::{self, redirect::RedirectOrder, start::MovedStart, trust::NamedPlan},
    plan_file,
};
use descent_store::{self as store, Store};
use descent_system::{
    failure::{Failure, exit},
    phrase,
};

#[derive(Debug, Args)]
#[command(
    long_about = "Change the agreement, the work or its results, also while a loop runs.\n\nAll flags together are one commit. Another goal, why, check, start, workspace, `protected`, `link`, `env`, `setup` or `warm`, and --unblock, end all that is in flight; any other change ends only the attempts of what it changes. None of them costs an attempt, and what was solved stays, as far as it still fits. TEXT is the reason, and stands in every correction."
)]
pub struct RedirectArgs {
    /// Why, in your own words
    text: Option<String>,
    /// Another goal
    #[arg(long, value_name = "TEXT", value_parser = help::filled)]
    goal: Option<String>,
    /// Another why
    #[arg(long, value_name = "TEXT", value_parser = help::filled)]
    why: Option<String>,
    /// The things that shall exist
    #[arg(long, value_name = "TEXT", value_parser = help::filled)]
    deliver: Option<String>,
    /// When it is done, for people
    #[arg(long, value_name = "TEXT", value_parser = help::filled)]
    done: Option<String>,
    /// A command that replaces the base case (may be given again)
    #[arg(long, value_name = "COMMAND", value_parser = help::filled)]
    check: Vec<String>,
    /// A command beside those of the base case (may be given again)
    #[arg(long, value_name = "COMMAND", value_parser = help::filled)]
    add_check: Vec<String>,
    /// A constraint, such as max_attempts=2; null takes it back
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// New atoms from a file in the form of a plan, `-` for standard input
    #[arg(long, value_name = "FILE")]
    add: Option<PathBuf>,
    /// The group that gets the new atoms, as its last parts or choices
    #[arg(long, value_name = "GROUP", requires = "add", value_parser = help::filled)]
    into: Option<String>,
    /// An atom that goes, with all below it (may be given again)
    #[arg(long, value_name = "ID", value_parser = help::filled)]
    remove: Vec<String>,
    /// The choice that a group shall have (may be given again)
    #[arg(long, value_name = "GROUP=CHOICE")]
    select: Vec<String>,
    /// A result by your word (may be given again)
    #[arg(long, value_name = "ID=TEXT")]
    bind: Vec<String>,
    /// An atom whose result is taken out: it is made again (may be given again)
    #[arg(long, value_name = "ID", value_parser = help::filled)]
    forget: Vec<String>,
    /// An atom whose failures count no more (may be given again)
    #[arg(long, value_name = "ID", value_parser = help::filled)]
    retry: Vec<String>,
    /// A blocked tool, or a tool with its target, that planners may propose again (may be given again)
    #[arg(long, value_name = "TEXT", value_parser = help::filled)]
    unblock: Vec<String>,
    /// Start from the files as they are (.), from HEAD, or from another commit; solved work is carried over
    #[arg(long, value_name = "REV", value_parser = help::filled)]
    from: Option<String>,
    /// Take back a redirect that waits for its change
    #[arg(long, exclusive = true)]
    abort: bool,
    /// End all that is in flight, whatever changes
    #[arg(long)]
    now: bool,
    /// Only show what it would do
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

pub(super) fn redirect(context: &Context, flags: &RedirectArgs) -> Result<End, Failure> {
    let mut store = context.store()?;
    if flags.abort {
        return abort(context, &mut store);
    }
    let order = ordered(context, flags, &mut store)?;
    if order.redirect.is_empty() {
        if !context.may_ask || context.out.json || flags.dry_run || flags.yes {
            return Err(nothing_named(flags.text.is_some()));
        }
        tell_reason(context, flags, &mut store)?;
        return dialogue::ask(context, &mut store, flags.text.as_deref());
    }
    tell_reason(context, flags, &mut store)?;
    let (dry_run, yes) = (flags.dry_run, flags.yes);
    let manner = Manner { command: "redirect", dry_run, yes, ..Manner::default() };
    match agree::agree(context, &mut store, &order, &manner)? {
        Some(end) => Ok(end),
        None => agree::unchanged(context, &mut store, STANDS),
    }
}

/// Tells that words without a flag are the reason alone: `align` takes such words as the goal.
fn tell_reason(context: &Context, flags: &RedirectArgs, store: &mut Store) -> Result<(), Failure> {
    if let (Some(reason), None) = (&flags.text, &flags.goal) {
        let (reason, goal) = (phrase::line(reason), &store.read()?.state.objective.goal);
        let goal = format!("the goal stays: {}  (--goal TEXT changes it)", phrase::line(goal));
        context.out.say(&format!("the reason: {reason}\n{goal}"));
    }
    Ok(())
}

fn nothing_named(has_words: bool) -> Failure {
    if has_words {
        let message = "words alone need a terminal, and an answer to what is asked there";
        let hint = "type it at a terminal without -y, -n and --json, or say what changes, such as --goal TEXT: descent redirect --help has all";
        return Failure::usage(message, hint);
    }
    let hint = "say what shall be another, such as --set max_attempts=4 or --goal TEXT; descent redirect --help has all";
    Failure::usage("nothing is to be changed", hint)
}

fn abort(context: &Context, store: &mut Store) -> Result<End, Failure> {
    ops::trust::gate(&context.client(None), store)?;
    let words = match ops::redirect::abort(&context.client(None), store)? {
        true => "the redirect is taken back; what it ended is made again",
        false => "no redirect waits for its change",
    };
    agree::unchanged(context, store, words)
}

/// The changes that the flags name; the files that they name are read.
fn ordered(
    context: &Context,
    flags: &RedirectArgs,
    store: &mut Store,
) -> Result<RedirectOrder, Failure> {
    let ids = |texts: &[String]| texts.iter().map(|id| AtomId::new(id.trim())).collect();
    let selected = flags.select.iter().map(|pair| {
        let (group, choice) = parts("--select", pair, "GROUP=CHOICE")?;
        Ok((AtomId::new(group), AtomId::new(choice)))
    });
    let results = flags.bind.iter().map(|pair| {
        let (atom, text) = parts("--bind", pair, "ID=TEXT")?;
        Ok((AtomId::new(atom), text.to_owned()))
    });
    let constraints = constraints::changes(&flags.set)?;
    let results = results.collect::<Result<_, Failure>>()?;
    let moved = match &flags.from {
        Some(rev) => Some(moved_start(context, flags, store, rev.trim())?),
        None => None,
    };
    let (start, moved) = moved.map(|moved| (moved.start, moved.paths)).unzip();
    let redirect = Redirect {
        goal: flags.goal.clone(),
        why: flags.why.clone(),
        deliverables: flags.deliver.clone(),
        definition_of_done: flags.done.clone(),
        checks: flags.check.clone(),
        more_checks: flags.add_check.clone(),
        constraints,
        clarifications: Vec::new(),
        atoms: match flags.add {
            Some(_) => added(context, flags, store)?.atoms,
            None => Default::default(),
        },
        into: flags.into.as_deref().map(AtomId::new),
        removed: ids(&flags.remove),
        selected: selected.collect::<Result<_, Failure>>()?,
        results,
        forgotten: ids(&flags.forget),
        retried: ids(&flags.retry),
        unblocked: flags.unblock.clone(),
        plan: None,
        start,
        interrupts: flags.now,
    };
    Ok(RedirectOrder { redirect, reason: flags.text.clone(), moved: moved.unwrap_or_default() })
}

/// The start that is named. Another's state is asked about before its repository is opened.
fn moved_start(
    context: &Context,
    flags: &RedirectArgs,
    store: &mut Store,
    rev: &str,
) -> Result<MovedStart, Failure> {
    let mut client = context.client(None);
    client.may_ask &= !flags.yes;
    ops::trust::gate(&client, store)?;
    let state = store.read()?.state.clone();
    ops::start::moved(&client, store.place(), &state, rev)
}

fn parts<'p>(flag: &str, pair: &'p str, form: &str) -> Result<(&'p str, &'p str), Failure> {
    let split = pair.split_once('=');
    let split = split.map(|(name, value)| (name.trim(), value.trim()));
    split.filter(|(name, value)| !(name.is_empty() || value.is_empty())).ok_or_else(|| {
        let message = format!("`{flag} {pair}` is not of the form {form}");
        Failure::usage(message, format!("write {flag} {form}"))
    })
}

/// The new atoms of a file. Atoms that an attempt wrote run only after a person allowed them.
fn added(context: &Context, flags: &RedirectArgs, store: &Store) -> Result<PlanReading, Failure> {
    let path = flags.add.as_deref().unwrap_or_else(|| "-".as_ref());
    let file = plan_file::read(&context.dir, path)?;
    let mut read = file.atoms();
    let mut faults = std::mem::take(&mut read.faults);
    faults.extend(store::pattern_faults(&read.patterns));
    for line in file.lines(&read.warnings) {
        context.out.say(&format!("warning: {line}"));
    }
    file.refuse(&faults)?;
    if read.atoms.is_empty() {
        let message = format!("{} has no atoms", file.name.display());
        let hint = "work_graph: {atoms: …}, as in a plan";
        return Err(Failure::new("E-INVALID", exit::INVALID, message, hint));
    }
    // The whole file is asked about, as `descent trust --plan` shows it.
    let whole = file.plan_or_atoms();
    let carried = TrustList::of_plan(&whole.objective, &whole.atoms);
    let top = &store.place().project;
    let config = config::load(top)?;
    let mut client = context.client(Some(&config));
    client.may_ask &= !flags.yes;
    let plan = NamedPlan { dir: &context.dir, path, carried: &carried, is_found: false };
    ops::trust::gate_plan(&client, top, store.place(), &config, Some(plan))?;
    Ok(read)
}
