//! Waits of a running loop that somebody has to end, told once each.
//!
//! Invariant: telling never delays the loop. A wait that ends within [`GRACE_MS`] tells nobody, and a kind of wait is
//! told once in [`AGAIN_MS`].

use std::sync::{Arc, mpsc};

use descent_core::{
    id::{Lineage, RunId, Serial},
    view::liveness::WaitsFor,
    world::World,
};
use serde::Serialize;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{super::liveness, Notifier, NotifyEvent};
use crate::{
    clock::{Clock, Stopwatch},
    store::StatePlace,
};

/// An editor that writes in place leaves a broken file for a moment.
const GRACE_MS: u64 = 2_000;
/// A disk may fill again and again.
const AGAIN_MS: u64 = 60_000;
/// Commands under way at most.
const COMMANDS_MAX: usize = 4;

/// The wait of a run: standard input of the notify command, with `DESCENT_EVENT=waits`
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WaitOutput<'a> {
    schema: &'static str,
    waits_for: WaitsFor,
    /// The same in words.
    summary: String,
    goal: &'a str,
    lineage: &'a Lineage,
    run: &'a RunId,
    serial: Serial,
    at: String,
    /// The state file.
    state: String,
    /// The command that tells more.
    next: &'static str,
}

/// The waits of one run.
pub struct WaitNotices {
    /// `None` if nobody is told.
    notifier: Option<Arc<Notifier>>,
    place: StatePlace,
    run: RunId,
    clock: Arc<dyn Clock>,
    /// The present wait, since when, and whether it was told.
    present: Option<Wait>,
    /// When each kind was told last.
    told: Vec<(WaitsFor, Stopwatch)>,
    commands: JoinSet<()>,
    cancel: CancellationToken,
    failed: mpsc::Sender<String>,
    failures: mpsc::Receiver<String>,
}

struct Wait {
    what: WaitsFor,
    since: Stopwatch,
    is_told: bool,
}

impl WaitNotices {
    pub fn new(
        notifier: Option<Arc<Notifier>>,
        place: &StatePlace,
        run: &RunId,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let (failed, failures) = mpsc::channel();
        Self {
            notifier,
            place: place.clone(),
            run: run.clone(),
            clock,
            present: None,
            told: Vec::new(),
            commands: JoinSet::new(),
            cancel: CancellationToken::new(),
            failed,
            failures,
        }
    }

    /// Takes in a turn of the loop. Returns why earlier commands failed.
    pub fn turn(&mut self, world: &World, waits_for: Option<WaitsFor>) -> Vec<String> {
        if let Some(notifier) = self.notifier.clone()
            && let Some(what) = self.due(waits_for)
        {
            self.tell(notifier, world, what);
        }
        self.failures.try_iter().collect()
    }

    /// The wait to tell of now, if there is one.
    fn due(&mut self, waits_for: Option<WaitsFor>) -> Option<WaitsFor> {
        let Some(what) = waits_for.filter(|what| needs_somebody(*what)) else {
            self.present = None;
            return None;
        };
        let present = self.present.take().filter(|present| present.what == what);
        let mut present = present.unwrap_or_else(|| Wait {
            what,
            since: Stopwatch::start(Arc::clone(&self.clock)),
            is_told: false,
        });
        let is_due = !present.is_told
            && present.since.passed_ms() >= GRACE_MS
            && !self.was_told_lately(what);
        present.is_told |= is_due;
        self.present = Some(present);
        if is_due {
            let now = Stopwatch::start(Arc::clone(&self.clock));
            self.told.retain(|(told, _)| *told != what);
            self.told.push((what, now));
        }
        is_due.then_some(what)
    }

    fn was_told_lately(&self, what: WaitsFor) -> bool {
        let is_it =
            |(told, since): &(WaitsFor, Stopwatch)| *told == what && since.passed_ms() < AGAIN_MS;
        self.told.iter().any(is_it)
    }

