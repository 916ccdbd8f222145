//! Finds secrets in a text, also encoded, and replaces them by their names.
//!
//! Invariants: as little as possible is replaced: the secret, else the word that means it, else its line, else all. A layer
//! of an encoding undone is shorter: escapes of strings, addresses and HTML, and base64.

use std::{borrow::Cow, fmt, hint::black_box, sync::LazyLock};

use regex::bytes::{Captures, Regex};

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

#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: String) -> Self {
        Self(text)
    }

    pub fn text(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("Secret(…)")
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        let mut bytes = std::mem::take(&mut self.0).into_bytes();
        bytes.fill(0);
        black_box(&bytes);
    }
}

/// Characters of base64 that hold the shortest secret, at least.
const RUN_MIN: usize = 11;

/// The escapes that are a number: pattern, radix, and whether it is of a byte. Those of their first sign are undone with
/// it, since each pass costs the whole text.
const NUMBERS: [(&str, u32, bool); 7] = [
    (r"(?:%(?:25)*|\\+x)([[:xdigit:]]{2})", 16, true),
    (r"\\+([0-3][0-7]{2}|[0-7]{1,2})", 8, true),
    (r"\\+u([[:xdigit:]]{4})", 16, false),
    (r"\\+U([[:xdigit:]]{8})", 16, false),
    (r"\\+[ux]\{([[:xdigit:]]{1,8})\}", 16, false),
    (r"&(?:amp;)*#[xX]([[:xdigit:]]{1,8});", 16, false),
    (r"&(?:amp;)*#([0-9]{1,8});", 10, false),
];
/// Those of JSON, shells and HTML that are a sign, and what a terminal obeys.
const SIGNS: &str = r#"\\+([[:punct:]])|&(?:amp;)*(amp|lt|gt|quot|apos);|(\x1b)(?:\[[0-?]*[ -/]*[@-~]|[()][0-9A-B])"#;

static ESCAPES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let all = NUMBERS.map(|(pattern, ..)| pattern).join("|");
    Regex::new(&format!("(?-u){all}|{SIGNS}")).ok()
});

/// The text with each escape undone once; `None` if it has none.
pub(super) fn unescaped(text: &[u8]) -> Option<Vec<u8>> {
    match ESCAPES.as_ref()?.replace_all(text, meaning) {
        Cow::Borrowed(_) => None,
        Cow::Owned(plain) => Some(plain),
    }
}

fn meaning(found: &Captures<'_>) -> Vec<u8> {
    let mut groups = found.iter().skip(1).enumerate();
    let Some((nth, inner)) = groups.find_map(|(nth, group)| Some((nth, group?.as_bytes()))) else {
        return Vec::new();
    };
    let Some((_, radix, is_byte)) = NUMBERS.get(nth) else {
        let sign: &[u8] = match inner {
            b"amp" => b"&",
            b"lt" => b"<",
            b"gt" => b">",
            b"quot" => b"\"",
            b"apos" => b"'",
            b"\x1b" => b"",
            sign => sign,
        };
        return sign.to_vec();
    };
    let digits = str::from_utf8(inner).unwrap_or_default();
    let code = u32::from_str_radix(digits, *radix).unwrap_or_default();
    match u8::try_from(code) {
        Ok(byte) if *is_byte => vec![byte],
        _ => char::from_u32(code).into_iter().collect::<String>().into(),
    }
}

/// The meanings of the parts that may be base64, in both alphabets, a line each. Four texts: a part may begin
/// anywhere in a group.
pub(super) fn of_base64(text: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    // Programs that encode begin a new line after some 70 signs.
    let is_sign = |byte: &u8| !matches!(byte, b'\r' | b'\n');
    let runs = text.split(|byte| value_of(*byte).is_none() && is_sign(byte));
    let runs = runs.map(|run| run.iter().copied().filter(is_sign).collect::<Vec<u8>>());
    let long: Vec<Vec<u8>> = runs.filter(|run| run.len() >= RUN_MIN).collect();
    (0..4).map(move |from| {
        let mut meant = Vec::new();
        for run in &long {
            run[from..].chunks(4).for_each(|group| decode(group, &mut meant));
            meant.push(b'\n');
        }
        meant
    })
}

fn decode(group: &[u8], to: &mut Vec<u8>) {
    let mut bits = 0_u32;
    for byte in group {
        bits = bits << 6 | u32::from(value_of(*byte).unwrap_or_default());
    }
    let bits = bits << (6 * (4 - group.len()));
    to.extend(&bits.to_be_bytes()[1..group.len()]);
}

fn value_of(byte: u8) -> Option<u8> {
    Some(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    })
}
