//! `ps`: the runs of this machine, from anywhere.

use std::fs;

use serde_json::json;

use super::detach::waiting;
use crate::world::{plan, task};

#[test]
fn runs_of_several_projects_are_listed_from_anywhere_and_gone_states_are_dropped() {
    let world = waiting();
    let elsewhere = world.root();
    world
        .descent_in(&elsewhere, &["status", "--all"])
        .expect(0)
        .shows("no run is known on this machine");
    let begun = world.descent(&["run", "--detach", "--json"]).expect(0).json();
    let other = world.out("other");
    fs::create_dir(&other).unwrap();
    let quick = plan(&["true"], json!({}), json!({"A1": task("true")}));
    let plan = world.plan(&quick);
    let there = |args: &[&str]| world.descent_in(&other, args);
    there(&["align", "-y", "-f", &plan, "--set", "workspace=shared"]).expect(0);
    there(&["run"]).expect(0);
    let records = world.root().join("home/.local/state/descent/runs");
    fs::write(records.join("odd.json"), "{}").unwrap();
    let listed = world.descent_in(&elsewhere, &["status", "--all", "--json"]).expect(0);
    let runs = listed.json()["runs"].clone();
    assert_eq!(runs.as_array().unwrap().len(), 2, "{runs}");
    let (live, ended) = (&runs[0], &runs[1]);
    assert_eq!(live["project"], json!(world.repo()));
    assert_eq!((&live["live"], &live["pid"]), (&json!(true), &begun["pid"]));
    assert_eq!((&live["detached"], &live["log"]), (&json!(true), &begun["log"]));
    assert_eq!((&live["resolved"], &live["unresolved"]), (&json!(0), &json!(1)));
    assert_eq!((&ended["status"], &ended["live"]), (&json!("completed"), &json!(false)));
    assert_eq!(ended["detached"], false);
    assert!(listed.stderr.contains("odd.json"), "{}", listed.stderr);
    fs::remove_dir_all(&other).unwrap();
    world.touch("go");
    world.descent(&["wait"]).expect(0);
    let next = format!("next: descent -C {} status", world.repo().display());
    let shown = world.descent_in(&elsewhere, &["status", "--all"]).expect(0).shows(&next);
    assert!(shown.stdout.starts_with("completed"), "{}", shown.stdout);
    assert_eq!(shown.stdout.lines().count(), 3, "{}", shown.stdout);
}
