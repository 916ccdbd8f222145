//! `descent edit`: a person's editor on a copy, at a terminal; what is typed is taken in whole, or kept and told where.

use std::{fs, os::unix::process::ExitStatusExt, path::PathBuf, process::Stdio};

use serde_json::json;

use crate::{
    terminal::Terminal,
    world::{Running, World, after, plan, task},
};

fn aligned() -> World {
    let world = World::new();
    let atoms = json!({"A1": task("echo one >one"), "A2": after(&["A1"], "echo two >two")});
    world.align(&plan(&["test -e two"], json!({}), atoms));
    world
}

/// An editor that is a few lines of shell; `$1` is the file.
fn edit(world: &World, script: &str) -> Terminal {
    let editor = world.program("editor", &format!("#!/bin/sh\n{script}\n"));
    let mut command = world.command(&["edit"]);
    command.env("VISUAL", editor).env("EDITOR", "false");
    Terminal::of(command)
}

fn copies(world: &World) -> Vec<PathBuf> {
    let entries = fs::read_dir(world.repo().join(".descent/state.json.d")).unwrap().flatten();
    let paths = entries.map(|entry| entry.path());
    paths.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("edit-")).collect()
}

#[test]
fn what_is_typed_becomes_a_commit_with_its_correction() {
    let world = aligned();
    let mut it = edit(&world, "sed -i 's/run echo two >two/say two/' \"$1\"");
    it.sees("changed A2").sees("committed as serial 2").sees("next: descent run");
    assert_eq!(it.ends().code(), Some(0));
    let state = world.state();
    assert_eq!(state["work_graph"]["atoms"]["A2"]["description"], "say two");
    assert_eq!(state["corrections"][0]["type"], "dag_adjustment");
    assert_eq!(copies(&world), Vec::<PathBuf>::new());
    world.run().expect(0);
}

#[test]
fn a_text_that_was_not_changed_changes_nothing() {
    let world = aligned();
    let before = world.state_bytes();
    for script in ["true", "touch \"$1\"", "printf '\\n' >>\"$1\""] {
        let mut it = edit(&world, script);
        it.sees("unchanged");
        assert_eq!(it.ends().code(), Some(0), "{script}");
        assert_eq!(world.state_bytes(), before, "{script}");
    }
}

#[test]
fn faults_are_shown_with_their_places_and_the_text_can_be_mended_or_left() {
    let script = "if grep -q fialed \"$1\"; then sed -i s/fialed/failed/ \"$1\"; else sed -i 's/\"A2\": {/&\"status\": \"fialed\", /' \"$1\"; fi";
    let world = aligned();
    let mut it = edit(&world, script);
    it.sees("`fialed` is no known `status`").sees("^").sees("edit again (e)");
    it.types("what?").sees("edit again (e)").types("e").sees("committed");
    assert_eq!(it.ends().code(), Some(0));
    let world = aligned();
    let before = world.state_bytes();
    let mut it = edit(&world, "sed -i 's/\"A2\": {/&\"status\": \"fialed\", /' \"$1\"");
    it.sees("edit again (e)").types("x").sees("E-INVALID").sees("kept in");
    assert_eq!(it.ends().code(), Some(65));
    assert_eq!(world.state_bytes(), before);
    let [kept] = copies(&world).try_into().expect("one copy");
    assert!(fs::read_to_string(kept).unwrap().contains("fialed"));
    // Another one beside it.
    edit(&world, "true").sees("unchanged");
}

#[test]
fn an_editor_that_fails_or_is_killed_changes_nothing_and_loses_nothing() {
    for (script, words, kept) in [
        ("exit 3", "ended with 3", 0),
        ("sed -i s/so/well/ \"$1\"; exit 1", "kept in", 1),
        ("sed -i s/so/well/ \"$1\"; kill -9 $$", "killed by signal 9", 1),
    ] {
        let world = aligned();
        let before = world.state_bytes();
        let mut it = edit(&world, script);
        it.sees("E-EDITOR").sees(words);
        assert_eq!(it.ends().code(), Some(69), "{script}");
        assert_eq!(world.state_bytes(), before, "{script}");
        assert_eq!(copies(&world).len(), kept, "{script}");
    }
}

