//! `descent edit`: opens a copy of the state in a person's editor; a valid text is merged in.
//!
//! Invariant: typed text is never lost: it is in the state, or in the copy, whose path is printed. Nothing is locked
//! while the person types: a loop goes on. Not here: adopting the text (`ops::edit`).

mod copy;

use std::{
    ffi::OsString, io::IsTerminal, os::unix::process::ExitStatusExt, path::Path,
    process::ExitStatus, sync::Arc,
};

use descent_core::{doc::Fault, event::Event, id::Serial, state::State, view, world::World};

use serde::Serialize;

use super::{
    End, ask,
    context::{Context, runtime, surroundings},
    validate,
};
use crate::{
    clock,
    events::EventLine,
    failure::{Failure, exit, quoted},
    ops::{
        self,
        edit::{EditRefusal, EditText},
    },
    process::editor::Editor,
    render,
    signal::{Signal, Signals},
    store::{self, LoadedState, Store},
};

use copy::Copy;

/// How often an invalid text is opened again.
const EDITED_MAX: usize = 1_000;
/// How often a question is repeated if the answer was not understood.
const ASKED_MAX: usize = 5;

pub(super) fn edit(context: &Context) -> Result<End, Failure> {
    let mut store = context.store()?;
    let begun = ops::current(&context.client(None), &mut store)?;
    let named = named_editor(|name| std::env::var_os(name));
    let command = match named {
        // A named editor may work without a terminal, as a script does.
        Some(named) => named,
        None if has_terminal(context) => "vi".to_owned(),
        None => return Err(no_terminal(&store)),
    };
    // The journal shows the base of the edit to another process, and to this one when the loop has moved on.
    store.write_journal();
    let serial = begun.state.serial.0;
    let made = Copy::create(&store.place().dir, serial, begun.bytes());
    let copy = made.map_err(|error| Failure::io("the copy to edit cannot be made", &error))?;
    for _ in 0..EDITED_MAX {
        match typed(context, &copy, &begun, &command)? {
            EditorOutcome::Nothing => {
                copy.remove();
                report(context, &store, &begun.state, None);
                return Ok(End::Code(0));
            }
            EditorOutcome::Signal(signal, is_changed) => {
                close(context, copy, is_changed);
                return Ok(End::Signal(signal));
            }
            EditorOutcome::Failed(how, is_changed) => {
                let has_terminal = has_terminal(context);
                return Err(failed(&command, &how, copy, is_changed, has_terminal));
            }
            EditorOutcome::Text(bytes) => {
                match take_in(context, &mut store, &begun, &bytes, &copy)? {
                    Ok((loaded, events)) => {
                        copy.remove();
                        report(context, &store, &loaded.state, Some(&events));
                        return Ok(End::Code(0));
                    }
                    Err(refusal) => {
                        let lines = lines(&copy, &bytes, &refusal);
                        lines.iter().for_each(|line| context.out.say(&render::clean(line)));
                        if !again(context) {
                            return Err(not_taken(&copy, lines.len()));
                        }
                    }
                }
            }
        }
    }
    Err(not_taken(&copy, 1))
}

/// Opens a file in the editor, and waits for its end: its status, and a signal that was meant for both.
pub(super) fn in_editor(
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
    named_editor(|name| std::env::var_os(name)).unwrap_or_else(|| "vi".to_owned())
}

/// The outcome of an editor session.
enum EditorOutcome {
    Nothing,
    Text(Vec<u8>),
    /// How it ended, and whether the text changed.
    Failed(String, bool),
    Signal(Signal, bool),
}

fn typed(
    context: &Context,
    copy: &Copy,
    begun: &LoadedState,
    command: &str,
) -> Result<EditorOutcome, Failure> {
    let (status, received) = in_editor(context, command, &copy.path)?;
    let bytes = copy.read().map_err(|error| Failure::io("the copy cannot be read", &error))?;
    let is_changed = bytes != begun.bytes();
    if let Some(signal) = received {
        return Ok(EditorOutcome::Signal(signal, is_changed));
    }
    if !status.success() {
        let how = match (status.code(), status.signal()) {
            (Some(code), _) => format!("ended with {code}"),
            (None, signal) => format!("was killed by signal {}", signal.unwrap_or_default()),
        };
        return Ok(EditorOutcome::Failed(how, is_changed));
    }
    Ok(if is_changed { EditorOutcome::Text(bytes) } else { EditorOutcome::Nothing })
}

/// The commit of an edited text, and its events.
type EditOutcome = Result<(Arc<LoadedState>, Vec<Event>), EditRefusal>;

fn take_in(
    context: &Context,
    store: &mut Store,
    begun: &Arc<LoadedState>,
    bytes: &[u8],
    copy: &Copy,
) -> Result<EditOutcome, Failure> {
    let typed = match ops::edit::read(store, begun, &copy.path, bytes.to_vec()) {
        Ok(EditText::Same) => return Ok(Ok((Arc::clone(begun), Vec::new()))),
        Ok(EditText::Changed(typed)) => typed,
        Err(refusal) => return Ok(Err(refusal)),
    };
    for line in store::show_faults(&copy.path, bytes, typed.warnings()) {
        context.out.say(&format!("warning: {line}"));
    }
    let client = context.client(None);
    match ops::edit::commit(&client, store, begun, &typed.state) {
        Ok(committed) => Ok(committed.map(|report| (report.loaded, report.events))),
        Err(failure) => Err(kept(failure, copy)),
    }
}

