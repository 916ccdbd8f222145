//! `guide`, `skip` and `retry`: a person's instruction for single atoms, by command and by hand.

use serde_json::{Value, json};

use crate::begun::at_work;
use crate::world::{World, plan, task, wait_for, with};

/// One atom that is done as soon as its prompt has these words in it. The pattern must not match itself.
fn listens_for(word: &str) -> World {
    let world = World::new();
    let prompts = world.out("prompts").display().to_string();
    let run =
        format!("cat $DESCENT_PROMPT >> {prompts}; grep -q '{word}' $DESCENT_PROMPT && touch done");
    world.align(&plan(&["test -f done"], json!({"max_attempts": 1}), json!({"A1": task(&run)})));
    world
}

fn corrections(world: &World) -> Vec<Value> {
    let state = world.state();
    state["corrections"].as_array().cloned().unwrap_or_default()
}

#[test]
fn guidance_is_in_the_next_prompt_beside_the_failures_and_is_a_correction_of_its_own() {
    let world = listens_for("[p]ort 8443");
    world.run().expect(5);
    world
        .descent(&["guide", "the port 8443", "--for", "A1"])
        .expect(0)
        .shows("A1: the port 8443")
        .shows("→ tried anew with these words: A1")
        .shows("next: descent run");
    world.descent(&["why", "A1"]).expect(0).shows("guidance   the port 8443");
    world.run().expect(0);
    let prompts = world.left("prompts");
    let last = prompts.rsplit("Today is ").next().unwrap_or_default();
    assert!(last.contains("What a person says to this"), "{last}");
    assert!(last.contains("What was tried before and failed"), "{last}");
    let given = corrections(&world);
    assert_eq!(given.len(), 1, "{given:?}");
    assert_eq!(given[0]["type"], "guidance");
    assert_eq!(given[0]["description"], "A1: the port 8443");
    let log = world.descent(&["log"]).expect(0);
    log.shows("guided").shows("the port 8443");
}

#[test]
fn guidance_by_hand_is_the_same_correction() {
    let world = listens_for("[p]ort 8443");
    world.run().expect(5);
    world.replace_in_state("\"A1\": {", "\"A1\": {\n        \"guidance\": [\"the port 8443\"],");
    world.run().expect(0);
    let given = corrections(&world);
    assert_eq!(given[0]["type"], "guidance", "{given:?}");
    assert_eq!(given[0]["description"], "A1: the port 8443");
}

#[test]
fn guidance_to_an_atom_at_work_ends_its_attempt_at_no_cost_and_starts_another() {
    let (world, mut run) = at_work();
    world.descent(&["guide", "be quick", "--for", "A1"]).expect(0).shows("next: descent status");
    wait_for("another attempt", || world.left("at").lines().count() == 2);
    world.touch("go");
    run.wait().expect(0);
    assert_eq!(world.state()["bindings"]["A1"]["attempts"], 1);
}

#[test]
fn guidance_that_nobody_asks_for_names_who_failed() {
    let world = listens_for("[p]ort 8443");
    world.descent(&["guide", "the port 8443"]).expect(2).says("no atom asks for guidance");
    world.run().expect(5);
    world
        .descent(&["guide", "the port 8443"])
        .expect(2)
        .says("these failed: A1; descent guide TEXT --for A1");
    let before = world.state_bytes();
    world.descent(&["guide", " "]).expect(2).says("empty");
    world
        .descent(&["guide", "x", "--for", "A2", "--for", "B"])
        .expect(65)
        .says("error[E-INVALID]: this has 2 faults")
        .says("no atom is named A2 (did you mean `A1`?)")
        .says("no atom is named B");
    world
        .descent(&["guide", &"x".repeat(4_001), "--for", "A1"])
        .expect(65)
        .says("guidance of 4001 characters, the limit is 4000");
    assert_eq!(world.state_bytes(), before);
}

#[test]
fn the_same_guidance_again_is_unchanged() {
    let world = listens_for("[p]ort 8443");
    world.descent(&["guide", "x", "--for", "A1"]).expect(0);
    let before = world.state_bytes();
    let again = world.descent(&["guide", "x", "--for", "A1"]).expect(0);
    again.shows("unchanged");
    assert_eq!(world.state_bytes(), before);
}

