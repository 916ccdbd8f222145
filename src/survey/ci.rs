//! Commands of CI workflow files that look like checks, each with its line.
//!
//! Files are read line by line. A command that is not plain on its line is left out: an expression, a continuation, a
//! pipe that a shell would go on with. A step that works in another directory is left out too.

use super::{ProposalList, Rank, reader::Reader};

const WORKFLOWS: &str = ".github/workflows";
const FILES_MAX: usize = 20;
const COMMAND_CHARS_MAX: usize = 120;

/// Beginnings of commands that check something.
const CHECKS: &[(&str, Rank)] = &[
    ("cargo test", Rank::Test),
    ("cargo nextest run", Rank::Test),
    ("npm test", Rank::Test),
    ("npm run test", Rank::Test),
    ("pnpm test", Rank::Test),
    ("pnpm run test", Rank::Test),
    ("yarn test", Rank::Test),
    ("bun test", Rank::Test),
    ("pytest", Rank::Test),
    ("python -m pytest", Rank::Test),
    ("python3 -m pytest", Rank::Test),
    ("python -m unittest", Rank::Test),
    ("python3 -m unittest", Rank::Test),
    ("uv run pytest", Rank::Test),
    ("poetry run pytest", Rank::Test),
    ("go test", Rank::Test),
    ("make test", Rank::Test),
    ("make check", Rank::Test),
    ("mvn test", Rank::Test),
    ("mvn verify", Rank::Test),
    ("./mvnw test", Rank::Test),
    ("./mvnw verify", Rank::Test),
    ("gradle test", Rank::Test),
    ("./gradlew test", Rank::Test),
    ("./gradlew check", Rank::Test),
    ("dotnet test", Rank::Test),
    ("bundle exec rspec", Rank::Test),
    ("bundle exec rake", Rank::Test),
    ("rake test", Rank::Test),
    ("mix test", Rank::Test),
    ("swift test", Rank::Test),
    ("zig build test", Rank::Test),
    ("ctest", Rank::Test),
    ("deno test", Rank::Test),
    ("composer test", Rank::Test),
    ("scripts/test", Rank::Test),
    ("./scripts/test", Rank::Test),
    ("scripts/check", Rank::Check),
    ("./scripts/check", Rank::Check),
    ("tox", Rank::Check),
    ("nox", Rank::Check),
    ("cargo check", Rank::Check),
    ("npx tsc", Rank::Check),
    ("tsc", Rank::Check),
    ("mypy", Rank::Check),
    ("npm run build", Rank::Build),
    ("pnpm run build", Rank::Build),
    ("yarn build", Rank::Build),
    ("cargo build", Rank::Build),
    ("go build", Rank::Build),
    ("cargo clippy", Rank::Lint),
    ("npm run lint", Rank::Lint),
    ("pnpm run lint", Rank::Lint),
    ("yarn lint", Rank::Lint),
    ("npx eslint", Rank::Lint),
    ("make lint", Rank::Lint),
    ("go vet", Rank::Lint),
    ("golangci-lint run", Rank::Lint),
    ("ruff check", Rank::Lint),
    ("flake8", Rank::Lint),
    ("cargo fmt", Rank::Format),
    ("ruff format --check", Rank::Format),
    ("black --check", Rank::Format),
    ("npx prettier --check", Rank::Format),
];

/// A command of the CI.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CiCommand {
    pub(super) text: String,
    from: String,
    rank: Rank,
}

pub(super) fn read(reader: &Reader) -> Vec<CiCommand> {
    let is_yaml = |name: &String| name.ends_with(".yml") || name.ends_with(".yaml");
    let names = reader.names(WORKFLOWS).into_iter().filter(is_yaml);
    let mut lines = Vec::new();
    for name in names.take(FILES_MAX) {
        let path = format!("{WORKFLOWS}/{name}");
        if let Some(text) = reader.read(&path) {
            lines.extend(commands(&text, &path, &["run"]));
        }
    }
    if let Some(text) = reader.read(".gitlab-ci.yml") {
        let keys = ["script", "before_script", "after_script"];
        lines.extend(commands(&text, ".gitlab-ci.yml", &keys));
    }
    lines
}

