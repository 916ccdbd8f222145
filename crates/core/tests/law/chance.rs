//! Chance that is the same whatever a policy does: each number is fixed by its seed and by its subject.

/// The numbers of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    /// A number below a thousand.
    pub(crate) fn roll(self, what: &str, parts: [u64; 2]) -> u64 {
        let mut state = self.0;
        for byte in what.bytes() {
            state = mixed(state ^ u64::from(byte));
        }
        for part in parts {
            state = mixed(state ^ part.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        }
        (state >> 11) % 1_000
    }
}

/// SplitMix64.
fn mixed(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
