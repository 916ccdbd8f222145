//! The kind of task: an agent of the role `profile` says it before the agreement is shown.
//!
//! Invariant: without an answer that can be used the agreement comes about all the same. Not here: what follows from it
//! (the core).

use std::{path::Path, sync::Arc};

use descent_core::{
    profile as rule,
    state::{Role, State, Usage, profile::ProfileRecord},
    world::World,
};

use super::{
    super::{
        End, asking,
        context::{Context, SkippableOutcome},
    },
    AlignArgs,
};
use crate::{clock, config::Config, failure::Failure, ops::profiler::Profiler, render};

/// A profile that an agent gave, with what it used.
pub(super) struct GivenProfile {
    record: ProfileRecord,
    used: Usage,
}

/// The answer of whoever is asked; none where nobody is, or where a person said it.
pub(super) fn ask(
    context: &Context,
    flags: &AlignArgs,
    config: &Config,
    top: &Path,
    state: &State,
) -> Result<Result<Option<GivenProfile>, End>, Failure> {
    let profiler = Profiler::of(config, clock::now())?;
    let is_said = state.objective.constraints.profile.is_some();
    let Some(profiler) = profiler.filter(|_| !is_said) else {
        return Ok(Ok(None));
    };
    let name = profiler.agent.name.clone();
    if flags.dry_run {
        let said = format!("the agent `{name}` is asked what kind of task it is, but not with -n");
        context.out.say(&said);
        return Ok(Ok(None));
    }
    let world = World::new(state.clone());
    let who = format!("the agent `{name}`");
    let head = format!("asking `{name}` what kind of task it is");
    let work = |cancel| async move { profiler.ask(top, &world, &cancel).await };
    let ended = asking::skippable(context, &who, &head, work);
    let (record, used) = match ended? {
        SkippableOutcome::Signal(signal) => return Ok(Err(End::Signal(signal))),
        SkippableOutcome::Done(Some(answered)) => answered,
        SkippableOutcome::Stopped | SkippableOutcome::Done(None) => {
            let at = clock::now().rfc3339();
            let record = rule::record(name.clone(), at, Err("it was ended".to_owned()));
            (record, Usage::default())
        }
    };
    asking::used(context, &format!("`{name}`"), &used);
    if !record.fault.is_empty() {
        let why = render::visible(&render::line(&record.fault));
        context.out.say(&format!("no answer of `{name}`: {why}"));
    }
    Ok(Ok(Some(GivenProfile { record, used })))
}

/// Puts it into an agreement.
pub(super) fn put(state: &mut State, given: &GivenProfile) {
    let run = Arc::make_mut(&mut state.run);
    run.profile = Some(given.record.clone());
}

/// Counts what it used.
pub(super) fn settle(state: &mut State, given: &GivenProfile) {
    let run = Arc::make_mut(&mut state.run);
    run.settle_outside(&given.record.agent, Role::Profile, given.used.clone());
}
