//! Events in words, the only place that words them: for a run's lines, for `log` and for `why`. Also the past, a line for
//! each entry.

mod verdicts;

use descent_core::{
    doc::Node,
    event::{ChoiceChange, Event, StartReason},
    id::UnixMillis,
    state::{atom::PhaseLimit, record::RetireReason},
    view::log::LogEntry,
};

use super::{BoundWords, Line, Meaning, Page, ago, count, field, issues, line, listed, time};

/// Columns of the label that a line begins with.
pub(super) const LABEL_WIDTH: usize = 10;
/// Names in one list at most.
const NAMES_MAX: usize = 6;

/// The lines of an event in a run: one, and one for each value that gave way. There is none for an
/// event that the run tells otherwise.
pub fn event(event: &Event, width: usize) -> Vec<Line> {
    if matches!(event, Event::Ended { .. } | Event::Requested { .. }) {
        return Vec::new();
    }
    if let Some(page) = started(event) {
        return page.map(|line| line.cut(width)).to_vec();
    }
    let (label, what) = describe(event);
    let head = Line::new().word(label).pad(LABEL_WIDTH).plain(what);
    let below = |what: &String| Line::new().pad(LABEL_WIDTH).plain(line(what)).cut(width);
    let lines = std::iter::once(head.cut(width));
    lines.chain(event.lost().iter().map(below)).collect()
}

/// The beginning of a run whose bound needs two lines, since planners may change the plan.
fn started(event: &Event) -> Option<[Line; 2]> {
    let bound = bound_of(event).filter(|bound| bound.has_changes)?;
    let head = Line::new().word("run").pad(LABEL_WIDTH);
    let head = head.plain(format!("ends after at most {};", bound.attempts));
    Some([head, Line::new().pad(LABEL_WIDTH).plain(bound.rest)])
}

/// The bound that a run begins with.
fn bound_of(event: &Event) -> Option<BoundWords> {
    let Event::RunStarted {
        attempts_left,
        verdicts_left,
        starts_left,
        consults_left,
        changes_left,
        attempts_a_change,
        ..
    } = event
    else {
        return None;
    };
    let counts = [attempts_left, verdicts_left, starts_left].map(Clone::clone);
    let changes = changes_left.filter(|left| *left > 0).zip(attempts_a_change.clone());
    Some(BoundWords::new(counts, changes, consults_left.clone()))
}

