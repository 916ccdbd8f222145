//! Contract 1.3 of the AoT loop's state file. Frozen: a file of this version means this for good.
//!
//! Here: its sections, the past, and the facts that need a whole state. `checks` reads the base case, `graph` the atoms
//! with their groups and results.

mod checks;
mod graph;

use descent_core::doc::prelude::*;
use descent_core::{
    doc::{Member, Node, Span, Value},
    graph::{
        Graph, Ix, NodeKind,
        active::{ActiveGraph, Selection, selection_of},
    },
    id::{AtomId, Lineage},
    state::{
        AtomStatus, Check, Control, Extra, FailureClass, Run, State, Try, TryEnd, VERSION,
        fields::Writer,
    },
};
use graph::WorkGraph;

use crate::{
    front_matter::{FrontMatter, HEADING},
    reader::{HERE, Reader, placed, written},
    report::{Fate, Report},
};

/// The template's text for a missing prompt.
const NO_PROMPT: &str = "(The user's original request will be recorded here)";
/// The limits that the template writes into every file.
const ITERATIONS: u64 = 20;

/// A person's additions of things that the old file lacks.
#[derive(Debug, Default)]
pub struct Additions {
    pub why: Option<String>,
    pub checks: Vec<String>,
}

/// The tree of a state, and the facts that fit only into a whole state.
pub(crate) fn up(
    front: &Node,
    prompt: Node,
    additions: &Additions,
    lineage: &Lineage,
    contract: &str,
    report: &mut Report,
) -> (Node, Facts) {
    let Some(mut old) = Reader::open(front, "", report) else {
        return (Node::null(), Facts::default());
    };
    for key in ["objective", "atoms"] {
        if !old.has(key) {
            let message = format!("the section `{key}` is missing");
            old.fault_in(HERE, "missing-key", message, None);
        }
    }
    let objective = objective(&mut old, prompt, additions);
    let mut graph = graph::read(&mut old);
    let origins = origins(&mut graph.atoms);
    let (trail, corrections) = history_read(&mut old, &graph);
    history_control(&mut old);
    old.finish();
    let mut to = Writer::default();
    to.text("version", &format!("{VERSION}"));
    to.put("objective", objective);
    to.put("control", Control::default().node());
    to.put("work_graph", work_graph(graph.atoms, front))
        .put("bindings", Node::object(graph.bindings))
        .put("trail", Node::array(trail))
        .put("corrections", Node::array(corrections))
        .put("run", Run::default().halves().shown);
    let mut internal = Writer::default();
    internal.text("lineage", lineage.as_str()).put("serial", Node::uint(1)).text("seal", "");
    internal.put("atoms", Node::object(origins));
    to.put("internal", internal.finish(&Extra::default()));
    to.put("notes", report.notes(contract));
    (written(front.span, &mut to), graph.facts)
}

/// Takes out where atoms came from, which lies in `internal`.
fn origins(atoms: &mut [(String, Node)]) -> Vec<(String, Node)> {
    let taken = atoms.iter_mut().filter_map(|(id, atom)| {
        let Value::Object(members) = &mut atom.value else {
            return None;
        };
        let origin: Vec<Member> = members.extract_if(.., |one| one.key == "origin").collect();
        Some((id.clone(), Value::Object(origin).into()))
    });
    taken.collect()
}

fn work_graph(atoms: Vec<(String, Node)>, front: &Node) -> Node {
    let span = front.get("atoms").map_or(front.span, |atoms| atoms.span);
    let atoms = placed(span, Node::object(atoms));
    placed(span, Node::object(Vec::from([("atoms", atoms)])))
}

/// The person's words below the front matter, as they are; empty if there are none.
pub(crate) fn prompt(file: &FrontMatter) -> Node {
    let body = file.text[file.body.clone()].trim();
    let text = body.strip_prefix(HEADING).map_or(body, str::trim_start);
    let text = if text == NO_PROMPT { "" } else { text };
    let span = Span::new(file.body.start, file.body.end);
    placed(span, Node::string(text))
}

