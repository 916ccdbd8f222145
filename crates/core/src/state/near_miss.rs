//! Unknown keys that are faults: misspelt ones, those of another record or another tool, and any in a record that decides.
//!
//! Invariant: a key that begins with `x-` or `x_` is a person's own, unless its record decides.

use super::{
    Check, Constraints, Control, Objective,
    atom::atom_text::{ATOM, TASK},
    fields::{Fields, NEAR_MISS, UNKNOWN_KEY, is_own},
    limits::fate_of,
    rule::{FieldRule, Owner},
};
use crate::doc::prelude::*;
use crate::doc::{self, Member};

/// A kind of record that people write.
struct RecordKind {
    /// A key that no other kind has.
    mark: &'static str,
    name: &'static str,
    /// The keys that lead to it from the top.
    path: &'static [&'static str],
    rules: fn() -> Vec<FieldRule>,
    /// Keys that people write in the place of others, and the right form.
    forms: &'static [(&'static [&'static str], &'static str)],
}

impl RecordKind {
    /// The kind that has the keys `asked`.
    fn of(asked: &[&str]) -> Option<&'static Self> {
        KINDS.iter().find(|kind| asked.contains(&kind.mark))
    }

    fn form(&self, key: &str) -> Option<&'static str> {
        let mut forms = self.forms.iter();
        let (_, form) = forms.find(|(keys, _)| keys.contains(&key))?;
        Some(form)
    }
}

static KINDS: [RecordKind; 7] = [
    RecordKind { mark: "objective", name: "a plan", path: &[], rules: Vec::new, forms: &[] },
    RecordKind {
        mark: "base_case",
        name: "the objective",
        path: &["objective"],
        rules: Objective::RULE.fields,
        forms: &[
            (&["why"], "background_intent: …"),
            (&["check", "checks"], "base_case: {command: …}"),
        ],
    },
    RecordKind {
        mark: "max_attempts",
        name: "the constraints",
        path: &["objective", "constraints"],
        rules: Constraints::RULE.fields,
        forms: &[(&["protect"], "protected: […]")],
    },
    RecordKind {
        mark: "atoms",
        name: "the work graph",
        path: &["work_graph"],
        rules: Vec::new,
        forms: &[(&["atoms", "steps", "tasks"], "atoms: {…}")],
    },
    RecordKind {
        mark: "depends_on",
        name: "an atom",
        path: &["work_graph", "atoms", "ID"],
        rules: || ATOM.all_fields(),
        forms: &[
            (RUN, "action: {run: …}"),
            (&["desc", "title", "name", "prompt"], "description: …"),
            (&["check", "test"], "checks: {command: …}"),
            (&["after", "needs", "requires"], "depends_on: […]"),
            (&["deps", "depend", "depends", "dependencies"], "depends_on: […]"),
            (&["steps", "tasks", "all"], "parts: […]"),
            (&["options", "any"], "choices: […]"),
            (&["protect"], "objective: {constraints: {protected: […]}}"),
        ],
    },
    RecordKind {
        mark: "stdout_matches",
        name: "a check of a command",
        path: &["objective", "base_case"],
        rules: || Check::RULE.all_fields(),
        forms: &[
            (&["contains", "matches"], "stdout_matches: REGEX"),
            (&["exit", "exit_code"], "expect_exit: N"),
        ],
    },
    RecordKind {
        mark: "stop_requested",
        name: "`control`",
        path: &["control"],
        rules: Control::RULE.fields,
        forms: &[],
    },
];

/// Names that people give the command of an atom.
const RUN: &[&str] = &["run", "command", "cmd"];

