//! `descent validate`: every fault of a state file or a plan, each with its place.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use descent_core::{
    doc::{self, Fault, Node},
    graph::validate as rules,
    id::Lineage,
    state::{decode, fields::NEAR_MISS},
};
use serde::Serialize;

use super::{End, context::Context};
use crate::{
    failure::{Failure, exit},
    plan_file::{self, Notation, PlanDraft, PlanFile},
    render, store,
};

#[derive(Debug, Args)]
pub struct ValidateArgs {
    /// A state file, or a plan in JSON or YAML; `-` is standard input; without it the state of this directory
    file: Option<PathBuf>,
    /// For a person; one JSON value, as --json; or lines that an editor's error list takes
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = ValidateFormat::Human)]
    format: ValidateFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ValidateFormat {
    Human,
    Json,
    Gcc,
}

/// The faults of a file: `descent validate --json`
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ValidateOutput {
    schema: &'static str,
    valid: bool,
    faults: Vec<store::PlacedFault>,
    warnings: Vec<store::PlacedFault>,
}

/// The faults and warnings of a file, and the error code if there are faults.
struct ValidateReport {
    faults: Vec<Fault>,
    warnings: Vec<Fault>,
    code: &'static str,
}

impl ValidateReport {
    fn end(&self) -> End {
        let is_valid = self.faults.is_empty();
        End::Code(if is_valid { 0 } else { exit::INVALID })
    }
}