pub(super) fn propose(lines: &[CiCommand], found: &mut ProposalList) {
    for line in lines {
        found.add(line.rank, line.text.clone(), line.from.clone());
    }
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The commands under `keys`, on the key's line or in the block below it.
fn commands(text: &str, path: &str, keys: &[&str]) -> Vec<CiCommand> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    let mut block: Option<usize> = None;
    // After a `cd`, the rest of a block works elsewhere.
    let mut has_moved = false;
    for (at, line) in lines.iter().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        if block.is_some_and(|above| indent(line) <= above) {
            block = None;
            has_moved = false;
        }
        let trimmed = line.trim_start();
        let bare = trimmed.strip_prefix("- ").map_or(trimmed, str::trim_start);
        let under = keys.iter().find_map(|key| {
            let rest = bare.strip_prefix(key)?.strip_prefix(':')?;
            (block.is_none() && (rest.is_empty() || rest.starts_with(' '))).then(|| rest.trim())
        });
        let command = match under {
            Some("" | "|" | "|-" | "|+" | ">" | ">-") => {
                // Deeper lines than the key itself are its block.
                block = Some(line.len() - bare.len());
                continue;
            }
            Some(command) => command,
            None if block.is_some() => {
                has_moved |= bare.starts_with("cd ");
                bare
            }
            None => continue,
        };
        if let Some((text, rank)) = check(command)
            && !has_moved
            && !works_elsewhere(&lines, at)
        {
            let from = format!("{path}:{}", at + 1);
            found.push(CiCommand { text, from, rank });
        }
    }
    found
}

/// The plain command in `said`, if it checks something.
fn check(command: &str) -> Option<(String, Rank)> {
    let command = command.trim();
    let unquoted =
        ['"', '\''].iter().find_map(|quote| command.strip_prefix(*quote)?.strip_suffix(*quote));
    let command = unquoted.unwrap_or(command);
    let is_odd = command.contains("${{")
        || command.contains(['\\', '|', '&', ';', '$', '>', '<', '#', '`'])
        || command.contains(char::is_control)
        || command.matches('"').count() % 2 == 1
        || command.matches('\'').count() % 2 == 1
        || command.chars().count() > COMMAND_CHARS_MAX
        || command.contains("--watch");
    if is_odd {
        return None;
    }
    let begins = |begin: &str| {
        let rest = command.strip_prefix(begin);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    let (_, rank) = CHECKS.iter().find(|(begin, _)| begins(begin))?;
    // Formatting without `--check` would change the files.
    let changes = command.starts_with("cargo fmt") && !command.contains("--check");
    (!changes).then(|| (command.to_owned(), *rank))
}

/// Whether the step around a line, or the file, names another working directory.
fn works_elsewhere(lines: &[&str], at: usize) -> bool {
    let names = |line: &str| {
        let line = line.trim_start().trim_start_matches("- ");
        line.starts_with("working-directory:") && !line.trim_end().ends_with(": .")
    };
    let is_item = |line: &str| line.trim_start().starts_with("- ");
    let is_step = |line: &str| {
        let keys = ["- name:", "- run:", "- uses:", "- if:", "- id:", "- env:", "- shell:"];
        is_item(line) && (keys.iter().any(|key| line.trim_start().starts_with(key)) || names(line))
    };
    let from = lines[..=at].iter().rposition(|line| is_step(line));
    let Some(from) = from else { return false };
    let deep = indent(lines[from]);
    let rest = lines[from + 1..].iter();
    let length = rest.take_while(|line| line.trim().is_empty() || indent(line) > deep).count();
    let is_default = |line: &str| names(line) && indent(line) <= deep;
    lines[from..=from + length].iter().any(|line| names(line))
        || lines.iter().any(|line| is_default(line) && !is_item(line))
}
