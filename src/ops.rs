//! The operations that a person asks for, apart from how they are typed and shown: values in, values out.
//!
//! Whoever starts one is its [`Client`]: it is told what happens on the way, and asked what only a person can answer.
//! Not here: flags, text for a terminal and JSON (`cli`).

pub mod baseline;
mod commit;
pub mod compare;
pub mod confirm;
mod current;
pub mod edit;
pub mod evaluate;
pub mod limits;
pub mod liveness;
pub mod resolve;
pub mod result;
pub mod stop;
pub mod undo;

use std::{path::PathBuf, sync::Arc};

use descent_core::{event::Event, id::UnixMillis, state::State};

use crate::{
    failure::Failure,
    store::{LoadedState, Store},
};

pub use commit::{ChangeDenial, ChangeError, CommitReport, commit_change};
pub use current::{adopt_edit, current, keep_superseded};

/// A message while an operation is under way, beside its result.
#[derive(Debug)]
pub enum Progress {
    /// An edit of the file was committed first.
    Adopted(Event),
    /// An older agreement has the state's name again; the one that had replaced it is kept.
    Superseded { state: PathBuf, kept: PathBuf },
    /// A loop is about to begin, or to end, and cannot be asked yet; the process that a signal ends.
    LoopNotReady { pid: Option<u32> },
    /// Somebody asked the loop to end before.
    StopRequestedAlready,
    /// The loop waits for what may not be interrupted.
    LoopEnding,
    /// The files of the result could not be brought up to date; the next run does it.
    ResultNotUpdated { error: String },
}

/// Whoever starts an operation: a command, or another program.
pub trait Client {
    /// In whose name changes are recorded.
    fn by(&self) -> String;
    fn now(&self) -> UnixMillis;
    fn tell(&self, progress: &Progress);
    /// The present state; an error unless it is the person's own, or was allowed.
    fn authorize(&self, store: &mut Store) -> Result<Arc<LoadedState>, Failure>;
    /// The same of a state that was taken in since.
    fn authorize_adopted(&self, store: &Store, state: &State) -> Result<(), Failure>;
}
