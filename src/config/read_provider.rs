//! The settings of a provider as typed values.
//!
//! Invariant: no message repeats the text of `key`, which may be a key by mistake.

use std::path::{Path, PathBuf};

use descent_core::doc::did_you_mean;
use reqwest::Url;
use toml::{Spanned, Value};

use super::{
    choices::meant,
    fault::ConfigFault,
    provider::{KeySource, MAX_PARALLEL, Provider, Wire},
};
use crate::files::private;

const PARALLEL_MAX: i64 = 256;
/// Tokens of a context or an answer at most.
const TOKENS_MAX: i64 = 1 << 30;
const NAME_BYTES_MAX: usize = 200;
const TEXT_BYTES_MAX: usize = 4096;
const KEY_HINT: &str =
    r#"key = {env = "NAME"}, {file = "~/.config/descent/key"} or {command = "pass show key"}"#;

/// The settings as they stand in a file.
pub(super) struct ProviderText<'t> {
    pub(super) agent: &'t str,
    pub(super) provider: &'t Spanned<String>,
    pub(super) base_url: Option<&'t Spanned<String>>,
    pub(super) model: Option<&'t Spanned<String>>,
    pub(super) key: Option<&'t Spanned<Value>>,
    pub(super) max_parallel: Option<&'t Spanned<i64>>,
    pub(super) context: Option<&'t Spanned<i64>>,
    pub(super) max_answer: Option<&'t Spanned<i64>>,
    pub(super) effort: Option<&'t Spanned<String>>,
}

pub(super) fn provider(text: &ProviderText<'_>) -> Result<Provider, ConfigFault> {
    let word = text.provider.as_ref();
    let wire = Wire::of_word(word).ok_or_else(|| {
        let message = format!("unknown provider `{}`", word.escape_debug());
        let known = Wire::WORDS.map(|(known, _)| known);
        ConfigFault::new(text.provider.span(), message).hint(meant(word, &known))
    })?;
    let base_url = text.base_url.map(base_url).transpose()?;
    let base_url = base_url.unwrap_or_else(|| wire.vendor().to_owned());
    let Some(model) = text.model else {
        let message = format!("agent `{}` names no `model`", text.agent);
        let hint = r#"model = "…": the name by which the server knows it"#;
        return Err(ConfigFault::new(text.provider.span(), message).hint(hint));
    };
    let provider = Provider {
        wire,
        base_url,
        model: word_of("model", model)?,
        key: text.key.map(key).transpose()?,
        max_parallel: count("max_parallel", text.max_parallel, PARALLEL_MAX)?
            .and_then(|count| usize::try_from(count).ok())
            .unwrap_or(MAX_PARALLEL),
        context: count("context", text.context, TOKENS_MAX)?,
        max_answer: count("max_answer", text.max_answer, TOKENS_MAX)?,
        effort: text.effort.map(|effort| word_of("effort", effort)).transpose()?,
    };
    if provider.key.is_none() && provider.is_vendor() {
        let message =
            format!("agent `{}` has no `key`, which {} wants", text.agent, provider.base_url);
        return Err(ConfigFault::new(text.provider.span(), message).hint(KEY_HINT));
    }
    Ok(provider)
}

/// The address without a slash at its end. A key in it would stand in logs.
fn base_url(text: &Spanned<String>) -> Result<String, ConfigFault> {
    let hint = r#"a scheme, a host and a path: base_url = "http://localhost:11434/v1""#;
    let fault = |what: &str| ConfigFault::new(text.span(), format!("`base_url` {what}")).hint(hint);
    let written = text.as_ref().trim();
    let has_scheme = ["http://", "https://"].iter().any(|scheme| {
        written.get(..scheme.len()).is_some_and(|it| it.eq_ignore_ascii_case(scheme))
    });
    if !has_scheme {
        return Err(fault("has no scheme, http:// or https://"));
    }
    if written.len() > TEXT_BYTES_MAX {
        return Err(fault("is longer than 4 KiB"));
    }
    let url = Url::parse(written).map_err(|error| fault(&format!("is no address: {error}")))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(fault("holds a name or a password: a key has a place of its own, `key`"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(fault("has a part after `?` or `#`, which no request keeps"));
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

fn word_of(name: &str, text: &Spanned<String>) -> Result<String, ConfigFault> {
    let word = text.as_ref().trim();
    let is_fit =
        !word.is_empty() && word.len() <= NAME_BYTES_MAX && !word.contains(char::is_control);
    if is_fit {
        Ok(word.to_owned())
    } else {
        Err(ConfigFault::new(
            text.span(),
            format!("`{name}` is empty, longer than 200 bytes, or holds a control character"),
        ))
    }
}

fn count(name: &str, count: Option<&Spanned<i64>>, most: i64) -> Result<Option<u64>, ConfigFault> {
    let Some(count) = count else { return Ok(None) };
    match u64::try_from(*count.as_ref()) {
        Ok(number @ 1..) if *count.as_ref() <= most => Ok(Some(number)),
        Ok(_) | Err(_) => {
            Err(ConfigFault::new(count.span(), format!("`{name}` is no number from 1 to {most}")))
        }
    }
}

fn key(value: &Spanned<Value>) -> Result<KeySource, ConfigFault> {
    let fault = |what: String| ConfigFault::new(value.span(), what).hint(KEY_HINT);
    let Value::Table(table) = value.as_ref() else {
        let what = "`key` is no table: the place of a key stands here, and never the key itself";
        return Err(fault(what.to_owned()));
    };
    let mut places = table.iter();
    let (Some((name, place)), None) = (places.next(), places.next()) else {
        return Err(fault("`key` has not exactly one of `env`, `file` and `command`".to_owned()));
    };
    let known = ["env", "file", "command"];
    let Some(known) = known.into_iter().find(|known| known == name) else {
        // Anything else may be a key.
        let near = did_you_mean(name, known).map(|near| format!("; {near}"));
        let what = "`key` names no place that is known";
        return Err(fault(format!("{what}{}", near.unwrap_or_default())));
    };
    let text = place.as_str().map(str::trim).filter(|text| !text.is_empty());
    let Some(text) = text.filter(|text| text.len() <= TEXT_BYTES_MAX && !text.contains('\0'))
    else {
        return Err(fault(format!("`{known}` of `key` is no text, or an empty one")));
    };
    match known {
        "env" if is_variable(text) => Ok(KeySource::Env(text.to_owned())),
        "env" => Err(fault("`env` of `key` is no name of a variable".to_owned())),
        "file" => file(text)
            .map(KeySource::File)
            .ok_or_else(|| fault("`file` of `key` is no whole path, nor one below ~/".to_owned())),
        _ => Ok(KeySource::Command(text.to_owned())),
    }
}

fn is_variable(name: &str) -> bool {
    name.len() <= NAME_BYTES_MAX
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A path below the project would be committed with it one day.
fn file(text: &str) -> Option<PathBuf> {
    match text.strip_prefix("~/") {
        Some(below) => Some(PathBuf::from(private::variable("HOME")?).join(below)),
        None => Path::new(text).is_absolute().then(|| PathBuf::from(text)),
    }
}
