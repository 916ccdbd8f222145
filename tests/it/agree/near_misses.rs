//! Plans that would be read as something else than was typed: faults that show the right form, and nothing is written.

use serde_json::{Value, json};

use crate::world::{World, assert_same, listing, plan, task, with};

const OBJECTIVE: &str = "objective:
  goal: it is there
  background_intent: somebody waits
  base_case: {command: test -e done}
";

/// `validate` and `align` refuse the plan with these words, each behind its place, and with no other fault.
#[track_caller]
fn check(text: &str, faults: &[&str]) {
    let world = World::new();
    world.write("plan.yaml", text);
    let before = listing(&world.repo());
    for args in [&["validate", "plan.yaml"][..], &["align", "-y", "-f", "plan.yaml"]] {
        let ran = world.descent(args).expect(65).says("E-INVALID");
        for fault in faults {
            assert!(
                ran.stderr.contains(&format!("plan.yaml:{fault}")),
                "{args:?}: no `{fault}` in:\n{}",
                ran.stderr
            );
        }
        let told = ran.stderr.matches("plan.yaml:").count();
        assert_eq!(told, faults.len(), "{args:?}:\n{}", ran.stderr);
    }
    assert_same(&world.repo(), &before);
}

#[track_caller]
fn check_atoms(atoms: &str, faults: &[&str]) {
    check(&format!("{OBJECTIVE}work_graph:\n  atoms:\n{atoms}"), faults);
}

#[test]
fn a_command_that_does_not_stand_under_action_is_a_fault_with_the_form() {
    let write = "(write `action: {run: …}`)";
    for key in ["run", "command", "cmd"] {
        check_atoms(
            &format!("    a:\n      {key}: touch done\n"),
            &[&format!("8:7: /work_graph/atoms/a/{key}: `{key}` is no key of an atom {write}")],
        );
    }
}

#[test]
fn a_description_under_another_name_is_a_fault_with_the_form() {
    check_atoms(
        "    a: {desc: make it}\n",
        &["7:9: /work_graph/atoms/a/desc: `desc` is no key of an atom (write `description: …`)"],
    );
}

#[test]
fn a_worker_of_an_atom_is_a_fault_that_says_where_the_worker_is_named() {
    check_atoms(
        "    a: {description: make it, worker: codex}\n",
        &[
            "7:31: /work_graph/atoms/a/worker: `worker` is no key of an atom (leave it out: an atom \
           without `action` is done by the worker of descent.toml)",
        ],
    );
}

#[test]
fn a_near_miss_deep_inside_is_placed_as_it_was_written() {
    check_atoms(
        "    g:\n      choices:\n        - parts:\n            p: {cmd: touch done}\n        - id: q\n          desc: x\n",
        &[
            "10:17: /work_graph/atoms/g/choices/0/parts/p/cmd: `cmd` is no key",
            "12:11: /work_graph/atoms/g/choices/1/desc: `desc` is no key",
        ],
    );
}

#[test]
fn an_action_or_checks_beside_choices_or_parts_are_faults() {
    check_atoms(
        "    g:\n      action: {run: touch done}\n      choices: [{description: a}, {description: b}]\n",
        &[
            "8:7: /work_graph/atoms/g/action: `action` stands beside `choices`, and only a task has it \
           (write it in a choice: `choices: [{action: {run: …}}]`)",
        ],
    );
    check_atoms(
        "    g:\n      run: touch done\n      checks: {command: test -e done}\n      parts: [{description: a}]\n",
        &[
            "8:7: /work_graph/atoms/g/run: `run` stands beside `parts`",
            "9:7: /work_graph/atoms/g/checks: `checks` stands beside `parts`, and only a task has it \
           (give `checks` to each part, or to an atom that depends on the group)",
        ],
    );
}

#[test]
fn checks_as_a_list_or_a_text_and_an_action_as_a_text_are_faults_with_the_form() {
    check_atoms(
        "    a:\n      action: touch done\n      checks: [{command: test -e done}]\n    b:\n      checks: test -e done\n",
        &[
            "8:15: /work_graph/atoms/a/action: expected an object, found a string (write `action: {run: …}`)",
            "9:15: /work_graph/atoms/a/checks: expected an object, found a list (write `{all: [{command: …}, \
           …]}`: all of them must hold)",
            "11:15: /work_graph/atoms/b/checks: expected an object, found a string (write `{command: …}`)",
        ],
    );
}

#[test]
fn an_atom_as_a_text_is_a_fault_with_the_form() {
    check_atoms(
        "    a: touch done\n",
        &[
            "7:8: /work_graph/atoms/a: expected an object, found a string (write `{description: …}`, or \
           `{action: {run: …}}`)",
        ],
    );
}

