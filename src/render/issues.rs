//! Issues of a plan for a person: each with its atom, what is wrong, and how to mend it.

use descent_core::{judging::Issue, state::Severity};

use super::{Line, Meaning, Page, line};

/// Columns of a severity.
const SEVERITY_WIDTH: usize = 8;
/// Lines of one text.
const LINES_MAX: usize = 3;

/// The heading wherever issues are shown: none of them decides that a plan is good or bad.
pub const ADVICE: &str = "advice, not proof";

/// How many there are, by severity.
pub fn issue_count(issues: &[Issue]) -> String {
    let of = |severity| issues.iter().filter(|one| one.severity == severity).count();
    let counts = [Severity::High, Severity::Medium, Severity::Low].map(|severity| {
        let count = of(severity);
        (count > 0).then(|| format!("{count} {}", severity.word()))
    });
    let counts: Vec<String> = counts.into_iter().flatten().collect();
    match issues.len() {
        0 => "no issue".to_owned(),
        1 => format!("1 issue ({})", counts.join(", ")),
        n => format!("{n} issues ({})", counts.join(", ")),
    }
}

/// The issues, with their repairs below them.
pub fn issues(page: &mut Page, issues: &[Issue]) {
    for issue in issues {
        let meaning = match issue.severity {
            Severity::High => Meaning::Fail,
            Severity::Medium => Meaning::Unknown,
            Severity::Low => Meaning::Dim,
        };
        let head = Line::new().put(meaning, issue.severity.word());
        let what = format!("{}: {}", issue.location, line(&issue.description));
        let what = format!("{what} [{}]", issue.rule.word());
        page.wrapped(head.pad(SEVERITY_WIDTH), Meaning::Plain, &what, LINES_MAX);
        let repair = Line::indent(SEVERITY_WIDTH);
        page.wrapped(repair, Meaning::Dim, &issue.proposed_repair, LINES_MAX);
    }
}
