//! The locks around a loop: the right to run it, and the right to ask for a redirect.
//!
//! Not here: how a lock is taken, and what stands in it (`locks`).

use std::path::Path;

use descent_core::id::RunId;

use super::{FileLock, Lease, Store, StoreError, locks};

impl Store {
    /// Takes the right to run the loop of this run. Others learn which one it is before its first commit.
    pub fn lease_for(&self, run: &RunId) -> Result<Lease, StoreError> {
        self.lease(&format!("run\n{run}"))
    }

    /// Takes the right to run the loop. `info` is for others: a line with since when and which command.
    pub fn lease(&self, info: &str) -> Result<Lease, StoreError> {
        self.place.make_dir()?;
        self.place.has_plain_sidecars()?;
        let lease = locks::lease(self.place.lease_dirs(), info)?;
        // A loop that was killed left some.
        self.put_away();
        Ok(lease)
    }

    /// Whether a loop holds the lease.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.held_lease_dir().is_some()
    }

    /// Takes the right to ask for a redirect; `None` if another process has it.
    pub fn ask_redirect(&self) -> Result<Option<FileLock>, StoreError> {
        self.place.make_dir()?;
        match locks::lock_within(&self.place.redirect_lock(), 0) {
            Ok(lock) => Ok(Some(lock)),
            Err(StoreError::LockTimeout { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether a process that asked for a redirect lives.
    #[must_use]
    pub fn is_redirect_asked(&self) -> bool {
        locks::is_locked(&self.place.redirect_lock())
    }

    /// The line that the holder of the lease wrote about itself.
    #[must_use]
    pub fn holder(&self) -> Option<String> {
        self.held_lease_dir().and_then(locks::holder)
    }

    /// The run whose loop holds the lease, if it says so.
    #[must_use]
    pub fn live_run(&self) -> Option<RunId> {
        self.held_lease_dir().and_then(locks::run_of_holder)
    }

    fn held_lease_dir(&self) -> Option<&Path> {
        self.place.lease_dirs().find(|dir| locks::is_held(dir))
    }
}
