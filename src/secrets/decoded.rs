//! One layer of an encoding undone: escapes of strings, addresses and HTML, and base64.
//!
//! Invariant: what comes out is shorter.

use std::{borrow::Cow, sync::LazyLock};

use regex::bytes::{Captures, Regex};

/// Characters of base64 that hold the shortest secret, at least.
const RUN_MIN: usize = 11;

/// The escapes that are a number, of a byte or of a character. Escapes of their first sign are undone with it, since each
/// pass costs the whole text.
const NUMBERS: [NumberEscape; 7] = [
    NumberEscape::new(r"(?:%(?:25)*|\\+x)([[:xdigit:]]{2})", 16, true),
    NumberEscape::new(r"\\+([0-3][0-7]{2}|[0-7]{1,2})", 8, true),
    NumberEscape::new(r"\\+u([[:xdigit:]]{4})", 16, false),
    NumberEscape::new(r"\\+U([[:xdigit:]]{8})", 16, false),
    NumberEscape::new(r"\\+[ux]\{([[:xdigit:]]{1,8})\}", 16, false),
    NumberEscape::new(r"&(?:amp;)*#[xX]([[:xdigit:]]{1,8});", 16, false),
    NumberEscape::new(r"&(?:amp;)*#([0-9]{1,8});", 10, false),
];
/// Those of JSON, shells and HTML that are a sign, and what a terminal obeys.
const SIGNS: &str = r#"\\+([[:punct:]])|&(?:amp;)*(amp|lt|gt|quot|apos);|(\x1b)(?:\[[0-?]*[ -/]*[@-~]|[()][0-9A-B])"#;

static ESCAPES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let all = NUMBERS.map(|escape| escape.pattern).join("|");
    Regex::new(&format!("(?-u){all}|{SIGNS}")).ok()
});

struct NumberEscape {
    pattern: &'static str,
    radix: u32,
    is_byte: bool,
}

impl NumberEscape {
    const fn new(pattern: &'static str, radix: u32, is_byte: bool) -> Self {
        Self { pattern, radix, is_byte }
    }
}

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
    let Some(escape) = NUMBERS.get(nth) else {
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
    let code = u32::from_str_radix(digits, escape.radix).unwrap_or_default();
    match u8::try_from(code) {
        Ok(byte) if escape.is_byte => vec![byte],
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
