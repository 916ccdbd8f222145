//! Whether what the program printed is as its committed schema says.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use jsonschema::Validator;
use serde_json::Value;

/// Built once for all tests, of which each has a thread of its own.
static KNOWN: Mutex<BTreeMap<String, Option<Arc<Validator>>>> = Mutex::new(BTreeMap::new());

/// The value, which satisfies the schema that it names. `descent` without a state has none.
#[track_caller]
pub fn described(value: Value) -> Value {
    let named = value["schema"].as_str();
    let Some(name) = named.filter(|name| *name != "descent/none/1") else {
        return value;
    };
    let validator = KNOWN
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .entry(name.to_owned())
        .or_insert_with(|| validator(name))
        .clone();
    let validator = validator.unwrap_or_else(|| panic!("no schema is committed for {name}"));
    let faults: Vec<String> = validator
        .iter_errors(&value)
        .map(|fault| format!("{}: {fault}", fault.instance_path()))
        .collect();
    assert!(faults.is_empty(), "{value:#}\n{faults:#?}");
    value
}

fn validator(name: &str) -> Option<Arc<Validator>> {
    let word = name.strip_prefix("descent/")?.strip_suffix("/1")?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("state-schema");
    let text = fs::read(folder.join("outputs.schema.json")).ok()?;
    let mut schema: Value = serde_json::from_slice(&text).expect("a schema is JSON");
    schema["$defs"].get(word)?;
    schema["$ref"] = format!("#/$defs/{word}").into();
    Some(Arc::new(jsonschema::validator_for(&schema).expect("a schema")))
}
