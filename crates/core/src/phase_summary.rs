//! An agent's words for the results of a phase (contract §9.31): their JSON Schema, and the reading of them.
//!
//! Not here: which phase they are asked for (`world::long_phase`), the question (`step/question`).

use alloc::{
    format,
    string::{String, ToString},
};

use crate::doc::Node;

const TEXT_CHARS_MAX: usize = 2_000;

/// The JSON Schema of the answer.
pub const SCHEMA: &str = r#"{"type":"object","required":["summary"],"additionalProperties":false,"properties":{"summary":{"type":"string","minLength":1,"maxLength":2000}}}"#;

/// Reads an answer.
///
/// # Errors
/// What is wrong with it, in words that an agent can mend it by.
pub fn read(answer: &Node) -> Result<String, String> {
    let members = answer.as_object().unwrap_or_default();
    if let Some(other) = members.iter().find(|one| one.key != "summary") {
        return Err(format!("`{}` is no key of the answer", other.key));
    }
    let text = answer.get("summary").and_then(Node::as_str);
    let text = text.map(str::trim).filter(|text| !text.is_empty());
    let text = text.ok_or("`summary` is missing, or no text")?;
    if text.chars().count() > TEXT_CHARS_MAX {
        Err(format!("`summary` has more than {TEXT_CHARS_MAX} characters"))
    } else {
        Ok(text.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validation::read_text;

    #[test]
    fn an_answer_is_one_text_of_limited_length() {
        let answer = |text: &str| read(&read_text(text)?);
        assert_eq!(answer(r#"{"summary": " It is. "}"#).unwrap(), "It is.");
        for (text, fault) in [
            ("fine".to_string(), "no JSON object"),
            ("{}".to_string(), "`summary` is missing"),
            (r#"{"summary": " "}"#.to_string(), "`summary` is missing"),
            (r#"{"summary": 1}"#.to_string(), "`summary` is missing"),
            (r#"{"summary": "a", "more": 1}"#.to_string(), "`more`"),
            (format!(r#"{{"summary": "{}"}}"#, "é".repeat(2_001)), "more than 2000"),
        ] {
            let told = answer(&text).unwrap_err();
            assert!(told.contains(fault), "{told}");
        }
        assert!(read_text(SCHEMA).is_ok());
    }
}
