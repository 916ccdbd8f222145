//! The kind of task, issues of plans, opinions about passes, and marks: advice, not proof.

use descent_core::{
    state::{JudgedBy, Severity},
    view::StatusView,
};

use crate::render::{Line, Meaning, Page, count, event, line, passes};

/// Marks, and questions, that are shown.
const MARKS_MAX: usize = 3;

/// The newest report on a planner's plan, where it has something to say.
pub(super) fn judged(page: &mut Page, status: &StatusView) {
    let Some(judged) = &status.judged else { return };
    let high = judged.issues.iter();
    let high = high.filter(|one| one.severity == Severity::High).count();
    let words = match (judged.issues.len(), judged.by) {
        (0, JudgedBy::Code | JudgedBy::Model) => return,
        (0, JudgedBy::Nobody) => format!("not judged by a model: {}", line(&judged.because)),
        (all, _) if high > 0 => format!("{} ({high} high), advice", count(all, "issue")),
        (all, _) => format!("{}, advice", count(all, "issue")),
    };
    let atom = &judged.atom;
    page.push(Line::label("judged").plain(format!("the plan of {atom}: {words}")));
}

/// The newest report across the phases of a pass.
pub(super) fn reviewed(page: &mut Page, status: &StatusView) {
    let Some(report) = &status.reviewed else {
        return;
    };
    let words = match report.because.as_str() {
        "" => {
            let issues = count(report.issues.len(), "issue");
            format!("pass {} by {}: {issues}, advice", report.pass, report.agent)
        }
        why => format!("not across the phases: {}", line(why)),
    };
    page.push(Line::label("reviewed").plain(words));
}

/// The newest opinion about a pass that came to its end.
pub(super) fn assessed(page: &mut Page, status: &StatusView) {
    let Some(said) = &status.assessed else { return };
    let words = match said.converged {
        None => format!("not assessed by a model: {}", line(&said.because)),
        Some(_) => format!(
            "pass {} by {}: {}; advice",
            said.pass,
            said.agent,
            said.reason_codes.join(", ")
        ),
    };
    page.push(Line::label("assessed").plain(words));
}

/// The kind of task, where an agent said it.
pub(super) fn kind(page: &mut Page, status: &StatusView) {
    let known = status.profile.as_ref();
    let Some((known, agent)) = known.and_then(|known| Some((known, known.agent.as_ref()?))) else {
        return;
    };
    let passes = passes(known.passes);
    let words = match known.fault.as_str() {
        "" => format!("{passes}, by {agent}: {}", line(&known.raw_inference)),
        fault => format!("{passes}, a default: {agent}: {}", line(fault)),
    };
    page.push(Line::label("kind").plain(words));
}

/// Atoms that a person should look at, and what is asked or assumed about tasks.
pub(super) fn marked(page: &mut Page, status: &StatusView) {
    for mark in status.attention.iter().take(MARKS_MAX) {
        let text = event::attention(&mark.atom, mark.cause, &mark.because);
        page.push(Line::label("attention").put(Meaning::Unknown, text));
    }
    for one in status.questions.iter().take(MARKS_MAX) {
        let text = format!("{}: {}", one.atom, line(&one.question));
        page.push(match (one.waits, one.assume.as_str()) {
            (true, _) => Line::label("asks").put(Meaning::Unknown, text),
            (false, "") => Line::label("answered").plain(text),
            (false, assume) => Line::label("assumed").plain(format!("{text} {}", line(assume))),
        });
    }
    let more = status.attention.len().max(status.questions.len());
    if more > MARKS_MAX {
        page.push(Line::label("").dim("`descent report` has them all"));
    }
}
