//! The one place through which every text of a server passes before anything else sees it.
//!
//! Invariant: words are hidden first and cut afterwards. The text of an answer is never rewritten: what runs is what the
//! model wrote, or nothing.

use super::key::ProviderKey;
use crate::secrets;

/// Characters of a server's own words that are kept.
const WORDS_CHARS_MAX: usize = 300;

/// Takes the texts of a server that is asked with this key.
#[derive(Debug, Clone, Copy)]
pub(super) struct ServerTexts<'a> {
    key: Option<&'a ProviderKey>,
}

/// The name of a secret that an answer repeats: `key`, or a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SecretInAnswer(pub(super) String);

impl<'a> ServerTexts<'a> {
    pub(super) fn new(key: Option<&'a ProviderKey>) -> Self {
        Self { key }
    }

    /// Words for a person, in one line.
    pub(super) fn words(self, text: &str) -> String {
        let hidden = self.key.map(|key| key.secrets().hide(text));
        cut(&secrets::hide(&hidden.unwrap_or(text.into())))
    }

    /// The text of an answer, as it came.
    pub(super) fn answer(self, text: String) -> Result<String, SecretInAnswer> {
        let all = secrets::all();
        let all = self.key.map(ProviderKey::secrets).into_iter().chain([&*all]);
        let mut found = all.filter_map(|secrets| secrets.in_text(text.as_bytes()));
        match found.next() {
            Some(name) => Err(SecretInAnswer(name.to_owned())),
            None => Ok(text),
        }
    }
}

/// Words in one line, cut.
fn cut(words: &str) -> String {
    let shown = words.chars().map(|c| if c.is_control() { ' ' } else { c });
    let line: String = shown.take(WORDS_CHARS_MAX * 4).collect();
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(WORDS_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(
                texts.answer(held.to_owned()),
                Err(SecretInAnswer("key".to_owned())),
                "{held}"
            );
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
