//! Attempts by agents that are talked with: by their events, or over the Agent Client Protocol.
//!
//! The agents are those of fixtures/agents; each case is one behaviour in each protocol that has it.

use serde_json::{Value, json};

use crate::{
    support::agents,
    world::{Ran, World, long_nap, plan, processes, task, wait_for, with},
};

/// That many seconds from now, in seconds since 1970.
pub(crate) fn seconds_from_now(seconds: u64) -> String {
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
    (now.as_secs() + seconds).to_string()
}

/// The protocols that the fixture agents speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Claude,
    Codex,
    Acp,
}

pub(crate) use Protocol::{Acp, Claude, Codex};

pub(crate) const ALL: [Protocol; 3] = [Claude, Codex, Acp];

impl Protocol {
    /// The agent of that behaviour, as a table of `descent.toml`.
    pub(crate) fn agent(self, world: &World, behaviour: &str, settings: &[(&str, &str)]) -> String {
        let program = match self {
            Acp => agents::acp(),
            Claude | Codex => agents::headless(),
        };
        let sessions = world.out("sessions").display().to_string();
        let sessions = ("FIXTURE_SESSIONS", sessions.as_str());
        let settings = settings.iter().chain([&sessions]);
        let mut argv = vec!["env".to_owned()];
        argv.extend(settings.map(|(name, value)| format!("{name}={value}")));
        argv.extend([program.display().to_string(), behaviour.to_owned()]);
        let quoted = |words: &[String]| json!(words).to_string();
        match self {
            Acp => format!("acp = {}", quoted(&argv)),
            Claude => {
                argv.extend(["--dialect", "claude-stream-json"].map(str::to_owned));
                format!(
                    "headless = {{events = \"claude-stream-json\", argv = {}, \
                     session = [\"--session-id\", \"{{session}}\"], resume = [\"--resume\", \"{{session}}\"], \
                     flags = [\"--input-format\", \"stream-json\"]}}",
                    quoted(&argv)
                )
            }
            Codex => {
                argv.extend(["--dialect", "codex-exec-json"].map(str::to_owned));
                format!(
                    "headless = {{events = \"codex-exec-json\", argv = {}, resume = [\"resume\", \"{{session}}\"], \
                     flags = [\"-\"]}}",
                    quoted(&argv)
                )
            }
        }
    }
}

/// A world whose worker is the fixture agent of that behaviour, with one task to do.
pub(crate) fn world(protocol: Protocol, behaviour: &str, settings: &[(&str, &str)]) -> World {
    let world = World::new();
    let agent = protocol.agent(&world, behaviour, settings);
    // Short only where silence is the point: a busy machine holds an agent up for seconds.
    let limit = if matches!(behaviour, "silent" | "slow") { "2s" } else { "60s" };
    world.write(
        "descent.toml",
        &format!(
            "[agents.fixture]\n{agent}\nfirst_event = \"{limit}\"\nidle = \"{limit}\"\n[roles]\nworker = \"fixture\"\n"
        ),
    );
    world.align(&plan(
        &["test -f done"],
        json!({"max_attempts": 1, "max_transient": 0, "protected": ["a.txt"]}),
        json!({"A1": by_worker("make the file done")}),
    ));
    world
}

pub(crate) fn by_worker(words: &str) -> Value {
    let mut atom = task("");
    atom.as_object_mut().unwrap().remove("action");
    let checks = json!({"checks": {"all": [{"command": "test -f done"}]}});
    with(with(atom, json!({"description": words})), checks)
}

pub(crate) fn why(world: &World) -> String {
    let Ran { stdout, .. } = world.descent(&["why", "A1"]);
    stdout
}

#[test]
fn an_agent_does_its_task_and_its_answer_becomes_the_result() {
    for protocol in ALL {
        for behaviour in ["works", "prose", "twice", "others", "dies-after", "stays-after"] {
            let world = world(protocol, behaviour, &[("FIXTURE_DO", "echo made > done")]);
            let ran = world.run();
            assert_eq!(
                ran.code,
                Some(0),
                "{protocol:?} {behaviour}\n{}\n{}",
                ran.stderr,
                why(&world)
            );
            let state = world.state();
            assert!(state["bindings"]["A1"]["summary"].is_string(), "{protocol:?} {behaviour}");
        }
    }
}

#[test]
fn an_agent_that_claims_success_is_judged_by_its_checks() {
    for protocol in ALL {
        let world = world(protocol, "lies", &[]);
        world.run().expect(5);
        let why = why(&world);
        assert!(why.contains("test -f done"), "{protocol:?}\n{why}");
    }
}

#[test]
fn a_protected_file_fails_the_attempt_of_an_agent() {
    for protocol in ALL {
        let world = world(protocol, "protected", &[("FIXTURE_PATH", "a.txt")]);
        world.run().expect(5);
        assert!(why(&world).contains("a.txt"), "{protocol:?}\n{}", why(&world));
    }
}

