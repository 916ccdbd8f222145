//! `descent trust`, and the gate before everything that executes a file's commands. Another hand's commands are shown,
//! and run only after a person allowed exactly those.
//!
//! Invariant: a yes is never implied, by a flag, a folder or a name. Not here: the rule of whose file it is (the core),
//! and the records (`trust`).

mod aside;
mod origin;
mod subject;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::Args;
use descent_core::{
    id::{Digest, Lineage},
    state::State,
    trust::{self as rule, Origin, TrustList},
};

use super::{
    End,
    context::{Context, runtime},
};
use crate::{
    clock,
    config::{self, Config},
    failure::{Failure, exit},
    render::{self, Bounds},
    store::{LoadedState, Store},
    trust::{Fact, RecordState, Records},
};

use subject::{Doubts, TrustQuestion};

/// The most that `descent trust` shows; `--json` shows all.
const WHOLE: Bounds = Bounds {
    items_max: 200,
    chars_max: 2_000,
};
/// The most that a refusal shows.
const EXCERPT: Bounds = Bounds {
    items_max: 20,
    chars_max: 300,
};

#[derive(Debug, Args)]
pub struct TrustArgs {
    /// Allow without being asked, if the commands have exactly this digest
    #[arg(long, value_name = "DIGEST")]
    hash: Option<String>,
    /// Instead of the state here: a plan that was not made here, before `align` takes it
    #[arg(
        short = 'f',
        long = "plan",
        value_name = "PLAN",
        conflicts_with = "worker"
    )]
    plan: Option<PathBuf>,
    /// Instead of the state here: the worker of descent.toml alone
    #[arg(long)]
    worker: bool,
}

/// Checks trust before anything of a state runs, or is written in its place. The state must be the person's own or
/// allowed, and so must the worker if it is started. Files of another account beside it are moved aside first.
///
/// Gives the state that may be gone on with. A state that is adopted later passes [`gate_adopted`].
pub(super) fn gate(
    context: &Context,
    store: &mut Store,
    config: Option<&Config>,
) -> Result<Arc<LoadedState>, Failure> {
    let loaded = store.read()?;
    let committed = origin::committed(store);
    let why = committed.state.as_deref();
    let (subject, records) = (
        TrustQuestion::of_state(store, &loaded.state, config, why),
        Records::find(),
    );
    let doubts = subject.doubts(&records);
    if doubts.is_empty() {
        aside::came_with_commits(context, store, &committed.beside)?;
        // No sidecar refers to another state now.
        return Ok(store.read()?);
    }
    let subject = match config {
        Some(_) => subject,
        // Shown with the worker, as `descent trust` shows it: one state has one digest.
        None => {
            let config = config::load(&store.place().project)?;
            TrustQuestion::of_state(store, &loaded.state, Some(&config), why)
        }
    };
    ask_or_refuse(context, &subject, &doubts, context.may_ask)?;
    allow(context, store, &records, &subject, &doubts)
        .or_else(|failure| not_remembered(context, failure))?;
    let anew = store.read()?;
    match anew.bytes == loaded.bytes {
        true => Ok(anew),
        false => Err(changed_meanwhile(&subject)),
    }
}

/// Checks a state from the journal, a late save or an edit against what was allowed: it is what runs.
pub(super) fn gate_adopted(
    context: &Context,
    store: &Store,
    state: &State,
    config: Option<&Config>,
) -> Result<(), Failure> {
    let subject = TrustQuestion::of_state(store, state, config, None);
    let doubts = subject.doubts(&Records::find());
    match doubts.is_empty() {
        true => Ok(()),
        false => ask_or_refuse(context, &subject, &doubts, context.may_ask),
    }
}

/// Allows a state. Files beside another's state were made by whoever made the state, so they are moved aside first.
fn allow(
    context: &Context,
    store: &mut Store,
    records: &Records,
    subject: &TrustQuestion,
    doubts: &Doubts,
) -> Result<(), Failure> {
    if doubts.is_of_state {
        aside::everything(context, store)?;
    }
    remember(records, &subject.facts)
}

/// A consent is valid even if it cannot be recorded: it is asked for again the next time.
fn not_remembered(context: &Context, failure: Failure) -> Result<(), Failure> {
    if failure.code != "E-TRUST-UNWRITABLE" {
        return Err(failure);
    }
    warn(context, &failure);
    Ok(())
}

fn changed_meanwhile(subject: &TrustQuestion) -> Failure {
    let message = format!(
        "{} was changed while it was looked at; nothing of it was run",
        subject.name
    );
    let hint = subject.command.clone();
    Failure::new("E-NOT-TRUSTED", exit::UNTRUSTED, message, hint)
}

