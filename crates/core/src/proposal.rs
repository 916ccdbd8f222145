//! An aligner's answer: its JSON Schema, and the reading of it. It proposes an agreement, or a change of one, and asks
//! what it cannot settle.
//!
//! Invariant: an answer is taken whole or not at all, and nothing of it counts before a person agreed. Not here: whether
//! the plan in it holds together (`graph`), asking (`ops` of the shell), the words of the question (`prompt`).

#[cfg(test)]
mod tests;

use crate::doc::prelude::*;
use core::iter;

use crate::{
    doc::{self, Fault, Node},
    id::AtomId,
    plan,
    state::{
        FreeValue,
        answer_texts::misspelt,
        fields::{Fields, Findings, NEAR_MISS},
        table::record,
        value::FieldValue,
    },
};

/// Questions at most in an answer.
pub const QUESTIONS_MAX: usize = 5;
/// Atoms at most in an answer, groups included: as many as are shown one by one.
pub const ATOMS_MAX: usize = 40;
/// Options at most of a question.
const OPTIONS_MAX: usize = 6;
/// Globs and ids at most in a list.
const LIST_MAX: usize = 40;
/// Characters at most of a goal and the like, and of a question, an option, a glob.
const WORDS_CHARS_MAX: usize = 4_000;
const LINE_CHARS_MAX: usize = 500;

record! {
    /// A question that an aligner cannot settle by itself
    #[derive(PartialEq)]
    pub struct OpenQuestion {
        required question: String,
        /// The reason why the answer counts
        filled why: String,
        /// Likely answers
        filled options: Vec<String>,
    }
    check within_limits;
}

fn within_limits(fields: &mut Fields<'_, '_>, question: &OpenQuestion) {
    let why = Some(&question.why).filter(|why| !why.is_empty());
    for (key, text) in
        iter::once(("question", &question.question)).chain(why.map(|why| ("why", why)))
    {
        let at = fields.at(key);
        limited(fields.found, &at, text, LINE_CHARS_MAX);
    }
    let at = fields.at("options");
    all_limited(fields.found, &at, &question.options, OPTIONS_MAX);
}

/// A question with a person's answer, as `objective.clarifications` holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clarification {
    pub question: String,
    pub resolution: String,
}

impl Clarification {
    /// These clarifications, after those that stand already.
    pub fn added(stands: Option<&FreeValue>, more: &[Self]) -> Option<FreeValue> {
        let before = stands.and_then(Node::as_array).unwrap_or_default().iter();
        let new = more.iter().map(|one| {
            let question = ("question", Node::string(one.question.as_str()));
            let resolution = ("resolution", Node::string(one.resolution.as_str()));
            Node::object(Vec::from([question, resolution]))
        });
        let all: Vec<Node> = before.cloned().chain(new).collect();
        (!all.is_empty()).then(|| Node::array(all))
    }
}

/// A proposal with its questions; or every fault of its form, in words that its author can mend it by.
pub type ProposalReading<T> = Result<(T, Vec<OpenQuestion>), Vec<String>>;

/// Reads a proposed agreement, to the form of a plan: `{objective, work_graph}`. `may_ask` tells whether its questions
/// are heeded.
pub fn read_agreement(answer: &Node, may_ask: bool) -> ProposalReading<Node> {
    read(answer, may_ask, |fields| {
        let mut objective: Vec<(&str, Node)> = Vec::new();
        fields.need("goal");
        for (key, own) in [
            ("goal", "goal"),
            ("why", "background_intent"),
            ("deliverables", "deliverables"),
            ("definition_of_done", "definition_of_done"),
        ] {
            objective.extend(text(fields, key).map(|text| (own, Node::string(text))));
        }
        if let Some(check) = fields.need("base_case") {
            if check.as_object().is_none() {
                fields.found.wrong_type("/base_case", check, "an object");
            }
            objective.push(("base_case", check.clone()));
        }
        let protected = texts(fields, "protected");
        if !protected.is_empty() {
            let globs = protected.into_iter().map(Node::string).collect();
            let constraints = Vec::from([("protected", Node::array(globs))]);
            objective.push(("constraints", Node::object(constraints)));
        }
        fields.need("atoms");
        let graph = atoms(fields).unwrap_or_else(Node::null);
        Node::object(Vec::from([("objective", Node::object(objective)), ("work_graph", graph)]))
    })
}

