//! `descent trust`, and the gate before everything that executes what a file says: what another hand wrote is shown,
//! and run only when a person allowed exactly that.
//!
//! Invariant: a yes is never implied, by a flag, a folder or a name. Not here: the rule of whose file it is (the core),
//! how it is remembered (`trust`).

mod origin;
mod subject;

use std::path::{Path, PathBuf};

use clap::Args;
use descent_core::{
    id::{Digest, Lineage},
    state::State,
    trust::{self as rule, Carried, Origin},
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
    store::Store,
    trust::{Fact, Held, Records},
};

use subject::Subject;

/// What `descent trust` shows at most; `--json` shows all.
const WHOLE: Bounds = Bounds {
    items_max: 200,
    chars_max: 2_000,
};
/// What a refusal shows at most.
const EXCERPT: Bounds = Bounds {
    items_max: 20,
    chars_max: 300,
};

#[derive(Debug, Args)]
pub struct Flags {
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

/// `run` and `verify`: the state, and where the worker is started the worker too, are one's own or were allowed.
pub(super) fn gate(
    context: &Context,
    store: &Store,
    state: &State,
    config: Option<&Config>,
) -> Result<(), Failure> {
    let subject = Subject::of_state(store, state, config);
    let records = Records::find();
    let doubts = subject.doubts(&records);
    if doubts.is_empty() {
        return Ok(());
    }
    let subject = match config {
        Some(_) => subject,
        // Shown with the worker, as `descent trust` shows it: one state has one digest.
        None => Subject::of_state(store, state, Some(&config::load(&store.place().project)?)),
    };
    ask_or_refuse(context, &records, &subject, &doubts, context.may_ask)
}

/// `align`: a plan or a worker that is somebody else's is shown before anything of it runs.
pub(super) fn before_align(
    context: &Context,
    project: &Path,
    plan: Option<(&Path, &Carried)>,
    config: &Config,
    is_yes: bool,
) -> Result<(), Failure> {
    let mut doubted = Vec::new();
    let plan =
        plan.and_then(
            |(path, carried)| match origin::of(project, &context.dir.join(path)) {
                Origin::Own => None,
                Origin::Another(why) => {
                    doubted.push((subject::plan_name(path), why, carried.digest()));
                    Some((path, carried))
                }
            },
        );
    let worker = subject::worker(Some(config));
    let file = project.join(config::FILE_NAME);
    if let Some(worker) = &worker
        && let Origin::Another(why) = origin::of(project, &file)
    {
        doubted.push((config::FILE_NAME.to_owned(), why, worker.digest()));
    }
    let records = Records::find();
    let mut doubts = Vec::new();
    for (name, why, digest) in doubted {
        match records.holds(&Fact::Content(digest)) {
            Held::Yes => {}
            Held::No => doubts.push(format!("{name} {why}")),
            Held::NotBelieved(not) => doubts.extend([format!("{name} {why}"), not]),
        }
    }
    if doubts.is_empty() {
        return Ok(());
    }
    let subject = match plan {
        Some((path, carried)) => Subject::of_plan(path, carried.clone(), worker),
        None => Subject::of_worker(worker.unwrap_or_default()),
    };
    ask_or_refuse(
        context,
        &records,
        &subject,
        &doubts,
        context.may_ask && !is_yes,
    )
}

/// Remembers that the state of this lineage was made here, and with which worker. The agreement stands without that
/// too: what cannot be remembered now is asked about by `run`.
pub(super) fn made_here(context: &Context, lineage: &Lineage, config: &Config) {
    let worker = subject::worker(Some(config));
    let worker = worker.map(|worker| Fact::Worker(lineage.clone(), worker.digest()));
    let facts = [Some(Fact::Lineage(lineage.clone())), worker];
    let facts: Vec<Fact> = facts.into_iter().flatten().collect();
    if let Err(failure) = remember(&Records::find(), &facts) {
        warn(context, &failure);
    }
}

/// A state that was made here from a file: where that is another hand's, its commands are asked about before they run.
pub(super) fn taken_from(
    context: &Context,
    project: &Path,
    file: &Path,
    lineage: &Lineage,
    config: &Config,
) {
    match origin::of(project, file) {
        Origin::Own => made_here(context, lineage, config),
        Origin::Another(why) => context.out.say(&format!(
            "its commands are another's ({why}): `descent trust` shows them before anything runs"
        )),
    }
}

pub(super) fn trust(context: &Context, flags: &Flags) -> Result<End, Failure> {
    let subject = asked_about(context, flags)?;
    let records = Records::find();
    let doubts = subject.doubts(&records);
    let hash = subject.carried.digest();
    if let Some(text) = &flags.hash {
        allow_by_hash(&records, &subject, text, &hash)?;
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
    remember(&records, &subject.facts)?;
    report(context, &subject, "allowed", true);
    Ok(End::Code(0))
}

fn asked_about(context: &Context, flags: &Flags) -> Result<Subject, Failure> {
    if let Some(path) = &flags.plan {
        let carried = subject::read_plan(&context.dir, path)?;
        let config = config::load(&super::align::top(context)?)?;
        return Ok(Subject::of_plan(
            path,
            carried,
            subject::worker(Some(&config)),
        ));
    }
    if flags.worker {
        let top = super::align::top(context)?;
        let worker = subject::worker(Some(&config::load(&top)?));
        let Some(worker) = worker else {
            let message = format!("{} names no worker", top.join(config::FILE_NAME).display());
            return Err(Failure::usage(
                message,
                "there is nothing to allow: descent align",
            ));
        };
        return Ok(Subject::of_worker(worker));
    }
    let mut store = context.store()?;
    let loaded = store.read()?;
    let config = config::load(&store.place().project)?;
    Ok(Subject::of_state(&store, &loaded.state, Some(&config)))
}

fn allow_by_hash(
    records: &Records,
    subject: &Subject,
    text: &str,
    hash: &Digest,
) -> Result<(), Failure> {
    let Some(given) = rule::typed_digest(text) else {
        let hint = "--hash sha256:… and 64 hexadecimal digits, as `descent trust` shows it";
        let message = format!("`{}` is no digest", render::visible(&render::line(text)));
        return Err(Failure::usage(message, hint));
    };
    if given == *hash {
        return remember(records, &subject.facts);
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

fn ask_or_refuse(
    context: &Context,
    records: &Records,
    subject: &Subject,
    doubts: &[String],
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
    if !says_yes(context)? {
        return Err(nothing_allowed(subject));
    }
    // Allowed is allowed: what cannot be remembered is asked again the next time.
    if let Err(failure) = remember(records, &subject.facts) {
        warn(context, &failure);
    }
    Ok(())
}

fn says_yes(context: &Context) -> Result<bool, Failure> {
    let question = "allow all of this to run on this machine, as you?";
    Ok(runtime()?.block_on(context.consents(question)))
}

fn words(subject: &Subject, doubts: &[String], bounds: Bounds) -> Vec<String> {
    let mut lines = vec![format!("{}:", subject.title)];
    lines.extend(
        doubts
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

fn not_trusted(subject: &Subject, doubts: &[String]) -> Failure {
    let why = doubts
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

fn nothing_allowed(subject: &Subject) -> Failure {
    let message = format!("{} was not allowed; nothing of it was run", subject.name);
    let hint = format!("when you know what it does: {}", subject.command);
    Failure::new("E-NOT-TRUSTED", exit::UNTRUSTED, message, hint)
}

fn report(context: &Context, subject: &Subject, what: &str, is_allowed: bool) {
    if context.out.json {
        let hash = subject.carried.digest();
        context.out.json(&subject.json(&hash, is_allowed));
    } else {
        let text = format!("{}: {what}\nnext: {}", subject.name, subject.next);
        context.out.data(&render::clean(&text));
    }
}
