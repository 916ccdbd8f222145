//! Things that an attempt leaves are in its result, or named: in its line, in `why`, and to the next attempt.

use serde_json::json;

use crate::world::{World, after, plan, task, with};

/// The fate of something that a step left.
enum Fate {
    /// The result has this file, with these bytes.
    Taken(&'static str, &'static str),
    /// The result has no such file, and these words name it.
    Named(&'static str, &'static str),
}
use Fate::{Named, Taken};

/// Ways to leave something, each the command of a step.
const WAYS: &[(&str, Fate)] = &[
    ("echo x >plain", Taken("plain", "x\n")),
    ("echo x >A.TXT", Taken("A.TXT", "x\n")),
    ("echo x >s.log; git add -f s.log", Taken("s.log", "x\n")),
    ("echo x >c.log; git add -f c.log; git commit -qm x", Taken("c.log", "x\n")),
    ("echo x >n.log; git add -fN n.log", Taken("n.log", "x\n")),
    ("mkdir build; echo x >build/f; git add -f build/f; git commit -qm x", Taken("build/f", "x\n")),
    ("echo x >i.log", Named("i.log", "not taken: i.log (ignored by git)")),
    ("mkdir build; echo x >build/i", Named("build/i", "not taken: build/ (ignored by git)")),
    ("echo x >mine", Named("mine", "not taken: mine (ignored by git)")),
    ("echo x >theirs", Named("theirs", "not taken: theirs (ignored by git)")),
    (
        "for i in 1 2 3 4 5; do echo x >$i.log; done",
        Named("1.log", "not taken: 1.log, 2.log, 3.log and 2 more (ignored by git)"),
    ),
    (
        "echo x >beside; echo x >b.log",
        Named("b.log", "changed beside; not taken: b.log (ignored by git)"),
    ),
    (
        "git switch -qc other; echo x >o; git add o; git commit -qm x; git switch -q --detach $B",
        Named("o", "not taken: branch other with o (not in the workspace)"),
    ),
    (
        "echo x >d; git add d; git commit -qm x; git switch -q --detach $B",
        Named("d", "not taken: a detached HEAD with d (not in the workspace)"),
    ),
    (
        "git worktree add -q wt; cd wt; echo x >w; git add w; git commit -qm x",
        Named("w", "not taken: wt (a repository of its own), branch wt with w"),
    ),
    ("echo two >a.txt; git stash -q", Named("none", "not taken: its stash (not in the workspace)")),
    ("git init -q v; echo x >v/x", Named("v/x", "not taken: v (a repository of its own)")),
    ("mkdir .GIT; echo x >.GIT/x", Named(".GIT/x", "not taken: .GIT/x (git takes no such name)")),
    (
        "mkdir 'git~1'; echo x >'git~1/y'",
        Named("git~1/y", "not taken: git~1/y (git takes no such name)"),
    ),
    (
        "mkdir .descent; echo x >.descent/x",
        Named(".descent/x", "not taken: .descent (descent's own)"),
    ),
    ("git update-index --assume-unchanged k; echo y >k", Taken("k", "y\n")),
    ("git update-index --skip-worktree l; echo y >l", Taken("l", "y\n")),
    ("echo ex >>.git/info/exclude; echo x >ex", Taken("ex", "x\n")),
    (
        "git config core.excludesFile \"$OUT/g\"; echo gl >\"$OUT/g\"; echo x >gl",
        Taken("gl", "x\n"),
    ),
    ("rm -rf .git; git init -q; echo x >r.log; git add -f r.log", Taken("r.log", "x\n")),
    ("ln -s /etc/hosts out", Taken("out", "")),
    // A commit that was replaced is not left out.
    (
        "git switch -qc on; echo x >on; git add on; git commit -qm x; git commit -q --amend -m y",
        Taken("on", "x\n"),
    ),
];

#[test]
fn what_a_step_leaves_is_in_the_result_or_named() {
    let world = World::new();
    for (path, text) in [("k", "z\n"), ("l", "z\n")] {
        world.write(path, text);
    }
    world.write(".gitignore", "*.log\nbuild/\n");
    world.commit_all("second");
    world.write(".git/info/exclude", "mine\n");
    world.write("../g", "theirs\n");
    let excludes = world.root().join("g").display().to_string();
    world.git(&["config", "core.excludesFile", &excludes]);
    let name = |n: usize| format!("A{n:02}");
    let mut atoms = serde_json::Map::new();
    for (n, (way, _)) in WAYS.iter().enumerate() {
        let way =
            format!("OUT='{}'; B=$(git rev-parse HEAD); {way}", world.root().join("out").display());
        atoms.insert(name(n), task(&way));
    }
    let all: Vec<String> = (0..WAYS.len()).map(name).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    atoms.insert("Z".to_owned(), after(&all, "touch done"));
    world.align(&plan(&["test -e done"], json!({}), atoms.into()));
    world.run().expect(0);
    let result = world.status()["workspace"]["path"].clone();
    let result = std::path::PathBuf::from(result.as_str().unwrap());
    for (n, (way, fate)) in WAYS.iter().enumerate() {
        let why = world.descent(&["why", &name(n), "--json"]).expect(0).json();
        let told = why["binding"]["summary"].as_str().unwrap_or_default();
        match fate {
            Taken(path, text) => {
                assert!(!told.contains("not taken"), "{way}: {told}");
                assert!(result.join(path).symlink_metadata().is_ok(), "{way}: {told}");
                if !text.is_empty() {
                    assert_eq!(std::fs::read_to_string(result.join(path)).unwrap(), *text, "{way}");
                }
            }
            Named(path, words) => {
                assert!(told.contains(words), "{way}: {told}");
                assert!(result.join(path).symlink_metadata().is_err(), "{way}");
            }
        }
    }
}

