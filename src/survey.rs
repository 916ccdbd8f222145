//! Surveys a project and proposes parts of an agreement: checks, protected files, and the needs of a fresh workspace.
//! No model is asked.
//!
//! Invariant: only files of the project are read, within limits; nothing is run or written. A proposal is never adopted
//! here: a person does that.

mod cargo;
mod ci;
mod counts;
mod go;
mod judges;
mod make;
mod node;
mod python;
mod reader;
mod targets;
#[cfg(test)]
mod tests;
mod told;

use std::path::Path;

use descent_core::judging;
use reader::Reader;

pub use counts::failing_tests;
pub use targets::{missing_script, missing_target};
pub use told::{INSTRUCTIONS, beginning_of, instructions, words, words_of};

/// Proposals at most of each kind.
const CHECKS_MAX: usize = 6;
const OTHERS_MAX: usize = 5;

/// A possible part of an agreement, and its place in the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    pub text: String,
    pub from: String,
}

/// How much a check says about a goal: the first is offered first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Test,
    Check,
    Build,
    Lint,
    Format,
}

#[derive(Debug, Default)]
struct ProposalList(Vec<(Rank, Proposal)>);

impl ProposalList {
    fn add(&mut self, rank: Rank, text: impl Into<String>, from: impl Into<String>) {
        let proposal = Proposal { text: text.into(), from: from.into() };
        self.0.push((rank, proposal));
    }

    /// The best of each kind; of two alike the earlier source comes first.
    fn ranked(mut self) -> Vec<Proposal> {
        self.0.sort_by_key(|(rank, _)| *rank);
        let mut seen = Vec::new();
        let mut kept: Vec<Proposal> = Vec::new();
        for (_, proposal) in self.0 {
            let key = plain(&proposal.text);
            if !seen.contains(&key) && !judging::never_fails(&proposal.text) {
                seen.push(key);
                kept.push(proposal);
            }
        }
        kept.truncate(CHECKS_MAX);
        kept
    }
}

/// The proposals for a project.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Commands for the base case, the best first.
    pub checks: Vec<Proposal>,
    /// Globs of the files that judge.
    pub protected: Vec<Proposal>,
    /// Paths that a fresh workspace would lack.
    pub link: Vec<Proposal>,
    /// Commands that make the missing parts of a fresh workspace.
    pub setup: Vec<Proposal>,
}

/// `is_ignored` tells whether git ignores a path of the project.
pub fn survey(project: &Path, is_ignored: &dyn Fn(&str) -> bool) -> Survey {
    let Some(reader) = Reader::open(project) else {
        return Survey::default();
    };
    let mut found = ProposalList::default();
    let ci = ci::read(&reader);
    cargo::propose(&reader, &ci, &mut found);
    node::propose(&reader, &mut found);
    python::propose(&reader, &mut found);
    go::propose(&reader, &mut found);
    make::propose(&reader, &mut found);
    ci::propose(&ci, &mut found);
    let mut protected = judges::propose(&reader);
    let (mut link, mut setup) = (Vec::new(), Vec::new());
    node::needs(&reader, is_ignored, &mut link, &mut setup);
    python::needs(&reader, is_ignored, &mut link, &mut setup);
    if reader.is_file(".env") && is_ignored(".env") {
        link.push(proposal(".env", ".gitignore"));
    }
    for list in [&mut protected, &mut link, &mut setup] {
        list.truncate(OTHERS_MAX);
    }
    Survey { checks: found.ranked(), protected, link, setup }
}

fn proposal(text: impl Into<String>, from: impl Into<String>) -> Proposal {
    Proposal { text: text.into(), from: from.into() }
}

/// The command without parts that do not change its meaning.
fn plain(command: &str) -> String {
    const SILENT: &[&str] =
        &["-q", "-v", "--quiet", "--verbose", "--locked", "--frozen", "--silent", "-s"];
    let words = command.split_whitespace();
    let words = words.filter(|word| !SILENT.contains(word));
    let joined = words.collect::<Vec<_>>().join(" ");
    joined
        .replace("npm run test", "npm test")
        .replace("--all ", "--workspace ")
        .replace("python3 ", "python ")
}
