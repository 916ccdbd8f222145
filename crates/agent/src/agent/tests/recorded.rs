//! The recorded sessions of real agents, for the tests of their readers: fixtures/agents/recorded.
#![allow(clippy::disallowed_methods)] // door: reads what was recorded

use std::{fs, path::Path};

use descent_core::event::{AgentEnd, AgentLack};

/// The lines of a session.
pub(in crate::agent) fn text(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/agents/recorded");
    fs::read_to_string(folder.join(format!("{name}.ndjson"))).expect(name)
}

/// The end of a turn in a word.
pub(in crate::agent) fn kind(end: Option<&AgentEnd>) -> &'static str {
    match end {
        None => "none",
        Some(AgentEnd::Done) => "done",
        Some(AgentEnd::Refused(_)) => "refused",
        Some(AgentEnd::OutOfTurns(_)) => "turns",
        Some(AgentEnd::CutShort(_)) => "of a provider",
        Some(AgentEnd::Silent { .. }) => "silent",
        Some(AgentEnd::Protocol(_)) => "protocol",
        Some(AgentEnd::Down(_)) => "down",
        Some(AgentEnd::TooLong(_)) => "too long",
        Some(AgentEnd::Limited { .. }) => "limited",
        Some(AgentEnd::Unavailable { kind, .. }) => match kind {
            AgentLack::Login => "login",
            AgentLack::Credit => "credit",
            AgentLack::Key => "key",
            AgentLack::Missing => "missing",
            AgentLack::NoKey
            | AgentLack::Model
            | AgentLack::Provider
            | AgentLack::Context
            | AgentLack::Unreachable
            | AgentLack::Down => "of a provider",
        },
    }
}
