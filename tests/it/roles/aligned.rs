//! An aligner at a real terminal: from one sentence to an agreed plan, edited or refused on the way.
//!
//! Not here: the reading of an answer (`proposal` of the core), everything that keeps it from a proposal (`unaligned`), a
//! change by an aligner (`redirected`).

use std::fs;

use serde_json::{Value, json};

use crate::{
    processes::processes_in,
    terminal::{Terminal, answered},
    world::{World, assert_same, listing},
};

/// A proposal that is carried out without an agent, and asks these questions.
pub fn proposal(questions: Value) -> Value {
    json!({
        "goal": "there is a log of every greeting",
        "definition_of_done": "the log names the greeting",
        "base_case": {"all": [{"command": "grep -q hello log", "name": "logged"}]},
        "protected": ["tests/**"],
        "atoms": [{"id": "write", "kind": "any", "choices": ["plainly", "twice"], "description": "write the log"},
            {"id": "plainly", "description": "once", "action": {"run": "echo hello > log"}},
            {"id": "twice", "description": "two of them", "action": {"run": "echo hello hello > log"}}],
        "questions": questions,
    })
}

pub fn two_questions() -> Value {
    json!([{"question": "Where does the log go?", "why": "two places are used", "options": ["log", "var/log"]},
        {"question": "Who reads it?", "why": "its form depends on that"}])
}

/// An aligner that runs this script after it has noted that it was asked; its own directory is `OUT`.
pub fn aligner(world: &World, script: &str) {
    let out = world.out("").display().to_string();
    let text = format!(
        "#!/bin/sh\necho $DESCENT_ROLE >> OUT/asked\nn=$(wc -l < OUT/asked)\n\
         cp \"$DESCENT_PROMPT\" OUT/prompt.$n\ncp \"$DESCENT_SCHEMA\" OUT/schema.$n\nls > OUT/files.$n\npwd > OUT/at.$n\n\
         touch left-behind\n{script}\n"
    );
    let path = world.program("aligner", &text.replace("OUT", out.trim_end_matches('/')));
    let command = format!("run = \"{}\"", path.display());
    let text = format!("[agents.wise]\n{command}\n[roles]\naligner = \"wise\"\n");
    world.write("descent.toml", &text);
}

/// Prints one object at each turn, the last one ever after.
pub fn says(turns: &[Value]) -> String {
    let mut script = "case $n in\n".to_owned();
    for (n, what) in turns.iter().enumerate() {
        let at = if n + 1 == turns.len() { "*".to_owned() } else { (n + 1).to_string() };
        script += &format!("{at}) cat <<'END'\n{what}\nEND\n;;\n");
    }
    script + "esac"
}

pub fn asked(world: &World) -> usize {
    fs::read_to_string(world.out("asked")).map_or(0, |text| text.lines().count())
}

/// A project with words of its own.
pub fn project() -> World {
    let world = World::new();
    world.write("AGENTS.md", "Run `make test` before you end.\n");
    world.write("README.md", "A greeter.\n");
    world.write("Makefile", "test:\n\tgrep -q hello log\n");
    fs::create_dir(world.repo().join("tests")).unwrap();
    world.write("tests/a.sh", "true\n");
    world.commit_all("more");
    world
}

pub const WORDS: [&str; 4] = ["align", "log the greetings, please", "--why", "people ask"];

pub fn at_terminal(world: &World) -> Terminal {
    Terminal::start(world, &WORDS)
}

/// Nothing of the question is left: no process, no tree, no place in the cache.
#[track_caller]
pub fn nothing_of_it_is_left(world: &World) {
    assert_eq!(processes_in(&world.cache()), Vec::<String>::new());
    let cached = world.cache().join("descent/aligning");
    assert!(!cached.exists(), "{:?}", listing(&world.cache()).keys());
    assert!(!world.repo().join("left-behind").exists());
    assert_eq!(world.git(&["for-each-ref", "refs/descent"]), "");
}