fn objective(front: &mut Reader<'_, '_>, prompt: Node, additions: &Additions) -> Node {
    let Some(mut old) = front.object("objective") else {
        return Node::object(Vec::<(String, Node)>::new());
    };
    let mut to = Writer::default();
    let goal = carried(&mut old, "goal");
    to.put("raw_input", raw_input(prompt, goal.as_ref(), old.report));
    to.some("goal", goal);
    to.some("background_intent", why(&mut old, additions));
    for key in ["deliverables", "definition_of_done"] {
        to.some(key, carried(&mut old, key));
    }
    to.some("scope", scope(&mut old));
    if let Some(node) = old.take("clarifications") {
        old.note(Fate::Carried, "clarifications", "/objective/clarifications");
        to.put("clarifications", node.clone());
    }
    to.some("base_case", base_case(&mut old, additions));
    to.put("constraints", constraints(&mut old));
    old.finish_as(to)
}

/// A text of the old file that has the same key here.
fn carried(old: &mut Reader<'_, '_>, key: &'static str) -> Option<Node> {
    let text = old.text(key)?;
    old.note(Fate::Carried, key, old.path(key));
    Some(text)
}

fn why(old: &mut Reader<'_, '_>, additions: &Additions) -> Option<Node> {
    let Some(why) = &additions.why else {
        return carried(old, "background_intent");
    };
    let _ = old.text("background_intent");
    let at = "/objective/background_intent";
    old.report.add(Fate::Carried, at, Span::default(), at);
    Some(Node::string(why.as_str()))
}

fn raw_input(prompt: Node, goal: Option<&Node>, report: &mut Report) -> Node {
    let (at, span) = ("/body", prompt.span);
    if prompt.as_str().is_some_and(|text| !text.is_empty()) {
        report.add(Fate::Carried, at, span, "/objective/raw_input");
        return prompt;
    }
    let what = "no prompt stands there; the goal is taken for it";
    report.add(Fate::Changed, at, span, what);
    goal.cloned().unwrap_or_else(|| Node::string(""))
}

fn scope(old: &mut Reader<'_, '_>) -> Option<Node> {
    let node = old.take("scope")?;
    if node.as_object().is_none() {
        old.keep("scope", "no object with what is in and what is out");
        return None;
    }
    old.note(Fate::Carried, "scope", "/objective/scope");
    let mut scope = old.object("scope")?;
    let mut to = Writer::default();
    for (key, names) in [("in", ["in_scope", "in"]), ("out", ["out_of_scope", "out"])] {
        let part = names.into_iter().find_map(|name| scope.take(name));
        to.some(key, part.cloned());
    }
    scope.finish();
    Some(to.finish(&Extra::default()))
}

/// The old checks, and those that a person adds now.
fn base_case(old: &mut Reader<'_, '_>, additions: &Additions) -> Option<Node> {
    let node = old.take("base_case");
    let mut parts = old.object("base_case").map_or_else(Vec::new, checks::base_case);
    let added = additions.checks.iter();
    parts.extend(added.map(|check| Check::command(check).node()));
    if parts.is_empty() && node.is_none() {
        return None;
    }
    let span = node.map_or(Span::default(), |node| node.span);
    let all = placed(span, Node::array(parts));
    Some(placed(span, Node::object(Vec::from([("all", all)]))))
}

fn constraints(old: &mut Reader<'_, '_>) -> Node {
    let mut to = Writer::default();
    let Some(mut old) = old.object("constraints") else {
        return to.finish(&Extra::default());
    };
    if let Some(count) = old.count("max_parallel_agents") {
        let key = "max_parallel_agents";
        old.note(Fate::Carried, key, old.path(key));
        to.put(key, count);
    }
    let iterations = "max_iterations";
    if let Some(count) = old.count(iterations) {
        if count.as_u64() == Some(ITERATIONS) {
            let why =
                "the template's own limit; here the halting bound limits, unless somebody chooses";
            old.keep(iterations, why);
        } else {
            let what =
                "carried; an iteration here is an attempt that ended, or a choice taken back";
            old.note(Fate::Changed, iterations, what);
            to.put("budget", Node::object(Vec::from([("iterations", count)])));
        }
    }
    let why = "there is no count of stalls: attempts are bounded by their number";
    old.keep("max_stall_count", why);
    old.finish_as(to)
}

