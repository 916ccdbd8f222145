//! A report as one HTML file that loads nothing and runs nothing, for light and dark screens. Its graph is boxes in
//! boxes, placed by the page's own style, what is waited for left of what waits.
//!
//! Invariant: its policy forbids all but its own styles, and every text is escaped. A colour says nothing that a word does
//! not say too. Not here: the words (`outline`).

use std::collections::BTreeMap;

use descent_core::view::{
    graph::NodeView,
    report::{AtomReport, Report},
};

use super::{
    escaped, flat, look_of,
    outline::{Item, Piece, Section, outline},
};
use crate::render::{event::behind, graph::waits};

/// Items at most of a section.
const ITEMS_MAX: usize = 5_000;
const STYLE: &str = include_str!("html/style.css");

/// Without the last line feed.
pub fn html(report: &Report) -> String {
    let outline = outline(report);
    let title = escaped(&outline.title);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <header>{}<h1>{title}</h1></header>\n",
        marked(report.outcome.status)
    );
    for (place, one) in outline.sections.iter().enumerate() {
        page.push_str(&section(one));
        if place == 0 {
            page.push_str(&graph(report));
        }
    }
    let (lineage, serial) = (escaped(report.lineage.as_str()), report.serial);
    page.push_str(&format!(
        "<footer>Of the state <code>{lineage}</code> at serial {serial}.</footer>\n</main>\n</body>\n</html>"
    ));
    page
}

fn graph(report: &Report) -> String {
    let drawn = drawing(&report.work);
    if drawn.is_empty() {
        return String::new();
    }
    let words = ["resolved", "running", "needs a person", "failed", "open", "not chosen"];
    let legend = words.map(marked).join(" ");
    format!(
        "<section>\n<h2>The work graph</h2>\n<p class=\"legend\">{legend} An arrow leads to what waits. A thick border is \
         chosen.</p>\n{drawn}</section>\n"
    )
}

fn section(section: &Section) -> String {
    let shown = section.items.get(..ITEMS_MAX).unwrap_or(&section.items);
    let mut list = items(shown);
    if let more @ 1.. = section.items.len() - shown.len() {
        list.push_str(&format!(
            "<p>… and {more} more lines: <code>descent report --json</code> has all</p>\n"
        ));
    }
    format!("<section>\n<h2>{}</h2>\n{list}</section>\n", section.title)
}

/// Lists in lists, by the depth of each item.
fn items(items: &[Item]) -> String {
    let mut html = String::new();
    let mut open = 0;
    for item in items {
        while open > item.depth + 1 {
            html.push_str("</li></ul>");
            open -= 1;
        }
        if open == item.depth + 1 {
            html.push_str("</li>\n");
        }
        while open < item.depth + 1 {
            // A list in a list stands in an item.
            let missing = if open < item.depth { "<ul><li>" } else { "<ul>" };
            html.push_str(missing);
            open += 1;
        }
        html.push_str("<li>");
        html.push_str(&content(item));
    }
    html.push_str(&"</li></ul>".repeat(open));
    html.push('\n');
    html
}

/// A status, in the colour of its kind.
fn marked(word: &str) -> String {
    format!("<span class=\"word {}\">{}</span>", look_of(word), escaped(word))
}

fn content(item: &Item) -> String {
    let mut html = String::new();
    for piece in item.pieces() {
        html += &match piece {
            Piece::Text(text) => escaped(text),
            Piece::Code(text) => format!("<code>{}</code>", escaped(text)),
            Piece::Word(word) => marked(word),
        };
    }
    for block in [&item.words, &item.output] {
        if !block.is_empty() {
            html.push_str(&format!("<pre>{}</pre>", escaped(block)));
        }
    }
    html
}

/// Atoms drawn at most.
const ATOMS_MAX: usize = 1_000;
/// Characters at most of a description, and of the names that a box waits for.
const ABOUT_MAX: usize = 80;
const NAMES_MAX: usize = 60;

/// Empty for a graph without atoms.
pub(super) fn drawing(atoms: &[AtomReport]) -> String {
    let drawn = atoms.get(..ATOMS_MAX).unwrap_or(atoms);
    if drawn.is_empty() {
        return String::new();
    }
    let boxes = Boxes::of(drawn);
    let mut html = format!("<div class=\"graph\">{}</div>\n", boxes.row(&boxes.roots));
    if let more @ 1.. = atoms.len() - drawn.len() {
        html.push_str(&format!("<p>… and {more} more atoms</p>\n"));
    }
    html
}

