//! An aligner's answer: its JSON Schema, and the reading of it. It proposes an agreement, or a change of one, and asks
//! what it cannot settle.
//!
//! Invariant: an answer is taken whole or not at all, and nothing of it counts before a person agreed. Not here: whether
//! the plan in it holds together (`graph`), asking (`ops` of the shell), the words of the question (`prompt`).

#[cfg(test)]
mod tests;

use alloc::{
    borrow::ToOwned,
    collections::BTreeMap,
    format,
    string::{String, ToString},
    vec::Vec,
};

use crate::{
    doc::{self, Node},
    plan,
    state::FreeValue,
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

/// A question that an aligner cannot settle by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenQuestion {
    pub question: String,
    /// The reason why the answer counts.
    pub why: String,
    /// Likely answers.
    pub options: Vec<String>,
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

/// A proposed agreement.
#[derive(Debug, Clone, PartialEq)]
pub struct AgreementProposal {
    /// In the form of a plan: `{objective, work_graph}`.
    pub plan: Node,
    pub questions: Vec<OpenQuestion>,
}

/// A proposed change of an agreement. An absent part stays as it is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChangeProposal {
    pub goal: Option<String>,
    pub deliverables: Option<String>,
    pub definition_of_done: Option<String>,
    /// Commands that replace the base case.
    pub checks: Vec<String>,
    /// Commands beside those of the base case.
    pub more_checks: Vec<String>,
    /// New atoms, in the form of a plan without an objective.
    pub atoms: Option<Node>,
    pub into: Option<String>,
    pub removed: Vec<String>,
    /// The choice that a group shall have.
    pub selected: BTreeMap<String, String>,
    pub retried: Vec<String>,
    pub questions: Vec<OpenQuestion>,
}

impl ChangeProposal {
    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self { questions: self.questions.clone(), ..Self::default() }
    }
}

/// Reads a proposed agreement. `may_ask` tells whether its questions are heeded.
///
/// # Errors
/// Every fault of the form, in words that its author can mend it by.
pub fn read_agreement(answer: &Node, may_ask: bool) -> Result<AgreementProposal, Vec<String>> {
    let mut reading = AnswerReading::of(answer, &agreement_schema(may_ask));
    let mut objective: Vec<(&str, Node)> = Vec::new();
    for (key, is_needed) in [("goal", true), ("deliverables", false), ("definition_of_done", false)]
    {
        let text = reading.text(key, is_needed);
        objective.extend(text.map(|text| (key, Node::string(text))));
    }
    let base_case = reading.object("base_case", true);
    objective.extend(base_case.map(|check| ("base_case", check)));
    let protected = reading.texts("protected", LIST_MAX);
    if !protected.is_empty() {
        let globs = protected.into_iter().map(Node::string).collect();
        let constraints = Vec::from([("protected", Node::array(globs))]);
        objective.push(("constraints", Node::object(constraints)));
    }
    let atoms = reading.atoms("atoms", true);
    let questions = reading.questions(may_ask);
    let graph = Node::object(Vec::from([("atoms", atoms.unwrap_or_else(Node::null))]));
    reading.done(|| AgreementProposal {
        plan: Node::object(Vec::from([
            ("objective", Node::object(objective)),
            ("work_graph", graph),
        ])),
        questions,
    })
}

/// Reads a proposed change. `may_ask` tells whether its questions are heeded.
///
/// # Errors
/// Every fault of the form, in words that its author can mend it by.
pub fn read_change(answer: &Node, may_ask: bool) -> Result<ChangeProposal, Vec<String>> {
    let mut reading = AnswerReading::of(answer, &change_schema(may_ask));
    let atoms = reading.atoms("atoms", false);
    let change = ChangeProposal {
        goal: reading.text("goal", false),
        deliverables: reading.text("deliverables", false),
        definition_of_done: reading.text("definition_of_done", false),
        checks: reading.texts("checks", LIST_MAX),
        more_checks: reading.texts("add_checks", LIST_MAX),
        atoms: atoms.map(|atoms| {
            let graph = Node::object(Vec::from([("atoms", atoms)]));
            Node::object(Vec::from([("work_graph", graph)]))
        }),
        into: reading.text("into", false),
        removed: reading.texts("remove", LIST_MAX),
        selected: reading.pairs("select"),
        retried: reading.texts("retry", LIST_MAX),
        questions: reading.questions(may_ask),
    };
    if change.is_empty() && change.questions.is_empty() {
        reading.fault("", "it changes nothing, and asks nothing");
    }
    reading.done(|| change)
}

/// Keys of an atom that only a person writes.
const PERSONS: &[&str] = &["guidance"];

