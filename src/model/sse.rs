//! The events of a stream (server-sent events), from bytes however they are cut.
//!
//! Invariant: a line is bounded. Bytes that are no UTF-8 are an error, never replaced.

use tokio_util::{
    bytes::BytesMut,
    codec::{Decoder, LinesCodec, LinesCodecError},
};

/// Bytes of one line at most.
const LINE_BYTES_MAX: usize = 4 << 20;

/// Takes bytes and gives the data of whole events.
#[derive(Debug)]
pub(super) struct StreamReader {
    lines: LinesCodec,
    /// The line that is not whole yet.
    rest: BytesMut,
    /// The data lines of the event that is not whole yet.
    data: Option<String>,
}

impl StreamReader {
    pub(super) fn new() -> Self {
        let lines = LinesCodec::new_with_max_length(LINE_BYTES_MAX);
        Self { lines, rest: BytesMut::new(), data: None }
    }

    /// The data of the events that end in these bytes.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<Vec<String>, LinesCodecError> {
        self.rest.extend_from_slice(bytes);
        let mut found = Vec::new();
        while let Some(line) = self.lines.decode(&mut self.rest)? {
            let line = line.trim_start_matches('\u{feff}');
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match (field, &mut self.data) {
                ("data", Some(data)) => data.extend(["\n", value]),
                ("data", None) => self.data = Some(value.to_owned()),
                _ if line.is_empty() => found.extend(self.data.take()),
                _ => {}
            }
        }
        Ok(found)
    }

    /// Whether the stream ended in the middle of an event.
    pub(super) fn is_cut(&self) -> bool {
        !self.rest.is_empty() || self.data.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = "\u{feff}event: a\r\ndata: {\"t\": \"grüße 🦀\"}\r\n\r\n: ping\n\ndata:one\ndata: two\n\n\
                          id: 7\ndata: three\n\nretry: 1\n\ndata\n\nevent: x\ndata: [DONE]\n\n";

    #[test]
    fn events_are_the_same_however_their_bytes_are_cut() {
        let wanted = ["{\"t\": \"grüße 🦀\"}", "one\ntwo", "three", "", "[DONE]"];
        for length in 1..STREAM.len() {
            let (mut reader, mut found) = (StreamReader::new(), Vec::new());
            for chunk in STREAM.as_bytes().chunks(length) {
                found.extend(reader.take(chunk).unwrap());
            }
            assert_eq!(found, wanted);
            assert!(!reader.is_cut());
        }
    }

    #[test]
    fn an_event_that_is_cut_is_no_event_and_bytes_that_are_no_text_are_told() {
        let mut reader = StreamReader::new();
        assert!(reader.take(b"data: {\"a\"").unwrap().is_empty());
        assert!(reader.is_cut());
        let mut reader = StreamReader::new();
        let whole = "data: \u{fc}\n\n".as_bytes();
        assert!(reader.take(&whole[..7]).unwrap().is_empty());
        assert!(matches!(reader.take(b"\n\n"), Err(LinesCodecError::Io(_))));
        let mut reader = StreamReader::new();
        let endless = vec![b'x'; LINE_BYTES_MAX + 1];
        let error = reader.take(&endless).unwrap_err();
        assert!(matches!(error, LinesCodecError::MaxLineLengthExceeded));
    }
}
