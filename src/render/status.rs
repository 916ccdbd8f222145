//! The present state, on one screen: checks that hold or not, running work, choices, costs.

use descent_core::{
    doc::{self, Node},
    id::{AtomId, UnixMillis},
    state::{JudgedBy, Reason, RunStatus},
    view::{ChoiceView, FailedView, FlightView, LeafView, QuestionView, StatusView},
};

use super::{
    Line, Meaning, Page, ago, count, field, issues, length, line, listed,
    text::LABEL_WIDTH,
    time, usage as used, usage_of_agent,
    work::{for_so_long, wait_words},
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
    let choices = status.choices.iter().take(CHOICES_MAX);
    page.extend(choices.map(|view| Line::label("choice").then(choice(view))));
    more(&mut page, status.choices.len(), CHOICES_MAX);
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
    let cut_off = "no loop is at work; `descent run` goes on";
    let cut_off = is_cut_off.then_some((Meaning::Unknown, cut_off));
    let notes = notes.iter().map(|one| (one.meaning, one.text.as_str()));
    for (meaning, text) in cut_off.into_iter().chain(notes) {
        page.wrapped(Line::indent(2), meaning, text, NOTE_ROWS_MAX);
    }
    // The first value that gave way in the newest edit, and where to read the rest.
    if let [first, others @ ..] = status.gave_way.as_slice() {
        let more = (!others.is_empty()).then(|| format!(" and {} more", others.len()));
        let more = more.unwrap_or_default();
        let words = format!("gave way (`descent log` has it{more}): {first}");
        page.push(Line::indent(2).put(Meaning::Unknown, words));
    }
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
                let ended = check.ended.clone().filter(|_| verdict != "pass");
                let number = check.number.as_ref().map(doc::write_compact);
                let number = number.map(|number| format!("number {number}"));
                let facts = number.into_iter().chain(ended).chain([ago(at, now)]);
                facts.collect::<Vec<_>>().join(", ")
            }
            (None, Some(_)) => String::new(),
            // A run evaluates them before its first attempt, and keeps no verdict of that.
            (None, None) if status.status == "running" => {
                "no verdict of this run is kept yet".into()
            }
            (None, None) => "not evaluated yet".into(),
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
    let all = count(done + open, "atom");
    page.push(Line::label("work").plain(format!("{done} of {all} resolved")));
    if !status.dropped.is_empty() {
        names(page, "dropped", &status.dropped);
    }
    let flights = status.in_flight.iter().take(RUNNING_MAX);
    page.extend(flights.map(|flight| flight_line(flight, status, now)));
    more(page, status.in_flight.len(), RUNNING_MAX);
    if let Some(question) = &status.question {
        page.push(question_line(question, status.live, now));
    }
    for wait in status.waits.iter().take(RUNNING_MAX) {
        let words = format!("{}: {}", wait.name(), wait_words(wait, now));
        page.unabridged(Line::label("waits"), Meaning::Plain, &words);
    }
    more(page, status.waits.len(), RUNNING_MAX);
    // Once the goal is reached, the choices tell of failures on the way.
    let is_reached = status.status == "completed";
    let is_told = |failed: &&FailedView| !is_reached || failed.status != "not chosen";
    let failed: Vec<&FailedView> = status.failed.iter().filter(is_told).collect();
    page.extend(failed.iter().take(FAILED_MAX).map(|failed| failure(failed, now)));
    more(page, failed.len(), FAILED_MAX);
    for pattern in status.patterns.iter().filter(|_| !is_reached) {
        let alike = format!("{} fail alike", listed(&pattern.atoms, NAMES_MAX));
        let why = format!("  {}", line(&pattern.reason));
        page.push(Line::label("pattern").plain(alike).dim(why));
    }
    let in_flight = status.in_flight.iter().map(|flight| &flight.atom);
    let shown: Vec<&AtomId> =
        in_flight.chain(status.failed.iter().map(|failed| &failed.atom)).collect();
    let open: Vec<&AtomId> = status.unresolved.iter().filter(|id| !shown.contains(id)).collect();
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
    let since = for_so_long(&flight.since, now);
    let (word, since) = match matches!(status.status, "running" | "redirecting") {
        _ if status.live => ("running", format!("for {since}")),
        true => ("cut off", format!("started {since} ago")),
        false => ("waits", format!("for a person or a judge: descent diff {}", flight.atom)),
    };
    Line::new()
        .word(word)
        .pad(LABEL_WIDTH)
        .strong(flight.atom.as_str())
        .plain(match flight.role {
            Some("probe") => format!("  a probe, {since}"),
            _ if flight.turn > 0 => {
                let (n, of, turn) = (flight.n, flight.of, flight.turn);
                format!("  attempt {n} of {of}, correcting turn {turn}, {since}")
            }
            _ => format!("  attempt {} of {}, {since}", flight.n, flight.of),
        })
        .dim(format!("  {}", flight.description))
}

