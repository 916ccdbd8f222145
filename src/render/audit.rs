//! The auditor's findings in words.

use descent_core::audit::AuditFinding;

use super::{Line, Meaning, Page, count, line};

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
