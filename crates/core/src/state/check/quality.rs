//! A quality leaf: a judge rates a result by a rubric, and its score is compared with a threshold.
//!
//! Invariant: a score is a whole number of thousandths, so that comparing is exact. Not here: asking the judge (`step`,
//! `prompt`).

use crate::doc::prelude::*;
use crate::{
    doc::{Node, Value},
    state::{
        FreeValue,
        fields::{Fields, Findings},
        rule::Form,
        table::record,
        value::{FieldValue, up_to},
    },
};

/// The highest level that a criterion can be rated with; the lowest is 1.
pub const LEVEL_MAX: u32 = 5;
/// The threshold of a leaf without one.
const THRESHOLD: Thousandths = Thousandths(800);
/// Ratings at most of one leaf on one result.
const SAMPLES_MAX: u32 = 9;
/// Criteria at most of one rubric.
pub const CRITERIA_MAX: usize = 20;

record! {
    part
    /// A judge rates the result, and its score reaches the threshold
    #[derive(PartialEq)]
    pub struct QualityLeaf {
        /// A sentence that a judge rates
        expected(super::not_blank) statement as "quality": String {Form::NonBlank},
        /// Each criterion gets a level from 1 to 5; without a rubric the judge gives one score from 0 to 1
        filled(rubric) rubric: Vec<Criterion>,
        /// 0.8 unless given: up to 1 it is a share of the highest score, above it is a level
        optional(threshold) pass_threshold: Thousandths = THRESHOLD,
        /// Paths that the judge is shown: all unless given
        optional scope: String,
        /// The number of ratings, from 1 to 9, of which the middle one decides: 1 unless given
        optional(samples) samples: u32 {Form::Whole(1, SAMPLES_MAX)} = 1,
    }
}

record! {
    /// One criterion of a rubric; a text stands for its name alone
    #[derive(PartialEq)]
    pub struct CriterionRecord {
        /// Its name
        required criterion: String {Form::NonBlank},
        /// The subject that is rated
        optional description: String,
        /// 1 unless given
        filled(weight) weight: Thousandths = Thousandths(1_000),
        /// The meaning of single levels: an object with keys from 1 to 5
        optional levels: FreeValue,
    }
    with Default;
}

/// One criterion of a rubric, as a person wrote it.
#[derive(Debug, Clone, PartialEq)]
pub struct Criterion(CriterionRecord);

impl core::ops::Deref for Criterion {
    type Target = CriterionRecord;

    fn deref(&self) -> &CriterionRecord {
        &self.0
    }
}

impl FieldValue for Criterion {
    fn form() -> Form {
        CriterionRecord::form()
    }

    fn read(node: &Node, pointer: &str, found: &mut Findings) -> Option<Self> {
        let Some(name) = node.as_str() else {
            return CriterionRecord::read(node, pointer, found).map(Self);
        };
        if name.trim().is_empty() {
            let message = "a criterion without a name".to_owned();
            found.fault("empty-text", (pointer, node.span), message, None);
            return None;
        }
        Some(Self(CriterionRecord { criterion: name.to_owned(), ..CriterionRecord::default() }))
    }

    fn node(&self) -> Node {
        let is_name_alone = self.description.is_none()
            && self.levels.is_none()
            && self.weight == Thousandths(1_000)
            && self.extra.is_empty();
        if is_name_alone { Node::string(self.criterion.as_str()) } else { self.0.node() }
    }
}

impl QualityLeaf {
    /// Whether a score, as a share of the highest, reaches the threshold.
    pub fn passes(&self, score: Thousandths) -> bool {
        let threshold = self.pass_threshold();
        if threshold.0 > 1_000 {
            score.0.saturating_mul(LEVEL_MAX) >= threshold.0
        } else {
            score.0 >= threshold.0
        }
    }

    /// The threshold in words.
    pub fn threshold_text(&self) -> String {
        let threshold = self.pass_threshold();
        if threshold.0 > 1_000 {
            let share = Thousandths(threshold.0 / LEVEL_MAX);
            format!("{} of {LEVEL_MAX}, which is {}", threshold.text(), share.text())
        } else {
            threshold.text()
        }
    }

    /// The score of these levels, one a criterion: their weighted mean as a share of the highest level, rounded down.
    pub fn score(&self, levels: &[u32]) -> Thousandths {
        let pairs = || self.rubric.iter().zip(levels);
        let weights: u64 = pairs().map(|(one, _)| u64::from(one.weight.0)).sum();
        let sum: u64 =
            pairs().map(|(one, level)| u64::from(one.weight.0) * u64::from(*level)).sum();
        let most = weights * u64::from(LEVEL_MAX);
        let share = (sum * 1_000).checked_div(most).unwrap_or_default();
        Thousandths(u32::try_from(share).unwrap_or(1_000).min(1_000))
    }
}

/// A number with three digits after the point.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Thousandths(pub u32);

impl Thousandths {
    /// A number as `0.8`, `4` or `3.125`; further digits are cut off. `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let (whole, rest) = text.split_once('.').unwrap_or((text, "0"));
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if !is_number(whole) || !is_number(rest) {
            return None;
        }
        let rest = rest.get(..rest.len().min(3))?;
        let fraction: u32 = format!("{rest:0<3}").parse().ok()?;
        let whole: u32 = whole.parse().ok()?;
        whole.checked_mul(1_000)?.checked_add(fraction).map(Self)
    }

    /// The number of a JSON value, if it is one.
    pub fn of_node(node: &Node) -> Option<Self> {
        node.numeral().and_then(Self::parse)
    }

    /// The number, without needless digits.
    pub fn text(self) -> String {
        let fraction = format!("{:03}", self.0 % 1_000);
        match fraction.trim_end_matches('0') {
            "" => format!("{}", self.0 / 1_000),
            short => format!("{}.{short}", self.0 / 1_000),
        }
    }
}

