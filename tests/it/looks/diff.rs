//! Looking at the work: what the result, an atom or an attempt changed, and what an attempt printed.

use std::fs;

use serde_json::{Value, json};

use crate::world::{World, listing, plan, task, wait_for, with};

/// `a` is solved, and `c` fails as often as it may; each changes a text and a file that is none.
fn told(constraints: Value) -> World {
    let world = World::new();
    told_in(&world, constraints);
    world
}

fn told_in(world: &World, constraints: Value) {
    let made = "printf 'a\\000b' > a.bin; echo made >> a.txt";
    let failed = "echo tried $DESCENT_ATTEMPT > c.txt; printf 'c\\000' > c.bin; seq 1 2000; exit 3";
    world.align(&plan(
        &["test -f never"],
        constraints,
        json!({"a": task(made), "c": task(failed)}),
    ));
    world.run().expect(5);
}

fn failed_attempts(world: &World) -> Vec<Value> {
    let trail = world.state()["trail"].clone();
    let entries = trail.as_array().expect("a trail").clone();
    let failures = entries.into_iter().filter(|one| one["type"] == "failure");
    failures.collect()
}

#[test]
fn what_the_result_an_atom_and_a_failed_attempt_changed_is_a_patch_that_git_takes() {
    let world = told(json!({"max_attempts": 2}));
    let failures = failed_attempts(&world);
    assert_eq!(failures[1]["changed"], json!(["c.bin", "c.txt"]));
    let second = failures[1]["attempt"].as_str().expect("an id").to_owned();
    for (name, added, words) in [
        (None, "a.bin", "+made"),
        (Some("a"), "a.bin", "+made"),
        (Some("c"), "c.bin", "+tried 2"),
        (Some(second.as_str()), "c.bin", "+tried 2"),
    ] {
        let args = [&["diff"], name.as_slice()].concat();
        let patch = world.descent(&args).expect(0).shows(words);
        world.write("one.patch", &patch.stdout);
        world.git(&["apply", "--check", "one.patch"]);
        let json = world.descent(&[&args[..], &["--json"]].concat()).expect(0);
        let json = json.json();
        assert_eq!(json["files"][0]["path"], added, "{json}");
        assert_eq!(json["files"][0]["added"], Value::Null, "it is no text");
        assert_eq!(json["patch"], patch.stdout.as_str());
    }
    world.descent(&["diff", "c"]).says("c is not solved");
    let names = world.descent(&["diff", "--name-only", "c"]).expect(0);
    assert_eq!(names.stdout, "c.bin\nc.txt\n");
    world.descent(&["diff", "--stat"]).expect(0).shows("+1 -0");
    let told = format!("changed c.bin, c.txt  (descent diff {second})");
    world.descent(&["why", "c"]).expect(0).shows(&told);
}

#[test]
fn a_result_that_is_applied_is_shown_from_the_start_of_the_run_and_that_is_told() {
    let world = told(json!({"max_attempts": 1}));
    let before = world.descent(&["diff"]).expect(0);
    assert!(!before.stderr.contains("applied"), "{}", before.stderr);
    world.descent(&["apply"]).expect(0);
    let after = world.descent(&["diff"]).expect(0);
    after.says("it is applied already");
    assert_eq!(world.descent(&["diff"]).stdout, before.stdout);
    let more = json!({"work_graph": {"atoms": {"b": task("echo more > b.txt")}}});
    world.write("more.json", &more.to_string());
    let flags = ["redirect", "-y", "--remove", "c", "--add", "more.json"];
    world.descent(&flags).expect(0);
    world.run().expect(5);
    let later = world.descent(&["diff"]).expect(0);
    later.says("a part of it is applied already").shows("+made").shows("+more");
    let left = world.descent(&["apply", "-n"]).expect(0);
    assert!(!left.stdout.contains("a.txt"), "{}", left.stdout);
}

#[test]
fn the_changes_of_older_failures_are_let_go_and_that_is_told() {
    let world = told(json!({"max_attempts": 5}));
    let failures = failed_attempts(&world);
    let id = |at: usize| failures[at]["attempt"].as_str().expect("an id").to_owned();
    let gone = world.descent(&["diff", &id(0)]).expect(69);
    gone.says("error[E-GONE]").says("next: descent why c");
    let kept = world.descent(&["diff", &id(4)]).expect(0);
    kept.shows("+tried 5");
    let repository = world.repository();
    fs::remove_dir_all(repository).expect("the repository");
    let gone = world.descent(&["diff", &id(4)]).expect(69);
    gone.says("error[E-GONE]").says("next: ");
}

#[test]
fn the_files_of_an_attempt_at_work_are_shown_and_the_look_leaves_nothing() {
    let world = World::new();
    let (at, go) = (world.out("at"), world.out("go"));
    let (at, go) = (at.display(), go.display());
    let slow = format!(
        "echo so far > d.txt; echo speaks; touch {at}; until [ -e {go} ]; do sleep 0.02; done"
    );
    world.align(&plan(&["test -f d.txt"], json!({}), json!({"d": task(&slow)})));
    let mut running = world.start(&["run", "--json"]);
    world.wait_for_file("at");
    let before: Vec<_> = listing(&world.repository()).into_keys().collect();
    let looked = world.descent(&["diff", "d"]).expect(0).shows("+so far");
    looked.says("is in flight: these are its files as they are now");
    let after: Vec<_> = listing(&world.repository()).into_keys().collect();
    assert_eq!(before, after);
    wait_for("its words", || world.descent(&["why", "--output"]).stdout == "speaks\n");
    world.touch("go");
    running.wait().expect(0);
    world.descent(&["diff", "d"]).expect(0).shows("+so far");
}

