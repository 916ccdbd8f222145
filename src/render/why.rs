//! The story of an atom, for a person: its state, every attempt with its evidence, the choices around it.

use descent_core::{
    doc::Node,
    event::{Clarity, Event},
    id::{AgentName, UnixMillis},
    state::{SideFile, Try, atom::Rest, side::LiesAt},
    view::why::{Asking, AttemptView, Why},
};

use super::{
    Line, Meaning, Page, age, ago, count,
    event::{behind, bracketed, describe_record},
    field,
    issues::{self, meaning_of},
    line, listed, moment,
    result::pairs,
    since, status, time, times,
};

/// Lines at most of an attempt's or a check's output, from its end.
const OUTPUT_LINES_MAX: usize = 6;
/// Attempts shown at most; the newest matter most.
const ATTEMPTS_MAX: usize = 12;
/// Tool calls of an attempt at most, the newest.
const TOOLS_MAX: usize = 8;
const NAMES_MAX: usize = 8;
/// Rows of a planner's reasons.
const REASONS_ROWS_MAX: usize = 4;
/// Commits shown at most.
const PAST_MAX: usize = 12;

/// One change of the atom by a commit.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StoryLine {
    pub serial: u64,
    pub at: String,
    pub by: String,
    #[serde(rename = "text")]
    pub what: String,
}

pub fn why(
    why: &Why,
    past: &[StoryLine],
    commit_is_in: Option<&str>,
    lies_at: LiesAt<'_>,
    now: UnixMillis,
    width: usize,
) -> Page {
    let mut page = Page::new(width);
    head(&mut page, why);
    about(&mut page, why);
    result(&mut page, why, commit_is_in);
    attempts(&mut page, why, lies_at, now);
    history(&mut page, why, lies_at, now);
    commits(&mut page, past, now);
    page.gap();
    page.next(&why.next);
    page
}

fn head(page: &mut Page, why: &Why) {
    let kind = match why.kind {
        "any" => "one of its choices",
        "all" => "all of its parts",
        "plan" => "a step that plans",
        _ => "a task",
    };
    let line = Line::new().strong(why.atom.as_str()).plain(": ").word(&why.status);
    page.push(line.dim(format!("  ({kind})")));
    if !why.description.is_empty() {
        page.wrapped(Line::indent(2), Meaning::Plain, &why.description, 3);
    }
}

/// A heading in the left column of what an atom is.
fn label(name: &str) -> Line {
    Line::indent(2).then(Line::new().dim(name).pad(11))
}