pub(super) fn validate(context: &Context, flags: &ValidateArgs) -> Result<End, Failure> {
    let (path, bytes, found) = match &flags.file {
        None => {
            let place = context.place()?.ok_or_else(|| context.no_state())?;
            let path = place.state.clone();
            let bytes = store::read_bytes(&path)?;
            let mut found = look_at_state(&bytes);
            // A binding taken out of a known state is a forgotten result: no fault, though others name its atom, or
            // none is left.
            if !found.faults.is_empty()
                && let Ok(loaded) = context.open(place).examine(&path, bytes.clone())
            {
                found.faults = loaded.gate().to_vec();
            }
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
    let format = match flags.format {
        _ if context.out.json => ValidateFormat::Json,
        chosen => chosen,
    };
    match format {
        ValidateFormat::Human => print_for_person(context, &path, &bytes, &found),
        ValidateFormat::Json => {
            warn(context, &path, &bytes, &found);
            context.out.json(&ValidateOutput {
                schema: "descent/validate/1",
                valid: found.faults.is_empty(),
                faults: store::place_faults(&bytes, &found.faults),
                warnings: store::place_faults(&bytes, &found.warnings),
            });
            Ok(found.end())
        }
        ValidateFormat::Gcc => {
            let lines = gcc(&path, &bytes, &found);
            if !lines.is_empty() {
                context.out.data(&render::clean(&lines.join("\n")));
            }
            Ok(found.end())
        }
    }
}

/// Whether the file is a plan: it has no key of a state, or is not JSON.
fn is_plan(file: &PlanFile) -> bool {
    if file.notation == Notation::Yaml {
        return true;
    }
    let root = file.tree().node.unwrap_or_else(Node::null);
    let of_a_state = ["lineage", "serial", "run", "seal"];
    of_a_state.iter().all(|key| root.get(key).is_none())
}

fn look_at_plan(file: &PlanFile) -> ValidateReport {
    let draft = plan_file::draft(file.plan(), Lineage::new("plan"));
    let missing = match draft.root.as_object() {
        Some(_) => missing(&draft),
        None => Vec::new(),
    };
    let mut faults = draft.faults;
    faults.extend(missing);
    ValidateReport {
        faults,
        warnings: draft.warnings,
        code: "E-PLAN-INVALID",
    }
}

/// The parts that the agreement lacks. A part that is present but wrong, or in another place, is not missing too. A
/// part that is derived from the base case is not asked for.
fn missing(draft: &PlanDraft) -> Vec<Fault> {
    let has_objective = draft.root.get("objective").is_some();
    let atoms = draft
        .root
        .get("work_graph")
        .and_then(|graph| graph.get("atoms"));
    let is_named = atoms
        .and_then(Node::as_object)
        .is_some_and(|atoms| !atoms.is_empty());
    let is_misplaced = |fault: &Fault| {
        let is_of_graph = fault.pointer == "/atoms" || fault.pointer.starts_with("/work_graph/");
        fault.rule == NEAR_MISS && is_of_graph
    };
    let has_atoms = is_named || draft.faults.iter().any(is_misplaced);
    let is_not_asked_for = |pointer: &str| match pointer {
        "/objective/deliverables" | "/objective/definition_of_done" => true,
        "/work_graph/atoms" => has_atoms,
        _ => !has_objective,
    };
    let mut missing = rules::gate(&draft.state, &draft.root);
    missing.retain(|one| !is_not_asked_for(&one.pointer));
    missing.retain(|one| {
        draft
            .faults
            .iter()
            .all(|fault| fault.pointer != one.pointer)
    });
    missing
}

fn look_at_state(bytes: &[u8]) -> ValidateReport {
    let decoded = decode::decode(bytes);
    let mut faults = decoded.faults;
    faults.extend(store::pattern_faults(&decoded.patterns));
    if let (Some(state), Some(root)) = (&decoded.state, &decoded.root) {
        faults.extend(rules::check(state, root));
        faults.extend(rules::unmeasured(state, root));
        faults.extend(rules::gate(state, root));
    }
    ValidateReport {
        faults,
        warnings: decoded.warnings,
        code: "E-STATE-INVALID",
    }
}

fn warn(context: &Context, path: &Path, bytes: &[u8], found: &ValidateReport) {
    for line in store::show_faults(path, bytes, &found.warnings) {
        context.out.say(&format!("warning: {line}"));
    }
}

fn print_for_person(
    context: &Context,
    path: &Path,
    bytes: &[u8],
    found: &ValidateReport,
) -> Result<End, Failure> {
    warn(context, path, bytes, found);
    if found.faults.is_empty() {
        context.out.data(&format!("{} is valid", path.display()));
        return Ok(found.end());
    }
    let details = explained(path, bytes, &found.faults);
    let message = format!("{} has {}", path.display(), store::count(details.len()));
    let hint = "mend them in an editor; nothing was written";
    Err(Failure::new(found.code, exit::INVALID, message, hint).with(details))
}

/// Each fault with its line.
pub(super) fn explained(path: &Path, bytes: &[u8], faults: &[Fault]) -> Vec<String> {
    let text = doc::readable(bytes);
    let lines: Vec<&str> = text.split('\n').collect();
    let one = |at: store::PlacedFault| {
        let place = format!("{}:{at}", path.display());
        let line = lines
            .get(at.line - 1)
            .filter(|line| !line.trim().is_empty());
        match line {
            Some(line) => format!("{place}\n{}", render::excerpt(line, at.line, at.column)),
            None => place,
        }
    };
    store::place_faults(bytes, faults)
        .into_iter()
        .map(one)
        .collect()
}

/// `path:line:col: error: message [rule]`, in the order of the text, as compilers print it.
fn gcc(path: &Path, bytes: &[u8], found: &ValidateReport) -> Vec<String> {
    let mut all: Vec<(store::PlacedFault, &str)> = Vec::new();
    for (faults, kind) in [(&found.faults, "error"), (&found.warnings, "warning")] {
        let placed = store::place_faults(bytes, faults);
        all.extend(placed.into_iter().map(|placed| (placed, kind)));
    }
    all.sort_by_key(|(at, _)| (at.line, at.column));
    let line = |(at, kind): &(store::PlacedFault, &str)| {
        let fault = &at.fault;
        // One line for each fault, whatever the name of an atom.
        let place = match fault.pointer.replace('\n', "\\n") {
            pointer if pointer.is_empty() => pointer,
            pointer => format!("{pointer}: "),
        };
        let hint = fault.hint.as_deref().map(|hint| format!(" ({hint})"));
        format!(
            "{}:{}:{}: {kind}: {place}{}{} [{}]",
            path.display(),
            at.line,
            at.column,
            fault.message.replace('\n', " "),
            hint.unwrap_or_default().replace('\n', " "),
            fault.rule
        )
    };
    all.iter().map(line).collect()
}
