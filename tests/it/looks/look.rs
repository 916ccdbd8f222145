//! The commands that look: `status`, `graph`, `why`, `log`. They only read.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{
    screen::Terminal,
    world::{Ran, World, after, plan, task, with},
};

/// A group whose first choice is refuted, whose second fails, whose third holds; and what comes before and after.
fn searched() -> Value {
    json!({
        "first": with(task("echo 1 > first"), json!({"description": "Lay the ground"})),
        "G": {"kind": "any", "choices": ["wrong", "broken", "right"], "depends_on": ["first"]},
        "wrong": task("echo wrong > g"),
        "broken": task("echo no way >&2; exit 3"),
        "right": task("echo right > g"),
        "last": after(&["G"], "cp g copy"),
    })
}

const WHOLE: &[&str] = &["grep -q right copy"];

fn found() -> World {
    let world = World::new();
    world.align(&plan(WHOLE, json!({}), searched()));
    world.run().expect(0);
    world
}

fn lost() -> World {
    let world = World::new();
    let mut atoms = searched();
    atoms["G"]["choices"] = json!(["wrong", "broken"]);
    atoms.as_object_mut().unwrap().remove("right");
    world.align(&plan(WHOLE, json!({}), atoms));
    world.run().expect(5);
    world
}

#[track_caller]
fn shows_all(ran: &Ran, words: &[&str]) {
    for one in words {
        assert!(ran.stdout.contains(one), "no `{one}` in:\n{}", ran.stdout);
    }
}

#[test]
fn status_tells_what_holds_what_failed_what_was_chosen_and_one_command_to_type() {
    let world = lost();
    let ran = world.descent(&["status"]).expect(0);
    shows_all(
        &ran,
        &[
            "exhausted: it is so",
            "checks   fail     grep -q right copy  exit 2, ",
            "1 of 4 atoms resolved",
            "failed   broken",
            "exit 3: no way",
            "choice   G = broken  failed: broken  check failed: wrong",
            "bound    at most",
            "spent    4 attempts",
            "from     main at ",
            "ended    exhausted (no_choice), ",
            "\n         every choice was tried",
        ],
    );
    assert!(
        ran.stdout.ends_with("\nnext: descent why G\n"),
        "{}",
        ran.stdout
    );
    assert_eq!(ran.stdout.matches("next: ").count(), 1);
    let status = world.status();
    assert_eq!(status["base_case"][0]["verdict"], "fail");
    assert_eq!(status["failed"][0]["atom"], "broken");
    assert_eq!(status["choices"][0]["refuted"], json!(["wrong"]));
}

#[test]
fn status_before_the_first_run_says_what_is_not_known_yet() {
    let world = World::new();
    world.align(&plan(WHOLE, json!({}), searched()));
    let ran = world.descent(&[]).expect(0);
    shows_all(
        &ran,
        &[
            "aligned: it is so",
            "not evaluated yet",
            "0 of 3",
            "next: descent run",
        ],
    );
    assert!(!ran.stdout.contains("spent"), "{}", ran.stdout);
}

#[test]
fn status_while_it_runs_and_after_it_was_cut_off_tells_since_when() {
    let world = World::new();
    let go = world.out("go").display().to_string();
    let run = format!("touch {go}; sleep {}", crate::world::long_nap());
    world.align(&plan(
        &["test -f done"],
        json!({"time_budget": "2h"}),
        json!({"A1": task(&run)}),
    ));
    let running = world.start(&["run"]);
    world.wait_for_file("go");
    let live = world.descent(&["status"]).expect(0);
    shows_all(
        &live,
        &[
            "running: it is so",
            "a loop is at work: pid ",
            "running  A1  attempt 1 of 1, for ",
            " of 2 h",
        ],
    );
    running.kill();
    let dead = world.descent(&["status"]).expect(0);
    shows_all(
        &dead,
        &[
            "no loop is at work",
            "cut off  A1  attempt 1 of 1, started ",
        ],
    );
}

