//! A judge's answer about a quality leaf: its JSON Schema, and the reading of it.
//!
//! Invariant: an answer is taken whole or not at all; a score that is out of range is a fault. Not here: what a score means
//! (`verdict`), when it is asked for (`step`).

use crate::doc::prelude::*;
use crate::{
    doc::{self, Node},
    state::{
        Check, Leaf,
        check::{LEVEL_MAX, QualityLeaf, Thousandths},
    },
};

/// Characters kept of a judge's reason.
const BECAUSE_CHARS_MAX: usize = 1_000;

/// A score with the reason for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RatedLeaf {
    /// A share of the highest score.
    pub score: Thousandths,
    pub because: String,
}

/// The JSON Schema of the answer about a leaf; `None` of a leaf that no judge rates.
pub fn schema(check: &Check) -> Option<Node> {
    let Leaf::Quality(leaf) = check.leaf()? else {
        return None;
    };
    let (of, rule) = if leaf.rubric.is_empty() {
        ("score", r#"{"type":"number","minimum":0,"maximum":1}"#.to_owned())
    } else {
        ("levels", levels_schema(leaf))
    };
    let text = format!(
        r#"{{"type":"object","required":["{of}","because"],"additionalProperties":false,"properties":{{"{of}":{rule},"because":{{"type":"string"}}}}}}"#
    );
    doc::parse(&text, &doc::Limits::default()).node
}

fn levels_schema(leaf: &QualityLeaf) -> String {
    let name = |name: &str| doc::write_compact(&Node::string(name));
    let names: Vec<String> = leaf.rubric.iter().map(|one| name(&one.criterion)).collect();
    let rules =
        names.iter().map(|name| format!(r#"{name}:{{"type":"integer","enum":[1,2,3,4,5]}}"#));
    let rules: Vec<String> = rules.collect();
    format!(
        r#"{{"type":"object","required":[{}],"additionalProperties":false,"properties":{{{}}}}}"#,
        names.join(","),
        rules.join(",")
    )
}

/// Reads the answer of a judge about a leaf.
///
/// # Errors
/// What is wrong with it, in words that a judge can mend it by.
pub fn read(check: &Check, answer: &Node) -> Result<RatedLeaf, String> {
    let Some(Leaf::Quality(leaf)) = check.leaf() else {
        return Err("no judge rates this check".to_owned());
    };
    let score =
        if leaf.rubric.is_empty() { share(answer)? } else { leaf.score(&levels(leaf, answer)?) };
    let because = answer.get("because").and_then(Node::as_str);
    let because = because.ok_or("`because` is missing: say in a text why")?;
    let because = doc::one_line(because, BECAUSE_CHARS_MAX);
    Ok(RatedLeaf { score, because })
}

fn share(answer: &Node) -> Result<Thousandths, String> {
    let wanted = "`score` is a number from 0 to 1";
    let score = answer.get("score").ok_or_else(|| wanted.to_string())?;
    // A number in quotes is one too.
    let read = Thousandths::of_node(score);
    read.filter(|score| score.0 <= 1_000).ok_or_else(|| format!("{wanted}, found {}", shown(score)))
}

fn levels(leaf: &QualityLeaf, answer: &Node) -> Result<Vec<u32>, String> {
    let levels = answer.get("levels");
    let members = levels.and_then(Node::as_object);
    let members = members.ok_or("`levels` is an object with a level for each criterion")?;
    let is_known = |key: &str| leaf.rubric.iter().any(|one| one.criterion == key);
    if let Some(other) = members.iter().find(|member| !is_known(&member.key)) {
        return Err(format!("`{}` is no criterion of the rubric", other.key));
    }
    let level = |name: &str| {
        let mut given = members.iter().filter(|member| member.key == name);
        let node = given.next().map(|member| &member.node);
        let node = node.ok_or_else(|| format!("a level for `{name}` is missing"))?;
        let quoted = node.as_str().and_then(|text| text.trim().parse().ok());
        let level = node.as_u64().and_then(|level| u32::try_from(level).ok());
        let level = level.or(quoted);
        level.filter(|level| (1..=LEVEL_MAX).contains(level)).ok_or_else(|| {
            let found = shown(node);
            format!("the level of `{name}` is a whole number from 1 to {LEVEL_MAX}, found {found}")
        })
    };
    leaf.rubric.iter().map(|one| level(&one.criterion)).collect()
}

fn shown(node: &Node) -> String {
    doc::write_compact(node).chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::fields::Findings;

    fn check(text: &str) -> Check {
        let tree = doc::parse(text, &doc::Limits::default()).node.unwrap();
        Check::read(&tree, "", &mut Findings::default()).unwrap()
    }

    fn answer(check: &Check, text: &str) -> Result<RatedLeaf, String> {
        read(check, &doc::parse(text, &doc::Limits::default()).node.unwrap())
    }

    #[test]
    fn a_score_out_of_range_or_of_another_type_is_a_fault() {
        let plain = check(r#"{"quality": "readable"}"#);
        let good = answer(&plain, r#"{"score": 0.85, "because": "clear\n names"}"#).unwrap();
        assert_eq!((good.score, good.because.as_str()), (Thousandths(850), "clear names"));
        let quoted = answer(&plain, r#"{"score": "0.9", "because": ""}"#).unwrap();
        assert_eq!(quoted.score, Thousandths(900));
        for text in [
            r#"{"score": 1.2, "because": ""}"#,
            r#"{"score": -1, "because": ""}"#,
            r#"{"score": "good", "because": ""}"#,
            r#"{"score": 1e999, "because": ""}"#,
            r#"{"because": "very good"}"#,
            r#"{"score": 0.9}"#,
            r#"{"levels": {"readable": 5}, "because": ""}"#,
            "[]",
        ] {
            assert!(answer(&plain, text).is_err(), "{text}");
        }
    }

    #[test]
    fn every_criterion_of_a_rubric_gets_a_level_and_no_other_does() {
        let rubric = check(r#"{"quality": "readable", "rubric": ["names", "size"]}"#);
        let good = answer(&rubric, r#"{"levels": {"size": 3, "names": 5}, "because": ""}"#);
        assert_eq!(good.unwrap().score, Thousandths(800));
        for (text, fault) in [
            (r#"{"levels": {"names": 5}, "because": ""}"#, "`size` is missing"),
            (r#"{"levels": {"names": 5, "size": 6}, "because": ""}"#, "1 to 5, found 6"),
            (r#"{"levels": {"names": 5, "size": 4.5}, "because": ""}"#, "found 4.5"),
            (
                r#"{"levels": {"names": 5, "size": 5, "charm": 5}, "because": ""}"#,
                "`charm` is no criterion",
            ),
            (r#"{"score": 1, "because": ""}"#, "`levels` is an object"),
        ] {
            let told = answer(&rubric, text).unwrap_err();
            assert!(told.contains(fault), "{told}");
        }
    }

    #[test]
    fn the_schema_names_every_criterion() {
        let rubric = check(r#"{"quality": "x", "rubric": ["a \"b\"", "size"]}"#);
        let text = doc::write_compact(&schema(&rubric).unwrap());
        assert!(text.contains(r#""a \"b\"":{"type":"integer""#), "{text}");
        let plain = schema(&check(r#"{"quality": "x"}"#)).unwrap();
        assert!(plain.get("properties").unwrap().get("score").is_some());
        assert!(schema(&Check::command("true")).is_none());
    }
}
