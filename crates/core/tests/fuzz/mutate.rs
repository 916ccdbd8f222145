//! Seeded mutations of a kept corpus: bytes are changed without knowing what they mean.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

const BYTES_MAX: usize = 64 << 10;
/// The tokens of the syntax.
const WORDS: [&str; 30] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "\\u",
    "\\ud800",
    "null",
    "true",
    "false",
    "0",
    "-",
    "1e999",
    "1.50",
    "9007199254740993",
    "\n",
    "\0",
    "\u{feff}",
    "\u{2028}",
    "ü",
    "\"id\":",
    "\"notes\":",
    "\"kind\": \"any\"",
    "[[[[",
    "{\"a\":",
    "/*",
    "'",
];

/// The same seed makes the same inputs again.
#[derive(Debug)]
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n.max(1) as u64) as usize
    }

    pub fn of<'l, T>(&mut self, list: &'l [T]) -> &'l T {
        &list[self.below(list.len())]
    }
}

/// Every file of these folders of fixtures.
pub fn corpus(fixtures: &Path, folders: &[&str]) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for folder in folders {
        let entries = fs::read_dir(fixtures.join(folder)).expect("a folder of fixtures");
        let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
        paths.sort();
        all.extend(
            paths.iter().filter(|path| path.is_file()).map(|path| fs::read(path).expect("a file")),
        );
    }
    assert!(!all.is_empty(), "an empty corpus");
    all
}

pub fn mutated(rng: &mut Rng, corpus: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = rng.of(corpus).clone();
    for _ in 0..=rng.below(4) {
        let at = rng.below(bytes.len() + 1);
        let end = (at + 1 + rng.below(40)).min(bytes.len());
        match rng.below(7) {
            0 if at < bytes.len() => bytes[at] ^= 1 << rng.below(8),
            1 => drop(bytes.drain(at..end)),
            2 => {
                let part = bytes[at..end].to_vec();
                let to = rng.below(bytes.len() + 1);
                bytes.splice(to..to, part);
            }
            3 => {
                let other = rng.of(corpus);
                let from = rng.below(other.len() + 1);
                let part = other[from..(from + 200).min(other.len())].to_vec();
                bytes.splice(at..end, part);
            }
            4 => bytes.truncate(at),
            _ => {
                let word = rng.of(&WORDS).bytes();
                bytes.splice(at..at, word);
            }
        }
    }
    bytes.truncate(BYTES_MAX);
    bytes
}

/// Tries inputs until the time or the count is over. A failing input is shown with all that reproduces it.
#[allow(clippy::disallowed_methods)] // a soak lasts as long as it is told to
pub fn fuzz(name: &str, corpus: &[Vec<u8>], count: usize, look: impl Fn(&mut Rng, &[u8])) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seed = number("DESCENT_SOAK_SEED").unwrap_or(1);
    let until = number("DESCENT_SOAK_FUZZ_SECONDS")
        .map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let mut done = 0;
    for bytes in corpus {
        one(name, seed, done, bytes, |rng| look(rng, bytes));
    }
    while until.map_or(done < count, |until| Instant::now() < until) {
        let mut rng = Rng::new(seed ^ (done as u64) << 20);
        let bytes = mutated(&mut rng, corpus);
        one(name, seed, done, &bytes, |_| look(&mut rng, &bytes));
        done += 1;
    }
    println!("{name}: {} of the corpus, {done} mutations, seed {seed}", corpus.len());
}

fn one(name: &str, seed: u64, n: usize, bytes: &[u8], look: impl FnOnce(&mut Rng)) {
    let mut rng = Rng::new(seed ^ n as u64);
    let looked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| look(&mut rng)));
    if let Err(panic) = looked {
        println!(
            "{name}: seed {seed}, mutation {n}; keep it under fixtures/fuzz:\n{}",
            bytes.escape_ascii()
        );
        std::panic::resume_unwind(panic);
    }
}
