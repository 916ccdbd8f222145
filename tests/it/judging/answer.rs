//! The words of an agent for the final answer: asked for once, after the run has ended, and nothing else follows.

use rustix::process::Signal;
use serde_json::{Value, json};

use super::scripted::ScriptedAgent;
use crate::{
    processes::processes_in,
    support::world::Running,
    world::{Ran, World, plan, task, wait_for},
};

/// A world with an agent that words the answer by a file, whose plan makes one file.
struct Worded {
    world: World,
    agent: ScriptedAgent,
}

impl Worded {
    fn new(limits: Value) -> Self {
        Self::of(&["test -e done"], "echo 1 > done", limits)
    }

    fn of(checks: &[&str], run: &str, limits: Value) -> Self {
        let world = World::new();
        let agent = ScriptedAgent::new(&world);
        let toml = format!("[agents.j]\n{}\n[roles]\njudge = \"j\"\n", agent.run());
        world.write("descent.toml", &toml);
        let mut wanted = plan(checks, limits, json!({"A": task(run)}));
        wanted["objective"]["raw_input"] = json!("make done, and nothing else");
        world.align(&wanted);
        Self { world, agent }
    }

    fn says(&self, text: &str) -> &Self {
        self.agent.says("word", text);
        self
    }

    /// A run whose agent is asked, and says nothing.
    fn asked(limits: Value) -> (Self, Running) {
        let worded = Self::new(limits);
        worded.says("@sleep 600");
        let running = worded.world.start(&["run", "--json"]);
        wait_for("the question", || worded.agent.asked() == "word\n");
        (worded, running)
    }

    fn last(&self) -> Value {
        self.world.status()["last_result"].clone()
    }

    fn because(&self) -> String {
        let wording = super::scripted::kept(&self.world, "word");
        wording["because"].as_str().unwrap_or_default().to_owned()
    }
}

fn model() -> Value {
    json!({"judging": "model", "max_transient": 2})
}

/// A result without its words, and without what differs from run to run.
fn measured(result: &Value) -> Value {
    let without = |value: &mut Value, keys: &[&str]| {
        let value = value.as_object_mut().unwrap();
        value.retain(|key, _| !keys.contains(&key.as_str()));
    };
    let mut rest = result.clone();
    let own =
        ["schema", "at", "lineage", "workspace", "spent", "serial", "done", "best", "findings"];
    without(&mut rest, &own);
    without(&mut rest["output"], &["text", "notes", "by"]);
    for one in rest["evidence"].as_array_mut().unwrap() {
        without(one, &["duration_ms", "on"]);
    }
    rest
}

/// The same run, with nobody who words its answer.
fn by_code() -> Value {
    let worded = Worded::new(json!({"judging": "code", "max_transient": 2}));
    let result = worded.world.run().expect(0).result();
    assert_eq!(worded.agent.asked(), "");
    assert_eq!(result["output"]["by"], "code");
    result
}

fn place(ran: &Ran, event: &str) -> usize {
    let lines = ran.lines();
    let mut places = lines.iter();
    places.position(|line| line["event"] == event).unwrap()
}

#[test]
fn an_ending_is_worded_after_it_is_on_the_disk_and_the_rest_of_the_result_stays() {
    let worded = Worded::new(model());
    let said = json!({"text": "It is\nmade.", "notes": ["it was short"]});
    worded.says(&said.to_string());
    let ran = worded.world.run().expect(0);
    let result = ran.result();
    assert_eq!(worded.agent.asked(), "word\n");
    assert!(place(&ran, "ended") < place(&ran, "consulting"));
    assert_eq!(measured(&result), measured(&by_code()));
    let output = &result["output"];
    assert_eq!(
        (&output["text"], &output["notes"], &output["by"]),
        (&json!("It is\nmade."), &json!(["model: it was short"]), &json!("model"))
    );
    assert_eq!(worded.last()["output"], *output);
    let started = ran.lines().into_iter().find(|line| line["event"] == "run_started");
    assert_eq!(started.unwrap()["consults_left"], "3");

    let prompt = worded.agent.prompt("word", 1);
    for words in [
        "make done, and nothing else",
        "completed (base_case)",
        "- pass: test -e done",
        "- A: ",
        "1 of 1 checks hold",
        "is data",
    ] {
        assert!(prompt.contains(words), "no `{words}` in:\n{prompt}");
    }
    assert!(!prompt.contains("drift"), "{prompt}");
    let shows = |args: &[&str], words: &str| worded.world.descent(args).expect(0).shows(words);
    shows(&["status"], "It is made.");
    shows(&["report"], "In words, by a model: It is made.");
    shows(&["report"], "note: model: it was short");
    shows(&["log"], "the final answer (j in ");

    // The same ending again: its words stay, and nobody is asked.
    let again = worded.world.run().expect(0).result();
    assert_eq!(worded.agent.asked(), "word\n");
    assert_eq!(again["output"], *output);
}

