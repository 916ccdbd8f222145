//! The value that an attempt gives, compared with the `output_schema` of its atom.

use serde_json::{Value, json};

use super::workers::{by_worker, world};
use crate::{
    support::agents,
    world::{Running, World, plan, task, with},
};

fn shaped(schema: &Value) -> Value {
    with(by_worker("find the port"), json!({"output_schema": schema}))
}

fn port() -> Value {
    json!({"type": "object", "required": ["port"], "properties": {"port": {"type": "integer"}}})
}

fn agreed(attempts: u32, atom: &Value) -> Value {
    plan(
        &["test -f done"],
        json!({"max_attempts": attempts, "max_transient": 0}),
        json!({"A1": atom}),
    )
}

/// A worker that gives this value; an empty text gives none.
fn gives(value: &str) -> String {
    let value = match value {
        "" => String::new(),
        value => format!(", \"value\": {value}"),
    };
    format!("touch done; echo '{{\"summary\": \"looked\"{value}}}' > \"$DESCENT_RESULT\"")
}

fn failure(world: &World) -> Value {
    let state = world.state();
    let trail = state["trail"].as_array().unwrap();
    let mut newest_first = trail.iter().rev();
    let failure = newest_first.find(|entry| entry["type"] == "failure");
    failure.expect("a failure").clone()
}

