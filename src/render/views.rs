//! What the commands that look show: a status, a graph, a story of an atom, a result.

use descent_core::{
    doc::Node,
    view::{ChoiceView, Judged, Status, Why},
};

use super::{TEXT_WIDTH_MAX, clean, cut, line, time};

/// Characters at most of a line of the tree of work.
const GRAPH_WIDTH_MAX: usize = 96;

/// Verdicts on checks, one a line.
pub fn judged(checks: &[Judged]) -> String {
    let one = |check: &Judged| {
        let ended = if check.ended.is_empty() {
            String::new()
        } else {
            let took = match check.by_person {
                true => String::new(),
                false => format!(", {}", time(check.duration_ms)),
            };
            format!("  ({}{took})", check.ended)
        };
        format!("  {:<8}{}{ended}", check.verdict.word(), line(&check.check))
    };
    checks.iter().map(one).collect::<Vec<_>>().join("\n")
}

pub fn status(status: &Status, notes: &[String]) -> String {
    let mut text = Vec::new();
    let (live, cut_off) = match (status.live, status.status) {
        (true, _) => (" (a loop is at work)", None),
        (false, "running" | "redirecting") => (
            "",
            Some("no loop is at work: it was cut off, and `descent run` goes on"),
        ),
        (false, _) => ("", None),
    };
    text.push(format!("{}{live}: {}", status.status, line(&status.goal)));
    text.extend(cut_off.map(str::to_owned));
    for check in &status.base_case {
        text.push(format!(
            "  {:<8}{}",
            check.verdict.as_deref().unwrap_or("-"),
            line(&check.check)
        ));
    }
    text.push(format!(
        "resolved {}, unresolved {}",
        status.resolved.len(),
        status.unresolved.len()
    ));
    for flight in &status.in_flight {
        text.push(format!(
            "  running {} (attempt {}) since {}",
            flight.atom, flight.n, flight.since
        ));
    }
    if !status.unresolved.is_empty() {
        let names: Vec<&str> = status
            .unresolved
            .iter()
            .take(12)
            .map(descent_core::id::AtomId::as_str)
            .collect();
        let more = if status.unresolved.len() > 12 {
            ", …"
        } else {
            ""
        };
        text.push(format!("  open: {}{more}", names.join(", ")));
    }
    text.extend(status.choices.iter().map(choice));
    if status.status != "completed" {
        let (attempts, verdicts) = (plain(&status.bound.attempts), plain(&status.bound.verdicts));
        text.push(format!(
            "at most {attempts} attempts and {verdicts} verdicts on the whole, then it ends"
        ));
    }
    text.push(format!("spent: {}", spent(&status.spent)));
    if let Some(from) = &status.started_from {
        text.push(format!("started from: {}", start(from)));
    }
    if let Some(path) = &status.workspace.path {
        text.push(format!("result: {path}"));
    }
    if let Some(result) = &status.last_result {
        text.push(format!(
            "last result: {} ({})",
            field(result, "summary"),
            field(result, "reason")
        ));
    }
    text.extend(notes.iter().cloned());
    text.push(format!("next: {}", status.next));
    clean(&text.join("\n"))
}

fn choice(choice: &ChoiceView) -> String {
    let list = |ids: &[descent_core::id::AtomId]| {
        ids.iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(", ")
    };
    let mut text = match &choice.selected {
        Some(selected) => format!("choice {} = {selected}", choice.group),
        None => format!("choice {}: open", choice.group),
    };
    if !choice.failed.is_empty() {
        text.push_str(&format!("; failed: {}", list(&choice.failed)));
    }
    if !choice.untried.is_empty() {
        text.push_str(&format!("; untried: {}", list(&choice.untried)));
    }
    text
}

fn field<'n>(node: &'n Node, key: &str) -> &'n str {
    node.get(key).and_then(Node::as_str).unwrap_or("")
}

fn plain(node: &Node) -> String {
    descent_core::doc::write_compact(node)
        .trim_matches('"')
        .to_owned()
}

