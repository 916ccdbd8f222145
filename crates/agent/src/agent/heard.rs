//! All that an agent has told in one attempt: its session, messages, tool calls, usage and how its
//! turn ended.
//!
//! Invariant: every text is capped here, whatever an agent prints, and nothing of it decides. Not
//! here: reading a protocol (`headless`, `acp`), the meaning of an end (the core).

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use descent_core::{
    event::AgentEnd,
    state::{
        Micros, Tokens, Usage,
        record::{TRIED_MAX, ToolCall},
    },
};
use tokio::sync::Notify;

use super::directory::{self, ID_BYTES_MAX, SessionRecord};
use descent_process::{
    Capture, Timer,
    capture::{OutputLog, Sink},
};
use descent_system::secrets;

/// Bytes at most of an agent's last message.
const MESSAGE_BYTES_MAX: usize = 256 << 10;
/// Tool calls that may be open at the same time.
const OPEN_MAX: usize = 1_000;
/// Messages at most of a turn whose tokens are kept apart.
const MESSAGES_MAX: usize = 10_000;
/// Dollars of an attempt at most; what is more is no cost.
const DOLLARS_MAX: f64 = 1e9;
/// Characters at most of a tool's target in the log.
const LOGGED_CHARS_MAX: usize = 500;

/// Shared by the reader of a protocol and by the one who watches for silence.
#[derive(Debug, Clone)]
pub(super) struct Heard {
    inner: Arc<Mutex<HeardSoFar>>,
    event: Arc<Notify>,
}

#[derive(Debug, Default)]
pub(super) struct HeardSoFar {
    /// The id by which the agent can go on.
    pub(super) session: Option<String>,
    /// The record of it, and the directory that it is kept in.
    pub(super) record: Option<(SessionRecord, PathBuf)>,
    /// Sessions that this turn named one after the other.
    pub(super) sessions: usize,
    /// Its last message.
    pub(super) message: String,
    /// The answer as JSON, if the agent gives it apart from its messages.
    pub(super) structured: Option<String>,
    usage: Usage,
    /// Usage of the attempt before this talk; it is a part of `usage`.
    before: Usage,
    /// Tokens of the attempt's earlier sessions, for an agent that tells those of its session.
    of_other_sessions: Tokens,
    /// The tokens of the messages of this turn, until the turn tells its sum.
    of_turn: Vec<MessageUsage>,
    pub(super) tried: Vec<ToolCall>,
    /// The ids of these calls, in the same order.
    tried_ids: Vec<String>,
    pub(super) end: Option<AgentEnd>,
    /// An outage that it waits out by itself, until it tells anything else.
    pub(super) outage: Option<AgentEnd>,
    /// Whether a request of this turn failed for good, though the turn may seem to have gone well.
    pub(super) has_failed: bool,
    /// The message that the last part belongs to.
    part_of: Option<String>,
    /// Whether anything was said, thought or tried in this turn.
    pub(super) is_turn_begun: bool,
    /// The number of this turn.
    pub(super) turn: u32,
    /// Whether this turn is to mend an answer.
    is_mending: bool,
    /// The tool calls that go on.
    open: BTreeSet<String>,
    last: Option<Timer>,
    /// Readable lines.
    sink: Option<Sink>,
}

/// The usage of an attempt before a talk with its agent began.
#[derive(Debug)]
pub(super) enum EarlierUsage {
    /// The talk goes on in the session that it was used in.
    OfThisSession(Usage),
    OfOtherSessions(Usage),
}

/// The usage of one message; a later event of it has more.
#[derive(Debug)]
struct MessageUsage {
    id: String,
    usage: Usage,
}

impl Heard {
    /// Readable lines go to a log at that path, after those of the same session.
    pub(super) fn new(log: &Path, earlier: EarlierUsage) -> std::io::Result<Self> {
        let (before, of_other_sessions, log) = match earlier {
            EarlierUsage::OfThisSession(used) => {
                (used, Tokens::default(), OutputLog::after(log).or_else(|_| OutputLog::new(log))?)
            }
            EarlierUsage::OfOtherSessions(used) => {
                (used.clone(), used.tokens, OutputLog::new(log)?)
            }
        };
        let heard = HeardSoFar {
            usage: before.clone(),
            before,
            of_other_sessions,
            sink: Some(Sink::new(0, Some(log))),
            ..HeardSoFar::default()
        };
        Ok(Self { inner: Arc::new(Mutex::new(heard)), event: Arc::default() })
    }

    pub(super) fn with<T>(&self, change: impl FnOnce(&mut HeardSoFar) -> T) -> T {
        let changed = change(&mut self.lock());
        // Whoever watches for silence looks again: a tool call may have ended.
        self.event.notify_one();
        changed
    }

