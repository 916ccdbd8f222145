//! The conditions under which `watch` ends or redirects a run, each at most once.
//!
//! Invariant: it acts by the same commits as a person's command, in the name of `watch`, with the condition as the reason.

use std::sync::Arc;

use descent_core::{
    state::{fields::DurationText, objective::RequestKind},
    view::liveness::Activity,
    world::World,
};

use super::{WatchArgs, actions::WatchClient};
use crate::{
    cli::{
        context::Context,
        redirect::{self, RedirectArgs},
    },
    clock::{self, Clock, Stopwatch},
    failure::Failure,
    ops::{self, redirect::Unchanged, stop::StopRequest, watch::WatchReport},
    store::Store,
};

/// All conditions of one watch.
pub(super) struct Conditions<'a> {
    context: &'a Context,
    client: WatchClient<'a>,
    /// The flags of the redirect: files that they name are read when it is made.
    redirect: &'a RedirectArgs,
    rules: Vec<Rule>,
    progress: ProgressMark,
}

/// A condition, and what follows; it is gone once it was met.
struct Rule {
    when: When,
    after: DurationText,
    then: Then,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    /// Nothing was solved, and no more of the base case holds.
    Stalled,
    /// The loop gives no sign of life.
    Hung,
}

#[derive(Debug, Clone, Copy)]
enum Then {
    Stop,
    Redirect,
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
    then: Then,
    when: When,
    after: DurationText,
    reason: String,
    /// For whoever watches.
    pub(super) words: String,
}

impl<'a> Conditions<'a> {
    pub(super) fn of(
        context: &'a Context,
        flags: &'a WatchArgs,
        store: &mut Store,
    ) -> Result<Self, Failure> {
        let mut rules = Vec::new();
        for text in &flags.stop_when {
            let (when, after) = condition("--stop-when", text)?;
            rules.push(Rule { when, after, then: Then::Stop });
        }
        let order = redirect::order_of(context, &flags.redirect, store)?;
        let client = WatchClient::new(context);
        match &flags.redirect_when {
            Some(text) => {
                let (when, after) = condition("--redirect-when", text)?;
                if when == When::Hung {
                    let hint = "--stop-when hung=60s ends such a loop";
                    return Err(Failure::usage("a loop that hangs reads no redirect", hint));
                }
                if order.redirect.is_empty() {
                    let hint = "name a change: --redirect-when stalled=15m --select GROUP=CHOICE";
                    return Err(Failure::usage("--redirect-when changes nothing", hint));
                }
                // A mistake is told now, and not in the night.
                let loaded = store.read()?;
                ops::redirect::plan(&client, &loaded.state, &order)?.ok();
                let then = Then::Redirect;
                rules.push(Rule { when, after, then });
            }
            None if !order.redirect.is_empty() || order.reason.is_some() => {
                let hint = "--redirect-when stalled=15m, or descent redirect for a change at once";
                return Err(Failure::usage("a change without its condition", hint));
            }
            None => {}
        }
        Ok(Self {
            context,
            client,
            redirect: &flags.redirect,
            rules,
            progress: ProgressMark::new(clock::real()),
        })
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
        let reason = format!("watch: {what} for {}", rule.after.as_str());
        let action = match rule.then {
            Then::Stop => "the run is stopped",
            Then::Redirect => "the run is redirected",
        };
        Some(Fired {
            words: format!("{what} for {}: {action}", rule.after.as_str()),
            then: rule.then,
            when: rule.when,
            after: rule.after,
            reason,
        })
    }

    /// Carries it out; true if the run has ended by it. A stop or redirect of a stalled run that
    /// could not be made is tried again after the same time.
    pub(super) fn act(&mut self, store: &mut Store, fired: Fired) -> Result<bool, Failure> {
        let (when, after, then) = (fired.when, fired.after.clone(), fired.then);
        let done = self.carry_out(store, fired);
        if done.is_err() && when == When::Stalled {
            self.progress.since.lap_ms();
            self.rules.push(Rule { when, after, then });
        }
        done
    }

    fn carry_out(&self, store: &mut Store, fired: Fired) -> Result<bool, Failure> {
        match fired.then {
            Then::Stop => {
                let stop = StopRequest {
                    // A loop that hangs reads no request.
                    kind: match fired.when {
                        When::Stalled => RequestKind::Stop,
                        When::Hung => RequestKind::StopNow,
                    },
                    reason: Some(fired.reason),
                    waits: true,
                };
                ops::stop::stop(&self.client, store, &stop)?;
                Ok(true)
            }
            Then::Redirect => {
                let mut order = redirect::order_of(self.context, self.redirect, store)?;
                let said = order.reason.take().map(|words| format!("{words} ({})", fired.reason));
                order.reason = said.or(Some(fired.reason));
                let loaded = ops::current(&self.client, store)?;
                match ops::redirect::redirect(&self.client, store, loaded, &order, None)? {
                    Ok(_) | Err(Unchanged) => Ok(false),
                }
            }
        }
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

/// `stalled=15m` as its parts.
fn condition(flag: &str, text: &str) -> Result<(When, DurationText), Failure> {
    let hint = "stalled=15m, or hung=60s";
    let wrong = || Failure::usage(format!("{flag} {text}: that is no condition"), hint);
    let (name, after) = text.split_once('=').ok_or_else(wrong)?;
    let when = match name.trim() {
        "stalled" => When::Stalled,
        "hung" => When::Hung,
        _ => return Err(wrong()),
    };
    let after = DurationText::parse(after).filter(|after| after.ms > 0);
    Ok((when, after.ok_or_else(wrong)?))
}
