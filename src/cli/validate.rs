//! `descent validate`: every fault of a state file or a plan, each with its place.

use std::path::{Path, PathBuf};

use clap::Args;
use descent_core::{doc::Fault, graph::validate as rules, id::Lineage, plan, state::decode};

use super::{End, context::Context};
use crate::{
    failure::{Failure, exit},
    store,
};

#[derive(Debug, Args)]
pub struct Flags {
    /// A state file or a plan; without it the state of this directory
    file: Option<PathBuf>,
}

pub(super) fn validate(context: &Context, flags: &Flags) -> Result<End, Failure> {
    let path = match &flags.file {
        Some(file) => context.dir.join(file),
        None => context.place().ok_or_else(|| context.no_state())?.state,
    };
    let bytes = store::read_bytes(&path)?;
    let (faults, warnings) = if is_plan(&bytes) {
        look_at_plan(&bytes)
    } else {
        look_at_state(&bytes)
    };
    report(context, &path, &bytes, &faults, &warnings)
}

/// A plan holds an objective, and nothing of what only a state has.
fn is_plan(bytes: &[u8]) -> bool {
    let root = descent_core::doc::parse_bytes(bytes, &descent_core::doc::Limits::default()).node;
    root.is_some_and(|root| {
        root.get("objective").is_some()
            && ["lineage", "serial", "run", "seal"]
                .iter()
                .all(|key| root.get(key).is_none())
    })
}

fn look_at_plan(bytes: &[u8]) -> (Vec<Fault>, Vec<Fault>) {
    let mut plan = plan::read(bytes);
    let mut faults = std::mem::take(&mut plan.faults);
    let warnings = std::mem::take(&mut plan.warnings);
    faults.extend(store::pattern_faults(&plan.patterns));
    if let Some(root) = plan.root.clone() {
        let state = plan.into_state(Lineage::new("plan"));
        faults.extend(rules::check(&state, &root));
        faults.extend(rules::gate(&state, &root));
    }
    (faults, warnings)
}

fn look_at_state(bytes: &[u8]) -> (Vec<Fault>, Vec<Fault>) {
    let decoded = decode::decode(bytes);
    let mut faults = decoded.faults;
    faults.extend(store::pattern_faults(&decoded.patterns));
    if let (Some(state), Some(root)) = (&decoded.state, &decoded.root) {
        faults.extend(rules::check(state, root));
        faults.extend(rules::unmeasured(state, root));
        faults.extend(rules::gate(state, root));
    }
    (faults, decoded.warnings)
}

fn report(
    context: &Context,
    path: &Path,
    bytes: &[u8],
    faults: &[Fault],
    warnings: &[Fault],
) -> Result<End, Failure> {
    let (lines, odd) = (
        store::show_faults(path, bytes, faults),
        store::show_faults(path, bytes, warnings),
    );
    odd.iter()
        .for_each(|line| context.out.say(&format!("warning: {line}")));
    if context.out.json {
        context.out.json(&json(bytes, faults, warnings));
    }
    if faults.is_empty() {
        if !context.out.json {
            context.out.data(&format!("{} is valid", path.display()));
        }
        return Ok(End::Code(0));
    }
    if context.out.json {
        return Ok(End::Code(exit::INVALID));
    }
    let message = format!("{} has {}", path.display(), store::count(lines.len()));
    let hint = "mend them in an editor; nothing was written";
    Err(Failure::new("E-STATE-INVALID", exit::INVALID, message, hint).with(lines))
}

fn json(bytes: &[u8], faults: &[Fault], warnings: &[Fault]) -> serde_json::Value {
    let list = |faults: &[Fault]| -> Vec<serde_json::Value> {
        store::placed(bytes, faults)
            .into_iter()
            .map(|placed| {
                serde_json::json!({
                    "line": placed.line,
                    "column": placed.column,
                    "pointer": placed.fault.pointer,
                    "rule": placed.fault.rule,
                    "message": placed.fault.message,
                    "hint": placed.fault.hint,
                })
            })
            .collect()
    };
    serde_json::json!({
        "schema": "descent/validate/1",
        "valid": faults.is_empty(),
        "faults": list(faults),
        "warnings": list(warnings),
    })
}
