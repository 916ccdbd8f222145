//! Unknown keys that are faults: misspelt ones, those of another record or another tool, and any in a record that decides.
//!
//! Invariant: a key that begins with `x-` or `x_` is a person's own, unless its record decides.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use super::{
    Check, Constraints, Control, Objective,
    atom::rules::{ATOM, keys_of_program},
    fields::{Fields, NEAR_MISS, NearMiss, UNKNOWN_KEY},
    rule::{FieldRule, Owner},
};
use crate::doc::{self, Member, Node};

/// A kind of object, and the keys that are written into it by mistake.
struct RecordKind {
    /// The key that identifies the kind: no other kind is asked for it.
    mark: &'static str,
    name: &'static str,
    forms: &'static [KeyForm],
}

/// Keys with the same meaning, and the right form.
struct KeyForm {
    keys: &'static [&'static str],
    write: &'static str,
}

const fn form(keys: &'static [&'static str], write: &'static str) -> KeyForm {
    KeyForm { keys, write }
}

const KINDS: [RecordKind; 6] = [
    RecordKind {
        mark: "objective",
        name: "a plan",
        forms: &[
            form(&["goal"], "objective: {goal: …}"),
            form(
                &["why", "background_intent"],
                "objective: {background_intent: …}",
            ),
            form(
                &["check", "checks", "base_case"],
                "objective: {base_case: {command: …}}",
            ),
            form(&["constraints"], "objective: {constraints: {…}}"),
            form(&["deliverables"], "objective: {deliverables: …}"),
            form(
                &["definition_of_done"],
                "objective: {definition_of_done: …}",
            ),
            form(&["raw_input"], "objective: {raw_input: …}"),
            form(&["atoms", "steps", "tasks"], "work_graph: {atoms: {…}}"),
        ],
    },
    RecordKind {
        mark: "base_case",
        name: "the objective",
        forms: &[
            form(&["why"], "background_intent: …"),
            form(&["check", "checks"], "base_case: {command: …}"),
        ],
    },
    RecordKind {
        mark: "atoms",
        name: "the work graph",
        forms: &[form(&["steps", "tasks"], "atoms: {…}")],
    },
    RecordKind {
        mark: "depends_on",
        name: "an atom",
        forms: &[
            form(RUN, "action: {run: …}"),
            form(&["desc", "title", "name", "prompt"], "description: …"),
            form(&["check", "test"], "checks: {command: …}"),
            form(&["after", "needs", "requires"], "depends_on: […]"),
            form(&["steps", "tasks", "all"], "parts: […]"),
            form(&["options", "any"], "choices: […]"),
        ],
    },
    RecordKind {
        mark: "stdout_matches",
        name: "a check of a command",
        forms: &[form(&["contains", "matches"], "stdout_matches: REGEX")],
    },
    RecordKind {
        mark: "expect_exit",
        name: "a check of a command",
        forms: &[form(&["exit", "exit_code"], "expect_exit: N")],
    },
];

/// Names that people give the command of an atom.
const RUN: &[&str] = &["run", "command", "cmd"];
/// Keys that only a task has, and a group does not.
const OF_A_TASK: [&str; 9] = [
    "action",
    "checks",
    "timeout",
    "effect",
    "idempotent",
    "output_schema",
    "touches",
    "interruptible",
    "retry_from",
];

/// The rules of the keys of one kind of record.
type Rules = fn() -> Vec<FieldRule>;

/// The records that people write.
const WRITTEN: [(&str, Rules); 5] = [
    ("the objective", Objective::RULE.fields),
    ("`objective.constraints`", Constraints::RULE.fields),
    ("an atom", || ATOM.all_fields()),
    ("a check", || Check::RULE.all_fields()),
    ("`control`", Control::RULE.fields),
];

/// The fault of a member that no reader of its record asked for; `None` for a key of a person's own.
pub(crate) fn of(member: &Member, fields: &Fields<'_, '_>) -> Option<NearMiss> {
    let (key, asked) = (member.key.as_str(), fields.asked());
    let is_own = key.starts_with("x-") || key.starts_with("x_");
    let another = || {
        let of_table = written_for_another(member, fields.node, asked);
        let of_table = of_table.or_else(|| misspelt(key, asked));
        of_table.or_else(|| of_another_record(key, asked))
    };
    let found = if is_own { None } else { another() };
    found.or_else(|| decides(&fields.pointer).then(|| unknown(key, asked)))
}

