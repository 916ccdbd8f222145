//! The keys of `watch`, as what they ask for.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::render::watch::PASTED;

/// A wish of the person at the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyCommand {
    Leave,
    Back,
    Up(usize),
    Down(usize),
    Top,
    Bottom,
    Output,
    Difference,
    Why,
    Stop,
    Guide,
    Confirm,
    Redirect,
    Edit,
    Help,
    Refresh,
}

/// The keys in one row.
pub(super) const FOOT: &str =
    "? help  q leave  ↑↓ ⏎ output  d diff  w why  s stop  g guide  r redirect  e edit";

/// The help, a key a line.
pub(super) const HELP: [(&str, &str); 14] = [
    ("q, Ctrl-C", "leave; the run goes on"),
    ("Esc", "go back, or take a question back"),
    ("↑ ↓ k j", "select an atom, or scroll"),
    ("PgUp PgDn", "ten rows"),
    ("Home End", "the first, the last"),
    ("Enter, o", "follow what its newest attempt prints"),
    ("d", "the difference that its newest attempt has made so far"),
    ("w", "why it stands as it does"),
    ("s", "ask the loop to end"),
    ("g", "say something to those who work on it"),
    ("c", "say whether an assertion holds"),
    ("r", "redirect the run: opens the command"),
    ("e", "edit the state: opens the editor"),
    ("Ctrl-L", "draw everything anew"),
];

/// Rows of a page key.
const PAGE: usize = 10;

pub(super) fn key(event: KeyEvent) -> Option<KeyCommand> {
    if event.modifiers.contains(PASTED) {
        return None;
    }
    if event.modifiers.contains(KeyModifiers::CONTROL) {
        return match event.code {
            KeyCode::Char('c' | 'd') => Some(KeyCommand::Leave),
            KeyCode::Char('l') => Some(KeyCommand::Refresh),
            _ => None,
        };
    }
    Some(match event.code {
        KeyCode::Char('q') => KeyCommand::Leave,
        KeyCode::Esc | KeyCode::Backspace | KeyCode::Left => KeyCommand::Back,
        KeyCode::Up | KeyCode::Char('k') => KeyCommand::Up(1),
        KeyCode::Down | KeyCode::Char('j') => KeyCommand::Down(1),
        KeyCode::PageUp => KeyCommand::Up(PAGE),
        KeyCode::PageDown | KeyCode::Char(' ') => KeyCommand::Down(PAGE),
        KeyCode::Home => KeyCommand::Top,
        KeyCode::End => KeyCommand::Bottom,
        KeyCode::Enter | KeyCode::Char('o') | KeyCode::Right => KeyCommand::Output,
        KeyCode::Char('d') => KeyCommand::Difference,
        KeyCode::Char('w') => KeyCommand::Why,
        KeyCode::Char('s') => KeyCommand::Stop,
        KeyCode::Char('g') => KeyCommand::Guide,
        KeyCode::Char('c') => KeyCommand::Confirm,
        KeyCode::Char('r') => KeyCommand::Redirect,
        KeyCode::Char('e') => KeyCommand::Edit,
        KeyCode::Char('?' | 'h') => KeyCommand::Help,
        _ => return None,
    })
}