/// The atoms of an answer, as a plan has them; their number counts nested ones.
fn count_of(atoms: &Node) -> usize {
    let mut todo = Vec::from([(atoms, true)]);
    let mut count = 0;
    while let Some((node, are_many)) = todo.pop() {
        if !are_many {
            count += 1;
            let kids = ["parts", "choices"].into_iter();
            todo.extend(kids.filter_map(|key| Some((node.get(key)?, true))));
            continue;
        }
        let listed = node.as_array().unwrap_or_default().iter();
        todo.extend(listed.filter(|one| one.as_object().is_some()).map(|one| (one, false)));
        let by_id = node.as_object().unwrap_or_default().iter();
        todo.extend(by_id.map(|member| (&member.node, false)));
    }
    count
}

fn definitions() -> String {
    plan::definitions(Some("id"), r#""agent":{"type":"string"},"#)
}

fn questions_schema(may_ask: bool) -> String {
    let most = if may_ask { QUESTIONS_MAX } else { 0 };
    format!(
        r#"{{"type":"array","maxItems":{most},"items":{{"type":"object","required":["question","why"],"additionalProperties":false,"properties":{{"question":{{"type":"string"}},"why":{{"type":"string"}},"options":{{"type":"array","items":{{"type":"string"}},"maxItems":{OPTIONS_MAX}}}}}}}}}"#
    )
}

/// The JSON Schema of a proposed agreement.
pub fn agreement_schema(may_ask: bool) -> Node {
    let (questions, definitions) = (questions_schema(may_ask), definitions());
    schema_of(&format!(
        r##"{{"type":"object","required":["goal","base_case","atoms"],"additionalProperties":false,"properties":{{"goal":{{"type":"string"}},"deliverables":{{"type":"string"}},"definition_of_done":{{"type":"string"}},"base_case":{{"$ref":"#/$defs/check"}},"protected":{{"type":"array","items":{{"type":"string"}}}},"atoms":{{"type":"array","items":{{"$ref":"#/$defs/atom"}}}},"questions":{questions}}},{definitions}}}"##
    ))
}

/// The JSON Schema of a proposed change.
pub fn change_schema(may_ask: bool) -> Node {
    let (questions, definitions) = (questions_schema(may_ask), definitions());
    let texts = r#"{"type":"array","items":{"type":"string"}}"#;
    schema_of(&format!(
        r##"{{"type":"object","additionalProperties":false,"properties":{{"goal":{{"type":"string"}},"deliverables":{{"type":"string"}},"definition_of_done":{{"type":"string"}},"checks":{texts},"add_checks":{texts},"atoms":{{"type":"array","items":{{"$ref":"#/$defs/atom"}}}},"into":{{"type":"string"}},"remove":{texts},"select":{{"type":"object","additionalProperties":{{"type":"string"}}}},"retry":{texts},"questions":{questions}}},{definitions}}}"##
    ))
}

fn schema_of(text: &str) -> Node {
    let parsed = doc::parse(text, &doc::Limits::default());
    parsed.node.unwrap_or_else(Node::null)
}

struct AnswerReading<'a> {
    answer: &'a Node,
    faults: Vec<String>,
}

impl<'a> AnswerReading<'a> {
    /// Reads an answer that has the keys of this schema.
    fn of(answer: &'a Node, schema: &Node) -> Self {
        let mut reading = Self { answer, faults: Vec::new() };
        let known = schema.get("properties").and_then(Node::as_object).unwrap_or_default();
        let known: Vec<&str> = known.iter().map(|member| &*member.key).collect();
        reading.keys(answer, "", &known);
        reading
    }

    fn fault(&mut self, at: &str, what: &str) {
        let at = if at.is_empty() { String::new() } else { format!("{at}: ") };
        self.faults.push(format!("{at}{what}"));
    }

    /// Unknown keys of an object are faults: a mistyped one would be a missing part.
    fn keys(&mut self, node: &Node, at: &str, known: &[&str]) {
        for member in node.as_object().unwrap_or_default() {
            let key = member.key.as_str();
            if known.contains(&key) {
                continue;
            }
            let near = doc::did_you_mean(key, known.iter().copied());
            let near = near.map(|near| format!(" ({near})"));
            let what = format!("unknown key `{key}`{}", near.unwrap_or_default());
            self.fault(at, &what);
        }
    }

