//! Merges the loop's own notebook: its facts are the program's, remarks beside them the person's.

use alloc::{string::String, sync::Arc};

use super::{
    Sides,
    tree::{Trees, same},
};
use crate::{
    doc::{self, Node},
    state::{Extra, Run, State},
};

pub(super) fn notebook(sides: &Sides<'_>, trees: &mut Trees, merged: &mut State) {
    let (base, ours, theirs) = (
        sides.base.map(|base| &*base.run),
        &*sides.ours.run,
        &*sides.theirs.run,
    );
    let mut run = ours.clone();
    run.extra = trees.extra(
        [
            base.map(|run| &run.extra),
            Some(&ours.extra),
            Some(&theirs.extra),
        ],
        "/run",
    );
    run.spent.extra = trees.extra(
        [
            base.map(|run| &run.spent.extra),
            Some(&ours.spent.extra),
            Some(&theirs.spent.extra),
        ],
        "/run/spent",
    );
    parts(base, &mut run, theirs, trees);
    merged.run = Arc::new(run);
    facts(base, ours, theirs, trees);
}

/// The optional fields, and the lists.
fn parts(base: Option<&Run>, run: &mut Run, theirs: &Run, trees: &mut Trees) {
    if let Some(measure) = &mut run.measure {
        let of = |run: &Run| run.measure.as_ref().map(|measure| measure.extra.clone());
        beside(
            &mut measure.extra,
            base.and_then(of),
            of(theirs),
            trees,
            "/run/measure",
        );
    }
    if let Some(start) = &mut run.started_from {
        let of = |run: &Run| run.started_from.as_ref().map(|start| start.extra.clone());
        beside(
            &mut start.extra,
            base.and_then(of),
            of(theirs),
            trees,
            "/run/started_from",
        );
    }
    for (i, placed) in run.line.iter_mut().enumerate() {
        let one = placed.clone();
        let of = |run: &Run| {
            run.line
                .iter()
                .find(|other| **other == one)
                .map(|one| one.extra.clone())
        };
        let at = doc::pointer_push("/run/line", &alloc::format!("{i}"));
        beside(&mut placed.extra, base.and_then(of), of(theirs), trees, &at);
    }
    for intent in &mut run.in_flight {
        let id = intent.id.clone();
        let of = |run: &Run| {
            run.in_flight
                .iter()
                .find(|other| other.id == id)
                .map(|one| one.extra.clone())
        };
        let at = doc::pointer_push("/run/in_flight", id.as_str());
        beside(&mut intent.extra, base.and_then(of), of(theirs), trees, &at);
    }
}

/// Merges remarks; a record that the edit does not know has none of its own.
fn beside(
    ours: &mut Extra,
    base: Option<Extra>,
    theirs: Option<Extra>,
    trees: &mut Trees,
    at: &str,
) {
    if let Some(theirs) = theirs {
        *ours = trees.extra([base.as_ref(), Some(&*ours), Some(&theirs)], at);
    }
}

/// A person's changes to facts are told, and not taken.
fn facts(base: Option<&Run>, ours: &Run, theirs: &Run, trees: &mut Trees) {
    let (ours, theirs) = (bare(ours), bare(theirs));
    let base = base.map_or_else(|| ours.clone(), bare);
    differences(
        [Some(&base), Some(&ours), Some(&theirs)],
        "/run".into(),
        trees,
    );
}

fn differences([base, ours, theirs]: [Option<&Node>; 3], at: String, trees: &mut Trees) {
    if same(base, theirs) || same(ours, theirs) {
        return;
    }
    let members = |node: Option<&Node>| node.and_then(Node::as_object).is_some();
    if !members(base) || !members(theirs) {
        return trees.program(&at, theirs.cloned());
    }
    let keys = [base, theirs]
        .into_iter()
        .flatten()
        .filter_map(Node::as_object);
    let mut keys: alloc::vec::Vec<&str> =
        keys.flatten().map(|member| member.key.as_str()).collect();
    keys.sort_unstable();
    keys.dedup();
    for key in keys {
        let nodes = [base, ours, theirs].map(|node| node.and_then(|node| node.get(key)));
        differences(nodes, doc::pointer_push(&at, key), trees);
    }
}

/// The facts alone.
fn bare(run: &Run) -> Node {
    let mut run = run.clone();
    run.extra = Extra::default();
    run.spent.extra = Extra::default();
    run.measure
        .iter_mut()
        .for_each(|measure| measure.extra = Extra::default());
    run.started_from
        .iter_mut()
        .for_each(|start| start.extra = Extra::default());
    run.line
        .iter_mut()
        .for_each(|placed| placed.extra = Extra::default());
    run.in_flight
        .iter_mut()
        .for_each(|intent| intent.extra = Extra::default());
    run.node()
}
