//! A secret in each encoding, and a decoder that knows nothing of the one of the program.

use std::collections::BTreeSet;

use serde_json::json;

pub(super) const SECRET: &str = "tok/5ecr3t+\"9&Q";

pub(super) type Encode = fn(&str) -> String;

fn each(text: &str, one: impl Fn(u8) -> String) -> String {
    text.bytes().map(one).collect()
}

fn json_text(text: &str) -> String {
    let quoted = json!(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

fn base64(text: &str, before: &str, last: [char; 2]) -> String {
    let text = format!("{before}{text}");
    let letters = ('A'..='Z').chain('a'..='z').chain('0'..='9');
    let letters: Vec<char> = letters.chain(last).collect();
    let mut encoded = String::new();
    for three in text.as_bytes().chunks(3) {
        let mut bits = 0;
        for at in 0..3 {
            bits = bits << 8 | usize::from(*three.get(at).unwrap_or(&0));
        }
        let shown = (0..=three.len()).map(|at| letters[bits >> (18 - 6 * at) & 63]);
        encoded.extend(shown);
        encoded.push_str(&"=".repeat(3 - three.len()));
    }
    encoded
}

pub(super) const ENCODINGS: [Encode; 17] = [
    |text| text.to_owned(),
    json_text,
    |text| json_text(text).replace('/', "\\/"),
    |text| {
        each(text, |b| {
            if b.is_ascii_alphanumeric() { char::from(b).to_string() } else { format!("%{b:02X}") }
        })
    },
    |text| each(text, |b| format!("%{b:02x}")),
    |text| each(text, |b| format!("\\{b:03o}")),
    |text| each(text, |b| format!("\\x{b:02x}")),
    |text| each(text, |b| format!("\\u{b:04x}")),
    |text| each(text, |b| format!("\\u{{{b:x}}}")),
    |text| each(text, |b| format!("\\U{b:08X}")),
    |text| each(text, |b| format!("&#{b};")),
    |text| each(text, |b| format!("&#x{b:X};")),
    |text| text.replace('&', "&amp;").replace('"', "&quot;"),
    |text| base64(text, "", ['+', '/']),
    |text| base64(text, "a", ['+', '/']),
    |text| base64(text, "me", ['-', '_']),
    |text| base64(text, "", ['-', '_']),
];

/// Each encoding, each pair, and one of depth six.
pub(super) fn forms() -> Vec<String> {
    let pairs = ENCODINGS.iter().flat_map(|outer| {
        let inner = ENCODINGS.iter().map(|inner| inner(SECRET));
        inner.map(|text| outer(&text))
    });
    let deep =
        [13, 7, 12, 4, 15, 1].iter().fold(SECRET.to_owned(), |text, nth| ENCODINGS[*nth](&text));
    pairs.chain([deep]).collect()
}

/// One pass over a text, from the left: what `read` takes is replaced by what it gives.
fn passed(text: &str, read: impl Fn(&str) -> Option<(usize, String)>) -> String {
    let (mut plain, mut rest) = (String::new(), text);
    while let Some(first) = rest.chars().next() {
        let (length, means) = read(rest).unwrap_or((first.len_utf8(), first.to_string()));
        plain.push_str(&means);
        rest = &rest[length..];
    }
    plain
}

fn code(digits: &str, radix: u32) -> Option<String> {
    let code = u32::from_str_radix(digits, radix).ok()?;
    Some(char::from_u32(code)?.to_string())
}

fn of_backslash(rest: &str) -> Option<(usize, String)> {
    let after = rest.strip_prefix('\\')?;
    let kind = after.chars().next()?;
    if let Some(braced) = after.strip_prefix("u{") {
        let (digits, _) = braced.split_once('}')?;
        return Some((digits.len() + 4, code(digits, 16)?));
    }
    let length = match kind {
        '\\' | '/' | '"' => return Some((2, kind.to_string())),
        'x' => 2,
        'u' => 4,
        'U' => 8,
        '0'..='3' => return Some((4, code(after.get(..3)?, 8)?)),
        _ => return None,
    };
    Some((length + 2, code(after.get(1..=length)?, 16)?))
}

fn of_url(rest: &str) -> Option<(usize, String)> {
    let digits = rest.strip_prefix('%')?.get(..2)?;
    Some((3, code(digits, 16)?))
}

fn of_html(rest: &str) -> Option<(usize, String)> {
    let (name, _) = rest.strip_prefix('&')?.split_once(';')?;
    let means = match name {
        "amp" => "&".to_owned(),
        "quot" => "\"".to_owned(),
        _ => match name.strip_prefix("#x") {
            Some(digits) => code(digits, 16)?,
            None => code(name.strip_prefix('#')?, 10)?,
        },
    };
    Some((name.len() + 2, means))
}

fn of_base64(text: &str) -> Vec<String> {
    let value = |c: char| {
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".find(match c {
            '-' => '+',
            '_' => '/',
            c => c,
        })
    };
    let runs = text.split(|c| value(c).is_none());
    let mut found = Vec::new();
    for run in runs.filter(|run| run.len() >= 11) {
        for from in 0..4 {
            let (mut bits, mut count, mut bytes) = (0_usize, 0, Vec::new());
            for value in run[from..].chars().filter_map(value) {
                (bits, count) = (bits << 6 | value, count + 6);
                if count >= 8 {
                    count -= 8;
                    bytes.push(u8::try_from(bits >> count & 255).unwrap());
                }
            }
            found.push(String::from_utf8_lossy(&bytes).into_owned());
        }
    }
    found
}

/// Whether a text means the secret, whatever it is decoded by, and in whatever order.
pub(super) fn means_it(text: &str) -> bool {
    let (mut seen, mut left) = (BTreeSet::new(), vec![text.to_owned()]);
    while let Some(text) = left.pop() {
        if text.contains(SECRET) {
            return true;
        }
        // Many decoded runs are noise: what is left of an encoding is all letters of a text.
        let is_text =
            text.chars().filter(|c| *c == '\u{fffd}' || c.is_control() && *c != '\n').count() * 8
                < text.len();
        if text.len() < SECRET.len() || !is_text || !seen.insert(text.clone()) {
            continue;
        }
        left.extend(of_base64(&text));
        left.extend([passed(&text, of_html), passed(&text, of_url), passed(&text, of_backslash)]);
    }
    false
}
