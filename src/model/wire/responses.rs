//! OpenAI Responses. Nothing is stored at the server: each request holds the whole talk.

use serde_json::{Value, json};

use super::{AnswerSoFar, BodyForm, chat::SCHEMA_NAME, count_at, list_at, text_at};
use crate::{
    config::provider::Provider,
    model::{AnswerStop, ModelQuestion},
};

pub(super) fn body(provider: &Provider, question: &ModelQuestion, form: BodyForm) -> Value {
    let mut body = json!({
        "model": provider.model,
        "input": question.said(),
        "stream": true,
        "store": false,
    });
    let system = question.instructions(form);
    if !system.is_empty() {
        body["instructions"] = json!(system);
    }
    match &question.schema {
        Some(schema) if form.is_held => {
            body["text"] = json!({ "format": {
                "type": "json_schema", "name": SCHEMA_NAME, "schema": schema, "strict": false,
            } });
        }
        None if form.is_held => body["text"] = json!({ "format": { "type": "json_object" } }),
        Some(_) | None => {}
    }
    if let Some(most) = provider.max_answer {
        body["max_output_tokens"] = json!(most);
    }
    if let Some(effort) = &provider.effort {
        body["reasoning"] = json!({ "effort": effort });
    }
    body
}

pub(super) fn event(event: &Value, so_far: &mut AnswerSoFar<'_>) {
    match text_at(event, "/type") {
        "response.output_text.delta" => so_far.add(text_at(event, "/delta")),
        "response.refusal.delta" => so_far.refusal.push_str(text_at(event, "/delta")),
        // Some servers send whole items alone.
        "response.output_item.done" if !so_far.has_parts => {
            let text = item(&event["item"], so_far);
            so_far.text.push_str(&text);
        }
        "response.completed" | "response.incomplete" => {
            if let Some(response) = event.get("response") {
                whole(response, so_far);
            }
        }
        _ => {}
    }
}

pub(super) fn whole(response: &Value, so_far: &mut AnswerSoFar<'_>) {
    let mut text = String::new();
    for one in list_at(response, "/output") {
        text.push_str(&item(one, so_far));
    }
    if !text.is_empty() {
        so_far.text = text;
    }
    if let Some(usage) = response.get("usage").filter(|usage| usage.is_object()) {
        let cached = count_at(usage, "/input_tokens_details/cached_tokens");
        let tokens = so_far.tokens();
        tokens.input = count_at(usage, "/input_tokens").saturating_sub(cached);
        tokens.cached = cached;
        tokens.output = count_at(usage, "/output_tokens");
    }
    let reason = text_at(response, "/incomplete_details/reason");
    so_far.stop = match (text_at(response, "/status"), reason) {
        ("incomplete", "content_filter") => Some(AnswerStop::Refused(String::new())),
        ("incomplete", _) => Some(AnswerStop::Length),
        _ => Some(AnswerStop::Done),
    };
    so_far.is_over = true;
}

/// The text of a message; a refusal is noted apart.
fn item(item: &Value, so_far: &mut AnswerSoFar<'_>) -> String {
    let mut text = String::new();
    for part in list_at(item, "/content") {
        match text_at(part, "/type") {
            "output_text" => text.push_str(text_at(part, "/text")),
            "refusal" => so_far.refusal = text_at(part, "/refusal").to_owned(),
            _ => {}
        }
    }
    text
}
