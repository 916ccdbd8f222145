//! A judging agent's answer about a plan: its JSON Schema, and the reading of it.
//!
//! Invariant: an answer is taken whole or not at all; ids, numbers and what follows are the program's. Not here: when it
//! is asked for (`step/gate`).

use alloc::{
    borrow::ToOwned,
    format,
    string::{String, ToString},
    vec::Vec,
};

use crate::{
    doc::{self, Node},
    state::{ISSUES_MAX, IssueRecord, IssueType, Severity},
};

/// Characters kept of what is wrong, and of its repair.
const WORDS_CHARS_MAX: usize = 300;

/// The JSON Schema of the answer.
pub const SCHEMA: &str = r#"{"type":"object","required":["issues"],"additionalProperties":false,"properties":{"issues":{"type":"array","items":{"type":"object","required":["type","severity","location","description"],"additionalProperties":false,"properties":{"type":{"enum":["specificity","relevance","consistency","hallucination","do_say_mismatch"]},"severity":{"enum":["high","medium","low"]},"location":{"type":"string"},"description":{"type":"string"},"proposed_repair":{"type":"string"}}}}}}"#;

/// The issues that an agent found in a plan.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ValidationAnswer {
    pub issues: Vec<IssueRecord>,
    /// Issues that name no atom of the plan.
    pub unplaced: u32,
}

/// Reads the text of an answer.
///
/// # Errors
/// What is wrong with it, in words that an agent can mend it by.
pub fn read_text(text: &str) -> Result<Node, String> {
    let parsed = doc::parse(text.trim(), &doc::Limits::default());
    let node = parsed.node.filter(|_| parsed.faults.is_empty());
    let node = node.filter(|node| node.as_object().is_some());
    node.ok_or_else(|| "it is no JSON object".to_owned())
}

/// Reads an answer about a plan with these atoms.
///
/// # Errors
/// What is wrong with it, in words that an agent can mend it by.
pub fn read(answer: &Node, is_known: impl Fn(&str) -> bool) -> Result<ValidationAnswer, String> {
    let members = answer.as_object().unwrap_or_default();
    if let Some(other) = members.iter().find(|one| one.key != "issues") {
        return Err(format!("`{}` is no key of the answer", other.key));
    }
    let list = answer.get("issues").and_then(Node::as_array);
    let list = list.ok_or("`issues` is a list; an empty one if nothing is wrong")?;
    if list.len() > ISSUES_MAX {
        return Err(format!("tell {ISSUES_MAX} issues at most, the heaviest"));
    }
    let mut read = ValidationAnswer::default();
    for (nth, node) in list.iter().enumerate() {
        let issue = issue(node).map_err(|fault| format!("/issues/{nth}: {fault}"))?;
        if is_known(&issue.location) { read.issues.push(issue) } else { read.unplaced += 1 }
    }
    read.issues.sort_by_key(|issue| issue.severity.rank());
    Ok(read)
}

fn issue(node: &Node) -> Result<IssueRecord, String> {
    let members = node.as_object().ok_or("an issue is an object")?;
    let known = ["type", "severity", "location", "description", "proposed_repair"];
    if let Some(other) = members.iter().find(|one| !known.contains(&&*one.key)) {
        return Err(format!("`{}` is no key of an issue", other.key));
    }
    let text = |key: &str| node.get(key).and_then(Node::as_str).map(str::trim);
    let needed = |key: &'static str| {
        let text = text(key).filter(|text| !text.is_empty());
        text.ok_or_else(|| format!("`{key}` is missing, or no text"))
    };
    Ok(IssueRecord {
        rule: None,
        kind: IssueType::one_of("type", Some(needed("type")?))?,
        severity: Severity::one_of("severity", Some(needed("severity")?))?,
        location: needed("location")?.to_string(),
        description: doc::one_line(needed("description")?, WORDS_CHARS_MAX),
        proposed_repair: text("proposed_repair")
            .map(|text| doc::one_line(text, WORDS_CHARS_MAX))
            .unwrap_or_default(),
        extra: Default::default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(text: &str) -> Result<ValidationAnswer, String> {
        read(&read_text(text)?, |id| id == "A")
    }

    const GOOD: &str =
        r#"{"type": "relevance", "severity": "low", "location": "A", "description": "no\n use"}"#;

    #[test]
    fn issues_are_sorted_and_those_of_no_atom_are_counted() {
        let other = GOOD.replace("\"A\"", "\"X\"");
        let high = GOOD.replace("low", "high");
        let read = answer(&format!(r#"{{"issues": [{GOOD}, {other}, {high}]}}"#)).unwrap();
        let severities: Vec<Severity> = read.issues.iter().map(|one| one.severity).collect();
        assert_eq!(severities, [Severity::High, Severity::Low]);
        assert_eq!((read.unplaced, read.issues[0].description.as_str()), (1, "no use"));
        assert_eq!(answer(r#"{"issues": []}"#), Ok(ValidationAnswer::default()));
    }

    #[test]
    fn an_answer_of_another_form_is_told_in_words_to_mend_it_by() {
        let with = |from: &str, to: &str| format!(r#"{{"issues": [{}]}}"#, GOOD.replace(from, to));
        for (text, fault) in [
            ("all is well".to_owned(), "no JSON object"),
            ("{}".to_owned(), "`issues` is a list"),
            (r#"{"issues": [], "status": "solved"}"#.to_owned(), "`status` is no key"),
            (with("relevance", "style"), "`type` is one of specificity"),
            (with("\"low\"", "\"grave\""), "`severity` is one of high"),
            (with("\"low\"", "3"), "`severity` is missing"),
            (with("\"A\"", "\"\""), "`location` is missing"),
            (with("\"location\"", "\"status\": 1, \"location\""), "`status` is no key"),
            (format!(r#"{{"issues": [{}]}}"#, [GOOD; 21].join(",")), "20 issues at most"),
        ] {
            let told = answer(&text).unwrap_err();
            assert!(told.contains(fault), "{told}");
        }
    }

    #[test]
    fn the_schema_is_json() {
        assert!(read_text(SCHEMA).unwrap().get("properties").is_some());
    }
}