#[test]
fn whatever_an_agent_says_the_result_is_the_same_and_its_words_are_by_code() {
    let wanted = by_code();
    let good = json!({"text": "all is well"}).to_string();
    for (said, words) in [
        ("It is all there.".to_owned(), "no JSON object"),
        (format!("{good}\n{{}}"), "the key `text` is missing"),
        (json!({"text": 7}).to_string(), "/text: expected a string"),
        (json!({"text": "x".repeat(4_001)}).to_string(), "more than 4000"),
        (json!({"text": "a", "notes": "b"}).to_string(), "/notes: expected a list"),
        (json!({"text": "a", "note": []}).to_string(), "did you mean `notes`?"),
        ("@big".to_owned(), ""),
        ("@prompt".to_owned(), ""),
        ("@exit 75".to_owned(), "it asks to be tried again"),
        ("@exit 1".to_owned(), "exit 1"),
    ] {
        let worded = Worded::new(model());
        worded.says(&said);
        let ran = worded.world.run();
        assert_eq!(ran.code, Some(0), "{said:.60}: {}", ran.stderr);
        let result = ran.result();
        assert_eq!(measured(&result), measured(&wanted), "{said:.60}");
        assert_eq!(result["output"], wanted["output"], "{said:.60}");
        assert_eq!(worded.agent.asked(), "word\n", "{said:.60}");
        let because = worded.because();
        assert!(because.contains(words) && !because.is_empty(), "{said:.60}: {because}");
        let status = worded.world.status();
        assert_eq!(status["answers"][0]["because"], because.as_str());
        let report = worded.world.descent(&["report"]).expect(0);
        report.shows("not answered by j: ");
    }
}

/// The limit is that of an attempt, where that is shorter than half a minute.
#[test]
fn an_agent_that_says_nothing_is_waited_for_no_longer_than_it_may_take() {
    let mut limits = model();
    limits["attempt_timeout"] = json!("2s");
    let worded = Worded::new(limits);
    worded.says("@sleep 600");
    let result = worded.world.run().expect(0).result();
    assert_eq!(result["output"]["by"], "code");
    assert_eq!(worded.agent.asked(), "word\n");
    assert!(!worded.because().is_empty());
    assert_eq!(processes_in(&worded.world.root()), Vec::<String>::new());
}

#[test]
fn nobody_words_an_ending_that_a_person_or_a_level_of_rules_made() {
    let worded = Worded::of(&["test -e done"], "sleep 600", model());
    let mut running = worded.world.start(&["run", "--json"]);
    wait_for("an attempt", || worded.world.state()["run"]["in_flight"][0].is_object());
    worded.world.descent(&["stop"]).expect(0);
    running.wait().expect(3);
    assert_eq!(worded.agent.asked(), "");

    let held = Worded::of(&["true"], "true", model());
    let result = held.world.run().expect(0).result();
    assert_eq!((&result["reason"], held.agent.asked().as_str()), (&json!("already_held"), ""));
}

#[test]
fn at_the_level_full_the_wish_is_compared_with_the_difference_and_that_is_advice() {
    let full = json!({"judging": "full", "max_transient": 0});
    let worded = Worded::new(full.clone());
    let said =
        json!({"text": "made", "notes": ["n"], "drift": ["a file `more` that nobody asked for"]});
    worded.says(&said.to_string());
    let result = worded.world.run().expect(0).result();
    let notes = json!(["model: n", "advice, not proof: a file `more` that nobody asked for"]);
    assert_eq!(result["output"]["notes"], notes);
    assert_eq!(result["accountable"], "judge", "it is doubted");
    let mut rest = measured(&result);
    rest["accountable"] = json!("none");
    rest["output"].as_object_mut().unwrap().remove("doubted");
    assert_eq!(rest, measured(&by_code()));
    let prompt = worded.agent.prompt("word", 1);
    for words in ["make done, and nothing else", "+++ b/done", "`drift`"] {
        assert!(prompt.contains(words), "no `{words}` in:\n{prompt}");
    }

    // Nothing is compared where the goal is not reached.
    let worded = Worded::of(&["test -e done", "test -e more"], "echo 1 > done", full);
    worded.says(&said.to_string());
    let result = worded.world.run().expect(5).result();
    assert_eq!(result["output"]["by"], "model");
    assert!(result["output"].get("doubted").is_none(), "{result}");
    assert!(!worded.agent.prompt("word", 1).contains("+++ b/done"));
}

#[test]
fn a_loop_that_is_killed_while_it_asks_leaves_the_answer_by_code_and_nobody_is_asked_again() {
    let (worded, running) = Worded::asked(model());
    let before = worded.last();
    assert_eq!((&before["result"], &before["output"]["by"]), (&json!("completed"), &json!("code")));
    running.kill();
    wait_for("its processes are gone", || processes_in(&worded.world.root()).is_empty());
    assert_eq!(worded.last(), before);
    let status = worded.world.status();
    assert_eq!((&status["status"], &status["question"]), (&json!("completed"), &Value::Null));
    worded.world.descent(&["wait"]).expect(0).shows("completed: ");

    worded.says(&json!({"text": "late"}).to_string());
    let again = worded.world.run().expect(0);
    assert_eq!(worded.agent.asked(), "word\n");
    assert_eq!(again.count("attempt_started"), 0);
    assert_eq!(worded.last()["output"], before["output"]);
    assert_eq!(measured(&again.result()), measured(&before));
    assert!(worded.world.state()["run"]["consult"].is_null());
}

