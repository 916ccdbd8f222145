//! An attempt's use of git stays in its own repository. The person's, its siblings' and the one that judges are out of
//! its reach. Leftovers named `.git` are nobody's business.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::{
    results::lineage::{half_made, open_again},
    world::{World, after, listing, plan, task, wait_for, with},
};

/// All of the person's repository but objects, which may be added, and the one reference that keeps their HEAD.
fn repository(world: &World) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = listing(&world.repo().join(".git"));
    files.retain(|path, _| {
        let text = path.to_string_lossy();
        !text.contains("/.git/objects") && !text.contains("/refs/descent")
    });
    files
}

/// With a branch, a tag, a stash and a setting.
fn lived_in() -> World {
    let world = World::new();
    world.git(&["branch", "feature"]);
    world.git(&["tag", "v1"]);
    world.git(&["config", "user.name", "Ada"]);
    world.git(&["config", "user.email", "ada@example.org"]);
    world.write("a.txt", "private\n");
    world.git(&["stash", "-q"]);
    world.write("staged.txt", "staged\n");
    world.git(&["add", "staged.txt"]);
    world
}

/// Acts of a clumsy agent, each line whatever became of the one before.
const MISDEEDS: &str = "
    git stash; echo x > x; git stash -u; git stash pop; git stash clear
    git branch -D feature; git branch mine; git checkout -q -b other; git tag -f v1 HEAD; git tag agent
    git config user.email agent@evil; git config core.hooksPath /nowhere; git config alias.st status
    mkdir -p \"$(git rev-parse --git-dir)/hooks\"
    printf '#!/bin/sh\\nexit 1\\n' > \"$(git rev-parse --git-path hooks)/pre-commit\"
    git -c user.name=x -c user.email=x@x commit -q --allow-empty -m own
    git update-ref refs/heads/main HEAD; git update-ref -d refs/heads/feature
    git for-each-ref --format='delete %(refname)' | git update-ref --stdin
    git reflog expire --expire=now --all; git gc -q --prune=now; git prune; git worktree prune; git repack -adq
    rm -f x; ";

fn misdeeds(then: &str) -> Value {
    with(task(&format!("{MISDEEDS} {then}")), json!({"timeout": "5m"}))
}

