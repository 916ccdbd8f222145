//! `descent dev`: completions, man pages, templates of prompts, and the JSON Schemas of what people write and of what `--json` prints. They are
//! made from types; those of the state and of the outputs are committed under `state-schema/`.
//!
//! Invariant: the text of a schema depends on the types alone, and unknown keys are allowed in every object. Keys may be
//! added within a schema's number; none is taken away or changes its meaning. `DESCENT_UPDATE=1 cargo test schema` writes
//! them anew.

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests;

use clap::{Args, Subcommand};
use clap_complete::Shell;
use descent_core::{doc, json_schema, plan};
use descent_engine::ops::output::TEMPLATES;
use serde_json::Value;

use super::{End, context::Context, help};
use descent_store::STATE_SCHEMA;
use descent_system::failure::Failure;

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
    "ps": descent_engine::ops::watch::RunListing,
    "event": descent_engine::events::EventLine<'_>,
    "detach": super::run::DetachOutput<'_>,
    "waits": descent_engine::ops::notify::WaitOutput<'_>,
    "error": descent_system::failure::ErrorOutput<'_>,
    "align": descent_engine::ops::align::agreement_view::AgreementView,
    "verify": super::verify::VerifyOutput<'_>,
    "validate": super::migrate::ValidateOutput<'_>,
    "migrate": super::migrate::MigrateOutput<'_>,
    "apply": super::apply::ApplyOutput<'_>,
    "change": descent_engine::ops::change_view::ChangeView,
    "stop": super::stop::StopOutput<'_>,
    "diff": descent_engine::ops::diff::DiffReport,
    "output": descent_engine::ops::output::AttemptOutput,
    "prompt": descent_engine::ops::output::PromptReport,
    "audit": super::report::AuditReport,
    "why": super::why::WhyOutput,
    "why-list": descent_core::view::why::Asking,
    "graph": descent_core::view::graph::GraphView,
    "report": descent_core::view::report::Report,
    "log": super::log::LogOutput,
    "difference": super::log::DifferenceOutput,
    "show": super::timeline::ShowOutput<'_>,
    "fork": super::undo::ForkOutput<'_>,
    "trust": super::trust::TrustOutput<'_>,
    "confirm": super::steer::ConfirmOutput<'_>,
    "demo": super::demo::DemoOutput<'_>,
    "doctor": super::doctor::DoctorOutput,
    "clean": super::doctor::CleanOutput<'_>,
    "memory": super::memory::MemoryOutput<'_>,
    "constraints": super::constraints::ConstraintsOutput,
}

#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// Which one; without it all names
    name: Option<String>,
}

/// Prints the schema, or every name. A schema is JSON either way, and says by itself what it is.
pub(super) fn schema(context: &Context, flags: &SchemaArgs) -> Result<(), Failure> {
    context.out.data(&match &flags.name {
        None => {
            let names: Vec<&str> = names().collect();
            format!("{}\nnext: descent dev schema plan > plan.schema.json", names.join("\n"))
        }
        Some(name) => text(name)?,
    });
    Ok(())
}

fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().chain(OUTPUT_NAMES).copied()
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

/// One output, beside the definitions that all of them share.
fn output(name: &str) -> Value {
    let mut schema = parsed(OUTPUTS);
    schema["title"] = format!("descent/{name}/1").into();
    schema["$ref"] = format!("#/$defs/{name}").into();
    schema
}

fn text(name: &str) -> Result<String, Failure> {
    if FILES.contains(&name) {
        return Ok(of_file(name).trim_end().to_owned());
    }
    if OUTPUT_NAMES.contains(&name) {
        return Ok(json_schema::text(&output(name)).trim_end().to_owned());
    }
    Err(unknown("schema", name, &names().collect::<Vec<_>>()))
}

fn unknown(what: &str, name: &str, names: &[&str]) -> Failure {
    let hint = match doc::suggest(name, names.iter().copied()) {
        Some(near) => format!("did you mean `descent dev {what} {near}`?"),
        None => format!("one of {}", names.join(", ")),
    };
    Failure::usage(format!("`descent dev {what}` has no `{name}`"), hint)
}

/// The template of a prompt, or all names.
fn prompts(name: Option<&str>) -> Result<String, Failure> {
    let names: Vec<&str> = TEMPLATES.iter().map(|(name, _)| *name).collect();
    let Some(name) = name else {
        return Ok(format!("{}\nnext: descent dev prompts attempt", names.join("\n")));
    };
    let known = TEMPLATES.iter().find(|(known, _)| *known == name);
    let text = known.ok_or_else(|| unknown("prompts", name, &names))?.1;
    Ok(text.trim_end().to_owned())
}

#[derive(Debug, Args)]
pub struct DevArgs {
    #[command(subcommand)]
    what: Dev,
}

#[derive(Debug, Subcommand)]
enum Dev {
    /// Print a JSON Schema, for editors and programs; without a name list them
    Schema(SchemaArgs),
    /// Print the template of a prompt; without a name list them
    Prompts { name: Option<String> },
    /// Print the completions for a shell
    Completions { shell: Shell },
    /// Print the man page of a command, or the main one
    Man { command: Option<String> },
}

pub(super) fn dev(context: &Context, flags: &DevArgs) -> Result<End, Failure> {
    match &flags.what {
        Dev::Schema(flags) => schema(context, flags)?,
        Dev::Prompts { name } => {
            // A question may be named with its role.
            let name = name.as_deref().map(|name| name.rsplit('.').next().unwrap_or(name));
            context.out.data(&prompts(name)?);
        }
        Dev::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut help::command_line(), "descent", &mut script);
            context.out.raw(String::from_utf8_lossy(&script).trim_end());
        }
        Dev::Man { command } => context.out.raw(&page(command.as_deref())?),
    }
    Ok(End::Code(0))
}

/// The man page of the named command.
fn page(name: Option<&str>) -> Result<String, Failure> {
    let mut whole = help::command_line();
    whole.build();
    let command = match name {
        None => Some(&whole),
        Some(name) => whole.find_subcommand(name),
    };
    let name = name.unwrap_or_default();
    let Some(command) = command else {
        return Err(Failure::usage(format!("there is no command `{name}`"), "descent --help"));
    };
    let mut page = Vec::new();
    let made = clap_mangen::Man::new(command.clone()).render(&mut page);
    made.map_err(|error| Failure::bug(format!("the page {name} cannot be made: {error}")))?;
    Ok(String::from_utf8_lossy(&page).trim_end().to_owned())
}