#[test]
fn a_conflict_is_told_with_its_paths_and_a_repair_that_changes_nothing_says_so() {
    let world = World::new();
    let out = world.out("");
    let out = out.display();
    let same = format!(
        "grep -q made a.txt && exit 0; touch {out}/$DESCENT_ATOM; \
         until [ -e {out}/a ] && [ -e {out}/b ]; do sleep 0.02; done; echo made by $DESCENT_ATOM > a.txt"
    );
    let atoms = json!({"a": task(&same), "b": task(&same)});
    world.align(&plan(&["grep -q made a.txt"], json!({"max_parallel_agents": 2}), atoms));
    let ran = world.run().expect(0);
    let repair = ran.lines().into_iter().find(|line| line["event"] == "repair");
    let repair = repair.expect("one does not merge");
    assert_eq!(repair["conflict"], json!(["a.txt"]));
    let atom = repair["atom"].as_str().expect("an atom");
    let attempt = repair["attempt"].as_str().expect("an attempt");
    let told = "its change does not merge: a.txt (repair 1 of 3)";
    world.descent(&["log"]).expect(0).shows(told);
    world
        .descent(&["why", atom])
        .expect(0)
        .shows(told)
        .shows("no change after a conflict in a.txt")
        .shows(&format!("the change of {attempt} does not merge: a.txt"));
    let lost = world.descent(&["diff", attempt]).expect(0);
    lost.shows(&format!("+made by {atom}"));
    let nothing = world.descent(&["diff", atom]).expect(0);
    assert_eq!(nothing.stdout, "");
    nothing.says("no change after a conflict in a.txt");
}

#[test]
fn a_name_that_nothing_has_a_group_and_a_place_without_changes_are_told() {
    let world = World::new();
    let atoms = json!({
        "way": {"kind": "any", "choices": ["left"]},
        "left": task("echo left > l.txt"),
    });
    world.align(&plan(&["test -f l.txt"], json!({}), atoms.clone()));
    world.descent(&["diff"]).expect(1).says("error[E-NO-RESULT]").says("next: descent run");
    world.descent(&["diff", "left"]).expect(0).says("not been tried");
    world.run().expect(0);
    world.descent(&["diff", "lfet"]).expect(2).says("did you mean `left`?");
    world.descent(&["diff", "way"]).expect(2).says("is a group");
    world.descent(&["log", "--output", "left.9"]).expect(2).says("did you mean `left.1`?");
    let shared = World::new();
    shared.align(&plan(&["test -f l.txt"], json!({"workspace": "shared"}), atoms));
    shared.run().expect(0);
    let refused = shared.descent(&["diff"]).expect(69);
    refused.says("error[E-GONE]").says("next: ");
}

#[test]
fn without_a_repository_of_the_persons_the_changes_are_shown_as_well() {
    let world = World::bare();
    world.write("a.txt", "hello\n");
    told_in(&world, json!({"max_attempts": 1}));
    world.descent(&["diff"]).expect(0).shows("+made");
    world.descent(&["diff", "c"]).expect(0).shows("+tried 1");
}

#[test]
fn all_that_an_attempt_printed_is_there_byte_for_byte_and_its_loss_is_told() {
    let world = World::new();
    let speaks = task("printf '\\033[31mred\\377\\n'; seq 1 2000; exit 3");
    let check = json!({"checks": {"command": "echo no; false"}});
    let atoms = json!({"c": speaks, "k": with(task("true"), check)});
    world.align(&plan(&["test -f never"], json!({"max_attempts": 1}), atoms));
    world.run().expect(5);
    let id = |atom: &str| {
        let failures = failed_attempts(&world).into_iter();
        let mut of_atom = failures.filter(|one| one["atom"] == atom);
        let one = of_atom.next().expect("a failure");
        one["attempt"].as_str().expect("an id").to_owned()
    };
    let (c, k) = (id("c"), id("k"));
    let ask = |attempt: &str| world.descent(&["log", "--output", attempt]);
    let printed = |more: &[&str]| {
        let mut command = world.command(&[&["log", "--output", &c], more].concat());
        command.output().expect("the program").stdout
    };
    let whole = printed(&[]);
    assert!(whole.starts_with(b"\x1b[31mred\xff\n") && whole.ends_with(b"\n2000\n"));
    let coloured = printed(&["--color=always"]);
    assert!(!coloured.contains(&0x1b), "an escape of an agent's is seen");
    ask(&k).expect(0).says("printed nothing");
    let attempts = world.repo().join(".descent/state.json.d/attempts");
    fs::remove_dir_all(attempts).expect("the logs");
    assert_eq!(printed(&[]), whole, "the side file has it");
    let gone = ask(&k).expect(69);
    gone.says("error[E-GONE]").says("next: descent why k");
    fs::remove_dir_all(world.repo().join(".descent/state.json.d/evidence"))
        .expect("the side files");
    ask(&c).expect(0).says("is gone").shows("\n2000");
    let why = world.descent(&["why", "--output", "c", "--json"]).expect(0);
    assert_eq!(why.json()["source"], "excerpt");
}
