//! A page that fills the screen of `watch`: an output, a difference, the help.

use ratatui::{
    Frame,
    layout::{Constraint, Layout},
    text::Line as Row,
    widgets::Paragraph,
};

use super::Theme;
use crate::render::Line;

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
    super::line(frame, head, title, theme);
    super::line(frame, end, foot, theme);
    let (room, width) = (usize::from(body.height), usize::from(body.width));
    let shown = lines.iter().skip(first).take(room);
    let rows: Vec<Row<'_>> = shown.map(|line| theme.row(&line.clone().cut(width))).collect();
    frame.render_widget(Paragraph::new(rows), body);
    room
}
