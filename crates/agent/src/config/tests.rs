//! Reading a configuration, and the agent of each role.
#![allow(clippy::disallowed_methods)] // door: tests

use std::time::Duration;

use descent_core::state::{Duty, Question, Role};

use super::{
    agent_table::{Access, ResolvedAgent, Transport},
    *,
};

fn fault(text: &str) -> (String, String) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join(FILE_NAME), text).unwrap();
    let error = layer(&dir.path().join(FILE_NAME)).unwrap_err();
    let message = error.to_string();
    let from = message.find(FILE_NAME).unwrap() + FILE_NAME.len();
    (message[from..].to_owned(), error.hint())
}

#[test]
fn without_a_file_the_configuration_is_empty() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(layer(&dir.path().join(FILE_NAME)).unwrap(), ConfigLayer::default());
}

#[test]
fn the_command_that_tells_a_person_stands_beside_the_worker_or_alone() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join(FILE_NAME), "notify = 'mail ada'\n").unwrap();
    let config = layer(&dir.path().join(FILE_NAME)).unwrap();
    assert_eq!(config.notify.as_deref(), Some("mail ada"));
    assert_eq!(config.agents.len(), 0);
}

#[test]
fn an_unknown_key_is_refused_where_it_stands_with_the_one_that_was_meant() {
    let (message, hint) = fault("# who\nagent = {run = \"x\"}\n");
    assert_eq!(message, ":2:1: `agent` is not known here");
    assert_eq!(hint, "did you mean `agents`?");
}

#[test]
fn what_is_no_command_is_refused_where_it_stands() {
    assert_eq!(fault("notify = ''\n").0, ":1:10: the command is empty");
    assert_eq!(fault("notify = 1\n").0, ":1:10: expected a string, found integer `1`");
    assert_eq!(fault("agents.a.run = \" \"\n").0, ":1:16: the command is empty");
    assert_eq!(fault("[agents.a]\nrun = 3\n").0, ":2:7: expected a string, found integer `3`");
    assert!(fault("agents.a = {run = \n").0.starts_with(":1:"));
    assert!(fault("notify = 'a'\nnotify = 'b'\n").0.starts_with(":2:1"));
}

#[test]
fn a_file_that_is_no_text_is_an_error_and_not_a_panic() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join(FILE_NAME), b"\xff\xfe\x00").unwrap();
    assert!(matches!(layer(&dir.path().join(FILE_NAME)), Err(ConfigError::Unreadable { .. })));
}

fn config(text: &str) -> Config {
    Config { project: layer_of(text), ..Config::default() }
}

fn layer_of(text: &str) -> ConfigLayer {
    parse(Path::new(FILE_NAME), text).unwrap_or_else(|error| panic!("{error}"))
}

fn agent_of(text: &str, duty: impl Into<Duty>) -> Option<ResolvedAgent> {
    config(text).agent(duty, None).unwrap()
}

#[test]
fn two_lines_make_a_known_program_the_worker() {
    let text = "[agents.ada]\npreset = \"claude\"\n[roles]\nworker = \"ada\"\n";
    let agent = agent_of(text, Role::Worker).unwrap();
    assert_eq!(agent.name.as_str(), "ada");
    assert_eq!(agent.transport.program(), "claude");
    assert_eq!(agent.env, ["ANTHROPIC_BASE_URL", "CLAUDE_CONFIG_DIR"]);
    let Transport::Headless(headless) = agent.transport else {
        panic!("not headless");
    };
    let first = headless.start(Access::Write, "0-1");
    assert_eq!(first[..3], ["claude", "--session-id", "0-1"]);
    assert!(first.contains(&"acceptEdits".to_owned()));
    let again = headless.go_on(Access::Read, "0-1");
    assert_eq!(again[..3], ["claude", "--resume", "0-1"]);
    assert!(again.contains(&"dontAsk".to_owned()));
}

