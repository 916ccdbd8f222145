//! The words of a project about itself, for an agent that proposes an agreement: instructions, README, CI, manifests.
//!
//! Invariant: a text is a beginning of a file of the project, of at most so many bytes. Not here: the fence around it.

use std::path::Path;

use descent_core::prompt::{INSTRUCTIONS_BYTES_MAX, ProjectText, ProjectWords};

use super::{Survey, reader::Reader};

/// The project's instructions for agents. The first that is there counts.
pub const INSTRUCTIONS: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
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
const NAMES_MAX: usize = 200;

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
        files = reader.files(NAMES_MAX);
    }
    let commands = survey.checks.iter().chain(&survey.setup);
    let line = |one: &super::Proposal| format!("{}  ({})", one.text, one.from);
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
    words(tree, &super::survey(tree, &|_| false))
}

fn beginning(reader: &Reader, path: &str, bytes_max: usize) -> Option<ProjectText> {
    beginning_of(path, &reader.read(path)?, bytes_max)
}

/// The beginning of a text of the project; `None` of a blank one.
pub fn beginning_of(path: &str, text: &str, bytes_max: usize) -> Option<ProjectText> {
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
