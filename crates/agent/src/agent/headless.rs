//! Agents that read a prompt on their standard input and print events, one JSON object a line. The dialects are plain text
//! and `codex exec --json`; that of `claude` is a file of its own. A new one is
//! a file here, a variant of `Dialect` (`config/agent`), and an arm in `conversation`.
//!
//! Invariant: a line that is longer than the limit, or no event, never ends the loop or the program: the attempt ends.
//! Unknown events are passed over.
//!
//! Facts of codex: the prompt is read to the end of standard input before the session begins, and a process has one turn. A
//! request that a model refused has no message. Without a network it waits for ever, and tells each try as an `error`. Tokens
//! are those of the whole session. An item of type `error` is a warning; `turn.failed` tells the error that ended it.

mod claude;
#[cfg(test)]
mod tests;

use descent_core::{event::AgentEnd, state::Tokens};
use futures::{Stream, StreamExt};
use serde_json::Value;
use tokio::io::{AsyncWrite, AsyncWriteExt, DuplexStream};
use tokio_util::{codec::AnyDelimiterCodecError, sync::CancellationToken};

use super::{
    answer::Repairs,
    heard::{Heard, HeardSoFar},
    talk::{self, Conversation},
    trouble,
};

pub(super) use claude::ClaudeStreamJson;

/// The events of one program.
pub(super) trait EventDialect: Send {
    /// The bytes by which a prompt is given.
    fn prompt(&self, words: &str) -> Vec<u8> {
        words.as_bytes().to_vec()
    }

    /// Whether a second prompt may follow in the same process.
    fn takes_more(&self) -> bool {
        false
    }

    /// The bytes that end a turn, if the protocol has any.
    fn interrupt(&self) -> Option<Vec<u8>> {
        None
    }

    /// Takes in a line.
    fn line(&mut self, line: &str, heard: &Heard) -> LineMeaning;
}

/// Programs that print text: all of it is the last message.
#[derive(Debug, Default)]
pub(super) struct PlainText;

impl EventDialect for PlainText {
    /// The end of the text is the end of the turn, so it counts as one from its first line on.
    fn line(&mut self, line: &str, heard: &Heard) -> LineMeaning {
        heard.with(|heard| {
            if heard.end.is_none() {
                heard.call();
                heard.end = Some(AgentEnd::Done);
            }
            heard.part(None, line);
            heard.part(None, "\n");
        });
        LineMeaning::Goes
    }
}

/// Follows from a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineMeaning {
    Goes,
    /// It is no sign that the agent gets on.
    Quiet,
    /// The turn is over.
    Turn,
    /// It is no event of this protocol.
    Foreign,
}

/// An agent that does not read has its pipe broken at its end.
async fn say(writer: &mut (impl AsyncWrite + Unpin + Send), bytes: &[u8], takes_more: bool) {
    let _ = writer.write_all(bytes).await;
    let _ = if takes_more { writer.flush().await } else { writer.shutdown().await };
}

/// Lines that are no events at most: some programs print warnings.
pub(super) const FOREIGN_MAX: usize = 1_000;
/// Sessions that a turn may name one after the other.
const SESSIONS_MAX: usize = 16;

/// A conversation in one dialect.
pub(super) struct HeadlessTalk<'a> {
    pub(super) dialect: Box<dyn EventDialect>,
    pub(super) prompt: String,
    pub(super) repairs: &'a mut Repairs,
}

impl Conversation for HeadlessTalk<'_> {
    async fn converse(mut self, channel: DuplexStream, heard: &Heard, asked: &CancellationToken) {
        let (reader, mut writer) = tokio::io::split(channel);
        let mut lines = talk::lines(reader);
        let takes_more = self.dialect.takes_more();
        say(&mut writer, &self.dialect.prompt(&self.prompt), takes_more).await;
        let mut foreign = 0;
        heard.with(|heard| heard.sessions = 0);
        loop {
            // Many lines may lie in the buffer, and a stop waits for none of them.
            tokio::task::coop::consume_budget().await;
            let line = tokio::select! {
                line = lines.next() => line,
                () = asked.cancelled() => break self.interrupt(&mut writer, &mut lines, heard).await,
            };
            let meaning = match line {
                None => break,
                Some(Ok(line)) => {
                    let meaning = self.dialect.line(&line, heard);
                    if meaning != LineMeaning::Quiet {
                        heard.beat();
                    }
                    meaning
                }
                Some(Err(error)) => {
                    heard.ended(AgentEnd::Protocol(unreadable(&error)));
                    break;
                }
            };
            if heard.with(|heard| heard.sessions) > SESSIONS_MAX {
                let words = format!("it named more than {SESSIONS_MAX} sessions in one turn");
                heard.ended(AgentEnd::Protocol(words));
                break;
            }
            match meaning {
                LineMeaning::Goes | LineMeaning::Quiet => {}
                LineMeaning::Foreign if foreign < FOREIGN_MAX => foreign += 1,
                LineMeaning::Foreign => {
                    let words = "it prints something else than events".to_owned();
                    heard.ended(AgentEnd::Protocol(words));
                    break;
                }
                // A process of one turn is asked again in another.
                LineMeaning::Turn if !takes_more => break,
                LineMeaning::Turn => match self.repairs.next(heard) {
                    Some(words) => {
                        say(&mut writer, &self.dialect.prompt(&words), takes_more).await;
                    }
                    None => break,
                },
            }
        }
    }
}

