//! The past of a state: who changed what, how things stood, back and beside. Derived: without it nothing else breaks.

use std::fs;

use serde_json::{Value, json};

use crate::whole_records;
use crate::world::{Ran, World, after, plan, task, wait_for};

/// Two atoms solved and one that failed for good, then the way around it.
fn told() -> World {
    let world = World::new();
    let atoms = json!({
        "auth": {"kind": "any", "choices": ["jwt", "session"]},
        "jwt": task("echo no key; exit 3"),
        "session": task("echo session >> log"),
        "B": after(&["auth"], "echo b >> log"),
    });
    world.align(&plan(&["grep -q b log"], json!({"max_attempts": 1}), atoms));
    world.run().expect(0);
    world
}

fn serial(world: &World) -> u64 {
    world.state()["serial"].as_u64().expect("a serial")
}

/// The parts that `undo` restores.
fn content(state: &Value) -> Value {
    json!([
        state["objective"],
        state["work_graph"],
        state["bindings"],
        state["run"]["head"],
        state["run"]["line"],
    ])
}

fn shown(world: &World, serial: u64) -> Ran {
    world.descent(&["log", &serial.to_string(), "--bytes"]).expect(0)
}

#[test]
fn every_commit_of_a_run_is_kept_byte_for_byte_and_in_words() {
    let world = told();
    let newest = serial(&world);
    for serial in 1..=newest {
        let state: Value = serde_json::from_str(&shown(&world, serial).stdout).expect("a state");
        assert_eq!(state["internal"]["serial"], serial);
    }
    assert_eq!(shown(&world, newest).stdout, world.state_text());
    let range = world.descent(&["log", "1..", "--json"]).expect(0).json();
    assert_eq!(range["schema"], "descent/difference/1");
    let text = range["text"].as_str().expect("words");
    for words in
        ["B, session solved", "jwt attempt 1 failed: exit 3: no key", "auth: none → session"]
    {
        assert!(text.contains(words), "no `{words}` in: {text}");
    }
    let log = world.descent(&["log"]).expect(0);
    log.shows("solved    session in ").shows("#2  chosen    auth = jwt");
}

#[test]
fn the_words_between_any_two_serials_are_none_only_where_nothing_differs() {
    let world = told();
    let newest = serial(&world);
    for from in 1..=newest {
        for to in [1, newest / 2, newest] {
            let range = format!("{from}..{to}");
            let found = world.descent(&["log", &range, "--json"]).expect(0).json();
            let differs = found["changes"].as_array().is_some_and(|all| !all.is_empty());
            assert_eq!(differs, from != to, "{range}: {found}");
        }
    }
}

#[test]
fn show_tells_how_things_stood_by_serial_by_steps_back_and_refuses_what_is_not_kept() {
    let world = told();
    let newest = serial(&world);
    let one = world.descent(&["log", "1", "--json"]).expect(0).json();
    assert_eq!(
        (&one["serial"], &one["command"], &one["by"]),
        (&json!(1), &json!("align"), &json!("ada"))
    );
    assert_eq!(one["state"]["run"]["status"], "aligned");
    let before = world.descent(&["log", "-1", "--json"]).expect(0).json();
    assert_eq!((&before["serial"], &before["command"]), (&json!(newest - 1), &json!("run")));
    world.descent(&["log", "1"]).expect(0).shows("aligned");
    let past = world.descent(&["log", "2"]).expect(0);
    assert!(!past.stdout.contains("cut off"), "{}", past.stdout);
    std::thread::sleep(std::time::Duration::from_secs(2));
    let past = (2..newest).map(|at| world.descent(&["log", &at.to_string()]).expect(0).stdout);
    let past: String = past.collect();
    assert!(past.contains("attempt 1 of 1, for 0 s") && !past.contains("for 2 s"), "{past}");
    world.descent(&["undo", "1", "-n"]).expect(0).shows("next: descent undo 1 -y");
    let no = world.descent(&["log", "9999"]).expect(2);
    no.says("E-USAGE").says("kept are 1 to");
    world.descent(&["log", "yesterday"]).expect(2).says("E-USAGE");
    world.descent(&["log", "-f"]).expect(2).says("next: descent watch");
}

#[test]
fn an_edit_by_hand_stands_in_the_log_as_it_was_saved() {
    let world = told();
    let saved = world.state_text().replace("somebody waits for it", "everybody waits for it");
    world.save(&saved);
    world.run().expect(0);
    let log = world.descent(&["log", "--json"]).expect(0).json();
    let entries = log["entries"].as_array().expect("entries");
    let edit = entries.iter().find(|entry| entry["kind"] == "edit").expect("the edit");
    let serial = edit["serial"].to_string();
    let kept = world.descent(&["log", &serial, "--saved"]).expect(0);
    assert_eq!(kept.stdout, saved);
    let what = world.descent(&["log", "-1..", "--json"]).expect(0).json();
    assert_eq!(what["to"].as_u64(), what["from"].as_u64().map(|from| from + 1));
}

