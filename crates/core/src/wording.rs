//! An agent's wording of the final answer (contract §9.27): its JSON Schema, and the reading of it. Also when one is asked
//! for, and what is kept of a run's limits for it.
//!
//! Invariant: an answer is taken whole or not at all. It changes the text and adds notes, and nothing else of a result.
//! Not here: the question (`step/consult`), and the answer by code (`step/account`).

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use serde::Serialize;

use crate::{
    doc::{self, Node},
    id::Digest,
    profile,
    state::{
        Consult, Extra, JudgedBy, JudgingLevel, Reason, Role, Run, RunStatus, State, UsageLimit,
        WordedAnswer, final_result::FinalOutput,
    },
};

const TEXT_CHARS_MAX: usize = 4_000;
/// Texts of one list, and characters kept of each.
const LIST_MAX: usize = 5;
const NOTE_CHARS_MAX: usize = 240;
/// Kept of the limits of a run for the question.
const CALLS_KEPT: u64 = 1;
const TOKENS_KEPT: u64 = 4_000;
/// The beginning of a note that an agent gave.
const BY_MODEL: &str = "model: ";
/// The beginning of a note about what was asked for and what is there.
const DRIFT: &str = "advice, not proof: ";

/// Whether an ending of a run is worded by an agent.
pub fn is_wanted(state: &State) -> bool {
    state.run.answers && profile::judging(state).asks()
}

/// Whether an ending is one that an agent words: the run ended by itself, and something was tried for it.
pub fn is_worded(run: &Run) -> bool {
    let is_own = matches!(run.status, RunStatus::Completed | RunStatus::Exhausted);
    is_own && run.ending.reason != Some(Reason::AlreadyHeld)
}

/// Whether the agent also compares what was asked for with what is there.
pub fn compares(state: &State) -> bool {
    state.run.status == RunStatus::Completed && profile::judging(state) == JudgingLevel::Full
}

/// The digest of an ending: another one is another subject.
pub fn subject(state: &State) -> Digest {
    let run = &state.run;
    let commit = run.result().map_or("", |commit| commit.as_str());
    let reason = run.ending.reason.map_or("", Reason::word);
    let (status, summary) = (run.status.word(), &run.ending.summary);
    let objective = doc::canonical(&state.objective.node());
    Digest::of(format!("{status}\n{reason}\n{commit}\n{summary}\n{objective}").as_bytes())
}

/// The question about the ending that the state tells; none where another one, or none, is in it.
pub fn asked(state: &State) -> Option<&Consult> {
    let consult = state.run.consult.as_ref()?;
    is_of_ending(state, consult).then_some(consult)
}

/// Whether a question is about the ending that the state tells.
pub fn is_of_ending(state: &State, consult: &Consult) -> bool {
    let run = &state.run;
    let is_put = consult.role == Role::Answer && consult.epoch == run.epoch;
    is_put && run.ending.is_known() && subject(state) == consult.subject
}

/// The part of a limit that is kept for the question, and used for nothing else. Half of a small limit stays for the work.
pub fn kept(state: &State, limit: UsageLimit) -> u64 {
    let most = state.objective.constraints.usage(limit);
    let (Some(most), true) = (most, is_wanted(state)) else {
        return 0;
    };
    let kept = match limit {
        UsageLimit::Calls => CALLS_KEPT,
        UsageLimit::Tokens => TOKENS_KEPT,
        UsageLimit::Cost => 0,
    };
    kept.min(most / 2)
}

/// The parts of the limits that are kept for the question.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KeptBudget {
    pub model_calls: u64,
    pub tokens: u64,
}

