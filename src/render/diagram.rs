//! The work graph in the language of Mermaid.
//!
//! Invariant: no label can end its quotes, whatever an atom is called or described as. Nodes have names of their own
//! (`n0`, `n1` …), since an id such as `end` is a keyword there.

use std::collections::BTreeMap;

use descent_core::view::graph::{GraphView, NodeView};

use super::line;

/// Characters at most of a description in a box.
const ABOUT_MAX: usize = 60;
/// Characters at most of one of its lines.
const ROW_MAX: usize = 28;

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

fn members(node: &NodeView) -> &'static str {
    if node.kind == "any" { "one of" } else { "all of" }
}

/// Its description in rows.
fn about(node: &NodeView) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    let text = super::clean(&super::cut(&line(&node.description), ABOUT_MAX));
    for word in text.split_whitespace() {
        match rows.last_mut() {
            Some(row) if row.chars().count() + 1 + word.chars().count() <= ROW_MAX => {
                row.push(' ');
                row.push_str(word);
            }
            _ => rows.push(word.to_owned()),
        }
    }
    rows
}

/// Nodes by place, and the end of each group after its members.
enum DiagramPart<'g> {
    Open(usize, &'g NodeView),
    Leaf(usize, &'g NodeView),
    Close,
}

fn parts(view: &GraphView) -> Vec<DiagramPart<'_>> {
    let mut parts = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    for (place, node) in view.nodes.iter().enumerate() {
        while open.last().is_some_and(|depth| *depth >= node.depth) {
            open.pop();
            parts.push(DiagramPart::Close);
        }
        if !node.is_group {
            parts.push(DiagramPart::Leaf(place, node));
        } else {
            open.push(node.depth);
            parts.push(DiagramPart::Open(place, node));
        }
    }
    parts.extend(open.iter().map(|_| DiagramPart::Close));
    parts
}

/// The dependencies by place: what is waited for, and what waits.
fn waits(view: &GraphView) -> Vec<(usize, usize)> {
    let places: BTreeMap<&str, usize> =
        view.nodes.iter().enumerate().map(|(place, node)| (node.id.as_str(), place)).collect();
    let edges = view.edges.iter().filter(|edge| edge.kind == "before");
    edges
        .filter_map(|edge| Some((*places.get(edge.from.as_str())?, *places.get(edge.to.as_str())?)))
        .collect()
}

pub fn mermaid(view: &GraphView) -> String {
    let mut text = vec!["flowchart TD".to_owned()];
    let mut depth = 1;
    for part in parts(view) {
        match part {
            DiagramPart::Open(place, node) => {
                let label = format!("<b>{}</b> ({})", in_mermaid(node.id.as_str()), members(node));
                text.push(format!("{}subgraph n{place}[\"{label}\"]", "  ".repeat(depth)));
                depth += 1;
            }
            DiagramPart::Leaf(place, node) => {
                let mut rows = vec![format!("<b>{}</b>", in_mermaid(node.id.as_str()))];
                rows.extend(about(node).iter().map(|row| in_mermaid(row)));
                let label = rows.join("<br/>");
                text.push(format!("{}n{place}[\"{label}\"]", "  ".repeat(depth)));
            }
            DiagramPart::Close => {
                depth -= 1;
                text.push(format!("{}end", "  ".repeat(depth)));
            }
        }
    }
    for (from, to) in waits(view) {
        text.push(format!("  n{from} --> n{to}"));
    }
    for (class, fill, border, ink) in CLASSES {
        text.push(format!("  classDef {class} fill:{fill},stroke:{border},color:{ink}"));
    }
    text.push("  classDef chosen stroke-width:3px".to_owned());
    for (name, _, _, _) in CLASSES {
        assign(view, &mut text, name, |node| class(node) == name);
    }
    assign(view, &mut text, "chosen", |node| node.is_selected);
    text.join("\n")
}

fn assign(view: &GraphView, text: &mut Vec<String>, class: &str, is: impl Fn(&NodeView) -> bool) {
    let all = view.nodes.iter().enumerate().filter(|(_, node)| is(node));
    let names: Vec<String> = all.map(|(place, _)| format!("n{place}")).collect();
    if !names.is_empty() {
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

    fn view(id: &str, description: &str) -> GraphView {
        let node = |id: &str, kind: &'static str, depth| NodeView {
            id: id.into(),
            kind,
            description: description.to_owned(),
            state: "pending".to_owned(),
            tried: None,
            parent: None,
            selected: None,
            is_selected: false,
            depends_on: Vec::new(),
            depth,
            budget: None,
            attention: None,
            waits_for_judge: false,
            partial: false,
            is_group: kind != "task",
        };
        GraphView {
            schema: "descent/graph/1",
            goal: String::new(),
            nodes: vec![node("group", "any", 0), node(id, "task", 1), node("after", "task", 0)],
            edges: vec![descent_core::view::graph::EdgeView {
                from: "group".into(),
                to: "after".into(),
                kind: "before",
            }],
        }
    }

    #[test]
    fn no_label_can_end_its_quotes() {
        let nasty = "a \"b\" \\\" ]) --> end\n%% <script>`x`; #quot; 日本";
        let drawn = mermaid(&view("end", nasty));
        for row in drawn.lines().filter(|row| row.contains("[\"")) {
            assert_eq!(row.matches('"').count(), 2, "{row}");
            assert!(row.ends_with("\"]"), "{row}");
        }
        assert!(drawn.contains("日本") && drawn.contains("#34;b#34;"), "{drawn}");
        assert!(!drawn.contains("<script>"), "{drawn}");
    }

    #[test]
    fn groups_enclose_their_members() {
        let drawn = mermaid(&view("A", ""));
        let rows: Vec<&str> = drawn.lines().map(str::trim).collect();
        let at = |row: &str| rows.iter().position(|one| *one == row).unwrap();
        assert!(at("n1[\"<b>A</b>\"]") < at("end") && at("end") < at("n2[\"<b>after</b>\"]"));
        assert!(rows.contains(&"n0 --> n2"));
    }
}
