//! The survey as a table: small planted projects, and the proposals for them.
#![allow(clippy::disallowed_methods)] // door: plants projects

use std::{fs, os::unix::fs::symlink, path::Path};

use super::*;

fn planted(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        plant(dir.path(), name, text.as_bytes());
    }
    dir
}

fn plant(dir: &Path, name: &str, bytes: &[u8]) {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

fn look(files: &[(&str, &str)]) -> Survey {
    let dir = planted(files);
    survey(dir.path(), &|path| ["node_modules", ".venv", ".env"].contains(&path))
}

fn shown(proposals: &[Proposal]) -> Vec<String> {
    let one = |proposal: &Proposal| format!("{} < {}", proposal.text, proposal.from);
    proposals.iter().map(one).collect()
}

#[track_caller]
fn checks(files: &[(&str, &str)], expected: &[&str]) {
    assert_eq!(shown(&look(files).checks), expected);
}

#[test]
fn an_empty_project_proposes_nothing() {
    assert_eq!(look(&[]), Survey::default());
    assert_eq!(survey(Path::new("/no/such/place"), &|_| true), Survey::default());
}

#[test]
fn cargo_tests_and_builds_and_lints_only_where_the_project_does() {
    let package = ("Cargo.toml", "[package]\nname = \"x\"\n");
    let plain = ["cargo test -q < Cargo.toml", "cargo build -q < Cargo.toml"];
    checks(&[package], &plain);
    let workspace =
        ["cargo test -q --workspace < Cargo.toml", "cargo build -q --workspace < Cargo.toml"];
    checks(&[("Cargo.toml", "[workspace]\nmembers = []\n")], &workspace);
    checks(&[("Cargo.toml", "not toml [")], &[]);
    let ci = "jobs:\n  a:\n    steps:\n      - run: cargo test\n      - name: lint\n        run: cargo clippy -- -D warnings\n      - run: cargo fmt\n";
    checks(
        &[package, (".github/workflows/ci.yml", ci), ("rustfmt.toml", "")],
        &[
            plain[0],
            plain[1],
            "cargo clippy -- -D warnings < .github/workflows/ci.yml:6",
            "cargo fmt --all --check < rustfmt.toml",
        ],
    );
}

#[test]
fn scripts_of_a_package_run_by_the_manager_of_the_lock_file() {
    let scripts =
        r#"{"scripts": {"test": "jest", "build": "tsc", "lint": "eslint .", "dev": "x"}}"#;
    let package = ("package.json", scripts);
    for (lock, test, run) in [
        ("package-lock.json", "npm test", "npm run"),
        ("pnpm-lock.yaml", "pnpm test", "pnpm run"),
        ("yarn.lock", "yarn test", "yarn run"),
        ("bun.lock", "bun run test", "bun run"),
        ("none", "npm test", "npm run"),
    ] {
        let said = [
            format!("{test} < package.json"),
            format!("{run} build < package.json"),
            format!("{run} lint < package.json"),
        ];
        checks(&[package, (lock, "")], &said.each_ref().map(String::as_str));
    }
}

#[test]
fn a_placeholder_a_watcher_and_what_cannot_fail_are_not_proposed() {
    let placeholder = r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1", "build": "tsc --watch", "lint": "true"}}"#;
    checks(&[("package.json", placeholder)], &[]);
    checks(&[("package.json", "[")], &[]);
    checks(&[("package.json", "{\"scripts\": 3}")], &[]);
}

#[test]
fn what_a_fresh_copy_lacks_is_offered_as_link_or_setup() {
    let package = ("package.json", r#"{"dependencies": {"a": "1"}}"#);
    let seen = look(&[package, ("package-lock.json", ""), ("node_modules/a/x.js", "")]);
    assert_eq!(shown(&seen.link), ["node_modules < package.json"]);
    assert_eq!(shown(&seen.setup), ["npm ci < package-lock.json"]);
    let seen = look(&[package]);
    assert_eq!((seen.link.len(), shown(&seen.setup).len()), (0, 1));
    let seen = look(&[(".venv/pyvenv.cfg", ""), (".env", "A=1")]);
    assert_eq!(shown(&seen.link), [".venv < .venv/pyvenv.cfg", ".env < .gitignore"]);
}

#[test]
fn targets_of_a_makefile_are_checks_by_their_names() {
    let text =
        "test_dir := x\nall: test\n\ntest lint: all\n\techo test: no\ncheck:=1\n.PHONY: check\n";
    checks(
        &[("Makefile", text)],
        &["make test < Makefile:4", "make all < Makefile:2", "make lint < Makefile:4"],
    );
}

#[test]
fn python_is_tested_by_what_it_is_configured_for() {
    checks(
        &[("pyproject.toml", "[tool.pytest.ini_options]\n[tool.ruff]\n")],
        &["pytest -q < pyproject.toml", "ruff check . < pyproject.toml"],
    );
    checks(&[("setup.cfg", "[tool:pytest]\n"), ("uv.lock", "")], &["uv run pytest -q < setup.cfg"]);
    let held = [("tox.ini", "[pytest]\n"), (".venv/pyvenv.cfg", ""), (".venv/bin/pytest", "")];
    checks(&held, &[".venv/bin/python -m pytest -q < tox.ini"]);
    checks(&held[..2], &["pytest -q < tox.ini"]);
    checks(
        &[("tests/test_a.py", "")],
        &["python3 -m unittest discover -s tests -t . < tests/test_*.py"],
    );
    checks(&[("tox.ini", "[tox]\n")], &["tox -q < tox.ini"]);
}

#[test]
fn go_is_tested_built_and_vetted() {
    let said = ["go test ./...", "go build ./...", "go vet ./..."];
    let said = said.map(|command| format!("{command} < go.mod"));
    checks(&[("go.mod", "module x\n")], &said.each_ref().map(String::as_str));
}

const WORKFLOW: &str = "\
on: push
jobs:
  test:
    steps:
      - uses: actions/checkout@v4
      - run: npm ci
      - run: npm test
      - name: all of it
        run: |
          ./gradlew check
          echo done
          dotnet test --filter ${{ matrix.x }}
          mix test \\
            --cover
      - name: elsewhere
        working-directory: sub
        run: make test
      - run: |
          cd sub
          make lint
      - run: \"tox -e py\"
";

#[test]
fn lines_of_the_ci_that_look_like_checks_are_proposed_with_their_place() {
    checks(
        &[(".github/workflows/ci.yml", WORKFLOW)],
        &[
            "npm test < .github/workflows/ci.yml:7",
            "./gradlew check < .github/workflows/ci.yml:10",
            "tox -e py < .github/workflows/ci.yml:21",
        ],
    );
    let gitlab = "test:\n  script:\n    - make test\n    - rm -rf x\n  image: make lint\n";
    checks(&[(".gitlab-ci.yml", gitlab)], &["make test < .gitlab-ci.yml:3"]);
    let odd = "  run: make test && rm -rf x\n  run: make test & x\n  run: make test \u{1b}[31m\n";
    checks(&[(".github/workflows/a.yaml", odd)], &[]);
    let elsewhere = "defaults:\n  run:\n    working-directory: app\njobs:\n  a:\n    steps:\n      - run: make test\n";
    checks(&[(".github/workflows/a.yaml", elsewhere)], &[]);
}

#[test]
fn the_same_command_is_proposed_once_and_at_most_six_are() {
    let package = r#"{"scripts": {"test": "a", "check": "b", "build": "c", "lint": "d"}}"#;
    let files = [
        ("package.json", package),
        ("Cargo.toml", "[package]\n"),
        ("go.mod", ""),
        (
            ".github/workflows/ci.yml",
            "      - run: npm run test\n      - run: cargo test --locked\n",
        ),
    ];
    let seen = look(&files).checks;
    assert_eq!(seen.len(), 6);
    let tests = seen.iter().filter(|proposal| proposal.text.contains("test"));
    assert_eq!(tests.count(), 3, "{seen:?}");
}

#[test]
fn the_files_that_judge_are_proposed_as_globs() {
    let seen = look(&[
        ("tests/a.rs", ""),
        ("pkg/deep/x_test.go", ""),
        ("src/a.test.ts", ""),
        ("node_modules/x/a.spec.js", ""),
        (".github/workflows/ci.yml", ""),
    ]);
    let globs: Vec<&str> = seen.protected.iter().map(|p| p.text.as_str()).collect();
    assert_eq!(globs, ["tests/**", "**/*_test.go", "**/*.test.*", ".github/workflows/**"]);
}

#[test]
fn what_leads_out_is_huge_or_no_text_is_not_read() {
    let outside =
        planted(&[("Makefile", "test:\n"), ("package.json", r#"{"scripts": {"test": "x"}}"#)]);
    let dir = tempfile::tempdir().unwrap();
    symlink(outside.path().join("Makefile"), dir.path().join("Makefile")).unwrap();
    plant(dir.path(), "Cargo.toml", b"[package]\n# \xff\xfe\n");
    plant(dir.path(), "package.json", &vec![b' '; 600 * 1024]);
    symlink(outside.path(), dir.path().join("tests")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        dir.path().join("setup.cfg"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    assert_eq!(survey(dir.path(), &|_| true), Survey::default());
}

#[test]
fn the_words_of_a_project_are_beginnings_of_its_own_files() {
    let long = "é".repeat(4_000);
    let dir = planted(&[
        ("AGENTS.md", "Run make test."),
        ("readme.md", &long),
        ("README", ""),
        ("Makefile", "test:\n\ttrue x\n"),
        (".github/workflows/ci.yml", "jobs: {}\n"),
        ("secret.txt", "no"),
    ]);
    symlink("/etc/hostname", dir.path().join("go.mod")).unwrap();
    let found = survey(dir.path(), &|_| false);
    let words = words(dir.path(), &found);
    let told = words.texts.iter().map(|one| (one.path.as_str(), one.text.len(), one.is_cut));
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            ("AGENTS.md", 14, false),
            ("readme.md", 3 << 10, true),
            ("Makefile", 14, false),
            (".github/workflows/ci.yml", 9, false),
        ]
    );
    assert_eq!(words.commands, ["make test  (Makefile:1)"]);
}
