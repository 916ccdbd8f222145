//! The screen of `watch`: a scene as panels, drawn into a buffer of cells.
//!
//! Invariant: the same scene at the same size is the same cells. Everything that it shows was cleaned by `Line`. Not
//! here: the terminal, keys, and where the scene comes from (`cli::watch`).

mod terminal;

use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::{Modifier, Style},
    text::{Line as Row, Span},
    widgets::{Block, Paragraph},
};

use super::{Line, Meaning};

pub use terminal::{PASTED, Screen};

/// On a smaller screen there is the tree alone.
const ROWS_FOR_PANELS: u16 = 16;
const COLUMNS_FOR_PANELS: u16 = 60;
/// Rows of the panel at the bottom, with its borders.
const BOTTOM_ROWS: u16 = 8;
/// Rows of the work panel at most, with its borders.
const WORK_ROWS_MAX: u16 = 10;

/// A lower panel has no frame.
const ROWS_FOR_FRAME: u16 = 6;

/// All that the overview shows.
#[derive(Debug, Default)]
pub struct WatchScene {
    pub title: Line,
    /// Counts and the bound, in one row.
    pub facts: Line,
    /// The work graph, a row an atom.
    pub tree: Vec<Line>,
    /// The row of the tree that is selected.
    pub selected: usize,
    /// The work that goes on.
    pub work: Vec<Line>,
    pub output_of: String,
    /// The end of an attempt's output, the newest line last.
    pub output: Vec<Line>,
    /// The history, the newest line last.
    pub events: Vec<Line>,
    /// A question, a message, or the keys.
    pub foot: Line,
}

/// How meanings look.
#[derive(Debug, Clone, Copy)]
pub struct Theme {
    pub is_coloured: bool,
}

impl Theme {
    /// As `--color` and the environment choose for standard output.
    pub fn chosen() -> Self {
        Self { is_coloured: super::is_coloured() }
    }

    fn style(self, meaning: Meaning) -> Style {
        let style = coloured(meaning);
        if self.is_coloured { style } else { Style { fg: None, ..style } }
    }

    fn row(self, line: &Line) -> Row<'static> {
        let pieces = line.pieces();
        let spans =
            pieces.map(|(meaning, text)| Span::styled(text.to_owned(), self.style(meaning)));
        Row::from(spans.collect::<Vec<Span<'static>>>())
    }
}

/// The sixteen colours of a terminal alone: they fit a dark and a light background.
fn coloured(meaning: Meaning) -> Style {
    use ratatui::style::Color;
    let style = Style::new();
    match meaning {
        Meaning::Plain => style,
        Meaning::Strong => style.add_modifier(Modifier::BOLD),
        Meaning::Dim => style.add_modifier(Modifier::DIM),
        Meaning::Pass => style.fg(Color::Green),
        Meaning::Fail => style.fg(Color::Red),
        Meaning::Unknown => style.fg(Color::Yellow),
        Meaning::Running => style.fg(Color::Cyan),
        Meaning::Error => style.fg(Color::Red).add_modifier(Modifier::BOLD),
        Meaning::Next => style.fg(Color::Cyan).add_modifier(Modifier::BOLD),
    }
}

