//! A command as the client of an operation: progress goes to standard error, and a person is asked there.

use std::path::Path;

use descent_core::id::UnixMillis;

use super::{context::Context, trust};
use crate::{
    clock,
    config::Config,
    events::EventLine,
    failure::{Failure, quoted},
    ops::{self, Client, Progress, trust::TrustQuestion},
    render,
};

/// Names of moved files that are printed.
const NAMED_MAX: usize = 8;

pub(super) struct CommandClient<'a> {
    context: &'a Context,
    /// Given if the worker is started too: it has to be allowed with the state.
    config: Option<&'a Config>,
    by: String,
    pub(super) may_ask: bool,
    /// A screen is not disturbed.
    is_silent: bool,
}

impl Context {
    pub(super) fn client<'a>(&'a self, config: Option<&'a Config>) -> CommandClient<'a> {
        let (by, may_ask) = (Self::by(), self.may_ask);
        CommandClient { context: self, config, by, may_ask, is_silent: false }
    }

    /// A client that says nothing while it works, and asks nothing: that is for a command that has the terminal.
    pub(super) fn silent_client(&self, by: String) -> CommandClient<'_> {
        CommandClient { by, may_ask: false, is_silent: true, ..self.client(None) }
    }
}

impl Client for CommandClient<'_> {
    fn by(&self) -> String {
        self.by.clone()
    }

    fn now(&self) -> UnixMillis {
        clock::now()
    }

    fn tell(&self, progress: &Progress) {
        if self.is_silent {
            return;
        }
        let words = match progress {
            Progress::Note(words) => words.clone(),
            Progress::Withheld(names) => format!(
                "withheld from attempts: {} (name them in `env` to pass them on)",
                names.join(", ")
            ),
            Progress::Superseded { state, kept } => {
                let (from, to) = (quoted(kept), quoted(state));
                format!(
                    "this is the state of an earlier agreement again; the one that replaced it is kept: cp {from} {to} brings it back"
                )
            }
            Progress::LoopNotReady => {
                "waiting for a loop that is about to begin, or to end (descent stop --now ends it)"
                    .to_owned()
            }
            Progress::StopRequestedAlready => "a stop was requested already".to_owned(),
            Progress::LoopEnding => {
                "waiting for what may not be interrupted (--now ends it)".to_owned()
            }
            Progress::LoopEndingNow => "waiting for the loop to end".to_owned(),
            Progress::MovedAside { names, dir, home } => moved_aside(names, dir, home),
            Progress::NotRemembered(failure) => {
                format!("warning: {}\n  {}", failure.message, failure.hint)
            }
            Progress::CommandsOfAnother { why } => format!(
                "its commands may be another's (the file {why}): `descent trust` shows them before anything runs"
            ),
            Progress::DegradedFileSystem { name, meaning } => {
                format!("the file system of the state is degraded ({name}): {meaning}")
            }
            Progress::StartRemade => {
                "the repository of this run was lost: it is begun again from the files, which are as they were"
                    .to_owned()
            }
            Progress::NotNotified { why } => format!(
                "warning[{}]: the notify command failed: {}\n  the run is as it is; to try the command: echo '{{}}' | sh -c COMMAND",
                "E-NOTIFY",
                render::line(why)
            ),
            Progress::TreeMoved(paths) => format!(
                "your files changed since the start of this run: {} (descent redirect --from . takes them in)",
                render::line(&ops::start::named(paths))
            ),
            Progress::Configures(paths) => {
                let lines = paths.iter().map(|path| render::configures(path));
                lines.collect::<Vec<_>>().join("\n")
            }
            Progress::ResultNotUpdated { error } => {
                format!("the result's files do not follow yet ({error}); the next run does it")
            }
        };
        self.context.out.say(&words);
    }

    fn event(&self, line: &EventLine<'_>) {
        if !self.is_silent {
            self.context.tell(line);
        }
    }

    fn config(&self) -> Option<&Config> {
        self.config
    }

    fn authorize(&self, question: &TrustQuestion) -> Result<(), Failure> {
        trust::ask_or_refuse(self.context, question, self.may_ask)
    }
}

/// Sidecars that were moved aside, and the way back.
fn moved_aside(names: &[String], dir: &Path, home: &Path) -> String {
    let more = match names.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let named = &names[..names.len().min(NAMED_MAX)];
    let (names, from, to) = (render::visible(&named.join(", ")), quoted(dir), quoted(home));
    let dir = dir.display();
    format!(
        "moved aside, since the state or git brought it: {names}{more}\n  into {dir}; to bring back what you made yourself: mv -n {from}/NAME {to}/"
    )
}
