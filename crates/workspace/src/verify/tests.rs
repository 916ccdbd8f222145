//! Leaves measured for real, and what the core makes of them.
#![allow(clippy::disallowed_methods)] // door: tests

use super::*;
use descent_core::{
    doc,
    state::{Check, CheckKind, check::FileLeaf, fields::Findings},
    verdict::{Verdict, of_leaf},
};
use descent_process::programs::REAL_PROGRAMS;
use std::{fs, os::unix::fs::symlink};
use tempfile::TempDir;

const LONG: Duration = Duration::from_secs(60);

fn leaf(json: &str) -> Leaf {
    let node = doc::parse(json, &doc::Limits::default()).node.unwrap();
    match Check::read(&node, "", &mut Findings::default()).unwrap().kind {
        CheckKind::Leaf(leaf) => *leaf,
        other => panic!("{other:?}"),
    }
}

fn world() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    for name in ["docs/deep", ".git/x", ".descent"] {
        fs::create_dir_all(at(name)).unwrap();
    }
    for name in ["docs/api.md", "docs/deep/b.md", ".git/x/c.orig", ".descent/c.orig", "a[1].txt"] {
        fs::write(at(name), "alpha\nbeta\n").unwrap();
    }
    fs::write(at("docs/empty.md"), "").unwrap();
    dir
}

fn bench<'a>(
    at: &'a Path,
    env: &'a Environment,
    mark: &'a str,
    cancel: &'a CancellationToken,
) -> MeasureContext<'a> {
    MeasureContext {
        at,
        env,
        programs: &REAL_PROGRAMS,
        timeout_default: LONG,
        mark,
        cancel,
        keep: None,
    }
}

async fn seen(at: &Path, json: &str) -> Measurement {
    seen_leaf(at, &leaf(json)).await
}

async fn seen_leaf(at: &Path, leaf: &Leaf) -> Measurement {
    let path = std::env::var_os("PATH").unwrap();
    let env = Environment::from(vec![("PATH".into(), path)]);
    let mark = format!("test-verify-{}", at.display());
    let never = CancellationToken::new();
    measure(leaf, &bench(at, &env, &mark, &never)).await.unwrap()
}

async fn verdict(at: &Path, json: &str) -> Verdict {
    of_leaf(&leaf(json), &seen(at, json).await)
}

async fn check(expected: Verdict, leaves: &[&str]) {
    let world = world();
    for json in leaves {
        assert_eq!(verdict(world.path(), json).await, expected, "{json}");
    }
}

#[tokio::test]
async fn commands_that_hold() {
    check(
        Verdict::Pass,
        &[
            r#"{"command": "test -f docs/api.md"}"#,
            r#"{"command": "exit 3", "expect_exit": 3}"#,
            r#"{"command": "echo a; echo ok; echo b", "stdout_matches": "^ok$"}"#,
            r#"{"command": "echo 3 passed; echo 4 passed", "number": "(\\d+) passed", "at_least": 7}"#,
            r#"{"command": "echo 7", "number": "(\\d+)", "at_most": 7}"#,
            r#"{"not_command": "false"}"#,
            r#"{"not_command": "exit 2", "expect_exit": 2}"#,
        ],
    )
    .await;
}

#[tokio::test]
async fn commands_that_do_not_hold() {
    check(
        Verdict::Fail,
        &[
            r#"{"command": "false"}"#,
            r#"{"command": "echo ok >&2", "stdout_matches": "ok"}"#,
            r#"{"command": "echo 6", "number": "(\\d+)", "at_least": 7}"#,
            r#"{"not_command": "true"}"#,
        ],
    )
    .await;
}

#[tokio::test]
async fn commands_of_which_nothing_is_known() {
    check(
        Verdict::Unknown,
        &[
            r#"{"command": "no-such-program-anywhere"}"#,
            r#"{"command": "sleep 60", "timeout": "50ms"}"#,
            r#"{"command": "kill -9 $$"}"#,
            r#"{"command": "echo none", "number": "(\\d+)", "at_least": 7}"#,
            r#"{"command": "true", "stdout_matches": "("}"#,
            r#"{"command": "yes x | head -c 17000000; echo ok", "stdout_matches": "ok"}"#,
            r#"{"not_command": "no-such-program-anywhere"}"#,
            r#"{"quality": "nice"}"#,
            r#"{"assertion": "nice"}"#,
        ],
    )
    .await;
}