/// The reasons why a text was refused, with their places.
fn lines(copy: &Copy, bytes: &[u8], refusal: &EditRefusal) -> Vec<String> {
    match refusal {
        EditRefusal::Invalid(faults) => validate::explained(&copy.path, bytes, faults),
        EditRefusal::Unreadable(error) => vec![format!("{}: {error}", copy.path.display())],
        EditRefusal::Conflict(faults) => {
            let line = |fault: &Fault| format!("{}: {}", fault.pointer, fault.message);
            let head = "together with what was committed meanwhile:".to_owned();
            std::iter::once(head).chain(faults.iter().map(line)).collect()
        }
    }
}

/// `$VISUAL`, else `$EDITOR`.
fn named_editor(var: impl Fn(&str) -> Option<OsString>) -> Option<String> {
    let mut named =
        ["VISUAL", "EDITOR"].into_iter().filter_map(|name| var(name)?.into_string().ok());
    named.find(|command| !command.trim().is_empty())
}

fn has_terminal(context: &Context) -> bool {
    context.is_attended && std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks whether to edit again. The end of the input means no, and so does an absent person.
pub(super) fn again(context: &Context) -> bool {
    if !has_terminal(context) {
        return false;
    }
    ask::forget_typed();
    for _ in 0..ASKED_MAX {
        let answer = ask::now(context.out, "edit again (e), or discard (x)? ");
        match answer.as_deref().map(str::to_lowercase).as_deref() {
            Some("e" | "edit") => return true,
            Some("x" | "discard") | None => return false,
            Some(_) => context.out.say("e opens the text again, x changes nothing"),
        }
    }
    false
}

fn close(context: &Context, copy: Copy, is_changed: bool) {
    if is_changed {
        context.out.say(&where_it_is(&copy));
    } else {
        copy.remove();
    }
}

fn where_it_is(copy: &Copy) -> String {
    format!("what you typed is kept in {}", copy.path.display())
}

fn kept(mut failure: Failure, copy: &Copy) -> Failure {
    failure.details.push(where_it_is(copy));
    failure
}

fn not_taken(copy: &Copy, places: usize) -> Failure {
    let message = format!("the edit has {}, and nothing was changed", store::count(places));
    let hint = "descent edit begins anew, on the present state";
    kept(Failure::new("E-INVALID", exit::INVALID, message, hint), copy)
}

fn failed(command: &str, how: &str, copy: Copy, is_changed: bool, has_terminal: bool) -> Failure {
    let message = format!("the editor `{command}` {how}, and nothing was changed");
    let hint = if has_terminal {
        "name one that works: VISUAL=nano descent edit"
    } else {
        "name one that needs no terminal: EDITOR='sed -i s/jwt/session/' descent edit"
    };
    let failure = Failure::new("E-EDITOR", exit::UNAVAILABLE, message, hint);
    if is_changed {
        return kept(failure, &copy);
    }
    copy.remove();
    failure
}

fn no_terminal(store: &Store) -> Failure {
    let path = quoted(&store.place().state);
    let hint = format!("change the file itself, with any program, at any time: {path}");
    let message =
        "there is no terminal for an editor, and $EDITOR names none that needs no terminal";
    Failure::new("E-EDITOR", exit::UNAVAILABLE, message, hint)
}

/// The outcome of an edit: `descent edit --json`
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct EditOutput<'a> {
    schema: &'static str,
    result: EditResult,
    /// The newest commit.
    serial: Serial,
    /// The effects of the edit, as `run --json` reports them.
    notices: &'a [Event],
    /// One command to type next.
    next: String,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
enum EditResult {
    Committed,
    Unchanged,
}

/// `None`: nothing changed.
fn report(context: &Context, store: &Store, state: &State, events: Option<&[Event]>) {
    let events = events.filter(|events| !events.is_empty());
    let live = store.is_live();
    let next = if live {
        "descent status".to_owned()
    } else {
        view::next(&World::new(state.clone()), &surroundings(store, state))
    };
    if context.out.json {
        context.out.json(&EditOutput {
            schema: "descent/edit/1",
            result: match events {
                Some(_) => EditResult::Committed,
                None => EditResult::Unchanged,
            },
            serial: state.serial,
            notices: events.unwrap_or_default(),
            next,
        });
        return;
    }
    for event in events.unwrap_or_default() {
        let at = clock::now().rfc3339();
        context.tell(&EventLine::new(event, at, state.serial));
    }
    let words = match events {
        Some(_) => format!("committed as serial {}", state.serial.0),
        None => "unchanged".to_owned(),
    };
    context.out.data(&format!("{words}\nnext: {next}"));
}