/// Draws the overview.
pub fn draw(frame: &mut Frame<'_>, scene: &WatchScene, theme: Theme) {
    let area = frame.area();
    let rows =
        [Constraint::Length(1), Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)];
    let [title, facts, middle, foot] = Layout::vertical(rows).areas(area);
    line(frame, title, &scene.title, theme);
    line(frame, facts, &scene.facts, theme);
    line(frame, foot, &scene.foot, theme);
    if area.height < ROWS_FOR_PANELS || area.width < COLUMNS_FOR_PANELS {
        return tree(frame, middle, scene, theme);
    }
    let split = [Constraint::Min(4), Constraint::Length(BOTTOM_ROWS)];
    let [top, bottom] = Layout::vertical(split).areas(middle);
    let split = [Constraint::Percentage(55), Constraint::Percentage(45)];
    let [left, right] = Layout::horizontal(split).areas(top);
    tree(frame, left, scene, theme);
    let work_rows = u16::try_from(scene.work.len()).unwrap_or(u16::MAX);
    let work_rows = work_rows.saturating_add(2).clamp(3, WORK_ROWS_MAX);
    let split = [Constraint::Length(work_rows), Constraint::Min(0)];
    let [work, output] = Layout::vertical(split).areas(right);
    let work = framed(frame, work, "now", theme);
    fill(frame, work, scene.work.iter(), theme);
    last_rows(frame, output, &scene.output_of, &scene.output, theme);
    last_rows(frame, bottom, "what happened", &scene.events, theme);
}

/// One row, cut at the width of its place.
fn line(frame: &mut Frame<'_>, place: Rect, text: &Line, theme: Theme) {
    let text = text.clone().cut(usize::from(place.width));
    frame.render_widget(Paragraph::new(theme.row(&text)), place);
}

/// Draws the rows from `first` on; gives the number of rows that fit.
pub fn draw_page(
    frame: &mut Frame<'_>,
    title: &Line,
    lines: &[Line],
    first: usize,
    foot: &Line,
    theme: Theme,
) -> usize {
    let rows = [Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)];
    let [head, body, end] = Layout::vertical(rows).areas(frame.area());
    line(frame, head, title, theme);
    line(frame, end, foot, theme);
    fill(frame, body, lines.iter().skip(first), theme);
    usize::from(body.height)
}

/// The first row that is shown, so that the selected one is in sight with some above it.
fn first_shown(selected: usize, all: usize, room: usize) -> usize {
    let last = all.saturating_sub(room);
    selected.saturating_sub(room / 2).min(last)
}

/// The work graph; the selected row stands out without colour too.
fn tree(frame: &mut Frame<'_>, place: Rect, scene: &WatchScene, theme: Theme) {
    let inner =
        if place.height < ROWS_FOR_FRAME { place } else { framed(frame, place, "work", theme) };
    let (room, width) = (usize::from(inner.height), usize::from(inner.width));
    let first = first_shown(scene.selected, scene.tree.len(), room);
    let shown = scene.tree.iter().enumerate().skip(first).take(room);
    let rows = shown.map(|(place, line)| {
        let row = theme.row(&line.clone().cut(width));
        if place == scene.selected {
            row.style(Style::new().add_modifier(Modifier::REVERSED))
        } else {
            row
        }
    });
    frame.render_widget(Paragraph::new(rows.collect::<Vec<Row<'_>>>()), inner);
}

/// The last rows that fit.
fn last_rows(frame: &mut Frame<'_>, place: Rect, title: &str, lines: &[Line], theme: Theme) {
    if place.height < 3 {
        return;
    }
    let inner = framed(frame, place, title, theme);
    let first = lines.len().saturating_sub(usize::from(inner.height));
    fill(frame, inner, lines.iter().skip(first), theme);
}

fn fill<'l>(
    frame: &mut Frame<'_>,
    inner: Rect,
    lines: impl Iterator<Item = &'l Line>,
    theme: Theme,
) {
    let width = usize::from(inner.width);
    let rows = lines.take(usize::from(inner.height));
    let rows: Vec<Row<'_>> = rows.map(|line| theme.row(&line.clone().cut(width))).collect();
    frame.render_widget(Paragraph::new(rows), inner);
}

fn framed(frame: &mut Frame<'_>, place: Rect, title: &str, theme: Theme) -> Rect {
    let title = Line::new().dim(format!(" {title} "));
    let title = title.cut(usize::from(place.width.saturating_sub(2)));
    let block = Block::bordered().border_style(theme.style(Meaning::Dim)).title(theme.row(&title));
    let inner = block.inner(place);
    frame.render_widget(block, place);
    inner
}

#[cfg(test)]
mod tests;
