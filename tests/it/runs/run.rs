//! A run from its start to each of its endings, and what it says of itself on the way.

use serde_json::{Value, json};

use crate::world::{World, after, copy_program, plan, task, with};

/// Counts its attempts outside, and fails all but the last with `ending`.
fn fails_first(world: &World, times: u32, ending: &str, then: &str) -> Value {
    let tries = world.out("tries").display().to_string();
    let run = format!(
        "echo $DESCENT_ATTEMPT >> {tries}; [ $(wc -l < {tries}) -gt {times} ] || {{ {ending}; }}; {then}"
    );
    task(&run)
}

#[test]
fn a_chain_is_done_in_order_a_commit_an_atom_and_ends_completed() {
    let world = World::new();
    let atoms = json!({
        "A3": after(&["A2"], "echo three >> log"),
        "A1": task("echo one >> log"),
        "A2": after(&["A1"], "echo two >> log"),
    });
    world.align(&plan(&["grep -q three log"], json!({}), atoms));
    let result = world.run().expect(0).result();
    assert_eq!(result["reason"], "base_case");
    assert_eq!(world.result_file("log"), "one\ntwo\nthree\n");
    let state = world.state();
    let line: Vec<&str> = state["run"]["line"]
        .as_array()
        .unwrap()
        .iter()
        .map(|placed| placed["atom"].as_str().unwrap())
        .collect();
    assert_eq!(line, ["A1", "A2", "A3"]);
    let head = state["run"]["head"].as_str().unwrap();
    let start = state["run"]["started_from"]["commit"].as_str().unwrap();
    let log = world.ours(&[
        "log",
        "--format=%an %(trailers:key=Descent-Atom,valueonly,separator=)",
        &format!("{start}..{head}"),
    ]);
    assert_eq!(log, "Ada A3\nAda A2\nAda A1\n");
}

/// The first choice passes its own check and breaks the whole; the second does not run; the third is right.
fn misleading() -> Value {
    let own = json!({"all": [{"command": "test -f value"}]});
    let choice = |run: &str| with(task(run), json!({"checks": own}));
    json!({
        "A1": task("echo first > first"),
        "G": {"kind": "any", "choices": ["wrong", "broken", "right"], "depends_on": ["A1"]},
        "wrong": choice("echo wrong > value"),
        "broken": choice("exit 3"),
        "right": choice("echo right > value"),
        "Z": after(&["G"], "cp value copy"),
    })
}

const WHOLE: &[&str] = &["test -f first", "grep -q right copy"];

#[test]
fn a_choice_that_breaks_the_whole_is_taken_back_and_the_next_is_tried() {
    let world = World::new();
    world.align(&plan(WHOLE, json!({}), misleading()));
    let ran = world.run().expect(0);
    assert_eq!(ran.count("refuted"), 1);
    assert_eq!(ran.count("backtracked"), 2);
    let log = world.ours(&[
        "log",
        "--format=%(trailers:key=Descent-Atom,valueonly,separator=)",
        world.state()["run"]["head"].as_str().unwrap(),
    ]);
    assert_eq!(log, "Z\nright\nA1\n\n");
    assert_eq!(world.result_file("copy"), "right\n");
    let attempts = ran.lines().into_iter().filter(|line| line["event"] == "attempt_started");
    let atoms: Vec<String> =
        attempts.map(|line| line["atom"].as_str().unwrap().to_owned()).collect();
    assert_eq!(atoms, ["A1", "wrong", "Z", "broken", "right", "Z"]);
    let why = world.descent(&["why", "G"]).expect(0);
    assert!(why.stdout.contains("wrong") && why.stdout.contains("right"), "{}", why.stdout);
    let why = world.descent(&["why", "broken", "--json"]).expect(0).json();
    assert!(why["trail"].to_string().contains("exit 3"), "{why}");
}

#[test]
fn without_the_right_choice_it_ends_exhausted_with_what_was_tried_and_next_moves() {
    let world = World::new();
    let mut atoms = misleading();
    atoms["G"]["choices"] = json!(["wrong", "broken"]);
    atoms.as_object_mut().unwrap().remove("right");
    world.align(&plan(WHOLE, json!({}), atoms));
    let ran = world.run().expect(5);
    let result = ran.result();
    assert_eq!((&result["result"], &result["reason"]), (&json!("exhausted"), &json!("no_choice")));
    let failed = result["failed"].to_string();
    assert!(
        failed.contains("broken")
            && failed.contains("exit 3")
            && failed.contains("grep -q right copy"),
        "{failed}"
    );
    assert!(!result["next_moves"].as_array().unwrap().is_empty());
    let again = world.run().expect(5);
    assert_eq!(again.count("attempt_started"), 0);
    assert_eq!(world.descent(&["status", "--exit-code"]).code, Some(5));
}

