//! Verdicts that decide are taken in a checkout made anew: what an earlier tree, `setup` or check left over has no say.

use serde_json::{Value, json};

use crate::world::{World, after, copy_program, plan, task, wait_for};

/// A project whose `setup` installs what its lock file says, into an ignored file.
fn installing() -> World {
    let world = World::new();
    world.write("deps", "v1\n");
    world.write(".gitignore", "installed\n");
    world.commit_all("a project with dependencies");
    world
}

fn verdicts(result: &Value) -> Vec<(&str, &str)> {
    let proofs = result["evidence"].as_array().expect("evidence").iter();
    proofs.map(|one| (one["check"].as_str().unwrap(), one["verdict"].as_str().unwrap())).collect()
}

#[test]
fn a_result_that_changes_the_lock_file_is_judged_with_what_it_installs() {
    let world = installing();
    let constraints = json!({"setup": {"run": "cp deps installed"}});
    let checks = ["grep -q v1 installed", "grep -q v2 deps"];
    let atoms = json!({"bump": task("echo v2 >deps")});
    world.align(&plan(&checks, constraints, atoms));
    let result = world.run().expect(5).result();
    assert_eq!(verdicts(&result), [("grep -q v1 installed", "fail"), ("grep -q v2 deps", "pass")]);
}

#[test]
fn a_good_upgrade_is_judged_with_what_it_installs_by_its_own_checks_too() {
    let world = installing();
    let own = json!({"all": [{"command": "grep -q v2 installed"}]});
    let mut bump = task("echo v2 >deps");
    bump["checks"] = own;
    let constraints = json!({"setup": {"run": "cp deps installed"}});
    world.align(&plan(&["grep -q v2 installed"], constraints, json!({"bump": bump})));
    world.run().expect(0);
}

#[test]
fn what_one_check_makes_is_not_there_for_the_verdict_that_completes_a_run() {
    let world = World::new();
    world.write("Makefile", "prog: prog.sh\n\t./prog.sh $(STRICT) >prog\n");
    let script = world.program("prog.sh", "#!/bin/sh\n[ \"$1\" != strict ]\n");
    copy_program(script, &world.repo().join("prog.sh"));
    world.write(".gitignore", "prog\n");
    world.commit_all("two targets that feed one another");
    let checks = ["make STRICT=strict prog", "make prog"];
    world.align(&plan(&checks, json!({}), json!({"mend": task("true")})));
    let result = world.run().expect(5).result();
    assert_eq!(verdicts(&result), [("make STRICT=strict prog", "fail"), ("make prog", "pass")]);
}

#[test]
fn a_warm_verdict_that_a_pristine_one_contradicts_completes_nothing_and_is_told() {
    let world = World::new();
    world.write(".gitignore", "cache\n");
    world.commit_all("a cache");
    // The first evaluation in a tree fills a cache, by which the next one there holds.
    let check = "test -e cache || { touch cache; test -e good; }";
    let go = world.out("go").display().to_string();
    let waits = format!("touch b; until [ -e {go} ]; do sleep 0.02; done");
    let atoms = json!({"A": task("touch a"), "B": after(&["A"], &waits)});
    world.align(&plan(&[check], json!({"finish_early": true}), atoms));
    let mut run = world.start(&["run", "--json"]);
    wait_for("the disagreement", || {
        let said = run.stdout.lock().expect("no test panicked");
        String::from_utf8_lossy(&said).contains("disagreed")
    });
    world.touch("go");
    let ran = run.wait().expect(5);
    assert_eq!(ran.result()["result"], "exhausted");
}

#[test]
fn a_check_that_failed_at_align_and_holds_on_the_same_tree_is_told_as_unsteady() {
    let world = World::new();
    let seen = world.out("seen").display().to_string();
    let check = format!("test -e {seen}");
    world.align(&plan(&[&check], json!({}), json!({"A": task("true")})));
    world.touch("seen");
    let ran = world.run().expect(0);
    assert_eq!(ran.count("unsteady"), 1, "{}", ran.stdout);
    let result = ran.result();
    assert_eq!(result["reason"], "already_held");
    assert_eq!(result["unsteady"], json!([check]));
}

#[test]
fn a_setup_that_fails_on_a_result_fails_that_result_and_the_search_goes_on() {
    let world = installing();
    let ways = json!({
        "way": {"kind": "any", "choices": ["broken", "good"]},
        "broken": task("echo nonsense >deps"),
        "good": task("echo v2 >deps"),
    });
    let setup = "grep -q ^v deps && cp deps installed";
    world.align(&plan(
        &["grep -q v installed", "! grep -q v1 deps"],
        json!({"setup": {"run": setup}}),
        ways,
    ));
    let ran = world.run().expect(0);
    assert_eq!(ran.count("refuted"), 1, "{}", ran.stdout);
    assert_eq!(world.state()["work_graph"]["atoms"]["way"]["selected"], "good");
}

#[test]
fn a_setup_that_fails_on_the_start_too_stops_the_run_as_unavailable() {
    let world = installing();
    let works = world.out("works").display().to_string();
    world.touch("works");
    let setup = format!("test -e {works}");
    world.align(&plan(
        &["test -e done"],
        json!({"setup": {"run": setup}}),
        json!({"A": task("touch done")}),
    ));
    std::fs::remove_file(&works).unwrap();
    let result = world.run().expect(69).result();
    assert_eq!((&result["result"], &result["reason"]), (&json!("stopped"), &json!("unavailable")));
    assert_eq!(result["workspace"]["path"], Value::Null);
    world.touch("works");
    world.run().expect(0);
}

