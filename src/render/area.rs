//! The few lines below everything else that are drawn over again while something runs.
//!
//! Here: drawing and erasing on standard error. The content of the lines is their maker's affair (`cli::live`).
//!
//! Invariant: all output is printed above the area. Nothing of the area is left when it ends, also after a panic. The
//! terminal's modes are never changed, so that there is nothing to restore.

use std::{
    io::{IsTerminal, Write},
    sync::{Mutex, MutexGuard, Once, PoisonError},
};

use super::{Line, style::StandardStream};

/// Columns if the terminal does not report them.
const COLUMNS: usize = 80;
const ROWS: usize = 24;

#[derive(Debug)]
pub(super) struct Area {
    lines: Vec<Line>,
    /// The width of each drawn line; empty while nothing is drawn.
    drawn: Vec<usize>,
}

static AREA: Mutex<Area> = Mutex::new(Area { lines: Vec::new(), drawn: Vec::new() });
static ON_PANIC: Once = Once::new();

/// Whether there is a terminal to draw on that understands it.
pub fn can_draw() -> bool {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty());
    std::io::stderr().is_terminal() && !is_dumb
}

/// Columns and rows of standard error.
pub fn size() -> (usize, usize) {
    size_of(std::io::stderr()).unwrap_or((COLUMNS, ROWS))
}

pub(super) fn size_of(stream: impl std::os::fd::AsFd) -> Option<(usize, usize)> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    let known = |cells: u16, else_: usize| {
        if cells == 0 { else_ } else { usize::from(cells) }
    };
    Some((known(size.ws_col, COLUMNS), known(size.ws_row, ROWS)))
}

/// Draws these lines in place of the last ones; no lines end the area.
pub fn show(lines: Vec<Line>) {
    ON_PANIC.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            // The holder of the area may be the one that panics.
            if let Ok(mut area) = AREA.try_lock() {
                area.erase();
                area.lines.clear();
            }
            before(panic);
        }));
    });
    let mut area = lock();
    if lines.is_empty() && area.drawn.is_empty() {
        area.lines.clear();
        return;
    }
    area.lines = lines;
    let text = area.over();
    write_to_terminal(&text);
}

pub(super) fn lock() -> MutexGuard<'static, Area> {
    AREA.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Area {
    /// Removes the area, so that something can be printed.
    pub(super) fn erase(&mut self) {
        if self.drawn.is_empty() {
            return;
        }
        let up = self.up();
        self.drawn.clear();
        write_to_terminal(&format!("{up}\x1b[J"));
    }

    /// Draws it again.
    pub(super) fn draw(&mut self) {
        if !self.lines.is_empty() {
            let text = self.over();
            write_to_terminal(&text);
        }
    }

    /// The new lines over the old ones in one piece. Each is cleared to its end, so that nothing flickers.
    fn over(&mut self) -> String {
        let (columns, rows) = size();
        let is_coloured = StandardStream::Errors.is_coloured();
        let mut text = self.up();
        self.drawn.clear();
        // A line in the last column would wrap on some terminals.
        let fitting = self.lines.iter().take(rows.saturating_sub(2).max(1));
        for line in fitting {
            let line = line.clone().cut(columns.saturating_sub(1));
            self.drawn.push(line.width());
            text.push_str(&line.text(is_coloured));
            text.push_str("\x1b[K\r\n");
        }
        text.push_str("\x1b[J");
        text
    }

    /// Moves from below the drawn lines to the first. A terminal that became narrower has wrapped them.
    fn up(&self) -> String {
        let columns = size().0.max(1);
        let rows: usize = self.drawn.iter().map(|width| width.div_ceil(columns).max(1)).sum();
        if rows == 0 { String::new() } else { format!("\r\x1b[{rows}A") }
    }
}

/// A write error shows nothing: that is no fault of the run.
fn write_to_terminal(text: &str) {
    let mut to = std::io::stderr().lock();
    let _ = to.write_all(text.as_bytes()).and_then(|()| to.flush());
}
