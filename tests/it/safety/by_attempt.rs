//! A configuration that an attempt wrote: nothing that it starts runs before a person allowed it, however it came home.

use std::fs;

use serde_json::{Value, json};

use crate::{
    safety::trust::{marks, trust, trust_worker},
    world::{World, after, plan, task},
};

/// A worker and a notify command that each leave a mark outside.
fn configuration(world: &World) -> String {
    let mark = |name: &str| world.out(name).display().to_string();
    format!(
        "agents.worker.run = \"touch {} done\"\nroles.worker = \"worker\"\nnotify = \"touch {}\"\n",
        mark("worker"),
        mark("notify")
    )
}

fn task_of_a_worker() -> Value {
    let mut atom = after(&["A1"], "");
    atom.as_object_mut().unwrap().remove("action");
    atom
}

/// A run whose attempt wrote `text` into the configuration at `path`, and that could not complete.
fn written(path: &str, text: &str) -> World {
    let world = World::new();
    world.write("descent.toml", "agents.worker.run = \"exit 1\"\nroles.worker = \"worker\"\n");
    world.commit_all("a worker");
    trust_worker(&world);
    fs::create_dir(world.root().join("texts")).unwrap();
    let kept = world.root().join("texts/descent.toml");
    fs::write(&kept, text).unwrap();
    let write = task(&format!("mkdir -p sub; cp {} {path}", kept.display()));
    world.align(&plan(
        &["test -f done"],
        json!({"max_attempts": 1}),
        json!({"A1": write, "A2": task_of_a_worker()}),
    ));
    world
}

fn with_a_worker() -> World {
    let world = written("descent.toml", "");
    let text = configuration(&world);
    fs::write(world.root().join("texts/descent.toml"), text).unwrap();
    world
}

const TOLD: &str = "attempts changed descent.toml, which says what works next";
const AGAIN: [&str; 4] = ["run", "--json", "--set", "max_attempts=3"];

/// The run refuses to start what the attempt wrote.
#[track_caller]
fn is_asked_about(world: &World) {
    let ran = world.descent(&["run", "--set", "max_attempts=3"]);
    ran.expect(77)
        .says("E-NOT-TRUSTED")
        .says("descent.toml has commands or settings that an attempt of a run wrote")
        .says("next: descent trust");
    world.descent(&["run", "--detach"]).expect(77).says("E-NOT-TRUSTED");
    assert_eq!(marks(world), 0);
}

#[test]
fn a_worker_and_a_notify_command_that_an_attempt_wrote_run_only_when_they_are_allowed() {
    let world = with_a_worker();
    world.descent(&["run"]).expect(5).says(TOLD);
    world.descent(&["apply", "-n"]).expect(0).shows(TOLD);
    let applied = world.descent(&["apply", "--json"]).expect(0).json();
    assert_eq!(applied["configures"], json!(["descent.toml"]));
    is_asked_about(&world);
    trust(&world);
    world.descent(&AGAIN).expect(0);
    assert!(world.out("worker").exists());
    assert!(world.out("notify").exists());
}

#[test]
fn a_new_agreement_asks_about_what_an_attempt_wrote() {
    let world = with_a_worker();
    world.descent(&["run"]).expect(5);
    world.descent(&["apply"]).expect(0).shows(TOLD);
    let mut atom = task_of_a_worker();
    atom.as_object_mut().unwrap().remove("depends_on");
    let path = world.plan(&plan(&["test -f done"], json!({}), json!({"B1": atom})));
    let align = ["align", "--force", "-y", "-f", &path];
    world
        .descent(&align)
        .expect(77)
        .says("an attempt of a run wrote")
        .says("next: descent trust --worker");
    trust_worker(&world);
    world.descent(&align).expect(0);
    assert_eq!(marks(&world), 0);
    world.run().expect(0);
    assert!(world.out("worker").exists());
}

#[test]
fn a_persons_own_edit_asks_nothing_but_makes_no_command_beside_it_theirs() {
    let world = with_a_worker();
    world.descent(&["run"]).expect(5);
    world.descent(&["apply"]).expect(0);
    let text = configuration(&world);
    let worker = text.lines().next().unwrap();
    for beside in ["", "notify = \"true\"\n", "agents.b.run = \"true\"\n"] {
        world.write("descent.toml", &format!("# mine\n{worker}\n{beside}"));
        is_asked_about(&world);
    }
    world.write("descent.toml", "agents.worker.run = \"touch done\"\nroles.worker = \"worker\"\n");
    world.descent(&AGAIN).expect(0);
    assert_eq!(marks(&world), 0);
}

