//! Whether two atoms may run in parallel by their declared effects, and which atoms may conflict
//! (contract §4, §5).
//!
//! Not here: which atoms are ready. Patterns are compared up to their first wildcard: if both might
//! match one file, they are assumed to.

use super::{Graph, Ix, NodeKind};
use crate::doc::prelude::*;
use crate::{
    id::AtomId,
    state::{State, Workspace},
};

/// Maximum of atoms with declared files that are compared with each other.
const NAMING_MAX: usize = 300;

/// The prefix of effects outside of any tree.
const OUTSIDE: &str = "external:";

/// In `shared` there is one tree, so files count too. An atom without declared effects conflicts
/// with nothing.
pub fn clash(one: &[String], other: &[String], workspace: Workspace) -> bool {
    let mut pairs = one.iter().flat_map(|a| other.iter().map(move |b| (a.as_str(), b.as_str())));
    let is_one_tree = workspace == Workspace::Shared;
    pairs.any(|(a, b)| match (outside(a), outside(b)) {
        (Some(a), Some(b)) => a == b,
        (None, None) => is_one_tree && may_meet(a, b),
        _ => false,
    })
}

/// Two atoms that may run in parallel, with patterns that may match the same file.
#[derive(Debug, PartialEq, Eq)]
pub struct Overlap {
    pub atoms: [AtomId; 2],
    pub touches: [String; 2],
}

/// The pairs of atoms that do not wait for each other, can be live together, and may touch the same
/// files: their changes may not merge.
pub fn meetings(graph: &Graph, state: &State) -> Vec<Overlap> {
    let touches = |x: Ix| {
        let task = state.atoms.get(graph.id(x))?.task()?;
        Some(&*task.touches).filter(|touches| !touches.is_empty())
    };
    let naming = graph.tasks().filter_map(|x| Some((x, touches(x)?)));
    let naming: Vec<(Ix, &[String])> = naming.take(NAMING_MAX).collect();
    let upstream: Vec<BTreeSet<Ix>> = naming.iter().map(|(x, _)| upstream(graph, *x)).collect();
    let mut found = Vec::new();
    for (n, (x, one)) in naming.iter().enumerate() {
        for (m, (y, other)) in naming.iter().enumerate().skip(n + 1) {
            let is_ordered = upstream[n].contains(y) || upstream[m].contains(x);
            let pair = files_of(one)
                .flat_map(|a| files_of(other).map(move |b| (a, b)))
                .find(|(a, b)| may_meet(a, b));
            let Some((a, b)) = pair.filter(|_| !is_ordered && !are_choices(graph, *x, *y)) else {
                continue;
            };
            found.push(Overlap {
                atoms: [graph.id(*x).clone(), graph.id(*y).clone()],
                touches: [a.into(), b.into()],
            });
        }
    }
    found
}

fn files_of(touches: &[String]) -> impl Iterator<Item = &str> {
    touches.iter().map(String::as_str).filter(|touched| outside(touched).is_none())
}

/// Everything that must be resolved before `x` begins, with what is inside it.
pub fn upstream(graph: &Graph, x: Ix) -> BTreeSet<Ix> {
    let (mut seen, mut todo) = (BTreeSet::new(), graph.waits_for(x).collect::<Vec<_>>());
    while let Some(y) = todo.pop() {
        if seen.insert(y) {
            todo.extend(graph.waits_for(y));
            todo.extend(&graph.vertex(y).kids);
        }
    }
    seen
}

/// Whether an atom provides something of that name, or is called so: by its id, or in its planner's words.
pub fn provides(graph: &Graph, state: &State, x: Ix, name: &str) -> bool {
    let id = graph.id(x);
    let is_provided = state.atom(id).is_some_and(|atom| {
        let proposed = atom.origin.as_ref().and_then(|origin| origin.get("proposed")?.as_str());
        let provided = atom.task().map_or(&[][..], |task| &task.provides);
        proposed == Some(name) || provided.iter().any(|known| known == name)
    });
    is_provided || id.as_str() == name
}

/// Whether they are in two choices of one group, and so are never live together.
pub fn are_choices(graph: &Graph, x: Ix, y: Ix) -> bool {
    let path = |x: Ix| core::iter::once(x).chain(graph.above(x)).collect::<Vec<Ix>>();
    let (of_x, of_y) = (path(x), path(y));
    let shared = of_x.iter().find(|above| of_y.contains(above));
    shared.is_some_and(|above| graph.vertex(*above).kind == NodeKind::Any)
}

