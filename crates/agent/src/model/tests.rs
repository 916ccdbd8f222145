//! Questions to a small server that answers with given bytes.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};

use super::*;
use crate::config::provider::{KeySource, Provider, Wire};
use descent_process::programs;

const KEY: &str = "sk-planted-0123456789";

/// Answers each POST with the next bytes, the last again and again; anything else with 404.
pub struct Bytes {
    pub base: String,
    posts: Arc<AtomicUsize>,
    bodies: Arc<Mutex<Vec<Value>>>,
}

impl Bytes {
    pub fn posts(&self) -> usize {
        self.posts.load(Ordering::SeqCst)
    }
}

pub fn serve(answers: Vec<Vec<u8>>) -> Bytes {
    serve_telling(answers, Vec::new())
}

/// The same, with JSON texts that the server tells at paths; a question about a model counts as no post.
fn serve_telling(answers: Vec<Vec<u8>>, told: Vec<(&'static str, Value)>) -> Bytes {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap());
    let (posts, bodies) = (Arc::new(AtomicUsize::new(0)), Arc::default());
    let server = Bytes { base, posts: Arc::clone(&posts), bodies: Arc::clone(&bodies) };
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(stream);
            let (mut line, mut length) = (String::new(), 0);
            reader.read_line(&mut line).unwrap();
            let path = line.split_whitespace().nth(1).unwrap_or_default().to_owned();
            let is_post = line.starts_with("POST") && path != "/api/show";
            loop {
                let mut header = String::new();
                if reader.read_line(&mut header).unwrap() <= 2 {
                    break;
                }
                if let Some(value) = header.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let mut stream = reader.into_inner();
            if !is_post {
                let known = told.iter().find(|(at, _)| *at == path);
                let text = known.map(|(_, value)| value.to_string());
                let _ = stream.write_all(&match text {
                    Some(text) => answer("200 x", "", text.as_bytes()),
                    None => answer("404 x", "", b""),
                });
                continue;
            }
            bodies.lock().unwrap().push(serde_json::from_slice(&body).unwrap());
            let nth = posts.fetch_add(1, Ordering::SeqCst).min(answers.len() - 1);
            let _ = stream.write_all(&answers[nth]);
        }
    });
    server
}

fn answer(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\n{headers}connection: close\r\n\r\n");
    [head.as_bytes(), body].concat()
}

const EVENTS: &str = "content-type: text/event-stream\r\n";

fn events(body: &str) -> Vec<u8> {
    answer("200 OK", EVENTS, body.as_bytes())
}

/// The answer `{}`.
pub fn good() -> Vec<u8> {
    events(concat!(
        "data: {\"choices\":[{\"delta\":{\"content\":\"{}\"}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n",
    ))
}

pub fn provider(base: &str) -> Provider {
    Provider {
        wire: Wire::Chat,
        base_url: base.to_owned(),
        model: "m1".to_owned(),
        key: Some(KeySource::Command(format!("echo {KEY}"))),
        max_parallel: 2,
        context: None,
        max_answer: None,
        effort: None,
    }
}

fn question(schema: Option<Value>) -> ModelQuestion {
    ModelQuestion {
        system: "be short".to_owned(),
        turns: vec![ModelTurn { by: Speaker::User, text: "well?".to_owned() }],
        schema,
        max_answer: 100,
    }
}

async fn ask(provider: &Provider, schema: Option<Value>) -> Result<ModelAnswer, ModelError> {
    let context = AskContext {
        provider,
        limits: AgentLimits {
            first_event: Duration::from_millis(400),
            idle: Duration::from_millis(200),
        },
        programs: &*programs::real(),
        mark: "tests/model",
        observer: &NoObserver,
        tries_max: TRIES_MAX,
    };
    Asker::default().ask(context, &question(schema)).await
}

