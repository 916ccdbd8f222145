//! The form of an answer costs nothing: checks decide, whatever an agent says, and however it is talked with.
//!
//! Not here: when the tree before is measured too (`crates/core/tests/agents/doubted`).

use std::{collections::BTreeSet, fs};

use serde_json::{Value, json};

use super::workers::by_worker;
use crate::{
    support::agents,
    world::{World, plan, with},
};

const WELL: &str = r#"{"success": true, "summary": "it is done"}"#;

/// An answer, and in which ways its result is unclear: `c` claude, codex and ACP, `t` text, `s` a shell command.
struct Case {
    name: &'static str,
    text: &'static str,
    unclear: &'static str,
    /// Whether a good result file lies beside it.
    has_file: bool,
    /// The end of a turn of claude.
    end: &'static str,
}

const fn case(name: &'static str, text: &'static str, unclear: &'static str) -> Case {
    Case {
        name,
        text,
        unclear,
        has_file: false,
        end: r#""subtype":"success","stop_reason":"end_turn""#,
    }
}

/// The ten answers.
fn cases() -> Vec<Case> {
    let two =
        r#"{"success": false, "summary": "not yet"} {"success": true, "summary": "it is done"}"#;
    vec![
        case("prose", "Done! I made the file.", "cts"),
        // A shell command need not say anything.
        case("nothing", "", "ct"),
        case("broken", r#"{"success": true, "summary": "it is done", }"#, "cts"),
        case(
            "types",
            r#"{"success": "yes", "artifacts": "a", "clarity": "clear", "summary": ["it is", "done"]}"#,
            "",
        ),
        case("denial", r#"{"success": false, "summary": "I am not sure"}"#, "cts"),
        case("key", r#"{"success": true, "summary": "it is done", "mood": "good"}"#, ""),
        // A result file is one object.
        case("two", two, "s"),
        Case { has_file: true, ..case("file", "Done! I made the file.", "") },
        Case {
            end: r#""subtype":"success","stop_reason":"refusal""#,
            ..case("refusal", "I will not do that.", "cts")
        },
        Case {
            end: r#""subtype":"error_max_turns","stop_reason":null"#,
            ..case("cut", r#"{"success": true, "summa"#, "cts")
        },
    ]
}

/// The events of one turn of claude.
fn events(case: &Case) -> String {
    let text = json!(case.text);
    format!(
        r#"{{"type":"assistant","session_id":"s","message":{{"id":"m","model":"m","content":[{{"type":"text","text":{text}}}]}}}}
{{"type":"result",{},"is_error":false,"session_id":"s","result":{text}}}
"#,
        case.end
    )
}

/// The events of one turn of codex, which has no word for a refusal and none for a turn that was cut.
fn codex_events(case: &Case) -> String {
    let text = json!(case.text);
    format!(
        r#"{{"type":"thread.started","thread_id":"t"}}
{{"type":"turn.started"}}
{{"type":"item.completed","item":{{"id":"i","type":"agent_message","text":{text}}}}}
{{"type":"turn.completed","usage":{{"input_tokens":1,"cached_input_tokens":0,"output_tokens":1}}}}
"#
    )
}

/// The end of a script that is an agent over ACP.
const OVER_ACP: &str = "FIXTURE_ANSWER=$(cat ANSWERS/$case)
export FIXTURE_ANSWER=\"${FIXTURE_ANSWER:- }\"
case $case in refusal) exec ACP refuses;; cut) exec ACP out-of-turns;; *) exec ACP works;; esac
";

/// Makes the file of its atom, or another one, and says what its case is.
const WORK: &str = "#!/bin/sh
set -e
case $DESCENT_ATOM in *-held) echo made > $DESCENT_ATOM;; *) echo other > $DESCENT_ATOM.other;; esac
case=${DESCENT_ATOM%-*}
[ ! -e ANSWERS/$case.result ] || cp ANSWERS/$case.result \"$DESCENT_RESULT\"
";

/// The agent of that way, as the worker of `descent.toml`.
fn agent(world: &World, way: char) -> String {
    let answers = world.out("answers").display().to_string();
    let says = match way {
        'c' => format!("while read -r _; do cat {answers}/$case.events; done"),
        'x' => format!("cat > /dev/null; cat {answers}/$case.codex"),
        'a' => OVER_ACP
            .replace("ANSWERS", &answers)
            .replace("ACP", &agents::acp().display().to_string()),
        't' => format!("cat > /dev/null; cat {answers}/$case"),
        _ => format!(
            "case $case in file) ;; nothing) ;; *) cp {answers}/$case \"$DESCENT_RESULT\";; esac"
        ),
    };
    let script = WORK.replace("ANSWERS", &answers);
    let path = world.program("worker", &format!("{script}{says}\n"));
    let argv = json!([path.display().to_string()]);
    let agent = match way {
        'c' => format!(
            "headless = {{events = \"claude-stream-json\", argv = {argv}, resume = [\"{{session}}\"]}}"
        ),
        'x' => format!(
            "headless = {{events = \"codex-exec-json\", argv = {argv}, resume = [\"{{session}}\"]}}"
        ),
        'a' => format!("acp = {argv}"),
        't' => format!("headless = {{events = \"text\", argv = {argv}}}"),
        _ => format!("run = \"{}\"", path.display()),
    };
    format!("[agents.fixture]\n{agent}\n[roles]\nworker = \"fixture\"\n")
}

