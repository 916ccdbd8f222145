//! Agents that speak the Agent Client Protocol, version 1, on their standard streams.
//!
//! Invariant: options and modes are chosen by kind and id, never by their place. Every request of an
//! agent is answered, at most [`REQUESTS_MAX`], each in few bytes: so answers that it does not read
//! stay few. No file and no terminal is offered. Not here: the process (`talk`).

#[cfg(test)]
mod tests;

use std::{future::ready, io, path::PathBuf};

use agent_client_protocol::{
    Agent, Client, Error, Lines, RawJsonRpcMessage, TransportFrame, is_incoming_transport_closed,
    on_receive_notification, on_receive_request,
    schema::ProtocolVersion,
    v1::{
        ConnectionTo,
        schema::{
            CancelNotification, ContentBlock, InitializeRequest, InitializeResponse,
            LoadSessionRequest, NewSessionRequest, PermissionOption, PermissionOptionKind,
            PromptRequest, PromptResponse, RequestPermissionOutcome, RequestPermissionRequest,
            RequestPermissionResponse, ResumeSessionRequest, SelectedPermissionOutcome,
            SessionConfigKind, SessionConfigOption, SessionConfigOptionCategory,
            SessionConfigSelectOption, SessionConfigSelectOptions, SessionConfigValueId, SessionId,
            SessionModeState, SessionNotification, SessionUpdate, SetSessionConfigOptionRequest,
            SetSessionModeRequest, StopReason, TextContent, ToolCall, ToolCallStatus,
            ToolCallUpdate, ToolKind,
        },
    },
};
use descent_core::{event::AgentEnd, state::Tokens};
use futures::{SinkExt, StreamExt};
use serde_json::Value;
use tokio::io::DuplexStream;
use tokio_util::{
    codec::{AnyDelimiterCodecError, FramedWrite, LinesCodec},
    sync::CancellationToken,
};

use super::{
    answer::Repairs,
    directory::ID_BYTES_MAX,
    headless::FOREIGN_MAX,
    heard::{Heard, HeardSoFar},
    talk::{self, Conversation},
    trouble,
};
use crate::config::agent_table::Access;
use descent_process::Capture;

/// Requests of an agent in one talk at most, whatever for.
const REQUESTS_MAX: usize = 1_000;

/// The code of the error of an agent that needs a login.
const AUTH_REQUIRED: i32 = -32000;

/// A conversation over this protocol.
pub(super) struct AcpTalk<'a> {
    pub(super) cwd: PathBuf,
    pub(super) prompt: String,
    pub(super) access: Access,
    /// The mode of a new session.
    pub(super) mode: Option<String>,
    /// The `_meta` of a new session.
    pub(super) meta: Option<serde_json::Map<String, Value>>,
    /// The session to go on with.
    pub(super) resume: Option<String>,
    pub(super) repairs: &'a mut Repairs,
}

impl Conversation for AcpTalk<'_> {
    async fn converse(self, channel: DuplexStream, heard: &Heard, asked: &CancellationToken) {
        let access = self.access;
        let of_updates = heard.clone();
        let ended = Client
            .v1()
            .name("descent")
            .on_receive_notification(
                async move |told: SessionNotification, _| {
                    of_updates.with(|heard| update(told.update, heard));
                    Ok(())
                },
                on_receive_notification!(),
            )
            .on_receive_request(
                async move |request: RequestPermissionRequest, responder, _| {
                    responder.respond(RequestPermissionResponse::new(leave(access, &request)))
                },
                on_receive_request!(),
            )
            .connect_with(transport(channel, heard.clone()), async |agent| {
                self.run(agent, heard, asked).await
            })
            .await;
        if let Err(error) = ended
            // Its process tells why it is gone.
            && !is_incoming_transport_closed(&error)
        {
            heard.ended(end_of_error(&error));
        }
    }
}

