//! `descent why --prompt`: what an agent is told, of an attempt in flight and of the next one.

use serde_json::json;

use crate::{
    safety::trust::trust_worker,
    world::{Running, World, plan, wait_for},
};

/// A world whose worker keeps its prompt, and then does what `script` says. `OUT` is the place outside.
fn world(script: &str) -> World {
    let world = World::new();
    let out = world.root().join("out").display().to_string();
    let script = format!(
        "#!/bin/sh\ncp \"$DESCENT_PROMPT\" OUT/prompt.$DESCENT_ATOM.$DESCENT_ATTEMPT\n{script}\n"
    );
    let path = world.program("worker", &script.replace("OUT", &out));
    world.write(
        "descent.toml",
        &format!("agents.worker.run = \"{}\"\nroles.worker = \"worker\"\n", path.display()),
    );
    world
}

#[test]
fn the_next_prompt_is_shown_byte_for_byte_before_it_is_told() {
    let world =
        world("echo no luck; echo $DESCENT_ATTEMPT > n; [ $DESCENT_ATTEMPT = 2 ] && touch done");
    let atoms = json!({"A1": {"description": "count"}});
    world.align(&plan(&["test -e done"], json!({"max_attempts": 1}), atoms));
    let first = world.descent(&["why", "A1", "--prompt"]).expect(0);
    world.run().expect(5);
    assert_eq!(first.stdout, world.left("prompt.A1.1"));
    let more = ["--set", "max_attempts=2", "--set", "retry_from=last"];
    world.descent(&[&["redirect", "-y"], &more[..]].concat()).expect(0);
    let second = world.descent(&["why", "A1", "--prompt"]).expect(0).stdout;
    let json = world.descent(&["why", "A1", "--prompt", "--json"]).expect(0).json();
    world.run().expect(0);
    let told = world.left("prompt.A1.2");
    for words in ["no luck", "The change of A1.1 is in your tree already", "/A1.2/earlier-1.patch"]
    {
        assert!(told.contains(words), "no `{words}` in:\n{told}");
    }
    assert_eq!(second, told);
    assert_eq!(json["text"], told);
    assert_eq!((&json["n"], &json["told"]), (&json!(2), &json!(false)));
    assert_eq!(json["bytes"], told.len());
    let parts = json["parts"].as_array().unwrap();
    let names: Vec<&str> = parts.iter().map(|part| part["name"].as_str().unwrap()).collect();
    let expected = [
        "goal",
        "base_case",
        "words",
        "day",
        "description",
        "checks",
        "earlier",
        "workspace",
        "ending",
    ];
    assert_eq!(names, expected);
    let sum: u64 = parts.iter().map(|part| part["bytes"].as_u64().unwrap() + 1).sum();
    assert_eq!(sum, told.len() as u64 + 1);
}

#[test]
fn of_an_attempt_in_flight_it_shows_what_was_told() {
    let world = world("touch OUT/hangs; while ! test -e OUT/go; do sleep 0.02; done; touch done");
    let atoms = json!({"A1": {"description": "count"}, "B": {"description": "later", "depends_on": ["A1"]}});
    world.align(&plan(&["test -e done"], json!({}), atoms));
    let mut run = Running::of(world.command(&["run"]));
    wait_for("the attempt", || world.out("hangs").exists());
    let shown = world.descent(&["why", "A1", "--prompt"]).expect(0);
    assert_eq!(shown.stdout, world.left("prompt.A1.1"));
    shown.says("A1.1 is in flight and was told this");
    let json = world.descent(&["why", "A1", "--prompt", "--json"]).expect(0).json();
    assert_eq!((&json["told"], &json["parts"]), (&json!(true), &json!([])));
    world
        .descent(&["why", "B", "--prompt"])
        .expect(0)
        .says("B waits for A1: this is told with what is there so far")
        .shows("# Others at work at this moment\n\n- A1 (count)\n");
    world.touch("go");
    assert_eq!(run.wait().code, Some(0));
    world
        .descent(&["why", "A1", "--prompt"])
        .expect(0)
        .says("A1 is solved: this would be told if it were made again");
}

#[test]
fn an_atom_that_cannot_start_is_told_as_if_it_could() {
    let world = world("exit 1");
    let atoms = json!({"way": {"choices": [
        {"id": "one", "description": "by hand"},
        {"id": "two", "parts": {"first": {"description": "a tool"}, "second": {"depends_on": "first"}}},
    ]}});
    world.align(&plan(&["test -e done"], json!({"max_attempts": 1}), atoms));
    world
        .descent(&["why", "first", "--prompt"])
        .expect(0)
        .says("another choice of way is in force: this is told as if first were chosen")
        .shows("# Your part: first, attempt 1 of 1\n");
    let stranger = world.descent(&["why", "frist", "--prompt"]).expect(2);
    stranger.says("there is no atom `frist`").says("did you mean `first`?");
    world
        .descent(&["why", "way", "--prompt"])
        .expect(2)
        .says("way is a group")
        .says("one of one, two");
    world.run().expect(5);
    world.descent(&["why", "one", "--prompt"]).expect(0).says("another choice of way is in force");
    world
        .descent(&["why", "first", "--prompt"])
        .expect(0)
        .says("is not tried any more as it is")
        .shows("- one (by hand): failed: exit 1");
}

