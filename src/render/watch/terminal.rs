//! The terminal of `watch`: taken over, drawn on, read as keys, and given back.
//!
//! Invariant: it is given back as it was, also after a panic. Ctrl-C is a key wherever it occurs. A sequence of which a
//! part is lost ends at the first byte that cannot belong to it, or at a pause; so does a paste. The signs of a pasted text
//! are marked, and its keys are left out.

use std::{io, time::Duration};

use anstyle_parse::{Params, Parser, Perform};
use ratatui::{
    DefaultTerminal, Frame,
    crossterm::{
        event::{DisableBracketedPaste, EnableBracketedPaste, KeyCode, KeyEvent, KeyModifiers},
        execute,
    },
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};

/// Bytes that are taken at once: a person types fewer.
const TYPED_BYTES_MAX: usize = 4_096;

/// A terminal in our hands until it is dropped.
#[derive(Debug)]
pub struct Screen {
    terminal: DefaultTerminal,
    keyboard: Keyboard,
}

impl Screen {
    /// Takes the terminal over.
    ///
    /// # Errors
    /// If it cannot be set up.
    pub fn open() -> io::Result<Self> {
        Ok(Self { terminal: take()?, keyboard: Keyboard::default() })
    }

    /// Draws what changed since the last time.
    ///
    /// # Errors
    /// If the terminal is gone.
    pub fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.terminal.draw(draw).map(|_| ())
    }

    /// Columns and rows, as the terminal tells them now.
    pub fn size(&self) -> Option<(u16, u16)> {
        let size = self.terminal.size().ok()?;
        Some((size.width, size.height))
    }

    /// Waits for keys, so long at most; a part of a key that has come is waited for no longer.
    ///
    /// # Errors
    /// If the terminal is gone.
    pub fn typed(&mut self, wait: Duration) -> io::Result<Vec<KeyEvent>> {
        let stdin = io::stdin();
        let mut terminal = [PollFd::new(&stdin, PollFlags::IN)];
        let pause = Timespec::try_from(wait).ok();
        match poll(&mut terminal, pause.as_ref()) {
            Err(Errno::INTR) => return Ok(Vec::new()),
            Ok(0) => return Ok(self.keyboard.pause().into_iter().collect()),
            polled => polled?,
        };
        let mut bytes = [0; TYPED_BYTES_MAX];
        match rustix::io::read(&stdin, &mut bytes) {
            Ok(0) => Err(io::ErrorKind::BrokenPipe.into()),
            Ok(count) => Ok(self.keyboard.take(&bytes[..count])),
            Err(Errno::INTR | Errno::AGAIN) => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }

    /// Gives the terminal to `work`, and takes it back.
    ///
    /// # Errors
    /// If it cannot be taken back.
    pub fn lend<T>(&mut self, work: impl FnOnce() -> T) -> io::Result<T> {
        give_back();
        let done = work();
        self.terminal = take()?;
        self.terminal.clear()?;
        Ok(done)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// A terminal that tells what is pasted from what is typed.
fn take() -> io::Result<DefaultTerminal> {
    let terminal = ratatui::try_init()?;
    execute!(io::stdout(), EnableBracketedPaste)?;
    Ok(terminal)
}

fn give_back() {
    // A terminal that is gone needs nothing back.
    let _ = execute!(io::stdout(), DisableBracketedPaste);
    ratatui::restore();
}

/// The mark of a pasted sign, which is no key.
pub const PASTED: KeyModifiers = KeyModifiers::META;
const ESC: u8 = 0x1b;
const CTRL_C: u8 = 0x03;
/// Pauses without a byte that end a paste.
const PASTE_PAUSES: u8 = 10;

#[derive(Debug, Default)]
struct Keyboard {
    parser: Parser,
    reader: KeyReader,
    last: u8,
    pauses: u8,
}

/// The keys that a parser has found, and what it cannot know.
#[derive(Debug, Default)]
struct KeyReader {
    keys: Vec<KeyEvent>,
    is_pasting: bool,
    /// `ESC O` has come, of which the next sign is a part.
    is_in_key: bool,
}

impl Keyboard {
    fn take(&mut self, bytes: &[u8]) -> Vec<KeyEvent> {
        self.pauses = 0;
        for byte in bytes {
            if *byte == CTRL_C {
                self.parser = Parser::default();
                (self.reader.is_pasting, self.reader.is_in_key) = (false, false);
            }
            self.parser.advance(&mut self.reader, *byte);
            self.last = *byte;
        }
        std::mem::take(&mut self.reader.keys)
    }

    /// Nothing came for as long as a sequence may take.
    fn pause(&mut self) -> Option<KeyEvent> {
        let is_escape = std::mem::take(&mut self.last) == ESC && !self.reader.is_pasting;
        self.pauses = self.pauses.saturating_add(1);
        self.parser = Parser::default();
        self.reader.is_in_key = false;
        self.reader.is_pasting &= self.pauses < PASTE_PAUSES;
        is_escape.then(|| KeyCode::Esc.into())
    }
}

impl KeyReader {
    fn key(&mut self, code: KeyCode, modifiers: KeyModifiers) {
        match (self.is_pasting, code) {
            (false, _) => self.keys.push(KeyEvent::new(code, modifiers)),
            (true, KeyCode::Char(_)) if modifiers.is_empty() => {
                self.keys.push(KeyEvent::new(code, PASTED));
            }
            (true, _) => {}
        }
    }

    fn sequence(&mut self, last: u8, first: u16) {
        let code = match (last, first) {
            (b'A', _) => KeyCode::Up,
            (b'B', _) => KeyCode::Down,
            (b'C', _) => KeyCode::Right,
            (b'D', _) => KeyCode::Left,
            (b'H', _) | (b'~', 1 | 7) => KeyCode::Home,
            (b'F', _) | (b'~', 4 | 8) => KeyCode::End,
            (b'~', 5) => KeyCode::PageUp,
            (b'~', 6) => KeyCode::PageDown,
            (b'~', 200) => return self.is_pasting = true,
            (b'~', 201) => return self.is_pasting = false,
            _ => return,
        };
        self.key(code, KeyModifiers::NONE);
    }
}

impl Perform for KeyReader {
    fn print(&mut self, sign: char) {
        match (std::mem::take(&mut self.is_in_key), sign) {
            (true, 'A'..='Z') => self.sequence(sign as u8, 0),
            (_, '\u{7f}') => self.key(KeyCode::Backspace, KeyModifiers::NONE),
            (_, char::REPLACEMENT_CHARACTER) => {}
            (_, sign) => self.key(KeyCode::Char(sign), KeyModifiers::NONE),
        }
    }

    fn execute(&mut self, byte: u8) {
        match byte {
            // A pasted line goes on after its end.
            b'\r' | b'\n' | b'\t' if self.is_pasting => self.print(' '),
            b'\r' => self.key(KeyCode::Enter, KeyModifiers::NONE),
            b'\t' => self.key(KeyCode::Tab, KeyModifiers::NONE),
            1..=26 => self.key(KeyCode::Char(char::from(b'a' - 1 + byte)), KeyModifiers::CONTROL),
            _ => {}
        }
    }

    fn esc_dispatch(&mut self, _between: &[u8], _is_cut: bool, byte: u8) {
        match byte {
            b'O' => self.is_in_key = true,
            byte => self.print(char::from(byte)),
        }
    }

    fn csi_dispatch(&mut self, parameters: &Params, between: &[u8], _is_cut: bool, last: u8) {
        if between.is_empty() {
            let first = parameters.iter().next().and_then(|part| part.first());
            self.sequence(last, first.copied().unwrap_or_default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&[u8]; 19] = [
        b"\x1b[A",
        b"\x1b[B",
        b"\x1b[C",
        b"\x1b[D",
        b"\x1b[H",
        b"\x1b[F",
        b"\x1bOA",
        b"\x1b[1~",
        b"\x1b[5~",
        b"\x1b[6~",
        b"\x1b[1;5A",
        b"\x1b[3;2~",
        b"\x1b[<0;1;1M",
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
        let parts = KNOWN.iter().flat_map(|known| (1..=known.len()).map(|end| &known[..end]));
        for part in parts {
            let mut keyboard = Keyboard::default();
            let keys = keyboard.take(&[part, &[CTRL_C]].concat());
            let last = keys.last().expect("Ctrl-C is a key");
            assert_eq!(*last, KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL), "{part:?}");
            assert_eq!(codes(&keyboard.take(b"q")), [KeyCode::Char('q')], "{part:?}");

            keyboard.take(part);
            for _ in 0..PASTE_PAUSES {
                keyboard.pause();
            }
            assert_eq!(codes(&keyboard.take(b"q")), [KeyCode::Char('q')], "{part:?}");
        }
    }

    #[test]
    fn each_key_is_told_from_the_others_and_a_paste_is_none() {
        use KeyCode::{Backspace, Char, Down, End, Enter, Home, PageDown, PageUp, Up};
        for (bytes, keys) in [
            (&b"qj\r\x7f"[..], &[Char('q'), Char('j'), Enter, Backspace][..]),
            (b"\x1b[A\x1bOB\x1b[1;5A", &[Up, Down, Up]),
            (b"\x1b[5~\x1b[6~\x1b[H\x1b[4~", &[PageUp, PageDown, Home, End]),
            (b"\x1b[<0;1;1Mq\x1b[Iq", &[Char('q'); 2]),
            (
                b"\x1b[200~s\xc3\xa9\x1b[A\r\x1b[201~q",
                &[Char('s'), Char('é'), Char(' '), Char('q')],
            ),
            ("é\u{1f600}".as_bytes(), &[Char('é'), Char('\u{1f600}')]),
            (b"\xffq\x1bq", &[Char('q'), Char('q')]),
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
