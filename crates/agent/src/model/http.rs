//! One try of a question over HTTP: the request, the events of its answer, and the meaning of a status.
//!
//! Invariant: no redirect is followed, since a key goes to the host of `base_url` alone. A line of a stream is bounded, and
//! bytes that are no UTF-8 are an error. Not here: another try (`asker`).

use std::{future::Future, io, sync::OnceLock, time::Duration};

use descent_core::{event::AgentLack, id::UnixMillis};
use reqwest::{Client, Response, StatusCode, header, redirect::Policy};
use tokio::{
    runtime::{Builder, Runtime},
    time::timeout,
};
use tokio_util::{
    bytes::{BufMut, BytesMut},
    codec::{Decoder, LinesCodec, LinesCodecError},
    task::AbortOnDropHandle,
};

use super::{
    AskContext, ModelAnswer, ModelError, ModelFault, ModelQuestion, STREAM_BYTES_MAX,
    TEXT_BYTES_MAX,
    key::{ProviderKey, ServerTexts},
    retry::{self, RetryWords, may_repeat},
    wire::{AnswerFault, AnswerSoFar, ServerFault},
};

const CONNECT_MAX: Duration = Duration::from_secs(10);
/// Bytes at most of the body of a status that is no good one.
const FAULT_BYTES_MAX: usize = 64 << 10;
/// Bytes of one line of a stream at most.
const LINE_BYTES_MAX: usize = 4 << 20;
/// The end of a line and of an event.
const END: &[u8] = b"\n\n";
const OVERLOADED: u16 = 429;

/// One try of a question.
pub(super) struct AskTry<'a> {
    pub(super) client: &'a Client,
    pub(super) context: AskContext<'a>,
    pub(super) question: &'a ModelQuestion,
    pub(super) key: Option<&'a ProviderKey>,
    /// The server shall hold the answer to a form.
    pub(super) is_held: bool,
    pub(super) number: u32,
}

/// How a try ended without an answer.
#[derive(Debug)]
pub(super) enum TryFault {
    /// Another try may go better, after that wait if the server names one.
    Again {
        error: ModelError,
        after: Option<Duration>,
    },
    Never(ModelError),
    /// The server does not hold an answer to a form.
    NoForm,
}

/// A client for servers with that scheme. Without TLS no certificates of the system are read.
pub(super) fn client(is_secure: bool) -> Result<Client, ModelError> {
    // A second call finds the first one's provider, which is the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .connect_timeout(CONNECT_MAX)
        .redirect(Policy::none())
        .user_agent(concat!("descent/", env!("CARGO_PKG_VERSION")));
    if !is_secure {
        builder = builder.tls_certs_only([]);
    }
    builder.build().map_err(|error| {
        let cause = caused(&error, ServerTexts::new(None));
        let words = format!("no secure connection can be made here: {cause}");
        let hint = "install the certificates of the system (the package ca-certificates)";
        ModelError::lacks(AgentLack::Provider, words, hint)
    })
}

/// Drives a request on a thread of its own; it ends when it is dropped. A connection reads informational answers (1xx)
/// without end and without a pause: such a server starves neither the loop nor its timers.
pub(super) fn apart<T: Send + 'static>(
    request: impl Future<Output = T> + Send + 'static,
) -> Result<AbortOnDropHandle<T>, io::Error> {
    static THREADS_APART: OnceLock<Runtime> = OnceLock::new();
    if THREADS_APART.get().is_none() {
        let mut made = Builder::new_multi_thread();
        let made = made.worker_threads(1).thread_name("models").enable_all().build()?;
        if let Err(second) = THREADS_APART.set(made) {
            // Another question was faster.
            second.shutdown_background();
        }
    }
    let threads = THREADS_APART.get().expect("BUG: they were just made");
    Ok(AbortOnDropHandle::new(threads.spawn(request)))
}

