//! The rule for a number in an output: its limits, and the baseline that may stand for one of them. The patterns in checks.
//!
//! Invariant: no number meets a limit that says "baseline" while no value is measured.

use crate::doc::prelude::*;
use crate::{
    doc::{self, Member, Node, Span, Value},
    state::{
        FreeValue,
        fields::{Fields, Writer},
        rule::{FieldRule, Form},
        table::{Part, rule},
    },
};

/// The word that stands for the value measured by `align`.
pub const BASELINE: &str = "baseline";
/// Larger numbers are not exact in JSON: they are written as decimal strings.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// A number in the output, by a regular expression with one group; several matches are summed.
#[derive(Debug, Clone, PartialEq)]
pub struct NumberRule {
    pub pattern: String,
    pub at_least: Option<FreeValue>,
    pub at_most: Option<FreeValue>,
    /// The value measured by `align`, if a limit says "baseline".
    pub baseline: Option<FreeValue>,
}

impl NumberRule {
    /// Whether a limit stands for the measured value.
    pub fn has_baseline(&self) -> bool {
        [&self.at_least, &self.at_most].into_iter().flatten().any(is_baseline)
    }

    /// Whether a number meets the limits; `None` if one of them has no value yet.
    pub fn holds(&self, number: f64) -> Option<bool> {
        let least = self.limit(&self.at_least)?;
        let most = self.limit(&self.at_most)?;
        Some(least.is_none_or(|least| number >= least) && most.is_none_or(|most| number <= most))
    }

    /// The limit that a number does not meet.
    pub fn limit_broken_by(&self, number: f64) -> Option<f64> {
        let least = self.limit(&self.at_least)?.filter(|least| number < *least);
        let most = || self.limit(&self.at_most)?.filter(|most| number > *most);
        least.or_else(most)
    }

    /// The limits in words: `at least 211 (baseline)`.
    pub fn describe(&self) -> String {
        let one = |word: &str, limit: &Option<FreeValue>| {
            let node = limit.as_ref()?;
            Some(match (is_baseline(node), &self.baseline) {
                (false, _) => format!("{word} {}", plain(node)),
                (true, Some(value)) => format!("{word} {} (baseline)", plain(value)),
                (true, None) => format!("{word} the baseline, which is not measured yet"),
            })
        };
        let parts = [one("at least", &self.at_least), one("at most", &self.at_most)];
        parts.into_iter().flatten().reduce(|all, one| all + ", " + &one).unwrap_or_default()
    }

    pub fn set_baseline(&mut self, number: f64) {
        self.baseline = Some(number_node(number));
    }

    /// `Some(None)` without a limit, `Some` of the value if it is known; `None` otherwise.
    fn limit(&self, limit: &Option<FreeValue>) -> Option<Option<f64>> {
        match limit {
            None => Some(None),
            Some(node) if is_baseline(node) => self.baseline.as_ref().and_then(number_of).map(Some),
            Some(node) => number_of(node).map(Some),
        }
    }
}

impl Part for Option<NumberRule> {
    fn rules() -> Vec<FieldRule> {
        let of = "What `align` measured, where a limit says `baseline`";
        Vec::from([
            rule::<String>(
                "number",
                "A regular expression with one group: the number to compare; several are summed",
            ),
            rule::<Node>("at_least", "`baseline` stands for the value that `align` measured")
                .of_form(Form::Decimal),
            rule::<Node>("at_most", "").of_form(Form::Decimal),
            rule::<Node>("baseline", of).of_form(Form::Decimal),
        ])
    }

    fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        let at_least = bound(fields, "at_least", true);
        let at_most = bound(fields, "at_most", true);
        let baseline = bound(fields, "baseline", false);
        let pattern = fields.text("number");
        let has_limit = at_least.is_some() || at_most.is_some();
        Some(match pattern {
            None if !has_limit && baseline.is_none() => None,
            None => {
                let (at, span) = (fields.pointer.clone(), fields.node.span);
                let message = "a limit without `number`".to_owned();
                let hint = Some("`number` is a regular expression with one group".to_owned());
                fields.found.fault("bad-number-rule", (&at, span), message, hint);
                None
            }
            Some(_) if !has_limit => {
                let message = "`number` needs `at_least` or `at_most`".to_owned();
                fields.fault_at("number", "bad-number-rule", message, None);
                None
            }
            Some(pattern) => Some(NumberRule { pattern, at_least, at_most, baseline }),
        })
    }

    fn write(&self, to: &mut Writer) {
        let Some(rule) = self else { return };
        to.text("number", &rule.pattern)
            .some("at_least", rule.at_least.clone())
            .some("at_most", rule.at_most.clone())
            .some("baseline", rule.baseline.clone());
    }
}

