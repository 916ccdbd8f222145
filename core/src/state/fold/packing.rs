//! Text in little room: digests as the bytes that they are, all else deflated, the whole as base64.
//!
//! Hexadecimal digits are most of what a result is written in, and no compression brings them below the half. So each
//! run of them leaves a mark in the text, and its bytes stand apart.
//! Invariant: what was packed comes out byte for byte, and what was not packed here is refused.

use alloc::{string::String, vec::Vec};

use data_encoding::{BASE64, HEXLOWER};
use miniz_oxide::{deflate::compress_to_vec, inflate::decompress_to_vec_with_limit};

/// As `gzip -6` does: more takes long and gains little.
const EFFORT: u8 = 6;
/// What one text unpacks to at most: far more than the largest that is made.
pub(super) const UNPACKED_BYTES_MAX: usize = 64 << 20;
/// Lengths of digests in digits (SHA-1, SHA-256), with the marks that stand for them: characters that JSON never holds.
const DIGESTS: [(usize, u8); 2] = [(40, 0x01), (64, 0x02)];
/// Stands for a digest that was among the last; how many back follows it.
const AGAIN: u8 = 0x03;
const BACK_MAX: usize = 16;
/// Bytes before the deflated text: its length.
const HEAD: usize = 4;

pub(super) fn pack(text: &str) -> String {
    let (marked, digests) = take_out(text.as_bytes());
    let deflated = compress_to_vec(&marked, EFFORT);
    let length = u32::try_from(deflated.len()).unwrap_or(u32::MAX);
    let bytes = [&length.to_le_bytes()[..], &deflated, &digests.concat()].concat();
    BASE64.encode(&bytes)
}

pub(super) fn unpacked(packed: &str) -> Result<Vec<u8>, &'static str> {
    const FOREIGN: &str = "it is not what was packed";
    let bytes = BASE64
        .decode(packed.as_bytes())
        .map_err(|_| "it is not base64")?;
    let (head, rest) = bytes.split_first_chunk::<HEAD>().ok_or(FOREIGN)?;
    let length = usize::try_from(u32::from_le_bytes(*head)).map_err(|_| FOREIGN)?;
    let (deflated, digests) = rest.split_at_checked(length).ok_or(FOREIGN)?;
    let marked = decompress_to_vec_with_limit(deflated, UNPACKED_BYTES_MAX).map_err(|_| FOREIGN)?;
    put_back(&marked, digests).ok_or(FOREIGN)
}

/// The text with marks, and what they stand for.
fn take_out(text: &[u8]) -> (Vec<u8>, Vec<Vec<u8>>) {
    let mut marked = Vec::with_capacity(text.len() / 2);
    let mut digests: Vec<Vec<u8>> = Vec::new();
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let run = rest.iter().take_while(|byte| is_digit(**byte)).count();
        let mark = DIGESTS.iter().find(|(digits, _)| *digits == run);
        let bytes = mark.and_then(|_| HEXLOWER.decode(rest.get(..run)?).ok());
        let (Some((digits, mark)), Some(bytes)) = (mark, bytes) else {
            // The whole run: its end is no digest.
            let (plain, after_run) = rest.split_at(run);
            marked.extend_from_slice(plain);
            rest = if run > 0 { after_run } else { after };
            if run == 0 {
                marked.push(*first);
            }
            continue;
        };
        rest = rest.get(*digits..).unwrap_or_default();
        let back = digests
            .iter()
            .rev()
            .take(BACK_MAX)
            .position(|known| *known == bytes);
        match back.and_then(|back| u8::try_from(back).ok()) {
            Some(back) => marked.extend([AGAIN, back + b'0']),
            None => {
                marked.push(*mark);
                digests.push(bytes);
            }
        }
    }
    (marked, digests)
}

fn is_digit(byte: u8) -> bool {
    byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)
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
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_packed_comes_out_byte_for_byte(
            parts in prop::collection::vec(
                prop_oneof!["[0-9a-f]{40}", "[0-9a-f]{64}", "[ -~é]{0,40}", "[0-9a-f]{0,90}", "(deadbeef){8}"],
                0..40,
            )
        ) {
            let text = parts.join("\"");
            prop_assert_eq!(unpacked(&pack(&text)).expect("packed here"), text.as_bytes());
        }

        #[test]
        fn what_was_not_packed_is_refused_or_read_and_never_a_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..200)
        ) {
            let _ = unpacked(&BASE64.encode(&bytes));
        }
    }

    #[test]
    fn digests_take_the_room_of_their_bytes() {
        let digest = |n: u32| crate::id::Digest::of(&n.to_le_bytes());
        let text: String = (0..100)
            .map(|n| alloc::format!("{} {} ", digest(n), digest(n)))
            .collect();
        assert!(
            pack(&text).len() < 100 * 32 * 4 / 3 + 300,
            "{}",
            pack(&text).len()
        );
    }
}