#[test]
fn a_failed_attempt_is_made_again_up_to_the_limit() {
    let world = World::new();
    let atom = fails_first(&world, 1, "exit 1", "touch done");
    world.align(&plan(&["test -f done"], json!({"max_attempts": 2}), json!({"A1": atom})));
    world.run().expect(0);
    assert_eq!(world.left("tries"), "1\n2\n");
    assert_eq!(world.state()["bindings"]["A1"]["attempts"], 2);
    let why = world.descent(&["why", "A1"]).expect(0);
    assert!(why.stdout.contains("exit 1"), "{}", why.stdout);
}

#[test]
fn an_atom_whose_own_check_fails_has_failed_whatever_it_says() {
    let world = World::new();
    let atom =
        with(task("touch almost"), json!({"checks": {"all": [{"command": "test -f really"}]}}));
    world.align(&plan(&["test -f done"], json!({}), json!({"A1": atom})));
    let result = world.run().expect(5).result();
    assert!(result["failed"][0]["reason"].as_str().unwrap().contains("test -f really"), "{result}");
    assert_eq!(result["failed"][0]["class"], "logical");
    assert_eq!(world.file()["internal"]["run"].get("line"), None);
}

#[test]
fn a_transient_error_is_tried_again_after_a_while_below_the_same_attempt() {
    let world = World::new();
    let atom = fails_first(&world, 1, "exit 75", "touch done");
    world.align(&plan(&["test -f done"], json!({}), json!({"A1": atom})));
    let ran = world.run().expect(0);
    assert_eq!(world.left("tries"), "1\n1\n");
    let waits: Vec<u64> = ran
        .lines()
        .iter()
        .filter(|line| line["event"] == "transient")
        .map(|line| line["wait_ms"].as_u64().unwrap())
        .collect();
    assert!(matches!(waits[..], [250..=750]), "{waits:?}");
    assert_eq!(ran.result()["spent"]["attempts"], 1);
}

#[test]
fn a_tool_that_tells_of_the_network_is_tried_again_and_fails_by_its_surroundings() {
    let world = World::new();
    let atom = task("git ls-remote http://127.0.0.1:1/none && touch done");
    world.align(&plan(&["test -f done"], json!({"max_transient": 1}), json!({"A1": atom})));
    let ran = world.run().expect(5);
    assert_eq!(ran.count("transient"), 1);
    let failed = &ran.result()["failed"][0];
    assert_eq!(failed["class"], "environmental", "{failed}");
    assert!(failed["reason"].as_str().unwrap().starts_with("still transient"), "{failed}");
}

#[test]
fn a_plan_names_ends_that_may_pass() {
    for (first, transient, of) in [
        ("exit 28", json!({"exit": [27, 28]}), None),
        ("echo Slow down; exit 1", json!({"output": "(?i)slow"}), None),
        ("exit 9", json!({"exit": 28}), Some("a list")),
        ("exit 9", json!({"exit": [0]}), Some("from 1 to 255")),
        ("exit 9", json!({"output": "("}), Some("not a regular expression")),
    ] {
        let world = World::new();
        let mut atom = fails_first(&world, 1, first, "touch done");
        atom["action"]["transient"] = transient;
        let plan = plan(&["test -f done"], json!({"max_attempts": 1}), json!({"A1": atom}));
        if let Some(fault) = of {
            world.write("p.json", &plan.to_string());
            world.descent(&["validate", "p.json"]).expect(65).says(fault);
            continue;
        }
        world.align(&plan);
        let ran = world.run().expect(0);
        assert_eq!((ran.count("transient"), ran.count("attempt_failed")), (1, 0), "{first}");
        assert_eq!(ran.result()["spent"]["attempts"], 1, "{first}");
    }
}

#[test]
fn a_shell_worker_names_ends_that_may_pass() {
    let world = World::new();
    let tries = world.out("tries").display().to_string();
    let run = format!("echo x >> {tries}; [ $(wc -l < {tries}) -gt 1 ] || exit 9; touch done");
    let config =
        format!("[agents.w]\nrun = '{run}'\ntransient = {{exit = [9]}}\n[roles]\nworker = \"w\"\n");
    world.write("descent.toml", &config);
    let atoms = json!({"A1": {"kind": "task", "description": "make it"}});
    world.align(&plan(&["test -f done"], json!({"max_attempts": 1}), atoms));
    assert_eq!(world.run().expect(0).count("transient"), 1);
}

