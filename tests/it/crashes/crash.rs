//! kill -9 at any moment, then `run`: it completes, each effect is in the tree once, nothing is left running.

use serde_json::{Value, json};

use crate::world::{Running, World, long_nap, plan, processes, task, wait_for, with};

/// A run that can be held at named points until it is killed.
pub struct Held {
    pub world: World,
    nap: String,
}

impl Held {
    /// A chain with a group whose first choice breaks the whole: so there is a rebuild too.
    pub fn new() -> Self {
        let held = Self { world: World::new(), nap: long_nap() };
        let own = |file: &str| json!({"all": [{"command": held.at(&format!("check-{file}")) + &format!("grep -q {file} log")}]});
        let step = |word: &str, deps: &[&str]| {
            let run = format!(
                "{}echo {word} >> log; {}echo $DESCENT_ATOM:$DESCENT_ATTEMPT >> {}",
                held.at(&format!("before-{word}")),
                held.at(&format!("after-{word}")),
                held.world.out("ended").display()
            );
            with(task(&run), json!({"checks": own(word), "depends_on": deps}))
        };
        let atoms = json!({
            "A1": step("one", &[]),
            "G": {"kind": "any", "choices": ["B1", "B2"], "depends_on": ["A1"]},
            "B1": step("bad", &[]),
            "B2": step("two", &[]),
            "C1": step("three", &["G"]),
        });
        let whole = held.at("whole") + "[ \"$(tr '\\n' , < log)\" = one,two,three, ]";
        held.world.align(&plan(&[&whole], json!({}), atoms));
        held
    }

    /// Shell that says it was here, and stays while it is held. Something of it escapes into a session of its own.
    fn at(&self, point: &str) -> String {
        let (hold, at) =
            (self.world.out(&format!("hold-{point}")), self.world.out(&format!("at-{point}")));
        let nap = &self.nap;
        let (hold, at) = (hold.display(), at.display());
        format!(
            "if [ -e {hold} ]; then (setsid sleep {nap} >/dev/null 2>&1 &); touch {at}; sleep {nap}; fi; "
        )
    }

    pub fn hold(&self, point: &str) {
        self.world.touch(&format!("hold-{point}"));
    }

    pub fn release(&self, point: &str) {
        let _ = std::fs::remove_file(self.world.out(&format!("hold-{point}")));
    }

    #[track_caller]
    pub fn check_end(&self) {
        self.check_end_after_loss();
        // A crash costs no attempt: each was the first in its context.
        for ended in self.world.left("ended").lines() {
            assert!(ended.ends_with(":1"), "{ended}");
        }
    }

    /// With its repository gone, what was solved is made again.
    #[track_caller]
    pub fn check_end_after_loss(&self) {
        let ran = self.world.run().expect(0);
        assert_eq!(ran.result()["result"], "completed");
        assert_eq!(processes(&self.nap), Vec::<String>::new(), "left running");
        assert_eq!(self.world.result_file("log"), "one\ntwo\nthree\n");
        let state = self.world.state();
        let line: Vec<&str> = state["run"]["line"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["atom"].as_str().unwrap())
            .collect();
        assert_eq!(line, ["A1", "B2", "C1"]);
        self.world.descent(&["apply"]).expect(0);
        assert_eq!(self.world.read("log"), "one\ntwo\nthree\n");
        assert_eq!(self.world.git(&["rev-list", "--count", "HEAD"]).trim(), "4");
        assert_eq!(self.world.git(&["status", "--porcelain"]), "");
    }
}

/// Killed while it is held at a point of a command.
fn check_killed_at(point: &str) {
    let held = Held::new();
    held.hold(point);
    let run = held.world.start(&["run"]);
    held.world.wait_for_file(&format!("at-{point}"));
    run.kill();
    held.release(point);
    held.check_end();
}

/// Killed as soon as the state file tells that.
fn check_killed_when(what: &str, tells: impl Fn(&Value) -> bool) {
    let held = Held::new();
    let run = held.world.start(&["run"]);
    wait_for(what, || tells(&held.world.state()));
    run.kill();
    held.check_end();
}

#[test]
fn killed_in_the_first_look_at_the_base_case() {
    check_killed_at("whole");
}

#[test]
fn killed_in_an_attempt_before_its_effect() {
    check_killed_at("before-one");
}

#[test]
fn killed_in_an_attempt_after_its_effect() {
    check_killed_at("after-one");
}

#[test]
fn killed_in_an_atoms_own_check() {
    check_killed_at("check-one");
}

#[test]
fn killed_in_a_choice_that_will_be_taken_back() {
    check_killed_at("after-bad");
}

#[test]
fn killed_in_the_attempt_after_a_rebuild() {
    check_killed_at("before-two");
}

#[test]
fn killed_in_the_last_check_of_an_atom() {
    check_killed_at("check-three");
}

#[test]
fn killed_right_after_the_first_commit() {
    check_killed_when("it runs", |state| state["run"]["status"] == "running");
}

