//! The control law: six ways that a run can go, each with its directive, and what a planner is told and refused.

use serde_json::{Value, json};

use crate::world::{World, plan, task, wait_for, with};

/// The numbers that lie in files of their own, by their names.
const NUMBERS: [(&str, u32); 7] =
    [("ten", 10), ("nine", 9), ("five", 5), ("four", 4), ("two", 2), ("none", 0), ("zero", 0)];

/// A plan that takes one of these numbers.
pub(crate) fn takes(name: &str) -> Value {
    of(json!({"w": task(&format!("cp {name} n"))}))
}

/// A task that takes too long.
pub(super) fn slow(text: &str) -> Value {
    with(task(text), json!({"timeout": "100ms"}))
}

pub(super) fn of(atoms: Value) -> Value {
    json!({"reasoning": "as planned", "atoms": atoms})
}

/// A world whose base case wants the number in the file `n` to be 0, and whose planner prints these plans in turn.
pub(crate) fn world(plans: &[Value], constraints: Value) -> World {
    let world = World::new();
    world.write("n", "12\n");
    for (name, number) in NUMBERS {
        world.write(name, &format!("{number}\n"));
    }
    world.commit_all("a number");
    let calls = world.out("calls").display().to_string();
    let kept = world.out("").display().to_string();
    let mut script = format!(
        "#!/bin/sh\necho call >> {calls}\nn=$(wc -l < {calls})\ncp \"$DESCENT_PROMPT\" {kept}/prompt.$((n))\n\
         [ ! -e {kept}/hold.$((n)) ] || sleep 600\n\
         [ -z \"$DESCENT_DIRECTIVE\" ] || cp \"$DESCENT_DIRECTIVE\" {kept}/directive.$((n))\ncase $((n)) in\n"
    );
    for (n, plan) in plans.iter().enumerate() {
        script += &format!("{}) cat <<'END'\n{plan}\nEND\n;;\n", n + 1);
    }
    script += "*) exit 9;;\nesac\n";
    let path = world.program("planner", &script);
    let step = json!({"kind": "plan", "description": "plan how the number falls",
        "action": {"run": path.display().to_string()}});
    let mut whole = plan(&[], constraints, json!({"P": step}));
    whole["objective"]["base_case"] =
        json!({"name": "few", "command": "cat n", "number": "(\\d+)", "at_most": 0});
    world.align(&whole);
    world
}

/// Each point of the law that a run told: its distance, and its directive.
fn points(ran: &crate::world::Ran) -> Vec<(String, String)> {
    let lines = ran.lines();
    let points = lines.iter().filter(|line| line["event"] == "law");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    points.map(|one| (text(&one["d"]), text(&one["directive"]))).collect()
}

pub(crate) fn run(world: &World, code: i32) -> Vec<(String, String)> {
    points(&world.descent(&["run", "--json"]).expect(code))
}

fn told(points: &[(&str, &str)]) -> Vec<(String, String)> {
    let one = |(d, directive): &(&str, &str)| ((*d).to_owned(), (*directive).to_owned());
    points.iter().map(one).collect()
}

/// The reasons for which plans were refused.
pub(super) fn refused(world: &World) -> Vec<String> {
    let state = world.state();
    let trail = state["trail"].as_array().unwrap().iter();
    let reasons = trail.filter_map(|one| one["reason"].as_str());
    let refused = reasons.filter(|reason| reason.contains("cannot be used"));
    refused.map(str::to_owned).collect()
}

#[test]
fn a_distance_that_falls_refines_and_ends_completed() {
    let plans = ["ten", "five", "two", "none"].map(takes);
    let world = world(&plans, json!({}));
    let wanted = [("0.834", "break_symmetry"), ("0.417", "refine"), ("0.167", "refine")];
    assert_eq!(run(&world, 0), told(&wanted));
    let log = world.descent(&["log"]).expect(0);
    log.shows("D 0.167 ↓")
        .shows("refine: keep the tools")
        .shows("new: run cp five n; gone: run cp ten n");
    let report = world.descent(&["report"]).expect(0);
    report.shows("new: run cp two n; gone: run cp five n");
    let status = world.descent(&["status", "--json"]).expect(0).json();
    assert!(status.get("law").is_none(), "the goal is reached");
    let prompt = world.left("prompt.3");
    assert!(prompt.contains("refine: keep the tools"), "{prompt}");
    let directive: Value = serde_json::from_str(&world.left("directive.4")).unwrap();
    assert_eq!(directive["directive"], "refine");
    assert_eq!(directive["prev_directive"], "refine");
    assert!(!world.out("directive.1").exists(), "nothing is known yet");
}