#[test]
fn transient_errors_have_a_limit_and_are_environmental_beyond_it() {
    let world = World::new();
    let atom = fails_first(&world, 9, "exit 75", "touch done");
    world.align(&plan(&["test -f done"], json!({"max_transient": 1}), json!({"A1": atom})));
    let ran = world.run().expect(5);
    assert_eq!(ran.count("transient"), 1);
    assert_eq!(ran.result()["failed"][0]["class"], "environmental");
    assert_eq!(world.left("tries"), "1\n1\n");
}

#[track_caller]
fn check_class(command: &str, class: &str, reason: &str) {
    let world = World::new();
    world.align(&plan(
        &["test -f done"],
        json!({}),
        json!({"A1": with(task(command), json!({"timeout": "300ms"}))}),
    ));
    let result = world.run().expect(5).result();
    let failed = &result["failed"][0];
    assert_eq!(failed["class"], class, "{command}: {failed}");
    assert!(failed["reason"].as_str().unwrap().contains(reason), "{command}: {failed}");
}

#[test]
fn an_exit_code_is_a_logical_failure() {
    check_class("exit 1", "logical", "exit 1");
}

#[test]
fn a_command_that_is_not_there_is_an_environmental_failure() {
    check_class("no-such-command-here", "environmental", "127");
}

#[test]
fn a_timeout_is_an_environmental_failure() {
    check_class("sleep 600", "environmental", "tim");
}

#[test]
fn a_signal_is_an_environmental_failure() {
    check_class("kill -9 $$", "environmental", "signal");
}

#[test]
fn a_second_run_on_completed_verifies_and_starts_nothing() {
    let world = World::new();
    world.align(&plan(&["test -f done"], json!({}), json!({"A1": task("touch done")})));
    world.run().expect(0);
    let again = world.run().expect(0);
    assert_eq!(again.count("attempt_started"), 0);
    assert_eq!(world.state()["bindings"]["A1"]["attempts"], 1);
}

#[test]
fn logical_failures_stay_and_environmental_ones_are_tried_again_by_the_next_run() {
    let world = World::new();
    let there = world.out("tool");
    let command = format!("{} && touch done", there.display());
    world.align(&plan(&["test -f done"], json!({}), json!({"A1": task(&command)})));
    world.run().expect(5);
    copy_program("/bin/true", &there);
    let again = world.run().expect(0);
    assert_eq!(again.count("attempt_started"), 1);
}

#[test]
fn stuck_with_somebody_to_ask_it_needs_guidance() {
    let world = World::new();
    world.align(&plan(
        &["test -f done"],
        json!({"on_stuck": "ask"}),
        json!({"A1": task("exit 1")}),
    ));
    let result = world.run().expect(6).result();
    assert_eq!(result["result"], "needs_guidance");
    assert!(!result["next_moves"].as_array().unwrap().is_empty());
}

#[test]
fn an_assertion_waits_for_a_person_once_all_else_holds() {
    let world = World::new();
    let mut plan = plan(&["test -f done"], json!({}), json!({"A1": task("touch done")}));
    plan["objective"]["base_case"]["all"]
        .as_array_mut()
        .unwrap()
        .push(json!({"assertion": "the page looks right"}));
    world.align(&plan);
    let result = world.run().expect(6).result();
    assert_eq!(
        (&result["result"], &result["reason"]),
        (&json!("needs_guidance"), &json!("confirmation"))
    );
    assert_eq!(world.state()["bindings"]["A1"]["attempts"], 1);
}

#[test]
fn a_limit_of_iterations_ends_it_exhausted_and_a_raised_one_goes_on() {
    let world = World::new();
    let atoms = json!({"A1": task("touch one"), "A2": after(&["A1"], "touch done")});
    world.align(&plan(&["test -f done"], json!({"budget": {"iterations": 1}}), atoms));
    let result = world.run().expect(5).result();
    assert_eq!(result["reason"], "budget.iterations");
    world.replace_in_state("\"iterations\": 1", "\"iterations\": 9");
    world.run().expect(0);
}

#[test]
fn a_run_starts_from_the_untracked_file_and_ends_with_its_test_passing() {
    let world = World::new();
    world.write("test.sh", "grep -q world a.txt\n");
    world.align(&plan(&["sh test.sh"], json!({}), json!({"A1": task("echo world >> a.txt")})));
    let before = world.read("test.sh");
    world.run().expect(0);
    assert_eq!((world.read("test.sh"), world.read("a.txt")), (before, "hello\n".to_owned()));
    assert!(world.git(&["status", "--porcelain"]).contains("?? test.sh"));
    assert_eq!(world.status()["started_from"]["dirty"], true);
}

