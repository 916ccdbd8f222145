//! `descent report --audit`: patterns of a run that a person should know of.
//!
//! Not here: how they are found (`ops::audit`).

use super::{End, context::Context};
use crate::{
    failure::exit,
    ops::audit::AuditReport,
    render::{self, Line, Meaning, Page},
};

pub(super) fn print(context: &Context, report: &AuditReport, exit_code: bool) -> End {
    context.answer_page(report, || page(report, context.out.width()));
    End::Code(if exit_code && !report.findings.is_empty() { exit::NOT_SO } else { 0 })
}

fn page(report: &AuditReport, width: usize) -> Page {
    let mut page = Page::new(width);
    if report.findings.is_empty() {
        page.push(Line::of("nothing was found"));
    }
    render::findings(&mut page, &report.findings);
    if let Some(role) = report.accountable {
        let words = format!("{}: {}", role.word(), role.meaning());
        let head = Line::of("accountable for the last ending: ");
        page.wrapped(head, Meaning::Plain, &words, 3);
    }
    page.push(Line::new().dim(match report.seen_from.zip(report.seen_to) {
        Some((first, last)) => format!(
            "looked at the state at commit {}, and at what the journal keeps: commits {} to {}",
            report.serial.0, first.0, last.0
        ),
        None => "looked at the state alone: the journal keeps nothing of this run".to_owned(),
    }));
    page
}
