//! The example reader reads in the state file alone what `descent status` shows.

use serde_json::{Value, json};

use super::{
    account::{Held, hold},
    world::World,
};
use crate::passed_over::{Lack, passed_over};

pub fn is_read_alike(world: &World) -> Held {
    let Some(read) = world.read_by_example() else {
        passed_over("the example reader", Lack::Program("python3"));
        return Ok(());
    };
    let status = world.descent(&["status", "--json"]);
    hold(read.code == Some(0), || read.stderr.clone())?;
    let (is, shown) = (read.last(), part_of(&status.last()));
    hold(is == shown, || format!("the example reader differs:\n{is}\nstatus:\n{shown}"))
}

/// The part of a status that the reader prints.
fn part_of(status: &Value) -> Value {
    let list = |key: &str| status[key].as_array().into_iter().flatten();
    let atoms = list("in_flight").map(|one| one["atom"].clone());
    let failed = list("failed")
        .map(|one| json!({"atom": one["atom"], "status": one["status"], "reason": one["reason"]}));
    let ending = &status["last_result"];
    json!({
        "status": status["status"], "goal": status["goal"],
        "last_result": if ending.is_null() { Value::Null } else { json!({"reason": ending["reason"], "summary": ending["summary"]}) },
        "unresolved": status["unresolved"], "in_flight": atoms.collect::<Vec<_>>(),
        "failed": failed.collect::<Vec<_>>(), "next": status["next"],
    })
}
