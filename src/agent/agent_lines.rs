//! The lines that an agent prints, of limited length.
//!
//! Invariant: bytes that are no UTF-8 end nothing; they become the replacement character.

use tokio_util::{
    bytes::{Bytes, BytesMut},
    codec::{AnyDelimiterCodec, AnyDelimiterCodecError, Decoder},
};

/// Bytes of a line at most.
pub(super) const LINE_BYTES_MAX: usize = 10 << 20;

#[derive(Debug)]
pub(super) struct AgentLines(AnyDelimiterCodec);

impl AgentLines {
    pub(super) fn new() -> Self {
        let codec =
            AnyDelimiterCodec::new_with_max_length(b"\n".into(), b"\n".into(), LINE_BYTES_MAX);
        Self(codec)
    }
}

impl Decoder for AgentLines {
    type Item = String;
    type Error = AnyDelimiterCodecError;

    fn decode(&mut self, bytes: &mut BytesMut) -> Result<Option<String>, AnyDelimiterCodecError> {
        Ok(self.0.decode(bytes)?.map(|line| text(&line)))
    }

    fn decode_eof(
        &mut self,
        bytes: &mut BytesMut,
    ) -> Result<Option<String>, AnyDelimiterCodecError> {
        Ok(self.0.decode_eof(bytes)?.map(|line| text(&line)))
    }
}

fn text(line: &Bytes) -> String {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    String::from_utf8_lossy(line).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> Vec<String> {
        let (mut codec, mut bytes) = (AgentLines::new(), BytesMut::from(bytes));
        std::iter::from_fn(|| codec.decode_eof(&mut bytes).unwrap()).collect()
    }

    #[test]
    fn bytes_that_are_no_text_end_no_line_and_no_reading() {
        let read = lines(b"fertig: \xe4\r\n\n{\"a\": 1}\ncaf\xc3");
        assert_eq!(read, ["fertig: \u{fffd}", "", "{\"a\": 1}", "caf\u{fffd}"]);
    }

    #[test]
    fn a_line_that_is_too_long_is_a_fault() {
        let mut bytes = BytesMut::from(&vec![b'a'; LINE_BYTES_MAX + 1][..]);
        let read = AgentLines::new().decode(&mut bytes);
        assert!(matches!(read, Err(AnyDelimiterCodecError::MaxChunkLengthExceeded)));
    }
}