impl AcpTalk<'_> {
    async fn run(
        self,
        agent: ConnectionTo<Agent>,
        heard: &Heard,
        asked: &CancellationToken,
    ) -> Result<(), Error> {
        let hello =
            agent.send_request(InitializeRequest::new(ProtocolVersion::V1)).block_task().await?;
        if hello.protocol_version != ProtocolVersion::V1 {
            let version = hello.protocol_version;
            heard.ended(AgentEnd::Protocol(format!(
                "it speaks version {version} of the protocol, not version 1"
            )));
            return Ok(());
        }
        let session = self.session(&agent, &hello, heard).await?;
        heard.with(|heard| heard.session(&session.to_string()));
        let mut words = self.prompt;
        loop {
            let prompt = vec![ContentBlock::Text(TextContent::new(words))];
            let turn = agent.send_request(PromptRequest::new(session.clone(), prompt));
            let mut turn = std::pin::pin!(turn.block_task());
            let response = tokio::select! {
                response = &mut turn => response?,
                () = asked.cancelled() => {
                    agent.send_notification(CancelNotification::new(session.clone()))?;
                    turn.await?
                }
            };
            heard.with(|heard| ended(&response, heard));
            match self.repairs.next(heard) {
                Some(repair) => words = repair,
                None => return Ok(()),
            }
        }
    }

    /// The session that is gone on with, or a new one, in the right mode.
    async fn session(
        &self,
        agent: &ConnectionTo<Agent>,
        hello: &InitializeResponse,
        heard: &Heard,
    ) -> Result<SessionId, Error> {
        let can = &hello.agent_capabilities;
        if let Some(id) = &self.resume {
            let (id, cwd) = (SessionId::new(id.as_str()), self.cwd.clone());
            let (modes, options) = if can.session_capabilities.resume.is_some() {
                let request = ResumeSessionRequest::new(id.clone(), cwd);
                let answer = agent.send_request(request).block_task().await?;
                (answer.modes, answer.config_options)
            } else if can.load_session {
                let request = LoadSessionRequest::new(id.clone(), cwd);
                let answer = agent.send_request(request).block_task().await?;
                heard.with(HeardSoFar::forget_history);
                (answer.modes, answer.config_options)
            } else {
                return Err(Error::internal_error().data("it cannot go on with a session"));
            };
            self.mode(agent, &id, modes, options).await?;
            return Ok(id);
        }
        let mut request = NewSessionRequest::new(self.cwd.clone());
        request.meta = self.meta.clone();
        let answer = agent.send_request(request).block_task().await?;
        self.mode(agent, &answer.session_id, answer.modes, answer.config_options).await?;
        Ok(answer.session_id)
    }

    /// Sets the mode by its id. A mode that the agent does not offer is an error, since another one
    /// may let a model decide what is allowed.
    async fn mode(
        &self,
        agent: &ConnectionTo<Agent>,
        session: &SessionId,
        modes: Option<SessionModeState>,
        options: Option<Vec<SessionConfigOption>>,
    ) -> Result<(), Error> {
        let Some(wanted) = &self.mode else { return Ok(()) };
        let mut listed = modes.iter().flat_map(|modes| &modes.available_modes);
        if listed.any(|mode| mode.id.to_string() == *wanted) {
            let request = SetSessionModeRequest::new(session.clone(), wanted.clone());
            return agent.send_request(request).block_task().await.map(drop);
        }
        // Some agents have a configuration option of the category `mode` instead of modes.
        let options = options
            .into_iter()
            .flatten()
            .filter(|option| matches!(option.category, Some(SessionConfigOptionCategory::Mode)));
        let mut settings =
            options.filter_map(|option| Some((value_of(&option, wanted)?, option.id)));
        let Some((value, option)) = settings.next() else {
            return Err(Error::internal_error().data(format!("it offers no mode `{wanted}`")));
        };
        let request = SetSessionConfigOptionRequest::new(session.clone(), option, value);
        agent.send_request(request).block_task().await.map(drop)
    }
}

/// The value of an option that is a choice with that name.
fn value_of(option: &SessionConfigOption, wanted: &str) -> Option<SessionConfigValueId> {
    let SessionConfigKind::Select(select) = &option.kind else { return None };
    let values: Vec<&SessionConfigSelectOption> = match &select.options {
        SessionConfigSelectOptions::Ungrouped(plain) => plain.iter().collect(),
        SessionConfigSelectOptions::Grouped(groups) => {
            groups.iter().flat_map(|group| &group.options).collect()
        }
        _ => return None,
    };
    Some(values.into_iter().find(|value| value.value.to_string() == wanted)?.value.clone())
}

