//! Merges three trees into one: base, ours, theirs. The values that gave way are kept in the correction and shown.
//!
//! Not here: the meaning of keys; a rule says whose a key is.

use crate::doc::prelude::*;
use crate::{
    doc::{self, Node, Value},
    state::{
        Check,
        fields::{Extra, Findings},
        record::{LostValue, Winner},
        rule::{FieldRule, Form, Owner},
    },
};

/// The side that wins a place which both sides changed, and how finely the place may be merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) kept: Winner,
    /// Whether it is a check: `all` and `any` are walked, a leaf is one thing.
    is_check: bool,
    /// Whether a person may write remarks into what the program wrote.
    is_remarked: bool,
}

impl Rule {
    pub(super) const EDIT: Rule = Rule { kept: Winner::Edit, is_check: false, is_remarked: false };
    pub(super) const CHECK: Rule = Rule { is_check: true, ..Rule::EDIT };
    pub(super) const PROGRAM: Rule = Rule { kept: Winner::Program, ..Rule::EDIT };
    pub(super) const REMARKED: Rule = Rule { is_remarked: true, ..Rule::PROGRAM };
}

/// The rule of each key of a record; unknown keys are the person's.
pub(super) fn rules(fields: Vec<FieldRule>) -> impl Fn(&str) -> Rule {
    let rules = fields.into_iter().map(|field| {
        let rule = match (field.owner, &field.form) {
            (Owner::Program | Owner::Internal, _) => Rule::PROGRAM,
            (Owner::Person, Form::OneOf(choice)) if choice.name == Check::RULE.name => Rule::CHECK,
            (Owner::Person, _) => Rule::EDIT,
        };
        (field.key, rule)
    });
    let rules: BTreeMap<&str, Rule> = rules.collect();
    move |key| rules.get(key).copied().unwrap_or(Rule::EDIT)
}

/// Larger lists and objects are taken whole, so that the walk stays short.
const ITEMS_MAX: usize = 2_000;

/// A node of base, ours and theirs.
pub(super) type Three<'n> = [Option<&'n Node>; 3];

pub(super) struct Trees {
    pub(super) has_base: bool,
    pub(super) lost: Vec<LostValue>,
}

/// The record of a node, if it has no fault.
pub(super) fn read<T>(
    node: &Node,
    read: impl Fn(&Node, &str, &mut Findings) -> Option<T>,
) -> Option<T> {
    let mut found = Findings::default();
    let record = read(node, "", &mut found)?;
    found.faults.is_empty().then_some(record)
}

/// Whether the content is the same, whatever the order of keys.
pub(super) fn same(a: Option<&Node>, b: Option<&Node>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => a == b || doc::canonical(a) == doc::canonical(b),
        (Some(_), None) | (None, Some(_)) => false,
    }
}

impl Trees {
    pub(super) fn new(has_base: bool) -> Self {
        let lost = Vec::new();
        Self { has_base, lost }
    }

    /// The program's value stays; `value` is the edit's.
    pub(super) fn program(&mut self, at: &str, value: Option<Node>) {
        self.gives_way(at, Winner::Program, value);
    }

    /// The edit's value stays; `value` is the other one.
    pub(super) fn edit(&mut self, at: &str, value: Option<Node>) {
        self.gives_way(at, Winner::Edit, value);
    }

    fn gives_way(&mut self, at: &str, kept: Winner, value: Option<Node>) {
        self.lost.push(LostValue { at: at.to_string(), kept, value, extra: Extra::default() });
    }

    /// Merges one place, by its rule.
    pub(super) fn three(&mut self, nodes: Three<'_>, at: &str, rule: Rule) -> Option<Node> {
        if rule.kept == Winner::Program && !rule.is_remarked && self.has_base {
            return self.of_program(nodes, at);
        }
        match self.settled(nodes) {
            Some(settled) => settled.cloned(),
            None => self.both(nodes, at, rule),
        }
    }

    /// Merges an object whose keys each have a rule.
    pub(super) fn record(
        &mut self,
        nodes: Three<'_>,
        at: &str,
        rule_of: impl Fn(&str) -> Rule,
    ) -> Option<Node> {
        let [_, ours, theirs] = nodes;
        match self.settled(nodes) {
            // An edit alone may have changed the program's keys.
            Some(Some(_)) if ours.is_some() && theirs.is_some() => {
                Some(self.objects(nodes, at, &rule_of))
            }
            Some(settled) => settled.cloned(),
            None => Some(self.objects(nodes, at, &rule_of)),
        }
    }

    /// The program's value of a place that is its own.
    fn of_program(&mut self, [base, ours, theirs]: Three<'_>, at: &str) -> Option<Node> {
        if !same(theirs, base) && !same(theirs, ours) {
            self.program(at, theirs.cloned());
        }
        ours.cloned()
    }

