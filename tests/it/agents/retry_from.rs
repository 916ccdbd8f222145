//! An attempt that begins with the change of the one before it (`retry_from: last`).

use serde_json::{Value, json};

use crate::{
    safety::trust::trust_worker,
    world::{Running, World, plan, wait_for, with},
};

/// A world whose worker keeps what it finds, and then does what `script` says. `OUT` is the place outside.
fn world(script: &str) -> World {
    let world = World::new();
    let keeps = "cp \"$DESCENT_PROMPT\" OUT/prompt.$DESCENT_ATOM.$DESCENT_ATTEMPT
        { git status --porcelain; git rev-parse HEAD; tail -n +1 $(ls -d *.txt); ls -l | cut -c 1-10; } \
          > OUT/found.$DESCENT_ATOM.$DESCENT_ATTEMPT";
    let out = world.root().join("out").display().to_string();
    let script = format!("#!/bin/sh\n{keeps}\n{script}\n").replace("OUT", &out);
    let path = world.program("worker", &script);
    world.write(
        "descent.toml",
        &format!("agents.worker.run = \"{}\"\nroles.worker = \"worker\"\n", path.display()),
    );
    world
}

fn last() -> Value {
    json!({"retry_from": "last"})
}

fn one(atom: Value) -> Value {
    json!({"A1": with(json!({"description": "x"}), atom)})
}

/// A first attempt that adds, changes and takes away files, and fails.
const FIRST: &str = "1) echo one > new.txt; echo more >> a.txt; rm b.txt; echo x > tool; chmod +x tool; printf '\\000' > bytes; exit 1;;";

fn committed() -> [(&'static str, &'static str); 2] {
    [("a.txt", "first\n"), ("b.txt", "second\n")]
}

fn begun(script: &str) -> World {
    let world = world(script);
    for (name, text) in committed() {
        world.write(name, text);
    }
    world.commit_all("two files");
    trust_worker(&world);
    world
}

#[test]
fn the_change_of_the_attempt_before_is_in_the_tree_and_a_part_of_the_result() {
    let world = begun(&format!("case $DESCENT_ATTEMPT in {FIRST} *) echo two > done;; esac"));
    let check = "test -e done && test -x tool && grep -q one new.txt && grep -q more a.txt && test ! -e b.txt";
    world.align(&plan(&[check], last(), one(json!({}))));
    world.run().expect(0);
    let found = world.left("found.A1.2");
    for words in
        [" M a.txt\n", " D b.txt\n", "?? new.txt\n", "?? tool\n", "?? bytes\n", "first\nmore\n"]
    {
        assert!(found.contains(words), "no `{words}` in:\n{found}");
    }
    let prompt = world.left("prompt.A1.2");
    for words in ["The change of A1.1 is in your tree already", "which is in your tree: /"] {
        assert!(prompt.contains(words), "no `{words}` in:\n{prompt}");
    }
    assert_eq!(world.result_file("bytes"), "\0");
    let binding = &world.state()["bindings"]["A1"];
    let artifacts = json!(["a.txt", "b.txt", "bytes", "done", "new.txt", "tool"]);
    assert_eq!(binding["artifacts"], artifacts, "{binding}");
}

#[test]
fn by_default_and_by_its_own_word_an_atom_begins_from_a_clean_tree() {
    for (constraints, own) in [(json!({}), json!({})), (last(), json!({"retry_from": "clean"}))] {
        let world = begun(&format!("case $DESCENT_ATTEMPT in {FIRST} *) touch done;; esac"));
        world.align(&plan(&["test -e done"], constraints, one(own)));
        world.run().expect(0);
        let found = world.left("found.A1.2");
        assert!(!found.contains("a.txt\n M") && found.contains("first\n"), "{found}");
        assert!(!found.contains("new.txt"), "{found}");
        let prompt = world.left("prompt.A1.2");
        assert!(prompt.contains("You begin from a clean tree"), "{prompt}");
    }
}

#[test]
fn it_is_no_part_of_the_specification() {
    let world = begun("exit 1");
    world.align(&plan(&["test -e done"], json!({"max_attempts": 1}), one(json!({}))));
    world.run().expect(5);
    let context = |world: &World| {
        let state = world.state();
        state["work_graph"]["atoms"]["A1"]["tries"].clone()
    };
    let before = context(&world);
    world.replace_in_state(
        "\"description\": \"x\"",
        "\"description\": \"x\", \"retry_from\": \"last\"",
    );
    world.descent(&["run", "--set", "max_attempts=2"]).expect(5);
    let after = context(&world);
    assert_eq!(after.as_array().unwrap().len(), 1, "{after}");
    assert_eq!(before[0]["context"], after[0]["context"]);
    assert_eq!(after[0]["attempts"], 2);
}

