//! `descent report --audit`: patterns of a run that a person should know of.
//!
//! Not here: how they are found (`ops::audit`).

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
    failure::exit,
    ops::audit::{self, AuditReport},
    render::{self, Line, Meaning, Page},
    store::Store,
};

/// The findings of the auditor: `descent report --audit --json`
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

pub(super) fn print(context: &Context, store: &Store, world: &World, exit_code: bool) -> End {
    let report = audit::audit(store, world);
    tell(context, world, &report);
    End::Code(if exit_code && !report.findings.is_empty() { exit::NOT_SO } else { 0 })
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