#[test]
fn a_shell_worker_has_its_role_and_an_atom_may_name_another() {
    let text = "agents.worker.run = \"make\"\nroles.worker = \"worker\"\n[agents.acp]\nacp = [\"a\", \"b\"]\nargs = [\"c\"]\nenv = [\"KEY\"]\nidle = \"30s\"\nmodes = {write = \"w\"}\n";
    let config = config(text);
    let worker = config.agent(Role::Worker, None).unwrap().unwrap();
    assert_eq!(worker.name.as_str(), "worker");
    assert_eq!(worker.transport, Transport::Shell("make".to_owned()));
    let named = config.agent(Role::Worker, Some(&AgentName::from("acp")));
    let named = named.unwrap().unwrap();
    assert_eq!(named.env, ["KEY"]);
    assert_eq!(named.limits.idle, Duration::from_secs(30));
    assert_eq!(named.limits.first_event, agent_table::FIRST_EVENT);
    let Transport::Acp(acp) = named.transport else {
        panic!("not acp");
    };
    assert_eq!(acp.argv, ["a", "b", "c"]);
    assert_eq!(acp.modes.of(Access::Write), Some("w"));
    assert_eq!(acp.modes.of(Access::Read), None);
    let worker = config.agent(Role::Worker, Some(&AgentName::from("worker")));
    assert_eq!(worker.unwrap().unwrap().name.as_str(), "worker");
}

#[test]
fn a_role_without_an_agent_has_that_of_its_kin_or_none() {
    let text =
        "agents.w.run = \"x\"\n[agents.j]\nrun = \"j\"\n[roles]\nworker = \"w\"\njudge = \"j\"\n";
    for question in [Question::Rate, Question::Plan, Question::Pass, Question::Word] {
        assert_eq!(agent_of(text, question).unwrap().name.as_str(), "j");
    }
    for role in [Role::Planner, Role::Probe, Role::Aligner] {
        assert_eq!(agent_of(text, role), None);
    }
    assert_eq!(agent_of(text, Question::Summarise), None);
    assert_eq!(agent_of("", Role::Worker), None);
}

#[test]
fn an_agent_may_be_named_for_one_question_and_two_questions_fall_to_nobody() {
    let text = "agents.a.run = \"a\"\nagents.b.run = \"b\"\n[roles]\njudge = {agent = \"a\", plan = \"b\"}\nplanner.refine = \"b\"\n";
    let named = |duty: Duty| agent_of(text, duty).map(|agent| agent.name.to_string());
    assert_eq!(named(Question::Plan.into()).as_deref(), Some("b"));
    assert_eq!(named(Question::Pass.into()).as_deref(), Some("a"));
    assert_eq!(named(Question::Refine.into()).as_deref(), Some("b"));
    assert_eq!(named(Role::Planner.into()), None, "it plans nothing");
    let text = "agents.a.run = \"a\"\nroles.planner = \"a\"\n";
    let named = |question: Question| agent_of(text, question).map(|agent| agent.name.to_string());
    assert_eq!(named(Question::Summarise).as_deref(), Some("a"));
    assert_eq!((named(Question::Refine), named(Question::Profile)), (None, None));
    for (key, hint) in [("plna", "did you mean `plan`?"), ("refine", "known here: agent, pass")] {
        let text = format!("agents.a.run = \"a\"\n[roles.judge]\n{key} = \"a\"\n");
        let (found, told) = fault(&text);
        assert!(found.starts_with(&format!(":3:1: `{key}` is not known here")), "{found}");
        assert!(told.starts_with(hint), "{told}");
    }
    let flags = resolve::of_flags(&["judge.word=a".to_owned(), "judge=b".to_owned()]).unwrap();
    assert_eq!(flags[1].duty, Question::Word.into());
    assert!(resolve::of_flags(&["judge.refine=a".to_owned()]).is_err());
}

#[test]
fn a_name_that_no_agent_has_is_refused_with_its_place_and_the_one_that_was_meant() {
    let config = config("[agents.claude]\npreset = \"claude\"\n[roles]\nworker = \"claud\"\n");
    let error = config.agent(Role::Worker, None).unwrap_err();
    assert!(error.to_string().contains("`claud`"), "{error}");
    assert!(error.to_string().contains("descent.toml:4:1"), "{error}");
    assert_eq!(error.hint(), "did you mean `claude`?");
    let named = AgentName::from("zzz");
    let error = config.agent(Role::Worker, Some(&named)).unwrap_err();
    assert_eq!(error.hint(), "configured: claude");
}

