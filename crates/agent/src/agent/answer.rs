//! The answer of an agent: an object in what it said, a report or the answer to a question. It is asked for again if it
//! cannot be read.
//!
//! Invariant: reading is bounded, whatever the text holds. An object is taken whole or not at all. At most [`TURNS_MAX`]
//! more turns an attempt, however often its process is started. Not here: what an answer means (the core).

use std::{sync::Arc, time::Duration};

use descent_core::{
    answer_forms,
    doc::Node,
    event::{AgentEnd, AgentReport, ConsultAnswer, Misfit, Outcome},
    state::Duty,
    verdict::CommandEnd,
};

use super::{
    AttemptJob,
    heard::{Heard, HeardSoFar},
    report::{self, ResultFile},
    usage::Reading,
};
use descent_system::{secrets, shape::Shape};

/// Openings of objects that are looked at.
const TRIES_MAX: usize = 200;

/// The report in an agent's answer, or one sentence that says why it has none.
pub(super) fn read(text: &str) -> Reading<ResultFile> {
    let text = without_thoughts(text);
    let mut fault = None;
    for object in objects(&text).into_iter().rev() {
        match report::parse_answer(object.as_bytes()) {
            Ok(answer) => return Ok(answer),
            // The last object is the one that was meant.
            Err(error) => fault = fault.or(Some(error)),
        }
    }
    Err(fault.unwrap_or_else(|| "it holds no JSON object".to_owned()))
}

/// The last object of a text, or the text as it is.
pub fn last_object(text: &str) -> String {
    let text = without_thoughts(text);
    let last = objects(&text).last().map(|object| (*object).to_owned());
    last.unwrap_or(text)
}

/// Without the blocks in which some models think aloud.
fn without_thoughts(text: &str) -> String {
    let (open, close) = ("<think>", "</think>");
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, thought)) = rest.split_once(open) {
        kept.push_str(before);
        match thought.split_once(close) {
            Some((_, after)) => rest = after,
            None => return kept,
        }
    }
    // Some servers cut the opening word off.
    let rest = rest.rsplit_once(close).map_or(rest, |(_, after)| after);
    kept + rest
}

/// The outermost objects of a text, from the first to the last. Prose and fences between them are
/// passed over.
fn objects(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut at = 0;
    for _ in 0..TRIES_MAX {
        let Some(open) = text[at..].find('{').map(|open| at + open) else {
            break;
        };
        match end_of(&text[open..]) {
            Some(length) => {
                found.push(&text[open..open + length]);
                at = open + length;
            }
            None => at = open + 1,
        }
    }
    found
}

