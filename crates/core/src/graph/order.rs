//! The topological order of a graph. A dependency of an atom holds for everything inside it. Indexes of atoms, and the
//! digests of choices.
//!
//! Invariant: no recursion, so no chain is too long.

use crate::doc::prelude::*;
use core::ops::{Index, IndexMut};

use super::{Graph, NodeKind, Vertex};
use crate::id::Digest;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    New,
    Open,
    Done,
}

/// Sorts dependencies and members before the atoms that need them, or returns a cycle. In a cycle
/// each atom waits for the next; the first is repeated at the end.
pub fn topological(vertices: &AtomVec<Vertex>, roots: &[Ix]) -> Result<Vec<Ix>, Vec<Ix>> {
    let mut walk = OrderWalk {
        vertices,
        marks: vertices.iter().map(|_| Mark::New).collect(),
        order: Vec::new(),
    };
    for root in roots {
        walk.visit(*root)?;
    }
    // An atom below no root is on a cycle of members.
    for x in vertices.indices() {
        walk.visit(x)?;
    }
    Ok(walk.order)
}

struct OrderWalk<'a> {
    vertices: &'a AtomVec<Vertex>,
    marks: AtomVec<Mark>,
    order: Vec<Ix>,
}

impl OrderWalk<'_> {
    /// Depth first: dependencies, then members, then the atom itself.
    fn visit(&mut self, start: Ix) -> Result<(), Vec<Ix>> {
        if self.marks[start] != Mark::New {
            return Ok(());
        }
        self.marks[start] = Mark::Open;
        let mut path: Vec<(Ix, usize)> = Vec::from([(start, 0)]);
        while let Some((x, next)) = path.last_mut() {
            let vertex = &self.vertices[*x];
            let Some(y) = vertex.deps.iter().chain(&vertex.kids).nth(*next).copied() else {
                self.marks[*x] = Mark::Done;
                self.order.push(*x);
                path.pop();
                continue;
            };
            *next += 1;
            match self.marks[y] {
                Mark::Done => {}
                Mark::New => {
                    self.marks[y] = Mark::Open;
                    path.push((y, 0));
                }
                Mark::Open => return Err(cycle(&path, y)),
            }
        }
        Ok(())
    }
}

fn cycle(path: &[(Ix, usize)], back_to: Ix) -> Vec<Ix> {
    let from = path.iter().position(|(x, _)| *x == back_to).unwrap_or(0);
    let mut cycle: Vec<Ix> = path.iter().skip(from).map(|(x, _)| *x).collect();
    cycle.push(back_to);
    cycle
}

// Digests by which a choice is known again in another run of a project: by what it is, and not by its id.

impl Graph {
    /// A digest of the specifications in a choice. Fragments of a planning step inside of it are left out: another run
    /// plans others.
    pub fn choice_digest(&self, choice: Ix) -> Digest {
        self.parts_digest(&[choice])
    }

    /// The same of several parts together, such as those of a fragment.
    pub fn parts_digest(&self, parts: &[Ix]) -> Digest {
        let mut text = String::new();
        let mut todo: Vec<(usize, Ix)> = parts.iter().rev().map(|x| (0, *x)).collect();
        while let Some((depth, x)) = todo.pop() {
            let vertex = self.vertex(x);
            let kind = vertex.kind.word();
            text.push_str(&format!("{depth} {kind} {}\n", vertex.spec));
            if vertex.kind != NodeKind::Plan {
                todo.extend(vertex.kids.iter().rev().map(|kid| (depth + 1, *kid)));
            }
        }
        Digest::of(text.as_bytes())
    }

    /// A digest of the siblings among which is chosen, in any order; of a planning step its own.
    pub fn group_digest(&self, group: Ix) -> Digest {
        if self.vertex(group).kind == NodeKind::Plan {
            return self.choice_digest(group);
        }
        let kids = self.vertex(group).kids.iter();
        let mut digests: Vec<Digest> = kids.map(|kid| self.choice_digest(*kid)).collect();
        digests.sort();
        let texts: Vec<&str> = digests.iter().map(Digest::as_str).collect();
        Digest::of(texts.join("\n").as_bytes())
    }
}

// The index of an atom in a graph, and vectors with an element for each atom.

