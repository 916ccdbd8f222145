//! The gate before everything that executes a file's commands. The client is asked about another hand's commands, and
//! they run only after a person allowed exactly those.
//!
//! Not here: the rule of whose file it is (the core), the records (`trust`), and the question in words (`cli`).

mod aside;
mod by_attempt;
mod configured;
mod origin;
mod place;
mod started;
mod subject;
mod unrated;

use std::{path::Path, sync::Arc};

use descent_core::{
    id::Lineage,
    state::State,
    trust::{EARLIER_RESULTS, Origin, TrustItem, TrustList},
};

use super::{Client, Progress};
use crate::{
    config::{self, Config},
    failure::{Failure, exit},
    store::{LoadedState, Store},
    trust::{Fact, RecordState, Records, TrustError, UNKNOWN_WRITER},
};

pub use aside::AsideReason;
pub use by_attempt::Attempted;
pub use place::refuse_link;
pub use started::refused_configuration;
pub use subject::{Doubts, TrustQuestion};

/// Why a person is asked about a configuration of their own.
const BY_ATTEMPT: &str = "has commands or settings that an attempt of a run wrote";

/// The thing that is asked about.
#[derive(Debug)]
pub enum TrustTarget<'a> {
    State(&'a mut Store),
    /// A plan, as it is named by the person, who stands in `dir`.
    Plan {
        dir: &'a Path,
        path: &'a Path,
        top: &'a Path,
    },
    /// The worker of `descent.toml` alone.
    Worker {
        top: &'a Path,
    },
}

/// Checks trust before anything of a state runs, or is written in its place. The state must be the person's own or
/// allowed, and so must the worker if it is started. Files of another account beside it are moved aside first.
///
/// Gives the state that may be gone on with. A state that is adopted later passes [`gate_adopted`].
pub fn gate(client: &dyn Client, store: &mut Store) -> Result<Arc<LoadedState>, Failure> {
    let loaded = store.read()?;
    let committed = origin::committed(store);
    let why = committed.state.as_deref();
    let records = Records::find();
    let subject = TrustQuestion::of_state(store, &loaded, client.config(), why, &records);
    let doubts = subject.doubts(&records);
    if doubts.is_empty() {
        aside::came_with_commits(client, store, &committed.sidecars)?;
        // Nothing beside it tells of another one now.
        let anew = store.read()?;
        return match subject.is_anothers {
            true => unrated(client, store, anew, &subject),
            false => Ok(anew),
        };
    }
    let subject = match client.config() {
        Some(_) => subject,
        // Shown with the worker, as `descent trust` shows it: one state has one digest.
        None => {
            let config = config::load(&store.place().project)?;
            TrustQuestion::of_state(store, &loaded, Some(&config), why, &records)
        }
    };
    client.authorize(&subject, &doubts)?;
    if doubts.is_of_state {
        aside::everything(client, store)?;
    }
    remember_or_warn(client, &records, &subject.facts);
    let anew = store.read()?;
    match anew.is(&loaded) {
        true if doubts.is_of_state => unrated(client, store, anew, &subject),
        true => Ok(anew),
        false => Err(changed_meanwhile(&subject)),
    }
}

/// Another hand's state, allowed, without the ratings that it brought.
fn unrated(
    client: &dyn Client,
    store: &mut Store,
    loaded: Arc<LoadedState>,
    subject: &TrustQuestion,
) -> Result<Arc<LoadedState>, Failure> {
    let unrated = unrated::drop_ratings(client, store, loaded)?;
    unrated.ok_or_else(|| changed_meanwhile(subject))
}

/// Checks a state from the journal, a late save or an edit against what was allowed: it is what runs.
pub fn gate_adopted(
    client: &dyn Client,
    store: &Store,
    loaded: &LoadedState,
) -> Result<(), Failure> {
    let records = Records::find();
    let subject = TrustQuestion::of_state(store, loaded, client.config(), None, &records);
    let doubts = subject.doubts(&records);
    match doubts.is_empty() {
        true => Ok(()),
        false => client.authorize(&subject, &doubts),
    }
}

/// The writer of an edit that was made while attempts could write the state.
#[must_use]
pub fn writer(edited: &LoadedState) -> Option<String> {
    let doubt = Fact::ByAttempt(edited.carried().digest());
    let is_doubted = Records::find().holds(&doubt) != RecordState::No;
    is_doubted.then(|| UNKNOWN_WRITER.to_owned())
}

/// Whether a state is one that was allowed, but for what its adoption wrote. Files of another account beside it were
/// moved aside before.
#[must_use]
pub fn follows(allowed: &LoadedState, adopted: &LoadedState) -> bool {
    let (known, now) = (allowed.carried().items(), adopted.carried().items());
    let is_known = |item: &TrustItem| item.at == EARLIER_RESULTS || known.contains(item);
    let mut before = State::clone(&adopted.state);
    before.corrections.clone_from(&allowed.state.corrections);
    before.trail.clone_from(&allowed.state.trail);
    before.run.clone_from(&allowed.state.run);
    now.iter().all(is_known) && TrustList::of_state(&before).digest() == allowed.carried().digest()
}

fn changed_meanwhile(subject: &TrustQuestion) -> Failure {
    let message =
        format!("{} was changed while it was looked at; nothing of it was run", subject.name);
    let hint = subject.command.clone();
    Failure::new("E-NOT-TRUSTED", exit::UNTRUSTED, message, hint)
}

