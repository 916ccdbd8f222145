//! Plans in few words. Not here: what becomes of them.

use serde_json::{Value, json};

/// A plan whose base case is `checks`, each a shell command.
pub fn plan(checks: &[&str], constraints: Value, atoms: Value) -> Value {
    let checks: Vec<Value> = checks.iter().map(|check| json!({"command": check})).collect();
    json!({
        "objective": {
            "raw_input": "please, make it so: \"exactly\"",
            "goal": "it is so",
            "background_intent": "somebody waits for it",
            "base_case": {"all": checks},
            "constraints": constraints,
        },
        "work_graph": {"atoms": atoms},
    })
}

pub fn task(run: &str) -> Value {
    json!({"kind": "task", "description": format!("run {run}"), "action": {"run": run}})
}

pub fn after(deps: &[&str], run: &str) -> Value {
    let mut task = task(run);
    task["depends_on"] = json!(deps);
    task
}

/// With keys laid over it.
pub fn with(mut value: Value, more: Value) -> Value {
    for (key, one) in more.as_object().expect("an object") {
        value[key] = one.clone();
    }
    value
}
