//! Whole runs with agents that talk without end, are slow, write elsewhere, or do nothing at all, and with several of
//! them side by side.
//!
//! Not here: agents whose turn ends as it ought to, die, or cannot be used (`talked`).

use serde_json::{Value, json};

use crate::{
    agents::talked::{ALL, Acp, Claude, Codex, by_worker, seconds_from_now, why, world},
    processes::processes_in,
    world::{Ran, Running, World, listing, long_nap, plan, processes, task, wait_for, with},
};

/// The one failure that the trail holds.
fn failure(world: &World) -> Value {
    let trail = world.state()["trail"].clone();
    let mut failures = trail.as_array().unwrap().iter();
    let failure = failures.find(|entry| entry["type"] == "failure");
    failure.expect("a failure").clone()
}

/// Its run is over: nothing that it started goes on.
#[track_caller]
fn nothing_is_left(world: &World) {
    assert_eq!(processes_in(&world.root()), Vec::<String>::new());
}

#[track_caller]
fn failed_with(world: &World, ran: Ran, class: &str, words: &str) {
    let ran = ran.expect(5);
    assert_eq!(ran.result()["result"], "exhausted");
    let failure = failure(world);
    assert_eq!(failure["class"], class, "{failure}");
    let why = why(world);
    assert!(why.contains(words), "no `{words}` in:\n{why}");
    nothing_is_left(world);
}

#[test]
fn an_agent_that_floods_the_loop_does_its_task_and_its_noise_is_not_kept() {
    for protocol in ALL {
        let settings = [("FIXTURE_DO", "echo made > done"), ("FIXTURE_COUNT", "20000")];
        let world = world(protocol, "flood", &settings);
        world.run().expect(0);
        let log = world.repo().join(".descent/state.json.d/attempts/A1.1/output.log");
        let length = std::fs::metadata(log).unwrap().len();
        assert!(length < 4096, "{protocol:?}: {length} bytes");
        nothing_is_left(&world);
    }
}

#[test]
fn an_agent_that_is_slow_is_waited_for_as_long_as_it_speaks() {
    for protocol in ALL {
        let pauses = |ms| [("FIXTURE_DO", "echo made > done"), ("FIXTURE_PAUSE", ms)];
        let slow = world(protocol, "slow", &pauses("500"));
        slow.run().expect(0);
        nothing_is_left(&slow);
        let slower = world(protocol, "slow", &pauses("60000"));
        let ran = slower.run();
        failed_with(&slower, ran, "environmental", "said nothing");
    }
}

#[test]
fn what_an_agent_writes_outside_of_its_workspace_is_no_part_of_the_result() {
    for protocol in ALL {
        let beside = World::new();
        let agent = protocol.agent(&beside, "outside", &[]);
        run_outside(&beside, &agent).expect(0);
        assert_eq!(beside.read("a.txt"), "hello\n", "{protocol:?}");
        // In the person's own tree it stays, and the next run tells it.
        let own = World::new();
        let path = own.repo().join("a.txt").display().to_string();
        let agent = protocol.agent(&own, "outside", &[("FIXTURE_PATH", path.as_str())]);
        run_outside(&own, &agent).expect(0);
        let again = own.descent(&["run"]).expect(0);
        again.says("your files changed since the start of this run: a.txt");
        assert_eq!(own.result_file("a.txt"), "hello\n", "{protocol:?}");
        assert_eq!(own.read("a.txt"), "hello\nchanged by the fixture\n");
    }
}

/// A run whose one task of an agent is done without any file of its workspace.
fn run_outside(world: &World, agent: &str) -> Ran {
    configured(world, &[("fixture", agent)], "worker = \"fixture\"");
    let mut atom = by_worker("look around");
    atom.as_object_mut().unwrap().remove("checks");
    let atoms = json!({"A1": atom, "A2": task("touch done")});
    world.align(&plan(&["test -f done"], json!({}), atoms));
    let ran = world.descent(&["run"]);
    nothing_is_left(world);
    ran
}

/// These agents, and the roles that they have.
pub(crate) fn configured(world: &World, agents: &[(&str, &str)], roles: &str) {
    let agents = agents.iter().map(|(name, agent)| {
        format!("[agents.{name}]\n{agent}\nfirst_event = \"5s\"\nidle = \"5s\"\n")
    });
    let agents: String = agents.collect();
    world.write("descent.toml", &format!("{agents}[roles]\n{roles}\n"));
}

#[test]
fn a_tool_that_an_agent_leaves_behind_in_a_session_of_its_own_ends_with_the_attempt() {
    for protocol in ALL {
        let nap = long_nap();
        let world = world(protocol, "own-session", &[("FIXTURE_NAP", nap.as_str())]);
        let ran = world.run();
        failed_with(&world, ran, "logical", "test -f done");
        assert!(processes(&nap).is_empty(), "{protocol:?}");
    }
}

