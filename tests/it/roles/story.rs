//! One story with every role: from a sentence to `completed`, by a model in each wire and by each kind of agent.
//!
//! Not here: each role by itself (its own file), kills in the middle (`killed`).

use std::{fs, os::unix::fs::PermissionsExt};

use serde_json::{Value, json};

use crate::{
    agents::{
        models::{KEY, Model, WIRES, with_key},
        talked::{self, Protocol},
    },
    processes::processes_in,
    terminal::Terminal,
    world::{Ran, World},
};

/// Questions to a model: two by the dialogue, two plans, two probes and a rating.
const QUESTIONS: usize = 7;

/// Who thinks in the story.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Thinker {
    /// By a wire and the path of its base.
    Model(&'static str, &'static str),
    Agent(Protocol),
}

impl Thinker {
    fn all() -> impl Iterator<Item = Self> {
        let models = WIRES.map(|(wire, base)| Self::Model(wire, base));
        models.into_iter().chain(talked::ALL.map(Self::Agent))
    }
}

fn agreement(questions: Value) -> Value {
    json!({
        "goal": "there is a handbook",
        "definition_of_done": "somebody can read it",
        "base_case": {"all": [
            {"command": "test \"$(cat c1 c2 c3 cover spine | wc -l)\" -eq 5", "name": "whole"},
            {"quality": "the handbook reads well"},
        ]},
        "atoms": [
            {"id": "book", "kind": "plan", "description": "plan the chapters"},
            {"id": "bind", "description": "glue the spine", "action": {"run": "echo no glue; exit 3"}},
        ],
        "questions": questions,
    })
}

/// Three chapters side by side, and a cover of which nobody knows how it is made.
fn chapters() -> Value {
    json!({"reasoning": "chapters need no order", "atoms": {
        "c1": {"description": "write chapter 1"},
        "c2": {"description": "write chapter 2"},
        "c3": {"description": "write chapter 3"},
        "cover": {"kind": "any", "choices": ["printed", "drawn"], "description": "a cover", "unknown": true},
        "printed": {"description": "print the cover"},
        "drawn": {"description": "draw the cover"},
    }})
}

fn tied() -> Value {
    json!({"reasoning": "a thread holds too", "atoms": {
        "tie": {"description": "tie the spine", "action": {"run": "echo a thread > spine"}},
    }})
}

/// The answers of all roles, told by the words of the question.
pub(crate) fn answers() -> Value {
    let rule = |when: &[&str], answer: Value| json!({"when": when, "answer": answer});
    let question = json!([{"question": "Who reads it?", "why": "its length depends on that"}]);
    let probe = "You find out whether this can be done";
    json!([
        rule(&["You are the aligner", "Ask nothing more"], agreement(json!([]))),
        rule(&["You are the aligner"], agreement(question)),
        rule(&["You are the judge"], json!({"score": 0.9, "because": "short chapters"})),
        rule(
            &[probe, "look into book-5"],
            json!({"feasible": false, "findings": "there is no printer"})
        ),
        rule(&[probe], json!({"feasible": true, "findings": "there is a pencil"})),
        rule(&["Why the plan is changed here"], tied()),
        rule(&["plan the chapters"], chapters()),
    ])
}

/// A worker that writes one file. With a file `together` outside, a chapter waits until three are written at once.
fn worker(world: &World) -> String {
    let out = world.out("").display().to_string();
    let text = r#"#!/bin/sh
case "$DESCENT_ATOM" in
book-[123])
    touch OUT/at.$DESCENT_ATOM
    tries=0
    while [ -e OUT/together ] && [ $(ls OUT/at.* | wc -l) -lt 3 ]; do
        tries=$((tries + 1))
        [ $tries -lt 300 ] || exit 1
        sleep 0.05
    done
    echo "a chapter" > c${DESCENT_ATOM#book-}
    ;;
book-6) echo "a cover" > cover ;;
*) exit 4 ;;
esac
"#;
    let path = world.program("worker", &text.replace("OUT", out.trim_end_matches('/')));
    path.display().to_string()
}

