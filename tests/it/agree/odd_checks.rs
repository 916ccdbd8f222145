//! `align` warns of checks that say nothing of the goal, and refuses none.

use serde_json::{Value, json};

use crate::{
    agree::align::{align_with, with_check, with_tool},
    passed_over::{Lack, passed_over},
    world::World,
};

#[track_caller]
fn check_warning(world: &World, check: Value, words: &str) {
    let checked = with_check(check);
    let value = align_with(world, &checked, &["-n", "--json"]).expect(0).json();
    let said = value["warnings"].to_string();
    assert!(said.contains(words), "no `{words}` in {said}");
    align_with(world, &checked, &["-n"]).expect(0).shows("warning: ");
}

#[test]
fn every_kind_of_odd_check_is_warned_of_and_none_is_refused() {
    let world = with_tool();
    for (check, words) in [
        (json!({"command": "test -f x || true"}), "cannot fail"),
        (json!({"command": "no-such-program-here"}), "a program is not found"),
        (json!({"not_command": "no-such-program-here"}), "a program is not found"),
        (json!({"not_command": "grep -q TODO gone.rs"}), "because its command breaks"),
        (json!({"command": "echo none", "number": "(\\d+) ok", "at_least": 1}), "finds no number"),
        (json!({"file": "node_modules/made"}), "git ignores node_modules/made"),
        (json!({"command": "sleep 0.6", "timeout": "1s"}), "of the 1.0 s that it may take"),
        (json!({"command": "echo x >> a.txt; test -f a.txt"}), "changed tracked files: a.txt"),
    ] {
        check_warning(&world, check, words);
    }
    let quiet = with_check(json!({"command": "grep -q hello a.txt"}));
    let ran = align_with(&world, &quiet, &["-n"]).expect(0);
    assert!(!ran.stdout.contains("warning"), "{}", ran.stdout);
}

#[test]
fn a_file_that_an_earlier_command_will_make_is_not_warned_of() {
    let world = with_tool();
    let mut plan = with_check(json!({"command": "sh build.sh"}));
    plan["objective"]["base_case"]["all"]
        .as_array_mut()
        .unwrap()
        .push(json!({"file": "node_modules/made"}));
    let ran = align_with(&world, &plan, &["-n"]).expect(0);
    assert!(!ran.stdout.contains("git ignores"), "{}", ran.stdout);
}

#[test]
fn atoms_that_may_change_one_file_side_by_side_are_told_and_in_one_tree_they_wait() {
    let world = with_tool();
    let mut plan = with_check(json!({"command": "grep -q never a.txt"}));
    let atom = |touches: &str| json!({"action": {"run": "touch x"}, "touches": [touches]});
    plan["work_graph"] = json!({"atoms": {"A": atom("src/**"), "B": atom("src/b.rs")}});
    let ran = align_with(&world, &plan, &["-n"]).expect(0);
    let words = "low     B: it touches `src/b.rs`, and `A` touches `src/**` beside it";
    assert!(ran.stdout.contains(words), "{}", ran.stdout);
    plan["objective"]["constraints"] = json!({"workspace": "shared"});
    let ran = align_with(&world, &plan, &["-n"]).expect(0);
    // They wait for one another there, and a plan that says so is a better one.
    let heavier = words.replace("low   ", "medium");
    assert!(ran.stdout.contains(&heavier), "{}", ran.stdout);
}

const MAKEFILE: &str = "all: out.o tool\nout.o: a.txt\n\tcp a.txt out.o\ntool: out.o\n\tmkdir -p build && for n in 1 2 3 4; do cp out.o build/$$n; done\n\tcp out.o tool\n\tcp out.o x.log\n";

/// The warnings of `align -n` with a check that builds.
fn warnings_of_a_build(world: &World) -> String {
    let checked = with_check(json!({"command": "make all"}));
    let ran = align_with(world, &checked, &["-n", "--json"]).expect(0);
    ran.json()["warnings"].to_string()
}

#[test]
fn files_that_a_check_leaves_and_git_does_not_ignore_are_named_before_a_run_starts_from_them() {
    let is_there = std::process::Command::new("make").arg("--version").output();
    if is_there.is_err() {
        return passed_over("a check that builds", Lack::Program("make"));
    }
    let words = "it left files here that the run would start from: build/1, build/2, build/3, build/4, out.o and 1 more";
    let world = with_tool();
    world.write("Makefile", MAKEFILE);
    world.write("mine", "untracked, and left alone");
    let said = warnings_of_a_build(&world);
    assert!(said.contains(words), "{said}");
    assert!(said.contains("name them in .gitignore"), "{said}");
    assert!(!said.contains("changed tracked files"), "{said}");
    let said = warnings_of_a_build(&world);
    assert!(!said.contains("it left files"), "nothing is built: {said}");
    world.write("a.txt", "touched, and built again\n");
    let said = warnings_of_a_build(&world);
    assert!(said.contains("would start from"), "{said}");
    world.git(&["clean", "-fdq"]);
    world.write("Makefile", MAKEFILE);
    world.write(".gitignore", "node_modules\n*.log\n*.o\nbuild\ntool\n");
    let said = warnings_of_a_build(&world);
    assert!(!said.contains("it left files"), "all is ignored: {said}");

    let elsewhere = World::bare();
    elsewhere.write("a.txt", "hello\n");
    elsewhere.write(".gitignore", "*.log\n");
    elsewhere.write("Makefile", MAKEFILE);
    let said = warnings_of_a_build(&elsewhere);
    assert!(said.contains(words), "without a repository: {said}");
}
