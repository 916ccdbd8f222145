//! The files that judge the work: tests by their place or name, and the commands of the CI.

use super::{Proposal, proposal, reader::Reader};

/// Directories of tests, with the glob for all in them.
const DIRS: &[&str] = &["tests", "test", "spec", "__tests__", "e2e"];

type NameTest = (&'static str, fn(&str) -> bool);

/// Files that are tests by their names, wherever they are.
const NAMED: &[NameTest] = &[
    ("**/*_test.go", |name| name.ends_with("_test.go")),
    ("**/*.test.*", |name| is_script(name, ".test.")),
    ("**/*.spec.*", |name| is_script(name, ".spec.")),
    ("**/conftest.py", |name| name == "conftest.py"),
];

fn is_script(name: &str, mark: &str) -> bool {
    let ends = ["js", "jsx", "ts", "tsx", "mjs", "cjs", "mts", "cts", "vue"];
    name.rsplit_once(mark).is_some_and(|(_, end)| ends.contains(&end))
}

pub(super) fn propose(reader: &Reader) -> Vec<Proposal> {
    let mut found = Vec::new();
    for dir in DIRS {
        if reader.is_dir(dir) {
            found.push(proposal(format!("{dir}/**"), format!("{dir}/")));
        }
    }
    for (glob, fits) in NAMED {
        if reader.any_file(fits) {
            found.push(proposal(*glob, "their names"));
        }
    }
    if reader.is_dir(".github/workflows") {
        found.push(proposal(".github/workflows/**", ".github/workflows/"));
    }
    if reader.is_file(".gitlab-ci.yml") {
        found.push(proposal(".gitlab-ci.yml", ".gitlab-ci.yml"));
    }
    found
}
