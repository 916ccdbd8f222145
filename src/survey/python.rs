//! Python: `pyproject.toml`, `setup.cfg`, `tox.ini`, `pytest.ini`, and tests beside them.

use super::{Proposal, ProposalList, Rank, proposal, reader::Reader};

/// Signs that pytest is the project's runner.
const PYTEST: &[(&str, &[&str])] = &[
    ("pytest.ini", &[""]),
    ("pyproject.toml", &["[tool.pytest", "pytest"]),
    ("setup.cfg", &["[tool:pytest]", "pytest"]),
    ("tox.ini", &["[pytest]", "pytest"]),
    ("requirements-dev.txt", &["pytest"]),
    ("requirements.txt", &["pytest"]),
    ("conftest.py", &[""]),
    ("tests/conftest.py", &[""]),
];

/// The usual directories of virtual environments.
const ENVIRONMENTS: &[&str] = &[".venv", "venv"];

pub(super) fn propose(reader: &Reader, found: &mut ProposalList) {
    // If a lock file names the tool that holds the environment, programs run through it.
    let through = [("uv.lock", "uv run "), ("poetry.lock", "poetry run ")];
    let through = through.iter().find(|(lock, _)| reader.is_file(lock));
    let through = through.map_or("", |(_, run)| run);
    let names = |file: &str, words: &[&str]| {
        let text = reader.read(file);
        text.is_some_and(|text| words.iter().any(|word| text.contains(word)))
    };
    let pytest = PYTEST.iter().find(|(file, words)| names(file, words));
    if let Some((file, _)) = pytest {
        match ENVIRONMENTS.iter().find(|dir| holds(reader, dir, "pytest")) {
            // Run as a module, so that the copy's own sources come before installed ones.
            Some(dir) if through.is_empty() => {
                let command = format!("{dir}/bin/python -m pytest -q");
                found.add(Rank::Test, command, *file);
            }
            _ => found.add(Rank::Test, format!("{through}pytest -q"), *file),
        }
    } else if let Some(dir) = unittests(reader) {
        let command = match dir {
            "." => format!("{through}python3 -m unittest"),
            dir => format!("{through}python3 -m unittest discover -s {dir} -t ."),
        };
        found.add(Rank::Test, command, format!("{dir}/test_*.py"));
    }
    if names("tox.ini", &["[tox]", "[testenv"]) {
        found.add(Rank::Check, "tox -q", "tox.ini");
    }
    let tools = [
        ("pyproject.toml", "[tool.mypy]", Rank::Check, "mypy ."),
        ("mypy.ini", "", Rank::Check, "mypy ."),
        ("pyproject.toml", "[tool.ruff", Rank::Lint, "ruff check ."),
        ("ruff.toml", "", Rank::Lint, "ruff check ."),
        (".flake8", "", Rank::Lint, "flake8"),
    ];
    for (file, section, rank, command) in tools {
        if names(file, &[section]) {
            found.add(rank, format!("{through}{command}"), file);
        }
    }
}

/// Whether the virtual environment has that program.
fn holds(reader: &Reader, dir: &str, program: &str) -> bool {
    [format!("{dir}/pyvenv.cfg"), format!("{dir}/bin/{program}")]
        .iter()
        .all(|file| reader.is_file(file))
}

/// The directory with test files that unittest finds by their names.
fn unittests(reader: &Reader) -> Option<&'static str> {
    let is_test = |name: &String| {
        name.starts_with("test_") && name.len() > "test_.py".len() && name.ends_with(".py")
    };
    ["tests", "test", "."].into_iter().find(|dir| reader.names(dir).iter().any(is_test))
}

/// The needs of a fresh copy of the project.
pub(super) fn needs(
    reader: &Reader,
    is_ignored: &dyn Fn(&str) -> bool,
    link: &mut Vec<Proposal>,
    setup: &mut Vec<Proposal>,
) {
    for dir in ENVIRONMENTS {
        if reader.is_file(&format!("{dir}/pyvenv.cfg")) && is_ignored(dir) {
            link.push(proposal(*dir, format!("{dir}/pyvenv.cfg")));
        }
    }
    if reader.is_file("uv.lock") {
        setup.push(proposal("uv sync --frozen", "uv.lock"));
    }
}
