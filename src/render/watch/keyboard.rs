//! The bytes of a terminal, as keys.
//!
//! Invariant: Ctrl-C is a key wherever it occurs. A sequence of which a part is lost ends at the first byte that cannot
//! belong to it, or at a pause; so does a paste, at a longer one. The signs of a pasted text are marked, and its keys are left out.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The mark of a pasted sign, which is no key.
pub const PASTED: KeyModifiers = KeyModifiers::META;
const ESC: u8 = 0x1b;
const CTRL_C: u8 = 0x03;
/// Bytes of a sequence at most.
const SEQUENCE_MAX: usize = 64;
/// Pauses without a byte that end a paste.
const PASTE_PAUSES: u8 = 10;

/// The part of a sequence that has come so far.
#[derive(Debug, Default)]
pub(super) struct Keyboard {
    held: Vec<u8>,
    is_pasting: bool,
    pauses: u8,
}

/// The place of a byte in a sequence.
enum BytePlace {
    Within,
    Last,
    /// It cannot belong to it.
    Foreign,
}

impl Keyboard {
    pub(super) fn take(&mut self, bytes: &[u8]) -> Vec<KeyEvent> {
        self.pauses = 0;
        bytes.iter().filter_map(|byte| self.byte(*byte)).collect()
    }

    /// Nothing came for as long as a sequence may take.
    pub(super) fn pause(&mut self) -> Option<KeyEvent> {
        self.pauses = self.pauses.saturating_add(1);
        let is_escape = std::mem::take(&mut self.held) == [ESC] && !self.is_pasting;
        self.is_pasting &= self.pauses < PASTE_PAUSES;
        is_escape.then(|| KeyCode::Esc.into())
    }

    fn byte(&mut self, byte: u8) -> Option<KeyEvent> {
        if byte == CTRL_C {
            *self = Self::default();
            return key_of(&[byte]);
        }
        let place = match place(&self.held, byte) {
            BytePlace::Foreign => {
                self.held.clear();
                place(&[], byte)
            }
            place => place,
        };
        match place {
            BytePlace::Foreign => None,
            BytePlace::Within => {
                self.held.push(byte);
                None
            }
            BytePlace::Last => {
                self.held.push(byte);
                let whole = std::mem::take(&mut self.held);
                match &*whole {
                    b"\x1b[200~" => self.is_pasting = true,
                    b"\x1b[201~" => self.is_pasting = false,
                    _ if self.is_pasting => return pasted(&whole),
                    _ => return key_of(&whole),
                }
                None
            }
        }
    }
}

fn place(held: &[u8], byte: u8) -> BytePlace {
    let is_last = match (held, byte) {
        ([], ESC | 0xc2..=0xf4) => false,
        ([], ..0x80) => true,
        ([ESC], b'[' | b'O') | ([ESC, b'['], b'[' | b'M') => false,
        // A click in the oldest form has three bytes of any kind.
        ([ESC, b'[', b'M', rest @ ..], _) => rest.len() == 2,
        ([ESC, b'O'] | [ESC, b'[', ..], b'@'..=b'~') => true,
        ([ESC, b'[', ..], b' '..=b'?') if held.len() < SEQUENCE_MAX => false,
        ([0xc2..=0xdf, ..] | [0xe0..=0xef, _] | [0xf0..=0xf4, _, _], 0x80..=0xbf) => true,
        ([0xe0..=0xf4, ..], 0x80..=0xbf) => false,
        _ => return BytePlace::Foreign,
    };
    match is_last {
        true => BytePlace::Last,
        false => BytePlace::Within,
    }
}

/// The sign of a pasted character; a line goes on after its end.
fn pasted(bytes: &[u8]) -> Option<KeyEvent> {
    let sign = match bytes {
        b"\r" | b"\n" | b"\t" => ' ',
        [..0x20 | 0x7f, ..] => return None,
        text => std::str::from_utf8(text).ok()?.chars().next()?,
    };
    Some(KeyEvent::new(KeyCode::Char(sign), PASTED))
}

