//! The commands in README.md and docs/ are run as written, and their output is compared with the pages.
//!
//! A page is one shell session, from top to bottom, in a world of its own (`shell`). `blocks` reads the steps of a
//! page, and `compare` decides which outputs count as the same. `DESCENT_UPDATE=1` writes the present output into the
//! pages. Not here: the promises of the program (`tests/it`); a page shows it to a person.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    missing_debug_implementations
)] // door: tests

mod blocks;
pub(crate) mod compare;
mod links;
mod shell;
mod tests;

use std::{
    fs,
    path::{Path, PathBuf},
};

use blocks::{Page, What};
use shell::Outcome;

/// Blocks at most that only show what to type. A block that can be run is run.
const NOT_RUN_MAX: usize = 10;

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "the pages use `sed -i` of Linux")]
fn what_the_documents_show_is_what_happens() {
    let pages: Vec<Page> = documents().iter().map(|path| Page::read(path)).collect();
    let not_run: Vec<String> = pages.iter().flat_map(Page::not_run).collect();
    println!("not run:\n{}", not_run.join("\n"));
    let updates = std::env::var_os("DESCENT_UPDATE").is_some();
    let mut faults = std::thread::scope(|scope| {
        let tried: Vec<_> =
            pages.iter().map(|page| scope.spawn(move || try_page(page, updates))).collect();
        let ended = tried.into_iter().map(|page| page.join().unwrap());
        ended.flatten().collect::<Vec<String>>()
    });
    if not_run.len() > NOT_RUN_MAX {
        faults.push(format!(
            "{} blocks are not run, at most {NOT_RUN_MAX} may be:\n{}",
            not_run.len(),
            not_run.join("\n")
        ));
    }
    assert!(
        faults.is_empty(),
        "\n{}\nwhere the document is to follow: DESCENT_UPDATE=1 cargo test --test it docs::\n",
        faults.join("\n")
    );
}

/// Runs a page; gives every place at which the page and the output differ.
fn try_page(page: &Page, updates: bool) -> Vec<String> {
    let mut faults = page.faults.clone();
    if page.steps.is_empty() {
        return faults;
    }
    let outcomes = shell::run(page);
    if updates {
        let text = compare::updated(page, &outcomes);
        fs::write(&page.path, text).expect("the page is written");
    }
    for (index, step) in page.steps.iter().enumerate() {
        let Some(outcome) = outcomes.get(index) else {
            let why = "was not reached: the shell ended before, or took too long";
            faults.push(format!("{}:{}: {why}", page.name, step.line));
            break;
        };
        let fault = compare::fault(step, outcome)
            .filter(|_| !updates || is_wrong_whatever_is_written(&step.what, outcome));
        faults.extend(fault.map(|fault| format!("{}:{}", page.name, fault)));
    }
    faults
}

/// Whether writing the output into the page would not help: another exit code has to be understood first.
fn is_wrong_whatever_is_written(what: &What, outcome: &Outcome) -> bool {
    match what {
        What::Shown { exit, .. } => *exit != outcome.code,
        What::Hidden(_) | What::File { .. } => true,
    }
}

fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = vec![root.join("README.md")];
    let mut todo = vec![root.join("docs")];
    while let Some(dir) = todo.pop() {
        for entry in fs::read_dir(&dir).expect("docs").flatten() {
            let path = entry.path();
            if path.is_dir() {
                todo.push(path);
            } else if path.extension().is_some_and(|end| end == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
