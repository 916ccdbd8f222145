//! The guard's one report to the loop: five bytes.
//!
//! Invariant: a guard without a report was killed.

use std::io;

const LENGTH: usize = 5;
const ENDED: u8 = b'e';
const FAILED: u8 = b'f';

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GuardReport {
    /// The command's status, as the kernel gave it.
    Ended(i32),
    /// Nothing was started; this is the system's error number.
    Failed(i32),
}

impl GuardReport {
    pub(crate) fn from_error(error: &io::Error) -> GuardReport {
        GuardReport::Failed(error.raw_os_error().unwrap_or_default())
    }

    pub(crate) fn bytes(self) -> [u8; LENGTH] {
        let (kind, number) = match self {
            GuardReport::Ended(status) => (ENDED, status),
            GuardReport::Failed(errno) => (FAILED, errno),
        };
        let [a, b, c, d] = number.to_le_bytes();
        [kind, a, b, c, d]
    }

    pub(crate) fn read(mut from: impl io::Read) -> Option<GuardReport> {
        let mut bytes = [0; LENGTH];
        from.read_exact(&mut bytes).ok()?;
        let [kind, a, b, c, d] = bytes;
        let number = i32::from_le_bytes([a, b, c, d]);
        match kind {
            ENDED => Some(GuardReport::Ended(number)),
            FAILED => Some(GuardReport::Failed(number)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_is_read_and_half_of_it_is_nothing() {
        for report in [GuardReport::Ended(0x8b), GuardReport::Failed(2)] {
            let bytes = report.bytes();
            assert_eq!(GuardReport::read(&bytes[..]), Some(report));
            assert_eq!(GuardReport::read(&bytes[..4]), None);
        }
        assert_eq!(GuardReport::read(&b"x1234"[..]), None);
    }
}
