//! Advice for a person: issues of a plan, findings of the auditor, the control law, the kind of task, opinions about
//! passes, and marks.

use descent_core::{
    audit::AuditFinding,
    id::{AgentName, AtomId},
    judging::Issue,
    state::{
        AnswerRecord, JudgedBy, Question, Severity,
        atom::AttentionCause,
        law::{BlockedRecord, CurvePoint, Directive, Gradient, Loss},
    },
    view::{
        StatusView,
        judged::{AttentionView, LawView, ProfileView, UnclearView},
    },
};

use super::{Line, Meaning, Page, count, line, listed, passes};

/// Columns of a severity.
const SEVERITY_WIDTH: usize = 8;
/// Lines of one text.
const LINES_MAX: usize = 3;

/// The heading wherever issues are shown: none of them decides that a plan is good or bad.
pub const ADVICE: &str = "advice, not proof";

/// How many there are, by severity.
pub fn issue_count(issues: &[Issue]) -> String {
    let of = |severity| issues.iter().filter(|one| one.severity == severity).count();
    match issues.len() {
        0 => "no issue".to_owned(),
        _ => by_severity([Severity::High, Severity::Medium, Severity::Low].map(of)),
    }
}

/// `3 issues (1 high, 2 low)`.
pub(super) fn by_severity(counts: [usize; 3]) -> String {
    let words = counts.into_iter().zip(["high", "medium", "low"]);
    let words =
        words.filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}"));
    let words: Vec<String> = words.collect();
    format!("{} ({})", count(counts.iter().sum::<usize>(), "issue"), words.join(", "))
}

pub(super) fn meaning_of(severity: Severity) -> Meaning {
    match severity {
        Severity::High => Meaning::Fail,
        Severity::Medium => Meaning::Unknown,
        Severity::Low => Meaning::Dim,
    }
}

/// The issues, with their repairs below them.
pub fn issues(page: &mut Page, issues: &[Issue]) {
    for issue in issues {
        let head = Line::new().put(meaning_of(issue.severity), issue.severity.word());
        let what = format!("{}: {}", issue.location, line(&issue.description));
        let what = format!("{what} [{}]", issue.rule.word());
        page.wrapped(head.pad(SEVERITY_WIDTH), Meaning::Plain, &what, LINES_MAX);
        let repair = Line::indent(SEVERITY_WIDTH);
        page.wrapped(repair, Meaning::Dim, &issue.proposed_repair, LINES_MAX);
    }
}

/// Columns of the longest kind of finding, and two more.
const CODE_WIDTH: usize = 21;

/// Every finding, with the next step of each.
pub fn findings(page: &mut Page, findings: &[AuditFinding]) {
    for one in findings {
        let head = Line::new().put(Meaning::Unknown, one.code.word());
        page.wrapped(head.pad(CODE_WIDTH), Meaning::Plain, &line(&one.what), 3);
        page.wrapped(Line::indent(CODE_WIDTH), Meaning::Dim, one.hint, 2);
    }
}

/// `2 findings: thrashing, no_progress`; nothing without any.
pub fn findings_in_short(findings: &[AuditFinding]) -> Option<String> {
    let mut codes: Vec<&str> = findings.iter().map(|one| one.code.word()).collect();
    codes.dedup();
    let codes = codes.join(", ");
    (!findings.is_empty()).then(|| format!("{}: {codes}", count(findings.len(), "finding")))
}

/// How the distance changed, in one sign.
pub(super) fn arrow(gradient: Gradient) -> &'static str {
    match gradient {
        Gradient::Improving => "↓",
        Gradient::Worsening => "↑",
        Gradient::Stable => "→",
        Gradient::Plateau => "⊥",
    }
}

/// Blocked tools and targets that are named.
const BLOCKED_MAX: usize = 3;
/// Signs of a curve, from nothing that lacks to all.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Points of a curve that are drawn.
const BARS_MAX: usize = 32;

/// The tools and targets that planners may not propose, each with the attempt that failed with it.
pub(super) fn blocked(all: &[BlockedRecord]) -> Vec<String> {
    let one = |one: &BlockedRecord| {
        let what = line(&one.text());
        match &one.because {
            Some(attempt) => format!("{what} ({attempt})"),
            None => what,
        }
    };
    all.iter().map(one).collect()
}

/// The distances so far, as a row of bars.
fn bars(curve: &[CurvePoint]) -> String {
    let first = curve.len().saturating_sub(BARS_MAX);
    let shown = curve.get(first..).unwrap_or_default().iter();
    let bar = |point: &CurvePoint| {
        let share = f64::from(point.loss.d.0) / 1_000.0;
        let place = (share.clamp(0.0, 1.0) * (BARS.len() - 1) as f64).round();
        // The lowest bar is for nothing alone.
        let place = (place as usize).max(usize::from(share > 0.0));
        BARS.get(place).copied().unwrap_or('█')
    };
    shown.map(bar).collect()
}

/// The standing of a run, in four lines at most.
pub(super) fn law(page: &mut Page, law: &LawView) {
    // The first point has none before it.
    let point = &law.point;
    let change = |_| format!(" {} {}", arrow(point.gradient), point.grad_d.text());
    let change = point.prev_directive.map(change).unwrap_or_default();
    let Loss { d, p, omega, l, .. } = &point.loss;
    let [d, p, omega, l] = [d, p, omega, l].map(|share| share.text());
    let numbers = format!("D {d}{change}  P {p}  Ω {omega}  L {l}  ");
    let directive = format!("{}: {}", point.directive.word(), law.meaning);
    let numbers = Line::label("law").plain(numbers);
    page.push(match point.directive {
        Directive::Abandon => numbers.put(super::Meaning::Fail, directive),
        _ => numbers.plain(directive),
    });
    page.push(Line::label("").dim(line(&point.rationale)));
    if let Some(loss) = &law.delivered {
        let d = loss.d.text();
        page.push(Line::label("").plain(format!("the delivered tree is at D {d}")));
    }
    if law.curve.len() > 1 {
        page.push(Line::label("").dim(format!("D so far  {}", bars(&law.curve))));
    }
    let blocked = blocked(&law.blocked);
    if !blocked.is_empty() {
        page.push(Line::label("blocked").plain(listed(&blocked, BLOCKED_MAX)));
    }
}

