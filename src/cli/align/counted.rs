//! A base case that is a single yes or no, and the count that would steer planners better.
//!
//! Invariant: it is told, and changes nothing.

use std::path::Path;

use descent_core::{
    doc,
    state::{Check, CheckKind, FreeValue, Leaf},
    view::BoundView,
    world::World,
};
use serde::Serialize;

use crate::{
    render::{self, Line, Page},
    survey,
};

const WHAT: &str = "the base case is a single yes or no: its distance is 0 or 1; a count would steer planners better";
const INSTEAD: &str = "  in a plan, such as this; the exit code counts as before:";

/// A base case whose distance is 0 or 1
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct YesOrNo {
    check: String,
    what: &'static str,
    /// A check that counts failing tests; null where the tool is not known to tell a count.
    instead: Option<FreeValue>,
}

/// None where the base case has more leaves or a count, and where no planner is or may be asked.
pub(super) fn yes_or_no(world: &World, bound: &BoundView, top: &Path) -> Option<YesOrNo> {
    let may_plan = world.graph.plans().next().is_some() || bound.changes.is_some();
    let base_case = world.state.objective.base_case.as_ref();
    let leaves = base_case.filter(|_| may_plan)?.leaves();
    let [check] = leaves.as_slice() else {
        return None;
    };
    let leaf = check.leaf()?;
    if !leaf.is_machine() || leaf.number().is_some() {
        return None;
    }
    let instead = match leaf {
        Leaf::Command(leaf) => survey::failing_tests(top, leaf),
        _ => None,
    };
    let as_check = |leaf| {
        let mut new = Check::of(CheckKind::Leaf(Box::new(Leaf::Command(leaf))));
        new.name.clone_from(&check.name);
        new
    };
    Some(YesOrNo {
        check: check.title(),
        what: WHAT,
        instead: instead.map(|leaf| as_check(leaf).node()),
    })
}

impl YesOrNo {
    pub(super) fn lines(&self, page: &mut Page, wrapped: impl Fn(&str, &str) -> String) {
        let lines = wrapped("  ", self.what);
        page.extend(lines.lines().map(Line::of));
        if let Some(instead) = &self.instead {
            page.push(Line::of(INSTEAD));
            // Not wrapped, because it is to be copied.
            let check = render::visible(&doc::write_compact(instead));
            page.whole(Line::of(format!("      {check}")));
        }
    }
}
