//! Contract 1.3 of the AoT loop's state file, as version 2.0 has it. Frozen: a file of this version means this for good.
//!
//! Here: its sections. `checks` has the base case, `graph` the atoms with their groups, `results` what was made of them,
//! `history` what happened.

mod checks;
mod graph;
mod history;
mod results;

use alloc::{borrow::ToOwned, format, string::String, vec::Vec};

use super::{
    Added, AotFile,
    facts::Facts,
    old::{Old, placed},
    report::{Fate, Report},
};
use crate::{
    doc::{Node, Span},
    id::Lineage,
    state::{Check, Extra, fields::Writer},
};

/// What the template writes where nobody wrote a prompt.
const NO_PROMPT: &str = "(The user's original request will be recorded here)";
const HEADING: &str = "# Original Prompt";
/// The limits that the template writes into every file.
const ITERATIONS: u64 = 20;

/// The tree of a state of version 2.0, and what can be put into it only when it is a state.
pub(super) fn up(
    front: &Node,
    file: &AotFile<'_>,
    added: &Added,
    lineage: &Lineage,
    contract: &str,
    report: &mut Report,
) -> (Node, Facts) {
    let Some(mut old) = Old::open(front, "", report) else {
        return (Node::null(), Facts::default());
    };
    for key in ["objective", "atoms"] {
        if front.get(key).is_none_or(Node::is_null) {
            let message = format!("the section `{key}` is missing");
            report.fault("missing-key", ("", front.span), message, None);
        }
    }
    let objective = objective(old.take("objective"), file, added, report);
    let graph = graph::read(&mut old, report);
    let (trail, corrections) = history::read(&mut old, &graph, report);
    history::control(old.take("control"), report);
    old.finish(report);
    let mut to = Writer::default();
    to.text("version", "2.0").text("lineage", lineage.as_str());
    to.put("serial", Node::uint(1)).text("seal", "");
    to.put("objective", objective).put("control", control());
    to.put("work_graph", work_graph(&graph, front))
        .put("bindings", Node::object(graph.bindings))
        .put("trail", Node::array(trail))
        .put("corrections", Node::array(corrections))
        .put("run", run());
    let notes = report.notes(contract);
    to.put("notes", notes);
    (
        placed(front.span, to.finish(&Extra::default())),
        graph.facts,
    )
}

fn work_graph(graph: &graph::Graph, front: &Node) -> Node {
    let span = front.get("atoms").map_or(front.span, |atoms| atoms.span);
    let atoms = placed(span, Node::object(graph.atoms.clone()));
    placed(span, Node::object(Vec::from([("atoms", atoms)])))
}

fn control() -> Node {
    let mut to = Writer::default();
    to.put("stop_requested", Node::bool(false))
        .put("stop_reason", Node::null())
        .put("redirect_requested", Node::bool(false))
        .put("request", Node::null());
    to.finish(&Extra::default())
}

fn run() -> Node {
    crate::state::Run::default().node()
}

fn objective(old: Option<&Node>, file: &AotFile<'_>, added: &Added, report: &mut Report) -> Node {
    let Some(mut old) = old.and_then(|node| Old::open(node, "/objective", report)) else {
        return Node::object(Vec::<(String, Node)>::new());
    };
    let mut to = Writer::default();
    let goal = old.text("goal", report);
    let prompt = prompt(file, goal.as_ref(), report);
    to.put("raw_input", prompt);
    put_text(&mut to, &old.at, "goal", goal, report);
    let why = old.text("background_intent", report);
    let why = match &added.why {
        Some(why) => Some(Node::string(why.as_str())),
        None => why,
    };
    put_text(&mut to, &old.at, "background_intent", why, report);
    for key in ["deliverables", "definition_of_done"] {
        let text = old.text(key, report);
        put_text(&mut to, &old.at, key, text, report);
    }
    scope(&mut old, &mut to, report);
    if let Some(node) = old.take("clarifications") {
        to.put("clarifications", node.clone());
        report.add(
            Fate::Carried,
            (&old.path("clarifications"), node.span),
            "/objective/clarifications",
        );
    }
    let base_case = base_case(&mut old, added, report);
    to.some("base_case", base_case);
    let limits = old.take("constraints");
    to.put("constraints", constraints(limits, report));
    let span = old.span();
    old.finish(report);
    placed(span, to.finish(&Extra::default()))
}

