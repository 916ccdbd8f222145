//! Broken files, and a machine that lacks something: each a typed error with its code, nothing lost, nothing half-made.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::json;

use crate::world::{Ran, Running, World, listing, long_nap, plan, processes, task, wait_for, with};

const CODES: &[i32] = &[0, 1, 2, 3, 4, 5, 6, 65, 69, 70, 74, 75, 77, 78];

fn fixtures() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/invalid")
}

/// One fault of the table: rule, line:column, pointer.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Expected {
    rule: String,
    place: String,
    pointer: String,
}

fn table() -> BTreeMap<String, Vec<Expected>> {
    let text = fs::read_to_string(fixtures().join("expected.txt")).unwrap();
    let mut table: BTreeMap<String, Vec<Expected>> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (file, rest) = line.strip_prefix("shell ").unwrap_or(line).split_once(": ").unwrap();
        let mut words = rest.splitn(3, ' ').map(str::to_owned);
        let mut word = || words.next().unwrap_or_default();
        table.entry(file.to_owned()).or_default().push(Expected { rule: word(), place: word(), pointer: word() });
    }
    table
}

fn is_of_the_gate(faults: &[Expected]) -> bool {
    faults.iter().all(|fault| fault.rule == "not-aligned")
}

/// A repository with a state file of these bytes.
fn world_with(bytes: &[u8]) -> World {
    let world = World::new();
    fs::create_dir(world.repo().join(".descent")).unwrap();
    fs::write(world.repo().join(".descent/.gitignore"), "*\n").unwrap();
    fs::write(world.state_path(), bytes).unwrap();
    world
}

/// Each broken file, in one world, one after the other.
fn each_fixture(mut look: impl FnMut(&World, &str, &[u8], &[Expected])) {
    let world = world_with(b"{}");
    for (name, faults) in table() {
        let bytes = fs::read(fixtures().join(&name)).unwrap();
        fs::write(world.state_path(), &bytes).unwrap();
        look(&world, &name, &bytes, &faults);
    }
}

fn a_plan(world: &World) -> String {
    world.plan(&plan(&["test -f done"], json!({}), json!({"A1": task("touch done")})))
}

#[track_caller]
fn check_untouched(world: &World, name: &str, args: &[&str], bytes: &[u8]) -> Ran {
    let ran = world.descent(args);
    assert!(ran.code.is_some_and(|code| CODES.contains(&code) && code != 70), "{name} {args:?}: {ran:?}");
    assert!(world.state_bytes() == bytes, "{name}: {args:?} changed the file");
    if args.contains(&"--json") && !ran.stdout.is_empty() {
        assert!(ran.json()["schema"].is_string(), "{name} {args:?}: {}", ran.stdout);
    }
    ran
}

/// No command changes a broken file, each ends with a code of the contract and says where the fault is.
fn check_commands(args: &[&str]) {
    each_fixture(|world, name, bytes, faults| {
        let path = a_plan(world);
        let args: Vec<&str> = args.iter().map(|arg| if *arg == "PLAN" { path.as_str() } else { arg }).collect();
        let ran = check_untouched(world, name, &args, bytes);
        let json = check_untouched(world, name, &[&args[..], &["--json"]].concat(), bytes);
        assert_eq!(ran.code, json.code, "{name} {args:?}");
        if is_of_the_gate(faults) {
            let expected = if ["run", "verify"].contains(&args[0]) { 4 } else { ran.code.unwrap() };
            assert_eq!(ran.code, Some(expected), "{name} {args:?}: {}", ran.stderr);
            return;
        }
        assert_eq!(ran.code, Some(65), "{name} {args:?}: {}", ran.stderr);
        if ["newer-version", "empty-file"].contains(&faults[0].rule.as_str()) {
            return;
        }
        for fault in faults.iter().filter(|fault| fault.rule != "not-aligned") {
            let place = format!("state.json:{}: ", fault.place);
            assert!(ran.stderr.contains(&place), "{name} {args:?}: no {place} in {}", ran.stderr);
            assert!(json.stdout.contains(&place), "{name} {args:?}: no {place} in {}", json.stdout);
        }
    });
}

#[test]
fn run_leaves_every_broken_file_as_it_is_and_says_where_it_is_broken() {
    check_commands(&["run"]);
}

