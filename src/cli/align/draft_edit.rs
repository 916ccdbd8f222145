//! A draft in the person's editor: its text is a plan, and what they save is the whole agreement.
//!
//! Invariant: typed text is never lost. It is in the draft, or in the copy, whose path is printed.

use descent_core::{doc, graph::validate::MissingPart, plan, state::State};

use super::{
    super::{
        context::{Context, signals_are_given_back},
        edited_copy::{EditedCopy, EditorOutcome, again, editor_here},
    },
    AlignArgs, questions,
    reading::{AlignRefusal, DraftText, read},
};
use crate::{
    failure::{Failure, exit},
    files,
    ops::align::not_aligned,
    plan_file::{Notation, PlanFile},
    workspace::cache_dir,
};

/// The directory of the copies, below the cache.
const COPIES: &str = "drafts";
/// Copies that are kept.
const KEPT_MAX: usize = 20;
/// How often an invalid text is opened again.
const EDITED_MAX: usize = 1_000;

/// Opens the draft in the editor until it is an agreement; an unchanged text leaves it as it was.
pub(super) fn edit(
    context: &Context,
    flags: &mut AlignArgs,
    state: State,
) -> Result<State, Failure> {
    let copy = copy(&doc::write(&plan::text_of(&state)).into_bytes())?;
    let command = editor_here();
    for _ in 0..EDITED_MAX {
        let ended = copy.open(context, &command)?;
        signals_are_given_back()?;
        let typed = match ended {
            EditorOutcome::Text(typed) => typed,
            EditorOutcome::Signal(..) => break,
            EditorOutcome::Nothing => {
                copy.remove();
                return Ok(state);
            }
            EditorOutcome::Failed(how, is_changed) => {
                let words = format!("the editor `{command}` {how}; the proposal is as it was");
                context.out.say(&words);
                copy.close(context, is_changed);
                return Ok(state);
            }
        };
        let file = PlanFile { name: copy.path.clone(), bytes: typed, notation: Notation::Json };
        let before = flags.draft.replace(DraftText::Edited(file));
        match read(&PlanFile::none(), flags, |line| context.out.say(line)) {
            Ok((state, _)) => {
                before.iter().for_each(forget);
                return Ok(state);
            }
            Err(refusal) => {
                flags.draft = before;
                context.out.failure(&failure_of(refusal));
                if !again(context)? {
                    break;
                }
            }
        }
    }
    Err(copy.kept(questions::left_with(flags)))
}

/// Removes the copy of a text that stands elsewhere now.
pub(super) fn forget(draft: &DraftText) {
    if let DraftText::Edited(file) = draft {
        // A leftover copy harms nobody.
        let _ = files::remove_file(&file.name);
    }
}

fn failure_of(refusal: AlignRefusal) -> Failure {
    match refusal {
        AlignRefusal::Failed(failure) => failure,
        AlignRefusal::Incomplete(missing) => lacking(&missing),
    }
}

fn lacking(missing: &[MissingPart]) -> Failure {
    let refusal = not_aligned(missing);
    let hint = "write them into the text";
    Failure::new("E-NOT-ALIGNED", exit::NOT_ALIGNED, &refusal.message, hint).with(refusal.details)
}

/// A copy for the editor; the oldest of earlier ones go.
fn copy(text: &[u8]) -> Result<EditedCopy, Failure> {
    let unwritable = |error| Failure::io("the copy to edit cannot be made", &error);
    let no_place = || unwritable(std::io::ErrorKind::NotFound.into());
    let dir = cache_dir().ok_or_else(no_place)?.join(COPIES);
    files::make_dirs(&dir).map_err(unwritable)?;
    let mut kept = files::entries(&dir);
    kept.sort_unstable();
    let old = kept.len().saturating_sub(KEPT_MAX - 1);
    for path in kept.into_iter().take(old) {
        // The next edit tries again what cannot be removed now.
        let _ = files::remove(&path);
    }
    EditedCopy::create(&dir, &uuid::Uuid::now_v7().to_string(), text)
}
