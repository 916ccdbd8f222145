//! The flags of a redirect as the changes that they ask for.
//!
//! Not here: whether the changes fit the state (`descent_core::change`).

use descent_core::{
    change::{GroupChoice, PersonsResult, Redirect},
    id::AtomId,
    plan::PlanReading,
    trust::TrustList,
};

use super::RedirectArgs;
use crate::{
    cli::{constraints, context::Context},
    config,
    failure::{Failure, exit},
    ops::{self, redirect::RedirectOrder, start::MovedStart, trust::NamedPlan},
    plan_file,
    store::{self, Store},
};

/// The changes that the flags name; the files that they name are read.
pub(super) fn order(
    context: &Context,
    flags: &RedirectArgs,
    store: &mut Store,
) -> Result<RedirectOrder, Failure> {
    let ids = |texts: &[String]| texts.iter().map(|id| AtomId::new(id.trim())).collect();
    let selected = flags.select.iter().map(|pair| {
        let (group, choice) = parts("--select", pair, "GROUP=CHOICE")?;
        Ok(GroupChoice { group: AtomId::new(group), choice: AtomId::new(choice) })
    });
    let results = flags.bind.iter().map(|pair| {
        let (atom, text) = parts("--bind", pair, "ID=TEXT")?;
        Ok(PersonsResult { atom: AtomId::new(atom), text: text.to_owned() })
    });
    let constraints = constraints::changes(&flags.set)?;
    let results = results.collect::<Result<_, Failure>>()?;
    let moved = match &flags.from {
        Some(rev) => Some(moved(context, flags, store, rev.trim())?),
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
    };
    Ok(RedirectOrder { redirect, reason: flags.text.clone(), moved: moved.unwrap_or_default() })
}

/// The start that is named. Another's state is asked about before its repository is opened.
fn moved(
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
