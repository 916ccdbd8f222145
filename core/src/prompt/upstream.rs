//! The results upstream of a planning step, each with its phase, and the files in which they lie whole.
//!
//! A phase is what was made after the same number of planning steps, one after the other. Not here: how much of a result
//! is told (`context`).

use alloc::{
    collections::{BTreeMap, BTreeSet},
    format,
    string::{String, ToString},
    vec::Vec,
};

use super::{result_text::binding_node, section::PromptFile, subject::PromptSubject};
use crate::{
    doc,
    graph::{Ix, NodeKind, active},
    id::AtomId,
    state::{Binding, FreeValue, Task},
    world::long_phase,
};

/// Maximum of bytes of `$DESCENT_BINDINGS` for a planner.
const BINDINGS_BYTES_MAX: usize = 256 << 10;
/// The folder beside the prompt.
pub const RESULTS_FOLDER: &str = "bindings";

#[derive(Debug, Clone)]
pub(super) struct UpstreamResult<'w> {
    pub(super) id: &'w AtomId,
    pub(super) binding: &'w Binding,
    /// The schema of its value.
    pub(super) schema: Option<&'w FreeValue>,
    /// Phases that came after its own; 0 of the newest.
    pub(super) age: usize,
    /// Whether the step names it in `needs`.
    pub(super) is_needed: bool,
    /// The results of its fragment in short, by an agent.
    pub(super) in_short: Option<InShort<'w>>,
}

/// The words that stand for the results of a fragment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct InShort<'w> {
    pub(super) plan: &'w AtomId,
    pub(super) text: &'w str,
}

/// The results, those of the newest phase first.
pub(super) fn results<'w>(subject: &PromptSubject<'w>) -> Vec<UpstreamResult<'w>> {
    let Some(plan) = subject.x else {
        return Vec::new();
    };
    let graph = &subject.world.graph;
    let levels = levels(subject);
    let upstream = active::upstream(graph, plan, &subject.active.selection);
    let with_results = upstream.into_iter().filter_map(|x| {
        let level = levels.get(&x).copied().unwrap_or_default();
        Some((level, x, subject.result(x)?))
    });
    let mut found: Vec<(usize, Ix, &'w Binding)> = with_results.collect();
    let is_before = |a: Ix, b: Ix| graph.id(a).cmp_naturally(graph.id(b));
    found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| is_before(a.1, b.1)));
    let known: BTreeSet<usize> = found.iter().map(|(level, ..)| *level).collect();
    let needs = subject.task().map_or(&[][..], |task| &task.needs);
    let in_short = in_short(subject, &found);
    let one = |(level, x, binding): (usize, Ix, &'w Binding)| UpstreamResult {
        id: graph.id(x),
        binding,
        schema: task(subject, x).and_then(|task| task.spec.output_schema.as_ref()),
        age: known.range(level + 1..).count(),
        is_needed: needs.iter().any(|name| provides(subject, x, name)),
        in_short: graph.planned_by(x).and_then(|plan| in_short.get(&plan).copied()),
    };
    found.into_iter().map(one).collect()
}

/// The planning steps whose results an agent put in short.
fn in_short<'w>(
    subject: &PromptSubject<'w>,
    found: &[(usize, Ix, &'w Binding)],
) -> BTreeMap<Ix, InShort<'w>> {
    let (graph, active, state) = (&subject.world.graph, subject.active, &subject.world.state);
    let mut phases: BTreeMap<Ix, Vec<(Ix, &Binding)>> = BTreeMap::new();
    for (_, x, binding) in found {
        if let Some(plan) = graph.planned_by(*x) {
            phases.entry(plan).or_default().push((*x, binding));
        }
    }
    let told = phases.into_iter().filter_map(|(plan, of_phase)| {
        let fragment = long_phase::in_force(graph, active, state, plan)?;
        let text = long_phase::told(graph, fragment, &of_phase)?;
        let plan_id = graph.id(plan);
        Some((plan, InShort { plan: plan_id, text }))
    });
    told.collect()
}

fn task<'w>(subject: &PromptSubject<'w>, x: Ix) -> Option<&'w Task> {
    let world = subject.world;
    world.state.atom(world.graph.id(x))?.task()
}

