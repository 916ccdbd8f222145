//! Make: the targets that are checks by their names.

use super::{ProposalList, Rank, reader::Reader};

/// In the order in which make looks for them.
pub(super) const FILES: &[&str] = &["GNUmakefile", "makefile", "Makefile"];

const TARGETS: &[(&str, Rank)] = &[
    ("test", Rank::Test),
    ("tests", Rank::Test),
    ("check", Rank::Test),
    ("all", Rank::Build),
    ("build", Rank::Build),
    ("lint", Rank::Lint),
];

/// The file that make reads.
pub(super) fn manifest(reader: &Reader) -> Option<(&'static str, String)> {
    let mut files = FILES.iter();
    files.find_map(|file| Some((*file, reader.read(file)?)))
}

pub(super) fn propose(reader: &Reader, found: &mut ProposalList) {
    let Some((file, text)) = manifest(reader) else {
        return;
    };
    for (target, rank) in TARGETS {
        let at = text.lines().position(|line| is_rule_of(line, target));
        if let Some(at) = at {
            found.add(*rank, format!("make {target}"), format!("{file}:{}", at + 1));
        }
    }
}

pub(super) fn is_rule_of(line: &str, target: &str) -> bool {
    let Some((targets, rest)) = line.split_once(':') else {
        return false;
    };
    // `x := 1` sets a variable, and a recipe begins with a tab.
    !line.starts_with(['\t', '#', ' '])
        && !rest.starts_with('=')
        && !rest.starts_with(":=")
        && targets.split_whitespace().any(|name| name == target)
}
