//! Agents that print without end what costs the loop something: sessions to keep, requests to answer, ids to remember.

use serde_json::json;

use super::talked::{by_worker, why};
use crate::world::{World, plan};

/// The outcome of an agent that runs this script, in words.
fn end_of(way: &str, script: &str) -> String {
    let world = World::new();
    let argv = json!(["sh", world.program("flood", script)]);
    let way = match way {
        "acp" => format!("acp = {argv}"),
        events => format!(
            "headless = {{events = \"{events}\", argv = {argv}, resume = [\"{{session}}\"]}}"
        ),
    };
    world.write("descent.toml", &format!("[agents.c]\n{way}\n[roles]\nworker = \"c\"\n"));
    world.align(&plan(
        &["test -f done"],
        json!({"max_attempts": 1, "max_transient": 0, "attempt_timeout": "20s"}),
        json!({"A1": by_worker("make the file done")}),
    ));
    world.run().expect(5);
    why(&world)
}

/// A script that prints such lines without end, of a number that counts up, and reads nothing.
fn endless(format: &str) -> String {
    format!(
        "#!/bin/sh\nlong=$(printf '%020000d' 0)\ni=0\nwhile :; do i=$((i+1)); printf '{format}\\n' $i || exit; done\n"
    )
}

#[test]
fn an_agent_that_names_a_new_session_in_each_line_broke_its_protocol() {
    for (events, line) in [
        ("claude-stream-json", r#"{"session_id":"%s"}"#),
        ("codex-exec-json", r#"{"type":"thread.started","thread_id":"%s"}"#),
    ] {
        let why = end_of(events, &endless(line));
        assert!(why.contains("named more than 16 sessions in one turn"), "{why}");
    }
}

#[test]
fn an_agent_that_sends_requests_without_end_or_with_an_endless_id_broke_its_protocol() {
    let request = r#"{"jsonrpc":"2.0","id":%s,"method":"fs/read_text_file","params":{}}"#;
    let with_long = |text: &str| endless(&text.replace("LONG", "'$long'"));
    for (script, words) in [
        (endless(request), "more than 1000 requests"),
        (with_long(&request.replace("%s", "\"LONG%s\"")), "an id of more than 200 bytes"),
        (with_long(&request.replace("fs/", "LONG")), "an id of more than 200 bytes"),
        (with_long("LONG %s"), "something else than messages"),
        (
            with_long(r#"{"jsonrpc":"2.0","method":7,"id":"LONG%s"}"#),
            "something else than messages",
        ),
    ] {
        let why = end_of("acp", &script);
        assert!(why.contains(words), "{words}\n{why}");
    }
}
