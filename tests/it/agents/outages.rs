//! Providers that are down: through agents by events and models over HTTP.

use serde_json::json;

use super::{
    limits::scripted_plan,
    models::{Model, align, configure, fragment, start},
    talked::by_worker,
};
use crate::world::{World, plan, task, wait_for, with};

/// The first lines of a stand-in for claude: each start is noted, and `down` is its answer while its server is.
const CLAUDE: &str = r#"
echo "$1" >> OUT/turns
read -r prompt
echo '{"type":"system","subtype":"init","session_id":"one"}'
down() {
  echo '{"type":"result","subtype":"success","is_error":true,"api_error_status":529,"result":"API Error: 529 Overloaded"}'
  exit 1
}
works() { echo '{"type":"assistant","message":{"id":"m","model":"m","content":[],"usage":{}}}'; }
says() { echo "{\"type\":\"result\",\"subtype\":\"success\",\"usage\":{},\"result\":\"$1\"}"; }
made() { says '{\"success\": true, \"summary\": \"made\"}'; }
turn=$(wc -l < OUT/turns)
"#;

fn world(plan: &serde_json::Value, script: &str) -> World {
    scripted_plan("claude-stream-json", &format!("{CLAUDE}{script}"), plan)
}

fn one_task(limits: serde_json::Value) -> serde_json::Value {
    plan(&["test -f done"], limits, json!({"A1": by_worker("make it")}))
}

fn wait_for_wait(world: &World) {
    wait_for("a wait", || world.state()["run"]["waits"].is_array());
}

#[test]
fn an_outage_that_ends_costs_no_attempt_and_no_other_choice_is_taken() {
    let group = json!({"kind": "any", "choices": ["first", "poor"], "speculative": true});
    let atoms = json!({
        "G": with(group, json!({"description": "a way"})),
        "first": by_worker("make it"),
        "poor": task("echo poor > done"),
    });
    let limits = json!({"max_attempts": 1, "max_transient": 0, "max_parallel_agents": 1});
    let world = world(
        &plan(&["test -f done"], limits, atoms),
        "[ \"$turn\" -gt 2 ] || down\necho first > done\nmade\n",
    );
    let mut run = world.start(&["run", "--json"]);
    wait_for_wait(&world);
    let status = world.descent(&["status"]).expect(0);
    let words = "first: script is asked again in";
    assert!(status.stdout.contains(words), "{}", status.stdout);
    let words = "its provider is down: API Error: 529 Overloaded";
    let shown = status.stdout.split_whitespace().collect::<Vec<_>>();
    assert!(shown.join(" ").contains(words), "{}", status.stdout);
    let ran = run.wait().expect(0);
    assert!(ran.stdout.contains(words), "{}", ran.stdout);
    let result = ran.result();
    assert_eq!(result["spent"]["attempts"], 1, "{result}");
    assert_eq!(world.left("turns"), "\n\n\n");
    let state = world.state();
    assert!(state["bindings"]["first"].is_object(), "{state}");
    assert!(state["bindings"]["poor"].is_null(), "{state}");
    assert!(state["run"]["spent"]["transient"].as_u64().unwrap_or(0) == 0);
}

#[test]
fn an_agent_whose_provider_goes_down_while_it_works_goes_on_in_its_session_and_tree() {
    let world = world(
        &one_task(json!({"max_attempts": 1, "max_transient": 0})),
        "works\ncase $1 in\nresume) mv half done; made ;;\n*) touch half; down ;;\nesac\n",
    );
    let result = world.run().expect(0).result();
    assert_eq!(world.left("turns"), "\nresume\n");
    assert_eq!(result["spent"]["attempts"], 1, "{result}");
    assert_eq!(result["spent"]["calls"], 2, "{result}");
}

#[test]
fn a_prompt_that_is_too_long_fails_at_once_with_its_words() {
    let end = r#"{"type":"result","is_error":true,"result":"API Error: Prompt is too long"}"#;
    let world = world(&one_task(json!({})), &format!("echo '{end}'\n"));
    world.run().expect(5);
    assert_eq!(world.left("turns"), "\n");
    let why = world.descent(&["why", "A1"]).stdout;
    assert!(why.contains("Prompt is too long"), "{why}");
}

#[test]
fn a_judge_whose_provider_is_down_is_asked_again() {
    let mut rated = plan(&["test -f done"], json!({}), json!({"A1": task("touch done")}));
    rated["objective"]["base_case"] =
        json!({"all": [{"command": "test -f done"}, {"quality": "it is clear"}]});
    let world = world(
        &rated,
        "[ \"$turn\" -gt 1 ] || down\nsays '{\\\"score\\\": 0.9, \\\"because\\\": \\\"so\\\"}'\n",
    );
    let mut run = world.start(&["run"]);
    wait_for_wait(&world);
    let waits = world.state()["run"]["waits"].clone();
    assert_eq!(waits[0]["question"], "rate", "{waits}");
    assert!(waits[0]["because"].to_string().contains("529"), "{waits}");
    run.wait().expect(0);
    assert!(world.state()["run"]["waits"].is_null());
}

#[test]
fn an_agent_that_waits_for_the_network_by_itself_is_waited_for_and_a_stop_is_obeyed() {
    let error = r#"{"type":"error","message":"Reconnecting... waiting for network (Connection failed: error sending request)"}"#;
    let world = scripted_plan(
        "codex-exec-json",
        &format!(
            "cat > /dev/null\necho '{{\"type\":\"thread.started\",\"thread_id\":\"one\"}}'\n\
             echo >> OUT/turns\nwhile sleep 0.1; do echo '{error}'; done\n"
        ),
        &one_task(json!({"max_transient": 0})),
    );
    let config = world.read("descent.toml");
    world.write("descent.toml", &config.replace("[roles]", "idle = \"1s\"\n[roles]"));
    let run = world.start(&["run"]);
    wait_for_wait(&world);
    let because = world.state()["run"]["waits"][0]["because"].to_string();
    assert!(because.contains("waiting for network"), "{because}");
    run.kill();
    let starts = world.left("turns").len();
    let mut run = world.start(&["run"]);
    wait_for("it is asked at once", || world.left("turns").len() > starts);
    wait_for_wait(&world);
    world.descent(&["stop"]).expect(0);
    run.wait().expect(3);
    assert_eq!(world.state()["run"]["spent"]["attempts"].as_u64().unwrap_or(0), 0);
}

#[test]
fn a_model_whose_server_stays_down_is_waited_for_like_an_agent() {
    let world = World::new();
    let model = Model::start(&world, &fragment(), &["--fault", "529:1ms"]);
    configure(&world, &model, "messages", "", "");
    align(&world, json!({"max_attempts": 1, "max_transient": 0}));
    let running = start(&world, &["run"]);
    wait_for_wait(&world);
    let waits = world.state()["run"]["waits"].clone();
    assert!(waits[0]["because"].to_string().contains("529"), "{waits}");
    assert_eq!(model.questions().len(), 10);
    running.kill();
}
