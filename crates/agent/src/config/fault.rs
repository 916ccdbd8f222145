//! A fault of a configuration's text, with its place, and the shape of the setting that it is in.
//!
//! Invariant: a hint is of the setting at fault, read off its place in the text. Not here: the settings (`read`).

use std::ops::Range;

use descent_core::{
    doc::did_you_mean,
    state::{Duty, Question},
};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error},
};

/// Settings with an example: those of a file, and those of an agent.
const SHAPES: [(&str, &str); 20] = [
    ("notify", r#"notify = "mail -s descent ada""#),
    ("roles", r#"roles.worker = "claude""#),
    ("preset", r#"preset = "claude""#),
    ("acp", r#"acp = ["my-agent", "--acp"]"#),
    ("headless", r#"headless = {argv = ["my-agent", "-p"], events = "text"}"#),
    ("run", r#"run = "my-agent < \"$DESCENT_PROMPT\"""#),
    ("provider", r#"provider = "messages""#),
    ("base_url", r#"base_url = "http://localhost:11434/v1""#),
    ("model", r#"model = "qwen3:32b""#),
    ("key", r#"key = {env = "ANTHROPIC_API_KEY"}"#),
    ("max_parallel", "max_parallel = 4"),
    ("context", "context = 32768"),
    ("max_answer", "max_answer = 16000"),
    ("effort", r#"effort = "low""#),
    ("args", r#"args = ["--model", "opus"]"#),
    ("env", r#"env = ["NAME"]"#),
    ("modes", r#"modes = {write = "code", read = "ask"}"#),
    ("first_event", r#"first_event = "2m""#),
    ("idle", r#"idle = "10m""#),
    ("price", r#"price = {input = "3", output = "15"}"#),
];

/// A known program as the worker.
const TWO_LINES: &str = r#"agents.claude.preset = "claude" and roles.worker = "claude""#;

/// A command as the worker.
pub const COMMAND_LINES: [&str; 2] =
    [r#"agents.worker.run = "my-agent < \"$DESCENT_PROMPT\"""#, r#"roles.worker = "worker""#];

pub(super) const NAME_HINT: &str = "1 to 64 of a-z, 0-9, `_`, `.` and `-`";

/// Parts a message from its hint, where both pass through serde as one text.
const HINT: &str = "\nhint: ";
const NAME_BYTES_MAX: usize = 200;

/// A value of a setting that is read from a simpler one. A fault is its message, perhaps with a hint (`hinted`).
pub(super) trait SettingValue: Sized {
    type Text: DeserializeOwned;

    fn of(text: Self::Text) -> Result<Self, String>;
}

/// A setting that is read where it stands, so that its fault has its place.
pub(super) struct Read<T>(pub(super) T);

impl<'de, T: SettingValue> Deserialize<'de> for Read<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        T::of(T::Text::deserialize(from)?).map(Self).map_err(D::Error::custom)
    }
}

pub(super) fn hinted(message: &str, hint: &str) -> String {
    format!("{message}{HINT}{hint}")
}

pub(super) fn ensure(is_fit: bool, words: impl FnOnce() -> String) -> Result<(), String> {
    if is_fit { Ok(()) } else { Err(words()) }
}

pub(super) fn is_variable(name: &str) -> bool {
    name.len() <= NAME_BYTES_MAX
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A fault with its place in the text.
pub(super) struct ConfigFault {
    pub(super) span: Range<usize>,
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

impl ConfigFault {
    pub(super) fn new(span: Range<usize>, message: impl Into<String>) -> Self {
        Self { span, message: message.into(), hint: None }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The fault of a setting.
    pub(super) fn of_words(span: Range<usize>, words: &str) -> Self {
        match words.split_once(HINT) {
            Some((message, hint)) => Self::new(span, message).hint(hint),
            None => Self::new(span, words.lines().next().unwrap_or_default()),
        }
    }

    /// A fault of `toml` or `serde` in our words.
    pub(super) fn of_toml(error: &toml::de::Error, text: &str) -> Self {
        let span = error.span().unwrap_or(0..0);
        let message = error.message();
        let unknown = ["unknown field ", "unknown variant "];
        let unknown = unknown.into_iter().find_map(|begin| message.strip_prefix(begin));
        if let Some(names) = unknown {
            return Self::unknown(span, names);
        }
        let of_value = ["invalid type: ", "invalid value: "];
        let of_value = of_value.iter().find_map(|begin| message.strip_prefix(begin));
        if let Some((found, expected)) = of_value.and_then(|rest| rest.split_once(", expected ")) {
            let expected = match expected {
                "a sequence" => "a list",
                "a map" => "a table",
                "a nonzero u8" => "a number from 1 to 255",
                "a nonzero u32" => "a number from 1 to 4294967295",
                other => other,
            };
            return Self::new(span, format!("expected {expected}, found {found}"));
        }
        if message == "duplicate key" {
            let line = text[..span.start].rsplit('\n').next().unwrap_or_default();
            let hint = if line.starts_with("[agents.") {
                "an agent of that name stands above: take one of them out, or give it another name"
            } else {
                "that key stands above already: take one of them out"
            };
            return Self::new(span, message).hint(hint);
        }
        Self::of_words(span, message)
    }

    /// `names` is serde's list: the unknown word, then the known ones, each in backticks.
    fn unknown(span: Range<usize>, names: &str) -> Self {
        let mut names = names.split('`').skip(1).step_by(2);
        let named = names.next().unwrap_or_default();
        let known: Vec<&str> = names.collect();
        let fault = Self::new(span, format!("`{}` is not known here", named.escape_debug()));
        if let (Some(question), true) = (Question::of_word(named), known.contains(&"aligner")) {
            fault.hint(format!("it is a question of a role: {}", Duty::from(question).text()))
        } else if named == "worker" && known.contains(&"roles") {
            fault.hint(of_worker())
        } else {
            fault.hint(meant(named, &known))
        }
    }
}

/// The hint for a person who writes `worker` outside of `roles`.
fn of_worker() -> String {
    let [agent, role] = COMMAND_LINES;
    format!("a worker takes two lines: {agent} and {role}; a known program: {TWO_LINES}")
}

/// The shape of the setting that the line of an offset begins with.
pub(super) fn shape(text: &str, offset: usize) -> String {
    let start = text.get(..offset).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
    let line = text.get(start..).and_then(|text| text.lines().next()).unwrap_or_default();
    let keys = line.split('=').next().unwrap_or_default();
    let mut keys = keys.rsplit('.').map(|key| key.trim_matches(['[', ']', ' ', '"']));
    if keys.clone().eq(["worker"]) {
        return of_worker();
    }
    let shape = keys.find_map(|key| SHAPES.iter().find(|(name, _)| *name == key));
    format!("it looks like this: {}", shape.map_or(TWO_LINES, |(_, shape)| shape))
}

/// The name that may have been meant, else all.
pub(super) fn meant(name: &str, known: &[&str]) -> String {
    let near = did_you_mean(name, known.iter().copied());
    near.unwrap_or_else(|| format!("known here: {}", known.join(", ")))
}
