//! The secrets that this program knows by name, and no text that it shows or keeps holds.
//!
//! Invariant: they are read from the environment of this program, and added to before work begins. The variables of
//! jobs do not depend on them. Not here: which variables a job gets (`process::environment`).
//! All that is printed passes here by `render`, all that jobs print by `process::capture`.

mod hidden;
#[cfg(test)]
mod tests;

use std::{
    borrow::Cow,
    ffi::OsString,
    path::Path,
    sync::{Arc, LazyLock, PoisonError, RwLock},
};

pub use hidden::Secret;
pub use hidden::{SECRET_BYTES_MIN, Secrets};

/// Each at the end of a word: TOKENIZERS is none.
const SECRET_PARTS: &[&str] = &[
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "API_KEY",
    "APIKEY",
    "ACCESS_KEY",
    "ACCESSKEY",
    "PRIVATE_KEY",
    "PRIVATEKEY",
    "CREDENTIAL",
    "SIGNING_KEY",
    "ENCRYPTION_KEY",
];
/// Only as separate words: AUTHOR and COMPASS are not secrets.
const SECRET_WORDS: &[&str] = &["AUTH", "PASS", "PWD", "PAT", "COOKIE"];
/// Last words of names that say something about a secret, and hold none.
const NO_SECRETS: &str = "TYPE PROVIDER HASHER MODE METHOD NAME USER HOST PORT BACKEND ALGORITHM ISSUER AUDIENCE LENGTH TTL \
    ENABLED SCOPE STRATEGY POLICY PATH DOMAIN REGION MODEL SAMESITE TEMPLATE EXPIRY MIDDLEWARE FILE DIR CLASS \
    HEADER REALM GROUP ROLE VERSION FORMAT PREFIX";
/// Values of such variables that are settings, or what examples are set up with.
const COMMON: &[&str] =
    &["postgres", "password", "changeme", "disabled", "required", "localhost", "anonymous"];
/// Changes between letters and digits in a random text at least.
const CHANGES_MIN: usize = 3;

static ALL: LazyLock<RwLock<Arc<Secrets>>> = LazyLock::new(|| {
    let secrets = of_environment(std::env::vars_os());
    RwLock::new(Arc::new(secrets))
});

/// The secrets of this process.
pub fn all() -> Arc<Secrets> {
    Arc::clone(&ALL.read().unwrap_or_else(PoisonError::into_inner))
}

/// The text with names in the place of secrets.
pub fn hide(text: &str) -> Cow<'_, str> {
    all().hide(text)
}

/// The same in its place.
pub fn hide_in(text: &mut String) {
    if let Cow::Owned(hidden) = all().hide(text) {
        *text = hidden;
    }
}

/// The same of each: names of files are as free as an output.
pub fn hide_in_each(texts: &mut [String]) {
    texts.iter_mut().for_each(hide_in);
}

/// The fault of a text that is taken as it is or not at all: it holds a secret.
pub fn fault_of(text: &str) -> Option<String> {
    let all = all();
    let name = all.in_text(text.as_bytes())?;
    Some(format!("it holds the value of {name}, a secret"))
}

/// Adds variables that an agent asks for by name, where their values look like secrets.
pub fn add_named<'n>(names: impl Iterator<Item = &'n str>) {
    names.for_each(|name| add(name, |value| login(value).is_some() || looks_random(value)));
}

/// Adds a variable that the key of a provider is read from.
pub fn add_key(name: &str) {
    add(name, |_| true);
}

fn add(name: &str, looks_secret: impl Fn(&str) -> bool) {
    let value = std::env::var(name).ok().filter(|value| looks_secret(value));
    if let Some(secret) = value.as_deref().and_then(secret_part) {
        let mut all = ALL.write().unwrap_or_else(PoisonError::into_inner);
        Arc::make_mut(&mut all).add(name, secret);
    }
}

fn of_environment(from: impl Iterator<Item = (OsString, OsString)>) -> Secrets {
    let mut secrets = Secrets::default();
    for (name, value) in from {
        let (Some(name), Some(value)) = (name.to_str(), value.to_str()) else {
            continue;
        };
        if let Some(secret) = secret_part(value).filter(|_| looks_secret(name)) {
            secrets.add(name, secret);
        }
    }
    secrets
}

/// Whether a variable of that name holds a secret.
pub fn looks_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    // The shell's present and previous directory.
    let last = name.rsplit('_').next().unwrap_or_default();
    if matches!(name.as_str(), "PWD" | "OLDPWD") || NO_SECRETS.split(' ').any(|word| word == last) {
        return false;
    }
    let ends_a_word = |part: &str| {
        let mut found = name.match_indices(part);
        found.any(|(at, _)| {
            let after = &name[at + part.len()..];
            let after = after.strip_prefix('S').unwrap_or(after);
            !after.starts_with(|c: char| c.is_ascii_alphabetic())
        })
    };
    SECRET_PARTS.iter().any(|part| ends_a_word(part))
        || name.split('_').any(|word| SECRET_WORDS.contains(&word))
}

/// The part of a value that is to be hidden. A number, a path, an address without a login and a setting hold none.
fn secret_part(value: &str) -> Option<&str> {
    let value = value.trim();
    if value.contains("://") {
        return login(value);
    }
    let is_plain = value.len() < SECRET_BYTES_MIN
        || value.parse::<f64>().is_ok()
        || COMMON.contains(&value.to_ascii_lowercase().as_str())
        || is_path(value)
        || std::env::current_dir().is_ok_and(|here| here.to_string_lossy().contains(value));
    (!is_plain).then_some(value)
}

fn is_path(value: &str) -> bool {
    let mut above = Path::new(value).ancestors();
    above.any(|path| path.parent().is_some() && path.exists())
}

/// The password in an address.
fn login(value: &str) -> Option<&str> {
    let authority = value.split_once("://")?.1.split(['/', '?', '#']).next()?;
    let (_, password) = authority.rsplit_once('@')?.0.split_once(':')?;
    (password.len() >= SECRET_BYTES_MIN).then_some(password)
}

/// Whether a value is one word that nobody thought up: no path, list or name with a version.
fn looks_random(value: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "_-.+=~".contains(c);
    if !value.chars().all(is_word) {
        return false;
    }
    let bytes = value.as_bytes().windows(2);
    let changes = bytes.filter(|two| {
        two.iter().all(u8::is_ascii_alphanumeric)
            && two[0].is_ascii_digit() != two[1].is_ascii_digit()
    });
    changes.count() >= CHANGES_MIN
}
