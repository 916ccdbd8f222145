//! The work graph as an SVG inside of a page: boxes in boxes, what is waited for left of what waits.
//!
//! Invariant: the drawing names nothing outside of itself, and colours nothing that a word does not tell too. Sizes are
//! whole numbers, so the same graph gives the same bytes. Not here: the colours (the style of `html`).

mod layout;

use descent_core::view::report::AtomReport;

use super::{
    markup::{escaped, look_of},
    plain::flat,
};
use crate::render::Line;
use layout::{DrawnBox, LEAF_HEIGHT, LEAF_WIDTH, Layout};

/// Atoms drawn at most.
const ATOMS_MAX: usize = 1_000;
/// Arrows drawn at most.
const ARROWS_MAX: usize = 3_000;
/// Columns of an id, and of a description, in a box.
const ID_COLUMNS: usize = 22;
const ABOUT_COLUMNS: usize = 29;
/// Columns of a status, which is written smaller.
const STATUS_COLUMNS: usize = 31;
/// Pixels of a letter of an id.
const LETTER_WIDTH: usize = 8;
/// Half of the height of an arrow's point.
const POINT: usize = 4;

/// Empty for a graph without atoms.
pub(super) fn drawing(atoms: &[AtomReport]) -> String {
    let drawn = atoms.get(..ATOMS_MAX).unwrap_or(atoms);
    if drawn.is_empty() {
        return String::new();
    }
    let layout = Layout::of(drawn);
    let (width, height) = (layout.width + 2, layout.height + 2);
    let mut svg = format!(
        "<svg class=\"graph\" role=\"img\" aria-label=\"The work graph\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"-1 -1 {width} {height}\" xmlns=\"http://www.w3.org/2000/svg\">\n"
    );
    let both = || drawn.iter().zip(&layout.areas);
    for (atom, area) in both().filter(|(atom, _)| atom.node.is_group) {
        svg.push_str(&group(atom, area));
    }
    for (from, to) in layout.waits.iter().take(ARROWS_MAX) {
        if let (Some(from), Some(to)) = (layout.areas.get(*from), layout.areas.get(*to)) {
            svg.push_str(&arrow(from, to));
        }
    }
    for (atom, area) in both() {
        // The head of a group lies above the arrows.
        svg.push_str(&if atom.node.is_group { head(atom, area) } else { leaf(atom, area) });
    }
    svg.push_str("</svg>\n");
    let left_out = [
        (atoms.len() - drawn.len(), "atoms"),
        (layout.waits.len().saturating_sub(ARROWS_MAX), "arrows"),
    ];
    for (count, what) in left_out.iter().filter(|(count, _)| *count > 0) {
        svg.push_str(&format!("<p>… and {count} more {what}</p>\n"));
    }
    svg
}

/// The classes of a box: how it stands, and whether its group chose it.
fn classes(atom: &AtomReport) -> String {
    let node = &atom.node;
    let chosen = if node.is_selected { " chosen" } else { "" };
    format!("box {}{chosen}", look_of(&node.state))
}

fn status(atom: &AtomReport) -> String {
    match atom.node.tried {
        Some("failed") => format!("{}, failed", atom.node.state),
        Some("parked") => format!("{}, kept", atom.node.state),
        Some(_) | None if atom.node.is_selected => format!("{}, chosen", atom.node.state),
        Some(_) | None => atom.node.state.clone(),
    }
}

fn title(atom: &AtomReport) -> String {
    let node = &atom.node;
    let about = flat(&node.description, 400);
    let text = format!("{}: {} ({})", node.id, about, status(atom));
    format!("<title>{}</title>", escaped(&text))
}

fn text(class: &str, x: usize, y: usize, words: &str) -> String {
    format!("<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{}</text>", escaped(words))
}

fn in_columns(words: &str, columns: usize) -> String {
    Line::of(flat(words, 400)).cut(columns).text(false)
}

fn rect(class: &str, area: &DrawnBox) -> String {
    format!(
        "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"6\"/>",
        area.x, area.y, area.width, area.height
    )
}

