//! Bringing the result into the working tree, and that nothing of the person's changes before that.

use serde_json::{Value, json};

use crate::world::{World, after, plan, task};

fn work() -> Value {
    let atoms =
        json!({"A1": task("echo new > new.txt"), "A2": after(&["A1"], "echo world >> a.txt")});
    plan(&["grep -q world a.txt"], json!({}), atoms)
}

/// The things that a run must not change: HEAD, index, branches, stash, files.
fn persons(world: &World) -> (Vec<u8>, String, Vec<(String, String)>) {
    let index = std::fs::read(world.repo().join(".git/index")).unwrap();
    let refs = world.git(&["for-each-ref", "--exclude=refs/descent"])
        + &world.git(&["stash", "list"])
        + &world.git(&["symbolic-ref", "HEAD"]);
    let names = world.git(&["ls-files", "-co", "--exclude-standard"]);
    (index, refs, names.lines().map(|name| (name.to_owned(), world.read(name))).collect())
}

#[test]
fn on_a_clean_tree_it_is_a_fast_forward_with_a_commit_an_atom() {
    let world = World::new();
    world.align(&work());
    let before = persons(&world);
    world.run().expect(0);
    assert_eq!(persons(&world), before);
    let applied = world.descent(&["apply", "--json"]).expect(0).json();
    assert_eq!(applied["applied"], "fast_forward", "{applied}");
    assert_eq!(world.git(&["rev-list", "--count", "HEAD"]).trim(), "3");
    assert_eq!(world.git(&["status", "--porcelain"]), "");
    assert_eq!(
        (world.read("a.txt").as_str(), world.read("new.txt").as_str()),
        ("hello\nworld\n", "new\n")
    );
    assert_eq!(world.git(&["symbolic-ref", "HEAD"]).trim(), "refs/heads/main");
}

#[test]
fn a_file_that_is_there_keeps_its_mode_but_for_the_executable_bit() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    for name in ["closed", "opened", "plain"] {
        world.write(name, "x\n");
    }
    world.commit_all("files");
    let path = |name: &str| world.repo().join(name);
    let set = |name: &str, mode| {
        std::fs::set_permissions(path(name), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    set("closed", 0o600);
    set("opened", 0o640);
    let step = "for f in closed opened plain; do echo y >>$f; done; chmod +x opened";
    world.align(&plan(&["grep -q y plain"], json!({}), json!({"A1": task(step)})));
    world.run().expect(0);
    world.descent(&["apply"]).expect(0);
    let mode = |name: &str| path(name).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("closed"), mode("opened")), (0o600, 0o750));
    assert_eq!(world.read("closed"), "x\ny\n");
    assert_eq!(world.git(&["status", "--porcelain"]), "");
}

#[test]
fn beside_a_lock_of_another_git_nothing_is_written() {
    let world = World::new();
    world.align(&work());
    world.run().expect(0);
    let before = persons(&world);
    for lock in [".git/index.lock", ".git/HEAD.lock", ".git/refs/heads/main.lock"] {
        world.write(lock, "");
        let refused = world.descent(&["apply"]).expect(69);
        refused
            .says("met a lock that another process holds")
            .says(lock.rsplit('/').next().unwrap());
        assert_eq!(persons(&world), before);
        std::fs::remove_file(world.repo().join(lock)).unwrap();
    }
    world.descent(&["apply"]).expect(0);
    assert_eq!(world.read("new.txt"), "new\n");
}

#[test]
fn on_a_dirty_tree_the_changes_come_into_the_files_and_nothing_else_moves() {
    let world = World::new();
    world.write("staged.txt", "staged\n");
    world.git(&["add", "staged.txt"]);
    world.write("mine.txt", "uncommitted \u{fc}\r\n");
    world.align(&work());
    let before = persons(&world);
    world.run().expect(0);
    assert_eq!(persons(&world), before);
    let applied = world.descent(&["apply", "--json"]).expect(0).json();
    assert_eq!(applied["applied"], "files", "{applied}");
    assert_eq!(applied["files"], json!(["a.txt", "new.txt"]));
    let why = "staged.txt has changes that are not committed";
    assert_eq!(applied["no_commit"], why);
    let (_, refs, files) = persons(&world);
    assert_eq!(refs, before.1);
    assert_eq!(world.git(&["diff", "--cached", "--name-only"]), "staged.txt\n");
    assert!(files.contains(&("a.txt".to_owned(), "hello\nworld\n".to_owned())));
    assert!(files.contains(&("mine.txt".to_owned(), "uncommitted \u{fc}\r\n".to_owned())));
}