#[test]
fn an_interrupt_is_the_editors_and_a_termination_reaches_it() {
    let world = aligned();
    let (open, go) =
        (world.out("open").display().to_string(), world.out("go").display().to_string());
    let script = format!(
        "sed -i 's/run echo two >two/say two/' \"$1\"; touch {open}; until [ -e {go} ]; do sleep 0.02; done"
    );
    let mut it = edit(&world, &script);
    world.wait_for_file("open");
    it.interrupt();
    world.touch("go");
    it.sees("committed");
    assert_eq!(it.ends().code(), Some(0));
    let world = aligned();
    let before = world.state_bytes();
    let (open, told) =
        (world.out("open").display().to_string(), world.out("told").display().to_string());
    let script = format!(
        "trap 'touch {told}; exit 0' TERM; sed -i s/so/well/ \"$1\"; touch {open}; while :; do sleep 0.02; done"
    );
    let mut it = edit(&world, &script);
    world.wait_for_file("open");
    it.signal(rustix::process::Signal::TERM);
    world.wait_for_file("told");
    it.sees("kept in");
    assert_eq!(it.ends().signal(), Some(15));
    assert_eq!(world.state_bytes(), before);
}

#[test]
fn an_edit_beside_a_running_loop_is_merged_with_what_it_did_meanwhile() {
    let world = World::new();
    let wait =
        |name: &str| format!("until [ -e {} ]; do sleep 0.02; done", world.out(name).display());
    let atoms = json!({
        "A1": task(&wait("one")),
        "A2": after(&["A1"], &format!("touch {}; {}", world.out("second").display(), wait("two"))),
        "A3": after(&["A2"], "echo three >three"),
    });
    world.align(&plan(&["test -e three"], json!({}), atoms));
    let mut run = world.start(&["run", "--json"]);
    let script = format!(
        "touch {}; until [ -e {} ]; do sleep 0.02; done; sed -i 's/run echo three >three/say three/' \"$1\"",
        world.out("open").display(),
        world.out("second").display(),
    );
    let mut it = edit(&world, &script);
    world.wait_for_file("open");
    world.touch("one");
    it.sees("changed A3").sees("committed");
    assert_eq!(it.ends().code(), Some(0));
    world.touch("two");
    assert_eq!(run.wait().expect(0).result()["result"], "completed");
    let state = world.state();
    assert_eq!(state["bindings"]["A3"]["of"]["description"], "say three");
    assert_eq!(state["corrections"].as_array().unwrap().len(), 1);
}

#[test]
fn an_editor_that_is_a_script_needs_no_terminal_and_is_not_asked_again() {
    let world = aligned();
    let by = |script: &str| {
        let editor = world.program("editor", &format!("#!/bin/sh\n{script}\n"));
        let mut command = world.command(&["edit"]);
        command.env("EDITOR", editor);
        Running::of(command).wait()
    };
    by("sed -i 's/run echo two >two/say two/' \"$1\"").expect(0).shows("committed as serial 2");
    let before = world.state_bytes();
    by("sed -i 's/\"A2\": {/&\"status\": \"fialed\", /' \"$1\"")
        .expect(65)
        .says("`fialed` is no known `status`")
        .says("error[E-INVALID]");
    assert_eq!(world.state_bytes(), before);
    assert_eq!(copies(&world).len(), 1);
    by("sed -i 's/\"goal\": /\"gaol\": /' \"$1\"").expect(65).says("did you mean `goal`?");
    assert_eq!(world.state_bytes(), before);
    let failed = by("exit 3").expect(69).says("error[E-EDITOR]");
    failed.says("name one that needs no terminal");
    // It would read what a person types: in CI nobody does.
    let mut command = world.command(&["--no-input", "edit"]);
    command.env("EDITOR", "cat >/dev/null; true").stdin(Stdio::piped());
    Running::of(command).wait().expect(0).shows("unchanged");
}

#[test]
fn without_a_terminal_and_a_named_editor_it_names_the_file() {
    let world = aligned();
    let path = world.state_path().display().to_string();
    world.descent(&["edit"]).expect(69).says("error[E-EDITOR]").says(&path);
    assert_eq!(copies(&world), Vec::<PathBuf>::new());
}
