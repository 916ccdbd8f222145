//! A person takes things out of the file: an atom, a result, the start of a run.

use serde_json::json;

use super::waiting;
use crate::whole_records;
use crate::world::{World, after, long_nap, plan, processes, task, wait_for, with};

#[test]
fn a_binding_that_others_build_on_can_be_taken_out_and_is_made_again() {
    let world = World::new();
    let ran = world.out("ran").display().to_string();
    let step = |id: &str| format!("echo {id} >> {ran}; echo {id} >> {id}");
    let atoms = json!({"A1": task(&step("a")), "A2": after(&["A1"], &step("b"))});
    world.align(&plan(&["test -f b"], json!({}), atoms));
    world.run().expect(0);
    let mut state = world.state();
    whole_records::open(&mut state, "A1");
    world.save_records(&state);
    world.descent(&["validate"]).expect(0);
    assert_eq!(world.run().expect(0).count("corrected"), 1);
    assert_eq!(world.left("ran"), "a\nb\na\n");
    // Nobody knows the other one.
    let mut state = world.state();
    state["bindings"]["A2"]["of"]["depends_on"] = json!(["A9"]);
    world.save_records(&state);
    world.descent(&["validate"]).expect(65);
}

#[test]
fn an_edit_that_takes_away_what_a_run_starts_from_is_waited_for() {
    for (key, taken) in [("\"goal\": ", "\"gaol\": "), ("\"base_case\": ", "\"base_cas\": ")] {
        let mut it = waiting();
        let whole = it.world.state_text();
        it.world.save(&whole.replace(key, taken));
        let told = format!("/objective/{}", taken.trim_matches(['"', ':', ' ']));
        wait_for("what is missing", || it.run.said().contains(&told));
        it.world.descent(&["validate"]).expect(65);
        it.world.save(&whole.replace("run echo three >> log", "mended"));
        it.world.touch("go");
        it.run.wait().expect(0).says("whole again");
        let third = it.world.state()["bindings"]["A3"]["of"]["description"].clone();
        assert_eq!(third, "mended");
    }
}

#[test]
fn an_effect_outside_that_is_taken_out_while_it_happens_is_told_and_nothing_waits_for_it() {
    let (world, nap) = (World::new(), long_nap());
    let at = world.out("at");
    let deploy = format!("echo x >> {}; sleep {nap}", at.display());
    let atoms = json!({
        "A1": with(task(&deploy), json!({"effect": "external"})),
        "A2": after(&["A1"], "touch done"),
    });
    world.align(&plan(&["test -f done"], json!({}), atoms));
    let run = world.start(&["run", "--json"]);
    wait_for("the effect", || !world.left("at").is_empty());
    let mut state = world.state();
    let atoms = state["work_graph"]["atoms"].as_object_mut().unwrap();
    atoms.remove("A1");
    atoms["A2"]["depends_on"] = json!([]);
    world.save_records(&state);
    let mut run = run;
    let ran = run.wait().expect(0);
    assert_eq!((ran.count("interrupted"), ran.count("in_doubt")), (1, 0));
    world.descent(&["confirm"]).expect(0).shows("nothing here waits");
    assert_eq!(processes(&nap), Vec::<String>::new());
}

#[test]
fn an_atom_taken_out_while_its_attempt_is_in_flight_ends_the_attempt_and_the_run_goes_on() {
    let mut it = waiting();
    let mut state = it.world.state();
    let atoms = state["work_graph"]["atoms"].as_object_mut().unwrap();
    atoms.remove("A1");
    atoms["A2"]["depends_on"] = json!([]);
    it.world.save_records(&state);
    // Nobody lets the first one go on: it has to be ended.
    let ran = it.run.wait().expect(0);
    assert_eq!(ran.count("interrupted"), 1);
    assert_eq!(it.world.result_file("log"), "two\nthree\n");
}

#[test]
fn what_only_the_program_writes_is_taken_from_the_newest_commit_where_a_person_took_it_out() {
    let world = World::new();
    let atoms = json!({"A1": task("echo one > log"), "A2": after(&["A1"], "echo two >> log")});
    world.align(&plan(&["grep -q two log"], json!({}), atoms));
    world.run().expect(0);
    let before = world.file();
    let mut file = before.clone();
    file.as_object_mut().unwrap().remove("internal");
    file["objective"]["base_case"]["all"][0]["command"] = json!("grep -q one log");
    world.save(&file.to_string());
    world.descent(&["status"]).expect(0).shows("edited by hand");
    world.run().expect(0);
    let after = world.file();
    assert_eq!(after["internal"]["lineage"], before["internal"]["lineage"]);
    assert_eq!(after["internal"]["bindings"], before["internal"]["bindings"]);
}

#[test]
fn a_status_by_hand_asks_for_something_and_is_no_fact() {
    let world = World::new();
    let atoms = json!({
        "A1": task("echo one >> log"),
        "A2": after(&["A1"], "exit 1"),
        "A3": task("test -e go && touch three"),
    });
    world.align(&plan(&["test -e three"], json!({}), atoms));
    world.run().expect(5);
    let status = |id: &str| world.file()["work_graph"]["atoms"][id]["status"].clone();
    assert_eq!((status("A1"), status("A2")), (json!("resolved"), json!("failed")));
    let write = |id: &str, word: serde_json::Value| {
        let mut file = world.file();
        file["work_graph"]["atoms"][id]["status"] = word;
        world.save(&file.to_string());
    };
    write("A2", json!("resolved"));
    world.run().expect(5).shows("A2: skipped");
    assert_eq!(
        (status("A2"), world.state()["bindings"]["A2"]["by"].clone()),
        (json!("resolved"), json!("person"))
    );
    write("A1", json!("pending"));
    world.run().expect(5).shows("bindings forgotten: A1");
    write("A1", json!(null));
    let events = world.run().expect(5).count("corrected");
    assert_eq!(events, 0, "without the word a result stays");
    write("A1", json!("failed"));
    world.run().expect(5).shows("/work_graph/atoms/A1/status");
    assert_eq!(status("A1"), "resolved");
}