#[test]
fn where_the_persons_file_differs_from_the_base_it_refuses_with_the_paths_and_changes_nothing() {
    let world = World::new();
    world.align(&work());
    world.run().expect(0);
    world.write("a.txt", "my own words\n");
    let before = persons(&world);
    world.descent(&["apply"]).expect(1).says("E-APPLY").says("a.txt");
    assert_eq!(persons(&world), before);
    world.write("a.txt", "hello\n");
    world.descent(&["apply"]).expect(0);
    assert_eq!(world.read("a.txt"), "hello\nworld\n");
}

#[test]
fn an_untracked_file_in_the_way_is_not_written_over() {
    let world = World::new();
    world.align(&work());
    world.run().expect(0);
    world.write("new.txt", "not yours\n");
    world.descent(&["apply"]).expect(1).says("new.txt");
    assert_eq!(
        (world.read("new.txt").as_str(), world.read("a.txt").as_str()),
        ("not yours\n", "hello\n")
    );
}

#[test]
fn twice_is_the_same_as_once() {
    let world = World::new();
    world.align(&work());
    world.run().expect(0);
    world.descent(&["apply"]).expect(0);
    let before = persons(&world);
    let again = world.descent(&["apply", "--json"]).expect(0).json();
    assert_eq!(again["applied"], "nothing");
    assert_eq!(persons(&world), before);
}

#[test]
fn before_any_run_there_is_nothing_to_apply() {
    let world = World::new();
    world.align(&work());
    assert_eq!(world.descent(&["apply", "--json"]).expect(0).json()["applied"], "nothing");
}

#[test]
fn run_with_apply_brings_the_result_at_its_end() {
    let world = World::new();
    world.align(&work());
    let ran = world.descent(&["run", "--apply"]).expect(0);
    assert!(!ran.stdout.contains("descent apply"), "{}", ran.stdout);
    assert_eq!(world.read("a.txt"), "hello\nworld\n");
}

#[test]
fn deleted_renamed_and_executable_files_arrive_as_they_are() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    world.write("mine.txt", "dirty\n");
    let run = "git mv a.txt b.txt 2>/dev/null || mv a.txt b.txt; printf '#!/bin/sh\\n' > tool; chmod +x tool; ln -s tool link";
    world.align(&plan(&["test -x tool"], json!({}), json!({"A1": task(run)})));
    world.run().expect(0);
    world.descent(&["apply"]).expect(0);
    assert!(!world.repo().join("a.txt").exists() && world.read("b.txt") == "hello\n");
    assert_eq!(
        std::fs::metadata(world.repo().join("tool")).unwrap().permissions().mode() & 0o111,
        0o111
    );
    assert_eq!(std::fs::read_link(world.repo().join("link")).unwrap().to_str(), Some("tool"));
}

/// A finished run whose changes hold text, a binary file, a deletion and a mode.
fn finished() -> World {
    let world = World::new();
    world.write("gone.txt", "gone\n");
    world.commit_all("second");
    let run = "echo world >> a.txt; rm gone.txt; head -c 300 /dev/zero > blob; printf '#!/bin/sh\\n' > tool; chmod +x tool";
    world.align(&plan(&["grep -q world a.txt"], json!({}), json!({"A1": task(run)})));
    world.run().expect(0);
    world
}

