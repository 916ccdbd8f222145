//! The key of a provider: read from its place, and hidden in every text of its server.
//!
//! Invariant: no text shows a key, and its bytes are overwritten when it is dropped. A file that others can read is
//! refused. A command runs in the person's home, never in a tree that an agent writes, and ends with this program; its
//! output is bounded, and is in no file. Words are hidden first and cut afterwards. The text of an answer is never
//! rewritten: what runs is what the model wrote, or nothing.

use std::{
    env,
    ffi::OsString,
    fmt,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use reqwest::header::HeaderValue;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio_util::sync::CancellationToken;

use super::{HIDDEN_KEY, ModelError};
use crate::config::provider::KeySource;
use descent_process::{self as process, Job, JobEnd, Programs, Reach, timeouts};
use descent_system::{
    files,
    secrets::{self, Secret, Secrets},
};

/// Bytes of a key at most.
const KEY_BYTES_MAX: usize = 16 << 10;
/// Characters of a server's own words that are kept.
const WORDS_CHARS_MAX: usize = 300;
const OTHERS: u32 = 0o077;

pub(super) struct ProviderKey {
    key: Secret,
    /// The same, for looking through texts.
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
            KeySource::Command(command) => printed(command, programs, mark).await,
            KeySource::Env(name) => of_variable(name),
            KeySource::File(path) => of_file(path),
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
        Err(ModelError::no_key(format!("{source} {fault}"), "put the key alone there, on one line"))
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

    #[cfg(test)]
    pub(super) fn planted(text: &str) -> Self {
        Self::of_secret(Secret::new(text.to_owned()))
    }
}

fn of_variable(name: &str) -> Result<Secret, ModelError> {
    let (what, hint) = match env::var_os(name).map(OsString::into_string) {
        Some(Ok(text)) => return Ok(Secret::new(text)),
        Some(Err(_)) => ("no text", " anew"),
        None => ("not set", ", in the shell that starts descent"),
    };
    Err(ModelError::no_key(
        format!("the variable {name} is {what}"),
        format!("export {name}{hint}"),
    ))
}

fn of_file(path: &Path) -> Result<Secret, ModelError> {
    let (shown, alone) = (path.display(), "it is a file with the key alone");
    // A person may have put a link to it there.
    let path = &std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let meta = std::fs::metadata(path).map_err(|error| {
        let hint = format!("write the key into it, then: chmod 600 {shown}");
        ModelError::no_key(format!("the file {shown}: {error}"), hint)
    })?;
    if meta.mode() & OTHERS != 0 {
        let what = format!("others can read the file {shown}");
        return Err(ModelError::no_key(what, format!("chmod 600 {shown}")));
    }
    let bytes = files::read(path, KEY_BYTES_MAX as u64)
        .map_err(|error| ModelError::no_key(format!("the file {shown}: {error}"), alone))?;
    String::from_utf8(bytes)
        .map(Secret::new)
        .map_err(|_| ModelError::no_key(format!("the file {shown} is no text"), alone))
}

/// Runs the command that prints a key. Dropping the future ends it.
async fn printed(command: &str, programs: &dyn Programs, mark: &str) -> Result<Secret, ModelError> {
    let fault = |what: String| {
        let hint = "run it by hand in your home directory: it prints the key, and asks nothing";
        ModelError::no_key(format!("the command `{command}` {what}"), hint)
    };
    let job = Job {
        command: command.to_owned(),
        cwd: home(),
        env: env::vars_os().collect(),
        timeout: timeouts::ASK_MAX,
        mark: format!("{mark}/key"),
        input: None,
        whole_stdout_bytes_max: 0,
        log: None,
        reach: Reach::Account,
    };
    let cancel = CancellationToken::new();
    let run = || async {
        let (ours, its) = duplex(KEY_BYTES_MAX);
        let running = programs.run(&job, Some(its), &cancel, Box::new(|_| ()));
        let (ended, printed) = tokio::join!(running, read(ours, &cancel));
        Ok((ended?, printed))
    };
    let ended = process::start_patiently(&cancel, run).await;
    let (ended, printed) = ended.map_err(|error| fault(error.to_string()))?;
    if printed.len() > KEY_BYTES_MAX {
        return Err(fault(format!("prints more than {} KiB", KEY_BYTES_MAX >> 10)));
    }
    match ended.how {
        JobEnd::Exit(0) => {}
        JobEnd::Exit(code) => return Err(fault(format!("failed: exit status: {code}"))),
        JobEnd::Signal(signal) => return Err(fault(format!("was ended by the signal {signal}"))),
        JobEnd::TimedOut | JobEnd::Cancelled => {
            let seconds = job.timeout.as_secs();
            return Err(fault(format!("did not end within {seconds} s")));
        }
    }
    let text = String::from_utf8(printed).map(Secret::new);
    text.map_err(|_| fault("prints something that is no text".to_owned()))
}

/// All that it prints, up to the limit; then it is ended.
async fn read(mut from: DuplexStream, cancel: &CancellationToken) -> Vec<u8> {
    // Its standard input is empty.
    let _ = from.shutdown().await;
    let mut printed = Vec::with_capacity(KEY_BYTES_MAX + 1);
    let mut limited = from.take(KEY_BYTES_MAX as u64 + 1);
    // An end that is no good one is told by its exit code.
    let _ = limited.read_to_end(&mut printed).await;
    if printed.len() > KEY_BYTES_MAX {
        cancel.cancel();
    }
    printed
}

fn home() -> PathBuf {
    let home = env::var_os("HOME").map(PathBuf::from);
    home.filter(|home| home.is_absolute() && home.is_dir()).unwrap_or_else(|| PathBuf::from("/"))
}

/// Takes the texts of a server that is asked with this key.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ServerTexts<'a> {
    key: Option<&'a ProviderKey>,
}