#[test]
fn an_agent_that_says_nothing_breaks_its_protocol_or_dies_has_failed_and_leaves_nothing() {
    for (behaviour, protocols, words) in [
        ("silent", &ALL[..], "said nothing"),
        ("dies-before", &ALL[..], "without a result"),
        ("long-line", &ALL[..], "line of more than"),
        ("other-version", &[Acp][..], "version"),
        ("permission-loop", &[Acp][..], "requests"),
    ] {
        for protocol in protocols {
            let nap = long_nap();
            let settings = [
                ("FIXTURE_DO", "true"),
                ("FIXTURE_NAP", nap.as_str()),
                ("FIXTURE_COUNT", "11000000"),
            ];
            let world = world(*protocol, behaviour, &settings);
            let ran = world.run();
            assert_eq!(ran.code, Some(5), "{protocol:?} {behaviour}\n{}", ran.stderr);
            let why = why(&world);
            assert!(why.contains(words), "{protocol:?} {behaviour}\n{why}");
            assert!(processes(&nap).is_empty(), "{protocol:?} {behaviour}");
        }
    }
}

#[test]
fn a_limit_of_its_provider_is_waited_for_and_shown_and_costs_nothing() {
    for protocol in ALL {
        let nap = long_nap();
        let in_three_hours = seconds_from_now(3 * 3_600);
        let settings = [("FIXTURE_RESETS", in_three_hours.as_str()), ("FIXTURE_NAP", nap.as_str())];
        let world = world(protocol, "limited", &settings);
        let mut run = world.start(&["run"]);
        wait_for("the wait", || !world.state()["run"]["waits"].is_null());
        let status = world.descent(&["status"]).expect(0).stdout;
        assert!(status.contains("A1: fixture is asked again in 2 h"), "{protocol:?}\n{status}");
        let until = world.state()["run"]["waits"][0]["until"].clone();
        let until: jiff::Timestamp = until.as_str().unwrap().parse().unwrap();
        let left = until.duration_since(jiff::Timestamp::now()).as_secs();
        // Some protocols tell it to the minute.
        assert!((10_600..=10_800).contains(&left), "{protocol:?}: {left} s");
        world.descent(&["stop"]).expect(0);
        let ran = run.wait();
        assert!(ran.stdout.contains("wait 1 of 24"), "{protocol:?}\n{}", ran.stdout);
        let run = &world.state()["run"];
        assert_eq!(run["reason"], "stopped", "{protocol:?}");
        assert_eq!(run["spent"]["attempts"], 0, "{protocol:?}");
        assert!(processes(&nap).is_empty(), "{protocol:?}");
    }
}

#[test]
fn a_refusal_and_the_end_of_its_turns_are_failures_in_its_own_words() {
    for protocol in ALL {
        for behaviour in ["refuses", "out-of-turns"] {
            if (protocol, behaviour) == (Codex, "out-of-turns") {
                // It has no limit of turns.
                continue;
            }
            let world = world(protocol, behaviour, &[]);
            let ran = world.run();
            assert_eq!(ran.code, Some(5), "{protocol:?} {behaviour}\n{}", ran.stderr);
        }
    }
}

#[test]
fn a_stop_in_mid_tool_leaves_no_process_of_an_agent() {
    for protocol in ALL {
        for behaviour in ["hangs-in-tool", "ignores-cancel"] {
            let nap = long_nap();
            let world = world(protocol, behaviour, &[("FIXTURE_NAP", nap.as_str())]);
            let mut run = world.start(&["run"]);
            crate::world::wait_for("its tool runs", || {
                !processes(&format!("sleep {nap}")).is_empty()
            });
            world.descent(&["stop"]).expect(0);
            run.wait().expect(3);
            assert!(processes(&nap).is_empty(), "{protocol:?} {behaviour}");
        }
    }
}

#[test]
fn after_a_kill_of_the_loop_an_agent_goes_on_in_its_session_as_the_same_attempt() {
    for protocol in ALL {
        let nap = long_nap();
        let began = tempfile::NamedTempFile::new().unwrap();
        let mark = began.path().display();
        let tool = format!("echo made > done; echo began > {mark}");
        let settings = [("FIXTURE_DO", tool.as_str()), ("FIXTURE_NAP", nap.as_str())];
        let world = world(protocol, "resumes", &settings);
        let run = world.start(&["run"]);
        // Codex tells its session while its tool may run already.
        let session = world.repo().join(".descent/state.json.d/attempts/A1.1/session.json");
        crate::world::wait_for("the session is kept", || session.exists());
        crate::world::wait_for("its tool runs", || !processes(&format!("sleep {nap}")).is_empty());
        let has_begun = || std::fs::metadata(began.path()).is_ok_and(|file| file.len() > 0);
        crate::world::wait_for("its tool ran", has_begun);
        run.kill();
        let ran = world.run();
        assert_eq!(ran.code, Some(0), "{protocol:?}\n{}\n{}", ran.stderr, why(&world));
        let state = world.state();
        assert_eq!(state["run"]["attempts_started"], 1, "{protocol:?}");
        assert!(ran.stdout.contains("its agent goes on"), "{protocol:?}\n{}", ran.stdout);
        assert!(processes(&nap).is_empty(), "{protocol:?}");
    }
}

