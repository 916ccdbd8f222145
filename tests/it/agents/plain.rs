//! Commands of plain words: their directory, their PATH, and how they fail.

use serde_json::json;

use crate::world::{Running, World, after, plan, task};

#[test]
fn plain_commands_have_their_directory_and_path_and_fail_in_the_words_of_the_shell() {
    let world = World::new();
    world.write(".gitignore", "probe\nbare\n");
    let out = world.out("").display().to_string();
    // Made by `setup`: the first is a program, the second a script that names no interpreter.
    let setup = format!(
        "printf '#!/bin/sh\\ntr \"\\\\0\" \"\\\\n\" \
         </proc/$$/environ >{out}/env\\npwd -P >{out}/cwd\\ntouch one\\n' >probe; \
         printf 'echo \"bare $1\" >{out}/bare\\ntouch done\\n' >bare; chmod +x probe bare"
    );
    let atoms = json!({
        "A1": task("./probe"),
        "A2": after(&["A1"], "bare two"),
        "A3": after(&["A2"], "no-such-program-at-all x"),
    });
    let constraints = json!({"setup": {"run": setup}, "max_attempts": 1});
    world.align(&plan(&["test -f one && test -f never"], constraints, atoms));
    let path = std::env::var("PATH").unwrap_or_default();
    // An empty part of PATH is the working directory.
    let mut command = world.command(&["run"]);
    command.env("PATH", format!("{path}:"));
    let ran = Running::of(command).wait();
    let pwd = format!("PWD={}", world.left("cwd"));
    assert!(world.left("env").contains(&pwd), "{}", world.left("env"));
    assert_eq!(world.left("bare"), "bare two\n");
    let said = ran.stdout + &ran.stderr;
    assert!(
        said.contains("exit 127 (not found)") && said.contains("no-such-program-at-all: "),
        "{said}"
    );
}
