//! A buffer that was opened long ago and is saved when nobody knows its beginning any more, or after a kill.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::{
    agree::from_nothing::order,
    world::{Running, World, after, plan, task, wait_for_or},
};

/// A person's text in a buffer that was opened while nothing was solved yet.
const TYPED: &str = "from an old buffer";

/// A run whose second atom waits: the first is solved, and the text of the file from before that.
struct Cut {
    world: World,
    buffer: String,
}

fn waits(world: &World, n: u32, then: &str) -> String {
    let (at, go) = (world.out(&format!("at{n}")), world.out(&format!("go{n}")));
    let (at, go) = (at.display(), go.display());
    format!("touch {at}; until [ -e {go} ]; do sleep 0.02; done; {then}")
}

fn killed_behind_an_old_buffer() -> Cut {
    let world = World::new();
    let atoms = json!({
        "A1": task(&waits(&world, 1, "echo one >> log")),
        "A2": after(&["A1"], &waits(&world, 2, "echo two >> log")),
        "A3": after(&["A2"], "echo three >> log"),
    });
    world.align(&plan(&["grep -q three log"], json!({}), atoms));
    let run = world.start(&["run", "--json"]);
    world.wait_for_file("at1");
    let text = world.state_text();
    let buffer = text.replace("run echo three >> log", TYPED);
    assert_ne!(buffer, text);
    world.touch("go1");
    world.wait_for_file("at2");
    run.kill();
    Cut { world, buffer }
}

impl Cut {
    /// Goes on, with the edit in and all that was committed before the kill.
    #[track_caller]
    fn goes_on(&self, mut run: Running) {
        self.world.touch("go2");
        let ran = run.wait().expect(0);
        assert_eq!(ran.result()["result"], "completed");
        let state: Value = self.world.state();
        let bindings = &state["bindings"];
        assert_eq!(bindings["A1"]["attempts"], 1, "{bindings}");
        assert_eq!(bindings["A3"]["of"]["description"], TYPED);
        assert_eq!(self.world.result_file("log"), "one\ntwo\nthree\n");
        self.world.descent(&["validate"]).expect(0);
    }
}

fn forget(journal: &Path) {
    fs::remove_dir_all(journal).unwrap();
}

#[test]
fn saved_over_the_newest_commit_of_a_killed_loop_it_takes_nothing_of_that_back() {
    let cut = killed_behind_an_old_buffer();
    fs::write(cut.world.state_path(), &cut.buffer).unwrap();
    cut.goes_on(cut.world.start(&["run", "--json"]));
}

#[test]
fn an_edit_with_a_serial_out_of_reach_and_no_seal_takes_no_result_back() {
    let world = World::new();
    let happened = world.out("happened");
    let run = format!("echo one >> log; echo x >> {}", happened.display());
    world.align(&plan(&["grep -q one log"], json!({}), json!({"A1": task(&run)})));
    world.descent(&["run"]).expect(0);
    let mut edited = world.state();
    crate::whole_records::open(&mut edited, "A1");
    edited["serial"] = json!(4_000_000);
    edited["seal"] = json!("");
    world.save_records(&edited);
    world.descent(&["run"]).expect(0);
    assert_eq!(fs::read_to_string(happened).unwrap(), "x\n");
    assert_eq!(world.state()["bindings"]["A1"]["attempts"], 1);
}

#[test]
fn where_its_beginning_is_no_longer_kept_it_is_merged_with_the_present_and_no_run_waits_for_it() {
    let cut = killed_behind_an_old_buffer();
    let world = &cut.world;
    forget(&world.repo().join(".descent/state.json.d/journal"));
    fs::remove_file(world.out("at2")).unwrap();
    let run = world.start(&["run", "--json"]);
    world.wait_for_file("at2");
    world.save(&cut.buffer);
    let corrected = || {
        let state: Value = serde_json::from_slice(&world.state_bytes()).unwrap_or_default();
        let made = state["corrections"].as_array().map_or(0, Vec::len);
        made > 0
    };
    wait_for_or("the correction", corrected, || run.said());
    let waited = run.said();
    assert!(!waited.contains("waiting:"), "{waited}");
    cut.goes_on(run);
}

