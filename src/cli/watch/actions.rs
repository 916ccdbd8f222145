//! The operations behind the keys: those of the commands, without their output.

use descent_core::{
    change::Steering, id::AtomId, state::objective::RequestKind, verdict::assertions,
};

use crate::{
    cli::{context::Context, steer::UNCHANGED},
    failure::Failure,
    ops::{
        self,
        steer::{AnswerRequest, SteeringOrder},
        stop::{StopOutcome, StopRequest},
    },
    store::Store,
};

/// Asks the loop to end, and waits for nothing: the screen shows the end.
pub(super) fn stop(context: &Context, store: &mut Store) -> Result<String, Failure> {
    let request = StopRequest { kind: RequestKind::Stop, reason: None, waits: false };
    let client = context.silent_client(Context::by());
    Ok(match ops::stop::stop(&client, store, &request)? {
        StopOutcome::NothingRuns => "nothing runs".to_owned(),
        StopOutcome::Requested(_) | StopOutcome::Stopped(_) => "stop requested".to_owned(),
    })
}

/// Adds words to an atom.
pub(super) fn guide(
    context: &Context,
    store: &mut Store,
    atom: &AtomId,
    words: &str,
) -> Result<String, Failure> {
    let order =
        SteeringOrder { steering: Steering::Guide(words), atoms: vec![atom.clone()], reason: None };
    let client = context.silent_client(Context::by());
    Ok(match ops::steer::steer(&client, store, &order)? {
        Ok(_) => format!("{atom} is told in every further attempt"),
        Err(_) => UNCHANGED.to_owned(),
    })
}

/// Records a person's word on an assertion.
pub(super) fn confirm(
    context: &Context,
    store: &mut Store,
    name: &str,
    holds: bool,
) -> Result<String, Failure> {
    let client = context.silent_client(Context::by());
    let loaded = ops::current(&client, store)?;
    let all = assertions::assertions(&loaded.state);
    let Some(assertion) = all.iter().find(|one| one.is_called(name)) else {
        return Ok(format!("no assertion is called {name} any more"));
    };
    let request = AnswerRequest { assertion, holds, reason: None };
    let word = if holds { "confirmed" } else { "denied" };
    match ops::steer::confirm(&client, store, loaded, &request)? {
        Ok(_) => Ok(format!("{word}: {name}")),
        Err(_) => Ok(format!("{word} already: {name}")),
    }
}
