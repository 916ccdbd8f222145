//! Probes: unknown tasks are looked into before they are tried.
//!
//! Not here: reading a finding (`finding` of the core).

use serde_json::{Value, json};

use crate::{
    agents::{conduct::configured, talked::Codex},
    processes::processes_in,
    world::{Ran, World, plan, task, with},
};

/// A worker that notes its atom, and a probe that runs this with the head of its task in `$TITLE`.
fn agents(world: &World, probe: &str) {
    let out = world.out("").display().to_string();
    let worker =
        format!("echo $DESCENT_ATOM >> note; cp $DESCENT_PROMPT {out}/worker.$DESCENT_ATOM");
    let script = format!(
        "#!/bin/sh\nTITLE=$(sed -n 's/^# Your part: //p' \"$DESCENT_PROMPT\")\n\
         echo \"$DESCENT_ROLE $TITLE\" >> {out}/probed\n{probe}\n"
    );
    let path = world.program("probe", &script);
    world.write(
        "descent.toml",
        &format!(
            "agents.worker.run = \"{worker}\"\nroles.worker = \"worker\"\nagents.p.run = \"{}\"\nroles.probe = \"p\"\n",
            path.display()
        ),
    );
}

fn says(answer: &str) -> String {
    format!("cat <<'END'\n{answer}\nEND")
}

const GOOD: &str =
    r#"{"feasible": true, "findings": "the parser is there", "cost_estimate": {"attempts": 1}}"#;
const BAD: &str = r#"{"feasible": false, "findings": "hands are missing"}"#;

fn by_worker(words: &str, more: Value) -> Value {
    let mut atom = task("");
    atom.as_object_mut().unwrap().remove("action");
    with(with(atom, json!({"description": words})), more)
}

/// Two ways to a note, of which nobody knows which is open.
fn two_ways(limits: Value) -> World {
    let world = World::new();
    let atoms = json!({
        "G1": {"kind": "any", "choices": ["A1", "A2"], "description": "a note", "unknown": true},
        "A1": by_worker("write it with a pen", json!({})),
        "A2": by_worker("print it", json!({})),
    });
    world.align(&plan(&["test -f note"], limits, atoms));
    world
}

fn probed(world: &World) -> usize {
    let probed = std::fs::read_to_string(world.out("probed"));
    probed.map_or(0, |text| text.lines().count())
}

