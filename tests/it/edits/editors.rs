//! Real editors, and a loop that meets their files. Vim is open since before the start, the loop is killed while it
//! waits, or a system has no file events. Also the effect of an edit on attempts side by side.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::{
    passed_over::{can_trace, has},
    terminal::Terminal,
    world::{World, after, long_nap, plan, processes, task, wait_for, wait_for_or},
};

/// Waits for `name` outside of the project, having said that it came so far.
fn step(world: &World, name: &str, then: &str) -> String {
    let at = world.out(&format!("at-{name}")).display().to_string();
    let go = world.out(&format!("go-{name}")).display().to_string();
    format!("touch {at}; until [ -e {go} ]; do sleep 0.02; done; {then}")
}

/// Between two names of an editor there may be no whole file.
fn corrections(world: &World) -> Vec<Value> {
    let bytes = std::fs::read(world.state_path()).unwrap_or_default();
    let state = serde_json::from_slice::<Value>(&bytes).unwrap_or_default();
    state["corrections"].as_array().cloned().unwrap_or_default()
}

/// vim at a terminal, as a person starts it but for the person's own settings.
fn vim(world: &World) -> Terminal {
    let mut command = world.bare_command("vim");
    command.env("TERM", "xterm").args(["-u", "NONE", "-i", "NONE", "-N", "-n"]);
    command.arg(world.state_path());
    Terminal::of(command)
}

#[test]
fn with_vim_open_since_before_the_start_its_save_is_in_and_so_is_the_progress_of_the_loop() {
    if !has("vim", "vim") {
        return;
    }
    let world = World::new();
    let atoms = json!({
        "A1": task(&step(&world, "1", "echo one >> log")),
        "A2": after(&["A1"], &step(&world, "2", "echo two >> log")),
        "A3": after(&["A2"], "echo three >> log"),
    });
    world.align(&plan(&["grep -q three log"], json!({}), atoms));
    let mut vim = vim(&world);
    vim.sees("\"version\"");
    let mut run = world.start(&["run", "--json"]);
    world.wait_for_file("at-1");
    world.touch("go-1");
    world.wait_for_file("at-2");
    // The buffer is from before the first commit of the run.
    vim.types(":%s/run echo three >> log/words from vim/")
        .types(":w!")
        // The file changed since it was read; what is typed before the question is thrown away.
        .sees("(y/n)");
    vim.types("y");
    wait_for_or(
        "the correction",
        || !corrections(&world).is_empty(),
        || format!("{}\n{}", run.said(), vim.screen()),
    );
    let state = world.state();
    assert_eq!(state["work_graph"]["atoms"]["A3"]["description"], "words from vim");
    assert_eq!(state["bindings"]["A1"]["attempts"], 1, "{state:#}");
    assert_eq!(state["run"]["in_flight"][0]["atom"], "A2");
    let correction = corrections(&world)[0].clone();
    assert!(correction["description"].as_str().unwrap().contains("changed A3"), "{correction}");
    // The user goes on: what is in the file now, another change, a plain save.
    vim.types(":e!").types(":%s/words from vim/words from vim again/").types(":w");
    wait_for_or("the second correction", || corrections(&world).len() == 2, || run.said());
    world.touch("go-2");
    let ran = run.wait().expect(0);
    assert_eq!(ran.count("attempt_started"), 3);
    assert_eq!(ran.count("interrupted"), 0);
    assert_eq!(world.result_file("log"), "one\ntwo\nthree\n");
    assert_eq!(world.state()["bindings"]["A3"]["of"]["description"], "words from vim again");
    vim.types(":q!").ends();
}

#[test]
fn a_loop_that_is_killed_while_it_waits_for_the_file_loses_neither_its_progress_nor_the_edit() {
    let world = World::new();
    let atoms = json!({
        "A1": task("echo one >> log"),
        "A2": after(&["A1"], &step(&world, "2", "echo two >> log")),
        "A3": after(&["A2"], "echo three >> log"),
    });
    world.align(&plan(&["grep -q three log"], json!({}), atoms));
    let old = world.state_text();
    let mut run = world.start(&["run", "--json"]);
    world.wait_for_file("at-2");
    // A buffer from before the run, half written.
    let edited = old.replace("run echo three >> log", "mended words");
    world.save(&edited[..edited.len() / 2]);
    wait_for("it waits", || run.said().contains("waiting"));
    run.signal(Signal::KILL);
    run.wait();
    world.save(&edited);
    world.touch("go-2");
    let ran = world.run().expect(0);
    assert_eq!(world.result_file("log"), "one\ntwo\nthree\n");
    let state = world.state();
    assert_eq!(state["bindings"]["A3"]["of"]["description"], "mended words");
    let started = ran.lines();
    let again = |atom: &str| {
        let of = |line: &&Value| line["event"] == "attempt_started" && line["atom"] == atom;
        started.iter().filter(of).count()
    };
    assert_eq!(again("A1"), 0, "what was solved is not made again");
}