#[test]
fn the_line_of_a_step_names_what_is_not_taken_and_beside_a_change_no_ignored_path() {
    let world = World::new();
    world.write(".gitignore", "*.log\n");
    world.commit_all("ignore");
    let atoms = json!({
        "A1": task("echo x >a.log"),
        "A2": task("echo x >one; echo x >b.log; git init -q v; echo x >v/x"),
    });
    world.align(&plan(&["test -e one"], json!({}), atoms));
    world
        .descent(&["run"])
        .expect(0)
        .shows("no file changed; not taken: a.log (ignored by git)\n")
        .shows("changed one; not taken: v (a repository of its own)\n");
}

#[test]
fn what_setup_and_links_left_is_not_named() {
    let world = World::new();
    world.write(".gitignore", "*.log\nshared/\n");
    world.commit_all("ignore");
    std::fs::create_dir_all(world.repo().join("shared/in")).unwrap();
    world.write("shared/in/x", "x");
    let limits = json!({"setup": {"run": "echo x >made.log"}, "link": ["shared/in"]});
    let step = task("echo x >>made.log; echo x >shared/in/y; echo x >one");
    world.align(&plan(&["test -e one"], limits, json!({"A1": step})));
    world.run().expect(0);
    let why = world.descent(&["why", "A1", "--json"]).expect(0).stdout;
    assert!(!why.contains("not taken"), "{why}");
}

#[test]
fn a_step_whose_check_needs_an_ignored_file_completes_if_it_tracks_it() {
    let world = World::new();
    world.write(".gitignore", "*.log\n");
    world.commit_all("ignore");
    let step = "echo x >out.log; git add -f out.log; git commit -qm x";
    world.align(&plan(&["test -e out.log"], json!({}), json!({"A1": task(step)})));
    world.run().expect(0);
    world.descent(&["apply"]).expect(0);
    assert_eq!(world.read("out.log"), "x\n");
}

/// The second attempt keeps its prompt.
#[track_caller]
fn the_next_is_told(limits: serde_json::Value, end: &str) {
    let world = World::new();
    world.write(".gitignore", "*.log\n");
    let out = world.root().join("out").display().to_string();
    let script = format!(
        "#!/bin/sh\ncp \"$DESCENT_PROMPT\" {out}/prompt.$DESCENT_ATTEMPT\n\
         case $DESCENT_ATTEMPT in 1) echo x >out.log; {end};; *) echo x >one;; esac\n"
    );
    let path = world.program("worker", &script);
    world.write(
        "descent.toml",
        &format!("agents.worker.run = \"{}\"\nroles.worker = \"worker\"\n", path.display()),
    );
    let checked = json!({"checks": {"file": "one"}});
    let atoms = json!({"A1": with(json!({"description": "x"}), checked)});
    world.align(&plan(&["test -e one"], limits, atoms));
    world.run().expect(0);
    let told = world.left("prompt.2");
    assert!(told.contains("; not taken: out.log (ignored by git)"), "{told}");
    let why = world.descent(&["why", "A1"]).expect(0).stdout;
    assert!(why.contains("not taken: out.log"), "{why}");
}

#[test]
fn the_next_attempt_is_told_what_was_not_taken_of_one_that_failed() {
    the_next_is_told(json!({}), "exit 1");
    the_next_is_told(json!({}), "exit 0");
    the_next_is_told(json!({"workspace": "shadow"}), "exit 0");
}

#[test]
fn a_base_case_that_fails_with_every_step_done_names_what_was_left() {
    let world = World::new();
    world.write(".gitignore", "dist/\n");
    world.commit_all("ignores");
    let step = task("mkdir dist; echo x >dist/x; touch y");
    world.align(&plan(&["test -f dist/x"], json!({}), json!({"A": step})));
    let ran = world.run().expect(5);
    ran.shows("it does not hold with every step done; A left dist/ (ignored by git)");
}