#[test]
fn protected_paths_are_taken_out_of_it() {
    let world = begun(
        "case $DESCENT_ATTEMPT in
         1) echo mine > a.txt; rm b.txt; mkdir tests; echo no > tests/new; echo work > new.txt;;
         *) touch done;;
         esac",
    );
    let constraints = json!({"retry_from": "last", "protected": ["a.txt", "b.txt", "tests/**"]});
    world.align(&plan(&["test -e done && test -e new.txt"], constraints, one(json!({}))));
    world.run().expect(0);
    let found = world.left("found.A1.2");
    assert!(found.starts_with("?? new.txt\n"), "{found}");
    assert!(found.contains("first\n") && found.contains("second\n"), "{found}");
    assert!(!found.contains("tests"), "{found}");
}

#[test]
fn a_change_that_no_longer_applies_is_left_out_and_the_prompt_says_so() {
    // While A1 tries once, B lands a change of the same line.
    let world = begun(
        "case $DESCENT_ATOM.$DESCENT_ATTEMPT in
         A1.1) echo mine > a.txt; touch OUT/tried; while ! test -e OUT/landed; do sleep 0.02; done; exit 1;;
         B.1) while ! test -e OUT/tried; do sleep 0.02; done; echo theirs > a.txt;;
         C.1) touch OUT/landed;;
         *) touch done;;
         esac",
    );
    let atoms = json!({
        "A1": {"description": "x"}, "B": {"description": "y"},
        "C": {"description": "z", "depends_on": ["B"]},
    });
    world.align(&plan(&["test -e done"], last(), atoms));
    world.run().expect(0);
    let found = world.left("found.A1.2");
    assert!(found.contains("theirs\n") && !found.contains(" M "), "{found}");
    let prompt = world.left("prompt.A1.2");
    let words = "The change of A1.1 was to be in your tree, but it no longer applies (a.txt). So you begin from a clean tree.";
    assert!(prompt.contains(words), "no `{words}` in:\n{prompt}");
}

#[test]
fn a_change_that_is_gone_is_left_out_and_the_prompt_says_so() {
    let world = begun(&format!("case $DESCENT_ATTEMPT in {FIRST} *) touch done;; esac"));
    let constraints = json!({"retry_from": "last", "max_attempts": 1});
    world.align(&plan(&["test -e done"], constraints, one(json!({}))));
    world.run().expect(5);
    forget_and_collect(&world);
    world.descent(&["run", "--set", "max_attempts=2"]).expect(0);
    let found = world.left("found.A1.2");
    assert!(!found.contains("new.txt"), "{found}");
    let prompt = world.left("prompt.A1.2");
    let words = "The change of A1.1 was to be in your tree, but it is not kept any more.";
    assert!(prompt.contains(words), "no `{words}` in:\n{prompt}");
    assert!(!prompt.contains(".patch"), "{prompt}");
}

/// Removes the references of kept changes from the repository of the lineage, and the objects with them.
fn forget_and_collect(world: &World) {
    let git = |args: &[&str]| world.ours(args);
    let kept = git(&["for-each-ref", "--format=%(refname)"]);
    let kept: Vec<&str> = kept.lines().filter(|name| name.contains(".made")).collect();
    assert!(!kept.is_empty());
    for name in kept {
        git(&["update-ref", "-d", name]);
    }
    git(&["gc", "-q", "--prune=now"]);
}

#[test]
fn after_a_kill_the_same_attempt_begins_from_the_same_bytes() {
    let world = begun(&format!(
        "case $DESCENT_ATTEMPT in {FIRST}
         2) touch OUT/hangs; test -e OUT/go || {{ echo half > half.txt; sleep 600; }}; touch done;;
         esac"
    ));
    world.align(&plan(&["test -e done"], last(), one(json!({}))));
    let run = Running::of(world.command(&["run"]));
    wait_for("the second attempt", || world.out("hangs").exists());
    let (found, prompt) = (world.left("found.A1.2"), world.left("prompt.A1.2"));
    run.kill();
    world.touch("go");
    world.run().expect(0);
    assert!(found.contains("?? new.txt"), "{found}");
    assert_eq!(world.left("found.A1.2"), found);
    let again = world.left("prompt.A1.2").replace("/A1.3/", "/A1.2/");
    assert_eq!(again, prompt);
}
