//! A person's operations, apart from how they are typed and shown: values in, values out.
//!
//! The starter of an operation is its [`Client`]. It receives progress, and answers questions that only a person can.
//! Not here: flags, text for a terminal and JSON (`cli`).

pub mod agents;
pub mod align;
pub mod aligner;
pub mod change_view;
pub mod clean;
pub mod compare;
mod current;
pub mod detach;
pub mod diff;
pub mod doctor;
pub mod edit;
pub mod evaluate;
pub mod file_faults;
pub mod liveness;
pub mod memory;
pub mod notify;
pub mod output;
pub mod outside;
pub mod redirect;
mod request;
pub mod result;
pub mod run;
pub mod start;
pub mod steer;
pub mod stop;
pub mod trust;
pub mod undo;
pub mod watch;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use descent_core::{
    event::Event,
    id::{Serial, UnixMillis},
    state::State,
};

use self::trust::TrustQuestion;
use crate::events::EventLine;
use descent_agent::config::Config;
use descent_process::{
    self as process, Fence, Programs,
    environment::{self, Environment},
};
use descent_store::StatePlace;
use descent_system::{
    failure::Failure,
    files::{self, private},
    secrets,
};
use descent_workspace::cache_dir;

pub use crate::driver::adopt::CommitReport;
pub use current::{
    ChangeError, SeenState, adopt_edit, bound_of_start, commit_change, current, keep_superseded,
    next, ready, seen, surroundings, warnings, with_usage_counted,
};

/// The starter of an operation: a command, or another program.
pub trait Client {
    /// The author of changes.
    fn by(&self) -> String;
    fn now(&self) -> UnixMillis;
    /// Gets a message in words while the operation is under way.
    fn tell(&self, words: &str);
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

/// A longer file names no repository.
const LINK_BYTES_MAX: u64 = 8 * 1024;

/// Programs whose jobs cannot write the state of this place, or the project's repository (`process::fence`).
#[must_use]
pub fn programs(place: &StatePlace) -> Arc<dyn Programs> {
    let own = [private::state_home(private::variable), private::config_home(private::variable)];
    let own: Vec<PathBuf> = own.into_iter().flatten().collect();
    process::programs::fenced(Fence::around(
        &place.project,
        [&place.state, place.own()],
        &repository(&place.project),
        &own,
        cache_dir(),
    ))
}

/// The repository of a directory: `.git`, and the directories that a file of that name leads to.
fn repository(project: &Path) -> Vec<PathBuf> {
    let mut found = project.ancestors().map(|dir| dir.join(".git"));
    let Some(at) = found.find(|path| path.exists()) else {
        return Vec::new();
    };
    let led = |file: &Path, key: &str| {
        let text = files::read(file, LINK_BYTES_MAX).ok()?;
        let text = String::from_utf8(text).ok()?;
        Some(file.parent()?.join(text.trim_end().strip_prefix(key)?.trim_start()))
    };
    let own = led(&at, "gitdir:");
    let common = own.as_ref().and_then(|own| led(&own.join("commondir"), ""));
    [Some(at), own, common].into_iter().flatten().collect()
}