/// Marks, and questions, that are shown.
const MARKS_MAX: usize = 3;

/// All that was judged, where there is something to say.
pub(super) fn judged(page: &mut Page, status: &StatusView) {
    let kind = status.profile.as_ref().and_then(kind_words);
    page.extend(kind.map(|words| Line::label("kind").plain(words)));
    let is_news = |one: &&AnswerRecord| {
        one.question != Question::Plan || !one.issues().is_empty() || !one.because.is_empty()
    };
    for one in status.judged.answers.iter().filter(is_news) {
        let label = if one.question == Question::Plan { "judged" } else { one.question.word() };
        page.push(Line::label(label).plain(answer_words(one)));
    }
}

/// The newest answer to a question.
pub(super) fn answer_words(one: &AnswerRecord) -> String {
    let by = one.agent.as_ref().map(|agent| format!(" by {agent}")).unwrap_or_default();
    if one.question == Question::Plan {
        return plan_words(one);
    }
    if !one.because.is_empty() {
        return format!("not answered{by}: {}", line(&one.because));
    }
    let words = match (one.opinion(), one.text()) {
        (Some(_), _) => one.codes.join(", "),
        (None, Some(answer)) => line(&answer.text),
        (None, None) => String::new(),
    };
    let issues = match one.issues().len() {
        0 => String::new(),
        n => format!("; {}", count(n, "issue")),
    };
    format!("pass {}{by}: {words}{issues}; advice", one.pass)
}

/// The newest report on a planner's plan.
fn plan_words(judged: &AnswerRecord) -> String {
    let high = judged.issues().iter().filter(|one| one.severity == Severity::High).count();
    let words = match judged.issues().len() {
        0 => "no issue, advice".to_owned(),
        all if high > 0 => format!("{} ({high} high), advice", count(all, "issue")),
        all => format!("{}, advice", count(all, "issue")),
    };
    let own = judged.issues().iter().filter(|one| one.rule.is_none()).count();
    let agent = judged.agent.as_ref().map_or("", AgentName::as_str);
    let by = match (judged.by(), own, judged.issues().len()) {
        (JudgedBy::Nobody, _, _) => format!("not judged by a model: {}", line(&judged.because)),
        (JudgedBy::Code, _, _) | (_, 0, 1..) => "of rules".to_owned(),
        (JudgedBy::Model, own, all) if own < all => format!("of rules and {agent}"),
        (JudgedBy::Model, _, _) => format!("of {agent}"),
    };
    let step = judged.atom.as_ref().map_or("", AtomId::as_str);
    match judged.by() {
        JudgedBy::Nobody if judged.issues().is_empty() => format!("the plan of {step}: {by}"),
        JudgedBy::Nobody => format!("the plan of {step}: {words}; {by}"),
        JudgedBy::Code if judged.issues().is_empty() => format!("the plan of {step}: {words}"),
        _ => format!("the plan of {step}: {words} {by}"),
    }
}

/// The kind of task, where an agent said it.
pub(super) fn kind_words(known: &ProfileView) -> Option<String> {
    let agent = known.agent.as_ref()?;
    let passes = passes(known.passes);
    Some(match known.fault.as_str() {
        "" => format!("{passes}, by {agent}: {}", line(&known.raw_inference)),
        fault => format!("{passes}, a default: {agent}: {}", line(fault)),
    })
}

/// An atom that a person should look at.
pub(super) fn mark_words(mark: &AttentionView) -> String {
    attention(&mark.atom, mark.cause, &mark.because)
}

/// A question about a task, or the answer that is assumed.
pub(super) fn question_words(one: &UnclearView) -> (&'static str, String) {
    let question = line(&one.question);
    match (one.waits, one.assume.as_str()) {
        (true, _) if one.options.is_empty() => ("asks", question),
        (true, _) => ("asks", format!("{question} ({})", line(&one.options.join(" | ")))),
        (false, "") => ("answered", question),
        (false, assume) => ("assumed", format!("{question} {}", line(assume))),
    }
}

/// Atoms that a person should look at, and what is asked or assumed about tasks.
pub(super) fn marked(page: &mut Page, status: &StatusView) {
    for mark in status.attention.iter().take(MARKS_MAX) {
        page.push(Line::label("attention").put(Meaning::Unknown, mark_words(mark)));
    }
    // One that waits stands with its atom.
    for one in status.questions.iter().filter(|one| !one.waits).take(MARKS_MAX) {
        let (label, text) = question_words(one);
        let meaning = if one.waits { Meaning::Unknown } else { Meaning::Plain };
        page.push(Line::label(label).put(meaning, format!("{}: {text}", one.atom)));
    }
    let more = status.attention.len().max(status.questions.len());
    if more > MARKS_MAX {
        page.push(Line::label("").dim("`descent report` has them all"));
    }
}

/// A mark that asks a person to look at an atom.
pub(super) fn attention(atom: &AtomId, cause: AttentionCause, because: &str) -> String {
    let what = match cause {
        AttentionCause::Contradicted => "is said to contradict",
        AttentionCause::Issues => "is tried with an issue",
        AttentionCause::Limit => "is not changed again by planners",
    };
    format!("{atom} {what}: {}", line(because))
}
