//! The base case as commands, and the words of an objective that are rendered from it.

use alloc::{format, string::String, vec::Vec};

use crate::state::{Check, CheckKind, Leaf, Objective};

/// Adds a command to a base case.
pub fn add_check(base_case: &mut Option<Check>, command: &str) {
    let check = Check::command(command);
    let mut parts = match base_case.take() {
        None => Vec::new(),
        Some(Check { kind: CheckKind::All(parts), name: None, .. }) => parts,
        Some(other) => Vec::from([other]),
    };
    parts.push(check);
    *base_case = Some(Check::of(CheckKind::All(parts)));
}

/// Renders deliverables and definition of done from the checks, unless they are written.
pub(crate) fn render(objective: &mut Objective) {
    let Some(base_case) = &objective.base_case else {
        return;
    };
    let (deliverables, done) = words(base_case);
    for (text, rendered) in
        [(&mut objective.deliverables, deliverables), (&mut objective.definition_of_done, done)]
    {
        if text.trim().is_empty() {
            *text = rendered;
        }
    }
}

/// Renders anew what was rendered from the earlier base case.
pub fn render_again(objective: &mut Objective, earlier: Option<&Check>) {
    let base_case = objective.base_case.take();
    objective.base_case = earlier.cloned();
    unrender(objective);
    objective.base_case = base_case;
    render(objective);
}

/// Deliverables and definition of done, each empty if it was rendered from the checks.
pub fn written_words(objective: &Objective) -> [&str; 2] {
    let rendered = objective.base_case.as_ref().map(words);
    let (deliverables, done) = rendered.unwrap_or_default();
    let pairs = [(&objective.deliverables, deliverables), (&objective.definition_of_done, done)];
    pairs.map(|(text, rendered)| if *text == rendered { "" } else { text })
}

/// Takes out what was rendered from the checks.
pub(super) fn unrender(objective: &mut Objective) {
    let Some((deliverables, done)) = objective.base_case.as_ref().map(words) else {
        return;
    };
    if objective.deliverables == deliverables {
        objective.deliverables.clear();
    }
    if objective.definition_of_done == done {
        objective.definition_of_done.clear();
    }
}

/// Deliverables and definition of done.
fn words(base_case: &Check) -> (String, String) {
    let rendered = half_a_sentence(base_case);
    (format!("The project, changed so that: {rendered}"), format!("All of this holds: {rendered}"))
}

fn half_a_sentence(check: &Check) -> String {
    let join = |parts: &[Check], word: &str| {
        parts.iter().map(half_a_sentence).collect::<Vec<_>>().join(word)
    };
    match &check.kind {
        CheckKind::All(parts) => join(parts, "; "),
        CheckKind::Any(parts) => format!("({})", join(parts, " or ")),
        CheckKind::Leaf(leaf) => match &check.name {
            Some(name) => name.clone(),
            None => match &**leaf {
                Leaf::Command(leaf) => format!("`{}` passes", leaf.command),
                Leaf::NotCommand(leaf) => format!("`{}` fails", leaf.command),
                Leaf::File(leaf) => format!("{} is there", leaf.path),
                Leaf::NotFile(leaf) => format!("{} is gone", leaf.path),
                Leaf::Quality(leaf) => leaf.statement.clone(),
                Leaf::Assertion(leaf) => leaf.statement.clone(),
                Leaf::Newer(_) => check.title(),
            },
        },
    }
}
