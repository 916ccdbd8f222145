//! Comments in short sentences that begin with their subject.

use std::path::Path;

use super::planted::check;
use super::tree::{files_below, read};

const FOLDERS: &[&str] = &["crates", "fixtures/agents", "scripts", "src", "tests"];
const WORDS_MAX: usize = 30;
/// Words that begin a sentence with its object, unless it is a question.
const INVERTED: &[&str] = &["Of", "What", "Where"];
/// Sentences of comments that are still too long or inverted, by file.
pub(super) const HARD_SENTENCES: &[(&str, usize)] = &[("src/cli/align.rs", 2)];

/// Finds hard sentences beyond the excepted number, and exceptions that are not needed any more.
pub(super) fn comments(root: &Path, excepted: &[(&str, usize)]) -> Vec<String> {
    let mut faults = Vec::new();
    let files = FOLDERS.iter().flat_map(|folder| files_below(root, folder, "rs"));
    for path in files {
        let found = hard_sentences(&read(&root.join(&path)));
        let entry = excepted.iter().find(|(file, _)| *file == path);
        let allowed = entry.map_or(0, |(_, count)| *count);
        if found.len() < allowed {
            faults.push(format!("{path}: list {} hard sentences", found.len()));
        } else if found.len() > allowed {
            faults.extend(found.iter().map(|fault| format!("{path}:{fault}")));
        }
    }
    let is_gone = |(file, _): &&(&str, usize)| !root.join(file).is_file();
    let gone = excepted.iter().filter(is_gone);
    faults.extend(gone.map(|(file, _)| format!("{file}: is listed and not there")));
    faults
}

/// Each begins with the number of its first line.
fn hard_sentences(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut sentence = Vec::new();
    let mut first = 0;
    for (n, line) in text.lines().enumerate() {
        let comment = line.trim_start().strip_prefix("//");
        let comment = comment.map(|rest| rest.trim_start_matches(['/', '!']).trim());
        if comment.is_none_or(|rest| rest.is_empty() || rest.starts_with(['-', '#', '|'])) {
            found.extend(fault(first, &std::mem::take(&mut sentence)));
        }
        for word in comment.unwrap_or_default().split_whitespace() {
            if sentence.is_empty() {
                first = n + 1;
            }
            sentence.push(word);
            if word.trim_end_matches([')', '"']).ends_with(['.', '?', '!']) {
                found.extend(fault(first, &std::mem::take(&mut sentence)));
            }
        }
    }
    found.extend(fault(first, &sentence));
    found
}

fn fault(line: usize, sentence: &[&str]) -> Option<String> {
    let words = sentence.len();
    let start = sentence[..words.min(6)].join(" ");
    let is_question = sentence.last().is_some_and(|word| word.ends_with('?'));
    let is_inverted = sentence.first().is_some_and(|word| INVERTED.contains(word));
    if words > WORDS_MAX {
        Some(format!("{line}: {words} words: {start}"))
    } else if is_inverted && !is_question {
        Some(format!("{line}: begins with its object: {start}"))
    } else {
        None
    }
}

#[test]
fn a_long_sentence_of_a_comment_is_seen_wherever_its_lines_end() {
    let words = |count: usize| "word ".repeat(count);
    let long = format!("//! Short.\n//! One {}\n//! {}end.\n", words(19), words(10));
    let at_most = format!("/// One {}end.\n/// Another.\n", words(28));
    let list = format!("// {}\n// - {}\n", words(20), words(20));
    check(
        |root| comments(root, &[]),
        &[("crates/core/src/a.rs", &long), ("src/b.rs", &at_most), ("tests/c.rs", &list)],
        &["crates/core/src/a.rs:2: 31 words: One word"],
    );
}

#[test]
fn an_inverted_sentence_is_seen_and_a_question_is_not() {
    let text = "/// Fine. Of a thing\n/// what it is.\nfn f() {}\n// What is short?\n";
    check(
        |root| comments(root, &[]),
        &[("src/a.rs", text)],
        &["src/a.rs:1: begins with its object: Of a thing what it is."],
    );
}

#[test]
fn the_list_of_hard_sentences_only_shrinks() {
    let files = [("src/a.rs", "// What is.\n\n// Where is.\n")];
    check(|root| comments(root, &[("src/a.rs", 2)]), &files, &[]);
    let rule = |root: &Path| comments(root, &[("src/a.rs", 1)]);
    check(rule, &files, &["src/a.rs:1", "src/a.rs:3"]);
    let rule = |root: &Path| comments(root, &[("src/a.rs", 3), ("src/b.rs", 1)]);
    check(rule, &files, &["src/a.rs: list 2", "src/b.rs: is listed"]);
}