#[test]
fn while_an_ending_is_worded_everybody_sees_a_run_that_has_ended_and_a_stop_ends_its_loop() {
    let (worded, mut running) = Worded::asked(model());
    let world = &worded.world;
    let before = worded.last();
    let status = world.status();
    assert_eq!((&status["status"], &status["live"]), (&json!("completed"), &json!(true)));
    assert_eq!(status["question"]["about"], "the final answer");
    assert_eq!(status["next"], "descent apply");
    assert_eq!(
        world.descent(&["status", "--all", "--json"]).expect(0).json()["runs"][0]["status"],
        "completed"
    );
    world.descent(&["apply", "-n"]).expect(0).shows("done");
    world.descent(&["wait", "--timeout", "50ms"]).expect(75);
    let mut waits = world.start(&["wait", "--json"]);
    let mut watches = world.start(&["watch", "--json"]);
    let mut applies = world.start(&["apply"]);
    wait_for("they wait", || world.status()["live"] == true && !waits.has_ended());

    world.descent(&["stop"]).expect(0).shows("nothing runs");
    let ran = running.wait().expect(0);
    assert_eq!(ran.result()["output"], before["output"]);
    assert_eq!(waits.wait().expect(0).result()["output"], before["output"]);
    watches.wait().expect(0);
    applies.wait().expect(0);
    assert_eq!(world.read("done"), "1\n");
    assert_eq!(worded.last(), before);
    assert_eq!(worded.because(), "the loop ended before its answer");
    assert_eq!(processes_in(&world.root()), Vec::<String>::new());
}

#[test]
fn a_signal_while_an_ending_is_worded_ends_the_loop_with_the_code_of_the_run() {
    for args in [&["stop", "--now"][..], &[]] {
        let (worded, mut running) = Worded::asked(model());
        match args {
            [] => running.signal(Signal::INT),
            _ => drop(worded.world.descent(args).expect(0)),
        }
        let ran = running.wait().expect(0);
        assert_eq!(ran.result()["output"]["by"], "code");
        assert_eq!(processes_in(&worded.world.root()), Vec::<String>::new());
    }
}

/// A worker that tells one call for each of three tasks.
fn counted(limits: &Value) -> (Ran, String) {
    let world = World::new();
    let agent = ScriptedAgent::new(&world);
    let script = "#!/bin/sh\ntouch $DESCENT_ATOM\n\
        echo '{\"summary\": \"made\", \"usage\": {\"calls\": 1, \"input_tokens\": 2000}}' > \"$DESCENT_RESULT\"\n";
    let worker = world.program("worker", script);
    let toml = format!(
        "agents.worker.run = \"{}\"\n[agents.j]\n{}\n[roles]\nworker = \"worker\"\njudge.word = \"j\"\n",
        worker.display(),
        agent.run()
    );
    world.write("descent.toml", &toml);
    agent.says("word", &json!({"text": "worded"}).to_string());
    let atom = |on: &[&str]| json!({"description": "make it", "depends_on": on});
    let atoms = json!({"A1": atom(&[]), "A2": atom(&["A1"]), "A3": atom(&["A2"])});
    let checks = ["test -e A1", "test -e A2", "test -e A3"];
    let aligned = world.try_align(&plan(&checks, limits.clone(), atoms)).expect(0);
    let words: Vec<&str> = aligned.stdout.split_whitespace().collect();
    let is_told = words.join(" ").contains(" kept for the final answer");
    let is_kept = limits["judging"] == "model" && limits["budget"]["calls"] != 1;
    assert_eq!(is_told, is_kept, "{limits}: {}", aligned.stdout);
    (world.run(), agent.asked())
}

#[test]
fn a_part_of_the_limits_of_usage_is_kept_for_the_answer() {
    for (limits, code, by, summary) in [
        (
            json!({"judging": "model", "budget": {"calls": 3}}),
            5,
            "model",
            "2 of 3 are used, 1 kept for the final answer",
        ),
        (json!({"judging": "model", "budget": {"calls": 4}}), 0, "model", ""),
        (json!({"judging": "code", "budget": {"calls": 3}}), 0, "code", ""),
        (
            json!({"judging": "model", "budget": {"tokens": 8_000}}),
            5,
            "model",
            "4000 of 8000 are used, 4000 kept",
        ),
        (json!({"judging": "model", "budget": {"tokens": 10_000}}), 0, "model", ""),
        (json!({"judging": "model", "budget": {"calls": 1}}), 5, "code", "1 of 1 are used;"),
    ] {
        let (ran, asked) = counted(&limits);
        assert_eq!(ran.code, Some(code), "{limits}: {}", ran.stderr);
        let result = ran.result();
        assert_eq!(result["output"]["by"], by, "{limits}: {result}");
        assert_eq!(asked == "word\n", by == "model", "{limits}");
        let told = result["summary"].as_str().unwrap();
        assert!(told.contains(summary), "{limits}: {told}");
    }
}
