//! `descent audit`: patterns of a run that a person should know of.
//!
//! Not here: how they are found (`ops::audit`).

use clap::Args;
use descent_core::{
    audit::AuditFinding,
    id::{Lineage, Serial},
    state::account::Accountable,
    step::run_end,
    world::World,
};
use serde::Serialize;

use super::{End, context::Context};
use crate::{
    failure::{Failure, exit},
    ops::audit::{self, AuditReport},
    render::{self, Line, Meaning, Page},
};

#[derive(Debug, Args)]
#[command(
    long_about = "What the state and the journal tell of a run that a person should know of: it moves without coming nearer, a tool is hindered again and again, several atoms fail alike, a judge or a lesson was wrong.\n\nIt only reads, also beside a loop, and decides nothing."
)]
pub struct AuditArgs {
    /// Exit with 1 if there is a finding
    #[arg(long)]
    exit_code: bool,
}

/// The findings of the auditor: `descent audit --json`
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct AuditOutput<'a> {
    schema: &'static str,
    lineage: &'a Lineage,
    serial: Serial,
    /// The first commit that the journal keeps; null if it keeps none, and the state alone was looked at.
    seen_from: Option<Serial>,
    /// The last one; the state may be ahead of it.
    seen_to: Option<Serial>,
    findings: &'a [AuditFinding],
    /// The role that did not bring the last run farther; null before an ending.
    accountable: Option<Accountable>,
}

pub(super) fn audit(context: &Context, flags: &AuditArgs) -> Result<End, Failure> {
    let mut store = context.store()?;
    let loaded = store.read()?;
    context.warn(&store, &loaded);
    let world = World::new(loaded.state.clone());
    let report = audit::audit(&store, &world);
    tell(context, &world, &report);
    Ok(End::Code(match flags.exit_code {
        true if !report.findings.is_empty() => exit::NOT_SO,
        true | false => 0,
    }))
}

fn tell(context: &Context, world: &World, report: &AuditReport) {
    let state = &world.state;
    let accountable = run_end::last_result(world).and_then(|last| last.accountable);
    if context.out.json {
        return context.out.json(&AuditOutput {
            schema: "descent/audit/1",
            lineage: &state.lineage,
            serial: state.serial,
            seen_from: report.seen_from,
            seen_to: report.seen_to,
            findings: &report.findings,
            accountable,
        });
    }
    let mut page = Page::new(context.out.width());
    if report.findings.is_empty() {
        page.push(Line::of("nothing was found"));
    }
    render::findings(&mut page, &report.findings);
    if let Some(role) = accountable {
        let words = format!("{}: {}", role.word(), role.meaning());
        let head = Line::of("accountable for the last ending: ");
        page.wrapped(head, Meaning::Plain, &words, 3);
    }
    page.push(Line::new().dim(match report.seen_from.zip(report.seen_to) {
        Some((first, last)) => format!(
            "looked at the state at commit {}, and at what the journal keeps: commits {} to {}",
            state.serial.0, first.0, last.0
        ),
        None => "looked at the state alone: the journal keeps nothing of this run".to_owned(),
    }));
    context.out.page(&page);
}
