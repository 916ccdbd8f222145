//! The terminal of `watch`: taken over, drawn on, and given back.
//!
//! Invariant: it is given back as it was, also after a panic. Not here: what is drawn.

use std::{io, time::Duration};

use ratatui::{
    DefaultTerminal, Frame,
    crossterm::{
        event::{DisableBracketedPaste, EnableBracketedPaste, KeyEvent},
        execute,
    },
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};

use super::keyboard::Keyboard;

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