#[test]
fn what_is_wrong_with_an_agent_is_told_where_it_stands() {
    for (text, message, hint) in [
        (
            "[agents.a]\npreset = \"claud\"\n",
            ":2:10: unknown preset `claud`",
            "did you mean `claude`?",
        ),
        ("[agents.a]\nenv = []\n", ":1:1: agent `a` has nothing to start", "exactly one of"),
        (
            "[agents.a]\nrun = \"x\"\npreset = \"claude\"\n",
            ":1:1: agent `a` has several things to start",
            "exactly one of",
        ),
        (
            "[agents.a]\npresett = \"claude\"\n",
            ":2:1: `presett` is not known here",
            "did you mean `preset`?",
        ),
        ("[agents.\"A b\"]\nrun = \"x\"\n", ":1:9: `A b` is no name of an agent", "1 to 64"),
        (
            "[agents.a]\nrun = \"x\"\n[agents.a]\nrun = \"y\"\n",
            ":3:9: duplicate key",
            "an agent of that name stands above",
        ),
        (
            "[agents.a]\nrun = \"x\"\n[roles]\nwroker = \"a\"\n",
            ":4:1: `wroker` is not known here",
            "did you mean `worker`?",
        ),
        ("[agents.a]\nacp = []\n", ":2:7: no program is named", ""),
        ("[agents.a]\nacp = \"x\"\n", ":2:7: expected a list, found string \"x\"", ""),
        (
            "[agents.a]\nrun = \"x\"\nidle = \"5\"\n",
            ":3:8: `5` is no length of time",
            "a number and a unit",
        ),
        (
            "[agents.a]\nrun = \"x\"\nenv = [\"A=1\"]\n",
            ":3:7: `A=1` is no name of a variable",
            "`env` holds names",
        ),
        (
            "[agents.a]\nrun = \"x\"\nprice = {input = \"1,5\", output = \"2\"}\n",
            ":3:18: `1,5` is no price",
            "dollars",
        ),
        (
            "[agents.a]\nheadless = {argv = [\"x\"], events = \"json\"}\n",
            ":2:36: `json` is not known here",
            "known here: claude-stream-json, codex-exec-json, text",
        ),
        (
            "[agents.a]\nheadless = {argv = [\"x\"], events = \"text\", resume = [\"-r\"]}\n",
            ":2:12: `resume` does not say where the id of the session stands",
            "write `{session}` there",
        ),
    ] {
        let (found, told) = fault(text);
        assert!(found.starts_with(message), "{text}\n{found}\n{message}");
        assert!(told.contains(hint), "{text}\n{told}");
    }
}

#[test]
fn a_fault_shows_the_shape_of_the_setting_that_it_is_in() {
    let worker = "a worker takes two lines: agents.worker.run = \"my-agent < \\\"$DESCENT_PROMPT\\\"\" and roles.worker = \"worker\"; a known program: agents.claude";
    let price = "it looks like this: price = {input = \"3\", output = \"15\"}";
    let args = "it looks like this: args = [\"--model\", \"opus\"]";
    for (text, hint) in [
        ("worker = \"claude\"\n", worker),
        ("worker = claude\n", worker),
        ("worker = {preset = \"claude\"}\n", worker),
        ("[worker]\nargs = [\"x\"]\n", worker),
        ("worker = {run = 3}\n", worker),
        ("worker = {run = \"x\"}\n", worker),
        ("notify = [\"mail\"]\n", "notify = \"mail -s descent ada\""),
        ("roles = \"claude\"\n", "roles.worker = \"claude\""),
        ("[roles]\nworker = 3\n", "roles.worker = \"claude\""),
        ("agents = 3\n", "agents.claude.preset = \"claude\" and roles"),
        ("agents.claude = \"claude\"\n", "agents.claude.preset = \"claude\" and roles"),
        ("[agents.a]\nprice = {input = 3, output = 15}\n", price),
        ("agents.a.price = {input = \"3\"}\n", price),
        ("[agents.a]\nrun = \"x\"\n[agents.a.price]\ninput = \"3\"\n", price),
        ("[agents.a]\nprice = \"3\"\n", price),
        ("[agents.a]\npreset = \"claude\"\nargs = \"--model\"\n", args),
        ("agents.a.args = --model\n", args),
        ("[agents.env]\nacp = \"x\"\n", "acp = [\"my-agent\", \"--acp\"]"),
        ("[agents.a]\nrun = \"x\"\nenv = \"KEY\"\n", "env = [\"NAME\"]"),
        ("[agents.a]\nidle = 10\n", "idle = \"10m\""),
        ("[agents.a]\nfirst_event = 10m\n", "first_event = \"2m\""),
        ("[agents.a]\npreset = claude\n", "this: preset = \"claude\""),
        ("[agents.a]\nmodes = \"x\"\n", "modes = {write = \"code\""),
        ("[agents.a]\nheadless = {argv = \"x\"}\n", "headless = {argv = [\"my-agent\""),
        ("notify = 'x'\nnotify = 'y'\n", "that key stands above already"),
    ] {
        let (message, told) = fault(text);
        assert!(told.contains(hint), "{text}\n{message}\n{told}");
    }
}

