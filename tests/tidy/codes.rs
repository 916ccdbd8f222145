//! Error codes: each code of the program is met by a test and documented, and no other code is.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::tree::{files_below, production, read};

const DOCUMENT: &str = "docs/errors.md";

/// `unmet`: codes that the binary cannot be brought to, each with its reason.
pub(crate) fn codes(root: &Path, unmet: &[(&str, &str)]) -> Vec<String> {
    let given = given(root);
    let met: BTreeSet<String> = files_below(root, "tests/it", "rs")
        .into_iter()
        .flat_map(|path| codes_in(&read(&root.join(path))))
        .collect();
    let told: BTreeSet<String> = codes_in(&read(&root.join(DOCUMENT))).into_iter().collect();
    let mut faults = Vec::new();
    for (code, path) in &given {
        let is_excused = unmet.iter().any(|(known, _)| known == code);
        if !met.contains(code) && !is_excused {
            faults.push(format!("{path}: `{code}` is met by no test in tests/it"));
        }
        if met.contains(code) && is_excused {
            faults.push(format!("tests/tidy/main.rs: `{code}` is met now: take it off the list"));
        }
        if !told.contains(code) {
            faults.push(format!("{path}: `{code}` does not stand in {DOCUMENT}"));
        }
    }
    let unknown = |code: &&String| !given.contains_key(*code);
    faults.extend(
        told.iter()
            .filter(unknown)
            .map(|code| format!("{DOCUMENT}: the program gives no `{code}`")),
    );
    let gone = unmet.iter().filter(|(code, _)| !given.contains_key(*code));
    faults.extend(gone.map(|(code, _)| {
        format!("tests/tidy/main.rs: the program gives no `{code}`: take it off the list")
    }));
    faults
}

/// Every code that stands alone between quotes in the code, with the first file that has it.
fn given(root: &Path) -> BTreeMap<String, String> {
    let mut given = BTreeMap::new();
    for source in production(root) {
        if source.path.ends_with("/tests.rs") || source.path.contains("/tests/") {
            continue;
        }
        let words = source.text.split('"').skip(1).step_by(2);
        for code in words.filter(|word| codes_in(word).first().is_some_and(|code| code == word)) {
            given.entry(code.to_owned()).or_insert_with(|| source.path.clone());
        }
    }
    given
}

/// Words such as `E-LEASE-HELD`.
fn codes_in(text: &str) -> Vec<String> {
    let is_part = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '-';
    text.split(|c| !is_part(c))
        .filter(|word| word.len() > 2 && word.starts_with("E-"))
        .map(|word| word.trim_end_matches('-').to_owned())
        .collect()
}
