//! `descent edit`: opens a copy of the state in a person's editor; a valid text is merged in. Also the copy of any text
//! in an editor.
//!
//! Invariant: nothing is locked while the person types. Typed text is never lost: a copy stays while it holds text that is
//! nowhere else, and its path is printed. Not here: adopting the text (`ops::edit`).

use std::{
    ffi::OsString,
    io::{self, IsTerminal, Write},
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::ExitStatus,
    sync::Arc,
};

use descent_core::doc::Fault;

use super::{
    End, agree, ask,
    context::{Context, runtime},
    migrate,
};
use descent_engine::ops::{
    self, CommitReport,
    change_view::{ChangeResult, ChangeView},
    edit::EditRefusal,
};
use descent_process::editor::Editor;
use descent_store::{self as store, LoadedState, Store};
use descent_system::{
    failure::{Failure, exit, quoted},
    files, phrase,
    signal::{Signal, Signals},
};

/// How often an invalid text is opened again.
const EDITED_MAX: usize = 1_000;

pub(super) fn edit(context: &Context) -> Result<End, Failure> {
    let mut store = context.store()?;
    let begun = ops::current(&context.client(None), &mut store)?;
    let command = match named_editor() {
        // A named editor may work without a terminal, as a script does.
        Some(named) => named,
        None if is_at_terminal(context) => "vi".to_owned(),
        None => {
            let path = quoted(&store.place().state);
            let hint = format!("change the file itself, with any program, at any time: {path}");
            let message =
                "there is no terminal for an editor, and $EDITOR names none that needs no terminal";
            return Err(Failure::new("E-EDITOR", exit::UNAVAILABLE, message, hint));
        }
    };
    // The journal shows the base of the edit to another process, and to this one when the loop has moved on.
    store.write_journal();
    let name = format!("edit-{}", begun.state.serial.0);
    let copy = EditedCopy::create(&store.place().dir, &name, begun.bytes())?;
    let mut places = 1;
    let ended = copy.until(context, &command, |bytes| {
        let taken = take_in(context, &mut store, &begun, &bytes, &copy)?;
        let refused = |refusal| {
            let lines = lines(&copy, &bytes, &refusal);
            lines.iter().for_each(|line| context.out.say(&phrase::clean(line)));
            places = lines.len();
        };
        Ok(taken.map_err(refused).ok())
    })?;
    let taken = match ended {
        EditorOutcome::Text(taken) => taken,
        EditorOutcome::Nothing => None,
        EditorOutcome::Discarded => {
            let count = store::count(places);
            let message = format!("the edit has {count}, and nothing was changed");
            let hint = "descent edit begins anew, on the present state";
            return Err(copy.kept(Failure::new("E-INVALID", exit::INVALID, message, hint)));
        }
        EditorOutcome::Signal(signal, is_changed) => {
            copy.close(context, is_changed);
            return Ok(End::Signal(signal));
        }
        EditorOutcome::Failed(how, is_changed) => {
            let has_terminal = is_at_terminal(context);
            return Err(failed(&command, &how, copy, is_changed, has_terminal));
        }
    };
    copy.remove();
    let Some(done) = taken else {
        return agree::unchanged(context, &mut store, "unchanged");
    };
    let state = &done.loaded.state;
    let view = ChangeView::of(&store, ChangeResult::Changed, state, &done.events);
    let words = format!("committed as serial {}", state.serial.0);
    Ok(agree::report(context, &view, Some(&words)))
}

/// Commits an edited text; `None` where nothing changes.
fn take_in(
    context: &Context,
    store: &mut Store,
    begun: &Arc<LoadedState>,
    bytes: &[u8],
    copy: &EditedCopy,
) -> Result<Result<Option<CommitReport>, EditRefusal>, Failure> {
    let typed = match ops::edit::read(store, begun, &copy.path, bytes.to_vec()) {
        Ok(Some(typed)) => typed,
        Ok(None) => return Ok(Ok(None)),
        Err(refusal) => return Ok(Err(refusal)),
    };
    for line in store::show_faults(&copy.path, bytes, typed.warnings()) {
        context.out.say(&format!("warning: {line}"));
    }
    let client = context.client(None);
    let committed = ops::edit::commit(&client, store, begun, &typed.state);
    committed.map(|done| done.map(Some)).map_err(|failure| copy.kept(failure))
}

/// The reasons why a text was refused, with their places.
fn lines(copy: &EditedCopy, bytes: &[u8], refusal: &EditRefusal) -> Vec<String> {
    match refusal {
        EditRefusal::Invalid(faults) => migrate::explained(&copy.path, bytes, faults),
        EditRefusal::Unreadable(error) => vec![format!("{}: {error}", copy.path.display())],
        EditRefusal::Conflict(faults) => {
            let line = |fault: &Fault| format!("{}: {}", fault.pointer, fault.message);
            let head = "together with what was committed meanwhile:".to_owned();
            std::iter::once(head).chain(faults.iter().map(line)).collect()
        }
    }
}

fn failed(
    command: &str,
    how: &str,
    copy: EditedCopy,
    is_changed: bool,
    has_terminal: bool,
) -> Failure {
    let message = format!("the editor `{command}` {how}, and nothing was changed");
    let hint = if has_terminal {
        "name one that works: VISUAL=nano descent edit"
    } else {
        "name one that needs no terminal: EDITOR='sed -i s/jwt/session/' descent edit"
    };
    let failure = Failure::new("E-EDITOR", exit::UNAVAILABLE, message, hint);
    if is_changed {
        return copy.kept(failure);
    }
    copy.remove();
    failure
}

