//! The state file as whole records, for tests that look at records or write them.
//!
//! In the file a record is in two halves, and its results are apart from its atom. Here each is one object: a resolved
//! atom is the `of` of its binding.

extern crate alloc;

use serde_json::{Map, Value, json};

use self::alloc::{
    borrow::ToOwned,
    string::{String, ToString},
};

const ATOM: [&str; 8] =
    ["refined", "unjudged", "tries", "interruptions", "origin", "fragment", "fragments", "placed"];
const BINDING: [&str; 7] =
    ["commit", "change", "evidence", "context", "inputs", "attempts", "read_as"];
const RUN_SHOWN: [&str; 9] =
    ["status", "reason", "code", "ended", "summary", "unsteady", "missing", "spent", "waits"];
/// The digest of no results.
const NO_INPUTS: &str = "47DEQpj8HBSa-_TImW-5JC";
const TOP: [&str; 4] = ["lineage", "serial", "seal", "plan"];
const ENTRY: [&str; 24] = [
    "serial",
    "pass",
    "attempt",
    "started",
    "nth",
    "context",
    "conflict",
    "fingerprint",
    "output",
    "whole",
    "criteria",
    "evidence",
    "files",
    "changed",
    "untried",
    "value",
    "handoff",
    "unclear",
    "by_form",
    "agent",
    "tried",
    "usage",
    "fragment",
    "parked",
];

fn object(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = json!({});
    }
    value.as_object_mut().expect("an object")
}

/// Takes the members for which `is_taken` holds.
fn take(from: &mut Value, is_taken: impl Fn(&str) -> bool) -> Map<String, Value> {
    let members = core::mem::take(object(from));
    let (taken, kept) = members.into_iter().partition(|(key, _)| is_taken(key));
    *object(from) = kept;
    taken
}

/// The text of a file, of whole records as text.
#[allow(dead_code, reason = "not every test writes records")]
pub fn file_of(records: &str) -> String {
    file(&serde_json::from_str(records).expect("JSON")).to_string()
}

/// The file of whole records.
#[allow(dead_code, reason = "not every test writes records")]
pub fn file(whole: &Value) -> Value {
    let mut file = whole.clone();
    file["version"] = json!("3.0");
    let order = take(&mut file, |key| key == "order").remove("order");
    let mut internal = Value::Object(take(&mut file, |key| TOP.contains(&key)));
    let run = take(&mut file["run"], |key| !RUN_SHOWN.contains(&key) && key != "notes");
    internal["run"] = Value::Object(run);
    let mut bindings = take(&mut file["bindings"], |_| true);
    for (id, binding) in &mut bindings {
        let of = object(binding).remove("of");
        let mut half = take(binding, |key| BINDING.contains(&key));
        let is_by_person = binding.get("by").is_none_or(|by| by == "person");
        let is_by_person = is_by_person || !half.contains_key("context");
        for key in ["attempts", "inputs"].iter().filter(|_| !is_by_person) {
            half.entry(*key).or_insert(Value::Null);
        }
        internal["bindings"][id] = Value::Object(half);
        if let Some(mut of) = of {
            of["status"] = json!("resolved");
            object(&mut of).entry("tries").or_insert_with(|| json!([]));
            file["work_graph"]["atoms"][id] = of;
        }
    }
    file["bindings"] = Value::Object(bindings);
    let mut atoms = take(&mut file["work_graph"]["atoms"], |_| true);
    let mut placed = Map::new();
    for id in order.iter().filter_map(Value::as_array).flatten().filter_map(Value::as_str) {
        placed.extend(atoms.remove(id).map(|atom| (id.to_owned(), atom)));
    }
    placed.extend(atoms);
    file["work_graph"]["atoms"] = Value::Object(placed);
    for (id, atom) in object(&mut file["work_graph"]["atoms"]) {
        internal["atoms"][id] = Value::Object(atom_half(atom));
    }
    for (index, entry) in file["trail"].as_array_mut().into_iter().flatten().enumerate() {
        if entry.is_object() {
            let half = entry_half(entry, index + 1);
            internal["trail"][entry["n"].to_string()] = Value::Object(half);
        }
    }
    file["internal"] = internal;
    file
}

fn atom_half(atom: &mut Value) -> Map<String, Value> {
    let planned = object(atom).remove("planned");
    if let Some(mut planned) = planned {
        let placed = take(&mut planned, |key| ["by", "reason", "was"].contains(&key));
        object(atom).extend(core::mem::take(object(&mut planned)));
        atom["kind"] = json!("plan");
        if !placed.is_empty() {
            atom["placed"] = Value::Object(placed);
        }
    }
    if ["task", "all", "any"].iter().any(|kind| atom["kind"] == *kind) {
        object(atom).remove("kind");
    }
    // The word that a person writes: the program's status stays beside it.
    let said = object(atom).remove("said");
    let mut half = take(atom, |key| ATOM.contains(&key));
    let tries = half.get("tries").and_then(Value::as_array);
    let last = tries.and_then(|tries| tries.last());
    let status = atom.get("status").and_then(Value::as_str).unwrap_or("pending").to_owned();
    let has_failed = last.is_some_and(|last| last["ended"] == "failed");
    match status.as_str() {
        "pending" if has_failed => atom["status"] = json!("failed"),
        "pending" => drop(object(atom).remove("status")),
        "resolved" => {}
        _ => drop(half.insert("status".to_owned(), json!(status))),
    }
    if let Some(said) = said {
        atom["status"] = said;
    }
    half
}

