//! The files of the journal: numbered segments, the newest one open for appending.
//!
//! Invariant: a segment holds whole lines and at most one torn line at its end. Nothing here is synced, because the
//! journal is derived. Not here: what lines say.
#![allow(clippy::disallowed_methods)] // door: writes and prunes the journal

use std::fs;
use std::io::{self, BufWriter, IntoInnerError};
use std::path::{Path, PathBuf};

use super::line::{JournalLine, PIECE_BYTES};
use descent_system::files;

const PREFIX: &str = "seg-";
const ENDING: &str = ".log";
/// How many of the newest are never removed: the later of two may hold one line or none.
const KEPT_MIN: usize = 2;
/// Limit for reading one segment.
const SEGMENT_BYTES_MAX: u64 = 128 << 20;
/// Limit for reading all segments in one pass, the newest first: the files may come from a stranger.
const READ_BYTES_MAX: u64 = 512 << 20;
/// Segments have smaller numbers; a file with a larger one is not ours.
const NUMBER_MAX: u64 = 1 << 40;

/// A segment by its number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Segment {
    number: u64,
    path: PathBuf,
}

/// Every segment, the oldest first.
pub(super) fn segments(dir: &Path) -> Vec<Segment> {
    let mut found: Vec<Segment> = files::entries(dir).into_iter().filter_map(segment).collect();
    found.sort();
    found
}

fn segment(path: PathBuf) -> Option<Segment> {
    let number = path.file_name()?.to_str()?.strip_prefix(PREFIX)?.strip_suffix(ENDING)?;
    let number = number.parse().ok().filter(|number| *number < NUMBER_MAX)?;
    Some(Segment { number, path })
}

/// The path of a new segment.
pub(super) fn next(dir: &Path) -> io::Result<PathBuf> {
    files::make_dir_durably(dir)?;
    let newest = segments(dir).last().map_or(0, |one| one.number);
    Ok(dir.join(format!("{PREFIX}{:08}{ENDING}", newest + 1)))
}

pub(super) fn len(path: &Path) -> Option<u64> {
    let meta = path.symlink_metadata().ok()?;
    meta.is_file().then_some(meta.len())
}

/// Appends to a file that is `len` long, and returns its new length. A short write is taken back: a torn line would join
/// the next one.
pub(super) fn append(path: &Path, len: u64, line: &JournalLine<'_>) -> io::Result<u64> {
    let file = files::append(path)?;
    let mut out = BufWriter::with_capacity(PIECE_BYTES, &file);
    let written = line.write_to(&mut out);
    let flushed = out.into_inner().map_err(IntoInnerError::into_error);
    match written.and_then(|written| flushed.map(|_| written)) {
        Ok(written) => Ok(len + written),
        Err(error) => {
            let _ = file.set_len(len);
            Err(error)
        }
    }
}

/// How many bytes may be read of the segments in one pass, all together.
#[derive(Debug)]
pub(super) struct Allowance(u64);

impl Allowance {
    pub(super) fn new() -> Self {
        Self(READ_BYTES_MAX)
    }
}

/// The lines of a segment as they were written. Lines that cannot be read or exceed the allowance
/// are missing.
pub(super) fn read(segment: &Segment, allowance: &mut Allowance) -> Vec<u8> {
    let bytes_max = allowance.0.min(SEGMENT_BYTES_MAX);
    let lines = files::read_some(&segment.path, bytes_max).unwrap_or_default();
    allowance.0 -= lines.len() as u64;
    lines
}

/// Removes the oldest beyond these numbers of files and bytes.
pub(in super::super) fn prune(dir: &Path, segments_max: usize, bytes_max: u64) -> io::Result<()> {
    let mut bytes = 0;
    for (n, one) in segments(dir).iter().rev().enumerate() {
        bytes += len(&one.path).unwrap_or(0);
        let is_too_much = n >= segments_max || bytes > bytes_max;
        if n >= KEPT_MIN && is_too_much {
            fs::remove_file(&one.path)?;
        }
    }
    Ok(())
}