#[test]
fn a_dry_run_tells_how_with_the_lines_of_each_file_and_writes_nothing() {
    let world = finished();
    let before = persons(&world);
    let told = world.descent(&["apply", "-n", "--json"]).expect(0).json();
    assert_eq!((&told["applied"], &told["dry_run"]), (&json!("fast_forward"), &json!(true)));
    let changes = json!([
        {"path": "a.txt", "added": 1, "removed": 0},
        {"path": "blob", "added": null, "removed": null},
        {"path": "gone.txt", "added": 0, "removed": 1},
        {"path": "tool", "added": 1, "removed": 0},
    ]);
    assert_eq!(told["changes"], changes);
    let shown = world.descent(&["apply", "-n"]).expect(0);
    shown.shows("would move main").shows("+1 -0       a.txt");
    world.write("mine.txt", "mine\n");
    world.git(&["add", "mine.txt"]);
    let files = world.descent(&["apply", "-n"]).expect(0);
    files.shows("would change these files");
    world.git(&["rm", "-qf", "mine.txt"]);
    assert_eq!(persons(&world).1, before.1);
}

#[test]
fn a_dry_run_that_would_be_refused_names_the_overlaps_and_ends_with_1() {
    let world = finished();
    world.write("a.txt", "my own words\n");
    let before = persons(&world);
    let told = world.descent(&["apply", "-n", "--json"]).expect(1).json();
    assert_eq!((&told["applied"], &told["overlaps"]), (&json!("refused"), &json!(["a.txt"])));
    let shown = world.descent(&["apply", "-n"]).expect(1);
    shown.shows("overlaps  a.txt").shows("apply --branch");
    assert_eq!(persons(&world), before);
}