    /// Merges unknown keys, which are the person's.
    pub(super) fn extra(&mut self, extras: [Option<&Extra>; 3], at: &str) -> Extra {
        let [base, ours, theirs] = extras;
        let none = Extra::default();
        let (ours, theirs) = (ours.unwrap_or(&none), theirs.unwrap_or(&none));
        let key = |key: &str| {
            let at = doc::pointer_push(at, key);
            let nodes = [base.and_then(|base| base.get(key)), ours.get(key), theirs.get(key)];
            self.three(nodes, &at, Rule::EDIT)
        };
        Extra::merged(ours, theirs, key)
    }

    /// `Some` if one side alone changed, or both alike.
    pub(super) fn settled<'n>(&self, [base, ours, theirs]: Three<'n>) -> Option<Option<&'n Node>> {
        if self.has_base && same(ours, base) || same(ours, theirs) {
            return Some(theirs);
        }
        (self.has_base && same(theirs, base)).then_some(ours)
    }

    fn both(&mut self, nodes: Three<'_>, at: &str, rule: Rule) -> Option<Node> {
        let [base, ours, theirs] = nodes;
        let (Some(o), Some(t)) = (ours, theirs) else {
            return self.one_has_none(ours, theirs, at, rule);
        };
        let sizes = [base, ours, theirs].map(|node| node.map_or(0, size));
        match (&o.value, &t.value) {
            _ if sizes.iter().any(|size| *size > ITEMS_MAX) => self.decide(nodes, at, rule),
            (Value::Object(_), Value::Object(_)) if may_mix(o, t, rule) => {
                Some(self.objects(nodes, at, &|_| rule))
            }
            (Value::Array(ours), Value::Array(theirs)) => {
                let base = base.and_then(Node::as_array).unwrap_or_default();
                let merged = self.arrays([base, ours, theirs], at, rule);
                merged.or_else(|| self.decide(nodes, at, rule))
            }
            _ => self.decide(nodes, at, rule),
        }
    }

    /// Merges a place that one side lacks. Without a base nobody knows whether it was removed or added later: it stays.
    fn one_has_none(
        &mut self,
        ours: Option<&Node>,
        theirs: Option<&Node>,
        at: &str,
        rule: Rule,
    ) -> Option<Node> {
        if self.has_base || rule.kept == Winner::Program {
            return self.decide([None, ours, theirs], at, rule);
        }
        match theirs {
            Some(theirs) => {
                self.edit(at, None);
                Some(theirs.clone())
            }
            None => {
                self.program(at, None);
                ours.cloned()
            }
        }
    }

    fn decide(&mut self, [_, ours, theirs]: Three<'_>, at: &str, rule: Rule) -> Option<Node> {
        match rule.kept {
            Winner::Edit => {
                self.edit(at, ours.cloned());
                theirs.cloned()
            }
            Winner::Program => {
                self.program(at, theirs.cloned());
                ours.cloned()
            }
        }
    }

    fn objects(&mut self, nodes: Three<'_>, at: &str, rule_of: &dyn Fn(&str) -> Rule) -> Node {
        let keys = woven(keys(nodes[2]), &keys(nodes[1]), |_| true);
        let mut members: Vec<(String, Node)> = Vec::with_capacity(keys.len());
        for key in keys {
            // A remark is the person's wherever it is.
            let rule = if key == "notes" { Rule::EDIT } else { rule_of(&key) };
            let values = nodes.map(|node| node.and_then(|node| node.get(&key)));
            if let Some(node) = self.three(values, &doc::pointer_push(at, &key), rule) {
                members.push((key, node));
            }
        }
        Node::object(members)
    }

    /// `None` if the lists can only be taken whole.
    fn arrays(&mut self, lists: [&[Node]; 3], at: &str, rule: Rule) -> Option<Node> {
        if !self.has_base {
            return None;
        }
        let [base, ours, theirs] = lists;
        let is_bare = |node: &Node| node.as_object().is_some() && name_of(node).is_none();
        let is_even = base.len() == ours.len() && ours.len() == theirs.len();
        if is_even && lists.iter().all(|list| list.iter().all(is_bare)) {
            let items = (0..ours.len()).filter_map(|i| {
                let at = doc::pointer_push(at, &i.to_string());
                self.three([base.get(i), ours.get(i), theirs.get(i)], &at, rule)
            });
            return Some(Node::array(items.collect()));
        }
        let [base, ours, theirs] = [keyed(base)?, keyed(ours)?, keyed(theirs)?];
        let in_theirs = |key: &String| theirs.1.contains_key(key);
        let order = woven(theirs.0.clone(), &ours.0, |key| !in_theirs(key));
        let mut items = Vec::new();
        for key in &order {
            let nodes = [&base, &ours, &theirs].map(|list| list.1.get(key).copied());
            items.extend(self.item(nodes, &doc::pointer_push(at, key), rule));
        }
        Some(Node::array(items))
    }

    fn item(&mut self, nodes: Three<'_>, at: &str, rule: Rule) -> Option<Node> {
        match self.settled(nodes) {
            Some(settled) => settled.cloned(),
            // The parts of a record of the program belong together.
            None if rule.kept == Winner::Program => self.decide(nodes, at, rule),
            None => self.both(nodes, at, rule),
        }
    }
}

