//! kill -9 at random moments, from a seed, of a run in which agents validate, assess and refine. The plan and the result are
//! as undisturbed, and no question is asked twice whose answer was committed.
//!
//! Not here: one kill in the middle of each question (`gate`, `refine`).

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use serde_json::{Value, json};

use super::scripted::ScriptedAgent;
use crate::{
    chance::{self, Rng},
    crashes::killed::kill,
    processes::processes_in,
    undisturbed::side_by_side,
    world::{World, plan, wait_for},
};

/// Runs at once: as many as small machines have cores.
const SIDE_BY_SIDE: u64 = 2;
/// Kills of one run at most; the next start then runs to its end.
const KILLS_MAX: u64 = 5;
/// The longest time from what a kill waits for to the kill.
const AFTER_US_MAX: u64 = 40_000;

/// A run whose planner reaches one of two checks, and whose refiner adds what is missing.
struct Disturbed {
    world: World,
    agent: ScriptedAgent,
}

impl Disturbed {
    fn new() -> Self {
        let world = World::new();
        let agent = ScriptedAgent::new(&world);
        let roles = "[roles]\njudge.plan = \"a\"\njudge.pass = \"a\"\nplanner.refine = \"a\"\n";
        world.write("descent.toml", &format!("[agents.a]\n{}\n{roles}", agent.run()));
        let issue = json!({"type": "relevance", "severity": "low", "location": "N-1",
            "description": "it could be more", "proposed_repair": "make both"});
        agent.says("plan", &json!({"issues": [issue]}).to_string());
        let whole = json!({"plan": true, "step": true, "answer": true, "memory": true});
        let opinion = json!({"completeness": 0.5, "coherence": 1, "aligned": whole,
            "missing": ["nothing makes more"]});
        agent.says("pass", &opinion.to_string());
        let more = json!({"description": "make more", "action": {"run": "echo 2 > more"}});
        let added = json!({"type": "step_add", "atoms": {"new": more}});
        agent.says("refine", &json!({"actions": [added]}).to_string());
        let fragment = json!({"atoms": {"one":
            {"description": "make the file", "action": {"run": "echo 1 > done"}}}});
        let step = json!({"kind": "plan", "description": "plan it",
            "action": {"run": format!("echo '{fragment}'")}});
        // The planner's round stays: what is missing is left to the refiner.
        let limits = json!({"judging": "model", "planning": {"refinements": 0}});
        let checks = ["test -e done", "test -e more"];
        world.align(&plan(&checks, limits, json!({"N": step})));
        Self { world, agent }
    }

    fn asked(&self) -> usize {
        self.agent.asked().lines().count()
    }

    /// Waits for a further question or commit, and a short time more. False if the run is over.
    fn comes_to_its_moment(&self, before: &[u8], rng: &mut Rng) -> bool {
        let by_commit = rng.below(2) == 0;
        let enough = self.asked() + 1;
        let mut is_over = false;
        wait_for("a moment for the kill", || {
            let now = self.world.state_bytes();
            is_over = self.status() == "completed";
            is_over || (by_commit && now != before) || self.asked() >= enough
        });
        std::thread::sleep(Duration::from_micros(rng.below(AFTER_US_MAX)));
        !is_over
    }

    /// The status, also at the instant between two names of the file.
    fn status(&self) -> Value {
        let state: Value = serde_json::from_slice(&self.world.state_bytes()).unwrap_or_default();
        state["run"]["status"].clone()
    }

    /// Whether a question stands open in the state.
    fn is_asking(&self) -> bool {
        self.world.state()["run"].get("consult").is_some()
    }

    /// The plan with its attempts, the result, and its files; but for the configuration, which names places of this world.
    fn end(&self) -> Value {
        let state = self.world.state();
        let as_done = |(id, bound): (&String, &Value)| {
            let of = &bound["of"];
            let keys = ["description", "action", "depends_on", "tries"];
            let of = Value::from_iter(keys.map(|key| (key, of[key].clone())));
            json!([id, of, bound["attempts"]])
        };
        let bound = state["bindings"].as_object().unwrap();
        let plan: Vec<Value> = bound.iter().map(as_done).collect();
        let run = &state["run"];
        let worded = &super::scripted::kept(&self.world, "word")["answer"]["text"];
        let result = json!([run["status"], run["reason"], worded]);
        let files = self.world.ours(&["ls-tree", "-r", run["head"].as_str().unwrap()]);
        let files = files.lines().filter(|line| !line.ends_with("descent.toml"));
        let files: Vec<&str> = files.collect();
        json!({"plan": plan, "result": result, "files": files, "attempts": run["spent"]["attempts"]})
    }
}

#[test]
fn killed_at_random_moments_a_run_with_consults_ends_the_same_and_asks_nothing_twice() {
    let calm = Disturbed::new();
    calm.world.run().expect(0);
    let (wanted, questions) = (calm.end(), calm.agent.asked());
    for role in ["plan", "pass", "refine"] {
        assert!(questions.contains(role), "{role} was never asked: {questions}");
    }
    let times = chance::count("CONSULT_KILLS", 5);
    let (kills, asking, twice) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    side_by_side(SIDE_BY_SIDE, times.div_ceil(KILLS_MAX), |seed| {
        let mut rng = Rng::new(seed ^ 0xc0de);
        let run = Disturbed::new();
        let mut open = 0;
        for _ in 0..KILLS_MAX.min(times) {
            let before = run.world.state_bytes();
            let running = run.world.start(&["run"]);
            if !run.comes_to_its_moment(&before, &mut rng) {
                drop(running);
                break;
            }
            kill(running, rng.below(2) == 0);
            kills.fetch_add(1, Ordering::Relaxed);
            open += usize::from(run.is_asking());
        }
        run.world.run().expect(0);
        assert_eq!(run.end(), wanted, "seed {seed}");
        let again = run.asked() - questions.lines().count();
        assert!(again <= open, "seed {seed}: {again} asked again, {open} were open");
        asking.fetch_add(open as u64, Ordering::Relaxed);
        twice.fetch_add(again as u64, Ordering::Relaxed);
        let here = || processes_in(&run.world.root());
        assert_eq!(here(), Vec::<String>::new(), "seed {seed}");
    });
    let [kills, asking, twice] = [kills, asking, twice].map(AtomicU64::into_inner);
    println!(
        "{kills} kills, {asking} with an open question, {twice} questions again, seed {}: the same plan and result",
        chance::seed()
    );
}