#[test]
fn a_setting_that_an_agent_has_no_use_for_is_refused_where_it_stands() {
    for (text, message) in [
        ("preset = \"claude\"\nmodes = {write = \"w\"}\n", ":3:9: `modes` goes with"),
        (
            "headless = {argv = [\"x\"], events = \"text\"}\nmodes = {read = \"r\"}\n",
            ":3:9: `modes` goes with",
        ),
        ("run = \"x\"\nmodes = {read = \"r\"}\n", ":3:9: `modes` goes with"),
        ("run = \"x\"\nidle = \"5m\"\n", ":3:8: `idle` goes with"),
        ("run = \"x\"\nfirst_event = \"5m\"\n", ":3:15: `first_event` goes with"),
        ("preset = \"claude\"\ntransient = {exit = [28]}\n", ":3:13: `transient` goes with `run`"),
    ] {
        let (found, hint) = fault(&format!("[agents.a]\n{text}"));
        assert!(found.starts_with(message), "{text}\n{found}");
        assert!(hint.starts_with("take it out"), "{hint}");
    }
    layer_of("[agents.a]\npreset = \"claude-acp\"\nmodes = {write = \"w\"}\nidle = \"5m\"\n");
    layer_of("[agents.a]\npreset = \"claude\"\nidle = \"5m\"\nfirst_event = \"1m\"\n");
    layer_of("[agents.a]\nrun = \"x\"\nenv = [\"A\"]\nprice = {input = \"3\", output = \"15\"}\n");
}

#[test]
fn each_preset_is_whole_and_no_mode_lets_a_model_give_leave() {
    for preset in agent_table::presets() {
        let name = &preset.name;
        assert!(AgentName::is_valid(name), "{name}");
        assert!(!preset.program().is_empty() && preset.program() != "npx", "{name}");
        assert!(!preset.version.argv.is_empty(), "{name}");
        assert!(!preset.install.is_empty() && !preset.log_in.is_empty(), "{name}");
        assert!(!preset.variables.is_empty(), "{name}");
        if let Transport::Acp(acp) = &preset.transport {
            assert!(acp.modes.write.is_some() && acp.modes.read.is_some(), "{name}");
            let meta = acp.session_meta.as_deref().unwrap_or("{}");
            let meta: serde_json::Value = serde_json::from_str(meta).unwrap();
            assert!(meta.is_object(), "{name}");
        }
        let text = format!("{:?} {:?}", preset.transport, preset.set);
        for word in ["bypass", "yolo", "\"auto\"", "\"agent\"", "full-access", "dangerous"] {
            assert!(!text.contains(word), "{name}: {word}");
        }
    }
    let names: Vec<&str> = agent_table::presets().iter().map(|one| one.name.as_str()).collect();
    let whole = ["claude", "codex", "claude-acp", "codex-acp", "gemini", "opencode"];
    assert_eq!(names, whole);
}
