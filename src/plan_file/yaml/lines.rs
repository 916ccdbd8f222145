//! Converts the parser's markers to bytes of the text.
//!
//! A marker counts lines, and characters of a line. Its index over the whole text is not used, because the parser
//! counts bytes in comments. Invariant: any marker has a byte, at most the end of the text, never inside of a
//! character.

use descent_core::doc::Span;
use saphyr_parser::Marker;

/// Characters from one known place of a line to the next.
const STRIDE: usize = 64;

/// The lines of a text by YAML's line breaks: LF, CR, or both together.
pub(super) struct YamlLines<'t> {
    text: &'t str,
    /// Lines above the first one.
    above: usize,
    /// The start of each line.
    starts: Vec<usize>,
    /// For each line the index of its first place in `places`.
    firsts: Vec<usize>,
    /// The byte of every 64th character of each line, so that a long line costs no more than short ones.
    places: Vec<usize>,
}

impl<'t> YamlLines<'t> {
    /// The lines of `text` from byte `from` on, where the parser began to read.
    pub(super) fn new(text: &'t str, from: usize) -> Self {
        let mut lines = Self {
            text,
            above: text[..from].matches('\n').count(),
            starts: vec![from],
            firsts: vec![0],
            places: Vec::new(),
        };
        let mut column = 0;
        let mut chars = text[from..].char_indices().peekable();
        while let Some((at, char)) = chars.next() {
            if column % STRIDE == 0 {
                lines.places.push(from + at);
            }
            column += 1;
            let next = chars.peek().map(|(_, next)| *next);
            if char == '\n' || (char == '\r' && next != Some('\n')) {
                column = 0;
                lines.starts.push(from + at + 1);
                lines.firsts.push(lines.places.len());
            }
        }
        lines
    }

    pub(super) fn byte(&self, marker: Marker) -> usize {
        let line = marker.line().saturating_sub(1);
        let end = self.starts.get(line + 1).copied();
        let end = end.unwrap_or(self.text.len());
        let Some(first) = self.firsts.get(line) else {
            return end;
        };
        let near = self.places.get(first + marker.col() / STRIDE);
        let Some(near) = near.filter(|near| **near < end) else {
            return end;
        };
        let mut ahead = self.text[*near..end].char_indices();
        let at = ahead.nth(marker.col() % STRIDE);
        at.map_or(end, |(at, _)| near + at)
    }

    /// The character at a marker.
    pub(super) fn point(&self, marker: Marker) -> Span {
        let start = self.byte(marker);
        let char = self.text[start..].chars().next();
        let end = start + char.map_or(0, char::len_utf8);
        Span::new(start, end)
    }

    pub(super) fn span(&self, span: saphyr_parser::Span) -> Span {
        let start = self.byte(span.start);
        let end = self.byte(span.end).max(start);
        Span::new(start, end)
    }

    /// The place as a person counts it, from 1.
    pub(super) fn line_col(&self, byte: usize) -> (usize, usize) {
        let line = self.starts.partition_point(|start| *start <= byte).max(1);
        let start = self.starts[line - 1].min(byte);
        (self.above + line, self.text[start..byte].chars().count() + 1)
    }
}
