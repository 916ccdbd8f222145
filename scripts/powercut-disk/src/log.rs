//! The writes that reached the disk, in their order: a record a write, a record a flush. A place in the log is its
//! length in bytes.
//!
//! Invariant: a record is in the file before its writer gets an answer. So all that was seen done by the time the log
//! had a length lies below that length.

use std::{
    fs::File,
    io::{self, BufReader, Read, Write},
    path::Path,
};

const WRITE: u64 = 1;
const FLUSH: u64 = 2;
/// The bytes of a kind, an offset and a length.
const HEADER_BYTES: usize = 24;
/// Far more than the kernel hands over in one request.
const WRITE_BYTES_MAX: u64 = 64 << 20;

pub struct Record {
    /// The place in the log at which it ends.
    pub end: u64,
    pub what: What,
}

pub enum What {
    Write { offset: u64, data: Vec<u8> },
    Flush,
}

pub fn append_write(log: &mut File, offset: u64, data: &[u8]) -> io::Result<()> {
    let mut record = header(WRITE, offset, data.len() as u64);
    record.extend_from_slice(data);
    log.write_all(&record)
}

pub fn append_flush(log: &mut File) -> io::Result<()> {
    log.write_all(&header(FLUSH, 0, 0))
}

fn header(kind: u64, offset: u64, len: u64) -> Vec<u8> {
    [kind, offset, len]
        .iter()
        .flat_map(|n| n.to_le_bytes())
        .collect()
}

pub fn len(log: &Path) -> io::Result<u64> {
    Ok(log.metadata()?.len())
}

/// Every record that ends at or before `cut`.
pub fn read(log: &Path, cut: u64, mut each: impl FnMut(Record)) -> io::Result<()> {
    let mut input = BufReader::with_capacity(1 << 20, File::open(log)?);
    let mut end = 0;
    loop {
        let mut header = [0; HEADER_BYTES];
        match input.read_exact(&mut header) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            other => other?,
        }
        let number = |at: usize| {
            let bytes = header[at..at + 8].try_into();
            u64::from_le_bytes(bytes.expect("BUG: eight bytes"))
        };
        let (kind, offset, len) = (number(0), number(8), number(16));
        end += HEADER_BYTES as u64 + len;
        if end > cut {
            return Ok(());
        }
        if len > WRITE_BYTES_MAX || !matches!(kind, WRITE | FLUSH) {
            return Err(io::Error::other("this is no log of a disk"));
        }
        let mut data = vec![0; usize::try_from(len).map_err(io::Error::other)?];
        input.read_exact(&mut data)?;
        let what = match kind {
            FLUSH => What::Flush,
            _ => What::Write { offset, data },
        };
        each(Record { end, what });
    }
}
