//! A quality leaf of the base case: who rates it, when, and what follows.
//!
//! Not here: reading an answer (`rating` of the core), talking with an agent (`agents::talked`).

use serde_json::{Value, json};

use crate::{
    agents::{
        conduct::configured,
        talked::{Claude, Codex},
    },
    processes::processes_in,
    world::{Ran, World, plan, processes, task, wait_for, with},
};

const GOOD: &str = r#"{"score": 0.9, "because": "it reads well"}"#;

fn leaf() -> Value {
    json!({"quality": "the note is readable"})
}

/// A plan of these atoms, whose base case has a command and a quality leaf.
fn rated(command: &str, leaf: &Value, limits: Value, atoms: Value) -> Value {
    let mut plan = plan(&[command], limits, atoms);
    plan["objective"]["base_case"] = json!({"all": [leaf, {"command": command}]});
    plan
}

/// A judge that runs this after it has noted that it was asked.
pub(crate) fn judge(world: &World, script: &str) {
    let asked = world.out("asked").display().to_string();
    let out = world.out("").display().to_string();
    let text = format!(
        "#!/bin/sh\ncp \"$DESCENT_PROMPT\" {out}/prompt\ncp \"$DESCENT_SCHEMA\" {out}/schema\n\
         echo $DESCENT_ROLE >> {asked}\n{script}\n"
    );
    let path = world.program("judge", &text);
    let command = format!("run = \"{}\"", path.display());
    world.write("descent.toml", &format!("[agents.j]\n{command}\n[roles]\njudge = \"j\"\n"));
}

pub(crate) fn says(answer: &str) -> String {
    format!("cat <<'END'\n{answer}\nEND")
}

pub(crate) fn asked(world: &World) -> usize {
    let path = world.out("asked");
    std::fs::read_to_string(path).map_or(0, |text| text.lines().count())
}

/// A world whose one atom writes a note.
pub(crate) fn with_note() -> World {
    let world = World::new();
    let atoms = json!({"A1": task("echo \"clear words\" > note")});
    world.align(&rated("test -f note", &leaf(), json!({}), atoms));
    world
}

fn rating(world: &World) -> Value {
    world.state()["run"]["ratings"][0].clone()
}

#[track_caller]
fn ended_without_rating(world: &World, ran: Ran, words: &str) {
    let ran = ran.expect(69);
    let result = ran.result();
    assert_eq!(result["result"], "stopped", "{result}");
    assert_eq!(result["code"], "E-NO-RATING", "{result}");
    let summary = result["summary"].as_str().unwrap();
    assert!(summary.contains(words), "no `{words}` in {summary}");
    let trail = world.state()["trail"].to_string();
    assert!(!trail.contains("refuted"), "{trail}");
    assert!(!trail.contains("failure"), "{trail}");
    assert_eq!(processes_in(&world.root()), Vec::<String>::new());
}

#[test]
fn a_quality_leaf_is_rated_once_when_every_machine_leaf_holds_and_completes_the_run() {
    let world = with_note();
    judge(&world, &says(GOOD));
    let ran = world.run().expect(0);
    assert_eq!(ran.count("consulting"), 1);
    assert_eq!(ran.count("consulted"), 1);
    let result = ran.result();
    let evidence = &result["evidence"][0];
    assert_eq!(evidence["verdict"], "pass", "{result}");
    let ended = evidence["ended"].as_str().unwrap();
    assert!(ended.contains("rated 0.9 by j"), "{ended}");
    assert_eq!(asked(&world), 1);
    assert_eq!(world.left("asked"), "judge\n");
    let prompt = world.left("prompt");
    for words in ["clear words", "test -f note", "the note is readable", "\"score\""] {
        assert!(prompt.contains(words), "no {words} in:\n{prompt}");
    }
    assert_eq!(world.state()["run"]["spent"]["consults"], 1);
    // A completed run is looked at again, and nobody is asked again.
    world.run().expect(0);
    assert_eq!(asked(&world), 1);
    // Nor is a person who looks: the rating is of that tree.
    world.descent(&["apply"]).expect(0);
    world.descent(&["verify"]).shows("rated 0.9 by j");
    assert_eq!(asked(&world), 1);
}

