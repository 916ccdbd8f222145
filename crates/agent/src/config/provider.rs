//! A model that is asked over HTTP: the server, the model, the place of its key, and the bounds of a question; each setting
//! is read here.
//!
//! Invariant: no key stands in a configuration, only the place where it lies. No message repeats the text of `key`, which
//! may be a key by mistake. Not here: asking (`model`).

use std::{
    fmt,
    path::{Path, PathBuf},
};

use descent_core::doc::did_you_mean;
use reqwest::Url;
use serde::Deserialize;
use toml::Value;

use super::fault::{SettingValue, ensure, hinted, is_variable};
use descent_system::files::private;

/// How many questions a provider is asked side by side, unless its configuration says another number.
pub(crate) const MAX_PARALLEL: usize = 4;

/// The format of requests and answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wire {
    /// Anthropic Messages.
    Messages,
    /// OpenAI Chat Completions, which local servers speak too.
    Chat,
    /// OpenAI Responses.
    Responses,
}

impl Wire {
    /// Its name in a file.
    pub fn word(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::Chat => "chat",
            Self::Responses => "responses",
        }
    }

    /// The vendor's own server.
    pub fn vendor(self) -> &'static str {
        match self {
            Self::Messages => "https://api.anthropic.com",
            Self::Chat | Self::Responses => "https://api.openai.com/v1",
        }
    }
}

/// The place of a key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeySource {
    /// A variable of this process.
    Env(String),
    /// A file that its owner alone can read.
    File(PathBuf),
    /// A shell command that prints it.
    Command(String),
}

impl fmt::Display for KeySource {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(name) => write!(to, "the variable {name}"),
            Self::File(path) => write!(to, "the file {}", path.display()),
            Self::Command(command) => write!(to, "the command `{command}`"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    pub wire: Wire,
    /// With a scheme, and without a slash at its end.
    pub base_url: String,
    pub model: String,
    pub key: Option<KeySource>,
    pub max_parallel: usize,
    /// Tokens that fit into a question and its answer.
    pub context: Option<u64>,
    /// Tokens of an answer at most.
    pub max_answer: Option<u64>,
    /// How much the model shall think, in the words of its vendor.
    pub(crate) effort: Option<String>,
}

impl Provider {
    /// Whether the vendor itself is asked. Its servers refuse what does not fit.
    pub fn is_vendor(&self) -> bool {
        self.base_url == self.wire.vendor()
    }

    /// It in a line for people.
    pub fn line(&self) -> String {
        format!("{} at {} ({})", self.model, self.base_url, self.wire.word())
    }
}

const NAME_BYTES_MAX: usize = 200;
const TEXT_BYTES_MAX: usize = 4096;
pub(super) const KEY_HINT: &str =
    r#"key = {env = "NAME"}, {file = "~/.config/descent/key"} or {command = "pass show key"}"#;

/// A word for the vendor's server.
pub(super) struct VendorWord(pub(super) String);

impl SettingValue for VendorWord {
    type Text = String;

    fn of(text: String) -> Result<Self, String> {
        let word = text.trim();
        let is_short = !word.is_empty() && word.len() <= NAME_BYTES_MAX;
        ensure(is_short && !word.contains(char::is_control), || {
            "this is empty, longer than 200 bytes, or holds a control character".to_owned()
        })?;
        Ok(Self(word.to_owned()))
    }
}

/// An address without a slash at its end. A key in it would stand in logs.
pub(super) struct BaseUrl(pub(super) String);

impl SettingValue for BaseUrl {
    type Text = String;

    fn of(text: String) -> Result<Self, String> {
        let hint = r#"a scheme, a host and a path: base_url = "http://localhost:11434/v1""#;
        let fault = |what: &str| hinted(&format!("`base_url` {what}"), hint);
        let written = text.trim();
        let has_scheme = ["http://", "https://"].iter().any(|scheme| {
            written.get(..scheme.len()).is_some_and(|it| it.eq_ignore_ascii_case(scheme))
        });
        ensure(has_scheme, || fault("has no scheme, http:// or https://"))?;
        ensure(written.len() <= TEXT_BYTES_MAX, || fault("is longer than 4 KiB"))?;
        let url = Url::parse(written).map_err(|error| fault(&format!("is no address: {error}")))?;
        ensure(url.username().is_empty() && url.password().is_none(), || {
            fault("holds a name or a password: a key has a place of its own, `key`")
        })?;
        ensure(url.query().is_none() && url.fragment().is_none(), || {
            fault("has a part after `?` or `#`, which no request keeps")
        })?;
        Ok(Self(url.as_str().trim_end_matches('/').to_owned()))
    }
}

impl SettingValue for KeySource {
    type Text = Value;

    fn of(value: Value) -> Result<Self, String> {
        let fault = |what: &str| hinted(what, KEY_HINT);
        let table = value.as_table().ok_or_else(|| {
            fault("`key` is no table: the place of a key stands here, and never the key itself")
        })?;
        let mut places = table.iter();
        let (Some((name, place)), None) = (places.next(), places.next()) else {
            return Err(fault("`key` has not exactly one of `env`, `file` and `command`"));
        };
        let text = place.as_str().map(str::trim).filter(|text| !text.is_empty());
        let text = text.filter(|text| text.len() <= TEXT_BYTES_MAX && !text.contains('\0'));
        match (name.as_str(), text) {
            ("env" | "file" | "command", None) => {
                Err(fault(&format!("`{name}` of `key` is no text, or an empty one")))
            }
            ("env", Some(text)) if is_variable(text) => Ok(Self::Env(text.to_owned())),
            ("env", Some(_)) => Err(fault("`env` of `key` is no name of a variable")),
            ("file", Some(text)) => file(text)
                .map(Self::File)
                .ok_or_else(|| fault("`file` of `key` is no whole path, nor one below ~/")),
            ("command", Some(text)) => Ok(Self::Command(text.to_owned())),
            // Anything else may be a key.
            _ => {
                let near = did_you_mean(name, ["env", "file", "command"]);
                let near = near.map(|near| format!("; {near}")).unwrap_or_default();
                Err(fault(&format!("`key` names no place that is known{near}")))
            }
        }
    }
}

/// A path below the project would be committed with it one day.
fn file(text: &str) -> Option<PathBuf> {
    match text.strip_prefix("~/") {
        Some(below) => Some(PathBuf::from(private::variable("HOME")?).join(below)),
        None => Path::new(text).is_absolute().then(|| PathBuf::from(text)),
    }
}
