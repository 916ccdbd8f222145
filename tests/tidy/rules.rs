//! The rules: each goes from the root of a tree to the faults in it, `path:line: what is wrong`.

use std::path::Path;

use super::text::{dependencies, has_word, is_ident, modules_of, numbered, paths_named};
use super::tree::{
    Source, everything, files_below, files_in, is_listed, production, read, sources,
};
use super::{DOORS, LINES_MAX, MACHINE_PATHS, PACKAGES, SHELL_MUST_USE, UNSAFE_FILES};

pub(crate) fn floors(root: &Path) -> Vec<String> {
    let mut faults = Vec::new();
    for package in PACKAGES.iter().filter(|package| !package.floors.is_empty()) {
        let folder = package.sources();
        for source in sources(root, &folder) {
            faults.extend(climbs(&source, &modules_of(&source.path, &folder), package.floors));
        }
    }
    faults
}

/// A package depends on earlier ones only, and each has its place in the table.
pub(crate) fn packages(root: &Path) -> Vec<String> {
    let place = |name: &str| PACKAGES.iter().position(|package| package.name == name);
    let mut faults = Vec::new();
    for name in files_in(&root.join("crates")) {
        if place(&name).is_none() {
            faults.push(format!("crates/{name}: is not in the table in tests/tidy/main.rs"));
        }
    }
    for (own, package) in PACKAGES.iter().enumerate() {
        let manifest = package.folder() + "Cargo.toml";
        for used in dependencies(&read(&root.join(&manifest))) {
            let below = used.strip_prefix("descent-").and_then(place);
            if below.is_some_and(|below| below >= own) {
                faults.push(format!("{manifest}: `{used}` lives above it"));
            }
        }
    }
    faults
}

fn climbs(source: &Source, modules: &[&str], table: &[&[&str]]) -> Vec<String> {
    let room = modules[0];
    let Some(own) = floor_of(table, room) else {
        return vec![format!(
            "{}: room `{room}` is on no floor: add it to the table in tests/tidy/main.rs \
             and to ARCHITECTURE.md",
            source.path
        )];
    };
    let is_room = |name: &str| floor_of(table, name).is_some();
    let mut faults = Vec::new();
    for (line, name) in paths_named(&source.code, modules.len(), is_room) {
        let fault = match floor_of(table, &name) {
            _ if name == room => continue,
            Some(floor) if floor < own => continue,
            Some(floor) if floor == own => {
                format!("`{room}` names its sibling `{name}`: move down what they share")
            }
            Some(_) => format!("`{room}` names `{name}`, which lives above it"),
            None => format!(
                "`crate::{name}` is on no floor: name the room it lives in, \
                 or add it to the table in tests/tidy/main.rs"
            ),
        };
        faults.push(format!("{}:{line}: {fault}", source.path));
    }
    faults
}

pub(crate) fn pure_packages(root: &Path, packages: &[(&str, &[&str])]) -> Vec<String> {
    let packages = packages.iter();
    packages.flat_map(|(folder, allowed)| impure(root, folder, allowed)).collect()
}

fn impure(root: &Path, folder: &str, allowed: &[&str]) -> Vec<String> {
    let mut faults = Vec::new();
    let lib = format!("{folder}/src/lib.rs");
    let manifest = format!("{folder}/Cargo.toml");
    if !read(&root.join(&lib)).lines().any(|line| line.trim() == "#![no_std]") {
        faults.push(format!("{lib}: `#![no_std]` is missing"));
    }
    for name in dependencies(&read(&root.join(&manifest))) {
        if !allowed.contains(&name.as_str()) {
            faults.push(format!("{manifest}: `{name}` is not among the packages that it may use"));
        }
    }
    for source in sources(root, &format!("{folder}/src")) {
        for (line, text) in numbered(&source.code) {
            if text.contains("extern crate std") {
                faults.push(format!("{}:{line}: takes std back", source.path));
            }
        }
    }
    faults
}

