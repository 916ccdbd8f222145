//! `descent report`: the whole run as one text, for a pull request, a CI, a program or a browser; with `--audit` the
//! patterns that a person should know of.
//!
//! Invariant: it only reads the state, so that it may run beside a loop, and the same state gives the same bytes. Not
//! here: what a report says (`view` of the core), its formats (`render`).

use clap::{Args, ValueEnum};
use descent_core::{
    audit::{self, AuditFinding},
    id::{Lineage, Serial},
    state::account::Accountable,
    step::run_end,
    view::report::{self, Report},
    world::World,
};
use serde::Serialize;

use super::{Context, End, Failure, Line, Meaning, Page, exit, phrase};
use crate::render;
use descent_engine::ops;
use descent_system::secrets;

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
    let (store, loaded) = context.read()?;
    if flags.audit {
        let world = World::new(loaded.state.clone());
        return Ok(print_audit(context, &world, flags.exit_code));
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
        ReportFormat::Json => return phrase::json_text(report),
        ReportFormat::Junit => render::junit(report),
        ReportFormat::Html => render::html(report),
    };
    secrets::hide(&text).into_owned()
}

/// The findings of the auditor: `descent report --audit --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct AuditReport {
    schema: &'static str,
    lineage: Lineage,
    serial: Serial,
    findings: Vec<AuditFinding>,
    /// The role that did not bring the last run farther; null before an ending.
    accountable: Option<Accountable>,
}

fn print_audit(context: &Context, world: &World, exit_code: bool) -> End {
    let report = AuditReport {
        schema: "descent/audit/1",
        lineage: world.state.lineage.clone(),
        serial: world.state.serial,
        findings: audit::audit(world),
        accountable: run_end::last_result(world).and_then(|last| last.accountable),
    };
    context.answer_page(&report, || page(&report, context.out.width()));
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
    page
}