impl<'a> ServerTexts<'a> {
    pub(super) fn new(key: Option<&'a ProviderKey>) -> Self {
        Self { key }
    }

    /// Words for a person, in one line.
    pub(super) fn words(self, text: &str) -> String {
        let hidden = self.key.map(|key| key.hidden.hide(text));
        cut(&secrets::hide(&hidden.unwrap_or(text.into())))
    }

    /// The text of an answer, as it came; else the name of a secret that it repeats: `key`, or a variable.
    pub(super) fn answer(self, text: String) -> Result<String, String> {
        let all = secrets::all();
        let all = self.key.map(|key| &key.hidden).into_iter().chain([&*all]);
        match all.filter_map(|secrets| secrets.in_text(text.as_bytes())).next() {
            Some(name) => Err(name.to_owned()),
            None => Ok(text),
        }
    }
}

/// Words in one line, cut.
fn cut(words: &str) -> String {
    let shown = words.chars().map(|c| if c.is_control() { ' ' } else { c });
    let line: String = shown.take(WORDS_CHARS_MAX * 4).collect();
    line.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(WORDS_CHARS_MAX).collect()
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)] // door: tests
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;
    use descent_process::{prepare, programs};

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
            assert_eq!(key.hidden.hide(told), "no such key: [key]!");
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

    const KEY: &str = "sk-planted/0123456789";

    #[test]
    fn words_are_hidden_first_and_cut_afterwards() {
        let key = ProviderKey::planted(KEY);
        let texts = ServerTexts::new(Some(&key));
        assert_eq!(texts.words("no:\n\u{7}sk-planted/0123456789!"), "no: [key]!");
        for before in 270..310 {
            let words = texts.words(&format!("{}{KEY}", "x".repeat(before)));
            assert!(!words.contains("sk-"), "{before}: {words}");
        }
        assert_eq!(texts.words(r"a \u0073k-planted\/0123456789"), "a [key]");
        let octal = r"a \163k-planted&#47;0123456789 b";
        assert_eq!(texts.words(octal), "a [key] b");
        assert_eq!(texts.words("http://on/sk%2Dplanted%2f0123456789/v1"), "[key]");
    }

    #[test]
    fn an_answer_that_holds_the_key_in_any_form_is_refused_and_any_other_is_as_it_came() {
        let key = ProviderKey::planted(KEY);
        let texts = ServerTexts::new(Some(&key));
        for held in [
            r#"{"run": "echo sk-planted/0123456789"}"#,
            r#"{"run": "echo sk-planted\/0123456789"}"#,
            r#"{"run": "echo \u0073k\u002dplanted/0123456789"}"#,
            r#"{"text": "{\"run\": \"\\u0073k-planted\\/0123456789\"}"}"#,
            r#"{"run": "printf 'sk-\x70lanted/0123456789'"}"#,
        ] {
            assert_eq!(texts.answer(held.to_owned()), Err("key".to_owned()), "{held}");
        }
        for fine in [r#"{"run": "echo \u0073k-planted"}"#, r"\u00", r"%2", "ü\\"] {
            assert_eq!(texts.answer(fine.to_owned()), Ok(fine.to_owned()));
        }
    }

    #[test]
    fn a_key_of_a_few_letters_hides_and_refuses_nothing() {
        for short in ["touch", "a", "score", "EMPTY", "1234567"] {
            let key = ProviderKey::planted(short);
            let texts = ServerTexts::new(Some(&key));
            let text = format!("{{\"run\": \"{short} done\"}}");
            assert_eq!(texts.words(&text), text);
            assert_eq!(texts.answer(text.clone()), Ok(text));
        }
    }
}
