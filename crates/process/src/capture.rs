//! The part of a program's output that is kept: its beginning, its end and its size. Short ends are
//! for the state, long ones for a file beside it.
//!
//! Invariant: no secret is in it, but for standard output that is kept whole. Memory is bounded by constants and
//! `whole_stdout_bytes_max`, never by the program.
//! Not here: reading the pipes (`process`), what the output means (`agent`, `verify`).

#![allow(clippy::disallowed_methods)] // door: the log of a job

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use descent_system::{files, secrets};

/// Bytes of [`Capture::head`], and the same number of [`Captured::tail`].
pub(crate) const KEPT_BYTES: usize = 4096;
/// Bytes of [`Capture::long`] at most, without the line in its middle. One half is the beginning,
/// the other the end.
pub(crate) const LONG_BYTES_MAX: usize = 1024 * 1024;
const LONG_END_BYTES: usize = LONG_BYTES_MAX / 2;
/// Bytes written to a log file; the rest is left out.
pub(crate) const LOG_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// A longer line is looked through for secrets in parts, which share so many bytes.
const LINE_BYTES_MAX: usize = 256 * 1024;
const SHARED_BYTES: usize = 4096;
/// Characters of [`Capture::last_line`].
pub(crate) const LAST_LINE_CHARS_MAX: usize = 300;

/// Beginning and end of an output of any length.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Capture {
    head: Vec<u8>,
    /// Ends with the last bytes of the whole output. It is trimmed lazily, so it may be twice as
    /// long as needed.
    tail: Vec<u8>,
    total_bytes: u64,
}

impl Capture {
    pub fn push(&mut self, bytes: &[u8]) {
        self.total_bytes += bytes.len() as u64;
        let room = LONG_END_BYTES - self.head.len();
        self.head.extend_from_slice(&bytes[..bytes.len().min(room)]);
        let newest = &bytes[bytes.len().saturating_sub(LONG_END_BYTES)..];
        if self.tail.len() + newest.len() > 2 * LONG_END_BYTES {
            let surplus = (self.tail.len() + newest.len()).saturating_sub(LONG_END_BYTES);
            self.tail.drain(..surplus.min(self.tail.len()));
        }
        self.tail.extend_from_slice(newest);
    }

    /// Leaves bytes out, of which as many follow as an end has.
    fn skip(&mut self, bytes: usize) {
        self.total_bytes += bytes as u64;
        self.tail.clear();
    }

    /// Whether its beginning is whole, so that of all that follows only the end is kept.
    fn has_begun(&self) -> bool {
        self.head.len() == LONG_END_BYTES
    }

    /// The whole output as it was printed; beyond 1 MiB, its beginning and its end.
    #[must_use]
    pub fn long(&self) -> Vec<u8> {
        let total = usize::try_from(self.total_bytes).unwrap_or(usize::MAX);
        let after_head = total.saturating_sub(self.head.len()).min(LONG_END_BYTES);
        let tail = &self.tail[self.tail.len().saturating_sub(after_head)..];
        let missing = total - self.head.len() - tail.len();
        let gap = if missing > 0 { left_out(missing as u64) } else { String::new() };
        [&self.head[..], gap.as_bytes(), tail].concat()
    }

    /// The first 4 KiB; bytes that are not UTF-8 are replaced.
    #[must_use]
    pub fn head(&self) -> String {
        let head = &self.head[..self.head.len().min(KEPT_BYTES)];
        lossy(without_cut_end(head, (head.len() as u64) < self.total_bytes))
    }

    /// The last 4 KiB; bytes that are not UTF-8 are replaced. A short output is both head and tail.
    #[must_use]
    pub fn tail(&self) -> String {
        let bytes = self.tail_bytes();
        lossy(without_cut_start(bytes, (bytes.len() as u64) < self.total_bytes))
    }

    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// The last line that is not blank, without the blanks around it. A carriage return ends a line
    /// too, so the last state of a progress bar is its line.
    #[must_use]
    pub fn last_line(&self) -> Option<String> {
        let tail = self.tail();
        let line = tail.rsplit(['\n', '\r']).map(str::trim).find(|line| !line.is_empty())?;
        Some(line.chars().take(LAST_LINE_CHARS_MAX).collect())
    }

    /// At most `bytes_max` bytes: the whole output, or its beginning and its end with the number of
    /// bytes missing between them.
    #[must_use]
    pub fn excerpt(&self, bytes_max: usize) -> String {
        // Replacing bytes that are not UTF-8 makes a text longer, never shorter.
        if self.total_bytes <= bytes_max.min(LONG_BYTES_MAX) as u64 {
            let whole = lossy(&self.long());
            if whole.len() <= bytes_max {
                return whole;
            }
        }
        // The greatest length of the line in the middle.
        let room = bytes_max.saturating_sub(left_out(self.total_bytes).len());
        if room < 2 {
            return prefix(&self.head(), bytes_max).to_owned();
        }
        let head = prefix(&self.head(), room / 2).to_owned();
        let tail = suffix(&self.tail(), room - room / 2).to_owned();
        // Lossy text may be longer than its bytes, so the shown text is counted.
        let shown = (head.len() + tail.len()) as u64;
        let missing = self.total_bytes.saturating_sub(shown);
        format!("{head}{}{tail}", left_out(missing))
    }

