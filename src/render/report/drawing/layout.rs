//! The place of each box of the drawing.
//!
//! The members of a group that have to do with one another stand in layers by what they wait for, from left to right. A
//! layer is one or more columns; a row of layers that would be too wide goes on below. Invariant: no two members
//! overlap, and a group encloses its members, however deep they nest. Not here: shapes and words (`drawing`).

use std::collections::{BTreeMap, BTreeSet};

use descent_core::view::report::AtomReport;

pub(super) const LEAF_WIDTH: usize = 212;
pub(super) const LEAF_HEIGHT: usize = 58;
/// The head of a group, with its name and its status.
const HEAD_HEIGHT: usize = 42;
const PADDING: usize = 12;
/// Between two boxes of a column.
const GAP: usize = 12;
/// Between members that have nothing to do with one another.
const PART_GAP: usize = 24;
/// Between two layers, where the arrows are.
const LAYER_GAP: usize = 36;
/// The widest row of layers outside of all groups. A group that holds a wider one is as wide as that.
const ROW_WIDTH: usize = 1_332;
/// A column is not broken before this height.
const COLUMN_HEIGHT: usize = 400;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct DrawnBox {
    pub(super) x: usize,
    pub(super) y: usize,
    pub(super) width: usize,
    pub(super) height: usize,
}

pub(super) struct Layout {
    /// One for each atom, in the same order.
    pub(super) areas: Vec<DrawnBox>,
    /// Pairs: the atom that is waited for, and the one that waits.
    pub(super) waits: Vec<(usize, usize)>,
    pub(super) width: usize,
    pub(super) height: usize,
}

/// The tree of groups by places: each before its members.
struct GroupTree {
    parents: Vec<Option<usize>>,
    kids: Vec<Vec<usize>>,
    roots: Vec<usize>,
    waits: Vec<(usize, usize)>,
}

impl Layout {
    pub(super) fn of(atoms: &[AtomReport]) -> Self {
        let tree = GroupTree::of(atoms);
        let orders = tree.waits_between_siblings();
        let mut areas = vec![DrawnBox::default(); atoms.len()];
        // A member comes after its group, so its size is known first.
        for place in (0..atoms.len()).rev() {
            let kids = tree.kids.get(place).map(Vec::as_slice).unwrap_or_default();
            let (width, height) = match kids {
                [] => (LEAF_WIDTH, LEAF_HEIGHT),
                kids => {
                    let depth = atoms[place].node.depth + 1;
                    let room = ROW_WIDTH.saturating_sub(2 * PADDING * depth).max(LEAF_WIDTH);
                    let inner = arrange(kids, orders.get(&Some(place)), &mut areas, room);
                    (inner.0 + 2 * PADDING, inner.1 + HEAD_HEIGHT + PADDING)
                }
            };
            (areas[place].width, areas[place].height) = (width, height);
        }
        let (width, height) = arrange(&tree.roots, orders.get(&None), &mut areas, ROW_WIDTH);
        for place in 0..atoms.len() {
            if let Some(above) = tree.parents[place] {
                let (x, y) = (areas[above].x + PADDING, areas[above].y + HEAD_HEIGHT);
                areas[place].x += x;
                areas[place].y += y;
            }
        }
        Self { areas, waits: tree.waits, width, height }
    }
}

impl GroupTree {
    fn of(atoms: &[AtomReport]) -> Self {
        let places = atoms.iter().enumerate().map(|(place, atom)| (atom.node.id.as_str(), place));
        let places: BTreeMap<&str, usize> = places.collect();
        let mut tree = Self {
            parents: Vec::new(),
            kids: vec![Vec::new(); atoms.len()],
            roots: Vec::new(),
            waits: Vec::new(),
        };
        for (place, atom) in atoms.iter().enumerate() {
            let node = &atom.node;
            let parent = node.parent.as_ref().and_then(|id| places.get(id.as_str()).copied());
            // A group stands before its members.
            let parent = parent.filter(|above| *above < place);
            match parent {
                Some(above) => tree.kids[above].push(place),
                None => tree.roots.push(place),
            }
            tree.parents.push(parent);
            let deps = node.depends_on.iter().filter_map(|id| places.get(id.as_str()));
            tree.waits.extend(deps.map(|dep| (*dep, place)));
        }
        tree
    }

    /// The waiting between members of one group, by the group: of themselves, or of what is inside them.
    fn waits_between_siblings(&self) -> BTreeMap<Option<usize>, BTreeSet<(usize, usize)>> {
        let mut orders: BTreeMap<Option<usize>, BTreeSet<(usize, usize)>> = BTreeMap::new();
        for (from, to) in &self.waits {
            let (from, to) = (self.path(*from), self.path(*to));
            let mut pairs = from.iter().zip(&to);
            if let Some((one, other)) = pairs.find(|(one, other)| one != other) {
                let group = self.parents[*one];
                orders.entry(group).or_default().insert((*one, *other));
            }
        }
        orders
    }

