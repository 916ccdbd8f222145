//! The rules of the house, held over the text of the source: floors, doors, heads, sizes, words.
//!
//! Each rule is a function from a tree of files to its faults, so that it can be tried on a small planted tree. The
//! tables below are the place to edit; every list of exceptions may only shrink. Not here: the rules of the compiler
//! and of clippy, and the behaviour of the program.
#![allow(clippy::disallowed_methods)] // door: plants small trees to try the rules on

mod bugs;
mod circles;
mod codes;
mod falling;
mod planted;
mod prose;
mod rules;
mod text;
mod tree;
mod words;

use std::path::Path;

/// Rooms from the ground up. A room names rooms of lower floors only: not its siblings.
const CORE_FLOORS: &[&[&str]] = &[
    &["id"],
    &["doc"],
    &["state"],
    &["graph", "verdict", "plan", "profile", "trust"],
    &["judging"],
    &[
        "event",
        "advice",
        "difference",
        "fingerprint",
        "json_schema",
        "rating",
        "proposal",
        "wording",
    ],
    &["law"],
    &["search", "transient"],
    &["measure", "fragment"],
    &["world"],
    &["memory", "answer_forms"],
    &["step", "desired", "prompt"],
    &["change"],
    &["audit"],
    &["view"],
    &["lib"],
];

/// A package of the workspace.
struct Package {
    /// Below `crates`; empty for the program at the top.
    name: &'static str,
    /// Without floors the package is one room.
    floors: &'static [&'static [&'static str]],
}

/// From the ground up: a package depends on earlier ones only.
const PACKAGES: &[Package] = &[
    Package { name: "doc", floors: &[] },
    Package { name: "core", floors: CORE_FLOORS },
    Package { name: "minds", floors: &[&["advice", "prompt"], &["lib"]] },
    Package {
        name: "migrate",
        floors: &[&["report"], &["reader", "front_matter"], &["v1_2", "v1_3"], &["lib"]],
    },
    Package {
        name: "system",
        floors: &[
            &["failure", "files", "secrets", "shape"],
            &["clock", "signal", "runs", "space", "ports"],
            &["phrase"],
            &["lib"],
        ],
    },
    Package { name: "store", floors: &[] },
    Package { name: "process", floors: &[] },
    Package { name: "workspace", floors: &[] },
    Package { name: "agent", floors: &[&["config"], &["model"], &["agent"], &["lib"]] },
    Package {
        name: "engine",
        floors: &[
            &["survey", "trust"],
            &["plan_file", "heartbeat", "events"],
            &["plan_surroundings"],
            &["driver"],
            &["ops"],
            &["lib"],
        ],
    },
    Package { name: "", floors: &[&["render"], &["cli"], &["main"]] },
];

impl Package {
    /// The folder of its manifest, with a `/` at its end unless it is the top.
    fn folder(&self) -> String {
        if self.name.is_empty() { String::new() } else { format!("crates/{}/", self.name) }
    }

    fn sources(&self) -> String {
        self.folder() + "src"
    }
}

/// A door's subject, the words that open it, and who may: a file, or a folder with a `/` at its end.
struct Door {
    opens: &'static str,
    words: &'static [&'static str],
    files: &'static [&'static str],
}
const DOORS: &[Door] = &[
    Door {
        opens: "writes to the disk",
        words: &[
            "fs::write",
            "fs::create_dir",
            "fs::remove_",
            "fs::rename",
            "fs::copy",
            "fs::hard_link",
            "fs::set_permissions",
            "fs::symlink",
            "File::create",
            "File::options",
            "OpenOptions",
            "DirBuilder",
        ],
        files: &[
            "crates/system/src/files.rs",
            "crates/system/src/files/private.rs",
            "crates/workspace/src/git/git_disk.rs",
            "crates/workspace/src/git/put_files.rs",
            "crates/process/src/",
            "crates/store/src/disk.rs",
            "crates/store/src/journal/segments.rs",
            "crates/workspace/src/lib.rs",
            "crates/workspace/src/kept.rs",
            "crates/workspace/src/leftovers.rs",
            "crates/workspace/src/places.rs",
            "crates/workspace/src/worktrees.rs",
            "crates/workspace/src/worktrees/",
        ],
    },
    Door { opens: "starts a process", words: &["Command::new"], files: &["crates/process/src/"] },
    Door {
        opens: "reads a clock",
        words: &["SystemTime::now", "Instant::now", "Timestamp::now", "Zoned::now"],
        // The duration of children, and deadlines of killing, are the process room's own.
        files: &["crates/system/src/clock.rs", "crates/process/src/"],
    },
    Door {
        opens: "goes past a seam: ask the `Clock` or the `Programs` that were handed in",
        words: &["clock::now", "process::run", "tool::run_tool"],
        files: &["src/cli/", "crates/process/src/"],
    },
    Door {
        opens: "speaks to a person: an operation tells its `Client`",
        words: &[
            "out.say(",
            "out.data(",
            "out.page(",
            "out.json(",
            "out.raw(",
            "out.bytes(",
            "out.ask(",
        ],
        files: &["src/cli.rs", "src/cli/"],
    },
    Door {
        opens: "decides by the text of an error: match its type",
        words: &[
            "failure.code",
            "message.contains",
            "message.starts_with",
            "message.ends_with",
            "stderr_tail.contains",
            "to_string().contains",
            "to_string().starts_with",
        ],
        // The printer; and the reader of what git says, which gives it a type.
        files: &["crates/workspace/src/git/git_error.rs", "src/render.rs"],
    },
    Door {
        opens: "prints",
        words: &["println!", "eprintln!", "print!", "eprint!"],
        files: &["src/main.rs", "src/render.rs", "src/render/"],
    },
];

