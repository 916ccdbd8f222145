//! One cell of the table: a world in which something of every kind stands, a change in one way, and what became of it.
//!
//! Not here: the rows (`corrections`).
#![allow(clippy::print_stdout)] // the cell that failed

use crate::whole_records;
use serde_json::{Value, json};

use crate::{
    kept::Kept,
    world::{Running, World, after, plan, task, wait_for, wait_for_or},
};

/// The promise of a row to each of its cells.
#[derive(Clone, Copy)]
pub struct Row {
    pub prepared: Option<Prepared>,
    pub trail: Trail,
    /// Types of the corrections, in their order.
    pub kinds: &'static [&'static str],
    /// Atoms that are made again, but for those whose attempts end.
    pub made: &'static [&'static str],
    /// Atoms with a result at the end, in that order too.
    pub bound: &'static [&'static str],
    /// Atoms in flight at the end.
    pub lasts: &'static [&'static str],
}

/// A command before the change, the attempts that start by it, and those that last.
#[derive(Clone, Copy)]
pub struct Prepared {
    pub args: &'static [&'static str],
    pub starts: &'static [&'static str],
    pub lasts: &'static [&'static str],
}

/// The way in which a person changes it.
pub enum Way {
    /// A command, whether a loop runs or not.
    Command(&'static [&'static str]),
    /// A command for files that changed since the start.
    Moved(&'static [&'static str]),
    /// `run` with flags.
    Run(&'static [&'static str]),
    /// The plan was edited, and is aligned again.
    Plan(fn(&mut Value)),
    /// The state file is edited and saved.
    Hand(fn(&mut Value)),
    /// As by hand, in a stopped run whose past is not kept.
    WithoutPast(fn(&mut Value)),
    /// The way does not exist: the command is refused with this code and these words, and nothing changes.
    Refused(&'static [&'static str], i32, &'static str),
}

/// The end of what a living loop has in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flight {
    Ends,
    GoesOn,
    /// There is none, or nothing is changed.
    None,
}

/// The rest of the trail, beside a correction of the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trail {
    Kept,
    Cleared,
    WithoutRefutations,
    /// As it was before the row was prepared.
    Restored,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Loop {
    Runs,
    Stopped,
}

/// `next`, made from `same` and `other`, is solved, and so is `alone`. The base case refuted `left`. Below `right`, `bad`
/// failed for good, and `slow` lasts until the world ends. So does `bad` once it is open again. Made again, `same` has the
/// result that it had; `other` has another one.
struct Cell {
    world: World,
    plan: Value,
    run: Running,
    /// The state that is changed.
    before: Value,
    /// The state before the row was prepared.
    first: Value,
    /// How many attempts had started then.
    starts: usize,
}

/// Tries all cells of a row, while a loop runs and while none does.
///
/// The first change meets a loop that was never stopped. The others meet a copy of a world that was stopped; a loop that runs
/// goes on from there. A refusal changes nothing, so the cell after it needs no other world.
pub fn row(row: Row, ways: &[(Way, Flight)]) {
    let both = ways.iter().flat_map(|way| [(way, Loop::Runs), (way, Loop::Stopped)]);
    // A living loop knows what it committed.
    let exists =
        |(way, looping): (&Way, Loop)| !matches!((way, looping), (Way::WithoutPast(_), Loop::Runs));
    let mut cells: Vec<_> = both.filter(|((way, _), looping)| exists((way, *looping))).collect();
    cells.sort_by_key(|((way, _), looping)| {
        (*looping == Loop::Stopped, way.refusal(*looping).is_none())
    });
    let (mut cell, mut is_changed, mut kept) = (Cell::new(row), false, None);
    for ((way, flight), looping) in cells {
        println!("{}, {looping:?}, {flight:?}", way.name());
        if is_changed {
            let kept = kept.get_or_insert_with(|| {
                cell = Cell::new(row);
                cell.stop();
                Kept::of(&cell.world.root())
            });
            cell.put_back(kept, row, looping);
        }
        is_changed |= cell.change(row, way, *flight, looping);
    }
}

impl Way {
    fn name(&self) -> String {
        match self {
            Self::Command(args) | Self::Moved(args) | Self::Run(args) => args.join(" "),
            Self::Plan(_) => "an edited plan".to_owned(),
            Self::Hand(_) => "by hand".to_owned(),
            Self::WithoutPast(_) => "by hand, without a past".to_owned(),
            Self::Refused(args, ..) => format!("refused: {}", args.join(" ")),
        }
    }

