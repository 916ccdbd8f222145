//! The operations behind the keys: those of the commands, without their output.

use std::cell::RefCell;

use descent_core::{
    change::Steering,
    id::{AtomId, UnixMillis},
    state::objective::RequestKind,
    verdict::assertions,
};

use crate::{
    cli::{context::Context, trust},
    clock,
    config::Config,
    events::EventLine,
    failure::Failure,
    ops::{
        self, Client, Progress,
        steer::{AnswerRequest, SteeringOrder},
        stop::{StopOutcome, StopRequest},
        trust::TrustQuestion,
    },
    store::Store,
};

/// The author of what `watch` does by itself.
const WATCH: &str = "watch";

/// Says nothing while it works: the screen is not disturbed.
pub(super) struct WatchClient<'a> {
    context: &'a Context,
    by: String,
    said: RefCell<Vec<String>>,
}

impl<'a> WatchClient<'a> {
    /// Acts in the name of `watch`.
    pub(super) fn new(context: &'a Context) -> Self {
        Self { context, by: WATCH.to_owned(), said: RefCell::default() }
    }

    /// Acts for the person at the keys.
    pub(super) fn for_person(context: &'a Context) -> Self {
        Self { by: Context::by(), ..Self::new(context) }
    }
}

impl Client for WatchClient<'_> {
    fn by(&self) -> String {
        self.by.clone()
    }

    fn now(&self) -> UnixMillis {
        clock::now()
    }

    fn tell(&self, progress: &Progress) {
        if let Progress::Note(words) = progress {
            self.said.borrow_mut().push(words.clone());
        }
    }

    fn event(&self, _: &EventLine<'_>) {}

    fn config(&self) -> Option<&Config> {
        None
    }

    /// The question is for a command that has the terminal.
    fn authorize(&self, question: &TrustQuestion) -> Result<(), Failure> {
        trust::ask_or_refuse(self.context, question, false)
    }
}

/// Asks the loop to end, and waits for nothing: the screen shows the end.
pub(super) fn stop(context: &Context, store: &mut Store) -> Result<String, Failure> {
    let request = StopRequest { kind: RequestKind::Stop, reason: None, waits: false };
    let client = WatchClient::for_person(context);
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
    let client = WatchClient::for_person(context);
    Ok(match ops::steer::steer(&client, store, &order)? {
        Ok(_) => format!("{atom} is told in every further attempt"),
        Err(_) => "unchanged: that stands already".to_owned(),
    })
}

/// Records a person's word on an assertion.
pub(super) fn confirm(
    context: &Context,
    store: &mut Store,
    name: &str,
    holds: bool,
) -> Result<String, Failure> {
    let client = WatchClient::for_person(context);
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