#[tokio::test]
async fn a_match_is_looked_for_in_the_whole_stream_and_the_excerpt_stays_small() {
    let world = world();
    let json = r#"{"command": "echo first; yes x | head -c 3000000; echo; echo middle; yes y | head -c 3000000; echo last", "stdout_matches": "^middle$"}"#;
    let seen = seen(world.path(), json).await;
    assert_eq!(of_leaf(&leaf(json), &seen), Verdict::Pass);
    assert!(seen.excerpt.len() <= 2048, "{}", seen.excerpt.len());
    assert!(seen.excerpt.starts_with("first\n") && seen.excerpt.ends_with("last\n"));
    assert!(seen.excerpt.contains("bytes left out") && !seen.excerpt.contains("middle"));
}

#[tokio::test]
async fn files_that_are_there() {
    check(
        Verdict::Pass,
        &[
            r#"{"file": "docs/api.md"}"#,
            r#"{"file": "./docs"}"#,
            r#"{"file": "a[1].txt"}"#,
            r#"{"file": "docs/*.md", "contains": "^beta$"}"#,
            r#"{"file": "**/b.md"}"#,
            r#"{"file": "docs/empty.md", "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}"#,
            r#"{"file": "docs/*", "sha256": "sha256:E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855"}"#,
            r#"{"not_file": "*.md"}"#,
            r#"{"not_file": "**/*.orig"}"#,
            r#"{"not_file": "docs/none.md"}"#,
        ],
    )
    .await;
}

#[tokio::test]
async fn files_that_are_not_there() {
    check(
        Verdict::Fail,
        &[
            r#"{"file": "docs/none.md"}"#,
            r#"{"file": "docs/api.md/x"}"#,
            r#"{"file": "*.md"}"#,
            r#"{"file": "docs/api.md", "contains": "gamma"}"#,
            r#"{"file": "docs", "contains": ""}"#,
            r#"{"file": "docs/api.md", "sha256": "00"}"#,
            r#"{"not_file": "docs/*.md"}"#,
            r#"{"not_file": "docs"}"#,
        ],
    )
    .await;
}

#[tokio::test]
async fn a_path_that_leads_outside_finds_nothing_though_the_reader_refuses_it_before() {
    let world = world();
    for path in ["../etc", "/etc/passwd"] {
        let leaf = Leaf::File(FileLeaf { path: path.to_owned(), contains: None, sha256: None });
        let seen = seen_leaf(world.path(), &leaf).await;
        assert!(matches!(seen.what, MeasurementKind::Files { found: 0, .. }), "{path}");
    }
}