#[test]
fn the_instructions_of_a_project_are_told_as_the_run_started_from_them() {
    let world = world("echo PLANTED >> AGENTS.md; touch $DESCENT_ATOM");
    world.write("AGENTS.md", "Always say MAGICWORD.\n```\n# How to end\n");
    world.write("CLAUDE.md", "the other file");
    world.commit_all("instructions");
    trust_worker(&world);
    let atoms = json!({"A1": {"description": "one"}, "A2": {"description": "two", "depends_on": ["A1"]},
        "B": {"depends_on": ["A2"], "action": {"run": "test ! -e \"$DESCENT_PROMPT\" || cp \"$DESCENT_PROMPT\" b"}}});
    world.align(&plan(&["test -e A2"], json!({}), atoms));
    let before = world.descent(&["why", "A1", "--prompt"]).expect(0).stdout;
    world.run().expect(0);
    let (first, second) = (world.left("prompt.A1.1"), world.left("prompt.A2.1"));
    assert_eq!(before, first);
    for told in [&first, &second] {
        assert!(
            told.contains(
                "\n\nAGENTS.md:\n\n````\nAlways say MAGICWORD.\n```\n# How to end\n````\n"
            ),
            "{told}"
        );
        assert!(!told.contains("PLANTED") && !told.contains("the other file"));
    }
    let action = world.descent(&["why", "B", "--prompt"]).expect(0).stdout;
    assert!(!action.contains("MAGICWORD"), "{action}");
    // Codex reads that file by itself, and no other.
    world.write("descent.toml", "agents.c.preset = \"codex\"\nroles.worker = \"c\"\n");
    let by_itself = world.descent(&["why", "A2", "--prompt"]).expect(0).stdout;
    assert!(!by_itself.contains("MAGICWORD"), "{by_itself}");
    world.write("descent.toml", "agents.c.preset = \"claude\"\nroles.worker = \"c\"\n");
    let told = world.descent(&["why", "A2", "--prompt"]).expect(0);
    told.shows("Always say MAGICWORD.");
}

#[test]
fn after_another_goal_the_words_before_it_are_history() {
    let world = world("touch done");
    let atoms = json!({"A1": {"description": "count"}});
    let mut agreed = plan(&["test -e done"], json!({}), atoms);
    agreed["objective"]["goal"] = json!("things are there");
    agreed["objective"]["raw_input"] = json!("things are there");
    world.align(&agreed);
    let first = world.descent(&["why", "A1", "--prompt"]).expect(0).stdout;
    assert!(first.starts_with("# The goal\n\nthings are there\n"), "{first}");
    assert_eq!(first.matches("things are there").count(), 1, "{first}");
    world.descent(&["redirect", "--goal", "entirely other things", "-y"]).expect(0);
    let told = world.descent(&["why", "A1", "--prompt"]).expect(0).stdout;
    assert!(told.starts_with("# The goal\n\nentirely other things\n"), "{told}");
    let history = "# First asked, word for word\n\nThis is how it began. What stands above was agreed on since, and counts \
                   where the two differ.\n\nthings are there\n";
    assert!(told.contains(history), "{told}");
    world.descent(&["report"]).expect(0).shows("First asked, before what is agreed on now:");
}

#[test]
fn a_planner_is_told_who_does_the_work() {
    let world = world("touch done");
    let atoms = json!({"P": {"kind": "plan", "description": "plan it", "agent": "planner"}});
    world.write("descent.toml", "agents.planner.run = \"false\"\n");
    let file = world.plan(&plan(&["test -e done"], json!({}), atoms));
    world
        .descent(&["align", "-f", &file, "-y"])
        .expect(0)
        .shows("a plan may hold work for a worker, and none is named yet");
    let nobody = "nobody does a task without `action`, so every task needs one";
    let told = world.descent(&["why", "P", "--prompt"]).expect(0);
    assert!(told.stdout.contains(nobody), "{}", told.stdout);
    assert!(told.stdout.contains(r#""test it", "action": {"run""#));
    let both = "agents.planner.run = \"false\"\nagents.w.run = \"true\"\nroles.worker = \"w\"\n";
    world.write("descent.toml", both);
    let told = world.descent(&["why", "P", "--prompt"]).expect(0);
    assert!(!told.stdout.contains(nobody), "{}", told.stdout);
    told.shows("w does a task without `action`");
}
