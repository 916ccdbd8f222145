//! Stops, redirects, edits, guidance and kills in one run, mixed by a seed.
//!
//! Invariant: no request is lost or obeyed twice, no loop waits for a process that is gone, and every end is a typed one.

use std::{cell::RefCell, time::Duration};

use serde_json::{Value, json};

use crate::{
    chance::{self, Rng},
    screen::Terminal,
    undisturbed::side_by_side,
    world::{Running, World, plan, processes, task, wait_for, with},
};

/// Runs at once: as many as small machines have cores.
const SIDE_BY_SIDE: u64 = 2;
/// Acts of a person, and kills, in one story.
const ACTS: u64 = 6;
/// The longest pause between two of them.
const PAUSE_MS: u64 = 150;

/// Six atoms of some 50 ms, and a choice of which the first fails.
fn long_enough(world: &World) {
    let step = |deps: &[&str]| {
        let run = "sleep 0.05; echo $DESCENT_ATTEMPT > $DESCENT_ATOM";
        with(task(run), json!({"depends_on": deps}))
    };
    let atoms = json!({
        "A1": step(&[]),
        "A2": step(&["A1"]),
        "A3": step(&["A2"]),
        "G": {"kind": "any", "choices": ["B1", "B2"]},
        "B1": task("sleep 0.05; exit 1"),
        "B2": step(&[]),
        "C1": step(&["A3", "G"]),
    });
    let constraints = json!({"max_attempts": 2});
    world.align(&plan(&["test -f C1"], constraints, atoms));
}

/// One story: what was said, so that it can be looked for in the end.
struct Story {
    world: World,
    rng: Rng,
    seed: u64,
    run: Option<Running>,
    asker: Option<Terminal>,
    watch: Option<Running>,
    said: RefCell<Said>,
}

/// Each is unique.
#[derive(Default)]
struct Said {
    redirects: Vec<String>,
    guidance: Vec<String>,
    notes: Vec<String>,
}

impl Story {
    fn new(seed: u64) -> Self {
        let world = World::new();
        long_enough(&world);
        Self {
            world,
            rng: Rng::new(seed),
            seed,
            run: None,
            asker: None,
            watch: None,
            said: RefCell::default(),
        }
    }

    fn tell(mut self) {
        for n in 0..ACTS {
            let is_live = self.run.as_mut().is_some_and(|run| !run.has_ended());
            if !is_live {
                self.begin();
            }
            std::thread::sleep(Duration::from_millis(self.rng.below(PAUSE_MS)));
            self.act(n);
        }
        self.end();
    }

    fn begin(&mut self) {
        if let Some(mut run) = self.run.take() {
            let ended = run.wait();
            let is_typed = matches!(ended.code, Some(0 | 3 | 5 | 6)) || ended.signal == Some(9);
            assert!(is_typed, "seed {}: {:?}\n{}", self.seed, ended.code, ended.stderr);
        }
        self.run = Some(self.world.start(&["run"]));
    }

    fn act(&mut self, n: u64) {
        let world = &self.world;
        match self.rng.below(10) {
            0 => drop(world.descent(&["stop"]).expect(0)),
            1 => drop(world.descent(&["stop", "--now"]).expect(0)),
            2 | 3 => {
                let reason = format!("redirect {n}");
                let set = format!("max_parallel_agents={}", n + 1);
                let ran = world.descent(&["redirect", &reason, "--set", &set, "-y"]);
                self.heard(ran.code, |said| said.redirects.push(reason));
            }
            4 | 5 => {
                let words = format!("words {n}");
                let ran = world.descent(&["guide", &words, "--for", "C1"]);
                self.heard(ran.code, |said| said.guidance.push(words));
            }
            6 => self.edit(n),
            7 => {
                // Whoever asks may be killed at any moment.
                self.asker = Some(Terminal::start(world, 100, &["redirect", "to be asked"], &[]));
            }
            8 => {
                self.watch = Some(world.start(&["watch"]));
            }
            _ => {
                if let Some(run) = self.run.take() {
                    run.kill();
                }
                self.asker = None;
                if let Some(watch) = self.watch.take() {
                    watch.kill();
                }
            }
        }
    }

    /// A command that was refused said nothing: the atom is solved, or somebody else redirects.
    fn heard(&self, code: Option<i32>, keep: impl FnOnce(&mut Said)) {
        match code {
            Some(0) => keep(&mut self.said.borrow_mut()),
            code => assert!(matches!(code, Some(65 | 75)), "seed {}: {code:?}", self.seed),
        }
    }

    fn edit(&self, n: u64) {
        let note = format!("note {n}");
        let mut state = self.world.state();
        state["objective"]["constraints"]["notes"] = json!({&note: true});
        self.world.save_records(&state);
        self.said.borrow_mut().notes = vec![note];
    }

    /// To the end, without anybody who disturbs.
    fn end(mut self) {
        self.asker = None;
        if let Some(watch) = self.watch.take() {
            watch.kill();
        }
        if let Some(mut run) = self.run.take() {
            run.wait();
        }
        let seed = self.seed;
        let last = self.world.descent(&["run"]);
        assert_eq!(last.code, Some(0), "seed {seed}: {}\n{}", last.stdout, last.stderr);
        let state = self.world.state();
        self.check(&state);
        let here = self.world.root().display().to_string();
        wait_for("the end of all processes", || processes(&here).is_empty());
        assert_eq!(self.world.status()["activity"], "idle", "seed {seed}");
    }

    fn check(&self, state: &Value) {
        let (seed, said) = (self.seed, self.said.borrow());
        let corrections = state["corrections"].as_array().unwrap();
        for reason in &said.redirects {
            let is_this = |one: &&Value| one["description"].as_str().unwrap_or("").contains(reason);
            let times = corrections.iter().filter(is_this).count();
            assert_eq!(times, 1, "seed {seed}: `{reason}` in {corrections:#?}");
        }
        let atom = &state["bindings"]["C1"]["of"];
        let guidance: Vec<&str> = atom["guidance"]
            .as_array()
            .map_or(Vec::new(), |all| all.iter().filter_map(Value::as_str).collect());
        assert_eq!(guidance, said.guidance, "seed {seed}: {atom:#}");
        let notes = &state["objective"]["constraints"]["notes"];
        for note in &said.notes {
            assert_eq!(notes[note], true, "seed {seed}: {notes}");
        }
        assert_eq!(state["control"]["request"], Value::Null, "seed {seed}");
        assert_eq!(state["control"]["stop_requested"], false, "seed {seed}");
    }
}

#[test]
fn whatever_is_asked_and_killed_no_request_is_lost_or_obeyed_twice() {
    let times = chance::count("CONTROL", 8);
    side_by_side(SIDE_BY_SIDE, times, |seed| Story::new(seed).tell());
    println!("{times} stories, seed {}: each request once", chance::seed());
}