#[test]
fn whatever_attempts_do_with_git_the_persons_repository_stays_byte_for_byte() {
    let world = lived_in();
    let before = repository(&world);
    let atoms = json!({
        "A1": misdeeds("echo 1 > one"),
        "A2": misdeeds("echo 2 > two"),
        "A3": after(&["A1", "A2"], &format!("{MISDEEDS} cat one two > three")),
    });
    world.align(&plan(&["test -f three"], json!({}), atoms));
    world.run().expect(0);
    assert_eq!(changed(&before, &repository(&world)), Vec::<PathBuf>::new());
    assert_eq!(world.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(world.result_file("three"), "1\n2\n");
    assert_eq!(world.result_file("staged.txt"), "staged\n");
    // The stash, its two parents, and one commit.
    assert_eq!(world.git(&["rev-list", "--all", "--count"]).trim(), "3");
    world.descent(&["apply"]).expect(0);
    assert_eq!(changed(&before, &repository(&world)), Vec::<PathBuf>::new());
    assert_eq!(world.read("three"), "1\n2\n");
    world.git(&["fsck", "--no-dangling"]);
}

fn changed(
    before: &BTreeMap<PathBuf, Vec<u8>>,
    after: &BTreeMap<PathBuf, Vec<u8>>,
) -> Vec<PathBuf> {
    let names = before.keys().chain(after.keys());
    let other = names.filter(|name| before.get(*name) != after.get(*name));
    other.cloned().collect()
}

#[test]
fn a_run_that_is_killed_amid_misdeeds_leaves_the_persons_repository_as_it_was() {
    let world = lived_in();
    let before = repository(&world);
    let (at, go) = (world.out("at"), world.out("go"));
    let wait = format!(
        "touch {}; while ! [ -e {} ]; do sleep 0.02; done; echo 1 > one",
        at.display(),
        go.display()
    );
    world.align(&plan(&["test -f one"], json!({}), json!({"A1": misdeeds(&wait)})));
    let running = world.start(&["run"]);
    wait_for("the attempt", || at.exists());
    running.kill();
    world.touch("go");
    world.run().expect(0);
    assert_eq!(changed(&before, &repository(&world)), Vec::<PathBuf>::new());
    assert_eq!(world.result_file("one"), "1\n");
}

#[test]
fn an_attempt_may_stash_commit_and_branch_in_a_repository_of_its_own() {
    let world = lived_in();
    let step =
        "set -e; echo tried > a.txt; git stash -q; test \"$(cat a.txt)\" = hello; git stash pop -q
        test \"$(cat a.txt)\" = tried; git checkout -q -b work; git add -A; git commit -qm 'as I go'
        git log --oneline | grep -q 'as I go'; test \"$(git log -1 --format=%ae)\" = ada@example.org
        git diff --quiet HEAD; git rev-parse main feature v1; git describe --tags >&2; git gc -q
        git fsck --no-dangling --no-progress; echo done > b.txt";
    world.align(&plan(
        &["grep -q tried a.txt && grep -q done b.txt && git rev-parse v1 && test -z \"$(git status --porcelain)\""],
        json!({}),
        json!({"A1": task(step)}),
    ));
    world.run().expect(0);
    assert_eq!(world.result_file("a.txt"), "tried\n");
}

#[test]
fn of_a_run_nothing_shows_in_the_persons_log_and_one_reference_names_their_head() {
    let world = World::new();
    world.write("a.txt", "not committed\n");
    let head = world.git(&["rev-parse", "HEAD"]);
    let atoms = json!({"A1": task("echo 1 > one"), "A2": after(&["A1"], "echo 2 > two")});
    world.align(&plan(&["test -f two"], json!({}), atoms));
    world.run().expect(0);
    assert_eq!(world.git(&["log", "--all", "--format=%H"]), head);
    let refs = world.git(&["for-each-ref", "--format=%(objectname)", "refs/descent"]);
    assert_eq!(refs, head);
    assert_eq!(world.git(&["worktree", "list"]).lines().count(), 1);
}

/// An attempt that sets itself up to be judged by another test than the protected one.
#[test]
fn settings_attributes_and_trees_beside_it_that_an_attempt_changes_judge_nothing() {
    let world = World::new();
    fs::create_dir(world.repo().join("tests")).unwrap();
    world.write("tests/t.sh", "grep -q 42 answer\n");
    world.write("answer", "0\n");
    commit(&world);
    let cheat = "git config filter.cheat.smudge 'cat >/dev/null; echo true'
        echo 'tests/** filter=cheat' >> \"$(git rev-parse --git-common-dir)/info/attributes\"
        for d in candidate verify pristine judging; do rm -f ../$d/tests/t.sh; mkdir -p ../$d; echo true > ../$d/t.sh; done
        echo 41 > answer";
    let atoms = json!({"A1": with(task(cheat), json!({"checks": {"all": [{"command": "sh tests/t.sh"}]}}))});
    let limits = json!({"protected": ["tests/**"], "max_attempts": 2});
    world.align(&plan(&["sh tests/t.sh"], limits, atoms));
    world.run().expect(5);
    assert!(world.state()["bindings"].as_object().unwrap().is_empty());
}

fn commit(world: &World) {
    world.git(&["add", "-A"]);
    let who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
    world.git(&[&who[..], &["commit", "-qm", "more"]].concat());
}

#[test]
fn trees_for_checks_lie_apart_from_those_of_attempts() {
    let world = World::new();
    let (check, attempt) = (world.out("check"), world.out("attempt"));
    let step = format!("pwd > {}; echo 1 > one", attempt.display());
    let checked = format!("pwd > {}; test -f one", check.display());
    world.align(&plan(&[&checked], json!({}), json!({"A1": task(&step)})));
    world.run().expect(0);
    let (check, attempt) = (world.left("check"), world.left("attempt"));
    let shared =
        Path::new(check.trim()).ancestors().find(|dir| Path::new(attempt.trim()).starts_with(dir));
    assert_eq!(shared, Some(&*world.cache().join("descent")));
}

#[test]
fn no_merge_driver_of_the_settings_runs() {
    let world = World::new();
    let ran = world.out("ran").display().to_string();
    for key in ["merge.x.driver", "merge.default.driver"] {
        world.git(&["config", key, &format!("touch {ran}; exit 1")]);
    }
    world.git(&["config", "merge.default", "x"]);
    world.write(".gitattributes", "* merge=x\n");
    world.write("f", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    commit(&world);
    let atoms = json!({
        "A1": task("sed -i s/1/one/ f; sleep 0.2"),
        "A2": task("sed -i s/9/nine/ f; sleep 0.2"),
        "A3": after(&["A1", "A2"], "sed -i s/5/five/ f"),
    });
    world.align(&plan(&["grep -q five f"], json!({}), atoms));
    world.run().expect(0);
    assert_eq!(world.result_file("f"), "one\n2\n3\n4\nfive\n6\n7\n8\nnine\n");
    assert!(!world.out("ran").exists());
}

#[test]
fn whatever_an_attempt_leaves_as_its_git_its_files_are_taken_and_nothing_waits() {
    let world = World::new();
    let person = world.repo().join(".git").display().to_string();
    let leaves = [
        "rm -rf .git".to_owned(),
        "rm -rf .git; mkfifo .git".to_owned(),
        "rm -rf .git; ln -s /dev/zero .git".to_owned(),
        format!("rm -rf .git; ln -s {person} .git"),
        format!(
            "rm -rf .git; echo 'gitdir: {person}' > .git; git commit -q --allow-empty -m x || true"
        ),
        "rm -rf .git/objects .git/HEAD; mkfifo .git/HEAD".to_owned(),
    ];
    let before = repository(&world);
    let names: Vec<String> = (0..leaves.len()).map(|n| format!("A{n}")).collect();
    let mut atoms = json!({});
    for (n, leave) in leaves.iter().enumerate() {
        // The last but one would move the person's branch, which is no matter of workspaces.
        let leave = leave.replace("git commit -q --allow-empty -m x || true", "true");
        let waits: Vec<&str> = names[..n].iter().map(String::as_str).collect();
        atoms[&names[n]] = after(&waits, &format!("{leave}; echo {n} > f{n}"));
    }
    let limits = json!({"max_parallel_agents": 1});
    world.align(&plan(&["cat f0 f1 f2 f3 f4 f5"], limits, atoms));
    world.run().expect(0);
    assert_eq!(world.result_file("f5"), "5\n");
    assert_eq!(changed(&before, &repository(&world)), Vec::<PathBuf>::new());
}

#[test]
fn a_failed_attempt_that_leaves_a_pipe_for_its_git_keeps_no_later_one_from_starting() {
    let world = World::new();
    let again = world.out("again").display().to_string();
    let step = format!(
        "[ -e {again} ] && {{ echo 1 > one; exit 0; }}; touch {again}; rm -rf .git; mkfifo .git; exit 1"
    );
    world.align(&plan(&["test -f one"], json!({"max_attempts": 2}), json!({"A1": task(&step)})));
    world.run().expect(0);
    assert_eq!(world.result_file("one"), "1\n");
}

#[test]
fn the_settings_of_the_start_count_and_none_that_an_attempt_writes_into_the_project() {
    let world = World::new();
    world.git(&["config", "filter.up.clean", "tr A-Z a-z"]);
    world.git(&["config", "filter.up.smudge", "tr a-z A-Z"]);
    fs::create_dir_all(world.repo().join(".git/info")).unwrap();
    fs::write(world.repo().join(".git/info/attributes"), "*.up filter=up\n").unwrap();
    world.write("x.up", "HELLO\n");
    commit(&world);
    let project = world.repo().display().to_string();
    let spoils = format!(
        "git -C {project} config filter.up.smudge 'echo spoilt'; echo > {project}/.git/info/attributes; echo MORE >> x.up"
    );
    let atoms =
        json!({"A1": task(&spoils), "A2": after(&["A1"], "grep -q MORE x.up && echo 2 > two")});
    world.align(&plan(
        &["test \"$(cat x.up)\" = \"$(printf 'HELLO\\nMORE')\" && test -f two"],
        json!({}),
        atoms,
    ));
    world.run().expect(0);
}

#[test]
fn a_repository_that_git_tracks_or_that_is_a_link_is_not_believed() {
    let world = half_made("hello\n");
    open_again(&world);
    let repository = world.repo().join(".descent/state.json.d/repository");
    world.git(&["add", "-f", ".descent/state.json.d/repository"]);
    let refused = world.descent(&["run"]).expect(69);
    refused.says("E-REPOSITORY").says("git rm -r --cached");
    world.git(&["rm", "-rq", "--cached", ".descent"]);
    let elsewhere = world.root().join("elsewhere");
    fs::rename(&repository, &elsewhere).unwrap();
    symlink(&elsewhere, &repository).unwrap();
    let before = listing(&elsewhere);
    world.descent(&["run"]).expect(74).says("E-STATE-PLACE");
    assert_eq!(listing(&elsewhere), before);
}

#[test]
fn a_repository_in_a_submodule_or_with_a_pipe_or_a_device_is_not_believed() {
    let world = half_made("hello\n");
    open_again(&world);
    let refused = |path: &Path, what: &str| {
        for command in [&["run"][..], &["apply", "-n"], &["verify", "--result"]] {
            world.descent(command).expect(69).says("E-REPOSITORY").says(what);
        }
        fs::remove_file(path).unwrap();
    };
    let pipe = world.repository().join("packed-refs");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    refused(&pipe, "is a named pipe");
    let endless = world.repository().join("info/grafts");
    symlink("/dev/zero", &endless).unwrap();
    refused(&endless, "is a symbolic link");
    let module = world.repo().join(".descent/.git");
    fs::write(&module, "gitdir: ../.git/modules/x\n").unwrap();
    refused(&module, "git rm -r --cached .descent");
    world.run().expect(0);
}

#[test]
fn where_the_prompt_lies_git_finds_no_repository_of_the_persons() {
    let world = World::new();
    world.write("mine", "not committed\n");
    let head = world.git(&["rev-parse", "HEAD"]);
    // The fence alone would refuse a commit, but not a look.
    let step = "cd \"$(dirname \"$DESCENT_RESULT\")\" && ! git commit -q --allow-empty -am oops && ! git stash -q \
                && ! git rev-parse --git-dir";
    let atoms = json!({"A1": task(&format!("touch done && {step}"))});
    world.align(&plan(&["test -f done"], json!({}), atoms));
    world.run().expect(0);
    assert_eq!(world.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(world.read("mine"), "not committed\n");
}

#[test]
fn a_link_in_the_projects_own_place_leads_no_check_elsewhere() {
    let world = World::new();
    fs::create_dir_all(world.repo().join("sub/.descent")).unwrap();
    world.write("sub/f", "f\n");
    commit(&world);
    let fake = world.root().join("fake");
    fs::create_dir(&fake).unwrap();
    let file = world.plan(&plan(
        &["test -f cheat"],
        json!({}),
        json!({"A1": task(&format!("cd ..; rm -r sub; ln -s {} sub; touch {}/cheat", fake.display(), fake.display()))}),
    ));
    let at = world.repo().join("sub").display().to_string();
    world.descent(&["-C", &at, "align", "-y", "-f", &file]).expect(0);
    world.descent(&["-C", &at, "run"]).expect(5);
}

#[test]
fn a_start_without_the_projects_directory_is_named() {
    let world = World::new();
    fs::create_dir_all(world.repo().join("sub/.descent")).unwrap();
    world.write("sub/f", "f\n");
    commit(&world);
    let beside = world.root().join("beside");
    let at = beside.display().to_string();
    world.git(&["worktree", "add", "-q", "-b", "linked", &at]);
    fs::remove_dir_all(beside.join("sub")).unwrap();
    symlink("/", beside.join("sub")).unwrap();
    world.git(&["-C", &at, "add", "-A"]);
    let who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
    world.git(&[&["-C", &at][..], &who, &["commit", "-qm", "a link"]].concat());
    let file = world.plan(&plan(&["test -f never"], json!({}), json!({"A1": task("true")})));
    world.descent(&["-C", "sub", "align", "-y", "-f", &file]).expect(0);
    let refused = world.descent(&["-C", "sub", "run", "--from", "linked"]).expect(69);
    refused.says("E-REPOSITORY");
}
