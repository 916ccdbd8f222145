//! The results upstream of a planning step, and how much of each it is told, by a mode and in a room (contract §9.31).
//!
//! Invariant: a pure function of results, mode and room. A result without room is told by name. In the mode `auto` the
//! phases before the newest three have a fifth of the room that those take, so more phases make hardly a longer prompt.

use super::{
    result_text::{ResultText, binding_node},
    section::{PromptFile, indented, names},
    subject::PromptSubject,
};
use descent_core::doc::prelude::*;
use descent_core::{
    doc,
    doc::{Member, Node, Value},
    graph::{Ix, NodeKind, active, overlap},
    id::AtomId,
    state::{Binding, ContextMode, FreeValue},
    world::long_phase,
};

/// Phases that count as new, and the share of the older ones: a part of what the new ones take, or so many bytes.
const NEW_PHASES: usize = 3;
const OLDER_PART: usize = 5;
const OLDER_BYTES_MIN: usize = 1_000;

/// Results that are named of those that are put in short.
const NAMES_MAX: usize = 20;

/// The results as text, and those that have none.
#[derive(Debug, Default)]
pub(super) struct ToldResults<'w> {
    pub(super) text: String,
    pub(super) told: BTreeSet<&'w AtomId>,
    pub(super) by_name: Vec<&'w AtomId>,
}

/// How much of a result is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResultDetail {
    Full,
    Contract,
    Summary,
}

/// Tells the results, given with those of the newest phase first.
pub(super) fn told<'w>(
    results: &[UpstreamResult<'w>],
    mode: ContextMode,
    bytes_max: usize,
) -> ToldResults<'w> {
    let mode = match mode {
        ContextMode::Selective if results.iter().all(|one| !one.is_needed) => ContextMode::Auto,
        mode => mode,
    };
    let phases = results.iter().map(|one| one.age).max().unwrap_or_default() + 1;
    let mut told = ToldResults::default();
    let (mut most, mut is_new, mut phase) = (bytes_max, true, None);
    for of_entry in entries(results, mode) {
        let Some(one) = of_entry.first() else {
            continue;
        };
        if is_new && mode == ContextMode::Auto && one.age >= NEW_PHASES {
            is_new = false;
            let used = told.text.len();
            most = bytes_max.min(used + OLDER_BYTES_MIN.max(used / OLDER_PART));
        }
        let head = if phase != Some(one.age) && phases > 1 {
            format!("Phase {} of {phases}:\n", phases - one.age)
        } else {
            String::new()
        };
        let ids = of_entry.iter().map(|one| one.id);
        let mut texts = texts(mode, &of_entry);
        match texts.find(|text| told.text.len() + head.len() + text.len() <= most) {
            Some(text) => {
                told.text.push_str(&head);
                told.text.push_str(&text);
                told.told.extend(ids);
                phase = Some(one.age);
            }
            None => told.by_name.extend(ids),
        }
    }
    told
}

/// The results that are told together: each alone, and in the mode `summary` those that an agent put in short.
fn entries<'r, 'w>(
    results: &'r [UpstreamResult<'w>],
    mode: ContextMode,
) -> Vec<Vec<&'r UpstreamResult<'w>>> {
    let mut entries: Vec<Vec<&UpstreamResult<'w>>> = Vec::new();
    for one in results {
        let in_short = one.in_short.filter(|_| mode == ContextMode::Summary);
        let is_its = |entry: &&mut Vec<&UpstreamResult<'w>>| {
            in_short.is_some() && entry.first().is_some_and(|known| known.in_short == in_short)
        };
        match entries.iter_mut().find(is_its) {
            Some(entry) => entry.push(one),
            None => entries.push(Vec::from([one])),
        }
    }
    entries
}

/// The texts of an entry, the fullest first.
fn texts<'t>(
    mode: ContextMode,
    of_entry: &'t [&UpstreamResult<'_>],
) -> Box<dyn Iterator<Item = String> + 't> {
    let in_short = of_entry.first().and_then(|one| one.in_short);
    match in_short.filter(|_| mode == ContextMode::Summary) {
        Some(in_short) => Box::new(core::iter::once(text_in_short(of_entry, in_short))),
        None => Box::new(of_entry.iter().flat_map(move |one| {
            let details = details(mode, one).iter();
            details.map(|detail| text(one, *detail))
        })),
    }
}

