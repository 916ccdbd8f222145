//! Lessons of earlier runs that keep planners from a tool with its target, and that end no run by themselves.

use std::fs;

use serde_json::{Value, json};

use super::law::{of, refused};
use crate::world::{Ran, World, plan, task};

/// A world whose planner prints the same plan whenever it is asked, and that remembers that its only way fails.
fn poisoned(way: &str, because: &str) -> World {
    let world = World::new();
    world.write("n", "12\n");
    world.write("none", "0\n");
    world.commit_all("a number");
    let kept = world.out("").display().to_string();
    let plan = of(json!({"w": task(way)}));
    let script = format!(
        "#!/bin/sh\necho call >> {kept}/calls\nn=$(wc -l < {kept}/calls)\ncp \"$DESCENT_PROMPT\" {kept}/prompt.$((n))\n\
         [ -z \"$DESCENT_DIRECTIVE\" ] || cp \"$DESCENT_DIRECTIVE\" {kept}/directive.$((n))\n\
         cat <<'END'\n{plan}\nEND\n"
    );
    world.program("planner", &script);
    agree(&world, json!({}));
    world.run().expect(0);
    let dir = world.root().join("home/.local/share/descent/memory");
    let entries = fs::read_dir(dir).expect("a directory").flatten();
    let mut paths = entries.map(|entry| entry.path());
    let path = paths.find(|path| path.extension().is_some_and(|end| end == "json"));
    let path = path.expect("a file of lessons");
    let mut book: Value = serde_json::from_slice(&fs::read(&path).expect("it")).expect("JSON");
    book["lessons"] = json!([{"id": "m77", "kind": "must_not", "tool": "wc", "target": "none",
        "lesson": "count the lines", "because": because, "seen": 2, "by": "person"}]);
    fs::write(&path, book.to_string()).expect("it is poisoned");
    fs::remove_file(world.out("calls")).expect("the first run is over");
    world
}

fn agree(world: &World, constraints: Value) {
    let planner = world.root().join("bin/planner").display().to_string();
    let step = json!({"kind": "plan", "description": "plan how the number falls", "action": {"run": planner}});
    let mut whole = plan(&[], constraints, json!({"P": step}));
    whole["objective"]["base_case"] =
        json!({"name": "few", "command": "cat n", "number": "(\\d+)", "at_most": 0});
    let path = world.plan(&whole);
    world.descent(&["align", "-y", "--force", "-f", &path]).expect(0);
}

fn again(world: &World, constraints: Value, flags: &[&str]) -> Ran {
    agree(world, constraints);
    world.descent(&[&["run"], flags].concat())
}

fn calls(world: &World) -> usize {
    world.left("calls").lines().count()
}

#[test]
fn a_lesson_alone_costs_attempts_of_the_planner_and_ends_no_run() {
    let world = poisoned("wc none && cp none n", "exit 127 twice");
    let ran = again(&world, json!({"max_attempts": 3}), &[]).expect(0);
    let refused = refused(&world);
    assert_eq!((refused.len(), calls(&world)), (2, 3), "{refused:?}");
    let words = "/atoms/w: blocked: wc none (lesson m77: exit 127 twice)";
    assert!(refused.iter().all(|one| one.contains(words)), "{refused:?}");
    ran.shows("its last attempt, so taken in spite of m77");
    let log = world.descent(&["log", "--json"]).expect(0);
    assert!(log.stdout.contains("\"in_spite_of\":[\"m77\"]"), "{}", log.stdout);
}

#[test]
fn the_only_attempt_of_a_planner_is_its_last() {
    let world = poisoned("wc none && cp none n", "");
    let ran = again(&world, json!({"max_attempts": 1}), &[]).expect(0);
    ran.shows("in spite of m77");
    assert_eq!(calls(&world), 1);
}

#[test]
fn who_need_not_obey_the_law_or_has_no_memory_is_refused_nothing_for_a_lesson() {
    let world = poisoned("wc none && cp none n", "exit 127 twice");
    let free = json!({"max_attempts": 3, "law": "show"});
    let off = json!({"max_attempts": 3, "memory": "off"});
    for (constraints, flags) in
        [(free, &[][..]), (off, &[][..]), (json!({"max_attempts": 3}), &["--no-memory"][..])]
    {
        again(&world, constraints, flags).expect(0);
        assert_eq!(refused(&world), Vec::<String>::new());
    }
    assert_eq!(calls(&world), 3);
}

#[test]
fn a_program_that_says_nothing_of_an_approach_is_no_lesson_for_planners() {
    let world = poisoned("cat none > n", "exit 127 twice");
    let lessons = world.descent(&["memory", "--json"]).expect(0).json();
    assert_eq!(lessons["lessons"][0]["tool"], "wc");
    let path = world.descent(&["memory", "--json"]).expect(0).json()["path"].clone();
    let path = path.as_str().expect("the path of the lessons");
    let text = fs::read_to_string(path).expect("lessons");
    fs::write(path, text.replace("\"wc\"", "\"cat\"")).expect("written");
    again(&world, json!({"max_attempts": 3}), &[]).expect(0);
    assert_eq!(calls(&world), 1);
}

#[test]
fn lessons_stand_beside_what_the_law_blocks_but_for_the_last_attempt() {
    let world = poisoned("wc none && cp none n", "exit 127 twice");
    // A planner that plans what does not help first.
    let script = fs::read_to_string(world.root().join("bin/planner")).expect("a program");
    let first = of(json!({"w": task("touch begun")}));
    let script = script.replace(
        "cat <<",
        &format!("[ $((n)) != 1 ] || {{ cat <<'END'; exit; }}\n{first}\nEND\ncat <<"),
    );
    world.program("planner", &script);
    again(&world, json!({"max_attempts": 3}), &[]).expect(0);
    assert_eq!(calls(&world), 4);
    let directive = |n: u32| -> Value {
        serde_json::from_str(&world.left(&format!("directive.{n}"))).expect("JSON")
    };
    let lesson = json!([{"tool": "wc", "target": "none", "lesson": "m77"}]);
    assert_eq!(directive(2)["blocked"], lesson);
    assert_eq!(directive(4)["blocked"], json!([]));
    assert!(world.left("prompt.2").contains("- wc none, lesson m77\n"));
    assert!(!world.left("prompt.4").contains("lesson m77\n"));
}