pub(crate) fn doors(root: &Path) -> Vec<String> {
    let mut faults = Vec::new();
    for source in production(root) {
        for door in DOORS.iter().filter(|door| !is_listed(&source.path, door.files)) {
            for (line, text) in numbered(&source.code) {
                if let Some(word) = door.words.iter().find(|word| has_word(text, word)) {
                    faults.push(format!(
                        "{}:{line}: `{word}` {}, which only these do: {}",
                        source.path,
                        door.opens,
                        door.files.join(", ")
                    ));
                }
            }
        }
    }
    faults
}

pub(crate) fn no_unsafe(root: &Path) -> Vec<String> {
    let mut faults = Vec::new();
    for source in production(root) {
        for (line, text) in numbered(&source.code) {
            let says = text.split(|c| !is_ident(c)).any(|word| word == "unsafe");
            if says && !is_listed(&source.path, UNSAFE_FILES) {
                faults.push(format!("{}:{line}: `unsafe` outside the named files", source.path));
            }
        }
    }
    faults
}

pub(crate) fn no_unwrap(root: &Path) -> Vec<String> {
    let mut faults = Vec::new();
    for source in production(root) {
        for (line, text) in numbered(&source.code) {
            if text.contains(".unwrap()") {
                faults.push(format!(
                    "{}:{line}: `.unwrap()`: return an error, or `expect(\"BUG: …\")` where an \
                     invariant proves it",
                    source.path
                ));
            }
        }
    }
    faults
}

pub(crate) fn heads(root: &Path) -> Vec<String> {
    let is_headless = |source: &Source| {
        let first = source.text.lines().find(|l| !l.trim().is_empty() && !l.starts_with("#!["));
        !first.is_some_and(|line| line.starts_with("//!"))
    };
    let headless = everything(root).into_iter().filter(is_headless);
    headless.map(|source| format!("{}: no `//!` at its head", source.path)).collect()
}

pub(crate) fn sizes(root: &Path, long: &[(&str, usize)]) -> Vec<String> {
    let mut faults = Vec::new();
    let all = everything(root);
    for source in &all {
        let lines = source.text.lines().count();
        let listed = long.iter().find(|(path, _)| *path == source.path);
        match listed {
            None if lines > LINES_MAX => faults.push(format!(
                "{}: {lines} lines, above {LINES_MAX}: give a part a file of its own",
                source.path
            )),
            Some((path, most)) if lines > *most => {
                faults.push(format!("{path}: grew to {lines} lines, above its {most}"));
            }
            Some((path, _)) if lines <= LINES_MAX => {
                faults.push(format!("{path}: short enough now: take it off the list"));
            }
            _ => {}
        }
    }
    let is_gone = |path: &str| all.iter().all(|source| source.path != path);
    for (path, _) in long.iter().filter(|(path, _)| is_gone(path)) {
        faults.push(format!("{path}: is gone: take it off the list"));
    }
    faults
}

pub(crate) fn ten_packages(root: &Path) -> Vec<String> {
    let manifests = PACKAGES.iter().map(|package| root.join(package.folder() + "Cargo.toml"));
    let used: Vec<String> = manifests.flat_map(|manifest| dependencies(&read(&manifest))).collect();
    let missing = SHELL_MUST_USE.iter().filter(|name| !used.iter().any(|used| used == *name));
    missing.map(|name| format!("Cargo.toml: `{name}` is not among the dependencies")).collect()
}

pub(crate) fn no_machine_paths(root: &Path) -> Vec<String> {
    let mut texts = files_below(root, "docs", "md");
    texts.extend(files_below(root, "docs", "svg"));
    // The place of this checkout is a place on one machine too.
    let here = format!("{}/", root.display());
    let places = || MACHINE_PATHS.iter().copied().chain([here.as_str()]);
    texts.extend(files_in(root).into_iter().filter(|path| path.ends_with(".md")));
    let mut faults = Vec::new();
    for path in texts {
        let text = read(&root.join(&path));
        for (line, text) in numbered(&text) {
            if let Some(place) = places().find(|place| has_word(text, place)) {
                faults.push(format!("{path}:{line}: names `{place}`, a place on one machine"));
            }
        }
    }
    faults
}

fn floor_of(table: &[&[&str]], room: &str) -> Option<usize> {
    table.iter().position(|floor| floor.contains(&room))
}
