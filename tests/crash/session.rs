//! One whole session, in which everything happens once: attempts side by side, a choice taken back, changes taken in,
//! an effect outside, an edit by hand, a stop, a resume. All that must hold at its end is checked, whatever was done to
//! its loops.
//!
//! Not here: the faults.

use std::{
    fs,
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{
    undisturbed::{End, check_counts, check_repository, end_of, person, world_of_a_person},
    world::{World, long_nap, plan, processes, task, with},
};

const PATIENCE: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(4);
/// Starts of one session at most: far more than its faults need.
const STARTS_MAX: usize = 12;
/// The person's new text of an atom's description.
const EDITED: &str = "ring softly";

/// The end of one loop of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Code(i32),
    Killed,
}

pub struct Session {
    pub world: World,
    nap: String,
    before: Vec<String>,
    /// The ends of its loops, in order.
    pub endings: Vec<Ending>,
}

impl Session {
    pub fn new() -> Self {
        let (world, nap) = (world_of_a_person(), long_nap());
        let before = person(&world);
        world.align(&whole_plan(&world, &nap));
        Self { world, nap, before, endings: Vec::new() }
    }

    /// Plays it to its end. `run` carries out one loop of it, and returns its ending.
    #[track_caller]
    pub fn play(&mut self, mut run: impl FnMut(&World, &Command) -> Ending) {
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let world = &self.world;
            scope.spawn(|| a_person(world, &is_over));
            scope.spawn(|| a_reader(world, &is_over));
            let _over = Over(&is_over);
            while self.endings.last() != Some(&Ending::Code(0)) {
                let so_far = &self.endings;
                assert!(so_far.len() < STARTS_MAX, "it does not end: {so_far:?}");
                let ending = run(world, &world.command(&["run", "--json"]));
                world.descent(&["validate"]).expect(0);
                if ending == Ending::Code(6) {
                    look_outside(world);
                }
                self.endings.push(ending);
            }
        });
    }

    /// Checks all that must hold now, and gives the facts that every session must share.
    #[track_caller]
    pub fn check(&self, seed: u64) -> End {
        let world = &self.world;
        assert_eq!(processes(&self.nap), Vec::<String>::new(), "left running");
        let here = world.root().display().to_string();
        assert_eq!(processes(&here), Vec::<String>::new(), "left running");
        check_repository(world, &self.before, seed);
        let stops = self.endings.iter().filter(|one| **one == Ending::Code(3)).count() as u64;
        assert!(stops <= 1, "one stop, obeyed {:?}", self.endings);
        // A stop, or a loop that ends with an error, ends attempts in order: no interruption.
        let is_error =
            |one: &&Ending| matches!(one, Ending::Code(code) if ![0, 3, 6].contains(code));
        let errors = self.endings.iter().filter(is_error).count() as u64;
        check_counts(world, seed, |atom| errors + u64::from(atom == "B2"));
        let state = world.state();
        for number in world.left("numbers").lines() {
            assert!(number.ends_with(":1"), "a cut off attempt cost one: {number}");
        }
        assert_eq!(world.left("outside"), "once\n", "once outside");
        let edited = &state["bindings"]["E1"]["of"]["description"];
        assert_eq!(edited, EDITED, "the edit by hand is in");
        assert_eq!(state["control"]["stop_requested"], false);
        assert_eq!(state["control"]["request"], Value::Null);
        check_beside(world);
        check_references(world);
        end_of(world)
    }
}

/// A session that fails tells its story.
impl Drop for Session {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let (said, told) = (self.world.left("said"), self.world.left("told"));
            eprintln!("its loops ended: {:?}\n{said}\n{told}", self.endings);
        }
    }
}

/// Marks the session as over, even if it fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn whole_plan(world: &World, nap: &str) -> Value {
    let (began, numbers) = (world.out("began"), world.out("numbers"));
    let begin = format!(
        "echo $DESCENT_ATOM >> {}; echo $DESCENT_ATOM:$DESCENT_ATTEMPT >> {}; (setsid sleep {nap} >/dev/null 2>&1 &); ",
        began.display(),
        numbers.display()
    );
    let pause = |here: &str, until: &str| {
        let (here, until) = (world.out(here), world.out(until));
        let (here, until) = (here.display(), until.display());
        format!("touch {here}; while [ ! -e {until} ]; do sleep 0.01; done; ")
    };
    let leave = "echo $DESCENT_ATOM >> $DESCENT_ATOM";
    let step =
        |pause: &str| with(task(&format!("{begin}{pause}{leave}")), json!({"timeout": "1m"}));
    let outside = format!(
        "echo E1:$DESCENT_ATTEMPT >> {}; echo once >> {}",
        numbers.display(),
        world.out("outside").display()
    );
    let external = json!({"effect": "external", "depends_on": ["A1"], "description": "ring"});
    let atoms = json!({
        "A1": step(&pause("at-A1", "edited")),
        "G": {"kind": "any", "choices": ["B1", "B2"]},
        "B1": step(""),
        "B2": step(&pause("at-B2", "asked")),
        "E1": with(task(&outside), external),
    });
    plan(&["[ \"$(ls A* B* | tr '\\n' ,)\" = A1,B2, ]"], json!({}), atoms)
}