fn group(atom: &AtomReport, area: &DrawnBox) -> String {
    let class = format!("{} group {}", classes(atom), atom.node.kind);
    format!("<g>{}{}</g>\n", title(atom), rect(&class, area))
}

fn head(atom: &AtomReport, area: &DrawnBox) -> String {
    let kind = match atom.node.kind {
        "any" => "one of",
        "plan" => "planned",
        _ => "all of",
    };
    // A group has the width of its content.
    let columns = area.width.saturating_sub(16) / LETTER_WIDTH;
    let id = in_columns(atom.node.id.as_str(), columns);
    let under = in_columns(&format!("{kind} · {}", status(atom)), columns + columns / 5);
    let (x, y) = (area.x + 10, area.y);
    let (id, under) = (text("id head", x, y + 18, &id), text("status head", x, y + 33, &under));
    format!("{id}{under}\n")
}

fn leaf(atom: &AtomReport, area: &DrawnBox) -> String {
    let tried = match atom.attempts {
        0 => String::new(),
        1 => " · 1 attempt".to_owned(),
        n => format!(" · {n} attempts"),
    };
    let (x, y) = (area.x + 12, area.y);
    format!(
        "<g>{}{}{}{}{}{}</g>\n",
        title(atom),
        rect(&classes(atom), &DrawnBox { width: LEAF_WIDTH, height: LEAF_HEIGHT, ..*area }),
        format_args!(
            "<rect class=\"bar {}\" x=\"{}\" y=\"{}\" width=\"4\" height=\"{}\" rx=\"2\"/>",
            look_of(atom.node.tried.unwrap_or(&atom.node.state)),
            area.x + 3,
            y + 6,
            LEAF_HEIGHT - 12
        ),
        text("id", x, y + 18, &in_columns(atom.node.id.as_str(), ID_COLUMNS)),
        text("about", x, y + 33, &in_columns(&atom.node.description, ABOUT_COLUMNS)),
        text("status", x, y + 48, &in_columns(&format!("{}{tried}", status(atom)), STATUS_COLUMNS)),
    )
}

/// To the right where there is room, else down.
fn arrow(from: &DrawnBox, to: &DrawnBox) -> String {
    let (right, below) = (from.x + from.width, from.y + from.height);
    let middle = |area: &DrawnBox| (area.x + area.width / 2, area.y + area.height / 2);
    if to.x >= right {
        let (from_y, to_x, to_y) = (middle(from).1, to.x, middle(to).1);
        let bend = ((to_x - right) / 2).max(16);
        return path(
            &format!(
                "M{right} {from_y}C{} {from_y} {} {to_y} {to_x} {to_y}",
                right + bend,
                to_x.saturating_sub(bend)
            ),
            &format!(
                "{to_x},{to_y} {},{} {},{}",
                to_x.saturating_sub(2 * POINT),
                to_y.saturating_sub(POINT),
                to_x.saturating_sub(2 * POINT),
                to_y + POINT
            ),
        );
    }
    let (from_x, to_x) = (middle(from).0, middle(to).0);
    // In a ring of groups something waits for what stands below.
    let (from_y, to_y) = if to.y >= below { (below, to.y) } else { (from.y, to.y + to.height) };
    let bend = (from_y.abs_diff(to_y) / 2).clamp(12, 60);
    let (out, back) = if to.y >= below {
        (from_y + bend, to_y.saturating_sub(bend))
    } else {
        (from_y.saturating_sub(bend), to_y + bend)
    };
    let tail = if to.y >= below { to_y.saturating_sub(2 * POINT) } else { to_y + 2 * POINT };
    path(
        &format!("M{from_x} {from_y}C{from_x} {out} {to_x} {back} {to_x} {to_y}"),
        &format!("{to_x},{to_y} {},{tail} {},{tail}", to_x.saturating_sub(POINT), to_x + POINT),
    )
}

fn path(line: &str, point: &str) -> String {
    format!("<path class=\"arrow\" d=\"{line}\"/><polygon class=\"point\" points=\"{point}\"/>\n")
}