#[test]
fn undo_brings_back_what_stood_before_the_last_correction_and_undo_again_what_stood_after() {
    let world = told();
    world.descent(&["run", "--set", "max_attempts=5"]).expect(0);
    let solved = world.state();
    world.replace_in_state("echo b >> log", "echo bb >> log");
    world.run().expect(0);
    let edited = world.state();
    assert_ne!(content(&solved), content(&edited));
    let dry = world.descent(&["undo", "-n", "--json"]).expect(0).json();
    assert_eq!(dry["result"], "planned");
    assert_eq!(world.state(), edited, "-n writes nothing");
    world.descent(&["undo"]).expect(2).says("nobody can be asked");
    let done = world.descent(&["undo", "-y", "--json"]).expect(0).json();
    assert_eq!(done["result"], "changed");
    let back = world.state();
    assert_eq!(back["work_graph"], solved["work_graph"]);
    assert_eq!(back["bindings"], solved["bindings"]);
    assert_eq!(back["run"]["head"], solved["run"]["head"]);
    assert_eq!(back["objective"], edited["objective"], "the edit before it stays");
    assert_eq!(back["run"]["spent"], edited["run"]["spent"]);
    assert_eq!(back["lineage"], edited["lineage"]);
    assert_eq!(back["corrections"].as_array().unwrap().last().unwrap()["type"], "undo");
    assert_eq!(world.result_file("log"), "session\nb\n");
    world.descent(&["undo", "-y"]).expect(0);
    assert_eq!(content(&world.state()), content(&edited));
    assert_eq!(world.result_file("log"), "session\nbb\n");
    world.descent(&["validate"]).expect(0);
    world.run().expect(0);
}

#[test]
fn undo_to_a_serial_goes_back_to_the_start_and_the_run_makes_it_all_again() {
    let world = told();
    let spent = world.state()["run"]["spent"]["attempts"].as_u64();
    world.descent(&["undo", "1", "-y"]).expect(0).shows("back to serial 1");
    let state = world.state();
    assert_eq!(state["bindings"], json!({}));
    assert_eq!(state["run"]["spent"]["attempts"].as_u64(), spent);
    world.run().expect(0);
    assert_eq!(world.result_file("log"), "session\nb\n");
    world.descent(&["undo", "1", "-y"]).expect(0);
    world.descent(&["undo", "1", "-y"]).expect(0).shows("nothing was undone");
}

#[test]
fn what_an_ending_found_is_undone_with_what_it_found_it_on() {
    let world = World::new();
    let atoms = json!({"A1": task("echo one > log")});
    world.align(&plan(&["grep -q one log"], json!({}), atoms));
    world.run().expect(0);
    assert_eq!(world.status()["base_case"][0]["verdict"], "pass");
    world.descent(&["undo", "1", "-y"]).expect(0);
    assert_eq!(world.status()["base_case"][0]["verdict"], Value::Null);
}

#[test]
fn undo_says_what_happened_outside_and_does_not_do_it_again() {
    let world = World::new();
    let out = world.out("sent").display().to_string();
    let mut send = task(&format!("echo sent >> {out}; touch done"));
    send["effect"] = json!("external");
    world.align(&plan(&["test -f done"], json!({}), json!({"send": send})));
    world.run().expect(0);
    let words = world.descent(&["undo", "1", "-y"]).expect(0);
    words.shows("not taken back: send");
    world.run().expect(0);
    assert_eq!(world.left("sent"), "sent\n");
}

#[test]
fn undo_during_a_run_ends_what_is_in_flight_and_the_run_goes_on_from_there() {
    let world = World::new();
    let (at, go) = (world.out("at").display().to_string(), world.out("go").display().to_string());
    let wait = format!("echo x >> {at}; until [ -e {go} ]; do sleep 0.02; done; echo two >> log");
    let atoms = json!({"A1": task("echo one >> log"), "A2": after(&["A1"], &wait)});
    world.align(&plan(&["grep -q two log"], json!({}), atoms));
    let mut run = world.start(&["run", "--json"]);
    world.wait_for_file("at");
    let first = world.state()["run"]["epoch"].as_u64();
    let done = world.descent(&["undo", "1", "-y"]).expect(0);
    done.shows("what is in flight ends, and costs no attempt: A2");
    wait_for("the second attempt", || world.left("at").lines().count() == 2);
    assert!(world.state()["run"]["epoch"].as_u64() > first);
    world.touch("go");
    assert_eq!(run.wait().expect(0).result()["result"], "completed");
    assert_eq!(world.result_file("log"), "one\ntwo\n");
}

