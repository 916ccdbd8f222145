//! A copy of a text in a person's editor.
//!
//! Invariant: typed text is never lost. The copy is never removed while it holds text that is nowhere else, and its path is
//! printed.

use std::{
    ffi::OsString,
    io::{self, IsTerminal, Write},
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::ExitStatus,
};

use super::{
    ask,
    context::{Context, runtime},
};
use crate::{
    failure::Failure,
    files,
    process::editor::Editor,
    signal::{Signal, Signals},
};

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
pub(super) enum EditorOutcome {
    Nothing,
    Text(Vec<u8>),
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

    /// Opens it in the editor, and reads it by name, since editors replace files.
    pub(super) fn open(&self, context: &Context, command: &str) -> Result<EditorOutcome, Failure> {
        let (status, received) = in_editor(context, command, &self.path)?;
        let text = files::read_some(&self.path, BYTES_MAX + 1)
            .map_err(|error| Failure::io("the copy cannot be read", &error))?;
        let is_changed = text != self.before;
        Ok(match (received, status.code()) {
            (Some(signal), _) => EditorOutcome::Signal(signal, is_changed),
            (None, Some(0)) if is_changed => EditorOutcome::Text(text),
            (None, Some(0)) => EditorOutcome::Nothing,
            (None, Some(code)) => EditorOutcome::Failed(format!("ended with {code}"), is_changed),
            (None, None) => {
                let signal = status.signal().unwrap_or_default();
                EditorOutcome::Failed(format!("was killed by signal {signal}"), is_changed)
            }
        })
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
    named_editor().unwrap_or_else(|| "vi".to_owned())
}

/// `$VISUAL`, else `$EDITOR`.
pub(super) fn named_editor() -> Option<String> {
    let names = ["VISUAL", "EDITOR"].into_iter();
    let mut named = names.filter_map(std::env::var_os).map(OsString::into_string);
    named.find_map(|command| command.ok().filter(|command| !command.trim().is_empty()))
}

pub(super) fn has_terminal(context: &Context) -> bool {
    context.is_attended && io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks whether to edit again. The end of the input means no, and so does an absent person.
pub(super) fn again(context: &Context) -> Result<bool, Failure> {
    if !has_terminal(context) {
        return Ok(false);
    }
    let question = "edit again (e), or discard (x)? ";
    let help = "e opens the text again, x changes nothing";
    let answer = ask::choice(context.out, question, &[&["e", "edit"], &["x", "discard"]], help);
    Ok(runtime()?.block_on(answer) == Some(0))
}
