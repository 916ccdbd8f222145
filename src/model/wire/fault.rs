//! A fault that a server tells: in the body of a status, or in an event after a good one.

use serde_json::Value;

use super::text_at;
use crate::model::told::ServerTexts;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::model) struct ServerFault {
    /// The type or code that the vendor gives it, in small letters.
    pub(in crate::model) kind: String,
    pub(in crate::model) words: String,
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
    pub(super) fn in_event(event: &Value, texts: ServerTexts<'_>) -> Option<Self> {
        let error = event.get("error").filter(|error| !error.is_null());
        let is_error = matches!(text_at(event, "/type"), "error" | "response.failed");
        (error.is_some() || is_error).then(|| Self::of_value(event, texts))
    }

    /// The fault in the body of a status that is no good one.
    pub(in crate::model) fn of_body(body: &str, texts: ServerTexts<'_>) -> Self {
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
        let kinds = ["/details/error_code", "/code", "/type"].map(|at| text_at(error, at));
        let kinds: Vec<&str> = kinds.into_iter().filter(|kind| !kind.is_empty()).collect();
        Self { kind: kinds.join(" ").to_lowercase(), words: texts.words(&words) }
    }

    /// The status that it stands for, where it came after a good one.
    pub(in crate::model) fn status(&self) -> u16 {
        let known = STATUS_OF_KIND.iter();
        let mut known = known.filter(|(kind, _)| self.kind.contains(kind));
        known.next().map_or(500, |(_, status)| *status)
    }

    /// Whether its kind or its words hold one of these.
    pub(in crate::model) fn says(&self, any: &[&str]) -> bool {
        let words = self.words.to_lowercase();
        any.iter().any(|part| self.kind.contains(part) || words.contains(part))
    }
}
