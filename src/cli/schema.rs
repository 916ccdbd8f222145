//! `descent dev schema`: the JSON Schemas of what people write and of what `--json` prints, for editors and programs. They are
//! made from types; those of the state and of the outputs are committed under `state-schema/`. Also those of the answers of agents, for who writes one: they
//! are the ones that an agent is asked with.
//!
//! Invariant: the text of a schema depends on the types alone, and unknown keys are allowed in every object. Keys may be
//! added within a schema's number; none is taken away or changes its meaning. `DESCENT_UPDATE=1 cargo test schema` writes
//! them anew.

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests;

use clap::Args;
use descent_core::{
    assessment, doc, finding,
    fragment::{self, delta},
    json_schema, phase_summary, plan,
    profile::inferred,
    validation, wording,
};
use serde::Serialize;
use serde_json::Value;

use super::context::Context;
use crate::{failure::Failure, store::STATE_SCHEMA};

/// Columns of the longest name, and two more.
const NAME_WIDTH: usize = 16;
const EDITORS: &str = "\
Editors complete and check a plan by its schema:
  descent dev schema plan > plan.schema.json

  in a YAML plan, for every editor that uses yaml-language-server, as its first line:
    # yaml-language-server: $schema=./plan.schema.json
  in a JSON plan:
    {\"$schema\": \"./plan.schema.json\", \"objective\": …}
  in VS Code, for all plans of a project, in .vscode/settings.json:
    {\"yaml.schemas\": {\"./plan.schema.json\": \"*.plan.yaml\"}}";

/// The schemas of what people write.
const FILES: [&str; 2] = ["plan", "state"];

fn of_file(name: &str) -> String {
    if name == "state" {
        return STATE_SCHEMA.to_owned();
    }
    json_schema::text(&json_schema::of("descent plan", &plan::RULE))
}

/// The schemas of everything that `--json` prints, each by its name in `$defs`.
const OUTPUTS: &str = include_str!("../../state-schema/outputs.schema.json");

macro_rules! outputs {
    ($($name:literal: $type:ty,)*) => {
        const OUTPUT_NAMES: &[&str] = &[$($name,)*];

        /// The schema of each output made anew.
        #[cfg(test)]
        fn all_outputs() -> Vec<(&'static str, Value)> {
            vec![$(($name, tests::written::<$type>($name)),)*]
        }
    };
}

outputs! {
    "status": descent_core::view::StatusView,
    "result": super::run::ResultOutput<'_>,
    "ps": crate::ops::ps::RunListing,
    "event": crate::events::EventLine<'_>,
    "detach": super::detach::DetachOutput<'_>,
    "waits": crate::ops::notify::waits::WaitOutput<'_>,
    "error": crate::failure::ErrorOutput<'_>,
    "align": crate::ops::align::agreement_view::AgreementView,
    "verify": super::verify::VerifyOutput<'_>,
    "validate": super::validate::ValidateOutput<'_>,
    "edit": super::edit::EditOutput<'_>,
    "migrate": super::migrate::MigrateOutput<'_>,
    "apply": super::apply::ApplyOutput<'_>,
    "redirect": crate::ops::redirect::RedirectView,
    "steer": super::steer::SteerOutput,
    "stop": super::stop::StopOutput<'_>,
    "diff": crate::ops::diff::DiffReport,
    "output": crate::ops::output::AttemptOutput,
    "prompt": crate::ops::prompt::PromptReport,
    "audit": crate::ops::audit::AuditReport,
    "why": super::why::WhyOutput,
    "why-list": descent_core::view::why::Asking,
    "graph": descent_core::view::graph::GraphView,
    "report": descent_core::view::report::Report,
    "log": super::log::LogOutput,
    "difference": super::log::DifferenceOutput,
    "show": super::show::ShowOutput<'_>,
    "undo": super::undo::UndoOutput,
    "fork": super::fork::ForkOutput<'_>,
    "trust": super::trust::TrustOutput<'_>,
    "confirm": super::confirm::ConfirmOutput<'_>,
    "doctor": super::doctor::DoctorOutput,
    "clean": super::clean::CleanOutput<'_>,
    "memory": super::memory::MemoryOutput<'_>,
    "constraints": super::constraints::ConstraintsOutput<'_>,
    "schema": SchemaOutput,
}

/// The schemas of the answers of agents, by their roles.
const OF_ROLES: &[RoleSchema] = &[
    RoleSchema::of("role-planner", "plans a step", fragment::schema),
    RoleSchema::of("role-probe", "looks whether a task can be done", || finding::SCHEMA.to_owned()),
    RoleSchema::of("role-profile", "says what kind of task it is", || inferred::SCHEMA.to_owned()),
    RoleSchema::of("role-validate", "judges a plan", || validation::SCHEMA.to_owned()),
    RoleSchema::of("role-assess", "assesses a pass", || assessment::SCHEMA.to_owned()),
    RoleSchema::of("role-refine", "changes the plan", delta::schema),
    RoleSchema::of("role-summarise", "puts results in short", || phase_summary::SCHEMA.to_owned()),
    RoleSchema::of("role-answer", "words the final answer", || wording::schema(true)),
];

/// The schema of the answer of an agent in a role.
struct RoleSchema {
    name: &'static str,
    does: &'static str,
    text: fn() -> String,
}

impl RoleSchema {
    const fn of(name: &'static str, does: &'static str, text: fn() -> String) -> Self {
        Self { name, does, text }
    }

    fn about(&self) -> String {
        format!("The answer of an agent that {}", self.does)
    }

    fn text(&self) -> String {
        json_schema::text(&parsed(&(self.text)())).trim_end().to_owned()
    }
}

/// The schemas that there are: `descent dev schema --json`
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SchemaOutput {
    schema: &'static str,
    schemas: Vec<SchemaLine>,
}

/// Printed by `descent dev schema NAME`
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SchemaLine {
    name: &'static str,
    about: String,
}

#[derive(Debug, Args)]
#[command(after_help = EDITORS)]
pub struct SchemaArgs {
    /// Which one; without it all names
    name: Option<String>,
}

pub(super) fn schema(context: &Context, flags: &SchemaArgs) -> Result<(), Failure> {
    match &flags.name {
        None => list(context),
        // It is JSON either way, and says by itself what it is.
        Some(name) => context.out.data(&text(name)?),
    }
    Ok(())
}

/// Every schema, with its subject in one line.
fn lines() -> Vec<SchemaLine> {
    let files = FILES.iter().map(|name| (*name, about(&parsed(&of_file(name)))));
    let outputs = parsed(OUTPUTS);
    let written = OUTPUT_NAMES.iter().map(|name| (*name, about(&outputs["$defs"][*name])));
    let of_roles = OF_ROLES.iter().map(|schema| (schema.name, schema.about()));
    let line = |(name, about)| SchemaLine { name, about };
    files.chain(written).chain(of_roles).map(line).collect()
}

/// The first line of what it says of itself.
fn about(schema: &Value) -> String {
    let about = schema["description"].as_str().unwrap_or_default();
    about.lines().next().unwrap_or_default().to_owned()
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

/// One output alone, with the definitions that it needs.
fn output(name: &str) -> Value {
    let all = parsed(OUTPUTS);
    let mut schema = all["$defs"][name].clone();
    let (mut needed, mut open) = (serde_json::Map::new(), referred(&schema));
    while let Some(name) = open.pop() {
        if !needed.contains_key(&name) {
            let definition = all["$defs"][&name].clone();
            open.extend(referred(&definition));
            needed.insert(name, definition);
        }
    }
    schema["$schema"] = all["$schema"].clone();
    schema["$defs"] = needed.into();
    schema
}

/// The definitions that it names.
fn referred(schema: &Value) -> Vec<String> {
    let own = schema["$ref"].as_str().and_then(|to| to.strip_prefix("#/$defs/"));
    let inside: Vec<&Value> = match schema {
        Value::Object(members) => members.values().collect(),
        Value::Array(items) => items.iter().collect(),
        _ => Vec::new(),
    };
    own.map(str::to_owned).into_iter().chain(inside.into_iter().flat_map(referred)).collect()
}

fn list(context: &Context) {
    if context.out.json {
        return context.out.json(&SchemaOutput { schema: "descent/schema/1", schemas: lines() });
    }
    let line = |schema: &SchemaLine| format!("{:NAME_WIDTH$}{}", schema.name, schema.about);
    let lines: Vec<String> = lines().iter().map(line).collect();
    context.out.data(&lines.join("\n"));
    context.out.say("next: descent dev schema plan > plan.schema.json");
}

fn text(name: &str) -> Result<String, Failure> {
    if FILES.contains(&name) {
        return Ok(of_file(name).trim_end().to_owned());
    }
    if OUTPUT_NAMES.contains(&name) {
        return Ok(json_schema::text(&output(name)).trim_end().to_owned());
    }
    if let Some(schema) = OF_ROLES.iter().find(|schema| schema.name == name) {
        return Ok(schema.text());
    }
    let lines = lines();
    let names = || lines.iter().map(|line| line.name);
    let hint = match doc::suggest(name, names()) {
        Some(near) => format!("did you mean `descent dev schema {near}`?"),
        None => format!("one of {}", names().collect::<Vec<_>>().join(", ")),
    };
    let message = format!("there is no schema `{name}`");
    Err(Failure::usage(message, hint))
}
