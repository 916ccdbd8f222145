//! A person's edit of the file becomes corrections (contract §8).

use alloc::string::{String, ToString};

use super::{Adoption, MergeOutcome, draft::Draft};
use crate::{
    difference,
    id::{Serial, UnixMillis},
    state::{State, record::CorrectionType},
};

/// Records a person's changes and draws the consequences.
///
/// `before` is the last committed state, if it is known. Without it, only the fact of an edit can be recorded.
pub fn adopt(
    before: Option<&State>,
    merged: impl Into<MergeOutcome>,
    by: &str,
    now: UnixMillis,
) -> Adoption {
    let merged: MergeOutcome = merged.into();
    let mut draft = Draft::new(merged.state, by, now);
    draft.removed = merged.removed;
    draft.lost = merged.lost;
    match before {
        None => draft.follow_unknown(),
        Some(before) => draft.follow(before),
    }
    if draft.is_unchanged() && !draft.lost.is_empty() {
        let what = match describe_text(before, &draft.state, None) {
            what if what == AS_WRITTEN => "nothing of the edit is kept".into(),
            what => what,
        };
        draft.correct(CorrectionType::Resolution, what);
        draft.count_pass(0);
    }
    let text = if draft.is_unchanged() {
        describe_text(before, &draft.state, merged.saved_again)
    } else {
        draft.description()
    };
    draft.close(None, text)
}

/// Describes an edit that no correction stands for: a request, a remark, a summary, a count.
fn describe_text(before: Option<&State>, after: &State, saved_again: Option<Serial>) -> String {
    if before.is_some_and(|before| requests(before) != requests(after)) {
        return "a request by hand".to_string();
    }
    if let Some(Serial(old)) = saved_again {
        return alloc::format!(
            "nothing: serial {old} was saved again, and what came since stands (descent undo {old} goes back to it)"
        );
    }
    let changes = before.map(|before| difference::difference(before, after));
    let words = changes.as_deref().map(difference::words);
    match words.filter(|words| words != difference::NOTHING) {
        Some(words) => words,
        None => AS_WRITTEN.to_string(),
    }
}

/// The words for an edit without a difference.
const AS_WRITTEN: &str = "how the file is written, and nothing else";

/// The flags by which a person requests something of the loop.
fn requests(state: &State) -> (bool, bool) {
    let control = &state.control;
    (control.stop_requested, control.redirect_requested)
}
