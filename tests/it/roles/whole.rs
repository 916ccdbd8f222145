//! Proposals of an aligner are read whole before the yes: long words, and everything that decides, are wrapped and never
//! cut.

use serde_json::{Value, json};

use super::aligned::{aligner, at_terminal, nothing_of_it_is_left, project, says};
use crate::{
    terminal::Terminal,
    world::{World, plan, task},
};

/// Words that fill many rows, with what matters at their end.
fn long(what: &str) -> String {
    format!("{}{what}", "and so on and on and on ".repeat(60))
}

/// As long as a question may be.
fn as_a_question(what: &str) -> String {
    let room = 490 - what.len();
    format!("{} {what}", "so ".repeat(room / 3).trim_end())
}

/// All of these words are there, whatever rows they stand in.
#[track_caller]
fn shows(text: &str, all: &[&str]) {
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    for words in all {
        assert!(text.contains(words), "no `{words}` in:\n{text}");
    }
}

/// A question whose reason and choices are long.
fn question() -> Value {
    json!({"question": as_a_question("asked to its end"), "why": as_a_question("since its end"), "options": [as_a_question("one option"), "no"]})
}

#[test]
fn an_agreement_is_proposed_with_all_that_decides_and_no_word_of_it_is_cut() {
    let world = project();
    let wide = format!("{}/end-of-the-glob", "x".repeat(300));
    let proposal = |questions: Value| {
        json!({
            "goal": long("the goal to its end"),
            "deliverables": long("given to its end"),
            "definition_of_done": long("done to its end"),
            "base_case": {"all": [
                {"command": "grep -q hello log", "name": "logged", "expect_exit": 7},
                {"not_command": "grep -q bye log", "timeout": "17m"},
                {"quality": "it reads well", "pass_threshold": 0.001, "scope": "none/**",
                    "rubric": [{"criterion": "style", "description": "always give 5", "weight": 3,
                        "levels": {"5": "whatever"}}]},
            ]},
            "protected": [wide],
            "atoms": [
                {"id": "write", "description": long("the task to its end"), "effect": "external",
                    "interruptible": false, "timeout": "19m", "output_schema": {"type": "object"}},
            ],
            "questions": questions,
        })
    };
    aligner(&world, &says(&[proposal(json!([question()])), proposal(json!([]))]));
    let mut at = at_terminal(&world);
    at.sees("wise asks (1 of 1)").sees("2. no").sees("> ");
    shows(&at.screen(), &["asked to its end", "since its end", "one option"]);
    at.types("2");
    at.sees("the agreement with your answers");
    at.sees("run its checks now");
    let screen = at.screen();
    let (_, shown) = screen.rsplit_once("nothing of it ran:").unwrap();
    let (words, list) = shown.split_once("all that it sets, whole:").unwrap();
    let (words, _) = words.split_once("the work:").unwrap();
    assert!(!words.contains('…'), "{words}");
    shows(
        words,
        &["the goal to its end", "given to its end", "done to its end", "asked to its end no"],
    );
    assert!(words.split_whitespace().collect::<String>().contains(&wide), "{words}");
    let listed = [
        "check expect_exit 7",
        "check name logged",
        "check not_command grep -q bye log",
        "check timeout 17m",
        "check quality it reads well",
        "check pass_threshold 0.001",
        "check scope none/**",
        "check rubric 1 description always give 5",
        "check rubric 1 weight 3",
        "check rubric 1 levels 5 whatever",
        "the goal to its end",
        "done to its end",
        "the task to its end",
        "task output_schema of write {\"type\":\"object\"}",
        "setting interruptible of write false",
        "setting timeout of write 19m",
        "setting effect of write external",
    ];
    shows(list, &listed);
    assert!(list.contains(&wide), "{list}");
    at.sees("[y/e/N] ").types("n");
    assert_eq!(at.ends().code(), Some(4));
    nothing_of_it_is_left(&world);
}

#[test]
fn a_change_is_proposed_with_its_words_whole_and_all_that_it_moves() {
    let world = World::new();
    let atoms = json!({"A1": task("echo hello > log"), "A2": task("exit 1"), "G1": {"choices": ["A3", "A4"]},
        "A3": task("true"), "A4": task("true")});
    world.align(&plan(&["test -f log"], json!({}), atoms));
    let change = json!({
        "goal": long("the goal to its end"),
        "deliverables": long("given to its end"),
        "definition_of_done": long("done to its end"),
        "checks": ["grep -q ada log"],
        "remove": ["A2"],
        "select": {"G1": "A4"},
        "atoms": [{"id": "sign", "description": long("signed to its end"), "timeout": "19m", "action": {"run": "echo ada >> log"}}],
        "questions": [],
    });
    aligner(&world, &says(&[change]));
    let mut at = Terminal::start(&world, &["redirect", "sign the log"]);
    at.sees("proposed by `wise`; nothing of it counts yet:");
    at.sees("all that it sets, whole:").sees("redirect? [y/N] ");
    let screen = at.screen();
    let (_, list) = screen.split_once("all that it sets, whole:").unwrap();
    let listed = [
        "check command grep -q ada log",
        "action sign echo ada >> log",
        "the goal to its end",
        "given to its end",
        "done to its end",
        "signed to its end",
        "setting timeout of sign 19m",
        "setting base case takes the place of all that stand",
        "setting takes out A2",
        "setting chooses A4 in G1",
    ];
    shows(list, &listed);
    at.types("n");
}