#[test]
fn an_agent_that_ends_its_turn_at_once_has_failed_and_in_three_atoms_it_cannot_be_used() {
    for (protocol, words) in [
        (Acp, "it holds no JSON object"),
        (Claude, "it holds no JSON object"),
        (Codex, "without a message"),
    ] {
        let one = world(protocol, "no-turn", &[]);
        let ran = one.run();
        failed_with(&one, ran, "logical", words);
        let three = World::new();
        let agent = protocol.agent(&three, "no-turn", &[]);
        configured(&three, &[("fixture", &agent)], "worker = \"fixture\"");
        let atoms = json!({"A1": by_worker("a"), "A2": by_worker("b"), "A3": by_worker("c")});
        three.align(&plan(&["test -f done"], json!({"max_attempts": 1}), atoms));
        let result = three.run().expect(69).result();
        assert_eq!(result["reason"], "unavailable", "{protocol:?}");
        let summary = result["summary"].as_str().unwrap();
        let told = "the agent fixture fails at once";
        assert!(summary.contains(told), "{protocol:?}: {summary}");
        assert_eq!(result["spent"]["attempts"], 0, "{protocol:?}");
        nothing_is_left(&three);
    }
}

/// A task for that agent, done when its own file is there.
pub(crate) fn by(agent: &str, deps: &[&str]) -> Value {
    let mut atom = task("");
    atom.as_object_mut().unwrap().remove("action");
    let own = json!({"description": "make your file", "agent": agent, "depends_on": deps});
    with(atom, own)
}

#[test]
fn three_agents_side_by_side_over_each_protocol_finish_one_run() {
    let world = World::new();
    let out = world.out("at").display().to_string();
    // Nobody is done before all three are at work.
    let tool = format!(
        "echo $DESCENT_ATOM >> {out}; until [ $(wc -l < {out}) = 3 ]; do sleep 0.02; done; echo made > $DESCENT_ATOM"
    );
    let settings = [("FIXTURE_DO", tool.as_str())];
    let agents = ALL.map(|protocol| protocol.agent(&world, "works", &settings));
    let [claude, codex, acp] = &agents;
    let named = [("claude", &**claude), ("codex", codex), ("acp", acp)];
    configured(&world, &named, "worker = \"acp\"");
    let atoms = json!({"A1": by("claude", &[]), "A2": by("codex", &[]), "A3": by("acp", &[])});
    let limits = json!({"max_parallel_agents": 3, "max_attempts": 1});
    world.align(&plan(&["test -f A1 && test -f A2 && test -f A3"], limits, atoms));
    let result = world.run().expect(0).result();
    assert_eq!(result["spent"]["attempts"], 3);
    let by = &world.state()["run"]["spent_by_agent"];
    for agent in ["claude", "codex", "acp"] {
        let mut all = by.as_array().unwrap().iter();
        let one = all.find(|one| one["agent"] == agent).expect(agent);
        assert_eq!(one["attempts"], 1, "{one}");
    }
    nothing_is_left(&world);
}

#[test]
fn the_others_go_on_while_one_agent_waits_for_its_provider() {
    for protocol in ALL {
        let world = World::new();
        let open = world.out("open").display().to_string();
        let soon = seconds_from_now(4);
        let settings =
            [("FIXTURE_DO", "echo made > $DESCENT_ATOM"), ("FIXTURE_RESETS", soon.as_str())];
        let limited = protocol.agent(&world, "limited", &settings);
        let limited = switched(&limited, "limited", &open);
        let free = Acp.agent(&world, "works", &settings);
        configured(&world, &[("limited", &limited), ("free", &free)], "worker = \"free\"");
        let atoms = json!({
            "A1": by("limited", &[]),
            "B1": by("free", &[]), "B2": by("free", &["B1"]), "B3": by("free", &["B2"]),
        });
        let limits = json!({"max_attempts": 1, "max_transient": 0});
        world.align(&plan(&["test -f A1 && test -f B3"], limits, atoms));
        let mut run = world.start(&["run"]);
        wait_for("the others are done while one waits", || {
            let state = world.state();
            let waits = state["run"]["waits"].to_string();
            waits.contains("A1") && state["bindings"]["B3"].is_object()
        });
        world.touch("open");
        run.wait().expect(0);
        let run = &world.state()["run"];
        assert_eq!(run["spent"]["attempts"], 4, "{protocol:?}");
        assert!(run["waits"].is_null(), "{protocol:?}: {}", run["waits"]);
        nothing_is_left(&world);
    }
}

/// The agent of that behaviour works as soon as that file is there.
fn switched(agent: &str, behaviour: &str, file: &str) -> String {
    let (before, argv) = agent.split_once("[\"env\"").unwrap();
    let shell = format!(
        "b={behaviour}; [ -e {file} ] && b=works; FIXTURE_BEHAVIOUR=$b exec env \\\"$@\\\""
    );
    let argv = argv.replacen(&format!(",\"{behaviour}\""), "", 1);
    format!("{before}[\"sh\",\"-c\",\"{shell}\",\"sh\"{argv}")
}

