//! The words of a prompt about the groups around its atom.

use serde_json::{Value, json};

use crate::world::{World, plan};

/// A world whose worker keeps its prompt, and then does what `script` says.
fn world(script: &str) -> World {
    let world = World::new();
    let out = world.root().join("out").display().to_string();
    let script =
        format!("#!/bin/sh\ncp \"$DESCENT_PROMPT\" {out}/prompt.$DESCENT_ATOM\n{script}\n");
    let path = world.program("worker", &script);
    world.write(
        "descent.toml",
        &format!("agents.worker.run = \"{}\"\nroles.worker = \"worker\"\n", path.display()),
    );
    world
}

#[track_caller]
fn check(prompt: &str, words: &[&str]) {
    for words in words {
        assert!(prompt.contains(words), "no `{words}` in:\n{prompt}");
    }
}

fn quiet() -> Value {
    json!({"quiet": {"description": "Quiet list.c\nwithout changing what it prints", "choices": [
        {"id": "ask", "description": "by changing the API"},
        {"id": "cast", "action": {"run": "exit 3"}},
        {"id": "pragma", "description": "by a pragma"},
        {"id": "later", "description": "by another\nrelease"},
    ]}})
}

#[test]
fn a_choice_is_told_what_it_is_a_way_to_and_how_those_before_it_ended() {
    let world = world(
        "[ $DESCENT_ATOM = pragma ] || { echo '{\"clarity\": \"BLOCKED\", \"summary\": \"the API is shared\"}' \
         > \"$DESCENT_RESULT\"; exit 0; }\ntouch done",
    );
    world.align(&plan(&["test -e done"], json!({}), quiet()));
    world.run().expect(0);
    let first = world.left("prompt.ask");
    check(
        &first,
        &[
            "# What your part belongs to\n\nask is one of 4 ways to do quiet, and one of them is enough:\n",
            "    Quiet list.c\n    without changing what it prints\n",
            "The others are not yours to do:\n- cast\n- pragma (by a pragma)\n- later (by another release)\n",
        ],
    );
    check(
        &world.left("prompt.pragma"),
        &[
            "by a pragma\n\n# What your part belongs to\n\npragma is one of 4 ways to do quiet",
            "- ask (by changing the API): failed: blocked: the API is shared\n- cast: failed: exit 3\n- later",
        ],
    );
}

#[test]
fn a_choice_that_was_made_in_vain_is_told_as_such() {
    let world = world("[ $DESCENT_ATOM = pragma ] && touch done; touch $DESCENT_ATOM");
    world.align(&plan(&["test -e done"], json!({}), quiet()));
    world.run().expect(0);
    let vain = "- ask (by changing the API): was made, and the goal was not reached with it: test -e done (exit 1)\n";
    check(&world.left("prompt.pragma"), &[vain]);
}

#[test]
fn a_part_is_told_every_group_around_it_and_the_other_parts() {
    let world = world("touch $DESCENT_ATOM");
    let atoms = json!({"site": {"description": "the new site", "choices": [
        {"id": "static", "description": "without a server", "parts": {
            "pages": {"description": "write the pages"},
            "style": {"description": "give them a style", "depends_on": "pages"},
        }},
        {"id": "served", "description": "by a server"},
    ]}, "alone": {"description": "in no group"}});
    world.align(&plan(&["test -e style && test -e alone"], json!({}), atoms));
    world.run().expect(0);
    check(
        &world.left("prompt.style"),
        &[
            "style is one of 2 parts of static, and all of them are needed:\n    without a server\n",
            "The others are not yours to do:\n- pages (write the pages): done\n",
            "static is one of 2 ways to do site, and one of them is enough:\n    the new site\n",
            "- served (by a server)\n",
        ],
    );
    let alone = world.left("prompt.alone");
    assert!(!alone.contains("belongs to"), "{alone}");
}

#[test]
fn what_is_told_of_a_group_has_its_limits() {
    let world = world("touch done");
    let others = (0..40).map(|n| json!({"id": format!("w{n}"), "description": "x".repeat(9_000)}));
    let mut choices = vec![json!({"id": "first", "description": "begin"})];
    choices.extend(others);
    let atoms = json!({"many": {"description": "y".repeat(9_000), "choices": choices}});
    world.align(&plan(&["test -e done"], json!({}), atoms));
    world.run().expect(0);
    let prompt = world.left("prompt.first");
    check(&prompt, &["- and 20 more\n", "x…)", "y…\n"]);
    assert!(prompt.len() < 12_000, "{} bytes", prompt.len());
}
