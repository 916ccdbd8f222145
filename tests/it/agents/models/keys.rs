//! Keys: a server that repeats one leaves it nowhere, and an answer is acted on as it came or not at all.

use std::{
    fs,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use rustix::process::Signal;
use serde_json::{Map, Value, json};

use super::{KEY, Model, WIRES, align, configure, fragment, nothing_holds_the_key, run, start};
use crate::{
    chance::{self, Rng},
    support::{
        processes::{long_nap, processes},
        world::{Running, wait_for},
    },
    undisturbed::side_by_side,
    world::{World, plan},
};

#[test]
fn a_server_that_repeats_the_key_in_any_place_leaves_it_nowhere() {
    for (nth, (place, code, said)) in [
        ("answer", 69, "held the key"),
        ("escaped", 69, "held the key"),
        ("refusal", 5, "I cannot [key] help"),
        ("cut", 69, "xx"),
        ("event", 69, "xx"),
        ("kind", 69, "text/[key]"),
        ("redirect", 69, "elsewhere.example/[key]/v1"),
    ]
    .into_iter()
    .enumerate()
    {
        let world = World::new();
        let fault = format!("echo-{place}");
        let model = Model::start(&world, &fragment(), &["--fault", &fault]);
        // The wire of Anthropic tells no words of a refusal.
        let (wire, base) = WIRES[1 + nth % 2];
        configure(&world, &model, wire, base, "");
        align(&world, json!({"max_attempts": 1}));
        let ran = run(&world);
        let state = world.state_text();
        assert_eq!(ran.code, Some(code), "{place}: {}{}", ran.stdout, ran.stderr);
        assert!(state.contains(said), "{place}: {state}");
        let asked = if said.contains("held") { 3 } else { 1 };
        assert_eq!(model.questions().len(), asked, "{place}");
        nothing_holds_the_key(&world, &ran);
        for args in [vec!["why", "N"], vec!["report"], vec!["doctor"]] {
            let shown = start(&world, &args).wait();
            nothing_holds_the_key(&world, &shown);
        }
    }
}

/// The faults of a server whose stream is cut at random, and the code by which such a run ends.
const IN_PIECES: [(&str, i32); 4] =
    [("none", 0), ("echo-refusal", 5), ("echo-escaped", 69), ("echo-answer", 69)];
/// Planning steps of one run, each a question or more.
const STEPS: usize = 24;

/// A run of many planning steps by a model. Returns the questions that came, each answered in pieces of its own.
fn run_in_pieces(seed: u64) -> u64 {
    let mut rng = Rng::new(seed ^ 0x6b65_7973);
    // The wire of Anthropic tells no words of a refusal, so it has nothing of the key there.
    let (wire, base) = WIRES[usize::try_from(rng.below(3)).unwrap()];
    let kinds = if wire == "messages" { 1 } else { 4 };
    let (fault, code) = IN_PIECES[usize::try_from(rng.below(kinds)).unwrap()];
    let world = World::new();
    let pieces = rng.below(1_000_000).to_string();
    let mut more = vec!["--pieces", &pieces];
    if fault != "none" {
        more.extend(["--fault", fault]);
    }
    let model = Model::start(&world, &fragment(), &more);
    configure(&world, &model, wire, base, "max_parallel = 4");
    let step =
        |nth| (format!("S{nth}"), json!({"kind": "plan", "description": "plan the file done"}));
    let steps: Map<String, Value> = (0..STEPS).map(step).collect();
    let limits = json!({
        "max_attempts": 3,
        "max_parallel_agents": 4,
        "planning": {"phases": STEPS},
    });
    world.align(&plan(&["test -e done"], limits, Value::Object(steps)));
    let ran = run(&world);
    assert_eq!(ran.code, Some(code), "seed {seed}, {fault}: {}", ran.stderr);
    nothing_holds_the_key(&world, &ran);
    let report = start(&world, &["report"]).wait();
    assert!(!report.stdout.contains(KEY), "seed {seed}, {fault}");
    model.questions().len() as u64
}

#[test]
fn however_a_stream_is_cut_the_key_is_nowhere_after_a_run() {
    let wanted = chance::count("KEY_PIECES", 60);
    let asked = AtomicU64::new(0);
    // A run asks three questions at least, so there are enough of them.
    side_by_side(2, wanted, |seed| {
        if asked.load(Ordering::Relaxed) < wanted {
            asked.fetch_add(run_in_pieces(seed), Ordering::Relaxed);
        }
    });
    let asked = asked.into_inner();
    println!("{asked} answers in pieces");
    assert!(asked >= wanted, "{asked}");
}

#[test]
fn the_models_that_a_server_lists_are_shown_without_the_key() {
    let world = World::new();
    let model = Model::start(&world, &fragment(), &["--fault", "echo-models"]);
    configure(&world, &model, "chat", "/v1", "");
    let shown = start(&world, &["doctor"]).wait();
    assert!(shown.stdout.contains("it has [key]"), "{}", shown.stdout);
    nothing_holds_the_key(&world, &shown);
}

#[test]
fn a_short_key_of_a_local_server_changes_no_answer() {
    let world = World::new();
    let answer =
        json!({"atoms": {"one": {"description": "make it", "action": {"run": "touch done"}}}});
    let model = Model::start_with(&world, &answer, "touch", &[]);
    configure(&world, &model, "chat", "/v1", "");
    align(&world, json!({"max_attempts": 1}));
    let mut command = world.command(&["run"]);
    command.env("THINKER_KEY", "touch");
    Running::of(command).wait().expect(0);
    assert!(world.state_text().contains("touch done"));
}

/// A configuration whose key is printed by a command.
fn by_command(world: &World, model: &Model, command: &str) {
    configure(world, model, "chat", "/v1", "");
    let text = world.read("descent.toml");
    let key = format!("{{command = \"{command}\"}}");
    world.write("descent.toml", &text.replace("{env = \"THINKER_KEY\"}", &key));
}

#[test]
fn the_command_of_a_key_runs_once_and_in_the_home_of_the_person() {
    let world = World::new();
    let model = Model::start(&world, &json!("no plan"), &[]);
    fs::write(world.root().join("home/key"), KEY).unwrap();
    by_command(&world, &model, "pwd >> where; cat key");
    align(&world, json!({"max_attempts": 2}));
    world.descent(&["run"]).expect(5);
    let home = world.root().join("home");
    let places = fs::read_to_string(home.join("where")).unwrap();
    assert_eq!(places, format!("{}\n", home.display()));
    fs::remove_file(home.join("where")).unwrap();
    world.descent(&["doctor"]);
    assert!(home.join("where").exists());
}

#[test]
fn a_command_of_a_key_that_hangs_delays_no_stop_and_ends_with_a_killed_loop() {
    for signal in [Signal::TERM, Signal::KILL] {
        let world = World::new();
        let model = Model::start(&world, &fragment(), &[]);
        let nap = long_nap();
        by_command(&world, &model, &format!("sleep {nap} & sleep {nap}"));
        align(&world, json!({}));
        let mut running = world.start(&["run"]);
        wait_for("the command", || processes(&format!("sleep {nap}")).len() >= 2);
        let since = Instant::now();
        running.signal(signal);
        running.wait();
        assert!(since.elapsed() < Duration::from_secs(2), "{:?}", since.elapsed());
        wait_for("its end", || processes(&format!("sleep {nap}")).is_empty());
        assert_eq!(model.questions().len(), 0);
    }
}

#[test]
fn a_command_of_a_key_that_prints_without_end_is_ended_at_the_limit() {
    let world = World::new();
    let model = Model::start(&world, &fragment(), &[]);
    by_command(&world, &model, "yes");
    align(&world, json!({}));
    let since = Instant::now();
    world.descent(&["run"]).expect(69);
    assert!(since.elapsed() < Duration::from_secs(15));
    let result = world.state()["run"].clone();
    assert_eq!(result["code"], "E-KEY", "{result}");
    assert!(result.to_string().contains("prints more than 16 KiB"), "{result}");
}
