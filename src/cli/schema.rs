//! `descent schema`: the JSON Schemas of what people write and of what `--json` prints, for editors and programs.

use clap::Args;
use descent_core::doc;

use super::{End, context::Context};
use crate::{
    failure::Failure,
    schema::{ALL, Schema},
};

/// Columns of the longest name, and two more.
const NAME_WIDTH: usize = 13;
const EDITORS: &str = "\
Editors complete and check a plan by its schema:
  descent schema plan > plan.schema.json

  in a YAML plan, for every editor that uses yaml-language-server, as its first line:
    # yaml-language-server: $schema=./plan.schema.json
  in a JSON plan:
    {\"$schema\": \"./plan.schema.json\", \"objective\": …}
  in VS Code, for all plans of a project, in .vscode/settings.json:
    {\"yaml.schemas\": {\"./plan.schema.json\": \"*.plan.yaml\"}}";

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
        Some(name) => context.out.data(find(name)?.text.trim_end()),
    }
    Ok(End::Code(0))
}

fn list(context: &Context) {
    if context.out.json {
        let named =
            |schema: &Schema| serde_json::json!({"name": schema.name, "about": schema.about()});
        let schemas: Vec<_> = ALL.iter().map(named).collect();
        let value = serde_json::json!({"schema": "descent/schema/1", "schemas": schemas});
        return context.out.json(&value);
    }
    let line = |schema: &Schema| format!("{:NAME_WIDTH$}{}", schema.name, schema.about());
    let lines: Vec<String> = ALL.iter().map(line).collect();
    context.out.data(&lines.join("\n"));
    context
        .out
        .say("next: descent schema plan > plan.schema.json");
}

fn find(name: &str) -> Result<&'static Schema, Failure> {
    if let Some(schema) = ALL.iter().find(|schema| schema.name == name) {
        return Ok(schema);
    }
    let names = || ALL.iter().map(|schema| schema.name);
    let hint = match doc::suggest(name, names()) {
        Some(near) => format!("did you mean `descent schema {near}`?"),
        None => format!("one of {}", names().collect::<Vec<_>>().join(", ")),
    };
    let message = format!("there is no schema `{name}`");
    Err(Failure::usage(message, hint))
}