impl KeptBudget {
    pub fn of(state: &State) -> Self {
        Self {
            model_calls: kept(state, UsageLimit::Calls),
            tokens: kept(state, UsageLimit::Tokens),
        }
    }

    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// The part of a limit that is for the work.
pub fn for_work(state: &State, limit: UsageLimit) -> Option<u64> {
    let most = state.objective.constraints.usage(limit)?;
    Some(most.saturating_sub(kept(state, limit)))
}

/// The JSON Schema of the answer.
pub fn schema(compares: bool) -> String {
    let list = r#"{"type":"array","maxItems":5,"items":{"type":"string"}}"#;
    let drift = if compares { format!(r#","drift":{list}"#) } else { String::new() };
    format!(
        r#"{{"type":"object","required":["text"],"additionalProperties":false,"properties":{{"text":{{"type":"string","minLength":1,"maxLength":{TEXT_CHARS_MAX}}},"notes":{list}{drift}}}}}"#
    )
}

/// Reads an answer.
///
/// # Errors
/// What is wrong with it, in words that an agent can mend it by.
pub fn read(answer: &Node, compares: bool) -> Result<WordedAnswer, String> {
    let known = ["text", "notes", "drift"];
    let known = if compares { &known[..] } else { &known[..2] };
    let members = answer.as_object().unwrap_or_default();
    if let Some(other) = members.iter().find(|one| !known.contains(&&*one.key)) {
        return Err(format!("`{}` is no key of the answer", other.key));
    }
    let text = answer.get("text").and_then(Node::as_str);
    let text = text.map(in_a_line).filter(|text| !text.is_empty());
    let text = text.ok_or("`text` is missing, or no text")?;
    if text.chars().count() > TEXT_CHARS_MAX {
        return Err(format!("`text` has more than {TEXT_CHARS_MAX} characters"));
    }
    Ok(WordedAnswer {
        text,
        notes: list(answer, "notes")?,
        drift: list(answer, "drift")?,
        extra: Extra::default(),
    })
}

fn list(answer: &Node, key: &str) -> Result<Vec<String>, String> {
    let Some(list) = answer.get(key) else {
        return Ok(Vec::new());
    };
    let fault = || format!("`{key}` is a list of at most {LIST_MAX} texts");
    let list = list.as_array().ok_or_else(fault)?;
    if list.len() > LIST_MAX {
        return Err(fault());
    }
    let note = |one: &Node| one.as_str().map(|text| short(&in_a_line(text)));
    let notes: Option<Vec<String>> = list.iter().map(note).collect();
    let notes = notes.ok_or_else(fault)?;
    Ok(notes.into_iter().filter(|one| !one.is_empty()).collect())
}

/// A text on one line, without what a terminal would obey.
fn in_a_line(text: &str) -> String {
    let is_break = |c: char| c.is_whitespace() || c.is_control();
    let words = text.split(is_break).filter(|word| !word.is_empty());
    words.collect::<Vec<&str>>().join(" ")
}

fn short(text: &str) -> String {
    match text.chars().nth(NOTE_CHARS_MAX) {
        None => text.to_string(),
        Some(_) => text.chars().take(NOTE_CHARS_MAX - 1).chain(['…']).collect(),
    }
}

impl WordedAnswer {
    /// Puts the words in the place of those by code. The measured parts stay.
    pub fn put_into(&self, output: &mut FinalOutput) {
        let own = self.notes.iter().map(|note| format!("{BY_MODEL}{note}"));
        let drift = self.drift.iter().map(|note| format!("{DRIFT}{note}"));
        output.notes.extend(own.chain(drift));
        output.doubted = !self.drift.is_empty();
        output.text.clone_from(&self.text);
        output.by = Some(JudgedBy::Model);
    }
}

#[cfg(test)]
mod tests {
    use alloc::sync::Arc;

    use super::*;
    use crate::{id::Lineage, plan, validation::read_text};

    fn answer(text: &str) -> Result<WordedAnswer, String> {
        read(&read_text(text)?, true)
    }

    #[test]
    fn an_answer_is_read_on_one_line_with_its_lists() {
        let read = answer(
            r#"{"text": "It\n\u001b[31m is there.", "notes": ["a\tb", " "], "drift": ["c"]}"#,
        );
        let read = read.unwrap();
        assert_eq!(read.text, "It [31m is there.");
        assert_eq!((read.notes.len(), read.notes[0].as_str()), (1, "a b"));
        let mut output = FinalOutput {
            text: "by code".to_string(),
            confidence: None,
            used: Vec::new(),
            notes: Vec::from(["by code".to_string()]),
            doubted: false,
            by: Some(JudgedBy::Code),
            extra: Default::default(),
        };
        read.put_into(&mut output);
        assert!(output.doubted, "it has a doubt");
        let notes = ["by code", "model: a b", "advice, not proof: c"];
        assert_eq!(output.notes, notes);
        assert_eq!(output.by, Some(JudgedBy::Model));
    }

    #[test]
    fn an_answer_of_another_form_is_told_in_words_to_mend_it_by() {
        for (text, fault) in [
            ("fine".to_string(), "no JSON object"),
            (r#"{"text": "a"} {"text": "b"}"#.to_string(), "no JSON object"),
            ("{}".to_string(), "`text` is missing"),
            (r#"{"text": " "}"#.to_string(), "`text` is missing"),
            (r#"{"text": 1}"#.to_string(), "`text` is missing"),
            (r#"{"text": "a", "notes": "b"}"#.to_string(), "`notes` is a list"),
            (r#"{"text": "a", "notes": [1]}"#.to_string(), "`notes` is a list"),
            (
                r#"{"text": "a", "drift": ["1","2","3","4","5","6"]}"#.to_string(),
                "`drift` is a list of at most 5",
            ),
            (r#"{"text": "a", "result": "completed"}"#.to_string(), "`result` is no key"),
            (format!(r#"{{"text": "{}"}}"#, "x".repeat(4_001)), "more than 4000"),
        ] {
            let told = answer(&text).unwrap_err();
            assert!(told.contains(fault), "{told}");
        }
        let drift = read_text(r#"{"text": "a", "drift": []}"#).unwrap();
        let told = read(&drift, false).unwrap_err();
        assert!(told.contains("`drift` is no key"), "{told}");
    }

    #[test]
    fn the_schemas_are_json() {
        for compares in [false, true] {
            let schema = read_text(&schema(compares)).unwrap();
            let drift = schema.get("properties").unwrap().get("drift");
            assert_eq!(drift.is_some(), compares);
        }
    }

    #[test]
    fn a_part_of_the_limits_is_kept_only_where_an_agent_is_asked() {
        let state = |limits: &str, answers| {
            let text = format!(
                r#"{{"objective": {{"goal": "g", "base_case": {{"command": "make"}}, "constraints": {limits}}}}}"#
            );
            let mut state = plan::read(text.as_bytes()).into_state(Lineage::new("l"));
            Arc::make_mut(&mut state.run).answers = answers;
            let left = |limit| for_work(&state, limit);
            (left(UsageLimit::Calls), left(UsageLimit::Tokens))
        };
        for (limits, answers, left) in [
            (
                r#"{"judging": "model", "budget": {"calls": 5, "tokens": 9000}}"#,
                true,
                (Some(4), Some(5_000)),
            ),
            (
                r#"{"judging": "model", "budget": {"calls": 1, "tokens": 1000}}"#,
                true,
                (Some(1), Some(500)),
            ),
            (r#"{"judging": "code", "budget": {"calls": 5}}"#, true, (Some(5), None)),
            (r#"{"judging": "full", "budget": {"calls": 5}}"#, false, (Some(5), None)),
            (r#"{"judging": "full"}"#, true, (None, None)),
        ] {
            assert_eq!(state(limits, answers), left, "{limits}");
        }
    }
}