    /// The command, code and words with which the person is told that it cannot be done so.
    fn refusal(&self, looping: Loop) -> Option<(&'static [&'static str], i32, &'static str)> {
        match (self, looping) {
            (Self::Run(args) | Self::Refused(args @ ["run", ..], ..), Loop::Runs) => {
                Some((*args, 75, "E-LEASE-HELD"))
            }
            (Self::Refused(args, code, words), Loop::Runs | Loop::Stopped) => {
                Some((*args, *code, *words))
            }
            (Self::Run(_), Loop::Stopped)
            | (
                Self::Command(_)
                | Self::Moved(_)
                | Self::Plan(_)
                | Self::Hand(_)
                | Self::WithoutPast(_),
                Loop::Runs | Loop::Stopped,
            ) => None,
        }
    }
}

fn work(world: &World) -> Value {
    let at = world.out("at").display().to_string();
    let says = |name: &str, then: &str| format!("echo {name} >> {at}; {then}");
    let valued = |value: &str| {
        format!(r#"echo "{{\"summary\": \"it\", \"value\": {value}}}" > "$DESCENT_RESULT""#)
    };
    let fails_once = format!("[ $(grep -c bad {at}) = 1 ] && exit 1; sleep 600");
    let atoms = json!({
        "same": task(&says("same", &valued("1"))),
        "other": task(&says("other", &valued(&format!("$(grep -c other {at})")))),
        "next": after(&["same", "other"], &says("next", "echo next > next")),
        "alone": task(&says("alone", "echo alone > alone")),
        "way": {"kind": "any", "choices": ["left", "right"]},
        "left": task(&says("left", "echo left > way")),
        "right": {"kind": "all", "parts": ["bad", "slow"]},
        "bad": task(&says("bad", &fails_once)),
        "slow": task(&says("slow", "sleep 600")),
    });
    let constraints = json!({"max_attempts": 1, "max_parallel_agents": 4});
    plan(&["test -f done"], constraints, atoms)
}

fn in_flight(state: &Value) -> Vec<&str> {
    let intents = state["run"]["in_flight"].as_array().into_iter().flatten();
    let mut atoms: Vec<&str> = intents.filter_map(|intent| intent["atom"].as_str()).collect();
    atoms.sort_unstable();
    atoms
}

fn serial(state: &Value) -> u64 {
    state["serial"].as_u64().expect("a serial")
}

impl Cell {
    fn new(row: Row) -> Self {
        let world = World::new();
        let plan = work(&world);
        world.align(&plan);
        let run = world.start(&["run", "--json"]);
        let mut cell =
            Self { world, plan, run, before: Value::Null, first: Value::Null, starts: 0 };
        let first = ["alone", "bad", "left", "next", "other", "same", "slow"];
        cell.settle(&first, &["slow"]);
        wait_for("the failure", || {
            cell.world.state()["work_graph"]["atoms"]["bad"]["status"] == "failed"
        });
        cell.first = cell.world.state();
        if let Some(prepared) = row.prepared {
            cell.world.descent(prepared.args).expect(0);
            cell.settle(prepared.starts, prepared.lasts);
        }
        cell
    }

    /// Waits until these attempts started, and only those that last are in flight.
    #[track_caller]
    fn settle(&mut self, started: &[&str], lasts: &[&str]) {
        let settled = || self.started() == started && in_flight(&self.state()) == lasts;
        wait_for_or("these attempts", settled, || {
            let (state, said) = (self.state(), self.run.said());
            let (started, flight) = (self.started(), in_flight(&state));
            format!("started: {started:?}, in flight: {flight:?}\n{said}")
        });
        self.starts += started.len();
    }

    /// The state, also at the instant between two names of its file.
    fn state(&self) -> Value {
        whole_records::whole(&serde_json::from_slice(&self.world.state_bytes()).unwrap_or_default())
    }

    fn started(&self) -> Vec<String> {
        let at = self.world.left("at");
        let mut started: Vec<String> = at.lines().skip(self.starts).map(str::to_owned).collect();
        started.sort_unstable();
        started
    }

    fn stop(&mut self) {
        self.world.descent(&["stop"]).expect(0);
        self.run.wait().expect(3);
    }

    /// Everything as it was kept, and where a loop runs, what lasts has begun again.
    fn put_back(&mut self, kept: &Kept, row: Row, looping: Loop) {
        self.run.wait();
        kept.put(&self.world.root());
        self.plan = work(&self.world);
        self.starts = self.world.left("at").lines().count();
        if looping == Loop::Runs {
            self.run = self.world.start(&["run", "--json"]);
            let lasts = row.prepared.map_or(&["slow"][..], |prepared| prepared.lasts);
            self.settle(lasts, lasts);
        }
    }

    /// Whether it was changed, and not refused.
    fn change(&mut self, row: Row, way: &Way, flight: Flight, looping: Loop) -> bool {
        if looping == Loop::Stopped && !self.run.has_ended() {
            self.stop();
        }
        self.before = self.world.state();
        if let Some((args, code, words)) = way.refusal(looping) {
            self.world.descent(args).expect(code).says(words);
            assert_eq!(self.world.state(), self.before, "a refusal changes nothing");
            return false;
        }
        self.carry_out(way);
        if looping == Loop::Stopped {
            let more: &[&str] = match way {
                Way::Run(args) => args,
                _ => &["run"],
            };
            self.run = self.world.start(&[more, &["--json"]].concat());
        }
        let told = || String::from_utf8_lossy(&self.run.stdout.lock().unwrap()).into_owned();
        let is_told = || looping == Loop::Stopped || told().contains("\"event\":\"corrected\"");
        wait_for("the loop tells the correction", is_told);
        let mut starts = row.made.to_vec();
        if looping == Loop::Stopped || flight == Flight::Ends {
            let lasted = row.prepared.map_or(&["slow"][..], |prepared| prepared.lasts);
            starts.extend(lasted.iter().filter(|id| row.lasts.contains(id)));
        }
        starts.sort_unstable();
        self.settle(&starts, row.lasts);
        self.check(row);
        true
    }

    fn carry_out(&mut self, way: &Way) {
        match way {
            Way::Command(args) => {
                self.world.descent(args).expect(0);
            }
            Way::Moved(args) => {
                self.world.write("moved", "here\n");
                self.world.descent(args).expect(0);
            }
            Way::Plan(edit) => {
                edit(&mut self.plan);
                self.world.align(&self.plan);
            }
            Way::Hand(edit) => self.edit(edit),
            Way::WithoutPast(edit) => {
                let journal = self.world.repo().join(".descent/state.json.d/journal");
                std::fs::remove_dir_all(journal).expect("the journal");
                self.edit(edit);
            }
            Way::Run(_) | Way::Refused(..) => {}
        }
    }

    fn edit(&self, edit: &fn(&mut Value)) {
        let mut state = self.before.clone();
        edit(&mut state);
        assert_ne!(state, self.before);
        self.world.save_records(&state);
    }

    /// The commit of the change, and what the loop made of it.
    fn check(&self, row: Row) {
        let shown = (serial(&self.before) + 1).to_string();
        let shown = self.world.descent(&["log", &shown, "--bytes"]).expect(0);
        let changed = serde_json::from_str(&shown.stdout).expect("a state");
        let changed = whole_records::whole(&changed);
        let known = self.before["corrections"].as_array().map_or(0, Vec::len);
        let new = changed["corrections"].as_array().expect("corrections");
        let new = &new[known..];
        let kinds: Vec<&str> = new.iter().filter_map(|one| one["type"].as_str()).collect();
        assert_eq!(kinds, row.kinds, "{new:#?}");
        assert!(new.iter().all(|one| one["by"] == "ada"), "{new:#?}");
        let is_cleared = new.iter().any(|one| one["trail_cleared"] == true);
        assert_eq!(is_cleared, row.trail == Trail::Cleared, "{new:#?}");
        self.check_trail(row, &changed);
        self.world.descent(&["stop"]).expect(0);
        let end = self.world.state();
        let bound = end["bindings"].as_object().expect("bindings");
        let bound: Vec<&str> = bound.keys().map(String::as_str).collect();
        assert_eq!(bound, row.bound);
        if row.kinds == ["undo"] {
            assert_eq!(end["bindings"], self.first["bindings"]);
        }
        assert_eq!(self.started(), Vec::<String>::new(), "nothing else is made");
    }

    fn check_trail(&self, row: Row, changed: &Value) {
        let entries = |trail: &Value| trail.as_array().expect("a trail").clone();
        let mut expected = match row.trail {
            Trail::Kept | Trail::WithoutRefutations => entries(&self.before["trail"]),
            Trail::Cleared => Vec::new(),
            Trail::Restored => entries(&self.first["trail"]),
        };
        if row.trail == Trail::WithoutRefutations {
            expected.retain(|entry| entry["type"] != "refuted");
        }
        let mut trail = entries(&changed["trail"]);
        if row.kinds.contains(&"dag_adjustment") {
            let last = trail.pop().unwrap_or_default();
            assert_eq!(last["type"], "user_correction", "{trail:#?}");
        }
        assert_eq!(trail, expected);
    }
}
