//! `descent doctor`: what the machine gives, and how to mend what it lacks; it leaves nothing.

use serde_json::{Value, json};

use crate::world::{Running, World, assert_same, listing, plan, task};

fn named<'f>(found: &'f Value, name: &str) -> &'f Value {
    let findings = found["findings"].as_array().expect("findings");
    let one = findings.iter().find(|finding| finding["name"] == name);
    one.unwrap_or_else(|| panic!("no {name} in {found:#}"))
}

#[test]
fn where_descent_can_run_it_says_so_and_leaves_nothing_with_and_without_a_state() {
    let world = World::new();
    let before = listing(&world.root());
    let found = world.descent(&["doctor", "--json"]).expect(0).json();
    assert_eq!((&found["schema"], &found["can_run"]), (&json!("descent/doctor/1"), &json!(true)));
    assert_same(&world.root(), &before);
    for name in [
        "state",
        "owner",
        "state write",
        "edits",
        "locks",
        "cache",
        "git",
        "repository",
        "identity",
        "ending",
    ] {
        let health = named(&found, name)["health"].as_str().expect("a word");
        assert!(["ok", "degraded"].contains(&health), "{name}: {health}");
    }
    let found_in = |name: &str| named(&found, name)["found"].as_str().expect("a text");
    assert!(found_in("ending").contains("guard: works here"));
    let modes = ["full", "no-lease", "no-exchange", "rename-only"];
    assert!(modes.iter().any(|mode| found_in("edits").starts_with(mode)));
    world.align(&plan(&["test -f done"], json!({}), json!({"A1": task("touch done")})));
    let before = listing(&world.root());
    let ran = world.descent(&["doctor"]).expect(0);
    assert_same(&world.root(), &before);
    let ran = ran.shows("descent can run here").shows("next: descent status");
    for line in ran.stdout.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn what_is_missing_ends_with_69_and_says_how_to_mend_it() {
    let world = World::bare();
    let found = world.descent(&["doctor", "--json"]).expect(0).json();
    assert_eq!(named(&found, "repository")["health"], "ok");
    let work = json!({"A1": task("touch done")});
    world.align(&plan(&["test -f done"], json!({}), work));
    let found = world.descent(&["doctor", "--json"]).expect(0).json();
    let repository = named(&found, "repository")["found"].as_str().unwrap();
    assert!(repository.contains("private"), "{repository}");
    world.replace_in_state("\"workspace\": \"shadow\"", "\"workspace\": \"git\"");
    let found = world.descent(&["doctor", "--json"]).expect(69).json();
    let repository = named(&found, "repository");
    assert_eq!(repository["health"], "missing");
    assert!(repository["mend"].as_str().unwrap().starts_with("git init"), "{repository}");
    world.descent(&["doctor"]).expect(69).shows("descent cannot run here").shows("mend: git init");

    let world = World::new();
    let mut command = world.command(&["doctor", "--json"]);
    command.env("PATH", "/nowhere");
    let found = Running::of(command).wait().expect(69).json();
    assert_eq!(named(&found, "git")["health"], "missing");

    let mut command = world.command(&["doctor", "--json"]);
    command.env("DESCENT_ENDING", "bogus");
    let found = Running::of(command).wait().expect(69).json();
    assert_eq!(named(&found, "ending")["health"], "missing");

    let world = World::bare();
    world.git(&["init", "--quiet"]);
    let found = world.descent(&["doctor", "--json"]).expect(69).json();
    let repository = named(&found, "repository");
    let mend = repository["mend"].as_str().expect("a hint");
    assert!(mend.contains("commit --allow-empty -m start"), "{repository}");
}

#[test]
fn what_could_be_better_is_degraded_and_stops_nobody() {
    let world = World::new();
    world.git(&["config", "--unset", "user.name"]);
    world.git(&["config", "--unset", "user.email"]);
    let found = world.descent(&["doctor", "--json"]).expect(0).json();
    let identity = named(&found, "identity");
    assert_eq!(identity["health"], "degraded");
    assert!(identity["mend"].as_str().unwrap().contains("user.email"), "{identity}");
    world.descent(&["doctor"]).expect(0).shows("could be better");
    let open_to_all = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(world.repo(), open_to_all).unwrap();
    let found = world.descent(&["doctor", "--json"]).expect(0).json();
    assert_eq!(named(&found, "owner")["health"], "degraded");
}
