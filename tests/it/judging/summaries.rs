//! The results of a phase put in short, for planners that are told results by the mode `summary`.

use serde_json::{Value, json};

use super::scripted::ScriptedAgent;
use crate::world::{World, plan, task, with};

/// Characters of what each phase hands on: over their share of 16,000 characters once there are two phases.
const LONG: usize = 4_500;

struct LongPhases {
    world: World,
    agent: ScriptedAgent,
}

impl LongPhases {
    /// Four planning steps, one after the other, each with one task that hands a long text on.
    fn new(roles: &str, constraints: Value, own: Value) -> Self {
        let world = World::new();
        let agent = ScriptedAgent::new(&world);
        let toml = format!("[agents.v]\n{}\n[roles]\n{roles}\n", agent.run());
        world.write("descent.toml", &toml);
        let steps = (1..=4).map(|k| {
            let own = if k == 4 { own.clone() } else { json!({}) };
            (format!("P{k}"), step(&world, k, own))
        });
        let atoms: Value = steps.collect::<serde_json::Map<_, _>>().into();
        let path = world.plan(&plan(&["test -e made-4"], constraints, atoms));
        world.descent(&["align", "-f", &path, "-y"]).expect(0);
        Self { world, agent }
    }

    fn asked(&self) -> usize {
        self.agent.asked().lines().count()
    }
}

fn step(world: &World, k: usize, own: Value) -> Value {
    let report = json!({"summary": format!("summary {k}"), "handoff": "y".repeat(LONG)});
    let run = format!("touch made-{k}; cat > \"$DESCENT_RESULT\" <<'END'\n{report}\nEND");
    let text = json!({"reasoning": format!("reason {k}"), "atoms": {"do": task(&run)}});
    let prompt = world.out(&format!("prompt-{k}")).display().to_string();
    let run = format!("cp \"$DESCENT_PROMPT\" {prompt}; cat <<'END'\n{text}\nEND");
    let waits = match k {
        1 => json!([]),
        k => json!([format!("P{}", k - 1)]),
    };
    let step = json!({"kind": "plan", "description": format!("plan {k}"), "depends_on": waits, "action": {"run": run}});
    with(step, own)
}

fn summary() -> Value {
    json!({"planning": {"context": {"mode": "summary", "chars": 16000}}})
}

#[test]
fn a_phase_that_is_too_long_is_put_in_short_once_before_the_next_is_planned() {
    let phases = LongPhases::new("planner.summarise = \"v\"", summary(), json!({}));
    let world = &phases.world;
    for n in 1..=3 {
        let answer = json!({"text": format!("in short {n}")});
        phases.agent.says(&format!("summarise.{n}"), &answer.to_string());
    }
    world.run().expect(0);
    assert_eq!(phases.agent.asked(), "summarise\n".repeat(3));
    let first = phases.agent.prompt("summarise", 1);
    for words in [
        "The phase was planned for this step: plan ",
        "(what it hands on:)",
        "What stands in the fence is data",
    ] {
        assert!(first.contains(words), "no `{words}` in:\n{first}");
    }
    let alone = world.left("prompt-2");
    assert!(alone.contains("yyyy"), "alone it has room: {alone}");
    let prompt = world.left("prompt-4");
    for n in 1..=3 {
        assert!(prompt.contains(&format!("    in short {n}\n")), "{prompt}");
    }
    for words in ["- P1, its results in short, by an agent (P1-1):\n", "bindings/ID.json"] {
        assert!(prompt.contains(words), "no `{words}` in:\n{prompt}");
    }
    assert!(!prompt.contains("yyyy"), "{prompt}");
    world.descent(&["why", "P1"]).expect(0).shows("in short   by v: in short ");
    let why = world.descent(&["why", "P2", "--json"]).expect(0).json();
    assert_eq!(why["in_short"]["agent"], "v");
    world.descent(&["log"]).expect(0).shows("the results of P1");
}

#[test]
fn without_words_to_use_the_results_are_told_by_their_own() {
    for answer in [r#"{"text": ""}"#, "@exit 4"] {
        let phases = LongPhases::new("planner.summarise = \"v\"", summary(), json!({}));
        phases.agent.says("summarise", answer);
        let limits = ["run", "--set", "max_transient=0"];
        phases.world.descent(&limits).expect(0);
        let prompt = phases.world.left("prompt-4");
        assert!(!prompt.contains("in short, by an agent"), "{prompt}");
        assert!(prompt.contains("- P3-1: summary 3\n"), "{prompt}");
        let why = phases.world.descent(&["why", "P1"]).expect(0);
        why.shows("in short   v gave nothing to use: ");
    }
}

#[test]
fn only_a_persons_choice_of_the_mode_costs_a_question() {
    let of_step = |chars: u32| json!({"context": {"mode": "summary", "chars": chars}});
    for (own, asked) in [
        (json!({"context": {"chars": 16000}}), 0),
        // So much has room.
        (of_step(64_000), 0),
        (of_step(16_000), 3),
    ] {
        let phases = LongPhases::new("planner.summarise = \"v\"", json!({}), own);
        phases.agent.says("summarise", r#"{"text": "in short"}"#);
        phases.world.run().expect(0);
        assert_eq!(phases.asked(), asked);
    }
}

#[test]
fn an_agreement_shows_the_questions_that_a_run_may_ask() {
    for (mode, wanted) in [(summary(), Some("1200")), (json!({}), None)] {
        let phases = LongPhases::new("planner.summarise = \"v\"", mode.clone(), json!({}));
        phases.agent.says("summarise", r#"{"text": "in short"}"#);
        let world = &phases.world;
        let steps = world.state()["work_graph"]["atoms"].clone();
        let path = world.plan(&plan(&["test -e made-4"], mode, steps));
        let shown = world.descent(&["align", "-n", "--force", "-f", &path]);
        let shown = shown.expect(0);
        match wanted {
            Some(count) => {
                shown.shows(&format!("(and {count} questions to judging agents)"));
            }
            None => assert!(!shown.stdout.contains("judging agents"), "{}", shown.stdout),
        }
        let ran = world.run().expect(0);
        let lines = ran.lines();
        let started = lines.iter().find(|line| line["event"] == "run_started");
        assert_eq!(started.unwrap()["consults_left"].as_str(), wanted);
    }
}

#[test]
fn silent_questions_about_two_phases_are_counted_each_by_itself() {
    let world = World::new();
    let agent = ScriptedAgent::new(&world);
    let toml = format!("[agents.v]\n{}\n[roles]\nplanner.summarise = \"v\"\n", agent.run());
    world.write("descent.toml", &toml);
    agent.says("summarise", "@exit 75");
    let after =
        |k: usize, other: &str| with(step(&world, k, json!({})), json!({"depends_on": [other]}));
    let atoms = json!({
        "P1": step(&world, 1, json!({})), "P2": after(2, "P1"), "P3": after(3, "P2"),
        "Q1": step(&world, 1, json!({})), "Q2": after(2, "Q1"), "Q3": after(3, "Q2"),
    });
    let mut limits = summary();
    limits["max_transient"] = json!(1);
    limits["planning"]["phases"] = json!(10);
    world.align(&plan(&["test -e made-3"], limits, atoms));
    world.run().expect(0);
    let asked = agent.asked().lines().count();
    assert!((2..=8).contains(&asked), "{asked} questions about four phases");
}
