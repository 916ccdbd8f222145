//! The keys of a plan, as rules: those of a state that a person writes, in the forms in which people write them.
//!
//! Nothing is required that a flag of `align` can say. For atoms that a model proposes there are a JSON Schema, and the
//! keys that are the program's or a person's to write.

use crate::doc::prelude::*;
use crate::{
    doc::{self, Fault, Node},
    id::AtomId,
    state::{
        Objective,
        atom::atom_text::{ALL, ANY, PLAN, TASK, keys_of_program, of_every_atom},
        rule::{ATOM_ID, ChoiceRule, FieldRule, Form, Owner, RecordRule},
        table::rule,
    },
};

/// A plan.
pub const RULE: RecordRule = RecordRule {
    name: "PlanFile",
    doc: "The goal and the work: `descent align --plan`",
    fields: || {
        let graph = Form::Record(&WORK_GRAPH);
        Vec::from([
            rule::<String>("$schema", "For editors: where this schema is"),
            rule::<String>("version", "The version of the contract: major.minor"),
            rule::<Objective>("objective", "").required(),
            rule::<Node>("work_graph", "").of_form(graph),
            rule::<Node>("notes", "Remarks, here and in every object"),
        ])
    },
};

const WORK_GRAPH: RecordRule = RecordRule {
    name: "WorkGraph",
    doc: "The AND/OR graph of the work",
    fields: || {
        let atom = || Box::new(Form::OneOf(&ATOM));
        let atoms = Form::Either(Vec::from([Form::ById(atom()), Form::List(atom())]));
        let about = "Atoms by id, or a list of atoms that say their `id`";
        Vec::from([rule::<Node>("atoms", about).of_form(atoms)])
    },
};

/// An atom of a plan: `choices` make it an `any`, `parts` an `all`.
const ATOM: ChoiceRule = ChoiceRule {
    name: "Atom",
    is_exclusive: false,
    doc: "A task, a step that plans, or a group: `choices` make it an `any`, `parts` an `all`",
    common: || {
        let id = "Where the atom stands in a list; made from its place unless given";
        let mut rules = of_every_atom();
        rules.push(rule::<AtomId>("id", id));
        rules.into_iter().map(in_plan).collect()
    },
    records: &[
        &kind("Any", "Solved when one of its choices is; the first is tried first", || {
            of_kind(&ANY, &["parts"])
        }),
        &kind("All", ALL.doc, || of_kind(&ALL, &["choices"])),
        &kind("Plan", PLAN.doc, || of_kind(&PLAN, &["choices", "parts"])),
        &kind("Task", TASK.doc, || of_kind(&TASK, &["choices", "parts"])),
    ],
};

const fn kind(name: &'static str, doc: &'static str, fields: fn() -> Vec<FieldRule>) -> RecordRule {
    RecordRule { name, doc, fields }
}

/// Keys that the program decides in a state, and a person may begin with.
pub(super) const MAY_BEGIN_WITH: [&str; 2] = ["grant", "origin"];

/// The keys of that kind of atom which a person writes, and those that would make it another kind.
fn of_kind(kind: &RecordRule, others: &[&'static str]) -> Vec<FieldRule> {
    let is_wanted =
        |field: &FieldRule| field.owner == Owner::Person || MAY_BEGIN_WITH.contains(&field.key);
    let fields = (kind.fields)().into_iter().filter(is_wanted);
    let fields = fields.filter(|field| field.key != "planned").map(in_plan);
    let others = others.iter().map(|key| rule::<Node>(key, "").of_form(Form::Never));
    fields.chain(others).collect()
}

/// A key in the form in which people write it.
fn in_plan(field: FieldRule) -> FieldRule {
    let id = || Box::new(ATOM_ID);
    match field.key {
        "depends_on" => field.of_form(Form::Either(Vec::from([ATOM_ID, Form::List(id())]))),
        "parts" | "choices" => field.of_form(members()),
        _ => field,
    }
}

/// Members of a group: ids of atoms that stand elsewhere, and atoms that stand here.
fn members() -> Form {
    let member = Form::Either(Vec::from([ATOM_ID, Form::OneOf(&ATOM)]));
    let listed = Form::Filled(Box::new(Form::List(Box::new(member))));
    let by_id = Form::Filled(Box::new(Form::ById(Box::new(Form::OneOf(&ATOM)))));
    Form::Either(Vec::from([listed, by_id]))
}

/// Whether only the program writes this key of an atom.
pub(super) fn is_programs(key: &str) -> bool {
    key == "planned" || keys_of_program().contains(&key)
}

/// A check and an atom in the `$defs` of a JSON Schema. `id` is the key by which a list names its atoms, and `more` are
/// further members of one. The reading of a plan decides the rest.
pub fn definitions(id: Option<&str>, more: &str) -> String {
    let (required, named) = match id {
        Some(key) => (format!(r#""{key}","#), format!(r#""{key}":{{"type":"string"}},"#)),
        None => Default::default(),
    };
    format!(
        r##""$defs":{{
"check":{{"type":"object","properties":{{
 "all":{{"type":"array","items":{{"$ref":"#/$defs/check"}}}},"any":{{"type":"array","items":{{"$ref":"#/$defs/check"}}}},
 "name":{{"type":"string"}},"command":{{"type":"string"}},"file":{{"type":"string"}}}}}},
"atom":{{"type":"object","required":[{required}"description"],"properties":{{{named}
 "description":{{"type":"string"}},"kind":{{"enum":["task","any","all","plan"]}},
 "depends_on":{{"type":"array","items":{{"type":"string"}}}},
 "choices":{{"type":"array","items":{{"type":"string"}}}},"parts":{{"type":"array","items":{{"type":"string"}}}},
 "action":{{"type":"object","required":["run"],"properties":{{"run":{{"type":"string"}}}}}},
 "checks":{{"$ref":"#/$defs/check"}},"touches":{{"type":"array","items":{{"type":"string"}}}},
 "needs":{{"type":"array","items":{{"type":"string"}}}},"provides":{{"type":"array","items":{{"type":"string"}}}},{more}
 "timeout":{{"type":"string"}}}}}}}}"##
    )
}

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
                faults.push(Fault::at("persons-key", &at, message, Some(hint)));
            } else if is_programs(&member.key) {
                let message = format!("`{}` is the program's to say", member.key);
                faults.push(Fault::at("program-key", &at, message, Some("leave it out")));
            }
        }
    }
    faults.sort_by(|a, b| a.pointer.cmp(&b.pointer));
    faults
}