#[test]
fn a_flat_distance_by_wrong_work_wants_nothing_of_what_was_tried() {
    let parts = |names: &[&str]| {
        let one = |name: &&str| ((*name).to_owned(), task(&format!("wc ten {name}")));
        let mut atoms: serde_json::Map<String, Value> = names.iter().map(one).collect();
        atoms.insert("w".into(), task("cp ten n"));
        of(atoms.into())
    };
    let five = parts(&["nine", "five", "four", "two", "none"]);
    let alike = parts(&["nine", "five", "four", "two"]);
    let plans = [five.clone(), five, alike, takes("none")];
    let world = world(&plans, json!({"max_attempts": 3}));
    assert_eq!(run(&world, 0), told(&[("0.834", "break_symmetry")]));
    let refused = refused(&world);
    assert_eq!(refused.len(), 2, "{refused:?}");
    assert!(refused[0].contains("it is the plan of P.1"), "{refused:?}");
    let words = "it goes about it like the plan of P.1, which failed";
    assert!(refused[1].contains(words), "{refused:?}");
}

#[test]
fn a_flat_distance_by_hindered_work_wants_another_target() {
    let first = of(json!({"w": slow("sleep 60")}));
    let same = of(json!({"w": task("cp none n"), "x": slow("sleep 60")}));
    let world = world(&[first, same, takes("none")], json!({"max_attempts": 3}));
    assert_eq!(run(&world, 0), told(&[("1", "change_path")]));
    let refused = refused(&world);
    assert!(refused[0].contains("blocked: sleep 60 failed in P-1."), "{refused:?}");
    let prompt = world.left("prompt.2");
    assert!(prompt.contains("- sleep 60, failed in P-1."), "{prompt}");
    assert_eq!(world.state()["run"]["law"]["blocked"][0]["tool"], "sleep");
}

#[test]
fn a_distance_that_rises_by_wrong_work_wants_another_class_of_tool() {
    let third = of(json!({"w": task("cp nine n"), "x": task("git cat-file -e one")}));
    let fourth = of(json!({"w": task("cp none n"), "x": task("git cat-file -e two")}));
    let plans = [takes("ten"), takes("four"), third, fourth, takes("none")];
    let world = world(&plans, json!({"max_attempts": 2}));
    let wanted = [("0.834", "break_symmetry"), ("0.334", "refine"), ("0.75", "change_approach")];
    assert_eq!(run(&world, 0), told(&wanted));
    let refused = refused(&world);
    assert!(refused[0].contains("blocked: git cat-file failed in "), "{refused:?}");
}

#[test]
fn a_distance_that_rises_by_hindered_work_blocks_its_targets() {
    let third = of(json!({"w": task("cp nine n"), "x": slow("sleep 60")}));
    let fourth = of(json!({"w": task("cp none n"), "x": slow("sleep 60")}));
    let plans = [takes("ten"), takes("four"), third, fourth, takes("none")];
    let world = world(&plans, json!({"max_attempts": 2}));
    let wanted = [("0.834", "break_symmetry"), ("0.334", "refine"), ("0.75", "refine")];
    assert_eq!(run(&world, 0), told(&wanted));
    let refused = refused(&world);
    assert!(refused[0].contains("blocked: sleep 60 failed in "), "{refused:?}");
}

#[test]
fn when_little_is_left_planning_is_given_up_and_the_run_ends_red() {
    let plans = ["ten", "nine", "five", "four", "two", "nine"].map(takes);
    let limits = json!({"planning": {"changes": 5, "refinements": 8}});
    let world = world(&plans, limits);
    let wanted = [
        ("0.834", "break_symmetry"),
        ("0.75", "break_symmetry"),
        ("0.417", "refine"),
        ("0.334", "break_symmetry"),
        ("0.167", "abandon"),
    ];
    assert_eq!(run(&world, 5), told(&wanted));
    let state = world.state();
    assert_eq!(state["run"]["reason"], "abandoned");
    let status = world.descent(&["status"]).expect(0);
    status.shows("abandon: no more planning").shows("exhausted (abandoned)");
    let again = world.descent(&["run", "--set", "law=show"]);
    again.expect(5);
    assert_eq!(world.left("calls").lines().count(), 6, "it plans on");
}

