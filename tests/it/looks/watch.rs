//! A run that is watched from another process: its lines and its screen.

use serde_json::json;

use crate::{
    screen::Terminal,
    world::{Running, World, plan, task, wait_for, with},
};

/// A group whose first choice works until the test lets it go on.
fn waiting(world: &World) {
    let go = world.out("go").display().to_string();
    let run = format!("echo working; while ! test -f {go}; do sleep 0.01; done; touch done");
    let atoms = json!({
        "G": {"kind": "any", "choices": ["A1", "A2"]},
        "A1": with(task(&run), json!({"description": "wait for it"})),
        "A2": task("touch done"),
    });
    world.align(&plan(&["test -f done"], json!({}), atoms));
}

fn begun(world: &World) -> Running {
    waiting(world);
    let run = world.start(&["run", "--json"]);
    let work = world.repo().join(".descent/state.json.d/work.json");
    let is_at_work = || std::fs::read_to_string(&work).is_ok_and(|work| work.contains("A1.1"));
    wait_for("the work", is_at_work);
    run
}

#[test]
fn elsewhere_it_prints_the_lines_of_the_run_and_ends_with_its_code() {
    let world = World::new();
    let mut run = begun(&world);
    let mut watches = [world.start(&["watch"]), world.start(&["watch", "--json"])];
    world.touch("go");
    let run = run.wait().expect(0);
    let [lines, json] = watches.each_mut().map(|watch| watch.wait().expect(0));
    lines.shows("start     A1, attempt 1 of 1: wait for it").shows("completed");
    assert_eq!(json.stdout, run.stdout, "the same lines");
    let again = world.descent(&["watch"]).expect(0);
    again.shows("completed: ");
}

#[test]
fn a_watched_run_that_was_killed_is_told_as_cut_off() {
    let world = World::new();
    let run = begun(&world);
    let mut watch = world.start(&["watch"]);
    run.kill();
    watch.wait().expect(3).says("E-CUT-OFF");
}

#[test]
fn at_a_terminal_keys_guide_stop_and_leave_and_the_terminal_is_given_back() {
    let world = World::new();
    let mut run = begun(&world);
    let watch = Terminal::start(&world, 80, &["watch"], &[]);
    watch.wait_for("working");
    watch.presses("gthe key is on the door\r");
    let guidance = || world.state()["work_graph"]["atoms"]["A1"]["guidance"].clone();
    wait_for("the guidance", || guidance() == json!(["the key is on the door"]));
    watch.presses("sy");
    run.wait().expect(3);
    watch.presses("q");
    let (code, written) = watch.left();
    assert_eq!(code, Some(0), "{written:?}");
    for given_back in ["\x1b[?1049l", "\x1b[?25h"] {
        assert!(written.contains(given_back), "{written:?}");
    }
}

#[test]
fn the_output_of_an_earlier_agreement_is_not_shown_as_that_of_an_atom_of_the_same_name() {
    let world = World::new();
    let old = json!({"A1": task("echo of the old one; exit 1")});
    world.align(&plan(&["false"], json!({"max_attempts": 1}), old));
    world.run().expect(5);
    let new = plan(&["true"], json!({}), json!({"A1": task("true"), "A2": task("true")}));
    world.descent(&["align", "--force", "-y", "-f", &world.plan(&new)]).expect(0);
    let watch = Terminal::start(&world, 80, &["watch"], &[]);
    watch.wait_for("A2");
    watch.presses("q");
    let (_, written) = watch.left();
    assert!(!written.contains("of the old one"), "{written:?}");
    assert!(!written.contains("output of A1.1"), "{written:?}");
}

#[test]
fn neither_a_cut_sequence_nor_a_question_keeps_ctrl_c_from_leaving() {
    for cut in ["\x1b[<0;1", "\x1b[1;", "\x1b[200~x", "gx", "s"] {
        let world = World::new();
        let run = begun(&world);
        let watch = Terminal::start(&world, 80, &["watch"], &[]);
        watch.wait_for("working");
        watch.presses(cut);
        watch.presses("\x03");
        assert_eq!(watch.left().0, Some(0), "{cut:?}");
        run.kill();
    }
}

#[test]
fn a_watch_that_is_killed_ends_nothing_else() {
    let world = World::new();
    let mut run = begun(&world);
    let watch = Terminal::start(&world, 80, &["watch"], &[]);
    watch.wait_for("working");
    watch.signal(rustix::process::Signal::TERM);
    let (_, written) = watch.left();
    assert!(written.contains("\x1b[?1049l"), "the terminal is given back: {written:?}");
    world.touch("go");
    run.wait().expect(0);
}

/// Whether a watch works in this project.
fn is_watching(world: &World) -> bool {
    let here = world.repo().canonicalize().expect("the project");
    let entries = std::fs::read_dir("/proc").expect("processes").flatten();
    let mut here_at_work = entries.filter(|entry| {
        let cwd = std::fs::read_link(entry.path().join("cwd"));
        cwd.is_ok_and(|cwd| cwd == here)
    });
    here_at_work.any(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        line.ends_with(b"descent\0watch\0")
    })
}

#[test]
fn a_watch_whose_terminal_is_gone_ends() {
    let world = World::new();
    let mut run = begun(&world);
    let seen = world.out("seen");
    let mut script = world.bare_command("script");
    let line = format!("{} watch", env!("CARGO_BIN_EXE_descent"));
    script.args(["-q", "-f", "-c", &line]).arg(&seen);
    // Its end would be a key.
    script.stdin(std::process::Stdio::piped());
    script.env("TERM", "xterm-256color").env("SHELL", "/bin/sh");
    let script = Running::of(script);
    let is_drawn = || std::fs::read(&seen).is_ok_and(|seen| !seen.is_empty());
    wait_for("the screen", || is_drawn() && is_watching(&world));
    script.kill();
    wait_for("its end", || !is_watching(&world));
    world.touch("go");
    run.wait().expect(0);
}