/// Keys of an atom that only a person writes.
const PERSONS: &[&str] = &["guidance"];

/// The atoms of an answer, as a plan has them; their number counts nested ones.
fn count_of(atoms: &Node) -> usize {
    let listed = atoms.as_array().unwrap_or_default().iter();
    let listed = listed.filter(|one| one.as_object().is_some());
    let by_id = atoms.as_object().unwrap_or_default().iter().map(|member| &member.node);
    let kids = |atom: &Node| ["parts", "choices"].map(|key| atom.get(key).map_or(0, count_of));
    listed.chain(by_id).map(|atom| 1 + kids(atom).iter().sum::<usize>()).sum()
}

/// The JSON Schema of a proposed agreement.
pub fn agreement_schema(may_ask: bool) -> Node {
    let parts = r##""why":{"type":"string"},"base_case":{"$ref":"#/$defs/check"},"protected":{"type":"array","items":{"type":"string"}},"atoms":{"type":"array","items":{"$ref":"#/$defs/atom"}}"##;
    schema_of(r#""required":["goal","base_case","atoms"],"#, parts, may_ask)
}

/// The JSON Schema of a proposed change.
pub fn change_schema(may_ask: bool) -> Node {
    let texts = r#"{"type":"array","items":{"type":"string"}}"#;
    let parts = format!(
        r##""checks":{texts},"add_checks":{texts},"atoms":{{"type":"array","items":{{"$ref":"#/$defs/atom"}}}},"into":{{"type":"string"}},"remove":{texts},"select":{{"type":"object","additionalProperties":{{"type":"string"}}}},"retry":{texts}"##
    );
    schema_of("", &parts, may_ask)
}

/// The words of an objective, these parts of it, and questions.
fn schema_of(required: &str, parts: &str, may_ask: bool) -> Node {
    let definitions = plan::definitions(Some("id"), r#""agent":{"type":"string"},"#);
    let most = if may_ask { QUESTIONS_MAX } else { 0 };
    let text = format!(
        r##"{{"type":"object",{required}"additionalProperties":false,"properties":{{"goal":{{"type":"string"}},"deliverables":{{"type":"string"}},"definition_of_done":{{"type":"string"}},{parts},"questions":{{"type":"array","maxItems":{most},"items":{{"type":"object","required":["question","why"],"additionalProperties":false,"properties":{{"question":{{"type":"string"}},"why":{{"type":"string"}},"options":{{"type":"array","items":{{"type":"string"}},"maxItems":{OPTIONS_MAX}}}}}}}}}}},{definitions}}}"##
    );
    doc::parse(&text, &doc::Limits::default()).node.unwrap_or_else(Node::null)
}

/// Reads an answer: its keys, then its questions. A mistyped key is a fault, since it would be a missing part.
pub(crate) fn read<T>(
    answer: &Node,
    may_ask: bool,
    keys: impl FnOnce(&mut Fields<'_, '_>) -> T,
) -> ProposalReading<T> {
    let mut found = Findings { near_miss: Some(misspelt), is_answer: true, ..Findings::default() };
    let read = Fields::open(answer, "", &mut found).map(|mut fields| {
        let value = keys(&mut fields);
        let mut questions: Vec<OpenQuestion> = Vec::new();
        if may_ask {
            questions = FieldValue::take(&mut fields, "questions").unwrap_or_default();
        } else {
            fields.take("questions");
        }
        fields.finish();
        (value, questions)
    });
    let count = read.as_ref().map_or(0, |(_, questions)| questions.len());
    if count > QUESTIONS_MAX {
        let what =
            format!("{count} questions, the limit is {QUESTIONS_MAX}: ask what matters most");
        found.fault("too-many", ("/questions", answer.span), what, None);
    }
    // A mistyped key comes before the one that is missing by that.
    let mut faults = found.faults;
    faults.sort_by_key(|fault| fault.rule != NEAR_MISS);
    let faults: Vec<String> =
        faults.into_iter().map(|fault| told(&fault, &fault.pointer)).collect();
    match read {
        Some(read) if faults.is_empty() => Ok(read),
        _ => Err(faults),
    }
}

/// A fault of an answer at that place, in words for its author.
pub fn told(fault: &Fault, at: &str) -> String {
    let at = if at.is_empty() { String::new() } else { format!("{at}: ") };
    let hint = fault.hint.as_ref().map(|hint| format!(" ({hint})"));
    let message = fault.message.replace(", kept as it is", "");
    format!("{at}{message}{}", hint.unwrap_or_default())
}

/// A text that may not be empty or long.
fn limited(found: &mut Findings, at: &str, text: &str, chars_max: usize) {
    let chars = text.trim().chars().count();
    let what = match chars {
        0 => "it is empty".to_owned(),
        _ if chars > chars_max => format!("{chars} characters, the limit is {chars_max}"),
        _ => return,
    };
    found.fault("too-large", (at, Default::default()), what, None);
}

fn all_limited(found: &mut Findings, at: &str, texts: &[impl AsRef<str>], count_max: usize) {
    if texts.len() > count_max {
        let what = format!("{} of them, the limit is {count_max}", texts.len());
        found.fault("too-many", (at, Default::default()), what, None);
    }
    for (n, text) in texts.iter().enumerate() {
        limited(found, &format!("{at}/{n}"), text.as_ref(), LINE_CHARS_MAX);
    }
}

pub(crate) fn text(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<String> {
    let (text, at) = (fields.text(key)?, fields.at(key));
    limited(fields.found, &at, &text, WORDS_CHARS_MAX);
    Some(text.trim().to_owned())
}

pub(crate) fn texts(fields: &mut Fields<'_, '_>, key: &'static str) -> Vec<String> {
    let texts: Vec<String> = FieldValue::take(fields, key).unwrap_or_default();
    let at = fields.at(key);
    all_limited(fields.found, &at, &texts, LIST_MAX);
    texts.iter().map(|text| text.trim().to_owned()).collect()
}

pub(crate) fn pairs(fields: &mut Fields<'_, '_>, key: &'static str) -> BTreeMap<AtomId, AtomId> {
    let pairs: BTreeMap<AtomId, AtomId> = FieldValue::take(fields, key).unwrap_or_default();
    let (at, texts) = (fields.at(key), pairs.values().map(AtomId::as_str));
    all_limited(fields.found, &at, &texts.collect::<Vec<_>>(), LIST_MAX);
    pairs
}

/// The atoms of an answer, in the form of the work of a plan.
pub(crate) fn atoms(fields: &mut Fields<'_, '_>) -> Option<Node> {
    let node = fields.take("atoms")?;
    let found = &mut *fields.found;
    if node.as_array().is_none() && node.as_object().is_none() {
        found.wrong_type("/atoms", node, "a list of atoms");
        return None;
    }
    let count = count_of(node);
    if count == 0 {
        found.fault("no-atom", ("/atoms", node.span), "there is no atom".to_owned(), None);
    } else if count > ATOMS_MAX {
        let what = format!("{count} atoms, the limit is {ATOMS_MAX}");
        found.fault("too-many", ("/atoms", node.span), what, None);
    }
    found.faults.extend(plan::keys_of_others(node, "/atoms", PERSONS));
    Some(Node::object(Vec::from([("atoms", node.clone())])))
}