/// A world in which each case is to be done twice: once the check holds, and once it does not.
fn world_of(way: char) -> World {
    let world = World::new();
    let folder = world.out("answers");
    fs::create_dir_all(&folder).unwrap();
    let mut atoms = json!({});
    let checked = |id: &str, check: &str| {
        with(by_worker(id), json!({"checks": {"all": [{"command": check}]}}))
    };
    for case in cases() {
        let name = case.name;
        fs::write(folder.join(name), case.text).unwrap();
        fs::write(folder.join(format!("{name}.events")), events(&case)).unwrap();
        fs::write(folder.join(format!("{name}.codex")), codex_events(&case)).unwrap();
        if case.has_file {
            fs::write(folder.join(format!("{name}.result")), WELL).unwrap();
        }
        for id in [format!("{name}-held"), format!("{name}-not")] {
            atoms[&id] = checked(&id, &format!("test -e {id}"));
        }
    }
    // These checks hold before anything is done.
    for id in ["denial-before", "prose-before"] {
        atoms[id] = checked(id, "test -e a.txt");
    }
    world.write("descent.toml", &agent(&world, way));
    let limits = json!({"max_attempts": 1, "max_parallel_agents": 4});
    world.align(&plan(&["test -e never"], limits, atoms));
    world
}

#[test]
fn an_atom_is_solved_exactly_where_its_checks_hold_whatever_its_agent_answers() {
    for way in ['c', 'x', 'a', 't', 's'] {
        let world = world_of(way);
        world.run().expect(5);
        let state = world.state();
        let bindings = &state["bindings"];
        let failures = state["trail"].as_array().unwrap().iter();
        let failures: Vec<&Value> = failures.filter(|one| one["type"] == "failure").collect();
        for case in cases() {
            let name = case.name;
            let bound = &bindings[format!("{name}-held")];
            assert!(bound.is_object(), "{way} {name}: {failures:#?}");
            let way_of_form = if matches!(way, 'x' | 'a') { 'c' } else { way };
            let is_unclear = case.unclear.contains(way_of_form);
            assert_eq!(bound["unclear"] == true, is_unclear, "{way} {name}: {bound}");
            assert_eq!(bound["unclear_because"].is_string(), is_unclear, "{bound}");
            assert_eq!(bound["read_as"].is_array(), name == "types", "{bound}");
            let summary = bound["summary"].as_str().unwrap();
            // The words of an agent about a result that it denies are no summary of it.
            let is_told = !is_unclear && (way, name) != ('s', "nothing");
            let words = if is_told { "it is" } else { "changed" };
            assert!(summary.contains(words), "{way} {name}: {bound}");
            let id = format!("{name}-not");
            assert!(bindings[&id].is_null(), "{way} {id}");
            let failure = failures.iter().find(|one| one["atom"] == *id).unwrap();
            let reason = failure["reason"].as_str().unwrap();
            let check = format!("its check does not hold: test -e {id}");
            assert!(reason.starts_with(&check), "{way} {failure}");
        }
        let solved: BTreeSet<&String> = bindings.as_object().unwrap().keys().collect();
        assert_eq!(solved.len(), cases().len() + 1, "{way}: {solved:?}");
        assert!(bindings["prose-before"].is_object(), "{way}");
        let denied = failures.iter().find(|one| one["atom"] == "denial-before");
        let reason = denied.unwrap()["reason"].as_str().unwrap();
        assert!(reason.contains("its checks held before"), "{way}: {reason}");
    }
}

#[test]
fn what_was_wrong_with_an_answer_is_shown_and_told_to_those_who_build_on_the_result() {
    let world = super::workers::world(
        "cp \"$DESCENT_PROMPT\" OUT/prompt.$DESCENT_ATOM; touch $DESCENT_ATOM; echo nonsense > \"$DESCENT_RESULT\"",
    );
    let check = json!({"checks": {"all": [{"command": "test -e A1"}]}});
    let atoms = json!({
        "A1": with(by_worker("make it"), check),
        "A2": with(by_worker("use it"), json!({"depends_on": ["A1"]})),
    });
    world.align(&plan(&["test -e A2"], json!({"max_attempts": 1}), atoms));
    let words = "unclear: its answer cannot be read: it is no JSON";
    world.descent(&["run"]).expect(0).shows(words);
    let told = world.left("prompt.A2");
    assert!(told.contains(words), "{told}");
    world.descent(&["why", "A1"]).expect(0).shows(words);
    world.descent(&["report"]).expect(0).shows(words);
    world.descent(&["log"]).expect(0).shows(words);
    let notes = world.status()["last_result"]["output"]["notes"].to_string();
    assert!(notes.contains("the result of A1 is unclear"), "{notes}");
}

#[test]
fn after_a_failure_of_form_alone_nobody_says_that_the_work_was_wrong() {
    let world = super::workers::world("touch done; echo nonsense > \"$DESCENT_RESULT\"");
    let schema = json!({"output_schema": {"type": "object"}});
    let atoms = json!({"A1": with(by_worker("find the port"), schema)});
    world.align(&plan(&["test -f never"], json!({"max_attempts": 2}), atoms));
    let ran = world.descent(&["run"]).expect(5);
    ran.shows("only the form of an answer was wrong: the work was not judged");
    world.descent(&["redirect", "-y", "--set", "max_attempts=3"]).expect(0);
    let told = world.descent(&["why", "A1", "--prompt"]).expect(0).stdout;
    assert!(!told.to_lowercase().contains("go another way"), "{told}");
    let words = "The way of A1.2 and A1.1 may be right: only the form of the answer was wrong";
    assert!(told.contains(words), "{told}");
}
