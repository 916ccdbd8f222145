//! The live view for a person at a terminal, its remains, and colour.

use serde_json::json;

use crate::{
    screen::Terminal,
    world::{World, plan, task, with},
};

/// An atom in a group that works until the test lets it go on.
fn waiting(world: &World) {
    let go = world.out("go").display().to_string();
    let run = format!("while ! test -f {go}; do sleep 0.01; done; touch done");
    let atoms = json!({
        "G": {"kind": "any", "choices": ["A1", "A2"]},
        "A1": with(task(&run), json!({"description": "wait for it"})),
        "A2": task("false"),
    });
    world.align(&plan(&["test -f done"], json!({"budget": {"time": "30m"}}), atoms));
}

#[test]
fn in_a_narrow_terminal_no_line_of_a_run_wraps() {
    let world = World::new();
    waiting(&world);
    let terminal = Terminal::start(&world, 40, &["run"], &[]);
    terminal.wait_for("1/1");
    world.touch("go");
    let shown = terminal.end().expect(0);
    let is_told = |line: &&String| {
        let copied = ["result", "  or:", "next:"];
        !copied.iter().any(|word| line.trim_start().starts_with(word))
    };
    let long = shown.screen.iter().filter(is_told);
    let long: Vec<&String> = long.filter(|line| line.chars().count() > 40).collect();
    assert!(long.is_empty(), "{long:#?}");
}

#[test]
fn a_terminal_that_cannot_a_program_and_who_wants_silence_get_no_drawing() {
    let world = World::new();
    waiting(&world);
    world.touch("go");
    for (args, env) in [
        (&["run", "--json"][..], &[][..]),
        (&["run", "-q"], &[]),
        (&["run", "--no-input"], &[]),
        (&["run"], &[("CI", "true")]),
        (&["run"], &[("TERM", "dumb")]),
    ] {
        let shown = Terminal::start(&world, 80, args, env).end().expect(0);
        assert!(!shown.written.contains("\x1b[J"), "{args:?} {env:?}: {}", shown.written);
        assert!(!shown.written.contains('▸'), "{args:?} {env:?}: {}", shown.written);
    }
    let dumb = Terminal::start(&world, 80, &["status"], &[("TERM", "dumb")]).end().expect(0);
    assert!(!dumb.written.contains('\x1b'), "{}", dumb.written);
}

#[test]
fn a_check_that_takes_its_time_is_named_while_it_runs() {
    let world = World::new();
    let go = world.out("go").display().to_string();
    let check = format!("while ! test -f {go}; do sleep 0.01; done");
    world.touch("go");
    world.align(&plan(&[&check], json!({}), json!({"A1": task("true")})));
    std::fs::remove_file(world.out("go")).unwrap();
    let terminal = Terminal::start(&world, 80, &["verify"], &[]);
    terminal.wait_for("check 1 of 1: while");
    world.touch("go");
    let shown = terminal.end().expect(0);
    assert!(!shown.text().contains("check 1 of 1"), "{}", shown.text());
    assert!(shown.text().contains("the base case holds"), "{}", shown.text());
}

#[test]
fn colour_goes_to_terminals_alone_unless_it_is_asked_for() {
    let world = World::new();
    waiting(&world);
    let colour = |args: &[&str], env: &[(&str, &str)]| {
        Terminal::start(&world, 80, args, env).end().expect(0).is_coloured()
    };
    assert!(colour(&["status"], &[]));
    assert!(colour(&["--help"], &[]));
    assert!(!colour(&["status"], &[("NO_COLOR", "1")]));
    assert!(!colour(&["--help"], &[("NO_COLOR", "1")]));
    assert!(!colour(&["status", "--color", "never"], &[]));
    assert!(!colour(&["--color=never", "--help"], &[]));
    assert!(colour(&["status", "--color=always"], &[("NO_COLOR", "1")]));
    assert!(!colour(&["status", "--json"], &[]));
    for args in [&["status"][..], &["--help"], &["graph"], &["status", "--color", "auto"]] {
        assert!(!world.descent(args).expect(0).stdout.contains('\x1b'), "{args:?}");
    }
    let forced = world.descent(&["status", "--color", "always"]).expect(0);
    assert!(forced.stdout.contains("\x1b["), "{}", forced.stdout);
    let mut forced = world.command(&["graph"]);
    forced.env("CLICOLOR_FORCE", "1");
    let forced = crate::world::Running::of(forced).wait().expect(0);
    assert!(forced.stdout.contains("\x1b["), "{}", forced.stdout);
    world.descent(&["status", "--color", "purple"]).expect(2).says("purple");
}
