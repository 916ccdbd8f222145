//! Anthropic Messages.

use serde_json::{Map, Value, json};

use super::{AnswerSoFar, BodyForm, count_at, list_at, text_at};
use crate::{
    config::provider::Provider,
    model::{AnswerStop, ModelQuestion},
};

pub(super) fn body(provider: &Provider, question: &ModelQuestion, form: BodyForm) -> Value {
    let mut body = json!({
        "model": provider.model,
        "max_tokens": provider.max_answer.unwrap_or(question.max_answer),
        "messages": question.said(),
        "stream": true,
    });
    let system = question.instructions(form);
    if !system.is_empty() {
        body["system"] = json!(system);
    }
    let mut output = Map::new();
    if let Some(schema) = question.schema.as_ref().filter(|_| form.is_held) {
        output.insert("format".to_owned(), json!({ "type": "json_schema", "schema": schema }));
    }
    if let Some(effort) = &provider.effort {
        output.insert("effort".to_owned(), json!(effort));
    }
    if !output.is_empty() {
        body["output_config"] = Value::Object(output);
    }
    body
}

pub(super) fn event(event: &Value, so_far: &mut AnswerSoFar<'_>) {
    match text_at(event, "/type") {
        "message_start" => usage(event, "/message/usage", so_far),
        "content_block_start" => so_far.add(text_at(event, "/content_block/text")),
        "content_block_delta" if text_at(event, "/delta/type") == "text_delta" => {
            so_far.add(text_at(event, "/delta/text"));
        }
        "message_delta" => {
            usage(event, "/usage", so_far);
            stop(text_at(event, "/delta/stop_reason"), so_far);
        }
        "message_stop" => so_far.is_over = true,
        _ => {}
    }
}

pub(super) fn whole(body: &Value, so_far: &mut AnswerSoFar<'_>) {
    usage(body, "/usage", so_far);
    for block in list_at(body, "/content") {
        if text_at(block, "/type") == "text" {
            so_far.add(text_at(block, "/text"));
        }
    }
    stop(text_at(body, "/stop_reason"), so_far);
    so_far.is_over = true;
}

/// A later event tells the sum so far, and may leave out what it does not change.
fn usage(event: &Value, at: &str, so_far: &mut AnswerSoFar<'_>) {
    let Some(usage) = event.pointer(at).filter(|usage| usage.is_object()) else {
        return;
    };
    let written = count_at(usage, "/cache_creation_input_tokens");
    let tokens = so_far.tokens();
    tokens.input = tokens.input.max(count_at(usage, "/input_tokens"));
    tokens.cached = tokens.cached.max(count_at(usage, "/cache_read_input_tokens"));
    tokens.cache_written = tokens.cache_written.max(written);
    tokens.output = tokens.output.max(count_at(usage, "/output_tokens"));
}

fn stop(reason: &str, so_far: &mut AnswerSoFar<'_>) {
    so_far.stop = match reason {
        "" => return,
        "max_tokens" | "model_context_window_exceeded" => Some(AnswerStop::Length),
        "refusal" => Some(AnswerStop::Refused(String::new())),
        _ => Some(AnswerStop::Done),
    };
}
