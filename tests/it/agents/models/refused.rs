//! Configurations and keys that are refused before anything starts, and `doctor`.

use std::{fs, os::unix::fs::PermissionsExt};

use serde_json::json;

use super::{KEY, Model, align, configure, fragment, run, start};
use crate::world::{World, plan};

#[test]
fn a_setting_that_is_none_is_told_with_its_place_and_never_with_the_key() {
    let world = World::new();
    align(&world, json!({}));
    let head = "[agents.a]\nprovider = \"chat\"\nmodel = \"m\"\n";
    for (text, words) in [
        ("base_url = \"localhost:11434\"", "no scheme"),
        ("base_url = \"http://ada:sk-planted@host/v1\"", "holds a name or a password"),
        ("base_url = \"http://host/v1?key=sk-planted\"", "after `?`"),
        ("base_url = \"http://\"", "no address"),
        ("key = \"sk-planted\"", "never the key itself"),
        ("key = {value = \"sk-planted\"}", "no place that is known"),
        ("key = {env = \"A\", file = \"/b\"}", "exactly one of"),
        ("key = {env = \"\"}", "an empty one"),
        ("key = {env = \"sk-planted\"}", "no name of a variable"),
        ("key = {file = \"keys/mine\"}", "no whole path"),
        ("max_parallel = 0", "a number from 1 to"),
        ("context = -1", "a number from 1 to"),
        ("base_url = \"http://host\"\nenv = [\"A\"]", "not with `provider`"),
        ("base_url = \"http://host\"\nargs = [\"a\"]", "not with `provider`"),
        ("base_url = \"http://host\"\nmodes = {read = \"a\"}", "`modes` goes with"),
        ("preset = \"claude\"", "several things to start"),
        ("", "has no `key`"),
    ] {
        world.write("descent.toml", &format!("{head}{text}\n"));
        let ran = world.descent(&["run"]).expect(78);
        assert!(ran.stderr.contains("E-CONFIG"), "{text}\n{}", ran.stderr);
        assert!(ran.stderr.contains(words), "{text}\n{}", ran.stderr);
        assert!(!ran.stderr.contains("sk-planted"), "{text}\n{}", ran.stderr);
    }
    world.write("descent.toml", "[agents.a]\nprovider = \"anthropic\"\nmodel = \"m\"\n");
    let ran = world.descent(&["run"]).expect(78);
    assert!(ran.stderr.contains("messages, chat, responses"), "{}", ran.stderr);
}

#[test]
fn a_key_that_cannot_be_read_is_refused_before_anything_starts() {
    let world = World::new();
    let model = Model::start(&world, &fragment(), &[]);
    configure(&world, &model, "chat", "/v1", "");
    align(&world, json!({}));
    world.descent(&["run"]).expect(78).says("E-KEY").says("THINKER_KEY is not set");
    let mut empty = world.command(&["run"]);
    empty.env("THINKER_KEY", " ");
    let empty = crate::support::world::Running::of(empty).wait();
    empty.expect(78).says("E-KEY").says("is empty");
    let place = world.root().join("home/key");
    fs::write(&place, KEY).unwrap();
    fs::set_permissions(&place, fs::Permissions::from_mode(0o644)).unwrap();
    let text = world.read("descent.toml");
    world.write("descent.toml", &text.replace("{env = \"THINKER_KEY\"}", "{file = \"~/key\"}"));
    world.descent(&["run"]).expect(78).says("E-KEY").says("chmod 600");
    fs::set_permissions(&place, fs::Permissions::from_mode(0o600)).unwrap();
    world.descent(&["run"]).expect(0);
    assert_eq!(model.questions().len(), 1);
}

#[test]
fn a_command_gives_the_key_and_one_that_fails_ends_the_run() {
    let world = World::new();
    let model = Model::start(&world, &fragment(), &[]);
    let text = |command: &str| {
        configure(&world, &model, "chat", "/v1", "");
        let text = world.read("descent.toml");
        let key = format!("{{command = \"{command}\"}}");
        world.write("descent.toml", &text.replace("{env = \"THINKER_KEY\"}", &key));
    };
    text("echo no; exit 3");
    align(&world, json!({}));
    let ran = world.descent(&["run"]).expect(69);
    assert!(world.state_text().contains("E-KEY"), "{}", ran.stdout);
    assert!(world.state_text().contains("exit status: 3"), "{}", ran.stdout);
    assert_eq!(world.state()["run"]["spent"]["attempts"].as_u64().unwrap_or(0), 0);
    fs::write(world.root().join("home/key"), KEY).unwrap();
    text("cat ~/key");
    world.descent(&["run"]).expect(0);
}