fn spent(node: &Node) -> String {
    let count = |key: &str| node.get(key).and_then(Node::as_u64).unwrap_or(0);
    let some = |key: &str, one: &str, many: &str| match count(key) {
        0 => None,
        1 => Some(format!("1 {one}")),
        n => Some(format!("{n} {many}")),
    };
    let parts = [
        some("attempts", "attempt", "attempts"),
        some("transient", "transient retry", "transient retries"),
        some("repairs", "repair", "repairs"),
        Some(format!("{} at work", time(count("active_ms")))),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn start(from: &Node) -> String {
    let commit: String = field(from, "commit").chars().take(12).collect();
    let branch = from
        .get("branch")
        .and_then(Node::as_str)
        .unwrap_or("a detached HEAD");
    let dirty = if from.get("dirty").and_then(Node::as_bool) == Some(true) {
        ", with what was uncommitted"
    } else {
        ""
    };
    format!("{branch} at {commit}{dirty}")
}

pub fn why(why: &Why) -> String {
    let mut text = Vec::new();
    text.push(format!("{} ({}): {}", why.atom, why.kind, why.status));
    if !why.description.is_empty() {
        text.push(format!("  {}", line(&why.description)));
    }
    if let Some(branch) = &why.in_branch {
        let selected = branch
            .selected
            .as_ref()
            .map_or("nothing".to_owned(), ToString::to_string);
        text.push(format!("  a choice of {} (= {selected} now)", branch.group));
    }
    if let Some(view) = &why.choice {
        text.push(format!("  {}", choice(view)));
    }
    if !why.waits_for.is_empty() {
        let waits: Vec<String> = why.waits_for.iter().map(ToString::to_string).collect();
        text.push(format!("  waits for {}", waits.join(", ")));
    }
    if let Some(binding) = &why.binding {
        text.push(format!("  result: {}", line(field(binding, "summary"))));
        for proof in binding
            .get("evidence")
            .and_then(Node::as_array)
            .unwrap_or_default()
        {
            text.push(format!(
                "    {} {}",
                field(proof, "verdict"),
                line(field(proof, "check"))
            ));
        }
    }
    for tried in &why.tries {
        let under = tried
            .choices
            .iter()
            .map(|(group, choice)| format!("{group} = {choice}"))
            .collect::<Vec<_>>();
        let under = if under.is_empty() {
            String::new()
        } else {
            format!(" under {}", under.join(", "))
        };
        let ended = tried
            .ended
            .map(|ended| format!(", {ended}"))
            .unwrap_or_default();
        text.push(format!("  tried {} times{under}{ended}", tried.attempts));
    }
    if !why.trail.is_empty() {
        text.push("history:".to_owned());
    }
    for entry in &why.trail {
        text.extend(trail_entry(entry));
    }
    text.push(format!("next: {}", why.next));
    clean(&text.join("\n"))
}

/// `2026-11-21 03:13:32`, from the precise text of a record.
fn moment(at: &str) -> String {
    at.chars()
        .take(19)
        .map(|c| if c == 'T' { ' ' } else { c })
        .collect()
}

/// `auth = jwt, db = sqlite`.
fn pairs(choices: Option<&Node>) -> String {
    let members = choices.and_then(Node::as_object).unwrap_or_default();
    let pair = |member: &descent_core::doc::Member| {
        format!(
            "{} = {}",
            member.key,
            member.node.as_str().unwrap_or("nothing")
        )
    };
    members.iter().map(pair).collect::<Vec<_>>().join(", ")
}

/// `auth: jwt → session`.
fn changes(entry: &Node) -> String {
    let members = entry
        .get("changes")
        .and_then(Node::as_object)
        .unwrap_or_default();
    let change = |member: &descent_core::doc::Member| {
        let ends = member.node.as_array().unwrap_or_default();
        let end = |i: usize| ends.get(i).and_then(Node::as_str).unwrap_or("nothing");
        format!("{}: {} → {}", member.key, end(0), end(1))
    };
    members.iter().map(change).collect::<Vec<_>>().join(", ")
}

/// The last lines that say something.
fn tail(output: &str, lines_max: usize) -> Vec<String> {
    let said: Vec<&str> = output
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let skipped = said.len().saturating_sub(lines_max);
    said.into_iter()
        .skip(skipped)
        .map(|line| format!("      {}", cut(line, TEXT_WIDTH_MAX)))
        .collect()
}

fn trail_entry(entry: &Node) -> Vec<String> {
    let at = moment(field(entry, "at"));
    let mut text = match field(entry, "type") {
        "failure" => {
            let head = format!(
                "  {at} {} failed ({})",
                field(entry, "attempt"),
                field(entry, "class")
            );
            vec![head, format!("    {}", line(field(entry, "reason")))]
        }
        "choice" => vec![format!(
            "  {at} chose {} = {}",
            field(entry, "group"),
            field(entry, "choice")
        )],
        "backtrack" => vec![format!(
            "  {at} changed {} because {}",
            changes(entry),
            field(entry, "reason")
        )],
        "refuted" => {
            let choices = Some(pairs(entry.get("conflict"))).filter(|choices| !choices.is_empty());
            let choices = choices.unwrap_or_else(|| "every atom".to_owned());
            vec![format!(
                "  {at} with {choices} all was solved, yet the base case did not hold:"
            )]
        }
        other => vec![format!("  {at} {other}")],
    };
    for proof in entry
        .get("evidence")
        .and_then(Node::as_array)
        .unwrap_or_default()
    {
        text.push(format!(
            "    {} {} ({})",
            field(proof, "verdict"),
            line(field(proof, "check")),
            field(proof, "ended")
        ));
        if field(proof, "verdict") != "pass" {
            text.extend(tail(field(proof, "output"), 6));
        }
    }
    text.extend(tail(field(entry, "output"), 4));
    text
}

/// The final result, for a person.
pub fn result(result: &Node, path: Option<&str>) -> String {
    let mut text = vec![format!(
        "{}: {}",
        field(result, "result"),
        field(result, "summary")
    )];
    for proof in result
        .get("evidence")
        .and_then(Node::as_array)
        .unwrap_or_default()
    {
        text.push(format!(
            "  {:<8}{}",
            field(proof, "verdict"),
            line(field(proof, "check"))
        ));
    }
    for failed in result
        .get("failed")
        .and_then(Node::as_array)
        .unwrap_or_default()
    {
        let choices = Some(pairs(failed.get("choices")))
            .filter(|choices| !choices.is_empty())
            .map(|choices| format!(" with {choices}"));
        text.push(format!(
            "  failed  {}{}: {}",
            field(failed, "atom"),
            choices.unwrap_or_default(),
            line(field(failed, "reason"))
        ));
    }
    if let Some(path) = path {
        text.push(format!("  result  {path}"));
    }
    let moves = result
        .get("next_moves")
        .and_then(Node::as_array)
        .unwrap_or_default();
    let moves: Vec<&str> = moves.iter().filter_map(Node::as_str).collect();
    match moves.as_slice() {
        [] => {}
        [one] => text.push(format!("next: {one}")),
        [first, rest @ ..] => {
            text.push(format!("next: {first}"));
            text.extend(rest.iter().map(|more| format!("  or: {more}")));
        }
    }
    clean(&text.join("\n"))
}

/// The work graph as an indented tree.
pub fn graph(world: &descent_core::step::World) -> String {
    let mut text = Vec::new();
    let solved = world.solved();
    let mut todo: Vec<(usize, usize)> = world
        .graph
        .roots()
        .iter()
        .rev()
        .map(|root| (*root, 0))
        .collect();
    while let Some((x, depth)) = todo.pop() {
        let id = world.graph.id(x);
        let atom = world.state.atom(id);
        let kind = match world.graph.vertex(x).kind {
            descent_core::graph::Kind::Task => "",
            descent_core::graph::Kind::All => " (all of)",
            descent_core::graph::Kind::Any => " (one of)",
        };
        let deps: Vec<String> = world
            .graph
            .vertex(x)
            .deps
            .iter()
            .map(|dep| world.graph.id(*dep).to_string())
            .collect();
        let after = if deps.is_empty() {
            String::new()
        } else {
            format!(" (after {})", deps.join(", "))
        };
        let description = atom.map(|atom| line(&atom.description)).unwrap_or_default();
        let mark = if solved[x] { "✓" } else { "·" };
        let shown = format!(
            "  {}{mark} {id}{kind}{after}  {description}",
            "  ".repeat(depth)
        );
        text.push(cut(shown.trim_end(), GRAPH_WIDTH_MAX));
        todo.extend(
            world
                .graph
                .vertex(x)
                .kids
                .iter()
                .rev()
                .map(|kid| (*kid, depth + 1)),
        );
    }
    clean(&text.join("\n"))
}