#[test]
fn a_score_below_the_threshold_refutes_the_choices_and_the_next_are_rated() {
    let world = World::new();
    let leaf = json!({
        "quality": "the note is readable", "pass_threshold": 4,
        "rubric": ["words", {"criterion": "size", "weight": 3, "levels": {"1": "long", "5": "short"}}],
    });
    let atoms = json!({
        "G1": {"kind": "any", "choices": ["A1", "A2"], "description": "a note"},
        "A1": task("echo blah > note"),
        "A2": task("echo words > note"),
    });
    world.align(&rated("test -f note", &leaf, json!({}), atoms));
    let bad = r#"{"levels": {"words": 5, "size": 3}, "because": "blah"}"#;
    let good = r#"{"levels": {"words": 1, "size": 5}, "because": "short"}"#;
    let script = format!(
        "if grep -q blah \"$DESCENT_PROMPT\"; then\n{}\nelse\n{}\nfi",
        says(bad),
        says(good)
    );
    judge(&world, &script);
    let ran = world.run().expect(0);
    let mut refuted = ran.lines().into_iter();
    let refuted = refuted.find(|line| line["event"] == "refuted").unwrap();
    assert_eq!(refuted["failed"], json!(["quality: the note is readable"]));
    assert_eq!(ran.count("refuted"), 1);
    assert_eq!(asked(&world), 2);
    assert_eq!(world.result_file("note"), "words\n");
    let schema: Value = serde_json::from_str(&world.left("schema")).unwrap();
    assert_eq!(schema["properties"]["levels"]["required"], json!(["words", "size"]));
    let ratings = world.state()["run"]["ratings"].clone();
    assert_eq!(ratings[0]["score"], 0.7, "{ratings}");
    assert_eq!(ratings[1]["score"], 0.8, "{ratings}");
}

#[test]
fn a_judge_with_a_scope_sees_the_difference_within_it_and_nothing_else() {
    for (scope, shown) in [
        ("docs/**", &["docs/a.md", "docs/b/c.md"][..]),
        ("docs/", &["docs/a.md", "docs/b/c.md"]),
        ("**/*.md", &["docs/a.md", "docs/b/c.md"]),
        ("*.c", &["main.c"]),
        ("src/**", &[]),
    ] {
        let world = World::new();
        let work =
            "mkdir -p docs/b; echo one > docs/a.md; echo two > docs/b/c.md; echo three > main.c";
        let leaf = with(leaf(), json!({"scope": scope}));
        world.align(&rated("test -f main.c", &leaf, json!({}), json!({"A1": task(work)})));
        judge(&world, &says(GOOD));
        world.run().expect(0);
        let prompt = world.left("prompt");
        for path in ["docs/a.md", "docs/b/c.md", "main.c"] {
            let head = format!("+++ b/{path}");
            assert_eq!(prompt.contains(&head), shown.contains(&path), "{scope}: {path}\n{prompt}");
        }
        let nothing = "Nothing that you rate differs from what the work began with.";
        assert_eq!(prompt.contains(nothing), shown.is_empty(), "{scope}\n{prompt}");
    }
}

#[test]
fn who_tries_another_way_is_told_what_the_judge_said_of_the_last() {
    let world = World::new();
    let by_worker = |words: &str| {
        let mut atom = with(task(""), json!({"description": words}));
        atom.as_object_mut().unwrap().remove("action");
        atom
    };
    let atoms = json!({
        "G1": {"kind": "any", "choices": ["A1", "A2"], "description": "a note"},
        "A1": by_worker("with a pen"),
        "A2": by_worker("in print"),
    });
    world.align(&rated("test -f note", &leaf(), json!({}), atoms));
    let bad = r#"{"score": 0.3, "because": "the letter x is ugly"}"#;
    let script =
        format!("if grep -q A1 \"$DESCENT_PROMPT\"; then\n{}\nelse\n{}\nfi", says(bad), says(GOOD));
    judge(&world, &script);
    let out = world.out("").display().to_string();
    let worker =
        format!("echo $DESCENT_ATOM > note; cp $DESCENT_PROMPT {out}/worker.$DESCENT_ATOM");
    let text = format!(
        "agents.worker.run = \"{worker}\"\n{}worker = \"worker\"\n",
        world.read("descent.toml")
    );
    world.write("descent.toml", &text);
    world.run().expect(0);
    let told = world.left("worker.A2");
    for words in ["the goal was not reached with it", "rated 0.3 by j", "the letter x is ugly"] {
        assert!(told.contains(words), "no `{words}` in:\n{told}");
    }
}

