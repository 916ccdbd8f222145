//! The constraints as a table (contract §4): their keys, their forms, and the values in force; and the keys that were.
//!
//! Not here: reading and writing them (`objective`).

use super::{
    Constraints, FreeValue,
    rule::{FieldRule, Form},
};
use crate::doc::prelude::*;
use crate::doc::{self, Node};

/// Crashes that may cut off one atom.
pub const INTERRUPTIONS_MAX: u32 = 10;
/// Repairs of an atom in one context; each change of choices gives one back.
pub const REPAIRS_MAX: u32 = 3;
/// Atoms that one planner may add.
pub const FRAGMENT_ATOMS_MAX: u32 = 20;
/// How deep a fragment may nest.
pub const FRAGMENT_DEPTH_MAX: u32 = 3;

/// The form of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueForm {
    Count,
    /// A span of time, a word or a command: text as it is.
    Text,
    List,
    Flag,
    /// An object.
    Record,
}

/// One constraint.
#[derive(Debug)]
pub struct ConstraintRule {
    /// A key, or one in a group: `budget.time`.
    pub key: String,
    pub form: ValueForm,
    /// The keys of an object.
    pub keys: Vec<&'static str>,
    /// Its subject.
    pub what: String,
    /// The rest of its description.
    pub details: String,
    /// Null where nothing limits.
    pub default: Node,
}

/// Every constraint that may be chosen.
pub fn all() -> Vec<ConstraintRule> {
    let fields = (Constraints::RULE.fields)().into_iter();
    let flat = fields.flat_map(|field| match &field.form {
        Form::Record(group) => {
            let inner = (group.fields)().into_iter();
            inner.map(|one| ConstraintRule::of(format!("{}.{}", field.key, one.key), one)).collect()
        }
        _ => Vec::from([ConstraintRule::of(field.key.to_owned(), field)]),
    });
    flat.collect()
}

/// The value of a constraint in the object of all.
pub fn at<'n>(constraints: &'n Node, key: &str) -> Option<&'n Node> {
    key.split('.').try_fold(constraints, |node, part| node.get(part))
}

/// The object of all constraints with that value; without one its key is left out, and so is a group that is empty.
pub fn with(constraints: &Node, key: &str, value: Option<Node>) -> Node {
    let (part, rest) = key.split_once('.').map_or((key, None), |(part, rest)| (part, Some(rest)));
    let value = match rest {
        None => value,
        Some(rest) => {
            let group = constraints.get(part).cloned().unwrap_or_else(Node::null);
            let group = with(&group, rest, value);
            group.as_object().is_some_and(|all| !all.is_empty()).then_some(group)
        }
    };
    let members = constraints.as_object().unwrap_or_default().iter();
    let members = members.filter(|member| member.key != part);
    let members = members.map(|member| (member.key.clone(), member.node.clone()));
    Node::object(members.chain(value.map(|value| (part.to_owned(), value))).collect())
}

impl ConstraintRule {
    fn of(key: String, field: FieldRule) -> Self {
        let form = match field.form {
            Form::Count => ValueForm::Count,
            Form::List(_) => ValueForm::List,
            Form::Flag => ValueForm::Flag,
            Form::Record(_) => ValueForm::Record,
            _ => ValueForm::Text,
        };
        let keys = match &field.form {
            Form::Record(rule) => (rule.fields)().into_iter().map(|one| one.key).collect(),
            _ => Vec::new(),
        };
        let default = match (&*key, form) {
            ("max_attempts", _) => {
                let none = Constraints::default();
                let count = |is_action| Node::uint(u64::from(none.max_attempts(is_action)));
                Node::object(Vec::from([("worker", count(false)), ("action", count(true))]))
            }
            (_, ValueForm::List) => Node::array(Vec::new()),
            (_, ValueForm::Flag) if field.default.is_none() => Node::bool(false),
            _ => field.default.clone().unwrap_or_else(Node::null),
        };
        Self { key, form, keys, what: field.summary(), details: field.details(), default }
    }
}

/// A constraint and its value in force.
#[derive(Debug, Clone)]
pub struct InForce {
    pub key: String,
    /// Null where nothing limits. An object of `worker` and `action` for `max_attempts`, unless somebody chose it.
    pub value: FreeValue,
    pub is_chosen: bool,
    /// Whether the kind of task sets it.
    pub is_of_profile: bool,
    /// Empty for a key that nothing reads.
    pub what: String,
}

/// Every constraint, chosen or not, in the order of the table; then the unknown ones, which nothing reads.
pub fn in_force(constraints: &Constraints) -> Vec<InForce> {
    let chosen = constraints.node();
    let rules = all();
    let odd = odd(&chosen, &rules).map(|member| InForce {
        key: member.key.clone(),
        value: member.node.clone(),
        is_chosen: true,
        is_of_profile: false,
        what: String::new(),
    });
    let odd: Vec<InForce> = odd.collect();
    let known = rules.into_iter().map(|rule| {
        let value = at(&chosen, &rule.key);
        InForce {
            key: rule.key.clone(),
            is_chosen: value.is_some(),
            is_of_profile: false,
            value: value.cloned().unwrap_or(rule.default),
            what: rule.what,
        }
    });
    known.chain(odd).collect()
}

