//! The small chores of the loop while nothing happens.

use descent_core::{change, event::Input};

use super::Loop;
use crate::failure::Failure;

impl Loop<'_> {
    pub(super) async fn look_around(&mut self) -> Result<(), Failure> {
        self.look_at_file().await?;
        self.look_for_asker();
        self.tend()
    }

    /// Retires a redirect whose process died before it made its change.
    fn look_for_asker(&mut self) {
        if change::is_redirect_open(&self.world.state) && !self.host.store.is_redirect_asked() {
            self.pending.push_back(Input::AskerGone);
        }
    }

    /// Runs the store's small chores while nothing happens.
    pub(super) fn tend(&mut self) -> Result<(), Failure> {
        // Nothing waits for this, and whoever holds the lock goes first.
        if self.waits_for_file.is_some()
            || self.disk_wait.is_lacking()
            || self.host.store.is_lock_taken()
        {
            return Ok(());
        }
        if self.tended != Some(self.world.state.serial)
            && self.host.store.tend(self.host.clock.now())?
        {
            self.tended = Some(self.world.state.serial);
        }
        if self.remembered != self.world.state.serial {
            self.remembered = self.world.state.serial;
            self.host.store.write_journal();
        }
        self.tell_rescued();
        Ok(())
    }

    /// Reports edits that came too late to be read, or whose commit was lost.
    pub(super) fn tell_rescued(&mut self) {
        for path in self.host.store.newly_rescued() {
            (self.observer.on_note)(&format!(
                "an edit that is in no commit was kept as {}",
                path.display()
            ));
        }
    }
}