/// An event as its label and its text. The most important words come first: the end may be cut off.
pub fn describe(event: &Event) -> (&'static str, String) {
    match event {
        Event::RunStarted { .. } => {
            ("run", bound_of(event).map(|bound| bound.sentence()).unwrap_or_default())
        }
        Event::AttemptStarted { atom, n, of, description, because, .. } => (
            "start",
            format!(
                "{atom}, attempt {n} of {of}{}: {}",
                started_because(*because),
                line(description)
            ),
        ),
        Event::Consulting { question, agent, about, .. } => {
            ("asks", format!("{agent} as {}: {}", question.row().role.word(), line(about)))
        }
        Event::Consulted { .. }
        | Event::Judged { .. }
        | Event::Law { .. }
        | Event::Planned { .. }
        | Event::Replanned { .. }
        | Event::BaseCase { .. } => verdicts::describe(event),
        Event::Probed { atom, ms, feasible, findings, .. } => {
            let words = match feasible {
                Some(true) => "it can be done",
                Some(false) => "it seems that it cannot be done",
                None => "nothing was found out",
            };
            let (time, found) = (taken("in", *ms), line(findings));
            ("probed", format!("{atom}{time}: {words}: {found}"))
        }
        Event::Solved { atom, ms, files, summary, unclear, not_taken, .. } => {
            let not_taken = behind("; ", &line(not_taken));
            let unclear = bracketed("unclear: ", unclear);
            let what = if files.is_empty() {
                line(summary)
            } else {
                format!("changed {}", files.join(", "))
            };
            let time = taken("in", *ms);
            ("solved", format!("{atom}{time}: {what}{not_taken}{unclear}"))
        }
        Event::PlannedAgain { atom, because, .. } => {
            ("replanned", format!("{atom}: another plan is made: {}", line(because)))
        }
        Event::PhaseOver { atom, limit, is_partial, missing } => {
            ("dropped", format!("{atom}: {}", dropped(*limit, *is_partial, missing)))
        }
        Event::AttemptFailed { atom, ms, class, reason, attempts_left, held, of, .. } => {
            // With one check the reason tells it.
            let held = held.zip(of.filter(|of| *of > 1));
            let held = held.map(|(held, of)| format!("; {held} of {of} checks hold"));
            let left = attempts_left.map(|left| match left {
                0 => "; no attempt left".to_owned(),
                left => format!("; {left} left"),
            });
            let (held, left) = (held.unwrap_or_default(), left.unwrap_or_default());
            let (time, class) = (taken("after", *ms), class.word());
            ("failed", format!("{atom}{time} ({class}{held}{left}): {}", line(reason)))
        }
        Event::Correcting { atom, ms, turn, of, reason, .. } => {
            let time = taken("after", *ms);
            ("corrects", format!("{atom}{time} (turn {turn} of {of}): {}", line(reason)))
        }
        Event::Transient { atom, retry, of, wait_ms, reason, .. } => {
            let why = bracketed("", reason);
            (
                "transient",
                format!(
                    "{atom}: costs no attempt; retry {retry} of {of} in {}{why}",
                    time(*wait_ms)
                ),
            )
        }
        Event::Limited { atom, agent, until, wait, of, reason, .. } => (
            "waits",
            format!(
                "{atom}: {agent} is asked again at {}, costs no attempt; wait {wait} of {of}{}",
                line(&super::to_the_second(until)),
                bracketed("", reason)
            ),
        ),
        Event::Adopted { atom, .. } => {
            ("adopted", format!("{atom}: what it made before is taken in"))
        }
        Event::Interrupted { atom, why, .. } => {
            ("ended", format!("{atom}: {why}; it costs no attempt"))
        }
        Event::NeedsGuidance { atom, question, options } => (
            "asks",
            if question.is_empty() {
                format!(
                    "{atom}: it failed twice alike, and nothing else can be chosen; it waits for guidance"
                )
            } else {
                let options = bracketed("", &options.join(" | "));
                format!("{atom}: {}{options}; it waits for an answer", line(question))
            },
        ),
        Event::Rested { atom, alike: 1, .. } => (
            "rested",
            format!(
                "{atom}: it failed on carried build state; other choices come first, then it is tried once without that state"
            ),
        ),
        Event::Rested { atom, n, alike } => (
            "rested",
            format!(
                "{atom}: the same failure {}; after attempt {n} other choices come first, at no cost",
                super::times(*alike)
            ),
        ),
        Event::Woken { atoms } => {
            ("woken", format!("nothing else is left, so these go on: {}", listed(atoms, NAMES_MAX)))
        }
        Event::Attention { atom, cause, because } => {
            ("attention", issues::attention(atom, *cause, because))
        }
        Event::Pattern { atoms, reason } => (
            "pattern",
            format!(
                "{} fail alike ({}): {}",
                count(atoms.len(), "atom"),
                listed(atoms, NAMES_MAX),
                line(reason)
            ),
        ),
        Event::Repair { atom, repair, of, why, conflict, .. } if repair > of => {
            ("failed", format!("{atom}: no repair is left of {of}, and {}", cause(why, conflict)))
        }
        Event::Repair { atom, repair, of, why, conflict, .. } => {
            ("repair", format!("{atom}: {} (repair {repair} of {of})", cause(why, conflict)))
        }
        Event::InDoubt { attempt, atom, why } => {
            let what = format!("nobody knows whether the effect of {attempt} happened");
            let stop = if why.is_empty() { "" } else { "; " };
            ("in doubt", format!("{atom}: {why}{stop}{what}"))
        }
        Event::Discarded { attempt } => {
            ("discarded", format!("{attempt}: its result came too late"))
        }
        Event::Chosen { group, choice, untried } => {
            ("chosen", format!("{group} = {choice} ({} untried)", count(untried, "other")))
        }
        Event::Refuted { failed, .. } => (
            "rejected",
            format!("all atoms are solved, and a check failed: {}", line(&failed.join("; "))),
        ),
        Event::Backtracked { changes, because } => {
            let change = |one: &ChoiceChange| match &one.from {
                Some(from) => format!("{}: {from} → {}", one.group, one.to),
                None => format!("{} = {}", one.group, one.to),
            };
            let changes: Vec<String> = changes.iter().map(change).collect();
            let because = line(because);
            ("switched", format!("{} because {because}", changes.join(", ")))
        }
        Event::Parked { atom, is_changed } => {
            let why = match is_changed {
                true => "it or its inputs changed; kept for when that is undone",
                false => "kept for when its choices come back",
            };
            ("set aside", format!("{atom}: {why}"))
        }
        Event::Revived { atom } => {
            ("reused", format!("{atom}: its choices are back, no new attempt"))
        }
        Event::Forgotten { atom } => {
            ("forgotten", format!("{atom}: the repository lost the result that was kept of it"))
        }
        Event::Rebuilt { kept, taken_back, .. } => {
            let stays = if *kept == 1 { "stays" } else { "stay" };
            let stays = format!("{} {stays}", count(kept, "commit"));
            match taken_back.as_slice() {
                [] => ("rebuilt", format!("the result: {stays}")),
                gone => {
                    let gone = listed(gone, usize::MAX);
                    ("removed", format!("{gone} from the result: {stays}"))
                }
            }
        }
        Event::Disagreed { checks } => (
            "differs",
            format!(
                "in a fresh checkout, which is the one that counts: {}",
                line(&checks.join("; "))
            ),
        ),
        Event::Unsteady { checks } => (
            "unsteady",
            format!(
                "failed at align and holds now on the same files: {}",
                line(&checks.join("; "))
            ),
        ),
        Event::Corrected { kind, what, effects, .. } => {
            let effects = behind(" → ", &effects.join("; "));
            (verdicts::correction(*kind), line(what) + &effects)
        }
        Event::Requested { request, reason } => {
            let reason = bracketed("", reason.as_deref().unwrap_or_default());
            ("asked", request.word().replace('_', " ") + &reason)
        }
        Event::AwaitsChange { by } => {
            ("waits", format!("for the change by {}; nothing is started until then", line(by)))
        }
        Event::Retired { request, why } => {
            let why = match why {
                RetireReason::EarlierRun => "it was for an earlier run",
                RetireReason::AskerGone => "who asked is gone, and changed nothing",
                RetireReason::TakenBack => "it was taken back",
            };
            ("retired", format!("request {request}: {why}"))
        }
        Event::Ended { result, reason, summary } => {
            let (result, reason) = (result.word(), reason.word());
            ("ended", format!("{result} ({reason}): {}", line(summary)))
        }
        Event::Unknown(value) => ("noted", unknown(value)),
    }
}

