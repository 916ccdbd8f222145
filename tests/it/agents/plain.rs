//! Commands of plain words, which start without a shell: what a person sees of them is as with one.

use serde_json::json;

use crate::world::{Running, World, after, plan, task};

#[test]
fn plain_commands_run_without_a_shell_and_fail_in_its_words() {
    let world = World::new();
    world.write(".gitignore", "probe\nbare\n");
    let out = world.out("").display().to_string();
    // Made by `setup`: the first is a program, the second a script that names no interpreter.
    let setup = format!(
        "printf '#!/bin/sh\\ncat /proc/$PPID/comm >{out}/parent\\ntr \"\\\\0\" \"\\\\n\" \
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
    let parent = world.left("parent");
    assert!(parent.trim() != "sh" && parent.trim() != "dash", "{parent}");
    let pwd = format!("PWD={}", world.left("cwd"));
    assert!(world.left("env").contains(&pwd), "{}", world.left("env"));
    assert_eq!(world.left("bare"), "bare two\n");
    let said = ran.stdout + &ran.stderr;
    assert!(
        said.contains("exit 127 (not found)") && said.contains("no-such-program-at-all: "),
        "{said}"
    );
}
