//! OpenAI Chat Completions, as OpenAI and as local servers speak it.

use serde_json::{Value, json};

use super::{AnswerSoFar, BodyForm, count_at, text_at};
use crate::{
    config::provider::Provider,
    model::{AnswerStop, ModelQuestion},
};

/// The name that the wire wants for a schema.
pub(super) const SCHEMA_NAME: &str = "answer";

pub(super) fn body(provider: &Provider, question: &ModelQuestion, form: BodyForm) -> Value {
    let mut messages = Vec::new();
    let system = question.instructions(form);
    if !system.is_empty() {
        messages.push(json!({ "role": "system", "content": system }));
    }
    messages.extend(question.said());
    let mut body = json!({
        "model": provider.model,
        "messages": messages,
        "stream": true,
        "stream_options": { "include_usage": true },
    });
    match &question.schema {
        Some(schema) if form.is_held => {
            let named = json!({ "name": SCHEMA_NAME, "schema": schema, "strict": false });
            body["response_format"] = json!({ "type": "json_schema", "json_schema": named });
            if form.is_llama {
                body["response_format"]["schema"] = schema.clone();
            }
        }
        None if form.is_held => body["response_format"] = json!({ "type": "json_object" }),
        Some(_) | None => {}
    }
    if let Some(most) = provider.max_answer {
        // OpenAI's own models take the newer name alone, and local servers the older one.
        let key = if provider.is_vendor() { "max_completion_tokens" } else { "max_tokens" };
        body[key] = json!(most);
    }
    if let Some(effort) = &provider.effort {
        body["reasoning_effort"] = json!(effort);
    }
    body
}

pub(super) fn event(event: &Value, so_far: &mut AnswerSoFar<'_>) {
    choice(event, "/choices/0/delta", so_far);
}

pub(super) fn whole(body: &Value, so_far: &mut AnswerSoFar<'_>) {
    choice(body, "/choices/0/message", so_far);
    so_far.is_over = true;
}

fn choice(event: &Value, at: &str, so_far: &mut AnswerSoFar<'_>) {
    so_far.add(text_at(event, &format!("{at}/content")));
    let refusal = text_at(event, &format!("{at}/refusal"));
    so_far.refusal.push_str(refusal);
    match text_at(event, "/choices/0/finish_reason") {
        "" => {}
        "length" => so_far.stop = Some(AnswerStop::Length),
        "content_filter" => so_far.stop = Some(AnswerStop::Refused(String::new())),
        _ => so_far.stop = Some(AnswerStop::Done),
    }
    let Some(usage) = event.get("usage").filter(|usage| usage.is_object()) else {
        return;
    };
    let cached = count_at(usage, "/prompt_tokens_details/cached_tokens");
    let tokens = so_far.tokens();
    tokens.input = count_at(usage, "/prompt_tokens").saturating_sub(cached);
    tokens.cached = cached;
    tokens.output = count_at(usage, "/completion_tokens");
}
