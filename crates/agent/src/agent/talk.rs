//! A conversation with an agent: its process, its lines, the reader of its protocol, and the limits of all.
//!
//! Invariant: when [`talk`] returns, nothing of the agent runs on. An agent is asked to end its turn by its protocol first,
//! for [`CANCEL_MAX`] at most; then its processes are ended. Bytes that are no UTF-8 end nothing. Not here: a protocol
//! (`headless`, `acp`), the meaning of an end (the core).

use std::{pin::pin, time::Duration};

use descent_core::event::AgentEnd;
use futures::{Stream, StreamExt};
use tokio::io::{AsyncRead, DuplexStream};
use tokio_util::{
    bytes::Bytes,
    codec::{AnyDelimiterCodec, AnyDelimiterCodecError, FramedRead},
    sync::CancellationToken,
};

use super::heard::Heard;
use crate::config::agent_table::AgentLimits;
use descent_process::{Job, JobEnd, JobRecord, JobResult, Programs, SpawnError};

/// How long an agent may take to end its turn when it is asked to.
const CANCEL_MAX: Duration = Duration::from_millis(100);
/// How long an agent may go on after its result.
const AFTER_RESULT: Duration = Duration::from_secs(5);
/// How long the reader of a protocol may take after the last byte.
const READ_MAX: Duration = Duration::from_secs(2);
/// Bytes under way in each direction.
const CHANNEL_BYTES: usize = 64 << 10;

/// The reader of a protocol. It writes all that it hears into a [`Heard`], and returns when the
/// agent has nothing more to say.
pub(super) trait Conversation {
    /// `asked` is cancelled when the agent shall end its turn.
    fn converse(
        self,
        channel: DuplexStream,
        heard: &Heard,
        asked: &CancellationToken,
    ) -> impl Future<Output = ()> + Send;
}

/// Why a conversation is over.
enum TalkEnd {
    Cut(Cut),
    Said,
    Exited(Result<JobResult, SpawnError>),
}

/// Why a conversation is cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    Cancelled,
    TimedOut,
    Silent(Duration),
}

/// A conversation that came to its end, however.
#[derive(Debug)]
pub(super) struct Talked {
    pub(super) is_timed_out: bool,
    /// The process, which may have been ended after its last word.
    pub(super) result: JobResult,
}

/// Talks with an agent to the end of its turn, for as long as its job may take; `None` if it was cancelled.
pub(super) async fn talk(
    job: Job,
    limits: AgentLimits,
    conversation: impl Conversation,
    heard: &Heard,
    programs: &dyn Programs,
    cancel: &CancellationToken,
    on_started: impl FnOnce(&JobRecord) + Send,
) -> Result<Option<Talked>, SpawnError> {
    let (ours, theirs) = tokio::io::duplex(CHANNEL_BYTES);
    let (asked, kill) = (CancellationToken::new(), CancellationToken::new());
    let total = job.timeout;
    // The limit of the conversation comes first.
    let job = Job { timeout: total.saturating_add(READ_MAX), ..job };
    let mut running = programs.run(&job, Some(theirs), &kill, Box::new(on_started));
    let mut said = pin!(conversation.converse(ours, heard, &asked));
    let over = tokio::select! {
        biased;
        () = cancel.cancelled() => TalkEnd::Cut(Cut::Cancelled),
        () = tokio::time::sleep(total) => TalkEnd::Cut(Cut::TimedOut),
        silence = heard.silence(limits.first_event, limits.idle) => TalkEnd::Cut(Cut::Silent(silence)),
        () = &mut said => TalkEnd::Said,
        result = &mut running => TalkEnd::Exited(result),
    };
    let (exited, cut) = match over {
        TalkEnd::Exited(result) => {
            // Its last words are in the channel.
            let _ = tokio::time::timeout(READ_MAX, said).await;
            (Some(result), None)
        }
        // An agent that broke its protocol has nothing more to say.
        TalkEnd::Said if heard.with(|heard| heard.has_broken_protocol()) => (None, None),
        TalkEnd::Said => {
            // The channel is closed, and with it the agent's standard input.
            let exited = tokio::select! {
                result = &mut running => Some(result),
                () = cancel.cancelled() => None,
                () = tokio::time::sleep(AFTER_RESULT) => None,
            };
            (exited, None)
        }
        TalkEnd::Cut(cut) => {
            asked.cancel();
            let exited = tokio::select! {
                () = said => None,
                result = &mut running => Some(result),
                () = tokio::time::sleep(CANCEL_MAX) => None,
            };
            (exited, Some(cut))
        }
    };
    let result = match exited {
        Some(result) => result?,
        None => {
            kill.cancel();
            running.await?
        }
    };
    let end = heard.with(|heard| heard.outage.take());
    let end = end.filter(|_| matches!(cut, Some(Cut::Silent(_) | Cut::TimedOut)));
    let is_outage = end.is_some();
    let end = end.or(match cut {
        Some(Cut::Silent(silence)) => {
            Some(AgentEnd::Silent { ms: u64::try_from(silence.as_millis()).unwrap_or(u64::MAX) })
        }
        Some(Cut::Cancelled | Cut::TimedOut) | None => None,
    });
    if end.is_some() {
        heard.with(|heard| heard.end = end);
    }
    let is_timed_out = cut == Some(Cut::TimedOut) || result.how == JobEnd::TimedOut;
    let talked = Talked { is_timed_out: is_timed_out && !is_outage, result };
    Ok((cut != Some(Cut::Cancelled)).then_some(talked))
}

/// Bytes of a line at most.
pub(super) const LINE_BYTES_MAX: usize = 10 << 20;

/// The lines of an agent. One that is too long is an error.
pub(super) fn lines(
    reader: impl AsyncRead + Unpin + Send,
) -> impl Stream<Item = Result<String, AnyDelimiterCodecError>> + Unpin + Send {
    let codec = AnyDelimiterCodec::new_with_max_length(b"\n".into(), b"\n".into(), LINE_BYTES_MAX);
    FramedRead::new(reader, codec).map(|line| line.map(|line| text(&line)))
}

fn text(line: &Bytes) -> String {
    String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn bytes_that_are_no_text_end_no_line_and_no_reading() {
        let read = lines(&b"fertig: \xe4\r\n\n{\"a\": 1}\ncaf\xc3"[..]).map(Result::unwrap);
        let read: Vec<String> = read.collect().await;
        assert_eq!(read, ["fertig: \u{fffd}", "", "{\"a\": 1}", "caf\u{fffd}"]);
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_a_fault() {
        let bytes = vec![b'a'; LINE_BYTES_MAX + 1];
        let read = lines(&bytes[..]).next().await;
        assert!(matches!(read, Some(Err(AnyDelimiterCodecError::MaxChunkLengthExceeded))));
    }
}