#[test]
fn nobody_is_asked_while_a_machine_leaf_fails_or_decides() {
    let world = World::new();
    let atoms = json!({"A1": task("touch other")});
    world.align(&rated("test -f note", &leaf(), json!({}), atoms));
    judge(&world, &says(GOOD));
    world.run().expect(5);
    assert_eq!(asked(&world), 0);
    let world = World::new();
    let holds = "test -f a.txt";
    let mut either = rated(holds, &leaf(), json!({}), json!({"A1": task("touch note")}));
    either["objective"]["base_case"] = json!({"any": [leaf(), {"command": holds}]});
    world.align(&either);
    judge(&world, &says(GOOD));
    world.run().expect(0);
    assert_eq!(asked(&world), 0);
}

#[test]
fn without_a_judge_a_run_is_refused_and_the_file_stays_valid() {
    let world = with_note();
    world.descent(&["validate"]).expect(0);
    let before = world.state_bytes();
    world
        .run()
        .expect(78)
        .says("E-NO-JUDGE")
        .says("quality: the note is readable")
        .says("roles.judge");
    assert_eq!(world.state_bytes(), before);
}

#[test]
fn a_shared_workspace_has_no_tree_to_rate() {
    let world = World::new();
    let atoms = json!({"A1": task("touch note")});
    let limits = json!({"workspace": "shared"});
    world
        .try_align(&rated("test -f note", &leaf(), limits, atoms))
        .expect(65)
        .says("the workspace is `shared`");
}

