//! `descent validate`: every fault of a state file or a plan, and what the rules find wrong with it, each with its place.

use std::path::{Path, PathBuf};

use clap::Args;
use descent_core::{
    doc::{self, Fault},
    judging::Issue,
    state::Severity,
};
use serde::Serialize;

use super::{End, context::Context};
use crate::{
    failure::{Failure, exit},
    ops::{self, validate::ValidateReport},
    render, store,
};

#[derive(Debug, Args)]
pub struct ValidateArgs {
    /// A state file, or a plan in JSON or YAML; `-` is standard input; without it the state of this directory
    file: Option<PathBuf>,
}

/// The faults of a file: `descent validate --json`
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ValidateOutput<'a> {
    schema: &'static str,
    valid: bool,
    faults: Vec<store::PlacedFault>,
    /// The issues are among them, with their places.
    warnings: Vec<store::PlacedFault>,
    /// The issues of the work that is still to be done; the rules look for them where there is no fault.
    issues: &'a [Issue],
}

pub(super) fn validate(context: &Context, flags: &ValidateArgs) -> Result<End, Failure> {
    let found = match &flags.file {
        None => ops::validate::state(&mut context.store()?)?,
        Some(path) => ops::validate::file(&context.dir, path, &context.top()?)?,
    };
    let valid = found.faults.is_empty();
    warn(context, &found);
    if context.out.json {
        context.out.json(&ValidateOutput {
            schema: "descent/validate/1",
            valid,
            faults: store::place_faults(&found.bytes, &found.faults),
            warnings: store::place_faults(&found.bytes, &found.warnings),
            issues: &found.issues,
        });
    } else {
        let refusal = refusal(&found.path, &found.bytes, found.is_plan, &found.faults);
        if let Some(refusal) = refusal {
            return Err(refusal);
        }
        let issues = match &found.issues[..] {
            [] => String::new(),
            issues => format!("; {}: {}", render::issue_count(issues), render::ADVICE),
        };
        context.out.data(&format!("{} is valid{issues}", found.path.display()));
        if found.is_plan && flags.file.is_none() {
            context.out.say("not agreed yet\nnext: descent run");
        }
    }
    let is_heavy = |issue: &Issue| issue.severity == Severity::High;
    Ok(End::Code(match valid {
        false => exit::INVALID,
        true if found.issues.iter().any(is_heavy) => exit::NOT_SO,
        true => 0,
    }))
}

fn warn(context: &Context, found: &ValidateReport) {
    for line in store::show_faults(&found.path, &found.bytes, &found.warnings) {
        context.out.say(&format!("warning: {line}"));
    }
}

/// The error that tells every fault with its line, if there are any.
pub(super) fn refusal(
    path: &Path,
    bytes: &[u8],
    is_plan: bool,
    faults: &[Fault],
) -> Option<Failure> {
    if faults.is_empty() {
        return None;
    }
    let details = explained(path, bytes, faults);
    let code = if is_plan { "E-INVALID" } else { "E-STATE-INVALID" };
    let (path, count) = (path.display(), store::count(details.len()));
    let hint = "mend them in an editor; nothing was written";
    let message = format!("{path} has {count}");
    Some(Failure::new(code, exit::INVALID, message, hint).with(details))
}

/// Each fault with its line.
pub(super) fn explained(path: &Path, bytes: &[u8], faults: &[Fault]) -> Vec<String> {
    let text = doc::readable(bytes);
    let lines: Vec<&str> = text.split('\n').collect();
    let one = |at: store::PlacedFault| {
        let place = format!("{}:{at}", path.display());
        let line = lines.get(at.line - 1).filter(|line| !line.trim().is_empty());
        match line {
            Some(line) => format!("{place}\n{}", render::excerpt(line, at.line, at.column)),
            None => place,
        }
    };
    store::place_faults(bytes, faults).into_iter().map(one).collect()
}
