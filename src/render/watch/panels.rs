//! The panels of the overview: each is a frame with rows, or with a curve.

use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::{Modifier, Style},
    text::Line as Row,
    widgets::{Block, Paragraph, Sparkline},
};

use descent_core::state::check::Thousandths;

use super::{Theme, WatchScene};
use crate::render::{Line, Meaning};

/// A lower panel has no frame.
const ROWS_FOR_FRAME: u16 = 6;

/// The first row that is shown, so that the selected one is in sight with some above it.
fn first_shown(selected: usize, all: usize, room: usize) -> usize {
    let last = all.saturating_sub(room);
    selected.saturating_sub(room / 2).min(last)
}

/// The work graph; the selected row stands out without colour too.
pub(super) fn tree(frame: &mut Frame<'_>, place: Rect, scene: &WatchScene, theme: Theme) {
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

/// The first rows that fit.
pub(super) fn rows(frame: &mut Frame<'_>, place: Rect, title: &str, lines: &[Line], theme: Theme) {
    let inner = framed(frame, place, title, theme);
    fill(frame, inner, lines.iter(), theme);
}

/// The last rows that fit.
pub(super) fn last_rows(
    frame: &mut Frame<'_>,
    place: Rect,
    title: &str,
    lines: &[Line],
    theme: Theme,
) {
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

/// Curves one above the other, each with its newest value: the distance where there is a control law.
pub(super) fn curves(frame: &mut Frame<'_>, place: Rect, scene: &WatchScene, theme: Theme) {
    let inner = framed(frame, place, "left to do", theme);
    let of_law = scene.distance.last().map(|newest| {
        let thirds = [Constraint::Ratio(1, 3); 3];
        (newest, Layout::vertical(thirds).areas(inner))
    });
    let [above, below] = match of_law {
        Some((newest, [above, middle, below])) => {
            let newest = Thousandths(u32::try_from(*newest).unwrap_or(1_000)).text();
            curve(frame, below, "distance", &newest, &scene.distance, theme);
            [above, middle]
        }
        None => Layout::vertical([Constraint::Ratio(1, 2); 2]).areas(inner),
    };
    let newest = |values: &[u64]| values.last().map_or("-".to_owned(), ToString::to_string);
    let (bound, failing) = (newest(&scene.bound), newest(&scene.failing));
    curve(frame, above, "attempts", &bound, &scene.bound, theme);
    curve(frame, below, "failing checks", &failing, &scene.failing, theme);
}

fn curve(
    frame: &mut Frame<'_>,
    place: Rect,
    name: &str,
    newest: &str,
    values: &[u64],
    theme: Theme,
) {
    let split = [Constraint::Length(1), Constraint::Min(0)];
    let [head, body] = Layout::vertical(split).areas(place);
    let text = Line::new().dim(format!("{name} ")).strong(newest);
    super::line(frame, head, &text, theme);
    let first = values.len().saturating_sub(usize::from(body.width));
    let shown = values.get(first..).unwrap_or_default();
    let curve = Sparkline::default().data(shown).style(theme.style(Meaning::Running));
    frame.render_widget(curve, body);
}

fn framed(frame: &mut Frame<'_>, place: Rect, title: &str, theme: Theme) -> Rect {
    let title = Line::new().dim(format!(" {title} "));
    let title = title.cut(usize::from(place.width.saturating_sub(2)));
    let block = Block::bordered().border_style(theme.style(Meaning::Dim)).title(theme.row(&title));
    let inner = block.inner(place);
    frame.render_widget(block, place);
    inner
}