/// Whether a result, or a planning step that it comes from, provides that name or has it.
fn provides(subject: &PromptSubject<'_>, x: Ix, name: &str) -> bool {
    let (graph, state) = (&subject.world.graph, &subject.world.state);
    let mut line = core::iter::once(x).chain(graph.above(x));
    line.any(|y| {
        let task = task(subject, y);
        let is_provided = task.is_some_and(|task| task.provides.iter().any(|known| known == name));
        let origin = state.atom(graph.id(y)).and_then(|atom| atom.origin.as_ref());
        let proposed = origin.and_then(|origin| origin.get("proposed")?.as_str());
        is_provided || graph.id(y).as_str() == name || proposed == Some(name)
    })
}

/// For each live atom, the planning steps before it, one after the other.
fn levels(subject: &PromptSubject<'_>) -> BTreeMap<Ix, usize> {
    let (graph, active) = (&subject.world.graph, subject.active);
    let live = graph.order().iter().copied();
    let live: Vec<Ix> = live.filter(|x| active.is_live(*x)).collect();
    let mut begin: BTreeMap<Ix, usize> = BTreeMap::new();
    let mut end: BTreeMap<Ix, usize> = BTreeMap::new();
    // Each round settles one more planning step of the longest chain.
    for _ in 0..=graph.plans().count() + 1 {
        let mut is_settled = true;
        for x in live.iter().copied() {
            let after = graph.waits_for(x).filter_map(|dep| end.get(&dep));
            let inside = graph.phases_above(x);
            let inside = inside.filter_map(|(plan, ..)| Some(begin.get(&plan)? + 1));
            let own = after.copied().chain(inside).max().unwrap_or_default();
            let is_planned = graph.vertex(x).kind == NodeKind::Plan && !active.is_leaf(graph, x);
            let members = active.members(graph, x).into_iter();
            let members = members.filter_map(|y| end.get(&y).copied());
            let last = members.chain([own + usize::from(is_planned)]).max();
            let last = last.unwrap_or_default();
            let known = (begin.insert(x, own), end.insert(x, last));
            is_settled &= known == (Some(own), Some(last));
        }
        if is_settled {
            break;
        }
    }
    begin
}

/// The results of `$DESCENT_BINDINGS`, and the names of those that do not fit. Results with a declared shape come first,
/// then short ones.
pub(super) fn bindings<'w>(
    results: &[UpstreamResult<'w>],
) -> (Vec<(AtomId, &'w Binding)>, Vec<String>) {
    let sized = results.iter().map(|one| {
        let bytes = doc::write_compact(&binding_node(one.binding)).len();
        (one.schema.is_none(), bytes, one.id, one.binding)
    });
    let mut all: Vec<(bool, usize, &AtomId, &Binding)> = sized.collect();
    all.sort_by(|a, b| (a.0, a.1, a.2).cmp(&(b.0, b.1, b.2)));
    let (mut shown, mut left_out, mut room) = (Vec::new(), Vec::new(), BINDINGS_BYTES_MAX);
    for (_, bytes, id, binding) in all {
        match room.checked_sub(bytes + id.as_str().len()) {
            Some(left) => {
                room = left;
                shown.push((id.clone(), binding));
            }
            None => left_out.push(id.to_string()),
        }
    }
    (shown, left_out)
}

/// Each result whole, in a file beside the prompt. An id is a plain name, so none leaves the folder.
pub(super) fn files(results: &[UpstreamResult<'_>]) -> Vec<PromptFile> {
    let mut in_order: Vec<&UpstreamResult<'_>> = results.iter().collect();
    in_order.sort_by_key(|one| one.id);
    let plain = in_order.into_iter().filter(|one| AtomId::is_valid(one.id.as_str()));
    let file = |one: &UpstreamResult<'_>| PromptFile {
        name: format!("{RESULTS_FOLDER}/{}.json", one.id),
        text: doc::write(&binding_node(one.binding)) + "\n",
    };
    plain.map(file).collect()
}

/// The place of these files, in words.
pub(super) fn files_lie() -> String {
    format!("the file {RESULTS_FOLDER}/ID.json beside the one that $DESCENT_PROMPT names")
}
