//! The work graph inside of a page: boxes in boxes, placed by the page's own style, what is waited for left of what waits.
//!
//! Invariant: the drawing names nothing outside of itself, and colours nothing that a word does not tell too. Not here:
//! the colours (the style of `html`).

use std::collections::BTreeMap;

use descent_core::view::report::AtomReport;

use super::{
    markup::{escaped, look_of},
    plain::flat,
};

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
        let waits = atoms.iter().enumerate().flat_map(|(place, atom)| {
            let deps = atom.node.depends_on.iter().filter_map(|id| places.get(id.as_str()));
            deps.map(move |dep| (*dep, place)).collect::<Vec<_>>()
        });
        let beside = |(from, to): (usize, usize)| {
            let mut pairs = paths[from].iter().copied().zip(paths[to].iter().copied());
            pairs.find(|(one, other)| one != other)
        };
        let beside: Vec<(usize, usize)> = waits.filter_map(beside).collect();
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
        let about = flat(&node.description, ABOUT_MAX);
        let tried = match atom.attempts {
            0 => String::new(),
            1 => " · 1 attempt".to_owned(),
            n => format!(" · {n} attempts"),
        };
        let waits: Vec<&str> = node.depends_on.iter().map(|id| id.as_str()).collect();
        let waits = if waits.is_empty() {
            String::new()
        } else {
            format!(" · after {}", waits.join(", "))
        };
        let (kind, words, inside) = match node.kind {
            _ if !node.is_group => ("", String::new(), String::new()),
            kind => {
                let words = match kind {
                    "any" => "one of · ",
                    "plan" => "planned · ",
                    _ => "all of · ",
                };
                (" group", words.to_owned(), self.row(&self.kids[place]))
            }
        };
        format!(
            "<div class=\"box {look}{kind}{chosen}\"><b>{}</b><p>{}</p><small>{words}{}{tried}{}</small>{inside}</div>\n",
            escaped(&flat(node.id.as_str(), ABOUT_MAX)),
            escaped(&about),
            escaped(&status(atom)),
            escaped(&flat(&waits, NAMES_MAX)),
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