fn entry_half(entry: &mut Value, n: usize) -> Map<String, Value> {
    object(entry).entry("n").or_insert_with(|| json!(n));
    take(entry, |key| ENTRY.contains(&key))
}

/// The whole records of a file.
#[allow(dead_code, reason = "not every test looks at records")]
pub fn whole(file: &Value) -> Value {
    let mut whole = file.clone();
    // Between two names of an editor there may be no whole file.
    if !whole.is_object() {
        return whole;
    }
    let mut internal = object(&mut whole).remove("internal").unwrap_or_else(|| json!({}));
    let of_top = take(&mut internal, |key| TOP.contains(&key));
    object(&mut whole).extend(of_top);
    join(&mut whole["run"], &mut internal["run"]);
    fill(&mut whole["run"], RUN_BLANK);
    fill(&mut whole["run"]["spent"], SPENT_BLANK);
    fill(&mut whole["objective"], CONSTRAINTS_BLANK);
    let mut atoms = take(&mut whole["work_graph"]["atoms"], |_| true);
    // The order in which they were written: results lie apart from here on.
    whole["order"] = atoms.keys().cloned().collect();
    for (id, atom) in &mut atoms {
        let mut half = internal["atoms"][id].clone();
        join(atom, &mut half);
        let kind = match (atom.get("choices"), atom.get("parts")) {
            (Some(_), _) => "any",
            (_, Some(_)) => "all",
            _ => "task",
        };
        object(atom).entry("kind").or_insert_with(|| json!(kind));
        if kind == "task" {
            let status = internal["atoms"][id].get("status").cloned();
            atom["status"] = status.unwrap_or_else(|| json!("pending"));
        }
        object(atom).entry("depends_on").or_insert_with(|| json!([]));
    }
    let mut bindings = take(&mut whole["bindings"], |_| true);
    for (id, binding) in &mut bindings {
        join(binding, &mut internal["bindings"][id]);
        let mut atom = atoms.remove(id);
        imply(binding, atom.as_mut());
        fill(binding, ATTEMPTS_BLANK);
        if let Some(atom) = atom {
            binding["of"] = atom;
        }
    }
    for one in whole["run"]["line"].as_array_mut().into_iter().flatten() {
        if let Some(id) = one.as_str().map(ToOwned::to_owned) {
            *one = json!({"atom": id, "commit": bindings[&id]["commit"]});
        }
    }
    whole["bindings"] = Value::Object(bindings);
    whole["work_graph"]["atoms"] = Value::Object(atoms);
    for entry in whole["trail"].as_array_mut().into_iter().flatten() {
        let n = entry["n"].as_u64().unwrap_or_default().to_string();
        join(entry, &mut internal["trail"][n]);
    }
    whole
}

/// Puts back what most results by attempts have.
fn imply(binding: &mut Value, atom: Option<&mut Value>) {
    if binding.get("by").is_none_or(|by| by == "person") || binding.get("context").is_none() {
        return;
    }
    for one in binding["evidence"].as_array_mut().into_iter().flatten() {
        if let Some(title) = one.as_str().map(ToOwned::to_owned) {
            *one = json!({"check": title, "verdict": "pass"});
        }
    }
    let usual = [("inputs", json!(NO_INPUTS)), ("attempts", json!(1))];
    for (key, value) in usual {
        object(binding).entry(key).or_insert(value);
    }
    object(binding).retain(|_, value| !value.is_null());
    let (context, attempts) = (binding.get("context"), binding.get("attempts"));
    if let (Some(atom), Some(context), Some(attempts)) = (atom, context, attempts) {
        let tries = json!([{"context": context, "attempts": attempts}]);
        object(atom).entry("tries").or_insert(tries);
    }
}

/// Values that the file leaves out, as JSON.
const RUN_BLANK: &[(&str, &str)] = &[
    ("in_flight", "[]"),
    ("iteration", "0"),
    ("pass", "1"),
    ("epoch", "0"),
    ("attempts_started", "0"),
    ("spent", "{}"),
];
const SPENT_BLANK: &[(&str, &str)] =
    &[("attempts", "0"), ("transient", "0"), ("repairs", "0"), ("active", "\"0s\"")];
const CONSTRAINTS_BLANK: &[(&str, &str)] = &[("constraints", "{}")];
const ATTEMPTS_BLANK: &[(&str, &str)] = &[("attempts", "0")];

fn fill(record: &mut Value, blank: &[(&str, &str)]) {
    for (key, value) in blank {
        let value = serde_json::from_str(value).expect("JSON");
        object(record).entry(*key).or_insert(value);
    }
}

/// Takes the result of an atom, which is open then.
#[allow(dead_code, reason = "not every test opens an atom")]
pub fn open(whole: &mut Value, id: &str) {
    let result = object(&mut whole["bindings"]).remove(id).expect("a result");
    whole["work_graph"]["atoms"][id] = result["of"].clone();
}

fn join(shown: &mut Value, half: &mut Value) {
    let half = core::mem::take(object(half));
    object(shown).extend(half);
}