/// One JSON message a line, of limited length.
fn transport(
    channel: DuplexStream,
    heard: Heard,
) -> Lines<
    impl futures::Sink<String, Error = io::Error> + Send + 'static,
    impl futures::Stream<Item = io::Result<String>> + Send + 'static,
> {
    let (reader, writer) = tokio::io::split(channel);
    let mut gate = RequestGate::default();
    let incoming = talk::lines(reader).filter_map(move |line| {
        heard.beat();
        let passed = match line {
            Ok(line) => gate.take(&line).map(|passes| passes.then_some(line)),
            Err(AnyDelimiterCodecError::MaxChunkLengthExceeded) => Err(trouble::too_long()),
            Err(AnyDelimiterCodecError::Io(error)) => return ready(Some(Err(error))),
        };
        let passed = passed.map_err(|words| {
            heard.ended(AgentEnd::Protocol(words.clone()));
            io::Error::other(words)
        });
        ready(passed.transpose())
    });
    let outgoing = FramedWrite::new(writer, LinesCodec::new());
    let outgoing = SinkExt::<String>::sink_map_err(outgoing, io::Error::other);
    Lines::new(outgoing, incoming)
}

/// Counts what an agent wants answers to. The library answers all that passes, into a queue without an end.
#[derive(Debug, Default)]
struct RequestGate {
    requests: usize,
    foreign: usize,
}

impl RequestGate {
    /// Whether the line is a message, or the words of a protocol that is broken by it.
    fn take(&mut self, line: &str) -> Result<bool, String> {
        let request = match TransportFrame::parse_json(line) {
            TransportFrame::Single(RawJsonRpcMessage::Request(request)) => request,
            TransportFrame::Single(_) => return Ok(true),
            _ if self.foreign < FOREIGN_MAX => {
                self.foreign += 1;
                return Ok(false);
            }
            _ => return Err("it prints something else than messages".to_owned()),
        };
        self.requests += 1;
        if self.requests > REQUESTS_MAX {
            return Err(format!("it sent more than {REQUESTS_MAX} requests"));
        }
        if request.id.to_string().len().max(request.method.len()) > ID_BYTES_MAX {
            Err(format!("it sent a request with an id of more than {ID_BYTES_MAX} bytes"))
        } else {
            Ok(true)
        }
    }
}

fn update(update: SessionUpdate, heard: &mut HeardSoFar) {
    heard.outage = None;
    match update {
        SessionUpdate::AgentMessageChunk(chunk) => {
            if let ContentBlock::Text(text) = chunk.content {
                heard.part(chunk.message_id.map(|id| id.to_string()).as_deref(), &text.text);
            }
        }
        SessionUpdate::AgentThoughtChunk(_) => heard.is_turn_begun = true,
        SessionUpdate::ToolCall(call) => tool(&call, heard),
        SessionUpdate::ToolCallUpdate(update) => tool_update(&update, heard),
        SessionUpdate::UsageUpdate(usage) => {
            if let Some(cost) = usage.cost.filter(|cost| cost.currency == "USD") {
                heard.cost(cost.amount);
            }
        }
        SessionUpdate::SessionInfoUpdate(info) => {
            let codex = info.meta.as_ref().and_then(|meta| meta.get("codex"));
            heard.outage =
                codex.and_then(|codex| trouble::outage(&codex.get("error")?.to_string()));
            match codex.and_then(|codex| codex.pointer("/threadStatus/type")?.as_str()) {
                Some("systemError") => heard.has_failed = true,
                Some("active") => heard.has_failed = false,
                Some(_) | None => {}
            }
        }
        // Anything else is for a person who looks on.
        _ => {}
    }
}

fn tool(call: &ToolCall, heard: &mut HeardSoFar) {
    let name = call.name.clone().unwrap_or_else(|| kind_name(call.kind).to_owned());
    let id = call.tool_call_id.to_string();
    heard.call();
    heard.tool(&id, &name, &call.title);
    if is_over(call.status) {
        heard.tool_ended(&id, call.status == ToolCallStatus::Failed);
    }
}

fn tool_update(update: &ToolCallUpdate, heard: &mut HeardSoFar) {
    let id = update.tool_call_id.to_string();
    if let Some(title) = &update.fields.title {
        heard.tool_renamed(&id, title);
    }
    if let Some(status) = update.fields.status.filter(|status| is_over(*status)) {
        heard.tool_ended(&id, status == ToolCallStatus::Failed);
    }
}