impl AskTry<'_> {
    pub(super) async fn ask(&self) -> Result<ModelAnswer, TryFault> {
        let wire = self.context.provider.wire;
        let body = wire.body(self.context.provider, self.question, self.is_held);
        let request = self
            .client
            .post(wire.address(&self.context.provider.base_url))
            .headers(wire.headers(self.key))
            .header(header::ACCEPT, "text/event-stream")
            .json(&body);
        let sent = apart(request.send()).map_err(|error| {
            TryFault::Never(broken(format!("no thread can be started: {error}")))
        })?;
        let response = timeout(self.context.limits.first_event, sent).await;
        let response = response.map_err(|_| silent(self.context.limits.first_event))?;
        let response = response.map_err(|error| again(broken(error.to_string())))?;
        let response = response.map_err(|error| self.unsent(&error))?;
        let status = response.status();
        if status.is_redirection() {
            return Err(TryFault::Never(self.redirected(&response)));
        }
        if !status.is_success() {
            return Err(self.refused(response).await);
        }
        let kind = response.headers().get(header::CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        match kind.to_ascii_lowercase().as_str() {
            "text/event-stream" | "" => self.events(response).await,
            _ => Err(TryFault::Never(ModelError::foreign(format!(
                "the server answers with {}, and not with events",
                self.texts().words(kind)
            )))),
        }
    }

    fn texts(&self) -> ServerTexts<'_> {
        ServerTexts::new(self.key)
    }

    fn unsent(&self, error: &reqwest::Error) -> TryFault {
        let address = self.context.provider.base_url.clone();
        let cause = caused(error, self.texts());
        if error.is_builder() {
            return TryFault::Never(ModelError::foreign(format!("{address}: {cause}")));
        }
        if !error.is_connect() {
            return down(format!("{address} broke the connection: {cause}"));
        }
        if cause.contains("certificate") {
            let words = format!("the certificate of {address} is not taken: {cause}");
            let hint = "add the authority that signed it to the certificates of the system, or mend `base_url`";
            TryFault::Never(ModelError::lacks(AgentLack::Provider, words, hint))
        } else {
            let is_here = is_here(&address);
            let words = format!("cannot connect to {address}: is the server up? ({cause})");
            let hint = "start the server, or mend agents.NAME.base_url";
            again(ModelError::new(ModelFault::Unreachable { is_here }, words, hint))
        }
    }

    async fn events(&self, mut response: Response) -> Result<ModelAnswer, TryFault> {
        let (mut reader, mut so_far) = (StreamReader::new(), AnswerSoFar::new(self.texts()));
        let (mut all, mut told) = (0, None);
        loop {
            let bytes = self.chunk(&mut response, all == 0).await?;
            let is_end = bytes.is_none();
            all += bytes.as_ref().map_or(0, Vec::len);
            if all > STREAM_BYTES_MAX {
                return Err(endless(&format!("{} MiB of events", STREAM_BYTES_MAX >> 20)));
            }
            let bytes = bytes.unwrap_or_else(|| END.to_vec());
            for data in reader.take(&bytes).map_err(stream_fault)? {
                match self.context.provider.wire.event(&data, &mut so_far) {
                    // It may be cut: the answer is whole if the server said so before.
                    Err(AnswerFault::Foreign) if is_end => {}
                    taken => taken.map_err(|fault| self.answer_fault(fault))?,
                }
            }
            if so_far.tokens != told {
                told = so_far.tokens;
                self.context.observer.used(self.number, &told.unwrap_or_default());
            }
            if so_far.is_over || is_end {
                return self.answer(so_far);
            }
        }
    }

    /// The next bytes; `None` at the end.
    async fn chunk(
        &self,
        response: &mut Response,
        is_first: bool,
    ) -> Result<Option<Vec<u8>>, TryFault> {
        let most =
            if is_first { self.context.limits.first_event } else { self.context.limits.idle };
        let chunk = timeout(most, response.chunk()).await;
        let chunk = chunk.map_err(|_| silent(most))?;
        let chunk = chunk.map_err(|error| cut_off(&caused(&error, self.texts())))?;
        Ok(chunk.map(|chunk| chunk.to_vec()))
    }

    fn answer(&self, so_far: AnswerSoFar<'_>) -> Result<ModelAnswer, TryFault> {
        let has_usage = so_far.tokens.is_some();
        let answer = so_far.whole(self.question).map_err(|fault| self.answer_fault(fault))?;
        if !has_usage {
            self.context.observer.used(self.number, &answer.tokens);
        }
        Ok(answer)
    }

    fn answer_fault(&self, fault: AnswerFault) -> TryFault {
        match fault {
            AnswerFault::Cut => cut_off("before the end of the answer"),
            AnswerFault::Holds(name) => again(ModelError::secret_in_answer(&name)),
            AnswerFault::Foreign => again(broken("an event of the server is no JSON")),
            AnswerFault::TooLong => endless(&format!("{} KiB of text", TEXT_BYTES_MAX >> 10)),
            AnswerFault::Server(fault) => {
                let status = fault.status().and_then(|status| StatusCode::from_u16(status).ok());
                self.judged(status, fault, RetryWords::default())
            }
        }
    }

    /// The meaning of a status that is no good one.
    async fn refused(&self, mut response: Response) -> TryFault {
        let words = RetryWords::of(response.headers(), retry::time_ms());
        let (status, mut body) = (response.status(), Vec::new());
        // A body that does not come is no reason to wait.
        while let Ok(Some(bytes)) = self.chunk(&mut response, false).await {
            body.extend(bytes);
            if body.len() > FAULT_BYTES_MAX {
                body.truncate(FAULT_BYTES_MAX);
                break;
            }
        }
        let fault = ServerFault::of_body(&String::from_utf8_lossy(&body), self.texts());
        self.judged(Some(status), fault, words)
    }

    /// A fault without a status may pass, as one of the server itself.
    fn judged(
        &self,
        status: Option<StatusCode>,
        fault: ServerFault,
        retry: RetryWords,
    ) -> TryFault {
        let mut told = match status {
            Some(status) => format!("the server answers {}", status.as_u16()),
            None => "the server answers with an error".to_owned(),
        };
        if !fault.words.is_empty() {
            told += &format!(": {}", fault.words);
        }
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let words = &fault.words;
        let error = match status.as_u16() {
            402 => spent(words),
            400 | 403 | 429 if fault.says(SPENT) => spent(words),
            status @ (401 | 403) if self.key.is_none() => ModelError::lacks(
                AgentLack::Key,
                format!("the server wants a key ({status}), and none is configured: {words}"),
                "name the place of a key: agents.NAME.key = {env = \"…\"}",
            ),
            status @ (401 | 403) => ModelError::lacks(
                AgentLack::Key,
                format!("the server takes no such key ({status}): {words}"),
                "put a key that works where agents.NAME.key says",
            ),
            404 | 400 if self.names_model(&fault) => {
                ModelError::no_model(&self.context.provider.model, words)
            }
            404 => ModelError::foreign(told),
            400 | 422 if self.is_held && fault.says(FORM) => return TryFault::NoForm,
            status @ (413 | 400) if status == 413 || fault.says(TOO_LONG) => {
                ModelError::lacks(AgentLack::Provider, told, TOO_LARGE)
            }
            OVERLOADED => ModelError::limited(retry.after.map(until), words),
            408 | 409 | 500.. => ModelError::passing(ModelFault::Down, told),
            _ => {
                let hint = "mend what it says in descent.toml; descent doctor tries it";
                ModelError::lacks(AgentLack::Provider, told, hint)
            }
        };
        if may_repeat(status, retry) && error.lack() != AgentLack::Credit {
            TryFault::Again { error, after: retry.after }
        } else {
            TryFault::Never(error)
        }
    }

    fn redirected(&self, response: &Response) -> ModelError {
        let to = response.headers().get(header::LOCATION);
        let to = to.and_then(|to| to.to_str().ok()).unwrap_or_default();
        let to = self.texts().words(to.split('?').next().unwrap_or_default());
        let status = response.status().as_u16();
        let words =
            format!("the server sends on to {to} ({status}), and a key is sent nowhere else");
        let hint = "write the address that it names into `base_url`, if you trust it";
        ModelError::lacks(AgentLack::Provider, words, hint)
    }

    fn names_model(&self, fault: &ServerFault) -> bool {
        let model = self.context.provider.model.to_lowercase();
        fault.kind.contains("model_not_found")
            || fault.says("model") && fault.says(UNKNOWN)
            || fault.holds(&format!("model: {model}"))
    }
}

