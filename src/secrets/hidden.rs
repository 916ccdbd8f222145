//! Finds secrets in a text, also encoded, and replaces them by their names.
//!
//! Invariant: as little as possible is replaced: the secret, else the word that means it, else its line, else all.

use std::borrow::Cow;

use super::{
    decoded::{of_base64, unescaped},
    secret::Secret,
};

/// A shorter secret is a word of many texts.
pub const SECRET_BYTES_MIN: usize = 8;
/// Bytes that a look through a text may decode: so many, and so many times its own.
const DECODED_MIN: usize = 1 << 20;
const DECODED_TIMES: usize = 64;
/// The name of what is encoded too often to be looked through.
const TOO_DEEP: &str = "encoded too often";

/// Secrets with their names.
#[derive(Debug, Default, Clone)]
pub struct Secrets {
    known: Vec<KnownSecret>,
    /// Whether a secret begins with a byte, for all 256.
    starts: Vec<bool>,
}

#[derive(Debug, Clone)]
struct KnownSecret {
    name: String,
    text: Secret,
    /// The same without escapes, as it is found in a decoded text.
    plain: Secret,
}

impl Secrets {
    /// Adds a text under a name, each of its lines apart. Short lines are no secrets.
    pub fn add(&mut self, name: &str, text: &str) {
        let lines = text.split(char::is_control).map(str::trim);
        for line in lines.filter(|line| line.len() >= SECRET_BYTES_MIN) {
            let is_known = self.known.iter().any(|known| known.text.text() == line);
            // The first and the last line of a key in PEM are no secrets.
            if is_known || line.starts_with("-----") {
                continue;
            }
            let mut plain = line.as_bytes().to_vec();
            while let Some(less) = unescaped(&plain) {
                plain = less;
            }
            let plain = String::from_utf8(plain).unwrap_or_default();
            self.known.push(KnownSecret {
                name: name.to_owned(),
                text: Secret::new(line.to_owned()),
                plain: Secret::new(if plain.len() < SECRET_BYTES_MIN {
                    line.to_owned()
                } else {
                    plain
                }),
            });
        }
        self.starts = vec![false; 256];
        for text in self.known.iter().flat_map(KnownSecret::forms) {
            let first = text.bytes().next();
            first.into_iter().for_each(|byte| self.starts[usize::from(byte)] = true);
        }
        // The longer of two secrets that begin alike is replaced.
        self.known.sort_by_key(|known| usize::MAX - known.text.text().len());
    }

    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// The name of a secret that the text holds, however encoded.
    pub fn in_text(&self, text: &[u8]) -> Option<&str> {
        if self.is_empty() {
            return None;
        }
        let mut left = DECODED_MIN + text.len().saturating_mul(DECODED_TIMES);
        let mut layers = vec![Cow::Borrowed(text)];
        while let Some(layer) = layers.pop() {
            if let Some(found) = self.find(&layer) {
                return Some(&found.secret.name);
            }
            let below = of_base64(&layer);
            for layer in
                below.chain(unescaped(&layer)).filter(|layer| layer.len() >= SECRET_BYTES_MIN)
            {
                match left.checked_sub(layer.len()) {
                    Some(rest) => left = rest,
                    None => return Some(TOO_DEEP),
                }
                layers.push(Cow::Owned(layer));
            }
        }
        None
    }

    /// The text with names in the place of secrets.
    pub fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.hide_bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(hidden) => Cow::Owned(String::from_utf8_lossy(&hidden).into_owned()),
        }
    }

    /// The same for an output that need be no text.
    pub fn hide_bytes<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        if self.in_text(text).is_none() {
            return Cow::Borrowed(text);
        }
        let mut shown = Vec::with_capacity(text.len());
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            match self.in_text(line) {
                None => shown.extend(line),
                Some(_) => {
                    let words = self.parts_replaced(&self.replaced(line), u8::is_ascii_whitespace);
                    shown.extend(self.parts_replaced(&words, |_| false));
                }
            }
        }
        // A secret may begin on one line and end on another.
        match self.in_text(&shown) {
            Some(name) if name != TOO_DEEP => Cow::Owned(label(name)),
            _ => Cow::Owned(shown),
        }
    }

    /// The text with names in the place of secrets that it holds as they are.
    fn replaced(&self, mut text: &[u8]) -> Vec<u8> {
        let mut shown = Vec::with_capacity(text.len());
        while let Some(found) = self.find(text) {
            shown.extend(&text[..found.at]);
            shown.extend(label(&found.secret.name));
            text = &text[found.at + found.length..];
        }
        shown.extend(text);
        shown
    }

    /// The text with names in the place of the parts that hold a secret.
    fn parts_replaced(&self, text: &[u8], ends: impl Fn(&u8) -> bool) -> Vec<u8> {
        let mut shown = Vec::with_capacity(text.len());
        for part in text.split_inclusive(ends) {
            let body = part.trim_ascii_end();
            match self.in_text(body) {
                Some(name) => {
                    shown.extend(label(name));
                    shown.extend(&part[body.len()..]);
                }
                None => shown.extend(part),
            }
        }
        shown
    }

    fn find(&self, text: &[u8]) -> Option<FoundSecret<'_>> {
        let bytes = text.iter().enumerate();
        let mut starts =
            bytes.filter(|(_, byte)| self.starts.get(usize::from(**byte)) == Some(&true));
        starts.find_map(|(at, _)| {
            self.known.iter().find_map(|secret| {
                let mut forms = secret.forms().into_iter();
                let form = forms.find(|form| text[at..].starts_with(form.as_bytes()))?;
                let length = form.len();
                Some(FoundSecret { secret, at, length })
            })
        })
    }
}

impl KnownSecret {
    fn forms(&self) -> [&str; 2] {
        [self.text.text(), self.plain.text()]
    }
}

/// A secret in a text, not encoded.
struct FoundSecret<'s> {
    secret: &'s KnownSecret,
    at: usize,
    length: usize,
}

fn label(name: &str) -> Vec<u8> {
    format!("[{name}]").into_bytes()
}
