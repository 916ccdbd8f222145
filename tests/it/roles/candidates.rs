//! A quality leaf of a task: a judge rates the work of an attempt, and what follows.

use serde_json::json;

use super::judged::{asked, judge, says};
use crate::world::{World, plan, task, wait_for, with};

/// A task whose action writes something else each time, and whose work a judge rates.
fn two_notes(leaf: serde_json::Value) -> World {
    let world = World::new();
    let count = world.out("count").display().to_string();
    let writes = format!("echo x >> {count}; echo \"note $(wc -l < {count})\" > note");
    let checks = json!({"all": [leaf, {"file": "note"}]});
    let atoms = json!({
        "A": with(task(&writes), json!({"checks": checks})),
        "B": with(task("echo b > other"), json!({"depends_on": "A"})),
    });
    world.align(&plan(&["test -f note -a -f other"], json!({"max_attempts": 3}), atoms));
    world
}

/// Passes the second note, and shows the judge's own count of its calls.
const SECOND: &str = r#"if grep -q "note 2" note; then s=0.9; else s=0.3; fi
echo "{\"score\": $s, \"because\": \"it has $(cat note)\"}""#;

#[test]
fn the_work_of_one_task_is_rated_and_the_reason_reaches_the_next_attempt() {
    let world = two_notes(json!({"quality": "the note is clear"}));
    judge(&world, SECOND);
    let ran = world.run().expect(0);
    assert_eq!((ran.count("consulted"), asked(&world)), (2, 2));
    let reason = "quality: the note is clear: rated 0.3 by j (wanted 0.8): it has note 1";
    let failed = ran.lines().into_iter().find(|line| line["reason"] == reason);
    assert!(failed.is_some(), "{}", ran.stdout);
    // The judge sees the one change, whole, and the evidence of the machine checks.
    let prompt = world.left("prompt");
    for words in ["# The step whose work you rate", "+note 2", "note:\nnote 2", "pass: file note"] {
        assert!(prompt.contains(words), "no {words} in:\n{prompt}");
    }
    world.descent(&["why", "A"]).expect(0).shows("rated 0.9 by j");
    // A completed run asks nobody again.
    world.run().expect(0);
    assert_eq!(asked(&world), 2);
}

#[test]
fn the_middle_of_the_samples_decides() {
    let world = two_notes(json!({"quality": "the note is clear", "samples": 3}));
    let asked_file = world.out("asked").display().to_string();
    judge(
        &world,
        &format!(
            "case $(wc -l < {asked_file}) in 2) s=0.1;; *) s=0.9;; esac\necho \"{{\\\"score\\\": $s, \\\"because\\\": \\\"so\\\"}}\""
        ),
    );
    world.run().expect(0);
    assert_eq!(asked(&world), 3);
    let rating = &world.state()["run"]["ratings"][0];
    assert_eq!((&rating["samples"], &rating["score"]), (&json!([0.9, 0.1, 0.9]), &json!(0.9)));
}

#[test]
fn work_without_a_rating_is_kept_and_rated_by_the_next_run() {
    let world = two_notes(json!({"quality": "the note is clear"}));
    judge(&world, "echo nothing");
    world.replace_in_state("\"max_attempts\": 3", "\"max_attempts\": 3, \"max_transient\": 0");
    world.run().expect(69).result();
    world.descent(&["status"]).shows("for a person or a judge: descent diff A");
    world.descent(&["diff", "A"]).expect(0).shows("+note 1");
    judge(&world, &says(r#"{"score": 1, "because": "clear"}"#));
    world.run().expect(0);
    assert_eq!(world.left("count"), "x\n", "nothing is made again");
}

#[test]
fn a_loop_that_is_killed_while_its_judge_thinks_asks_once_more_and_makes_nothing_again() {
    let world = two_notes(json!({"quality": "the note is clear"}));
    judge(&world, "sleep 600");
    let run = world.start(&["run"]);
    wait_for("the judge", || asked(&world) == 1);
    run.kill();
    judge(&world, &says(r#"{"score": 1, "because": "clear"}"#));
    world.run().expect(0);
    assert_eq!((asked(&world), world.left("count").as_str()), (2, "x\n"));
}

#[test]
fn without_a_judge_or_trees_no_task_is_rated() {
    let world = two_notes(json!({"quality": "the note is clear"}));
    world.descent(&["run"]).expect(78).says("E-NO-JUDGE");
    let checks = json!({"checks": {"quality": "clear"}});
    let atoms = json!({"A": with(task("true"), checks)});
    let plan = plan(&["true"], json!({"workspace": "shared"}), atoms);
    world.write("shared.json", &plan.to_string());
    let refused = world.descent(&["validate", "shared.json"]).expect(65);
    refused.says("cannot be rated here");
}
