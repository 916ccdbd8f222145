//! An effect outside that a crash cut off: only a person knows, and `descent confirm` asks them.

use serde_json::{Value, json};

use crate::world::{World, long_nap, plan, processes, task, wait_for, with};

/// A deployment that is cut off in the middle, and an atom that waits for it.
struct Doubtful {
    world: World,
    nap: String,
}

impl Doubtful {
    fn new() -> Self {
        let (world, nap) = (World::new(), long_nap());
        let (sent, go) = (world.out("sent"), world.out("go"));
        let deploy = format!(
            "echo \"$DESCENT_ATTEMPT\" >> {}; [ -e {} ] || sleep {nap}",
            sent.display(),
            go.display()
        );
        let go_on =
            format!("[ ! -e {0} ] || sleep {nap}; touch beside", world.out("stay").display());
        let told = format!("cp \"$DESCENT_BINDINGS\" {}; touch done", world.out("told").display());
        let atoms = json!({
            "A0": task(&go_on),
            "deploy": with(task(&deploy), json!({"effect": "external"})),
            "tell": with(task(&told), json!({"depends_on": ["deploy"]})),
        });
        world.align(&plan(&["test -f done && test -f beside"], json!({}), atoms));
        let run = world.start(&["run"]);
        world.wait_for_file("sent");
        wait_for("the other is bound", || world.state()["bindings"]["A0"].is_object());
        run.kill();
        world.touch("go");
        Self { world, nap }
    }

    fn ended() -> (Self, String) {
        let doubtful = Self::new();
        let result = doubtful.world.run().expect(6).result();
        assert_eq!(result["reason"], "in_doubt");
        let attempt = doubtful.world.state()["work_graph"]["atoms"]["deploy"]["because"].clone();
        let attempt = attempt.as_str().unwrap().to_owned();
        let done = format!("descent confirm {attempt}");
        assert_eq!(result["next_moves"][0], json!(done));
        assert_eq!(doubtful.world.status()["next"], "descent confirm");
        (doubtful, attempt)
    }
}

#[test]
fn what_is_in_doubt_is_listed_with_what_to_type() {
    let (doubtful, attempt) = Doubtful::ended();
    doubtful
        .world
        .descent(&["confirm"])
        .expect(0)
        .shows(&attempt)
        .shows(&format!("next: descent confirm {attempt}"));
    let listed = doubtful.world.descent(&["confirm", "--json"]).expect(0).json();
    assert_eq!(
        (&listed["result"], &listed["doubts"][0]["atom"]),
        (&json!("listed"), &json!("deploy"))
    );
    assert!(listed["doubts"][0]["since"].is_string(), "{listed}");
    let why = doubtful.world.descent(&["why", "deploy"]).expect(0);
    why.shows(&format!("{attempt} in_doubt, attempt 1"));
    doubtful
        .world
        .descent(&["confirm"])
        .expect(0)
        .shows("if it did not, or may happen again, add --no");
}

#[test]
fn done_solves_the_atom_without_another_effect_and_tells_who_builds_on_it() {
    let (doubtful, attempt) = Doubtful::ended();
    let said = ["confirm", &attempt, "--reason", "it is live"];
    doubtful.world.descent(&said).expect(0).shows("next: descent run");
    let state = doubtful.world.state();
    let word = &state["corrections"][0];
    assert_eq!(
        (&word["type"], &word["by"], &word["attempt"], &word["done"]),
        (&json!("resolution"), &json!("ada"), &json!(attempt), &json!(true))
    );
    assert_eq!(state["bindings"]["deploy"]["attempts"], 1);
    doubtful.world.run().expect(0);
    assert_eq!(doubtful.world.left("sent"), "1\n");
    assert!(doubtful.world.left("told").contains("it is live"));
    assert_eq!(processes(&doubtful.nap), Vec::<String>::new());
    doubtful
        .world
        .descent(&["log"])
        .expect(0)
        .shows(&format!("nobody knows whether the effect of {attempt} happened"))
        .shows("it is live");
}

