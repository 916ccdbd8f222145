//! A person's operations, apart from how they are typed and shown: values in, values out.
//!
//! The starter of an operation is its [`Client`]. It receives progress, and answers questions that only a person can.
//! Not here: flags, text for a terminal and JSON (`cli`).

pub mod agents;
pub mod align;
pub mod aligner;
pub mod audit;
pub mod clean;
mod commit;
pub mod compare;
mod current;
pub mod detach;
pub mod diff;
pub mod doctor;
pub mod edit;
pub mod evaluate;
mod fence;
pub mod fork;
pub mod judge;
mod lacking;
pub mod limits;
pub mod liveness;
pub mod memory;
pub mod newer;
pub mod notify;
pub mod output;
pub mod outside;
pub mod profiler;
pub mod prompt;
mod provider_worker;
pub mod ps;
pub mod redirect;
mod request;
pub mod result;
pub mod run;
pub mod start;
pub mod steer;
pub mod stop;
pub mod trust;
pub mod undo;
pub mod validate;
pub mod wait;
pub mod watch;

use std::path::PathBuf;

use descent_core::{
    event::Event,
    id::{Serial, UnixMillis},
    state::State,
};

use self::trust::TrustQuestion;
use crate::{
    config::Config,
    events::EventLine,
    failure::Failure,
    process::environment::{self, Environment},
    secrets,
};

pub use commit::{ChangeDenial, ChangeError, CommitReport, commit_change};
pub use current::{
    SeenState, adopt_edit, bound_of_start, current, keep_superseded, next, seen, surroundings,
    warnings, with_usage_counted,
};
pub use fence::programs;

/// A message while an operation is under way, beside its result.
#[derive(Debug)]
pub enum Progress {
    /// Something that only these words tell.
    Note(String),
    /// Variables of the environment that look like secrets.
    Withheld(Vec<String>),
    /// An older agreement has the state's name again; the one that had replaced it is kept.
    Superseded { state: PathBuf, kept: PathBuf },
    /// A loop is about to begin or to end, and cannot be asked yet.
    LoopNotReady,
    /// The loop was already asked to end.
    StopRequestedAlready,
    /// The loop waits for attempts that may not be interrupted.
    LoopEnding,
    /// The loop ends at once, and that takes long.
    LoopEndingNow,
    /// Files that came beside a state were moved into `dir`; `home` is where they were.
    MovedAside { names: Vec<String>, dir: PathBuf, home: PathBuf },
    /// A consent that could not be recorded.
    NotRemembered(Failure),
    /// A state was made from a file that another may have written.
    CommandsOfAnother { why: String },
    /// A save by hand is less safe on this file system than elsewhere.
    DegradedFileSystem { name: &'static str, meaning: &'static str },
    /// The repository of the run was lost, and is begun again from the same files.
    StartRemade,
    /// The command that tells a person failed.
    NotNotified { why: String },
    /// These files of the person changed since the start, and not by what was brought home.
    TreeMoved(Vec<String>),
    /// Attempts of the run wrote other commands or settings into these configurations.
    Configures(Vec<String>),
    /// The files of the result could not be brought up to date; the next run does it.
    ResultNotUpdated { error: String },
}

/// The starter of an operation: a command, or another program.
pub trait Client {
    /// The author of changes.
    fn by(&self) -> String;
    fn now(&self) -> UnixMillis;
    fn tell(&self, progress: &Progress);
    /// Gets what is committed on the way.
    fn event(&self, line: &EventLine<'_>);
    /// The configuration, if its worker is started too: it has to be allowed with the state.
    fn config(&self) -> Option<&Config>;
    /// Asks a person whether commands that are in doubt may run; an error unless they say yes.
    fn authorize(&self, question: &TrustQuestion) -> Result<(), Failure>;
}

/// Hands the events of a commit to the client.
fn announce(client: &dyn Client, events: &[Event], serial: Serial) {
    let at = client.now().rfc3339();
    for event in events {
        client.event(&EventLine::new(event, at.clone(), serial));
    }
}

/// The environment of attempts and checks.
pub fn environment(state: &State) -> Environment {
    let names = &state.objective.constraints.env;
    secrets::add_named(names.iter().map(String::as_str));
    environment::for_attempts(std::env::vars_os(), names)
}
