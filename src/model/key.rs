//! The key of a provider, from its place.
//!
//! Invariant: no text shows a key, and its bytes are overwritten when it is dropped. A file that others can read is
//! refused.

use std::{ffi::OsString, fmt, os::unix::fs::MetadataExt, path::Path};

use reqwest::header::HeaderValue;

use super::{
    ModelError, key_command,
    secret::{KEY_BYTES_MAX, Secret},
};
use crate::{config::provider::KeySource, files, process::Programs};

const OTHERS: u32 = 0o077;
/// A shorter key is one of those that local servers want and do not look at, and is a word of many answers.
const HIDDEN_BYTES_MIN: usize = 8;
/// Stands in the place of a key in the words of a server.
const HIDDEN: &str = "[key]";
/// How often a text may be escaped.
const LAYERS_MAX: usize = 4;

pub(super) struct ProviderKey(Secret);

impl fmt::Debug for ProviderKey {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("ProviderKey(…)")
    }
}

impl ProviderKey {
    /// Reads it. A command has a mark below this one.
    pub(super) async fn read(
        source: &KeySource,
        programs: &dyn Programs,
        mark: &str,
    ) -> Result<Self, ModelError> {
        let text = match source {
            KeySource::Env(name) => of_variable(name),
            KeySource::File(path) => of_file(path),
            KeySource::Command(command) => key_command::printed(command, programs, mark).await,
        }?;
        Self::of_text(text, source)
    }

    /// Whether it can be read. A command is not tried.
    pub(super) fn is_there(source: &KeySource) -> Result<(), ModelError> {
        let text = match source {
            KeySource::Env(name) => of_variable(name),
            KeySource::File(path) => of_file(path),
            KeySource::Command(_) => return Ok(()),
        }?;
        Self::of_text(text, source).map(drop)
    }

    fn of_text(text: Secret, source: &KeySource) -> Result<Self, ModelError> {
        let key = Secret::new(text.text().trim().to_owned());
        let fault = match key.text() {
            "" => "is empty",
            text if text.len() > KEY_BYTES_MAX => "gives more than 16 KiB",
            text if !text.bytes().all(|byte| byte.is_ascii_graphic()) => {
                "gives something that is no key: it has spaces, or signs that no header takes"
            }
            _ => return Ok(Self(key)),
        };
        Err(ModelError::Key {
            what: format!("{source} {fault}"),
            hint: "put the key alone there, on one line".to_owned(),
        })
    }

