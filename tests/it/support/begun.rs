//! Runs that are at work when a test begins.

use serde_json::json;

use crate::world::{Running, World, plan, task, wait_for};

/// A run whose one attempt lasts until there is a file `go`.
pub fn at_work() -> (World, Running) {
    let world = World::new();
    let (at, go) = (world.out("at"), world.out("go"));
    let run = format!(
        "echo x >> {}; while ! test -f {}; do sleep 0.02; done; touch done",
        at.display(),
        go.display()
    );
    world.align(&plan(&["test -f done"], json!({}), json!({"A1": task(&run)})));
    let run = world.start(&["run", "--json"]);
    wait_for("the attempt", || !world.left("at").is_empty());
    (world, run)
}
