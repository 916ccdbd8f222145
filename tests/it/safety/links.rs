//! A `.descent` that is a symbolic link: a clone's is refused, a person's own is followed.

use std::{fs, os::unix::fs::symlink, path::PathBuf};

use serde_json::json;

use crate::{
    safety::trust::marks,
    world::{World, assert_same, listing, plan, task},
};

const COMMANDS: [&[&str]; 6] = [
    &["status"],
    &["verify"],
    &["run"],
    &["apply"],
    &["stop"],
    &["align", "x", "--why", "y", "--check", "true", "--step", "s=true", "-y"],
];

#[track_caller]
fn is_refused(world: &World, why: &str) {
    let before = listing(&world.root());
    for args in COMMANDS {
        world.descent(args).expect(77).says("E-OTHERS-PLACE").says(why).says("next: rm ");
    }
    assert_same(&world.root(), &before);
    assert_eq!(marks(world), 0);
}

#[test]
fn a_directory_of_the_state_that_a_clone_links_elsewhere_is_not_followed() {
    let world = World::new();
    let elsewhere = world.root().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink("../elsewhere", world.repo().join(".descent")).unwrap();
    world.commit_all("theirs");
    is_refused(&world, "the repository tracks it");
    // Named by the person, it is meant.
    let state = elsewhere.join("state.json");
    let named = ["--state", state.to_str().unwrap()];
    let align = ["align", "x", "--why", "y", "--check", "true", "--step", "s=true", "-y"];
    world.descent(&[&named[..], &align].concat()).expect(0);
    // So it is in the index, and where it leads to nothing.
    world.git(&["rm", "-rq", "--cached", ".descent"]);
    world.git(&["commit", "-qm", "gone"]);
    world.git(&["add", "-f", ".descent"]);
    is_refused(&world, "the repository tracks it");
}

/// The commands of that state were allowed for another project, and would run on this one.
#[test]
fn a_link_into_the_state_of_another_repository_is_not_followed() {
    let world = World::new();
    let mark = format!("touch {}", world.out("ran").display());
    let other = world.root().join("other");
    world.git(&["clone", "-q", ".", "../other"]);
    let at = ["-C", other.to_str().unwrap(), "align", "-y", "-f"];
    let path = world.plan(&plan(&[&mark], json!({}), json!({"A1": task("true")})));
    world.descent(&[&at[..], &[&path]].concat()).expect(0);
    fs::remove_file(world.out("ran")).unwrap();

    let link = world.repo().join(".descent");
    symlink("../other/.descent", &link).unwrap();
    is_refused(&world, "it is the state of another repository");
    fs::remove_file(&link).unwrap();
    fs::create_dir(&link).unwrap();
    symlink(other.join(".descent/state.json"), link.join("state.json")).unwrap();
    is_refused(&world, "it is the state of another repository");
    world.git(&["add", "-f", ".descent/state.json"]);
    is_refused(&world, "the repository tracks it");
}

#[test]
fn a_link_to_nothing_is_not_followed_and_a_persons_own_is() {
    let world = World::new();
    let disk = world.root().join("disk");
    let link = world.repo().join(".descent");
    symlink(&disk, &link).unwrap();
    let check = ["align", "x", "--why", "y", "--check", "test -f done", "-y"];
    let align = [&check[..], &["--step", "s=touch done"]].concat();
    let ran = world.descent(&align);
    assert!(ran.code != Some(0), "{}", ran.stderr);
    assert!(!disk.exists());
    fs::create_dir(&disk).unwrap();
    world.descent(&align).expect(0);
    world.run().expect(0);
    world.descent(&["verify", "--result"]).expect(0);
    assert!(disk.join("state.json").exists());
}

#[test]
fn a_link_in_the_place_of_any_directory_of_the_cache_is_replaced_and_nothing_changes_where_it_leads()
 {
    let world = World::new();
    world.align(&plan(&["test -f done"], json!({}), json!({"A": task("touch done")})));
    world.run().expect(0);
    let cache = world.cache().join("descent");
    let dirs = |depth: usize| {
        let below = |path: &PathBuf| path.strip_prefix(&cache).unwrap().components().count();
        let found = listing(&cache).into_keys();
        let found =
            found.filter(|path| below(path) <= depth && path.is_dir() && !path.is_symlink());
        found.collect::<Vec<PathBuf>>()
    };
    let checks = dirs(4).into_iter().filter(|dir| dir.starts_with(cache.join("checks")));
    let all: Vec<PathBuf> = dirs(2).into_iter().chain(checks).collect();
    assert!(all.len() > 6, "{all:?}");
    for (n, dir) in all.iter().enumerate().filter(|(_, dir)| dir.exists()) {
        let theirs = world.out(&format!("theirs-{n}"));
        fs::create_dir_all(theirs.parent().unwrap()).unwrap();
        fs::rename(dir, &theirs).unwrap();
        symlink(&theirs, dir).unwrap();
        let before = listing(&theirs);
        world.descent(&["verify", "--result"]).expect(0);
        assert_same(&theirs, &before);
    }
}