#[test]
fn status_leaves_every_broken_file_as_it_is_and_says_where_it_is_broken() {
    check_commands(&["status"]);
}

#[test]
fn align_leaves_every_broken_file_as_it_is_and_says_where_it_is_broken() {
    check_commands(&["align", "-f", "PLAN"]);
}

#[test]
fn apply_leaves_every_broken_file_as_it_is_and_says_where_it_is_broken() {
    check_commands(&["apply"]);
}

#[test]
fn verify_leaves_every_broken_file_as_it_is_and_says_where_it_is_broken() {
    check_commands(&["verify"]);
}

#[test]
fn why_leaves_every_broken_file_as_it_is_and_says_where_it_is_broken() {
    check_commands(&["why", "A1"]);
}

#[test]
fn stop_leaves_every_broken_file_as_it_is() {
    each_fixture(|world, name, bytes, _| {
        check_untouched(world, name, &["stop"], bytes).expect(0);
        check_untouched(world, name, &["stop", "--json"], bytes).expect(0);
    });
}

#[test]
fn force_does_not_write_over_a_file_that_cannot_be_read() {
    each_fixture(|world, name, bytes, faults| {
        if !is_of_the_gate(faults) {
            check_untouched(world, name, &["align", "--force", "-y", "-f", &a_plan(world)], bytes).expect(65);
        }
    });
}

#[test]
fn force_replaces_what_can_be_read_and_archives_it() {
    let old = fs::read(fixtures().join("not-aligned.json")).unwrap();
    let world = world_with(&old);
    world.descent(&["align", "--force", "-y", "-f", &a_plan(&world)]).expect(0);
    assert_eq!(world.state()["objective"]["goal"], "it is so");
    let kept = listing(&world.repo().join(".descent"));
    assert!(kept.values().any(|bytes| *bytes == old), "{:?}", kept.keys());
}

#[test]
fn validate_names_every_fault_of_every_broken_file_in_one_pass() {
    each_fixture(|world, name, bytes, faults| {
        let ran = check_untouched(world, name, &["validate"], bytes).expect(65);
        for fault in faults {
            let pointer = if fault.pointer.is_empty() { "/" } else { &fault.pointer };
            let line = format!("state.json:{}: {pointer}: ", fault.place);
            assert!(ran.stderr.contains(&line), "{name}: no `{line}` in {}", ran.stderr);
        }
        let json = check_untouched(world, name, &["validate", "--json"], bytes).expect(65).json();
        let text = |fault: &serde_json::Value, key: &str| fault[key].as_str().unwrap_or_default().to_owned();
        let found = json["faults"].as_array().unwrap().iter().map(|fault| Expected {
            rule: text(fault, "rule"),
            place: format!("{}:{}", fault["line"], fault["column"]),
            pointer: text(fault, "pointer"),
        });
        let (mut found, mut wanted) = (found.collect::<Vec<_>>(), faults.iter().collect::<Vec<_>>());
        (found.sort(), wanted.sort());
        assert_eq!(found.iter().collect::<Vec<_>>(), wanted, "{name}");
    });
}

#[test]
fn a_valid_state_and_a_valid_plan_are_told_to_be_so() {
    let world = World::new();
    let plan = a_plan(&world);
    world.descent(&["validate", &plan]).expect(0).shows("is valid");
    world.descent(&["align", "-y", "-f", &plan]).expect(0);
    world.descent(&["validate"]).expect(0).shows("is valid");
    assert_eq!(world.descent(&["validate", "--json"]).expect(0).json()["valid"], true);
}

#[test]
fn a_state_that_is_a_directory_is_refused_and_stays() {
    let world = World::new();
    fs::create_dir_all(world.state_path()).unwrap();
    for args in [&["run"][..], &["status"], &["validate"], &["apply"], &["align", "--force", "-y", "-f", &a_plan(&world)]] {
        world.descent(args).expect(65).says("E-STATE-DIRECTORY");
        assert!(world.state_path().is_dir(), "{args:?}");
    }
}

#[test]
fn a_state_that_cannot_be_read_is_an_error_of_io_and_stays() {
    let world = World::new();
    fs::create_dir_all(world.repo().join(".descent")).unwrap();
    // A link to itself: no user may read it, root neither.
    std::os::unix::fs::symlink("state.json", world.state_path()).unwrap();
    for args in [&["run"][..], &["status"], &["validate"], &["align", "--force", "-y", "-f", &a_plan(&world)]] {
        let ran = world.descent(args).expect(74);
        assert!(ran.stderr.contains("state.json"), "{args:?}: {}", ran.stderr);
        assert!(world.state_path().is_symlink(), "{args:?}");
    }
}

