//! The kind of task, issues of plans, opinions about passes, and marks, in words: advice, not proof.

use descent_core::{
    state::{JudgedBy, Severity},
    view::{
        StatusView,
        judged::{AssessmentView, JudgedView, ReviewView},
        marked::{AttentionView, UnclearView},
        passes::ProfileView,
    },
};

use crate::render::{Line, Meaning, Page, count, event, line, passes};

/// Marks, and questions, that are shown.
const MARKS_MAX: usize = 3;

/// All that was judged, where there is something to say.
pub(super) fn judged(page: &mut Page, status: &StatusView) {
    let with_news =
        |judged: &&JudgedView| !judged.issues.is_empty() || judged.by == JudgedBy::Nobody;
    let rows = [
        ("kind", status.profile.as_ref().and_then(kind_words)),
        ("judged", status.judged.as_ref().filter(with_news).map(judged_words)),
        ("reviewed", status.reviewed.as_ref().map(reviewed_words)),
        ("assessed", status.assessed.as_ref().map(assessed_words)),
    ];
    for (label, words) in rows {
        page.extend(words.map(|words| Line::label(label).plain(words)));
    }
}

/// The newest report on a planner's plan.
pub(in crate::render) fn judged_words(judged: &JudgedView) -> String {
    let high = judged.issues.iter().filter(|one| one.severity == Severity::High).count();
    let words = match (judged.issues.len(), judged.by) {
        (0, JudgedBy::Code | JudgedBy::Model) => "no issue, advice".to_owned(),
        (0, JudgedBy::Nobody) => format!("not judged by a model: {}", line(&judged.because)),
        (all, _) if high > 0 => format!("{} ({high} high), advice", count(all, "issue")),
        (all, _) => format!("{}, advice", count(all, "issue")),
    };
    let by = judged.agent.as_ref().filter(|_| judged.by == JudgedBy::Model);
    let by = by.map_or_else(String::new, |agent| format!(" of {agent}"));
    format!("the plan of {}: {words}{by}", judged.atom)
}

/// The newest report across the phases of a pass.
pub(in crate::render) fn reviewed_words(report: &ReviewView) -> String {
    match report.because.as_str() {
        "" => {
            let issues = count(report.issues.len(), "issue");
            format!("pass {} by {}: {issues}, advice", report.pass, report.agent)
        }
        why => format!("not across the phases: {}", line(why)),
    }
}

/// The newest opinion about a pass that came to its end.
pub(in crate::render) fn assessed_words(said: &AssessmentView) -> String {
    match said.converged {
        None => format!("not assessed by a model: {}", line(&said.because)),
        Some(_) => {
            let codes = said.reason_codes.join(", ");
            format!("pass {} by {}: {codes}; advice", said.pass, said.agent)
        }
    }
}

/// The kind of task, where an agent said it.
pub(in crate::render) fn kind_words(known: &ProfileView) -> Option<String> {
    let agent = known.agent.as_ref()?;
    let passes = passes(known.passes);
    Some(match known.fault.as_str() {
        "" => format!("{passes}, by {agent}: {}", line(&known.raw_inference)),
        fault => format!("{passes}, a default: {agent}: {}", line(fault)),
    })
}

/// An atom that a person should look at.
pub(in crate::render) fn mark_words(mark: &AttentionView) -> String {
    event::attention(&mark.atom, mark.cause, &mark.because)
}

/// A question about a task, or the answer that is assumed.
pub(in crate::render) fn question_words(one: &UnclearView) -> (&'static str, String) {
    let question = line(&one.question);
    match (one.waits, one.assume.as_str()) {
        (true, _) => ("asks", question),
        (false, "") => ("answered", question),
        (false, assume) => ("assumed", format!("{question} {}", line(assume))),
    }
}

/// Atoms that a person should look at, and what is asked or assumed about tasks.
pub(super) fn marked(page: &mut Page, status: &StatusView) {
    for mark in status.attention.iter().take(MARKS_MAX) {
        page.push(Line::label("attention").put(Meaning::Unknown, mark_words(mark)));
    }
    for one in status.questions.iter().take(MARKS_MAX) {
        let (label, text) = question_words(one);
        let meaning = if one.waits { Meaning::Unknown } else { Meaning::Plain };
        page.push(Line::label(label).put(meaning, format!("{}: {text}", one.atom)));
    }
    let more = status.attention.len().max(status.questions.len());
    if more > MARKS_MAX {
        page.push(Line::label("").dim("`descent report` has them all"));
    }
}
