//! Surveys a project and proposes parts of an agreement: checks, protected files, and the needs of a fresh workspace.
//! No model is asked.
//!
//! Invariant: only files of the project are read, within limits; nothing is run or written. A proposal is never adopted
//! here: a person does that.

mod reader;
mod targets;
#[cfg(test)]
mod tests;
mod told;

use std::path::Path;

use descent_core::judging;
use reader::Reader;

pub use targets::{missing_script, missing_target};
pub use told::{INSTRUCTIONS, beginning_of, instructions, words, words_of};

/// Proposals at most of each kind.
const CHECKS_MAX: usize = 6;
const OTHERS_MAX: usize = 5;

/// A sign, beside its marker, that the command of a row is there.
enum Sign {
    /// The marker has these words.
    Words(&'static str),
    /// `package.json` has a script `test`, and it checks something.
    Script,
    /// The marker has a rule for this target.
    Target(&'static str),
}

use Sign::{Script, Target, Words};

/// A known kind of project: its language, the file that marks it, a sign, and the command that tests it. The first row of
/// a language that fits is proposed.
const TESTED_BY: &[(&str, &str, Sign, &str)] = &[
    ("rust", "Cargo.toml", Words("[workspace]"), "cargo test -q --workspace"),
    ("rust", "Cargo.toml", Words("[package]"), "cargo test -q"),
    ("node", "pnpm-lock.yaml", Script, "pnpm test"),
    ("node", "yarn.lock", Script, "yarn test"),
    // `bun test` is different: bun's own runner.
    ("node", "bun.lock", Script, "bun run test"),
    ("node", "package.json", Script, "npm test"),
    ("deno", "deno.json", Words(""), "deno test"),
    ("python", "uv.lock", Words("pytest"), "uv run pytest -q"),
    ("python", "poetry.lock", Words("pytest"), "poetry run pytest -q"),
    // Run as a module, so that the copy's own sources come before installed ones.
    ("python", ".venv/bin/pytest", Words(""), ".venv/bin/python -m pytest -q"),
    ("python", "pyproject.toml", Words("pytest"), "pytest -q"),
    ("python", "setup.cfg", Words("pytest"), "pytest -q"),
    ("python", "tox.ini", Words("pytest"), "pytest -q"),
    ("python", "requirements.txt", Words("pytest"), "pytest -q"),
    ("python", "pytest.ini", Words(""), "pytest -q"),
    ("python", "tests/conftest.py", Words(""), "pytest -q"),
    ("go", "go.mod", Words(""), "go test ./..."),
    ("jvm", "mvnw", Words(""), "./mvnw -q test"),
    ("jvm", "pom.xml", Words(""), "mvn -q test"),
    ("jvm", "gradlew", Words(""), "./gradlew test"),
    ("jvm", "build.gradle", Words(""), "gradle test"),
    ("ruby", "Gemfile", Words("rspec"), "bundle exec rspec"),
    ("elixir", "mix.exs", Words(""), "mix test"),
    ("make", "Makefile", Target("test"), "make test"),
    ("make", "Makefile", Target("check"), "make check"),
];

/// Globs of files that judge the work, and why.
const JUDGES: &[(&str, &str)] = &[
    ("tests/**", "tests by their place"),
    ("test/**", "tests by their place"),
    ("spec/**", "tests by their place"),
    ("__tests__/**", "tests by their place"),
    ("e2e/**", "tests by their place"),
    ("**/*_test.go", "tests by their names"),
    ("**/*.test.*", "tests by their names"),
    ("**/*.spec.*", "tests by their names"),
    (".github/workflows/**", "commands of the CI"),
    (".gitlab-ci.yml", "commands of the CI"),
];

/// Paths of installed packages and settings that a fresh copy of the project lacks, where git ignores them.
const LINKED: &[&str] = &["node_modules", ".venv", "venv", ".env"];

/// Lock files, each with the command that installs by it.
const INSTALLED_BY: &[(&str, &str)] = &[
    ("pnpm-lock.yaml", "pnpm install --frozen-lockfile"),
    ("yarn.lock", "yarn install --frozen-lockfile"),
    ("bun.lock", "bun install --frozen-lockfile"),
    ("package-lock.json", "npm ci"),
    ("uv.lock", "uv sync --frozen"),
];

/// A possible part of an agreement, and its place in the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    pub text: String,
    pub from: String,
}

/// The proposals for a project.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Commands for the base case, the best first.
    pub checks: Vec<Proposal>,
    /// Globs of the files that judge.
    pub protected: Vec<Proposal>,
    /// Paths that a fresh workspace would lack.
    pub link: Vec<Proposal>,
    /// Commands that make the missing parts of a fresh workspace.
    pub setup: Vec<Proposal>,
}

/// `is_ignored` tells whether git ignores a path of the project.
pub fn survey(project: &Path, is_ignored: &dyn Fn(&str) -> bool) -> Survey {
    let Some(reader) = Reader::open(project) else {
        return Survey::default();
    };
    let (mut checks, mut languages) = (Vec::new(), Vec::new());
    for (language, marker, sign, check) in TESTED_BY {
        if !languages.contains(language) && is_signed(&reader, marker, sign) {
            languages.push(*language);
            checks.push(proposal(check, marker));
        }
    }
    checks.truncate(CHECKS_MAX);
    let judges = JUDGES.iter().filter(|(glob, _)| is_any(&reader, glob));
    let is_left_out = |path: &&&str| reader.exists(path) && is_ignored(path);
    let installed = INSTALLED_BY.iter().filter(|(lock, _)| reader.is_file(lock));
    Survey {
        checks,
        protected: judges.take(OTHERS_MAX).map(|(glob, why)| proposal(glob, why)).collect(),
        link: LINKED
            .iter()
            .filter(is_left_out)
            .map(|path| proposal(path, "ignored by git"))
            .collect(),
        setup: installed.map(|(lock, command)| proposal(command, lock)).collect(),
    }
}

fn proposal(text: &str, from: &str) -> Proposal {
    Proposal { text: text.to_owned(), from: from.to_owned() }
}

fn is_signed(reader: &Reader, marker: &str, sign: &Sign) -> bool {
    match sign {
        Words("") => reader.is_file(marker),
        Words(words) => reader.read(marker).is_some_and(|text| text.contains(words)),
        Script => reader.is_file(marker) && test_script(reader).is_some_and(is_check),
        Target(target) => {
            let text = reader.read(marker);
            text.is_some_and(|text| text.lines().any(|line| targets::is_rule_of(line, target)))
        }
    }
}

fn test_script(reader: &Reader) -> Option<String> {
    let package: serde_json::Value = serde_json::from_str(&reader.read("package.json")?).ok()?;
    Some(package.get("scripts")?.get("test")?.as_str()?.to_owned())
}

/// The placeholder of `npm init`, watchers, and scripts that always succeed are no checks.
fn is_check(script: String) -> bool {
    let is_watch = |word: &str| word.starts_with("--watch") || word == "-w";
    !script.trim().is_empty()
        && !script.contains("no test specified")
        && !script.split_whitespace().any(is_watch)
        && !judging::never_fails(&script)
}

/// Whether the project has a file of that glob, which is a whole directory, a part of a name or a path.
fn is_any(reader: &Reader, glob: &str) -> bool {
    if let Some(dir) = glob.strip_suffix("/**") {
        return reader.is_dir(dir);
    }
    match glob.strip_prefix("**/*") {
        Some(part) => reader.any_file(|name| name.contains(part.trim_end_matches('*'))),
        None => reader.is_file(glob),
    }
}
