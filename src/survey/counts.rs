//! Counts of failing tests: the check that reads one, in the place of a check that tells only yes or no.
//!
//! Invariant: the new check holds only where the old one does. Its exit code counts as before, and a line that says 0
//! comes first, so a tool that prints no count fails by its exit code alone.

use std::path::Path;

use descent_core::state::check::{CommandLeaf, NumberRule, number_node};

use super::{node, reader::Reader, targets};

/// How a tool tells how many tests failed.
struct Count {
    /// The same words with 0, for `printf`.
    none: &'static str,
    pattern: &'static str,
}

const CARGO: Count = Count {
    none: "test result: ok. 0 passed; 0 failed;",
    pattern: r"^test result: (?:ok|FAILED)\. \d+ passed; (\d+) failed;",
};
const NODE: Count =
    Count { none: r"# pass 0\n# fail 0", pattern: r"^(?:#|ℹ) pass \d+\n(?:#|ℹ) fail (\d+)$" };
const PYTEST: Count =
    Count { none: "0 failed in 0s", pattern: r"^(?:=+ )?(\d+) failed\b.* in \d[\d.]*s" };

/// The same check by the count of failing tests, if its command is a test tool that tells one.
pub fn failing_tests(project: &Path, leaf: &CommandLeaf) -> Option<CommandLeaf> {
    let is_plain = leaf.number.is_none() && leaf.stdout_matches.is_none() && leaf.expect_exit == 0;
    let words = targets::plain_words(&leaf.command).filter(|_| is_plain)?;
    let (command, count) = cargo(&words)
        .map(|command| (command, CARGO))
        .or_else(|| is_node(project, &words).then(|| (words.join(" "), NODE)))
        .or_else(|| is_pytest(&words).then(|| (words.join(" "), PYTEST)))?;
    let none = count.none;
    Some(CommandLeaf {
        command: format!(r"printf '{none}\n'; {command}"),
        number: Some(NumberRule {
            pattern: count.pattern.to_owned(),
            at_least: None,
            at_most: Some(number_node(0.0)),
            baseline: None,
        }),
        ..leaf.clone()
    })
}

/// `cargo test`, which goes on after a target with a failure.
fn cargo(words: &[&str]) -> Option<String> {
    let is_toolchain = |word: &&str| word.starts_with('+');
    let at = match words {
        ["cargo", "test" | "t", ..] => 2,
        ["cargo", toolchain, "test" | "t", ..] if is_toolchain(toolchain) => 3,
        _ => return None,
    };
    let (tool, rest) = words.split_at_checked(at)?;
    let says_otherwise = |word: &&str| {
        let others = ["--no-run", "--list", "--help", "-h"];
        others.contains(word) || word.starts_with("--format")
    };
    if rest.iter().any(says_otherwise) {
        return None;
    }
    let goes_on = rest.contains(&"--no-fail-fast");
    let more: &[&str] = if goes_on { &[] } else { &["--no-fail-fast"] };
    Some([tool, more, rest].concat().join(" "))
}

/// The runner of node itself, by its own name or as the test script of the project.
fn is_node(project: &Path, words: &[&str]) -> bool {
    let quiet = ["-s", "--silent"];
    let words: Vec<&str> = words.iter().copied().filter(|w| !quiet.contains(w)).collect();
    match words.as_slice() {
        ["npm", "test" | "t"] | ["npm", "run" | "run-script", "test"] => {
            let script = Reader::open(project).and_then(|reader| node::script(&reader, "test"));
            script.is_some_and(|script| runs_node_tests(script.split_whitespace()))
        }
        ["node", ..] => runs_node_tests(words.into_iter()),
        _ => false,
    }
}

fn runs_node_tests<'w>(words: impl Iterator<Item = &'w str>) -> bool {
    let words: Vec<&str> = words.collect();
    let says_otherwise =
        |word: &&str| word.starts_with("--test-reporter") || word.starts_with("--watch");
    words.contains(&"node") && words.contains(&"--test") && !words.iter().any(says_otherwise)
}

