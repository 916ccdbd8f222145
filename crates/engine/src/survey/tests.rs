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
fn a_known_project_is_tested_by_the_command_of_its_kind() {
    let node = ("package.json", r#"{"scripts": {"test": "jest"}}"#);
    let make =
        "test_dir := x\nall: test\n\ntests lint: all\n\techo test: no\ncheck: all\ntest:=1\n";
    for (files, wanted) in [
        (vec![("Cargo.toml", "[package]\nname = \"x\"\n")], "cargo test -q < Cargo.toml"),
        (
            vec![("Cargo.toml", "[workspace]\n[package]\n")],
            "cargo test -q --workspace < Cargo.toml",
        ),
        (vec![node, ("package-lock.json", "")], "npm test < package.json"),
        (vec![node, ("pnpm-lock.yaml", "")], "pnpm test < pnpm-lock.yaml"),
        (vec![node, ("yarn.lock", "")], "yarn test < yarn.lock"),
        (vec![node, ("bun.lock", "")], "bun run test < bun.lock"),
        (
            vec![("pyproject.toml", "[tool.pytest.ini_options]\n"), ("tox.ini", "[pytest]\n")],
            "pytest -q < pyproject.toml",
        ),
        (vec![("uv.lock", "name = \"pytest\"\n")], "uv run pytest -q < uv.lock"),
        (
            vec![("tox.ini", "[pytest]\n"), (".venv/bin/pytest", "")],
            ".venv/bin/python -m pytest -q < .venv/bin/pytest",
        ),
        (vec![("go.mod", "module x\n")], "go test ./... < go.mod"),
        (vec![("pom.xml", "")], "mvn -q test < pom.xml"),
        (vec![("Makefile", make)], "make check < Makefile"),
    ] {
        checks(&files, &[wanted]);
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
    let seen = look(&[("package-lock.json", ""), ("node_modules/a/x.js", ""), (".env", "A=1")]);
    assert_eq!(shown(&seen.link), ["node_modules < ignored by git", ".env < ignored by git"]);
    assert_eq!(shown(&seen.setup), ["npm ci < package-lock.json"]);
    let seen = look(&[("package.json", "{}"), ("venv/pyvenv.cfg", "")]);
    assert_eq!((seen.link.len(), seen.setup.len()), (0, 0), "git has it, or nothing locks it");
}

#[test]
fn a_project_of_two_languages_has_a_check_of_each() {
    let files = [("Cargo.toml", "[package]\n"), ("go.mod", ""), ("Makefile", "test check:\n")];
    checks(
        &files,
        &["cargo test -q < Cargo.toml", "go test ./... < go.mod", "make test < Makefile"],
    );
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
    assert_eq!(words.commands, ["make test  (Makefile)"]);
}

#[track_caller]
fn check_target(files: &[(&str, &str)], command: &str, wanted: Option<&str>) {
    let dir = planted(files);
    let found = missing_target(dir.path(), command);
    let found = found.map(|one| format!("{} ({})", one.words, one.manifest));
    assert_eq!(found.as_deref(), wanted, "{command}");
}

#[test]
fn a_target_that_no_manifest_has_is_told() {
    let make = [("Makefile", "all: one\n\techo\none:\n\techo\n")];
    check_target(&make, "make lint", Some("make lint (Makefile)"));
    check_target(&make, "make one", None);
    check_target(&make, "make -j4 one lint && true", Some("make lint (Makefile)"));
    let npm = [("package.json", r#"{"scripts": {"build": "x"}}"#)];
    check_target(&npm, "npm run lint", Some("npm run lint (package.json)"));
    check_target(&npm, "npm run build -- --fast", None);
    check_target(&npm, "npm test", Some("npm run test (package.json)"));
    let cargo = [("Cargo.toml", "[package]\nname = \"a\"\n"), ("tests/a.rs", "")];
    check_target(&cargo, "cargo test --test b", Some("cargo test --test b (Cargo.toml)"));
    check_target(&cargo, "cargo test --test a", None);
}

#[test]
fn a_script_that_is_not_there_is_told() {
    let dir = planted(&[("tools/a.py", "")]);
    let look = |command: &str| missing_script(dir.path(), command);
    assert_eq!(look("python3 tools/b.py --all").as_deref(), Some("tools/b.py"));
    assert_eq!(look("A=1 sh b.sh").as_deref(), Some("b.sh"));
    for there in [
        "python3 tools/a.py",
        "python3 -m tools.b",
        "sh -c 'tools/b.py'",
        "node server",
        "cd tools && python3 b.py",
        "python3 $HOME/b.py",
    ] {
        assert_eq!(look(there), None, "{there}");
    }
}

#[test]
fn in_doubt_a_target_is_there() {
    for text in [
        "include more.mk\n",
        "-include more.mk\n",
        "%: %.c\n\tcc\n",
        "$(NAMES):\n\techo\n",
        ".DEFAULT:\n\techo\n",
        "ifdef A\n  include more.mk\nendif\n",
        "include\tmore.mk\n",
        "ifdef A\n  lint:\n\techo\nendif\n",
        "all \\\n lint:\n\techo\n",
        ".PHONY: all lint\n",
    ] {
        check_target(&[("Makefile", text)], "make lint", None);
    }
    let make = [("Makefile", "all:\n\techo\n"), ("lint.c", "")];
    check_target(&make, "make lint", None);
    check_target(&make[..1], "make -C sub lint", None);
    check_target(&make[..1], "make $TARGET", None);
    check_target(&make[..1], "cd sub && make lint", None);
    check_target(&[], "make lint", None);
    let npm = [("package.json", r#"{"scripts": {}}"#)];
    check_target(&npm, "npm run lint --if-present", None);
    check_target(&npm, "npm run -w a lint", None);
    check_target(&npm, "npm start", None);
    let cargo = [("Cargo.toml", "[workspace]\nmembers = [\"a\"]\n")];
    check_target(&cargo, "cargo test --test b", None);
    check_target(&cargo, "cargo test -p a --test b", None);
}
