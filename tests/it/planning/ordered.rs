//! Choices inside a plan, in the order that the control law gives.

use serde_json::{Value, json};

use super::law::{of, run, slow, world};
use crate::world::{World, task, with};

/// A planned group whose first choice does not help, beside work that fails first.
fn of_choices(hindered: Value, ways: &[(&str, &str)], act: bool) -> World {
    let mut atoms = json!({
        "H": {"kind": "any", "description": "look first", "choices": ["h", "i"]},
        "h": hindered,
        "i": task("touch looked"),
        "a": task("touch begun"),
    });
    let mut choices = vec!["a"];
    for (name, text) in ways {
        atoms[name] = with(task(text), json!({"description": format!("by {name}")}));
        choices.push(name);
    }
    atoms["G"] = json!({"kind": "any", "description": "make it so", "choices": choices, "depends_on": ["H"]});
    let limits = json!({"max_attempts": 1, "law": if act { "act" } else { "show" }});
    world(&[of(atoms)], limits)
}

/// The words of the choice that stands in the end.
fn taken(world: &World) -> String {
    let state = world.state();
    let atoms = state["bindings"].as_object().unwrap().values();
    let described = atoms.filter_map(|one| one["of"]["description"].as_str());
    let mut ways = described.filter(|one| one.starts_with("by "));
    ways.next().unwrap_or_default().to_owned()
}

#[test]
fn after_hindered_work_the_same_tool_with_another_target_comes_first() {
    let ways = [
        ("same", "wc ./zero && cp none n"),
        ("free", "cp none n"),
        ("akin", "wc nine && cp none n"),
    ];
    for (act, wanted) in [(true, "by akin"), (false, "by same")] {
        let world = of_choices(slow("wc /dev/zero"), &ways, act);
        let wanted_point = [("1".to_owned(), "change_path".to_owned())];
        assert_eq!(run(&world, 0), wanted_point);
        assert_eq!(taken(&world), wanted, "{act}");
    }
}

#[test]
fn after_wrong_work_its_tool_comes_last_and_is_tried_all_the_same() {
    let wrong = || task("git cat-file -e gone");
    let ways = [("same", "git cat-file -e HEAD && cp none n"), ("free", "cp none n")];
    for (act, wanted) in [(true, "by free"), (false, "by same")] {
        let world = of_choices(wrong(), &ways, act);
        let wanted_point = [("1".to_owned(), "break_symmetry".to_owned())];
        assert_eq!(run(&world, 0), wanted_point);
        assert_eq!(taken(&world), wanted, "{act}");
    }
    let world = of_choices(wrong(), &ways[..1], true);
    run(&world, 0);
    assert_eq!(taken(&world), "by same", "nothing else was left");
}