#[test]
fn every_line_of_a_run_in_json_is_a_value_with_its_schema_and_the_last_is_the_whole_result() {
    let world = World::new();
    world.align(&plan(WHOLE, json!({}), misleading()));
    let ran = world.run().expect(0);
    let result = ran.result();
    let keys =
        "result reason lineage summary iterations evidence done failed next_moves workspace spent";
    for key in keys.split(' ') {
        assert!(result.get(key).is_some(), "no {key} in {result}");
    }
    assert_eq!(result["lineage"], world.state()["lineage"]);
    assert!(
        result["evidence"].as_array().unwrap().iter().all(|proof| proof["verdict"] == "pass"),
        "{result}"
    );
    assert!(
        std::path::Path::new(result["workspace"]["path"].as_str().unwrap()).join("copy").is_file()
    );
}

#[test]
fn status_in_json_has_the_keys_of_the_contract_before_and_after() {
    let world = World::new();
    world.align(&plan(&["test -f done"], json!({}), json!({"A1": task("touch done")})));
    let before = world.status();
    let keys = "status live iteration serial resolved unresolved bound base_case spent started_from workspace in_flight last_result next";
    for key in keys.split(' ') {
        assert!(before.get(key).is_some(), "no {key} in {before}");
    }
    assert_eq!(
        (&before["status"], &before["live"], &before["unresolved"]),
        (&json!("aligned"), &json!(false), &json!(["A1"]))
    );
    assert_eq!(before["bound"]["attempts"], 1);
    assert_eq!(before["next"], "descent run");
    world.run().expect(0);
    let status = world.status();
    assert_eq!(
        (&status["status"], &status["resolved"], &status["unresolved"]),
        (&json!("completed"), &json!(["A1"]), &json!([]))
    );
    assert_eq!(status["workspace"]["commit"], world.state()["run"]["head"]);
    assert_eq!(status["next"], "descent apply");
    for key in ["path", "branch", "commit"] {
        assert!(status["workspace"][key].is_string(), "{status}");
    }
}

#[test]
fn for_a_person_a_line_says_what_starts_ends_is_chosen_and_taken_back_and_how_long_it_took() {
    let world = World::new();
    world.align(&plan(WHOLE, json!({}), misleading()));
    let ran = world.descent(&["run"]).expect(0);
    for words in [
        "run  ",
        "at most",
        "start     A1",
        "solved    A1 in ",
        "chosen    G = wrong",
        "rejected ",
        "switched ",
        "failed    broken after",
        "removed ",
        "completed: ",
        "next: descent apply",
    ] {
        assert!(ran.stdout.contains(words), "no `{words}` in:\n{}", ran.stdout);
    }
}

#[test]
fn verify_says_by_its_exit_code_whether_the_result_holds() {
    let world = World::new();
    world.align(&plan(&["test -f done"], json!({}), json!({"A1": task("touch done")})));
    world.descent(&["verify"]).expect(1).shows("does not hold");
    world.run().expect(0);
    let verified = world.descent(&["verify", "--result", "--json"]).expect(0).json();
    assert_eq!(
        (&verified["holds"], &verified["on"]),
        (&json!(true), &world.state()["run"]["head"])
    );
}

#[test]
fn a_step_in_a_chain_is_one_commit_of_the_state() {
    let world = World::new();
    let atoms = json!({"A1": task("touch a1"), "A2": after(&["A1"], "touch a2"), "A3": after(&["A2"], "touch done")});
    world.align(&plan(&["test -f done"], json!({}), atoms));
    let before = world.state()["serial"].as_u64().unwrap();
    world.run().expect(0);
    let made = world.state()["serial"].as_u64().unwrap() - before;
    // Beside one a step: the start, the first intent, the end.
    assert!(made <= 3 + 3, "{made} commits for 3 steps");
}

#[test]
fn in_place_the_work_is_done_where_the_person_is_when_they_say_so() {
    let world = World::bare();
    world.align(&plan(
        &["test -f done"],
        json!({"workspace": "shared"}),
        json!({"A1": task("touch done")}),
    ));
    world.run().expect(0);
    assert!(world.repo().join("done").exists());
    // Nothing records there what a step changes.
    let summary = world.state()["bindings"]["A1"]["summary"].to_string();
    assert!(summary.contains("exit 0") && !summary.contains("changed"), "{summary}");
}
