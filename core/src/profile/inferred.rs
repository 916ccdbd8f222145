//! An agent's answer about the kind of a task: its JSON Schema and the reading of it (contract §9.26).
//!
//! Invariant: an answer is taken whole or not at all. Not here: what follows from a profile (`profile`).

use alloc::{format, string::String};

use crate::{
    doc::{self, Node},
    state::{
        check::Thousandths,
        profile::{ConfidenceNeed, OutputBreadth, TaskProfile, ToolUsage},
    },
};

/// Characters that are kept of the reasons.
const REASON_CHARS_MAX: usize = 600;
const KEYS: [&str; 6] = [
    "reasoning_depth",
    "information_sufficiency",
    "expected_tool_usage",
    "output_breadth",
    "confidence_requirement",
    "raw_inference",
];

/// The JSON Schema of the answer.
pub const SCHEMA: &str = r#"{"type":"object","required":["reasoning_depth","information_sufficiency","expected_tool_usage","output_breadth","confidence_requirement"],"additionalProperties":false,"properties":{"reasoning_depth":{"type":"integer","minimum":1,"maximum":5},"information_sufficiency":{"type":"number","minimum":0,"maximum":1},"expected_tool_usage":{"enum":["none","minimal","moderate","extensive"]},"output_breadth":{"enum":["narrow","moderate","broad"]},"confidence_requirement":{"enum":["low","medium","high"]},"raw_inference":{"type":"string"}}}"#;

/// A profile with the reasons for it.
#[derive(Debug, Clone)]
pub struct InferredProfile {
    pub profile: TaskProfile,
    pub reasons: String,
}

/// # Errors
/// What is wrong with it, in words that an agent can mend it by.
pub fn read(answer: &Node) -> Result<InferredProfile, String> {
    let members = answer.as_object().unwrap_or_default();
    if let Some(other) = members.iter().find(|one| !KEYS.contains(&&*one.key)) {
        let keys = KEYS.join(", ");
        return Err(format!("`{}` is no key of the answer, which has {keys}", other.key));
    }
    let depth = answer.get(KEYS[0]).and_then(Node::as_u64);
    let depth = depth.and_then(|depth| u32::try_from(depth).ok());
    let depth = depth.filter(|depth| (1..=5).contains(depth));
    let share = answer.get(KEYS[1]).and_then(Thousandths::of_node);
    let share = share.filter(|share| share.0 <= 1_000);
    let text = |key: &str| answer.get(key).and_then(Node::as_str);
    Ok(InferredProfile {
        profile: TaskProfile {
            reasoning_depth: depth.ok_or("`reasoning_depth` is a whole number from 1 to 5")?,
            information_sufficiency: share
                .ok_or("`information_sufficiency` is a number from 0 to 1")?,
            expected_tool_usage: ToolUsage::one_of(KEYS[2], text(KEYS[2]))?,
            output_breadth: OutputBreadth::one_of(KEYS[3], text(KEYS[3]))?,
            confidence_requirement: ConfidenceNeed::one_of(KEYS[4], text(KEYS[4]))?,
        },
        reasons: doc::one_line(text(KEYS[5]).unwrap_or_default(), REASON_CHARS_MAX),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validation::read_text;

    const GOOD: &str = r#"{"reasoning_depth": 4, "information_sufficiency": 0.3, "expected_tool_usage": "moderate", "output_breadth": "broad", "confidence_requirement": "medium", "raw_inference": "many  files"}"#;

    #[test]
    fn an_answer_of_the_form_is_a_profile() {
        let read = read(&read_text(GOOD).unwrap()).unwrap();
        assert_eq!(read.reasons, "many files");
        assert_eq!(super::super::passes(&read.profile, 11), 7);
        assert!(read_text(SCHEMA).is_ok());
    }

    #[test]
    fn any_other_is_told_in_words_to_mend_it_by() {
        for (from, to, fault) in [
            ("4", "6", "from 1 to 5"),
            ("4", "\"deep\"", "from 1 to 5"),
            ("0.3", "3", "from 0 to 1"),
            ("\"broad\"", "\"wide\"", "one of narrow, moderate, broad"),
            ("\"moderate\"", "1", "one of none, minimal"),
            ("\"raw_inference\"", "\"passes\"", "`passes` is no key"),
        ] {
            let told = read(&read_text(&GOOD.replacen(from, to, 1)).unwrap()).unwrap_err();
            assert!(told.contains(fault), "{told}");
        }
    }
}