const SPENT: &str =
    "insufficient_quota|enforced_spend_limit|billing_error|credit balance|spend limit";
const UNKNOWN: &str = "not found|does not exist|unknown model|no such model";
const FORM: &str =
    "output_config|response_format|json_object|json_schema|text.format|schema|structured|grammar";
const TOO_LONG: &str =
    "context_length_exceeded|prompt is too long|context length|context size|context window";
const TOO_LARGE: &str =
    "name a model with a larger context for this role, or make the step smaller";

fn again(error: ModelError) -> TryFault {
    TryFault::Again { error, after: None }
}

/// A silence has been waited for long enough: it is no reason for a further try here.
fn silent(after: Duration) -> TryFault {
    let words = format!("the server said nothing for {} s", after.as_secs());
    TryFault::Never(ModelError::passing(ModelFault::Silent(after), words))
}

fn cut_off(where_to: &str) -> TryFault {
    down(format!("the answer of the server was cut off: {where_to}"))
}

fn endless(what: &str) -> TryFault {
    let words = format!("the answer does not end: it has more than {what}");
    let hint = "limit the answer: agents.NAME.max_answer = 8000 (tokens)";
    TryFault::Never(ModelError::new(ModelFault::Endless, words, hint))
}

fn broken(words: impl Into<String>) -> ModelError {
    ModelError::passing(ModelFault::Broken, words)
}

