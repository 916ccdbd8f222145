//! The present state, on one screen: checks that hold or not, running work, choices, costs.

use descent_core::{
    doc::{self, Node},
    id::{AtomId, UnixMillis},
    state::{JudgedBy, Reason, RunStatus},
    view::{ChoiceView, FailedView, FlightView, LeafView, QuestionView, StatusView},
};

use super::{
    Line, Meaning, Page, age, ago, count, field, issues, length, listed, since, time,
    usage as used, usage_of_agent,
};

/// Rows at most of each list, so that the whole fits a screen of 24.
const CHECKS_MAX: usize = 5;
/// Rows of the bound.
const BOUND_ROWS_MAX: usize = 3;
/// Rows of a note.
const NOTE_ROWS_MAX: usize = 3;
const RUNNING_MAX: usize = 4;
const FAILED_MAX: usize = 3;
const CHOICES_MAX: usize = 3;
const NAMES_MAX: usize = 12;
/// Lines at most of the final answer.
const ANSWER_LINES_MAX: usize = 4;

/// A note of a command beside the state.
#[derive(Debug)]
pub struct StatusNote {
    pub meaning: Meaning,
    pub text: String,
}

pub fn status(status: &StatusView, notes: &[StatusNote], now: UnixMillis, width: usize) -> Page {
    let mut page = Page::new(width);
    head(&mut page, status, notes);
    page.gap();
    checks(&mut page, status, now);
    page.gap();
    work(&mut page, status, now);
    choices(&mut page, &status.choices);
    issues::judged(&mut page, status);
    if let Some(at) = &status.law {
        issues::law(&mut page, at);
    }
    issues::marked(&mut page, status);
    if let Some(passes) = &status.passes {
        let (begun, allocated) = (passes.begun, passes.allocated);
        let words = format!("{begun} of {allocated} (at most {})", passes.at_most);
        page.push(Line::label("passes").plain(words));
    }
    page.gap();
    account(&mut page, status, now);
    page.next(&status.next);
    page
}

fn head(page: &mut Page, status: &StatusView, notes: &[StatusNote]) {
    let is_cut_off = !status.live && matches!(status.status, "running" | "redirecting");
    let meaning = if is_cut_off { Meaning::Unknown } else { Meaning::of(status.status) };
    let status_word = if is_cut_off { "cut off" } else { status.status };
    let word = match meaning {
        Meaning::Plain => Line::new().strong(status_word),
        meaning => Line::new().put(meaning, status_word),
    };
    page.wrapped(word.plain(": "), Meaning::Strong, &status.goal, 2);
    let mut note = |meaning: Meaning, text: &str| {
        page.wrapped(Line::indent(2), meaning, text, NOTE_ROWS_MAX);
    };
    if is_cut_off {
        let words = "no loop is at work; `descent run` goes on";
        note(Meaning::Unknown, words);
    }
    for one in notes {
        note(one.meaning, &one.text);
    }
    gave_way(page, &status.gave_way);
}