impl HeadlessTalk<'_> {
    async fn interrupt(
        &mut self,
        writer: &mut (impl AsyncWrite + Unpin + Send),
        lines: &mut (impl Stream<Item = Result<String, AnyDelimiterCodecError>> + Unpin + Send),
        heard: &Heard,
    ) {
        let Some(bytes) = self.dialect.interrupt() else { return };
        let _ = writer.write_all(&bytes).await;
        while let Some(Ok(line)) = lines.next().await {
            tokio::task::coop::consume_budget().await;
            if self.dialect.line(&line, heard) == LineMeaning::Turn {
                return;
            }
        }
    }
}

fn unreadable(error: &AnyDelimiterCodecError) -> String {
    match error {
        AnyDelimiterCodecError::MaxChunkLengthExceeded => trouble::too_long(),
        AnyDelimiterCodecError::Io(error) => format!("what it printed cannot be read: {error}"),
    }
}

/// An event, if the line is one.
fn event(line: &str) -> Option<Value> {
    serde_json::from_str(line).ok().filter(Value::is_object)
}

fn text<'v>(event: &'v Value, pointer: &str) -> &'v str {
    event.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn count(event: &Value, pointer: &str) -> u64 {
    event.pointer(pointer).and_then(Value::as_u64).unwrap_or_default()
}

#[derive(Debug, Default)]
pub(in crate::agent) struct CodexExecJson;

impl EventDialect for CodexExecJson {
    fn line(&mut self, line: &str, heard: &Heard) -> LineMeaning {
        let Some(event) = event(line) else { return LineMeaning::Foreign };
        heard.with(|heard| {
            heard.outage = None;
            match text(&event, "/type") {
                "thread.started" => heard.session(text(&event, "/thread_id")),
                "item.started" => item(&event, false, heard),
                "item.completed" => item(&event, true, heard),
                "turn.completed" => {
                    usage(&event, heard);
                    heard.end = Some(if heard.message.is_empty() {
                        AgentEnd::Refused("it ended its turn without a message".into())
                    } else {
                        AgentEnd::Done
                    });
                    return LineMeaning::Turn;
                }
                "turn.failed" => {
                    heard.end = Some(trouble::of_error(None, text(&event, "/error/message")));
                    return LineMeaning::Turn;
                }
                // It may try again after this one.
                "error" => {
                    heard.outage = trouble::outage(text(&event, "/message"));
                    heard.log(text(&event, "/message"));
                    heard.log("\n");
                    return LineMeaning::Quiet;
                }
                _ => {}
            }
            LineMeaning::Goes
        })
    }
}

fn item(event: &Value, is_over: bool, heard: &mut HeardSoFar) {
    let id = text(event, "/item/id");
    let kind = text(event, "/item/type");
    let target = match kind {
        "agent_message" if is_over => {
            heard.call();
            heard.message(text(event, "/item/text"));
            return;
        }
        "command_execution" => text(event, "/item/command").to_owned(),
        "file_change" => changed_paths(event),
        "mcp_tool_call" => text(event, "/item/tool").to_owned(),
        "web_search" => text(event, "/item/query").to_owned(),
        _ => return,
    };
    if !(is_over && heard.is_open(id)) {
        heard.call();
        heard.tool(id, kind, &target);
    }
    if is_over {
        let exit = event.pointer("/item/exit_code").and_then(Value::as_i64);
        let has_failed =
            text(event, "/item/status") == "failed" || exit.is_some_and(|code| code != 0);
        heard.tool_ended(id, has_failed);
    }
}

fn changed_paths(event: &Value) -> String {
    let paths = event.pointer("/item/changes").and_then(Value::as_array).into_iter().flatten();
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