#[test]
fn done_is_said_of_the_atom_as_it_was_then_and_a_person_is_told_that_it_is_made_again() {
    let (doubtful, attempt) = Doubtful::ended();
    let mut state = doubtful.world.state();
    state["work_graph"]["atoms"]["deploy"]["description"] = json!("another thing");
    doubtful.world.save_records(&state);
    doubtful.world.descent(&["confirm", &attempt]).expect(0).says("as it is now it is made again");
}

#[test]
fn retry_makes_the_attempt_again_under_the_same_number() {
    let (doubtful, attempt) = Doubtful::ended();
    let said = doubtful.world.descent(&["confirm", &attempt, "--no", "--json"]).expect(0).json();
    assert_eq!((&said["result"], &said["doubts"]), (&json!("denied"), &json!([])));
    doubtful.world.run().expect(0);
    assert_eq!(doubtful.world.left("sent"), "1\n1\n");
}

#[test]
fn a_fork_of_what_was_cut_off_asks_too_and_repeats_nothing() {
    let doubtful = Doubtful::new();
    let said = doubtful.world.descent(&["undo", "--into", "--json"]).expect(0).json();
    let file = said["state"].as_str().unwrap().to_owned();
    let of_fork = |args: &[&str]| {
        let args = [&["--state", &file], args].concat();
        doubtful.world.descent(&args)
    };
    of_fork(&["validate"]).expect(0);
    let ended = of_fork(&["run", "--json"]).expect(6).result();
    assert_eq!(ended["reason"], "in_doubt");
    let listed = of_fork(&["confirm", "--json"]).expect(0).json();
    let attempt = listed["doubts"][0]["attempt"].as_str().unwrap().to_owned();
    of_fork(&["confirm", &attempt]).expect(0);
    of_fork(&["run", "--json"]).expect(0);
    assert_eq!(doubtful.world.left("sent"), "1\n");
}

#[test]
fn an_effect_outside_that_a_timeout_cut_off_is_in_doubt_and_not_tried_again() {
    let (world, nap) = (World::new(), long_nap());
    let deploy = format!("echo x >> {}; sleep {nap}", world.out("sent").display());
    let atom = with(task(&deploy), json!({"effect": "external", "timeout": "1s"}));
    let twice = json!({"max_attempts": 2});
    world.align(&plan(&["test -f done"], twice, json!({"deploy": atom})));
    assert_eq!(world.run().expect(6).result()["reason"], "in_doubt");
    assert_eq!(world.run().expect(6).result()["reason"], "in_doubt");
    assert_eq!(world.left("sent"), "x\n");
}

#[test]
fn an_effect_outside_whose_change_does_not_merge_is_not_made_again_unasked() {
    let world = World::new();
    let (sent, at) = (world.out("sent"), world.out("at"));
    let deploy = format!(
        "echo x >> {}; until [ -e {} ]; do sleep 0.02; done; echo deploy > f",
        sent.display(),
        at.display()
    );
    let other = format!("until [ -e {} ]; do sleep 0.02; done; echo other > f", sent.display());
    let atoms = json!({
        "deploy": with(task(&deploy), json!({"effect": "external"})),
        "other": task(&other),
    });
    world.align(&plan(&["test -f done"], json!({}), atoms));
    let mut run = world.start(&["run", "--json"]);
    wait_for("the other is bound", || world.state()["bindings"]["other"].is_object());
    world.touch("at");
    assert_eq!(run.wait().expect(6).result()["reason"], "in_doubt");
    assert_eq!(world.left("sent"), "x\n");
}

#[test]
fn what_is_not_in_doubt_is_refused_with_what_is() {
    let (doubtful, attempt) = Doubtful::ended();
    let before = doubtful.world.state_bytes();
    let refused = doubtful.world.descent(&["confirm", "deploy.99"]);
    refused.expect(2).says("no effect in doubt is called `deploy.99`").says(&attempt);
    assert_eq!(doubtful.world.state_bytes(), before);
    doubtful.world.descent(&["confirm", &attempt]).expect(0);
    let again = doubtful.world.descent(&["confirm", &attempt, "--no"]);
    again.expect(2).says("there is none");
}

