//! `descent validate`: every fault of a state file or a plan, each with its place.

use std::path::{Path, PathBuf};

use clap::Args;
use descent_core::{
    doc::{Fault, Node},
    graph::validate as rules,
    id::Lineage,
    state::decode,
};

use super::{End, context::Context};
use crate::{
    failure::{Failure, exit},
    plan_file::{self, Notation, PlanFile},
    store,
};

#[derive(Debug, Args)]
pub struct Flags {
    /// A state file, or a plan in JSON or YAML; `-` is standard input; without it the state of this directory
    file: Option<PathBuf>,
}

/// What was found, and the error's code where there are faults.
struct Found {
    faults: Vec<Fault>,
    warnings: Vec<Fault>,
    code: &'static str,
}

pub(super) fn validate(context: &Context, flags: &Flags) -> Result<End, Failure> {
    let (path, bytes, found) = match &flags.file {
        None => {
            let path = context.place().ok_or_else(|| context.no_state())?.state;
            let bytes = store::read_bytes(&path)?;
            let found = look_at_state(&bytes);
            (path, bytes, found)
        }
        Some(path) => {
            let file = plan_file::read(&context.dir, path)?;
            let found = if is_plan(&file) {
                look_at_plan(&file)
            } else {
                look_at_state(&file.bytes)
            };
            (file.name, file.bytes, found)
        }
    };
    report(context, &path, &bytes, &found)
}

/// A plan holds nothing of what only a state has; a state is JSON.
fn is_plan(file: &PlanFile) -> bool {
    if file.notation == Notation::Yaml {
        return true;
    }
    let root = file.tree().node.unwrap_or_else(Node::null);
    let of_a_state = ["lineage", "serial", "run", "seal"];
    of_a_state.iter().all(|key| root.get(key).is_none())
}

fn look_at_plan(file: &PlanFile) -> Found {
    let draft = plan_file::draft(file.plan(), Lineage::new("plan"));
    let mut faults = draft.faults;
    if draft.root.as_object().is_some() {
        let missing = rules::gate(&draft.state, &draft.root);
        // What is there and wrong is not missing too.
        let named: Vec<String> = faults.iter().map(|fault| fault.pointer.clone()).collect();
        faults.extend(missing.into_iter().filter(|m| !named.contains(&m.pointer)));
    }
    Found {
        faults,
        warnings: draft.warnings,
        code: "E-PLAN-INVALID",
    }
}

fn look_at_state(bytes: &[u8]) -> Found {
    let decoded = decode::decode(bytes);
    let mut faults = decoded.faults;
    faults.extend(store::pattern_faults(&decoded.patterns));
    if let (Some(state), Some(root)) = (&decoded.state, &decoded.root) {
        faults.extend(rules::check(state, root));
        faults.extend(rules::unmeasured(state, root));
        faults.extend(rules::gate(state, root));
    }
    Found {
        faults,
        warnings: decoded.warnings,
        code: "E-STATE-INVALID",
    }
}

fn report(context: &Context, path: &Path, bytes: &[u8], found: &Found) -> Result<End, Failure> {
    let (faults, warnings) = (&found.faults, &found.warnings);
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
    Err(Failure::new(found.code, exit::INVALID, message, hint).with(lines))
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