#[test]
fn a_goal_at_the_top_is_one_fault_that_says_where_it_belongs() {
    check(
        "goal: it is there\nwork_graph: {atoms: {a: {description: make it}}}\n",
        &["1:1: /goal: `goal` is no key of a plan (write `objective: {goal: …}`)"],
    );
}

#[test]
fn each_part_of_the_agreement_at_the_top_is_told_once() {
    check(
        "goal: it is there\nwhy: somebody waits\nchecks: {command: test -e done}\nsetup: make\natoms: {a: {}}\n",
        &[
            "1:1: /goal: `goal` is no key of a plan (write `objective: {goal: …}`)",
            "2:1: /why: `why` is no key of a plan (write `objective: {background_intent: …}`)",
            "3:1: /checks: `checks` is no key of a plan (write `objective: {base_case: {command: …}}`)",
            "4:1: /setup: `setup` is no key of a plan (write `objective: {constraints: {setup: …}}`)",
            "5:1: /atoms: `atoms` is no key of a plan (write `work_graph: {atoms: {…}}`)",
        ],
    );
}

#[test]
fn atoms_that_stand_in_the_work_graph_itself_are_faults() {
    check(
        &format!("{OBJECTIVE}work_graph:\n  chalk: {{description: make it}}\n"),
        &[
            "6:3: /work_graph/chalk: `chalk` is no key of the work graph (write `atoms: {chalk: …}`)",
        ],
    );
}

#[test]
fn without_a_base_case_nobody_is_asked_for_what_is_made_from_it() {
    let world = World::new();
    world.write(
        "plan.yaml",
        "objective: {goal: g, background_intent: w}\nwork_graph: {atoms: {a: {}}}\n",
    );
    let ran = world.descent(&["validate", "plan.yaml"]).expect(65);
    let ran = ran.says("/objective/base_case: the base case is missing");
    assert_eq!(ran.stderr.matches("plan.yaml:").count(), 1, "{}", ran.stderr);
}

#[test]
fn a_key_that_is_like_nothing_is_kept_and_warned_of() {
    let world = World::new();
    let mine = with(task("touch done"), json!({"ticket": 7}));
    let ran = world.try_align(&plan(&["test -e done"], json!({}), json!({"A1": mine})));
    ran.expect(0).says("unknown key `ticket`, kept as it is");
    assert_eq!(world.state()["work_graph"]["atoms"]["A1"]["ticket"], 7);
}

#[test]
fn a_misspelt_limit_is_a_fault_with_the_right_key() {
    let objective =
        OBJECTIVE.to_owned() + "  constraints: {max_atempts: 1, time_budget: 5m, patience: 3}\n";
    check(
        &format!("{objective}work_graph:\n  atoms:\n    a: {{depend_on: [], timout: 5m}}\n"),
        &[
            "5:17: /objective/constraints/max_atempts: unknown key `max_atempts` (did you mean `max_attempts`?)",
            "5:33: /objective/constraints/time_budget: `time_budget` is no key of the constraints (write `budget: {time: …}`)",
            "5:50: /objective/constraints/patience: unknown key `patience` (leave it out; a remark of yours goes into `notes`)",
            "8:9: /work_graph/atoms/a/depend_on: unknown key `depend_on` (did you mean `depends_on`?)",
            "8:24: /work_graph/atoms/a/timout: unknown key `timout` (did you mean `timeout`?)",
        ],
    );
}

#[test]
fn a_key_of_another_record_is_a_fault_that_names_the_record() {
    let objective = OBJECTIVE.to_owned() + "  timeout: 5m\n";
    check(
        &format!("{objective}work_graph:\n  atoms:\n    a: {{protected: [x], selected: b}}\n"),
        &[
            "5:3: /objective/timeout: `timeout` is no key of the objective (write `work_graph: {atoms: {ID: \
             {timeout: …}}}`)",
            "8:9: /work_graph/atoms/a/protected: `protected` is no key of an atom (write `objective: \
             {constraints: {protected: …}}`)",
            "8:25: /work_graph/atoms/a/selected: `selected` is a key of another kind of atom, and not \
             known here (leave it out)",
        ],
    );
    check_atoms(
        "    a: {deps: [b], speculativ: true, protect: [x]}\n    b: {depend: [], x-mine: 1}\n",
        &[
            "7:9: /work_graph/atoms/a/deps: `deps` is no key of an atom (write `depends_on: […]`)",
            "7:20: /work_graph/atoms/a/speculativ: unknown key `speculativ` (did you mean `speculative`?)",
            "7:38: /work_graph/atoms/a/protect: `protect` is no key of an atom (write `objective: {constraints: \
             {protected: […]}}`)",
            "8:9: /work_graph/atoms/b/depend: `depend` is no key of an atom (write `depends_on: […]`)",
        ],
    );
}

