//! The gate before everything that executes a file's commands: what would run is allowed by its content. A text of this
//! account runs unasked; anything else runs only after a person allowed exactly that.
//!
//! Not here: the list of what would run (the core), the records (`trust`), and the question in words (`cli`).

mod authorship;
mod trust_subject;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use descent_core::{
    change,
    event::Event,
    id::Lineage,
    state::State,
    trust::{EARLIER_RESULTS, TrustItem, TrustList},
};

use super::Client;
use crate::{
    driver::adopt,
    trust::{Fact, RecordState, Records, UNKNOWN_WRITER},
};
use descent_agent::config::{self, Config};
use descent_store::{CommitError, LoadedState, StatePlace, Store};
use descent_system::{
    failure::{Failure, exit, quoted},
    phrase,
};

pub use authorship::{Attempted, refuse_link, refused_configuration};
pub use trust_subject::TrustQuestion;

/// Moved files that are named at most.
const NAMED_MAX: usize = 8;

/// A plan that a person names from `dir`, with all that it carries.
#[derive(Debug, Clone, Copy)]
pub struct NamedPlan<'a> {
    pub dir: &'a Path,
    pub path: &'a Path,
    pub carried: &'a TrustList,
    /// Whether it is the state file that was found, so that nobody named it.
    pub is_found: bool,
}

/// Checks trust before anything of a state runs, or is written in its place. The state must be the person's own or
/// allowed, and so must the worker if it is started. Sidecars that came with it are moved aside first.
///
/// Gives the state that may be gone on with. A state that is adopted later passes [`gate_adopted`].
pub fn gate(client: &dyn Client, store: &mut Store) -> Result<Arc<LoadedState>, Failure> {
    let loaded = store.read()?;
    let committed = authorship::committed(store, &loaded);
    let why = committed.state.as_deref();
    let records = Records::find();
    let question = TrustQuestion::of_state(store, &loaded, client.config(), why, &records);
    if question.doubts.is_empty() {
        remember_or_warn(client, &records, question.unasked.as_slice());
        // A live loop has taken in all that lies there.
        if !store.is_live() {
            set_aside(client, store, &committed.sidecars)?;
        }
        // Nothing beside it tells of another one now.
        let anew = store.read()?;
        return if question.is_anothers {
            unrated(client, store, anew, &question)
        } else {
            Ok(anew)
        };
    }
    let question = match client.config() {
        Some(_) => question,
        // Shown with the worker, as `descent trust` shows it: one state has one digest.
        None => {
            let config = config::load(&store.place().project)?;
            TrustQuestion::of_state(store, &loaded, Some(&config), why, &records)
        }
    };
    client.authorize(&question)?;
    if question.doubts_state {
        strip(client, store)?;
    }
    remember_or_warn(client, &records, &question.facts);
    let anew = store.read()?;
    match anew.is(&loaded) {
        true if question.doubts_state => unrated(client, store, anew, &question),
        true => Ok(anew),
        false => Err(changed_meanwhile(&question)),
    }
}