#[test]
fn an_old_buffer_that_is_saved_as_it_was_takes_nothing_back_during_a_run_nor_after_it() {
    let world = World::new();
    let ran = world.out("ran").display().to_string();
    let step = |then: &str| format!("echo x >> {ran}; {then}");
    let waiting = waits(&world, 2, "echo two >> log");
    let atoms = json!({
        "A1": task(&step("echo one >> log")),
        "A2": after(&["A1"], &step(&waiting)),
    });
    world.align(&plan(&["grep -q two log"], json!({}), atoms));
    let aligned = world.state_text();
    let mut run = world.start(&["run", "--json"]);
    world.wait_for_file("at2");
    world.save(&aligned);
    let is_told = || world.state_text() != aligned;
    wait_for_or("it is taken in", is_told, || run.said());
    world.touch("go2");
    assert_eq!(run.wait().expect(0).result()["result"], "completed");
    let ended = world.state();
    world.save(&aligned);
    world
        .descent(&["run"])
        .expect(0)
        .shows("nothing: serial 1 was saved again, and what came since stands");
    assert_eq!(world.state()["bindings"], ended["bindings"]);
    assert_eq!(world.left("ran"), "x\nx\n");
}

#[test]
fn a_limit_that_is_raised_opens_what_it_had_ended_also_where_the_journal_is_gone() {
    let world = World::new();
    let once = world.out("once");
    let run = format!("[ -e {0} ] || {{ touch {0}; exit 1; }}; echo one > log", once.display());
    world.align(&plan(
        &["grep -q one log"],
        json!({"max_parallel_agents": 1}),
        json!({"A1": task(&run)}),
    ));
    world.run().expect(5);
    forget(&world.repo().join(".descent/state.json.d/journal"));
    let raised = "\"max_parallel_agents\": 1, \"max_attempts\": 2";
    world.replace_in_state("\"max_parallel_agents\": 1", raised);
    world.run().expect(0);
}

#[test]
fn atoms_start_and_stay_in_their_order_through_stale_saves_and_undo() {
    let world = World::new();
    let log = world.out("log").display().to_string();
    let says = |id: &str| task(&format!("echo {id} >> {log}"));
    let atoms = json!({"z": says("z"), "m": says("m"), "a": says("a")});
    world.align(&plan(&["test -e never"], json!({"max_parallel_agents": 1}), atoms));
    world.run().expect(5);
    assert_eq!(world.left("log"), "z\nm\na\n");
    let stale = world.state_text();
    world.replace_in_state("\n  \"m\": {\"desc", "\n  \"x\": {},\n  \"m\": {\"desc");
    world.replace_in_state("\"x\": {}", &format!("\"x\": {}", says("x")));
    world.run().expect(5);
    assert_eq!(order(&world), ["z", "x", "m", "a"]);
    // An old buffer moves nothing.
    world.save(&stale.replace("it is so", "it is another"));
    world.run().expect(5);
    assert_eq!(order(&world), ["z", "x", "m", "a"]);
    let mut file = world.file();
    let atoms = file["work_graph"]["atoms"].as_object_mut().unwrap();
    let first = atoms.shift_remove("z").unwrap();
    atoms.insert("z".to_owned(), first);
    world.save(&file.to_string());
    world.descent(&["status"]).expect(0).shows("the order of the atoms");
    world.run().expect(5);
    assert_eq!(order(&world), ["x", "m", "a", "z"]);
    world.descent(&["undo", "-y"]).expect(0).shows("the order of the atoms");
    assert_eq!(order(&world), ["z", "x", "m", "a"]);
}