#[test]
fn one_sentence_becomes_an_agreement_once_its_questions_are_answered() {
    let world = project();
    aligner(&world, &says(&[proposal(two_questions()), proposal(json!([]))]));
    let mut at = at_terminal(&world);
    at.sees("asking the aligner `wise` for an agreement…").sees("5 minutes at most");
    at.sees("wise asks (1 of 2): Where does the log go?")
        .sees("since: two places are used")
        .sees("2. var/log")
        .sees("> ")
        .types("3");
    at.sees("no 3 in the list").sees("> ").types("2");
    at.sees("wise asks (2 of 2): Who reads it?").sees("> ").types("");
    at.sees("the agreement with your answers");
    at.sees("proposed by `wise`; nothing of it ran:")
        .sees("there is a log of every greeting")
        .sees("asked: Where does the log go? var/log")
        .sees("no attempt may change: tests/**")
        .sees("grep -q hello log")
        .sees("echo hello hello > log");
    at.sees("run its checks now?");
    assert!(!world.repo().join(".descent").exists());
    nothing_of_it_is_left(&world);
    at.sees("[y/e/N] ").types("y");
    at.sees("fail").sees("logged").sees("agree?").sees("[y/e/N] ").types("y");
    at.sees("next: descent run");
    assert_eq!(at.ends().code(), Some(0));
    let objective = world.state()["objective"].clone();
    assert_eq!(objective["raw_input"], "log the greetings, please");
    assert_eq!(objective["goal"], "there is a log of every greeting");
    assert_eq!(objective["background_intent"], "people ask");
    assert_eq!(
        objective["clarifications"],
        json!([{"question": "Where does the log go?", "resolution": "var/log"}])
    );
    assert_eq!(objective["constraints"]["protected"], json!(["tests/**"]));
    // It was told the project's words and, the second time, the answer.
    let (first, second) = (world.left("prompt.1"), world.left("prompt.2"));
    for words in [
        "log the greetings, please",
        "people ask",
        "Run `make test`",
        "A greeter.",
        "make test  (Makefile)",
        "at most 5",
    ] {
        assert!(first.contains(words), "no `{words}` in:\n{first}");
    }
    for words in
        ["Where does the log go? — var/log", "Ask nothing more", "there is a log of every greeting"]
    {
        assert!(second.contains(words), "no `{words}` in:\n{second}");
    }
    assert_eq!(world.left("asked"), "aligner\naligner\n");
    assert!(world.left("files.1").contains("Makefile"));
    assert_ne!(world.left("at.1").trim(), world.repo().display().to_string());
    let schema: Value = serde_json::from_str(&world.left("schema.1")).unwrap();
    assert_eq!(schema["properties"]["questions"]["maxItems"], 5);
    world.run().expect(0);
    assert_eq!(world.result_file("log"), "hello\n");
}

#[test]
fn a_proposal_that_is_refused_runs_nothing_and_is_kept_as_a_plan() {
    let world = project();
    let mut trap = proposal(json!([]));
    let ran = world.out("ran").display().to_string();
    trap["base_case"] = json!({"command": format!("touch {ran}")});
    aligner(&world, &says(&[trap]));
    let before = listing(&world.repo());
    let mut at = at_terminal(&world);
    at.sees("proposed by `wise`").sees("[y/e/N] ").types("n");
    at.sees("nothing was agreed").sees("the proposal is kept in ");
    at.sees("next: go on from there: descent align -f ");
    assert_eq!(at.ends().code(), Some(4));
    let kept = listing(&world.cache().join("descent/drafts"));
    let text = kept.values().next().expect("a copy");
    assert!(String::from_utf8_lossy(text).contains("people ask"));
    assert_same(&world.repo(), &before);
    assert!(!world.out("ran").exists());
    nothing_of_it_is_left(&world);
}

/// A person who gets a proposal and edits it with this script.
fn edits(world: &World, script: &str) -> Terminal {
    let mut command = world.command(&WORDS);
    let editor = world.program("ed", &format!("#!/bin/sh\n{script}\n"));
    command.env("VISUAL", editor);
    let mut at = Terminal::of(command);
    at.sees("run its checks now").sees("[y/e/N] ").types("e");
    at
}

#[test]
fn a_proposal_is_edited_before_anything_of_it_runs_and_again_before_it_is_agreed() {
    let world = project();
    aligner(&world, &says(&[proposal(json!([]))]));
    let script = "if grep -q '\"logged\"' \"$1\"; then sed -i 's/grep -q hello log/test -s log/; s/\"logged\"/\"there\"/' \"$1\"\n\
         else sed -i 's/there is a log/there is one log/' \"$1\"; fi";
    let mut at = edits(&world, script);
    at.sees("as you edited it; nothing of it ran:").sees("test -s log").sees("[y/e/N] ").types("y");
    at.sees("agree?").sees("[y/e/N] ").types("e");
    at.sees("there is one log of every greeting").sees("[y/e/N] ").types("y");
    at.sees("agree?").sees("[y/e/N] ").types("y").sees("next: descent run");
    assert_eq!(at.ends().code(), Some(0));
    let objective = world.state()["objective"].clone();
    assert_eq!(
        objective["base_case"],
        json!({"all": [{"command": "test -s log", "name": "there"}]})
    );
    assert_eq!(objective["raw_input"], "log the greetings, please");
    assert_eq!(objective["background_intent"], "people ask");
    assert_eq!(listing(&world.cache().join("descent/drafts")).len(), 0);
    world.descent(&["validate"]).expect(0);
}