    /// A part that is there; `null` says nothing. A needed one that is missing is a fault.
    fn part(&mut self, key: &str, is_needed: bool) -> Option<&'a Node> {
        let found = self.answer.get(key).filter(|node| !node.is_null());
        if is_needed && found.is_none() {
            self.fault("", &format!("the key `{key}` is missing"));
        }
        found
    }

    fn is_other(&mut self, at: &str, expected: &str, found: &Node) {
        self.fault(at, &format!("expected {expected}, found {}", found.kind_name()));
    }

    fn line(&mut self, node: &Node, at: &str, chars_max: usize) -> Option<String> {
        let Some(text) = node.as_str() else {
            self.is_other(at, "a text", node);
            return None;
        };
        let text = text.trim();
        let chars = text.chars().count();
        if chars > chars_max {
            let what = format!("{chars} characters, the limit is {chars_max}");
            self.fault(at, &what);
        } else if text.is_empty() {
            self.fault(at, "it is empty");
        }
        Some(text.to_owned())
    }

    fn text(&mut self, key: &str, is_needed: bool) -> Option<String> {
        let node = self.part(key, is_needed)?;
        self.line(node, &format!("/{key}"), WORDS_CHARS_MAX)
    }

    fn object(&mut self, key: &str, is_needed: bool) -> Option<Node> {
        let node = self.part(key, is_needed)?;
        if node.as_object().is_none() {
            self.is_other(&format!("/{key}"), "an object", node);
            return None;
        }
        Some(node.clone())
    }

    fn texts(&mut self, key: &str, count_max: usize) -> Vec<String> {
        let node = self.part(key, false);
        node.map_or_else(Vec::new, |node| self.list(node, &format!("/{key}"), count_max))
    }

    fn list(&mut self, node: &Node, at: &str, count_max: usize) -> Vec<String> {
        let Some(items) = node.as_array() else {
            self.is_other(at, "a list of texts", node);
            return Vec::new();
        };
        if items.len() > count_max {
            let what = format!("{} of them, the limit is {count_max}", items.len());
            self.fault(at, &what);
            return Vec::new();
        }
        let mut texts = Vec::new();
        for (n, item) in items.iter().enumerate() {
            texts.extend(self.line(item, &format!("{at}/{n}"), LINE_CHARS_MAX));
        }
        texts
    }

    fn pairs(&mut self, key: &str) -> BTreeMap<String, String> {
        let mut pairs = BTreeMap::new();
        let Some(node) = self.object(key, false) else {
            return pairs;
        };
        let members = node.as_object().unwrap_or_default();
        if members.len() > LIST_MAX {
            let what = format!("{} of them, the limit is {LIST_MAX}", members.len());
            self.fault(&format!("/{key}"), &what);
            return pairs;
        }
        for member in members {
            let at = doc::pointer_push(&format!("/{key}"), &member.key);
            let value = self.line(&member.node, &at, LINE_CHARS_MAX);
            pairs.extend(value.map(|value| (member.key.clone(), value)));
        }
        pairs
    }

    fn atoms(&mut self, key: &str, is_needed: bool) -> Option<Node> {
        let at = format!("/{key}");
        let node = self.part(key, is_needed)?;
        if node.as_array().is_none() && node.as_object().is_none() {
            self.is_other(&at, "a list of atoms", node);
            return None;
        }
        let count = count_of(node);
        match count {
            0 => self.fault(&at, "there is no atom"),
            1..=ATOMS_MAX => {}
            _ => self.fault(&at, &format!("{count} atoms, the limit is {ATOMS_MAX}")),
        }
        for fault in plan::keys_of_others(node, &at, PERSONS) {
            let hint = fault.hint.map(|hint| format!(" ({hint})"));
            let what = format!("{}{}", fault.message, hint.unwrap_or_default());
            self.fault(&fault.pointer, &what);
        }
        Some(node.clone())
    }

    fn questions(&mut self, may_ask: bool) -> Vec<OpenQuestion> {
        let Some(node) = self.part("questions", false).filter(|_| may_ask) else {
            return Vec::new();
        };
        let Some(items) = node.as_array() else {
            self.is_other("/questions", "a list of questions", node);
            return Vec::new();
        };
        if items.len() > QUESTIONS_MAX {
            let count = items.len();
            let what =
                format!("{count} questions, the limit is {QUESTIONS_MAX}: ask what matters most");
            self.fault("/questions", &what);
            return Vec::new();
        }
        let items = items.iter().enumerate();
        items.filter_map(|(n, item)| self.question(item, n)).collect()
    }

    fn question(&mut self, node: &Node, n: usize) -> Option<OpenQuestion> {
        let at = format!("/questions/{n}");
        if node.as_object().is_none() {
            self.is_other(&at, "an object", node);
            return None;
        }
        self.keys(node, &at, &["question", "why", "options"]);
        let Some(question) = node.get("question") else {
            self.fault(&at, "the key `question` is missing");
            return None;
        };
        let question = self.line(question, &format!("{at}/question"), LINE_CHARS_MAX)?;
        let why = node.get("why").filter(|why| !why.is_null());
        let why = why.and_then(|why| self.line(why, &format!("{at}/why"), LINE_CHARS_MAX));
        let options = node.get("options").filter(|node| !node.is_null());
        let options = options.map(|node| self.list(node, &format!("{at}/options"), OPTIONS_MAX));
        Some(OpenQuestion {
            question,
            why: why.unwrap_or_default(),
            options: options.unwrap_or_default(),
        })
    }

    fn done<T>(self, made: impl FnOnce() -> T) -> Result<T, Vec<String>> {
        if self.answer.as_object().is_none() {
            let found = self.answer.kind_name().to_string();
            return Err(Vec::from([format!("expected an object, found {found}")]));
        }
        if self.faults.is_empty() { Ok(made()) } else { Err(self.faults) }
    }
}