#[test]
fn what_a_branch_brought_home_is_asked_about_too() {
    let world = with_a_worker();
    world.descent(&["run"]).expect(5);
    world.descent(&["apply", "--branch", "result"]).expect(0).shows(TOLD);
    // The file as it was is the person's own.
    world.descent(&["run", "--json", "--set", "max_attempts=2"]).expect(5);
    world.git(&["merge", "-q", "--no-edit", "result"]);
    is_asked_about(&world);
}

/// In a repository of several projects, also where the other project is.
#[test]
fn a_configuration_of_a_project_below_is_asked_about_there() {
    let world = written(
        "sub/descent.toml",
        "agents.worker.run = \"touch done\"\nroles.worker = \"worker\"\n",
    );
    world.descent(&["run"]).expect(5).says("attempts changed sub/descent.toml");
    world.descent(&["apply"]).expect(0);
    let sub = world.repo().join("sub");
    fs::create_dir(sub.join(".descent")).unwrap();
    let mut atom = task_of_a_worker();
    atom.as_object_mut().unwrap().remove("depends_on");
    let path = world.plan(&plan(&["test -f done"], json!({}), json!({"B1": atom})));
    world
        .descent_in(&sub, &["align", "-y", "-f", &path])
        .expect(77)
        .says("an attempt of a run wrote");
}

/// Git writes another text than the commit has, or the file is a link to another.
#[test]
fn neither_a_filter_nor_a_link_hides_what_an_attempt_wrote() {
    let world = written("descent.toml", "# $Id$\n");
    let keyword = format!(
        "agents.worker.run = \"touch {} # $Id$\"\nroles.worker = \"worker\"\n",
        world.out("w").display()
    );
    fs::write(world.root().join("texts/descent.toml"), keyword).unwrap();
    world.replace_in_state("mkdir -p sub", "echo descent.toml ident >.gitattributes; true");
    world.descent(&["run"]).expect(5).says(TOLD);
    world.descent(&["apply"]).expect(0);
    assert!(world.read("descent.toml").contains("# $Id: "));
    is_asked_about(&world);

    let world = with_a_worker();
    world.replace_in_state("mkdir -p sub", "rm descent.toml; ln -s conf descent.toml; true");
    world.replace_in_state("toml descent.toml", "toml conf");
    world.descent(&["run"]).expect(5).says(TOLD);
    world.descent(&["apply"]).expect(0);
    is_asked_about(&world);
}

/// However it is named: at a beginning, over what stands here, and as new atoms.
#[test]
fn a_plan_that_an_attempt_wrote_is_asked_about_though_a_person_names_it() {
    let world = written("plan.json", "");
    let mark = task(&format!("touch {}; touch done", world.out("theirs").display()));
    let theirs = plan(&["test -f done"], json!({}), json!({"B1": mark}));
    fs::write(world.root().join("texts/descent.toml"), theirs.to_string()).unwrap();
    world.descent(&["run"]).expect(5);
    world.descent(&["apply"]).expect(0);
    let by_attempt = "plan.json is as an attempt of a run wrote it";
    let ways: [&[&str]; 3] = [
        &["align", "-y", "--force", "-f", "plan.json"],
        &["align", "-y", "-f", "plan.json"],
        &["redirect", "-y", "--add", "plan.json"],
    ];
    let before = world.state_bytes();
    // `apply` has committed it.
    assert!(world.git(&["ls-files"]).contains("plan.json"));
    for args in ways {
        let ran = world.descent(args).expect(77);
        ran.says(by_attempt).says("descent trust --plan plan.json --hash sha256:");
    }
    assert_eq!(world.state_bytes(), before);
    assert_eq!(marks(&world), 0);
    // Edited, it is the person's.
    let text = world.read("plan.json");
    world.write("plan.json", &text.replace("touch done", "touch done; :"));
    world.descent(&["align", "-n", "--force", "-f", "plan.json"]).expect(0);
    world.write("plan.json", &text);
    // It is remembered, also when another agreement stands here.
    world
        .descent(&[
            "align", "x", "--why", "y", "--check", "false", "--step", "a=true", "--force", "-y",
        ])
        .expect(0);
    world.descent(ways[0]).expect(77).says(by_attempt);
    let hash = world.descent(&["trust", "--plan", "plan.json", "--json"]).expect(77).json();
    let hash = hash["hash"].as_str().unwrap().to_owned();
    world.descent(&["trust", "--plan", "plan.json", "--hash", &hash]).expect(0);
    world.descent(ways[0]).expect(0);
}
