//! `descent judge`: what the rules find wrong with a plan, or with what a state has still to do. Nothing is run.

use std::path::PathBuf;

use clap::Args;
use descent_core::{judging::Issue, state::Severity};
use serde::Serialize;

use super::{End, context::Context, validate};
use crate::{
    failure::Failure,
    ops::judge::{self, JudgeReport},
    plan_file,
    render::{self, Line, Page},
    store,
};

/// Something of it weighs heavily: as `verify` tells that the base case does not hold.
const HEAVY: u8 = 1;

#[derive(Debug, Args)]
pub struct JudgeArgs {
    /// A plan in JSON or YAML; `-` is standard input; without it, what the state here has still to do
    plan: Option<PathBuf>,
}

/// The issues of a plan: `descent judge --json`
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct JudgeOutput<'a> {
    schema: &'static str,
    /// The atoms that were looked at.
    atoms: usize,
    issues: &'a [Issue],
    summary: IssueSummary,
    /// Faults of the plan's text: nothing is judged then.
    faults: Vec<store::PlacedFault>,
}

/// The number of issues by their severity
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct IssueSummary {
    high: usize,
    medium: usize,
    low: usize,
}

pub(super) fn judge(context: &Context, flags: &JudgeArgs) -> Result<End, Failure> {
    let (found, refusal, bytes) = match &flags.plan {
        Some(path) => {
            let file = plan_file::read(&context.dir, path)?;
            let (name, bytes) = (file.name.clone(), file.bytes.clone());
            let found = judge::plan(file, &context.top()?);
            let refusal = validate::refusal(&name, &bytes, true, &found.faults);
            (found, refusal, bytes)
        }
        None => {
            let mut store = context.store()?;
            let loaded = store.read()?;
            let found = judge::state(store.place(), &loaded);
            (found, None, Vec::new())
        }
    };
    if context.out.json {
        context.out.json(&output(&found, &bytes));
    }
    if let Some(refusal) = refusal {
        return if context.out.json { Ok(End::Code(refusal.exit)) } else { Err(refusal) };
    }
    if !context.out.json {
        context.out.page(&page(&found, context.out.width()));
    }
    let is_heavy = |issue: &Issue| issue.severity == Severity::High;
    let code = if found.issues.iter().any(is_heavy) { HEAVY } else { 0 };
    Ok(End::Code(code))
}

fn output<'a>(found: &'a JudgeReport, bytes: &[u8]) -> JudgeOutput<'a> {
    let of = |severity| {
        let issues = found.issues.iter();
        issues.filter(|one| one.severity == severity).count()
    };
    JudgeOutput {
        schema: "descent/judge/1",
        atoms: found.atoms,
        issues: &found.issues,
        summary: IssueSummary {
            high: of(Severity::High),
            medium: of(Severity::Medium),
            low: of(Severity::Low),
        },
        faults: store::place_faults(bytes, &found.faults),
    }
}

fn page(found: &JudgeReport, width: usize) -> Page {
    let mut page = Page::new(width);
    let atoms = match found.atoms {
        1 => "1 atom".to_owned(),
        n => format!("{n} atoms"),
    };
    let count = render::issue_count(&found.issues);
    let head = format!("{atoms} looked at by rules: {count}; {}", render::ADVICE);
    page.push(Line::of(head));
    render::issues(&mut page, &found.issues);
    page
}
