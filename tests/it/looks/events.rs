//! One vocabulary of events: `log` and `why` tell each in the words of the run, and what they can without a journal.

use std::fs;

use serde_json::{Value, json};

use crate::world::{Ran, World, after, plan, task};

/// Two atoms and a choice, the first of which fails for good.
fn agreed() -> World {
    let world = World::new();
    let atoms = json!({
        "auth": {"kind": "any", "choices": ["jwt", "session"]},
        "jwt": task("echo no key; exit 3"),
        "session": task("echo session >> log"),
        "B": after(&["auth"], "echo b >> log"),
    });
    world.align(&plan(&["grep -q b log"], json!({"max_attempts": 1}), atoms));
    world
}

/// The lines of a run that belong to its history, each as its label and text.
fn lasting(run: &Ran) -> Vec<String> {
    let labels = ["run", "chosen", "solved", "failed", "rejected", "switched"];
    let split = |line: &str| {
        let (label, what) = line.split_at_checked(10)?;
        let label = label.trim_end();
        labels.contains(&label).then(|| format!("{label} {what}"))
    };
    run.stdout.lines().filter_map(split).collect()
}

/// The texts of the log but for the ending, and their serials.
fn texts(world: &World) -> Vec<(String, Value)> {
    let log = world.descent(&["log", "--json"]).expect(0).json();
    let entries = log["entries"].as_array().expect("entries").iter();
    let entries = entries.filter(|entry| entry["kind"] != "ended");
    let text = |entry: &Value| entry["text"].as_str().expect("a text").to_owned();
    entries.map(|entry| (text(entry), entry["serial"].clone())).collect()
}

#[test]
fn the_log_and_why_tell_each_event_once_and_in_the_words_of_the_run() {
    let world = agreed();
    let run = lasting(&world.descent(&["run"]).expect(0));
    assert_eq!(run.len(), 6, "{run:?}");
    let told: Vec<String> = texts(&world).into_iter().map(|(text, _)| text).collect();
    assert_eq!(told, run);
    let why = world.descent(&["why", "jwt", "--json"]).expect(0).json();
    let failed = run.iter().find(|line| line.starts_with("failed"));
    let past = why["past"].as_array().expect("a past").iter();
    let past: Vec<&str> = past.filter_map(|one| one["text"].as_str()).collect();
    assert_eq!(past, [failed.expect("a failure")]);
    world.descent(&["why", "auth"]).expect(0).shows("  chosen   auth = jwt (1 other untried)");
    world.descent(&["undo", "1", "-y"]).expect(0);
    let told: Vec<String> = texts(&world).into_iter().map(|(text, _)| text).collect();
    assert_eq!(told[..6], run, "what was undone had happened");
    assert!(told[6].starts_with("undone back to serial 1"), "{told:?}");
    assert_eq!(told.len(), 7);
}

#[test]
fn without_its_journal_the_log_tells_the_records_of_the_state_in_the_same_words() {
    let world = agreed();
    let run = lasting(&world.descent(&["run"]).expect(0));
    fs::remove_dir_all(world.repo().join(".descent/state.json.d/journal")).expect("the journal");
    let told = texts(&world);
    // The start of the run is kept nowhere else.
    let run = &run[1..];
    assert_eq!(told.len(), run.len());
    for (line, (text, _)) in run.iter().zip(&told) {
        // How long it took and how many attempts were left is kept nowhere else.
        let known = [
            "failed jwt (logical): exit 3: no key",
            "solved session: changed log",
            "solved B: changed log",
        ];
        assert!(line == text || known.contains(&text.as_str()), "{line}: {text}");
    }
    assert_eq!(told[0].1, 2, "an entry of the trail knows its serial");
}

#[test]
fn a_torn_line_of_the_journal_costs_the_log_no_record_of_the_state() {
    let world = agreed();
    world.run().expect(0);
    let whole = texts(&world);
    let journal =
        fs::read_dir(world.repo().join(".descent/state.json.d/journal")).expect("the journal");
    let mut files: Vec<_> = journal.map(|file| file.expect("a file").path()).collect();
    files.sort();
    let newest = files.pop().expect("a file");
    let bytes = fs::read(&newest).expect("lines");
    fs::write(&newest, &bytes[..bytes.len() / 2]).expect("a torn file");
    let torn = texts(&world);
    assert_eq!(torn.len(), whole.len());
    assert_eq!(torn[0], whole[0]);
}

#[test]
fn a_fork_tells_what_happened_before_it_and_takes_no_serial_of_its_parent_for_its_own() {
    let world = agreed();
    world.run().expect(0);
    let parent = texts(&world);
    world.descent(&["undo", "--into", "--json"]).expect(0);
    let fork = world.repo().join(".descent/fork-1.json").display().to_string();
    let log = world.descent(&["--state", &fork, "log", "--json"]).expect(0).json();
    let entries = log["entries"].as_array().expect("entries");
    // The start of the run is kept in the parent's journal alone.
    let parent = &parent[1..];
    assert_eq!(entries.len(), parent.len());
    for entry in entries {
        assert!(entry["event"]["ms"].is_null(), "an event of the parent's: {entry}");
    }
    assert_eq!(entries[0]["text"], parent[0].0.as_str());
}

#[test]
fn the_events_file_of_a_run_has_the_lines_of_run_json_and_may_be_deleted() {
    let world = agreed();
    let half = world.repo().join(".descent/state.json.d/.new-work.json");
    fs::write(&half, "a killed loop left it").expect("written");
    let run = world.descent(&["run", "--json"]).expect(0);
    assert!(!half.exists(), "an unfinished file is removed");
    let dir = world.repo().join(".descent/state.json.d/events");
    let mut files = fs::read_dir(&dir).expect("the events").flatten();
    let file = files.next().expect("a file").path();
    assert!(files.next().is_none(), "one run has one file");
    let kept = fs::read_to_string(&file).expect("its lines");
    let printed: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(kept.lines().collect::<Vec<&str>>(), printed[..printed.len() - 1]);
    let first: Value = serde_json::from_str(printed[0]).expect("a line");
    assert_eq!(first["event"], "run_started");
    assert!(first["serial"].is_u64() && first["at"].is_string(), "{first}");
    assert!(!world.repo().join(".descent/state.json.d/work.json").exists(), "nothing goes on");
    fs::remove_dir_all(&dir).expect("deleted");
    world.descent(&["run"]).expect(0);
}

#[test]
fn a_start_says_why_and_a_base_case_how_much_of_it_holds() {
    let world = agreed();
    let run = world.descent(&["run", "--json"]).expect(0);
    let lines = run.lines();
    let starts = lines.iter().filter(|line| line["event"] == "attempt_started");
    let because: Vec<&Value> = starts.map(|line| &line["because"]).collect();
    assert_eq!(because, ["ready", "ready", "ready"]);
    let judged = lines.iter().filter(|line| line["event"] == "base_case");
    let held: Vec<(&Value, &Value)> = judged.map(|line| (&line["held"], &line["of"])).collect();
    assert_eq!(held.first(), Some(&(&json!(0), &json!(1))));
    assert_eq!(held.last(), Some(&(&json!(1), &json!(1))));
}
