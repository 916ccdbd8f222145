//! The conditions under which `watch` ends a run, each at most once.
//!
//! Invariant: it acts by the same commit as a person's command, in the name of `watch`, with the condition as the reason.

use std::sync::Arc;

use descent_core::{
    state::{fields::DurationText, objective::RequestKind},
    view::liveness::Activity,
    world::World,
};

use super::actions::WatchClient;
use crate::{
    cli::context::Context,
    clock::{self, Clock, Stopwatch},
    failure::Failure,
    ops::{self, stop::StopRequest, watch::WatchReport},
    store::Store,
};

/// All conditions of one watch.
pub(super) struct Conditions<'a> {
    client: WatchClient<'a>,
    rules: Vec<Rule>,
    progress: ProgressMark,
}

/// A condition; it is gone once it was met.
struct Rule {
    when: When,
    after: DurationText,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    /// Nothing was solved, and no more of the base case holds.
    Stalled,
    /// The loop gives no sign of life.
    Hung,
}

/// The best that was seen, and how long ago.
struct ProgressMark {
    run: Option<String>,
    solved: usize,
    held: u64,
    since: Stopwatch,
}

/// A condition that was met.
pub(super) struct Fired {
    rule: Rule,
    /// The condition, and for how long it was so.
    reason: String,
    /// For whoever watches.
    pub(super) words: String,
}

impl<'a> Conditions<'a> {
    pub(super) fn of(context: &'a Context, stop_when: &[String]) -> Result<Self, Failure> {
        let rules = stop_when.iter().map(|text| condition(text)).collect::<Result<_, _>>()?;
        let progress = ProgressMark::new(clock::real());
        Ok(Self { client: WatchClient::new(context), rules, progress })
    }

    /// The first condition that is met now.
    pub(super) fn fired(&mut self, look: &WatchReport) -> Option<Fired> {
        if self.rules.is_empty() {
            return None;
        }
        self.progress.observe(look);
        if !look.is_live() {
            return None;
        }
        let hung_ms = (look.observed.liveness.activity == Activity::Hung)
            .then(|| look.observed.heartbeat().and_then(|beat| beat.age_ms))
            .flatten();
        let stalled_ms = self.progress.since.passed_ms();
        let is_met = |rule: &Rule| match rule.when {
            When::Stalled => stalled_ms >= rule.after.ms,
            When::Hung => hung_ms.is_some_and(|ms| ms >= rule.after.ms),
        };
        let place = self.rules.iter().position(is_met)?;
        let rule = self.rules.remove(place);
        let what = match rule.when {
            When::Stalled => "nothing was solved, and no more checks hold",
            When::Hung => "the loop gave no sign of life",
        };
        let reason = format!("{what} for {}", rule.after.as_str());
        Some(Fired { words: format!("{reason}: the run is stopped"), rule, reason })
    }

    /// Ends the run. A stop of a stalled run that could not be made is tried again after the same time.
    pub(super) fn act(&mut self, store: &mut Store, fired: Fired) -> Result<(), Failure> {
        let stop = StopRequest {
            // A loop that hangs reads no request.
            kind: match fired.rule.when {
                When::Stalled => RequestKind::Stop,
                When::Hung => RequestKind::StopNow,
            },
            reason: Some(format!("watch: {}", fired.reason)),
            waits: true,
        };
        let done = ops::stop::stop(&self.client, store, &stop);
        if done.is_err() && fired.rule.when == When::Stalled {
            self.progress.since.lap_ms();
            self.rules.push(fired.rule);
        }
        done.map(|_| ())
    }
}

impl ProgressMark {
    fn new(clock: Arc<dyn Clock>) -> Self {
        Self { run: None, solved: 0, held: 0, since: Stopwatch::start(clock) }
    }

    /// Another run, a redirect, or something new that holds is progress.
    fn observe(&mut self, look: &WatchReport) {
        if !look.is_news {
            return;
        }
        let state = look.state();
        let run = format!("{:?} {:?}", state.run.id, state.run.epoch);
        let world = World::new(state.clone());
        let solved = world.split().0.len();
        let held = state.run.verdicts.iter().map(|one| one.held).max();
        let held = held.unwrap_or(0);
        let is_other = self.run.as_ref() != Some(&run);
        if is_other || solved > self.solved || held > self.held {
            self.since.lap_ms();
            (self.run, self.solved, self.held) = (Some(run), solved, held);
        }
    }
}

/// Reads `stalled=15m`.
fn condition(text: &str) -> Result<Rule, Failure> {
    let hint = "stalled=15m, or hung=60s";
    let wrong = || Failure::usage(format!("--stop-when {text}: that is no condition"), hint);
    let (name, after) = text.split_once('=').ok_or_else(wrong)?;
    let when = match name.trim() {
        "stalled" => When::Stalled,
        "hung" => When::Hung,
        _ => return Err(wrong()),
    };
    let after = DurationText::parse(after).filter(|after| after.ms > 0);
    Ok(Rule { when, after: after.ok_or_else(wrong)? })
}