/// The error without further tries.
async fn fails(bytes: Vec<u8>) -> ModelError {
    let server = serve(vec![bytes]);
    let error = ask(&provider(&server.base), None).await.unwrap_err();
    assert_eq!(server.posts.load(Ordering::SeqCst), 1, "{error}");
    assert!(!format!("{error} {error:?} {}", error.hint("a")).contains("planted"));
    error
}

#[tokio::test(flavor = "multi_thread")]
async fn what_never_gets_better_fails_at_once_with_its_code_and_without_the_key() {
    let told = format!("{{\"error\":{{\"message\":\"no: {KEY}\",\"code\":\"invalid_api_key\"}}}}");
    let page = "<html>log in</html>".as_bytes();
    let quota =
        br#"{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}"#;
    let model =
        br#"{"error":{"message":"The model `m1` does not exist","code":"model_not_found"}}"#;
    let on = "location: http://elsewhere.example/v1?x=1\r\n";
    for (bytes, code, words) in [
        (
            answer("400 x", "", b"{\"error\":{\"message\":\"bad thing\"}}"),
            "E-PROVIDER",
            "bad thing",
        ),
        (answer("401 x", "", told.as_bytes()), "E-AGENT-LOGIN", "no: [key]"),
        (answer("402 x", "", b"{}"), "E-AGENT-CREDIT", "credit"),
        (answer("403 x", "", b"not you"), "E-AGENT-LOGIN", "not you"),
        (answer("404 x", "", model), "E-MODEL", "`m1`"),
        (answer("404 x", "", page), "E-PROVIDER", "404"),
        (answer("413 x", "", b""), "E-PROVIDER", "413"),
        (answer("429 x", "retry-after: 1\r\n", quota), "E-AGENT-CREDIT", "quota"),
        (answer("307 x", on, b""), "E-PROVIDER", "elsewhere.example/v1"),
        (answer("200 x", "content-type: text/html\r\n", page), "E-PROVIDER", "text/html"),
        (answer("500 x", "x-should-retry: false\r\n", b"boom"), "E-PROVIDER", "boom"),
        (events("data: {\"error\":{\"code\":\"insufficient_quota\"}}\n\n"), "E-AGENT-CREDIT", ""),
        (
            events("data: {\"error\":{\"code\":413,\"message\":\"big\"}}\n\n"),
            "E-PROVIDER",
            "the server answers 413: big",
        ),
    ] {
        let error = fails(bytes).await;
        assert_eq!(error.code(), code, "{error}");
        assert!(error.to_string().contains(words), "{words}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_wait_is_handed_on_with_its_end() {
    for wait in ["31536000", "3600"] {
        let header = format!("retry-after: {wait}\r\n");
        let error = fails(answer("429 x", &header, b"{}")).await;
        assert!(matches!(error.kind, ModelFault::Limited { until: Some(_) }), "{error:?}");
    }
    let error = fails(answer("529 x", "retry-after: 300\r\n", b"{}")).await;
    assert!(matches!(error.kind, ModelFault::Limited { until: Some(_) }), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_without_end_is_no_answer() {
    let text =
        "data: {\"choices\":[{\"delta\":{\"content\":\"0123456789abcdef\"}}]}\n\n".repeat(20_000);
    let error = fails(events(&text)).await;
    assert_eq!(error.kind, ModelFault::Endless);
    let error = fails(events(&": ping\n".repeat(2_000_000))).await;
    assert_eq!(error.kind, ModelFault::Endless);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_may_get_better_is_asked_again() {
    let soon = "retry-after-ms: 5\r\n";
    let choice = r#"{"choices":[{"delta":{"content":"{}"},"finish_reason":"stop"}]}"#;
    let whole = events(&format!("data: {choice}\n\n"));
    let latin = answer("200 x", EVENTS, b"data: \xfc\n\n");
    for bad in [
        answer("429 x", soon, b"{}"),
        answer("408 x", soon, b""),
        answer("500 x", soon, b"boom"),
        answer("529 x", soon, b""),
        answer("400 x", "x-should-retry: true\r\nretry-after-ms: 5\r\n", b""),
        events("data: {\"choices\":[{\"del"),
        events("data: {\"choices\":[{\"delta\":{\"content\":\"{}\"}}]}\n\n"),
        events("data: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n"),
        events("data: what?\n\n"),
        latin,
        Vec::new(),
    ] {
        let server = serve(vec![bad.clone(), whole.clone()]);
        let answer = ask(&provider(&server.base), None).await.unwrap();
        assert_eq!(answer.text, "{}", "{}", String::from_utf8_lossy(&bad));
        assert!(answer.tokens.is_estimated && answer.tokens.input > 0);
        assert_eq!(server.posts.load(Ordering::SeqCst), 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_the_server_called_whole_is_one_however_its_stream_ends() {
    let choice = r#"data: {"choices":[{"delta":{"content":"{}"},"finish_reason":"stop"}]}"#;
    for end in ["", "\n", "\n\ndata: [DONE]", "\n\ndata: [DONE]\n", "\n\ndata: [DO", "\n\ndata: {"]
    {
        let server = serve(vec![events(&format!("{choice}{end}"))]);
        assert_eq!(ask(&provider(&server.base), None).await.unwrap().text, "{}", "{end}");
        assert_eq!(server.posts(), 1, "{end}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tries_end_after_ten() {
    let server = serve(vec![answer("500 x", "retry-after-ms: 1\r\n", b"boom")]);
    let error = ask(&provider(&server.base), None).await.unwrap_err();
    assert!(error.kind == ModelFault::Down && error.words.contains("boom"), "{error:?}");
    assert_eq!(server.posts.load(Ordering::SeqCst), 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_schemas_is_asked_for_an_object_in_words() {
    let fault = b"{\"error\":{\"message\":\"unknown field response_format\"}}";
    let server = serve(vec![answer("400 x", "", fault), good()]);
    let schema = json!({"type": "object", "title": "planted"});
    let answer = ask(&provider(&server.base), Some(schema)).await.unwrap();
    assert_eq!((answer.tokens.input, answer.tokens.output), (9, 2));
    let bodies = server.bodies.lock().unwrap();
    assert!(bodies[0].get("response_format").is_some());
    assert!(bodies[1].get("response_format").is_none());
    let words = bodies[1]["messages"][0]["content"].as_str().unwrap();
    assert!(words.contains("one JSON object") && words.contains("planted"), "{words}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_would_be_cut_is_refused_before_it_is_sent() {
    let server = serve(vec![good()]);
    let small = Provider { context: Some(512), ..provider(&server.base) };
    let error = ask(&small, None).await.unwrap_err();
    assert_eq!(error.code(), "E-CONTEXT");
    assert!(error.hint("local").contains("agents.local.context"), "{error:?}");
    assert_eq!(server.posts.load(Ordering::SeqCst), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_context_of_ollama_is_found_and_a_longer_question_refused() {
    let show = |parameters: &str| json!({ "parameters": parameters });
    let version = ("/api/version", json!({"version": "0.9"}));
    let loaded = json!({"models": [{"name": "m1:latest", "context_length": 900}]});
    for told in [
        vec![version.clone(), ("/api/show", show("temperature 1\nnum_ctx     900"))],
        vec![version, ("/api/show", show("")), ("/api/ps", loaded)],
    ] {
        let server = serve_telling(vec![good()], told);
        let error = ask(&provider(&server.base), None).await.unwrap_err();
        assert_eq!(error.code(), "E-CONTEXT", "{error}");
        assert!(error.to_string().contains("900 fit"), "{error}");
        assert!(error.hint("a").contains("OLLAMA_CONTEXT_LENGTH"), "{}", error.hint("a"));
        assert_eq!(server.posts(), 0);
    }
}
