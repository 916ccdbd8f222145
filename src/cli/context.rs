//! The setting of every command: its directory, the place of its state, and whether it may ask.

use std::{io::IsTerminal, path::PathBuf, sync::Arc};

use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::{End, Failure, Global, Out, Page, ask, exit, quoted, render};
use descent_engine::{events::EventLine, ops};
use descent_process::{detached, timeouts, tool};
use descent_store::{LoadedState, StatePlace, Store, StoreError};
use descent_system::{
    failure::{Lack, lack_at_start},
    files::private,
    signal::{self, Signal, Signals},
};
use descent_workspace::git::Git;

pub(super) use descent_engine::ops::{bound_of_start, surroundings};

/// The command to type where nothing is agreed.
pub(super) const ALIGN: &str = "descent align --help";

pub(super) struct Context {
    pub(super) out: Out,
    pub(super) dir: PathBuf,
    pub(super) state: Option<PathBuf>,
    pub(super) may_ask: bool,
    /// Whether a person may be present: neither `--no-input` nor CI says otherwise.
    pub(super) is_attended: bool,
    /// The command as it was typed.
    command: String,
}

impl Context {
    pub(super) fn new(global: &Global, out: Out, command: &str) -> Result<Self, Failure> {
        let here = std::env::current_dir()
            .map_err(|error| Failure::io("the current directory cannot be read", &error))?;
        let dir = global.dir.as_ref().map_or(here.clone(), |dir| here.join(dir));
        if !dir.is_dir() {
            return Err(Failure::usage(
                format!("{} is no directory", dir.display()),
                "give an existing directory to -C",
            ));
        }
        let is_ci = std::env::var_os("CI").is_some_and(|ci| !ci.is_empty());
        let is_attended = !global.no_input && !is_ci && !detached::is_one();
        let may_ask =
            is_attended && std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        Ok(Self {
            out,
            state: global.state.as_ref().map(|state| dir.join(state)),
            dir,
            may_ask,
            is_attended,
            command: command.to_owned(),
        })
    }

    /// The place of the state. A state found in a directory above must not be another account's: whoever made that
    /// `.descent` would decide what is read and written here. A link that a clone brought would decide the same.
    pub(super) fn place(&self) -> Result<Option<StatePlace>, Failure> {
        let Some(place) = StatePlace::find(&self.dir, self.state.as_deref()) else {
            return Ok(None);
        };
        if self.state.is_some() {
            return Ok(Some(place));
        }
        ops::trust::refuse_link(&place)?;
        match place.hand().and_then(private::another) {
            Some(why) => Err(of_another(&place, &why)),
            None => Ok(Some(place)),
        }
    }

    /// The state's store, or the command to type if there is none.
    pub(super) fn store(&self) -> Result<Store, Failure> {
        let place = self.place()?.ok_or_else(|| self.no_state())?;
        Ok(self.open(place))
    }

    /// The state's store and the state in it; what is odd about it is told.
    pub(super) fn read(&self) -> Result<(Store, Arc<LoadedState>), Failure> {
        let mut store = self.store()?;
        let loaded = store.read()?;
        self.warn(&store, &loaded);
        Ok((store, loaded))
    }

    /// The state file here, if nobody agreed to it yet.
    pub(super) fn not_agreed(&self) -> Result<Option<PathBuf>, Failure> {
        let read = self.place()?.map(|place| Store::open(place).read());
        match read {
            Some(Err(StoreError::NotAgreed { path })) => Ok(Some(path)),
            _ => Ok(None),
        }
    }

    /// A store that records the author of its commits.
    pub(super) fn open(&self, place: StatePlace) -> Store {
        let mut store = Store::open(place);
        store.set_author(&self.command, &Self::by());
        store
    }