    /// Something arrived. An outage is no sign that the agent gets on.
    pub(super) fn beat(&self) {
        let mut heard = self.lock();
        if heard.outage.is_none() {
            heard.last = Some(Timer::start());
        }
        drop(heard);
        self.event.notify_one();
    }

    pub(super) fn ended(&self, end: AgentEnd) {
        self.lock().end.get_or_insert(end);
    }

    pub(super) fn into_inner(self) -> HeardSoFar {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, HeardSoFar> {
        // Every change leaves a valid value.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns with the length of a silence that is too long. While a tool call goes on the agent
    /// has nothing to say, and only the limit of the attempt counts.
    pub(super) async fn silence(&self, first: Duration, idle: Duration) -> Duration {
        let since = Timer::start();
        loop {
            let (last, is_busy) = {
                let heard = self.lock();
                (heard.last, !heard.open.is_empty())
            };
            let limit = last.map_or(first, |_| idle);
            let quiet = last.unwrap_or(since).elapsed();
            match limit.checked_sub(quiet) {
                _ if is_busy => self.event.notified().await,
                None => return quiet,
                Some(left) => {
                    let _ = tokio::time::timeout(left, self.event.notified()).await;
                }
            }
        }
    }
}

impl HeardSoFar {
    /// Some programs tell the id of a session only after the prompt. A new one is durable when this returns.
    pub(super) fn session(&mut self, id: &str) {
        if self.session.as_deref() == Some(id) || !directory::is_fit(id) {
            return;
        }
        self.session = Some(id.to_owned());
        self.sessions += 1;
        if let Some((record, dir)) = &mut self.record {
            id.clone_into(&mut record.session);
            record.keep(dir);
        }
    }

    /// A whole message of the agent.
    pub(super) fn message(&mut self, text: &str) {
        self.message.clear();
        self.add_to_message(text);
        self.log(text);
        self.log("\n");
    }

    /// The next part of a message that comes in parts. Parts of another message begin a new one. A
    /// part that belongs to none is a warning, if there are messages at all.
    pub(super) fn part(&mut self, message: Option<&str>, text: &str) {
        match message.map(short) {
            Some(id) if self.part_of.as_deref() != Some(id) => {
                self.part_of = Some(id.to_owned());
                self.message.clear();
            }
            None if self.part_of.is_some() => return self.log(text),
            _ => {}
        }
        self.add_to_message(text);
        self.log(text);
    }

    fn add_to_message(&mut self, text: &str) {
        self.is_turn_begun = true;
        self.message.push_str(text);
        // The answer is at the end.
        let over = self.message.len().saturating_sub(MESSAGE_BYTES_MAX);
        if over > 0 {
            let cut = self.message.ceil_char_boundary(over);
            self.message.drain(..cut);
        }
    }

    pub(super) fn tool(&mut self, id: &str, tool: &str, target: &str) {
        self.is_turn_begun = true;
        if self.open.len() < OPEN_MAX {
            self.open.insert(short(id).to_owned());
        }
        let shown = one_line(target, LOGGED_CHARS_MAX);
        self.log(&format!("[{tool}] {shown}\n"));
        // The newest are the most telling.
        if self.tried.len() >= TRIED_MAX {
            self.tried.remove(0);
            self.tried_ids.remove(0);
        }
        self.tried_ids.push(short(id).to_owned());
        self.tried.push(ToolCall::new(&secrets::hide(tool), &shown));
        // Between the messages around it lies a tool call: they are not one.
        self.message.clear();
    }

    /// Some agents tell the target of a tool call later.
    pub(super) fn tool_renamed(&mut self, id: &str, target: &str) {
        if self.is_open(id) && !target.is_empty() {
            let shown = one_line(target, LOGGED_CHARS_MAX);
            if let Some(call) = self.called(id) {
                *call = ToolCall::new(&call.tool, &shown);
            }
            self.log(&format!("    {shown}\n"));
        }
    }

    pub(super) fn tool_ended(&mut self, id: &str, has_failed: bool) {
        let was_open = self.open.remove(short(id));
        if let Some(call) = self.called(id).filter(|_| was_open && has_failed) {
            call.failed = true;
            self.log("    (failed)\n");
        }
    }

    /// The newest call of that id.
    fn called(&mut self, id: &str) -> Option<&mut ToolCall> {
        let at = self.tried_ids.iter().rposition(|known| known == short(id))?;
        self.tried.get_mut(at)
    }

    pub(super) fn no_tool_is_open(&mut self) {
        self.open.clear();
    }

    pub(super) fn log(&mut self, text: &str) {
        if let Some(sink) = &mut self.sink {
            sink.take(text.as_bytes(), false);
        }
    }

    /// All that was logged.
    pub(super) fn output(&self) -> Option<&Capture> {
        self.sink.as_ref().map(|sink| &sink.output)
    }

    /// A line that has no end yet is logged too.
    pub(super) fn end_line(&mut self) {
        self.sink.as_mut().into_iter().for_each(Sink::finish);
    }

    /// The text that its answer is in.
    pub(super) fn answer_text(&self) -> &str {
        self.structured.as_deref().unwrap_or(&self.message)
    }

    pub(super) fn is_open(&self, tool: &str) -> bool {
        self.open.contains(short(tool))
    }

    /// One more call of a model.
    pub(super) fn call(&mut self) {
        self.usage.calls += 1;
    }

    /// The tokens of this session so far.
    pub(super) fn tokens_of_session(&mut self, tokens: Tokens) {
        let mut all = used(tokens);
        all.add(&used(self.of_other_sessions.clone()));
        self.usage.tokens = all.tokens;
    }

    /// The tokens of one more turn.
    pub(super) fn add_tokens(&mut self, tokens: Tokens) {
        self.of_turn.clear();
        self.usage.add(&used(tokens));
    }

    /// An event of a model's message, with its tokens so far. A message may have several; it is one call.
    pub(super) fn model_message(&mut self, id: &str, tokens: Tokens, is_estimated: bool) {
        let usage = Usage { is_estimated, ..used(tokens) };
        let (id, last) = (short(id), self.of_turn.last_mut());
        match last.filter(|last| !id.is_empty() && last.id == id) {
            Some(last) => last.usage = usage,
            None => {
                self.call();
                // The tokens of more messages are counted at the end of the turn.
                if self.of_turn.len() < MESSAGES_MAX {
                    let id = id.to_owned();
                    self.of_turn.push(MessageUsage { id, usage });
                }
            }
        }
    }

    /// All usage so far.
    pub(super) fn usage(&self) -> Usage {
        let mut usage = self.usage.clone();
        self.of_turn.iter().for_each(|message| usage.add(&message.usage));
        usage
    }

    /// The cost of this process so far, in dollars.
    pub(super) fn cost(&mut self, dollars: f64) {
        if dollars.is_finite() && (0.0..DOLLARS_MAX).contains(&dollars) {
            // In range, so nothing is lost but the fraction of a micro-dollar.
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let micros = (dollars * 1_000_000.0).ceil() as u64;
            let before = self.before.cost.map_or(0, |cost| cost.0);
            self.usage.cost = Some(Micros(before.saturating_add(micros)));
        }
    }

    /// Whether its turn ended so that it may have an answer.
    pub(super) fn has_ended_well(&self) -> bool {
        self.end == Some(AgentEnd::Done)
    }

    pub(super) fn has_broken_protocol(&self) -> bool {
        matches!(self.end, Some(AgentEnd::Protocol(_)))
    }

    /// Whether nothing came of a session that was to go on.
    pub(super) fn is_session_unknown(&self) -> bool {
        self.usage.calls == self.before.calls && self.has_broken_protocol()
    }

    /// The history of a session was told again: none of it belongs to what is made now.
    pub(super) fn forget_history(&mut self) {
        self.next_turn();
        self.usage = self.before.clone();
        self.of_turn.clear();
        self.tried.clear();
        self.tried_ids.clear();
        self.open.clear();
    }

    /// Its provider went down while it was at work, and its session may go on.
    pub(super) fn was_cut_off(&self) -> bool {
        matches!(self.end, Some(AgentEnd::Down(_))) && self.usage.calls > 0
    }

    /// Another process goes on with the session.
    pub(super) fn next_process(&mut self) {
        self.next_turn();
        self.before = self.usage();
        (self.usage, self.of_turn) = (self.before.clone(), Vec::new());
    }

    /// Another turn begins: what the last one said is no answer.
    pub(super) fn next_turn(&mut self) {
        self.turn += 1;
        self.sessions = 0;
        self.message.clear();
        self.structured = None;
        self.end = None;
        self.outage = None;
        self.has_failed = false;
        self.is_turn_begun = false;
        self.is_mending = false;
    }

    /// Another turn begins, in which the answer is to be mended.
    pub(super) fn mending_turn(&mut self) {
        self.next_turn();
        self.is_mending = true;
    }

    /// Whether its process ended before it did anything about its answer. Its turn before had ended well.
    pub(super) fn was_left_unmended(&self) -> bool {
        self.is_mending && !self.is_turn_begun
    }
}

fn short(id: &str) -> &str {
    &id[..id.floor_char_boundary(ID_BYTES_MAX)]
}

fn used(tokens: Tokens) -> Usage {
    Usage { tokens, ..Usage::default() }
}

/// A text in one line without secrets, of so many characters at most.
pub(super) fn one_line(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    secrets::hide(&line).chars().take(most).collect()
}