/// A text of the old file as a message shows it.
fn quoted(text: &str) -> String {
    let short: String = text.chars().take(80).collect();
    if short.len() < text.len() { format!("{short}…") } else { short }
}

// The past by contract 1.3: the choices that were made, a person's corrections, and the loop's own
// counters.

const CORRECTIONS: [&str; 4] =
    ["objective_change", "dag_adjustment", "constraint_change", "bindings_override"];

/// The counters of the loop that are kept, and why they do not go on.
const COUNTERS: [(&str, &str); 5] = [
    ("status", "descent finds out for itself how things stand: the state begins as aligned"),
    ("iteration", "iterations are counted anew"),
    ("stall_count", "there is no count of stalls"),
    ("prev_pending_count", "whether the work shrinks is told by the measure"),
    ("stop_reason", "it was said to the old loop"),
];

/// Trail and corrections.
fn history_read(old: &mut Reader<'_, '_>, graph: &WorkGraph) -> (Vec<Node>, Vec<Node>) {
    let mut trail = Vec::new();
    old.each("trail", |entry| trail.extend(trail_entry(entry, trail.len() as u64 + 1, graph)));
    let mut corrections = Vec::new();
    old.each("corrections", |one| {
        corrections.extend(correction(one, &format!("c{}", corrections.len() + 1)));
    });
    (trail, corrections)
}

fn trail_entry(mut old: Reader<'_, '_>, n: u64, graph: &WorkGraph) -> Option<Node> {
    let kind = old.name("type").map(|kind| kind.text);
    let when = old.text("timestamp");
    let group = old.name("or_group");
    let group = group.and_then(|name| graph.groups.get(&name.text));
    let chosen = old.name("selected");
    let chosen = chosen.filter(|name| AtomId::is_valid(&name.text));
    let mut to = Writer::default();
    to.put("n", Node::uint(n));
    match (kind.as_deref(), group, chosen) {
        (None | Some("choice"), Some(group), Some(choice)) => {
            start(&mut to, "choice", when);
            to.text("group", group).text("choice", &choice.text);
        }
        (Some("user_correction"), ..) => start(&mut to, "user_correction", when),
        _ => {
            old.keep_here("it names no choice of a group that is here");
            return None;
        }
    }
    to.some("reason", old.text("reason"));
    to.some("description", old.text("description"));
    old.note(Fate::Carried, HERE, "/trail");
    Some(old.finish_as(to))
}

fn start(to: &mut Writer, kind: &str, when: Option<Node>) {
    to.text("type", kind).put("at", or_empty(when));
}

fn or_empty(text: Option<Node>) -> Node {
    text.unwrap_or_else(|| Node::string(""))
}

fn correction(mut old: Reader<'_, '_>, id: &str) -> Option<Node> {
    let kind = old.name("type");
    let Some(kind) = kind.filter(|kind| CORRECTIONS.contains(&kind.text.as_str())) else {
        old.keep_here("a correction of no known type");
        return None;
    };
    let mut to = Writer::default();
    to.text("id", id);
    to.put("timestamp", or_empty(old.text("timestamp")));
    to.text("type", &kind.text);
    to.put("description", or_empty(old.text("description")));
    to.put("trail_cleared", Node::bool(old.flag("trail_cleared")));
    to.text("by", "aot").put("changes", Node::array(Vec::new()));
    old.note(Fate::Carried, HERE, "/corrections");
    Some(old.finish_as(to))
}

/// The loop's notebook. None of it continues: a new run counts and asks anew.
fn history_control(old: &mut Reader<'_, '_>) {
    let Some(mut old) = old.object("control") else {
        return;
    };
    for (key, why) in COUNTERS {
        old.keep(key, why);
    }
    for key in ["stop_requested", "redirect_requested"] {
        if old.flag(key) {
            old.keep(key, "asked of the old loop: a new run does not obey it");
        }
    }
    old.finish();
}

