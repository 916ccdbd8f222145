//! JSON Schemas of what other programs and people's editors read and write: generated from types, committed under
//! `state-schema/`, printed by `descent schema`.
//!
//! Here: the one table of them. The shadow types below mirror the contract and serve nothing else, so they are built
//! for the tests alone: the program reads and writes by the tables of keys in the core. Not here: any I/O.
//!
//! Invariant: the text of a schema depends on the types alone, and unknown keys are allowed in every object. A new
//! schema begins as a line of the table and an empty file; `DESCENT_UPDATE=1 cargo test schema` fills it.

#[cfg(test)]
mod files;
#[cfg(test)]
mod looking;
#[cfg(test)]
mod output;
#[cfg(test)]
mod plan;
#[cfg(test)]
mod shared;
#[cfg(test)]
mod state;
#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests;

#[cfg(test)]
use schemars::{JsonSchema, SchemaGenerator};
#[cfg(test)]
use serde_json::Value;

/// A schema as it is committed: its name, and its text.
#[derive(Debug, Clone, Copy)]
pub struct Schema {
    pub name: &'static str,
    pub text: &'static str,
}

macro_rules! schemas {
    ($($name:literal: $shadow:ty,)*) => {
        /// Every schema, what a person writes first.
        pub const ALL: &[Schema] = &[$(Schema {
            name: $name,
            text: include_str!(concat!("../state-schema/", $name, ".schema.json")),
        },)*];

        /// Every schema made anew, with the name of its file.
        #[cfg(test)]
        pub(crate) fn all() -> Vec<(&'static str, Value)> {
            vec![$((concat!($name, ".schema.json"), of::<$shadow>()),)*]
        }
    };
}

schemas! {
    "plan": plan::Plan,
    "state": state::State,
    "status": output::Status,
    "result": output::RunResult,
    "event": output::Event,
    "error": output::Error,
    "align": output::Align,
    "verify": output::Verify,
    "validate": output::Validate,
    "edit": files::Edit,
    "migrate": files::Migrate,
    "apply": output::Apply,
    "stop": output::Stop,
    "why": looking::Why,
    "why-list": looking::WhyList,
    "graph": looking::Graph,
    "log": looking::Log,
    "difference": looking::Difference,
    "show": looking::Show,
    "undo": looking::Undo,
    "fork": looking::Fork,
    "trust": output::Trust,
    "confirm": output::Confirm,
    "doctor": looking::Doctor,
    "clean": files::Clean,
    "resolve": output::Resolve,
    "constraints": looking::ConstraintsShown,
    "schema": output::Schemas,
}

impl Schema {
    /// What it is about, in one line of its own words.
    pub fn about(&self) -> String {
        let schema: serde_json::Value = serde_json::from_str(self.text).unwrap_or_default();
        let about = schema["description"].as_str().unwrap_or_default();
        about.lines().next().unwrap_or_default().to_owned()
    }
}

/// The text of a schema as it is committed: keys sorted, two spaces, a newline at the end.
#[cfg(test)]
pub(crate) fn text(schema: &Value) -> String {
    format!("{:#}\n", sorted(schema))
}

/// The schema of a type, in draft 2020-12.
#[cfg(test)]
fn of<T: JsonSchema>() -> Value {
    SchemaGenerator::default()
        .into_root_schema_for::<T>()
        .to_value()
}

/// A map keeps its order or sorts by itself, as the build has it: this makes both the same.
#[cfg(test)]
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(key, _)| key.as_str());
            Value::Object(
                members
                    .into_iter()
                    .map(|(key, value)| (key.clone(), sorted(value)))
                    .collect(),
            )
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        other => other.clone(),
    }
}