fn text_in_short(of_entry: &[&UpstreamResult<'_>], in_short: InShort<'_>) -> String {
    let ids = of_entry.iter().map(|one| one.id.to_string());
    let (plan, ids) = (in_short.plan, names(ids, NAMES_MAX));
    let words = indented(in_short.text);
    format!("- {plan}, its results in short, by an agent ({ids}):\n{words}")
}

/// The ways in which a result may be told, the fullest first.
fn details(mode: ContextMode, one: &UpstreamResult<'_>) -> &'static [ResultDetail] {
    use ResultDetail::{Contract, Full, Summary};
    match mode {
        ContextMode::Full => &[Full],
        ContextMode::Contract => &[Contract],
        ContextMode::Summary => &[Summary],
        ContextMode::Selective if one.is_needed => &[Full],
        ContextMode::Hierarchical if one.age == 0 => &[Summary],
        ContextMode::Selective | ContextMode::Hierarchical => &[],
        ContextMode::Auto if one.age == 0 => &[Full, Contract, Summary],
        ContextMode::Auto => &[Contract, Summary],
    }
}

fn text(one: &UpstreamResult<'_>, detail: ResultDetail) -> String {
    let whole = ResultText::of(one.id, one.binding);
    let none = String::new;
    let told = match (detail, &one.binding.value) {
        (ResultDetail::Full, _) => whole,
        (ResultDetail::Contract, Some(value)) => ResultText {
            summary: short(&whole.summary),
            handoff: none(),
            value: doc::write_compact(&shortened(value, one.schema)),
            files: none(),
            ..whole
        },
        // Without a value there is nothing to make short by a schema.
        (ResultDetail::Contract | ResultDetail::Summary, _) => {
            ResultText { value: none(), files: none(), ..whole }
        }
    };
    told.item()
}

// A value in short, by its schema: required keys first, long texts and lists by their beginning.
//
// Invariant: what is left out is told in its place.

/// Characters of a text, items of a list, and containers inside one another.
const TEXT_CHARS_MAX: usize = 200;
const ITEMS_MAX: usize = 3;
const DEPTH_MAX: usize = 3;

/// A text of at most 200 characters.
pub(super) fn short(text: &str) -> String {
    match text.char_indices().nth(TEXT_CHARS_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_string(),
    }
}

pub(super) fn shortened(value: &Node, schema: Option<&Node>) -> Node {
    inside(value, schema, 1)
}

fn inside(value: &Node, schema: Option<&Node>, depth: usize) -> Node {
    match &value.value {
        Value::String(text) => Node::string(short(text)),
        Value::Array(items) if depth > DEPTH_MAX => left_out(items.len(), "items"),
        Value::Object(members) if depth > DEPTH_MAX => left_out(members.len(), "keys"),
        Value::Array(items) => {
            let of_items = schema.and_then(|schema| schema.get("items"));
            let shown = items.iter().take(ITEMS_MAX);
            let mut shown: Vec<Node> =
                shown.map(|item| inside(item, of_items, depth + 1)).collect();
            if items.len() > ITEMS_MAX {
                shown.push(Node::string(format!("… {} in all", items.len())));
            }
            Node::array(shown)
        }
        Value::Object(members) => {
            let of_key = |key: &str| schema?.get("properties")?.get(key);
            let one = |member: &Member| {
                let node = inside(&member.node, of_key(&member.key), depth + 1);
                (member.key.clone(), node)
            };
            Node::object(required_first(members, schema).into_iter().map(one).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn left_out(count: usize, what: &str) -> Node {
    Node::string(format!("… {count} {what}"))
}

fn required_first<'v>(members: &'v [Member], schema: Option<&Node>) -> Vec<&'v Member> {
    let required = schema.and_then(|schema| schema.get("required")?.as_array());
    let required = required.unwrap_or_default();
    let is_required = |member: &&Member| {
        let mut keys = required.iter().filter_map(Node::as_str);
        keys.any(|key| key == member.key)
    };
    let (first, rest): (Vec<&Member>, Vec<&Member>) = members.iter().partition(is_required);
    first.into_iter().chain(rest).collect()
}

// The results upstream of a planning step, each with its phase, and the files in which they lie whole.

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
    let schema = |x: Ix| {
        let atom = subject.world.state.atom(graph.id(x))?;
        atom.task()?.spec.output_schema.as_ref()
    };
    let one = |(level, x, binding): (usize, Ix, &'w Binding)| UpstreamResult {
        id: graph.id(x),
        binding,
        schema: schema(x),
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

/// Whether a result, or a planning step that it comes from, provides that name or has it.
fn provides(subject: &PromptSubject<'_>, x: Ix, name: &str) -> bool {
    let (graph, state) = (&subject.world.graph, &subject.world.state);
    let mut line = core::iter::once(x).chain(graph.above(x));
    line.any(|y| overlap::provides(graph, state, y, name))
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
