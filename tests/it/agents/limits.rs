//! Limits of calls, tokens and money for agents that are talked with: in mid-turn, and for those that tell no cost.

use serde_json::{Value, json};

use super::talked::{Protocol, by_worker, world};
use crate::world::{World, long_nap, plan, processes, wait_for};

use Protocol::{Acp, Claude, Codex};

/// Adds a line to the table of the worker.
fn configure(world: &World, line: &str) {
    let text = world.read("descent.toml");
    world.write("descent.toml", &text.replace("[roles]", &format!("{line}\n[roles]")));
}

#[test]
fn an_agent_whose_calls_pass_the_limit_is_ended_in_mid_turn() {
    for protocol in [Claude, Acp] {
        let nap = long_nap();
        let world = world(protocol, "hangs-in-tool", &[("FIXTURE_NAP", nap.as_str())]);
        let ran = world.descent(&["run", "--json", "--set", "budget.calls=1"]).expect(5);
        let result = ran.result();
        assert_eq!(result["reason"], "budget.calls", "{protocol:?} {result}");
        assert!(result["spent"]["calls"].as_u64() > Some(1), "{protocol:?} {result}");
        assert_eq!(result["spent"]["attempts"], 0, "{protocol:?} {result}");
        assert!(processes(&nap).is_empty(), "{protocol:?}");
    }
}

#[test]
fn the_price_of_tokens_so_far_ends_an_agent_in_mid_turn() {
    let nap = long_nap();
    let world = world(Claude, "hangs-in-tool", &[("FIXTURE_NAP", nap.as_str())]);
    configure(&world, "price = {input = \"1000000\", output = \"0\"}");
    let ran = world.descent(&["run", "--json", "--set", "budget.cost_usd=100"]).expect(5);
    let result = ran.result();
    assert_eq!(result["reason"], "budget.cost_usd", "{result}");
    assert_eq!(result["spent"]["estimated"], true, "{result}");
    assert!(processes(&nap).is_empty());
}

#[test]
fn a_limit_of_money_is_refused_for_an_agent_that_tells_no_cost_and_has_no_price() {
    let world = world(Codex, "works", &[("FIXTURE_DO", "echo made > done")]);
    let ran = world.descent(&["run", "--set", "budget.cost_usd=5"]).expect(78);
    assert!(ran.stderr.contains("E-AGENT-COST"), "{}", ran.stderr);
    assert!(ran.stderr.contains("agents.fixture.price"), "{}", ran.stderr);
    assert_eq!(world.state()["run"]["attempts_started"], 0);
    configure(&world, "price = {input = \"3\", output = \"15\"}");
    world.run().expect(0);
    assert_eq!(world.state()["run"]["spent"]["estimated"], true);
}

#[test]
fn a_limit_of_money_that_is_set_in_mid_run_starts_no_agent_that_tells_no_cost() {
    let world = world(Codex, "resumes", &[("FIXTURE_NAP", "30")]);
    let mut run = world.start(&["run", "--json"]);
    wait_for("it works", || world.state()["run"]["attempts_started"] == 1);
    let redirect = ["redirect", "--set", "budget.cost_usd=5", "--set", "max_attempts=2", "-y"];
    world.descent(&redirect).expect(0);
    let ran = run.wait().expect(69);
    let result = ran.result();
    assert_eq!(result["reason"], "unavailable", "{result}");
    assert!(result["summary"].to_string().contains("tells no cost"), "{result}");
    assert_eq!(result["code"], "E-AGENT-COST", "{result}");
}

#[test]
fn usage_that_an_agent_told_in_mid_turn_is_shown_and_outlasts_a_kill_and_a_redirect() {
    for protocol in [Claude, Acp] {
        let nap = long_nap();
        let world = world(protocol, "hangs-in-tool", &[("FIXTURE_NAP", nap.as_str())]);
        let shown = || world.status()["spent"]["calls"].as_u64().unwrap_or(0);
        let run = world.start(&["run"]);
        wait_for("its first call is shown", || shown() > 0);
        let first = shown();
        run.kill();
        let mut run = world.start(&["run"]);
        wait_for("a call after the kill is shown", || shown() > first);
        let second = shown();
        let redirect = ["redirect", "--set", "budget.calls=1000", "-y", "--now"];
        world.descent(&redirect).expect(0);
        let spent = world.state()["run"]["spent"]["calls"].as_u64().unwrap();
        assert!(spent >= second, "{protocol:?}: {spent} of {second}");
        world.descent(&["stop"]).expect(0);
        run.wait().expect(3);
        assert!(processes(&nap).is_empty(), "{protocol:?}");
    }
}

/// A world whose worker is that shell script, in a dialect of events.
fn scripted(dialect: &str, script: &str) -> World {
    let one = json!({"A1": by_worker("make it")});
    scripted_plan(dialect, script, &plan(&["test -f done"], json!({}), one))
}

/// The same with that plan; it judges too.
pub(super) fn scripted_plan(dialect: &str, script: &str, plan: &Value) -> World {
    let world = World::new();
    world.write("agent.sh", &script.replace("OUT", &world.out("").display().to_string()));
    let argv = json!(["sh", world.repo().join("agent.sh")]).to_string();
    world.write(
        "descent.toml",
        &format!(
            "[agents.script]\nheadless = {{argv = {argv}, events = \"{dialect}\", \
             resume = [\"resume\", \"{{session}}\"]}}\n[roles]\nworker = \"script\"\njudge = \"script\"\n"
        ),
    );
    world.align(plan);
    world
}

#[test]
fn tokens_that_an_agent_tells_by_session_are_counted_once_after_a_kill_in_a_repair() {
    let world = scripted(
        "codex-exec-json",
        r#"
cat > /dev/null
echo '{"type":"thread.started","thread_id":"one"}'
echo "$1" >> OUT/turns
case $(wc -l < OUT/turns) in
1) text='no object'; sum=100 ;;
2) echo > OUT/hung; sleep 600 ;;
*) touch done; text='{\"success\": true, \"summary\": \"made\"}'; sum=200 ;;
esac
echo "{\"type\":\"item.completed\",\"item\":{\"id\":\"i\",\"type\":\"agent_message\",\"text\":\"$text\"}}"
echo "{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":$sum,\"output_tokens\":0}}"
sleep 2
"#,
    );
    let run = world.start(&["run"]);
    world.wait_for_file("hung");
    run.kill();
    let result = world.run().expect(0).result();
    assert_eq!(result["spent"]["tokens"]["input"], 200, "{result}");
    assert_eq!(world.left("turns"), "\nresume\nresume\n");
}

#[test]
fn an_agent_that_is_gone_before_it_mends_its_answer_is_asked_in_its_session_again() {
    let world = scripted(
        "claude-stream-json",
        r#"
echo "$1" >> OUT/turns
read -r prompt
case $1 in
resume) touch done; text='{\"success\": true, \"summary\": \"made\"}' ;;
*) text='no object' ;;
esac
echo "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"one\"}"
echo "{\"type\":\"result\",\"subtype\":\"success\",\"session_id\":\"one\",\"usage\":{},\"result\":\"$text\"}"
"#,
    );
    let result = world.run().expect(0).result();
    assert_eq!(world.left("turns"), "\nresume\n");
    assert_eq!(result["spent"]["attempts"], 1, "{result}");
}
