//! The screen of `watch`: a scene as panels, drawn into a buffer of cells.
//!
//! Invariant: the same scene at the same size is the same cells. Everything that it shows was cleaned by `Line`. Not
//! here: the terminal, keys, and where the scene comes from (`cli::watch`).

mod keyboard;
mod page;
mod panels;
mod terminal;

use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::{Modifier, Style},
    text::{Line as Row, Span},
    widgets::Paragraph,
};

use super::{Line, Meaning};

pub use keyboard::PASTED;
pub use page::draw_page;
pub use terminal::Screen;

/// On a smaller screen there is the tree alone.
const ROWS_FOR_PANELS: u16 = 16;
const COLUMNS_FOR_PANELS: u16 = 60;
/// Rows of the panels at the bottom, with their borders.
const BOTTOM_ROWS: u16 = 8;
/// Rows of the work panel at most, with its borders.
const WORK_ROWS_MAX: u16 = 10;

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
    /// The bound over time, the newest value last.
    pub bound: Vec<u64>,
    /// How many leaves of the base case failed, over time.
    pub failing: Vec<u64>,
    /// The distance from the base case at each point of the control law, in thousandths.
    pub distance: Vec<u64>,
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
        return panels::tree(frame, middle, scene, theme);
    }
    let split = [Constraint::Min(4), Constraint::Length(BOTTOM_ROWS)];
    let [top, bottom] = Layout::vertical(split).areas(middle);
    let split = [Constraint::Percentage(55), Constraint::Percentage(45)];
    let [left, right] = Layout::horizontal(split).areas(top);
    panels::tree(frame, left, scene, theme);
    let work_rows = u16::try_from(scene.work.len()).unwrap_or(u16::MAX);
    let work_rows = work_rows.saturating_add(2).clamp(3, WORK_ROWS_MAX);
    let split = [Constraint::Length(work_rows), Constraint::Min(0)];
    let [work, output] = Layout::vertical(split).areas(right);
    panels::rows(frame, work, "now", &scene.work, theme);
    panels::last_rows(frame, output, &scene.output_of, &scene.output, theme);
    let split = [Constraint::Percentage(30), Constraint::Percentage(70)];
    let [curves, events] = Layout::horizontal(split).areas(bottom);
    panels::curves(frame, curves, scene, theme);
    panels::last_rows(frame, events, "what happened", &scene.events, theme);
}

/// One row, cut at the width of its place.
fn line(frame: &mut Frame<'_>, place: Rect, text: &Line, theme: Theme) {
    let text = text.clone().cut(usize::from(place.width));
    frame.render_widget(Paragraph::new(theme.row(&text)), place);
}

#[cfg(test)]
mod tests;