#[test]
fn where_the_system_gives_no_file_events_it_is_said_and_an_edit_is_noticed_all_the_same() {
    if !can_trace() {
        return;
    }
    let world = World::new();
    let atoms = json!({
        "A1": task(&step(&world, "1", "echo one >> log")),
        "A2": after(&["A1"], "echo two >> log"),
    });
    world.align(&plan(&["grep -q two log"], json!({}), atoms));
    let mut command = world.bare_command("strace");
    command
        .args(["-f", "--seccomp-bpf", "-qq", "-o", "/dev/null"])
        .args(["-e", "trace=inotify_init1", "-e", "inject=inotify_init1:error=EMFILE"])
        .arg(env!("CARGO_BIN_EXE_descent"))
        .args(["run", "--json"]);
    let mut run = crate::world::Running::of(command);
    world.wait_for_file("at-1");
    assert!(run.said().contains("no file events"), "{}", run.said());
    world.replace_in_state("run echo two >> log", "found by looking");
    wait_for_or("the correction", || !corrections(&world).is_empty(), || run.said());
    world.touch("go-1");
    run.wait().expect(0);
    assert_eq!(world.state()["bindings"]["A2"]["of"]["description"], "found by looking");
}

#[test]
fn of_two_attempts_side_by_side_an_edit_ends_the_one_that_it_touches() {
    let (world, nap) = (World::new(), long_nap());
    let at = world.out("at-2").display().to_string();
    let atoms = json!({
        "A1": task(&step(&world, "1", "echo one > one")),
        "A2": task(&format!("touch {at}; sleep {nap}")),
    });
    world.align(&plan(&["cat one two"], json!({"max_parallel_agents": 2}), atoms));
    let mut run = world.start(&["run", "--json"]);
    world.wait_for_file("at-1");
    world.wait_for_file("at-2");
    world.replace_in_state(&format!("sleep {nap}\""), "echo two > two\"");
    wait_for_or("the end of the old attempt", || processes(&nap).is_empty(), || run.said());
    world.touch("go-1");
    let ran = run.wait().expect(0);
    assert_eq!(ran.count("interrupted"), 1);
    assert_eq!(ran.count("attempt_started"), 3);
    let state = world.state();
    assert_eq!(state["bindings"]["A1"]["attempts"], 1);
    assert_eq!(state["bindings"]["A2"]["attempts"], 1);
}

#[test]
fn a_remark_in_the_loops_own_notebook_survives_the_next_run() {
    let world = World::new();
    world.align(&plan(&["test -f log"], json!({}), json!({"A1": task("echo one > log")})));
    world.run().expect(0);
    let text = world.state_text();
    let text =
        text.replacen("\"run\": {\"status\"", "\"run\": {\"notes\": \"keep\", \"status\"", 1);
    let text = text.replacen("\"spent\": {", "\"spent\": {\"notes\": \"less\", ", 1);
    assert!(text.contains("\"keep\"") && text.contains("\"less\""));
    world.save(&text);
    world.run().expect(0);
    let run = &world.state()["run"];
    assert_eq!(run["notes"], "keep", "{run}");
    assert_eq!(run["spent"]["notes"], "less", "{run}");
}

#[test]
fn a_raised_limit_opens_what_it_had_ended() {
    let world = World::new();
    let count = world.out("count").display().to_string();
    let atom = task(&format!("echo x >> {count}; [ $(wc -l < {count}) -gt 1 ] && touch done"));
    world.align(&plan(&["test -f done"], json!({"max_attempts": 1}), json!({"A1": atom})));
    world.run().expect(5);
    world.replace_in_state("\"max_attempts\": 1", "\"max_attempts\": 2");
    world.run().expect(0);
    assert_eq!(world.state()["corrections"][0]["type"], "constraint_change");
}

#[test]
fn a_changed_goal_clears_the_trail_and_opens_a_completed_run() {
    let world = World::new();
    world.align(&plan(
        &["test -f done"],
        json!({}),
        json!({"A1": task("touch done; echo more > more")}),
    ));
    world.run().expect(0);
    world.replace_in_state("\"command\": \"test -f done\"", "\"command\": \"grep -q more more\"");
    world.run().expect(0);
    let correction = world.state()["corrections"][0].clone();
    assert_eq!(
        (&correction["type"], &correction["trail_cleared"]),
        (&json!("objective_change"), &json!(true))
    );
}