/// Facts of an old file that fit only into a whole state: the contexts in which things were made or failed.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    failed: Vec<FailedChoice>,
}

#[derive(Debug)]
struct FailedChoice {
    group: AtomId,
    choice: AtomId,
    span: Span,
}

impl Facts {
    /// A result belongs to the context in force; a failed choice failed in the context in which it is selected.
    pub(crate) fn put_into(self, state: &mut State, report: &mut Report) {
        let graph = Graph::of(state);
        let selection = selection_of(&graph, state);
        let active = ActiveGraph::of(&graph, selection.clone());
        let ids: Vec<AtomId> = state.bindings.keys().cloned().collect();
        for id in ids {
            match graph.ix(&id).and_then(|x| active.context(x)) {
                Some(context) => {
                    if let Some(binding) = state.bindings.get_mut(&id) {
                        Arc::make_mut(binding).context = Some(context.clone());
                    }
                }
                None => park(state, &graph, &selection, &id, report),
            }
        }
        for failed in &self.failed {
            failed.put_into(state, &graph, &selection, report);
        }
    }
}

impl FailedChoice {
    fn put_into(
        &self,
        state: &mut State,
        graph: &Graph,
        selection: &Selection,
        report: &mut Report,
    ) {
        let (group, choice) = (&self.group, &self.choice);
        let (Some(of), Some(x)) = (graph.ix(group), graph.ix(choice)) else {
            return;
        };
        let mut selection = selection.clone();
        selection.insert(of, x);
        let active = ActiveGraph::of(graph, selection);
        let at = format!("/or_groups/{group}/failed");
        let atom = state.atoms.get_mut(choice).map(Arc::make_mut);
        let task = atom.and_then(|atom| atom.task_mut());
        let (Some(task), Some(context)) = (task, active.context(x)) else {
            let what =
                format!("`{choice}` had failed; it is no single task, so it may be tried again");
            report.add(Fate::Changed, &at, self.span, what);
            return;
        };
        let mut tried = Try::new(context.clone(), active.choices(graph, x));
        tried.attempts = 1;
        tried.ended = Some(TryEnd::Failed(FailureClass::Logical));
        task.tries.push(tried);
        task.status = AtomStatus::Failed;
        let what = format!("`{choice}` has failed and is not tried again");
        report.add(Fate::Carried, &at, self.span, what);
    }
}

/// A result inside a choice that is not in force belongs to no present tree: it waits until that is chosen.
fn park(state: &mut State, graph: &Graph, selection: &Selection, id: &AtomId, report: &mut Report) {
    let (Some(x), Some(binding)) = (graph.ix(id), state.bindings.remove(id)) else {
        return;
    };
    let mut selection = selection.clone();
    let line: Vec<Ix> = core::iter::once(x).chain(graph.above(x)).collect();
    for pair in line.windows(2) {
        if let [choice, group] = *pair
            && graph.vertex(group).kind == NodeKind::Any
        {
            selection.insert(group, choice);
        }
    }
    let active = ActiveGraph::of(graph, selection);
    let mut atom = Arc::clone(&binding.of);
    let mut what = format!("`{id}` is open: its result has no place ({})", binding.summary);
    if let (Some(context), Some(task)) = (active.context(x), Arc::make_mut(&mut atom).task_mut()) {
        let mut parked = (*binding).clone();
        parked.context = Some(context.clone());
        parked.of = Arc::default();
        let mut tried = Try::new(context.clone(), active.choices(graph, x));
        tried.ended = Some(TryEnd::Parked(Arc::new(parked)));
        task.tries.push(tried);
        what = format!(
            "`{id}` is in a choice that is not selected: its result waits until that is chosen"
        );
    }
    report.change(&format!("/bindings/{id}"), what);
    state.atoms.insert(id.clone(), atom);
}
