//! The planted bugs: each fits the code, and names tests that are there. Not here: their effects.

use std::path::Path;
use std::process::Command;

use super::text::is_ident;
use super::tree::{Source, everything, files_below, read};

/// A patch that no longer fits plants nothing; a filter that no test has catches nothing.
pub(crate) fn planted_bugs(root: &Path) -> Vec<String> {
    let tests = tests(&everything(root));
    let mut faults = Vec::new();
    for patch in files_below(root, "scripts/planted", "patch") {
        if !fits(root, &patch) {
            faults.push(format!("{patch}: does not fit the code any more"));
        }
        for filter in filters(&read(&root.join(&patch))) {
            if !tests.iter().any(|test| test.contains(&filter)) {
                faults.push(format!("{patch}: no test is named `{filter}`"));
            }
        }
    }
    faults
}

/// `scripts/one-line` adds a key in one place, and `scripts/one-question` a question by a row and a text.
pub(crate) fn one_place(root: &Path) -> Vec<String> {
    let mut faults = Vec::new();
    for (patch, places) in [("scripts/one-line.patch", 1), ("scripts/one-question.patch", 2)] {
        let hunks = read(&root.join(patch)).matches("\n@@ ").count();
        if hunks != places {
            faults.push(format!("{patch}: has {hunks} hunks, and should have {places}"));
        }
        if !fits(root, patch) {
            faults.push(format!("{patch}: does not fit the code any more"));
        }
    }
    faults
}

fn fits(root: &Path, patch: &str) -> bool {
    let mut git = Command::new("git");
    git.arg("-C").arg(root).args(["apply", "--check", patch]);
    git.output().is_ok_and(|ran| ran.status.success())
}

/// The test filters in `Caught-by:`, without the options of cargo and their values.
fn filters(patch: &str) -> Vec<String> {
    let head = patch.lines().take_while(|line| !line.starts_with("diff "));
    let lines = head.filter_map(|line| line.strip_prefix("Caught-by: "));
    let of_line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_value = |at: usize| at > 0 && matches!(words[at - 1], "-p" | "--bin" | "--test");
        let filter = (0..words.len()).find(|at| !words[*at].starts_with('-') && !is_value(*at));
        filter.map(|at| words[at].to_owned())
    };
    lines.filter_map(of_line).collect()
}

/// The paths of possible tests: names at the beginning of a line that are called or typed there, as the test harness
/// writes them. A module `tests` in the file counts too, and a macro may have made a test.
fn tests(sources: &[Source]) -> Vec<String> {
    let mut tests = Vec::new();
    for source in sources {
        let module = module_of(&source.path);
        for line in source.text.lines() {
            let line = line.trim_start();
            let line = line.strip_prefix("async ").unwrap_or(line);
            let line = line.strip_prefix("fn ").unwrap_or(line);
            let name = line.split(|c: char| !is_ident(c)).next().unwrap_or_default();
            if line[name.len()..].starts_with(['(', ':']) {
                tests.push(format!("::{module}::{name}"));
                tests.push(format!("::{module}::tests::{name}"));
            }
        }
    }
    tests
}

/// `crates/store/src/tests.rs` is `store::tests`, `tests/it/steer/stop.rs` is `it::stop`.
fn module_of(path: &str) -> String {
    let inner = path.strip_prefix("crates/").and_then(|inner| inner.split_once('/'));
    let (package, path) = inner.unwrap_or(("", path));
    let path = path.strip_prefix("src/").or_else(|| path.strip_prefix("tests/")).unwrap_or(path);
    let path = path.trim_end_matches(".rs").replace('/', "::");
    if package.is_empty() { path } else { format!("{package}::{path}") }
}
