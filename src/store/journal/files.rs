//! The files of the journal: numbered segments, the newest one open for appending, the others
//! compressed.
//!
//! Invariant: a segment holds whole lines and at most one torn line at its end. A compressed
//! segment has one gzip member per line: `zcat` reads it, and a damaged byte costs one line.
//! Nothing here is synced, because the journal is derived. Not here: what lines say.
#![allow(clippy::disallowed_methods)] // door: writes, compresses and prunes the journal

use std::fs;
use std::io::{self, BufRead, BufReader, BufWriter, IntoInnerError, Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;

use super::line::{JournalLine, PIECE_BYTES};
use crate::files;

const PREFIX: &str = "seg-";
const OPEN: &str = ".log";
const CLOSED: &str = ".log.gz";
/// How many of the newest are never removed: the later of two may hold one line or none.
const KEPT_MIN: usize = 2;
/// The first bytes of a gzip member.
const MAGIC: [u8; 3] = [0x1f, 0x8b, 0x08];
/// More than the largest state as a line; anything that unpacks to more is damaged.
const LINE_BYTES_MAX: u64 = 64 << 20;
/// Limit for reading one segment and for unpacking all its members together.
const SEGMENT_BYTES_MAX: u64 = 128 << 20;
/// Limit for unpacking all segments in one pass, the newest first: the files may come from a
/// stranger.
const READ_BYTES_MAX: u64 = 512 << 20;
/// Segments have smaller numbers; a file with a larger one is not ours.
const NUMBER_MAX: u64 = 1 << 40;

/// A segment by its number; both forms of it may exist while it is compressed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Segment {
    number: u64,
    path: PathBuf,
    is_closed: bool,
}

/// Every segment once, the oldest first.
pub(super) fn segments(dir: &Path) -> Vec<Segment> {
    let mut found: Vec<Segment> = files::entries(dir).into_iter().filter_map(segment).collect();
    // The closed form comes last: it is renamed into place when it is complete.
    found.sort_by_key(|one| (one.number, one.is_closed));
    found.reverse();
    found.dedup_by_key(|one| one.number);
    found.reverse();
    found
}

fn segment(path: PathBuf) -> Option<Segment> {
    let name = path.file_name()?.to_str()?;
    let rest = name.strip_prefix(PREFIX)?;
    let (number, is_closed) = match rest.strip_suffix(CLOSED) {
        Some(number) => (number, true),
        None => (rest.strip_suffix(OPEN)?, false),
    };
    Some(Segment {
        number: number.parse().ok().filter(|number| *number < NUMBER_MAX)?,
        is_closed,
        path,
    })
}

/// The path of a new segment.
pub(super) fn next(dir: &Path) -> io::Result<PathBuf> {
    files::make_dir_durably(dir)?;
    let newest = segments(dir).last().map_or(0, |one| one.number);
    Ok(dir.join(format!("{PREFIX}{:08}{OPEN}", newest + 1)))
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

/// How many bytes the segments may unpack to in one pass, all together.
#[derive(Debug)]
pub(super) struct Allowance(u64);

impl Allowance {
    pub(super) fn new() -> Self {
        Self(READ_BYTES_MAX)
    }

    /// How many bytes one more segment may unpack to.
    fn of_segment(&self) -> u64 {
        self.0.min(SEGMENT_BYTES_MAX)
    }
}

/// The lines of a segment as they were written. Lines that cannot be read or exceed the allowance
/// are missing.
pub(super) fn read(segment: &Segment, allowance: &mut Allowance) -> Vec<u8> {
    let bytes_max = allowance.of_segment();
    let (lines, used) = try_read(segment, bytes_max).unwrap_or_default();
    allowance.0 -= used.min(allowance.0);
    lines
}

/// The lines, and the number of bytes unpacked for them.
fn try_read(segment: &Segment, bytes_max: u64) -> io::Result<(Vec<u8>, u64)> {
    let bytes = files::read_some(&segment.path, bytes_max)?;
    if segment.is_closed {
        Ok(unfolded(&bytes, bytes_max))
    } else {
        let used = bytes.len() as u64;
        Ok((bytes, used))
    }
}

fn unfolded(mut bytes: &[u8], bytes_max: u64) -> (Vec<u8>, u64) {
    let (mut lines, mut used) = (Vec::new(), 0);
    while !bytes.is_empty() && used < bytes_max {
        let known = lines.len();
        let mut member = GzDecoder::new(bytes);
        let line_max = LINE_BYTES_MAX.min(bytes_max - used);
        let read = member.by_ref().take(line_max).read_to_end(&mut lines);
        let line_bytes = (lines.len() - known) as u64;
        used += line_bytes;
        bytes = match read {
            Ok(1..) if line_bytes < line_max => member.into_inner(),
            _ => {
                lines.truncate(known);
                // Lines before and after it are members of their own.
                let rest = bytes.get(1..).unwrap_or_default();
                let next = rest.windows(MAGIC.len()).position(|three| three == MAGIC);
                next.and_then(|at| rest.get(at..)).unwrap_or_default()
            }
        };
    }
    (lines, used)
}

/// Compresses every segment but the newest, which may be appended to.
pub(super) fn compress_closed(dir: &Path) -> io::Result<()> {
    let all = segments(dir);
    let older = all.iter().rev().skip(1).filter(|one| !one.is_closed);
    for one in older {
        let unfinished = dir.join(format!(".{}.{}.tmp", one.number, std::process::id()));
        // A file that is not ours stays as it is.
        let is_ours = len(&one.path).is_some_and(|len| len <= SEGMENT_BYTES_MAX);
        let Some(lines) = is_ours.then(|| files::open(&one.path).ok()).flatten() else {
            continue;
        };
        let done = compress(lines, &unfinished)
            .and_then(|()| fs::rename(&unfinished, one.path.with_extension("log.gz")));
        if let Err(error) = done {
            let _ = fs::remove_file(&unfinished);
            return Err(error);
        }
    }
    remove_leftovers(dir);
    Ok(())
}

/// Removes open forms of compressed segments, and files that a killed process was writing.
fn remove_leftovers(dir: &Path) {
    let all = segments(dir);
    for path in files::entries(dir) {
        let is_compressed = segment(path.clone()).is_some_and(|one| {
            let is_closed = |other: &Segment| other.number == one.number && other.is_closed;
            !one.is_closed && all.iter().any(is_closed)
        });
        let is_unfinished = path.extension().is_some_and(|end| end == "tmp");
        if is_compressed || is_unfinished {
            let _ = fs::remove_file(path);
        }
    }
}

/// Holds a piece of a line at a time: a line may hold a whole state.
fn compress(lines: fs::File, to: &Path) -> io::Result<()> {
    files::remove(to)?;
    let mut file = BufWriter::new(files::make_new(to)?);
    let mut lines = BufReader::with_capacity(PIECE_BYTES, lines.take(SEGMENT_BYTES_MAX));
    while !lines.fill_buf()?.is_empty() {
        let mut member = GzEncoder::new(&mut file, Compression::fast());
        copy_line(&mut lines, &mut member)?;
        member.finish()?;
    }
    file.flush()
}

fn copy_line(lines: &mut impl BufRead, to: &mut impl Write) -> io::Result<()> {
    loop {
        let held = lines.fill_buf()?;
        let end = held.iter().position(|byte| *byte == b'\n');
        let count = end.map_or(held.len(), |end| end + 1);
        to.write_all(held.get(..count).unwrap_or_default())?;
        lines.consume(count);
        if end.is_some() || count == 0 {
            return Ok(());
        }
    }
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