#[test]
fn an_agent_that_is_talked_with_plans_and_the_parts_of_its_plan_are_done() {
    for protocol in ALL {
        let world = World::new();
        let fragment = json!({"reasoning": "it must be", "atoms": {
            "one": task("echo 1 > one"),
            "two": with(task("cat one > two"), json!({"depends_on": ["one"]})),
        }});
        let answer = format!("I planned it.\n{fragment}");
        let planner = protocol.agent(&world, "works", &[("FIXTURE_ANSWER", answer.as_str())]);
        let worker = protocol.agent(&world, "works", &[("FIXTURE_DO", "cat one two > sum")]);
        let agents = [("planner", &*planner), ("worker", &worker)];
        configured(&world, &agents, "planner = \"planner\"\nworker = \"worker\"");
        let atoms = json!({
            "N": {"kind": "plan", "description": "plan the work"},
            "F": by("worker", &["N"]),
        });
        world.align(&plan(&["test -e sum"], json!({"max_attempts": 1}), atoms));
        let ran = world.descent(&["run"]).expect(0).shows("planned   N");
        assert_eq!(world.result_file("sum"), "1\n1\n", "{protocol:?}\n{}", ran.stdout);
        let state = world.state();
        assert_eq!(state["work_graph"]["atoms"]["N"]["parts"], json!(["N-1", "N-2"]));
        nothing_is_left(&world);
    }
}

#[test]
fn an_answer_that_cannot_be_read_is_asked_for_twice_more_in_the_same_session() {
    for protocol in ALL {
        let settings = [("FIXTURE_DO", "echo made > done"), ("FIXTURE_ANSWER", "all done!")];
        let world = world(protocol, "works", &settings);
        // It costs nothing: its check holds.
        world.run().expect(0);
        let bound = world.state()["bindings"]["A1"].clone();
        let because = bound["unclear_because"].as_str().unwrap();
        assert!(because.contains("it holds no JSON object"), "{bound}");
        let sessions: Vec<_> = listing(&world.out("sessions")).into_values().collect();
        let [session] = sessions.as_slice() else {
            panic!("{protocol:?}: {} sessions", sessions.len());
        };
        let told = String::from_utf8_lossy(session);
        assert_eq!(told.lines().count(), 3, "{protocol:?}\n{told}");
    }
}

#[test]
fn an_agent_that_says_that_it_failed_is_believed_where_no_check_can_tell() {
    for protocol in ALL {
        let held_before = json!({"checks": {"all": [{"command": "test -f a.txt"}]}});
        for more in [json!({"checks": null}), held_before] {
            let settings = [
                ("FIXTURE_DO", "echo made > done"),
                ("FIXTURE_ANSWER", r#"{"success": false, "summary": "the port is taken"}"#),
            ];
            let world = World::new();
            let agent = protocol.agent(&world, "works", &settings);
            configured(&world, &[("fixture", &agent)], "worker = \"fixture\"");
            let mut atom = with(by_worker("make the file done"), more);
            let members = atom.as_object_mut().unwrap();
            members.retain(|_, value| !value.is_null());
            let limits = json!({"max_attempts": 1});
            // Not the one last task: it would be judged by the base case.
            let atoms = json!({"A1": atom, "B1": task("true")});
            world.align(&plan(&["test -f done"], limits, atoms));
            let ran = world.run();
            failed_with(&world, ran, "logical", "the port is taken");
        }
    }
}

#[test]
fn an_agent_that_is_talked_with_gets_no_variable_that_is_not_named() {
    for protocol in ALL {
        for (named, key) in [("[]", "none"), ("[\"THE_API_KEY\"]", "sesame")] {
            let world = World::new();
            let out = world.out("seen").display().to_string();
            let tool = format!("echo ${{THE_API_KEY:-none}} > {out}; echo made > done");
            let agent = protocol.agent(&world, "works", &[("FIXTURE_DO", tool.as_str())]);
            let agent = format!("{agent}\nenv = {named}");
            configured(&world, &[("fixture", &agent)], "worker = \"fixture\"");
            let atoms = json!({"A1": by_worker("make it")});
            world.align(&plan(&["test -f done"], json!({}), atoms));
            let mut command = world.command(&["run"]);
            command.env("THE_API_KEY", "sesame");
            Running::of(command).wait().expect(0);
            assert_eq!(world.left("seen").trim(), key, "{protocol:?} {named}");
        }
    }
}

#[test]
fn every_behaviour_of_the_fixture_agents_is_met_in_a_whole_run() {
    let readme = include_str!("../../../fixtures/agents/README.md");
    let runs =
        [include_str!("talked.rs"), include_str!("conduct.rs"), include_str!("shape.rs")].concat();
    let words = readme.lines().filter_map(|line| line.strip_prefix("| `"));
    let words = words.filter_map(|line| line.split_once('`'));
    let behaviours: Vec<&str> = words
        .map(|(word, _)| word)
        .skip_while(|word| *word != "works")
        .take_while(|word| !word.starts_with('-'))
        .collect();
    assert!(behaviours.contains(&"hangs-in-tool"), "{behaviours:?}");
    let met = |word: &&&str| runs.contains(&format!("\"{word}\""));
    let unmet: Vec<_> = behaviours.iter().filter(|word| !met(word)).collect();
    assert!(unmet.is_empty(), "{unmet:?}");
}
