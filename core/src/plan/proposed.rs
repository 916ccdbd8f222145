//! Keys of atoms that a model may not write: those of the program, and those of a person.

use alloc::{borrow::ToOwned, format, string::String, vec::Vec};

use crate::doc::{self, Fault, Node, Span};

/// Keys of an atom that only the program writes.
pub(super) const PROGRAMS: [&str; 9] = [
    "status",
    "because",
    "tries",
    "interruptions",
    "origin",
    "planned",
    "grant",
    "fragment",
    "fragments",
];

/// The faults of such keys in atoms that a model proposes: a map by id or a list, with the nested ones. `persons` are
/// the keys that only a person writes.
pub fn keys_of_others(atoms: &Node, at: &str, persons: &[&str]) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut todo = Vec::from([(atoms, at.to_owned(), true)]);
    while let Some((node, at, are_many)) = todo.pop() {
        let is_map = are_many && node.as_object().is_some();
        let inner = node.as_array().unwrap_or_default().iter().enumerate();
        todo.extend(inner.map(|(n, one)| (one, format!("{at}/{n}"), false)));
        for member in node.as_object().unwrap_or_default() {
            let at = doc::pointer_push(&at, &member.key);
            if is_map {
                todo.push((&member.node, at, false));
            } else if member.key == "parts" || member.key == "choices" {
                todo.push((&member.node, at, true));
            } else if persons.contains(&member.key.as_str()) {
                let message = format!("`{}` is a person's to say", member.key);
                let hint = "say it in the description";
                faults.push(fault("persons-key", at, message, hint));
            } else if PROGRAMS.contains(&member.key.as_str()) {
                let message = format!("`{}` is the program's to say", member.key);
                faults.push(fault("program-key", at, message, "leave it out"));
            }
        }
    }
    faults.sort_by(|a, b| a.pointer.cmp(&b.pointer));
    faults
}

fn fault(rule: &'static str, pointer: String, message: String, hint: &str) -> Fault {
    Fault {
        span: Span::default(),
        pointer,
        rule,
        message,
        hint: Some(hint.to_owned()),
    }
}
