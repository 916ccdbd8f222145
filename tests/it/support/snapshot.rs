//! Whole screens, each kept as a file of `looks/screens/`.
//!
//! `DESCENT_UPDATE=1` writes them anew. Times, ids and paths of a test's world are replaced by a word. Not here: what
//! is shown, and at which width.

use std::{fs, path::PathBuf};

use regex::Regex;

use crate::{docs::compare::comes_and_goes, world::World};

/// Patterns that vary from run to run, and the word that stands for each.
const VARIES: [(&str, &str); 7] = [
    (r"\d{4}-\d\d-\d\dT[\d:.]+Z", "<moment>"),
    (r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "<id>"),
    (r"\b[0-9a-f]{8,12}\b", "<digest>"),
    (r"\b\d+(\.\d+)? (ms|s|min|m|h)\b", "<time>"),
    // A column is as wide as its content.
    (r"<time> ago +", "<time> ago  "),
    (r"\bpid \d+", "pid <pid>"),
    (r"ago, [a-z ]+ \(pid", "ago, <doing> (pid"),
];

pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/looks/screens")
}

/// Columns that are compared of a line that was cut behind such a word: where it is cut varies too.
const BEFORE_THE_CUT: usize = 60;

/// Asserts that the screen is the one that is kept under this name.
#[track_caller]
pub fn assert_kept(world: &World, name: &str, shown: &str) {
    let path = folder().join(format!("{name}.txt"));
    let shown = plain(world, shown);
    if std::env::var_os("DESCENT_UPDATE").is_some() {
        return fs::write(&path, shown).expect("the screen is kept");
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    let rows = kept.lines().zip(shown.lines());
    let same = rows.take_while(|(kept, shown)| kept == shown).count();
    let row = |text: &str| text.lines().nth(same).unwrap_or("(the end)").to_owned();
    assert!(
        kept == shown,
        "the screen {name} differs in line {}:\n- {}\n+ {}\nall of it:\n{shown}\n\
         if it is as it should be: DESCENT_UPDATE=1 cargo test --test it screens::",
        same + 1,
        row(&kept),
        row(&shown),
    );
}

fn plain(world: &World, shown: &str) -> String {
    let shown = shown.replace(&world.root().display().to_string(), "~");
    let lines: Vec<&str> = shown.lines().filter(|line| !comes_and_goes(line)).collect();
    let mut text = format!("{}\n", lines.join("\n").trim_end());
    for (pattern, word) in VARIES {
        let pattern = Regex::new(pattern).expect("a pattern");
        text = pattern.replace_all(&text, word).into_owned();
    }
    text.lines().map(|line| format!("{}\n", fixed(line))).collect()
}

/// The line without what varies where it was cut.
fn fixed(line: &str) -> String {
    if line.ends_with('…') && line.contains("<time>") {
        let begin: String = line.chars().take(BEFORE_THE_CUT).collect();
        return format!("{}…", begin.trim_end_matches('…'));
    }
    line.to_owned()
}
