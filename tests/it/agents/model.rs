//! That the scripted model speaks its four wires, and fails on demand.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
    time::Duration,
};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::agents;

struct Model {
    child: Child,
    address: String,
}

impl Model {
    fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(agents::model_server());
        command.args(["--command", "make it", "--answer", "{\"success\":true}"]);
        let child = command.args(arguments).stdout(Stdio::piped()).spawn();
        let mut child = child.expect("it starts");
        let mut line = String::new();
        let stdout = child.stdout.as_mut().expect("piped");
        BufReader::new(stdout).read_line(&mut line).expect("its address");
        let address = line.trim().trim_start_matches("http://").to_owned();
        Self { child, address }
    }

    /// The status, the headers and the body, as they came.
    fn post(&self, path: &str, body: &Value) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let body = body.to_string();
        let length = body.len();
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nhost: model\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A wire: its path, a first request, and the same after the tool has answered.
fn wires() -> Vec<(&'static str, Value, Value)> {
    let user = json!({ "role": "user", "content": "go" });
    let result = json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "t", "content": "" }] });
    let named = json!([{ "name": "Bash" }]);
    let function = json!([{ "type": "function", "function": { "name": "bash" } }]);
    let declared = json!([{ "functionDeclarations": [{ "name": "run_shell_command" }] }]);
    let part = json!({ "role": "user", "parts": [{ "text": "go" }] });
    let answered = json!({ "role": "user", "parts": [{ "functionResponse": { "name": "x" } }] });
    vec![
        (
            "/v1/messages",
            json!({ "model": "m", "tools": named, "messages": [user] }),
            json!({ "model": "m", "tools": named, "messages": [user, result] }),
        ),
        (
            "/v1/responses",
            json!({ "model": "m", "tools": [{ "name": "exec_command" }], "input": [user] }),
            json!({ "model": "m", "tools": [{ "name": "exec_command" }],
                "input": [user, { "type": "function_call_output", "call_id": "c", "output": "" }] }),
        ),
        (
            "/v1/chat/completions",
            json!({ "model": "m", "tools": function, "messages": [user] }),
            json!({ "model": "m", "tools": function, "messages": [user, { "role": "tool", "content": "" }] }),
        ),
        (
            "/v1beta/models/m:generateContent",
            json!({ "tools": declared, "contents": [part] }),
            json!({ "tools": declared, "contents": [part, answered] }),
        ),
    ]
}

#[test]
fn each_wire_calls_a_tool_first_and_then_answers_whole_or_as_a_stream() {
    let model = Model::start(&[]);
    for (path, first, then) in wires() {
        for is_streamed in [false, true] {
            let path = if is_streamed {
                path.replace(":generate", ":streamGenerate")
            } else {
                path.to_owned()
            };
            let (mut first, mut then) = (first.clone(), then.clone());
            first["stream"] = json!(is_streamed);
            then["stream"] = json!(is_streamed);
            let called = model.post(&path, &first);
            assert!(called.starts_with("HTTP/1.1 200"), "{path}: {called}");
            assert!(called.contains("make it"), "{path}: {called}");
            assert_eq!(called.contains("text/event-stream"), is_streamed, "{path}: {called}");
            let ended = model.post(&path, &then);
            assert!(ended.contains(r#"{\"success\":true}"#), "{path}: {ended}");
            assert!(!ended.contains("make it"), "{path}: {ended}");
        }
    }
}

#[test]
fn a_fault_comes_in_the_words_of_the_vendor_and_only_after_the_requests_that_go_well() {
    let table = [
        ("401", "/v1/messages", "HTTP/1.1 401", "authentication_error"),
        ("402", "/v1/messages", "HTTP/1.1 402", "billing_error"),
        ("429:7", "/v1/messages", "HTTP/1.1 429", "retry-after: 7\r\n"),
        ("529", "/v1/messages", "HTTP/1.1 529", "overloaded_error"),
        ("402", "/v1/responses", "HTTP/1.1 429", "insufficient_quota"),
        ("401", "/v1/chat/completions", "HTTP/1.1 401", "invalid_api_key"),
        ("429:7", "/v1beta/models/m:generateContent", "HTTP/1.1 429", "\"7s\""),
        ("refusal", "/v1/messages", "HTTP/1.1 200", "\"refusal\""),
    ];
    for (fault, path, status, words) in table {
        let model = Model::start(&["--fault", fault, "--fault-after", "1"]);
        let (_, first, _) = wires().into_iter().find(|(wire, _, _)| *wire == path).unwrap();
        let well = model.post(path, &first);
        assert!(well.starts_with("HTTP/1.1 200") && well.contains("make it"), "{well}");
        let answer = model.post(path, &first);
        assert!(answer.starts_with(status), "{fault} {path}: {answer}");
        assert!(answer.contains(words), "{fault} {path}: {answer}");
    }
}

#[test]
fn a_cut_answer_has_no_end_and_a_hanging_one_no_beginning() {
    let (path, mut first, _) = wires().swap_remove(0);
    first["stream"] = json!(true);
    let model = Model::start(&["--fault", "cut"]);
    let answer = model.post(path, &first);
    assert!(answer.contains("message_start") && !answer.contains("message_stop"), "{answer}");

    let model = Model::start(&["--fault", "hang"]);
    let mut stream = TcpStream::connect(&model.address).unwrap();
    write!(stream, "POST {path} HTTP/1.1\r\ncontent-length: 2\r\n\r\n{{}}").unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    assert!(stream.read(&mut [0; 1]).is_err());
}

#[test]
fn the_log_of_the_model_holds_every_request() {
    let folder = TempDir::new().unwrap();
    let log = folder.path().join("log");
    let model = Model::start(&["--log", log.to_str().unwrap()]);
    for (path, first, _) in wires() {
        model.post(path, &first);
    }
    let text = fs::read_to_string(log).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let paths: Vec<&str> = lines.iter().filter_map(|line| line["path"].as_str()).collect();
    let wanted: Vec<&str> = wires().into_iter().map(|(path, _, _)| path).collect();
    assert_eq!(paths, wanted);
    assert_eq!(lines[0]["body"]["tools"][0]["name"], "Bash");
}