fn is_pytest(words: &[&str]) -> bool {
    let words = match words {
        ["uv" | "poetry", "run", rest @ ..] => rest,
        words => words,
    };
    let name = |word: &str| word.rsplit('/').next().unwrap_or_default().to_owned();
    let rest = match words {
        [python, "-m", "pytest", rest @ ..] if name(python).starts_with("python") => rest,
        [pytest, rest @ ..] if name(pytest) == "pytest" => rest,
        _ => return false,
    };
    // It ends at the first failure, or runs no test.
    let says_otherwise = |word: &&str| {
        let is_short = word.starts_with('-') && !word.starts_with("--");
        let others = ["--exitfirst", "--maxfail", "--co", "--stepwise", "--help"];
        is_short && word.contains(['x', 'h']) || others.iter().any(|one| word.starts_with(one))
    };
    !rest.iter().any(says_otherwise)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods)] // door: tests
    use descent_core::state::{Check, Leaf};

    use super::*;

    fn counted(script: &str, command: &str) -> Option<String> {
        let dir = tempfile::tempdir().unwrap();
        let package = serde_json::json!({"scripts": {"test": script}}).to_string();
        std::fs::write(dir.path().join("package.json"), package).unwrap();
        let check = Check::command(command);
        let Some(Leaf::Command(leaf)) = check.leaf() else {
            panic!("a command");
        };
        let found = failing_tests(dir.path(), leaf)?;
        let (first, command) = found.command.split_once("'; ").unwrap();
        assert!(first.starts_with("printf '") && first.ends_with("\\n"), "{first}");
        Some(command.to_owned())
    }

    #[test]
    fn a_tool_that_tells_a_count_is_known_by_its_words() {
        let node = "node --test test/";
        for (script, command, wanted) in [
            ("", "cargo test", "cargo test --no-fail-fast"),
            ("", "cargo +nightly t -q -- one", "cargo +nightly t --no-fail-fast -q -- one"),
            ("", "cargo test --no-fail-fast", "cargo test --no-fail-fast"),
            (node, "npm test", "npm test"),
            (node, "npm run -s test", "npm run -s test"),
            ("", "node --test", "node --test"),
            ("", ".venv/bin/python -m pytest -q", ".venv/bin/python -m pytest -q"),
            ("", "uv run pytest tests", "uv run pytest tests"),
        ] {
            let found = counted(script, command);
            assert_eq!(found.as_deref(), Some(wanted), "{command}");
        }
    }

    #[test]
    fn in_doubt_there_is_no_count() {
        for (script, command) in [
            ("jest", "npm test"),
            ("node --test --test-reporter=dot", "npm test"),
            ("node --test", "npm run lint"),
            ("node --test", "npm test; true"),
            ("node --test", "npm test | cat"),
            ("", "node test.js"),
            ("", "cargo test --no-run"),
            ("", "cargo test -- --format=json"),
            ("", "cargo build"),
            ("", "cargo test;"),
            ("", "pytest -qx"),
            ("", "pytest --maxfail=1"),
            ("", "python3 -m unittest"),
            ("", "go test ./..."),
            ("", "sh test.sh"),
        ] {
            assert_eq!(counted(script, command), None, "{command}");
        }
    }

    /// The sum that a leaf would read, as `verify` reads it.
    fn sum(count: &Count, output: &str) -> u32 {
        let none = count.none.replace("\\n", "\n");
        let output = format!("{output}\n{none}\n");
        let mut builder = regex::RegexBuilder::new(count.pattern);
        let pattern = builder.multi_line(true).crlf(true).build().unwrap();
        let numbers = pattern.captures_iter(&output).map(|found| found[1].parse::<u32>());
        numbers.map(Result::unwrap).sum()
    }

    #[test]
    fn the_lines_of_the_tools_are_read_and_no_others() {
        let cargo = "test result: FAILED. 1 passed; 2 failed; 0 ignored; finished in 0.08s\n7 failed;\n\
                     test result: ok. 3 passed; 0 failed; 0 ignored; finished in 0.08s\n\
                     test result: FAILED. 0 passed; 1 failed; 0 ignored; finished in 0.08s";
        let tap = "# fail 9\n    # pass 0\n    # fail 4\n1..2\n# tests 3\n# suites 1\n# pass 1\n# fail 2\n# cancelled 0";
        let spec = "\u{2139} tests 3\n\u{2139} pass 1\n\u{2139} fail 2\n\u{2139} cancelled 0";
        let quiet = "9 failed, 1 in all\nFAILED test_a.py::test_c - assert 0\n2 failed, 1 passed, 1 error in 0.02s";
        let pytest = "===== 2 failed, 1 passed in 63.02s (0:01:03) =====";
        for (count, output, wanted) in [
            (CARGO, cargo, 3),
            (CARGO, "error: could not compile", 0),
            (NODE, tap, 2),
            (NODE, spec, 2),
            (PYTEST, quiet, 2),
            (PYTEST, pytest, 2),
            (PYTEST, "3 passed in 0.01s", 0),
            (PYTEST, "1 error in 0.15s", 0),
        ] {
            assert_eq!(sum(&count, output), wanted, "{output}");
        }
    }
}
