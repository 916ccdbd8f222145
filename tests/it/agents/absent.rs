//! A shell command that is an agent, and whose own program is not there: said by `doctor`, and no failure of the work.

use std::{fs, os::unix::fs::PermissionsExt};

use serde_json::{Value, json};

use crate::world::{World, after, plan, task, with};

fn by_worker() -> Value {
    let mut atom = task("");
    atom.as_object_mut().unwrap().remove("action");
    with(atom, json!({"description": "do it"}))
}

fn finding(world: &World, name: &str, exit: i32) -> Value {
    let found = world.descent(&["doctor", "--json"]).expect(exit).json();
    let mut findings = found["findings"].as_array().unwrap().iter();
    findings.find(|one| one["name"] == name).unwrap().clone()
}

#[test]
fn doctor_says_that_the_program_of_a_shell_command_is_not_found() {
    let world = World::new();
    world.write(
        "descent.toml",
        "agents.worker.run = \"./nowhere.sh -x\"\nroles.worker = \"worker\"\n[agents.hands]\nrun = \"A=1 tools/hands\"\n[agents.bare]\nrun = \"no-such-program\"\n",
    );
    let found = world.descent(&["doctor"]).expect(69);
    found.shows("`./nowhere.sh` is not there");
    let one = finding(&world, "agent worker", 69);
    assert_eq!(one["health"], "missing", "{one}");
    assert!(one["found"].as_str().unwrap().contains("E-AGENT-MISSING"), "{one}");
    for (name, program) in [("agent hands", "`tools/hands`"), ("agent bare", "`no-such-program`")] {
        let one = finding(&world, name, 69);
        let words = one["found"].as_str().unwrap();
        assert!(words.contains(program) && words.contains("E-AGENT-MISSING"), "{one}");
        assert_eq!(one["health"], "degraded", "{one}");
    }
    let path = world.repo().join("nowhere.sh");
    fs::write(&path, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(finding(&world, "agent worker", 0)["health"], "ok");
}

#[test]
fn a_worker_whose_program_is_not_in_its_workspace_ends_the_run_and_costs_no_attempt() {
    let world = World::new();
    world
        .write("descent.toml", "agents.worker.run = \"./nowhere.sh\"\nroles.worker = \"worker\"\n");
    world.align(&plan(&["test -f done"], json!({"max_attempts": 1}), json!({"A1": by_worker()})));
    let ran = world.descent(&["run", "--json"]).expect(69);
    let result = ran.result();
    assert_eq!(result["result"], "stopped", "{result}");
    assert_eq!(result["code"], "E-AGENT-MISSING", "{result}");
    assert!(
        result["summary"]
            .as_str()
            .unwrap()
            .contains("`./nowhere.sh` is no program in its workspace"),
        "{result}"
    );
    let state = world.state();
    assert_eq!(state["run"]["spent"]["attempts"].as_u64().unwrap_or(0), 0);
    assert!(!state["trail"].to_string().contains("\"failure\""), "{}", state["trail"]);
    // Named well, it goes on with the one attempt that it has.
    world.write("descent.toml", "agents.worker.run = \"touch done\"\nroles.worker = \"worker\"\n");
    world.run().expect(0);
}

#[test]
fn a_worker_that_cannot_be_executed_is_told_with_the_way_into_the_run() {
    let world = World::new();
    world.write("worker.sh", "#!/bin/sh\ntouch done\n");
    world.write("descent.toml", "agents.worker.run = \"./worker.sh\"\nroles.worker = \"worker\"\n");
    world.align(&plan(&["test -f done"], json!({}), json!({"A1": by_worker()})));
    let ran = world.descent(&["run"]).expect(69);
    ran.shows("`./worker.sh` is not executable in its workspace")
        .shows("descent redirect --from .");
    let path = world.repo().join("worker.sh");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    world.descent(&["redirect", "--from", ".", "-y"]).expect(0);
    world.run().expect(0);
}

#[test]
fn a_worker_that_an_earlier_step_makes_is_found() {
    let world = World::new();
    world.write("descent.toml", "agents.worker.run = \"./made.sh\"\nroles.worker = \"worker\"\n");
    let make = "printf '#!/bin/sh\\ntouch done\\n' > made.sh; chmod +x made.sh";
    let mut atoms = json!({"A0": task(make), "A1": after(&["A0"], "")});
    atoms["A1"].as_object_mut().unwrap().remove("action");
    world.align(&plan(&["test -f done"], json!({}), atoms));
    world.run().expect(0);
}

#[test]
fn an_action_that_is_not_found_is_a_failure_of_its_step() {
    let world = World::new();
    world.align(&plan(
        &["test -f done"],
        json!({"max_attempts": 1}),
        json!({"A1": task("./nowhere.sh")}),
    ));
    world.run().expect(5);
    assert!(world.state()["trail"].to_string().contains("127"));
}