    pub(super) fn no_state(&self) -> Failure {
        let refused =
            |what: String, hint| Failure::new("E-NO-STATE", exit::NOT_ALIGNED, what, hint);
        let from = self.state.as_ref().unwrap_or(&self.dir).display();
        let new = "descent align \"the goal\" --why \"…\" --check \"a command that passes when it is reached\" --step \"what to do=command\"";
        match (&self.state, StatePlace::project_beyond(&self.dir)) {
            (Some(_), _) => refused(format!("nothing is agreed: no state at {from}"), new.into()),
            (None, None) => {
                refused(format!("nothing is agreed here: no state at {from} or above"), new.into())
            }
            (None, Some(beyond)) => refused(
                format!(
                    "nothing is agreed here: {from} is not in the repository of {}, which has a state",
                    beyond.display()
                ),
                format!(
                    "`descent -C {} …` where you mean that one; `descent align …` begins a project here",
                    quoted(&beyond)
                ),
            ),
        }
    }

    /// The author of changes: the name of the account.
    pub(super) fn by() -> String {
        std::env::var("USER")
            .or_else(|_| std::env::var("LOGNAME"))
            .unwrap_or_else(|_| "person".to_owned())
    }

    pub(super) fn warn(&self, store: &Store, loaded: &LoadedState) {
        for line in ops::warnings(store, loaded, false) {
            self.out.say(&line);
        }
    }

    pub(super) fn tell(&self, line: &EventLine<'_>) {
        if self.out.json {
            self.out.json(line);
        } else if !self.out.quiet {
            // A reader of a pipe wants the whole reason.
            let width = if render::is_for_eyes() { self.out.width() } else { usize::MAX };
            self.out.lines(render::event(line.event, width));
        }
    }

    /// Prints the value for a program, else the text for a person.
    pub(super) fn answer(&self, value: &impl Serialize, text: impl FnOnce() -> String) -> End {
        self.answer_page(value, || Page::of(&text()))
    }

    /// The same with a page.
    pub(super) fn answer_page(&self, value: &impl Serialize, page: impl FnOnce() -> Page) -> End {
        if self.out.json {
            self.out.json(value);
        } else {
            self.out.page(&page());
        }
        End::Code(0)
    }

    /// Asks for a yes; silence is never consent.
    pub(super) async fn consents(&self, question: &str) -> bool {
        let question = format!("{question} [y/N] ");
        let words: [&[&str]; 2] = [&["y", "yes"], &["", "n", "no"]];
        let answer = ask::choice(self.out, &question, &words, false, "y for yes, n for no").await;
        answer == Some(ask::ChoiceAnswer::Chosen(0))
    }

    /// Asks whether a command is to change what is agreed; an error unless a person says yes.
    pub(super) fn refuse_without_consent(&self, command: &str) -> Result<(), Failure> {
        if !self.may_ask || self.out.json {
            let hint = format!(
                "descent {command} -n … shows what it does, descent {command} -y … does it"
            );
            let what = "nobody can be asked here, and this changes what is agreed";
            return Err(Failure::usage(what, hint));
        }
        if runtime()?.block_on(self.consents(&format!("{command}?"))) {
            return Ok(());
        }
        let hint = format!("descent {command} -y … does it without asking");
        Err(Failure::new("E-NOT-ALIGNED", exit::NOT_ALIGNED, "nothing was changed", hint))
    }

    /// The directory in which the agreement is made: the top of the work tree, else the present one.
    pub(super) fn top(&self) -> Result<PathBuf, Failure> {
        if let Some(place) = self.place()? {
            return Ok(place.project);
        }
        if self.state.is_some() {
            return Ok(self.dir.clone());
        }
        match Git::open(&self.dir) {
            Ok(Some(git)) => Ok(git.top().to_owned()),
            // The workspace reports whether git is needed.
            Ok(None) | Err(_) => Ok(self.dir.clone()),
        }
    }
}