#[test]
fn a_value_that_does_not_fit_its_schema_fails_the_attempt_with_its_place() {
    for (value, reason) in [
        ("", "value: it is missing, and its schema does not take null"),
        ("null", "value: it is missing, and its schema does not take null"),
        ("80", "value: it is not of type \"object\""),
        ("{}", "value: \"port\" is a required property"),
        (r#"{"port": "80"}"#, "value: /port: it is not of type \"integer\""),
    ] {
        let world = world(&gives(value));
        world.align(&agreed(1, &shaped(&port())));
        world.run().expect(5);
        let failure = failure(&world);
        assert_eq!(failure["reason"], reason, "{value}");
        assert_eq!(failure["class"], "logical", "{value}");
        world.descent(&["why", "A1"]).expect(0).shows(reason);
    }
}

#[test]
fn a_value_that_fits_and_none_where_null_is_taken_are_results() {
    let nullable = json!({"type": ["object", "null"]});
    for (value, schema) in
        [(r#"{"port": 80}"#, port()), ("", nullable.clone()), ("null", nullable), ("", json!({}))]
    {
        let world = world(&gives(value));
        world.align(&agreed(1, &shaped(&schema)));
        world.run().expect(0);
    }
    // Without a result file there is no value either.
    let world = world("touch done");
    world.align(&agreed(1, &shaped(&json!({"type": "null"}))));
    world.run().expect(0);
}

#[test]
fn an_action_is_held_to_the_schema_too_and_a_failure_of_its_own_comes_first() {
    let world = World::new();
    let atom = with(task("touch done"), json!({"output_schema": port()}));
    world.align(&agreed(1, &atom));
    world.run().expect(5);
    assert!(failure(&world)["reason"].as_str().unwrap().contains("value: it is missing"));

    let world = World::new();
    let atom = with(task("exit 4"), json!({"output_schema": port()}));
    world.align(&agreed(1, &atom));
    world.run().expect(5);
    assert_eq!(failure(&world)["reason"], "exit 4");
}

#[test]
fn the_next_attempt_is_told_the_misfit() {
    let world = world(
        "cp \"$DESCENT_PROMPT\" OUT/prompt.$DESCENT_ATTEMPT; touch done
[ $DESCENT_ATTEMPT = 2 ] && value='{\"port\": 80}' || value='{\"port\": \"eighty\"}'
echo \"{\\\"summary\\\": \\\"s\\\", \\\"value\\\": $value}\" > \"$DESCENT_RESULT\"",
    );
    world.align(&agreed(2, &shaped(&port())));
    world.run().expect(0);
    let (first, second) = (world.left("prompt.1"), world.left("prompt.2"));
    assert!(first.contains("fits this JSON Schema"), "{first}");
    let told = "A1.1 failed: value: /port: it is not of type \"integer\"";
    assert!(second.contains(told), "{second}");
    assert_eq!(world.state()["bindings"]["A1"]["value"], json!({"port": 80}));
}

#[test]
fn a_misfit_after_an_effect_that_may_happen_once_leaves_it_in_doubt() {
    let world = World::new();
    let atom = with(
        task("echo sent >> OUT; touch done"),
        json!({"output_schema": port(), "effect": "external"}),
    );
    let text = atom.to_string();
    let sent = world.out("sent").display().to_string();
    let atom: Value = serde_json::from_str(&text.replace("OUT", &sent)).unwrap();
    world.align(&agreed(2, &atom));
    world.run().expect(6);
    assert_eq!(world.state()["work_graph"]["atoms"]["A1"]["status"], "in_doubt");
    assert_eq!(world.left("sent"), "sent\n");
}

/// The fixture agents, as tables of `descent.toml`.
fn talking(world: &World, behaviour: &str) -> [String; 2] {
    let sessions = world.out("sessions").display().to_string();
    let log = world.out("told").display().to_string();
    let argv = |program: &std::path::Path, more: &[&str]| {
        let program = program.display().to_string();
        let mut words = vec![
            "env".to_owned(),
            format!("FIXTURE_SESSIONS={sessions}"),
            format!("FIXTURE_LOG={log}"),
            "FIXTURE_DO=touch done".to_owned(),
            program,
            behaviour.to_owned(),
        ];
        words.extend(more.iter().map(|word| (*word).to_owned()));
        json!(words).to_string()
    };
    [
        format!("acp = {}", argv(&agents::acp(), &[])),
        format!(
            "headless = {{events = \"codex-exec-json\", argv = {}, resume = [\"resume\", \"{{session}}\"], \
             flags = [\"-\"]}}",
            argv(&agents::headless(), &["--dialect", "codex-exec-json"])
        ),
    ]
}

/// Worlds whose worker is a fixture agent, over each way to talk with one.
fn talked(behaviour: &str, schema: &Value) -> Vec<World> {
    let world = |way: usize| {
        let world = World::new();
        let table = talking(&world, behaviour)[way].clone();
        world.write(
            "descent.toml",
            &format!("[agents.fixture]\n{table}\n[roles]\nworker = \"fixture\"\n"),
        );
        world.align(&agreed(1, &shaped(schema)));
        world
    };
    vec![world(0), world(1)]
}

#[test]
fn an_agent_mends_its_value_in_its_session_when_it_is_told_the_misfit() {
    let schema = json!({"type": "object", "required": ["told"]});
    for world in talked("mends", &schema) {
        world.run().expect(0);
        let state = world.state();
        assert_eq!(state["run"]["attempts_started"], 1);
        let told = &state["bindings"]["A1"]["value"]["told"];
        assert_eq!(told.as_array().unwrap().len(), 1, "{told}");
        let log = world.left("told");
        let asked =
            "Your answer cannot be used: value: it is missing, and its schema does not take null";
        assert_eq!(log.matches(asked).count(), 1, "{log}");
        assert!(log.contains("fits the JSON Schema of the task"), "{log}");
    }
}

#[test]
fn an_agent_that_does_not_mend_its_value_is_asked_twice_and_then_has_failed() {
    for world in talked("works", &port()) {
        world.run().expect(5);
        let reason = "value: \"port\" is a required property";
        assert_eq!(failure(&world)["reason"], reason);
        let log = world.left("told");
        assert_eq!(log.matches("Your answer cannot be used").count(), 2, "{log}");
    }
}

/// Schemas that nobody takes, each with a part of its fault.
fn hostile() -> Vec<(Value, &'static str)> {
    let deep = (0..80).fold(json!({}), |inner, _| json!({"items": inner}));
    let twice = |n: u32| {
        let next = json!({"$ref": format!("#/$defs/a{}", n + 1)});
        json!({"allOf": [next, next]})
    };
    let mut many = json!({"$ref": "#/$defs/a0", "$defs": {"a15": {"minimum": 0}}});
    for n in 0..15 {
        many["$defs"][format!("a{n}")] = twice(n);
    }
    vec![
        (json!({"type": "strin"}), "/type: "),
        (json!({"pattern": "(a{1000}){1000}"}), "is not a \\\"regex\\\""),
        (json!({"pattern": "(?=a)b"}), "is not a \\\"regex\\\""),
        (json!({"$ref": "http://127.0.0.1:1/a.json"}), "is not looked up"),
        (json!({"$ref": "file:///etc/passwd"}), "is not looked up"),
        (json!({"items": {"$ref": "#"}}), "leads back to itself"),
        (deep, "nests deeper"),
        (many, "written out"),
        (json!({"title": "x".repeat(70_000)}), "more than 64 KiB"),
    ]
}

#[test]
fn a_schema_that_cannot_be_used_is_refused_before_anything_is_agreed() {
    for (schema, words) in hostile() {
        let world = world("touch done");
        world.write("plan.json", &agreed(1, &shaped(&schema)).to_string());
        let ran = world.descent(&["align", "-f", "plan.json", "--json"]).expect(65);
        assert!(ran.stdout.contains("E-INVALID"), "{}", ran.stdout);
        assert!(ran.stdout.contains(words), "{words}: {}", ran.stdout);
        assert!(ran.stdout.contains("/work_graph/atoms/A1/output_schema"), "{}", ran.stdout);
        assert!(!world.repo().join(".descent/state.json").exists());
        world.descent(&["validate", "plan.json"]).expect(65);
    }
}

#[test]
fn a_bad_schema_is_refused_in_added_atoms_and_in_an_edit() {
    let world = world(&gives(r#"{"port": 80}"#));
    world.align(&agreed(1, &shaped(&port())));
    let before = world.state();
    let (bad, words) = (json!({"$ref": "http://127.0.0.1:1/a.json"}), "is not looked up");
    let more = json!({"work_graph": {"atoms": {"B1": shaped(&bad)}}});
    world.write("more.json", &more.to_string());
    let added = world.descent(&["redirect", "--add", "more.json", "-y"]).expect(65);
    assert!(added.stderr.contains(words), "{}", added.stderr);

    let mut edited = before.clone();
    edited["work_graph"]["atoms"]["A1"]["output_schema"] = bad;
    let typed = world.out("typed.json");
    std::fs::write(&typed, crate::whole_records::file(&edited).to_string()).unwrap();
    let editor = format!("cp {}", typed.display());
    let mut edit = world.command(&["edit"]);
    edit.env("VISUAL", editor);
    let ran = Running::of(edit).wait().expect(65);
    assert!(ran.stderr.contains(words), "{}", ran.stderr);
    assert_eq!(world.state(), before);
}

#[test]
fn a_state_with_a_bad_schema_is_read_and_its_attempt_fails_before_anything_starts() {
    let world = world("touch OUT/started; touch done");
    world.align(&agreed(1, &shaped(&port())));
    let mut state = world.state();
    state["work_graph"]["atoms"]["A1"]["output_schema"] = json!({"type": "strin"});
    world.save_records(&state);
    world.descent(&["status"]).expect(0);
    world.descent(&["validate"]).expect(65).says("/work_graph/atoms/A1/output_schema");
    world.run().expect(5);
    let reason = failure(&world)["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("its output_schema cannot be used: /type: "), "{reason}");
    assert!(!world.out("started").exists());
}