/// The first value that gave way in the newest edit, and where to read the rest.
fn gave_way(page: &mut Page, lines: &[String]) {
    let Some(first) = lines.first() else { return };
    let more = match lines.len() - 1 {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let line = Line::indent(2)
        .put(Meaning::Unknown, format!("gave way (`descent log` has it{more}): {first}"));
    page.push(line);
}

/// One row for each check: its verdict, its name, its end, its age.
fn checks(page: &mut Page, status: &StatusView, now: UnixMillis) {
    let checks = &status.base_case;
    let names = checks.iter().take(CHECKS_MAX).map(|check| Line::of(&check.check).width());
    let name_width = names.max().unwrap_or(0).min(page.width.saturating_sub(42).max(16));
    let mut label = Some(Line::label("checks"));
    // Those that do not hold are shown first, if not all have room.
    let mut shown: Vec<&LeafView> = checks.iter().collect();
    if checks.len() > CHECKS_MAX {
        shown.sort_by_key(|check| check.verdict.as_deref() == Some("pass"));
    }
    for check in shown.into_iter().take(CHECKS_MAX) {
        let verdict = check.verdict.as_deref().unwrap_or("-");
        let name = Line::of(&check.check).cut(name_width).pad(name_width + 2);
        let known = match (&check.at, &check.verdict) {
            (Some(at), _) => {
                let ended = check.ended.as_deref().filter(|_| verdict != "pass");
                let ended = ended.map(|ended| format!("{ended}, ")).unwrap_or_default();
                let number = check.number.as_ref().map(doc::write_compact);
                let number = number.map(|number| format!("number {number}, "));
                format!("{}{ended}{}", number.unwrap_or_default(), ago(at, now))
            }
            (None, Some(_)) => String::new(),
            // A run evaluates them before its first attempt, and keeps no verdict of that.
            (None, None) if status.status == "running" => {
                "no verdict of this run is kept yet".to_owned()
            }
            (None, None) => "not evaluated yet".to_owned(),
        };
        let line = label.take().unwrap_or_else(|| Line::label(""));
        page.push(line.then(Line::new().word(verdict).pad(9)).then(name).dim(known));
    }
    more(page, checks.len(), CHECKS_MAX);
}

fn more(page: &mut Page, all: usize, most: usize) {
    if all > most {
        page.push(Line::label("").dim(format!("… and {} more", all - most)));
    }
}

fn work(page: &mut Page, status: &StatusView, now: UnixMillis) {
    let (done, open) = (status.resolved.len(), status.unresolved.len());
    let all = super::count(done + open, "atom");
    page.push(Line::label("work").plain(format!("{done} of {all} resolved")));
    if !status.dropped.is_empty() {
        names(page, "dropped", &status.dropped);
    }
    for flight in status.in_flight.iter().take(RUNNING_MAX) {
        page.push(flight_line(flight, status, now));
    }
    more(page, status.in_flight.len(), RUNNING_MAX);
    if let Some(question) = &status.question {
        page.push(question_line(question, status.live, now));
    }
    for wait in status.waits.iter().take(RUNNING_MAX) {
        let words = format!("{}: {}", wait.name(), super::work::wait_words(wait, now));
        page.unabridged(Line::label("waits"), Meaning::Plain, &words);
    }
    more(page, status.waits.len(), RUNNING_MAX);
    // Once the goal is reached, the choices tell of failures on the way.
    let is_reached = status.status == "completed";
    let failed = status.failed.iter();
    let failed: Vec<&FailedView> =
        failed.filter(|failed| !is_reached || failed.status != "not chosen").collect();
    for failed in failed.iter().take(FAILED_MAX) {
        page.push(failure(failed, now));
    }
    more(page, failed.len(), FAILED_MAX);
    for pattern in status.patterns.iter().filter(|_| !is_reached) {
        let alike = format!("{} fail alike", listed(&pattern.atoms, NAMES_MAX));
        page.push(
            Line::label("pattern").plain(alike).dim(format!("  {}", super::line(&pattern.reason))),
        );
    }
    let is_shown = |id: &&AtomId| {
        status.in_flight.iter().any(|flight| flight.atom == **id)
            || status.failed.iter().any(|failed| failed.atom == **id)
    };
    let open: Vec<&AtomId> = status.unresolved.iter().filter(|id| !is_shown(id)).collect();
    if !open.is_empty() {
        names(page, "open", &open);
    }
}

/// As many names as fit, and the number of further ones.
fn names<T: std::fmt::Display>(page: &mut Page, label: &str, names: &[T]) {
    let head = Line::label(label);
    let room = page.width.saturating_sub(head.width());
    let fits = |most: &usize| Line::of(listed(names, *most)).width() <= room;
    let most = (1..=names.len().min(NAMES_MAX)).rev().find(fits);
    page.push(head.plain(listed(names, most.unwrap_or(1))));
}

fn flight_line(flight: &FlightView, status: &StatusView, now: UnixMillis) -> Line {
    let since = since(&flight.since, now).map(age).unwrap_or_default();
    let (word, since) = match matches!(status.status, "running" | "redirecting") {
        _ if status.live => ("running", format!("for {since}")),
        true => ("cut off", format!("started {since} ago")),
        false => ("ended", "the next run takes it in or goes on".to_owned()),
    };
    Line::new()
        .put(Meaning::of(word), word)
        .pad(super::text::LABEL_WIDTH)
        .strong(flight.atom.as_str())
        .plain(match flight.role {
            Some("probe") => format!("  a probe, {since}"),
            _ => format!("  attempt {} of {}, {since}", flight.n, flight.of),
        })
        .dim(format!("  {}", flight.description))
}

/// A question, as the loop announces it.
pub(super) fn question_line(question: &QuestionView, is_live: bool, now: UnixMillis) -> Line {
    let since = since(&question.since, now).map(age).unwrap_or_default();
    let since =
        if is_live { format!("for {since}") } else { format!("cut off, asked {since} ago") };
    Line::label("asks")
        .plain(format!("{} as {}, {since}", question.agent, question.role))
        .dim(format!("  {}", super::line(&question.about)))
}

fn failure(failed: &FailedView, now: UnixMillis) -> Line {
    let word = match failed.status.as_str() {
        word @ ("invalid" | "needs guidance" | "in doubt" | "resting") => word,
        _ => "failed",
    };
    // As the loop announces it; the column has no room for more.
    let label = if word == "needs guidance" { "asks" } else { word };
    let age = Some(&failed.at).filter(|at| !at.is_empty()).map(|at| format!("  {}", ago(at, now)));
    Line::new()
        .put(Meaning::of(word), label)
        .pad(super::text::LABEL_WIDTH)
        .strong(failed.atom.as_str())
        .dim(age.unwrap_or_default())
        .plain(format!("  {}", super::line(&failed.reason)))
}

fn choices(page: &mut Page, choices: &[ChoiceView]) {
    for view in choices.iter().take(CHOICES_MAX) {
        page.push(Line::label("choice").then(choice(view)));
    }
    more(page, choices.len(), CHOICES_MAX);
}

/// `auth = jwt  failed: basic  untried: session, mutual`.
pub(super) fn choice(choice: &ChoiceView) -> Line {
    let list = |ids: &[AtomId]| listed(ids, NAMES_MAX);
    let mut line = match &choice.selected {
        Some(selected) => {
            Line::new().plain(format!("{} = ", choice.group)).strong(selected.as_str())
        }
        None => Line::of(format!("{}: nothing chosen", choice.group)),
    };
    if !choice.failed.is_empty() {
        line = line.dim("  failed: ").put(Meaning::Fail, list(&choice.failed));
    }
    if !choice.refuted.is_empty() {
        line = line.dim("  check failed: ").put(Meaning::Fail, list(&choice.refuted));
    }
    if !choice.untried.is_empty() {
        line = line.dim("  untried: ").plain(list(&choice.untried));
    }
    line
}

/// The remaining and past costs, the origin of the result and its place.
fn account(page: &mut Page, status: &StatusView, now: UnixMillis) {
    if status.status != "completed" {
        let bound = super::BoundWords::of(&status.bound).sentence();
        page.wrapped(Line::label("bound"), Meaning::Plain, &bound, BOUND_ROWS_MAX);
    }
    if status.started_from.is_some() || status.iteration > 0 {
        page.push(Line::label("spent").plain(spent(status)));
    }
    if let Some(words) = usage(status) {
        page.push(Line::label("usage").plain(words));
    }
    for agent in &status.spent.by_agent {
        page.push(Line::label("").plain(usage_of_agent(agent)));
    }
    if let Some(from) = &status.started_from {
        page.push(Line::label("from").plain(start(from, status.workspace.kind)));
    }
    if let Some(changed) = &status.changed {
        let head = format!("{}, by {}: ", ago(&changed.at, now), changed.by);
        let what = super::line(&changed.what.join("; "));
        page.push(Line::label("changed").dim(head).plain(what));
    }
    // While it runs, and under another agreement, the last ending is past.
    let has_ended = !matches!(status.status, "running" | "redirecting" | "aligned");
    if let Some(result) = status.last_result.as_ref().filter(|_| has_ended) {
        let at = result.at.as_ref().map(|at| format!(", {}", ago(at, now))).unwrap_or_default();
        let ending = result.result.map_or("", RunStatus::word);
        // A stop explains itself.
        let reason = result.reason.map(Reason::word).filter(|reason| *reason != ending);
        let reason = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
        page.push(Line::label("ended").plain(format!("{ending}{reason}{at}")));
        page.wrapped(Line::label(""), Meaning::Dim, &result.summary, 2);
        let answer = result.output.as_ref();
        if let Some(answer) = answer.filter(|one| one.by == Some(JudgedBy::Model)) {
            page.wrapped(Line::label("answer"), Meaning::Plain, &answer.text, ANSWER_LINES_MAX);
        }
    }
    if let Some(path) = &status.workspace.path {
        page.whole(Line::label("result").plain(path));
    }
}

fn spent(status: &StatusView) -> String {
    let spent = &status.spent;
    let some = |count: u64, one: &str, many: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        n => Some(format!("{n} {many}")),
    };
    let of = |most: Option<String>| most.map(|most| format!(" of {most}")).unwrap_or_default();
    let most = status.budget.time.as_ref().map(|most| length(most.ms));
    let active = format!("{}{} at work", time(spent.active_ms), of(most));
    let iterations =
        status.budget.iterations.map(|most| format!("{} of {most} iterations", status.iteration));
    let parts = [
        some(spent.attempts, "attempt", "attempts"),
        some(spent.transient, "transient retry", "transient retries"),
        some(spent.repairs, "repair", "repairs"),
        iterations,
        Some(active),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Model calls, tokens and money, with their limits.
fn usage(status: &StatusView) -> Option<String> {
    let budget = &status.budget;
    let limits = [
        budget.calls.map(|most| count(most, "call")),
        budget.tokens.map(|most| format!("{most} tokens")),
        budget.cost_usd.map(|most| format!("${}", most.text())),
    ];
    let limits: Vec<String> = limits.into_iter().flatten().collect();
    let spent = status.spent.usage.as_ref().map(used);
    let spent = spent.or_else(|| (!limits.is_empty()).then(|| "none".to_owned()))?;
    Some(if limits.is_empty() { spent } else { format!("{spent}; at most {}", limits.join(", ")) })
}

fn start(from: &Node, workspace: &str) -> String {
    let short = |key: &str| field(from, key).chars().take(12).collect::<String>();
    let commit = short("commit");
    if workspace == "shadow" {
        return format!("the files as they were, {commit}");
    }
    let branch = from.get("branch").and_then(Node::as_str).unwrap_or("a detached HEAD");
    let is_dirty = from.get("dirty").and_then(Node::as_bool) == Some(true);
    let dirty = if is_dirty { ", with what was uncommitted" } else { "" };
    // The commit with what was uncommitted is in no branch of the person's.
    let head = Some(short("head")).filter(|head| !head.is_empty());
    format!("{branch} at {}{dirty}", head.unwrap_or(commit))
}