/// Edits the file while an attempt runs, and asks for a stop while another does.
fn a_person(world: &World, is_over: &AtomicBool) {
    if wait_unless(is_over, || world.out("at-A1").exists()) {
        world.replace_in_state(
            "\"description\": \"ring\"",
            &format!("\"description\": \"{EDITED}\""),
        );
        world.touch("edited");
    }
    if wait_unless(is_over, || world.out("at-B2").exists()) {
        world.descent(&["stop", "--no-wait"]).expect(0);
        world.touch("asked");
    }
}

/// Reads a whole state at every moment, with a serial that does not fall. A file saved by the person has the serial of
/// the state that they read.
fn a_reader(world: &World, is_over: &AtomicBool) {
    let (mut serial, mut bytes) = (0, Vec::new());
    wait_unless(is_over, || {
        let now = world.state_bytes();
        if now != bytes {
            let state: Value = serde_json::from_slice(&now).expect("whole");
            let now = state["internal"]["serial"].as_u64().expect("a serial");
            let is_a_persons = state["corrections"] == json!([])
                && state["work_graph"]["atoms"]["E1"]["description"] == EDITED;
            assert!(now >= serial || is_a_persons, "serial {now} after {serial}");
            serial = now.max(serial);
        }
        bytes = now;
        false
    });
}

fn wait_unless(is_over: &AtomicBool, mut holds: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + PATIENCE;
    while !is_over.load(Ordering::Relaxed) {
        if holds() {
            return true;
        }
        assert!(Instant::now() < deadline, "waited in vain");
        std::thread::sleep(LOOK);
    }
    false
}

/// The effect outside was cut off, and its file shows whether it happened.
fn look_outside(world: &World) {
    let doubts = world.descent(&["confirm", "--json"]).expect(0).json();
    let attempt = doubts["doubts"][0]["attempt"].as_str().expect("a doubt");
    let is_done = !world.left("outside").is_empty();
    let answer: &[&str] = if is_done { &[] } else { &["--no"] };
    world.descent(&[&["confirm", attempt], answer].concat()).expect(0);
}

/// Only files of the contract lie beside the state; old states are kept until they are quiet.
fn check_beside(world: &World) {
    let known = [
        "attempts",
        "commit.lock",
        "events",
        "heartbeat",
        "inputs",
        "journal",
        "repository",
        "run.lock",
    ];
    let beside = world.repo().join(".descent");
    let names = fs::read_dir(&beside).unwrap().map(|entry| entry.unwrap().file_name());
    let names: std::collections::BTreeSet<_> = names.collect();
    let few = [".gitignore", "state.json", "state.json.d", "state.schema.json"];
    assert_eq!(names, few.map(Into::into).into());
    for entry in fs::read_dir(beside.join("state.json.d")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let is_known = known.contains(&&*name)
            || name.starts_with(".state.json.old-")
            || name.starts_with(".state.json.edit-")
            || name.starts_with(".state.json.late-");
        assert!(is_known, "left beside the state: {name}");
    }
}

/// Checks the references that keep commits from gc, those of the result and of its start, and the person's branch and
/// stash.
fn check_references(world: &World) {
    let format = ["for-each-ref", "--format=%(refname)"];
    let all = world.git(&format) + &world.ours(&format);
    let lineage = world.state()["lineage"].as_str().expect("a lineage").to_owned();
    let own = format!("refs/descent/{lineage}/");
    let state = world.state_text();
    for name in all.lines() {
        let is_known = match name.strip_prefix(&own) {
            Some("keep/head" | "result" | "start") => true,
            Some(kept) => {
                // A resume keeps commits under their own id if the state names them and git did not show them as kept.
                let id = kept.strip_prefix("keep/").filter(|id| id.len() == 40);
                ["keep/A1.", "keep/B1.", "keep/B2."].iter().any(|one| kept.starts_with(one))
                    || id.is_some_and(|id| state.contains(id))
            }
            None => ["refs/heads/main", "refs/stash"].contains(&name),
        };
        assert!(is_known, "left in the repository: {name}");
    }
}