#[test]
fn status_fits_a_screen_however_much_there_is() {
    let world = World::new();
    let many: Vec<String> = (0..30)
        .map(|i| format!("test -f a-file-with-a-rather-long-name-number-{i}"))
        .collect();
    let checks: Vec<&str> = many.iter().map(String::as_str).collect();
    let mut atoms = json!({});
    for i in 0..40 {
        let id = format!("an-atom-with-a-rather-long-name-{i}");
        atoms[&id] = with(
            task("exit 1"),
            json!({"description": "many words ".repeat(30)}),
        );
    }
    world.align(&plan(&checks, json!({}), atoms));
    world.run().expect(5);
    let shown = Terminal::start(&world, 80, &["status"], &[])
        .end()
        .expect(0);
    assert!(
        shown.screen.len() <= 25,
        "{} rows:\n{}",
        shown.screen.len(),
        shown.text()
    );
    assert!(
        shown.text().contains("… and 25 more") && shown.text().contains("… and 37 more"),
        "{}",
        shown.text()
    );
    let result = |line: &&String| !line.starts_with("result");
    assert!(
        shown
            .screen
            .iter()
            .filter(result)
            .all(|line| line.chars().count() <= 80),
        "{}",
        shown.text()
    );
}

#[test]
fn the_graph_as_text_shows_what_is_resolved_failed_and_not_chosen() {
    let ran = found().descent(&["graph"]).expect(0);
    shows_all(
        &ran,
        &[
            "✓ G         one of, now right  after first",
            "├ ○ wrong",
            "├ ✗ broken",
            "└ ✓ right",
            "✓ last      after G",
            "✓ first     Lay the ground",
            "✓ resolved",
        ],
    );
}

#[test]
fn the_graph_for_programs_has_every_atom_and_every_arrow() {
    let world = found();
    let graph = world.descent(&["graph", "--json"]).expect(0).json();
    assert_eq!(graph["schema"], "descent/graph/1");
    let states: Vec<String> = graph["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| {
            format!(
                "{} {}",
                node["id"].as_str().unwrap(),
                node["state"].as_str().unwrap()
            )
        })
        .collect();
    for state in [
        "first resolved",
        "G resolved",
        "wrong not chosen",
        "right resolved",
        "last resolved",
    ] {
        assert!(
            states.iter().any(|one| one == state),
            "{state} is not in {states:?}"
        );
    }
    assert!(
        graph["edges"]
            .as_array()
            .unwrap()
            .contains(&json!({"from": "G", "to": "last", "kind": "before"}))
    );
    let mermaid = world.descent(&["graph", "--format", "mermaid"]).expect(0);
    shows_all(
        &mermaid,
        &[
            "flowchart TD",
            "subgraph n",
            "<b>right</b>",
            " --> ",
            "class ",
            " chosen",
        ],
    );
    let dot = world.descent(&["graph", "--format", "dot"]).expect(0);
    shows_all(
        &dot,
        &[
            "digraph descent {",
            "subgraph cluster_",
            "ltail=cluster_",
            "penwidth=3",
        ],
    );
    assert_eq!(
        dot.stdout.matches('{').count(),
        dot.stdout.matches('}').count()
    );
}

#[test]
fn a_thousand_atoms_are_drawn_at_once() {
    let world = World::new();
    let mut atoms = json!({});
    for i in 0..1_000 {
        let deps: Vec<String> = (i > 0).then(|| format!("A{}", i - 1)).into_iter().collect();
        atoms[format!("A{i}")] = with(task("true"), json!({"depends_on": deps}));
    }
    world.align(&plan(&["false"], json!({}), atoms));
    for format in ["text", "mermaid", "dot"] {
        let start = Instant::now();
        let ran = world.descent(&["graph", "--format", format]).expect(0);
        assert!(
            start.elapsed() < Duration::from_secs(5),
            "{format}: {:?}",
            start.elapsed()
        );
        assert!(ran.stdout.lines().count() >= 1_000, "{format}");
    }
}

#[test]
fn why_tells_every_attempt_with_its_evidence_and_where_the_result_is() {
    let world = found();
    let why = world.descent(&["why", "broken"]).expect(0);
    shows_all(
        &why,
        &[
            "broken: not chosen  (a task)",
            "choice of  G  (G = right now)",
            "does       echo no way",
            "failed, attempt 1, ",
            " s ago, took ",
            "(logical)",
            "exit 3: no way",
            "│ no way",
        ],
    );
    let why = world.descent(&["why", "right"]).expect(0);
    shows_all(
        &why,
        &[
            "right: resolved",
            "solved, attempt 1",
            "files g",
            "commit   git -C ",
            " show ",
        ],
    );
    let command = why
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix("commit   git "))
        .unwrap();
    let args: Vec<&str> = command.split(' ').collect();
    assert!(world.git(&args).contains("Descent-Atom: right"));
    let group = world.descent(&["why", "G"]).expect(0);
    shows_all(
        &group,
        &[
            "rejected",
            "all atoms are solved, and a check failed: grep",
            "fail    grep -q right copy  (exit 1)",
            "G: wrong → broken",
        ],
    );
    let json = world.descent(&["why", "G", "--json"]).expect(0).json();
    let ended: Vec<&str> = json["attempts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["ended"].as_str().unwrap())
        .collect();
    assert_eq!(ended, ["parked", "failed", "solved"]);
}

