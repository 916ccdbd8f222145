//! A command as the client of an operation: progress goes to standard error, and a person is asked there.

use std::sync::Arc;

use descent_core::{id::UnixMillis, state::State};

use super::{context::Context, trust};
use crate::{
    clock,
    config::Config,
    failure::{Failure, quoted},
    ops::{Client, Progress},
    store::{LoadedState, Store},
};

pub(super) struct CommandClient<'a> {
    context: &'a Context,
    /// Given if the worker is started too: it has to be allowed with the state.
    config: Option<&'a Config>,
}

impl Context {
    pub(super) fn client<'a>(&'a self, config: Option<&'a Config>) -> CommandClient<'a> {
        CommandClient {
            context: self,
            config,
        }
    }
}

impl Client for CommandClient<'_> {
    fn by(&self) -> String {
        Context::by()
    }

    fn now(&self) -> UnixMillis {
        clock::now()
    }

    fn tell(&self, progress: &Progress) {
        let words = match progress {
            Progress::Adopted(event) => return self.context.tell(event),
            Progress::Superseded { state, kept } => {
                let (from, to) = (quoted(kept), quoted(state));
                format!(
                    "this is the state of an earlier agreement again; the one that replaced it is kept: cp {from} {to} brings it back"
                )
            }
            Progress::LoopNotReady { pid } => {
                let what = "waiting for a loop that is about to begin, or to end";
                match pid {
                    Some(pid) => format!("{what} (kill -INT {pid} ends it now)"),
                    None => what.to_owned(),
                }
            }
            Progress::StopRequestedAlready => "a stop was requested already".to_owned(),
            Progress::LoopEnding => {
                "waiting for what may not be interrupted (--now ends it)".to_owned()
            }
            Progress::ResultNotUpdated { error } => {
                format!("the result's files do not follow yet ({error}); the next run does it")
            }
        };
        self.context.out.say(&words);
    }

    fn authorize(&self, store: &mut Store) -> Result<Arc<LoadedState>, Failure> {
        trust::gate(self.context, store, self.config)
    }

    fn authorize_adopted(&self, store: &Store, state: &State) -> Result<(), Failure> {
        trust::gate_adopted(self.context, store, state, self.config)
    }
}
