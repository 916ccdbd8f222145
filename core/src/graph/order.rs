//! The topological order of a graph in which a dependency of an atom holds for all that is inside it.
//!
//! Invariant: no recursion, so that no chain is too long.

use alloc::vec::Vec;

use super::{Ix, Vertex};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    New,
    Open,
    Done,
}

/// Dependencies and members before those that need them, or a cycle: atoms of which each waits for the next, the
/// first standing again at the end.
pub fn topological(vertices: &[Vertex], roots: &Vec<Ix>) -> Result<Vec<Ix>, Vec<Ix>> {
    let mut walk = Walk { vertices, marks: alloc::vec![Mark::New; vertices.len()], order: Vec::new() };
    for root in roots {
        walk.visit(*root)?;
    }
    // What hangs on no root hangs on a cycle of members.
    for x in 0..vertices.len() {
        walk.visit(x)?;
    }
    Ok(walk.order)
}

struct Walk<'a> {
    vertices: &'a [Vertex],
    marks: Vec<Mark>,
    order: Vec<Ix>,
}

impl Walk<'_> {
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
