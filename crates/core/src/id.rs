//! The ids of the program: newtypes, so that no bare string or number crosses a module.
//!
//! Their text is inline or shared: a state is cloned with every commit, and the ids of its records with it.
//!
//! Not here: how an id is drawn (the shell hands in what needs chance).

use alloc::{borrow::ToOwned, format, string::String};
use core::{borrow::Borrow, cmp::Ordering, fmt};

use smol_str::SmolStr;

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub struct $name(#[cfg_attr(feature = "schema", schemars(with = "String"))] SmolStr);

        impl $name {
            pub fn new(text: impl Into<SmolStr>) -> Self {
                Self(text.into())
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(&self.0)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                String::deserialize(from).map(Self::new)
            }
        }
    };
}

text_id! {
    /// An atom of the work graph: `[A-Za-z][A-Za-z0-9_-]{0,63}`.
    AtomId
}
text_id! {
    /// One try of one atom, `<atom>.<count>`: unique within a lineage, never used twice.
    AttemptId
}
text_id! {
    /// One question to a judging role: the name of its files too.
    ConsultId
}
text_id! {
    /// One lesson of earlier runs, `m<count>`: unique among those of a project, never used twice.
    LessonId
}
text_id! {
    /// Born with `align`, the same for the whole life of a state file.
    Lineage
}
text_id! {
    /// One `descent run`, from its start to its end.
    RunId
}
text_id! {
    /// A commit of the person's repository, in git's full hexadecimal form.
    CommitId
}
text_id! {
    /// A tree of the person's repository, in git's full hexadecimal form.
    TreeId
}
text_id! {
    /// A request of a person to the loop: stop or redirect.
    RequestId
}
text_id! {
    /// An agent of the configuration: `[a-z0-9_.-]{1,64}`.
    AgentName
}
text_id! {
    /// The first 132 bits of a SHA-256 in base64url; or all of it, as `sha256:` and 64 hexadecimal digits, where a file or
    /// a person refers to it.
    Digest
}

impl CommitId {
    /// Its first digits: for people, and never read.
    pub fn label(&self) -> &str {
        self.as_str().get(..12).unwrap_or(self.as_str())
    }
}

impl AgentName {
    /// Bytes at most in a name.
    pub const MAX_BYTES: usize = 64;

    /// Whether `text` may name an agent.
    pub fn is_valid(text: &str) -> bool {
        let is_allowed =
            |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_.-".contains(c);
        (1..=Self::MAX_BYTES).contains(&text.len()) && text.chars().all(is_allowed)
    }
}

impl AttemptId {
    /// The name of its atom and its number, if it has the form of ours. Numbers count over the whole lineage, whatever
    /// the atoms: of two attempts the newer one has the higher number.
    pub fn parts(&self) -> Option<(&str, u64)> {
        let (atom, number) = self.as_str().rsplit_once('.')?;
        Some((atom, number.parse().ok()?))
    }

    /// The newest of these attempts.
    pub fn newest<I: Borrow<Self>>(ids: impl IntoIterator<Item = I>) -> Option<I> {
        let number = |id: &I| id.borrow().parts().map(|(_, number)| number);
        ids.into_iter().max_by_key(number)
    }
}

impl AtomId {
    /// Bytes at most in an id.
    pub const MAX_BYTES: usize = 64;

    /// Whether `text` may name an atom.
    pub fn is_valid(text: &str) -> bool {
        text.len() <= Self::MAX_BYTES
            && text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
    }

    /// The order in which a person counts: `a2` before `a10`.
    pub fn cmp_naturally(&self, other: &Self) -> Ordering {
        let (mut one, mut two) = (self.as_str(), other.as_str());
        while !one.is_empty() || !two.is_empty() {
            let ((a, rest_of_one), (b, rest_of_two)) = (first_run(one), first_run(two));
            let order = if is_number(a) && is_number(b) { by_value(a, b) } else { a.cmp(b) };
            if order != Ordering::Equal {
                return order;
            }
            (one, two) = (rest_of_one, rest_of_two);
        }
        self.cmp(other)
    }
}

fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
}

/// A number, or what stands before the next number.
fn first_run(text: &str) -> (&str, &str) {
    let is_number = is_number(text);
    let end = text.find(|c: char| c.is_ascii_digit() != is_number);
    text.split_at(end.unwrap_or(text.len()))
}

fn by_value(a: &str, b: &str) -> Ordering {
    let (a, b) = (a.trim_start_matches('0'), b.trim_start_matches('0'));
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

impl AttemptId {
    /// Its count: attempts are numbered over the whole lineage, whatever their atoms.
    pub fn count(&self) -> u64 {
        let count = self.as_str().rsplit('.').next();
        count.and_then(|count| count.parse().ok()).unwrap_or_default()
    }
}

impl Digest {
    /// The length of a whole digest's text.
    pub const BYTES: usize = 71;
    /// The length of a short one.
    const SHORT_CHARS: usize = 22;

    /// The short digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        use sha2::Digest as _;
        const DIGITS: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let whole = sha2::Sha256::digest(bytes);
        let digits = whole.chunks(3).flat_map(|three| {
            let bits = three.iter().fold(0_usize, |bits, byte| bits << 8 | usize::from(*byte));
            [18, 12, 6, 0].map(|shift| char::from(DIGITS[bits >> shift & 63]))
        });
        Self(digits.take(Self::SHORT_CHARS).collect())
    }

    /// The whole digest of `bytes`.
    pub fn sha256(bytes: &[u8]) -> Self {
        Self(Self::text_of(bytes).into_iter().map(char::from).collect())
    }

    /// The text of a whole digest, where many are kept close together.
    pub fn text_of(bytes: &[u8]) -> [u8; Self::BYTES] {
        use sha2::Digest as _;
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let mut text = *b"sha256:................................................................";
        for (pair, byte) in text[7..].chunks_exact_mut(2).zip(sha2::Sha256::digest(bytes)) {
            pair.copy_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
        }
        text
    }
}

/// Counts the commits of a state file.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Serial(pub u64);

impl Serial {
    /// The serial of the next commit.
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// Counts the redirects of a lineage: a result with an older epoch is thrown away.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(transparent)]
pub struct Epoch(pub u64);

/// Milliseconds since 1970-01-01T00:00:00Z.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
)]
#[serde(transparent)]
pub struct UnixMillis(pub u64);

impl UnixMillis {
    /// As the state file writes a time: RFC 3339, UTC, milliseconds.
    pub fn rfc3339(self) -> String {
        let ms = i64::try_from(self.0).unwrap_or(i64::MAX);
        let time = jiff::Timestamp::from_millisecond(ms);
        time.map_or_else(|_| "9999-12-31T23:59:59.000Z".to_owned(), |time| format!("{time:.3}"))
    }

    /// The day of that time, in UTC.
    pub fn day(self) -> String {
        self.rfc3339().chars().take_while(|c| *c != 'T').collect()
    }
}