#[test]
fn an_edited_proposal_that_is_not_agreed_is_kept_as_a_plan() {
    let world = project();
    aligner(&world, &says(&[proposal(json!([]))]));
    let mut at = edits(&world, "sed -i 's/there is a log/there is one log/' \"$1\"");
    at.sees("as you edited it").sees("[y/e/N] ").types("n");
    at.sees("what you typed is kept in ").sees("next: go on from there: descent align -f ");
    assert_eq!(at.ends().code(), Some(4));
    let kept = listing(&world.cache().join("descent/drafts"));
    let path = kept.keys().next().expect("a copy");
    let path = world.cache().join("descent/drafts").join(path);
    world.descent(&["align", "-f", &path.display().to_string(), "-y"]).expect(0);
    let objective = world.state()["objective"].clone();
    assert_eq!(objective["goal"], "there is one log of every greeting");
    assert_eq!(objective["raw_input"], "log the greetings, please");
}

#[test]
fn an_edit_that_is_no_plan_is_refused_with_its_place_and_its_text_is_kept() {
    let world = project();
    aligner(&world, &says(&[proposal(json!([]))]));
    let mut at = edits(&world, "sed -i 's/\"goal\"/\"gaol\"/' \"$1\"; echo MINE >> \"$1\"");
    at.sees("E-INVALID").sees("edit again (e), or discard (x)?").types("x");
    at.sees("what you typed is kept in ");
    assert_eq!(at.ends().code(), Some(4));
    let kept = listing(&world.cache().join("descent/drafts"));
    let text = kept.values().next().expect("a copy");
    assert!(String::from_utf8_lossy(text).ends_with("MINE\n"));
}

#[test]
fn nobody_is_asked_where_no_person_answers_or_nothing_is_missing() {
    let world = project();
    aligner(&world, &says(&[proposal(json!([]))]));
    let sentence = ["align", "log the greetings", "--why", "people ask"];
    for more in [&["-y"][..], &["--json"], &["--no-input"], &[]] {
        world.descent(&[&sentence[..], more].concat()).expect(4);
    }
    let mut at = Terminal::start(&world, &[&sentence[..], &["-y"]].concat());
    assert_eq!(at.ends().code(), Some(4));
    let whole = [&sentence[..], &["--check", "test -f log", "--step", "w=touch log"]].concat();
    let mut at = Terminal::start(&world, &whole);
    at.sees("agree? [y/N] ").types("n");
    assert_eq!(at.ends().code(), Some(4));
    // A yes to something unseen is none.
    let mut at = Terminal::start(&world, &[&sentence[..], &["-q"]].concat());
    at.sees("> ").ends_input();
    assert_eq!(at.ends().code(), Some(4));
    let ran = answered(&mut world.command(&sentence), "(--check)", "\u{4}");
    ran.expect(4);
    assert_eq!(asked(&world), 0);
}

#[test]
fn flags_stay_and_the_aligner_is_told_of_them() {
    let world = project();
    aligner(&world, &says(&[proposal(json!([]))]));
    let mut at = Terminal::start(
        &world,
        &[
            "align",
            "log it",
            "--why",
            "w",
            "--check",
            "grep -q hello log",
            "--check",
            "test -s log",
        ],
    );
    at.sees("proposed by").sees("[y/e/N] ").types("y");
    at.sees("agree?").sees("[y/e/N] ").types("y").sees("next: descent run");
    assert_eq!(at.ends().code(), Some(0));
    // A check that it repeats is there once.
    let all = world.state()["objective"]["base_case"]["all"].clone();
    assert_eq!(
        all,
        json!([{"command": "grep -q hello log", "name": "logged"}, {"command": "test -s log"}])
    );
    assert!(world.left("prompt.1").contains("- a check of the base case: test -s log\n"));
}

#[test]
fn outside_of_a_repository_it_works_on_a_copy() {
    let world = World::bare();
    world.write("notes", "n\n");
    aligner(&world, &says(&[proposal(json!([]))]));
    let mut at = at_terminal(&world);
    at.sees("proposed by `wise`").sees("[y/e/N] ").types("n");
    assert_eq!(at.ends().code(), Some(4));
    assert!(world.left("files.1").contains("notes"));
    assert!(!world.repo().join("left-behind").exists());
    assert_ne!(world.left("at.1").trim(), world.repo().display().to_string());
}
