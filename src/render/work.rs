//! The present work of a loop, as lines: for the area below a run, and for whoever watches. Also model calls, tokens and
//! money, in words.

use descent_core::{
    id::{AtomId, UnixMillis},
    view::{
        usage::{AgentUsageView, UsageView, WaitView},
        work::{AttemptAtWork, CheckAtWork, OtherKind, OtherWork, Stage, WorkView},
    },
};

use super::{Line, Meaning, age, count, event::bracketed, length, line, moment, since};

/// On a narrower terminal, words are left out.
const NARROW: usize = 60;

/// Rows for all that is at work, each under its groups, and then the last one with what is left.
pub fn work(view: &WorkView, now: UnixMillis, columns: usize, rows: usize) -> Vec<Line> {
    let mut lines = rows_at_work(view, now, columns);
    let room = rows.max(1);
    let hidden = lines.len().saturating_sub(room);
    lines.truncate(room);
    if hidden > 0 {
        lines.push(Line::indent(2).dim(format!("… and {hidden} more")));
    }
    if !view.began.is_empty() {
        lines.push(foot(view, now, columns));
    }
    lines
}

fn rows_at_work(view: &WorkView, now: UnixMillis, columns: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut shown: Vec<&AtomId> = Vec::new();
    for attempt in &view.attempts {
        for (depth, group) in attempt.above.iter().enumerate() {
            if !shown.contains(&&group.id) {
                shown.push(&group.id);
                let members = if group.is_any { "one of" } else { "all of" };
                lines.push(Line::indent(2 * depth).dim(format!("{} ({members})", group.id)));
            }
        }
        lines.push(attempt_row(attempt, now, columns));
    }
    lines.extend(view.waits.iter().map(|wait| wait_row(wait, now)));
    lines.extend(view.other.iter().map(|other| other_row(other, now)));
    lines
}

/// How long it goes on.
pub(super) fn for_so_long(at: &str, now: UnixMillis) -> String {
    since(at, now).map(age).unwrap_or_default()
}

fn attempt_row(attempt: &AttemptAtWork, now: UnixMillis, columns: usize) -> Line {
    let head = Line::indent(2 * attempt.above.len())
        .put(Meaning::Running, "▸ ")
        .strong(attempt.atom.as_str())
        .plain("  ");
    let (n, of) = (attempt.n, attempt.of);
    let count = if columns < NARROW { format!("{n}/{of}") } else { format!("attempt {n} of {of}") };
    let row = head.plain(format!("{count}  {}  ", for_so_long(&attempt.since, now)));
    let measured = |check: &CheckAtWork| {
        format!(": {} ({})", line(&check.title), for_so_long(&check.since, now))
    };
    row.dim(stage(attempt)).dim(attempt.check.as_ref().map(measured).unwrap_or_default())
}

/// The stage of an attempt, in words.
fn stage(attempt: &AttemptAtWork) -> &'static str {
    match attempt.stage {
        Stage::Agent if attempt.turn > 0 => "corrects its work",
        Stage::Agent => "at work",
        Stage::Merge => "merging",
        Stage::Checks => "its checks",
        Stage::Waits => "waits for others to land",
    }
}

fn wait_row(wait: &WaitView, now: UnixMillis) -> Line {
    let row = Line::new().put(Meaning::Unknown, "◦ ").strong(wait.name());
    row.dim(format!("  waits: {}", wait_words(wait, now)))
}

/// The time left of a wait, and the reason.
pub(super) fn wait_words(wait: &WaitView, now: UnixMillis) -> String {
    let until = moment(&wait.until).unwrap_or(now);
    let left = age(until.0.saturating_sub(now.0));
    let why = bracketed("", &wait.because);
    format!("{} is asked again in {left}{why}", wait.agent)
}

fn other_row(other: &OtherWork, now: UnixMillis) -> Line {
    let name = match other.what {
        OtherKind::BaseCase => "base case",
        OtherKind::Rebuild => "rebuilding the result",
        OtherKind::Judge => "asking a judge",
    };
    let row = Line::new().put(Meaning::Running, "▸ ").strong(name);
    let check = other.check.as_ref().map(|check| format!("  {}", line(&check.title)));
    row.plain(format!("  {}", for_so_long(&other.since, now))).dim(check.unwrap_or_default())
}

fn foot(view: &WorkView, now: UnixMillis, columns: usize) -> Line {
    let began = moment(&view.began).unwrap_or(now);
    let active_ms = view.active_ms + now.0.saturating_sub(began.0);
    let budget = view.time_budget_ms.map(|budget| format!(" of {}", length(budget)));
    let time = format!("{}{}", age(active_ms), budget.unwrap_or_default());
    let (resolved, all) = (view.resolved, view.all);
    let left = count(&view.attempts_left, "attempt");
    let words = view.usage.as_ref().map(|usage| format!(" · {}", used(usage))).unwrap_or_default();
    Line::new().dim(if columns < NARROW {
        format!("{resolved}/{all} · {left} left · {time}{words}")
    } else {
        format!("{resolved} of {all} resolved · at most {left} left · {time}{words}")
    })
}

/// `3 calls, 12.3k tokens, $0.75`, with `≈` before an estimate.
pub fn used(view: &UsageView) -> String {
    let tokens = view.tokens.total();
    let parts = [
        (view.calls > 0).then(|| count(view.calls, "call")),
        (tokens > 0).then(|| format!("{} tokens", short(tokens))),
        view.cost_usd.as_ref().map(|cost| format!("${cost}")),
    ];
    let words: Vec<String> = parts.into_iter().flatten().collect();
    let about = if view.estimated { "≈ " } else { "" };
    format!("{about}{}", words.join(", "))
}

/// The same of an agent, with its name.
pub fn usage_of_agent(view: &AgentUsageView) -> String {
    format!("{}: {}", view.agent, used(&view.usage))
}

/// A count of four digits at most.
fn short(n: u64) -> String {
    match n {
        0..10_000 => n.to_string(),
        10_000..1_000_000 => format!("{}.{}k", n / 1_000, n % 1_000 / 100),
        _ => format!("{}.{}M", n / 1_000_000, n % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use descent_core::view::usage::TokensView;

    #[test]
    fn what_was_not_told_is_left_out_and_an_estimate_is_marked() {
        let mut view = UsageView { calls: 1, ..UsageView::default() };
        assert_eq!(used(&view), "1 call");
        view.tokens = TokensView { input: 12_000, output: 345, cached: 0 };
        view.cost_usd = Some("0.75".to_owned());
        view.estimated = true;
        assert_eq!(used(&view), "≈ 1 call, 12.3k tokens, $0.75");
        assert_eq!([9_999, 10_000, 2_500_000].map(short), ["9999", "10.0k", "2.5M"]);
    }
}