    fn tail_bytes(&self) -> &[u8] {
        &self.tail[self.tail.len().saturating_sub(KEPT_BYTES)..]
    }
}

fn left_out(bytes: u64) -> String {
    format!("\n… {bytes} bytes left out …\n")
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Drops a character that the cut split, so that it doesn't look like damaged output.
fn without_cut_end(bytes: &[u8], is_cut: bool) -> &[u8] {
    let last = bytes.utf8_chunks().last().map_or(&[][..], |chunk| chunk.invalid());
    if is_cut && incomplete(last) { &bytes[..bytes.len() - last.len()] } else { bytes }
}

fn incomplete(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

fn without_cut_start(bytes: &[u8], is_cut: bool) -> &[u8] {
    if !is_cut {
        return bytes;
    }
    let rest = bytes.iter().take(3).take_while(|byte| **byte & 0xC0 == 0x80);
    &bytes[rest.count()..]
}

fn prefix(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

fn suffix(text: &str, bytes_max: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(bytes_max))..]
}

/// Standard output alone, for checks that compare it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WholeOutput {
    pub bytes: Vec<u8>,
    /// The output was longer than the cap.
    pub truncated: bool,
}

/// The destination of everything that is read from one job.
#[derive(Debug)]
pub struct Sink {
    pub output: Capture,
    pub stdout: Option<WholeOutput>,
    stdout_bytes_max: usize,
    log: Option<OutputLog>,
    /// The last line of each stream, which may end in the middle of a secret.
    open: [Vec<u8>; 2],
}

/// A copy of the output for people. The first bytes make its file, because most jobs that succeed
/// print nothing.
#[derive(Debug)]
pub struct OutputLog {
    path: PathBuf,
    file: Option<File>,
    bytes_left: u64,
}

impl OutputLog {
    /// Removes whatever is at `path`; makes none yet.
    pub fn new(path: &Path) -> io::Result<OutputLog> {
        files::remove(path)?;
        Ok(OutputLog { path: path.to_owned(), file: None, bytes_left: LOG_BYTES_MAX })
    }

    /// A log that goes on after what is there.
    pub fn after(path: &Path) -> io::Result<OutputLog> {
        let file = files::append(path)?;
        let there = file.metadata()?.len();
        let bytes_left = LOG_BYTES_MAX.saturating_sub(there);
        Ok(OutputLog { path: path.to_owned(), file: Some(file), bytes_left })
    }

    fn file(&mut self) -> io::Result<&mut File> {
        if self.file.is_none() {
            self.file = Some(files::make_new(&self.path)?);
        }
        self.file.as_mut().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Returns whether there is room for more.
    fn take(&mut self, bytes: &[u8]) -> io::Result<bool> {
        if bytes.is_empty() {
            return Ok(true);
        }
        let left = usize::try_from(self.bytes_left).unwrap_or(usize::MAX);
        let fits = bytes.len().min(left);
        self.bytes_left -= fits as u64;
        let file = self.file()?;
        file.write_all(&bytes[..fits])?;
        if fits < bytes.len() {
            file.write_all(b"\n[the log ends here: 8 MiB]\n")?;
        }
        Ok(fits == bytes.len())
    }
}

impl Sink {
    pub fn new(stdout_bytes_max: usize, log: Option<OutputLog>) -> Sink {
        Sink {
            output: Capture::default(),
            stdout: (stdout_bytes_max > 0).then(WholeOutput::default),
            stdout_bytes_max,
            log,
            open: Default::default(),
        }
    }

    pub fn take(&mut self, bytes: &[u8], is_stdout: bool) {
        if let Some(whole) = self.stdout.as_mut().filter(|_| is_stdout) {
            let room = self.stdout_bytes_max - whole.bytes.len();
            whole.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
            whole.truncated |= bytes.len() > room;
        }
        let secrets = secrets::all();
        if secrets.is_empty() {
            return self.show(bytes);
        }
        let open = &mut self.open[usize::from(is_stdout)];
        let before = open.len();
        open.extend_from_slice(bytes);
        // The end alone is still shown: the rest need not be looked through.
        if self.log.is_none() && self.output.has_begun() {
            if open.len() > 2 * LONG_END_BYTES {
                let surplus = open.len() - LONG_END_BYTES;
                open.drain(..surplus);
                self.output.skip(surplus);
            }
            return;
        }
        let is_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
        let end = match bytes.iter().rposition(is_end) {
            Some(at) => before + at + 1,
            None if open.len() < LINE_BYTES_MAX => return,
            None if secrets.in_text(open).is_some() => open.len(),
            None => open.len() - SHARED_BYTES,
        };
        let rest = open.split_off(end);
        let whole = std::mem::replace(open, rest);
        self.show(&secrets.hide_bytes(&whole));
    }

    /// Shows the lines that have no end.
    pub fn finish(&mut self) {
        for open in std::mem::take(&mut self.open) {
            self.show(&secrets::all().hide_bytes(&open));
        }
    }

