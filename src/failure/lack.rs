//! A missing resource that alone made something fail: it comes back, by itself or by a person's hand.

use std::io;

use rustix::io::Errno;

/// A resource that comes back, by itself or by a person's hand, while a run waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lack {
    /// Blocks, files or quota of a disk.
    Space,
    /// The file system is mounted for reading alone.
    Writing,
    /// Files that this process, or the system, may have open.
    Files,
    /// Processes that a person may have, or memory for one more.
    Processes,
}

/// The missing resource, if that is the cause of the error.
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

/// The same for a program that could not be started.
pub fn lack_at_start(error: &io::Error) -> Option<Lack> {
    lack_of(error).or_else(|| {
        let errno = Errno::from_io_error(error)?;
        let processes = [Errno::AGAIN, Errno::NOMEM];
        processes.contains(&errno).then_some(Lack::Processes)
    })
}

/// The same for another program's message, in the words of the system.
pub fn lack_in(text: &str) -> Option<Lack> {
    let words = [
        ("No space left on device", Lack::Space),
        // git's message for a write that wrote nothing.
        ("Out of diskspace", Lack::Space),
        ("Disk quota exceeded", Lack::Space),
        ("Read-only file system", Lack::Writing),
        ("Too many open files", Lack::Files),
        ("Resource temporarily unavailable", Lack::Processes),
        ("Cannot allocate memory", Lack::Processes),
    ];
    let found = words.iter().find(|(words, _)| text.contains(words));
    found.map(|(_, lack)| *lack)
}

/// Whether the text says that a disk failed, or that a program was killed or cut off. Then its subject is not to blame.
pub fn is_from_outside(text: &str) -> bool {
    let words = ["Input/output error", "signal: ", "did not end within"];
    words.iter().any(|words| text.contains(words))
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
            (11, Some(Lack::Processes)),
            (12, Some(Lack::Processes)),
            (5, None),
            (13, None),
        ] {
            let error = io::Error::from_raw_os_error(errno);
            let of_any = lack.filter(|lack| *lack != Lack::Processes);
            assert_eq!(lack_of(&error), of_any, "{error}");
            assert_eq!(lack_at_start(&error), lack, "{error}");
            assert_eq!(lack_in(&format!("fatal: x: {error}")), lack, "{error}");
        }
        let of_git = "fatal: sha1 file 'index.lock' write error. Out of diskspace";
        assert_eq!(lack_in(of_git), Some(Lack::Space));
    }
}