/// An atom's index in the graph; atoms are numbered in id order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ix(usize);

/// A vector with an element for each atom of a graph.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct AtomVec<T>(Vec<T>);

impl<T> AtomVec<T> {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn indices(&self) -> impl Iterator<Item = Ix> + use<T> {
        (0..self.0.len()).map(Ix)
    }

    pub fn iter(&self) -> impl Iterator<Item = (Ix, &T)> {
        self.indices().zip(&self.0)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (Ix, &mut T)> {
        self.indices().zip(&mut self.0)
    }
}

impl<T> FromIterator<T> for AtomVec<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self(items.into_iter().collect())
    }
}

impl<T> Index<Ix> for AtomVec<T> {
    type Output = T;

    fn index(&self, x: Ix) -> &T {
        &self.0[x.0]
    }
}

impl<T> IndexMut<Ix> for AtomVec<T> {
    fn index_mut(&mut self, x: Ix) -> &mut T {
        &mut self.0[x.0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan;

    fn graph(atoms: &str) -> crate::graph::Graph {
        let text =
            alloc::format!(r#"{{"objective": {{}}, "work_graph": {{"atoms": {{{atoms}}}}}}}"#);
        let plan = plan::read(text.as_bytes());
        assert!(plan.faults.is_empty(), "{:?}", plan.faults);
        crate::graph::Graph::of(&plan.into_state(crate::id::Lineage::new("l")))
    }

    /// The vertices of a graph that was made without looking for cycles.
    fn check(atoms: &str, expected: Result<(), &str>) {
        let graph = graph(atoms);
        let found = topological(&graph.vertices, graph.roots());
        let path = |cycle: Vec<Ix>| {
            let names: Vec<&str> = cycle.iter().map(|x| graph.id(*x).as_str()).collect();
            names.join(" ")
        };
        assert_eq!(
            found.map(|_| ()).map_err(path).as_ref().map_err(|path| path.as_str()),
            expected.as_ref().map_err(|p| *p)
        );
    }

    #[test]
    fn what_is_needed_stands_before_what_needs_it() {
        let graph = graph(
            r#""a": {"depends_on": ["c"]}, "b": {"parts": ["d"], "depends_on": ["a"]}, "c": {}, "d": {}"#,
        );
        let order: Vec<&str> = graph.order().iter().map(|x| graph.id(*x).as_str()).collect();
        assert_eq!(order, ["c", "a", "d", "b"]);
    }

    #[test]
    fn a_cycle_of_dependencies_is_told_with_its_path() {
        check(
            r#""a": {"depends_on": ["b"]}, "b": {"depends_on": ["c"]}, "c": {"depends_on": ["a"]}"#,
            Err("a b c a"),
        );
    }

    #[test]
    fn a_cycle_through_the_parts_of_two_groups_is_found() {
        let atoms = r#""A": {"parts": ["a"]}, "B": {"parts": ["b"]}, "a": {"depends_on": ["B"]}, "b": {"depends_on": ["A"]}"#;
        check(atoms, Err("A a B b A"));
    }

    #[test]
    fn groups_that_wait_for_one_another_in_one_direction_are_no_cycle() {
        let atoms =
            r#""A": {"parts": ["a"]}, "B": {"parts": ["b"]}, "a": {"depends_on": ["B"]}, "b": {}"#;
        check(atoms, Ok(()));
    }

    #[test]
    fn a_chain_of_twenty_thousand_overflows_no_stack() {
        let atom = |n: usize| match n {
            0 => alloc::string::String::from(r#""a00000": {}"#),
            _ => alloc::format!(r#""a{n:05}": {{"depends_on": ["a{:05}"]}}"#, n - 1),
        };
        let atoms: Vec<alloc::string::String> = (0..20_000).map(atom).collect();
        let graph = graph(&atoms.join(", "));
        assert_eq!(graph.order().len(), 20_000);
        let active = crate::graph::active::ActiveGraph::of(&graph, Default::default());
        let last = graph.atoms().last().unwrap();
        assert!(active.context(last).is_some());
        let alone = crate::graph::active::context_under(&graph, last, &Default::default());
        assert_eq!(alone.as_ref(), active.context(last), "found again from its choices alone");
    }
}