#[test]
fn a_state_of_a_newer_major_is_only_read() {
    let bytes = fs::read(fixtures().join("newer-version.json")).unwrap();
    let world = world_with(&bytes);
    check_untouched(&world, "newer", &["run"], &bytes).expect(65).says("E-STATE-NEWER").says("newer descent");
}

#[test]
fn an_empty_state_is_told_to_be_empty_and_stays_so() {
    let world = world_with(b"");
    check_untouched(&world, "empty", &["run"], b"").expect(65).says("E-STATE-EMPTY");
}

#[test]
fn a_repository_without_commits_is_refused_with_the_command_that_mends_it() {
    let world = World::without_commits();
    let before = listing(&world.repo());
    world.try_align(&plan(&["true"], json!({}), json!({"A1": task("true")}))).expect(69).says("git commit");
    assert_eq!(listing(&world.repo()), before);
}

#[test]
fn outside_of_a_repository_it_is_said_what_to_do_and_nothing_is_made() {
    let world = World::bare();
    let plan = a_plan(&world);
    let before = listing(&world.root());
    let ran = world.descent(&["align", "-y", "-f", &plan]).expect(69);
    assert!(ran.stderr.contains("git init"), "{}", ran.stderr);
    assert_eq!(listing(&world.root()), before);
}

/// Aligned, but with another PATH when it runs.
fn run_with_path(path: &str) -> (World, Ran) {
    let world = World::new();
    world.descent(&["align", "-y", "-f", &a_plan(&world)]).expect(0);
    let before = world.state_bytes();
    let mut command = world.command(&["run"]);
    command.env("PATH", path.replace("OWN", &world.root().join("bin").display().to_string()));
    world.program("old/git".trim_start_matches("old/"), "#!/bin/sh\necho git version 2.1.4\n");
    let ran = Running::of(command).wait();
    assert_eq!(world.state_bytes(), before);
    (world, ran)
}

#[test]
fn without_git_the_run_is_unavailable_and_says_so() {
    let (_, ran) = run_with_path("/nowhere");
    ran.expect(69).says("git");
}

#[test]
fn with_a_git_that_is_too_old_the_version_needed_is_named() {
    let (_, ran) = run_with_path("OWN:/usr/bin:/bin");
    ran.expect(69).says("2.1.4");
}

#[test]
fn a_worker_that_is_not_installed_is_said_before_the_first_attempt() {
    let world = World::new();
    world.write("descent.toml", "worker = {run = \"no-such-agent -p\"}\n");
    let mut by_worker = task("");
    by_worker.as_object_mut().unwrap().remove("action");
    world.align(&plan(&["test -f done"], json!({}), json!({"A1": by_worker})));
    let before = world.state_bytes();
    world.descent(&["run"]).expect(69).says("E-WORKER-MISSING").says("no-such-agent");
    assert_eq!(world.state_bytes(), before);
}

#[test]
fn without_a_worker_for_a_task_the_run_is_refused_with_what_to_write() {
    let world = World::new();
    let mut by_worker = task("");
    by_worker.as_object_mut().unwrap().remove("action");
    world.align(&plan(&["test -f done"], json!({}), json!({"A1": by_worker})));
    world.descent(&["run"]).expect(78).says("descent.toml");
}

#[test]
fn a_mistake_in_the_configuration_is_named_with_its_place() {
    let world = World::new();
    world.write("descent.toml", "worker = {runn = \"x\"}\n");
    world.descent(&["align", "-y", "-f", &a_plan(&world)]);
    world.descent(&["run"]).expect(78).says("descent.toml:1:11").says("did you mean `run`?");
}

/// Root may write where a mode forbids it, but not through a directory that is a file.
#[test]
fn a_place_that_cannot_be_written_is_an_error_of_io_and_nothing_is_half_made() {
    let world = World::new();
    world.write(".descent", "a file in the way\n");
    let before = listing(&world.repo());
    world.descent(&["align", "-y", "-f", &a_plan(&world)]).expect(74).says("next: ");
    assert_eq!(listing(&world.repo()), before);
    assert!(world.git(&["for-each-ref", "refs/descent"]).is_empty());
}

