//! The reader on recorded sessions of real agents over the protocol.

use descent_core::state::Usage;

use super::*;
use crate::agent::{heard::EarlierUsage, tests::recorded};

/// All that is heard of a recorded session, up to its first error or the end of its first turn.
fn read(name: &str) -> Heard {
    let log = tempfile::NamedTempFile::new().expect("a log");
    let heard =
        Heard::new(log.path(), EarlierUsage::OfOtherSessions(Usage::default())).expect("a log");
    for line in recorded::text(name).lines() {
        let message: Value = serde_json::from_str(line).expect("a message");
        if message["method"] == "session/update" {
            let told: SessionNotification =
                serde_json::from_value(message["params"].clone()).expect(line);
            heard.with(|heard| update(told.update, heard));
        } else if !message["error"].is_null() {
            let error: Error = serde_json::from_value(message["error"].clone()).expect(line);
            heard.ended(end_of_error(&error));
            break;
        } else if !message["result"]["stopReason"].is_null() {
            let response: PromptResponse =
                serde_json::from_value(message["result"].clone()).expect(line);
            heard.with(|heard| ended(&response, heard));
            break;
        }
    }
    heard
}

#[test]
fn each_recorded_session_ends_as_it_did() {
    let table = [
        ("claude-acp-tool", "done"),
        ("claude-acp-permission", "done"),
        ("claude-acp-resume", "done"),
        ("claude-acp-load", "done"),
        ("claude-acp-kill", "none"),
        ("claude-acp-cancel", "protocol"),
        ("claude-acp-credit", "credit"),
        ("claude-acp-limit", "limited"),
        ("claude-acp-rate", "limited"),
        ("claude-acp-login-none", "login"),
        ("claude-acp-refusal", "refused"),
        ("claude-acp-unreachable", "down"),
        ("claude-acp-resume-unknown", "protocol"),
        ("codex-acp-tool", "done"),
        ("codex-acp-resume", "done"),
        ("codex-acp-load", "done"),
        ("codex-acp-cancel", "protocol"),
        ("codex-acp-credit", "credit"),
        ("codex-acp-limit", "limited"),
        ("codex-acp-rate", "limited"),
        ("codex-acp-login-none", "login"),
        ("codex-acp-login-refused", "login"),
        ("codex-acp-key-empty", "login"),
        ("codex-acp-refusal", "done"),
        ("codex-acp-unreachable", "none"),
        ("codex-acp-resume-unknown", "protocol"),
        ("gemini-tool", "done"),
        ("gemini-refusal", "done"),
        ("gemini-cancel", "protocol"),
        ("gemini-limit", "limited"),
        ("gemini-login-none", "login"),
        ("gemini-login-refused", "key"),
        ("gemini-load-unknown", "protocol"),
        ("opencode-tool", "done"),
        ("opencode-resume", "done"),
        ("opencode-load", "done"),
        ("opencode-cancel", "protocol"),
        ("opencode-refusal", "refused"),
        ("opencode-rate", "limited"),
        ("opencode-login-refused", "key"),
    ];
    let wrong: Vec<String> = table
        .iter()
        .map(|(name, wanted)| (name, wanted, read(name).with(|heard| heard.end.clone())))
        .filter(|(_, wanted, end)| recorded::kind(end.as_ref()) != **wanted)
        .map(|(name, wanted, end)| format!("{name}: {end:?}, not {wanted}"))
        .collect();
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn tokens_tools_and_the_answer_are_those_that_were_told() {
    for (name, input, output, cached) in [
        ("claude-acp-tool", 130, 40, 80),
        ("codex-acp-tool", 120, 40, 80),
        ("gemini-tool", 200, 40, 0),
        ("opencode-tool", 60, 20, 40),
    ] {
        read(name).with(|heard| {
            let usage = heard.usage();
            let wanted = Tokens::new(input, output, cached);
            assert_eq!(usage.tokens, wanted, "{name}");
            assert!(usage.calls > 0, "{name}");
            assert!(heard.message.contains("made proof.txt"), "{name}: {}", heard.message);
            assert_eq!(heard.tried.len(), 1, "{name}");
            assert!(heard.tried[0].target.contains("proof.txt"), "{name}");
        });
    }
}