fn order(ran: &Ran, event: &str) -> Vec<String> {
    let lines = ran.lines().into_iter().filter(|line| line["event"] == event);
    lines.map(|line| line["atom"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_choices_of_an_unknown_group_are_probed_side_by_side_and_the_feasible_one_is_tried_first() {
    let world = two_ways(json!({}));
    let script = format!(
        "touch junk\nif echo \"$TITLE\" | grep -q A1; then\n{}\nelse\n{}\nfi",
        says(BAD),
        says(GOOD)
    );
    agents(&world, &script);
    let ran = world.run().expect(0);
    // Both probes start before either ends.
    assert_eq!(order(&ran, "attempt_started"), ["A1", "A2", "A2"]);
    assert_eq!(world.result_file("note"), "A2\n");
    assert!(!world.result_file("a.txt").is_empty());
    let told = world.left("worker.A2");
    assert!(told.contains("it can be done:\n\nthe parser is there"), "{told}");
    let trail = world.state()["trail"].clone();
    let probes = trail.as_array().unwrap().iter();
    let probes: Vec<&Value> = probes.filter(|one| one["type"] == "probe").collect();
    assert_eq!(probes.len(), 2);
    // They end in any order.
    let of = |atom: &str| probes.iter().find(|one| one["atom"] == atom).unwrap();
    assert_eq!(of("A1")["feasible"], false);
    assert_eq!(of("A1")["findings"], "hands are missing");
    assert_eq!(of("A2")["feasible"], true);
    assert_eq!(world.state()["run"]["spent"]["attempts"], 3);
    // Whatever a probe writes, nothing of it is kept.
    assert!(!world.repo().join("junk").exists());
    let report = world.descent(&["report", "--json"]).expect(0).json();
    let story = report["tried"]["story"].as_array().unwrap();
    assert_eq!(story.iter().filter(|one| one["kind"] == "probe").count(), 2, "{report}");
    assert_eq!(processes_in(&world.root()), Vec::<String>::new());
}

#[test]
fn a_choice_that_a_probe_calls_infeasible_is_tried_last_and_not_ruled_out() {
    let world = two_ways(json!({"max_attempts": 1}));
    let script =
        format!("if echo \"$TITLE\" | grep -q A1; then\n{}\nelse\n{}\nfi", says(BAD), says(GOOD));
    agents(&world, &script);
    let toml = world.read("descent.toml");
    let toml = toml.replace(
        "echo $DESCENT_ATOM >> note",
        "cp $DESCENT_PROMPT OUT/worker.$DESCENT_ATOM; [ $DESCENT_ATOM = A1 ] || exit 1; touch note",
    );
    let out = world.out("").display().to_string();
    world.write("descent.toml", &toml.replace("OUT", &out));
    let ran = world.run().expect(0);
    assert_eq!(order(&ran, "attempt_started"), ["A1", "A2", "A2", "A1"]);
    let told = world.left("worker.A1");
    assert!(told.contains("It may be wrong:\n\nhands are missing"), "{told}");
}

/// Three ways to a note, of which each is found out to be as these say, and done by this command.
fn three_ways(group: Value, limits: Value, findings: [&str; 3], worker: &str) -> Ran {
    let world = World::new();
    let group = with(
        json!({"kind": "any", "choices": ["A1", "A2", "A3"], "description": "a note", "unknown": true}),
        group,
    );
    let atoms = json!({
        "G1": group,
        "A1": by_worker("write it with a pen", json!({})),
        "A2": by_worker("print it", json!({})),
        "A3": by_worker("draw it", json!({})),
    });
    world.align(&plan(&["test -f note"], limits, atoms));
    let [first, second, third] = findings.map(says);
    let script =
        format!("case \"$TITLE\" in *A1*)\n{first}\n;;\n*A2*)\n{second}\n;;\n*)\n{third}\n;; esac");
    agents(&world, &script);
    let toml = world.read("descent.toml");
    let out = world.out("").display().to_string();
    let worker = worker.replace("OUT", out.trim_end_matches('/'));
    let toml = toml.replace("echo $DESCENT_ATOM >> note", &worker);
    world.write("descent.toml", &toml);
    world.run().expect(0)
}

#[test]
fn of_three_choices_the_one_in_the_middle_is_passed_over_where_a_probe_speaks_against_it() {
    let worker = "[ $DESCENT_ATOM = A2 ] || exit 1; touch note";
    let limits = json!({"max_attempts": 1});
    let ran = three_ways(json!({}), limits, [GOOD, BAD, GOOD], worker);
    let tried = order(&ran, "attempt_started").split_off(3);
    assert_eq!(tried, ["A1", "A3", "A2"]);
}

#[test]
fn beside_the_selected_choice_others_are_tried_whose_estimate_is_near_and_fits_what_is_left() {
    let of = |attempts: u32| {
        json!({"feasible": true, "findings": "so many", "cost_estimate": {"attempts": attempts}})
            .to_string()
    };
    let (one, two, three) = (&*of(1), &*of(2), &*of(3));
    let no_estimate = r#"{"feasible": true, "findings": "who knows"}"#;
    for (findings, limits, beside) in [
        ([one, two, two], json!({}), 2),
        ([one, two, three], json!({}), 1),
        ([one, three, three], json!({}), 0),
        ([one, BAD, one], json!({}), 1),
        // One of them tells nothing, so the flag decides.
        ([one, no_estimate, three], json!({}), 2),
        // Three probes, and eight attempts that are left.
        ([two, two, three], json!({"budget": {"iterations": 10}}), 2),
        ([two, two, three], json!({"budget": {"iterations": 9}}), 0),
    ] {
        let group = json!({"speculative": true});
        let limits = with(limits, json!({"max_parallel_agents": 3, "max_attempts": 4}));
        // The selected one waits for those beside it, which do not end.
        let nap = crate::world::long_nap();
        let script = format!(
            "touch OUT/began.$DESCENT_ATOM; [ $DESCENT_ATOM = A1 ] || sleep {nap}; \
             while [ $(ls OUT | grep -c began) -le {beside} ]; do sleep 0.02; done; touch note"
        );
        let ran = three_ways(group, limits, findings, &script);
        let tried = order(&ran, "attempt_started").split_off(3);
        assert_eq!(tried.len(), 1 + beside, "{findings:?}: {tried:?}");
        assert_eq!(tried[0], "A1", "{findings:?}");
    }
}

#[test]
fn a_choice_that_plans_gets_no_probe_and_nobody_waits_for_one() {
    let world = World::new();
    let step = json!({"kind": "plan", "description": "plan it", "action": {"run": "exit 3"}});
    let group = json!({"choices": ["A1", "N"], "unknown": true});
    let atoms = json!({"G": group, "A1": by_worker("write the note", json!({})), "N": step});
    world.align(&plan(&["test -e note"], json!({}), atoms));
    agents(&world, &says(GOOD));
    let ran = world.run().expect(0);
    assert_eq!(order(&ran, "attempt_started"), ["A1", "A1"]);
}

#[test]
fn an_unknown_task_is_probed_once_before_its_first_attempt() {
    let world = World::new();
    let atoms = json!({
        "A1": by_worker("write a note", json!({"unknown": true})),
        "A2": task("touch other"),
    });
    world.align(&plan(&["test -f note"], json!({"max_attempts": 3}), atoms));
    agents(&world, &says(GOOD));
    let toml = world.read("descent.toml");
    let toml = toml
        .replace("echo $DESCENT_ATOM >> note", "[ $DESCENT_ATTEMPT = 2 ] || exit 1; touch note");
    world.write("descent.toml", &toml);
    let ran = world.run().expect(0);
    assert_eq!(probed(&world), 1);
    assert_eq!(ran.count("probed"), 1);
    assert_eq!(ran.count("attempt_failed"), 1);
}

#[test]
fn a_probe_that_finds_nothing_out_costs_its_attempt_and_its_task_is_tried_as_any_other() {
    for (script, words) in [
        (says("it will be fine"), "no JSON object"),
        (says(r#"{"feasible": "perhaps", "findings": "x"}"#), "true or false"),
        ("echo broken >&2; exit 3".to_owned(), "exit 3"),
        ("kill -9 $$".to_owned(), "signal 9"),
        ("head -c 1000000 /dev/zero | tr '\\0' x".to_owned(), "64 KiB"),
    ] {
        let world = World::new();
        let atoms = json!({"A1": by_worker("write a note", json!({"unknown": true}))});
        world.align(&plan(&["test -f note"], json!({}), atoms));
        agents(&world, &script);
        let ran = world.run().expect(0);
        let lines = ran.lines().into_iter();
        let mut found = lines.filter(|line| line["event"] == "probed");
        let found = found.next().unwrap();
        assert!(found.get("feasible").is_none(), "{found}");
        assert!(found["findings"].as_str().unwrap().contains(words), "{found}");
        assert_eq!(world.state()["run"]["spent"]["attempts"], 2);
        let told = world.left("worker.A1");
        assert!(!told.contains("Found out before"), "{told}");
    }
}

#[test]
fn the_bound_that_is_agreed_on_counts_the_probes_of_the_run() {
    let world = World::new();
    agents(&world, &says(GOOD));
    let unknown = json!({"A1": by_worker("write a note", json!({"unknown": true}))});
    let plan = plan(&["test -f note"], json!({"max_attempts": 3}), unknown);
    let agreed = world.descent(&["align", "-y", "--json", "-f", &world.plan(&plan)]);
    let agreed = agreed.expect(0).json()["bound"]["attempts"].to_string();
    assert_eq!(world.status()["bound"]["attempts"].to_string(), agreed);
    let run = world.run().expect(0).lines();
    assert_eq!(agreed, "4");
    assert_eq!(run[0]["attempts_left"], agreed);
}

#[test]
fn without_a_probe_an_unknown_task_is_tried_at_once_and_an_action_is_never_probed() {
    let world = World::new();
    let atoms = json!({"A1": with(task("touch note"), json!({"unknown": true}))});
    world.align(&plan(&["test -f note"], json!({}), atoms));
    agents(&world, &says(GOOD));
    world.run().expect(0);
    assert_eq!(probed(&world), 0);
    let world = two_ways(json!({}));
    agents(&world, &says(GOOD));
    let toml = world.read("descent.toml").replace("roles.probe", "roles.judge");
    world.write("descent.toml", &toml);
    let ran = world.run().expect(0);
    assert_eq!(ran.count("probed"), 0);
    assert_eq!(order(&ran, "attempt_started"), ["A1"]);
}

#[test]
fn a_talking_probe_reads_and_its_usage_counts_in_its_role() {
    let world = World::new();
    let atoms = json!({
        "A1": by_worker("write a note", json!({"unknown": true})),
        "A2": with(task("touch note"), json!({"depends_on": ["A1"]})),
    });
    world.align(&plan(&["test -f note"], json!({}), atoms));
    let probe = Codex.agent(&world, "works", &[("FIXTURE_ANSWER", GOOD)]);
    let worker = Codex.agent(&world, "works", &[]);
    configured(&world, &[("p", &probe), ("w", &worker)], "probe = \"p\"\nworker = \"w\"");
    world.run().expect(0);
    let spent = world.state()["run"]["spent_by_agent"].clone();
    let rows = spent.as_array().unwrap().iter();
    let roles: Vec<&Value> = rows.map(|row| &row["role"]).collect();
    assert!(roles.contains(&&json!("probe")), "{spent}");
}

#[test]
fn a_kill_in_mid_probe_leaves_nothing_and_the_probe_is_made_again() {
    let world = two_ways(json!({"max_parallel_agents": 2}));
    let nap = crate::world::long_nap();
    agents(&world, &format!("sleep {nap}"));
    let running = world.start(&["run"]);
    crate::world::wait_for("both probes", || probed(&world) == 2);
    let flight = world.status()["in_flight"][0].clone();
    assert_eq!((&flight["role"], &flight["of"]), (&json!("probe"), &json!(1)));
    world.descent(&["status"]).expect(0).shows("A1  a probe, for");
    running.kill();
    agents(&world, &says(GOOD));
    let ran = world.run().expect(0);
    assert_eq!(crate::world::processes(&nap), Vec::<String>::new());
    assert_eq!(ran.count("probed"), 2);
}