#[test]
fn as_a_branch_it_is_a_commit_an_atom_and_nothing_else_moves() {
    let world = finished();
    world.write("a.txt", "my own words\n");
    let head = world.git(&["rev-parse", "HEAD"]);
    world.descent(&["apply", "-n", "--branch", "side/try"]).expect(0).shows("would make");
    assert_eq!(world.git(&["branch", "--list", "side/*"]), "");
    let made = world.descent(&["apply", "--branch", "side/try", "--json"]).expect(0).json();
    assert_eq!((&made["applied"], &made["branch"]), (&json!("branch"), &json!("side/try")));
    assert_eq!(world.git(&["rev-list", "--count", "main..side/try"]).trim(), "1");
    let trailers = world.git(&["log", "-1", "--format=%(trailers)", "side/try"]);
    assert!(trailers.contains("Descent-Atom: A1"), "{trailers}");
    assert_eq!(world.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(world.git(&["status", "--porcelain"]), " M a.txt\n");
    world.descent(&["apply", "--branch", "side/try"]).expect(0).shows("already");
}

#[test]
fn a_branch_that_is_in_the_way_stays_and_no_name_breaks_out() {
    let world = finished();
    world.git(&["branch", "taken"]);
    let before = world.git(&["for-each-ref", "refs/heads"]);
    for name in ["main", "taken", "taken/below"] {
        for dry in [&[][..], &["-n"]] {
            let args = [&["apply", "--branch", name][..], dry].concat();
            let refused = world.descent(&args).expect(1).says("E-APPLY");
            refused.says("another name");
        }
    }
    world.git(&["branch", "a/b"]);
    world.descent(&["apply", "--branch", "a"]).expect(1).says("a/b");
    for name in
        ["", "HEAD", "a..b", "a b", "-x", "../x", "x.lock", "@{-1}", "@", "refs/heads/x", "a\u{7}"]
    {
        let args = ["apply".to_owned(), format!("--branch={name}")];
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        world.descent(&args).expect(2);
    }
    let now = world.git(&["for-each-ref", "refs/heads"]);
    assert_eq!(now.replace(&world.git(&["for-each-ref", "refs/heads/a"]), ""), before);
}

#[test]
fn as_a_patch_it_is_what_git_apply_takes_whatever_the_settings_say() {
    let world = finished();
    for (key, value) in [
        ("diff.noprefix", "true"),
        ("color.ui", "always"),
        ("diff.external", "false"),
        ("diff.context", "0"),
    ] {
        world.git(&["config", key, value]);
    }
    let before = persons(&world);
    let file = world.out("result.patch").display().to_string();
    let made = world.descent(&["apply", "--patch", &file, "--json"]).expect(0).json();
    assert_eq!((&made["applied"], &made["patch"]), (&json!("patch"), &json!(file)));
    let piped = world.descent(&["apply", "--patch", "-"]).expect(0).stdout;
    assert_eq!(piped, world.left("result.patch"));
    assert_eq!(persons(&world), before);
    world.git(&["config", "--unset", "diff.noprefix"]);
    world.git(&["apply", &file]);
    let result = world.status()["workspace"]["commit"].as_str().unwrap().to_owned();
    world.git(&["add", "-A"]);
    let tree = world.git(&["write-tree"]);
    assert_eq!(world.ours(&["diff", tree.trim(), &result]), "");
    let refused = world.descent(&["apply", "--patch", &file]).expect(1);
    refused.says("E-APPLY").says("apply --patch - >");
    assert_eq!(world.left("result.patch"), piped);
    let out = world.out("").display().to_string();
    let state = world.state_path().display().to_string();
    let there = ["-C", &out, "--state", &state, "apply", "--patch", "there.patch"];
    world.descent(&there).expect(0);
    assert_eq!(world.left("there.patch"), piped);
    let nowhere = world.out("no/such/dir.patch").display().to_string();
    world.descent(&["apply", "--patch", &nowhere]).expect(74).says("dir.patch");
    for both in
        [&["apply", "--patch", "-", "--json"][..], &["apply", "--patch", "x", "--branch", "y"]]
    {
        world.descent(both).expect(2);
    }
}

#[test]
fn a_patch_is_of_the_whole_result_where_that_is_applied_already() {
    let world = finished();
    let before = world.descent(&["apply", "--patch", "-"]).expect(0).stdout;
    world.descent(&["apply"]).expect(0);
    assert_eq!(world.descent(&["apply", "--patch", "-"]).expect(0).stdout, before);
    let file = world.out("result.patch").display().to_string();
    let made = world.descent(&["apply", "--patch", &file]).expect(0);
    made.shows("a.txt").shows("next: descent status");
    assert_eq!(world.left("result.patch"), before);
}

#[test]
fn a_partial_result_is_called_one() {
    let world = World::new();
    let atoms = json!({"A1": task("echo half > half.txt"), "A2": after(&["A1"], "exit 1")});
    world.align(&plan(&["false"], json!({"max_attempts": 1}), atoms));
    world.run().expect(5);
    let told = world.descent(&["apply", "-n", "--json"]).expect(0);
    assert_eq!(told.json()["partial"], true);
    told.says("partial result");
    world
        .descent(&["apply", "--branch", "half"])
        .expect(0)
        .says("the run has not completed (exhausted): this is a partial result");
    assert_eq!(world.git(&["show", "half:half.txt"]), "half\n");
}

#[test]
fn looking_and_handing_out_need_no_rest_of_the_loop() {
    let world = World::new();
    let slow = format!("echo > '{}'; sleep 100", world.out("slow").display());
    let atoms = json!({"A1": task("echo one > one.txt"), "A2": after(&["A1"], &slow)});
    world.align(&plan(&["false"], json!({}), atoms));
    let mut run = world.start(&["run"]);
    world.wait_for_file("slow");
    world.descent(&["apply", "-n"]).expect(0).says("running");
    world.descent(&["apply", "--branch", "so-far"]).expect(0);
    assert_eq!(world.git(&["show", "so-far:one.txt"]), "one\n");
    world.descent(&["apply"]).expect(75).says("E-LEASE-HELD");
    world.descent(&["stop"]).expect(0);
    run.wait().expect(3);
}

#[test]
fn what_a_later_run_adds_comes_on_top_of_the_result_that_was_applied_before() {
    let world = World::new();
    world.align(&work());
    world.run().expect(0);
    world.descent(&["apply"]).expect(0);
    let mut state = world.state();
    state["work_graph"]["atoms"]["A3"] = after(&["A2"], "echo more >> a.txt");
    state["objective"]["base_case"] = json!({"all": [{"command": "grep -q more a.txt"}]});
    world.save_records(&state);
    world.run().expect(0);
    let applied = world.descent(&["apply", "--json"]).expect(0).json();
    assert_eq!(applied["applied"], "fast_forward", "{applied}");
    assert_eq!(applied["files"].as_array().unwrap().len(), 1, "{applied}");
    assert_eq!(world.read("a.txt"), "hello\nworld\nmore\n");
    assert_eq!(world.git(&["rev-list", "--count", "HEAD"]).trim(), "4");
}
