//! The configuration of the README with an agent's command line, a model with a key and a local server: run as written,
//! but for the addresses of the models.

use std::fs;

use serde_json::json;

use crate::{
    agents::models::{KEY, Model},
    support::agents,
    world::{Running, World, plan},
};

/// The block of the README that names models.
fn block() -> String {
    let readme = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    let mut blocks = readme.split("```toml\n").skip(1);
    let with_models = blocks.find(|block| block.contains("provider ="));
    let block = with_models.expect("a block with a provider").split("```").next();
    block.unwrap().to_owned()
}

#[test]
fn the_configuration_of_the_readme_works_with_its_agent_its_key_and_its_local_server() {
    let world = World::new();
    let rules = world.out("rules");
    let answers = json!([
        {"when": ["You are the judge"], "answer": {"score": 0.9, "because": "short"}},
        {"when": ["You find out whether"], "answer": {"feasible": true, "findings": "it can be written"}},
        {"when": ["plan the note"], "answer": {"reasoning": "it is short", "atoms": {
            "write": {"description": "write the note", "unknown": true}}}},
    ]);
    fs::write(&rules, answers.to_string()).unwrap();
    let rules = rules.display().to_string();
    let by_key = Model::start(&world, &json!("none"), &["--answers", &rules]);
    // The local one wants no key.
    let local = Model::open(&world, &["--answers", &rules]);
    let vendor = format!("provider = \"messages\"\nbase_url = \"{}\"\n", by_key.address);
    let text = block();
    for words in ["provider = \"messages\"", "http://localhost:11434", "ANTHROPIC_API_KEY"] {
        assert!(text.contains(words), "no `{words}` in:\n{text}");
    }
    let text = text.replacen("provider = \"messages\"", &vendor, 1);
    world.write("descent.toml", &text.replace("http://localhost:11434", &local.address));
    let agent = agents::headless().display().to_string();
    world.program(
        "claude",
        &format!(
            "#!/bin/sh\nif [ \"$1\" = --version ]; then echo '2.9.0 (Claude Code)'; exit; fi\n\
             export FIXTURE_BEHAVIOUR=works FIXTURE_DO='echo a note > note'\n\
             exec {agent} --dialect claude-stream-json \"$@\"\n"
        ),
    );
    let command = |args: &[&str]| {
        let mut command = world.command(args);
        let path =
            format!("{}:{}", world.root().join("bin").display(), std::env::var("PATH").unwrap());
        command.env("PATH", path).env("ANTHROPIC_API_KEY", KEY);
        Running::of(command)
    };
    let mut work = plan(
        &["test -s note"],
        json!({}),
        json!({"note": {"kind": "plan", "description": "plan the note"}}),
    );
    work["objective"]["base_case"] =
        json!({"all": [{"command": "test -s note"}, {"quality": "the note is short"}]});
    let work = world.plan(&work);
    command(&["align", "-y", "-f", &work]).wait().expect(0);
    let ran = command(&["run", "--json"]).wait().expect(0);
    assert_eq!(ran.count("planned") + ran.count("probed") + ran.count("consulted"), 3);
    assert_eq!(world.result_file("note"), "a note\n");
    assert_eq!((by_key.questions().len(), local.questions().len()), (1, 2));
    command(&["doctor"]).wait().shows("agent thinker").shows("agent local").shows("agent claude");
}