#[test]
fn killed_right_after_an_intent_was_recorded() {
    check_killed_when("an intent", |state| {
        state["run"]["in_flight"] != json!([]) && state["run"]["in_flight"].is_array()
    });
}

#[test]
fn killed_right_after_an_atom_was_bound() {
    check_killed_when("A1 is bound", |state| state["bindings"]["A1"].is_object());
}

#[test]
fn killed_between_a_choice_taken_back_and_its_rebuild() {
    check_killed_when("a backtrack", |state| state["trail"].to_string().contains("\"backtrack\""));
}

#[test]
fn killed_right_after_the_result_was_recorded() {
    check_killed_when("the end", |state| state["run"]["status"] == "completed");
}

#[test]
fn killed_again_and_again_it_still_completes() {
    let held = Held::new();
    for point in ["after-one", "check-one", "before-bad", "after-three"] {
        held.hold(point);
        let run = held.world.start(&["run"]);
        held.world.wait_for_file(&format!("at-{point}"));
        run.kill();
        held.release(point);
    }
    held.check_end();
}

/// A run that is in the middle of an attempt which naps.
fn napping() -> (World, String, Running) {
    let (world, nap) = (World::new(), long_nap());
    let at = world.out("at").display().to_string();
    let go = world.out("go").display().to_string();
    let run = format!("echo $DESCENT_ATTEMPT >> {at}; [ -e {go} ] || sleep {nap}; touch done");
    world.align(&plan(&["test -f done"], json!({}), json!({"A1": task(&run)})));
    let run = world.start(&["run"]);
    // The shell makes the file before it writes the line.
    wait_for("the attempt", || world.left("at").ends_with('\n'));
    (world, nap, run)
}

#[test]
fn of_two_runs_at_once_the_second_ends_with_75_and_names_the_holder() {
    let (world, _, run) = napping();
    let before = world.state_bytes();
    let second = world.descent(&["run"]).expect(75).says("E-LEASE-HELD").says("descent stop");
    assert!(second.stderr.contains(&run.pid().to_string()), "{}", second.stderr);
    assert_eq!(
        world.descent(&["run", "--json"]).expect(75).json()["error"]["code"],
        "E-LEASE-HELD"
    );
    world.descent(&["apply"]).expect(75);
    assert_eq!(world.state_bytes(), before);
    assert_eq!(world.status()["live"], true);
}

#[test]
fn a_killed_holder_never_blocks_the_next_start() {
    let (world, nap, run) = napping();
    run.kill();
    assert_eq!(world.status()["live"], false);
    world.touch("go");
    let epoch = world.state()["run"]["epoch"].clone();
    let begun = std::time::Instant::now();
    let mut next = world.start(&["run"]);
    wait_for("the next run's first commit", || world.state()["run"]["epoch"] != epoch);
    // Far below any wait for a lock; usually a tenth of it.
    assert!(begun.elapsed() < std::time::Duration::from_secs(1), "{:?}", begun.elapsed());
    next.wait().expect(0);
    assert_eq!(world.left("at"), "1\n1\n");
    assert_eq!(processes(&nap), Vec::<String>::new());
}

#[test]
fn an_atom_that_is_cut_off_again_and_again_fails() {
    let (world, nap) = (World::new(), long_nap());
    let at = world.out("at").display().to_string();
    let go = world.out("go").display().to_string();
    let atom = task(&format!("echo x >> {at}; [ -e {go} ] || sleep {nap}; touch done"));
    world.align(&plan(&["test -f done"], json!({}), json!({"A1": atom})));
    for n in 1..=10 {
        let run = world.start(&["run"]);
        wait_for("the attempt", || world.left("at").lines().count() == n);
        run.kill();
    }
    world.touch("go");
    let result = world.run().expect(5).result();
    assert!(result["failed"][0]["reason"].as_str().unwrap().contains("cut off"), "{result}");
    let moves = result["next_moves"].to_string();
    assert!(moves.contains("descent retry A1"), "{moves}");
    assert_eq!(world.left("at").lines().count(), 10);
    assert_eq!(processes(&nap), Vec::<String>::new());
}

#[test]
fn an_effect_outside_that_a_crash_cut_off_is_in_doubt_and_a_person_is_asked() {
    let (world, nap) = (World::new(), long_nap());
    let at = world.out("at").display().to_string();
    let atom = with(task(&format!("echo x >> {at}; sleep {nap}")), json!({"effect": "external"}));
    world.align(&plan(&["test -f done"], json!({}), json!({"A1": atom})));
    let run = world.start(&["run"]);
    wait_for("the attempt", || world.left("at").ends_with('\n'));
    run.kill();
    let result = world.run().expect(6).result();
    assert_eq!(result["reason"], "in_doubt");
    assert_eq!(world.left("at"), "x\n");
}

#[test]
fn everything_beside_the_state_may_be_deleted_between_two_runs() {
    let held = Held::new();
    held.hold("before-two");
    let run = held.world.start(&["run"]);
    held.world.wait_for_file("at-before-two");
    run.kill();
    held.release("before-two");
    held.world.run_away_with_sidecars();
    held.check_end_after_loss();
}