    /// The value of a header, with words before the key.
    pub(super) fn header(&self, before: &str) -> Option<HeaderValue> {
        let text = Secret::new(format!("{before}{}", self.0.text()));
        let mut value = HeaderValue::from_str(text.text()).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// A text without the key, should a server tell it. A text that tells it in disguise is hidden whole.
    pub(super) fn hide_in(&self, text: &str) -> String {
        let hidden = match self.is_hidden() {
            true => text.replace(self.0.text(), HIDDEN),
            false => text.to_owned(),
        };
        match self.is_in(&hidden) {
            true => HIDDEN.to_owned(),
            false => hidden,
        }
    }

    /// Whether a text holds the key: as it is, or escaped as in JSON texts, addresses and scripts.
    pub(super) fn is_in(&self, text: &str) -> bool {
        if !self.is_hidden() {
            return false;
        }
        let key = self.0.text().as_bytes();
        let mut layer = text.as_bytes().to_vec();
        for _ in 0..=LAYERS_MAX {
            if layer.windows(key.len()).any(|part| part == key) {
                return true;
            }
            let below = without_escapes(&layer);
            if below == layer {
                return false;
            }
            layer = below;
        }
        false
    }

    fn is_hidden(&self) -> bool {
        self.0.text().len() >= HIDDEN_BYTES_MIN
    }

    #[cfg(test)]
    pub(super) fn planted(text: &str) -> Self {
        Self(Secret::new(text.to_owned()))
    }
}

/// The bytes with one layer of escapes undone: `\u0041`, `\x41`, `\/` and `%41`.
fn without_escapes(text: &[u8]) -> Vec<u8> {
    let (mut plain, mut rest) = (Vec::with_capacity(text.len()), text);
    while let Some((first, after)) = rest.split_first() {
        let (byte, used) = match (first, after) {
            (b'\\', [b'u', b'0', b'0', high, low, ..]) => (of_hex(*high, *low), 5),
            (b'\\', [b'x', high, low, ..]) => (of_hex(*high, *low), 3),
            (b'\\', [sign @ (b'/' | b'\\' | b'"' | b'\''), ..]) => (Some(*sign), 1),
            (b'%', [high, low, ..]) => (of_hex(*high, *low), 2),
            _ => (None, 0),
        };
        plain.push(byte.unwrap_or(*first));
        rest = after.get(byte.map_or(0, |_| used)..).unwrap_or_default();
    }
    plain
}

fn of_hex(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

fn of_variable(name: &str) -> Result<Secret, ModelError> {
    let text = std::env::var_os(name).map(OsString::into_string);
    match text {
        Some(Ok(text)) => Ok(Secret::new(text)),
        Some(Err(_)) => Err(ModelError::Key {
            what: format!("the variable {name} is no text"),
            hint: format!("export {name} anew"),
        }),
        None => Err(ModelError::Key {
            what: format!("the variable {name} is not set"),
            hint: format!("export {name}, in the shell that starts descent"),
        }),
    }
}

fn of_file(path: &Path) -> Result<Secret, ModelError> {
    let fault = |what: String, hint: String| ModelError::Key { what, hint };
    let shown = path.display();
    // A person may have put a link to it there.
    let path = &std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let meta = std::fs::metadata(path).map_err(|error| {
        fault(
            format!("the file {shown}: {error}"),
            format!("write the key into it, then: chmod 600 {shown}"),
        )
    })?;
    if meta.mode() & OTHERS != 0 {
        return Err(fault(
            format!("others can read the file {shown}"),
            format!("chmod 600 {shown}"),
        ));
    }
    let bytes = files::read(path, KEY_BYTES_MAX as u64).map_err(|error| {
        fault(
            format!("the file {shown}: {error}"),
            "it is a file with the key alone".to_owned(),
        )
    })?;
    String::from_utf8(bytes).map(Secret::new).map_err(|_| {
        fault(
            format!("the file {shown} is no text"),
            "it is a file with the key alone".to_owned(),
        )
    })
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)] // door: tests
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;
    use crate::process::{prepare, programs};

    async fn read(source: &KeySource) -> Result<ProviderKey, ModelError> {
        prepare().unwrap();
        ProviderKey::read(source, &*programs::real(), "tests/key").await
    }

    #[tokio::test]
    async fn a_key_is_read_from_its_place_and_never_shown() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        fs::write(&path, "sk-planted\n").unwrap();
        let file = KeySource::File(path.clone());
        let open = read(&file).await.unwrap_err();
        assert_eq!(open.code(), "E-KEY");
        assert!(open.hint("a").starts_with("chmod 600 "), "{open}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let by_command = KeySource::Command("echo sk-planted".to_owned());
        for source in [file, by_command] {
            let key = read(&source).await.unwrap();
            assert_eq!(format!("{key:?}"), "ProviderKey(…)");
            let header = key.header("Bearer ").unwrap();
            assert!(header.is_sensitive());
            assert!(!format!("{header:?}").contains("planted"));
            assert_eq!(header.as_bytes(), b"Bearer sk-planted");
            let told = "no such key: sk-planted!";
            assert_eq!(key.hide_in(told), "no such key: [key]!");
        }
    }

    #[tokio::test]
    async fn a_key_that_is_none_is_told_with_its_place_and_without_its_text() {
        for (source, what) in [
            (KeySource::Env("NO_SUCH_VARIABLE_HERE".into()), "is not set"),
            (KeySource::File("/nowhere/key".into()), "/nowhere/key"),
            (KeySource::Command("echo".into()), "is empty"),
            (KeySource::Command("echo sk-planted two".into()), "no key"),
            (
                KeySource::Command("echo sk-planted; exit 3".into()),
                "failed",
            ),
            (KeySource::Command("yes".into()), "prints more than 16 KiB"),
        ] {
            let error = read(&source).await.unwrap_err();
            assert!(error.to_string().contains(what), "{error}");
            assert!(
                !format!("{error:?}")
                    .replace("echo sk-planted", "")
                    .contains("planted")
            );
        }
    }
}
