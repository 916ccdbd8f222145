//! JSON Schemas of what other programs and people's editors read and write, generated from types.
//!
//! Here: the table of all schemas and the one way to write them. The shadow types below mirror the contract and serve
//! nothing else: the program reads and writes by the tables of keys in the core. Not here: any I/O.
//!
//! Invariant: the text of a schema depends on the types alone, and unknown keys are allowed in every object.

mod output;
mod plan;
mod shared;
mod state;
#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests;

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::Value;

/// Every schema with the name of its file under `state-schema/`.
pub(crate) fn all() -> Vec<(&'static str, Value)> {
    vec![
        ("state.schema.json", of::<state::State>()),
        ("plan.schema.json", of::<plan::Plan>()),
        ("status.schema.json", of::<output::Status>()),
        ("result.schema.json", of::<output::RunResult>()),
        ("event.schema.json", of::<output::Event>()),
        ("error.schema.json", of::<output::Error>()),
        ("align.schema.json", of::<output::Align>()),
        ("verify.schema.json", of::<output::Verify>()),
        ("validate.schema.json", of::<output::Validate>()),
        ("apply.schema.json", of::<output::Apply>()),
        ("stop.schema.json", of::<output::Stop>()),
        ("trust.schema.json", of::<output::Trust>()),
        ("confirm.schema.json", of::<output::Confirm>()),
        ("constraints.schema.json", of::<output::ConstraintsShown>()),
        ("why.schema.json", of::<output::Why>()),
    ]
}

/// The text of a schema as it is committed: keys sorted, two spaces, a newline at the end.
pub(crate) fn text(schema: &Value) -> String {
    format!("{:#}\n", sorted(schema))
}

/// The schema of a type, in draft 2020-12.
fn of<T: JsonSchema>() -> Value {
    SchemaGenerator::default()
        .into_root_schema_for::<T>()
        .to_value()
}

/// A map keeps its order or sorts by itself, as the build has it: this makes both the same.
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
