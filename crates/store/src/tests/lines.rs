//! A person's edits in these tests: lines added to the notes, each unique, and the smallest merge that keeps them.

use std::collections::BTreeSet;

use super::*;

/// Each save adds a unique line to the notes, so that a lost one is missed.
pub(super) fn with_line(text: &str, line: &str) -> String {
    text.replacen("ask Ann", &format!("ask Ann; {line}"), 1)
}

pub(super) fn notes(state: &State) -> BTreeSet<String> {
    let text = format!("{:?}", state.extra);
    let said = text.split("ask Ann").nth(1).unwrap_or_default();
    let said = said.split('"').next().unwrap_or_default();
    said.split("; ").map(str::to_owned).filter(|line| line.starts_with('n')).collect()
}

/// Adds to the present notes those of a save that began from an older state: the least that any merge does.
pub(super) fn merged(
    known: &BTreeSet<String>,
    now: &LoadedState,
) -> (CommitContent, BTreeSet<String>) {
    let all: BTreeSet<String> = known.union(&notes(&now.state)).cloned().collect();
    let lines: String = all.iter().map(|line| format!("; {line}")).collect();
    let text = now.text();
    let (head, tail) = text.split_once("\"notes\": \"ask Ann").unwrap();
    let (_, tail) = tail.split_once('"').unwrap();
    let text = format!("{head}\"notes\": \"ask Ann{lines}\"{tail}");
    let mut state = load(Path::new("merged"), text.into()).unwrap().state;
    Arc::make_mut(&mut state.run).iteration += 1;
    (
        CommitContent {
            touched: ChangeSet::all(&state),
            state,
            at: String::new(),
            events: Vec::new(),
        },
        all,
    )
}
