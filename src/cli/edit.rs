//! `descent edit`: opens a copy of the state in a person's editor; a valid text is merged in.
//!
//! Invariant: nothing is locked while the person types: a loop goes on. Not here: the copy (`edited_copy`), adopting the
//! text (`ops::edit`).

use std::sync::Arc;

use descent_core::{doc::Fault, event::Event, id::Serial, state::State};
use serde::Serialize;

use super::{
    End,
    context::Context,
    edited_copy::{EditedCopy, EditorOutcome, again, has_terminal, named_editor},
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
    render,
    store::{self, LoadedState, Store},
};

/// How often an invalid text is opened again.
const EDITED_MAX: usize = 1_000;

pub(super) fn edit(context: &Context) -> Result<End, Failure> {
    let mut store = context.store()?;
    let begun = ops::current(&context.client(None), &mut store)?;
    let command = match named_editor() {
        // A named editor may work without a terminal, as a script does.
        Some(named) => named,
        None if has_terminal(context) => "vi".to_owned(),
        None => return Err(no_terminal(&store)),
    };
    // The journal shows the base of the edit to another process, and to this one when the loop has moved on.
    store.write_journal();
    let name = format!("edit-{}", begun.state.serial.0);
    let copy = EditedCopy::create(&store.place().dir, &name, begun.bytes())?;
    for _ in 0..EDITED_MAX {
        match copy.open(context, &command)? {
            EditorOutcome::Nothing => {
                copy.remove();
                report(context, &store, &begun.state, None);
                return Ok(End::Code(0));
            }
            EditorOutcome::Signal(signal, is_changed) => {
                copy.close(context, is_changed);
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
                        if !again(context)? {
                            return Err(not_taken(&copy, lines.len()));
                        }
                    }
                }
            }
        }
    }
    Err(not_taken(&copy, 1))
}

/// The commit of an edited text, and its events.
type EditOutcome = Result<(Arc<LoadedState>, Vec<Event>), EditRefusal>;

fn take_in(
    context: &Context,
    store: &mut Store,
    begun: &Arc<LoadedState>,
    bytes: &[u8],
    copy: &EditedCopy,
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
        Err(failure) => Err(copy.kept(failure)),
    }
}

/// The reasons why a text was refused, with their places.
fn lines(copy: &EditedCopy, bytes: &[u8], refusal: &EditRefusal) -> Vec<String> {
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

fn not_taken(copy: &EditedCopy, places: usize) -> Failure {
    let message = format!("the edit has {}, and nothing was changed", store::count(places));
    let hint = "descent edit begins anew, on the present state";
    copy.kept(Failure::new("E-INVALID", exit::INVALID, message, hint))
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
    let output = EditOutput {
        schema: "descent/edit/1",
        result: if events.is_some() { EditResult::Committed } else { EditResult::Unchanged },
        serial: state.serial,
        notices: events.unwrap_or_default(),
        next: ops::next(store, state),
    };
    for event in output.notices.iter().filter(|_| !context.out.json) {
        let at = clock::now().rfc3339();
        context.tell(&EventLine::new(event, at, state.serial));
    }
    let words = match events {
        Some(_) => format!("committed as serial {}", state.serial.0),
        None => "unchanged".to_owned(),
    };
    context.answer(&output, || format!("{words}\nnext: {}", output.next));
}
