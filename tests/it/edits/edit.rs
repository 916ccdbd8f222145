//! A person's hand in the state file, at any moment: never lost, adopted where it can be, waited for where it cannot.

mod taken_out;
mod told;

use serde_json::{Value, json};

use crate::world::{Running, World, after, long_nap, plan, processes, task, wait_for, wait_for_or};

/// A run whose first atom waits for `go`, with others behind it.
struct Waiting {
    world: World,
    run: Running,
}

fn waiting() -> Waiting {
    let world = World::new();
    let (at, go) = (world.out("at").display().to_string(), world.out("go").display().to_string());
    let first = format!("touch {at}; until [ -e {go} ]; do sleep 0.02; done; echo one >> log");
    let atoms = json!({
        "A1": task(&first),
        "A2": after(&["A1"], "echo two >> log"),
        "A3": after(&["A2"], "echo three >> log"),
    });
    world.align(&plan(&["grep -q three log"], json!({}), atoms));
    let run = world.start(&["run", "--json"]);
    world.wait_for_file("at");
    Waiting { world, run }
}

impl Waiting {
    fn corrections(&self) -> Vec<Value> {
        // Between two names of an editor there may be no whole file.
        serde_json::from_slice::<Value>(&self.world.state_bytes()).unwrap_or_default()["corrections"].as_array().cloned().unwrap_or_default()
    }

    #[track_caller]
    fn wait_for_correction(&self) {
        wait_for_or("the correction", || !self.corrections().is_empty(), || self.run.said());
    }

    #[track_caller]
    fn finish(&mut self) {
        self.world.touch("go");
        let ran = self.run.wait().expect(0);
        assert_eq!(ran.result()["result"], "completed");
        self.world.descent(&["validate"]).expect(0);
    }
}

#[test]
fn an_edit_of_a_pending_atom_during_a_run_is_adopted_and_recorded() {
    let mut it = waiting();
    it.world.replace_in_state("run echo two >> log", "say two twice");
    it.wait_for_correction();
    it.world.replace_in_state("\"run\": \"echo two >> log\"", "\"run\": \"echo two two >> log\"");
    wait_for("the second correction", || it.corrections().len() == 2);
    let correction = it.corrections()[0].clone();
    assert_eq!(
        (&correction["type"], &correction["trail_cleared"]),
        (&json!("dag_adjustment"), &json!(false))
    );
    assert_eq!(correction["by"], "ada");
    it.finish();
    assert_eq!(it.world.result_file("log"), "one\ntwo two\nthree\n");
    assert_eq!(it.world.state()["bindings"]["A2"]["of"]["description"], "say two twice");
}

#[test]
fn an_edit_written_in_place_is_adopted_too() {
    let mut it = waiting();
    let text = it.world.state_text().replace("run echo two >> log", "two, in place");
    std::fs::write(it.world.state_path(), text).unwrap();
    it.wait_for_correction();
    it.finish();
    assert_eq!(it.world.state()["bindings"]["A2"]["of"]["description"], "two, in place");
}

#[test]
fn an_adopted_edit_is_told_with_what_was_understood() {
    let mut it = waiting();
    it.world.replace_in_state("run echo two >> log", "say two twice");
    it.wait_for_correction();
    it.world.touch("go");
    let ran = it.run.wait().expect(0);
    let told = ran
        .lines()
        .into_iter()
        .find(|line| line["event"] == "corrected")
        .expect("a line for the edit");
    assert!(told["what"].as_str().unwrap().contains("A2"), "{told}");
}

