//! The rules tried on small planted trees: each must see its fault, and no more.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::bugs;
use super::circles::circles;
use super::falling;
use super::rules;
use super::text::{dependencies, without_tests, without_words};
use super::words;

/// A tree under the build directory, gone when the test ends.
struct Planted(PathBuf);

impl Planted {
    fn new(files: &[(&str, &str)]) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tidy-{}-{n}", std::process::id());
        let tree = Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name));
        for (path, text) in files {
            let path = tree.0.join(path);
            fs::create_dir_all(path.parent().expect("a file has a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        tree
    }
}

impl Drop for Planted {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

type Rule = fn(&Path) -> Vec<String>;

/// Each of `faults` must start a fault that `rule` finds, in this order, and there is no other.
#[track_caller]
pub(super) fn check(rule: impl Fn(&Path) -> Vec<String>, files: &[(&str, &str)], faults: &[&str]) {
    let tree = Planted::new(files);
    let found = rule(&tree.0);
    let agrees = found.len() == faults.len()
        && found.iter().zip(faults).all(|(found, fault)| found.starts_with(fault));
    assert!(agrees, "expected {faults:#?}, found {found:#?}");
}

#[test]
fn a_name_from_above_is_seen_however_it_is_written() {
    let above = "crates/core/src/state/disk.rs:2: `state` names `step`, which lives above it";
    for code in [
        "use crate::step::Loop;",
        "use crate::{id::AtomId, step};",
        "use crate::{\n    id::{A, B}, step::Loop};",
        "fn f() { crate::step::go() }",
        "use super::super::step::Loop;",
        "pub(crate) use crate::step as s;",
    ] {
        check(
            rules::floors,
            &[("crates/core/src/state/disk.rs", &format!("//! Head.\n{code}\n"))],
            &[above],
        );
    }
}

#[test]
fn a_sibling_is_a_stranger() {
    check(
        rules::floors,
        &[("crates/core/src/rating.rs", "use crate::event::Notice;")],
        &["crates/core/src/rating.rs:1: `rating` names its sibling `event`"],
    );
}

#[test]
fn files_that_import_one_another_are_seen_however_they_are_written() {
    let fault = "crates/workspace/src/git/a.rs, crates/workspace/src/git/b.rs: import one another";
    for code in [
        "use super::b::g;",
        "use crate::git::{a, b::g};",
        "use super::{a, b as c};\nfn f() { c::g() }",
        "fn f() { super::b::g() }",
        "use super::b;\nfn f() { b::g() }",
        "use super::g;",
        "use super::facade::h;",
    ] {
        check(
            circles,
            &[
                ("crates/workspace/src/git.rs", "mod a;\nmod b;\npub(crate) use b::g;"),
                ("crates/workspace/src/git/a.rs", code),
                ("crates/workspace/src/git/b.rs", "fn g() { crate::git::a::f() }"),
                ("crates/workspace/src/git/facade.rs", "pub(super) use super::g as h;"),
            ],
            &[fault],
        );
    }
}

#[test]
fn a_circle_of_three_files_is_one_fault() {
    check(
        circles,
        &[
            ("crates/core/src/state.rs", "mod a;\nmod b;\nmod d;"),
            ("crates/core/src/state/a.rs", "use super::b::B;"),
            ("crates/core/src/state/b.rs", "use super::b::c::C;"),
            ("crates/core/src/state/b/c.rs", "use crate::state::a;"),
            ("crates/core/src/state/d.rs", "use super::a::A;"),
        ],
        &[
            "crates/core/src/state/a.rs, crates/core/src/state/b.rs, crates/core/src/state/b/c.rs: import",
        ],
    );
}

#[test]
fn a_file_and_its_parts_other_rooms_and_tests_make_no_circle() {
    check(
        circles,
        &[
            ("crates/workspace/src/git.rs", "mod a;\nuse a::f;\npub struct Git;"),
            (
                "crates/workspace/src/git/a.rs",
                "use super::Git;\nuse std::fmt;\nfn f() { Git::new() }",
            ),
            ("crates/workspace/src/git/b.rs", "use super::a;\n// super::c::C\nfn f() { a::f() }"),
            ("crates/workspace/src/git/c.rs", "use super::b;"),
            ("crates/workspace/src/git/c/tests.rs", "use super::super::b;"),
            ("crates/workspace/src/git/a/d.rs", "#[cfg(test)]\nuse super::super::c;"),
            ("crates/store/src/lib.rs", "use crate::git::Git;"),
        ],
        &[],
    );
}

#[test]
fn names_from_below_and_of_the_same_room_are_free() {
    let text = "use crate::doc::Node;\nuse crate::state::Task;\nuse super::check;\nuse super::super::id::AtomId;";
    check(rules::floors, &[("crates/core/src/state/decode.rs", text)], &[]);
    check(
        rules::floors,
        &[("src/main.rs", "use crate::cli;"), ("crates/core/src/lib.rs", "")],
        &[],
    );
}

#[test]
fn comments_strings_and_tests_name_what_they_like() {
    let text = r###"//! See [`crate::step`].
/* crate::step /* crate::owed */ crate::step */
const A: (&str, char, &str) = ("\"crate::step", '"', r#"crate::"step"#);
fn lifetime<'a>(x: &'a str) -> &'a str { x }
#[cfg(test)]
mod tests { use crate::step::Step; fn f(x: [u8; 3]) { "}"; x; } }
#[cfg(test)]
use crate::owed::Owed;
"###;
    check(rules::floors, &[("crates/core/src/id.rs", text)], &[]);
    check(rules::floors, &[("crates/core/src/id/tests.rs", "use crate::step::Step;")], &[]);
}

#[test]
fn code_after_a_test_item_counts_again() {
    let text = "#[cfg(test)]\nmod tests;\nuse crate::step::Step;";
    let fault = "crates/core/src/id.rs:3: `id` names `step`, which lives above it";
    check(rules::floors, &[("crates/core/src/id.rs", text)], &[fault]);
}

#[test]
fn a_room_that_is_not_in_the_table_is_asked_about() {
    check(
        rules::floors,
        &[("src/attic.rs", ""), ("src/cli.rs", "use crate::attic::Box;")],
        &["src/attic.rs: room `attic` is on no floor", "src/cli.rs:1: `crate::attic` is on no"],
    );
}

#[test]
fn a_package_that_depends_on_one_above_it_or_has_no_place_is_seen() {
    let up = "[dependencies]\ndescent-engine.workspace = true\ndescent-core.workspace = true\n";
    check(
        rules::packages,
        &[("crates/store/Cargo.toml", up), ("crates/attic/Cargo.toml", "")],
        &["crates/attic: is not in the table", "crates/store/Cargo.toml: `descent-engine` lives"],
    );
}

#[test]
fn a_package_that_could_do_io_is_seen() {
    let pure = |root: &Path| rules::pure_packages(root, &[("crates/core", &["serde"])]);
    let manifest = "[dependencies]\nserde = \"1\"\ntokio.workspace = true\n[dev-dependencies]\nproptest = \"1\"";
    let lib = "#![no_std]\n//! Head.\n";
    check(
        pure,
        &[
            ("crates/core/Cargo.toml", manifest),
            ("crates/core/src/lib.rs", "//! #![no_std]\nextern crate std;"),
        ],
        &[
            "crates/core/src/lib.rs: `#![no_std]`",
            "crates/core/Cargo.toml: `tokio`",
            "crates/core/src/lib.rs:2: takes std back",
        ],
    );
    let sound = "[dependencies]\nserde = \"1\"\n[dev-dependencies]\nproptest = \"1\"";
    let tested = format!("{lib}#[cfg(test)]\nextern crate std;\n");
    check(pure, &[("crates/core/Cargo.toml", sound), ("crates/core/src/lib.rs", &tested)], &[]);
}

#[test]
fn only_a_door_may_open_its_door() {
    for (code, fault) in [
        ("fs::write(a, b);", "src/view.rs:1: `fs::write` writes"),
        ("std::fs::remove_file(a);", "src/view.rs:1: `fs::remove_` writes"),
        ("tokio::fs::File::create(a);", "src/view.rs:1: `File::create` writes"),
        ("std::process::Command::new(a);", "src/view.rs:1: `Command::new` starts"),
        ("SystemTime::now();", "src/view.rs:1: `SystemTime::now` reads"),
        ("std::time::Instant::now();", "src/view.rs:1: `Instant::now` reads"),
        ("println!();", "src/view.rs:1: `println!` prints"),
        ("std::eprintln!();", "src/view.rs:1: `eprintln!` prints"),
    ] {
        check(rules::doors, &[("src/view.rs", code)], &[fault]);
    }
    check(
        rules::doors,
        &[
            ("crates/store/src/disk.rs", "fs::write(a, b);"),
            ("crates/workspace/src/places.rs", "fs::create_dir_all(a);"),
            ("crates/process/src/lib.rs", "Command::new(a);"),
            ("crates/system/src/clock.rs", "Instant::now();"),
            ("src/render.rs", "println!();"),
            ("crates/workspace/src/git.rs", "fs::read(a); GitCommand::new(a); my_println!();"),
        ],
        &[],
    );
}

#[test]
fn unsafe_and_unwrap_are_seen_in_code_alone() {
    let text = "fn f() { unsafe { g().unwrap() } }\n#![deny(unsafe_code)] // unsafe\n#[cfg(test)]\nfn t() { g().unwrap() }";
    let files = [("crates/core/src/id.rs", text)];
    check(rules::no_unsafe, &files, &["crates/core/src/id.rs:1:"]);
    check(rules::no_unwrap, &files, &["crates/core/src/id.rs:1:"]);
}

#[test]
fn a_file_without_a_head_is_seen() {
    let files = [
        ("src/a.rs", "#![allow(x)] // reason\n\n//! Head.\n"),
        ("src/b.rs", "//! Head.\n"),
        ("src/c.rs", "// Remark.\nfn c() {}\n"),
        ("tests/d.rs", ""),
    ];
    check(rules::heads, &files, &["src/c.rs:", "tests/d.rs:"]);
}

#[test]
fn a_long_file_is_seen_and_the_list_of_exceptions_only_shrinks() {
    let long = "\n".repeat(super::LINES_MAX + 1);
    let edge = "\n".repeat(super::LINES_MAX);
    let files = [("src/a.rs", long.as_str()), ("src/b.rs", &edge)];
    let with = |list| move |root: &Path| rules::sizes(root, list);
    check(with(&[]), &files, &["src/a.rs: 501 lines"]);
    check(with(&[("src/a.rs", 501)]), &files, &[]);
    let stale: &[_] = &[("src/a.rs", 500), ("src/b.rs", 600), ("src/c.rs", 600)];
    check(with(stale), &files, &["src/a.rs: grew", "src/b.rs: short", "src/c.rs: is gone"]);
}

#[test]
fn a_missing_package_is_seen() {
    let rest = "serde_json = \"1\"\nfs2 = \"0\"\nnotify = \"8\"\ntokio = \"1\"\nclap = \"4\"\nsha2 = \"0\"\ntempfile = \"3\"\ntracing = \"0\"\n";
    let text = format!(
        "[dependencies]\n{rest}[dependencies.serde]\nversion = \"1\"\n[dev-dependencies]\nreqwest = \"0\"\n"
    );
    check(rules::ten_packages, &[("Cargo.toml", &text)], &["Cargo.toml: `reqwest`"]);
}

#[test]
fn a_place_on_a_machine_is_seen_in_texts() {
    let files = [
        ("README.md", "Run it in src/root/x.\nSee `/home/me/x`."),
        ("docs/deep/a.md", "At /root/x and https://example.org/home/x."),
        ("src/a.rs", "// /home/me"),
    ];
    check(rules::no_machine_paths, &files, &["docs/deep/a.md:1:", "README.md:2:"]);
}

#[test]
fn an_empty_tree_has_no_floors_to_break() {
    let rules: &[Rule] = &[rules::floors, rules::doors, rules::no_unsafe, rules::heads];
    for rule in rules {
        check(rule, &[], &[]);
    }
}

#[test]
fn reading_keeps_every_line_in_its_place() {
    let text = "a /* x\ny */ b\nr#\"\n\"#; br\"\\\"; 'x'; b'\\''; '\\u{1F600}'; &'a b;\n#[cfg(test)]\nmod t {\n}\nc // d";
    let code = without_tests(&without_words(text));
    let lines: Vec<_> =
        code.lines().map(|line| line.split_whitespace().collect::<String>()).collect();
    assert_eq!(lines, ["a", "b", "", ";;;;;&'ab;", "", "", "", "c"]);
}

#[test]
fn reading_survives_what_is_not_rust() {
    for text in
        ["/* /*", "\"", "r#\"", "'", "'\\", "b", "}}}", "#[cfg(test)]", "é'é\"é", "crate::{", "*/"]
    {
        let code = without_tests(&without_words(text));
        super::text::paths_named(&code, 1, |_| true);
    }
}

#[test]
fn dependencies_of_every_kind_are_read() {
    let text = "[dependencies]\na = \"1\"\n# b = \"1\"\n[target.'cfg(unix)'.dependencies]\nc.workspace = true\n[build-dependencies]\nd = { path = \"d\" }\n[dependencies.e]\nfeatures = []\n[workspace.dependencies]\nf = \"1\"\n[dev-dependencies]\ng = \"1\"\n[lints]\nworkspace = true\n";
    assert_eq!(dependencies(text).into_iter().collect::<String>(), "acde");
}

#[test]
fn a_code_without_a_test_or_a_word_in_the_documentation_is_seen() {
    let code = "//! Head.\nfn f() { g(\"E-ONE\"); g(\"E-TWO\"); g(\"see E-NONE\") }";
    check(
        |root| super::codes::codes(root, &[("E-TWO", "why"), ("E-OLD", "why")]),
        &[
            ("src/a.rs", code),
            ("tests/it/a.rs", "says(\"E-TWO\")"),
            ("docs/errors.md", "| `E-TWO` | 1 |\n| `E-LATER` | 2 |"),
        ],
        &[
            "src/a.rs: `E-ONE` is met by no test",
            "src/a.rs: `E-ONE` does not stand in docs/errors.md",
            "tests/tidy/main.rs: `E-TWO` is met now",
            "docs/errors.md: the program gives no `E-LATER`",
            "tests/tidy/main.rs: the program gives no `E-OLD`",
        ],
    );
}

#[test]
fn a_planted_bug_that_names_no_test_is_a_fault() {
    let patch = "Bug: it\nCaught-by: --bin descent store::tests::power::a_cut\nCaught-by: --test it stop::\ndiff --git a/x b/x\n";
    check(
        bugs::planted_bugs,
        &[
            ("scripts/planted/one.patch", patch),
            ("crates/store/src/tests/power/scenes.rs", "#[test]\nfn a_cut_in_commits() {}"),
            ("tests/it/steer/stop.rs", "#[test]\nfn all_end() {}"),
        ],
        &[
            "scripts/planted/one.patch: does not fit",
            "scripts/planted/one.patch: no test is named `store::tests::power::a_cut`",
        ],
    );
}

#[test]
fn a_type_name_that_stands_twice_in_a_package_is_seen_and_two_packages_are_apart() {
    let one = ("src/a.rs", "pub struct Room;\nimpl X for Y {\n    type Error = ();\n}\n");
    let other = ("src/b.rs", "pub(crate) enum Room {}\n");
    let doubled = "src/a.rs:1: `Room` is a type of src/b.rs:1 too";
    check(words::type_names, &[one, other], &[doubled]);
    let far = ("crates/core/src/b.rs", "pub struct Room;\n");
    check(words::type_names, &[one, far], &[]);
    let empty = ("src/a.rs", "struct Told;\n");
    check(words::type_names, &[empty], &["src/a.rs:1: `Told` says nothing"]);
}

#[test]
fn a_parameter_that_takes_a_tuple_apart_is_seen_and_a_closure_is_not() {
    let code = "fn f(x: u8, (a, b): (&str, &str)) {}\nfn g() { x.map(|(a, b): (u8, u8)| a) }\n";
    check(words::tuple_parameters, &[("src/a.rs", code)], &["src/a.rs:1: a parameter is a tuple"]);
}

#[test]
fn an_id_that_is_any_number_is_seen() {
    let code = "pub type Ix = usize;\ntype Texts = Vec<String>;\n";
    check(
        words::no_bare_ids,
        &[("crates/core/src/a.rs", code)],
        &["crates/core/src/a.rs:1: `Ix` is any `usize`"],
    );
}

#[test]
fn a_figure_that_rises_is_seen_and_one_that_falls_is_to_be_taken_in() {
    let room = |lines| "//! Head.\n".repeat(lines);
    for (lines, budget, faults) in [
        (10, "step 10\n", vec![]),
        (11, "step 10\n", vec!["tests/tidy/lines.txt: `step` is 1 over its 10"]),
        (10, "step 60\n", vec![]),
        (10, "step 61\n", vec!["tests/tidy/lines.txt: it has fallen"]),
        (1, "", vec!["tests/tidy/lines.txt: `step` is not in it, with 1"]),
        (1, "step 1\ngone 3\n", vec!["tests/tidy/lines.txt: it has fallen"]),
    ] {
        let files = [
            ("src/step.rs", &*room(lines)),
            ("src/step/tests.rs", "a\nb\n"),
            ("tests/tidy/lines.txt", budget),
        ];
        check(falling::lines, &files, &faults);
    }
    let files = |table| {
        let (one, two) = (("src/a/key.rs", "//! A.\n"), ("crates/core/src/b/key.rs", "//! B.\n"));
        [one, two, ("src/other.rs", ""), ("tests/tidy/names.txt", table)]
    };
    check(falling::names, &files("key.rs 2\n"), &[]);
    check(falling::names, &files("key.rs 1\n"), &["tests/tidy/names.txt: `key.rs` is 1 over"]);
    check(falling::names, &files("key.rs 3\n"), &["tests/tidy/names.txt: it has fallen"]);
}