/// A text after what leads to it; nothing where there is no text.
pub(super) fn behind(lead: &str, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{lead}{text}") }
}

/// The same in brackets, on one line.
pub(super) fn bracketed(lead: &str, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(" ({lead}{})", line(text)) }
}

/// ` in 3 s`, if the time is known.
fn taken(word: &str, ms: Option<u64>) -> String {
    ms.map(|ms| format!(" {word} {}", time(ms))).unwrap_or_default()
}

/// Why an attempt starts, where its number does not tell.
fn started_because(because: StartReason) -> &'static str {
    match because {
        StartReason::Ready | StartReason::Failed => "",
        StartReason::Cold => " (without build state)",
        StartReason::Probe => " (a probe)",
        StartReason::Transient => " (the failure was a passing one)",
        StartReason::Interrupted => " (it was cut off)",
        StartReason::Repair => " (a repair)",
        StartReason::Guided => " (with guidance)",
        StartReason::NewContext => " (what it builds on is another)",
        StartReason::Speculation => " (beside the choice in force)",
    }
}

/// Why a result is made again, with the paths that do not merge.
fn cause(why: &str, conflict: &[String]) -> String {
    match conflict {
        [] => line(why),
        paths => format!("{}: {}", line(why), line(&listed(paths, NAMES_MAX))),
    }
}

