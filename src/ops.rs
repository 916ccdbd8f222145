//! A person's operations, apart from how they are typed and shown: values in, values out.
//!
//! The starter of an operation is its [`Client`]. It receives progress, and answers questions that only a person can.
//! Not here: flags, text for a terminal and JSON (`cli`).

pub mod align;
mod baseline;
mod commit;
pub mod compare;
pub mod confirm;
mod current;
pub mod doctor;
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
    /// A loop is about to begin or to end, and cannot be asked yet; with the process that a signal ends.
    LoopNotReady { pid: Option<u32> },
    /// The loop was already asked to end.
    StopRequestedAlready,
    /// The loop waits for attempts that may not be interrupted.
    LoopEnding,
    /// The files of the result could not be brought up to date; the next run does it.
    ResultNotUpdated { error: String },
}

/// The starter of an operation: a command, or another program.
pub trait Client {
    /// The author of changes.
    fn by(&self) -> String;
    fn now(&self) -> UnixMillis;
    fn tell(&self, progress: &Progress);
    /// The present state; an error unless it is the person's own, or was allowed.
    fn authorize(&self, store: &mut Store) -> Result<Arc<LoadedState>, Failure>;
    /// The same for a state that was adopted since.
    fn authorize_adopted(&self, store: &Store, state: &State) -> Result<(), Failure>;
}