fn agreed() -> World {
    let world = World::new();
    world.align(&plan(&["test -e done"], json!({}), json!({"A1": task("touch done")})));
    world
}

#[test]
fn in_a_state_a_misspelt_key_is_a_fault_with_its_place_for_each_command() {
    let words = [
        (
            "\"action\": {",
            "\"cmd\": \"make\", \"action\": {",
            "`cmd` is no key of an atom (write `action: {run: …}`)",
        ),
        (
            "\"goal\": ",
            "\"constraints\": {\"max_atempts\": 1}, \"goal\": ",
            "unknown key `max_atempts` (did you mean `max_attempts`?)",
        ),
        (
            "\"stop_requested\"",
            "\"stop_requestd\": true, \"stop_requested\"",
            "unknown key `stop_requestd` (did you mean `stop_requested`?)",
        ),
        ("\"run\": \"touch", "\"shell\": \"zsh\", \"run\": \"touch", "unknown key `shell`"),
    ];
    for (from, to, fault) in words {
        let world = agreed();
        world.replace_in_state(from, to);
        let edited = world.state_text();
        for args in [&["validate"][..], &["status"], &["run"]] {
            let ran = world.descent(args).expect(65).says("E-STATE-INVALID");
            ran.says(fault);
        }
        assert_eq!(world.state_text(), edited);
    }
}

#[test]
fn an_unknown_key_is_warned_of_by_validate_and_once_a_run_unless_it_is_marked_as_a_persons_own() {
    let world = agreed();
    world.replace_in_state("\"goal\":", "\"ticket\": 7, \"x-timeout\": 1, \"goal\":");
    let told = |args: &[&str]| world.descent(args).expect(0).stderr.matches("unknown key").count();
    assert_eq!(told(&["validate"]), 1);
    assert_eq!(told(&["status"]), 0);
    assert_eq!(told(&["run"]), 1);
    for look in ["status", "log", "graph", "report"] {
        assert_eq!(told(&[look]), 0, "{look}");
    }
    assert_eq!(world.state()["objective"]["ticket"], 7);
    assert_eq!(world.state()["objective"]["x-timeout"], 1);
}

#[test]
fn a_step_without_a_name_or_a_command_is_refused_with_the_form() {
    let form = "write --step 'NAME=COMMAND', or --step 'NAME' for the worker";
    for (step, words) in [
        ("=touch g", "the step `=touch g` has no name"),
        (" = touch g", "the step ` = touch g` has no name"),
        ("", "`--step` is given an empty text"),
        ("make g=", "the step `make g=` has no command"),
    ] {
        let world = World::new();
        let args = ["align", "g", "--why", "w", "--check", "true", "-y", "--step", step];
        world.descent(&args).expect(2).says(words).says(form);
        assert!(!world.state_path().exists());
    }
}

#[test]
fn a_grant_may_leave_out_what_the_constraints_say_anyway() {
    let world = World::new();
    let atoms: Vec<Value> = ["touch done", "touch a", "touch b", "touch c"].map(task).to_vec();
    let prints = json!({"atoms": atoms}).to_string();
    let step = |grant| json!({"kind": "plan", "grant": grant, "action": {"run": format!("echo '{prints}'")}});
    let plan = |grant| plan(&["test -e done"], json!({}), json!({"N": step(grant)}));
    world.align(&plan(json!({"atoms": 1, "rounds": 1})));
    world.run().expect(5);
    let words = "its atoms take up to 4 attempts, 3 are granted";
    world.descent(&["why", "N"]).expect(0).shows(words);
    world.write("plan.json", &plan(json!({"rounds": 1})).to_string());
    world.descent(&["align", "-y", "--force", "-f", "plan.json"]).expect(0);
    world.run().expect(0);
}

#[test]
fn a_planner_that_prints_a_near_miss_is_told_the_form() {
    let world = World::new();
    let prints = json!({"atoms": {"one": {"run": "touch done"}}}).to_string();
    let step = json!({"kind": "plan", "action": {"run": format!("echo '{prints}'")}});
    world.align(&plan(&["test -e done"], json!({}), json!({"N": step})));
    world.run().expect(5);
    let words = "/atoms/one/run: `run` is no key of an atom (write `action: {run: …}`)";
    world.descent(&["why", "N"]).expect(0).shows(words);
}