#[test]
fn a_live_loop_goes_on_from_what_a_person_resolves() {
    let doubtful = Doubtful::new();
    let world = &doubtful.world;
    // Something else is at work, so that the doubt does not end the run.
    let text = world.state_text().replace("touch beside", "touch beside ");
    world.touch("stay");
    world.save(&text);
    let mut run = world.start(&["run", "--json"]);
    wait_for("the doubt", || world.state_text().contains("\"in_doubt\""));
    let attempt = world.state()["work_graph"]["atoms"]["deploy"]["because"].clone();
    wait_for("the other works", || !processes(&doubtful.nap).is_empty());
    world.descent(&["confirm", attempt.as_str().unwrap()]).expect(0);
    world.wait_for_file("told");
    std::fs::remove_file(world.out("stay")).unwrap();
    world.descent(&["stop"]).expect(0);
    let ran = run.wait().expect(3);
    assert_eq!(ran.count("corrected"), 2, "{}", ran.stdout);
    world.run().expect(0);
    assert_eq!(world.left("sent"), "1\n");
}

/// A deployment that was made, of what another atom made; the base case waits for `never`.
fn deployed() -> World {
    let world = World::new();
    let deploy = format!("cat made; echo x >> {}; touch deployed", world.out("sent").display());
    let atoms = json!({
        "make": task("echo 1 > made"),
        "deploy": with(task(&deploy), json!({"effect": "external", "depends_on": ["make"]})),
        "tell": with(task("test -e told"), json!({"depends_on": ["deploy"]})),
    });
    world.align(&plan(&["test -f never"], json!({}), atoms));
    world.run().expect(5);
    assert_eq!(world.left("sent"), "x\n");
    world
}

/// The run asks, makes nothing again, and goes on from a person's word.
#[track_caller]
fn asks_and_repeats_nothing(world: &World, why: &str) {
    assert_eq!(world.run().expect(6).result()["reason"], "in_doubt");
    world.descent(&["confirm"]).expect(0).shows(why);
    let attempt = world.state()["work_graph"]["atoms"]["deploy"]["because"].clone();
    let said = ["confirm", attempt.as_str().unwrap()];
    let spent = world.state()["run"]["spent"]["attempts"].clone();
    world.descent(&said).expect(0);
    assert!(world.state()["bindings"]["deploy"].is_object());
    // It was counted when it was made first.
    assert_eq!(world.state()["run"]["spent"]["attempts"], spent);
    world.run().expect(5);
    assert_eq!(world.left("sent"), "x\n");
}

#[test]
fn an_effect_outside_whose_input_a_person_overwrote_is_not_made_again_unasked() {
    let world = deployed();
    let mut state = world.state();
    state["bindings"]["make"]["value"] = json!({"made": "by hand"});
    state["work_graph"]["atoms"]["tell"]["status"] = json!("pending");
    world.save_records(&state);
    asks_and_repeats_nothing(&world, "what it was made from is another now");
}

#[test]
fn an_effect_outside_whose_commit_the_repository_lost_is_not_made_again_unasked() {
    let world = deployed();
    let commit = world.state()["bindings"]["deploy"]["commit"].clone();
    let (dir, name) = commit.as_str().unwrap().split_at(2);
    let object = format!("objects/{dir}/{name}");
    std::fs::remove_file(world.repository().join(object)).unwrap();
    world.replace_in_state("\"status\": \"failed\"", "\"status\": \"pending\"");
    asks_and_repeats_nothing(&world, "the repository lost its commit");
}

#[test]
fn an_effect_outside_that_was_taken_out_under_way_is_asked_about_when_undo_brings_it_back() {
    let (world, _) = taken_out_under_way();
    world.descent(&["undo", "-y"]).expect(0);
    assert_eq!(world.run().expect(6).result()["reason"], "in_doubt");
    assert_eq!(world.left("sent"), "x\n");
}

