//! A judge's rating counts only in a state that this machine wrote itself: one that came along is asked for again.

use std::fs;

use crate::{
    roles::judged::{asked, judge, says, with_note},
    safety::trust::trust,
    world::World,
};

const GOOD: &str = r#"{"score": 0.9, "because": "it reads well"}"#;
const BAD: &str = r#"{"score": 0.1, "because": "it does not"}"#;
const DROPPED: &str = "1 rating is dropped: it is asked for again";

/// A run that a judge let pass, on a machine with another judge.
fn passed_elsewhere() -> World {
    let world = with_note();
    judge(&world, &says(GOOD));
    world.run().expect(0);
    assert_eq!(asked(&world), 1);
    judge(&world, &says(BAD));
    world
}

/// All that is known of this machine, but the state file, is gone.
fn forget_the_machine(world: &World) {
    fs::remove_dir_all(world.root().join("home")).unwrap();
    fs::create_dir(world.root().join("home")).unwrap();
    fs::remove_dir_all(world.cache()).unwrap();
    fs::create_dir(world.cache()).unwrap();
    let kept = world.state_bytes();
    fs::remove_dir_all(world.repo().join(".descent")).unwrap();
    fs::create_dir(world.repo().join(".descent")).unwrap();
    fs::write(world.state_path(), kept).unwrap();
}

#[test]
fn a_rating_that_came_with_a_strangers_state_is_dropped_when_it_is_allowed() {
    let world = passed_elsewhere();
    forget_the_machine(&world);
    world.descent(&["run"]).expect(77);
    let hash = world.descent(&["trust", "--json"]).json()["hash"].clone();
    world.descent(&["trust", "--hash", hash.as_str().unwrap()]).expect(0).says(DROPPED);
    assert_eq!(world.state()["run"].get("ratings"), None);
    world.descent(&["verify"]).expect(1);
    world.descent(&["run"]).expect(5);
    assert_eq!(asked(&world), 2);
    assert_eq!(world.state()["run"]["ratings"][0]["score"], 0.1);
    // A rating of this machine's judge is kept.
    world.descent(&["run"]);
    assert_eq!(asked(&world), 2);
}

#[test]
fn a_rating_in_a_state_that_git_brings_is_dropped_each_time_though_its_commands_are_allowed() {
    let world = passed_elsewhere();
    world.git(&["add", "-f", ".descent/state.json"]);
    world.git(&["commit", "-qm", "a state"]);
    fs::remove_dir_all(world.repo().join(".descent/state.json.d/journal")).unwrap();
    world.descent(&["run"]).expect(77);
    trust(&world);
    assert_eq!(world.state()["run"].get("ratings"), None);
    let met_again = || {
        world.run_away_with_sidecars();
        world.git(&["checkout", ".descent/state.json"]);
        assert_eq!(world.state()["run"]["ratings"][0]["score"], 0.9);
    };
    met_again();
    world.descent(&["verify"]).expect(1).says(DROPPED);
    met_again();
    // The repository beside it is gone, so that no run goes on; but nothing of the rating is left.
    world.descent(&["run"]).expect(69).says(DROPPED);
    assert_eq!(world.state()["run"].get("ratings"), None);
}

#[test]
fn a_rating_in_an_edit_of_which_nothing_is_kept_is_asked_for_again() {
    let world = passed_elsewhere();
    let text = world.state_text();
    assert!(text.contains("\"score\": 0.9"), "{text}");
    world.run_away_with_sidecars();
    world.save(&text.replace("\"score\": 0.9", "\"score\": 0.95"));
    world.descent(&["verify"]).expect(1);
    let ran = world.run().expect(5);
    let told = ran.lines().into_iter().find(|line| line["event"] == "corrected");
    let told = told.unwrap_or_else(|| panic!("{}", ran.stdout));
    assert!(told["what"].as_str().unwrap().contains(DROPPED), "{told}");
    assert_eq!(asked(&world), 2);
    assert_eq!(world.state()["run"]["ratings"][0]["score"], 0.1);
}

#[test]
fn a_rating_that_a_person_edits_gives_way_to_the_one_that_was_given() {
    let world = with_note();
    judge(&world, &says(BAD));
    world.run().expect(5);
    world.replace_in_state("\"score\": 0.1", "\"score\": 0.9");
    // The very tree that was rated.
    world.write("note", "clear words\n");
    world.descent(&["verify"]).expect(1).shows("rated 0.1 by j");
    fs::remove_file(world.repo().join("note")).unwrap();
    world.run().expect(5);
    assert_eq!(world.state()["run"]["ratings"][0]["score"], 0.1);
    assert_eq!(asked(&world), 1);
}