/// Checks a state from the journal, a late save or an edit against what was allowed: it is what runs.
pub(crate) fn gate_adopted(
    client: &dyn Client,
    store: &Store,
    loaded: &LoadedState,
) -> Result<(), Failure> {
    let records = Records::find();
    let question = TrustQuestion::of_state(store, loaded, client.config(), None, &records);
    if question.doubts.is_empty() { Ok(()) } else { client.authorize(&question) }
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

fn changed_meanwhile(question: &TrustQuestion) -> Failure {
    let message =
        format!("{} was changed while it was looked at; nothing of it was run", question.name);
    let hint = question.command.clone();
    Failure::new("E-NOT-TRUSTED", exit::UNTRUSTED, message, hint)
}

/// Checks the configuration before anything of it is started, and the plan that a person names. A name is consent, unless
/// the plan belongs to another account, or an attempt wrote it.
pub fn gate_plan(
    client: &dyn Client,
    top: &Path,
    place: &StatePlace,
    config: &Config,
    plan: Option<NamedPlan<'_>>,
) -> Result<(), Failure> {
    let records = Records::find();
    let here = Store::open(place.clone()).read().ok();
    let plan = plan.and_then(|plan| {
        Some((plan, plan_doubt(client, &plan, place, here.as_deref(), &records)?))
    });
    let worker = authorship::of_layer(&config.project);
    let mut question = match plan {
        None => TrustQuestion::of_worker(worker.clone()),
        Some((plan, why)) => {
            let carried = plan.carried.clone();
            let mut question =
                TrustQuestion::of_plan(plan.path, carried, worker.clone(), plan.is_found);
            let subject = if plan.is_found { "it" } else { &question.name };
            let why = format!("{subject} {why}");
            question.need(&records, &Fact::Content(plan.carried.digest()), &why);
            question
        }
    };
    let lineage = here.as_ref().map(|loaded| &loaded.state.lineage);
    if let Some(why) = authorship::config_doubt(top, &worker, lineage, &records) {
        question.needs_worker(&records, &worker, &why);
    }
    if question.doubts.is_empty() {
        return Ok(());
    }
    client.authorize(&question)?;
    remember_or_warn(client, &records, &question.facts);
    Ok(())
}

/// The reason to ask about a plan though a person names it.
fn plan_doubt(
    client: &dyn Client,
    plan: &NamedPlan<'_>,
    place: &StatePlace,
    here: Option<&LoadedState>,
    records: &Records,
) -> Option<String> {
    if records.hold(&Fact::Content(plan.carried.digest())) {
        return None;
    }
    let owner = authorship::of_another_account(&plan.dir.join(plan.path));
    let owner = owner.or_else(|| authorship::plan_doubt(client, plan, place, here, records));
    owner.or_else(|| plan.is_found.then(|| "was not agreed to on this machine".to_owned()))
}

/// Moves aside what lies beside a state file that becomes a first agreement: nothing here made it.
pub fn begins_alone(client: &dyn Client, place: &StatePlace) -> Result<(), Failure> {
    strip(client, &mut Store::open(place.clone()))
}

/// Records that the state of this lineage was made here, with a configuration that is allowed. The agreement is valid
/// without the record: then `run` asks.
pub fn made_here(client: &dyn Client, lineage: &Lineage, config: Option<&Config>) {
    let worker = config.map(|config| authorship::of_layer(&config.project)).unwrap_or_default();
    let mut facts = vec![Fact::Lineage(lineage.clone())];
    facts.extend(trust_subject::in_lineage(lineage, &worker));
    remember_or_warn(client, &Records::find(), &facts);
}

/// Records a state that was made here from a file. If another may have written the file, its commands are asked about
/// before they run.
pub fn taken_from(client: &dyn Client, project: &Path, file: &Path, lineage: &Lineage) {
    match authorship::doubt(project, file) {
        None => made_here(client, lineage, None),
        Some(why) => client.tell(&format!(
            "its commands may be another's (the file {why}): `descent trust` shows them before anything runs"
        )),
    }
}

/// Moves all sidecars: whoever made the state made these too.
fn strip(client: &dyn Client, store: &mut Store) -> Result<(), Failure> {
    let sidecars = store.sidecars();
    set_aside(client, store, &sidecars)
}

fn set_aside(client: &dyn Client, store: &mut Store, sidecars: &[PathBuf]) -> Result<(), Failure> {
    let at = client.now().rfc3339().replace([':', '-'], "");
    if let Some(aside) = store.set_aside(sidecars, &at)? {
        let names = phrase::visible(&phrase::listed(&aside.names, NAMED_MAX));
        let (from, to) = (quoted(&aside.dir), quoted(&store.place().dir));
        client.tell(&format!(
            "moved aside, since the state or git brought it: {names}\n  into {}; to bring back what you made yourself: mv -n {from}/NAME {to}/",
            aside.dir.display()
        ));
    }
    Ok(())
}

/// Drops the ratings, tells it, and gives the state without them: the person's own judge is asked again.
///
/// A save that is in no commit loses them when it is taken in: nothing beside it tells what it began from.
fn unrated(
    client: &dyn Client,
    store: &mut Store,
    loaded: Arc<LoadedState>,
    question: &TrustQuestion,
) -> Result<Arc<LoadedState>, Failure> {
    if loaded.is_foreign {
        return Ok(loaded);
    }
    let unrated = |state: &State| change::unrated(state, &client.by(), client.now());
    if unrated(&loaded.state).is_none() {
        return Ok(loaded);
    }
    let decide = |fresh: &LoadedState| {
        if fresh.is(&loaded) { Ok(unrated(&fresh.state)) } else { Err(()) }
    };
    let written = match adopt::commit(store, decide) {
        Ok(written) => written,
        Err(CommitError::Decide(())) => return Err(changed_meanwhile(question)),
        Err(CommitError::Store(error)) => return Err(error.into()),
    };
    // A loop writes the journal itself.
    if !store.is_live() {
        store.write_journal();
    }
    for event in &written.events {
        if let Event::Corrected { what, .. } = event {
            client.tell(what);
        }
    }
    Ok(written.loaded)
}

/// The question about a state, with the worker as it would start.
pub fn question_of_state(store: &mut Store) -> Result<TrustQuestion, Failure> {
    let loaded = store.read()?;
    let config = config::load(&store.place().project)?;
    let why = authorship::committed(store, &loaded).state;
    let (why, records) = (why.as_deref(), Records::find());
    Ok(TrustQuestion::of_state(store, &loaded, Some(&config), why, &records))
}

/// The question about a plan, as it is named by a person in `dir`, unless it is the state file that was found.
pub fn question_of_plan(
    dir: &Path,
    path: &Path,
    top: &Path,
    is_found: bool,
) -> Result<TrustQuestion, Failure> {
    let carried = trust_subject::read_plan(dir, path)?;
    let worker = authorship::of_layer(&config::load(top)?.project);
    Ok(needed(TrustQuestion::of_plan(path, carried, worker, is_found)))
}

/// The question about the worker of `descent.toml` alone.
pub fn question_of_worker(top: &Path) -> Result<TrustQuestion, Failure> {
    let worker = authorship::of_layer(&config::load(top)?.project);
    if worker.is_empty() {
        let message = format!("{} names no command", top.join(config::FILE_NAME).display());
        return Err(Failure::usage(message, "there is nothing to allow: descent align"));
    }
    Ok(needed(TrustQuestion::of_worker(worker)))
}

fn needed(mut question: TrustQuestion) -> TrustQuestion {
    let records = Records::find();
    for fact in question.facts.clone() {
        question.need(&records, &fact, "it was not allowed yet");
    }
    question
}

/// Allows it, with the store where it is a state. Files beside another's state were made by whoever made the state, so
/// they are moved aside first, and its ratings are dropped.
pub fn allow(
    client: &dyn Client,
    store: Option<&mut Store>,
    question: &TrustQuestion,
) -> Result<(), Failure> {
    let records = Records::find();
    let Some(store) = store.filter(|_| question.doubts_state) else {
        return remember(client, &records, &question.facts);
    };
    records.refuse_unwritable()?;
    strip(client, store)?;
    remember(client, &records, &question.facts)?;
    let loaded = store.read()?;
    unrated(client, store, loaded, question).map(drop)
}

fn remember(client: &dyn Client, records: &Records, facts: &[Fact]) -> Result<(), Failure> {
    let at = client.now();
    let mut new = facts.iter().filter(|fact| !records.hold(fact));
    new.try_for_each(|fact| records.remember(fact, at))
}

/// A consent is valid even if it cannot be recorded: it is asked for again the next time.
fn remember_or_warn(client: &dyn Client, records: &Records, facts: &[Fact]) {
    if let Err(error) = remember(client, records, facts) {
        client.tell(&format!("warning: {}\n  {}", error.message, error.hint));
    }
}
