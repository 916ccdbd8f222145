//! The work graph as an indented tree, and in the language of Mermaid.
//!
//! Invariant: in Mermaid no label can end its quotes, whatever an atom is called or described as. Nodes have names of
//! their own (`n0`, `n1` …), since an id such as `end` is a keyword there.

use std::collections::BTreeMap;

use descent_core::{
    id::AtomId,
    view::graph::{GraphView, NodeView},
};

use super::{Line, Meaning, Page, line};

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
    for (place, node) in view.nodes.iter().enumerate() {
        let mut after = view.nodes.iter().skip(place + 1);
        let is_last =
            after.find(|one| one.depth <= node.depth).is_none_or(|one| one.depth < node.depth);
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

/// Characters at most of a description in a box.
const ABOUT_MAX: usize = 60;

/// The look of a state: class, fill, border, text.
const CLASSES: [(&str, &str, &str, &str); 5] = [
    ("resolved", "#d7f0dc", "#2e7d43", "#12331b"),
    ("running", "#d8ecfb", "#1f6fb2", "#0d3048"),
    ("failed", "#fbdcdc", "#b03030", "#4a1010"),
    ("open", "#ffffff", "#707070", "#202020"),
    ("unchosen", "#f2f2f2", "#b0b0b0", "#808080"),
];

fn class(node: &NodeView) -> &'static str {
    match node.tried.unwrap_or(&node.state) {
        "resolved" => "resolved",
        "running" => "running",
        "failed" | "invalid" | "needs guidance" | "in doubt" => "failed",
        "not chosen" | "parked" | "resting" | "dropped" => "unchosen",
        _ => "open",
    }
}

/// Ends the groups that are open, up to this depth.
fn close(text: &mut Vec<String>, open: &mut Vec<usize>, depth: usize) {
    while open.pop_if(|group| *group >= depth).is_some() {
        text.push(format!("{}end", "  ".repeat(open.len() + 1)));
    }
}

/// The dependencies by place: what is waited for, and what waits.
pub(super) fn waits(nodes: &[&NodeView]) -> Vec<(usize, usize)> {
    let places: BTreeMap<&AtomId, usize> =
        nodes.iter().enumerate().map(|(place, node)| (&node.id, place)).collect();
    let of_node = |(place, node): (usize, &&NodeView)| {
        let deps = node.depends_on.iter().filter_map(|id| places.get(id));
        deps.map(|dep| (*dep, place)).collect::<Vec<_>>()
    };
    nodes.iter().enumerate().flat_map(of_node).collect()
}

/// The graph of these atoms, each group before its members.
pub fn mermaid(nodes: &[&NodeView]) -> String {
    let mut text = vec!["flowchart TD".to_owned()];
    let mut open: Vec<usize> = Vec::new();
    for (place, node) in nodes.iter().enumerate() {
        close(&mut text, &mut open, node.depth);
        let indent = "  ".repeat(open.len() + 1);
        if node.is_group {
            let members = if node.kind == "any" { "one of" } else { "all of" };
            let label = format!("{} ({members})", in_mermaid(node.id.as_str()));
            text.push(format!("{indent}subgraph n{place}[\"{label}\"]"));
            open.push(node.depth);
        } else {
            let about = super::clean(&super::cut(&line(&node.description), ABOUT_MAX));
            let label = in_mermaid(&format!("{}: {about}", node.id));
            text.push(format!("{indent}n{place}[\"{label}\"]"));
        }
    }
    close(&mut text, &mut open, 0);
    text.extend(waits(nodes).iter().map(|(from, to)| format!("  n{from} --> n{to}")));
    for (name, fill, border, ink) in CLASSES {
        let look = format!("fill:{fill},stroke:{border},color:{ink}");
        assign(nodes, &mut text, name, &look, |node| class(node) == name);
    }
    assign(nodes, &mut text, "chosen", "stroke-width:3px", |node| node.is_selected);
    text.join("\n")
}

/// Gives a look to the nodes that are so.
fn assign(
    nodes: &[&NodeView],
    text: &mut Vec<String>,
    class: &str,
    look: &str,
    is: impl Fn(&NodeView) -> bool,
) {
    let all = nodes.iter().enumerate().filter(|(_, node)| is(node));
    let names: Vec<String> = all.map(|(place, _)| format!("n{place}")).collect();
    if !names.is_empty() {
        text.push(format!("  classDef {class} {look}"));
        text.push(format!("  class {} {class}", names.join(",")));
    }
}

/// Letters, digits and characters without meaning inside quotes stay; all others are written as numbers.
fn in_mermaid(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '#' | '&' | '<' | '>' | '`' | '\\' | ';' | '{' | '}' | '[' | ']' | '(' | ')'
            | '|' | '*' | '_' | '~' | '$' | '%' | '@' => {
                safe.push_str(&format!("#{};", u32::from(c)));
            }
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(id: &str, description: &str) -> String {
        let node = |id: &str, kind: &'static str, depth, after: &[&str]| NodeView {
            id: id.into(),
            kind,
            description: description.to_owned(),
            state: "pending".to_owned(),
            tried: None,
            parent: None,
            selected: None,
            is_selected: false,
            depends_on: after.iter().map(|id| (*id).into()).collect(),
            depth,
            budget: None,
            attention: None,
            waits_for_judge: false,
            partial: false,
            is_group: kind != "task",
        };
        let (group, task) = (node("group", "any", 0, &[]), node(id, "task", 1, &[]));
        mermaid(&[&group, &task, &node("after", "task", 0, &["group"])])
    }

    #[test]
    fn no_label_can_end_its_quotes() {
        let nasty = "a \"b\" \\\" ]) --> end\n%% <script>`x`; #quot; 日本";
        let drawn = drawn("end", nasty);
        for row in drawn.lines().filter(|row| row.contains("[\"")) {
            assert_eq!(row.matches('"').count(), 2, "{row}");
            assert!(row.ends_with("\"]"), "{row}");
        }
        assert!(drawn.contains("日本") && drawn.contains("#34;b#34;"), "{drawn}");
        assert!(!drawn.contains("<script>"), "{drawn}");
    }

    #[test]
    fn groups_enclose_their_members() {
        let drawn = drawn("A", "x");
        let rows: Vec<&str> = drawn.lines().map(str::trim).collect();
        let at = |row: &str| rows.iter().position(|one| *one == row).unwrap();
        assert!(at("n1[\"A: x\"]") < at("end") && at("end") < at("n2[\"after: x\"]"));
        assert!(rows.contains(&"n0 --> n2"));
    }
}
