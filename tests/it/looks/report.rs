//! `descent report`: every format of a real run, when it may be asked for, and where it is written. Not here: what no
//! text may break, which stands beside the formats.
#![allow(clippy::disallowed_methods)] // plants files and links

use serde_json::json;

use crate::world::{World, after, plan, task, with};

const FORMATS: [&str; 4] = ["md", "json", "junit", "html"];

/// A run with a choice that fails, one that does not hold, and one that does.
fn tried() -> World {
    let world = World::new();
    let bad = task("printf 'no \\377 \\033[31mred\\033[0m ]]> \\001<b>\\n' >&2; exit 1");
    let atoms = json!({
        "G": {"kind": "any", "choices": ["bad", "wrong", "right"]},
        "bad": bad,
        "wrong": task("echo wrong > f"),
        "right": with(task("echo right > f"), json!({"checks": {"command": "test -e f"}})),
        "last": after(&["G"], "echo last > g"),
    });
    world.align(&plan(&["grep -q right f", "test -e g"], json!({"max_attempts": 2}), atoms));
    world
}

#[test]
fn a_report_tells_a_run_in_every_format_the_same_each_time_and_changes_nothing() {
    let world = tried();
    world.run().expect(0);
    let before = world.state_bytes();
    let told = world.descent(&["report", "--json"]).expect(0).json();
    assert_eq!(told["outcome"]["status"], "completed");
    assert_eq!(told["agreement"]["raw_input"], "please, make it so: \"exactly\"");
    let failures = &told["tried"]["failures"];
    assert_eq!(failures[0]["attempts"].as_array().map(Vec::len), Some(2), "{failures}");
    let mut story = told["tried"]["story"].as_array().expect("a story").iter();
    let refuted = story.find(|entry| entry["kind"] == "refuted").expect("a refuted selection");
    assert_eq!(refuted["event"]["choices"], json!({"G": "wrong"}));
    let work = told["work"].as_array().expect("atoms");
    let right = work.iter().find(|atom| atom["id"] == "right").expect("an atom");
    assert_eq!((&right["state"], &right["solved"]["n"]), (&json!("resolved"), &json!(1)));
    assert_eq!(right["solved"]["evidence"][0]["verdict"], "pass");
    let md = world.descent(&["report"]).expect(0);
    let md = md.shows("- **completed** (`base_case`)").shows("switched: G: bad → wrong");
    md.shows("**pass** `grep -q right f` (exit 0").shows("- `descent apply`");
    let junit = world.descent(&["report", "--format", "junit"]).expect(0);
    let junit = junit.shows("tests=\"7\" skipped=\"2\" failures=\"0\" errors=\"0\"");
    assert!(!junit.stdout.contains(['\u{1b}', '\u{1}']), "{}", junit.stdout);
    world.descent(&["report", "--format", "html"]).expect(0).shows("<div class=\"graph\"");
    for format in FORMATS {
        let args = ["report", "--format", format];
        let (one, other) = (world.descent(&args).expect(0), world.descent(&args).expect(0));
        assert_eq!(one.stdout, other.stdout, "{format}");
    }
    assert_eq!(world.state_bytes(), before);
}

#[test]
fn a_report_of_a_dead_end_fails_in_the_test_view_where_the_run_did() {
    let world = World::new();
    let fails = "echo the port is taken >&2; exit 1";
    let atoms = json!({"A1": task(fails), "A2": task(fails), "A3": task(fails), "B": after(&["A1"], "true")});
    world.align(&plan(&["test -e never"], json!({}), atoms));
    world.run().expect(5);
    let junit = world.descent(&["report", "--format", "junit"]).expect(0);
    let junit = junit.shows("tests=\"5\" skipped=\"1\" failures=\"4\" errors=\"0\"");
    junit
        .shows("<failure message=\"exit 1: the port is taken\" type=\"logical\">the port is taken");
    world
        .descent(&["report"])
        .expect(0)
        .shows("3 failures alike in 3 atoms, often one cause: exit 1");
    world.descent(&["skip", "A1", "--reason", "done by hand"]).expect(0);
    let md = world.descent(&["report"]).expect(0).shows("A person changed something since");
    md.shows("By a person: skipped: done by hand").shows("## Corrections");
    let junit = world.descent(&["report", "--format", "junit"]).expect(0);
    junit.shows("<skipped message=\"skipped: done by hand\"/>");
}

#[test]
fn a_report_may_be_asked_for_before_a_run_and_beside_a_loop() {
    let world = World::new();
    let (on, go) = (world.out("on"), world.out("go"));
    let run = format!(
        "touch {}; while ! test -f {}; do sleep 0.01; done; touch done",
        on.display(),
        go.display()
    );
    world.align(&plan(&["test -f done"], json!({}), json!({"A": task(&run)})));
    let md = world.descent(&["report"]).expect(0).shows("- **aligned**: agreed, and not run yet");
    md.shows("- **not evaluated** `test -f done`").shows("- `descent run`");
    let mut running = world.start(&["run", "--json"]);
    world.wait_for_file("on");
    let md = world.descent(&["report"]).expect(0).shows("- **running**: it has not ended");
    md.shows("- **running** `A`").shows("- `descent status`");
    let junit = world.descent(&["report", "--format", "junit"]).expect(0);
    junit.shows("skipped=\"2\" failures=\"0\" errors=\"0\"");
    world.touch("go");
    running.wait().expect(0);
}

#[test]
fn a_report_says_what_it_lacks_and_what_to_type() {
    let world = World::new();
    world.descent(&["report"]).expect(4).says("E-NO-STATE").says("next: descent align");
    world.align(&plan(&["test -f done"], json!({}), json!({"A": task("touch done")})));
    let usage = world.descent(&["report", "--format", "pdf"]).expect(2);
    usage.says("E-USAGE").says("md, json, junit, html");
    world.replace_in_state("\"version\": \"3.0\"", "\"version\": \"4.0\"");
    world.descent(&["report"]).expect(65).says("E-VERSION").says("next: ");
}