#[test]
fn with_a_typo_the_loop_waits_says_where_and_goes_on_by_itself_when_it_is_mended() {
    let mut it = waiting();
    let whole = it.world.state_text();
    let broken = whole.replacen("\"version\": \"3.0\",", "\"version\": \"3.0\"", 1);
    it.world.save(&broken);
    wait_for("the place of the typo", || {
        it.run.said().contains("state.json:2:") || it.run.said().contains("state.json:3:")
    });
    assert!(it.run.said().contains("waiting"), "{}", it.run.said());
    // Attempts in flight finish, and nothing is written.
    it.world.touch("go");
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(it.world.state_text(), broken);
    it.world.save(&whole.replace("run echo three >> log", "mended"));
    let ran = it.run.wait().expect(0);
    assert!(ran.stderr.contains("whole again"), "{}", ran.stderr);
    assert_eq!(it.world.result_file("log"), "one\ntwo\nthree\n");
    assert_eq!(it.world.state()["bindings"]["A3"]["of"]["description"], "mended");
    assert_eq!(ran.count("attempt_started"), 3);
}

#[test]
fn several_typos_are_told_at_once() {
    let it = waiting();
    let text = it
        .world
        .state_text()
        .replace("\"version\": \"3.0\",", "\"version\": \"3.0\"")
        .replace("{\"description\"", "{\"status\": \"pendign\", \"description\"");
    it.world.save(&text);
    wait_for("every place", || it.run.said().matches("state.json:").count() >= 4);
    assert!(it.run.said().contains("did you mean `pending`?"), "{}", it.run.said());
}

#[test]
fn a_file_emptied_during_a_run_is_waited_for() {
    let mut it = waiting();
    let whole = it.world.state_text();
    std::fs::write(it.world.state_path(), "").unwrap();
    wait_for("it is told", || it.run.said().contains("empty"));
    it.world.touch("go");
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert_eq!(it.world.state_text(), "");
    it.world.save(&whole);
    it.run.wait().expect(0);
}

#[test]
fn an_edit_between_two_runs_is_adopted() {
    let world = World::new();
    world.align(&plan(&["test -f done"], json!({}), json!({"A1": task("exit 1")})));
    world.run().expect(5);
    world.replace_in_state("\"run\": \"exit 1\"", "\"run\": \"touch done\"");
    world.descent(&["status"]).expect(0).shows("edited by hand");
    let ran = world.run().expect(0);
    assert_eq!(ran.count("corrected"), 1);
    assert_eq!(world.state()["corrections"][0]["type"], "dag_adjustment");
    assert!(world.state()["trail"].to_string().contains("user_correction"));
}

/// The text of a state that began at the present serial, with a place changed.
fn stale(it: &Waiting, from: &str, to: &str) -> String {
    let text = it.world.state_text();
    assert!(text.contains(from));
    text.replace(from, to)
}

#[test]
fn a_stale_edit_that_touches_nothing_the_loop_changed_is_adopted() {
    let world = World::new();
    let (at, go) = (world.out("at").display().to_string(), world.out("go").display().to_string());
    let second = format!("touch {at}; until [ -e {go} ]; do sleep 0.02; done; echo two >> log");
    let (first_at, first_go) =
        (world.out("at1").display().to_string(), world.out("go1").display().to_string());
    let first =
        format!("touch {first_at}; until [ -e {first_go} ]; do sleep 0.02; done; echo one >> log");
    let atoms = json!({"A1": task(&first), "A2": after(&["A1"], &second), "A3": after(&["A2"], "echo three >> log")});
    world.align(&plan(&["grep -q three log"], json!({}), atoms));
    let run = world.start(&["run", "--json"]);
    world.wait_for_file("at1");
    let mut it = Waiting { world, run };
    let old = stale(&it, "run echo three >> log", "from an old copy");
    it.world.touch("go1");
    it.world.wait_for_file("at");
    it.world.save(&old);
    it.wait_for_correction();
    it.finish();
    assert_eq!(it.world.result_file("log"), "one\ntwo\nthree\n");
    assert_eq!(it.world.state()["bindings"]["A3"]["of"]["description"], "from an old copy");
    assert_eq!(it.world.state()["bindings"]["A1"]["attempts"], 1);
}

