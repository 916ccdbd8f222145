//! The terminal of `watch`: taken over, drawn on, and given back.
//!
//! Invariant: it is given back as it was, also after a panic. Not here: what is drawn.

use std::{io, time::Duration};

use ratatui::{
    DefaultTerminal, Frame,
    crossterm::event::{self, Event, KeyEvent, KeyEventKind},
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};

/// Keys that are taken at once: a person types fewer.
const KEYS_MAX: usize = 4_096;

/// A terminal in our hands until it is dropped.
#[derive(Debug)]
pub struct Screen {
    terminal: DefaultTerminal,
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

    /// Columns and rows, as the terminal tells them now.
    pub fn size(&self) -> Option<(u16, u16)> {
        let size = self.terminal.size().ok()?;
        Some((size.width, size.height))
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

/// Waits for keys, so long at most.
///
/// The terminal is asked first: the library would read from one that is gone for ever.
///
/// # Errors
/// If the terminal is gone.
pub fn typed(wait: Duration) -> io::Result<Vec<KeyEvent>> {
    let stdin = io::stdin();
    let mut terminal = [PollFd::new(&stdin, PollFlags::IN)];
    let pause = Timespec::try_from(wait).ok();
    match poll(&mut terminal, pause.as_ref()) {
        Err(Errno::INTR) => return Ok(Vec::new()),
        polled => polled?,
    };
    let seen = terminal[0].revents();
    if seen.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
        return Err(io::ErrorKind::BrokenPipe.into());
    }
    let mut keys = Vec::new();
    while seen.contains(PollFlags::IN) && keys.len() < KEYS_MAX && event::poll(Duration::ZERO)? {
        if let Event::Key(key) = event::read()?
            && key.kind != KeyEventKind::Release
        {
            keys.push(key);
        }
    }
    Ok(keys)
}