#[test]
fn a_provider_is_no_worker() {
    let world = World::new();
    let model = Model::start(&world, &fragment(), &[]);
    configure(&world, &model, "chat", "/v1", "");
    let task = json!({"A1": {"description": "make it", "agent": "thinker"}});
    let named = plan(&["test -e done"], json!({}), task);
    world.try_align(&named).expect(78).says("E-CONFIG");
    let by_role = plan(&["test -e done"], json!({}), json!({"A1": {"description": "make it"}}));
    world.align(&by_role);
    let text = world.read("descent.toml");
    world.write("descent.toml", &text.replace("planner =", "worker ="));
    let ran = start(&world, &["run"]).wait();
    assert_eq!(ran.code, Some(78), "{}", ran.stderr);
    assert!(ran.stderr.contains("E-CONFIG"), "{}", ran.stderr);
    assert!(ran.stderr.contains("opencode"), "{}", ran.stderr);
    assert!(!ran.stderr.contains(KEY));
    let doctor = start(&world, &["doctor"]).wait().expect(69);
    doctor.shows("which only thinks").shows("agent thinker cannot work here, all else can");
    assert_eq!(model.questions().len(), 0);
}

#[test]
fn a_question_that_would_be_cut_silently_is_refused_with_the_setting() {
    let world = World::new();
    let model = Model::start(&world, &fragment(), &[]);
    configure(&world, &model, "chat", "/v1", "context = 1100");
    align(&world, json!({}));
    let ran = run(&world).expect(69);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(said.contains("1100 fit") && said.contains("agents.thinker.context"), "{said}");
    assert!(world.state_text().contains("E-CONTEXT"));
    assert_eq!(model.questions().len(), 0);
    configure(&world, &model, "chat", "/v1", "context = 32768");
    run(&world).expect(0);
}

#[test]
fn doctor_tries_each_provider_with_one_question() {
    let world = World::new();
    let model = Model::start(&world, &json!({"ok": true}), &[]);
    configure(&world, &model, "chat", "/v1", "context = 8192");
    let ran = start(&world, &["doctor", "--json"]).wait();
    let findings = ran.json()["findings"].clone();
    let findings = findings.as_array().unwrap().clone();
    let of = |name: &str| findings.iter().find(|one| one["name"] == name).unwrap().clone();
    let found = of("agent thinker");
    assert_eq!(found["health"], "ok", "{found}");
    let text = found["found"].as_str().unwrap();
    assert!(text.contains("holds answers to a schema; 8192 tokens fit"), "{text}");
    assert_eq!(model.questions().len(), 1);
    let without = world.descent(&["doctor"]);
    assert!(without.stdout.contains("THINKER_KEY is not set"), "{}", without.stdout);
    let text = world.read("descent.toml");
    world.write("descent.toml", &text.replace("\"scripted\"", "\"other\""));
    let other = start(&world, &["doctor"]).wait();
    assert!(
        other.stdout.contains("E-MODEL") && other.stdout.contains("it has scripted"),
        "{}",
        other.stdout
    );
    assert_eq!(model.questions().len(), 1);
}

#[test]
fn doctor_does_not_say_that_an_answer_is_held_to_a_schema_where_it_is_not() {
    for answer in
        [json!("I would rather not."), json!({"hello": 1}), json!([1]), json!({"ok": "yes"})]
    {
        let world = World::new();
        let model = Model::start(&world, &answer, &[]);
        configure(&world, &model, "chat", "/v1", "");
        let found = start(&world, &["doctor", "--json"]).wait().expect(0).json();
        let findings = found["findings"].as_array().unwrap();
        let one = findings.iter().find(|one| one["name"] == "agent thinker");
        let one = one.unwrap();
        assert_eq!(one["health"], "degraded", "{answer}: {one}");
        let words = one["found"].as_str().unwrap();
        assert!(words.contains("answers, and not in the form asked for"), "{answer}: {words}");
    }
}