/// A1 fails; A2 waits for it.
fn in_a_row() -> World {
    let world = World::new();
    world.align(&plan(
        &["test -f done"],
        json!({"max_attempts": 1}),
        json!({
            "A1": task("false"),
            "A2": with(task("touch done"), json!({"depends_on": ["A1"]})),
        }),
    ));
    world.run().expect(5);
    world
}

#[test]
fn a_skipped_atom_counts_as_done_and_comes_back_when_it_is_forgotten() {
    let world = in_a_row();
    world.descent(&["skip", "A1", "--reason", "by hand"]).expect(0).shows("next: descent run");
    world.run().expect(0);
    let skipped = &world.state()["bindings"]["A1"];
    assert_eq!(skipped["summary"], "skipped: by hand");
    assert_eq!(skipped["by"], "person");
    assert_eq!(corrections(&world)[0]["type"], "bindings_override");
    let log = world.descent(&["log"]).expect(0);
    log.shows("by ada: skipped A1: by hand");
    world.descent(&["skip", "A1"]).expect(0).shows("unchanged");
    world
        .descent(&["skip", "A2"])
        .expect(65)
        .says("A2 is solved (descent redirect --forget A2 makes it again)");
    world.descent(&["redirect", "-y", "--forget", "A1"]).expect(0);
    assert_eq!(world.state()["bindings"]["A1"], Value::Null);
}

#[test]
fn of_a_skipped_group_all_open_tasks_are_skipped() {
    let world = World::new();
    world.align(&plan(
        &["test -f done"],
        json!({}),
        json!({
            "G": {"kind": "all", "description": "both", "parts": ["A1", "A2"]},
            "A1": task("false"),
            "A2": task("false"),
            "A3": with(task("touch done"), json!({"depends_on": ["G"]})),
        }),
    ));
    world.descent(&["skip", "G"]).expect(0);
    world.run().expect(0);
    let state = world.state();
    for atom in ["A1", "A2"] {
        assert_eq!(state["bindings"][atom]["summary"], "skipped");
    }
}

#[test]
fn of_a_group_without_a_choice_nothing_is_skipped_unasked() {
    let world = World::new();
    world.align(&plan(
        &["test -f done"],
        json!({}),
        json!({
            "G": {"kind": "any", "description": "either", "choices": ["A1", "A2"]},
            "A1": task("true"),
            "A2": task("true"),
        }),
    ));
    world
        .descent(&["skip", "G"])
        .expect(65)
        .says("nothing below G is in force: no choice is made yet")
        .says("descent redirect --select G=CHOICE");
    world.descent(&["skip", "A1"]).expect(0);
}

#[test]
fn an_atom_in_doubt_is_neither_guided_nor_skipped_before_a_person_says_what_happened() {
    let world = World::new();
    let at = world.out("at").display().to_string();
    let pay = task(&format!("echo x >> {at}; sleep 600"));
    world.align(&plan(
        &["test -f done"],
        json!({}),
        json!({"pay": with(pay, json!({"effect": "external"}))}),
    ));
    let mut run = world.start(&["run"]);
    wait_for("the effect", || !world.left("at").is_empty());
    world.descent(&["stop", "--now"]).expect(0);
    run.wait();
    for command in [&["skip", "pay"][..], &["guide", "x", "--for", "pay"]] {
        world.descent(command).expect(65).says(
            "the effect of pay is in doubt (descent confirm pay.1, with --no if it did not happen)",
        );
    }
}

#[test]
fn a_retried_atom_has_all_its_attempts_again_and_a_solved_one_is_refused() {
    let world = World::new();
    let again = world.out("again").display().to_string();
    world.align(&plan(
        &["test -f done"],
        json!({"max_attempts": 1}),
        json!({"A1": task(&format!("test -f {again} && touch done"))}),
    ));
    world.descent(&["retry", "A1"]).expect(0).shows("unchanged");
    world.run().expect(5);
    world.touch("again");
    world
        .descent(&["retry", "A1", "--reason", "the server is up", "--json"])
        .expect(0)
        .shows("\"result\":\"changed\"");
    world.run().expect(0);
    assert!(world.state_text().contains("the server is up"));
    world
        .descent(&["retry", "A1"])
        .expect(65)
        .says("A1 is solved (descent redirect --forget A1 makes it again)");
}

