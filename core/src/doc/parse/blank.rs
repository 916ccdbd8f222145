//! Skips what may stand between values, and reports what is often found there but not allowed.
//!
//! Invariant: a blank is either JSON whitespace, a byte order mark at the start, or has given a fault.

use super::Parser;
use alloc::format;

const MARK: &str = "\u{feff}";

impl Parser<'_> {
    /// Editors of some systems write one: it says nothing.
    pub(super) fn pass_byte_order_mark(&mut self) {
        if self.text.starts_with(MARK) {
            self.at = MARK.len();
        }
    }

    pub(super) fn skip_blank(&mut self) {
        while let Some(byte) = self.peek() {
            let skipped = match byte {
                b' ' | b'\t' | b'\n' | b'\r' => {
                    self.at += 1;
                    true
                }
                b'/' | b'#' => self.skip_comment(),
                0 => {
                    self.skip_nul_bytes();
                    true
                }
                b'<' | b'=' | b'>' | b'|' | b'`' => self.skip_marker(),
                0x80.. => self.skip_odd_space(),
                _ => false,
            };
            if !skipped {
                return;
            }
        }
    }

    fn skip_comment(&mut self) -> bool {
        let (start, rest) = (self.at, &self.text[self.at..]);
        let mut message = "JSON has no comments";
        let len = if rest.starts_with("//") || rest.starts_with('#') {
            rest.find(['\n', '\r']).unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |close| close + 2)
        } else {
            return false;
        };
        if rest.starts_with("/*") && !rest[..len].ends_with("*/") {
            message = "this comment never ends, and JSON has none";
            self.end_reported = true;
        }
        self.at += len;
        let hint = "put the remark into a string";
        self.fault(start..self.at, "comment", message, Some(hint));
        true
    }

    pub(super) fn skip_nul_bytes(&mut self) {
        let start = self.at;
        let rest = &self.bytes[start..];
        let count = rest.iter().take_while(|byte| **byte == 0).count();
        self.at += count;
        let message = format!("there are {count} NUL bytes here instead of text");
        let hint = "the machine probably stopped while the file was written";
        self.fault(start..self.at, "nul-bytes", message, Some(hint));
    }

    /// Skips a line that git leaves in a conflict, or the fence of a code block.
    fn skip_marker(&mut self) -> bool {
        let start = self.at;
        if start > 0 && self.bytes[start - 1] != b'\n' {
            return false;
        }
        let rest = &self.text[start..];
        let conflict = ["<<<<<<<", "=======", ">>>>>>>", "|||||||"];
        let (rule, message, hint) = if conflict.iter().any(|mark| rest.starts_with(mark)) {
            let hint = "keep one side of the conflict and delete its three marks";
            ("conflict-marker", "a merge left its mark here", hint)
        } else if rest.starts_with("```") {
            let hint = "delete this line";
            ("code-fence", "the fence of a code block stands here", hint)
        } else {
            return false;
        };
        self.at += rest.find(['\n', '\r']).unwrap_or(rest.len());
        self.fault(start..self.at, rule, message, Some(hint));
        true
    }

    fn skip_odd_space(&mut self) -> bool {
        let odd = |char: &char| {
            !char.is_ascii() && (char.is_whitespace() || matches!(char, '\u{feff}' | '\u{200b}'))
        };
        let start = self.at;
        let spaces = self.text[start..].chars().take_while(odd);
        let len: usize = spaces.map(char::len_utf8).sum();
        if len == 0 {
            return false;
        }
        self.at += len;
        let message = "this looks like a space but is none to JSON";
        let hint = "type it again as a plain space";
        self.fault(start..self.at, "odd-space", message, Some(hint));
        true
    }
}