fn put_text(to: &mut Writer, at: &str, key: &str, text: Option<Node>, report: &mut Report) {
    if let Some(node) = text {
        let place = format!("{at}/{key}");
        report.add(Fate::Carried, (&place, node.span), place.as_str());
        to.put(key, node);
    }
}

/// The person's words below the front matter, as they stand.
fn prompt(file: &AotFile<'_>, goal: Option<&Node>, report: &mut Report) -> Node {
    let body = file.body.trim();
    let text = body.strip_prefix(HEADING).map_or(body, str::trim_start);
    let at = ("/body", file.body_at);
    if text.is_empty() || text == NO_PROMPT {
        report.add(
            Fate::Changed,
            at,
            "no prompt stands there; the goal is taken for it",
        );
        return goal.cloned().unwrap_or_else(|| Node::string(""));
    }
    report.add(Fate::Carried, at, "/objective/raw_input");
    placed(file.body_at, Node::string(text))
}

fn scope(old: &mut Old<'_>, to: &mut Writer, report: &mut Report) {
    let Some(node) = old.take("scope") else {
        return;
    };
    let at = old.path("scope");
    let part = |keys: [&str; 2]| keys.into_iter().find_map(|key| node.get(key)).cloned();
    let mut scope = Writer::default();
    scope.some("in", part(["in_scope", "in"]));
    scope.some("out", part(["out_of_scope", "out"]));
    let others = node.as_object().unwrap_or_default().iter();
    for other in
        others.filter(|one| !["in_scope", "in", "out_of_scope", "out"].contains(&one.key.as_str()))
    {
        report.keep(
            &format!("{at}/{}", other.key),
            &other.node,
            "not known here",
        );
    }
    if node.as_object().is_none() {
        report.keep(&at, node, "no object with what is in and what is out");
        return;
    }
    report.add(Fate::Carried, (&at, node.span), "/objective/scope");
    to.put("scope", scope.finish(&Extra::default()));
}

/// The old checks, and those that a person adds now.
fn base_case(old: &mut Old<'_>, added: &Added, report: &mut Report) -> Option<Node> {
    let node = old.take("base_case");
    let at = old.path("base_case");
    let mut parts = node.map_or_else(Vec::new, |node| checks::base_case(node, &at, report));
    parts.extend(
        added
            .checks
            .iter()
            .map(|check| Check::command(check).node()),
    );
    let span = node.map_or(Span::default(), |node| node.span);
    if parts.is_empty() && node.is_none() {
        return None;
    }
    Some(placed(
        span,
        Node::object(Vec::from([("all", placed(span, Node::array(parts)))])),
    ))
}

fn constraints(node: Option<&Node>, report: &mut Report) -> Node {
    let mut to = Writer::default();
    let Some(mut old) = node.and_then(|node| Old::open(node, "/objective/constraints", report))
    else {
        return to.finish(&Extra::default());
    };
    if let Some(count) = old.count("max_parallel_agents", report) {
        let at = old.path("max_parallel_agents");
        report.add(Fate::Carried, (&at, count.span), at.as_str());
        to.put("max_parallel_agents", count);
    }
    if let Some(count) = old.count("max_iterations", report) {
        let at = old.path("max_iterations");
        if count.as_u64() == Some(ITERATIONS) {
            let why =
                "the template's own limit; here the halting bound limits, unless somebody chooses";
            report.keep(&at, &count, why);
        } else {
            let what =
                "carried; an iteration here is an attempt that ended, or a choice taken back";
            report.add(Fate::Changed, (&at, count.span), what);
            to.put("max_iterations", count);
        }
    }
    if let Some(node) = old.take("max_stall_count") {
        let why = "there is no count of stalls: attempts are bounded by their number";
        report.keep(&old.path("max_stall_count"), node, why);
    }
    let span = old.span();
    old.finish(report);
    placed(span, to.finish(&Extra::default()))
}

/// A text of the old file as a message shows it.
fn quoted(text: &str) -> String {
    let short: String = text.chars().take(80).collect();
    if short.len() < text.len() {
        format!("{short}…")
    } else {
        short.to_owned()
    }
}