/// One atom that says the same each time, whatever is tried, until its prompt has the words.
fn stuck(more: Value, atoms: impl FnOnce(Value) -> Value) -> World {
    let world = World::new();
    let at = world.out("at").display().to_string();
    let run = format!(
        "echo x >> {at}; grep -q '[p]ort 8443' $DESCENT_PROMPT || {{ echo \"/tmp/$$/x.rs:$$: refused\"; exit 1; }}; touch done"
    );
    let mut constraints = json!({"max_attempts": 5, "on_stuck": "ask"});
    constraints
        .as_object_mut()
        .expect("constraints")
        .extend(more.as_object().expect("more").clone());
    let atoms = atoms(task(&run));
    world.align(&plan(&["test -f done"], constraints, atoms));
    world
}

#[test]
fn two_failures_alike_with_nothing_else_to_choose_ask_for_guidance_and_keep_the_attempts() {
    let world = stuck(json!({}), |task| json!({"A1": task}));
    let ran = world.run().expect(6);
    assert_eq!(ran.count("needs_guidance"), 1, "{}", ran.stdout);
    assert_eq!(world.left("at").lines().count(), 2);
    let state = world.state();
    let atom = &state["work_graph"]["atoms"]["A1"];
    assert_eq!(atom["status"], "needs_guidance");
    assert_eq!(atom["tries"][0]["attempts"], 2);
    world.descent(&["status"]).expect(0).shows("\nasks     A1 ");
    let log = world.descent(&["log"]).expect(0).stdout;
    let place = |words: &str| log.rfind(words).expect("a line of the log");
    assert!(place("failed    A1") < place("asks      A1"), "{log}");
    let status = world.status();
    let next = "descent guide \"what it should know\" --for A1";
    assert_eq!(status["next"], next, "{status}");
    world.run().expect(6);
    assert_eq!(world.left("at").lines().count(), 2, "it waits");
    world.descent(&["guide", "the port 8443"]).expect(0);
    world.run().expect(0);
    assert_eq!(world.left("at").lines().count(), 3);
}

#[test]
fn a_retry_gives_an_atom_that_waits_for_guidance_its_attempts_back() {
    let world = stuck(json!({}), |task| json!({"A1": task}));
    world.run().expect(6);
    world.descent(&["retry", "A1"]).expect(0);
    world.run().expect(6);
    assert_eq!(world.left("at").lines().count(), 4);
}

#[test]
fn with_a_choice_left_or_with_abandon_every_attempt_is_made() {
    let abandoned = stuck(json!({"on_stuck": "abandon"}), |task| json!({"A1": task}));
    abandoned.run().expect(5);
    assert_eq!(abandoned.left("at").lines().count(), 5);
    let chosen = stuck(json!({}), |one| {
        json!({
            "G": {"kind": "any", "description": "either", "choices": ["A1", "A2"]},
            "A1": one,
            "A2": task("touch done"),
        })
    });
    chosen.run().expect(0);
    assert_eq!(chosen.left("at").lines().count(), 5);
}

/// C1 ends only after B failed for good and A1 asks: then nothing but C2 is left.
#[test]
fn others_go_on_while_an_atom_waits_for_guidance_also_when_one_of_them_fails_for_good() {
    let world = stuck(json!({"max_parallel_agents": 3}), |one| json!({"A1": one}));
    let (at, failed) = (world.out("at"), world.out("failed"));
    let (at, failed) = (at.display(), failed.display());
    let blocked = r#"{"clarity": "BLOCKED", "summary": "no way"}"#;
    let b = format!("echo '{blocked}' > $DESCENT_RESULT; touch {failed}");
    let both = format!("[ -e {failed} ] && [ $(wc -l < {at}) -ge 2 ]");
    let c1 = format!("until {both}; do sleep 0.02; done; sleep 0.5; touch c1");
    let more = json!({
        "B": task(&b),
        "C1": task(&c1),
        "C2": with(task("touch c2"), json!({"depends_on": ["C1"]})),
    });
    let path = world.plan(&json!({"work_graph": {"atoms": more}}));
    world.descent(&["redirect", "--add", &path, "-y"]).expect(0);
    let ran = world.run().expect(6);
    assert_eq!(ran.result()["reason"], "guidance");
    let state = world.state();
    assert_eq!(state["work_graph"]["atoms"]["B"]["status"], "invalid");
    assert!(state["bindings"]["C2"].is_object(), "{state}");
}

