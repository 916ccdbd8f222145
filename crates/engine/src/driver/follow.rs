//! Follows changes: others' changes of the state file, and the refs and worktrees behind the head.

use std::{sync::Arc, time::Duration};

use descent_core::{
    change,
    doc::Fault,
    event::{Input, Reason},
    id::CommitId,
    state::RunStatus,
    trust::TrustList,
    view,
    world::World,
};

use tokio::task::JoinHandle;

use super::{
    Loop, NeededCommits,
    adopt::{self, AdoptionRefusal, CommitReport},
};
use crate::trust::{self, Fact, RecordState, Records};
use descent_store::{self as store, LoadedState, StoreError};
use descent_system::{
    clock::Stopwatch,
    failure::{Failure, exit, quoted},
    files::{ContentStamp, private},
};

/// How long a name may be absent while an editor replaces the file; on a busy machine an editor may
/// sleep in between.
const ABSENT_MS: u64 = 1_000;
const ANOTHER: &str = "the state file is another one now";

#[derive(Default)]
pub(super) struct Follower {
    head: Option<CommitId>,
    /// At most one at a time: two would compete for the ref.
    under_way: Option<JoinHandle<()>>,
}

impl Follower {
    fn is_busy(&self) -> bool {
        self.under_way.as_ref().is_some_and(|task| !task.is_finished())
    }
}

