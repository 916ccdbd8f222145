//! That the fixture agents do what their words say: a test that leans on one leans on this.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::Duration,
};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    processes::{long_nap, processes},
    support::agents::{self, Peer},
};

#[allow(dead_code)]
#[path = "../../../fixtures/agents/answers.rs"]
mod answers;
#[allow(dead_code)]
#[path = "../../../fixtures/agents/behaviour.rs"]
mod behaviour;

const README: &str = "fixtures/agents/README.md";
const SESSION: &str = "11111111-1111-4111-8111-111111111111";

struct Bench {
    folder: TempDir,
    nap: String,
}

impl Bench {
    fn new() -> Self {
        Self { folder: TempDir::new().unwrap(), nap: long_nap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, program: &Path, behaviour: &str) -> Command {
        let mut command = Command::new(program);
        let work = self.path("work");
        fs::create_dir_all(&work).unwrap();
        command
            .current_dir(work)
            .env("FIXTURE_BEHAVIOUR", behaviour)
            .env("FIXTURE_DO", "echo made > proof.txt")
            .env("FIXTURE_SESSIONS", self.path("sessions"))
            .env("FIXTURE_NAP", &self.nap)
            .env("FIXTURE_COUNT", "1000")
            .env("FIXTURE_PAUSE", "1")
            .env("FIXTURE_RESETS", "1900000000")
            .env("FIXTURE_IDS", "a b");
        command
    }

    fn acp(&self, behaviour: &str) -> Peer {
        let mut peer = Peer::start(&mut self.command(&agents::acp(), behaviour));
        let asked = json!({ "protocolVersion": 1, "clientCapabilities": {} });
        let answer = ask(&mut peer, 1, "initialize", asked);
        assert_eq!(answer["result"]["protocolVersion"], 1);
        peer
    }

    fn claude(&self, behaviour: &str, arguments: &[&str]) -> Peer {
        let mut command = self.command(&agents::headless(), behaviour);
        command.args(["--dialect", "claude-stream-json"]).args(arguments);
        let mut peer = Peer::start(&mut command);
        peer.say(&json!({ "type": "user", "message": { "content": "make it" } }));
        peer
    }

    fn codex(&self, behaviour: &str) -> Peer {
        let mut command = self.command(&agents::headless(), behaviour);
        command.args(["--dialect", "codex-exec-json", "exec", "--json", "-"]);
        let mut peer = Peer::start(&mut command);
        peer.say(&json!("make it"));
        peer.close();
        peer
    }

    fn is_made(&self) -> bool {
        self.path("work/proof.txt").exists()
    }

    fn naps(&self) -> Vec<String> {
        processes(&format!("sleep {}", self.nap))
    }

    fn wait_until(&self, holds: impl Fn(&Self) -> bool) {
        for _ in 0..2000 {
            if holds(self) {
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
        panic!("the awaited fact did not come");
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        for line in self.naps() {
            let pid = line.split(' ').next().unwrap_or_default();
            let _ = Command::new("kill").args(["-KILL", pid]).status();
        }
    }
}

fn ask(peer: &mut Peer, id: u64, method: &str, params: Value) -> Value {
    peer.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
    peer.wait_for(|line| line["id"] == id && line.get("method").is_none())
}

fn session(peer: &mut Peer, cwd: &Path) -> String {
    let answer = ask(peer, 2, "session/new", json!({ "cwd": cwd, "mcpServers": [] }));
    answer["result"]["sessionId"].as_str().expect("an id").to_owned()
}

fn prompt(session: &str) -> Value {
    json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "make it" }] })
}

#[test]
fn the_readme_lists_every_behaviour() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(README);
    let kept = fs::read_to_string(&path).unwrap_or_default();
    let (head, rest) = kept.split_once("| word |").expect("the table");
    let (_, tail) = rest.split_once("\n\n").expect("text behind the table");
    let rows = behaviour::BEHAVIOURS.iter();
    let rows: String = rows.map(|(word, does)| format!("| `{word}` | {does} |\n")).collect();
    let wanted = format!("{head}| word | the agent |\n|---|---|\n{rows}\n{tail}");
    if std::env::var_os("DESCENT_UPDATE").is_some() {
        return fs::write(&path, wanted).unwrap();
    }
    assert!(kept == wanted, "{README} is stale: DESCENT_UPDATE=1 cargo test --test it fixtures::");
}

