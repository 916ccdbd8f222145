//! Figures that may only fall: the lines of each room, and the files of each name that occurs more than once.
//!
//! `DESCENT_UPDATE=1` takes what fell into a table; it raises nothing. Not here: the longest file (`rules`).
#![allow(clippy::disallowed_methods)] // door: writes the tables

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::PACKAGES;
use super::tree::{Source, production, read};

const LINES: &str = "tests/tidy/lines.txt";
const NAMES: &str = "tests/tidy/names.txt";
/// Lines that a room may fall below its budget before the table is to follow.
const SLACK: usize = 50;

type Figures = BTreeMap<String, usize>;

/// Lines of each room, tests in files of their own left out.
pub(crate) fn lines(root: &Path) -> Vec<String> {
    let mut rooms = Figures::new();
    for source in without_test_files(root) {
        *rooms.entry(room(&source.path)).or_default() += source.text.lines().count();
    }
    held(root, LINES, &rooms, SLACK)
}

/// Files of each name that more than one has; a package's root has its name by convention.
pub(crate) fn names(root: &Path) -> Vec<String> {
    let mut names = Figures::new();
    for source in without_test_files(root) {
        let name = source.path.rsplit('/').next().unwrap_or_default();
        if name != "lib.rs" {
            *names.entry(name.to_owned()).or_default() += 1;
        }
    }
    names.retain(|_, count| *count > 1);
    held(root, NAMES, &names, 0)
}

fn without_test_files(root: &Path) -> impl Iterator<Item = Source> {
    let all = production(root).into_iter();
    all.filter(|source| !source.path.contains("tests"))
}

/// `crates/core/src/step/advance.rs` is in `core/step`, `crates/store/src/disk.rs` in `store`, and `src/main.rs` in
/// `main`.
fn room(path: &str) -> String {
    let (folder, inside) = path.split_once("src/").unwrap_or(("", path));
    let package = PACKAGES.iter().find(|package| package.folder() == folder);
    let name = package.map(|package| package.name).unwrap_or_default();
    if package.is_some_and(|package| package.floors.is_empty()) {
        return name.to_owned();
    }
    let room = inside.split('/').next().unwrap_or_default().trim_end_matches(".rs");
    if name.is_empty() { room.to_owned() } else { format!("{name}/{room}") }
}

fn held(root: &Path, table: &str, now: &Figures, slack: usize) -> Vec<String> {
    let mut budgets = Figures::new();
    let mut faults = Vec::new();
    for line in read(&root.join(table)).lines() {
        match line.split_once(' ').map(|(key, most)| (key, most.parse())) {
            Some((key, Ok(most))) => drop(budgets.insert(key.to_owned(), most)),
            _ => faults.push(format!("{table}: `{line}` is no name and a number")),
        }
    }
    let keys = now.keys().filter(|key| !budgets.contains_key(*key));
    faults.extend(keys.map(|key| format!("{table}: `{key}` is not in it, with {}", now[key])));
    let mut fallen = Figures::new();
    for (key, most) in &budgets {
        let count = now.get(key).copied().unwrap_or_default();
        if count > *most {
            let over = count - most;
            faults.push(format!(
                "{table}: `{key}` is {over} over its {most}: take out as much as comes in"
            ));
        }
        let follows = count + slack < *most || count == 0;
        fallen.insert(key.clone(), if follows { count } else { *most });
    }
    fallen.retain(|_, count| *count > 0);
    if fallen == budgets {
        return faults;
    }
    if std::env::var_os("DESCENT_UPDATE").is_some() {
        let rows: String = fallen.iter().map(|(key, most)| format!("{key} {most}\n")).collect();
        fs::write(root.join(table), rows).expect("the table can be written");
    } else {
        faults
            .push(format!("{table}: it has fallen: DESCENT_UPDATE=1 cargo test --test it tidy::"));
    }
    faults
}