impl FieldValue for Thousandths {
    fn form() -> Form {
        Form::Decimal
    }

    fn read(node: &Node, pointer: &str, found: &mut Findings) -> Option<Self> {
        let read = Self::of_node(node);
        if read.is_none() {
            found.wrong_type(pointer, node, "a number from 0 on");
        }
        read
    }

    fn take(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<Self> {
        let read = fields.take(key).map(Self::of_node)?;
        if read.is_none() {
            let message = format!("`{key}` is no number from 0 on, as 0.8 or 4");
            fields.fault_at(key, "bad-number", message, None);
        }
        read
    }

    fn node(&self) -> Node {
        Value::Number(self.text()).into()
    }
}

fn rubric(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<Vec<Criterion>> {
    let all = Vec::<Criterion>::take(fields, key)?;
    let mut names: Vec<&str> = all.iter().map(|one| one.criterion.as_str()).collect();
    names.sort_unstable();
    let is_twice = names.windows(2).find(|pair| pair[0] == pair[1]);
    if all.len() > CRITERIA_MAX {
        let message = format!("a rubric of more than {CRITERIA_MAX} criteria");
        fields.fault_at(key, "too-many", message, None);
    } else if let Some(pair) = is_twice {
        let message = format!("the criterion `{}` stands twice in the rubric", pair[0]);
        fields.fault_at(key, "twice", message, None);
    }
    Some(all)
}

fn threshold(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<Thousandths> {
    within(fields, key, LEVEL_MAX * 1_000, "at most 5")
}

fn samples(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<u32> {
    up_to(fields, key, SAMPLES_MAX, "bad-count")
}

fn weight(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<Thousandths> {
    within(fields, key, 1_000_000, "at most 1000")
}

fn within(
    fields: &mut Fields<'_, '_>,
    key: &'static str,
    most: u32,
    words: &str,
) -> Option<Thousandths> {
    let read = Thousandths::take(fields, key)?;
    if read.0 == 0 || read.0 > most {
        let message = format!("`{key}` is {}; it is above 0 and {words}", read.text());
        fields.fault_at(key, "out-of-range", message, None);
        return None;
    }
    Some(read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Check;

    fn leaf(text: &str) -> QualityLeaf {
        let tree = crate::doc::parse(text, &crate::doc::Limits::default()).node.unwrap();
        let mut found = Findings::default();
        let check = Check::read(&tree, "", &mut found).unwrap();
        assert_eq!(found.faults, [], "{text}");
        match check.leaf().unwrap() {
            super::super::Leaf::Quality(leaf) => leaf.clone(),
            other => panic!("{other:?}"),
        }
    }

    fn faults(text: &str) -> Vec<String> {
        let tree = crate::doc::parse(text, &crate::doc::Limits::default()).node.unwrap();
        let mut found = Findings::default();
        let _ = Check::read(&tree, "", &mut found);
        found.faults.into_iter().map(|one| one.message).collect()
    }

    #[test]
    fn a_rubric_weighs_its_levels_and_is_compared_exactly() {
        let rated = leaf(
            r#"{"quality": "readable", "pass_threshold": 4, "rubric": ["names",
                {"criterion": "size", "weight": 3, "levels": {"1": "long", "5": "short"}}]}"#,
        );
        // (5 + 3 · 4) / 4 = 4.25; (1 + 3 · 5) / 4 = 4; (5 + 3 · 3) / 4 = 3.5.
        for (levels, score, passes) in
            [([5, 4], 850, true), ([1, 5], 800, true), ([5, 3], 700, false)]
        {
            assert_eq!(rated.score(&levels), Thousandths(score));
            assert_eq!(rated.passes(Thousandths(score)), passes, "{levels:?}");
        }
        let share = leaf(r#"{"quality": "readable"}"#);
        assert!(share.passes(Thousandths(800)) && !share.passes(Thousandths(799)));
        assert_eq!(share.threshold_text(), "0.8");
        assert_eq!(rated.threshold_text(), "4 of 5, which is 0.8");
    }

    #[test]
    fn a_rubric_comes_back_as_it_was_written() {
        for text in [
            r#"{"quality":"readable","rubric":["names","size"]}"#,
            r#"{"quality":"readable","rubric":[{"criterion":"names","weight":2.5}],"pass_threshold":0.9}"#,
        ] {
            let tree = crate::doc::parse(text, &crate::doc::Limits::default()).node.unwrap();
            let check = Check::read(&tree, "", &mut Findings::default()).unwrap();
            assert_eq!(crate::doc::write_compact(&check.node()), text);
        }
    }

    #[test]
    fn a_rubric_that_says_nothing_certain_is_refused() {
        for (text, words) in [
            (r#"{"quality": " "}"#, "empty"),
            (r#"{"quality": "x", "pass_threshold": 0}"#, "above 0"),
            (r#"{"quality": "x", "pass_threshold": 6}"#, "at most 5"),
            (r#"{"quality": "x", "pass_threshold": "high"}"#, "no number"),
            (r#"{"quality": "x", "rubric": ["a", "a"]}"#, "twice"),
            (r#"{"quality": "x", "rubric": [{"criterion": "a", "weight": -1}]}"#, "no number"),
            (r#"{"quality": "x", "rubric": [{"weight": 1}]}"#, "criterion"),
        ] {
            let told = faults(text).join("; ");
            assert!(told.contains(words), "{text}: {told}");
        }
    }
}
