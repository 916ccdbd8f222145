//! Leftovers of ended runs: `descent clean` removes them, and nothing that somebody may want yet.

use std::{fs, path::PathBuf};

use serde_json::{Value, json};

use crate::{
    begun::at_work,
    world::{World, listing, plan, task},
};

fn ran(world: &World, file: &str) {
    let done = format!("test -f {file}");
    let atoms = json!({"A1": task(&format!("echo x > {file}"))});
    let path = world.plan(&plan(&[&done], json!({}), atoms));
    world
        .descent(&["align", "-y", "--force", "-f", &path])
        .expect(0);
    world.run().expect(0);
}

fn lineage(world: &World) -> String {
    world.state()["lineage"].as_str().unwrap().to_owned()
}

fn clean(world: &World, flags: &[&str]) -> Value {
    world
        .descent(&[&["clean", "--json"], flags].concat())
        .expect(0)
        .json()
}

/// The places at which a lineage has something.
fn places(world: &World, lineage: &str) -> Vec<PathBuf> {
    let mut dirs = vec![
        world.cache().join("descent").join(lineage),
        world.repo().join(".descent/repository").join(lineage),
        world.repo().join(".git/refs/descent").join(lineage),
    ];
    dirs.retain(|dir| dir.exists());
    dirs
}

#[test]
fn what_a_replaced_run_left_goes_once_its_result_was_applied() {
    let world = World::new();
    ran(&world, "one");
    let first = lineage(&world);
    world.descent(&["apply"]).expect(0);
    ran(&world, "two");
    assert_eq!(places(&world, &first).len(), 3);
    let found = clean(&world, &["-n"]);
    assert_eq!(found["removed"][0]["lineage"], first.as_str());
    assert_eq!(places(&world, &first).len(), 3, "it only looked");
    world
        .descent(&["doctor"])
        .shows("leftovers")
        .shows("1 ended run");
    clean(&world, &[]);
    assert_eq!(places(&world, &first), Vec::<PathBuf>::new());
    assert_eq!(clean(&world, &[])["removed"], json!([]));
    let checks = fs::read_dir(world.cache().join("descent/checks")).unwrap();
    assert_eq!(checks.count(), 1);
    world.run().expect(0);
    world.descent(&["apply"]).expect(0);
    assert_eq!(world.read("two"), "x\n");
}

#[test]
fn a_result_that_was_not_applied_is_named_and_goes_only_when_asked() {
    let world = World::new();
    ran(&world, "one");
    let first = lineage(&world);
    ran(&world, "two");
    let ran = world.descent(&["clean"]).expect(0);
    ran.shows(&first)
        .shows("was not applied")
        .shows("--unapplied");
    assert_eq!(places(&world, &first).len(), 3);
    let gone = clean(&world, &["--unapplied"]);
    assert_eq!(gone["removed"][0]["lineage"], first.as_str());
    assert_eq!(places(&world, &first), Vec::<PathBuf>::new());
}

#[test]
fn nothing_of_a_run_whose_state_is_in_place_goes_wherever_it_stands() {
    let world = World::new();
    ran(&world, "one");
    world.descent(&["fork"]).expect(0);
    let path = world.plan(&plan(
        &["test -f two"],
        json!({}),
        json!({"A1": task("echo > two")}),
    ));
    fs::create_dir_all(world.repo().join("sub")).unwrap();
    let state = world.repo().join("sub/other.json").display().to_string();
    world
        .descent(&["--state", &state, "align", "-y", "-f", &path])
        .expect(0);
    world.descent(&["--state", &state, "run"]).expect(0);
    let before = listing(&world.root());
    for flags in [&[][..], &["--unapplied"]] {
        let found = clean(&world, flags);
        assert_eq!(
            (&found["removed"], &found["kept"]),
            (&json!([]), &json!([]))
        );
    }
    let kept: Vec<PathBuf> = before.into_keys().filter(|path| !path.exists()).collect();
    assert_eq!(kept, Vec::<PathBuf>::new());
}

#[test]
fn a_fork_and_the_removal_of_leftovers_do_nothing_without_their_common_lock() {
    let world = World::new();
    ran(&world, "one");
    fs::create_dir(world.cache().join("descent/leftovers.lock")).unwrap();
    world.descent(&["fork"]).expect(74).says("leftovers.lock");
    let aside = world.out("state.json");
    fs::rename(world.state_path(), &aside).unwrap();
    let before = listing(&world.root());
    world.descent(&["clean", "-n"]).expect(0);
    let refused = world.descent(&["clean", "--unapplied"]).expect(74);
    refused.says("leftovers.lock");
    assert_eq!(listing(&world.root()), before);
}

#[test]
fn a_state_that_was_rescued_into_the_cache_goes_only_when_asked() {
    let (world, mut running) = at_work();
    fs::remove_dir_all(world.repo().join(".descent")).unwrap();
    world.touch("go");
    let ended = running.wait().expect(74);
    let rescued = ended.stderr.split_whitespace();
    let mut rescued = rescued
        .map(|word| word.trim_matches('\''))
        .filter(|word| word.contains("/state-"));
    let rescued = PathBuf::from(rescued.next().unwrap());
    let kept = clean(&world, &[]);
    assert_eq!((&kept["removed"], rescued.exists()), (&json!([]), true));
    assert_eq!(kept["kept"].as_array().unwrap().len(), 1);
    let told = world.descent(&["clean"]).expect(0);
    told.shows("its state was saved as").shows("--unapplied");
    clean(&world, &["--unapplied"]);
    assert!(!rescued.exists());
}

#[test]
fn what_a_project_left_that_is_gone_goes_from_the_cache() {
    let world = World::new();
    ran(&world, "one");
    let first = lineage(&world);
    fs::remove_dir_all(world.repo().join(".descent")).unwrap();
    let found = clean(&world, &[]);
    assert_eq!(found["removed"][0]["lineage"], first.as_str());
    assert!(!world.cache().join("descent").join(&first).exists());
    assert_eq!(world.git(&["for-each-ref", "refs/descent"]), "");
}

#[test]
fn references_and_worktrees_of_earlier_versions_go_but_for_results_that_are_nowhere_else() {
    let world = World::new();
    let head = world.git(&["rev-parse", "HEAD"]);
    world.git(&["update-ref", "refs/descent/old/start", "HEAD"]);
    let tree = world.git(&["rev-parse", "HEAD^{tree}"]);
    let who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
    let made = [
        &who[..],
        &["commit-tree", tree.trim(), "-p", head.trim(), "-m", "made"],
    ]
    .concat();
    let made = world.git(&made);
    world.git(&["update-ref", "refs/descent/made/result", made.trim()]);
    let at = world.cache().join("descent/old/12345678/attempt-0");
    fs::create_dir_all(at.parent().unwrap()).unwrap();
    world.git(&["worktree", "add", "-q", "--detach", at.to_str().unwrap()]);
    fs::write(
        world
            .repo()
            .join(".git/worktrees/attempt-0/descent-index.x"),
        "",
    )
    .unwrap();
    let found = clean(&world, &[]);
    assert_eq!(found["removed"][0]["lineage"], "old");
    assert_eq!(found["kept"][0]["lineage"], "made");
    assert_eq!(world.git(&["worktree", "list"]).lines().count(), 1);
    let left = world.git(&["for-each-ref", "--format=%(refname)", "refs/descent"]);
    assert_eq!(left, "refs/descent/made/result\n");
    clean(&world, &["--unapplied"]);
    assert_eq!(world.git(&["for-each-ref", "refs/descent"]), "");
}