#[test]
fn an_effect_outside_that_was_taken_out_under_way_is_asked_about_when_it_is_put_back_by_hand() {
    let (world, before) = taken_out_under_way();
    let mut state = world.state();
    let atom = &before["work_graph"]["atoms"]["deploy"];
    state["work_graph"]["atoms"]["deploy"] = atom.clone();
    // An objective that changed too clears the trail, and no doubt.
    state["objective"]["goal"] = json!("another");
    world.save_records(&state);
    assert_eq!(world.run().expect(6).result()["reason"], "in_doubt");
    assert_eq!(world.left("sent"), "x\n");
}

/// The world afterwards, and the state as it was when the effect had begun.
fn taken_out_under_way() -> (World, Value) {
    let (world, nap) = (World::new(), long_nap());
    let deploy = format!("echo x >> {}; sleep {nap}", world.out("sent").display());
    let atoms = json!({
        "deploy": with(task(&deploy), json!({"effect": "external"})),
        "other": task("touch other"),
    });
    world.align(&plan(&["test -f done"], json!({}), atoms));
    let mut run = world.start(&["run"]);
    world.wait_for_file("sent");
    let before = world.state();
    let mut state = before.clone();
    let atoms = state["work_graph"]["atoms"].as_object_mut().unwrap();
    atoms.remove("deploy");
    world.save_records(&state);
    run.wait().expect(5).shows("look whether that happened");
    assert_eq!(processes(&nap), Vec::<String>::new());
    (world, before)
}

#[test]
fn an_effect_outside_whose_result_is_of_no_use_is_not_made_again_unasked() {
    let spoil = "echo '{' > \"$DESCENT_RESULT\"";
    let remove = "rm -rf \"$PWD\"";
    let protect = "echo x > checks";
    for (how, constraints, why) in [
        (spoil, json!({"max_attempts": 3}), "its answer cannot be read"),
        (remove, json!({"max_attempts": 3}), "its workspace cannot be used"),
        (
            protect,
            json!({"max_attempts": 3, "protected": ["checks"]}),
            "it changed what judges it: checks",
        ),
    ] {
        let world = World::new();
        let deploy = format!("echo x >> {}; {how}", world.out("sent").display());
        let atom = with(task(&deploy), json!({"effect": "external"}));
        world.align(&plan(&["test -f done"], constraints, json!({"deploy": atom})));
        assert_eq!(world.run().expect(6).result()["reason"], "in_doubt");
        world.run().expect(6);
        assert_eq!(world.left("sent"), "x\n", "{how}");
        world.descent(&["confirm"]).expect(0).shows(why);
        world.descent(&["log"]).expect(0).shows(why);
    }
}

#[test]
fn a_doubt_and_its_reason_outlive_an_edit_of_the_objective() {
    let world = World::new();
    let deploy =
        format!("echo x >> {}; echo '{{' > \"$DESCENT_RESULT\"", world.out("sent").display());
    world.align(&plan(
        &["test -f done"],
        json!({}),
        json!({"deploy": with(task(&deploy), json!({"effect": "external"}))}),
    ));
    world.run().expect(6);
    let mut state = world.state();
    state["objective"]["goal"] = json!("Another goal");
    world.save_records(&state);
    world.run().expect(6);
    assert_eq!(world.left("sent"), "x\n");
    world.descent(&["confirm"]).expect(0).shows("its answer cannot be read").shows("started at 2");
}

#[test]
fn a_doubt_is_asked_about_although_another_atom_has_failed_for_good() {
    let (world, nap) = (World::new(), long_nap());
    let deploy = format!("echo x >> {}; sleep {nap}", world.out("sent").display());
    let atoms = json!({
        "deploy": with(task(&deploy), json!({"effect": "external", "timeout": "1s"})),
        "other": task("sleep 2; exit 1"),
    });
    world.align(&plan(&["test -f done"], json!({}), atoms));
    assert_eq!(world.run().expect(6).result()["reason"], "in_doubt");
    assert_eq!(world.status()["next"], "descent confirm");
}
