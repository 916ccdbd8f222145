//! The events of a stream (server-sent events), from bytes however they are cut.
//!
//! Invariant: a line and an event are bounded. Bytes that are no UTF-8 are an error, never replaced.

/// Bytes of one event at most.
const EVENT_BYTES_MAX: usize = 4 << 20;
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Why bytes are no events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamFault {
    NotText,
    TooLong,
}

/// Takes bytes and gives the data of whole events.
#[derive(Debug, Default)]
pub(super) struct StreamReader {
    /// The line that is not whole yet.
    line: Vec<u8>,
    /// The data lines of the event that is not whole yet.
    data: Option<String>,
    /// The last byte was a carriage return: a line feed after it belongs to it.
    is_after_return: bool,
    is_begun: bool,
}

impl StreamReader {
    /// The data of the events that end in these bytes.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<Vec<String>, StreamFault> {
        let mut found = Vec::new();
        for byte in bytes {
            let was_after_return = std::mem::take(&mut self.is_after_return);
            match byte {
                b'\n' if was_after_return => {}
                b'\n' | b'\r' => {
                    self.is_after_return = *byte == b'\r';
                    found.extend(self.end_line()?);
                }
                _ => {
                    self.line.push(*byte);
                    self.within()?;
                }
            }
        }
        Ok(found)
    }

    /// Whether the stream ended in the middle of an event.
    pub(super) fn is_cut(&self) -> bool {
        !self.line.is_empty() || self.data.is_some()
    }

    fn within(&self) -> Result<(), StreamFault> {
        let data = self.data.as_ref().map_or(0, String::len);
        if self.line.len() + data > EVENT_BYTES_MAX { Err(StreamFault::TooLong) } else { Ok(()) }
    }

    fn end_line(&mut self) -> Result<Option<String>, StreamFault> {
        let line = std::mem::take(&mut self.line);
        let mut line = &line[..];
        if !std::mem::replace(&mut self.is_begun, true) {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        let line = str::from_utf8(line).map_err(|_| StreamFault::NotText)?;
        if line.is_empty() {
            return Ok(self.data.take());
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        if field == "data" {
            let value = value.strip_prefix(' ').unwrap_or(value);
            match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look like chance, the same at each run.
    struct Chance(u64);

    impl Chance {
        fn next(&mut self, below: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (self.0 >> 33) as usize % below
        }
    }

    const STREAM: &str = "\u{feff}event: a\r\ndata: {\"t\": \"grüße 🦀\"}\r\n\r\n: ping\n\ndata:one\ndata: two\n\n\
                          id: 7\rdata: three\r\rretry: 1\n\ndata\n\nevent: x\ndata: [DONE]\n\n";

    #[test]
    fn events_are_the_same_however_their_bytes_are_cut() {
        let wanted = ["{\"t\": \"grüße 🦀\"}", "one\ntwo", "three", "", "[DONE]"];
        let mut chance = Chance(7);
        for _ in 0..10_000 {
            let (mut reader, mut found) = (StreamReader::default(), Vec::new());
            let mut rest = STREAM.as_bytes();
            while !rest.is_empty() {
                let (chunk, after) = rest.split_at(1 + chance.next(rest.len().min(24)));
                found.extend(reader.take(chunk).unwrap());
                rest = after;
            }
            assert_eq!(found, wanted);
            assert!(!reader.is_cut());
        }
    }

    #[test]
    fn an_event_that_is_cut_is_no_event_and_bytes_that_are_no_text_are_told() {
        let mut reader = StreamReader::default();
        assert!(reader.take(b"data: {\"a\"").unwrap().is_empty());
        assert!(reader.is_cut());
        let mut reader = StreamReader::default();
        let whole = "data: \u{fc}\n\n".as_bytes();
        assert!(reader.take(&whole[..7]).unwrap().is_empty());
        assert_eq!(reader.take(b"\n\n"), Err(StreamFault::NotText));
        let mut reader = StreamReader::default();
        let endless = vec![b'x'; EVENT_BYTES_MAX + 1];
        assert_eq!(reader.take(&endless), Err(StreamFault::TooLong));
    }
}