fn size(node: &Node) -> usize {
    let items = node.as_array().map_or(0, <[Node]>::len);
    items.max(node.as_object().map_or(0, <[_]>::len))
}

/// Two checks can be merged if both are groups of the same kind.
fn may_mix(ours: &Node, theirs: &Node, rule: Rule) -> bool {
    let group = |node: &Node| ["all", "any"].into_iter().find(|key| node.get(key).is_some());
    !rule.is_check || group(ours).is_some() && group(ours) == group(theirs)
}

pub(super) fn keys(node: Option<&Node>) -> Vec<String> {
    let members = node.and_then(Node::as_object).unwrap_or_default();
    members.iter().map(|member| member.key.clone()).collect()
}

pub(super) fn name_of(node: &Node) -> Option<&str> {
    let named = |key| node.get(key).and_then(Node::as_str);
    ["id", "context", "name"].into_iter().find_map(named)
}

/// A list by the names of its items; `None` if a name comes twice.
fn keyed(list: &[Node]) -> Option<(Vec<String>, BTreeMap<String, &Node>)> {
    let key = |node: &Node| name_of(node).map_or_else(|| doc::canonical(node), ToString::to_string);
    let keys: Vec<String> = list.iter().map(key).collect();
    let map: BTreeMap<String, &Node> = keys.iter().cloned().zip(list).collect();
    (map.len() == keys.len()).then_some((keys, map))
}

/// Merges two key lists: keys that only `second` has go after the key that they followed there.
pub(super) fn woven(
    first: Vec<String>,
    second: &[String],
    which: impl Fn(&String) -> bool,
) -> Vec<String> {
    let mut all = first;
    let mut before: Option<&String> = None;
    for key in second {
        if !all.contains(key) && which(key) {
            let place = before.and_then(|before| all.iter().position(|known| known == before));
            all.insert(place.map_or(0, |place| place + 1), key.clone());
        }
        before = Some(key);
    }
    all
}

/// Beyond this number values are only counted.
pub const LOST_MAX: usize = 500;
/// A larger value is shortened to its beginning.
const VALUE_BYTES_MAX: usize = 64 << 10;
const SHOWN_CHARS_MAX: usize = 120;

/// The values that gave way in a correction, a line each. A search and replace meets the program's copies of a check too.
pub fn lost_lines(lost: &[LostValue]) -> Vec<String> {
    const COPIES: [&str; 3] = ["/run/agreed/", "/run/judged/", "/internal/plan"];
    let is_copy = |at: &str| COPIES.iter().any(|copy| at.starts_with(copy));
    let news = lost.iter().filter(|one| !is_copy(&one.at));
    news.map(sentence).collect()
}

/// A line for a person.
fn sentence(lost: &LostValue) -> String {
    let value = lost.value.as_ref();
    let value = value.map_or_else(|| "nothing".to_string(), shown);
    let at = &lost.at;
    match lost.kept {
        Winner::Edit => {
            format!("{at}: the edit is kept, not what had come there meanwhile: {value}")
        }
        Winner::Program => {
            format!("{at}: not kept, for it is the program's; the edit had: {value}")
        }
    }
}

fn shown(value: &Node) -> String {
    let text = doc::write_compact(value);
    match text.char_indices().nth(SHOWN_CHARS_MAX) {
        None => text,
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

/// Drops values beyond the limits, in the order of places.
pub(super) fn capped(mut lost: Vec<LostValue>) -> Vec<LostValue> {
    lost.sort_by(|a, b| a.at.cmp(&b.at));
    let more = lost.len().saturating_sub(LOST_MAX);
    lost.truncate(LOST_MAX);
    for one in &mut lost {
        if let Some(value) = one.value.take() {
            one.value = Some(cut(value));
        }
    }
    if more > 0 {
        lost.push(LostValue {
            at: String::new(),
            kept: Winner::Edit,
            value: Some(Node::string(format!("{more} more places"))),
            extra: Extra::default(),
        });
    }
    lost
}

fn cut(value: Node) -> Node {
    let text = doc::write_compact(&value);
    if text.len() <= VALUE_BYTES_MAX {
        return value;
    }
    let end = text.floor_char_boundary(VALUE_BYTES_MAX);
    Node::string(format!("{}… ({} bytes in all)", text.get(..end).unwrap_or_default(), text.len()))
}
