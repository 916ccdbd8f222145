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
    world.descent(&["align", "-y", "--force", "-f", &path]).expect(0);
    world.run().expect(0);
}

fn lineage(world: &World) -> String {
    world.state()["lineage"].as_str().unwrap().to_owned()
}

fn clean(world: &World, flags: &[&str]) -> Value {
    world.descent(&[&["clean", "--json"], flags].concat()).expect(0).json()
}

/// The places at which a lineage has something.
fn places(world: &World, lineage: &str) -> Vec<PathBuf> {
    let mut dirs = vec![
        world.cache().join("descent").join(lineage),
        world.repo().join(".descent/state.json.d/repository").join(lineage),
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
    world.descent(&["doctor"]).shows("leftovers").shows("1 ended run");
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
    ran.shows(&first).shows("was not applied").shows("--unapplied");
    assert_eq!(places(&world, &first).len(), 3);
    let gone = clean(&world, &["--unapplied"]);
    assert_eq!(gone["removed"][0]["lineage"], first.as_str());
    assert_eq!(places(&world, &first), Vec::<PathBuf>::new());
}

#[test]
fn nothing_of_a_run_whose_state_is_in_place_goes_wherever_it_stands() {
    let world = World::new();
    ran(&world, "one");
    world.descent(&["undo", "--into"]).expect(0);
    let path = world.plan(&plan(&["test -f two"], json!({}), json!({"A1": task("echo > two")})));
    fs::create_dir_all(world.repo().join("sub")).unwrap();
    let state = world.repo().join("sub/other.json").display().to_string();
    world.descent(&["--state", &state, "align", "-y", "-f", &path]).expect(0);
    world.descent(&["--state", &state, "run"]).expect(0);
    let before = listing(&world.root());
    for flags in [&[][..], &["--unapplied"]] {
        let found = clean(&world, flags);
        assert_eq!((&found["removed"], &found["kept"]), (&json!([]), &json!([])));
    }
    let kept: Vec<PathBuf> = before.into_keys().filter(|path| !path.exists()).collect();
    assert_eq!(kept, Vec::<PathBuf>::new());
}

#[test]
fn a_fork_and_the_removal_of_leftovers_do_nothing_without_their_common_lock() {
    let world = World::new();
    ran(&world, "one");
    fs::create_dir(world.cache().join("descent/leftovers.lock")).unwrap();
    world.descent(&["undo", "--into"]).expect(74).says("leftovers.lock");
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
    let mut rescued =
        rescued.map(|word| word.trim_matches('\'')).filter(|word| word.contains("/state-"));
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

/// The trees of a run's result, of its attempts and of its checks.
fn trees(world: &World, lineage: &str) -> Vec<PathBuf> {
    let cache = world.cache().join("descent");
    let mut dirs = vec![cache.join(lineage)];
    dirs.extend(
        fs::read_dir(cache.join("checks")).into_iter().flatten().flatten().map(|one| one.path()),
    );
    dirs.retain(|dir| dir.exists());
    dirs
}

#[test]
fn the_trees_of_an_applied_run_whose_state_stands_go_and_are_made_anew_when_they_are_needed() {
    let world = World::new();
    ran(&world, "one");
    let now = lineage(&world);
    assert_eq!(clean(&world, &["--unapplied"])["removed"], json!([]));
    world.descent(&["apply"]).expect(0);
    let (state, repository) = (world.state_text(), listing(&world.repository()));
    let found = clean(&world, &["-n"]);
    assert_eq!(found["removed"][0]["lineage"], now.as_str());
    assert_eq!(trees(&world, &now).len(), 1, "those of checks went with the apply");
    let quiet = world.descent(&["clean", "-q"]).expect(0);
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("", ""));
    assert_eq!(trees(&world, &now), Vec::<PathBuf>::new());
    assert_eq!(world.state_text(), state);
    crate::world::assert_same(&world.repository(), &repository);
    assert_eq!(clean(&world, &[])["removed"], json!([]));
    world.descent(&["diff"]).expect(0).shows("+x");
    world.descent(&["verify"]).expect(0);
    world.run().expect(0);
}

#[test]
fn nothing_goes_of_a_run_that_was_applied_and_is_at_work_again() {
    let world = World::new();
    ran(&world, "one");
    world.descent(&["apply"]).expect(0);
    let go = world.out("go").display().to_string();
    let waits = format!(
        "until test -e {go}; do sleep 0.02; done; echo y >> one; echo at > {}",
        world.out("at").display()
    );
    let more = world.root().join("more.json");
    let atoms = json!({"work_graph": {"atoms": {"A2": task(&format!("echo > {}; {waits}", world.out("began").display()))}}});
    fs::write(&more, atoms.to_string()).unwrap();
    let more = more.display().to_string();
    world.descent(&["redirect", "--add", &more, "--add-check", "grep -q y one", "-y"]).expect(0);
    assert_eq!(clean(&world, &[])["removed"], json!([]));
    let mut run = world.start(&["run"]);
    crate::world::wait_for("the step begins", || world.out("began").exists());
    assert_eq!(clean(&world, &[])["removed"], json!([]));
    world.touch("go");
    run.wait().expect(0);
    // The result has more than what was applied.
    assert_eq!(clean(&world, &[])["removed"], json!([]));
}

#[test]
fn an_applied_run_of_another_project_is_known_as_applied_and_one_that_was_not_is_kept() {
    let world = World::new();
    let elsewhere = world.out("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let clean_there = |flags: &[&str]| {
        let ran = world.descent_in(&elsewhere, &[&["clean", "--json"], flags].concat());
        ran.expect(0).json()
    };
    ran(&world, "one");
    let first = lineage(&world);
    world.descent(&["apply"]).expect(0);
    world.write("one", "and changed since\n");
    ran(&world, "two");
    let second = lineage(&world);
    ran(&world, "three");
    for found in [clean_there(&["-n"]), clean(&world, &["-n"])] {
        let named = |key: &str| {
            let all = found[key].as_array().unwrap().iter();
            all.map(|one| one["lineage"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(
            (named("removed"), named("kept")),
            (vec![first.clone()], vec![second.clone()]),
            "{found}"
        );
    }
    clean_there(&[]);
    let repository = world.repo().join(".descent/state.json.d/repository");
    assert!(repository.join(&first).exists(), "it goes from its own project alone");
    assert!(!world.cache().join("descent").join(&first).exists());
    assert!(world.cache().join("descent").join(&second).exists());
}
