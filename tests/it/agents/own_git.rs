//! The loop's own git: no attempt decides what it reads, by what is written into the repository of the run, and none
//! makes it wait.

use serde_json::{Value, json};

use crate::{
    processes::processes_in,
    world::{Ran, Running, World, after, plan, task, wait_for, wait_for_or},
};

/// An attack, which is given the repository of the run and a filter that hides a difference.
fn act(world: &World, act: &str) -> String {
    format!(
        "filter() {{ printf '[filter \"sw\"]\\n\\tsmudge = \"touch {ran}; sed s/EVIL/yes/\"\\n\
         \\tclean = \"touch {ran}; sed s/yes/EVIL/\"\\n'; }}
         for d in {project}/.descent/state.json.d/repository/*; do {act}; done
         echo yes >> a.txt",
        ran = world.out("ran").display(),
        project = world.repo().display(),
    )
}

/// A run in which no fence holds: what comes behind it is tried here.
fn unfenced(world: &World) -> Ran {
    let mut command = world.command(&["run"]);
    command.env("DESCENT_ENDING", "guard").env("TMPDIR", world.root());
    Running::of(command).wait()
}

const ACTS: &[&str] = &[
    "filter >> $d/config; echo 'a.txt filter=sw' > $d/info/attributes",
    "filter >> $d/config; echo 'a.txt filter=sw' > .gitattributes",
    "filter >> $d/config; echo 'a.txt filter=sw' > $d/descent-attributes",
    "filter > $d/config.worktree; printf '[extensions]\\n\\tworktreeConfig = true\\n' >> $d/config
     for t in $d/trees/*; do filter > $t/config.worktree; done; echo 'a.txt filter=sw' > $d/info/attributes",
    "own=$d/../../own; mkdir -p $own/info; { cat $d/config; filter; } > $own/config
     echo 'a.txt filter=sw' > $own/info/attributes; cp $d/HEAD $own; ln -s $d/objects $d/refs $own
     echo $own > $d/commondir; for t in $d/trees/*; do echo $own > $t/commondir; done",
    "rm $d/config; mkfifo $d/config",
    "rm -f $d/info/attributes; mkdir -p $d/info/attributes/x",
    "rm -rf $d/info; mkdir $d/../../info; filter >> $d/config; ln -s ../../info $d/info; echo 'a.txt filter=sw' > $d/info/attributes",
];

fn delivers_what_was_checked(limits: Value) {
    for attack in ACTS {
        let world = World::new();
        world.align(&plan(
            &["grep -q yes a.txt"],
            limits.clone(),
            json!({"A1": task(&act(&world, attack))}),
        ));
        unfenced(&world).expect(0);
        world.descent(&["apply"]).expect(0);
        assert_eq!(world.read("a.txt"), "hello\nyes\n", "{attack}");
        assert!(!world.out("ran").exists(), "{attack}");
    }
}

#[test]
fn no_filter_that_an_attempt_wrote_for_the_loops_git_comes_between_check_and_result() {
    delivers_what_was_checked(json!({}));
}

#[test]
fn nor_one_in_a_repository_that_borrows_nothing() {
    delivers_what_was_checked(json!({"workspace": "shadow"}));
}

#[test]
fn no_merge_driver_that_an_attempt_wrote_runs() {
    let world = World::new();
    world.write("f", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    world.git(&["add", "f"]);
    let driver = format!(
        "printf '[merge \"x\"]\\n\\tdriver = \"touch {}; exit 1\"\\n' >> $d/config; echo 'f merge=x' > $d/info/attributes",
        world.out("ran").display()
    );
    // It is written when the other change has landed.
    let second = format!("sleep 0.6; {}; sed -i s/9/nine/ f", act(&world, &driver));
    let atoms = json!({
        "A1": task("sed -i s/1/one/ f"),
        "A2": task(&second),
        "A3": after(&["A1", "A2"], "sed -i s/5/five/ f"),
    });
    world.align(&plan(&["grep -q five f"], json!({}), atoms));
    unfenced(&world).expect(0);
    assert_eq!(world.result_file("f"), "one\n2\n3\n4\nfive\n6\n7\n8\nnine\n");
    assert!(!world.out("ran").exists());
}

#[test]
fn a_repository_that_became_a_link_is_refused_by_name() {
    let world = World::new();
    // A command that names the project would be led to the checkout.
    std::fs::write(world.out("repo"), world.repo().display().to_string()).unwrap();
    let swap = format!(
        "(cd $(cat {})/.descent/state.json.d/repository; for d in *; do mv $d ../moved; ln -s ../moved $d; done); echo yes > yes",
        world.out("repo").display()
    );
    world.align(&plan(&["test -f yes"], json!({}), json!({"A1": task(&swap)})));
    let ran = unfenced(&world);
    assert_ne!(ran.code, Some(0), "{}", ran.stderr);
    ran.says("is no directory, so that it cannot be the repository of a run");
}

/// The second attempt succeeds in the same workspace.
#[track_caller]
fn fails_by_name(leave: &str, path: &str) {
    let world = World::new();
    let again = world.out("again").display().to_string();
    let step = format!("echo 1 > one; [ -e {again} ] && exit 0; touch {again}; {leave}");
    let plan = plan(&["test -f one"], json!({"max_attempts": 2}), json!({"A1": task(&step)}));
    world.align(&plan);
    world.run().expect(0);
    let events = world.descent(&["log", "--json"]).expect(0).stdout;
    let named = format!("`{path}` is a named pipe, and git would wait for it");
    assert!(events.contains(&named), "{events}");
    assert_eq!(world.result_file("one"), "1\n");
}

#[test]
fn a_pipe_that_git_would_wait_for_fails_its_attempt_by_name() {
    fails_by_name("mkfifo .gitignore", ".gitignore");
    fails_by_name("mkfifo .gitmodules", ".gitmodules");
    fails_by_name("mkdir d; echo 1 > d/x; mkfifo d/.gitattributes", "d/.gitattributes");
}

#[test]
fn a_pipe_that_git_waits_for_in_a_directory_is_found_while_it_waits() {
    fails_by_name("mkdir -p a/b; echo 1 > a/b/x; mkfifo a/b/.gitignore", "a/b/.gitignore");
}

#[test]
fn a_pipe_of_one_attempt_is_not_there_in_the_next() {
    let world = World::new();
    let again = world.out("again");
    let step = format!(
        "mkdir -p d && mkfifo ctl d/ctl || exit 9; [ -e {0} ] || {{ touch {0}; exit 1; }}; echo 1 > one",
        again.display()
    );
    world.align(&plan(&["test -f one"], json!({"max_attempts": 2}), json!({"A1": task(&step)})));
    world.run().expect(0);
    assert_eq!(world.state()["run"]["spent"]["attempts"], 2);
}

#[test]
fn a_repository_that_a_step_makes_is_no_part_of_the_result_and_is_named() {
    let world = World::new();
    let step = "git init -q vendor && echo 1 > vendor/x && echo 1 > one";
    world.align(&plan(&["test -f one"], json!({}), json!({"A1": task(step)})));
    world.run().expect(0);
    let why = world.descent(&["why", "A1"]).expect(0);
    why.shows("not taken: vendor (a repository of its own)");
    assert_eq!(world.result_file("one"), "1\n");
    assert_eq!(world.result_file("vendor/x"), "");
}

#[test]
fn a_link_under_a_name_that_git_reads_is_an_ordinary_part_of_the_work() {
    let world = World::new();
    let step = "mkfifo pipe; ln -s pipe .gitignore; echo 1 > one";
    world.align(&plan(&["test -f one"], json!({}), json!({"A1": task(step)})));
    world.run().expect(0);
}

#[test]
fn git_itself_ends_with_a_killed_loop() {
    let world = World::new();
    let step = "mkdir -p a/b; echo 1 > a/b/x; mkfifo a/b/.gitignore";
    world.align(&plan(&["test -f one"], json!({}), json!({"A1": task(step)})));
    let run = world.start(&["run"]);
    let gits = || {
        let mut all = processes_in(&world.cache());
        all.retain(|line| line.contains("git") && line.contains("status"));
        all
    };
    wait_for("git to wait", || !gits().is_empty());
    run.kill();
    wait_for_or("git's end", || gits().is_empty(), || format!("{:?}", gits()));
}

#[test]
fn a_link_in_place_of_its_own_directory_makes_no_attempt_free() {
    let world = World::new();
    let elsewhere = world.out("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let step = format!(
        "d=$(dirname \"$DESCENT_RESULT\"); rm -rf \"$d\"; ln -s {} \"$d\"; exit 1",
        elsewhere.display()
    );
    world.align(&plan(&["test -f one"], json!({"max_attempts": 2}), json!({"A1": task(&step)})));
    world.run().expect(5);
    assert_eq!(world.state()["run"]["spent"]["attempts"], 2);
    assert_eq!(std::fs::read_dir(elsewhere).unwrap().count(), 0);
}
