//! The changes by `setup` are no part of a step's change: they are neither merged nor brought home.
//!
//! Not here: where `setup` runs (`pristine`).

use serde_json::{Value, json};

use crate::{
    agents::talked::{Claude, by_worker},
    safety::trust::trust_worker,
    world::{World, after, long_nap, plan, processes, task, wait_for, with},
};

/// Changes files of a commit in each way: content, mode, link, one that is gone, one that is new. A file becomes a
/// directory, and the other way round.
const SETUP: &str = "echo set >>lock; chmod +x a.txt; ln -sfn lock link; rm gone; echo new >new; \
    rm file && mkdir file && echo x >file/x; rm -r dir && echo x >dir; date +%N >>lock";

fn world() -> World {
    let world = World::new();
    for name in ["lock", "gone", "file"] {
        world.write(name, "v1\n");
    }
    std::os::unix::fs::symlink("a.txt", world.repo().join("link")).unwrap();
    std::fs::create_dir(world.repo().join("dir")).unwrap();
    world.write("dir/in", "v1\n");
    world.commit_all("files that a setup changes");
    world
}

fn files(world: &World) -> Vec<String> {
    let artifacts = &world.state()["bindings"]["A"]["artifacts"];
    serde_json::from_value(artifacts.clone()).unwrap_or_default()
}

fn of_result(world: &World) -> String {
    let lineage = world.state()["lineage"].as_str().unwrap().to_owned();
    let result = format!("refs/descent/{lineage}/result");
    let main = world.git(&["rev-parse", "main"]);
    world.ours(&["diff", "--name-only", main.trim(), &result])
}

#[test]
fn nothing_that_setup_changed_is_the_steps_or_comes_home() {
    let world = world();
    let constraints = json!({"setup": {"run": SETUP}, "protected": ["**/*", "!out"]});
    let constraints = with(
        constraints,
        json!({"protected": ["lock", "a.txt", "link", "gone", "file", "dir/**"]}),
    );
    let atoms = json!({"A": task("grep -q set lock && test -x a.txt && touch out")});
    let aligned = world.try_align(&plan(&["test -e out", "grep -q set lock"], constraints, atoms));
    let page = aligned.expect(0).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(page.contains("it changes a.txt, dir, dir/in, file, file/x and 4 more"), "{page}");
    world.run().expect(0);
    assert_eq!(files(&world), ["out"]);
    assert_eq!(of_result(&world), "out\n");
    world.descent(&["apply"]).expect(0);
    assert_eq!(world.read("lock"), "v1\n");
    assert_eq!(world.git(&["status", "--porcelain"]), "");
}

#[test]
fn what_a_step_changes_on_top_of_setup_counts_as_the_step_left_it() {
    let world = world();
    let step = "echo step >>lock; echo v1 >gone; rm new; echo step >>a.txt; echo y >file/y; rm dir";
    let constraints = json!({"setup": {"run": "echo set >>lock; chmod +x a.txt; rm gone; echo new >new; \
        rm file && mkdir file && echo x >file/x; rm -r dir && echo x >dir"}});
    world.align(&plan(&["grep -q step lock"], constraints, json!({"A": task(step)})));
    world.run().expect(0);
    // It made `gone` as it was, and took away what only `setup` had made.
    assert_eq!(of_result(&world), "a.txt\nfile\nfile/y\nlock\n");
    assert_eq!(world.result_file("lock"), "v1\nset\nstep\n");
    assert_eq!(world.result_file("dir/in"), "v1\n");
}

#[test]
fn steps_side_by_side_whose_setup_always_makes_other_files_need_no_repair() {
    let world = world();
    let meet = |own: &str, other: &str| {
        let (own, other) = (world.out(own), world.out(other));
        let (own, other) = (own.display(), other.display());
        format!("touch {own}; until test -e {other}; do sleep 0.02; done")
    };
    let atoms = json!({
        "A": task(&format!("touch a; {}", meet("a", "b"))),
        "B": task(&format!("touch b; {}", meet("b", "a"))),
        "C": after(&["A", "B"], "test -e a && test -e b && touch c"),
    });
    let constraints = json!({"setup": {"run": SETUP}, "max_parallel_agents": 2});
    world.align(&plan(&["test -e c"], constraints, atoms));
    let ran = world.run().expect(0);
    assert_eq!(ran.count("repair"), 0, "{}", ran.stdout);
    assert_eq!(of_result(&world), "a\nb\nc\n");
}

#[test]
fn the_next_attempt_begins_with_the_change_of_the_last_and_without_that_of_setup() {
    let world = world();
    let step =
        "case $DESCENT_ATTEMPT in 1) echo step >>lock; echo one >one; exit 1;; *) touch out;; esac";
    let constraints = json!({"setup": {"run": SETUP}, "retry_from": "last", "max_attempts": 2});
    let atoms = json!({"A": task(step)});
    world.align(&plan(&["test -e out && test -e one"], constraints, atoms));
    world.run().expect(0);
    assert_eq!(files(&world), ["lock", "one", "out"]);
    assert_eq!(of_result(&world), "lock\none\nout\n");
}

#[test]
fn a_failed_attempt_shows_its_own_change_alone_and_so_does_one_at_work() {
    let world = world();
    let (go, began) = (world.out("go"), world.out("began"));
    let (go, began) = (go.display(), began.display());
    let step =
        format!("echo step >mine; touch {began}; until test -e {go}; do sleep 0.02; done; exit 1");
    world.align(&plan(
        &["test -e out"],
        json!({"setup": {"run": SETUP}, "max_attempts": 1}),
        json!({"A": task(&step)}),
    ));
    let mut run = world.start(&["run"]);
    world.wait_for_file("began");
    let now = world.descent(&["diff", "A.1"]).expect(0).stdout;
    world.touch("go");
    run.wait().expect(5);
    let after = world.descent(&["diff", "A.1"]).expect(0).stdout;
    for shown in [now, after] {
        assert!(shown.contains("mine") && !shown.contains("lock"), "{shown}");
    }
    let failures = &world.state()["run"]["failures"];
    assert!(!failures.to_string().contains("lock"), "{failures}");
}

#[test]
fn an_attempt_that_outlives_a_kill_of_the_loop_knows_what_setup_did() {
    let world = world();
    let (nap, began) = (long_nap(), world.out("began").display().to_string());
    let tool = format!("echo made > done; echo began > {began}");
    let settings = [("FIXTURE_DO", tool.as_str()), ("FIXTURE_NAP", nap.as_str())];
    let agent = Claude.agent(&world, "resumes", &settings);
    let config = format!("[agents.fixture]\n{agent}\n[roles]\nworker = \"fixture\"\n");
    world.write("descent.toml", &config);
    world.commit_all("a worker");
    trust_worker(&world);
    let constraints: Value =
        json!({"setup": {"run": SETUP}, "protected": ["lock"], "max_attempts": 1});
    let atoms = json!({"A": by_worker("make the file done")});
    world.align(&plan(&["test -f done"], constraints, atoms));
    let run = world.start(&["run"]);
    let session = world.repo().join(".descent/state.json.d/attempts/A.1/session.json");
    wait_for("the session is kept", || session.exists());
    world.wait_for_file("began");
    wait_for("its tool runs", || !processes(&format!("sleep {nap}")).is_empty());
    run.kill();
    let ran = world.run().expect(0);
    assert!(ran.stdout.contains("its agent goes on"), "{}", ran.stdout);
    assert_eq!(of_result(&world), "done\n");
}
