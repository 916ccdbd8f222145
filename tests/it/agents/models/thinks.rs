//! A judge and a probe that are models over HTTP, by each wire.

use serde_json::json;

use super::{Model, WIRES, run, start, with_key};
use crate::{
    support::world::wait_for,
    world::{World, plan, task, with},
};

/// A configuration in which the model has that role beside a worker by command.
fn configure(world: &World, model: &Model, wire: &str, base: &str, role: &str) {
    let address = &model.address;
    world.write(
        "descent.toml",
        &format!(
            "agents.worker.run = \"touch note\"\n[agents.thinker]\nprovider = \"{wire}\"\n\
             base_url = \"{address}{base}\"\nmodel = \"scripted\"\nkey = {{env = \"THINKER_KEY\"}}\n\
             [roles]\nworker = \"worker\"\n{role} = \"thinker\"\n"
        ),
    );
}

/// A plan of a note that is rated.
fn align_rated(world: &World) {
    let mut plan = plan(&["test -f note"], json!({}), json!({"A1": task("echo clear > note")}));
    let command = plan["objective"]["base_case"].clone();
    plan["objective"]["base_case"] = json!({"all": [command, {"quality": "it is readable"}]});
    world.align(&plan);
}

#[test]
fn a_wait_for_the_limit_of_a_judge_is_shown_with_its_agent_and_its_end() {
    let world = World::new();
    align_rated(&world);
    let answer = json!({"score": 0.9, "because": "it is"});
    let model = Model::start(&world, &answer, &["--fault", "429:3600"]);
    configure(&world, &model, "chat", "/v1", "judge");
    let mut running = start(&world, &["run"]);
    let waits = || world.state()["run"]["waits"].clone();
    wait_for("the wait to be told", || waits()[0]["question"] == "rate");
    let until = waits()[0]["until"].as_str().unwrap().to_owned();
    assert_eq!(waits()[0]["agent"], "thinker");
    let status = world.descent(&["status"]).expect(0);
    status.shows("judge.rate: thinker is asked again in ");
    let told = world.status()["waits"][0].clone();
    assert_eq!(
        told,
        json!({"question": "judge.rate", "agent": "thinker", "until": until,
               "because": "its provider takes no more for now"})
    );
    running.signal(rustix::process::Signal::TERM);
    running.wait();
    assert_eq!(waits(), json!(null));
}

#[test]
fn a_model_judges_the_result_by_each_wire_and_is_asked_once() {
    for (wire, base) in WIRES {
        let world = World::new();
        align_rated(&world);
        let model = Model::start(&world, &json!({"score": 0.9, "because": "it is"}), &[]);
        configure(&world, &model, wire, base, "judge");
        run(&world).expect(0);
        let rating = world.state()["run"]["ratings"][0].clone();
        assert_eq!(rating["score"], 0.9, "{wire}: {rating}");
        assert_eq!(model.questions().len(), 1, "{wire}");
        let asked = model.questions()[0].to_string();
        assert!(asked.contains("+clear"), "{wire}: {asked}");
        run(&world).expect(0);
        assert_eq!(model.questions().len(), 1, "{wire}");
        assert_eq!(with_key(&world.root()), Vec::<std::path::PathBuf>::new());
        let spent = world.state()["run"]["spent_by_agent"][0].clone();
        assert_eq!(
            (&spent["role"], &spent["calls"]),
            (&json!("judge"), &json!(1)),
            "{wire}: {spent}"
        );
    }
}

#[test]
fn a_model_probes_by_each_wire() {
    for (wire, base) in WIRES {
        let world = World::new();
        let mut atom = with(task(""), json!({"description": "a note", "unknown": true}));
        atom.as_object_mut().unwrap().remove("action");
        world.align(&plan(&["test -f note"], json!({}), json!({"A1": atom})));
        let answer = json!({"feasible": true, "findings": "there is paper"});
        let model = Model::start(&world, &answer, &[]);
        configure(&world, &model, wire, base, "probe");
        run(&world).expect(0);
        let trail = world.state()["trail"].clone();
        assert_eq!(trail[0]["findings"], "there is paper", "{wire}: {trail}");
        assert_eq!(model.questions().len(), 1, "{wire}");
    }
}
