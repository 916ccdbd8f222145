//! Everything that is printed goes through here: data on standard output, everything else on standard error.
//!
//! Invariant: text from outside reaches the terminal without control characters. A closed pipe is no error.
#![allow(clippy::print_stdout, clippy::print_stderr)] // this is the door

use std::io::Write;

use descent_core::{
    doc::Node,
    event::Notice,
    verdict::Verdict,
    view::{ChoiceView, Judged, Status, Why},
};

use crate::failure::Failure;

/// Characters at most of a line that tells what happened in a run.
const NOTICE_WIDTH_MAX: usize = 110;
/// Characters at most of a line of the tree of work.
const GRAPH_WIDTH_MAX: usize = 96;
/// Characters at most of a text that was written elsewhere: a goal, a command, a reason.
const TEXT_WIDTH_MAX: usize = 160;

/// Where a command's words go.
#[derive(Debug, Clone, Copy)]
pub struct Out {
    pub json: bool,
    pub quiet: bool,
}

impl Out {
    /// The data that was asked for.
    pub fn data(self, text: &str) {
        write(&mut std::io::stdout(), text);
    }

    pub fn json(self, value: &impl serde::Serialize) {
        let text = serde_json::to_string(value)
            .unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}"));
        write(&mut std::io::stdout(), &text);
    }

    /// What is said beside the data.
    pub fn say(self, text: &str) {
        if !self.quiet {
            write(&mut std::io::stderr(), &clean(text));
        }
    }

    pub fn failure(self, failure: &Failure) {
        if self.json {
            self.json(&failure.json());
        }
        let mut text = format!("error[{}]: {}", failure.code, clean(&failure.message));
        for line in &failure.details {
            text.push_str("\n  ");
            text.push_str(&clean(line));
        }
        text.push_str("\nnext: ");
        text.push_str(&clean(&failure.hint));
        write(&mut std::io::stderr(), &text);
    }
}

fn write(to: &mut impl Write, text: &str) {
    // The reader may have gone: there is nobody left to tell.
    let _ = to
        .write_all(text.as_bytes())
        .and_then(|()| to.write_all(b"\n"))
        .and_then(|()| to.flush());
}

/// Control characters made visible, but for line breaks and tabs; marks that turn the reading direction too.
pub fn clean(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => clean.push(c),
            '\u{1b}' => clean.push('␛'),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => clean.extend(c.escape_unicode()),
            c if c.is_control() => clean.extend(c.escape_unicode()),
            c => clean.push(c),
        }
    }
    clean
}

/// `40 ms`, `1.2 s`, `3 m 05 s`.
pub fn time(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        _ => format!("{} m {:02} s", ms / 60_000, ms / 1_000 % 60),
    }
}

/// One line for what happened; `None` for what only a program wants to know.
pub fn notice(notice: &Notice) -> Option<String> {
    words(notice).map(|words| cut(&words, NOTICE_WIDTH_MAX))
}

/// What matters most stands first: the end may be cut off.
fn words(notice: &Notice) -> Option<String> {
    Some(match notice {
        Notice::RunStarted {
            attempts_left,
            verdicts_left,
            ..
        } => {
            format!(
                "run       at most {attempts_left} attempts and {verdicts_left} verdicts on the whole, then it ends"
            )
        }
        Notice::AttemptStarted {
            atom,
            n,
            of,
            description,
            ..
        } => {
            format!(
                "start     {atom}, attempt {n} of {of}: {}",
                line(description)
            )
        }
        Notice::Solved {
            atom,
            ms,
            files,
            summary,
            ..
        } => {
            let what = if files.is_empty() {
                line(summary)
            } else {
                format!("changed {}", files.join(", "))
            };
            format!("solved    {atom} in {}: {what}", time(*ms))
        }
        Notice::AttemptFailed {
            atom,
            ms,
            class,
            reason,
            attempts_left,
            ..
        } => {
            let left = if *attempts_left == 0 {
                "no attempt left".to_owned()
            } else {
                format!("{attempts_left} left")
            };
            format!(
                "failed    {atom} after {} ({class}; {left}): {}",
                time(*ms),
                line(reason)
            )
        }
        Notice::Transient {
            atom,
            retry,
            of,
            wait_ms,
            ..
        } => {
            format!(
                "transient {atom}: a passing failure, costs no attempt; retry {retry} of {of} in {}",
                time(*wait_ms)
            )
        }
        Notice::Interrupted { atom, why, .. } => {
            format!("ended     {atom}: {why}; it costs no attempt")
        }
        Notice::Repair {
            atom,
            repair,
            of,
            why,
        } => format!("again     {atom}: {} (repair {repair} of {of})", line(why)),
        Notice::InDoubt { atom, .. } => {
            format!("in doubt  {atom}: nobody knows whether its effect happened")
        }
        Notice::Discarded { attempt } => format!("discarded {attempt}: its result came too late"),
        Notice::Chosen {
            group,
            choice,
            untried,
        } => format!("chosen    {group} = {choice} ({untried} others untried)"),
        Notice::Refuted { failed, .. } => {
            format!(
                "refuted   all atoms are solved, yet the base case does not hold: {}",
                line(&failed.join("; "))
            )
        }
        Notice::Backtracked { changes, because } => {
            let change = |change: &descent_core::event::Change| match &change.from {
                Some(from) => format!("{}: {from} → {}", change.group, change.to),
                None => format!("{} = {}", change.group, change.to),
            };
            let changes: Vec<String> = changes.iter().map(change).collect();
            format!("back      {} because {}", changes.join(", "), line(because))
        }
        Notice::Parked { atom } => format!("parked    {atom}: kept for when its choices come back"),
        Notice::Revived { atom } => {
            format!("revived   {atom}: its choices are back, no new attempt")
        }
        Notice::Rebuilt {
            kept, taken_back, ..
        } => {
            let gone: Vec<&str> = taken_back
                .iter()
                .map(descent_core::id::AtomId::as_str)
                .collect();
            let gone = if gone.is_empty() {
                "nothing".to_owned()
            } else {
                gone.join(", ")
            };
            format!("rebuilt   the result: {kept} commits stay; taken back: {gone}")
        }
        Notice::BaseCase { verdict } => format!("checked   the base case {}", holds(*verdict)),
        Notice::Corrected { what, effects } => {
            let effects = if effects.is_empty() {
                String::new()
            } else {
                format!(" → {}", effects.join("; "))
            };
            format!("edited    {}{}", line(what), effects)
        }
        Notice::Retired { request } => {
            format!("retired   request {request}: it was for an earlier run")
        }
        Notice::Ended { .. } => return None,
    })
}

fn holds(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "holds",
        Verdict::Fail => "does not hold yet",
        Verdict::Unknown => "could not be decided; it is asked again",
    }
}

/// All on one line, cut to what a person reads.
pub fn line(text: &str) -> String {
    let flat = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join(" ");
    cut(&flat, TEXT_WIDTH_MAX)
}

fn cut(text: &str, width_max: usize) -> String {
    if text.chars().count() <= width_max {
        return text.to_owned();
    }
    text.chars().take(width_max - 1).chain(['…']).collect()
}

/// Verdicts on checks, one a line.
pub fn judged(checks: &[Judged]) -> String {
    let one = |check: &Judged| {
        let ended = if check.ended.is_empty() {
            String::new()
        } else {
            format!("  ({}, {})", check.ended, time(check.duration_ms))
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
            let choices = pairs(entry.get("conflict"));
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
        let choices = failed
            .get("choices")
            .map(|choices| format!(" with {}", pairs(Some(choices))));
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
