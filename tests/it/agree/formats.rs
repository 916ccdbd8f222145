//! `validate --format`: for a person, for a program, and for the error list of an editor.

use serde_json::json;

use crate::world::{World, plan, task};

const PLAN: &str = "objective:\n  goal: it is so\n  background_intent: why\n  gaol: x\n  owner: ada\n  base_case:\n    all:\n      - comand: make test\nwork_graph:\n  atoms:\n    A1: {description: x, depends_on: [A2]}\n";

#[test]
fn an_editors_error_list_gets_a_line_a_fault_and_warnings_too() {
    let world = World::bare();
    world.write("plan.yaml", PLAN);
    let ran = world.descent(&["validate", "--format", "gcc", "plan.yaml"]).expect(65);
    assert_eq!(ran.stderr, "");
    for line in [
        "plan.yaml:4:3: error: /objective/gaol: unknown key `gaol` (did you mean `goal`?) [unknown-key]",
        "plan.yaml:5:3: warning: /objective/owner: unknown key `owner`, kept as it is [unknown-key]",
        "plan.yaml:8:9: error: /objective/base_case/all/0: a check needs one key that tells what is checked (`comand`: did you mean `command`?) [bad-check]",
        "plan.yaml:11:39: error: /work_graph/atoms/A1/depends_on/0: there is no atom `A2` (did you mean `A1`?) [unknown-atom]",
    ] {
        assert!(ran.stdout.lines().any(|one| one == line), "no `{line}` in:\n{}", ran.stdout);
    }
    let places: Vec<(u32, u32)> = ran
        .stdout
        .lines()
        .map(|line| {
            let mut words = line.split(':').skip(1).map(|word| word.parse().unwrap());
            (words.next().unwrap(), words.next().unwrap())
        })
        .collect();
    assert!(places.is_sorted(), "{places:?}");
    world.write("plan.yaml", "");
    world
        .descent(&["validate", "--format", "gcc", "plan.yaml"])
        .expect(65)
        .shows("plan.yaml:1:1: error: ");
}

#[test]
fn a_byte_order_mark_before_json_is_passed_over() {
    let world = World::new();
    let step = "printf '\\357\\273\\277{\"summary\": \"told\"}' >$DESCENT_RESULT; touch one";
    let agreed = plan(&["test -e one"], json!({}), json!({"A1": task(step)}));
    world.write("plan.json", &format!("\u{feff}{agreed}"));
    world.descent(&["align", "-y", "-f", "plan.json"]).expect(0);
    let state = world.state_text();
    world.save(&format!("\u{feff}{state}"));
    world.descent(&["status"]).expect(0);
    world.run().expect(0);
    assert_eq!(world.state()["bindings"]["A1"]["summary"], "told");
}

#[test]
fn json_is_the_same_by_either_flag_and_a_person_sees_the_place() {
    let world = World::bare();
    world.write("plan.yaml", PLAN);
    let by_format = world.descent(&["validate", "--format", "json", "plan.yaml"]).expect(65);
    let by_flag = world.descent(&["validate", "--json", "plan.yaml"]).expect(65);
    assert_eq!(by_format.json(), by_flag.json());
    assert_eq!(by_format.json()["valid"], false);
    let seen = world.descent(&["validate", "plan.yaml"]).expect(65);
    seen.says("\n    11 |     A1: {description: x, depends_on: [A2]}\n       |                                       ^\n");
}

#[test]
fn a_valid_file_gives_no_line_and_a_state_is_looked_at_likewise() {
    let world = World::new();
    world.align(&crate::world::plan(
        &["true"],
        serde_json::json!({}),
        serde_json::json!({"A1": crate::world::task("touch a")}),
    ));
    let ran = world.descent(&["validate", "--format", "gcc"]).expect(0);
    assert_eq!(ran.stdout, "");
    world.replace_in_state("\"A1\": {", "\"A1\": {\"status\": \"pendign\", ");
    world
        .descent(&["validate", "--format", "gcc"])
        .expect(65)
        .shows("error: /work_graph/atoms/A1/status: ");
}