fn about(page: &mut Page, why: &Why) {
    page.gap();
    if let Some(branch) = &why.in_branch {
        let now = branch.selected.as_ref().map_or("nothing is chosen now".to_owned(), |selected| {
            format!("{} = {selected} now", branch.group)
        });
        page.push(label("choice of").plain(branch.group.as_str()).dim(format!("  ({now})")));
    }
    if let Some(view) = &why.choice {
        page.push(label("choice").then(status::choice(view)));
    }
    let does = match (&why.action, &why.agent, why.kind) {
        (Some(action), ..) => label("does").plain(line(action)),
        (None, Some(agent), _) => label("does").dim(format!("what the agent {agent} makes of it")),
        (None, None, "plan") => {
            label("does").dim("what the planner of descent.toml plans, else its worker")
        }
        (None, None, "task") => label("does").dim("what the worker of descent.toml makes of it"),
        _ => Line::new(),
    };
    page.extend((!does.is_empty()).then_some(does));
    if let Some(planned) = &why.planned {
        let by = (planned.step != why.atom).then(|| format!("by {}: ", planned.step));
        let text = by.unwrap_or_default() + &line(&planned.reasons);
        page.wrapped(label("planned"), Meaning::Plain, &text, REASONS_ROWS_MAX);
    }
    if let Some(short) = &why.in_short {
        let agent = short.agent.as_ref().map_or("", AgentName::as_str);
        let text = match short.text() {
            Some(answer) => format!("by {agent}: {}", line(&answer.text)),
            None => format!("{agent} gave nothing to use: {}", line(&short.because)),
        };
        page.wrapped(label("in short"), Meaning::Plain, &text, REASONS_ROWS_MAX);
    }
    for issue in &why.issues {
        let severity = Line::new().put(meaning_of(issue.severity), issue.severity.word());
        let head = label("issue").then(severity);
        let text = format!("{}: {} (advice)", issue.location, line(&issue.description));
        let own = format!("{}: ", why.atom);
        let text = text.strip_prefix(&own).unwrap_or(&text);
        page.wrapped(head.plain(" "), Meaning::Plain, text, REASONS_ROWS_MAX);
    }
    if let Some(mark) = &why.attention {
        let text = issues::mark_words(mark);
        page.wrapped(label("attention"), Meaning::Unknown, &text, REASONS_ROWS_MAX);
    }
    for one in &why.questions {
        let (name, text) = issues::question_words(one);
        page.wrapped(label(name), Meaning::Plain, &text, REASONS_ROWS_MAX);
    }
    page.extend(issues::blocked(&why.blocked).iter().map(|what| label("blocked").plain(what)));
    page.extend(why.guidance.iter().map(|words| label("guidance").plain(line(words))));
    if !why.checks.is_empty() {
        page.push(label("checks").plain(line(&why.checks.join("; "))));
    }
    if let Some(one) = &why.confidence {
        let share = format!("{} of {} held when it was last judged", one.held, one.of);
        page.push(label("").dim(share));
    }
    for (name, meaning, ids) in [
        ("after", Meaning::Plain, &why.depends_on),
        ("waits for", Meaning::Unknown, &why.waits_for),
        ("before", Meaning::Plain, &why.needed_by),
    ] {
        if !ids.is_empty() {
            page.push(label(name).put(meaning, listed(ids, NAMES_MAX)));
        }
    }
    for tried in why.tries.iter().filter(|_| why.binding.is_none()) {
        rest(page, tried);
    }
    for conflict in why.tries.iter().filter_map(|tried| tried.conflict.as_ref()) {
        let paths = listed(&conflict.paths, NAMES_MAX);
        let (whose, look) = match &conflict.attempt {
            Some(id) => (format!("the change of {id}"), format!("  (descent diff {id})")),
            None => ("its commit".to_owned(), String::new()),
        };
        let words = format!("{whose} does not merge: {paths}");
        page.push(label("conflict").plain(words).dim(look));
    }
}

/// Whether it is set aside in a context, and until when.
fn rest(page: &mut Page, tried: &Try) {
    let under = bracketed("with ", &pairs(&tried.choices));
    let text = match (tried.rest, &tried.ended) {
        (Some(Rest::Resting), _) => format!(
            "since attempt {}: the same failure {}; goes on when nothing else is left",
            tried.attempts,
            times(tried.alike.as_ref().map_or(2, |alike| alike.times))
        ),
        (Some(Rest::Woken), None) => "it goes on, since nothing else is left".to_owned(),
        (Some(Rest::Woken), Some(_)) | (None, _) => return,
    };
    page.push(label("rests").plain(text).dim(" ").dim(under));
}

/// The result, and the place to see it.
fn result(page: &mut Page, why: &Why, commit_is_in: Option<&str>) {
    let Some(binding) = &why.binding else { return };
    page.gap();
    page.wrapped(Line::label("result"), Meaning::Plain, field(binding, "summary"), 3);
    let commit = field(binding, "commit");
    if commit.is_empty() {
        page.push(Line::label("").dim("the tree did not change"));
    } else {
        let of = commit_is_in.map(|path| format!("git -C {path} show ")).unwrap_or_default();
        let short = commit.get(..12).unwrap_or(commit);
        page.whole(Line::label("commit").plain(format!("{of}{short}")));
    }
    let unclear = binding.get("unclear").and_then(Node::as_bool) == Some(true);
    if let Some(words) = Clarity::words(unclear, field(binding, "unclear_because")) {
        page.wrapped(Line::label(""), Meaning::Unknown, &words, 3);
    }
    let handoff = field(binding, "handoff");
    if !handoff.is_empty() {
        page.wrapped(Line::label("handoff"), Meaning::Plain, handoff, 3);
    }
}