#[test]
fn a_stale_edit_of_what_the_loop_solved_meanwhile_is_in_and_the_solution_of_the_old_words_is_made_again()
 {
    let world = World::new();
    let (at, go) = (world.out("at").display().to_string(), world.out("go").display().to_string());
    let second = format!("touch {at}; until [ -e {go} ]; do sleep 0.02; done; echo two >> log");
    let (first_at, first_go) =
        (world.out("at1").display().to_string(), world.out("go1").display().to_string());
    let first =
        format!("touch {first_at}; until [ -e {first_go} ]; do sleep 0.02; done; echo one >> log");
    world.align(&plan(
        &["grep -q two log"],
        json!({}),
        json!({"A1": task(&first), "A2": after(&["A1"], &second)}),
    ));
    let run = world.start(&["run", "--json"]);
    world.wait_for_file("at1");
    let mut it = Waiting { world, run };
    let old = it.world.state_text().replacen(
        "\"description\": \"run touch",
        "\"description\": \"mine: run touch",
        1,
    );
    it.world.touch("go1");
    it.world.wait_for_file("at");
    it.world.save(&old);
    it.wait_for_correction();
    it.finish();
    assert!(!it.run.said().contains("waiting"), "{}", it.run.said());
    let solved = it.world.state()["bindings"]["A1"].clone();
    assert!(solved["of"]["description"].as_str().unwrap().starts_with("mine: "), "{solved}");
    assert_eq!(it.world.result_file("log"), "one\ntwo\n");
}

#[test]
fn what_only_the_program_can_say_is_not_taken_from_an_edit_and_is_told_by_run_log_and_state() {
    let mut it = waiting();
    it.world.replace_in_state("\"attempts_started\": 1", "\"attempts_started\": 7");
    it.wait_for_correction();
    let lost = it.corrections()[0]["lost"].clone();
    assert_eq!(lost, json!([{"at": "/run/attempts_started", "kept": "program", "value": 7}]));
    let log = it.world.descent(&["log"]).expect(0).stdout;
    let log = log.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(log.contains("gave way: /run/attempts_started: not kept,"), "{log}");
    assert!(log.contains("the edit had: 7"), "{log}");
    let status = it.world.descent(&["status"]).expect(0);
    status.shows("gave way (`descent log` has it): /run/attempts_started");
    let status = it.world.descent(&["status", "--json"]).expect(0);
    let gave_way = status.json()["gave_way"][0].clone();
    assert!(gave_way.as_str().unwrap().contains("/run/attempts_started"), "{gave_way}");
    it.world.touch("go");
    let ran = it.run.wait().expect(0);
    let lines = ran.lines();
    let told = lines.iter().find(|line| line["event"] == "corrected").expect("told");
    assert!(told["lost"][0].as_str().unwrap().contains("/run/attempts_started"), "{told}");
    it.world.descent(&["validate"]).expect(0);
}

#[test]
fn unknown_keys_and_notes_survive_a_whole_run_in_their_places() {
    let world = World::new();
    let atoms = json!({"A1": task("echo one > log"), "A2": after(&["A1"], "echo two >> log")});
    world.align(&plan(&["grep -q two log"], json!({"max_attempts": 2}), atoms));
    let text = world.state_text();
    let text = text.replacen(
        "\"version\": \"3.0\",",
        "\"version\": \"3.0\",\n  \"notes\": [\"top\", 1.50, 12345678901234567890],",
        1,
    );
    let text = text.replacen("\"goal\": ", "\"ticket\": {\"b\": 1, \"a\": 2},\n    \"goal\": ", 1);
    let text = text.replacen(
        "\"max_attempts\": 2",
        "\"max_attempts\": 2,\n      \"notes\": \"a limit\"",
        1,
    );
    let text = text.replacen(
        "\"description\": \"run echo two",
        "\"notes\": \"of the atom\",\n        \"description\": \"run echo two",
        1,
    );
    world.save(&text);
    let ran = world.run().expect(0);
    assert!(ran.stderr.contains("ticket"), "an unknown key is shown: {}", ran.stderr);
    let after = world.state_text();
    let keys = |text: &str, from: &str, to: &str| {
        text.find(from).is_some_and(|at| text[at..].find(to).is_some_and(|n| n < 120))
    };
    assert!(keys(&after, "\"version\": \"3.0\",\n\"notes\": [", "1.50"), "{after}");
    assert!(after.contains("12345678901234567890"), "{after}");
    assert!(keys(&after, "\"ticket\": {", "\"goal\": "), "{after}");
    assert!(after.contains("\"max_attempts\": 2, \"notes\": \"a limit\""), "{after}");
    assert!(
        keys(&after, "\"notes\": \"of the atom\"", "\"description\": \"run echo two"),
        "{after}"
    );
}