/// The length of the object that the text begins with, if its braces close.
fn end_of(text: &str) -> Option<usize> {
    let (mut depth, mut is_string, mut is_escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_string => is_escaped = true,
            b'"' => is_string = !is_string,
            b'{' if !is_string => depth += 1,
            b'}' if !is_string => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// Further turns in which an answer is mended.
pub(super) const TURNS_MAX: u32 = 2;

/// Bytes at most of a schema that is told again.
const SCHEMA_BYTES_MAX: usize = 4 << 10;

/// Says what is wrong with an object, if anything is.
pub type ObjectJudge = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Looks at each answer, and asks again for one that is no use.
pub(super) struct Repairs {
    turns: u32,
    /// The schema of the value in a report.
    shape: Option<Shape>,
    /// Judges an object that is no report, as a planner's fragment.
    judge: Option<ObjectJudge>,
    /// Whether an answer is read from messages: a result file wins.
    is_given: Box<dyn Fn() -> bool + Send + Sync>,
}

impl Repairs {
    pub(super) fn new(
        attempt: &AttemptJob<'_>,
        is_given: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Self {
        let judge = attempt.question.as_ref().map(|form| Arc::clone(&form.fault));
        Self { turns: 0, shape: attempt.shape.clone(), judge, is_given: Box::new(is_given) }
    }

    /// The next prompt, if the turn that ended has no answer that can be used.
    pub(super) fn next(&mut self, heard: &Heard) -> Option<String> {
        if self.turns >= TURNS_MAX || (self.is_given)() {
            return None;
        }
        let fault =
            heard.with(|heard| if heard.has_ended_well() { self.fault(heard) } else { None })?;
        self.turns += 1;
        heard.with(HeardSoFar::mending_turn);
        let form = match (&self.judge, &self.shape) {
            (Some(_), _) => ", as it was asked for.".to_owned(),
            (None, Some(shape)) => shaped(shape),
            (None, None) => REPORT_FORM.to_owned(),
        };
        Some(format!(
            "Your answer cannot be used: {fault}. Answer with one JSON object and nothing else{form}"
        ))
    }

    fn fault(&self, heard: &HeardSoFar) -> Option<String> {
        let Some(judge) = &self.judge else {
            return match report(heard) {
                Ok(read) => read.fault.or_else(|| self.misfit(&read.report)),
                Err(fault) => Some(fault),
            };
        };
        let object = last_object(heard.answer_text());
        if let Some(fault) = secrets::fault_of(&object) {
            return Some(fault);
        }
        match object.trim_start().starts_with('{') {
            true => judge(&object),
            false => Some("it holds no JSON object".to_owned()),
        }
    }

    fn misfit(&self, report: &AgentReport) -> Option<String> {
        let shape = self.shape.as_ref().filter(|_| !report.has_failed)?;
        let misfits = shape.misfits_of(Some(report));
        (!misfits.is_empty()).then(|| Misfit::reason(&misfits))
    }
}

const REPORT_FORM: &str = ": {\"success\": true, \"summary\": \"what was done\", \"value\": null, \
                           \"artifacts\": [], \"clarity\": \"CLEAR\", \"handoff\": null}";

/// The form with a place for the value, and the schema that it fits.
fn shaped(shape: &Shape) -> String {
    let form = REPORT_FORM.replace("\"value\": null", "\"value\": VALUE");
    match shape.text(SCHEMA_BYTES_MAX) {
        Some(schema) => format!("{form}\nVALUE fits this JSON Schema: {schema}"),
        None => format!("{form}\nVALUE fits the JSON Schema of the task."),
    }
}

/// The report of an agent that ended its turn.
pub(super) fn report(heard: &HeardSoFar) -> Reading<ResultFile> {
    read(heard.answer_text())
}

/// How long an answer may take, with its repairs.
pub const ANSWER_MAX: Duration = Duration::from_secs(5 * 60);
/// The same of the wording of a final answer: somebody waits for the run.
pub const WORDING_MAX: Duration = Duration::from_secs(30);
/// Bytes at most of an answer.
pub const ANSWER_BYTES_MAX: usize = 64 << 10;
/// The slot of a question that is no attempt of an atom: no attempt has it.
pub const QUESTION_SLOT: usize = usize::MAX;
/// The exit code of a command that asks to be tried again.
const TRY_AGAIN: i32 = 75;

/// The form of an answer: one JSON object.
#[derive(Clone)]
pub struct QuestionForm {
    pub duty: Duty,
    /// The JSON Schema of the object.
    pub schema: String,
    /// Says how an object is wrong, in words that its author can mend it by.
    pub fault: ObjectJudge,
}

impl QuestionForm {
    /// The form of an object that can be used if `read` takes it.
    pub fn new<T>(
        duty: impl Into<Duty>,
        schema: impl Into<String>,
        read: impl Fn(&Node) -> Result<T, String> + Send + Sync + 'static,
    ) -> Self {
        let fault = move |text: &str| object(text).and_then(|node| read(&node)).err();
        Self { duty: duty.into(), schema: schema.into(), fault: Arc::new(fault) }
    }
}

/// A text that is one JSON object.
///
/// # Errors
/// If it is something else; in words for its author.
pub fn object(text: &str) -> Result<Node, String> {
    if text.len() > ANSWER_BYTES_MAX {
        let most = ANSWER_BYTES_MAX >> 10;
        return Err(format!("it has more than {most} KiB"));
    }
    answer_forms::object(text)
}

/// The answer in the outcome of a question, not judged yet.
pub fn answer_of(outcome: &Outcome) -> ConsultAnswer {
    match &outcome.agent_end {
        Some(AgentEnd::Done) | None => {}
        Some(end @ AgentEnd::Unavailable { .. }) => return ConsultAnswer::Ended(end.clone()),
        Some(end) if end.is_of_provider() => return ConsultAnswer::Ended(end.clone()),
        Some(end) => return ConsultAnswer::Silent(end.text()),
    }
    let last = outcome.last_line.as_deref().unwrap_or_default();
    let with_last = |what: &str| match last.trim() {
        "" => what.to_owned(),
        last => format!("{what}: {last}"),
    };
    match &outcome.how {
        CommandEnd::Exit(0) => {}
        CommandEnd::Exit(TRY_AGAIN) => {
            return ConsultAnswer::Silent(with_last("it asks to be tried again"));
        }
        how => return ConsultAnswer::Silent(with_last(&how.text())),
    }
    if let Some(fault) = &outcome.report_fault {
        return ConsultAnswer::Faulty(fault.clone());
    }
    match object(outcome.stdout.as_deref().unwrap_or_default()) {
        Ok(object) => ConsultAnswer::Value(object),
        Err(_) => ConsultAnswer::Faulty("its answer holds no JSON object".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(text: &str) -> String {
        read(text).unwrap().report.summary
    }

    #[test]
    fn an_answer_is_found_in_prose_fences_and_thoughts() {
        for text in [
            r#"{"success": true, "summary": "done"}"#,
            "\u{feff}{\"success\": true, \"summary\": \"done\"}",
            "Here it is:\n```json\n{\"success\": true, \"summary\": \"done\"}\n```\nBye {you}!",
            "<think>{\"success\": true, \"summary\": \"a draft\"}</think>{\"success\": true, \"summary\": \"done\"}",
            "I think.</think>{\"success\": true, \"summary\": \"done\"}",
            "a brace { and {\"success\": true, \"summary\": \"done\"}",
        ] {
            assert_eq!(summary(text), "done", "{text}");
        }
    }

    #[test]
    fn a_failure_and_a_task_that_cannot_be_done_need_no_summary() {
        let failed = read(r#"{"success": "no"}"#).unwrap().report;
        assert!(failed.has_failed);
        let blocked = read(r#"{"clarity": "blocked"}"#).unwrap().report;
        assert_eq!(blocked.clarity, descent_core::event::Clarity::Blocked);
    }

    #[test]
    fn of_two_answers_the_last_counts_and_strings_may_hold_braces() {
        let two = r#"{"success": true, "summary": "one"} {"success": true, "summary": "two } {"}"#;
        assert_eq!(summary(two), "two } {");
    }

    #[test]
    fn an_object_that_is_no_answer_is_passed_over_and_none_is_told() {
        let text = r#"{"success": true, "summary": "done"} like {"a": 1}"#;
        assert_eq!(summary(text), "done");
        assert_eq!(read("all done!").unwrap_err(), "it holds no JSON object");
        let read = |text: &str| self::read(text);
        let fault = read(r#"{"success": "maybe", "summary": "x"}"#).unwrap().fault;
        assert_eq!(fault.unwrap(), "`success` is a string, not true or false");
        assert_eq!(read(r#"{"value": 1}"#).unwrap_err(), "it has no `summary`");
        assert!(read(&"{".repeat(300_000)).is_err());
    }
}