fn attempts(page: &mut Page, why: &Why, lies_at: LiesAt<'_>, now: UnixMillis) {
    if why.attempts.is_empty() {
        if why.kind == "task" && why.tries.iter().all(|tried| tried.attempts == 0) {
            page.gap();
            page.push(Line::label("attempts").dim("none yet"));
        }
        return;
    }
    page.gap();
    page.push(Line::new().dim("attempts"));
    let left_out = why.attempts.len().saturating_sub(ATTEMPTS_MAX);
    if left_out > 0 {
        page.push(Line::indent(2).dim(format!("… {left_out} before")));
    }
    for attempt in why.attempts.iter().skip(left_out) {
        // Its result is shown above already.
        let is_told = attempt.ended == "solved" && why.binding.is_some();
        one_attempt(page, attempt, is_told, now);
        let unclear = Clarity::words(attempt.unclear, &attempt.unclear_because);
        if let Some(words) = unclear.filter(|_| !is_told) {
            page.wrapped(Line::indent(4), Meaning::Unknown, &words, 3);
        }
        reported(page, attempt);
        tools(page, attempt);
        proofs(page, &attempt.evidence, lies_at);
        output(page, &attempt.output, attempt.whole.as_ref(), lies_at);
    }
}

/// The newest tools that its agent called.
fn tools(page: &mut Page, attempt: &AttemptView) {
    let left_out = attempt.tried.len().saturating_sub(TOOLS_MAX);
    if left_out > 0 {
        page.push(Line::indent(4).dim(format!("… {} before", count(left_out, "tool call"))));
    }
    page.extend(attempt.tried.iter().skip(left_out).map(|call| {
        let meaning = if call.failed { Meaning::Fail } else { Meaning::Dim };
        Line::indent(4).dim("ran ").put(meaning, super::line(&call.text))
    }));
}

/// The report of a failed attempt.
fn reported(page: &mut Page, attempt: &AttemptView) {
    let handoff = attempt.handoff.as_deref().unwrap_or_default();
    for (head, words) in [("reported: ", &*attempt.summary), ("left: ", handoff)] {
        if !words.is_empty() {
            page.wrapped(Line::indent(4).dim(head), Meaning::Plain, words, 3);
        }
    }
}

fn one_attempt(page: &mut Page, attempt: &AttemptView, is_told: bool, now: UnixMillis) {
    let id = attempt.attempt.as_ref().map_or(attempt.atom.as_str(), |id| id.as_str());
    let ended = match attempt.ended {
        "parked" => "set aside",
        "waits" => "waits for a person or a judge",
        ended => ended,
    };
    let line = Line::indent(2).strong(id).plain(" ").word(ended);
    let when = match attempt.ended {
        "running" | "waits" => since(&attempt.started, now).map(|ms| format!(", for {}", age(ms))),
        _ => Some(format!(", {}", ago(&attempt.at, now))),
    };
    let took = moment(&attempt.at).and_then(|end| since(&attempt.started, end));
    let took = took.map(|ms| format!(", took {} with its checks", time(ms)));
    let class = bracketed("", &attempt.class);
    let (n, when, took) = (attempt.n, when.unwrap_or_default(), took.unwrap_or_default());
    page.push(line.plain(format!(", attempt {n}{when}{took}")).dim(class));
    let under = pairs(&attempt.choices);
    if !under.is_empty() {
        page.push(Line::indent(4).dim(format!("with {under}")));
    }
    if !attempt.reason.is_empty() && !is_told {
        page.wrapped(Line::indent(4), Meaning::Plain, &attempt.reason, 4);
    }
    if !attempt.files.is_empty() {
        page.push(Line::indent(4).dim(format!("files {}", listed(&attempt.files, NAMES_MAX))));
    }
    if let (Some(id), false) = (&attempt.attempt, attempt.changed.is_empty()) {
        let changed = listed(&attempt.changed, NAMES_MAX);
        let look = format!("changed {changed}  (descent diff {id})");
        page.push(Line::indent(4).dim(look));
    }
}

/// Verdicts, with the output of checks that do not hold.
fn proofs(page: &mut Page, evidence: &[Node], lies_at: LiesAt<'_>) {
    for proof in evidence {
        let (verdict, ended) = (field(proof, "verdict"), field(proof, "ended"));
        let line = Line::indent(4).then(Line::new().word(verdict).pad(8));
        let line = line.plain(super::line(field(proof, "check")));
        page.push(line.dim(behind(" ", &bracketed("", ended))));
        if verdict != "pass" {
            output(page, field(proof, "output"), SideFile::named_in(proof).as_ref(), lies_at);
        }
    }
}