#[test]
fn an_agent_that_cannot_be_used_ends_the_run_and_costs_no_attempt() {
    for protocol in ALL {
        for (behaviour, words, code) in [
            ("login", "not logged in", "E-AGENT-LOGIN"),
            ("login-at-prompt", "not logged in", "E-AGENT-LOGIN"),
            ("credit", "no credit", "E-AGENT-CREDIT"),
        ] {
            let world = world(protocol, behaviour, &[]);
            let ran = world.run();
            assert_eq!(ran.code, Some(69), "{protocol:?} {behaviour}\n{}", ran.stderr);
            let state = world.state();
            let result = &state["run"];
            assert_eq!(result["reason"], "unavailable", "{protocol:?} {behaviour}");
            assert_eq!(result["code"], code, "{protocol:?} {behaviour}");
            assert!(ran.stdout.contains(code), "{}", ran.stdout);
            let summary = result["summary"].as_str().unwrap();
            assert!(summary.contains(words), "{protocol:?} {behaviour}: {summary}");
            assert_eq!(state["run"]["spent"]["attempts"], 0, "{protocol:?} {behaviour}");
        }
    }
}

#[test]
fn an_agent_that_an_edit_names_in_mid_run_and_that_is_not_installed_costs_no_attempt() {
    for protocol in ALL {
        let world = World::new();
        let go = world.out("go").display().to_string();
        let first = protocol.agent(&world, "works", &[("FIXTURE_DO", "echo made > A1")]);
        let gone = first.replacen("[\"env\"", "[\"no-such-agent\"", 1);
        let text = format!("[agents.gone]\n{gone}\n");
        world.write("descent.toml", &text);
        let wait = format!("until [ -e {go} ]; do sleep 0.05; done; echo made > A1");
        let later = with(task("true"), json!({"depends_on": ["A1"]}));
        let atoms = json!({"A1": task(&wait), "B1": later});
        world.align(&plan(&["test -f A1 && test -f B1"], json!({}), atoms));
        let mut run = world.start(&["run"]);
        wait_for("it works", || world.state()["run"]["attempts_started"] == 1);
        let mut state = world.state();
        let atom = state["work_graph"]["atoms"]["B1"].as_object_mut().unwrap();
        atom.remove("action");
        atom.insert("agent".to_owned(), json!("gone"));
        world.save_records(&state);
        world.touch("go");
        let ran = run.wait().expect(69);
        let result = &world.state()["run"];
        assert_eq!(result["code"], "E-AGENT-MISSING", "{protocol:?} {result}");
        assert_eq!(result["spent"]["attempts"], 1, "{protocol:?} {result}");
        let told = &ran.stdout;
        assert!(told.contains("`no-such-agent` is not on the PATH"), "{told}");
    }
}

#[test]
fn a_mode_is_set_by_list_or_by_option_and_one_that_is_not_offered_is_an_error() {
    for (setting, method) in [
        ("FIXTURE_NO_OPTION", "session/set_mode"),
        ("FIXTURE_MODE_OPTION", "session/set_config_option"),
    ] {
        for (mode, code) in [("write", 0), ("none", 5)] {
            let world = World::new();
            let log = world.out("told").display().to_string();
            let settings =
                [("FIXTURE_DO", "echo made > done"), ("FIXTURE_LOG", log.as_str()), (setting, "1")];
            let agent = Acp.agent(&world, "works", &settings);
            world.write(
                "descent.toml",
                &format!(
                    "[agents.fixture]\n{agent}\nmodes = {{write = \"{mode}\", read = \"read\"}}\n\
                     [roles]\nworker = \"fixture\"\n"
                ),
            );
            world.align(&plan(
                &["test -f done"],
                json!({"max_attempts": 1, "max_transient": 0}),
                json!({"A1": by_worker("make the file done")}),
            ));
            world.run().expect(code);
            let told = std::fs::read_to_string(&log).unwrap();
            assert_eq!(told.contains(method), code == 0, "{mode}\n{told}");
            assert_eq!(told.contains("session/prompt"), code == 0, "{mode}\n{told}");
        }
    }
}

#[test]
fn leave_is_given_by_the_kind_of_an_option_and_for_once() {
    let told = tempfile::NamedTempFile::new().unwrap();
    let log = told.path().display().to_string();
    let world = world(Acp, "permission-loop", &[("FIXTURE_LOG", log.as_str())]);
    world.run().expect(5);
    let told = std::fs::read_to_string(&log).unwrap();
    assert!(told.contains(r#""optionId":"yes""#), "{told}");
    assert!(!told.contains(r#""optionId":"always""#), "{told}");
}