    /// From the outermost group down to the atom.
    fn path(&self, place: usize) -> Vec<usize> {
        let mut path: Vec<usize> =
            std::iter::successors(Some(place), |place| self.parents[*place]).collect();
        path.reverse();
        path
    }
}

/// Gives each member a place in its group, and tells the size of them all.
fn arrange(
    members: &[usize],
    order: Option<&BTreeSet<(usize, usize)>>,
    areas: &mut [DrawnBox],
    room: usize,
) -> (usize, usize) {
    let (mut width, mut height) = (0, 0);
    for part in connected(members, order) {
        let top = if height == 0 { 0 } else { height + PART_GAP };
        let of_part = |pair: &&(usize, usize)| part.contains(&pair.0);
        let order: BTreeSet<(usize, usize)> =
            order.into_iter().flatten().filter(of_part).copied().collect();
        let (part_width, bottom) = arrange_part(&part, &order, areas, room, top);
        (width, height) = (width.max(part_width), bottom);
    }
    (width, height)
}

/// The members that have to do with one another, in order. Those that stand alone are one part.
fn connected(members: &[usize], order: Option<&BTreeSet<(usize, usize)>>) -> Vec<BTreeSet<usize>> {
    let mut near: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (from, to) in order.into_iter().flatten() {
        near.entry(*from).or_default().push(*to);
        near.entry(*to).or_default().push(*from);
    }
    let mut parts: Vec<BTreeSet<usize>> = Vec::new();
    let mut seen: BTreeSet<usize> = BTreeSet::new();
    let alone: BTreeSet<usize> =
        members.iter().copied().filter(|place| !near.contains_key(place)).collect();
    for place in members.iter().filter(|place| near.contains_key(place)) {
        let mut part = BTreeSet::new();
        let mut todo = vec![*place];
        while let Some(place) = todo.pop() {
            if seen.insert(place) {
                part.insert(place);
                todo.extend(near.get(&place).into_iter().flatten());
            }
        }
        parts.push(part);
    }
    parts.push(alone);
    parts.retain(|part| !part.is_empty());
    parts.sort();
    parts
}

/// The same for members that have to do with one another, below `top`; gives their width, and where they end.
fn arrange_part(
    members: &BTreeSet<usize>,
    order: &BTreeSet<(usize, usize)>,
    areas: &mut [DrawnBox],
    room: usize,
    top: usize,
) -> (usize, usize) {
    let (mut x, mut y, mut row_height, mut width) = (0, top, 0, 0);
    for layer in layers(members, order) {
        let columns = columns(&layer, areas, room);
        let layer_width =
            columns.iter().map(|one| one.width + GAP).sum::<usize>().saturating_sub(GAP);
        if x > 0 && x + layer_width > room {
            (x, y, row_height) = (0, y + row_height + LAYER_GAP, 0);
        }
        row_height = row_height.max(place_columns(&columns, areas, x, y));
        width = width.max(x + layer_width);
        x += layer_width + LAYER_GAP;
    }
    (width, y + row_height)
}

/// Places columns side by side; gives the height of the highest.
fn place_columns(columns: &[Column], areas: &mut [DrawnBox], x: usize, y: usize) -> usize {
    let (mut left, mut height) = (x, 0);
    for column in columns {
        let mut top = y;
        for place in &column.members {
            (areas[*place].x, areas[*place].y) = (left, top);
            top += areas[*place].height + GAP;
        }
        height = height.max(top - GAP - y);
        left += column.width + GAP;
    }
    height
}

/// Each layer waits only for those before it. Members that wait for one another stand in the last.
fn layers(members: &BTreeSet<usize>, order: &BTreeSet<(usize, usize)>) -> Vec<Vec<usize>> {
    let mut open: BTreeMap<usize, usize> = members.iter().map(|place| (*place, 0)).collect();
    for (_, to) in order {
        *open.entry(*to).or_default() += 1;
    }
    let waiting = |place: usize| order.range((place, 0)..=(place, usize::MAX)).map(|pair| pair.1);
    let is_first: BTreeSet<usize> = free(&open).into_iter().collect();
    let mut depths: BTreeMap<usize, usize> = BTreeMap::new();
    let mut depth = 0;
    let mut layer = free(&open);
    while !layer.is_empty() {
        for place in layer {
            depths.insert(place, depth);
            open.remove(&place);
            for to in waiting(place) {
                if let Some(count) = open.get_mut(&to) {
                    *count -= 1;
                }
            }
        }
        depth += 1;
        layer = free(&open);
    }
    depths.extend(open.into_keys().map(|place| (place, depth)));
    let mut layers: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for place in members {
        // A member that waits for nothing stands right before those that wait for it: so arrows are short.
        let after = waiting(*place).filter_map(|to| depths.get(&to)).min();
        let own = depths.get(place).copied().unwrap_or(depth);
        let late = after.map_or(own, |after| after.saturating_sub(1));
        let layer = if is_first.contains(place) { late } else { own };
        layers.entry(layer).or_default().push(*place);
    }
    layers.into_values().collect()
}