fn is_over(status: ToolCallStatus) -> bool {
    matches!(status, ToolCallStatus::Completed | ToolCallStatus::Failed)
}

fn kind_name(kind: ToolKind) -> &'static str {
    match kind {
        ToolKind::Read => "read",
        ToolKind::Edit => "edit",
        ToolKind::Delete => "delete",
        ToolKind::Move => "move",
        ToolKind::Search => "search",
        ToolKind::Execute => "execute",
        ToolKind::Think => "think",
        ToolKind::Fetch => "fetch",
        _ => "tool",
    }
}

/// The answer to a request for permission, by the kinds of its options.
fn leave(access: Access, request: &RequestPermissionRequest) -> RequestPermissionOutcome {
    let kind = request.tool_call.fields.kind.unwrap_or_default();
    let reads =
        matches!(kind, ToolKind::Read | ToolKind::Search | ToolKind::Think | ToolKind::Fetch);
    let wanted = if access == Access::Write || reads {
        PermissionOptionKind::AllowOnce
    } else {
        PermissionOptionKind::RejectOnce
    };
    // The answer repeats its id.
    let is_short = |option: &&PermissionOption| option.option_id.0.len() <= ID_BYTES_MAX;
    let fit = request.options.iter().filter(is_short);
    let by_kind = |kind| fit.clone().find(|option| option.kind == kind);
    let option = by_kind(wanted).or_else(|| by_kind(PermissionOptionKind::RejectOnce));
    match option {
        Some(option) => RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(
            option.option_id.clone(),
        )),
        None => RequestPermissionOutcome::Cancelled,
    }
}

fn ended(response: &PromptResponse, heard: &mut HeardSoFar) {
    // A turn that ended well without anything in it asked no model.
    let is_of_no_model = response.stop_reason == StopReason::EndTurn
        && response.usage.as_ref().is_none_or(|usage| usage.total_tokens == 0)
        && !heard.is_turn_begun;
    if !is_of_no_model && !heard.has_failed {
        heard.call();
    }
    heard.no_tool_is_open();
    if let Some(tokens) = tokens(response) {
        heard.add_tokens(tokens);
    }
    let end = match response.stop_reason {
        // codex-acp ends the turn of a failed request as if it had been done. Its last words tell why.
        StopReason::EndTurn if heard.has_failed => {
            heard.end_line();
            let words = heard.output().and_then(Capture::last_line);
            trouble::of_error(None, &words.unwrap_or_default())
        }
        StopReason::EndTurn => AgentEnd::Done,
        StopReason::MaxTokens => {
            AgentEnd::OutOfTurns("its answer was cut at the limit of tokens".into())
        }
        StopReason::MaxTurnRequests => AgentEnd::OutOfTurns("it used all its turns".into()),
        StopReason::Refusal => AgentEnd::Refused("the model refused".into()),
        StopReason::Cancelled => AgentEnd::Protocol("it was cancelled by somebody else".into()),
        _ => AgentEnd::Protocol("it ended for a reason that is not known here".into()),
    };
    heard.end.get_or_insert(end);
}

/// The tokens of a turn. Gemini tells them in a place of its own.
fn tokens(response: &PromptResponse) -> Option<Tokens> {
    if let Some(usage) = &response.usage {
        let written = usage.cached_write_tokens.unwrap_or_default();
        return Some(Tokens::new(
            usage.input_tokens.saturating_add(written),
            usage.output_tokens,
            usage.cached_read_tokens.unwrap_or_default(),
        ));
    }
    let counts = response.meta.as_ref()?.get("quota")?.get("token_count")?;
    let count = |key| counts.get(key).and_then(Value::as_u64);
    Some(Tokens::new(count("input_tokens")?, count("output_tokens")?, 0))
}

fn end_of_error(error: &Error) -> AgentEnd {
    let mut words = error.message.clone();
    if let Some(data) = &error.data {
        let data = data.as_str().map_or_else(|| data.to_string(), str::to_owned);
        words = format!("{words}: {data}");
    }
    // Gemini gives the status of its server as the code.
    let code = i32::from(error.code);
    let status = u64::try_from(code).ok().filter(|code| *code < 600);
    if code == AUTH_REQUIRED { trouble::login(&words) } else { trouble::of_error(status, &words) }
}
