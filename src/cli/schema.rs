//! `descent schema`: the JSON Schemas of what people write and of what `--json` prints, for editors and programs. They are
//! generated from types and committed under `state-schema/`. Also those of the answers of agents, for who writes one: they
//! are the ones that an agent is asked with.
//!
//! Invariant: the text of a schema depends on the types alone, and unknown keys are allowed in every object. Keys may be
//! added within a schema's number; none is taken away or changes its meaning. A new schema begins as a line of the table
//! and an empty file; `DESCENT_UPDATE=1 cargo test schema` fills it.

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests;

use clap::Args;
use descent_core::{
    assessment, doc, finding,
    fragment::{self, delta},
    phase_summary,
    profile::inferred,
    validation, wording,
};
use serde::Serialize;

use super::{End, context::Context};
use crate::failure::Failure;

/// Columns of the longest name, and two more.
const NAME_WIDTH: usize = 16;
const EDITORS: &str = "\
Editors complete and check a plan by its schema:
  descent schema plan > plan.schema.json

  in a YAML plan, for every editor that uses yaml-language-server, as its first line:
    # yaml-language-server: $schema=./plan.schema.json
  in a JSON plan:
    {\"$schema\": \"./plan.schema.json\", \"objective\": …}
  in VS Code, for all plans of a project, in .vscode/settings.json:
    {\"yaml.schemas\": {\"./plan.schema.json\": \"*.plan.yaml\"}}";

macro_rules! schemas {
    ($($name:literal: $contract:ident $type:ty,)*) => {
        /// Every schema, what a person writes first.
        const ALL: &[Schema] = &[$(Schema {
            name: $name,
            text: include_str!(concat!("../../state-schema/", $name, ".schema.json")),
        },)*];

        /// Every schema made anew, with the name of its file.
        #[cfg(test)]
        fn all() -> Vec<(&'static str, serde_json::Value)> {
            vec![$((concat!($name, ".schema.json"), tests::$contract::<$type>($name)),)*]
        }
    };
}

schemas! {
    "plan": file descent_core::plan::PlanReading,
    "state": file descent_core::state::State,
    "status": written descent_core::view::StatusView,
    "result": written super::run::ResultOutput<'_>,
    "ps": written super::ps::PsOutput<'_>,
    "event": written crate::events::EventLine<'_>,
    "detach": written super::detach::DetachOutput<'_>,
    "waits": written crate::ops::notify::waits::WaitOutput<'_>,
    "error": written crate::failure::ErrorOutput<'_>,
    "align": written super::align::output::AlignOutput<'_>,
    "verify": written super::verify::VerifyOutput<'_>,
    "validate": written super::validate::ValidateOutput<'_>,
    "judge": written super::judge::JudgeOutput<'_>,
    "edit": written super::edit::EditOutput<'_>,
    "migrate": written super::migrate::MigrateOutput<'_>,
    "apply": written super::apply::ApplyOutput<'_>,
    "redirect": written super::redirect::RedirectOutput<'_>,
    "steer": written super::steer::SteerOutput,
    "stop": written super::stop::StopOutput<'_>,
    "diff": written super::diff::DiffOutput<'_>,
    "output": written super::output::PrintedOutput<'_>,
    "prompt": written super::prompt::PromptOutput<'_>,
    "audit": written super::audit::AuditOutput<'_>,
    "why": written super::why::WhyOutput,
    "why-list": written descent_core::view::why::Asking,
    "graph": written descent_core::view::graph::GraphView,
    "report": written descent_core::view::report::Report,
    "log": written super::log::LogOutput,
    "difference": written super::log::DifferenceOutput,
    "show": written super::show::ShowOutput<'_>,
    "undo": written super::undo::UndoOutput<'_>,
    "fork": written super::fork::ForkOutput<'_>,
    "trust": written super::trust::TrustOutput<'_>,
    "confirm": written super::confirm::ConfirmOutput<'_>,
    "doctor": written super::doctor::DoctorOutput,
    "clean": written super::clean::CleanOutput<'_>,
    "memory": written super::memory::MemoryOutput<'_>,
    "resolve": written super::resolve::ResolveOutput,
    "constraints": written super::constraints::ConstraintsOutput<'_>,
    "schema": written SchemaOutput,
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
        let schema: Result<serde_json::Value, _> = serde_json::from_str(&(self.text)());
        let pretty = schema.and_then(|schema| serde_json::to_string_pretty(&schema));
        pretty.unwrap_or_else(|_| (self.text)())
    }
}

/// The schemas that there are: `descent schema --json`
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SchemaOutput {
    schema: &'static str,
    schemas: Vec<SchemaLine>,
}

/// Printed by `descent schema NAME`
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SchemaLine {
    name: &'static str,
    about: String,
}

/// A schema as it is committed.
struct Schema {
    name: &'static str,
    text: &'static str,
}

impl Schema {
    /// The subject of the schema, in one line of its own words.
    fn about(&self) -> String {
        let schema: serde_json::Value = serde_json::from_str(self.text).unwrap_or_default();
        let about = schema["description"].as_str().unwrap_or_default();
        about.lines().next().unwrap_or_default().to_owned()
    }
}

#[derive(Debug, Args)]
#[command(after_help = EDITORS)]
pub struct SchemaArgs {
    /// Which one; without it all names
    name: Option<String>,
}

pub(super) fn schema(context: &Context, flags: &SchemaArgs) -> Result<End, Failure> {
    match &flags.name {
        None => list(context),
        // It is JSON either way, and says by itself what it is.
        Some(name) => context.out.data(&text(name)?),
    }
    Ok(End::Code(0))
}

/// Every schema, with its subject in one line.
fn lines() -> Vec<SchemaLine> {
    let own = ALL.iter().map(|schema| (schema.name, schema.about()));
    let of_roles = OF_ROLES.iter().map(|schema| (schema.name, schema.about()));
    let line = |(name, about)| SchemaLine { name, about };
    own.chain(of_roles).map(line).collect()
}

fn list(context: &Context) {
    if context.out.json {
        return context.out.json(&SchemaOutput { schema: "descent/schema/1", schemas: lines() });
    }
    let line = |schema: &SchemaLine| format!("{:NAME_WIDTH$}{}", schema.name, schema.about);
    let lines: Vec<String> = lines().iter().map(line).collect();
    context.out.data(&lines.join("\n"));
    context.out.say("next: descent schema plan > plan.schema.json");
}

fn text(name: &str) -> Result<String, Failure> {
    if let Some(schema) = ALL.iter().find(|schema| schema.name == name) {
        return Ok(schema.text.trim_end().to_owned());
    }
    if let Some(schema) = OF_ROLES.iter().find(|schema| schema.name == name) {
        return Ok(schema.text());
    }
    let lines = lines();
    let names = || lines.iter().map(|line| line.name);
    let hint = match doc::suggest(name, names()) {
        Some(near) => format!("did you mean `descent schema {near}`?"),
        None => format!("one of {}", names().collect::<Vec<_>>().join(", ")),
    };
    let message = format!("there is no schema `{name}`");
    Err(Failure::usage(message, hint))
}
