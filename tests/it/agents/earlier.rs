//! The changes of earlier attempts: as patches beside the next prompt.

use serde_json::json;

use super::talked;
use crate::world::{World, plan};

/// A world whose worker keeps its prompt, and then does what `script` says. `OUT` is the place outside.
fn world(script: &str) -> World {
    let world = World::new();
    let script =
        format!("#!/bin/sh\ncp \"$DESCENT_PROMPT\" OUT/prompt.$DESCENT_ATTEMPT\n{script}\n");
    let out = world.root().join("out").display().to_string();
    let path = world.program("worker", &script.replace("OUT", &out));
    world.write(
        "descent.toml",
        &format!("agents.worker.run = \"{}\"\nroles.worker = \"worker\"\n", path.display()),
    );
    world
}

#[test]
fn the_next_attempt_can_apply_what_the_one_before_had_changed() {
    // The second one takes up the change, and the third finds both.
    let world = world(
        "ls $(dirname \"$DESCENT_PROMPT\") > OUT/files.$DESCENT_ATTEMPT
         case $DESCENT_ATTEMPT in
         1) echo one > a; printf '\\000\\001' > binary; exit 1;;
         2) test ! -e a; git apply \"$(dirname \"$DESCENT_PROMPT\")/earlier-1.patch\"; cp binary OUT/binary; echo two >> a; exit 1;;
         *) touch done;;
         esac",
    );
    let atoms = json!({"A1": {"description": "x"}});
    world.align(&plan(&["test -e done"], json!({}), atoms));
    world.run().expect(0);
    let (second, third) = (world.left("prompt.2"), world.left("prompt.3"));
    assert!(
        second.contains("(it changed a and binary)\n    (its change, to read or to apply: /"),
        "{second}"
    );
    assert!(second.contains("/attempts/A1.2/earlier-1.patch)"), "{second}");
    assert_eq!(std::fs::read(world.out("binary")).unwrap(), [0, 1]);
    for patch in ["earlier-1.patch", "earlier-2.patch"] {
        assert!(third.contains(&format!("/attempts/A1.3/{patch})")), "{third}");
        assert!(world.left("files.3").contains(patch));
    }
    assert_eq!(world.left("files.1"), "bindings.json\nout\nprompt.md\n");
}

#[test]
fn a_change_that_is_too_large_is_no_patch_and_one_that_is_none_is_told() {
    let world = world(
        "case $DESCENT_ATTEMPT in
         1) head -c 3000000 /dev/urandom | od -x > a; exit 1;;
         2) exit 1;;
         *) touch done;;
         esac",
    );
    world.align(&plan(&["test -e done"], json!({}), json!({"A1": {"description": "x"}})));
    world.run().expect(0);
    assert!(world.left("prompt.2").contains("(it changed a)"));
    let third = world.left("prompt.3");
    assert!(third.contains("(it changed no file)"), "{third}");
    assert!(!third.contains(".patch"), "{third}");
}

#[test]
fn the_next_attempt_is_told_the_tool_calls_of_an_agent_that_failed() {
    for protocol in talked::ALL {
        let world = talked::world(protocol, "works", &[("FIXTURE_DO", "echo wrong > other")]);
        world.descent(&["run", "--set", "max_attempts=2"]).expect(5);
        let second = world.repo().join(".descent/state.json.d/attempts/A1.2/prompt.md");
        let second = std::fs::read_to_string(second).expect("a prompt");
        let (_, told) = second
            .split_once("    (its tool calls:)\n")
            .unwrap_or_else(|| panic!("{protocol:?}\n{second}"));
        let call = told.lines().next().unwrap_or_default();
        assert!(call.contains("echo wrong > other"), "{protocol:?}\n{second}");
    }
}
