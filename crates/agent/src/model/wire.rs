//! The three wires: the body of a request, and an answer or a fault from the events of a stream.
//!
//! Invariant: anything in an answer that is not known is passed over, and its text is bounded.

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

use super::{
    AnswerStop, ModelAnswer, ModelQuestion, Speaker, TEXT_BYTES_MAX, TokenCounts,
    key::{ProviderKey, ServerTexts},
};
use crate::config::provider::{Provider, Wire};

/// Bytes of a schema that is told in words at most.
const SCHEMA_BYTES_MAX: usize = 16 << 10;
const ONE_OBJECT: &str = "Answer with one JSON object and nothing else.";
const BYTES_A_TOKEN: usize = 4;
/// The end of a stream of Chat Completions.
const DONE: &str = "[DONE]";

/// The name that two wires want for a schema.
const SCHEMA_NAME: &str = "answer";

/// An answer while it comes.
#[derive(Debug, Default)]
pub(super) struct AnswerSoFar<'a> {
    texts: ServerTexts<'a>,
    text: String,
    pub(super) tokens: Option<TokenCounts>,
    stop: Option<AnswerStop>,
    /// The words of a refusal.
    refusal: String,
    /// The server said that nothing follows.
    pub(super) is_over: bool,
}

/// Why an event was not taken in, or what came is no answer.
#[derive(Debug)]
pub(super) enum AnswerFault {
    Server(ServerFault),
    Foreign,
    TooLong,
    /// The server did not say why it ended.
    Cut,
    /// It holds the secret of that name.
    Holds(String),
}

impl<'a> AnswerSoFar<'a> {
    pub(super) fn new(texts: ServerTexts<'a>) -> Self {
        Self { texts, ..Self::default() }
    }

    pub(super) fn whole(self, question: &ModelQuestion) -> Result<ModelAnswer, AnswerFault> {
        let stop = match self.stop.ok_or(AnswerFault::Cut)? {
            _ if !self.refusal.is_empty() => AnswerStop::Refused(self.texts.words(&self.refusal)),
            stop => stop,
        };
        let told = self.tokens.filter(|told| told.input + told.output > 0);
        let tokens = told.unwrap_or_else(|| TokenCounts {
            input: estimated(question.bytes()),
            output: estimated(self.text.len()),
            is_estimated: true,
            ..TokenCounts::default()
        });
        let text = self.texts.answer(self.text).map_err(AnswerFault::Holds)?;
        Ok(ModelAnswer { text, tokens, stop })
    }
}

/// A fault that a server tells: in the body of a status, or in an event after a good one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ServerFault {
    /// The types and codes that the vendor gives it, in small letters.
    pub(super) kind: String,
    pub(super) words: String,
}

/// Kinds, with the status that each stands for.
const STATUS_OF_KIND: [(&str, u16); 13] = [
    ("overloaded", 529),
    ("insufficient_quota", 402),
    ("enforced_spend_limit", 402),
    ("billing", 402),
    ("rate_limit", 429),
    ("authentication", 401),
    ("invalid_api_key", 401),
    ("permission", 403),
    ("model_not_found", 404),
    ("not_found", 404),
    ("request_too_large", 413),
    ("invalid_request", 400),
    ("context_length_exceeded", 400),
];

impl ServerFault {
    /// The fault in an event, if it tells one.
    fn in_event(event: &Value, texts: ServerTexts<'_>) -> Option<Self> {
        let error = event.get("error").filter(|error| !error.is_null());
        let is_error = matches!(text_at(event, "/type"), "error" | "response.failed");
        (error.is_some() || is_error).then(|| Self::of_value(event, texts))
    }

    /// The fault in the body of a status that is no good one.
    pub(super) fn of_body(body: &str, texts: ServerTexts<'_>) -> Self {
        match serde_json::from_str::<Value>(body) {
            Ok(value) => Self::of_value(&value, texts),
            Err(_) => Self { kind: String::new(), words: texts.words(body) },
        }
    }

    fn of_value(value: &Value, texts: ServerTexts<'_>) -> Self {
        let places = ["/error", "/response/error", ""];
        let found = places.into_iter().find_map(|at| value.pointer(at).filter(|at| !at.is_null()));
        let error = found.unwrap_or(value);
        let words = match (error.as_str(), text_at(error, "/message")) {
            (Some(words), _) => words.to_owned(),
            (None, "") => text_at(value, "/detail").to_owned(),
            (None, words) => words.to_owned(),
        };
        let kinds = ["/details/error_code", "/code", "/type"].map(|at| match error.pointer(at) {
            Some(Value::Number(status)) => status.to_string(),
            _ => text_at(error, at).to_owned(),
        });
        let kinds: Vec<String> = kinds.into_iter().filter(|kind| !kind.is_empty()).collect();
        Self { kind: kinds.join(" ").to_lowercase(), words: texts.words(&words) }
    }

    /// The status that it names or stands for, where it came after a good one.
    pub(super) fn status(&self) -> Option<u16> {
        let known = STATUS_OF_KIND.iter().find(|(kind, _)| self.kind.contains(kind));
        let named = || self.kind.split(' ').find_map(|word| word.parse().ok());
        known.map(|(_, status)| *status).or_else(named).filter(|status| (400..600).contains(status))
    }