fn down(words: String) -> TryFault {
    again(ModelError::passing(ModelFault::Down, words))
}

fn spent(words: &str) -> ModelError {
    let words = format!("the account has no credit left: {words}");
    ModelError::lacks(AgentLack::Credit, words, "give the account credit, or name another agent")
}

fn stream_fault(fault: LinesCodecError) -> TryFault {
    match fault {
        LinesCodecError::MaxLineLengthExceeded => endless("4 MiB in one line"),
        LinesCodecError::Io(_) => again(broken("an event of the server is no UTF-8")),
    }
}

/// Whether an address is one of this machine.
fn is_here(address: &str) -> bool {
    let url = reqwest::Url::parse(address).ok();
    let host = url.as_ref().and_then(|url| url.host_str());
    let host = host.unwrap_or_default().trim_matches(['[', ']']);
    let ip = host.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback());
    ip || host == "localhost"
}

/// The time of day after that wait.
pub(super) fn until(wait: Duration) -> UnixMillis {
    let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
    UnixMillis(retry::time_ms().saturating_add(wait_ms))
}

/// The innermost cause of an error, without its address.
fn caused(error: &reqwest::Error, texts: ServerTexts<'_>) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    texts.words(&cause.to_string())
}

/// Reads the events of a stream (server-sent events), from bytes however they are cut.
#[derive(Debug)]
struct StreamReader {
    lines: LinesCodec,
    /// The line that is not whole yet.
    rest: BytesMut,
    /// The last byte was a carriage return, which ends a line with or without what follows.
    is_returned: bool,
    /// The data lines of the event that is not whole yet.
    data: Option<String>,
}

impl StreamReader {
    fn new() -> Self {
        let lines = LinesCodec::new_with_max_length(LINE_BYTES_MAX);
        Self { lines, rest: BytesMut::new(), is_returned: false, data: None }
    }

    /// The data of the events that end in these bytes.
    fn take(&mut self, bytes: &[u8]) -> Result<Vec<String>, LinesCodecError> {
        for byte in bytes {
            match byte {
                b'\n' if self.is_returned => {}
                b'\r' => self.rest.put_u8(b'\n'),
                _ => self.rest.put_u8(*byte),
            }
            self.is_returned = *byte == b'\r';
        }
        let mut found = Vec::new();
        while let Some(line) = self.lines.decode(&mut self.rest)? {
            let line = line.trim_start_matches('\u{feff}');
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match (field, &mut self.data) {
                ("data", Some(data)) => data.extend(["\n", value]),
                ("data", None) => self.data = Some(value.to_owned()),
                _ if line.is_empty() => found.extend(self.data.take()),
                _ => {}
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = "\u{feff}event: a\r\ndata: {\"t\": \"grüße 🦀\"}\r\n\r\n: ping\n\ndata:one\ndata: two\n\n\
                          id: 7\ndata: three\n\nretry: 1\n\ndata\n\nevent: x\ndata: [DONE]\n\n";

    #[test]
    fn events_are_the_same_however_their_bytes_are_cut() {
        let wanted = ["{\"t\": \"grüße 🦀\"}", "one\ntwo", "three", "", "[DONE]"];
        let returned = STREAM.replace("\r\n", "\n").replace('\n', "\r");
        for (stream, length) in
            [STREAM, &returned].into_iter().flat_map(|s| (1..s.len()).map(move |n| (s, n)))
        {
            let (mut reader, mut found) = (StreamReader::new(), Vec::new());
            for chunk in stream.as_bytes().chunks(length) {
                found.extend(reader.take(chunk).unwrap());
            }
            assert_eq!(found, wanted);
            assert!(reader.take(END).unwrap().is_empty());
        }
    }

    #[test]
    fn the_end_of_the_stream_ends_an_event_and_bytes_that_are_no_text_are_told() {
        for cut in ["data: a", "data: a\r", "data: a\r\n", "data: a\n"] {
            let mut reader = StreamReader::new();
            assert!(reader.take(cut.as_bytes()).unwrap().is_empty());
            assert_eq!(reader.take(END).unwrap(), ["a"]);
        }
        let mut reader = StreamReader::new();
        let whole = "data: \u{fc}\n\n".as_bytes();
        assert!(reader.take(&whole[..7]).unwrap().is_empty());
        assert!(matches!(reader.take(b"\n\n"), Err(LinesCodecError::Io(_))));
        let mut reader = StreamReader::new();
        let endless = vec![b'x'; LINE_BYTES_MAX + 1];
        let error = reader.take(&endless).unwrap_err();
        assert!(matches!(error, LinesCodecError::MaxLineLengthExceeded));
    }
}