/// `align`: shows another hand's plan or worker before anything of it runs.
pub(super) fn before_align(
    context: &Context,
    project: &Path,
    plan: Option<(&Path, &TrustList)>,
    config: &Config,
    is_yes: bool,
) -> Result<(), Failure> {
    let mut doubted = Vec::new();
    let plan = plan.and_then(|(path, carried)| {
        match origin::origin_of(project, &context.dir.join(path)) {
            Origin::Own => None,
            Origin::Another(why) => {
                doubted.push((subject::plan_name(path), why, carried.digest()));
                Some((path, carried))
            }
        }
    });
    let worker = subject::worker(Some(config));
    let file = project.join(config::FILE_NAME);
    if let Some(worker) = &worker
        && let Origin::Another(why) = origin::origin_of(project, &file)
    {
        doubted.push((config::FILE_NAME.to_owned(), why, worker.digest()));
    }
    let records = Records::find();
    let mut doubts = Vec::new();
    for (name, why, digest) in doubted {
        match records.holds(&Fact::Content(digest)) {
            RecordState::Yes => {}
            RecordState::No => doubts.push(format!("{name} {why}")),
            RecordState::NotBelieved(not) => doubts.extend([format!("{name} {why}"), not]),
        }
    }
    if doubts.is_empty() {
        return Ok(());
    }
    let subject = match plan {
        Some((path, carried)) => TrustQuestion::of_plan(path, carried.clone(), worker),
        None => TrustQuestion::of_worker(worker.unwrap_or_default()),
    };
    let doubts = Doubts {
        lines: doubts,
        is_of_state: false,
    };
    ask_or_refuse(context, &subject, &doubts, context.may_ask && !is_yes)?;
    remember(&records, &subject.facts).or_else(|failure| not_remembered(context, failure))
}

/// Records that the state of this lineage was made here, and with which worker. The agreement is valid without the
/// record: then `run` asks.
pub(super) fn made_here(context: &Context, lineage: &Lineage, config: &Config) {
    let worker = subject::worker(Some(config));
    let worker = worker.map(|worker| Fact::Worker(lineage.clone(), worker.digest()));
    let facts = [Some(Fact::Lineage(lineage.clone())), worker];
    let facts: Vec<Fact> = facts.into_iter().flatten().collect();
    if let Err(failure) = remember(&Records::find(), &facts) {
        warn(context, &failure);
    }
}

/// Records a state that was made here from a file. If another hand wrote the file, its commands are asked about before
/// they run.
pub(super) fn taken_from(
    context: &Context,
    project: &Path,
    file: &Path,
    lineage: &Lineage,
    config: &Config,
) {
    match origin::origin_of(project, file) {
        Origin::Own => made_here(context, lineage, config),
        Origin::Another(why) => context.out.say(&format!(
            "its commands are another's ({why}): `descent trust` shows them before anything runs"
        )),
    }
}

pub(super) fn trust(context: &Context, flags: &TrustArgs) -> Result<End, Failure> {
    let (subject, mut store) = asked_about(context, flags)?;
    let records = Records::find();
    let doubts = subject.doubts(&records);
    let hash = subject.carried.digest();
    if let Some(text) = &flags.hash {
        hold_to(&subject, text, &hash)?;
        allow_in(context, store.as_mut(), &records, &subject, &doubts)?;
        report(context, &subject, "allowed", true);
        return Ok(End::Code(0));
    }
    if doubts.is_empty() {
        report(
            context,
            &subject,
            "nothing to allow: this is yours, or was allowed before",
            true,
        );
        return Ok(End::Code(0));
    }
    if context.out.json {
        context.out.json(&subject.json(&hash, false));
        return Ok(End::Code(exit::UNTRUSTED));
    }
    context
        .out
        .data(&words(&subject, &doubts, WHOLE).join("\n"));
    if !context.may_ask || context.out.quiet {
        let mut failure = not_trusted(&subject, &doubts);
        failure.hint = subject.by_hash(&hash);
        return Err(failure);
    }
    if !says_yes(context)? {
        return Err(nothing_allowed(&subject));
    }
    allow_in(context, store.as_mut(), &records, &subject, &doubts)?;
    report(context, &subject, "allowed", true);
    Ok(End::Code(0))
}

/// Moves the sidecars aside, if it is a state.
fn allow_in(
    context: &Context,
    store: Option<&mut Store>,
    records: &Records,
    subject: &TrustQuestion,
    doubts: &Doubts,
) -> Result<(), Failure> {
    match store {
        Some(store) => allow(context, store, records, subject, doubts),
        None => remember(records, &subject.facts),
    }
}

