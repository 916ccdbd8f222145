//! The log of a detached run: all that `run` prints.
//!
//! Invariant: it has the mode 0600. It takes 16 MiB at most: half of that is in the file itself, and the half before it
//! in `<run>.1.log`. At most [`LOGS_MAX`] runs have one; the oldest go first. Nothing depends on a log.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

use descent_core::id::RunId;

use crate::{files, process::detached, store::StatePlace};

/// Bytes of one file, without those that are printed between two looks.
const BYTES_MAX: u64 = 15 << 19;
/// Runs that have a log.
const LOGS_MAX: usize = 20;
const END: &str = ".log";
const OLDER: &str = ".1.log";

#[derive(Debug)]
pub(super) struct DetachedLog {
    pub(super) path: PathBuf,
    older: PathBuf,
    file: File,
    bytes_max: u64,
    /// Makes a file the output of this process.
    print_to: fn(&File) -> io::Result<()>,
}

impl DetachedLog {
    pub(super) fn make(place: &StatePlace, run: &RunId) -> io::Result<Self> {
        let dir = place.logs();
        files::make_dir(&dir)?;
        forget_oldest(&dir)?;
        let path = dir.join(format!("{run}{END}"));
        let file = files::append(&path)?;
        let print_to = detached::print_to;
        print_to(&file)?;
        Ok(Self {
            older: dir.join(format!("{run}{OLDER}")),
            path,
            file,
            bytes_max: BYTES_MAX,
            print_to,
        })
    }

    /// Begins a new file if this one is full.
    pub(super) fn tend(&mut self) {
        let is_full = self.file.metadata().is_ok_and(|meta| meta.len() >= self.bytes_max);
        if is_full && let Err(error) = self.turn_over() {
            tracing::warn!(%error, "the log cannot be begun anew");
        }
    }

    fn turn_over(&mut self) -> io::Result<()> {
        files::remove(&self.older)?;
        files::move_to(&self.path, &self.older)?;
        self.file = files::append(&self.path)?;
        (self.print_to)(&self.file)
    }

    pub(super) fn remove(&self) {
        let _ = files::remove(&self.path);
    }
}

/// Makes room for one more. The names of runs are in the order of their time.
fn forget_oldest(dir: &Path) -> io::Result<()> {
    let mut paths = files::entries(dir);
    paths.sort();
    let name = |path: &PathBuf| path.to_string_lossy().into_owned();
    let newest = |path: &&PathBuf| !name(path).ends_with(OLDER);
    let logs: Vec<&PathBuf> = paths.iter().filter(newest).collect();
    let surplus = (logs.len() + 1).saturating_sub(LOGS_MAX);
    for path in &logs[..surplus.min(logs.len())] {
        let older = name(path).replace(END, OLDER);
        files::remove(Path::new(&older))?;
        files::remove(path)?;
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)] // plants logs
mod tests {
    use super::*;

    #[test]
    fn the_oldest_logs_make_room_and_nothing_else_goes() {
        let dir = tempfile::tempdir().unwrap();
        for n in 10..(10 + LOGS_MAX) {
            std::fs::write(dir.path().join(format!("{n}.log")), "x").unwrap();
        }
        for name in ["10.1.log", "11.1.log"] {
            std::fs::write(dir.path().join(name), "x").unwrap();
        }
        forget_oldest(dir.path()).unwrap();
        let mut left = files::entries(dir.path());
        left.sort();
        let names: Vec<_> = left.iter().map(|path| path.file_name().unwrap()).collect();
        assert_eq!(names.len(), LOGS_MAX);
        assert_eq!(names[..2], ["11.1.log", "11.log"]);
    }

    #[test]
    fn a_full_log_becomes_the_older_half() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.log");
        std::fs::write(&path, "first").unwrap();
        let mut log = DetachedLog {
            older: dir.path().join("r.1.log"),
            file: files::append(&path).unwrap(),
            path: path.clone(),
            bytes_max: 6,
            print_to: |_| Ok(()),
        };
        for (text, older, present) in
            [("", None, "first"), ("!", Some("first!"), ""), ("second", Some("second"), "")]
        {
            std::io::Write::write_all(&mut log.file, text.as_bytes()).unwrap();
            log.tend();
            let read = |path: &Path| std::fs::read_to_string(path).ok();
            assert_eq!(read(&log.older).as_deref(), older);
            assert_eq!(read(&path).as_deref(), Some(present));
        }
    }
}
