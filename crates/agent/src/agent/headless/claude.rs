//! The events of `claude -p --output-format stream-json --input-format stream-json`.
//!
//! Facts: `is_error` of a result counts before its `subtype`, which is `success` for a server that
//! gave up too. The answer to a schema is in `structured_output`. A plan's limit is told in an event
//! of its own, before the result.

use descent_core::{event::AgentEnd, id::UnixMillis, state::Tokens};
use serde_json::{Value, json};

use super::{EventDialect, LineMeaning, count, event, text};
use crate::agent::{
    heard::{Heard, HeardSoFar},
    trouble,
};

#[derive(Debug, Default)]
pub(in crate::agent) struct ClaudeStreamJson {
    /// The end of the limit that a request ran into, in seconds since 1970.
    resets_at: Option<u64>,
}

impl EventDialect for ClaudeStreamJson {
    fn prompt(&self, words: &str) -> Vec<u8> {
        message(&json!({
            "type": "user",
            "message": {"role": "user", "content": [{"type": "text", "text": words}]},
        }))
    }

    fn takes_more(&self) -> bool {
        true
    }

    fn interrupt(&self) -> Option<Vec<u8>> {
        Some(message(&json!({
            "type": "control_request",
            "request_id": "end",
            "request": {"subtype": "interrupt"},
        })))
    }

    fn line(&mut self, line: &str, heard: &Heard) -> LineMeaning {
        let Some(event) = event(line) else { return LineMeaning::Foreign };
        heard.with(|heard| {
            heard.session(text(&event, "/session_id"));
            match text(&event, "/type") {
                "assistant" => assistant(&event, heard),
                "user" => tool_results(&event, heard),
                // It would retry a wrong key for minutes.
                "system"
                    if text(&event, "/subtype") == "api_retry"
                        && HOPELESS.contains(&text(&event, "/error")) =>
                {
                    let status = event.get("error_status").and_then(Value::as_u64);
                    heard.end = Some(trouble::of_error(status, text(&event, "/error")));
                    return LineMeaning::Turn;
                }
                "rate_limit_event" => self.resets_at = reset_time(&event),
                "result" => {
                    result(&event, self.resets_at, heard);
                    return LineMeaning::Turn;
                }
                _ => {}
            }
            LineMeaning::Goes
        })
    }
}

const HOPELESS: [&str; 2] = ["authentication_failed", "billing_error"];

fn message(message: &Value) -> Vec<u8> {
    (message.to_string() + "\n").into_bytes()
}

fn blocks(event: &Value) -> impl Iterator<Item = &Value> {
    event.pointer("/message/content").and_then(Value::as_array).into_iter().flatten()
}

fn assistant(event: &Value, heard: &mut HeardSoFar) {
    // A message of its own, such as an error, is no call of a model.
    if text(event, "/message/model") != "<synthetic>" {
        let (id, tokens) = (text(event, "/message/id"), tokens(event, "/message/usage"));
        heard.model_message(id, tokens, false);
    }
    for block in blocks(event) {
        match text(block, "/type") {
            "text" => heard.message(text(block, "/text")),
            "tool_use" => {
                let input = block.get("input").unwrap_or(&Value::Null);
                heard.tool(text(block, "/id"), text(block, "/name"), &target(input));
            }
            _ => {}
        }
    }
}

/// The one argument of a tool call that says what it is about.
fn target(input: &Value) -> String {
    const TELLING: [&str; 7] =
        ["command", "file_path", "path", "pattern", "url", "query", "prompt"];
    let told = TELLING.iter().find_map(|key| input.get(key)?.as_str());
    told.map_or_else(|| input.to_string(), str::to_owned)
}

fn tool_results(event: &Value, heard: &mut HeardSoFar) {
    for block in blocks(event) {
        if text(block, "/type") == "tool_result" {
            let has_failed = block.get("is_error").and_then(Value::as_bool) == Some(true);
            heard.tool_ended(text(block, "/tool_use_id"), has_failed);
        }
    }
}

/// A limit that is told while requests go through is none.
fn reset_time(event: &Value) -> Option<u64> {
    let info = event.get("rate_limit_info")?;
    let is_reached = text(info, "/status") == "rejected";
    info.get("resetsAt").filter(|_| is_reached)?.as_u64()
}

fn result(event: &Value, resets_at: Option<u64>, heard: &mut HeardSoFar) {
    heard.no_tool_is_open();
    // Tokens are of this turn alone; money is of all turns of the process.
    heard.add_tokens(tokens(event, "/usage"));
    if let Some(cost) = event.get("total_cost_usd").and_then(Value::as_f64) {
        heard.cost(cost);
    }
    if let Some(answer) = event.get("structured_output").filter(|answer| answer.is_object()) {
        heard.structured = Some(answer.to_string());
    }
    let words = text(event, "/result");
    let is_error = event.get("is_error").and_then(Value::as_bool);
    // A program of this dialect may tell its answer here alone.
    if heard.message.is_empty() && !words.is_empty() && is_error != Some(true) {
        heard.message(words);
    }
    let end = match text(event, "/subtype") {
        "error_max_turns" => AgentEnd::OutOfTurns("it used all its turns".into()),
        "error_max_budget_usd" => AgentEnd::OutOfTurns("it used all its own budget".into()),
        // The answer is asked for again.
        "error_max_structured_output_retries" => AgentEnd::Done,
        _ if text(event, "/stop_reason") == "refusal" => AgentEnd::Refused(words.into()),
        _ if is_error == Some(true) => {
            let status = event.get("api_error_status").and_then(Value::as_u64);
            match trouble::of_error(status, &error_words(event, words)) {
                // The words tell it to the minute alone.
                AgentEnd::Limited { until } => AgentEnd::Limited {
                    until: resets_at
                        .map(|seconds| UnixMillis(seconds.saturating_mul(1000)))
                        .or(until),
                },
                end => end,
            }
        }
        _ => AgentEnd::Done,
    };
    heard.end = Some(end);
}

fn tokens(event: &Value, pointer: &str) -> Tokens {
    let usage = event.pointer(pointer).unwrap_or(&Value::Null);
    let written = count(usage, "/cache_creation_input_tokens");
    Tokens::new(
        count(usage, "/input_tokens").saturating_add(written),
        count(usage, "/output_tokens"),
        count(usage, "/cache_read_input_tokens"),
    )
}

fn error_words(event: &Value, words: &str) -> String {
    if !words.is_empty() {
        return words.to_owned();
    }
    let errors = event.get("errors").and_then(Value::as_array);
    let errors = errors.into_iter().flatten().filter_map(Value::as_str);
    let errors: Vec<&str> = errors.collect();
    if errors.is_empty() { text(event, "/subtype").to_owned() } else { errors.join("; ") }
}