#[test]
fn a_judge_whose_answers_cannot_be_used_ends_the_run_and_refutes_nothing() {
    let big = "head -c 10000000 /dev/zero | tr '\\0' x".to_owned();
    let rows = [
        (says("I like it."), "no JSON object"),
        (says(r#"{"score": 11, "because": "best ever"}"#), "from 0 to 1"),
        (says(r#"{"score": "high", "because": ""}"#), "from 0 to 1"),
        (says(r#"{"verdict": "pass"}"#), "`score`"),
        (big, "64 KiB"),
        ("echo gone >&2; exit 3".to_owned(), "exit 3"),
        ("echo later; exit 75".to_owned(), "tried again"),
        ("kill -9 $$".to_owned(), "signal 9"),
    ];
    for (script, words) in rows {
        let world = World::new();
        let atoms = json!({"A1": task("touch note")});
        let limits = json!({"max_transient": 1});
        world.align(&rated("test -f note", &leaf(), limits, atoms));
        judge(&world, &script);
        ended_without_rating(&world, world.descent(&["run", "--json"]), words);
        assert_eq!(asked(&world), 2, "{script}");
        // The work is kept: another judge rates it, and nothing is made again.
        judge(&world, &says(GOOD));
        let ran = world.run().expect(0);
        assert_eq!(ran.count("attempt_started"), 0);
    }
}

#[test]
fn an_answer_that_a_talking_judge_gives_is_read_in_prose_and_its_usage_counts() {
    for protocol in [Claude, Codex] {
        let world = with_note();
        let answer =
            [("FIXTURE_ANSWER", "Well:\n```json\n{\"score\": 1, \"because\": \"yes\"}\n```")];
        let agent = protocol.agent(&world, "works", &answer);
        configured(&world, &[("fixture", &agent)], "judge = \"fixture\"");
        world.run().expect(0);
        assert_eq!(rating(&world)["score"], 1, "{protocol:?}");
        let spent = world.state()["run"]["spent_by_agent"][0].clone();
        assert_eq!(spent["role"], "judge", "{spent}");
        assert_eq!(spent["agent"], "fixture", "{spent}");
        assert!(spent["calls"].as_u64().unwrap() > 0, "{spent}");
    }
}

#[test]
fn a_judge_that_cannot_be_used_stops_the_run_with_its_code_and_the_next_run_asks_again() {
    let world = with_note();
    let agent = Claude.agent(&world, "login", &[]);
    configured(&world, &[("fixture", &agent)], "judge = \"fixture\"");
    let result = world.run().expect(69).result();
    assert_eq!(result["code"], "E-AGENT-LOGIN", "{result}");
    judge(&world, &says(GOOD));
    world.run().expect(0);
}

#[test]
fn a_question_is_dropped_by_a_stop_and_asked_again_by_the_next_run() {
    let world = with_note();
    let nap = crate::world::long_nap();
    judge(&world, &format!("sleep {nap}"));
    let mut running = world.start(&["run"]);
    wait_for("the judge", || asked(&world) == 1);
    assert_eq!(world.state()["run"]["consult"]["question"], "rate");
    let question = world.status()["question"].clone();
    assert_eq!(question["agent"], "j");
    assert_eq!(question["about"], "quality: the note is readable");
    world.descent(&["status"]).expect(0).shows("asks     j as judge, for");
    world.descent(&["why"]).expect(0).shows("the judge j is asked: quality: the note is readable");
    world.descent(&["stop"]).expect(0);
    running.wait().expect(3);
    assert_eq!(processes(&nap), Vec::<String>::new());
    assert!(world.state()["run"].get("consult").is_none());
    judge(&world, &says(GOOD));
    let result = world.run().expect(0).result();
    assert_eq!(asked(&world), 2);
    // The work was done by the run before.
    assert_eq!(result["reason"], "base_case");
    assert_eq!(result["summary"], "the base case holds; 1 atom solved, 1 attempt");
}

#[test]
fn a_kill_in_mid_question_leaves_nothing_running_and_an_answer_that_was_kept_is_used() {
    let world = with_note();
    let nap = crate::world::long_nap();
    judge(&world, &format!("sleep {nap}"));
    let running = world.start(&["run"]);
    wait_for("the judge", || asked(&world) == 1);
    let consult = world.state()["run"]["consult"].clone();
    running.kill();
    judge(&world, &says(GOOD));
    world.run().expect(0);
    assert_eq!(processes(&nap), Vec::<String>::new());
    // The same question, under its own name.
    let outcome = world.repo().join(".descent/state.json.d/attempts/consult-1/outcome.json");
    let kept = std::fs::read_to_string(&outcome).unwrap();
    assert!(kept.contains("it reads well"), "{kept}");
    assert_eq!(world.state()["run"]["spent"]["consults"], 1);
    // A loop that died between the answer and its commit finds it there, and asks nobody.
    let mut state = world.state();
    state["run"]["consult"] = consult;
    state["run"]["status"] = json!("running");
    state["run"].as_object_mut().unwrap().remove("ratings");
    world.save_records(&state);
    world.run().expect(0);
    assert_eq!(asked(&world), 2);
    assert_eq!(rating(&world)["score"], 0.9);
}

#[test]
fn an_edit_of_what_is_rated_makes_the_question_void() {
    let world = with_note();
    let go = world.out("go").display().to_string();
    judge(&world, &format!("until [ -f {go} ]; do sleep 0.02; done; {}", says(GOOD)));
    let mut running = world.start(&["run"]);
    wait_for("the judge", || asked(&world) == 1);
    world.replace_in_state("the note is readable", "the note is short");
    wait_for("another question", || asked(&world) == 2);
    world.touch("go");
    running.wait().expect(0);
    let prompt = world.left("prompt");
    assert!(prompt.contains("the note is short"), "{prompt}");
    assert_eq!(world.state()["run"]["ratings"].as_array().unwrap().len(), 1);
}

#[test]
fn a_limit_of_calls_that_leaves_nothing_for_the_judge_ends_the_run_without_a_rating() {
    let world = World::new();
    let by = with(task("touch note"), json!({"description": "a note"}));
    let limits = json!({"budget": {"calls": 1}});
    world.align(&rated("test -f note", &leaf(), limits, json!({"A1": by})));
    let agent = Claude.agent(&world, "works", &[("FIXTURE_ANSWER", "no answer")]);
    configured(&world, &[("fixture", &agent)], "judge = \"fixture\"");
    let result = world.run().expect(5).result();
    assert_eq!(result["reason"], "budget.calls", "{result}");
}

#[test]
fn a_rating_in_flight_leaves_enough_of_a_limit_for_itself() {
    let world = World::new();
    let atoms = json!({
        "G": {"kind": "any", "choices": ["A1", "A2"]},
        "A1": with(task("echo 1 >note"), json!({"description": "a note"})),
        "A2": with(task("echo 2 >note"), json!({"description": "another note"})),
    });
    let limits = json!({"budget": {"calls": 14}, "planning": {"changes": 0}});
    world.align(&rated("test -f note", &leaf(), limits, atoms));
    let poor = r#"{"score": 0.1, "because": "no"}"#;
    let slow = [("FIXTURE_ANSWER", poor), ("FIXTURE_PAUSE", "200")];
    let agent = Claude.agent(&world, "slow", &slow);
    configured(&world, &[("fixture", &agent)], "judge.rate = \"fixture\"");
    let spent = world.run().expect(5).result()["spent"].clone();
    assert_eq!((&spent["consults"], &spent["calls"]), (&json!(2), &json!(14)), "{spent}");
    assert_eq!(rating(&world)["score"], 0.1);
    assert_eq!(world.state()["run"]["ratings"].as_array().unwrap().len(), 2);
}
