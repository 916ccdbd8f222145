//! A text that no other text shows, and that is overwritten when it is dropped.

use std::hint::black_box;

/// Bytes of a key at most.
pub(super) const KEY_BYTES_MAX: usize = 16 << 10;

pub(super) struct Secret(String);

impl Secret {
    pub(super) fn new(text: String) -> Self {
        Self(text)
    }

    pub(super) fn text(&self) -> &str {
        &self.0
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        let mut bytes = std::mem::take(&mut self.0).into_bytes();
        bytes.fill(0);
        black_box(&bytes);
    }
}
