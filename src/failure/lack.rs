//! What was lacking, where that alone made something fail: it comes back, by itself or by a person's hand.

use std::io;

use rustix::io::Errno;

/// What comes back by itself, or by a person's hand, while a run waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lack {
    /// Blocks, files or quota of a disk.
    Space,
    /// The file system is mounted for reading alone.
    Writing,
    /// Files that this process, or the system, may have open.
    Files,
}

/// What the system lacked, if that is why it failed.
pub fn lack_of(error: &io::Error) -> Option<Lack> {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Some(Lack::Space),
        io::ErrorKind::ReadOnlyFilesystem => Some(Lack::Writing),
        _ => {
            let errno = Errno::from_io_error(error)?;
            let files = [Errno::MFILE, Errno::NFILE];
            files.contains(&errno).then_some(Lack::Files)
        }
    }
}

/// The same of what another program said, in the words of the system.
pub fn lack_in(text: &str) -> Option<Lack> {
    let words = [
        ("No space left on device", Lack::Space),
        ("Disk quota exceeded", Lack::Space),
        ("Read-only file system", Lack::Writing),
        ("Too many open files", Lack::Files),
    ];
    let found = words.iter().find(|(words, _)| text.contains(words));
    found.map(|(_, lack)| *lack)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lacks_is_told_by_the_error_or_by_its_words() {
        for (errno, lack) in [
            (28, Some(Lack::Space)),
            (122, Some(Lack::Space)),
            (30, Some(Lack::Writing)),
            (24, Some(Lack::Files)),
            (23, Some(Lack::Files)),
            (5, None),
            (13, None),
        ] {
            let error = io::Error::from_raw_os_error(errno);
            assert_eq!(lack_of(&error), lack, "{error}");
            assert_eq!(lack_in(&format!("fatal: x: {error}")), lack, "{error}");
        }
    }
}