/// The last lines that are not blank, and the place of the whole.
fn output(page: &mut Page, text: &str, whole: Option<&SideFile>, lies_at: LiesAt<'_>) {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let skipped = lines.len().saturating_sub(OUTPUT_LINES_MAX);
    if skipped > 0 {
        page.push(Line::indent(6).dim(format!("│ … {skipped} lines before")));
    }
    let shown = lines.into_iter().skip(skipped);
    page.extend(shown.map(|line| Line::indent(6).dim("│ ").plain(line)));
    let Some(one) = whole else { return };
    let line = Line::indent(6).dim(format!("│ its output, {} KiB: ", one.bytes.div_ceil(1024)));
    page.whole(match lies_at(one) {
        Some(path) => line.plain(path),
        None => line.dim("gone, but for this excerpt"),
    });
}

/// Its turns and questions, and the choices around it. Failures are shown with the attempts already.
fn history(page: &mut Page, why: &Why, lies_at: LiesAt<'_>, now: UnixMillis) {
    let entries = why.trail.iter().zip(&why.events);
    let entries = entries.filter(|(_, event)| !matches!(event, Some(Event::AttemptFailed { .. })));
    for (n, (entry, event)) in entries.enumerate() {
        if n == 0 {
            page.gap();
            page.push(Line::new().dim("history"));
        }
        let (label, what) = describe_record(event.as_ref(), entry);
        let head = Line::indent(2).then(Line::new().word(label).pad(9));
        page.wrapped(head, Meaning::Plain, &format!("{what}, {}", ago(field(entry, "at"), now)), 3);
        if matches!(event, Some(Event::Refuted { .. })) {
            proofs(page, super::items(entry, "evidence"), lies_at);
        }
    }
}

/// Its history, commit by commit, also as far as the state itself no longer knows it.
fn commits(page: &mut Page, past: &[StoryLine], now: UnixMillis) {
    let left_out = past.len().saturating_sub(PAST_MAX);
    let Some(last) = past.last() else { return };
    let column = last.serial.to_string().len() + 3;
    page.gap();
    page.push(Line::new().dim("commits"));
    if left_out > 0 {
        page.push(Line::indent(2).dim(format!("… {left_out} before")));
    }
    for change in past.iter().skip(left_out) {
        let by = behind(", by ", if change.by == "descent" { "" } else { &change.by });
        let serial = Line::new().dim(format!("#{}", change.serial)).pad(column);
        let when = ago(&change.at, now);
        let text = format!("{}, {when}{by}", change.what);
        page.wrapped(Line::indent(2).then(serial), Meaning::Plain, &text, 2);
    }
}

/// The atoms whose story is worth reading.
pub fn worth_asking(asking: &Asking, width: usize) -> Page {
    let mut page = Page::new(width);
    let nothing = "no atom runs, and none has failed: `descent graph` lists them, and `descent verify` evaluates the checks";
    let words = match &asking.question {
        Some(one) => format!("the {} {} is asked: {}", one.role, one.agent, line(&one.about)),
        None if asking.atoms.is_empty() => nothing.to_owned(),
        None => String::new(),
    };
    if !words.is_empty() {
        page.wrapped(Line::new(), Meaning::Plain, &words, 2);
    }
    let ids = asking.atoms.iter().map(|asked| Line::of(asked.atom.as_str()).width());
    let column = ids.max().unwrap_or(0).min(30) + 2;
    for asked in asking.atoms.iter().take(20) {
        let id = Line::new().strong(asked.atom.as_str()).pad(column);
        let status = asked.status.split(", ").next().unwrap_or_default();
        let status = Line::new().put(Meaning::of(status), &asked.status);
        page.push(id.then(status).plain("  ").plain(line(&asked.reason)));
    }
    if asking.atoms.len() > 20 {
        page.push(Line::new().dim(format!("… and {} more", asking.atoms.len() - 20)));
    }
    page.next(&asking.next);
    page
}
