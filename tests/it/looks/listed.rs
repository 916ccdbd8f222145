//! Lists of atoms, the terminal's words for them, and how much is said.

use serde_json::{Value, json};

use crate::world::{World, after, plan, task};

/// Twelve atoms, of which the fourth waits for the first.
fn twelve() -> Value {
    let mut atoms = json!({});
    for n in 1..=12 {
        atoms[format!("a{n}")] = match n {
            4 => after(&["a1"], "touch 4"),
            _ => task(&format!("touch {n}")),
        };
    }
    atoms
}

fn numbered() -> Vec<String> {
    (1..=12).map(|n| format!("a{n}")).collect()
}

#[test]
fn atoms_are_listed_as_a_person_counts() {
    let world = World::new();
    world.align(&plan(&["test -e 12"], json!({}), twelve()));
    assert_eq!(world.status()["unresolved"], json!(numbered()));
    let graph = world.descent(&["graph", "--json"]).expect(0).json();
    let nodes = graph["nodes"].as_array().expect("nodes").iter();
    let ids: Vec<&str> = nodes.filter_map(|node| node["id"].as_str()).collect();
    assert_eq!(ids, numbered());
    let told = world.descent(&["why", "nobody"]).expect(2);
    told.says("one of a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12");
}

#[test]
fn a_quiet_command_prints_what_was_asked_for_and_nothing_to_type_next() {
    let world = World::new();
    let file = world.repo().join("plan.json");
    let atoms = json!({"A": task("echo one > f")});
    let text = plan(&["grep -q one f"], json!({}), atoms).to_string();
    std::fs::write(&file, text).expect("written");
    let agreed = world.descent(&["align", "-q", "-y", "-f", "plan.json"]).expect(0);
    assert_eq!((agreed.stdout.as_str(), agreed.stderr.as_str()), ("", ""));
    world
        .descent(&["align", "-q", "-n", "--force", "-f", "plan.json"])
        .expect(0)
        .shows("goal: it is so");
    for args in [
        &["status", "-q"][..],
        &["graph", "-q"],
        &["why", "-q"],
        &["why", "-q", "A"],
        &["log", "-q"],
        &["verify", "-q"],
        &["clean", "-q", "-n"],
    ] {
        let ran = world.descent(args);
        assert!(!ran.stdout.is_empty(), "{args:?}");
        let all = format!("{}{}", ran.stdout, ran.stderr);
        assert!(!all.contains("next: "), "{args:?}:\n{all}");
        assert!(!all.ends_with("\n\n"), "{args:?}:\n{all}");
    }
}

#[test]
fn a_log_that_says_more_has_the_times_as_they_are_recorded() {
    let world = World::new();
    let atoms = json!({"A": task("echo one > f")});
    world.align(&plan(&["grep -q one f"], json!({}), atoms));
    world.run().expect(0);
    let entries = world.descent(&["log", "--json"]).expect(0).json();
    let told = world.descent(&["log", "-v"]).expect(0).stdout;
    let entries = entries["entries"].as_array().expect("entries");
    assert_eq!(told.lines().count(), entries.len(), "{told}");
    for (line, entry) in told.lines().zip(entries) {
        let at = entry["at"].as_str().expect("a time");
        assert!(line.starts_with(at), "no {at} in {line}");
        assert!(!line.contains(" ago"), "{line}");
    }
}

#[test]
fn a_large_plan_is_counted() {
    let world = World::new();
    let preview = |atoms: Value, args: &[&str]| {
        let file = world.repo().join("plan.json");
        let text = plan(&["test -e f"], json!({}), atoms).to_string();
        std::fs::write(&file, text).expect("written");
        let mut all = vec!["align", "-n", "-f", "plan.json"];
        all.extend(args);
        world.descent(&all).expect(0).stdout
    };
    let work = |text: &str| {
        let lines = text.lines().skip_while(|line| *line != "the work:");
        let lines: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
        lines.join("\n")
    };
    let mut large = json!({"W": {"kind": "task", "description": "by hand"}});
    for n in 1..=40 {
        large[format!("a{n}")] = json!({"kind": "task", "action": {"run": format!("touch {n}")}});
    }
    let shown = work(&preview(large.clone(), &[]));
    assert!(shown.ends_with("  and 1 more; -v shows each of them, with its command"), "{shown}");
    let whole = work(&preview(large, &["-v"]));
    assert!(whole.contains("· a40\n      runs: touch 40"), "{whole}");
}