fn free(open: &BTreeMap<usize, usize>) -> Vec<usize> {
    let free = open.iter().filter(|(_, waits)| **waits == 0);
    free.map(|(place, _)| *place).collect()
}

struct Column {
    width: usize,
    members: Vec<usize>,
}

/// As few columns as keep it low, and no more than there is room for.
fn columns(layer: &[usize], areas: &[DrawnBox], room: usize) -> Vec<Column> {
    let widest = layer.iter().map(|place| areas[*place].width).max().unwrap_or(LEAF_WIDTH);
    let columns_max = ((room + GAP) / (widest + GAP)).max(1);
    let all: usize = layer.iter().map(|place| areas[*place].height + GAP).sum();
    let height = all.div_ceil(columns_max).max(COLUMN_HEIGHT);
    let mut columns: Vec<Column> = Vec::new();
    let mut used = 0;
    for place in layer {
        let area = areas[*place];
        let is_full = used > 0 && used + area.height > height && columns.len() < columns_max;
        match columns.last_mut().filter(|_| !is_full) {
            Some(column) => {
                column.members.push(*place);
                column.width = column.width.max(area.width);
            }
            None => {
                used = 0;
                columns.push(Column { width: area.width, members: vec![*place] });
            }
        }
        used += area.height + GAP;
    }
    columns
}

#[cfg(test)]
mod tests {
    use descent_core::{state::decode, view::report::report, world::World};
    use serde_json::{Value, json};

    use super::*;

    fn atoms_of(atoms: Value) -> Vec<AtomReport> {
        let state = json!({
            "version": "3.0", "lineage": "l", "serial": 1, "seal": "",
            "objective": {"raw_input": "r", "goal": "g", "background_intent": "w", "deliverables": "d",
                "definition_of_done": "o", "base_case": {"command": "make"}, "constraints": {}},
            "control": {"stop_requested": false, "stop_reason": null, "redirect_requested": false, "request": null},
            "work_graph": {"atoms": atoms}, "bindings": {}, "trail": [], "corrections": [], "run": {}
        });
        let decoded = decode::decode(crate::whole_records::file(&state).to_string().as_bytes());
        report(&World::new(decoded.state.expect("a state"))).work
    }

    fn task(deps: &[&str]) -> Value {
        json!({"depends_on": deps, "action": {"run": "true"}})
    }

    /// Boxes do not overlap, groups enclose their members, and what waits stands right of or below what it waits for.
    #[track_caller]
    fn check(atoms: Value, width_max: usize) {
        let atoms = atoms_of(atoms);
        let layout = Layout::of(&atoms);
        let tree = GroupTree::of(&atoms);
        let ends = |area: &DrawnBox| (area.x + area.width, area.y + area.height);
        let are_apart = |one: &DrawnBox, other: &DrawnBox| {
            one.x >= ends(other).0
                || other.x >= ends(one).0
                || one.y >= ends(other).1
                || other.y >= ends(one).1
        };
        for members in tree.kids.iter().chain([&tree.roots]) {
            for (place, one) in members.iter().enumerate() {
                for other in &members[place + 1..] {
                    assert!(are_apart(&layout.areas[*one], &layout.areas[*other]), "{one} {other}");
                }
            }
        }
        for (place, above) in tree.parents.iter().enumerate() {
            let area = layout.areas[place];
            let room =
                above.map_or((layout.width, layout.height), |above| ends(&layout.areas[above]));
            assert!(ends(&area).0 <= room.0 && ends(&area).1 <= room.1, "{place}");
        }
        for (from, to) in &layout.waits {
            let (from, to) = (layout.areas[*from], layout.areas[*to]);
            assert!(to.x >= ends(&from).0 || to.y >= ends(&from).1, "{from:?} {to:?}");
        }
        assert!(layout.width <= width_max, "{}", layout.width);
    }

    #[test]
    fn boxes_stand_apart_in_their_groups_with_one_with_twelve_and_with_300_atoms() {
        check(json!({"a": task(&[])}), LEAF_WIDTH);
        check(
            json!({"g": {"choices": ["h", "c"]}, "h": {"parts": ["a", "b"]}, "a": task(&[]), "b": task(&["a"]),
                "c": task(&[]), "d": task(&["g"]), "e": task(&["d", "f"]), "f": task(&[])}),
            ROW_WIDTH,
        );
        let (mut flat, mut chain) = (json!({}), json!({}));
        for n in 1..=300 {
            flat[format!("a{n}")] = task(&[]);
            let before = format!("a{}", n - 1);
            chain[format!("a{n}")] = if n == 1 { task(&[]) } else { task(&[&before]) };
        }
        check(flat, ROW_WIDTH);
        check(chain, ROW_WIDTH);
    }

    #[test]
    fn groups_whose_members_wait_for_one_another_are_drawn_too() {
        let atoms = json!({"g": {"parts": ["a", "b"]}, "h": {"parts": ["c", "d"]},
            "a": task(&["c"]), "b": task(&[]), "c": task(&[]), "d": task(&["b"])});
        assert_eq!(Layout::of(&atoms_of(atoms)).areas.len(), 6);
    }
}
