//! The events of `codex exec --json`.
//!
//! Facts: the prompt is read to the end of standard input before the session begins, and a process
//! has one turn. A request that a model refused has no message. Without a network it waits for ever,
//! and tells each try as an `error`. Tokens are those of the whole session. An item of type `error` is a warning; `turn.failed` tells the error that ended it.

use descent_core::{event::AgentEnd, state::Tokens};
use serde_json::Value;

use super::{EventDialect, LineMeaning, count, event, text};
use crate::agent::{
    heard::{Heard, HeardSoFar},
    trouble,
};

#[derive(Debug, Default)]
pub(in crate::agent) struct CodexExecJson;

impl EventDialect for CodexExecJson {
    fn line(&mut self, line: &str, heard: &Heard) -> LineMeaning {
        let Some(event) = event(line) else {
            return LineMeaning::Foreign;
        };
        heard.with(|heard| {
            heard.outage = None;
            match text(&event, "/type") {
                "thread.started" => {
                    heard.session(text(&event, "/thread_id"));
                    LineMeaning::Goes
                }
                "item.started" => item(&event, false, heard),
                "item.completed" => item(&event, true, heard),
                "turn.completed" => {
                    usage(&event, heard);
                    heard.end = Some(if heard.message.is_empty() {
                        AgentEnd::Refused("it ended its turn without a message".into())
                    } else {
                        AgentEnd::Done
                    });
                    LineMeaning::Turn
                }
                "turn.failed" => {
                    heard.end = Some(trouble::of_error(None, text(&event, "/error/message")));
                    LineMeaning::Turn
                }
                // It may try again after this one.
                "error" => {
                    heard.outage = trouble::outage(text(&event, "/message"));
                    heard.log(text(&event, "/message"));
                    heard.log("\n");
                    LineMeaning::Quiet
                }
                _ => LineMeaning::Goes,
            }
        })
    }
}

fn item(event: &Value, is_over: bool, heard: &mut HeardSoFar) -> LineMeaning {
    let id = text(event, "/item/id");
    let kind = text(event, "/item/type");
    let target = match kind {
        "agent_message" if is_over => {
            heard.call();
            heard.message(text(event, "/item/text"));
            return LineMeaning::Goes;
        }
        "command_execution" => text(event, "/item/command").to_owned(),
        "file_change" => changed_paths(event),
        "mcp_tool_call" => text(event, "/item/tool").to_owned(),
        "web_search" => text(event, "/item/query").to_owned(),
        _ => return LineMeaning::Goes,
    };
    if is_over && heard.is_open(id) {
        heard.tool_ended(id);
    } else {
        heard.call();
        heard.tool(id, kind, &target);
        if is_over {
            heard.tool_ended(id);
        }
    }
    LineMeaning::Goes
}

fn changed_paths(event: &Value) -> String {
    let changes = event.pointer("/item/changes").and_then(Value::as_array);
    let paths = changes.into_iter().flatten();
    let paths: Vec<&str> = paths.map(|change| text(change, "/path")).collect();
    paths.join(" ")
}

fn usage(event: &Value, heard: &mut HeardSoFar) {
    heard.no_tool_is_open();
    let cached = count(event, "/usage/cached_input_tokens");
    heard.tokens_of_session(Tokens::new(
        count(event, "/usage/input_tokens").saturating_sub(cached),
        count(event, "/usage/output_tokens"),
        cached,
    ));
}
