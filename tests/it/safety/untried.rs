//! `doctor` where the configuration came from somebody else: nothing of it is started, asked, or read.

use std::{fs, os::unix::fs::PermissionsExt, process::Command};

use serde_json::{Value, json};

use crate::{
    agents::models::{KEY, Model},
    safety::trust::{marks, trust, trust_worker},
    world::{Ran, Running, World, plan, task},
};

/// A configuration that would run a command for a key, read a file and a variable for two more, and start a program.
fn greedy(world: &World, model: &Model) {
    let (address, mark) = (&model.address, world.out("key-command"));
    let provider = |name: &str, key: &str| {
        format!(
            "[agents.{name}]\nprovider = \"chat\"\nbase_url = \"{address}/v1\"\nmodel = \"scripted\"\nkey = {key}\n"
        )
    };
    let by_command = format!("{{command = \"touch {}; echo x\"}}", mark.display());
    let parts = [
        provider("a", &by_command),
        provider("b", "{file = \"~/secret\"}"),
        provider("c", "{env = \"THINKER_KEY\"}"),
        "[agents.d]\npreset = \"claude\"\nenv = [\"NOWHERE_SET\"]\n".to_owned(),
        "[roles]\nplanner = \"a\"\n".to_owned(),
    ];
    world.write("descent.toml", &parts.concat());
    let secret = world.root().join("home/secret");
    fs::write(&secret, KEY).unwrap();
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
    let mark = world.out("program").display().to_string();
    let script = format!("#!/bin/sh\ntouch {mark}\necho '2.9.0 (Claude Code)'\n");
    world.program("claude", &script);
}

/// A person's own agent, which nobody is asked about.
fn own_agent(world: &World, model: &Model) {
    let dir = world.root().join("home/.config/descent");
    fs::create_dir_all(&dir).unwrap();
    let text = format!(
        "[agents.own]\nprovider = \"chat\"\nbase_url = \"{}/v1\"\nmodel = \"scripted\"\nkey = {{env = \"THINKER_KEY\"}}\n",
        model.address
    );
    fs::write(dir.join("config.toml"), text).unwrap();
}

fn doctor(world: &World, args: &[&str]) -> Ran {
    let mut command: Command = world.command(&[&["doctor"], args].concat());
    let mut path = vec![world.root().join("bin")];
    let theirs = std::env::var_os("PATH").unwrap();
    path.extend(std::env::split_paths(&theirs));
    command.env("PATH", std::env::join_paths(path).unwrap());
    Running::of({
        command.env("THINKER_KEY", KEY);
        command
    })
    .wait()
}

fn of_agent(found: &Value, name: &str) -> Value {
    let findings = found["findings"].as_array().unwrap();
    let name = format!("agent {name}");
    let one = findings.iter().find(|one| one["name"] == *name);
    one.unwrap_or_else(|| panic!("no {name} in {found:#}")).clone()
}

#[test]
fn doctor_starts_nothing_and_reads_no_key_of_a_configuration_that_git_brought() {
    let world = World::new();
    let model = Model::start(&world, &json!({"ok": true}), &[]);
    greedy(&world, &model);
    own_agent(&world, &model);
    world.commit_all("theirs");
    let found = doctor(&world, &["--json"]).expect(69).json();
    for name in ["a", "b", "c", "d"] {
        let one = of_agent(&found, name);
        let words = one["found"].as_str().unwrap();
        assert!(
            words.starts_with("not tried: this configuration is not yours")
                && words.contains("is as git has it"),
            "{one}"
        );
        assert_eq!(one["mend"], "descent trust --worker");
        let health = match name {
            "a" => "unusable",
            _ => "degraded",
        };
        assert_eq!(one["health"], health, "{one}");
    }
    for name in ["key-command", "program"] {
        assert!(!world.out(name).exists(), "{name}");
    }
    // The person's own agent is tried, and nobody else.
    assert_eq!(of_agent(&found, "own")["health"], "ok", "{found:#}");
    assert_eq!(model.questions().len(), 1);
}

#[test]
fn doctor_tries_what_a_person_allowed_and_what_is_their_own_again() {
    let world = World::new();
    let model = Model::start(&world, &json!({"ok": true}), &[]);
    greedy(&world, &model);
    world.commit_all("theirs");
    trust_worker(&world);
    let found = doctor(&world, &["--json"]).json();
    assert_eq!(of_agent(&found, "c")["health"], "ok", "{found:#}");
    assert!(world.out("key-command").exists() && world.out("program").exists());
    // Another line that git brings is another thing to allow; the person's own edit is not.
    let text = world.read("descent.toml");
    world.write("descent.toml", &text.replace("NOWHERE_SET", "OTHER_SET"));
    world.commit_all("theirs");
    let found = doctor(&world, &["--json"]).json();
    assert!(of_agent(&found, "c")["found"].as_str().unwrap().starts_with("not tried"));
    world.write("descent.toml", &text.replace("NOWHERE_SET", "MINE_SET"));
    let found = doctor(&world, &["--json"]).json();
    assert_eq!(of_agent(&found, "c")["health"], "ok", "{found:#}");
}

#[test]
fn doctor_tries_what_was_allowed_with_the_state() {
    let world = World::new();
    let model = Model::start(&world, &json!({"ok": true}), &[]);
    world.align(&plan(&["true"], json!({}), json!({"A1": task("true")})));
    greedy(&world, &model);
    world.commit_all("theirs");
    doctor(&world, &[]).shows("not tried");
    assert!(!world.out("key-command").exists(), "{}", marks(&world));
    trust(&world);
    let found = doctor(&world, &["--json"]).json();
    assert_eq!(of_agent(&found, "c")["health"], "ok", "{found:#}");
}