/// The subject of the question; for a state, also its store.
fn asked_about(
    context: &Context,
    flags: &TrustArgs,
) -> Result<(TrustQuestion, Option<Store>), Failure> {
    if let Some(path) = &flags.plan {
        let carried = subject::read_plan(&context.dir, path)?;
        let config = config::load(&context.top()?)?;
        let worker = subject::worker(Some(&config));
        return Ok((TrustQuestion::of_plan(path, carried, worker), None));
    }
    if flags.worker {
        let top = context.top()?;
        let worker = subject::worker(Some(&config::load(&top)?));
        let Some(worker) = worker else {
            let message = format!("{} names no worker", top.join(config::FILE_NAME).display());
            return Err(Failure::usage(
                message,
                "there is nothing to allow: descent align",
            ));
        };
        return Ok((TrustQuestion::of_worker(worker), None));
    }
    let mut store = context.store()?;
    let loaded = store.read()?;
    let config = config::load(&store.place().project)?;
    let committed = origin::committed(&store).state;
    let subject =
        TrustQuestion::of_state(&store, &loaded.state, Some(&config), committed.as_deref());
    Ok((subject, Some(store)))
}

/// Checks that the commands are those of the given digest.
fn hold_to(subject: &TrustQuestion, text: &str, hash: &Digest) -> Result<(), Failure> {
    let Some(given) = rule::typed_digest(text) else {
        let hint = "--hash sha256:… and 64 hexadecimal digits, as `descent trust` shows it";
        let message = format!("`{}` is no digest", render::visible(&render::line(text)));
        return Err(Failure::usage(message, hint));
    };
    if given == *hash {
        return Ok(());
    }
    let mut details = render::carried(&subject.carried, EXCERPT, &subject.command);
    details.push(format!("given  {given}"));
    details.push(format!("here   {hash}"));
    let message = format!(
        "{} has other commands than the digest was given for",
        subject.name
    );
    let hint = format!("look at what changed: {}", subject.command);
    Err(Failure::new("E-TRUST-HASH", exit::UNTRUSTED, message, hint).with(details))
}

/// An error unless a person says yes to the commands shown.
fn ask_or_refuse(
    context: &Context,
    subject: &TrustQuestion,
    doubts: &Doubts,
    may_ask: bool,
) -> Result<(), Failure> {
    if !may_ask || context.out.json || context.out.quiet {
        let mut details = words(subject, doubts, EXCERPT);
        details.push(format!(
            "where nobody can answer: {}",
            subject.by_hash(&subject.carried.digest())
        ));
        return Err(not_trusted(subject, doubts).with(details));
    }
    context.out.say(&words(subject, doubts, WHOLE).join("\n"));
    match says_yes(context)? {
        true => Ok(()),
        false => Err(nothing_allowed(subject)),
    }
}

fn says_yes(context: &Context) -> Result<bool, Failure> {
    let question = "allow all of this to run on this machine, as you?";
    Ok(runtime()?.block_on(context.consents(question)))
}

fn words(subject: &TrustQuestion, doubts: &Doubts, bounds: Bounds) -> Vec<String> {
    let mut lines = vec![format!("{}:", subject.title)];
    lines.extend(
        doubts
            .lines
            .iter()
            .map(|doubt| format!("  {}", render::visible(doubt))),
    );
    lines.push("what it can run here, and what widens that:".to_owned());
    let carried = render::carried(&subject.carried, bounds, &subject.command);
    lines.extend(carried.into_iter().map(|line| format!("  {line}")));
    lines.push(format!("digest {}", subject.carried.digest()));
    lines
}

fn remember(records: &Records, facts: &[Fact]) -> Result<(), Failure> {
    let at = clock::now();
    for fact in facts {
        records.remember(fact, at)?;
    }
    Ok(())
}

fn warn(context: &Context, failure: &Failure) {
    context
        .out
        .say(&format!("warning: {failure}\n  {}", failure.hint));
}

fn not_trusted(subject: &TrustQuestion, doubts: &Doubts) -> Failure {
    let why = doubts
        .lines
        .first()
        .map(|doubt| format!(": {doubt}"))
        .unwrap_or_default();
    let message = format!("{} is not trusted here{why}", subject.name);
    Failure::new(
        "E-NOT-TRUSTED",
        exit::UNTRUSTED,
        render::visible(&message),
        subject.command.clone(),
    )
}

fn nothing_allowed(subject: &TrustQuestion) -> Failure {
    let message = format!("{} was not allowed; nothing of it was run", subject.name);
    let hint = format!("when you know what it does: {}", subject.command);
    Failure::new("E-NOT-TRUSTED", exit::UNTRUSTED, message, hint)
}

fn report(context: &Context, subject: &TrustQuestion, what: &str, is_allowed: bool) {
    if context.out.json {
        let hash = subject.carried.digest();
        context.out.json(&subject.json(&hash, is_allowed));
    } else {
        let text = format!("{}: {what}\nnext: {}", subject.name, subject.next);
        context.out.data(&render::clean(&text));
    }
}
