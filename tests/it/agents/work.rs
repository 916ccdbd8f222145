//! The setting of an attempt: its workspace, environment and prompt, and the things that stay out of its reach.

use serde_json::json;

use crate::world::{Running, World, after, copy_program, plan, task, with};

/// Runs one shell action to its success and gives what it left in `out/seen`.
fn seen(world: &World, command: &str, constraints: serde_json::Value) -> String {
    let to = world.out("seen").display().to_string();
    let run = format!("{{ {command}; }} > {to}; touch done");
    world.align(&plan(&["test -f done"], constraints, json!({"A1": task(&run)})));
    let mut command = world.command(&["run"]);
    command
        .env("MY_API_TOKEN", "hunter2")
        .env("ODD_VARIABLE", "odd")
        .env("LC_TIME", "C")
        .env("GIT_DIR", "/nowhere");
    let ran = Running::of(command).wait().expect(0);
    assert!(!ran.stderr.contains("hunter2") && !ran.stdout.contains("hunter2"));
    world.left("seen") + &ran.stderr
}

#[test]
fn a_secret_is_withheld_and_named_once() {
    let world = World::new();
    let text = seen(&world, "env", json!({}));
    assert!(
        !text.contains("hunter2") && !text.contains("ODD_VARIABLE=") && !text.contains("GIT_DIR="),
        "{text}"
    );
    assert_eq!(text.matches("MY_API_TOKEN").count(), 1, "{text}");
    assert!(text.contains("LC_TIME=C") && text.contains("HOME="), "{text}");
}

#[test]
fn what_env_names_is_passed_on_secret_or_not() {
    let world = World::new();
    let text = seen(&world, "env", json!({"env": ["MY_API_TOKEN", "ODD_VARIABLE"]}));
    assert!(text.contains("MY_API_TOKEN=hunter2") && text.contains("ODD_VARIABLE=odd"), "{text}");
}

#[test]
fn an_attempt_is_told_who_it_is() {
    let world = World::new();
    let text = seen(
        &world,
        "echo $DESCENT_ATOM $DESCENT_ATTEMPT; ls $DESCENT_PROMPT $DESCENT_BINDINGS; pwd",
        json!({}),
    );
    assert!(text.starts_with("A1 1\n"), "{text}");
    assert!(text.contains(&world.cache().display().to_string()), "it works in the cache: {text}");
}

#[test]
fn an_attempt_works_on_the_persons_tree_as_it_was_and_not_in_it() {
    let world = World::new();
    world.write("a.txt", "changed\n");
    world.write("new.txt", "new\n");
    world.write(".gitignore", "ignored\n");
    world.write("ignored", "x");
    let text = seen(&world, "cat a.txt new.txt; ls", json!({}));
    assert!(text.starts_with("changed\nnew\n") && !text.contains("ignored"), "{text}");
    assert!(!world.repo().join("done").exists());
}

#[test]
fn what_is_linked_is_there_and_never_committed() {
    let world = World::new();
    world.write(".gitignore", "deps\n");
    std::fs::create_dir(world.repo().join("deps")).unwrap();
    world.write("deps/lib", "linked\n");
    let text = seen(&world, "cat deps/lib", json!({"link": ["deps"]}));
    assert!(text.starts_with("linked\n"), "{text}");
    let head = world.state()["run"]["head"].as_str().unwrap().to_owned();
    assert!(!world.ours(&["ls-tree", "-r", "--name-only", &head]).contains("deps"));
}

#[test]
fn setup_runs_in_each_new_workspace_and_again_where_what_it_reads_is_another() {
    // At align, at the start, in two workspaces, and for the verdict that decides.
    let (fixed, beside) = (5, 1);
    for (inputs, most) in [(json!(["a.txt"]), fixed), (json!([]), fixed + beside)] {
        let world = World::new();
        world.write(".gitignore", "made\n");
        let count = world.out("setups").display().to_string();
        let setup = format!("echo made >> made; echo x >> {count}");
        let atoms =
            json!({"A1": task("cat made && touch one"), "A2": after(&["A1"], "touch done")});
        let constraints = json!({"setup": {"run": setup, "inputs": inputs}});
        world.align(&plan(&["test -f made && test -f done"], constraints, atoms));
        world.run().expect(0);
        let times = world.left("setups").lines().count();
        assert!((fixed..=most).contains(&times), "{times} times, with {inputs}");
    }
}

