//! The key of a provider, from its place.
//!
//! Invariant: no text shows a key, and its bytes are overwritten when it is dropped. A file that others can read is
//! refused.

use std::{ffi::OsString, fmt, os::unix::fs::MetadataExt, path::Path};

use reqwest::header::HeaderValue;

use super::{
    ModelError,
    error::HIDDEN_KEY,
    key_command::{self, KEY_BYTES_MAX},
};
use crate::{
    config::provider::KeySource,
    files,
    process::Programs,
    secrets::{Secret, Secrets},
};

const OTHERS: u32 = 0o077;
pub(super) struct ProviderKey {
    key: Secret,
    hidden: Secrets,
}

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
            _ => return Ok(Self::of_secret(key)),
        };
        Err(ModelError::Key {
            what: format!("{source} {fault}"),
            hint: "put the key alone there, on one line".to_owned(),
        })
    }

    fn of_secret(key: Secret) -> Self {
        let mut hidden = Secrets::default();
        hidden.add(HIDDEN_KEY, key.text());
        Self { key, hidden }
    }

    /// The value of a header, with words before the key.
    pub(super) fn header(&self, before: &str) -> Option<HeaderValue> {
        let text = Secret::new(format!("{before}{}", self.key.text()));
        let mut value = HeaderValue::from_str(text.text()).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// The key as a secret that texts are looked through for.
    pub(super) fn secrets(&self) -> &Secrets {
        &self.hidden
    }

    #[cfg(test)]
    pub(super) fn planted(text: &str) -> Self {
        Self::of_secret(Secret::new(text.to_owned()))
    }
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
        fault(format!("the file {shown}: {error}"), "it is a file with the key alone".to_owned())
    })?;
    String::from_utf8(bytes).map(Secret::new).map_err(|_| {
        fault(format!("the file {shown} is no text"), "it is a file with the key alone".to_owned())
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
            assert_eq!(key.secrets().hide(told), "no such key: [key]!");
        }
    }

    #[tokio::test]
    async fn a_key_that_is_none_is_told_with_its_place_and_without_its_text() {
        for (source, what) in [
            (KeySource::Env("NO_SUCH_VARIABLE_HERE".into()), "is not set"),
            (KeySource::File("/nowhere/key".into()), "/nowhere/key"),
            (KeySource::Command("echo".into()), "is empty"),
            (KeySource::Command("echo sk-planted two".into()), "no key"),
            (KeySource::Command("echo sk-planted; exit 3".into()), "failed"),
            (KeySource::Command("yes".into()), "prints more than 16 KiB"),
        ] {
            let error = read(&source).await.unwrap_err();
            assert!(error.to_string().contains(what), "{error}");
            assert!(!format!("{error:?}").replace("echo sk-planted", "").contains("planted"));
        }
    }
}
