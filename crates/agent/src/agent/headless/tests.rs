//! The readers on recorded sessions of real agents: fixtures/agents/recorded.
use descent_core::{
    event::AgentEnd,
    id::UnixMillis,
    state::{Micros, Tokens, Usage},
};
use serde_json::json;

use super::*;
use crate::agent::{heard::EarlierUsage, tests::recorded};

/// All that is heard of a recorded session, up to the end of its turn.
fn read(name: &str) -> Heard {
    let text = recorded::text(name);
    let log = tempfile::NamedTempFile::new().expect("a log");
    let heard =
        Heard::new(log.path(), EarlierUsage::OfOtherSessions(Usage::default())).expect("a log");
    let mut claude = ClaudeStreamJson::default();
    let mut codex = CodexExecJson;
    for line in text.lines() {
        let meaning = if name.starts_with("claude") {
            claude.line(line, &heard)
        } else {
            codex.line(line, &heard)
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
fn an_answer_that_is_longer_than_claude_allows_is_cut_and_breaks_no_protocol() {
    let words = "API Error: Claude's response exceeded the 32000 output token maximum. To configure this behavior, \
                 set the CLAUDE_CODE_MAX_OUTPUT_TOKENS environment variable.";
    let end = trouble::of_error(None, words);
    assert_eq!(end, AgentEnd::CutShort(words.to_owned()));
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
        ("claude-overloaded", "down"),
        ("claude-unreachable", "down"),
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
        ("codex-overloaded", "down"),
        ("codex-cut", "down"),
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
    let heard = Heard::new(
        &tempfile::tempdir().unwrap().path().join("log"),
        EarlierUsage::OfOtherSessions(Usage::default()),
    )
    .unwrap();
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
    assert_eq!(heard.with(|heard| heard.usage()).tokens, Tokens::new(7, 0, 0));
}

#[test]
fn a_plans_limit_is_known_with_its_end() {
    assert_eq!(
        end("claude-limit"),
        Some(AgentEnd::Limited { until: Some(UnixMillis(1_795_579_907_000)) })
    );
}

#[test]
fn what_an_agent_tells_of_its_whole_session_is_not_added_to_what_it_had_told_before() {
    let before = Usage { calls: 2, tokens: Tokens::new(100, 10, 0), ..Usage::default() };
    let done =
        json!({"type": "turn.completed", "usage": {"input_tokens": 200, "output_tokens": 20}});
    for (earlier, tokens) in [
        (EarlierUsage::OfThisSession(before.clone()), Tokens::new(200, 20, 0)),
        (EarlierUsage::OfOtherSessions(before.clone()), Tokens::new(300, 30, 0)),
    ] {
        let log = tempfile::NamedTempFile::new().unwrap();
        let heard = Heard::new(log.path(), earlier).unwrap();
        CodexExecJson.line(&done.to_string(), &heard);
        let usage = heard.with(|heard| heard.usage());
        assert_eq!((usage.calls, usage.tokens), (2, tokens));
    }
}

#[test]
fn what_an_agent_tells_of_its_process_is_added_to_what_it_had_told_before() {
    let before = Usage {
        calls: 1,
        tokens: Tokens::new(100, 10, 0),
        cost: Some(Micros(200_000)),
        ..Usage::default()
    };
    let log = tempfile::NamedTempFile::new().unwrap();
    let heard = Heard::new(log.path(), EarlierUsage::OfThisSession(before)).unwrap();
    let done = json!({"type": "result", "subtype": "success", "usage": {"input_tokens": 7},
                      "total_cost_usd": 0.3, "result": "{\"summary\": \"told here alone\"}"});
    ClaudeStreamJson::default().line(&done.to_string(), &heard);
    heard.with(|heard| {
        assert_eq!(heard.usage().tokens, Tokens::new(107, 10, 0));
        assert_eq!(heard.usage().cost, Some(Micros(500_000)));
        assert!(heard.answer_text().contains("told here alone"));
    });
}

#[test]
fn a_status_comes_before_words_and_what_is_no_trouble_of_a_provider_is_none() {
    for (status, words, expected) in [
        (Some(529), "", "down"),
        (Some(500), "rate limit service failed", "down"),
        (Some(503), "The model is overloaded", "down"),
        (None, "API Error: 529 Overloaded", "down"),
        (None, "unexpected status 502 Bad Gateway: …", "down"),
        (None, "API Error: Connection error.", "down"),
        (None, "API Error: Request timed out", "down"),
        (None, "getaddrinfo ENOTFOUND api.anthropic.com", "down"),
        (None, "connect ECONNREFUSED 10.0.0.1:3128", "down"),
        (None, "read ECONNRESET", "down"),
        (None, "TypeError: fetch failed", "down"),
        (None, "Proxy error: tunnel failed", "down"),
        (None, "the TLS handshake was cut off", "down"),
        (None, "unable to get local issuer certificate", "of a provider"),
        (None, "API Error: Prompt is too long", "too long"),
        (Some(413), "", "too long"),
        (Some(400), "input is too long for this model", "too long"),
        (None, "unexpected status 401 Unauthorized", "login"),
        (Some(429), "This request would exceed your rate limit", "limited"),
        (Some(400), "messages: at least one message is required", "protocol"),
        (None, "it printed a line that is no JSON", "protocol"),
        (None, "Internal error", "protocol"),
    ] {
        let end = trouble::of_error(status, words);
        assert_eq!(recorded::kind(Some(&end)), expected, "{status:?} {words}");
    }
}
