//! The person's tree moves on while there is a run: `run` says so, and a redirect takes it in.

use serde_json::{Value, json};

use crate::world::{World, after, assert_same, listing, plan, task, wait_for};

/// `a` edits a line of `a.txt`, `b` makes a file, `end` waits for both and for `go`.
fn work(world: &World) -> Value {
    let (at, go) = (world.out("at"), world.out("go"));
    let (at, go) = (at.display(), go.display());
    let atoms = json!({
        "a": task("sed -i 's/^hello$/hello, a/;s/^moved$/moved, a/' a.txt"),
        "b": task("echo b > b"),
        "end": after(&["a", "b"], &format!("echo at >> {at}; while ! test -f {go}; do sleep 0.01; done; touch done")),
    });
    plan(&["test -f done && test -f b && grep -q ', a' a.txt"], json!({}), atoms)
}

#[test]
fn a_commit_that_is_pulled_in_mid_run_is_taken_in_and_what_conflicts_is_made_again() {
    let world = World::new();
    world.align(&work(&world));
    let mut run = world.start(&["run", "--json"]);
    wait_for("the last atom", || world.left("at").lines().count() == 1);
    world.write("a.txt", "moved\n");
    world.write("new", "new\n");
    world.commit_all("upstream");
    let done =
        world.descent(&["redirect", "--from", "HEAD", "-y", "--json", "it moved"]).expect(0).json();
    assert_eq!(done["moved"], json!(["a.txt", "new"]));
    wait_for("the last atom again", || world.left("at").lines().count() == 2);
    world.touch("go");
    let ran = run.wait().expect(0);
    let repaired = ran.lines();
    let repaired = repaired.iter().filter(|line| line["event"] == "repair");
    let repaired: Vec<&Value> = repaired.map(|line| &line["atom"]).collect();
    assert_eq!(repaired, ["a"], "b is carried over as it is");
    let state = world.state();
    let head = world.git(&["rev-parse", "HEAD"]);
    assert_eq!(state["run"]["started_from"]["commit"], head.trim());
    let correction = &state["corrections"][0];
    assert_eq!(
        (&correction["type"], &correction["reason"]),
        (&json!("start_change"), &json!("it moved"))
    );
    world.descent(&["apply"]).expect(0);
    assert_eq!(world.read("a.txt"), "moved, a\n");
    assert_eq!(world.read("new"), "new\n");
    world.descent(&["validate"]).expect(0);
}

#[test]
fn a_run_tells_what_moved_since_its_start_but_not_what_it_brought_home_itself() {
    let world = World::new();
    let atoms = json!({"b": task("echo b > b"), "bad": task("test -f allowed && touch done")});
    world.align(&plan(&["test -f done"], json!({"max_attempts": 1}), atoms));
    let words = "your files changed since the start";
    let says = |expected: Option<&str>| {
        let said = world.run().expect(5).stderr;
        match expected {
            Some(paths) => {
                assert!(said.contains(&format!("{words} of this run: {paths} (")), "{said}")
            }
            None => assert!(!said.contains(words), "{said}"),
        }
    };
    says(None);
    says(None);
    world.descent(&["apply"]).expect(0);
    says(None);
    world.write("allowed", "yes\n");
    world.write("b", "another b\n");
    says(Some("allowed, b"));
    world.write("b", "b\n");
    (0..12).for_each(|n| world.write(&format!("n{n:02}"), "n\n"));
    says(Some("allowed, n00, n01, n02, n03, n04, n05, n06, n07, n08 … and 3 more"));
    world
        .descent(&["redirect", "--from", ".", "-n"])
        .expect(0)
        .shows("its files differ: allowed, b, n00")
        .shows("every failed atom is open again");
    world.descent(&["redirect", "--from", ".", "-y"]).expect(0);
    let ran = world.run().expect(0);
    assert!(!ran.stderr.contains(words), "{}", ran.stderr);
    assert_eq!(world.state()["run"]["spent"]["attempts"], 3, "b is not made again");
    world.descent(&["redirect", "--from", ".", "-y"]).expect(0).shows("unchanged");
}

#[test]
fn a_start_that_cannot_be_taken_is_refused_with_the_way_to_go() {
    let world = World::new();
    let redirect = |rev: &str| world.descent(&["redirect", "-y", "--from", rev]);
    world.align(&plan(&["false"], json!({}), json!({"a": task("touch a")})));
    redirect(".").expect(2).says("E-USAGE").says("descent run");
    redirect("v1").expect(2).says("descent run --from v1");
    world.run().expect(5);
    let before = listing(&world.repo());
    redirect("nowhere").expect(2).says("E-USAGE");
    redirect("").expect(2).says("--from");
    assert_same(&world.repo(), &before);
    world.git(&["checkout", "-qb", "other"]);
    world.write("a.txt", "theirs\n");
    world.commit_all("theirs");
    world.git(&["checkout", "-q", "-"]);
    world.write("a.txt", "mine\n");
    world.commit_all("mine");
    let merging = std::process::Command::new("git")
        .args(["merge", "-q", "other"])
        .current_dir(world.repo())
        .output();
    assert!(!merging.expect("git").status.success(), "a conflict");
    let state = world.state_bytes();
    redirect(".").expect(2).says("E-USAGE").says("--from HEAD");
    assert_eq!(world.state_bytes(), state);
    redirect("HEAD").expect(0).shows("start: ");
}

#[test]
fn elsewhere_the_files_are_the_only_start_or_there_is_none() {
    let world = World::bare();
    world.write("a.txt", "hello\n");
    let atoms = json!({"a": task("touch a"), "bad": task("test -f allowed && touch done")});
    world.align(&plan(&["test -f done"], json!({"max_attempts": 1}), atoms));
    world.run().expect(5);
    world.write("allowed", "yes\n");
    world.descent(&["redirect", "-y", "--from", "HEAD"]).expect(2).says("--from .");
    world.run().expect(5).says("since the start of this run: allowed");
    world.descent(&["redirect", "-y", "--from", "."]).expect(0);
    world.run().expect(0);
    assert_eq!(world.state()["run"]["spent"]["attempts"], 3);
    world.descent(&["apply"]).expect(0);
    assert_eq!(world.read("done"), "");

    let shared = World::new();
    shared.align(&plan(&["false"], json!({"workspace": "shared"}), json!({"a": task("true")})));
    shared.run().expect(5);
    shared.descent(&["redirect", "-y", "--from", "."]).expect(2).says("work in place");
}