#[test]
fn an_acp_agent_ends_each_turn_as_its_word_says() {
    let table: &[(&str, &str, Value)] = &[
        ("works", "/result/stopReason", json!("end_turn")),
        ("works", "/result/usage/cachedReadTokens", json!(40)),
        ("flood", "/result/stopReason", json!("end_turn")),
        ("slow", "/result/stopReason", json!("end_turn")),
        ("lies", "/result/stopReason", json!("end_turn")),
        ("no-turn", "/result/usage", Value::Null),
        ("refuses", "/result/stopReason", json!("refusal")),
        ("out-of-turns", "/result/stopReason", json!("max_turn_requests")),
        ("login-at-prompt", "/error/code", json!(-32000)),
        ("credit", "/error/data/errorKind", json!("billing_error")),
        (
            "limited",
            "/error/message",
            json!("Internal error: You've hit your 5-hour limit · resets 5:46pm (UTC)"),
        ),
    ];
    for (word, at, wanted) in table {
        let bench = Bench::new();
        let mut peer = bench.acp(word);
        let session = session(&mut peer, &bench.path("work"));
        let answer = ask(&mut peer, 3, "session/prompt", prompt(&session));
        assert_eq!(answer.pointer(at).unwrap_or(&Value::Null), wanted, "{word}: {answer}");
        let works = ["works", "flood", "slow", "out-of-turns"].contains(word);
        assert_eq!(bench.is_made(), works, "{word}");
        assert!(peer.end().success(), "{word}");
    }
}

#[test]
fn an_acp_agent_without_a_login_makes_no_session() {
    let bench = Bench::new();
    let mut peer = bench.acp("login");
    let asked = json!({ "cwd": bench.path("work"), "mcpServers": [] });
    let answer = ask(&mut peer, 2, "session/new", asked);
    assert_eq!(answer["error"]["code"], -32000);
}

#[test]
fn a_headless_agent_ends_each_turn_as_its_word_says() {
    let claude: &[(&str, &str, Value)] = &[
        ("works", "/terminal_reason", json!("completed")),
        ("lies", "/is_error", json!(false)),
        ("long-line", "/terminal_reason", json!("completed")),
        ("login", "/result", json!("Not logged in · Please run /login")),
        ("credit", "/api_error_status", json!(402)),
        ("limited", "/api_error", json!("usage_limit_reached")),
        ("refuses", "/stop_reason", json!("refusal")),
        ("out-of-turns", "/subtype", json!("error_max_turns")),
        ("no-turn", "/num_turns", json!(0)),
    ];
    for (word, at, wanted) in claude {
        let bench = Bench::new();
        let peer = bench.claude(word, &[]);
        let result = peer.wait_for(|line| line["type"] == "result");
        assert_eq!(result.pointer(at), Some(wanted), "{word}: {result}");
        let fails = !["works", "lies", "long-line", "no-turn"].contains(word);
        assert_eq!(peer.end().success(), !fails, "{word}");
    }
    let codex: &[(&str, &str, &str)] = &[
        ("works", "turn.completed", "input_tokens\":100"),
        ("login", "turn.failed", "401 Unauthorized"),
        ("credit", "turn.failed", "Quota exceeded"),
        ("limited", "turn.failed", "usage limit"),
        ("refuses", "turn.completed", "input_tokens\":100"),
    ];
    for (word, kind, words) in codex {
        let bench = Bench::new();
        let lines = bench.codex(word).rest();
        let last = lines.last().expect("a line");
        assert_eq!(last["type"], *kind, "{word}");
        assert!(last.to_string().contains(words), "{word}: {last}");
    }
}

