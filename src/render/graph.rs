//! The work graph as an indented tree.

use descent_core::view::graph::{GraphView, NodeView};

use super::{Line, Meaning, Page};

/// Columns at most of the ids, so that descriptions line up.
const IDS_WIDTH_MAX: usize = 32;

/// The look of a state: its mark, and the mark's meaning.
fn mark(node: &NodeView) -> (&'static str, Meaning, &'static str) {
    let state = match node.state.as_str() {
        "dropped" => "dropped",
        state => node.tried.unwrap_or(state),
    };
    match state {
        "resolved" => ("✓", Meaning::Pass, "resolved"),
        "running" => ("▸", Meaning::Running, "running"),
        "failed" | "invalid" => ("✗", Meaning::Fail, "failed"),
        "needs guidance" | "in doubt" => ("?", Meaning::Unknown, "needs a person"),
        "parked" => ("○", Meaning::Dim, "not chosen"),
        "not chosen" => ("○", Meaning::Dim, "not chosen"),
        "resting" => ("◌", Meaning::Dim, "resting"),
        "dropped" => ("–", Meaning::Dim, "dropped"),
        _ => ("·", Meaning::Plain, "open"),
    }
}

fn is_aside(node: &NodeView) -> bool {
    matches!(node.state.as_str(), "not chosen" | "resting" | "dropped")
}

/// The tree, and a legend of its marks.
pub fn graph(view: &GraphView, width: usize) -> Page {
    let mut page = Page::new(width);
    if view.nodes.is_empty() {
        page.push(Line::of("no atoms"));
        return page;
    }
    page.extend(lines(view));
    let mut legend = Line::new();
    let mut labels: Vec<&str> = Vec::new();
    for (mark, meaning, word) in view.nodes.iter().map(mark) {
        if !labels.contains(&word) {
            labels.push(word);
            legend = legend.put(meaning, mark).dim(format!(" {word}   "));
        }
    }
    page.gap();
    page.push(legend);
    page
}

/// One line for each atom: its mark, its place, its id, its dependencies, its description.
pub fn lines(view: &GraphView) -> Vec<Line> {
    let heads: Vec<Line> = placed(view);
    let widest = heads.iter().map(Line::width).max().unwrap_or(0);
    let column = widest.min(IDS_WIDTH_MAX) + 2;
    let both = heads.into_iter().zip(&view.nodes);
    both.map(|(head, node)| {
        let head = head.pad(column).then(description(node));
        let about = if is_aside(node) { Meaning::Dim } else { Meaning::Plain };
        head.put(about, super::line(&node.description))
    })
    .collect()
}

/// Marks and ids after the lines of the tree.
fn placed(view: &GraphView) -> Vec<Line> {
    // Whether each level has further members.
    let mut open: Vec<bool> = Vec::new();
    let mut heads = Vec::with_capacity(view.nodes.len());
    let last = last_members(view);
    for (node, is_last) in view.nodes.iter().zip(last) {
        open.truncate(node.depth);
        let mut branches = String::new();
        for goes_on in open.iter().skip(1) {
            branches.push_str(if *goes_on { "│ " } else { "  " });
        }
        if node.depth > 0 {
            branches.push_str(if is_last { "└ " } else { "├ " });
        }
        open.push(!is_last);
        let (mark, meaning, _) = mark(node);
        let id = if is_aside(node) { Meaning::Dim } else { Meaning::Strong };
        let line = Line::indent(2).dim(branches).put(meaning, mark);
        heads.push(line.plain(" ").put(id, node.id.as_str()));
    }
    heads
}

/// A step that plans, and how far its plans may go.
fn plans(node: &NodeView) -> String {
    let budget = node.budget.as_ref();
    let budget = budget.map(|budget| format!(", {budget} a plan"));
    let partial = if node.partial { ", in part" } else { "" };
    format!("plans{partial}{}  ", budget.unwrap_or_default())
}

/// Whether each node is the last member of its group. Goes from the end: a node closes its level.
fn last_members(view: &GraphView) -> Vec<bool> {
    let mut seen: Vec<bool> = Vec::new();
    let mut last = Vec::with_capacity(view.nodes.len());
    for node in view.nodes.iter().rev() {
        seen.truncate(node.depth + 1);
        seen.resize(node.depth + 1, false);
        last.push(!seen[node.depth]);
        seen[node.depth] = true;
    }
    last.reverse();
    last
}

fn description(node: &NodeView) -> Line {
    let mut line = match (node.kind, &node.selected) {
        ("any", Some(selected)) => {
            Line::new().dim("one of, now ").strong(selected.as_str()).plain("  ")
        }
        ("any", None) => Line::new().dim("one of  "),
        ("all", _) => Line::new().dim("all of  "),
        ("plan", _) => Line::new().dim(plans(node)),
        _ => Line::new(),
    };
    if node.tried == Some("parked") {
        line = line.dim("set aside  ");
    }
    if let Some(cause) = node.attention {
        line = line.put(Meaning::Unknown, format!("! {}  ", cause.word()));
    }
    if node.waits_for_judge {
        line = line.dim("waits to be judged  ");
    }
    if !node.depends_on.is_empty() {
        line = line.dim(format!("after {}  ", super::listed(&node.depends_on, 4)));
    }
    line
}
