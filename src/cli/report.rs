//! `descent report`: the whole run as one text, for a pull request, a CI, a program or a browser; with `--audit` the
//! patterns that a person should know of.
//!
//! Invariant: it only reads the state, so that it may run beside a loop, and the same state gives the same bytes. Not
//! here: what a report says (`view` of the core), its formats (`render`).

use clap::{Args, ValueEnum};
use descent_core::{
    view::report::{self, Report},
    world::World,
};

use super::{End, context::Context};
use crate::{
    failure::{Failure, exit},
    ops,
    ops::audit::AuditReport,
    render,
    render::{Line, Meaning, Page},
    secrets,
};

#[derive(Debug, Args)]
pub struct ReportArgs {
    /// How it is written: Markdown, or as --json does, or for the test view of a CI, or for a browser [default: md]
    #[arg(long, value_enum)]
    format: Option<ReportFormat>,
    /// Only what a person should know of the run: it moves without coming nearer, a tool fails again and again, a judge or a lesson was wrong
    #[arg(long, conflicts_with = "format")]
    audit: bool,
    /// With --audit: exit with 1 if there is a finding
    #[arg(long, requires = "audit")]
    exit_code: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ReportFormat {
    Md,
    Json,
    Junit,
    Html,
}

pub(super) fn report(context: &Context, flags: &ReportArgs) -> Result<End, Failure> {
    let mut store = context.store()?;
    let loaded = store.read()?;
    context.warn(&store, &loaded);
    if flags.audit {
        let report = ops::audit::audit(&store, &World::new(loaded.state.clone()));
        return Ok(print_audit(context, &report, flags.exit_code));
    }
    let seen = ops::seen(&context.client(None), &store, &loaded);
    let report = report::report(&World::new(seen.state));
    let usual = if context.out.json { ReportFormat::Json } else { ReportFormat::Md };
    let format = flags.format.unwrap_or(usual);
    context.out.raw(&written(&report, format));
    Ok(End::Code(0))
}

/// Without the last line feed.
fn written(report: &Report, format: ReportFormat) -> String {
    let text = match format {
        ReportFormat::Md => render::markdown(report),
        ReportFormat::Json => return render::json_text(report),
        ReportFormat::Junit => render::junit(report),
        ReportFormat::Html => render::html(report),
    };
    secrets::hide(&text).into_owned()
}

fn print_audit(context: &Context, report: &AuditReport, exit_code: bool) -> End {
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