#[test]
fn a_cache_that_cannot_be_made_is_an_error_with_its_path() {
    let world = World::new();
    fs::remove_dir(world.cache()).unwrap();
    fs::write(world.cache(), "").unwrap();
    let ran = world.descent(&["align", "-y", "-f", &a_plan(&world)]);
    assert!(ran.code == Some(74) && ran.stderr.contains("cache"), "{ran:?}");
    assert!(!world.repo().join(".descent").exists());
}

#[test]
fn a_command_that_never_ends_is_ended_by_its_timeout_and_counts_as_environmental() {
    let world = World::new();
    let nap = long_nap();
    let sleeper = with(task(&format!("sleep {nap}")), json!({"timeout": "150ms"}));
    world.align(&plan(&["test -f done"], json!({}), json!({"A1": sleeper})));
    let result = world.run().expect(5).result();
    assert_eq!(result["failed"][0]["class"], "environmental", "{result}");
    assert_eq!(processes(&nap), Vec::<String>::new());
}

#[test]
fn a_check_that_never_ends_is_ended_by_its_timeout() {
    let world = World::new();
    let nap = long_nap();
    let mut plan = plan(&["test -f done"], json!({"max_transient": 0}), json!({"A1": task("touch done")}));
    let endless = json!({"command": format!("test -f done && sleep {nap}"), "timeout": "150ms"});
    plan["objective"]["base_case"]["all"].as_array_mut().unwrap().push(endless);
    world.align(&plan);
    let result = world.run().expect(5).result();
    assert!(result["evidence"].to_string().contains("unknown"), "{result}");
    assert_eq!(processes(&nap), Vec::<String>::new());
}

#[test]
fn a_command_that_floods_its_output_is_capped_everywhere() {
    let world = World::new();
    let flood = task("yes flooding | head -c 30000000; echo the last words; exit 3");
    world.align(&plan(&["test -f done"], json!({}), json!({"A1": flood})));
    let result = world.run().expect(5).result();
    assert!(result["failed"][0]["reason"].as_str().unwrap().contains("the last words"), "{result}");
    assert!(world.state_bytes().len() < 64_000, "{}", world.state_bytes().len());
    let whole: usize = listing(&world.repo().join(".descent")).values().map(Vec::len).sum();
    assert!(whole < 8_000_000, "{whole} bytes beside the state");
}

#[test]
fn a_daemon_that_an_attempt_leaves_behind_is_gone_when_the_attempt_is() {
    let world = World::new();
    let nap = long_nap();
    let daemon = format!("setsid sh -c 'sleep {nap}' >/dev/null 2>&1 & touch done");
    let gone = format!("! grep -qs {nap} /proc/[0-9]*/cmdline");
    world.align(&plan(&["test -f done"], json!({}), json!({"A1": task(&daemon)})));
    let _ = gone;
    world.run().expect(0);
    assert_eq!(processes(&nap), Vec::<String>::new());
}

#[test]
fn an_attempt_reads_an_empty_standard_input() {
    let world = World::new();
    world.align(&plan(&["test -f done"], json!({}), json!({"A1": task("cat > got && test ! -s got && touch done")})));
    let mut command = world.command(&["run"]);
    command.stdin(std::process::Stdio::piped());
    Running::of(command).wait().expect(0);
}

#[test]
fn a_state_file_that_vanishes_during_a_run_ends_it_and_its_last_bytes_are_saved() {
    let world = World::new();
    let nap = long_nap();
    let at = world.out("at").display().to_string();
    world.align(&plan(&["test -f done"], json!({}), json!({"A1": task(&format!("touch {at}; sleep {nap}"))})));
    let mut run = world.start(&["run"]);
    world.wait_for_file("at");
    let bytes = world.state_bytes();
    fs::remove_file(world.state_path()).unwrap();
    let ran = run.wait().expect(74).says("E-STATE-VANISHED");
    wait_for("no process left", || processes(&nap).is_empty());
    let command = ran.stderr.lines().find_map(|line| line.strip_prefix("next: put it back: ")).unwrap();
    assert!(std::process::Command::new("sh").args(["-c", command]).status().unwrap().success());
    assert_eq!(world.state_bytes(), bytes);
}
