//! The guard's one report to the loop: five bytes, and words where the system gave no error number.
//!
//! Invariant: a guard without a report was killed.

use std::io;

const LENGTH: usize = 5;
const ENDED: u8 = b'e';
const FAILED: u8 = b'f';
const CUT: u8 = b'c';
/// Words follow, and the number is their length.
const SAID: u8 = b's';

#[derive(Debug)]
pub(crate) enum GuardReport {
    /// The command's status, as the kernel gave it.
    Ended(i32),
    /// Nothing was started. With [`io::ErrorKind::UnexpectedEof`] a process ended too soon.
    Failed(io::Error),
}

impl GuardReport {
    pub fn bytes(&self) -> Vec<u8> {
        let mut words = String::new();
        let (kind, number) = match self {
            GuardReport::Ended(status) => (ENDED, *status),
            GuardReport::Failed(error) => match (error.raw_os_error(), error.kind()) {
                (Some(errno), _) => (FAILED, errno),
                (None, io::ErrorKind::UnexpectedEof) => (CUT, 0),
                (None, _) => {
                    words = error.to_string();
                    (SAID, i32::try_from(words.len()).unwrap_or(i32::MAX))
                }
            },
        };
        [&[kind], &number.to_le_bytes()[..], words.as_bytes()].concat()
    }

    pub fn read(mut from: impl io::Read) -> Option<GuardReport> {
        let mut bytes = [0; LENGTH];
        from.read_exact(&mut bytes).ok()?;
        let [kind, a, b, c, d] = bytes;
        let number = i32::from_le_bytes([a, b, c, d]);
        Some(GuardReport::Failed(match kind {
            ENDED => return Some(GuardReport::Ended(number)),
            FAILED => io::Error::from_raw_os_error(number),
            CUT => {
                let words = "its first process ended before it was ready";
                io::Error::new(io::ErrorKind::UnexpectedEof, words)
            }
            SAID => {
                let mut words = vec![0; usize::try_from(number).ok()?];
                from.read_exact(&mut words).ok()?;
                io::Error::other(String::from_utf8_lossy(&words))
            }
            _ => return None,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_is_read_and_half_of_it_is_nothing() {
        let cut = || io::Error::from(io::ErrorKind::UnexpectedEof);
        for (report, read) in [
            (GuardReport::Ended(0x8b), "Ended(139)"),
            (GuardReport::Failed(io::Error::from_raw_os_error(2)), "Os { code: 2"),
            (GuardReport::Failed(io::Error::other("no rule")), "no rule"),
            (GuardReport::Failed(cut()), "first process"),
        ] {
            let bytes = report.bytes();
            let whole = format!("{:?}", GuardReport::read(&bytes[..]));
            assert!(whole.contains(read), "{whole}");
            assert!(GuardReport::read(&bytes[..bytes.len() - 1]).is_none());
        }
        assert!(GuardReport::read(&b"x1234"[..]).is_none());
    }
}
