//! Unpacks a packed text: base64 of deflated text with a mark for each digest, and of the digests' bytes.
//!
//! Invariant: text that was packed otherwise is refused, and nothing unpacks to more than a limit.

use alloc::vec::Vec;

use data_encoding::{BASE64, HEXLOWER};
use miniz_oxide::inflate::decompress_to_vec_with_limit;

/// Far more than the largest packed text.
pub(super) const UNPACKED_BYTES_MAX: usize = 64 << 20;
/// Lengths of digests in digits (SHA-1, SHA-256), with the marks that stand for them: characters that JSON never holds.
const DIGESTS: [(usize, u8); 2] = [(40, 0x01), (64, 0x02)];
/// The mark for a recent digest; the number after it says how many back.
const AGAIN: u8 = 0x03;
/// Bytes before the deflated text: its length.
const HEAD: usize = 4;

pub(super) fn unpacked(packed: &str) -> Result<Vec<u8>, &'static str> {
    const FOREIGN: &str = "it is not what was packed";
    let bytes = BASE64.decode(packed.as_bytes()).map_err(|_| "it is not base64")?;
    let (head, rest) = bytes.split_first_chunk::<HEAD>().ok_or(FOREIGN)?;
    let length = usize::try_from(u32::from_le_bytes(*head)).map_err(|_| FOREIGN)?;
    let (deflated, digests) = rest.split_at_checked(length).ok_or(FOREIGN)?;
    let marked = decompress_to_vec_with_limit(deflated, UNPACKED_BYTES_MAX).map_err(|_| FOREIGN)?;
    put_back(&marked, digests).ok_or(FOREIGN)
}

fn put_back(marked: &[u8], mut digests: &[u8]) -> Option<Vec<u8>> {
    let mut text = Vec::with_capacity(marked.len() * 2);
    let mut seen: Vec<&[u8]> = Vec::new();
    let mut rest = marked.iter();
    while let Some(byte) = rest.next() {
        if text.len() > UNPACKED_BYTES_MAX {
            return None;
        }
        if *byte == AGAIN {
            let back = usize::from(rest.next()?.checked_sub(b'0')?);
            let known = seen.get(seen.len().checked_sub(back + 1)?)?;
            text.extend_from_slice(HEXLOWER.encode(known).as_bytes());
        } else if let Some((digits, _)) = DIGESTS.iter().find(|(_, mark)| mark == byte) {
            let (digest, others) = digests.split_at_checked(digits / 2)?;
            digests = others;
            text.extend_from_slice(HEXLOWER.encode(digest).as_bytes());
            seen.push(digest);
        } else {
            text.push(*byte);
        }
    }
    digests.is_empty().then_some(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn text_that_was_not_packed_is_refused_or_read_and_never_a_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..200)
        ) {
            let _ = unpacked(&BASE64.encode(&bytes));
        }
    }
}