/// A slip of the pen in a key that people write.
fn misspelt(key: &str, asked: &[&'static str]) -> Option<NearMiss> {
    let of_program = keys_of_program();
    let is_typed = |known: &&str| *known == "status" || !of_program.contains(known);
    doc::slip_of(key, asked.iter().copied().filter(is_typed))?;
    Some(unknown(key, asked))
}

fn unknown(key: &str, asked: &[&'static str]) -> NearMiss {
    let near = doc::suggest(key, asked.iter().copied());
    NearMiss {
        rule: UNKNOWN_KEY,
        message: format!("unknown key `{key}`"),
        hint: near.map_or_else(
            || "leave it out; a remark of yours goes into `notes`".to_string(),
            |near| format!("did you mean `{near}`?"),
        ),
    }
}

/// A key that people write elsewhere.
fn of_another_record(key: &str, asked: &[&'static str]) -> Option<NearMiss> {
    let has = |(_, rules): &&(&str, Rules)| {
        let mut rules = rules().into_iter();
        rules.any(|rule| rule.key == key && rule.owner == Owner::Person)
    };
    let (name, _) = WRITTEN.iter().find(has)?;
    let (message, hint) = match *name == "an atom" && asked.contains(&"depends_on") {
        true => ("another kind of atom", "leave it out"),
        false => (
            *name,
            "move it there, or put a remark of yours into `notes`",
        ),
    };
    Some(NearMiss {
        rule: NEAR_MISS,
        message: format!("`{key}` is a key of {message}, and not known here"),
        hint: hint.to_string(),
    })
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
            | (
                Some("work_graph"),
                Some("atoms"),
                Some("action" | "checks" | "budget")
            )
    )
}

/// A key that people write for another one of this record, which has the keys `asked` and no others.
fn written_for_another(member: &Member, node: &Node, asked: &[&'static str]) -> Option<NearMiss> {
    let key = member.key.as_str();
    let is_of_atom = asked.contains(&"depends_on");
    let group = ["choices", "parts"]
        .into_iter()
        .find(|key| asked.contains(key));
    if let Some(group) = group.filter(|_| is_of_atom && !asked.contains(&"action"))
        && (OF_A_TASK.contains(&key) || RUN.contains(&key))
    {
        return Some(task_key(key, group));
    }
    if is_of_atom && ["worker", "agent"].contains(&key) {
        let hint = "leave it out: an atom without `action` is done by the worker of descent.toml";
        return Some(no_key(key, "an atom", hint.to_string()));
    }
    if Constraints::RULE.field(key).is_some()
        && let Some(miss) = constraint(key, asked)
    {
        return Some(miss);
    }
    let is_atom = member.node.as_object().is_some();
    if asked == ["atoms"] && is_atom && node.get("atoms").is_none() {
        let hint = format!("write `atoms: {{{key}: …}}`");
        return Some(no_key(key, "the work graph", hint));
    }
    let kinds = KINDS.iter().filter(|kind| asked.contains(&kind.mark));
    let mut forms = kinds.flat_map(|kind| kind.forms.iter().map(move |form| (kind, form)));
    let (kind, form) = forms.find(|(_, form)| form.keys.contains(&key))?;
    Some(no_key(key, kind.name, format!("write `{}`", form.write)))
}

/// A constraint outside of `constraints`.
fn constraint(key: &str, asked: &[&'static str]) -> Option<NearMiss> {
    let (name, hint) = if asked.contains(&"base_case") {
        (
            "the objective",
            format!("write `constraints: {{{key}: …}}`"),
        )
    } else if asked.contains(&"objective") {
        (
            "a plan",
            format!("write `objective: {{constraints: {{{key}: …}}}}`"),
        )
    } else {
        return None;
    };
    Some(no_key(key, name, hint))
}

/// Whether a plan with `key` at its top holds the objective there, so that it is not missing.
pub(crate) fn is_of_objective(key: &str) -> bool {
    let top = KINDS.iter().filter(|kind| kind.mark == "objective");
    let mut forms = top.flat_map(|kind| kind.forms);
    forms.any(|form| form.write.starts_with("objective") && form.keys.contains(&key))
}

fn no_key(key: &str, name: &str, hint: String) -> NearMiss {
    let message = format!("`{key}` is no key of {name}");
    NearMiss {
        rule: NEAR_MISS,
        message,
        hint,
    }
}

/// A group has no action and no checks of its own.
fn task_key(key: &str, group: &str) -> NearMiss {
    let one = if group == "choices" { "choice" } else { "part" };
    let hint = match key {
        "checks" => format!("give `checks` to each {one}, or to an atom that depends on the group"),
        _ if key == "action" || RUN.contains(&key) => {
            format!("write it in a {one}: `{group}: [{{action: {{run: …}}}}]`")
        }
        _ => format!("write it in a {one}: `{group}: [{{{key}: …}}]`"),
    };
    let message = format!("`{key}` stands beside `{group}`, and only a task has it");
    NearMiss {
        rule: NEAR_MISS,
        message,
        hint,
    }
}