fn outside(touched: &str) -> Option<&str> {
    touched.strip_prefix(OUTSIDE).map(str::trim)
}

/// Whether two patterns may match one file.
pub fn may_meet(a: &str, b: &str) -> bool {
    let (a, b) = (plain(a), plain(b));
    let (fixed_a, fixed_b) = (fixed(a), fixed(b));
    // A path without a wildcard is a file, or a directory with all in it.
    let begins = |long: &str, short: &str, is_pattern: bool| {
        let rest = long.strip_prefix(short);
        rest.is_some_and(|rest| {
            is_pattern || rest.is_empty() || short.is_empty() || rest.starts_with('/')
        })
    };
    begins(fixed_a, fixed_b, fixed_b != b) || begins(fixed_b, fixed_a, fixed_a != a)
}

/// Whether a declared path is one file or directory of the tree, and no pattern.
pub fn is_literal(touched: &str) -> bool {
    let path = plain(touched);
    outside(touched).is_none() && !path.is_empty() && fixed(path) == path && !path.starts_with('/')
}

/// A path without a leading `./` and a trailing `/`.
pub fn plain(path: &str) -> &str {
    path.trim_start_matches("./").trim_end_matches('/')
}

/// The fixed start of every path that a pattern matches.
fn fixed(pattern: &str) -> &str {
    let end = pattern.find(['*', '?', '[', '{', '\\']);
    end.map_or(pattern, |end| &pattern[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{string::ToString, vec::Vec};

    fn check(one: &[&str], other: &[&str], workspace: Workspace, expected: bool) {
        let owned =
            |touches: &[&str]| -> Vec<String> { touches.iter().map(ToString::to_string).collect() };
        let (one, other) = (owned(one), owned(other));
        assert_eq!(clash(&one, &other, workspace), expected);
        assert_eq!(clash(&other, &one, workspace), expected);
    }

    fn meetings_of(atoms: &str) -> Vec<String> {
        let text =
            alloc::format!(r#"{{"objective": {{}}, "work_graph": {{"atoms": {{{atoms}}}}}}}"#);
        let plan = crate::plan::read(text.as_bytes());
        assert!(plan.faults.is_empty(), "{:?}", plan.faults);
        let state = plan.into_state(crate::id::Lineage::new("l"));
        let found = meetings(&Graph::of(&state), &state);
        let words = |one: &Overlap| alloc::format!("{} {}", one.atoms[0], one.atoms[1]);
        found.iter().map(words).collect()
    }

    #[test]
    fn atoms_that_may_change_one_file_side_by_side_are_told() {
        let a = r#""a": {"touches": ["src/**"]}"#;
        let b = |more: &str| alloc::format!(r#"{a}, "b": {{"touches": ["src/b.rs"]{more}}}"#);
        assert_eq!(meetings_of(&b("")), ["a b"]);
        assert_eq!(meetings_of(&b(r#", "depends_on": ["a"]"#)), [""; 0]);
        let choices = alloc::format!(r#"{}, "g": {{"choices": ["a", "b"]}}"#, b(""));
        assert_eq!(meetings_of(&choices), [""; 0], "never live together");
        let parts = alloc::format!(r#"{}, "g": {{"parts": ["a", "b"]}}"#, b(""));
        assert_eq!(meetings_of(&parts), ["a b"]);
        let apart =
            r#""a": {"touches": ["src/**"]}, "b": {"touches": ["docs/**", "external:src"]}"#;
        assert_eq!(meetings_of(apart), [""; 0]);
    }

    #[test]
    fn the_same_thing_outside_is_touched_by_one_at_a_time() {
        check(&["external:db"], &["src/**", "external:db"], Workspace::Git, true);
        check(&["external:db"], &["external:mail"], Workspace::Git, false);
        check(&["external:db"], &["db"], Workspace::Shared, false);
    }

    #[test]
    fn files_count_where_there_is_one_tree() {
        check(&["src/**"], &["src/main.rs"], Workspace::Git, false);
        check(&["src/**"], &["src/main.rs"], Workspace::Shared, true);
        check(&["src/a*"], &["src/b*"], Workspace::Shared, false);
        check(&["**/*.rs"], &["docs/x.md"], Workspace::Shared, true);
        check(&["./docs/x.md"], &["docs/x.md"], Workspace::Shared, true);
        check(&["src"], &["./src/a.rs"], Workspace::Shared, true);
        check(&["docs"], &["docs-old/a"], Workspace::Shared, false);
        check(&["a.js"], &["a.json"], Workspace::Shared, false);
        check(&[], &["docs/x.md"], Workspace::Shared, false);
    }
}
