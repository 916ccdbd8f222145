//! Surveys a project and proposes parts of an agreement: checks, protected files, and the needs of a fresh workspace.
//! No model is asked.
//!
//! Invariant: only files of the project are read, within limits; nothing is run or written. A proposal is never adopted
//! here: a person does that.

mod targets;
#[cfg(test)]
mod tests;

use std::{
    cell::OnceCell,
    collections::VecDeque,
    path::{Path, PathBuf},
};

use descent_core::judging;
use descent_minds::prompt::{INSTRUCTIONS_BYTES_MAX, ProjectText, ProjectWords};

use descent_system::files;

pub use targets::{missing_script, missing_target};

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
    let is_left_out = |path: &&&str| reader.inside(path).is_some() && is_ignored(path);
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

// The project as the survey sees it: small text files and short lists of names.
//
// Invariant: a symlink that leads out of the project counts as missing. So does a file that is too
// large, not UTF-8, or not regular.

const FILE_BYTES_MAX: u64 = 512 * 1024;
/// Names read in one directory, and in all.
const NAMES_MAX: usize = 500;
const WALK_NAMES_MAX: usize = 4_000;
const DEPTH_MAX: usize = 4;

/// Directories never entered: build output, and files that are not the project's own.
const NOT_WALKED: &[&str] =
    &["node_modules", "target", "vendor", "dist", "build", "venv", "__pycache__"];

#[derive(Debug)]
struct Reader {
    root: PathBuf,
    files: OnceCell<Vec<String>>,
}

impl Reader {
    fn open(project: &Path) -> Option<Self> {
        Some(Self { root: project.canonicalize().ok()?, files: OnceCell::new() })
    }

    /// The real place of a path, if that is in the project.
    fn inside(&self, path: &str) -> Option<PathBuf> {
        let real = self.root.join(path).canonicalize().ok()?;
        real.starts_with(&self.root).then_some(real)
    }

    fn read(&self, path: &str) -> Option<String> {
        let real = self.inside(path)?;
        String::from_utf8(files::read(&real, FILE_BYTES_MAX).ok()?).ok()
    }

    fn is_file(&self, path: &str) -> bool {
        self.inside(path).is_some_and(|path| path.is_file())
    }

    fn is_dir(&self, path: &str) -> bool {
        self.inside(path).is_some_and(|path| path.is_dir())
    }

    /// The names in a directory, sorted.
    fn names(&self, dir: &str) -> Vec<String> {
        let Some(real) = self.inside(dir) else {
            return Vec::new();
        };
        let entries = std::fs::read_dir(real).into_iter().flatten().flatten();
        let names =
            entries.take(NAMES_MAX).filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    /// Whether a file of the project, not too deep, has such a name.
    fn any_file(&self, fits: impl Fn(&str) -> bool) -> bool {
        self.files().iter().any(|path| path.rsplit('/').next().is_some_and(&fits))
    }

    /// The paths of files that are not too deep, those at the top first.
    fn files(&self) -> &[String] {
        self.files.get_or_init(|| self.walk())
    }

    fn walk(&self) -> Vec<String> {
        let (mut files, mut seen) = (Vec::new(), 0);
        let mut todo = VecDeque::from([(String::new(), 0)]);
        while let Some((dir, depth)) = todo.pop_front() {
            for name in self.names(if dir.is_empty() { "." } else { &dir }) {
                seen += 1;
                if seen > WALK_NAMES_MAX {
                    return files;
                }
                let path = if dir.is_empty() { name.clone() } else { format!("{dir}/{name}") };
                let Ok(meta) = self.root.join(&path).symlink_metadata() else {
                    continue;
                };
                let is_walked = !name.starts_with('.') && !NOT_WALKED.contains(&name.as_str());
                if meta.is_file() {
                    files.push(path);
                } else if meta.is_dir() && depth < DEPTH_MAX && is_walked {
                    todo.push_back((path, depth + 1));
                }
            }
        }
        files
    }
}

/// The project's instructions for agents. The first that is there counts.
pub(crate) const INSTRUCTIONS: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
/// Files that are told, each with its bytes at most. The first of a line that is there counts.
const FILES: [(&[&str], usize); 8] = [
    (&["AGENTS.md", "CLAUDE.md", "CONTRIBUTING.md"], 4 << 10),
    (&["README.md", "README", "README.rst", "README.txt"], 3 << 10),
    (&["Cargo.toml"], 2 << 10),
    (&["package.json"], 2 << 10),
    (&["pyproject.toml", "setup.cfg"], 2 << 10),
    (&["go.mod"], 512),
    (&["Makefile", "justfile"], 2 << 10),
    (&[".gitlab-ci.yml"], 2 << 10),
];
const WORKFLOWS: &str = ".github/workflows";
/// Workflows that are told.
const WORKFLOWS_MAX: usize = 2;
const WORKFLOW_BYTES_MAX: usize = 2 << 10;
/// Names of files that are told.
const TOLD_NAMES_MAX: usize = 200;

/// The words of a project, and the commands that a survey of it found.
pub fn words(project: &Path, survey: &Survey) -> ProjectWords {
    let (mut texts, mut files) = (Vec::new(), Vec::new());
    if let Some(reader) = Reader::open(project) {
        let top = reader.names(".");
        // As it is written, else in other case: half of npm has a `readme.md`.
        let in_case = |name: &&str| top.iter().find(|one| one.eq_ignore_ascii_case(name));
        for (names, bytes_max) in FILES {
            let others = names.iter().filter_map(in_case).map(String::as_str);
            let mut found = names.iter().copied().chain(others);
            let found = found.find_map(|name| beginning(&reader, name, bytes_max));
            texts.extend(found);
        }
        let is_yaml = |name: &String| name.ends_with(".yml") || name.ends_with(".yaml");
        let names = reader.names(WORKFLOWS).into_iter().filter(is_yaml);
        let paths = names.map(|name| format!("{WORKFLOWS}/{name}"));
        let told = paths.filter_map(|path| beginning(&reader, &path, WORKFLOW_BYTES_MAX));
        texts.extend(told.take(WORKFLOWS_MAX));
        files = reader.files().iter().take(TOLD_NAMES_MAX).cloned().collect();
    }
    let commands = survey.checks.iter().chain(&survey.setup);
    let line = |one: &Proposal| format!("{}  ({})", one.text, one.from);
    ProjectWords { texts, files, commands: commands.map(line).collect() }
}

/// The project's instructions as they stand there.
pub fn instructions(project: &Path) -> Option<ProjectText> {
    let reader = Reader::open(project)?;
    let mut names = INSTRUCTIONS.into_iter();
    names.find_map(|name| beginning(&reader, name, INSTRUCTIONS_BYTES_MAX))
}

/// The words of a tree in which nothing is ignored.
pub fn words_of(tree: &Path) -> ProjectWords {
    words(tree, &survey(tree, &|_| false))
}

fn beginning(reader: &Reader, path: &str, bytes_max: usize) -> Option<ProjectText> {
    beginning_of(path, &reader.read(path)?, bytes_max)
}

/// The beginning of a text of the project; `None` of a blank one.
pub(crate) fn beginning_of(path: &str, text: &str, bytes_max: usize) -> Option<ProjectText> {
    if text.trim().is_empty() {
        return None;
    }
    let end = text.floor_char_boundary(bytes_max);
    Some(ProjectText {
        path: path.to_owned(),
        is_cut: end < text.len(),
        text: text.get(..end).unwrap_or_default().to_owned(),
    })
}