    fn show(&mut self, bytes: &[u8]) {
        self.output.push(bytes);
        self.log(bytes);
    }

    /// The log is only a convenience for people: a full disk ends the log, not the job.
    fn log(&mut self, bytes: &[u8]) {
        let goes_on = self.log.as_mut().map(|log| log.take(bytes));
        if !matches!(goes_on, Some(Ok(true))) {
            self.log = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(chunks: &[&[u8]]) -> Capture {
        let mut captured = Capture::default();
        chunks.iter().for_each(|chunk| captured.push(chunk));
        captured
    }

    #[test]
    fn a_short_output_is_kept_whole() {
        let short = captured(&[b"one\n", b"two\n"]);
        assert_eq!(short.head(), "one\ntwo\n");
        assert_eq!(short.tail(), "one\ntwo\n");
        assert_eq!(short.excerpt(100), "one\ntwo\n");
        assert_eq!(short.total_bytes(), 8);
    }

    #[test]
    fn an_output_of_up_to_twice_the_kept_size_has_no_gap() {
        let text: String = (0..1500).map(|n| format!("{n:04}\n")).collect();
        let chunks: Vec<&[u8]> = text.as_bytes().chunks(7).collect();
        assert_eq!(captured(&chunks).excerpt(10_000), text);
    }

    #[test]
    fn a_long_output_keeps_its_ends_however_it_was_cut_into_chunks() {
        let text: String = (0..100_000).map(|n| format!("{n:06}\n")).collect();
        for size in [1, 13, 4095, 4096, 4097, 65_536] {
            let chunks: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            let long = captured(&chunks);
            assert_eq!(long.long(), text.as_bytes());
            assert_eq!(long.head().as_bytes(), &text.as_bytes()[..KEPT_BYTES]);
            assert_eq!(long.tail().as_bytes(), &text.as_bytes()[text.len() - KEPT_BYTES..]);
            assert_eq!(long.last_line().unwrap(), "099999");
        }
    }

    #[test]
    fn of_an_endless_output_a_mebibyte_is_kept_and_the_gap_is_told() {
        let text: String = (0..600_000).map(|n| format!("{n:06}\n")).collect();
        for size in [1000, 65_536, text.len()] {
            let chunks: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            let endless = captured(&chunks);
            assert!(endless.tail.len() <= LONG_BYTES_MAX);
            let long = String::from_utf8(endless.long()).unwrap();
            let gap = left_out((text.len() - LONG_BYTES_MAX) as u64);
            let (head, tail) = long.split_once(&gap).unwrap();
            assert_eq!(head.len() + tail.len(), LONG_BYTES_MAX);
            assert!(text.starts_with(head) && text.ends_with(tail));
        }
    }

    #[test]
    fn an_excerpt_never_exceeds_its_size_and_says_how_much_is_missing() {
        let long = captured(&[&b"\xffx\xc3\xa4".repeat(5000)]);
        for bytes_max in 0..600 {
            assert!(long.excerpt(bytes_max).len() <= bytes_max, "{bytes_max}");
        }
        let plain = captured(&[&b"a".repeat(10_000), b"z"]);
        let excerpt = plain.excerpt(100);
        assert!(excerpt.starts_with("aaa") && excerpt.ends_with("az"), "{excerpt}");
        let shown = excerpt.matches(['a', 'z']).count();
        assert!(excerpt.contains(&format!("… {} bytes left out …", 10_001 - shown)), "{excerpt}");
    }

    #[test]
    fn a_character_on_the_cut_is_left_out_rather_than_shown_as_damage() {
        let long = captured(&[b"x", "ä".repeat(6000).as_bytes(), b"y"]);
        assert!(!long.head().contains('\u{fffd}'));
        assert!(!long.tail().contains('\u{fffd}'));
        assert!(captured(&[b"bad \xc3"]).head().contains('\u{fffd}'));
    }

    #[test]
    fn the_last_line_is_not_blank_and_not_endless() {
        assert_eq!(captured(&[b"a\n b \n\n \t\n"]).last_line().unwrap(), "b");
        assert_eq!(captured(&[b" 10%\r 20%\r"]).last_line().unwrap(), "20%");
        assert_eq!(captured(&[b"\n\n"]).last_line(), None);
        assert_eq!(captured(&[]).last_line(), None);
        let endless = captured(&[&b"q".repeat(3000)]);
        assert_eq!(endless.last_line().unwrap().len(), LAST_LINE_CHARS_MAX);
    }

    #[test]
    fn whole_standard_output_stops_at_its_cap_and_says_so() {
        let mut sink = Sink::new(5, None);
        sink.take(b"abc", true);
        sink.take(b"ERR", false);
        sink.take(b"de", true);
        assert_eq!(sink.stdout, Some(WholeOutput { bytes: b"abcde".to_vec(), truncated: false }));
        sink.take(b"f", true);
        assert_eq!(sink.stdout, Some(WholeOutput { bytes: b"abcde".to_vec(), truncated: true }));
        sink.finish();
        assert_eq!(sink.output.head(), "abcERRdef");
    }
}