/// The key of a whole sequence, if it is one.
fn key_of(bytes: &[u8]) -> Option<KeyEvent> {
    let control = |letter| KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL);
    Some(KeyEvent::from(match bytes {
        b"\r" => KeyCode::Enter,
        b"\t" => KeyCode::Tab,
        b"\x7f" => KeyCode::Backspace,
        [byte @ 1..=26] => return Some(control(char::from(b'a' - 1 + byte))),
        [..0x20] => return None,
        b"\x1b[[A" => KeyCode::F(1),
        [ESC, _, parameters @ .., last] => {
            let mut numbers = parameters.split(|byte| *byte == b';');
            let number = |part: Option<&[u8]>| std::str::from_utf8(part?).ok()?.parse::<u32>().ok();
            let (first, more) = (number(numbers.next()), numbers.next());
            match (last, first) {
                (b'A', _) => KeyCode::Up,
                (b'B', _) => KeyCode::Down,
                (b'C', _) => KeyCode::Right,
                (b'D', _) => KeyCode::Left,
                (b'H', _) | (b'~', Some(1 | 7)) => KeyCode::Home,
                (b'F', _) | (b'~', Some(4 | 8)) => KeyCode::End,
                (b'P', _) | (b'~', Some(11)) => KeyCode::F(1),
                (b'~', Some(5)) => KeyCode::PageUp,
                (b'~', Some(6)) => KeyCode::PageDown,
                // Another program left such a keyboard on; 4 is Ctrl, and 1 is added.
                (b'u', Some(code)) => {
                    let letter = char::from_u32(code)?;
                    let held = number(more).unwrap_or(1).saturating_sub(1);
                    return match held & 4 {
                        0 => key_of(letter.encode_utf8(&mut [0; 4]).as_bytes()),
                        _ => Some(control(letter)),
                    };
                }
                _ => return None,
            }
        }
        text => KeyCode::Char(std::str::from_utf8(text).ok()?.chars().next()?),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&[u8]; 24] = [
        b"\x1b[A",
        b"\x1b[B",
        b"\x1b[C",
        b"\x1b[D",
        b"\x1b[H",
        b"\x1b[F",
        b"\x1bOA",
        b"\x1bOP",
        b"\x1b[[A",
        b"\x1b[1~",
        b"\x1b[5~",
        b"\x1b[6~",
        b"\x1b[11~",
        b"\x1b[1;5A",
        b"\x1b[3;2~",
        b"\x1b[97;5u",
        b"\x1b[<0;1;1M",
        b"\x1b[M !!",
        b"\x1b[24;80R",
        b"\x1b[?1;2c",
        b"\x1b[I",
        b"\x1b[200~s\x1b[201~",
        "\u{e9}".as_bytes(),
        "\u{1f600}".as_bytes(),
    ];

    fn codes(keys: &[KeyEvent]) -> Vec<KeyCode> {
        keys.iter().map(|key| key.code).collect()
    }

    #[test]
    fn after_any_part_of_a_sequence_the_next_key_counts() {
        let parts = KNOWN
            .iter()
            .flat_map(|known| (1..=known.len()).map(|end| &known[..end]));
        for part in parts {
            let mut keyboard = Keyboard::default();
            let keys = keyboard.take(&[part, &[CTRL_C]].concat());
            let last = keys.last().expect("Ctrl-C is a key");
            assert_eq!(
                *last,
                KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL),
                "{part:?}"
            );
            assert_eq!(
                codes(&keyboard.take(b"q")),
                [KeyCode::Char('q')],
                "{part:?}"
            );

            keyboard.take(part);
            for _ in 0..PASTE_PAUSES {
                keyboard.pause();
            }
            assert_eq!(
                codes(&keyboard.take(b"q")),
                [KeyCode::Char('q')],
                "{part:?}"
            );
        }
    }

    #[test]
    fn a_sequence_of_any_bytes_holds_few_of_them_and_ends() {
        let mut keyboard = Keyboard::default();
        for byte in 0..=u8::MAX {
            keyboard.take(&[b"\x1b[".as_slice(), &[byte; 1_000]].concat());
            assert!(keyboard.held.len() <= SEQUENCE_MAX, "{byte}");
            keyboard.pause();
            assert!(keyboard.held.is_empty());
        }
    }

    #[test]
    fn each_key_is_told_from_the_others_and_a_paste_is_none() {
        use KeyCode::{Backspace, Char, Down, End, Enter, F, Home, PageDown, PageUp, Up};
        for (bytes, keys) in [
            (
                &b"qj\r\x7f"[..],
                &[Char('q'), Char('j'), Enter, Backspace][..],
            ),
            (b"\x1b[A\x1bOB\x1b[1;5A", &[Up, Down, Up]),
            (
                b"\x1b[5~\x1b[6~\x1b[H\x1b[4~\x1bOP\x1b[[A",
                &[PageUp, PageDown, Home, End, F(1), F(1)],
            ),
            (b"\x1b[<0;1;1Mq\x1b[M !!q\x1b[Iq", &[Char('q'); 3]),
            (
                b"\x1b[200~s\xc3\xa9\x1b[A\r\x1b[201~q",
                &[Char('s'), Char('é'), Char(' '), Char('q')],
            ),
            (b"\x1b[99;5u\x1b[113u", &[Char('c'), Char('q')]),
            ("é\u{1f600}".as_bytes(), &[Char('é'), Char('\u{1f600}')]),
            (b"\xff\xc3q\x1bq", &[Char('q'), Char('q')]),
        ] {
            assert_eq!(codes(&Keyboard::default().take(bytes)), keys, "{bytes:?}");
        }
        let marks = Keyboard::default().take(b"\x1b[200~s\x1b[201~q");
        let marks: Vec<_> = marks.iter().map(|key| key.modifiers).collect();
        assert_eq!(marks, [PASTED, KeyModifiers::NONE]);
        let mut keyboard = Keyboard::default();
        assert_eq!(keyboard.take(b"\x1b"), []);
        assert_eq!(keyboard.pause(), Some(KeyCode::Esc.into()));
        assert_eq!(keyboard.pause(), None);
    }
}
