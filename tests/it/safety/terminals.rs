//! A job has no way to the person's terminal: nothing is asked there, and nothing is typed for them.

use serde_json::json;

use crate::{
    terminal::Terminal,
    world::{World, plan, task},
};

#[test]
fn what_asks_at_the_terminal_fails_at_once_and_nothing_reaches_the_persons_shell() {
    let world = World::new();
    let ask = "(read x </dev/tty) 2>asked && exit 9; (echo FAKE >/dev/tty) 2>>asked && exit 9; touch done";
    let check = "! (: </dev/tty) 2>/dev/null && test -s asked && test -f done";
    let file = world.plan(&plan(&[check], json!({}), json!({"A": task(ask)})));
    world.descent(&["align", "-y", "-f", &file]).expect(0);
    // A terminal is a session's own only where its leader opens it, as a shell does.
    let mut command = std::process::Command::new("setsid");
    let descent = world.command(&["run"]);
    command.args(["-w", "-c"]).arg(descent.get_program()).args(descent.get_args());
    for (name, value) in descent.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.current_dir(descent.get_current_dir().unwrap());
    let mut at = Terminal::of(command);
    at.sees("completed");
    assert_eq!(at.ends().code(), Some(0));
}
