//! The keys of a plan, as rules: those of a state that a person writes, in the forms in which people write them.
//!
//! Nothing is required that a flag of `align` can say.

use alloc::{boxed::Box, string::String, vec::Vec};

use crate::{
    doc::Node,
    id::AtomId,
    state::{
        Objective,
        atom::text::{ALL, ANY, PLAN, TASK, of_every_atom},
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
