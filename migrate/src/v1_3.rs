//! Contract 1.3 of the AoT loop's state file. Frozen: a file of this version means this for good.
//!
//! Here: its sections. `checks` reads the base case, `graph` the atoms with their groups, `results` their results,
//! `history` the past.

mod checks;
mod graph;
mod history;
mod results;

use alloc::{format, string::String, vec::Vec};

use descent_core::{
    doc::{Member, Node, Span, Value},
    id::Lineage,
    state::{Check, Control, Extra, Run, VERSION, fields::Writer},
};

use crate::{
    facts::Facts,
    front_matter::{FrontMatter, HEADING},
    host::Additions,
    reader::{Reader, placed, written},
    report::{Fate, Report},
};

/// The template's text for a missing prompt.
const NO_PROMPT: &str = "(The user's original request will be recorded here)";
/// The limits that the template writes into every file.
const ITERATIONS: u64 = 20;

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
            old.fault_here("missing-key", message, None);
        }
    }
    let objective = objective(&mut old, prompt, additions);
    let mut graph = graph::read(&mut old);
    let origins = origins(&mut graph.atoms);
    let (trail, corrections) = history::read(&mut old, &graph);
    history::control(&mut old);
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
