//! States of newer versions: what they say is kept, and nothing is run by a guess at it.

use std::fs;

use serde_json::json;

use crate::world::{Running, World, plan, task, wait_for_or};

fn newer(world: &World, edits: &[(&str, &str)]) {
    let mut text = world.state_text().replacen("\"version\": \"3.0\"", "\"version\": \"3.7\"", 1);
    for (from, to) in edits {
        assert!(text.contains(from), "no `{from}` in:\n{text}");
        text = text.replacen(from, to, 1);
    }
    world.save(&text);
}

fn aligned() -> World {
    let world = World::new();
    let atoms = json!({"A1": task("echo one >one")});
    world.align(&plan(&["test -e one"], json!({"max_attempts": 2}), atoms));
    world
}

#[test]
fn what_a_newer_minor_version_says_is_not_run_and_is_kept_by_what_writes() {
    let world = aligned();
    // As the newer program left it: what a hand writes into the trail is not kept.
    fs::remove_dir_all(world.repo().join(".descent/state.json.d/journal")).unwrap();
    newer(
        &world,
        &[
            ("\"trail\": []", "\"trail\": [{\"n\": 1, \"type\": \"hunch\", \"m\": 1e3}]"),
            ("\"max_attempts\": 2", "\"max_attempts\": 2, \"mood\": {\"x\": 1.50}"),
        ],
    );
    world
        .descent(&["run"])
        .expect(65)
        .says("error[E-VERSION]")
        .says("/version: the file has version 3.7");
    let editor = world.program("editor", "#!/bin/sh\nsed -i 's/echo one/echo 1/' \"$1\"\n");
    let mut command = world.command(&["edit"]);
    command.env("EDITOR", editor);
    Running::of(command).wait().expect(0);
    let text = world.state_text();
    for kept in
        ["echo 1 >one", "\"version\": \"3.7\"", "\"type\": \"hunch\"", "\"m\": 1e3", "\"x\": 1.50"]
    {
        assert!(text.contains(kept), "no `{kept}` in:\n{text}");
    }
}

#[test]
fn where_something_hangs_on_it_the_run_refuses_and_all_else_works() {
    for (from, to, place) in [
        ("\"command\": \"test -e one\"", "\"weather\": \"sunny\"", "/objective/base_case/all/0"),
        (
            "\"max_attempts\": 2",
            "\"max_attempts\": 2, \"workspace\": \"cloud\"",
            "/objective/constraints/workspace",
        ),
        ("\"A1\": {", "\"A1\": {\"kind\": \"oracle\", ", "/work_graph/atoms/A1/kind"),
        ("\"A1\": {", "\"A1\": {\"status\": \"dreaming\", ", "/work_graph/atoms/A1/status"),
        ("\"status\": \"aligned\"", "\"status\": \"dreaming\"", "/run/status"),
        ("\"A1\": {", "\"A1\": {\"effect\": \"quantum\", ", "/work_graph/atoms/A1/effect"),
    ] {
        let world = aligned();
        newer(&world, &[(from, to)]);
        let before = world.state_bytes();
        world.descent(&["run"]).expect(65).says("error[E-VERSION]").says("3.7").says(place);
        world.descent(&["verify"]).expect(65).says("E-VERSION");
        world.descent(&["status"]).expect(0).says(place);
        for command in ["why", "log", "graph", "stop"] {
            world.descent(&[command]).expect(0);
        }
        assert_eq!(world.state_bytes(), before, "{place}");
    }
}

#[test]
fn a_running_loop_waits_where_an_edit_says_what_only_a_newer_version_knows() {
    let world = World::new();
    let go = world.out("go").display().to_string();
    let first =
        format!("touch {}; until [ -e {go} ]; do sleep 0.02; done", world.out("at").display());
    let atoms = json!({"A1": task(&first), "A2": crate::world::after(&["A1"], "echo two >two")});
    world.align(&plan(&["test -e two"], json!({"max_attempts": 2}), atoms));
    let mut run: Running = world.start(&["run"]);
    world.wait_for_file("at");
    newer(&world, &[("\"max_attempts\": 2", "\"max_attempts\": 2, \"on_stuck\": \"pray\"")]);
    wait_for_or("the wait", || run.said().contains("newer descent knows"), || run.said());
    let text = world.state_text().replace(", \"on_stuck\": \"pray\"", "");
    let text = text.replace("\"version\": \"3.7\"", "\"version\": \"3.0\"");
    world.save(&text);
    wait_for_or("the end of it", || run.said().contains("whole again"), || run.said());
    world.touch("go");
    run.wait().expect(0);
}

#[test]
fn a_newer_major_version_is_neither_shown_nor_written() {
    let world = aligned();
    let text = world.state_text().replacen("\"version\": \"3.0\"", "\"version\": \"4.1\"", 1);
    world.save(&text);
    world.descent(&["validate"]).expect(65).says("4.1");
    for args in [
        &["run"][..],
        &["status"],
        &["verify"],
        &["confirm", "x"],
        &["edit"],
        &["apply"],
        &["align", "-y", "x", "--why", "x", "--check", "false", "--step", "a=true", "--force"],
        &["migrate", ".descent/state.json"],
    ] {
        let ran = world.descent(args).expect(65);
        assert!(
            ran.stderr.contains("E-VERSION") && ran.stderr.contains("4.1"),
            "{args:?}: {}",
            ran.stderr
        );
    }
    world.descent(&["stop"]).expect(0);
    assert_eq!(world.state_text(), text);
}