#[test]
fn a_commit_of_one_atom_touches_its_lines_the_serial_the_seal_and_the_notebook_alone() {
    let it = waiting();
    let before = it.world.state_text();
    it.world.replace_in_state("run echo two >> log", "say two");
    it.wait_for_correction();
    let after = it.world.state_text();
    let section = |text: &str, name: &str| {
        let at = text.find(&format!("\n\"{name}\": ")).unwrap();
        let end = text[at + 2..].find("\n\"").map_or(text.len(), |n| at + 2 + n);
        text[at..end].to_owned()
    };
    for name in ["objective", "control", "bindings"] {
        assert_eq!(section(&before, name), section(&after, name), "{name}");
    }
}

#[test]
fn an_edit_of_the_atom_in_flight_ends_its_attempt_and_starts_it_anew() {
    let (world, nap) = (World::new(), long_nap());
    let at = world.out("at").display().to_string();
    world.align(&plan(
        &["test -f done"],
        json!({}),
        json!({"A1": task(&format!("echo x >> {at}; sleep {nap}"))}),
    ));
    let mut run = world.start(&["run", "--json"]);
    world.wait_for_file("at");
    world.replace_in_state(&format!("sleep {nap}\""), "touch done\"");
    let ran = run.wait().expect(0);
    assert_eq!(processes(&nap), Vec::<String>::new());
    assert_eq!(world.left("at"), "x\nx\n");
    assert_eq!(ran.count("corrected"), 1);
    assert_eq!(world.state()["bindings"]["A1"]["attempts"], 1);
}

#[test]
fn a_raised_timeout_of_a_pending_atom_is_in_force_when_it_starts() {
    let mut it = waiting();
    it.world.replace_in_state(
        "\"run\": \"echo two >> log\"}",
        "\"run\": \"echo two >> log; sleep 600\"}, \"timeout\": \"100ms\"",
    );
    it.wait_for_correction();
    it.world.touch("go");
    let failed = it.run.wait().expect(5).result()["failed"][0].clone();
    assert_eq!((&failed["atom"], &failed["class"]), (&json!("A2"), &json!("environmental")));
}

#[test]
fn edits_as_fast_as_they_can_be_saved_are_none_of_them_lost() {
    let mut it = waiting();
    for n in 1..=8 {
        // The newest that stands there, as an editor that reloads would have it.
        let known = it.corrections().len();
        it.world.replace_in_state(
            "\"description\": \"run echo three >> log",
            &format!("\"notes\": \"{n}\", \"description\": \"{n} run echo three >> log"),
        );
        wait_for_or("it is adopted", || it.corrections().len() > known, || it.run.said());
        it.world.replace_in_state(
            &format!("\"notes\": \"{n}\", \"description\": \"{n} run"),
            "\"description\": \"run",
        );
        wait_for_or("it is taken back", || it.corrections().len() > known + 1, || it.run.said());
    }
    it.finish();
    assert_eq!(it.world.result_file("log"), "one\ntwo\nthree\n");
}
