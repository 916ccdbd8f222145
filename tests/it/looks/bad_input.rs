//! Broken places, and a machine that lacks something: each a typed error with its code, nothing lost, nothing half-made.

use std::fs;

use serde_json::json;

use crate::{
    edits::broken::{a_plan, check_untouched, fixtures, world_with},
    world::{
        Ran, Running, World, assert_same, listing, long_nap, plan, processes, task, wait_for, with,
    },
};

#[test]
fn a_state_that_is_a_directory_is_refused_and_stays() {
    let world = World::new();
    fs::create_dir_all(world.state_path()).unwrap();
    for args in [
        &["run"][..],
        &["status"],
        &["validate"],
        &["apply"],
        &["align", "--force", "-y", "-f", &a_plan(&world)],
    ] {
        world.descent(args).expect(65).says("E-STATE-INVALID");
        assert!(world.state_path().is_dir(), "{args:?}");
    }
}

#[test]
fn a_pipe_in_the_place_of_the_state_is_not_waited_for() {
    let world = World::new();
    fs::create_dir_all(world.repo().join(".descent")).unwrap();
    pipe_at(&world.state_path());
    world.descent(&["validate"]).expect(74).says("is a named pipe");
}

#[test]
fn a_pipe_a_device_or_a_directory_in_the_place_of_the_configuration_is_named_and_a_link_is_followed()
 {
    let world = World::new();
    world.align(&plan(&["true"], json!({}), json!({"A1": task("true")})));
    let path = world.repo().join("descent.toml");
    let device = || std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
    for (make, words) in [
        (&(|| pipe_at(&path)) as &dyn Fn(), "is a named pipe"),
        (&device, "is a device"),
        (&|| fs::create_dir(&path).unwrap(), "is a directory"),
    ] {
        make();
        for command in ["run", "doctor", "trust"] {
            let ran = world.descent(&[command]);
            let told = ran.stdout.contains(words) || ran.stderr.contains(words);
            assert!(told, "{command}: {ran:?}");
        }
        fs::remove_file(&path).or_else(|_| fs::remove_dir(&path)).unwrap();
    }
    fs::write(
        world.root().join("real"),
        "agents.worker.run = \"true\"\nroles.worker = \"worker\"\n",
    )
    .unwrap();
    std::os::unix::fs::symlink(world.root().join("real"), &path).unwrap();
    world.descent(&["trust"]).expect(0);
}

fn pipe_at(path: &std::path::Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status();
    assert!(made.unwrap().success());
}

#[test]
fn a_state_that_cannot_be_read_is_an_error_of_io_and_stays() {
    let world = World::new();
    fs::create_dir_all(world.repo().join(".descent")).unwrap();
    // A link to itself: no user may read it, root neither.
    std::os::unix::fs::symlink("state.json", world.state_path()).unwrap();
    for args in [
        &["run"][..],
        &["status"],
        &["validate"],
        &["align", "--force", "-y", "-f", &a_plan(&world)],
    ] {
        let ran = world.descent(args).expect(74);
        assert!(ran.stderr.contains("state.json"), "{args:?}: {}", ran.stderr);
        assert!(world.state_path().is_symlink(), "{args:?}");
    }
}

#[test]
fn a_state_of_a_newer_major_is_only_read() {
    let bytes = fs::read(fixtures().join("newer-version.json")).unwrap();
    let world = world_with(&bytes);
    check_untouched(&world, "newer", &["run"], &bytes)
        .expect(65)
        .says("E-VERSION")
        .says("newer descent");
}

#[test]
fn an_empty_state_is_told_to_be_empty_and_stays_so() {
    let world = world_with(b"");
    check_untouched(&world, "empty", &["run"], b"").expect(65).says("E-STATE-INVALID");
}

#[test]
fn a_repository_without_commits_is_refused_with_the_command_that_mends_it() {
    let world = World::without_commits();
    let before = listing(&world.repo());
    world
        .try_align(&plan(&["true"], json!({}), json!({"A1": task("true")})))
        .expect(69)
        .says("commit --allow-empty -m start");
    assert_same(&world.repo(), &before);
}

#[test]
fn a_repository_that_was_asked_for_and_is_not_there_is_told_and_nothing_is_made() {
    let world = World::bare();
    let plan = a_plan(&world);
    let before = listing(&world.root());
    let asked = ["align", "-y", "-f", &plan, "--set", "workspace=git"];
    let ran = world.descent(&asked).expect(69);
    let ran = ran.says("git init").says("--set workspace=shadow");
    assert!(ran.stderr.contains("E-REPOSITORY"), "{}", ran.stderr);
    assert_same(&world.root(), &before);
}

