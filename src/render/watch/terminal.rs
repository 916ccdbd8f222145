//! The terminal of `watch`: taken over, drawn on, and given back.
//!
//! Invariant: it is given back as it was, also after a panic. Not here: what is drawn.

use std::io;

use ratatui::{
    DefaultTerminal, Frame,
    crossterm::event::{self, Event, KeyEvent, KeyEventKind},
};
use std::time::Duration;

/// A terminal in our hands until it is dropped.
#[derive(Debug)]
pub struct Screen {
    terminal: DefaultTerminal,
}

/// An act of the person at the terminal.
#[derive(Debug)]
pub enum TerminalInput {
    Key(KeyEvent),
    Resized,
}

impl Screen {
    /// Takes the terminal over.
    ///
    /// # Errors
    /// If it cannot be set up.
    pub fn open() -> io::Result<Self> {
        Ok(Self {
            terminal: ratatui::try_init()?,
        })
    }

    /// Draws what changed since the last time.
    ///
    /// # Errors
    /// If the terminal is gone.
    pub fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.terminal.draw(draw).map(|_| ())
    }

    /// Gives the terminal to `work`, and takes it back.
    ///
    /// # Errors
    /// If it cannot be taken back.
    pub fn lend<T>(&mut self, work: impl FnOnce() -> T) -> io::Result<T> {
        ratatui::restore();
        let done = work();
        self.terminal = ratatui::try_init()?;
        self.terminal.clear()?;
        Ok(done)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// Waits for a key or another size, so long at most.
///
/// # Errors
/// If the terminal is gone.
pub fn typed(wait: Duration) -> io::Result<Option<TerminalInput>> {
    if !event::poll(wait)? {
        return Ok(None);
    }
    Ok(match event::read()? {
        Event::Key(key) if key.kind != KeyEventKind::Release => Some(TerminalInput::Key(key)),
        Event::Resize(..) => Some(TerminalInput::Resized),
        Event::Key(_)
        | Event::FocusGained
        | Event::FocusLost
        | Event::Mouse(_)
        | Event::Paste(_) => None,
    })
}