#[tokio::test]
async fn files_of_which_nothing_is_known() {
    let world = world();
    let big = fs::File::create(world.path().join("big")).unwrap();
    big.set_len((16 << 20) + 1).unwrap();
    for json in [
        r#"{"file": "big", "contains": "x"}"#,
        r#"{"file": "docs/{a"}"#,
        r#"{"file": "docs/api.md", "contains": "("}"#,
    ] {
        assert_eq!(verdict(world.path(), json).await, Verdict::Unknown, "{json}");
    }
    let gone = world.path().join("gone");
    assert_eq!(verdict(&gone, r#"{"not_file": "x"}"#).await, Verdict::Unknown);
}

#[tokio::test]
async fn links_lead_nowhere_outside() {
    let (world, outside) = (world(), world());
    let at = world.path();
    symlink(outside.path().join("docs/api.md"), at.join("file.lnk")).unwrap();
    symlink(outside.path().join("docs"), at.join("dir.lnk")).unwrap();
    symlink("docs/api.md", at.join("inner.lnk")).unwrap();
    symlink("loop", at.join("loop")).unwrap();
    for (json, expected) in [
        (r#"{"file": "file.lnk"}"#, Verdict::Fail),
        (r#"{"file": "dir.lnk/api.md", "contains": "alpha"}"#, Verdict::Fail),
        (r#"{"file": "dir.lnk/*.md"}"#, Verdict::Fail),
        (r#"{"file": "loop"}"#, Verdict::Fail),
        (r#"{"file": "inner.lnk", "contains": "alpha"}"#, Verdict::Pass),
        (r#"{"not_file": "file.lnk"}"#, Verdict::Fail),
        (r#"{"not_file": "*.lnk"}"#, Verdict::Fail),
    ] {
        assert_eq!(verdict(at, json).await, expected, "{json}");
    }
}

#[tokio::test]
async fn a_cancelled_measurement_is_none() {
    let world = world();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let env = Environment::default();
    for json in [r#"{"command": "true"}"#, r#"{"file": "**/*"}"#] {
        let bench = bench(world.path(), &env, "test-cancel", &cancel);
        let measured = measure(&leaf(json), &bench).await;
        assert!(measured.is_none(), "{json}");
    }
}

fn sum(pattern: &str, text: &str) -> Option<f64> {
    Pattern::new(pattern).unwrap().sum(text.as_bytes())
}

#[test]
fn several_numbers_are_summed() {
    let text = "a: 12 passed\nb: 30 passed\n";
    assert_eq!(sum(r"(\d+) passed", text), Some(42.0));
    assert_eq!(sum(r"=(\S+)", "=-1.5 =+2 =1e2"), Some(100.5));
}

#[test]
fn what_is_no_number_makes_the_sum_unknown() {
    for (pattern, text) in [
        (r"(\d+) passed", "none"),
        (r"(\S+) passed", "1,234 passed"),
        (r"(\S+) passed", "1_000 passed"),
        (r"(\S+) passed", "3 passed, inf passed"),
        (r"(\S+) passed", "nan passed"),
        (r"\d+ passed", "3 passed"),
        (r"(\S+)", "1e308 1e308"),
    ] {
        assert_eq!(sum(pattern, text), None, "{pattern} {text}");
    }
}

#[test]
fn anchors_stand_at_lines_and_bytes_need_not_be_text() {
    let pattern = Pattern::new("^ok$").unwrap();
    assert!(pattern.is_match(b"\xff\nok\nend"));
    assert!(!pattern.is_match(b"not ok\n"));
    assert!(!Pattern::new("(?-m)^ok$").unwrap().is_match(b"a\nok\n"));
}

#[test]
fn anchors_stand_before_crlf_too() {
    let pattern = Pattern::new("^ok$").unwrap();
    assert!(pattern.is_match(b"a\r\nok\r\n"));
    assert!(!pattern.is_match(b"ok \r\n"));
    assert!(!pattern.is_match(b"ok\rmore\n"));
    assert!(Pattern::new(r"k\r$").unwrap().is_match(b"ok\r\n"));
    let bar = "10%\r50%\r60%\n";
    assert_eq!(sum(r"(\d+)%$", bar), Some(60.0));
    assert_eq!(sum(r"^passed (\d+)$", "passed 3\r\npassed 4\r\n"), Some(7.0));
}

#[test]
fn after_the_last_end_of_a_line_there_is_no_line() {
    let empty = Pattern::new("^$").unwrap();
    for (text, is_match) in [("", true), ("x\n", false), ("x\r\n", false), ("x\n\ny", true)] {
        assert_eq!(empty.is_match(text.as_bytes()), is_match, "{text:?}");
    }
    assert!(Pattern::new("x\n").unwrap().is_match(b"x\n"));
}

#[test]
fn colours_and_links_are_no_part_of_an_output_and_all_else_is() {
    for (raw, shown) in [
        (&b"Tests \x1b[32m12\x1b[39m passed"[..], &b"Tests 12 passed"[..]),
        (b"\x1b]8;;http://a\x1b\\a\x1b]8;;\x07\x1b(B\x1b[1;38:5:9mb\x1b[K", b"ab"),
        (b"\xff\x1b[\n\x1b", b"\xff\x1b[\n\x1b"),
    ] {
        assert_eq!(&*without_escapes(raw), shown);
    }
}

#[test]
fn a_broken_pattern_says_so() {
    assert!(Pattern::new("(").unwrap_err().contains("'(' is no regular expression"));
}