    /// Whether its kind or its words hold one of these, with `|` between them.
    pub(super) fn says(&self, any: &str) -> bool {
        any.split('|').any(|part| self.holds(part))
    }

    pub(super) fn holds(&self, part: &str) -> bool {
        self.kind.contains(part) || self.words.to_lowercase().contains(part)
    }
}

pub(super) fn estimated(bytes: usize) -> u64 {
    u64::try_from(bytes.div_ceil(BYTES_A_TOKEN)).unwrap_or(u64::MAX)
}

impl ModelQuestion {
    /// Bytes of all its texts.
    pub(super) fn bytes(&self) -> usize {
        let turns = self.turns.iter().map(|turn| turn.text.len());
        let schema = self.schema.as_ref().map_or(0, |schema| schema.to_string().len());
        self.system.len() + schema + turns.sum::<usize>()
    }

    /// The instructions, with the form of the answer where the server does not hold the answer to it.
    fn instructions(&self, is_held: bool) -> String {
        let mut text = self.system.clone();
        if is_held && self.schema.is_some() {
            return text;
        }
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(ONE_OBJECT);
        let schema = self.schema.as_ref().map(Value::to_string);
        if let Some(schema) = schema.filter(|schema| schema.len() <= SCHEMA_BYTES_MAX) {
            text.push_str(" It fits this JSON Schema: ");
            text.push_str(&schema);
        }
        text
    }

    /// The turns as objects of `role` and `content`.
    fn said(&self) -> Vec<Value> {
        let turns = self.turns.iter().map(|turn| {
            let role = match turn.by {
                Speaker::User => "user",
                Speaker::Model => "assistant",
            };
            json!({ "role": role, "content": turn.text })
        });
        turns.collect()
    }
}

impl Wire {
    /// The address that questions go to.
    pub(super) fn address(self, base_url: &str) -> String {
        match self {
            Self::Messages if base_url.ends_with("/v1") => format!("{base_url}/messages"),
            Self::Messages => format!("{base_url}/v1/messages"),
            Self::Chat => format!("{base_url}/chat/completions"),
            Self::Responses => format!("{base_url}/responses"),
        }
    }

    pub(super) fn headers(self, key: Option<&ProviderKey>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let (name, before) = match self {
            Self::Messages => ("x-api-key", ""),
            Self::Chat | Self::Responses => ("authorization", "Bearer "),
        };
        if self == Self::Messages {
            let version = HeaderValue::from_static("2023-06-01");
            headers.insert(HeaderName::from_static("anthropic-version"), version);
        }
        if let Some(value) = key.and_then(|key| key.header(before)) {
            headers.insert(HeaderName::from_static(name), value);
        }
        headers
    }

    /// The body of a request: a pure function of its arguments. `is_held`: the server holds the answer to the schema of
    /// the question, else to one JSON object.
    pub(super) fn body(
        self,
        provider: &Provider,
        question: &ModelQuestion,
        is_held: bool,
    ) -> Value {
        let mut turns = question.said();
        let system = Some(question.instructions(is_held)).filter(|text| !text.is_empty());
        let most = provider.max_answer.map(|most| json!(most));
        let effort = provider.effort.as_ref().map(|effort| json!(effort));
        let schema = question.schema.as_ref().filter(|_| is_held);
        let named = || json!({ "name": SCHEMA_NAME, "schema": schema, "strict": false });
        let object = is_held.then(|| json!({ "type": "json_object" }));
        let settings = match self {
            Self::Messages => vec![
                ("system", system.map(Value::String)),
                ("messages", Some(json!(turns))),
                ("max_tokens", most.or_else(|| Some(json!(question.max_answer)))),
                ("output_config/format/type", schema.map(|_| json!("json_schema"))),
                ("output_config/format/schema", schema.cloned()),
                ("output_config/effort", effort),
            ],
            Self::Chat => {
                turns.splice(0..0, system.map(|text| json!({ "role": "system", "content": text })));
                let held = schema.map(|_| json!({ "type": "json_schema", "json_schema": named() }));
                // OpenAI's own models take the newer name alone, and local servers the older one.
                let max_answer =
                    if provider.is_vendor() { "max_completion_tokens" } else { "max_tokens" };
                vec![
                    ("messages", Some(json!(turns))),
                    ("stream_options/include_usage", Some(json!(true))),
                    ("response_format", held.or(object)),
                    (max_answer, most),
                    ("reasoning_effort", effort),
                ]
            }
            // Nothing is stored at the server: each request holds the whole talk.
            Self::Responses => vec![
                ("instructions", system.map(Value::String)),
                ("input", Some(json!(turns))),
                ("store", Some(json!(false))),
                ("text/format", schema.map(|_| named()).or(object)),
                ("text/format/type", schema.map(|_| json!("json_schema"))),
                ("max_output_tokens", most),
                ("reasoning/effort", effort),
            ],
        };
        let mut body = json!({ "model": provider.model, "stream": true });
        for (at, value) in settings {
            if let Some(value) = value {
                *at.split('/').fold(&mut body, |within, key| &mut within[key]) = value;
            }
        }
        body
    }

