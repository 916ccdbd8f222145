//! Ratings of a judge in the distance of the control law.

use serde_json::{Value, json};

use super::scripted::ScriptedAgent;
use crate::world::{Ran, World, plan, task};

/// Each distance that a run told, after its pass.
fn distances(ran: &Ran) -> Vec<(Value, Value)> {
    let lines = ran.lines().into_iter();
    let points = lines.filter(|line| line["event"] == "law");
    points.map(|one| (one["pass"].clone(), one["d"].clone())).collect()
}

#[test]
fn a_quality_leaf_counts_by_the_share_of_its_ratings_that_do_not_pass() {
    let world = World::new();
    let agent = ScriptedAgent::new(&world);
    let roles = "[roles]\njudge = \"j\"\nplanner = \"k\"\n";
    let agents = format!("[agents.j]\n{}\n[agents.k]\nrun = \"exit 1\"\n", agent.run());
    world.write("descent.toml", &(agents + roles));
    let group = |choices: &[&str]| json!({"kind": "any", "choices": choices});
    let atoms = json!({
        "G": group(&["one", "two", "three"]),
        "one": task("echo 1 > note"),
        "two": task("echo 2 > note"),
        "three": task("echo 3 > note"),
    });
    let mut plan = plan(&[], json!({"planning": {"changes": 1}, "max_attempts": 1}), atoms);
    let quality = |what: &str| json!({"quality": what});
    plan["objective"]["base_case"] = json!({"all": [quality("it is clear"), quality("it is short"), {"command": "test -e note"}]});
    world.align(&plan);
    // The first tree is clear and too long, the two others are not clear.
    let says = |n: u32, score: f64| {
        let answer = json!({"score": score, "because": "it is so"});
        agent.says(&format!("rate.{n}"), &answer.to_string());
    };
    says(1, 0.9);
    says(2, 0.1);
    says(3, 0.2);
    says(4, 0.3);
    let ran = world.descent(&["run", "--json"]).expect(5);
    let asked = agent.asked();
    assert_eq!(asked.matches("rate").count(), 4, "{asked}");
    // Nobody rates whether a tree is short that is not clear. In another pass only the rating of the tree counts.
    let wanted = [(1, "0.334"), (1, "0.5"), (1, "0.556"), (2, "0.667")];
    let wanted = wanted.map(|(pass, d)| (json!(pass), json!(d)));
    assert_eq!(distances(&ran), wanted);
    let ratings = world.state()["run"]["ratings"].clone();
    assert!(ratings.as_array().unwrap().iter().all(|one| one["pass"] == 1), "{ratings}");
}