#[test]
fn what_keep_names_survives_from_one_pristine_checkout_to_the_next_and_nothing_else() {
    let world = World::new();
    world.write(".gitignore", "kept\ngone\n");
    world.commit_all("two ignored files");
    let log = world.out("log").display().to_string();
    let check =
        format!("ls kept gone >>{log} 2>/dev/null; echo . >>{log}; touch kept gone; test -e done");
    let constraints = json!({"setup": {"keep": ["kept"]}});
    world.align(&plan(&[&check], constraints, json!({"A": task("touch done")})));
    world.run().expect(0);
    world.run().expect(0);
    let left = world.left("log");
    assert!(left.contains("kept"), "{left}");
    let last = left.trim_end().trim_end_matches('.').rsplit('.').next().unwrap_or_default();
    assert_eq!(last.trim(), "kept", "{left}");
}

#[test]
fn what_link_names_is_told_as_shared_with_the_project() {
    let world = World::new();
    world.write(".gitignore", "data\n");
    std::fs::create_dir(world.repo().join("data")).unwrap();
    world.write("data/one", "1\n");
    world.commit_all("ignored data");
    world.align(&plan(
        &["test -e data/one -a -e done"],
        json!({"link": ["data"]}),
        json!({"A": task("touch done")}),
    ));
    let ran = world.descent(&["run"]).expect(0);
    ran.shows("linked  data: the checks saw what stands there now");
}

#[test]
fn the_workspace_shared_says_that_it_has_no_fresh_checkout() {
    let world = World::new();
    world.align(&plan(
        &["test -e done"],
        json!({"workspace": "shared"}),
        json!({"A": task("touch done")}),
    ));
    world.descent(&["run"]).expect(0).shows("checked in place: there is no fresh checkout here");
}

#[test]
fn verify_judges_what_the_person_has_now_and_on_request_the_result_or_a_commit() {
    let world = World::new();
    world.align(&plan(&["grep -q good f"], json!({}), json!({"A": task("echo good >f")})));
    world.descent(&["verify", "--result"]).expect(1).says("E-NO-RESULT");
    world.descent(&["verify"]).expect(1).shows("does not hold on your files as they are");
    world.run().expect(0);
    world.descent(&["verify", "--result"]).expect(0).shows("holds on the result");
    world.descent(&["verify"]).expect(1);
    world.descent(&["apply"]).expect(0);
    world.descent(&["verify"]).expect(0);
    world.descent(&["verify", "HEAD"]).expect(0).shows("holds on HEAD");
    world.write("f", "broken\n");
    world.git(&["commit", "-qam", "I break it"]);
    world.descent(&["verify"]).expect(1);
    world.descent(&["verify", "HEAD~1"]).expect(0);
    world.descent(&["verify", "nowhere"]).expect(2).says("E-USAGE");
}

/// Two ways, each judged by checks of its own, the first of them wrong.
fn judged_by_itself(check: &str, [wrong, right]: [&str; 2]) -> Value {
    let own = |run: &str| {
        let mut atom = task(run);
        atom["checks"] = json!({"all": [{"command": check}]});
        atom
    };
    json!({
        "way": {"kind": "any", "choices": ["wrong", "right"]},
        "wrong": own(wrong),
        "right": own(right),
    })
}

#[test]
fn what_an_earlier_attempts_check_left_behind_gives_no_attempt_up() {
    let world = World::new();
    world.write(".gitignore", "out\n");
    world.commit_all("an ignored directory");
    let check = "mkdir out && cp a.txt out && grep -q good out/a.txt";
    let ways = judged_by_itself(check, ["echo bad >a.txt", "echo good >a.txt"]);
    world.align(&plan(&["grep -q good a.txt"], json!({}), ways));
    world.run().expect(0);
}

/// As out-of-tree builds do.
#[test]
fn what_a_check_leaves_beside_its_tree_is_not_there_for_the_verdict_that_completes_a_run() {
    let world = World::new();
    let check = "mkdir -p ../build && { ! [ -f gen ] || cp gen ../build; } && test -f done && test -f ../build/gen";
    let ways = json!({
        "way": {"kind": "any", "choices": ["gen", "done"]},
        "gen": task("touch gen"),
        "done": task("touch done"),
    });
    world.align(&plan(&[check], json!({}), ways));
    world.run().expect(5);
    world.descent(&["verify", "--result"]).expect(1);
}

#[test]
fn a_setup_that_works_only_in_a_fresh_tree_gives_no_attempt_up() {
    let world = World::new();
    world.write(".gitignore", "out\n");
    world.commit_all("an ignored directory");
    let ways = judged_by_itself("grep -q good out/a.txt", ["echo bad >a.txt", "echo good >a.txt"]);
    let constraints = json!({"setup": {"run": "mkdir out && cp a.txt out"}});
    world.align(&plan(&["grep -q good out/a.txt"], constraints, ways));
    world.run().expect(0);
}

#[test]
fn a_setup_beside_a_linked_directory_of_packages_is_refused_before_it_runs() {
    let world = World::new();
    std::fs::create_dir(world.repo().join("node_modules")).unwrap();
    world.write("node_modules/mine", "mine\n");
    world.write("package-lock.json", "{}\n");
    world.write(".gitignore", "node_modules\n");
    let constraints = json!({"link": ["node_modules"], "setup": {"run": "rm -f node_modules/*"}});
    world
        .try_align(&plan(&["false"], constraints, json!({"A": task("true")})))
        .expect(65)
        .says("E-INVALID");
    assert_eq!(world.read("node_modules/mine"), "mine\n");
}
