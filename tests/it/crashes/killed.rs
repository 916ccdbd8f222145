//! kill -9 at random moments, from a seed: the run ends as an undisturbed one does, and what integrates does so once.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    chance::{self, Rng},
    undisturbed::{
        check_counts, check_repository, end_of, person, side_by_side, world_of_a_person,
    },
    world::{PATIENCE, Running, World, plan, processes, task, wait_for, with},
};

/// Runs at once: as many as small machines have cores.
const SIDE_BY_SIDE: u64 = 2;
/// Kills of one run at most; the next start then runs to its end.
const KILLS_MAX: u64 = 3;

/// Says outside when it began and when it ended, and leaves a file that tells what it was.
fn step(world: &World, deps: &[&str]) -> Value {
    let (began, ended) = (world.out("began"), world.out("ended"));
    let run = format!(
        "echo $DESCENT_ATOM >> {}; echo $DESCENT_ATOM by $DESCENT_ATTEMPT > $DESCENT_ATOM; echo $DESCENT_ATOM >> {}",
        began.display(),
        ended.display()
    );
    let own = json!({"all": [{"command": "ls | grep -q '[A-Z]'"}]});
    with(task(&run), json!({"depends_on": deps, "checks": own}))
}

/// Nine atoms: a choice that breaks the whole and what was built on it, an effect outside, two that run beside.
fn whole_plan(world: &World) -> Value {
    let outside = format!("echo once >> {}", world.out("outside").display());
    let external = with(task(&outside), json!({"effect": "external", "depends_on": ["A2"]}));
    let atoms = json!({
        "A1": step(world, &[]),
        "A2": step(world, &[]),
        "G": {"kind": "any", "choices": ["B1", "B2"], "depends_on": ["A1"]},
        "B1": step(world, &[]),
        "B2": step(world, &[]),
        "C1": step(world, &["G"]),
        "D1": step(world, &["A2"]),
        "D2": step(world, &["D1"]),
        "E1": external,
    });
    let wanted = "[ \"$(ls A* B* C* D* | tr '\\n' ,)\" = A1,A2,B2,C1,D1,D2, ]";
    plan(&[wanted], json!({}), atoms)
}

/// A choice that is taken back and made again, and nothing else: little but integration.
fn integrating_plan(world: &World) -> Value {
    let atoms = json!({
        "A1": step(world, &[]),
        "A2": step(world, &[]),
        "G": {"kind": "any", "choices": ["B1", "B2"]},
        "B1": step(world, &[]),
        "B2": step(world, &[]),
    });
    let wanted = "[ \"$(ls A* B* | tr '\\n' ,)\" = A1,A2,B2, ]";
    plan(&[wanted], json!({}), atoms)
}

/// The loop alone, or it and all that came of it.
pub(crate) fn kill(run: Running, with_all: bool) {
    let below = if with_all { descendants(run.pid()) } else { Vec::new() };
    run.kill();
    for pid in below {
        let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
        let _ = rustix::process::kill_process(pid.unwrap(), rustix::process::Signal::KILL);
    }
}

fn descendants(root: u32) -> Vec<u32> {
    let mut found = vec![root];
    let all: Vec<(u32, u32)> = std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            let parent = stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()?;
            Some((pid, parent))
        })
        .collect();
    let mut index = 0;
    while let Some(parent) = found.get(index).copied() {
        found.extend(all.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
        index += 1;
    }
    found.split_off(1)
}

/// To the end, however often a person must say whether the effect outside happened: they look.
fn finish(world: &World) {
    let deadline = Instant::now() + PATIENCE * 3;
    loop {
        let ran = world.descent(&["run", "--json"]);
        if ran.code != Some(6) {
            ran.expect(0);
            return;
        }
        assert!(Instant::now() < deadline, "{}", ran.stderr);
        let doubts = world.descent(&["confirm", "--json"]).expect(0).json();
        let attempt = doubts["doubts"][0]["attempt"].as_str().unwrap().to_owned();
        let answer: &[&str] = if world.left("outside").is_empty() { &["--no"] } else { &[] };
        world.descent(&[&["confirm", &attempt], answer].concat()).expect(0);
    }
}

#[test]
fn killed_at_random_moments_a_run_ends_as_an_undisturbed_one() {
    let calm = World::new();
    calm.align(&whole_plan(&calm));
    let since = Instant::now();
    calm.run().expect(0);
    let lasts_ms = u64::try_from(since.elapsed().as_millis()).unwrap();
    let wanted = end_of(&calm);
    let (times, kills) = (chance::count("KILLS", 8), AtomicU64::new(0));
    side_by_side(SIDE_BY_SIDE, times, |seed| {
        let mut rng = Rng::new(seed);
        let world = World::new();
        world.align(&whole_plan(&world));
        for _ in 0..=rng.below(KILLS_MAX) {
            let run = world.start(&["run"]);
            std::thread::sleep(Duration::from_millis(rng.below(lasts_ms)));
            kill(run, rng.below(2) == 0);
            kills.fetch_add(1, Ordering::Relaxed);
        }
        finish(&world);
        assert_eq!(end_of(&world), wanted, "seed {seed}");
        assert_eq!(world.left("outside"), "once\n", "seed {seed}: once outside");
        check_counts(&world, seed, |_| 0);
    });
    println!(
        "{times} runs, {} kills, seed {}: the same tree, bindings and attempts",
        kills.into_inner(),
        chance::seed()
    );
}

#[test]
fn killed_while_it_integrates_and_rebuilds_each_change_is_in_once() {
    let (times, kills) = (chance::count("INTEGRATION", 10), AtomicU64::new(0));
    side_by_side(SIDE_BY_SIDE, times.div_ceil(KILLS_MAX), |seed| {
        let mut rng = Rng::new(seed ^ 0x5EED);
        let world = world_of_a_person();
        let before = person(&world);
        world.align(&integrating_plan(&world));
        for _ in 0..KILLS_MAX {
            let mut run = world.start(&["run"]);
            let seen = world.left("ended").lines().count();
            let more = seen + 1 + usize::try_from(rng.below(2)).unwrap();
            // An integration comes right after the end of an attempt; a run that has none left is killed as it is.
            let mut is_over = false;
            wait_for("the end of an attempt", || {
                is_over = world.state()["run"]["status"] == "completed";
                is_over || world.left("ended").lines().count() >= more.min(4)
            });
            if is_over {
                run.wait().expect(0);
                break;
            }
            std::thread::sleep(Duration::from_micros(rng.below(120_000)));
            kill(run, rng.below(2) == 0);
            kills.fetch_add(1, Ordering::Relaxed);
        }
        finish(&world);
        check_repository(&world, &before, seed);
        check_counts(&world, seed, |_| 0);
        let here = world.root().display().to_string();
        assert_eq!(processes(&here), Vec::<String>::new(), "seed {seed}: left running");
    });
    println!(
        "{} kills while integrating, seed {}: once each, nothing else touched",
        kills.into_inner(),
        chance::seed()
    );
}
