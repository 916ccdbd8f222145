//! Random numbers from a seed, and the amount of testing: a small number by default, a large one on request.

/// SplitMix64: the whole of a story follows from one number.
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

/// The figure of a test: `DESCENT_SOAK_<NAME>`, else the small one.
pub fn count(name: &str, small: u64) -> u64 {
    number(&format!("DESCENT_SOAK_{name}")).unwrap_or(small)
}

/// `DESCENT_SOAK_SEED`, else always the same.
pub fn seed() -> u64 {
    number("DESCENT_SOAK_SEED").unwrap_or(1)
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}