fn bound(fields: &mut Fields<'_, '_>, key: &'static str, may_be_word: bool) -> Option<FreeValue> {
    let node = fields.take(key)?;
    if number_of(node).is_some() || may_be_word && is_baseline(node) {
        return Some(node.clone());
    }
    let at = fields.at(key);
    let (wanted, hint) = if may_be_word {
        let hint = "\"baseline\" stands for the value that `align` measures";
        ("a number or \"baseline\"", Some(hint.to_owned()))
    } else {
        ("a number", None)
    };
    fields.found.wrong_type_or(&at, node, wanted, hint);
    None
}

fn is_baseline(node: &Node) -> bool {
    node.as_str() == Some(BASELINE)
}

fn plain(node: &Node) -> &str {
    node.numeral().unwrap_or_default()
}

/// A measured number as it stands in the file.
pub fn number_node(number: f64) -> Node {
    let text = format!("{number}");
    let value = if number.abs() > EXACT_MAX { Value::String(text) } else { Value::Number(text) };
    Node { value, span: Span::default() }
}

/// The number of a value, as `number_node` writes it.
pub fn number_of(node: &Node) -> Option<f64> {
    node.numeral()?.trim().parse().ok().filter(|number: &f64| number.is_finite())
}

// The patterns in checks: found here, compiled by the shell.

const SCHEMA_KEY: &str = "output_schema";

/// A pattern of a person, for the shell to compile: the core knows no regular expressions and no globs.
#[derive(Debug, Clone, PartialEq)]
pub struct Pattern {
    pub pointer: String,
    pub span: doc::Span,
    pub text: String,
    pub kind: PatternKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatternKind {
    Regex,
    /// A regular expression with exactly one group.
    RegexWithGroup,
    Glob,
    /// A JSON Schema, as its text.
    Schema,
}

/// The schema of an atom's value.
pub fn schema(atom: &Node, pointer: &str) -> Option<Pattern> {
    let schema = atom.get(SCHEMA_KEY)?;
    Some(Pattern {
        pointer: doc::pointer_push(pointer, SCHEMA_KEY),
        span: schema.span,
        text: doc::write_compact(schema),
        kind: PatternKind::Schema,
    })
}

/// The schemas of the open atoms of a state. One that does not compile leaves the state readable.
pub fn schemas(root: &Node) -> Vec<Pattern> {
    let atoms = root.get("work_graph").and_then(|graph| graph.get("atoms"));
    let members = atoms.and_then(Node::as_object).unwrap_or_default().iter();
    let of = |member: &Member| {
        let at = doc::pointer_push("/work_graph/atoms", &member.key);
        schema(&member.node, &at)
    };
    members.filter_map(of).collect()
}

/// Collects the patterns of an atom at `pointer`: of its checks, and of its action.
pub fn patterns_of_atom(atom: &Node, pointer: &str, into: &mut Vec<Pattern>) {
    if let Some(checks) = atom.get("checks") {
        patterns(checks, &doc::pointer_push(pointer, "checks"), into);
    }
    let transient = atom.get("action").and_then(|action| action.get("transient"));
    if let Some(node) = transient.and_then(|node| node.get("output"))
        && let Some(text) = node.as_str()
    {
        let pointer = format!("{pointer}/action/transient/output");
        let (span, text, kind) = (node.span, text.to_owned(), PatternKind::Regex);
        into.push(Pattern { pointer, span, text, kind });
    }
}

/// Collects the patterns under `node`, read as a check at `pointer`.
pub fn patterns(node: &Node, pointer: &str, into: &mut Vec<Pattern>) {
    if super::LEAF_KEYS.iter().all(|key| node.get(key).is_none()) {
        // The kind is unknown, and so is the meaning of its keys.
        return;
    }
    for key in ["all", "any"] {
        for (index, part) in
            node.get(key).and_then(Node::as_array).unwrap_or_default().iter().enumerate()
        {
            let at = doc::pointer_push(&doc::pointer_push(pointer, key), &format!("{index}"));
            patterns(part, &at, into);
        }
    }
    let keys = [
        ("stdout_matches", PatternKind::Regex),
        ("contains", PatternKind::Regex),
        ("number", PatternKind::RegexWithGroup),
        ("file", PatternKind::Glob),
        ("not_file", PatternKind::Glob),
    ];
    for (key, kind) in keys {
        if let Some((node, text)) = node.get(key).and_then(|node| Some((node, node.as_str()?))) {
            let pointer = doc::pointer_push(pointer, key);
            into.push(Pattern { pointer, span: node.span, text: text.to_owned(), kind });
        }
    }
}