/// Writes the configuration, and starts the model if there is one.
pub(crate) fn configure(world: &World, thinker: Thinker, more: &[&str]) -> Option<Model> {
    let rules = world.out("answers");
    fs::write(&rules, answers().to_string()).unwrap();
    let rules = rules.display().to_string();
    let worker = worker(world);
    let (agent, model) = match thinker {
        Thinker::Model(wire, base) => {
            let more = [&["--answers", &rules], more].concat();
            let model = Model::start(world, &json!("nobody was asked that"), &more);
            let address = &model.address;
            let agent = format!(
                "provider = \"{wire}\"\nbase_url = \"{address}{base}\"\nmodel = \"scripted\"\nkey = {{file = \"~/key\"}}"
            );
            (agent, Some(model))
        }
        Thinker::Agent(protocol) => {
            let settings = [("FIXTURE_ANSWERS", rules.as_str())];
            (protocol.agent(world, "works", &settings), None)
        }
    };
    let roles =
        ["planner", "probe", "judge", "aligner"].map(|role| format!("{role} = \"thinker\"\n"));
    world.write(
        "descent.toml",
        &format!(
            "agents.worker.run = \"{worker}\"\n[agents.thinker]\n{agent}\n[roles]\nworker = \"worker\"\n{}",
            roles.concat()
        ),
    );
    let key = world.root().join("home/key");
    fs::write(&key, KEY).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    model
}

/// A person who says a sentence, answers a question, looks, and agrees.
pub(crate) fn align(world: &World) {
    let mut at = Terminal::start(
        world,
        &[
            "align",
            "write the handbook, please",
            "--why",
            "people ask",
            "--set",
            "max_parallel_agents=3",
            "--set",
            "max_attempts=1",
        ],
    );
    at.sees("thinker asks (1 of 1): Who reads it?").sees("> ").types("beginners");
    at.sees("proposed by `thinker`").sees("the handbook reads well");
    at.sees("run its checks now").sees("[y/e/N] ").types("y");
    at.sees("agree?").sees("[y/e/N] ").types("y");
    at.sees("next: descent run");
    assert_eq!(at.ends().code(), Some(0));
}

fn of(ran: &Ran, event: &str, key: &str) -> Vec<String> {
    let lines = ran.lines().into_iter().filter(|line| line["event"] == event);
    lines.map(|line| line[key].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn from_one_sentence_to_completed_with_every_role_by_each_wire_and_by_each_kind_of_agent() {
    for thinker in Thinker::all() {
        let world = World::new();
        let model = configure(&world, thinker, &["--pieces", "1"]);
        world.touch("together");
        align(&world);
        let ran = world.run();
        assert_eq!(ran.code, Some(0), "{thinker:?}\n{}\n{}", ran.stdout, ran.stderr);
        check(&world, &ran, thinker);
        if let Some(model) = &model {
            assert_eq!(model.questions().len(), QUESTIONS, "{thinker:?}");
        }
        assert!(!ran.stdout.contains(KEY) && !ran.stderr.contains(KEY), "{thinker:?}");
        assert_eq!(with_key(&world.root()), [world.root().join("home/key")], "{thinker:?}");
        assert_eq!(processes_in(&world.root()), Vec::<String>::new(), "{thinker:?}");
    }
}

/// The book is whole, whatever happened on the way.
pub(crate) fn check_end(world: &World, seed: u64) {
    let chapters: String = (1..=3).map(|n| world.result_file(&format!("c{n}"))).collect();
    assert_eq!(chapters, "a chapter\n".repeat(3), "seed {seed}");
    assert_eq!(world.result_file("cover"), "a cover\n", "seed {seed}");
    assert_eq!(world.result_file("spine"), "a thread\n", "seed {seed}");
    world.descent(&["validate"]).expect(0);
}

/// Each role did its part, in this order.
fn check(world: &World, ran: &Ran, thinker: Thinker) {
    assert_eq!(of(ran, "planned", "atom"), ["book", "bind"], "{thinker:?}");
    let mut probed = of(ran, "probed", "atom");
    probed.sort();
    assert_eq!(probed, ["book-5", "book-6"], "{thinker:?}");
    assert_eq!(of(ran, "replanned", "because"), ["bind failed for good"], "{thinker:?}");
    let mut solved = of(ran, "solved", "atom");
    solved.sort();
    assert_eq!(solved, ["bind-1", "book-1", "book-2", "book-3", "book-6"], "{thinker:?}");
    assert_eq!(ran.count("consulted"), 1, "{thinker:?}");
    let state = world.state();
    let rows = state["run"]["spent_by_agent"].as_array().unwrap().iter();
    let mut roles: Vec<&str> = rows.filter_map(|row| row["role"].as_str()).collect();
    roles.sort();
    assert_eq!(roles, ["aligner", "judge", "planner", "probe"], "{thinker:?}");
    let told = &state["objective"]["clarifications"][0];
    assert_eq!(told["resolution"], "beginners", "{thinker:?}");
    for (command, words) in [
        (&["status"][..], "completed"),
        (&["report"], "there is no printer"),
        (&["report"], "the handbook reads well"),
        (&["why", "bind"], "becomes a step that plans"),
    ] {
        world.descent(command).expect(0).shows(words);
    }
    world.descent(&["validate"]).expect(0);
}