    /// Takes in the data of one event.
    pub(super) fn event(self, data: &str, so_far: &mut AnswerSoFar<'_>) -> Result<(), AnswerFault> {
        if data.trim() == DONE {
            so_far.is_over = true;
            return Ok(());
        }
        let event: Value = serde_json::from_str(data).map_err(|_| AnswerFault::Foreign)?;
        if !event.is_object() {
            return Ok(());
        }
        if let Some(fault) = ServerFault::in_event(&event, so_far.texts) {
            return Err(AnswerFault::Server(fault));
        }
        let (text, refusal, reason) = match (self, text_at(&event, "/type")) {
            (Self::Messages, "content_block_start") => ("/content_block/text", "", ""),
            (Self::Messages, "content_block_delta") => ("/delta/text", "", ""),
            (Self::Messages, "message_delta") => ("", "", "/delta/stop_reason"),
            (Self::Chat, _) => {
                ("/choices/0/delta/content", "/choices/0/delta/refusal", "/choices/0/finish_reason")
            }
            (Self::Responses, "response.output_text.delta") => ("/delta", "", ""),
            (Self::Responses, "response.refusal.delta") => ("", "/delta", ""),
            _ => ("", "", ""),
        };
        so_far.text.push_str(text_at(&event, text));
        so_far.refusal.push_str(text_at(&event, refusal));
        so_far.stopped(text_at(&event, reason));
        match text_at(&event, "/type") {
            "message_stop" => so_far.is_over = true,
            // Some servers send whole items alone.
            "response.output_item.done" if so_far.text.is_empty() => so_far.item(&event["item"]),
            "response.completed" | "response.incomplete" => so_far.response(&event["response"]),
            _ => {}
        }
        let places = ["/usage", "/message/usage", "/response/usage"];
        let usage = places.into_iter().find_map(|at| event.pointer(at));
        if let Some(usage) = usage.filter(|usage| usage.is_object()) {
            self.count(usage, so_far);
        }
        if so_far.text.len() + so_far.refusal.len() > TEXT_BYTES_MAX {
            Err(AnswerFault::TooLong)
        } else {
            Ok(())
        }
    }

    /// A later event tells the sum so far, and may leave out what it does not change.
    fn count(self, usage: &Value, so_far: &mut AnswerSoFar<'_>) {
        let [input, cached, written, output] = match self {
            Self::Messages => [
                "/input_tokens",
                "/cache_read_input_tokens",
                "/cache_creation_input_tokens",
                "/output_tokens",
            ],
            Self::Chat => {
                ["/prompt_tokens", "/prompt_tokens_details/cached_tokens", "", "/completion_tokens"]
            }
            Self::Responses => {
                ["/input_tokens", "/input_tokens_details/cached_tokens", "", "/output_tokens"]
            }
        }
        .map(|at| count_at(usage, at));
        // OpenAI counts what came from the cache among what was read.
        let input = if self == Self::Messages { input } else { input.saturating_sub(cached) };
        let known = so_far.tokens.get_or_insert_default();
        known.input = known.input.max(input);
        known.cached = known.cached.max(cached);
        known.cache_written = known.cache_written.max(written);
        known.output = known.output.max(output);
    }
}

impl AnswerSoFar<'_> {
    fn stopped(&mut self, reason: &str) {
        self.stop = match reason {
            "" => return,
            "length" | "max_tokens" | "max_output_tokens" | "model_context_window_exceeded" => {
                Some(AnswerStop::Length)
            }
            "refusal" | "content_filter" => Some(AnswerStop::Refused(String::new())),
            _ => Some(AnswerStop::Done),
        };
    }

    /// The end of an answer of Responses, with all its text.
    fn response(&mut self, response: &Value) {
        let parts = std::mem::take(&mut self.text);
        list_at(response, "/output").for_each(|item| self.item(item));
        if self.text.is_empty() {
            self.text = parts;
        }
        self.stopped(match text_at(response, "/incomplete_details/reason") {
            "" if text_at(response, "/status") == "incomplete" => "length",
            "" => "stop",
            reason => reason,
        });
        self.is_over = true;
    }

    /// The text of a message; a refusal is noted apart.
    fn item(&mut self, item: &Value) {
        for part in list_at(item, "/content") {
            match text_at(part, "/type") {
                "output_text" => self.text.push_str(text_at(part, "/text")),
                "refusal" => self.refusal = text_at(part, "/refusal").to_owned(),
                _ => {}
            }
        }
    }
}

fn text_at<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn count_at(value: &Value, pointer: &str) -> u64 {
    let found = value.pointer(pointer).and_then(Value::as_u64);
    // More than any account holds is a mistake of the server.
    found.unwrap_or_default().min(1 << 50)
}

fn list_at<'v>(value: &'v Value, pointer: &str) -> impl Iterator<Item = &'v Value> {
    value.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}