/// The rule, the message and the hint of a fault.
type NearMiss = (&'static str, String, String);

/// The fault of a member that no reader of its record asked for; `None` for one that may stay.
pub(crate) fn of(member: &Member, fields: &Fields<'_, '_>) -> Option<NearMiss> {
    let (key, asked) = (member.key.as_str(), fields.asked());
    let decides = decides(&fields.pointer);
    if is_own(key) {
        return decides.then(|| unknown(key, asked));
    }
    let here = of_atom(key, asked).or_else(|| of_record(member, fields));
    let here = here.or_else(|| misspelt(key, asked));
    here.or_else(|| {
        if decides {
            Some(unknown(key, asked))
        } else {
            let place = place_of(key, RecordKind::of(asked).map(|kind| kind.path))?;
            Some(no_key(key, asked, format!("write `{place}`")))
        }
    })
}

/// A key that people write for another one of an atom, or that only another kind of atom has.
fn of_atom(key: &str, asked: &[&'static str]) -> Option<NearMiss> {
    let mut groups = ["choices", "parts"].into_iter();
    let group = groups.find(|group| asked.contains(group) && !asked.contains(&"action"));
    if let Some(group) = group
        && (has_key((TASK.fields)(), key) || RUN.contains(&key))
    {
        return Some(task_key(key, group));
    }
    if !asked.contains(&"depends_on") {
        return None;
    }
    if key == "worker" {
        let hint = "leave it out: an atom without `action` is done by the worker of descent.toml";
        return Some(no_key(key, asked, hint.to_string()));
    }
    has_key(ATOM.all_fields(), key).then(|| {
        let message = format!("`{key}` is a key of another kind of atom, and not known here");
        (NEAR_MISS, message, "leave it out".to_string())
    })
}

/// A key that people write for another one of the record that it is in.
fn of_record(member: &Member, fields: &Fields<'_, '_>) -> Option<NearMiss> {
    let (key, asked) = (member.key.as_str(), fields.asked());
    let is_atom = member.node.as_object().is_some() && fields.node.get("atoms").is_none();
    if asked == ["atoms"] && is_atom {
        return Some(no_key(key, asked, format!("write `atoms: {{{key}: …}}`")));
    }
    let kind = RecordKind::of(asked)?;
    if let Some(fate) = fate_of(key).filter(|_| kind.mark == "max_attempts") {
        return Some(no_key(key, asked, fate.hint()));
    }
    let form = kind.form(key)?;
    Some(no_key(key, asked, format!("write `{form}`")))
}

/// The place of a key of another record, or of one further down that people write so, from the record at `here`.
fn place_of(key: &str, here: Option<&[&str]>) -> Option<String> {
    let mut others = KINDS.iter().filter(|kind| Some(kind.path) != here);
    others.find_map(|kind| {
        let below = here.and_then(|here| kind.path.strip_prefix(here));
        // A key that people write in an atom may be a remark anywhere else.
        let form = below.filter(|_| kind.mark != "depends_on");
        let form = form.and_then(|_| kind.form(key)).map(ToString::to_string);
        let is_its = || has_key((kind.rules)(), key).then(|| format!("{key}: …"));
        let path = below.unwrap_or(kind.path).iter().rev();
        Some(path.fold(form.or_else(is_its)?, |form, key| format!("{key}: {{{form}}}")))
    })
}

/// Whether a plan with `key` at its top holds the objective there, so that it is not missing.
pub(crate) fn is_of_objective(key: &str) -> bool {
    place_of(key, Some(&[])).is_some_and(|place| place.starts_with("objective"))
}

/// A slip of the pen in a key that people write: of an atom, in a key of any kind of atom.
fn misspelt(key: &str, asked: &[&'static str]) -> Option<NearMiss> {
    let typed = ATOM.all_fields().into_iter().filter(is_typed);
    let of_atoms: Vec<&str> = typed.map(|rule| rule.key).chain(["status"]).collect();
    let is_atom = asked.contains(&"depends_on");
    let known = if is_atom { &of_atoms } else { asked };
    doc::slip_of(key, known.iter().copied())?;
    Some(unknown(key, known))
}

fn unknown(key: &str, known: &[&str]) -> NearMiss {
    let near = doc::did_you_mean(key, known.iter().copied());
    let hint = near.unwrap_or_else(|| "leave it out; a remark of yours goes into `notes`".into());
    (UNKNOWN_KEY, format!("unknown key `{key}`"), hint)
}

/// Whether a key of the record at this place decides what is run or when a run ends.
fn decides(pointer: &str) -> bool {
    let mut at = pointer.split('/').skip(1);
    // Behind the id of an atom.
    let place = (at.next(), at.next(), at.nth(1));
    matches!(
        place,
        (Some("control"), None, None)
            | (Some("objective"), Some("constraints" | "base_case"), _)
            | (Some("work_graph"), Some("atoms"), Some("action" | "checks" | "budget"))
    )
}

fn is_typed(rule: &FieldRule) -> bool {
    rule.owner == Owner::Person
}

fn has_key(rules: Vec<FieldRule>, key: &str) -> bool {
    let mut typed = rules.iter().filter(|rule| is_typed(rule));
    typed.any(|rule| rule.key == key)
}

fn no_key(key: &str, asked: &[&'static str], hint: String) -> NearMiss {
    let name = RecordKind::of(asked).map_or("this record", |kind| kind.name);
    (NEAR_MISS, format!("`{key}` is no key of {name}"), hint)
}

/// A group has no action and no checks of its own.
fn task_key(key: &str, group: &str) -> NearMiss {
    let one = if group == "choices" { "choice" } else { "part" };
    let hint = match key {
        "checks" => format!("give `checks` to each {one}, or to an atom that depends on the group"),
        "action" | "run" | "command" | "cmd" => {
            format!("write it in a {one}: `{group}: [{{action: {{run: …}}}}]`")
        }
        _ => format!("write it in a {one}: `{group}: [{{{key}: …}}]`"),
    };
    let message = format!("`{key}` stands beside `{group}`, and only a task has it");
    (NEAR_MISS, message, hint)
}