#[test]
fn a_protected_file_that_an_attempt_changes_makes_it_fail_with_the_path() {
    let world = World::new();
    let plan = plan(
        &["test -f done"],
        json!({"protected": ["*.txt"]}),
        json!({"A1": task("echo easy > a.txt; touch done")}),
    );
    world.align(&plan);
    let failed = world.run().expect(5).result()["failed"][0].clone();
    assert_eq!(failed["class"], "logical");
    assert!(failed["reason"].as_str().unwrap().contains("a.txt"), "{failed}");
}

/// A pattern is the project's, or the repository's where the project is a part of it.
#[test]
fn in_a_project_below_the_top_a_pattern_from_the_top_protects_too() {
    for (pattern, changes) in [
        ("sub/tests/**", "echo easy > tests/one"),
        ("tests/**", "echo easy > tests/one"),
        ("shared/*", "echo easy > ../shared/two"),
    ] {
        let world = World::new();
        for dir in ["sub/tests", "sub/.descent", "shared"] {
            std::fs::create_dir_all(world.repo().join(dir)).unwrap();
        }
        world.write("sub/tests/one", "hard\n");
        world.write("shared/two", "hard\n");
        world.commit_all("a project below");
        let run = task(&format!("{changes}; touch done"));
        let protected = json!({"protected": [pattern]});
        let plan = world.plan(&plan(&["test -f done"], protected, json!({"A1": run})));
        let sub = world.repo().join("sub");
        world.descent_in(&sub, &["align", "-y", "-f", &plan]).expect(0);
        let failed =
            world.descent_in(&sub, &["run", "--json"]).expect(5).result()["failed"][0].clone();
        let reason = failed["reason"].as_str().unwrap();
        assert!(reason.contains(changes.rsplit('/').next().unwrap()), "{pattern}: {failed}");
    }
}

#[test]
fn the_persons_hooks_do_not_run() {
    let world = World::new();
    let hook = world.repo().join(".git/hooks/post-commit");
    let marker = world.out("hook");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    for name in
        ["post-commit", "pre-commit", "post-checkout", "reference-transaction", "post-index-change"]
    {
        let path =
            world.program("hook", &format!("#!/bin/sh\ntouch {}\nexit 0\n", marker.display()));
        copy_program(path, &hook.with_file_name(name));
    }
    world.align(&plan(&["test -f done"], json!({}), json!({"A1": task("touch done")})));
    world.run().expect(0);
    world.descent(&["apply"]).expect(0);
    assert!(!marker.exists());
}

#[test]
fn an_atoms_checks_are_judged_on_a_clean_checkout_and_not_where_it_worked() {
    let world = World::new();
    world.write(".gitignore", "cache\n");
    // The attempt makes an ignored file that its own check would find where it worked.
    let atom = with(task("touch cache done"), json!({"checks": {"all": [{"not_file": "cache"}]}}));
    world.align(&plan(&["test -f done"], json!({}), json!({"A1": atom})));
    world.run().expect(0);
}

#[test]
fn an_attempt_that_destroys_its_workspace_fails_and_the_run_ends_within_its_bound() {
    for breaks in [
        "rm -rf \"$PWD\"",
        "git worktree remove --force \"$PWD\"",
        "d=$PWD; cd /; rm -rf \"$d\"; ln -s /usr \"$d\"",
        "echo '*.txt working-tree-encoding=UTF-16' > .gitattributes; echo x > odd.txt",
    ] {
        let world = World::new();
        world.align(&plan(
            &["test -f done"],
            json!({"max_attempts": 2}),
            json!({"A1": task(breaks)}),
        ));
        let ran = world.descent(&["run", "--json"]).expect(5);
        assert_eq!(ran.count("attempt_failed"), 2, "{breaks}");
        assert_eq!(ran.result()["reason"], "no_choice", "{breaks}");
    }
}