#[test]
fn why_tells_what_an_atom_waits_for() {
    let world = World::new();
    world.align(&plan(WHOLE, json!({}), searched()));
    let why = world.descent(&["why", "last"]).expect(0);
    shows_all(
        &why,
        &[
            "last: pending",
            "waits for  G",
            "attempts none yet",
            "next: descent run",
        ],
    );
}

#[test]
fn why_alone_lists_what_is_worth_asking_about() {
    let world = lost();
    let list = world.descent(&["why"]).expect(0);
    shows_all(
        &list,
        &[
            "broken  failed  exit 3: no way",
            "with G = wrong the base case did not hold",
            "next: descent why broken",
        ],
    );
    let json = world.descent(&["why", "--json"]).expect(0).json();
    assert_eq!(json["schema"], "descent/why-list/1");
    assert_eq!(json["atoms"][0]["atom"], "broken");
    let world = World::new();
    world.align(&plan(WHOLE, json!({}), searched()));
    world
        .descent(&["why"])
        .expect(0)
        .shows("nothing runs and nothing failed");
}

#[test]
fn the_log_tells_in_words_what_happened_and_by_whom_the_newest_last() {
    let world = lost();
    let log = world.descent(&["log"]).expect(0);
    let at = |words: &&str| {
        let place = log.stdout.lines().position(|line| line.contains(words));
        place.unwrap_or_else(|| panic!("no `{words}` in:\n{}", log.stdout))
    };
    let told = [
        "chosen    G = wrong",
        "solved    wrong in ",
        "rejected  all atoms are solved, and a check failed: ",
        "switched  G: wrong → broken because the base case does not hold",
        "ms (logical; no attempt left): exit 3: no way",
        "ended     exhausted (no_choice)",
    ];
    let places: Vec<usize> = told.iter().map(at).collect();
    assert!(places.is_sorted(), "{places:?}:\n{}", log.stdout);
    let last = world.descent(&["log", "-n", "1"]).expect(0);
    shows_all(&last, &["before", "ended     exhausted"]);
    assert_eq!(last.stdout.lines().count(), 2, "{}", last.stdout);
    let json = world
        .descent(&["log", "--json", "-n", "2"])
        .expect(0)
        .json();
    assert_eq!(json["entries"].as_array().unwrap().len(), 2);
    assert_eq!(json["entries"][1]["kind"], "ended");
    world.replace_in_state("somebody waits for it", "many wait for it");
    world.run();
    let log = world.descent(&["log"]).expect(0);
    shows_all(
        &log,
        &[
            "edited    by ada: the objective changed → the trail is cleared",
            "ended     exhausted (no_choice)",
        ],
    );
}

#[test]
fn looking_changes_nothing_and_cannot_be_fooled_by_what_an_atom_prints() {
    let world = World::new();
    let nasty = task("printf 'a\\033[2J\\033]0;x\\007b\\n' >&2; exit 1");
    world.align(&plan(&["false"], json!({}), json!({"A1": nasty})));
    world.run().expect(5);
    let before = world.state_bytes();
    for args in [
        &["status"][..],
        &["graph"],
        &["why"],
        &["why", "A1"],
        &["log"],
    ] {
        let ran = world.descent(args).expect(0);
        assert!(
            !ran.stdout.contains('\x1b') && !ran.stdout.contains('\x07'),
            "{args:?}: {:?}",
            ran.stdout
        );
        for with in [&["--json"][..], &["-q"], &["-v"]] {
            world.descent(&[args, with].concat()).expect(0);
        }
    }
    assert_eq!(world.state_bytes(), before);
    for args in [&["graph"][..], &["why"], &["log"], &["status"]] {
        World::new().descent(args).expect(4).says("E-NO-STATE");
    }
}