    fn tell(&mut self, notifier: Arc<Notifier>, world: &World, what: WaitsFor) {
        while self.commands.try_join_next().is_some() {}
        if self.commands.len() >= COMMANDS_MAX {
            // The receiver is ours.
            let _ = self.failed.send("earlier ones are still at work".to_owned());
            return;
        }
        let input = self.input(world, what);
        let (cancel, failed) = (self.cancel.clone(), self.failed.clone());
        self.commands.spawn(async move {
            let told = notifier.tell(NotifyEvent::Waits, input, &cancel).await;
            if let Err(why) = told {
                // Nobody listens any more if the run is over.
                let _ = failed.send(why);
            }
        });
    }

    fn input(&self, world: &World, what: WaitsFor) -> String {
        let state = &world.state;
        let output = WaitOutput {
            schema: "descent/waits/1",
            waits_for: what,
            summary: format!("the run waits {}", liveness::waits_for(what)),
            goal: &state.objective.goal,
            lineage: &state.lineage,
            run: &self.run,
            serial: state.serial,
            at: self.clock.now().rfc3339(),
            state: self.place.state.display().to_string(),
            next: next(what),
        };
        serde_json::to_string(&output).unwrap_or_default()
    }

    /// Ends what is under way: the run is over, and waits for nobody.
    pub async fn finish(&mut self) {
        self.cancel.cancel();
        while self.commands.join_next().await.is_some() {}
    }
}

fn needs_somebody(what: WaitsFor) -> bool {
    match what {
        WaitsFor::File | WaitsFor::Disk | WaitsFor::Repository | WaitsFor::Redirect => true,
        WaitsFor::Backoff => false,
    }
}

fn next(what: WaitsFor) -> &'static str {
    match what {
        WaitsFor::File => "descent validate",
        WaitsFor::Disk => "descent doctor",
        WaitsFor::Redirect => "descent redirect --abort",
        WaitsFor::Repository | WaitsFor::Backoff => "descent status",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{sync::Mutex, time::Duration};

    /// A clock that a test sets.
    #[derive(Debug, Default)]
    struct SetClock(Mutex<u64>);

    impl Clock for SetClock {
        fn now(&self) -> descent_core::id::UnixMillis {
            descent_core::id::UnixMillis(0)
        }

        fn active(&self) -> Duration {
            Duration::from_millis(*self.0.lock().unwrap())
        }

        fn sleep(&self, _: Duration) -> crate::clock::Sleep {
            Box::pin(std::future::pending())
        }
    }

    #[test]
    fn a_wait_is_told_once_after_a_while_and_not_again_at_once() {
        let clock = Arc::new(SetClock::default());
        let place = StatePlace::at(std::path::Path::new("/nowhere"), None);
        let hands = Arc::clone(&clock) as Arc<dyn Clock>;
        let mut notices = WaitNotices::new(None, &place, &RunId::new("r"), hands);
        let (file, disk) = (Some(WaitsFor::File), Some(WaitsFor::Disk));
        let later = 2 * AGAIN_MS;
        let steps = [
            (0, file, None),
            // It was mended in time, and broken again.
            (GRACE_MS - 1, None, None),
            (GRACE_MS, file, None),
            (2 * GRACE_MS, file, file),
            (3 * GRACE_MS, file, None),
            // Another kind of wait has a time of its own.
            (3 * GRACE_MS, disk, None),
            (4 * GRACE_MS, disk, disk),
            (5 * GRACE_MS, None, None),
            (5 * GRACE_MS, disk, None),
            (7 * GRACE_MS, disk, None),
            (later, disk, disk),
            (later, Some(WaitsFor::Backoff), None),
            (2 * later, Some(WaitsFor::Backoff), None),
        ];
        for (at_ms, waits_for, expected) in steps {
            *clock.0.lock().unwrap() = at_ms;
            assert_eq!(notices.due(waits_for), expected, "at {at_ms} ms");
        }
    }
}