#[test]
fn a_cause_that_three_atoms_share_is_told_once_and_counted_in_the_state() {
    let world = World::new();
    let fails = || task("echo the registry is down; exit 1");
    let atoms = json!({"A1": fails(), "A2": fails(), "A3": fails(), "A4": fails()});
    world.align(&plan(&["test -e never"], json!({"max_attempts": 2}), atoms));
    let ran = world.descent(&["run", "--json"]).expect(5);
    assert_eq!(ran.count("pattern"), 1);
    let place = |event: &str| ran.stdout.find(event).expect("an event");
    assert!(place("attempt_failed") < place("\"pattern\""), "{}", ran.stdout);
    let patterns = world.state()["run"]["patterns"].clone();
    assert_eq!(patterns[0]["failures"], 8, "{patterns}");
    assert_eq!(patterns[0]["atoms"], json!(["A1", "A2", "A3", "A4"]));
    world
        .descent(&["status"])
        .expect(0)
        .shows("pattern  A1, A2, A3, A4 fail alike  exit 1: the registry is down");
}

#[test]
fn what_a_failed_attempt_reported_is_told_to_the_next_one() {
    let world = World::new();
    let prompt = world.out("prompt").display().to_string();
    let report =
        r#"{"summary": "the key is wrong", "value": {"tried": 8443}, "handoff": "ask the owner"}"#;
    let run = format!("cp $DESCENT_PROMPT {prompt}; echo '{report}' > $DESCENT_RESULT; exit 1");
    let constraints = json!({"max_attempts": 2});
    world.align(&plan(&["test -e never"], constraints, json!({"A1": task(&run)})));
    world.run().expect(5);
    let told = world.left("prompt");
    for words in ["    the key is wrong\n", "    ask the owner\n"] {
        assert!(told.contains(words), "{told}");
    }
    let failure = &world.state()["trail"][0];
    assert_eq!(failure["value"], json!({"tried": 8443}), "{failure}");
    world.descent(&["why", "A1"]).expect(0).shows("left: ask the owner");
}

#[test]
fn a_failed_task_that_a_person_skips_closes_no_choice_of_others() {
    let world = World::new();
    let atoms = json!({
        "way": {"kind": "any", "choices": ["left", "right"]},
        "left": task("echo 1 > left"),
        "right": task("echo 1 > right"),
        "failing": task("exit 1"),
    });
    world.align(&plan(&["test -e right"], json!({}), atoms));
    world.run().expect(5);
    world.descent(&["skip", "failing"]).expect(0);
    world.run().expect(0);
}

#[test]
fn a_solved_group_is_solved_though_its_other_choice_is_open() {
    let world = World::new();
    let way = json!({"kind": "any", "choices": ["left", "right"]});
    let atoms = json!({"way": way, "left": task("touch left"), "right": task("touch right")});
    world.align(&plan(&["test -e left"], json!({}), atoms));
    world.run().expect(0);
    for command in ["skip", "retry"] {
        world.descent(&[command, "way"]).expect(65).says("way is solved");
    }
}

/// Work that is given back is done before a person looks at the result again.
#[test]
fn after_guidance_the_next_command_is_run_though_a_confirmation_is_awaited() {
    let world = World::new();
    let mut agreed = plan(&[], json!({}), json!({"A1": task("touch one"), "A2": task("false")}));
    agreed["objective"]["base_case"] =
        json!({"all": [{"file": "one"}, {"assertion": "it is good"}]});
    world.align(&agreed);
    world.run().expect(6);
    let guided = world.descent(&["guide", "use the proxy", "--for", "A2"]).expect(0);
    guided.shows("next: descent run");
}