/// The members that are no constraint and no group of them.
fn odd<'n>(
    constraints: &'n Node,
    rules: &'n [ConstraintRule],
) -> impl Iterator<Item = &'n doc::Member> {
    let is_known = |key: &str| rules.iter().any(|rule| rule.key.split('.').next() == Some(key));
    let members = constraints.as_object().unwrap_or_default().iter();
    members.filter(move |member| !is_known(&member.key))
}

/// The difference in words: `max_attempts: 1 → 3; budget.time: none → 2h`.
pub fn difference(before: &Constraints, after: &Constraints) -> String {
    let (old, new) = (before.node(), after.node());
    let rules = all();
    let odd = odd(&old, &rules).chain(odd(&new, &rules)).map(|member| member.key.clone());
    let odd: BTreeSet<String> = odd.collect();
    let keys = rules.iter().map(|rule| rule.key.clone()).chain(odd);
    let word = |node: Option<&Node>| node.map_or("default".to_owned(), plain);
    let changed = keys.filter_map(|key| {
        let (old, new) = (at(&old, &key), at(&new, &key));
        (old.map(doc::canonical) != new.map(doc::canonical))
            .then(|| format!("{key}: {} → {}", word(old), word(new)))
    });
    let changed: Vec<String> = changed.collect();
    if changed.is_empty() { "the constraints changed".to_owned() } else { changed.join("; ") }
}

/// A value as a person writes it.
pub fn plain(node: &Node) -> String {
    if node.is_null() {
        return "none".to_owned();
    }
    if let Some(text) = node.as_str() {
        return text.to_owned();
    }
    if let Some(items) = node.as_array() {
        let items: Vec<String> = items.iter().map(plain).collect();
        return if items.is_empty() { "none".to_owned() } else { items.join(", ") };
    }
    if let Some(members) = node.as_object() {
        let one = |member: &doc::Member| format!("{} {}", member.key, plain(&member.node));
        let members: Vec<String> = members.iter().map(one).collect();
        return members.join(", ");
    }
    doc::write_compact(node).to_string()
}

/// The fate of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyFate {
    /// A key, or one in a group.
    Key(&'static str),
    /// The value that it has always.
    Constant(u32),
}

/// Each key that was, in the order of the page.
pub const OLD_WORDS: [(&str, KeyFate); 20] = [
    ("max_iterations", KeyFate::Key("budget.iterations")),
    ("time_budget", KeyFate::Key("budget.time")),
    ("model_calls", KeyFate::Key("budget.calls")),
    ("tokens", KeyFate::Key("budget.tokens")),
    ("cost_usd", KeyFate::Key("budget.cost_usd")),
    ("max_planned_atoms", KeyFate::Key("planning.atoms")),
    ("max_depth", KeyFate::Key("planning.depth")),
    ("max_replans", KeyFate::Key("planning.changes")),
    ("max_planning_phases", KeyFate::Key("planning.phases")),
    ("max_passes", KeyFate::Key("planning.passes")),
    ("context", KeyFate::Key("planning.context")),
    ("setup_inputs", KeyFate::Key("setup.inputs")),
    ("keep", KeyFate::Key("setup.keep")),
    ("gradient", KeyFate::Key("law")),
    ("reflection", KeyFate::Key("rest")),
    ("max_interruptions", KeyFate::Constant(INTERRUPTIONS_MAX)),
    ("max_repairs", KeyFate::Constant(REPAIRS_MAX)),
    ("max_refinements_per_atom", KeyFate::Key("planning.refinements")),
    ("max_fragment_atoms", KeyFate::Constant(FRAGMENT_ATOMS_MAX)),
    ("max_fragment_depth", KeyFate::Constant(FRAGMENT_DEPTH_MAX)),
];

/// The fate of that key, if it was one.
pub fn fate_of(key: &str) -> Option<KeyFate> {
    let (_, fate) = OLD_WORDS.into_iter().find(|(old, _)| *old == key)?;
    Some(fate)
}

impl KeyFate {
    /// The form that a person writes in a file.
    pub fn hint(self) -> String {
        match self {
            Self::Key(key) => match key.split_once('.') {
                Some((group, key)) => format!("write `{group}: {{{key}: …}}`"),
                None => format!("write `{key}: …`"),
            },
            Self::Constant(value) => format!("leave it out: it is {value}, always"),
        }
    }

    /// The option that a person types.
    pub fn option(self, value: &str) -> String {
        match self {
            Self::Key(key @ ("law" | "rest")) => {
                format!("--set {key}={}", if key == "law" { "show" } else { "true" })
            }
            Self::Key(key) => format!("--set {key}={value}"),
            Self::Constant(_) => self.hint(),
        }
    }
}