/// Copies that earlier edits may have left under one name.
const SAME_NAME_MAX: u32 = 100;
/// The reader's limit (`doc::Limits`).
const BYTES_MAX: u64 = 16 << 20;

#[derive(Debug)]
pub(super) struct EditedCopy {
    pub(super) path: PathBuf,
    before: Vec<u8>,
}

/// The outcome of an editor session.
pub(super) enum EditorOutcome<T> {
    Nothing,
    Text(T),
    /// No text was taken, and the person gave up.
    Discarded,
    /// How it ended, and whether the text changed.
    Failed(String, bool),
    Signal(Signal, bool),
}

impl EditedCopy {
    /// Creates it for its owner alone.
    pub(super) fn create(dir: &Path, name: &str, text: &[u8]) -> Result<Self, Failure> {
        let unwritable = |error| Failure::io("the copy to edit cannot be made", &error);
        for n in 1..=SAME_NAME_MAX {
            let more = if n == 1 { String::new() } else { format!("-{n}") };
            let path = dir.join(format!("{name}{more}.json"));
            match files::make_new(&path) {
                Ok(mut file) => {
                    file.write_all(text).map_err(unwritable)?;
                    return Ok(Self { path, before: text.to_vec() });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(unwritable(error)),
            }
        }
        Err(unwritable(io::ErrorKind::AlreadyExists.into()))
    }

    /// Opens it until `take` takes the text, or the person gives up. A text that is not taken was told.
    pub(super) fn until<T>(
        &self,
        context: &Context,
        command: &str,
        mut take: impl FnMut(Vec<u8>) -> Result<Option<T>, Failure>,
    ) -> Result<EditorOutcome<T>, Failure> {
        for _ in 0..EDITED_MAX {
            let (status, received) = in_editor(context, command, &self.path)?;
            // By name, since editors replace files.
            let text = files::read_some(&self.path, BYTES_MAX + 1)
                .map_err(|error| Failure::io("the copy cannot be read", &error))?;
            let is_changed = text != self.before;
            let how = match (received, status.code()) {
                (Some(signal), _) => return Ok(EditorOutcome::Signal(signal, is_changed)),
                (None, Some(0)) if !is_changed => return Ok(EditorOutcome::Nothing),
                (None, Some(0)) => None,
                (None, Some(code)) => Some(format!("ended with {code}")),
                (None, None) => {
                    status.signal().map(|signal| format!("was killed by signal {signal}"))
                }
            };
            if let Some(how) = how {
                return Ok(EditorOutcome::Failed(how, is_changed));
            }
            if let Some(taken) = take(text)? {
                return Ok(EditorOutcome::Text(taken));
            }
            if !again(context)? {
                break;
            }
        }
        Ok(EditorOutcome::Discarded)
    }

    /// Removes it, unless it holds a text that is nowhere else.
    pub(super) fn close(self, context: &Context, is_changed: bool) {
        if is_changed {
            context.out.say(&self.place());
        } else {
            self.remove();
        }
    }

    pub(super) fn remove(self) {
        // A leftover copy harms nobody.
        let _ = files::remove_file(&self.path);
    }

    /// A failure that says where the text is.
    pub(super) fn kept(&self, mut failure: Failure) -> Failure {
        failure.details.push(self.place());
        failure
    }

    fn place(&self) -> String {
        format!("what you typed is kept in {}", self.path.display())
    }
}

/// Opens a file in the editor, and waits for its end: its status, and a signal that was meant for both.
fn in_editor(
    context: &Context,
    command: &str,
    path: &Path,
) -> Result<(ExitStatus, Option<Signal>), Failure> {
    let ended = runtime()?.block_on(async {
        // Ctrl-C in the editor is meant for the editor; here it is only consumed.
        let mut signals = Signals::install()?;
        let mut editor = Editor::open(command, path, context.is_attended)?;
        let mut received = None;
        loop {
            tokio::select! {
                status = editor.wait() => return status.map(|status| (status, received)),
                signal = signals.next() => {
                    if signal != Signal::Interrupt {
                        editor.send_signal(signal.number());
                        received = Some(signal);
                    }
                }
            }
        }
    });
    ended.map_err(|error| Failure::io("the editor cannot be started", &error))
}

/// The editor of a person at a terminal.
pub(super) fn editor_here() -> String {
    named_editor().unwrap_or_else(|| "vi".to_owned())
}

/// `$VISUAL`, else `$EDITOR`.
fn named_editor() -> Option<String> {
    let names = ["VISUAL", "EDITOR"].into_iter();
    let mut named = names.filter_map(std::env::var_os).map(OsString::into_string);
    named.find_map(|command| command.ok().filter(|command| !command.trim().is_empty()))
}

fn is_at_terminal(context: &Context) -> bool {
    context.is_attended && io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks whether to edit again. The end of the input means no, and so does an absent person.
fn again(context: &Context) -> Result<bool, Failure> {
    if !is_at_terminal(context) {
        return Ok(false);
    }
    let question = "edit again (e), or discard (x)? ";
    let help = "e opens the text again, x changes nothing";
    let answer =
        ask::choice(context.out, question, &[&["e", "edit"], &["x", "discard"]], false, help);
    Ok(runtime()?.block_on(answer) == Some(ask::ChoiceAnswer::Chosen(0)))
}
