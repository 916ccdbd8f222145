//! Issues of a plan, and the auditor's findings, for a person: what is wrong, and how to mend it.

use descent_core::{audit::AuditFinding, judging::Issue, state::Severity};

use super::{Line, Meaning, Page, count, line};

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
