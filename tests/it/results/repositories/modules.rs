//! Submodules: from the person's own copy, without a network.

use super::*;

/// Adds a submodule, with those inside of it, and commits that.
pub(super) fn add(world: &World, from: &str, path: &str) {
    let allow = ["-c", "protocol.file.allow=always"];
    world.git(&[&allow[..], &["submodule", "add", "-q", from, path]].concat());
    world.git(&[&allow[..], &["submodule", "update", "-q", "--init", "--recursive"]].concat());
    commit_all(world, ".");
}

/// A project with `vendor/sub`, in it `in`; where they came from is gone.
fn nested() -> World {
    let world = World::new();
    let (inner, outer) = (upstream(&world, "inner"), upstream(&world, "outer"));
    let allow = ["-c", "protocol.file.allow=always", "-C", &outer];
    world.git(&[&allow[..], &["submodule", "add", "-q", &inner, "in"]].concat());
    commit_all(&world, &outer);
    add(&world, &outer, "vendor/sub");
    for gone in [inner, outer] {
        fs::remove_dir_all(gone).unwrap();
    }
    world
}

const BOTH: &str =
    "cat vendor/sub/a.txt vendor/sub/in/a.txt && git -C vendor/sub/in log -1 > /dev/null";

#[test]
fn they_are_there_in_workspaces_and_in_checks_however_deep() {
    let world = nested();
    let mut plan = work(&format!("{BOTH} && {{ {RIGHT}; }}"));
    plan["objective"]["base_case"]["all"].as_array_mut().unwrap().push(json!({"command": BOTH}));
    let before = picture(&world);
    world.align(&plan);
    world.run().expect(0);
    assert_eq!(picture(&world), before);
    world.descent(&["apply"]).expect(0);
    assert_eq!(world.git(&["status", "--porcelain"]), "");
    let worktrees = world.git(&["-C", "vendor/sub", "worktree", "list"]);
    assert_eq!(worktrees.lines().count(), 1, "{worktrees}");
}

#[test]
fn one_that_is_dirty_is_refused_with_its_path() {
    for path in ["vendor/sub", "vendor/sub/in"] {
        for name in ["a.txt", "untracked"] {
            let world = nested();
            fs::write(world.repo().join(path).join(name), "mine\n").unwrap();
            let refused = world.try_align(&work(RIGHT)).expect(69).says("E-REPOSITORY");
            let repo = world.repo();
            refused.says(name).says(&format!("git -C {}/{path} stash -u", repo.display()));
            world.git(&["-C", path, "-c", "user.name=A", "-c", "user.email=a@b", "stash", "-qu"]);
            world.align(&work(RIGHT));
        }
    }
}

#[test]
fn one_that_stands_at_another_commit_is_taken_there() {
    let world = nested();
    fs::write(world.repo().join("vendor/sub/new"), "new\n").unwrap();
    commit_all(&world, "vendor/sub");
    lives_through_with(&world, &format!("test -f vendor/sub/new && {{ {RIGHT}; }}"));
    assert_eq!(world.git(&["diff", "--name-only"]), "a.txt\nvendor/sub\n");
}

#[test]
fn one_that_is_not_checked_out_stays_empty() {
    let world = nested();
    world.git(&["submodule", "-q", "deinit", "-f", "--all"]);
    lives_through_with(
        &world,
        &format!("test -d vendor/sub && test ! -e vendor/sub/a.txt && {{ {RIGHT}; }}"),
    );
}

#[test]
fn what_an_attempt_does_in_one_reaches_neither_the_persons_copy_nor_the_next_attempt() {
    let world = nested();
    let mess = "cd vendor/sub && echo mess >> a.txt && git -c user.name=a -c user.email=a@b commit -qam mess && git branch mess && rm -rf in && ln -s / in";
    let mut plan = work(&format!("{BOTH} && ! grep -q mess vendor/sub/a.txt && {{ {RIGHT}; }}"));
    plan["work_graph"]["atoms"]["C1"] = task(mess);
    let before = picture(&world);
    world.align(&plan);
    world.run().expect(0);
    assert_eq!(picture(&world), before);
    assert_eq!(world.git(&["-C", "vendor/sub", "branch", "--list", "mess"]), "");
    let why = world.descent(&["why", "C1"]).expect(0).stdout;
    assert!(why.contains("submodule") && why.contains("vendor/sub/a.txt"), "{why}");
}

#[test]
fn a_submodule_is_a_project_too() {
    let world = nested();
    let at = world.repo().join("vendor/sub");
    identify(&world, "vendor/sub");
    world.descent_in(&at, &["align", "-y", "-f", &world.plan(&work(RIGHT))]).expect(0);
    world.descent_in(&at, &["run", "--apply"]).expect(0);
    assert_eq!(fs::read_to_string(at.join("a.txt")).unwrap(), "hello\nworld\n");
}

fn identify(world: &World, at: &str) {
    world.git(&["-C", at, "config", "user.name", "Ada"]);
    world.git(&["-C", at, "config", "user.email", "ada@example.org"]);
}