/// Files that may say `unsafe`.
const UNSAFE_FILES: &[&str] = &["crates/process/src/guard/kernel.rs", "crates/store/src/lease.rs"];
const LINES_MAX: usize = 500;
/// Longer files, with the lines that they may have at most.
const LONG_FILES: &[(&str, usize)] = &[];
/// Packages that are `no_std`, and all that each may depend on.
const PURE_PACKAGES: &[(&str, &[&str])] = &[
    ("crates/doc", &["schemars", "serde"]),
    (
        "crates/core",
        &[
            "descent-doc",
            "immutable-chunkmap",
            "serde_with",
            "jiff",
            "num-bigint",
            // Optional: it derives schemas from types, for the tests of the program.
            "schemars",
            "serde",
            "serde_json",
            "sha2",
            "smol_str",
            "thiserror",
        ],
    ),
    ("crates/migrate", &["descent-core"]),
    ("crates/minds", &["descent-core", "schemars", "serde"]),
];
const SHELL_MUST_USE: &[&str] = &[
    "serde",
    "serde_json",
    "fs2",
    "notify",
    "tokio",
    "clap",
    "sha2",
    "tempfile",
    "tracing",
    "reqwest",
];
/// Error codes that the binary cannot give from outside, and their tests.
const CODES_UNMET: &[(&str, &str)] = &[("E-BUG", "a bug of ours: none is known")];
/// Roots of somebody's machine, which no text of the project names.
const MACHINE_PATHS: &[&str] = &["/home/", "/root/", "/Users/"];

#[test]
fn imports_go_down_the_floors() {
    hold(rules::floors);
}
#[test]
fn a_package_depends_on_packages_below_it() {
    hold(rules::packages);
}
#[test]
fn no_files_of_a_room_import_one_another() {
    hold(circles::circles);
}
#[test]
fn the_core_and_the_migration_cannot_do_io() {
    hold(|root| rules::pure_packages(root, PURE_PACKAGES));
}
#[test]
fn only_doors_touch_the_world() {
    hold(rules::doors);
}
#[test]
fn unsafe_stands_in_named_files_alone() {
    hold(rules::no_unsafe);
}
#[test]
fn nothing_unwraps_outside_tests() {
    hold(rules::no_unwrap);
}
#[test]
fn every_file_says_at_its_head_what_it_is() {
    hold(rules::heads);
}
#[test]
fn no_file_is_too_long() {
    hold(|root| rules::sizes(root, LONG_FILES));
}
#[test]
fn no_room_grows_over_its_budget_of_lines() {
    hold(falling::lines);
}
#[test]
fn no_more_files_have_the_same_name() {
    hold(falling::names);
}
#[test]
fn the_shell_stands_on_its_ten_packages() {
    hold(rules::ten_packages);
}
#[test]
fn texts_name_no_place_on_a_machine() {
    hold(rules::no_machine_paths);
}

#[test]
fn every_planted_bug_can_be_planted_and_names_a_test() {
    hold(bugs::planted_bugs);
}

#[test]
fn the_line_that_adds_a_constraint_fits_and_is_one_place() {
    hold(bugs::one_place);
}

#[test]
fn every_error_code_is_met_by_a_test_and_documented() {
    hold(|root| codes::codes(root, CODES_UNMET));
}

#[test]
fn a_type_name_stands_once_in_a_package() {
    hold(words::type_names);
}

#[test]
fn no_parameter_takes_a_tuple_apart() {
    hold(words::tuple_parameters);
}
#[test]
fn comments_are_short_and_begin_with_their_subject() {
    hold(|root| prose::comments(root, prose::HARD_SENTENCES));
}
#[test]
fn ids_are_newtypes() {
    hold(words::no_bare_ids);
}

#[track_caller]
fn hold(rule: impl Fn(&Path) -> Vec<String>) {
    let faults = rule(Path::new(env!("CARGO_MANIFEST_DIR")));
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}