impl Loop<'_> {
    pub(super) async fn look_at_file(&mut self) -> Result<(), Failure> {
        let stamp = ContentStamp::at(&self.host.store.place().state);
        if stamp == self.watch_stamp && stamp.is_some() && self.waits_for_file.is_none() {
            return Ok(());
        }
        let (known, was_waiting) = (Arc::clone(&self.loaded), self.waits_for_file.is_some());
        let is_news = self.sync().await? && (was_waiting || !Arc::ptr_eq(&known, &self.loaded));
        if is_news {
            self.pending.push_back(Input::Tick);
        }
        Ok(())
    }

    /// Adopts what others wrote; `false` if the file has to be corrected first.
    pub(super) async fn sync(&mut self) -> Result<bool, Failure> {
        self.rest();
        // Reading takes its time too.
        let (mut waits, mut absent_ms) = (Stopwatch::start(Arc::clone(&self.host.clock)), 0);
        let (stamp, read) = loop {
            // Taken before the bytes: a save between the two is then seen at the next look.
            let stamp = ContentStamp::at(&self.host.store.place().state);
            match self.host.store.read() {
                Err(error) if error.is_missing() && absent_ms < ABSENT_MS => {
                    self.host.clock.sleep(Duration::from_millis(10)).await;
                    absent_ms += waits.lap_ms();
                }
                Err(error) if error.is_missing() => return Err(self.vanished()),
                read => break (stamp, read),
            }
        };
        let loaded = match read {
            Ok(loaded) => loaded,
            Err(error) if error.is_about_content() => {
                return Ok(self.waits_for_file(error.details(), &error));
            }
            Err(error) => return Err(error.into()),
        };
        self.watch_stamp = stamp;
        if loaded.is(&self.loaded) {
            self.file_is_whole();
            return Ok(true);
        }
        if let Some(why) = self.is_by_another(&loaded) {
            return Ok(self.waits_for_file(vec![why], &ANOTHER));
        }
        let newer = loaded.not_understood(&self.host.store.place().state);
        if !newer.is_empty() {
            let why = "the file holds what only a newer descent knows";
            return Ok(self.waits_for_file(newer, &why));
        }
        if loaded.is_foreign {
            let missing = loaded.missing(&self.host.store.place().state);
            if let Some(line) = self.awaits_consent(&loaded) {
                let why = "attempts can write the state file here, and it changed";
                return Ok(self.waits_for_file(vec![line], &why));
            }
            if missing.is_empty() {
                let odd = self.odd(&loaded);
                self.wait_for_lock().await?;
                let taken = self.adopt();
                // One that is not taken in is looked at again and again.
                if let Ok(true) = taken {
                    odd.iter().for_each(|line| (self.observer.on_note)(line));
                }
                return taken;
            }
            return Ok(self.waits_for_file(missing, &"the file lacks what a run starts from"));
        }
        self.file_is_whole();
        let news = change::news(&self.world.state, &loaded.state);
        self.world = World::new(loaded.state.clone());
        self.loaded = loaded;
        self.announce(&news);
        Ok(true)
    }

    /// Whether an attempt may have made a change of the file: nothing kept it from that.
    fn is_by_unknown(&self) -> bool {
        self.host.gap.is_some() && self.generations > 0
    }

    /// The line of a change by an unknown writer that waits for consent. Another layout is no change.
    fn awaits_consent(&mut self, edited: &LoadedState) -> Option<String> {
        if !self.is_by_unknown() {
            return None;
        }
        let base = self.host.store.base(&edited.state);
        let before = base.as_deref().unwrap_or(&self.loaded.state);
        let digest = edited.carried().digest();
        if digest == TrustList::of_state(before).digest() {
            return None;
        }
        let (records, now) = (Records::find(), self.host.clock.now());
        if records.holds(&Fact::Content(digest.clone())) == RecordState::Yes {
            return None;
        }
        let path = self.host.store.place().state.display();
        let doubt = Fact::ByAttempt(digest);
        let noted = match records.holds(&doubt) {
            RecordState::No => records.remember(&doubt, now),
            RecordState::Yes | RecordState::NotBelieved(_) => Ok(()),
        };
        let more = noted.err().map_or(String::new(), |error| format!(" ({})", error.message));
        Some(format!(
            "{path}: nobody knows who changed it; `descent trust` shows what it would run and allows it, or put it back as it was{more}"
        ))
    }

    /// New unknown keys and values in an edit, since a mistyped key would be ignored silently.
    fn odd(&self, edited: &LoadedState) -> Vec<String> {
        let known = self.loaded.warnings();
        let is_known = |new: &&Fault| {
            known.iter().any(|old| (&old.pointer, &old.message) == (&new.pointer, &new.message))
        };
        let new = edited.warnings().iter().filter(|new| !is_known(new));
        let new: Vec<Fault> = new.cloned().collect();
        let lines = store::show_faults(&self.host.store.place().state, edited.bytes(), &new);
        lines.iter().map(|line| format!("warning: {line}")).collect()
    }

    /// The reason if the file is now by another owner. The consent at the start of the run was for
    /// the state of this lineage, by its owner.
    fn is_by_another(&self, loaded: &LoadedState) -> Option<String> {
        let path = self.host.store.place().state.display();
        if !adopt::is_of(&self.world.state, None, &loaded.state) {
            return Some(format!(
                "{path}: it holds the lineage {}, and this run is of {}; put that file back, or end the run with Ctrl-C",
                loaded.state.lineage, self.world.state.lineage
            ));
        }
        let why = private::another(self.host.store.hand()?)?;
        Some(format!("{path}: it {why}"))
    }

    /// Makes a person's edit a commit with a correction.
    fn adopt(&mut self) -> Result<bool, Failure> {
        let ours = self.world.state.clone();
        let (now, mut by) = (self.host.clock.now(), self.host.by.clone());
        if self.is_by_unknown() {
            by = trust::UNKNOWN_WRITER.to_owned();
        }
        match adopt::adopt(&mut self.host.store, Some(&ours), &by, now) {
            Ok(CommitReport { loaded, events }) => {
                self.file_is_whole();
                self.world = World::new(loaded.state.clone());
                self.loaded = loaded;
                self.watch_stamp = None;
                self.announce(&events);
                Ok(true)
            }
            Err(AdoptionRefusal::OtherLineage) => {
                let path = self.host.store.place().state.display().to_string();
                let line = format!("{path}: /lineage: the file holds the state of another lineage");
                Ok(self.waits_for_file(vec![line], &ANOTHER))
            }
            Err(AdoptionRefusal::Store(error)) if error.is_about_content() => {
                Ok(self.waits_for_file(error.details(), &error))
            }
            Err(AdoptionRefusal::Store(error @ StoreError::TooLarge { .. })) => {
                Ok(self.waits_for_file(vec![error.facts().2.to_owned()], &error))
            }
            // The next look waits for the name, or reports that it is gone.
            Err(AdoptionRefusal::Store(error)) if error.is_missing() => Ok(true),
            Err(AdoptionRefusal::Store(error)) => Err(error.into()),
        }
    }

    /// Waits for a person who corrects the file: `false`, nothing is adopted now.
    fn waits_for_file(&mut self, lines: Vec<String>, why: &dyn std::fmt::Display) -> bool {
        if self.waits_for_file.as_ref() == Some(&lines) {
            return false;
        }
        // If this loop dies before the correction, the next one finds the base of the edit there.
        self.host.store.write_journal();
        (self.observer.on_note)(&format!(
            "waiting: {why}; nothing is written and nothing new starts until the file is mended"
        ));
        lines.iter().for_each(|line| (self.observer.on_note)(line));
        self.waits_for_file = Some(lines);
        false
    }

    fn file_is_whole(&mut self) {
        if self.waits_for_file.take().is_some() {
            (self.observer.on_note)("the state file is whole again; going on");
        }
    }

    /// The failure if the file is gone. Its last bytes are saved, and a person is told how to put
    /// them back.
    pub(super) fn vanished(&mut self) -> Failure {
        if let Some(failure) = &self.vanished {
            return failure.clone();
        }
        let place = self.host.store.place();
        let saved = self.host.executor.save_state(self.loaded.bytes());
        let is_kept = if saved.is_ok() { "; its last bytes are kept" } else { "" };
        let message = format!(
            "{} is gone{is_kept}; where the project was moved, `descent run` goes on there",
            place.state.display()
        );
        let hint = match saved {
            Ok(saved) => format!(
                "mkdir -p {} && cp {} {}",
                quoted(&place.dir),
                quoted(&saved),
                quoted(&place.state)
            ),
            Err(error) => format!("its last bytes could not be saved either: {error}"),
        };
        self.vanished.insert(Failure::new("E-STATE-PLACE", exit::IO, message, hint)).clone()
    }

    /// Moves the result's ref to the head. The ref is a convenience; the state is the truth.
    pub(super) fn follow_head(&mut self) {
        let head = self.world.state.run.head.clone();
        if head == self.followed.head || self.followed.is_busy() {
            return;
        }
        self.followed.head.clone_from(&head);
        if let Some(head) = head {
            let following = self.host.executor.follow(head);
            self.followed.under_way = Some(tokio::spawn(async move {
                if let Err(error) = following.await {
                    tracing::warn!(%error, "the result's ref could not follow the head");
                }
            }));
        }
    }
}

/// Puts the result where a person can look at it.
pub(super) async fn deliver(this: &mut Loop<'_>) -> Result<(), Failure> {
    let run = &this.world.state.run;
    let (Some(result), true) = (run.result().cloned(), run.status != RunStatus::Running) else {
        return Ok(());
    };
    // If a checkout has no space, this one would wait for space too.
    if run.ending.reason == Some(Reason::Unavailable) {
        return Ok(());
    }
    if let Some(task) = this.followed.under_way.take() {
        // The task has given its own warning.
        let _ = task.await;
    }
    let needed = NeededCommits {
        commits: view::commits(&this.world.state),
        shown: view::named::kept_to_show(&this.world.state),
    };
    let delivering = this.host.executor.deliver(result, needed);
    this.patiently(delivering).await
}
