//! Edits that would forge what happened: they are faults, or are not kept and named, and nothing is done twice.

use std::fs;

use serde_json::{Value, json};

use crate::world::{World, after, plan, task, with};

/// A change that a person saves.
type Edit = fn(&mut Value);

/// `mail` happens once only, and failed; `docs` is solved.
fn sent_once() -> World {
    let world = World::new();
    let send = format!("echo sent >> {}; exit 1", world.out("mail").display());
    let mail = with(after(&["docs"], &send), json!({"effect": "external"}));
    let docs = with(task("echo d > docs"), json!({"checks": {"file": "docs"}}));
    let atoms = json!({"docs": docs, "mail": mail});
    let mut plan = plan(&["test -e never"], json!({}), atoms);
    forget(&mut plan["objective"], "raw_input");
    world.align(&plan);
    world.run().expect(5);
    world
}

fn edit(world: &World, change: Edit) {
    let mut file: Value = serde_json::from_slice(&world.state_bytes()).expect("JSON");
    change(&mut file);
    fs::write(world.state_path(), file.to_string()).expect("saved");
}

fn atom<'f>(file: &'f mut Value, id: &str) -> &'f mut Value {
    &mut file["work_graph"]["atoms"][id]
}

fn forget(value: &mut Value, key: &str) {
    value.as_object_mut().expect("an object").remove(key);
}

#[test]
fn remarks_defaults_and_lost_words_of_the_program_repeat_no_effect() {
    let edits: [Edit; 8] = [
        |file| atom(file, "mail")["action"]["notes"] = json!("mine"),
        |file| atom(file, "docs")["checks"]["notes"] = json!("mine"),
        |file| file["objective"]["raw_input"] = file["objective"]["goal"].clone(),
        |file| file["objective"]["scope"] = json!({"in": [], "out": []}),
        |file| forget(&mut file["internal"]["atoms"]["mail"], "status"),
        |file| forget(&mut file["internal"]["atoms"], "mail"),
        |file| forget(&mut file["internal"]["bindings"], "docs"),
        |file| file["internal"] = json!({}),
    ];
    for (n, change) in edits.into_iter().enumerate() {
        let world = sent_once();
        edit(&world, change);
        world.run().expect(5);
        assert_eq!(world.left("mail"), "sent\n", "edit {n}");
    }
}

#[test]
fn a_key_of_internal_in_the_other_half_is_a_fault() {
    for change in [(|file| atom(file, "mail")["tries"] = json!([])) as Edit, |file| {
        file["bindings"]["docs"]["evidence"] = json!(["FORGED"])
    }] {
        let world = sent_once();
        edit(&world, change);
        world.run().expect(65).says("is the program's, and has its place in `internal`");
        assert_eq!(world.left("mail"), "sent\n");
    }
}

#[test]
fn what_the_program_writes_is_not_kept_and_named_if_it_is_changed() {
    let edits: [(Edit, &str); 5] = [
        (|file| file["bindings"]["docs"]["unclear"] = json!(true), "/bindings/docs/unclear"),
        (|file| file["bindings"]["docs"]["by"] = json!("me"), "/bindings/docs/by"),
        (|file| file["bindings"]["docs"]["at"] = json!("yesterday"), "/bindings/docs/at"),
        (|file| file["run"]["status"] = json!("completed"), "/run/status"),
        (|file| file["internal"]["atoms"]["mail"]["interruptions"] = json!(9), "interruptions"),
    ];
    for (change, at) in edits {
        let world = sent_once();
        let before = world.state()["bindings"].clone();
        edit(&world, change);
        let ran = world.descent(&["run"]).expect(5);
        ran.shows("nothing of the edit is kept").shows(&format!("{at}: not kept"));
        assert_eq!(world.state()["bindings"], before, "{at}");
    }
    let world = sent_once();
    edit(&world, |file| file["bindings"]["docs"]["commit"] = json!("0123456789ab"));
    world.descent(&["validate"]).expect(0).says("/bindings/docs/commit: this is a label");
}

#[test]
fn a_result_of_a_group_is_a_fault() {
    let world = World::new();
    let atoms = json!({"way": {"choices": ["a", "b"]}, "a": task("touch a"), "b": task("touch b")});
    world.align(&plan(&["test -e a"], json!({}), atoms));
    edit(&world, |file| file["bindings"]["way"] = json!({"summary": "mine"}));
    world.run().expect(65).says("`way` has no result of its own").says("`selected`");
}

#[test]
fn a_result_that_a_person_writes_brings_no_file_and_says_so() {
    let world = World::new();
    let atoms = json!({"a": task("touch a"), "b": task("touch b")});
    world.align(&plan(&["test -e b"], json!({}), atoms));
    edit(&world, |file| file["bindings"]["a"] = json!({"summary": "mine", "by": "me"}));
    let ran = world.descent(&["run"]).expect(0);
    ran.shows("no file comes with a result that you write: a");
    assert_eq!(world.state()["bindings"]["a"]["by"], "person");
    assert!(world.state()["bindings"]["a"]["at"].is_string());
}

/// The seal names the commit that an edit began from, whatever serial is typed beside it.
#[test]
fn another_serial_frees_nothing_of_internal() {
    for n in [1, 900] {
        let world = sent_once();
        let mut file = world.file();
        let serial = file["internal"]["serial"].as_u64().expect("a serial");
        file["internal"]["serial"] = json!(serial + n);
        forget(&mut file["internal"]["atoms"]["mail"], "status");
        file["run"]["status"] = json!("completed");
        fs::write(world.state_path(), file.to_string()).expect("saved");
        assert_eq!(world.status()["status"], "exhausted");
        world.descent(&["wait"]).expect(5).shows("exhausted");
        world.run().expect(5);
        assert_eq!(world.left("mail"), "sent\n", "{n}");
    }
}