/// Checks another hand's plan or worker before anything of it runs in `align`. A plan is named from `dir`.
pub fn gate_plan(
    client: &dyn Client,
    project: &Path,
    dir: &Path,
    plan: Option<(&Path, &TrustList)>,
    config: &Config,
) -> Result<(), Failure> {
    let mut doubted = Vec::new();
    let plan = plan.and_then(|(path, carried)| match origin::origin_of(project, &dir.join(path)) {
        Origin::Own => None,
        Origin::Another(why) => {
            doubted.push((subject::plan_name(path), why, carried.digest()));
            Some((path, carried))
        }
    });
    let worker = configured::of_project(Some(config));
    let records = Records::find();
    if let Some(worker) = &worker {
        let doubt = started::doubt(project, worker, &records);
        let name = || config::FILE_NAME.to_owned();
        doubted.extend(doubt.map(|why| (name(), why, worker.digest())));
    }
    let mut doubts = Doubts::default();
    for (name, why, digest) in doubted {
        match records.holds(&Fact::Content(digest)) {
            RecordState::Yes => {}
            RecordState::No => doubts.lines.push(format!("{name} {why}")),
            RecordState::NotBelieved(not) => {
                doubts.lines.extend([format!("{name} {why}"), not]);
            }
        }
    }
    if doubts.is_empty() {
        return Ok(());
    }
    let subject = match plan {
        Some((path, carried)) => TrustQuestion::of_plan(path, carried.clone(), worker),
        None => TrustQuestion::of_worker(worker.unwrap_or_default()),
    };
    client.authorize(&subject, &doubts)?;
    remember_or_warn(client, &records, &subject.facts);
    Ok(())
}

/// Records that the state of this lineage was made here, and with which worker. The agreement is valid without the
/// record: then `run` asks.
pub fn made_here(client: &dyn Client, lineage: &Lineage, config: &Config) {
    let worker = configured::of_project(Some(config));
    let worker = worker.map(|worker| Fact::Worker(lineage.clone(), worker.digest()));
    let facts = [Some(Fact::Lineage(lineage.clone())), worker];
    let facts: Vec<Fact> = facts.into_iter().flatten().collect();
    remember_or_warn(client, &Records::find(), &facts);
}

/// Records a state that was made here from a file. If another hand wrote the file, its commands are asked about before
/// they run.
pub fn taken_from(
    client: &dyn Client,
    project: &Path,
    file: &Path,
    lineage: &Lineage,
    config: &Config,
) {
    match origin::origin_of(project, file) {
        Origin::Own => made_here(client, lineage, config),
        Origin::Another(why) => client.tell(&Progress::CommandsOfAnother { why }),
    }
}

/// The question about a thing, with the doubts that speak against it.
pub fn question(target: &mut TrustTarget<'_>) -> Result<(TrustQuestion, Doubts), Failure> {
    let records = Records::find();
    let question = match target {
        TrustTarget::State(store) => {
            let loaded = store.read()?;
            let config = config::load(&store.place().project)?;
            let committed = origin::committed(store).state;
            let why = committed.as_deref();
            TrustQuestion::of_state(store, &loaded, Some(&config), why, &records)
        }
        TrustTarget::Plan { dir, path, top } => {
            let carried = subject::read_plan(dir, path)?;
            let config = config::load(top)?;
            TrustQuestion::of_plan(path, carried, configured::of_project(Some(&config)))
        }
        TrustTarget::Worker { top } => {
            let Some(worker) = configured::of_project(Some(&config::load(top)?)) else {
                let message = format!("{} names no command", top.join(config::FILE_NAME).display());
                let hint = "there is nothing to allow: descent align";
                return Err(Failure::usage(message, hint));
            };
            TrustQuestion::of_worker(worker)
        }
    };
    let doubts = question.doubts(&records);
    Ok((question, doubts))
}

/// Allows it. Files beside another's state were made by whoever made the state, so they are moved aside first, and its
/// ratings are dropped.
pub fn allow(
    client: &dyn Client,
    target: TrustTarget<'_>,
    question: &TrustQuestion,
    doubts: &Doubts,
) -> Result<(), Failure> {
    let store = match target {
        TrustTarget::State(store) if doubts.is_of_state => store,
        TrustTarget::State(_) | TrustTarget::Plan { .. } | TrustTarget::Worker { .. } => {
            return Ok(remember(client, &Records::find(), &question.facts)?);
        }
    };
    let records = Records::find();
    records.refuse_unwritable()?;
    aside::everything(client, store)?;
    remember(client, &records, &question.facts)?;
    let loaded = store.read()?;
    unrated(client, store, loaded, question).map(drop)
}

fn remember(client: &dyn Client, records: &Records, facts: &[Fact]) -> Result<(), TrustError> {
    let at = client.now();
    facts.iter().try_for_each(|fact| records.remember(fact, at))
}

/// A consent is valid even if it cannot be recorded: it is asked for again the next time.
fn remember_or_warn(client: &dyn Client, records: &Records, facts: &[Fact]) {
    if let Err(error) = remember(client, records, facts) {
        client.tell(&Progress::NotRemembered(error));
    }
}
