//! The answer of an agent: the last JSON object in what it said that reads as a report.
//!
//! Invariant: reading is bounded, whatever the text holds. An object is taken whole or not at all.

use super::{
    report::{self, ResultFile},
    usage::Reading,
};

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
    let fault = fault.unwrap_or_else(|| "it holds no JSON object".to_owned());
    report::says_no(&text, fault)
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
    fn an_answer_that_says_no_is_heard_in_any_form() {
        for text in [
            "{\"success\": false, \"summary\": \"not\ndone\"}",
            "{\"success\": false, \"summary\": \"not done\",}",
            "{'success': False, 'summary': 'not done'}",
            "{success: no}",
            "{\"success\": \"no\", \"success\": false}",
            "so: {\"success\": false, \"summary\": \"not do",
        ] {
            let answer = read(text).unwrap();
            assert!(answer.report.has_failed && answer.fault.is_some(), "{text}");
        }
        let blocked = read("{\"clarity\": \"BLOCKED\", \"summary\": \"which\nname?\"}").unwrap();
        assert_eq!(blocked.report.clarity, descent_core::event::Clarity::Blocked);
        assert_eq!(blocked.report.summary, "which\nname?");
        for prose in [
            "\"success\": false is what I looked for",
            "I made the server answer { success: false } on errors.",
        ] {
            assert!(read(prose).is_err(), "{prose}");
        }
        assert!(read("{\"success\": true, \"summary\": \"a\nb\"}").is_err());
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