/// The parts that a phase left open when its budget ended.
fn dropped(limit: PhaseLimit, is_partial: bool, missing: &[String]) -> String {
    let missing = listed(missing, NAMES_MAX);
    let budget = match limit {
        PhaseLimit::Time => "the time of its budget is over",
        PhaseLimit::Attempts => "the attempts of its budget are over",
        PhaseLimit::Calls => "the model calls of its budget are over",
        PhaseLimit::Tokens => "the tokens of its budget are over",
        PhaseLimit::Cost => "the money of its budget is over",
    };
    if is_partial {
        format!("{budget}; it is gone on with without {missing}")
    } else {
        format!("{budget} with {missing} open: this plan failed")
    }
}

/// The kind and the atom of an event that another version wrote.
fn unknown(value: &serde_json::Value) -> String {
    let text = |key: &str| value.get(key).and_then(serde_json::Value::as_str);
    let of = text("atom").map(|atom| format!(" {atom}"));
    let kind = text("event").unwrap_or("something").replace('_', " ");
    line(&(kind + &of.unwrap_or_default()))
}

/// The usual width of an age, and the least.
const AGE_WIDTH: usize = 9;
/// Columns of the person's name at most.
const BY_WIDTH_MAX: usize = 16;

/// With `now` a time is as `3 m ago`; else as it is recorded, in UTC, and no line is cut.
pub fn log(entries: &[LogEntry], left_out: usize, now: Option<UnixMillis>, width: usize) -> Page {
    let mut page = Page::new(width);
    if left_out > 0 {
        page.push(Line::new().dim(format!("… {left_out} before")));
    }
    let age = |at: &str| now.map_or_else(|| at.to_owned(), |now| ago(at, now));
    let ages: Vec<Line> = entries.iter().map(|one| Line::new().dim(age(&one.at))).collect();
    let age_width = ages.iter().map(Line::width).max().unwrap_or(0).max(AGE_WIDTH) + 2;
    let digits = |entry: &LogEntry| entry.serial.map_or(0, |serial| serial.to_string().len() + 2);
    let serial_width = entries.iter().map(digits).max().unwrap_or(0);
    let serial_width = if serial_width > 0 { serial_width + 1 } else { 0 };
    for (entry, age) in entries.iter().zip(ages) {
        let (word, what) = match &entry.event {
            Some(event) => describe(event),
            None => describe_entry(entry),
        };
        let serial = entry.serial.map_or(String::new(), |serial| format!("#{serial}"));
        let mut head = age
            .pad(age_width)
            .then(Line::new().dim(serial).pad(serial_width))
            .then(Line::new().word(word).pad(LABEL_WIDTH));
        if entry.by != "descent" {
            head =
                head.then(Line::new().dim("by ").strong(&entry.by).cut(BY_WIDTH_MAX)).plain(": ");
        }
        let row = head.plain(line(&what));
        if now.is_some() {
            page.push(row)
        } else {
            page.whole(row)
        }
        for lost in entry.event.iter().flat_map(Event::lost) {
            page.prose(Line::indent(age_width), Meaning::Plain, &format!("gave way: {lost}"));
        }
    }
    if entries.is_empty() {
        page.push(Line::of("nothing has happened yet"));
    }
    page
}

/// An entry as a label and a text.
pub fn describe_entry(entry: &LogEntry) -> (&'static str, String) {
    describe_record(entry.event.as_ref(), &entry.entry)
}

/// A record in the words of its event, or in its own without one.
pub(super) fn describe_record(event: Option<&Event>, node: &Node) -> (&'static str, String) {
    let Some(event) = event else {
        let texts = ["description", "reason", "summary", "type"].map(|key| field(node, key));
        let text = texts.into_iter().find(|text| !text.is_empty());
        let is_commit = node.get("command").is_some();
        let label = if is_commit { "changed" } else { "noted" };
        return (label, text.unwrap_or_default().to_owned());
    };
    let (label, what) = describe(event);
    let lost = match event.lost() {
        [] => String::new(),
        [one] => format!(" [gave way: {}]", line(one)),
        [one, more @ ..] => format!(" [gave way: {}, and {} more]", line(one), more.len()),
    };
    (label, what + &lost)
}