#[test]
fn a_cancel_ends_the_tool_of_an_agent_that_hears_it() {
    let bench = Bench::new();
    let mut peer = bench.acp("hangs-in-tool");
    let session = session(&mut peer, &bench.path("work"));
    let asked = prompt(&session);
    peer.say(&json!({ "jsonrpc": "2.0", "id": 3, "method": "session/prompt", "params": asked }));
    bench.wait_until(|bench| !bench.naps().is_empty());
    let cancel = json!({ "sessionId": session });
    peer.say(&json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": cancel }));
    let answer = peer.wait_for(|line| line["id"] == 3);
    assert_eq!(answer["result"]["stopReason"], "cancelled");
    assert_eq!(bench.naps(), Vec::<String>::new());
}

#[test]
fn an_interrupt_ends_the_tool_of_a_headless_agent() {
    let bench = Bench::new();
    let mut peer = bench.claude("hangs-in-tool", &[]);
    bench.wait_until(|bench| !bench.naps().is_empty());
    let asked = json!({ "subtype": "interrupt" });
    peer.say(&json!({ "type": "control_request", "request_id": "r1", "request": asked }));
    let result = peer.wait_for(|line| line["type"] == "result");
    assert_eq!(result["terminal_reason"], "aborted_tools");
    assert_eq!(bench.naps(), Vec::<String>::new());
}

#[test]
fn an_agent_that_ignores_cancel_stays_with_its_tool() {
    let bench = Bench::new();
    let mut peer = bench.claude("ignores-cancel", &[]);
    bench.wait_until(|bench| !bench.naps().is_empty());
    let asked = json!({ "subtype": "interrupt" });
    peer.say(&json!({ "type": "control_request", "request_id": "r1", "request": &asked }));
    peer.wait_for(|line| line["response"]["request_id"] == "r1");
    let own = peer.child.id().to_string();
    assert!(Command::new("kill").arg(&own).status().unwrap().success());
    peer.say(&json!({ "type": "control_request", "request_id": "r2", "request": asked }));
    peer.wait_for(|line| line["response"]["request_id"] == "r2");
    assert!(!bench.naps().is_empty());
    assert_stays(peer);
}

#[test]
fn a_tool_in_a_session_of_its_own_outlives_its_agent() {
    let bench = Bench::new();
    let peer = bench.claude("own-session", &[]);
    peer.wait_for(|line| line["type"] == "result");
    assert!(peer.end().success());
    bench.wait_until(|bench| !bench.naps().is_empty());
}

#[test]
fn a_killed_agent_knows_when_continued_what_it_was_told() {
    let bench = Bench::new();
    let mut peer = bench.claude("resumes", &["--session-id", SESSION]);
    bench.wait_until(|bench| !bench.naps().is_empty());
    peer.child.kill().unwrap();
    drop(peer);
    let peer = bench.claude("resumes", &["--resume", SESSION]);
    let result = peer.wait_for(|line| line["type"] == "result");
    let answer: Value = serde_json::from_str(result["result"].as_str().unwrap()).unwrap();
    assert_eq!(answer["value"]["told"], json!(["make it"]));

    let mut peer = bench.acp("resumes");
    let session = session(&mut peer, &bench.path("work"));
    let asked = prompt(&session);
    peer.say(&json!({ "jsonrpc": "2.0", "id": 3, "method": "session/prompt", "params": asked }));
    peer.wait_for(|line| line.to_string().contains(&bench.nap));
    peer.child.kill().unwrap();
    drop(peer);
    let mut peer = bench.acp("resumes");
    let asked = json!({ "sessionId": session, "cwd": bench.path("work"), "mcpServers": [] });
    ask(&mut peer, 2, "session/resume", asked);
    let asked = prompt(&session);
    peer.say(&json!({ "jsonrpc": "2.0", "id": 3, "method": "session/prompt", "params": asked }));
    let said =
        peer.wait_for(|line| line["params"]["update"]["sessionUpdate"] == "agent_message_chunk");
    assert!(said.to_string().contains("make it"), "{said}");
}

#[test]
fn agents_that_die_or_stay_do_so_around_their_result() {
    for (word, has_result) in [("dies-before", false), ("dies-after", true)] {
        let bench = Bench::new();
        let peer = bench.claude(word, &[]);
        let lines = peer.rest();
        assert_eq!(lines.iter().any(|line| line["type"] == "result"), has_result, "{word}");
        assert_eq!(peer.end().code(), None, "{word}");
    }
    let bench = Bench::new();
    let peer = bench.claude("stays-after", &[]);
    peer.wait_for(|line| line["type"] == "result");
    assert_stays(peer);
}

/// One that ends with its stdin does so long before.
#[track_caller]
fn assert_stays(mut peer: Peer) {
    peer.close();
    thread::sleep(Duration::from_millis(300));
    assert_eq!(peer.child.try_wait().unwrap(), None);
}

#[test]
fn an_agent_asks_for_permission_again_whatever_is_answered() {
    let bench = Bench::new();
    let mut peer = bench.acp("permission-loop");
    let session = session(&mut peer, &bench.path("work"));
    let asked = prompt(&session);
    peer.say(&json!({ "jsonrpc": "2.0", "id": 3, "method": "session/prompt", "params": asked }));
    for _ in 0..50 {
        let question = peer.wait_for(|line| line["method"] == "session/request_permission");
        let refused = json!({ "outcome": { "outcome": "selected", "optionId": "no" } });
        peer.say(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": refused }));
    }
}