#[test]
fn undo_without_a_correction_or_without_a_journal_says_so() {
    let world = told();
    world.descent(&["undo", "-y"]).expect(2).says("E-USAGE");
    fs::remove_dir_all(world.repo().join(".descent/state.json.d/journal")).expect("the journal");
    world.descent(&["undo", "3", "-y"]).expect(2).says("E-USAGE");
    world.descent(&["log"]).expect(0).shows("solved");
    world.descent(&["status"]).expect(0).shows("completed");
}

#[test]
fn a_run_whose_journal_is_taken_away_at_every_commit_ends_as_one_that_keeps_it() {
    let ends = [false, true].map(|takes| {
        let world = World::new();
        let go = world.out("go").display().to_string();
        let journal = world.repo().join(".descent/state.json.d/journal").display().to_string();
        let take = if takes { format!("rm -rf {journal}; ") } else { String::new() };
        let atoms = json!({
            "A1": task(&format!("{take}echo one >> log; touch {go}")),
            "A2": after(&["A1"], &format!("{take}echo two >> log")),
            "A3": after(&["A2"], &format!("{take}echo three >> log")),
        });
        world.align(&plan(&["grep -q three log"], json!({}), atoms));
        let result = world.run().expect(0).result();
        let state = world.state();
        world.run().expect(0);
        (
            result["result"].clone(),
            world.result_file("log"),
            state["run"]["spent"]["attempts"].clone(),
        )
    });
    assert_eq!(ends[0], ends[1]);
}

#[test]
fn why_tells_what_the_state_no_longer_holds() {
    let world = told();
    world.replace_in_state("\"goal\": \"it is so\"", "\"goal\": \"it is so, and well\"");
    world.run().expect(0);
    assert!(!world.state()["trail"].to_string().contains("no key"));
    let why = world.descent(&["why", "jwt", "--json"]).expect(0).json();
    let past = why["past"].as_array().expect("the past");
    let has = |words: &str| {
        past.iter().any(|one| one["text"].as_str().is_some_and(|text| text.contains(words)))
    };
    assert!(has("no attempt left): exit 3: no key"), "{why}");
    world.descent(&["why", "jwt"]).expect(0).shows("no attempt left): exit 3: no key");
}

#[test]
fn a_fork_goes_its_own_way_from_the_same_point() {
    let world = told();
    let parent = world.state();
    let said = world.descent(&["undo", "--into", "--json"]).expect(0).json();
    let file = said["state"].as_str().expect("a path").to_owned();
    let text = fs::read_to_string(&file).expect("the fork");
    let fork = whole_records::whole(&serde_json::from_str(&text).expect("JSON"));
    assert_ne!(fork["lineage"], parent["lineage"]);
    assert_eq!(
        fork["run"]["parent"],
        json!({"lineage": parent["lineage"], "serial": parent["serial"]})
    );
    assert_eq!(content(&fork), content(&parent));
    let text =
        fs::read_to_string(&file).expect("the fork").replace("echo b >> log", "echo fork b >> log");
    fs::write(&file, text).expect("the edit");
    world.descent(&["--state", &file, "run", "--json"]).expect(0);
    assert_eq!(world.state(), parent, "the parent is not touched");
    let of_fork = world.descent(&["--state", &file, "status", "--json"]).expect(0).json();
    let path = of_fork["workspace"]["path"].as_str().expect("a result");
    let log = fs::read_to_string(std::path::Path::new(path).join("log")).expect("the log");
    assert_eq!(log, "session\nfork b\n");
    assert_eq!(world.result_file("log"), "session\nb\n");
}

#[test]
fn a_fork_into_another_worktree_runs_there_and_nothing_is_written_over() {
    let world = told();
    let other = world.root().join("other");
    let other = other.display().to_string();
    world.git(&["worktree", "add", "-q", &other]);
    world.descent(&["undo", "--into", &other]).expect(0).shows("begins where serial");
    world.descent(&["undo", "--into", &other]).expect(2).says("E-USAGE");
    world.descent(&["-C", &other, "run"]).expect(0);
    world.descent(&["-C", &other, "log"]).expect(0);
}

#[test]
fn a_fork_into_a_directory_of_the_project_itself_is_refused_for_its_checks_would_look_there() {
    let world = told();
    fs::create_dir(world.repo().join("below")).unwrap();
    let refused = world.descent(&["undo", "--into", "below"]).expect(2);
    refused.says("would be about");
    assert!(!world.repo().join("below/.descent").exists());
}

#[test]
fn a_state_file_that_was_emptied_is_put_back_from_what_is_kept() {
    let world = told();
    let whole = world.state_text();
    std::fs::write(world.state_path(), "").expect("emptied");
    let refused = world.descent(&["status"]).expect(65);
    assert!(refused.stderr.contains("descent log --bytes"), "{}", refused.stderr);
    let kept = world.descent(&["log", "--bytes"]).expect(0);
    assert_eq!(kept.stdout, whole);
    std::fs::write(world.state_path(), &kept.stdout).expect("put back");
    world.run().expect(0);
}
