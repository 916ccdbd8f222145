//! Small pages that are wrong in one way each: the test of the documents would notice.

use std::path::Path;

use super::{
    blocks::Page,
    compare::{difference, updated},
    shell, try_page,
};

fn page(text: &str) -> Page {
    Page::of(Path::new("page.md"), "page.md", text)
}

#[track_caller]
fn check(text: &str, fault: &str) {
    let faults = try_page(&page(text), false);
    let said = faults.join("\n");
    match fault {
        "" => assert_eq!(said, ""),
        fault => assert!(said.contains(fault), "no `{fault}` in `{said}`"),
    }
}

#[test]
fn a_page_that_tells_the_truth_has_no_fault() {
    check(
        "```sh file=bin/tool\n#!/bin/sh\necho made\n```\n<!-- run\nx=1\n-->\n\
         ```console\n$ bin/tool; echo \"$x\"\nmade\n1\n$ pwd\n~\n$ false   # exit 1\n```\n",
        "",
    );
}

#[test]
fn another_output_or_exit_code_is_told_with_its_line() {
    check("text\n```console\n$ echo one\ntwo\n```\n", "page.md:3: $ echo one");
    check("```console\n$ echo one\ntwo\n```\n", "line 3:\n  - two\n  + one");
    check("```console\n$ true\nmore\n```\n", "  + (no more lines)");
    check("```console\n$ echo more\n```\n", "line 3:\n  - (no more lines)");
    check("```console\n$ sh -c 'exit 5'\n```\n", "ended with 5, the page says 0");
    check("```console\n$ true   # exit 1\n```\n", "ended with 0, the page says 1");
    check("<!-- run\nfalse\n-->\n", "page.md:1: ended with 1");
}

#[test]
fn a_block_that_nobody_would_run_is_a_fault() {
    check("```sh\nls\n```\n", "page.md:1: a block of commands that nobody runs");
    check("<!-- not run: it needs a model -->\n```sh\nls\n```\n", "");
    check("```console\n$ ls\n", "page.md:1: no end");
    check("```console\nls\n```\n", "page.md:2: a transcript begins with");
}

#[test]
fn what_varies_is_the_same_and_dots_stand_for_anything() {
    let is_same = |written: &str, said: &str| {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        difference(&lines(written), &lines(said)).is_none()
    };
    assert!(is_same("done in 3 ms", "done in 1.2 s"));
    assert!(is_same("at 0123abcd", "at fedcba9876"));
    assert!(is_same("a\n…\nz", "a\nb\nc\nz"));
    assert!(is_same("a\n…\nz", "a\nz"));
    assert!(is_same("one … three", "one two three"));
    assert!(!is_same("a\n…\nz", "a\nb"));
    assert!(is_same("a", "a\nchecked   the base case does not hold yet"));
    assert!(!is_same("as things stand…", "as things stand, here…"));
    assert!(!is_same("3 attempts", "4 attempts"));
    let checked = "checked   the base case does not hold yet (0 of 2 checks)";
    assert!(is_same(
        checked,
        "checked   the base case does not hold yet (1 of 2 checks, 1 not measured)"
    ));
    assert!(is_same(&format!("a\n{checked}"), "a"));
    assert!(!is_same("checked   the base case does not hold yet", checked));
    assert!(!is_same("", "more"));
}

#[test]
fn an_update_writes_the_present_output_and_leaves_what_fits() {
    let page = page("```console\n$ seq 4; echo b\n1\n…\n4\nc\n$ echo 5 ms\n7 ms\n```\nend\n");
    let text = updated(&page, &shell::run(&page));
    assert_eq!(
        text,
        page.lines
            .join(
                "
"
            )
            .replace(
                "c
$", "b
$"
            )
            + "
"
    );
}
