//! The keys of the kinds of atoms, as rules.

use alloc::{boxed::Box, string::String, vec::Vec};

use super::{PlanningStep, Task};
use crate::{
    doc::Node,
    id::AtomId,
    state::{
        rule::{ChoiceRule, FieldRule, Form, Owner, RecordRule, WordRule, WordsRule},
        table::{Part, rule},
        value::FieldValue,
    },
};

pub(crate) const ATOM: ChoiceRule = ChoiceRule {
    name: "Atom",
    is_exclusive: false,
    doc: "A task, a group of atoms, or a step that plans further atoms",
    common: of_every_atom,
    records: &[&ALL, &ANY, &PLAN, &TASK],
};

pub(crate) const ALL: RecordRule = RecordRule {
    name: "All",
    doc: "Solved when all its parts are",
    fields: || {
        Vec::from([
            kind(&KIND_ALL),
            rule::<Vec<AtomId>>("parts", "All of them are to be done")
                .required()
                .of_form(kids_form()),
        ])
    },
};

/// The keys of atoms that the program alone writes.
pub(crate) fn keys_of_program() -> Vec<&'static str> {
    let rules = ATOM.all_fields().into_iter();
    let of_program = rules.filter(|rule| rule.owner != Owner::Person);
    of_program.map(|rule| rule.key).collect()
}

pub(crate) const ANY: RecordRule = RecordRule {
    name: "Any",
    doc: "Solved when its selected choice is",
    fields: || {
        Vec::from([
            kind(&KIND_ANY),
            rule::<Vec<AtomId>>("choices", "One of them is to be done, the best first")
                .required()
                .of_form(kids_form()),
            rule::<AtomId>("selected", "The choice that is in force"),
            rule::<bool>("speculative", "Choices may be tried side by side"),
            rule::<bool>("unknown", "Choices are probed before one is tried"),
        ])
    },
};

pub(crate) const PLAN: RecordRule = RecordRule {
    name: "Plan",
    doc: "A leaf whose result is a fragment of new atoms",
    fields: || {
        let mut rules = PlanningStep::rules();
        rules.push(kind(&KIND_PLAN).required());
        rules
    },
};

pub(crate) const TASK: RecordRule = RecordRule {
    name: "Task",
    doc: "A leaf: something to be done",
    fields: || {
        let mut rules = Task::rules();
        rules.push(kind(&KIND_TASK));
        rules
    },
};

pub(crate) fn of_every_atom() -> Vec<FieldRule> {
    let arrows = "Roots, parts of the same `all`, or such of an ancestor";
    let partial = "Whether it can begin with a part of what a step that plans for it came to";
    Vec::from([
        rule::<String>("description", "What is to be done, as an agent reads it"),
        rule::<Vec<AtomId>>("depends_on", arrows),
        rule::<bool>("accepts_partial", partial),
        rule::<Node>("origin", "Who made it, and from what").internal(),
    ])
}

fn kids_form() -> Form {
    Form::Filled(Box::new(Vec::<AtomId>::form()))
}

fn kind(words: &'static WordsRule) -> FieldRule {
    rule::<String>("kind", "It follows from the other keys, but for `plan`")
        .of_form(Form::Words(words))
}

const KIND_ALL: WordsRule = one_word(&[WordRule { word: "all", doc: "" }]);
const KIND_ANY: WordsRule = one_word(&[WordRule { word: "any", doc: "" }]);
const KIND_PLAN: WordsRule = one_word(&[WordRule { word: "plan", doc: "" }]);
const KIND_TASK: WordsRule = one_word(&[WordRule { word: "task", doc: "" }]);

/// Without a name: it is of one place alone.
const fn one_word(words: &'static [WordRule]) -> WordsRule {
    WordsRule { name: "", doc: "", words }
}
