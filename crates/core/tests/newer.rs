//! States of newer versions: unknown content stays as it is, and is reported if something depends on it.

use std::{collections::BTreeMap, fs, path::Path};

use descent_core::{
    doc::{self, Node},
    graph::validate,
    state::{
        decode::{Decoding, deciding, decode},
        encode::StateText,
    },
};

/// Keys whose values are words of a closed list.
const WORDS: [&str; 8] =
    ["kind", "status", "effect", "workspace", "on_stuck", "ended", "class", "type"];
const NEWER: &str = "wondrous";

fn valid() -> BTreeMap<String, String> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/valid");
    let files = fs::read_dir(dir).expect("the fixtures");
    let file = |path: std::path::PathBuf| {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        (name, fs::read_to_string(path).expect("UTF-8"))
    };
    files.map(|entry| file(entry.expect("an entry").path())).collect()
}

fn of_version(text: &str, version: &str) -> String {
    let newer = text.replacen("\"version\": \"3.0\"", &format!("\"version\": \"{version}\""), 1);
    assert_ne!(newer, text);
    newer
}

/// The places of a key's word in the text, from and to.
fn words_of(text: &str) -> Vec<(usize, usize)> {
    let mut places = Vec::new();
    for key in WORDS {
        let before = format!("\"{key}\": \"");
        // The free values of atoms (an output schema) are unknown in every version.
        let free = (key == "type").then(|| text.rfind("\n\"trail\"")).flatten();
        // Only the status of the run is kept: that of an atom is made anew.
        let run = text.find("\n\"run\": ").zip(text.find("\n\"internal\": "));
        let is_kept = |at: usize| key != "status" || run.is_some_and(|(a, b)| a < at && at < b);
        let of_ours = |(at, _): &(usize, &str)| free.is_none_or(|from| *at > from) && is_kept(*at);
        for (at, _) in text.match_indices(&before).filter(of_ours) {
            let from = at + before.len();
            let to = from + text[from..].find('"').expect("the end of the word");
            places.push((from, to));
        }
    }
    places
}

/// Without the two values that every commit changes.
fn bare(text: &str) -> Node {
    let parsed = doc::parse(text, &doc::Limits::default());
    assert_eq!(parsed.faults, []);
    let node = parsed.node.expect("a tree");
    let members = node.as_object().expect("an object").iter();
    let bare = members.map(|member| match member.key.as_str() {
        "internal" => (member.key.clone(), without("seal", &member.node, 0)),
        // The status of an atom is made anew by each commit.
        "work_graph" => (member.key.clone(), without("status", &member.node, 2)),
        _ => (member.key.clone(), member.node.clone()),
    });
    Node::object(bare.collect())
}

/// Without the members of that key, so deep in the node.
fn without(key: &str, node: &Node, deep: usize) -> Node {
    let Some(members) = node.as_object() else {
        return node.clone();
    };
    let kept = members.iter().filter(|member| deep > 0 || member.key != key);
    let kept = kept.map(|member| {
        let inner = match deep {
            0 => member.node.clone(),
            _ => without(key, &member.node, deep - 1),
        };
        (member.key.clone(), inner)
    });
    Node::object(kept.collect())
}

#[track_caller]
fn check_intact(name: &str, text: &str) -> Decoding {
    let read = decode(text.as_bytes());
    assert_eq!(read.faults, [], "{name}");
    let (state, root) =
        (read.state.as_ref().expect("a state"), read.root.as_ref().expect("a tree"));
    assert_eq!(validate::check(state, root), [], "{name}");
    let written = StateText::of(state).text(state);
    assert_eq!(bare(&written), bare(text), "{name}:\n{written}");
    read
}

#[test]
fn every_word_of_a_newer_minor_version_is_kept_where_it_stands() {
    let mut tried = 0;
    for (name, text) in valid() {
        let text = of_version(&text, "3.7");
        for (from, to) in words_of(&text) {
            let edited = format!("{}{NEWER}{}", &text[..from], &text[to..]);
            let line = text[..from].lines().count();
            let read = check_intact(&format!("{name}:{line}"), &edited);
            let told = read.warnings.iter().filter(|one| one.span.start() + 1 == from);
            let is_free = read.warnings.is_empty() || told.count() == 0;
            // The type of an entry of the trail is free: an unknown entry is history.
            let is_history = text[..from].contains("\n\"trail\"");
            assert!(!is_free || is_history, "{name}:{line}: nothing is said");
            tried += 1;
        }
    }
    assert!(tried > 30, "only {tried} words");
}

#[test]
fn the_same_words_are_faults_in_a_version_that_this_program_knows() {
    let text = valid()["nested-groups.json"].clone();
    let (from, to) = words_of(&text)[0];
    let edited = format!("{}{NEWER}{}", &text[..from], &text[to..]);
    let rules: Vec<&str> =
        decode(edited.as_bytes()).faults.iter().map(|fault| fault.rule).collect();
    assert_eq!(rules, ["unknown-value"]);
}

#[test]
fn a_misspelt_key_is_kept_in_a_file_of_a_newer_minor_version() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/invalid/misspelt-keys.json");
    let text = fs::read_to_string(path).expect("the fixture");
    assert!(!decode(text.as_bytes()).faults.is_empty());
    check_intact("misspelt-keys.json", &of_version(&text, "3.7"));
}

#[track_caller]
fn check_deciding(from: &str, to: &str, expected: &[&str]) {
    let text = of_version(&valid()["nested-groups.json"], "3.7");
    assert!(text.contains(from), "no `{from}`");
    let read = check_intact(to, &text.replacen(from, to, 1));
    let found: Vec<&str> = deciding(&read.warnings).map(|one| one.pointer.as_str()).collect();
    assert_eq!(found, expected, "{to}");
}

#[test]
fn what_decides_is_told_with_its_place_and_what_does_not_is_not() {
    for (from, to, expected) in [
        ("\"workspace\": \"git\"", "\"workspace\": \"cloud\"", "/objective/constraints/workspace"),
        ("\"file\": \"docs/*.html\"", "\"url\": \"docs\"", "/objective/base_case/all/3/any/1"),
        ("\"assertion\": \"the", "\"hunch\": \"the", "/objective/base_case/all/5"),
    ] {
        check_deciding(from, to, &[expected]);
    }
    check_deciding("\"type\": \"choice\"", "\"type\": \"hunch\"", &[]);
    check_deciding("\"goal\": \"", "\"mood\": 1, \"goal\": \"", &[]);
}

#[test]
fn a_newer_major_version_is_not_read() {
    let text = of_version(&valid()["nested-groups.json"], "4.0");
    let read = decode(text.as_bytes());
    assert!(read.state.is_none(), "a state that could be written");
    let rules: Vec<&str> = read.faults.iter().map(|fault| fault.rule).collect();
    assert_eq!(rules, ["newer-version"]);
}