fn of_another(place: &StatePlace, why: &str) -> Failure {
    let (dir, state) = (place.dir.display(), quoted(&place.state));
    let message = format!("{dir} {why}, and is not used unasked");
    let hint = format!(
        "descent --state {state} status, where you mean that very state; mkdir .descent begins a project of your own here"
    );
    Failure::new("E-OTHERS-PLACE", exit::UNTRUSTED, message, hint)
}

/// Runs work that starts processes, or gives the signal that ended it.
pub(super) fn interruptible<T, F>(
    work: impl FnOnce(CancellationToken) -> F,
) -> Result<Result<T, Signal>, Failure>
where
    F: Future<Output = Result<T, Failure>>,
{
    Ok(waited(work)?.map_err(|(first, _)| first))
}

/// The outcome of work that a person may do without.
pub(super) enum SkippableOutcome<T> {
    Done(T),
    /// Ctrl-C ended the work, and it alone.
    Stopped,
    /// Another signal, or a second Ctrl-C: this process is to end.
    Signal(Signal),
}

/// Runs work that a person may do without: the first Ctrl-C ends it, and a second one is the end of this process. It
/// gives the signals back.
pub(super) fn stoppable<T, F>(
    work: impl FnOnce(CancellationToken) -> F,
) -> Result<SkippableOutcome<T>, Failure>
where
    F: Future<Output = Result<T, Failure>>,
{
    let ended = waited(work);
    signals_are_given_back()?;
    Ok(match ended? {
        Ok(done) => SkippableOutcome::Done(done),
        Err((Signal::Interrupt, None)) => SkippableOutcome::Stopped,
        Err((first, last)) => SkippableOutcome::Signal(last.unwrap_or(first)),
    })
}

/// The result of work, or the first and the last signal that came. A signal cancels it, and this waits until none of its
/// processes is left.
fn waited<T, F>(
    work: impl FnOnce(CancellationToken) -> F,
) -> Result<Result<T, (Signal, Option<Signal>)>, Failure>
where
    F: Future<Output = Result<T, Failure>>,
{
    runtime()?.block_on(async {
        let mut signals = signals()?;
        let cancel = CancellationToken::new();
        let work = work(cancel.clone());
        tokio::pin!(work);
        let first = tokio::select! {
            done = &mut work => return done.map(Ok),
            signal = signals.next() => signal,
        };
        cancel.cancel();
        let mut last = None;
        loop {
            tokio::select! {
                // Its result is no longer wanted, but its end is awaited.
                _ = &mut work => return Ok(Err((first, last))),
                signal = signals.next() => last = Some(signal),
                () = tokio::time::sleep(timeouts::GRACE) => {}
            }
            tool::cut_off();
        }
    })
}

/// From here on Ctrl-C ends this process as usual, until signals are taken over again.
pub(super) fn signals_are_given_back() -> Result<(), Failure> {
    signal::end_us_again().map_err(|error| Failure::io("the signals cannot be given back", &error))
}

/// Must be called inside of a runtime.
pub(super) fn signals() -> Result<Signals, Failure> {
    tool::keep_signals_from_tools();
    Signals::install().map_err(|error| Failure::io("the signals cannot be taken", &error))
}

/// A current-thread runtime for the commands that wait for children.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let what = "the runtime cannot start";
    let built = unheard(|| tokio::runtime::Builder::new_current_thread().enable_all().build());
    match built {
        Some(built) => built.map_err(|error| {
            let lack = lack_at_start(&error);
            Failure::io(what, &error).lacking(lack)
        }),
        // It makes a pair of sockets that signals wake it by, and panics without one.
        None => {
            let error = std::io::Error::from(rustix::io::Errno::MFILE);
            Err(Failure::io(what, &error).lacking(Some(Lack::Files)))
        }
    }
}

/// `None` if the work panicked; nobody reads the message.
fn unheard<T>(work: impl FnOnce() -> T) -> Option<T> {
    let loud = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
    std::panic::set_hook(loud);
    done.ok()
}