/// Nearness is a word for planners alone.
#[test]
fn a_result_that_is_near_completes_nothing() {
    let world = world(&["ten", "two"].map(takes), json!({}));
    let wanted = [("0.834", "break_symmetry"), ("0.167", "refine"), ("1", "change_approach")];
    assert_eq!(run(&world, 5), told(&wanted));
    let state = world.state();
    assert_eq!(state["run"]["status"], "exhausted");
    assert_eq!(state["run"]["status"], "exhausted");
    world.descent(&["verify", "--result"]).expect(1);
}

#[test]
fn where_nobody_has_to_obey_nothing_is_refused_and_all_is_told() {
    let first = of(json!({"w": slow("tail -f ten")}));
    let same = of(json!({"w": task("cp none n"), "x": slow("tail ten")}));
    let plans = [first, same];
    let world = world(&plans, json!({"law": "show"}));
    run(&world, 0);
    assert_eq!(refused(&world), Vec::<String>::new());
    assert!(!world.out("directive.2").exists());
}

/// A world whose planner goes by the directive alone: its plans come in the same order, however often it is asked.
fn by_directive() -> World {
    let world = world(&[], json!({}));
    let script = "#!/bin/sh\nd=\n[ -z \"$DESCENT_DIRECTIVE\" ] || \
        d=$(sed -n 's/.*\"d\": *\"\\([0-9.]*\\)\".*/\\1/p' \"$DESCENT_DIRECTIVE\" | head -n 1)\n\
        case $d in '') n=ten;; 0.834) n=five;; 0.417) n=nine;; *) n=none;; esac\n\
        echo '{\"atoms\": {\"w\": {\"kind\": \"task\", \"description\": \"take\", \"action\": {\"run\": \"cp '$n' n\"}}}}'\n";
    world.program("planner", script);
    world
}

/// The numbers of all points and what followed them, without times and ids.
fn standing(world: &World) -> Value {
    let law = &world.state()["run"]["law"];
    json!([law["curve"], law["outcomes"], law["best"]["d"], law["point"]["directive"]])
}

#[test]
fn killed_at_any_commit_around_a_point_a_run_comes_to_the_same_points() {
    let whole = by_directive();
    let ran = whole.descent(&["run", "--json"]).expect(0);
    let points = ran.lines().into_iter().filter(|one| one["event"] == "law");
    let serials: Vec<u64> = points.filter_map(|one| one["serial"].as_u64()).collect();
    assert_eq!(serials.len(), 3, "{serials:?}");
    let wanted = standing(&whole);
    for point in &serials[1..] {
        for serial in point - 2..=point + 2 {
            let world = by_directive();
            let mut running = world.start(&["run"]);
            wait_for("that commit", || {
                running.has_ended() || world.state()["serial"].as_u64() >= Some(serial)
            });
            running.kill();
            world.descent(&["run"]).expect(0);
            assert_eq!(standing(&world), wanted, "killed at commit {serial}");
        }
    }
}

#[test]
fn killed_after_a_point_a_run_goes_on_with_what_it_blocked() {
    let first = of(json!({"w": slow("sleep 60")}));
    let same = of(json!({"w": task("cp none n"), "x": slow("sleep 60")}));
    let plans = [first, json!({}), same, takes("none")];
    let world = world(&plans, json!({"max_attempts": 3}));
    world.touch("hold.2");
    let run_of_it = world.start(&["run"]);
    wait_for("the second plan", || world.out("prompt.2").exists());
    let before = world.state()["run"]["law"].clone();
    run_of_it.kill();
    run(&world, 0);
    let refused = refused(&world);
    assert!(refused[0].contains("blocked: sleep 60 failed in P-1."), "{refused:?}");
    let law = &world.state()["run"]["law"];
    assert_eq!(law["point"], before["point"]);
    assert_eq!(law["blocked"], before["blocked"]);
}