/// Aligned, but with another PATH when it runs.
fn run_with_path(path: &str) -> (World, Ran) {
    let world = World::new();
    world.descent(&["align", "-y", "-f", &a_plan(&world)]).expect(0);
    let before = world.state_bytes();
    world.program("git", "#!/bin/sh\necho git version 2.1.4\n");
    let mut command = world.command(&["run"]);
    command.env("PATH", path.replace("OWN", &world.root().join("bin").display().to_string()));
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
    world.write(
        "descent.toml",
        "agents.worker.run = \"no-such-agent -p\"\nroles.worker = \"worker\"\n",
    );
    let mut by_worker = task("");
    by_worker.as_object_mut().unwrap().remove("action");
    world.align(&plan(&["test -f done"], json!({}), json!({"A1": by_worker})));
    let before = world.state_bytes();
    world.descent(&["run"]).expect(69).says("E-AGENT-MISSING").says("no-such-agent");
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
    let plan = a_plan(&world);
    let align = ["align", "-y", "-f", &plan];
    world.write("descent.toml", "agents.w = {runn = \"x\"}\n");
    world.descent(&align).expect(78).says("descent.toml:1:13").says("did you mean `run`?");
    world.write("descent.toml", "");
    world.descent(&align).expect(0);
    world.write("descent.toml", "agents.w = {runn = \"x\"}\n");
    world.descent(&["run"]).expect(78).says("descent.toml:1:13").says("did you mean `run`?");
}

/// Root may write where a mode forbids it, but not through a directory that is a file.
#[test]
fn a_place_that_cannot_be_written_is_an_error_of_io_and_nothing_is_half_made() {
    let world = World::new();
    world.write(".descent", "a file in the way\n");
    let before = listing(&world.repo());
    world.descent(&["align", "-y", "-f", &a_plan(&world)]).expect(74).says("next: ");
    assert_same(&world.repo(), &before);
    assert!(world.git(&["for-each-ref", "refs/descent"]).is_empty());
}

#[test]
fn a_cache_that_cannot_be_made_is_an_error_with_its_path() {
    let world = World::new();
    fs::remove_dir(world.cache()).unwrap();
    fs::write(world.cache(), "").unwrap();
    let ran = world.descent(&["align", "-y", "-f", &a_plan(&world)]);
    assert!(
        [69, 74].contains(&ran.code.unwrap())
            && ran.stderr.contains("E-CACHE")
            && ran.stderr.contains("cache"),
        "{ran:?}"
    );
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
    let mut plan =
        plan(&["test -f done"], json!({"max_transient": 0}), json!({"A1": task("touch done")}));
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
    let flood = task("yes flooding | head -c 90000000; echo the last words; exit 3");
    world.align(&plan(&["test -f done"], json!({}), json!({"A1": flood})));
    let result = world.run().expect(5).result();
    assert!(result["failed"][0]["reason"].as_str().unwrap().contains("the last words"), "{result}");
    assert!(world.state_bytes().len() < 64_000, "{}", world.state_bytes().len());
    let whole: usize = listing(&world.repo().join(".descent")).values().map(Vec::len).sum();
    assert!(whole < 80_000_000, "{whole} bytes beside the state");
}

#[test]
fn a_daemon_that_an_attempt_leaves_behind_is_gone_when_the_attempt_is() {
    let world = World::new();
    let nap = long_nap();
    let daemon = format!("setsid sh -c 'sleep {nap}' >/dev/null 2>&1 & touch done");
    world.align(&plan(&["test -f done"], json!({}), json!({"A1": task(&daemon)})));
    world.run().expect(0);
    assert_eq!(processes(&nap), Vec::<String>::new());
}

#[test]
fn an_attempt_reads_an_empty_standard_input() {
    let world = World::new();
    world.align(&plan(
        &["test -f done"],
        json!({}),
        json!({"A1": task("cat > got && test ! -s got && touch done")}),
    ));
    let mut command = world.command(&["run"]);
    command.stdin(std::process::Stdio::piped());
    Running::of(command).wait().expect(0);
}

#[test]
fn a_state_file_that_vanishes_during_a_run_ends_it_and_its_last_bytes_are_saved() {
    let world = World::new();
    let nap = long_nap();
    let at = world.out("at").display().to_string();
    world.align(&plan(
        &["test -f done"],
        json!({}),
        json!({"A1": task(&format!("touch {at}; sleep {nap}"))}),
    ));
    let mut run = world.start(&["run"]);
    world.wait_for_file("at");
    let bytes = world.state_bytes();
    fs::remove_file(world.state_path()).unwrap();
    let ran = run.wait().expect(74).says("E-STATE-PLACE");
    wait_for("no process left", || processes(&nap).is_empty());
    let command = ran.stderr.lines().find_map(|line| line.strip_prefix("next: ")).unwrap();
    assert!(std::process::Command::new("sh").args(["-c", command]).status().unwrap().success());
    assert_eq!(world.state_bytes(), bytes);
}
