//! The readers on recorded sessions of real agents: fixtures/agents/recorded.
use descent_core::{event::AgentEnd, id::UnixMillis, state::Tokens};
use serde_json::json;

use super::*;
use crate::agent::recorded;

/// All that is heard of a recorded session, up to the end of its turn.
fn read(name: &str) -> Heard {
    let text = recorded::text(name);
    let log = tempfile::NamedTempFile::new().expect("a log");
    let heard = Heard::new(log.path()).expect("a log");
    let mut claude = ClaudeStreamJson::default();
    let mut codex = CodexExecJson;
    for line in text.lines() {
        let meaning = match name.starts_with("claude") {
            true => claude.line(line, &heard),
            false => codex.line(line, &heard),
        };
        assert_ne!(meaning, LineMeaning::Foreign, "{name}: {line}");
        if meaning == LineMeaning::Turn {
            break;
        }
    }
    heard
}

fn end(name: &str) -> Option<AgentEnd> {
    read(name).with(|heard| heard.end.clone())
}

fn kind(name: &str) -> &'static str {
    recorded::kind(end(name).as_ref())
}

#[test]
fn each_recorded_session_ends_as_it_did() {
    let table = [
        ("claude-tool", "done"),
        ("claude-schema", "done"),
        ("claude-resume", "done"),
        ("claude-denied", "done"),
        ("claude-kill", "none"),
        ("claude-login-none", "login"),
        ("claude-login-refused", "key"),
        ("claude-credit", "credit"),
        ("claude-rate", "limited"),
        ("claude-limit", "limited"),
        ("claude-overloaded", "protocol"),
        ("claude-unreachable", "protocol"),
        ("claude-refusal", "refused"),
        ("claude-turns", "turns"),
        ("claude-budget", "turns"),
        ("claude-resume-unknown", "protocol"),
        ("codex-tool", "done"),
        ("codex-resume", "done"),
        ("codex-kill", "none"),
        ("codex-cancel", "none"),
        ("codex-unreachable", "none"),
        ("codex-login-none", "login"),
        ("codex-login-refused", "key"),
        ("codex-credit", "credit"),
        ("codex-rate", "limited"),
        ("codex-limit", "limited"),
        ("codex-overloaded", "protocol"),
        ("codex-cut", "protocol"),
        ("codex-refusal", "refused"),
    ];
    let wrong: Vec<String> = table
        .iter()
        .filter(|(name, wanted)| kind(name) != *wanted)
        .map(|(name, wanted)| format!("{name}: {:?}, not {wanted}", end(name)))
        .collect();
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn tokens_the_session_and_the_answer_are_those_that_were_told() {
    for (name, input, output, cached) in [("claude-tool", 130, 40, 80), ("codex-tool", 120, 40, 80)]
    {
        read(name).with(|heard| {
            let usage = heard.usage();
            let tokens = &usage.tokens;
            assert_eq!(
                (tokens.input, tokens.output, tokens.cached),
                (input, output, cached),
                "{name}"
            );
            assert!(heard.session.is_some(), "{name}");
            assert!(heard.message.contains("made proof.txt"), "{name}");
            assert_eq!(heard.tried.len(), 1, "{name}");
            assert!(heard.tried[0].target.contains("proof.txt"), "{name}");
        });
    }
    read("claude-schema").with(|heard| {
        let answer = heard.structured.as_deref().unwrap_or_default();
        assert!(answer.contains("made proof.txt"), "{answer}");
    });
}

#[test]
fn tokens_are_known_while_a_turn_goes_on_and_a_message_of_two_events_is_one_call() {
    let heard = Heard::new(&tempfile::tempdir().unwrap().path().join("log")).unwrap();
    let mut dialect = ClaudeStreamJson::default();
    let mut event = |id: &str, output: u64| {
        let usage = json!({"input_tokens": 10, "output_tokens": output,
                           "cache_creation_input_tokens": 5, "cache_read_input_tokens": 40});
        let message = json!({"id": id, "model": "m", "content": [], "usage": usage});
        let event = json!({"type": "assistant", "message": message});
        dialect.line(&event.to_string(), &heard);
    };
    event("one", 1);
    event("one", 20);
    event("two", 3);
    let usage = heard.with(|heard| heard.usage());
    assert_eq!(usage.calls, 2);
    assert_eq!(usage.tokens, Tokens::new(30, 23, 80));
    let sum = json!({"type": "result", "subtype": "success", "usage": {"input_tokens": 7}});
    dialect.line(&sum.to_string(), &heard);
    assert_eq!(
        heard.with(|heard| heard.usage()).tokens,
        Tokens::new(7, 0, 0)
    );
}

#[test]
fn a_plans_limit_is_known_with_its_end() {
    assert_eq!(
        end("claude-limit"),
        Some(AgentEnd::Limited {
            until: Some(UnixMillis(1_795_579_907_000))
        })
    );
}