/// A question, as the loop announces it.
pub(super) fn question_line(question: &QuestionView, is_live: bool, now: UnixMillis) -> Line {
    let since = for_so_long(&question.since, now);
    let since =
        if is_live { format!("for {since}") } else { format!("cut off, asked {since} ago") };
    Line::label("asks")
        .plain(format!("{} as {}, {since}", question.agent, question.role))
        .dim(format!("  {}", line(&question.about)))
}

fn failure(failed: &FailedView, now: UnixMillis) -> Line {
    let word = match failed.status.as_str() {
        word @ ("invalid" | "needs guidance" | "in doubt" | "resting") => word,
        _ => "failed",
    };
    // As the loop announces it; the column has no room for more.
    let label = if word == "needs guidance" { "asks" } else { word };
    let age = (!failed.at.is_empty()).then(|| format!("  {}", ago(&failed.at, now)));
    Line::new()
        .put(Meaning::of(word), label)
        .pad(LABEL_WIDTH)
        .strong(failed.atom.as_str())
        .dim(age.unwrap_or_default())
        .plain(format!("  {}", line(&failed.reason)))
}

/// `auth = jwt  failed: basic  untried: session, mutual`.
pub(super) fn choice(choice: &ChoiceView) -> Line {
    let mut line = match &choice.selected {
        Some(selected) => Line::of(format!("{} = ", choice.group)).strong(selected.as_str()),
        None => Line::of(format!("{}: nothing chosen", choice.group)),
    };
    for (label, meaning, ids) in [
        ("  failed: ", Meaning::Fail, &choice.failed),
        ("  check failed: ", Meaning::Fail, &choice.refuted),
        ("  untried: ", Meaning::Plain, &choice.untried),
    ] {
        if !ids.is_empty() {
            line = line.dim(label).put(meaning, listed(ids, NAMES_MAX));
        }
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
    page.extend(usage(status).map(|words| Line::label("usage").plain(words)));
    let agents = status.spent.by_agent.iter().map(usage_of_agent);
    page.extend(agents.map(|agent| Line::label("").plain(agent)));
    if let Some(from) = &status.started_from {
        page.push(Line::label("from").plain(start(from, status.workspace.kind)));
    }
    if let Some(changed) = &status.changed {
        let head = format!("{}, by {}: ", ago(&changed.at, now), changed.by);
        let what = line(&changed.what.join("; "));
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
    let some = |n: u64, words: String| (n > 0).then_some(words);
    let retries = if spent.transient == 1 { "retry" } else { "retries" };
    let most = status.budget.time.as_ref().map(|most| format!(" of {}", length(most.ms)));
    let parts = [
        some(spent.attempts, count(spent.attempts, "attempt")),
        some(spent.transient, format!("{} transient {retries}", spent.transient)),
        some(spent.repairs, count(spent.repairs, "repair")),
        status.budget.iterations.map(|most| format!("{} of {most} iterations", status.iteration)),
        Some(format!("{}{} at work", time(spent.active_ms), most.unwrap_or_default())),
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
