//! Whether two atoms may be worked on at the same time, by what they say that they touch (contract §4, §5).
//!
//! Not here: which atoms are ready. Patterns are compared by what stands before their first wildcard: two that might
//! mean one file are taken to mean it.

use alloc::string::String;

use crate::state::Workspace;

/// What lies outside of any tree is named with this before it.
const OUTSIDE: &str = "external:";

/// In `shared`, where there is one tree, files count too; an atom that names nothing is in nobody's way.
pub(super) fn clash(one: &[String], other: &[String], workspace: Workspace) -> bool {
    let mut pairs = one
        .iter()
        .flat_map(|a| other.iter().map(move |b| (a.as_str(), b.as_str())));
    let is_one_tree = workspace == Workspace::Shared;
    pairs.any(|(a, b)| match (outside(a), outside(b)) {
        (Some(a), Some(b)) => a == b,
        (None, None) => is_one_tree && may_meet(a, b),
        _ => false,
    })
}

fn outside(touched: &str) -> Option<&str> {
    touched.strip_prefix(OUTSIDE).map(str::trim)
}

fn may_meet(a: &str, b: &str) -> bool {
    let (a, b) = (fixed(a), fixed(b));
    a.starts_with(b) || b.starts_with(a)
}

/// The part of a pattern that every path it means begins with.
fn fixed(pattern: &str) -> &str {
    let pattern = pattern.trim_start_matches("./");
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

    #[test]
    fn the_same_thing_outside_is_touched_by_one_at_a_time() {
        check(
            &["external:db"],
            &["src/**", "external:db"],
            Workspace::Git,
            true,
        );
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
        check(&[], &["docs/x.md"], Workspace::Shared, false);
    }
}