/// The atoms as a tree of groups, by their places.
struct Boxes<'a> {
    atoms: &'a [AtomReport],
    kids: Vec<Vec<usize>>,
    roots: Vec<usize>,
    /// The column of each among the members of its group.
    columns: Vec<usize>,
}

impl<'a> Boxes<'a> {
    fn of(atoms: &'a [AtomReport]) -> Self {
        let places = atoms.iter().enumerate().map(|(place, atom)| (atom.node.id.as_str(), place));
        let places: BTreeMap<&str, usize> = places.collect();
        let mut boxes = Self {
            atoms,
            kids: vec![Vec::new(); atoms.len()],
            roots: Vec::new(),
            columns: vec![0; atoms.len()],
        };
        let mut paths: Vec<Vec<usize>> = Vec::new();
        for (place, atom) in atoms.iter().enumerate() {
            let parent = atom.node.parent.as_ref().and_then(|id| places.get(id.as_str()).copied());
            // A group stands before its members.
            let parent = parent.filter(|above| *above < place);
            let path = parent.map(|above| paths[above].clone()).unwrap_or_default();
            paths.push([path, vec![place]].concat());
            parent.map_or(&mut boxes.roots, |above| &mut boxes.kids[above]).push(place);
        }
        // A wait between atoms is one between the members of the innermost group around both.
        let nodes: Vec<&NodeView> = atoms.iter().map(|atom| &atom.node).collect();
        let beside = |(from, to): (usize, usize)| {
            let mut pairs = paths[from].iter().copied().zip(paths[to].iter().copied());
            pairs.find(|(one, other)| one != other)
        };
        let beside: Vec<(usize, usize)> = waits(&nodes).into_iter().filter_map(beside).collect();
        // Groups may wait for one another in a ring: no column is beyond the number of atoms.
        for _ in 0..atoms.len() {
            let mut is_settled = true;
            for (from, to) in &beside {
                let after = (boxes.columns[*from] + 1).min(atoms.len());
                is_settled &= boxes.columns[*to] >= after;
                boxes.columns[*to] = boxes.columns[*to].max(after);
            }
            if is_settled {
                break;
            }
        }
        boxes
    }

    /// The members of a group, a column for all that may be made at the same time.
    fn row(&self, members: &[usize]) -> String {
        let mut columns: BTreeMap<usize, String> = BTreeMap::new();
        for place in members {
            columns.entry(self.columns[*place]).or_default().push_str(&self.one(*place));
        }
        let columns =
            columns.values().map(|inside| format!("<div class=\"column\">{inside}</div>"));
        format!("<div class=\"row\">{}</div>", columns.collect::<String>())
    }

    fn one(&self, place: usize) -> String {
        let (atom, node) = (&self.atoms[place], &self.atoms[place].node);
        let look = look_of(node.tried.unwrap_or(&node.state));
        let chosen = if node.is_selected { " chosen" } else { "" };
        let tried = match atom.attempts {
            0 => String::new(),
            1 => " · 1 attempt".to_owned(),
            n => format!(" · {n} attempts"),
        };
        let names: Vec<&str> = node.depends_on.iter().map(|id| id.as_str()).collect();
        let names = flat(&behind("after ", &names.join(", ")), NAMES_MAX);
        let words = match node.kind {
            _ if !node.is_group => "",
            "any" => "one of · ",
            "plan" => "planned · ",
            _ => "all of · ",
        };
        let (kind, inside) = match node.is_group {
            true => (" group", self.row(&self.kids[place])),
            false => ("", String::new()),
        };
        format!(
            "<div class=\"box {look}{kind}{chosen}\"><b>{}</b><p>{}</p><small>{words}{}{tried}{}</small>{inside}</div>\n",
            escaped(&flat(node.id.as_str(), ABOUT_MAX)),
            escaped(&flat(&node.description, ABOUT_MAX)),
            escaped(&status(atom)),
            behind(" · ", &escaped(&names)),
        )
    }
}

fn status(atom: &AtomReport) -> String {
    match atom.node.tried {
        Some("failed") => format!("{}, failed", atom.node.state),
        Some("parked") => format!("{}, kept", atom.node.state),
        Some(_) | None if atom.node.is_selected => format!("{}, chosen", atom.node.state),
        Some(_) | None => atom.node.state.clone(),
    }
}
