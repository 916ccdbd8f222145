//! Whether what the program printed is as its committed schema says.

use std::{cell::RefCell, collections::BTreeMap, fs, path::Path, rc::Rc};

use jsonschema::Validator;
use serde_json::Value;

thread_local! {
    static KNOWN: RefCell<BTreeMap<String, Option<Rc<Validator>>>> = const { RefCell::new(BTreeMap::new()) };
}

/// The value, which satisfies the schema that it names. `descent` without a state has none.
#[track_caller]
pub fn described(value: Value) -> Value {
    let named = value["schema"].as_str();
    let Some(name) = named.filter(|name| *name != "descent/none/1") else {
        return value;
    };
    let validator = KNOWN.with_borrow_mut(|known| {
        let known = known.entry(name.to_owned());
        known.or_insert_with(|| validator(name)).clone()
    });
    let validator = validator.unwrap_or_else(|| panic!("no schema is committed for {name}"));
    let faults: Vec<String> = validator
        .iter_errors(&value)
        .map(|fault| format!("{}: {fault}", fault.instance_path()))
        .collect();
    assert!(faults.is_empty(), "{value:#}\n{faults:#?}");
    value
}

fn validator(name: &str) -> Option<Rc<Validator>> {
    let word = name.strip_prefix("descent/")?.strip_suffix("/1")?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("state-schema");
    let text = fs::read(folder.join(format!("{word}.schema.json"))).ok()?;
    let schema = serde_json::from_slice(&text).expect("a schema is JSON");
    Some(Rc::new(
        jsonschema::validator_for(&schema).expect("a schema"),
    ))
}
