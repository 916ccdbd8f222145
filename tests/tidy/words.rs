//! The names that the source may use: each type name once in a package, nouns for types, one name a parameter.

use std::collections::BTreeMap;
use std::path::Path;

use super::PACKAGES;
use super::tree::{Source, production, sources};

/// Types whose name is a bare participle, or says nothing of their content.
const EMPTY_NAMES: &[&str] = &[
    "Asked",
    "Branched",
    "Carried",
    "Committed",
    "Done",
    "Ended",
    "Found",
    "Held",
    "Judged",
    "Kept",
    "Known",
    "Left",
    "Look",
    "Looks",
    "Lying",
    "Made",
    "Measured",
    "Named",
    "Not",
    "Opened",
    "Over",
    "Ran",
    "Registered",
    "Said",
    "Seen",
    "Shown",
    "Staged",
    "Stored",
    "Taken",
    "Told",
    "Tried",
    "Typed",
    "Undone",
    "Waited",
    "Walked",
    "What",
    "Worn",
];

/// A type, by where it is declared.
struct Declaration {
    name: String,
    place: String,
}

/// No type name stands twice in a package.
pub(crate) fn type_names(root: &Path) -> Vec<String> {
    let mut faults = Vec::new();
    // The crates that cannot do I/O, the migration, and the shell.
    for packages in [&PACKAGES[..3], &PACKAGES[3..4], &PACKAGES[4..]] {
        let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let all = packages.iter().flat_map(|package| sources(root, &package.sources()));
        for one in all.flat_map(|source| declarations(&source)) {
            if EMPTY_NAMES.contains(&one.name.as_str()) {
                faults.push(format!(
                    "{}: `{}` says nothing of what it is: name it by a noun",
                    one.place, one.name
                ));
            }
            places.entry(one.name).or_default().push(one.place);
        }
        let twice = places.iter().filter(|(_, places)| places.len() > 1);
        faults.extend(twice.map(|(name, places)| {
            format!(
                "{}: `{name}` is a type of {} too: give one of them another name",
                places[0], places[1]
            )
        }));
    }
    faults
}

fn declarations(source: &Source) -> Vec<Declaration> {
    let line = |(n, text): (usize, &str)| {
        let text = text.trim_start();
        let text = match text.strip_prefix("pub") {
            Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
            Some(rest) => rest.trim_start(),
            None => text,
        };
        let kinds = ["struct ", "enum ", "trait ", "type ", "union "];
        let rest = kinds.iter().find_map(|kind| text.strip_prefix(kind))?;
        let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        // An associated type of an implementation is no name of its own.
        let is_associated = text.starts_with("type ")
            && source.code.lines().nth(n).is_some_and(|l| l.starts_with(' '));
        (!name.is_empty() && !is_associated)
            .then(|| Declaration { name, place: format!("{}:{}", source.path, n + 1) })
    };
    source.code.lines().enumerate().filter_map(line).collect()
}

/// No parameter takes a tuple apart, which hides values that may be swapped: parameters of their own, or a struct,
/// name them.
pub(crate) fn tuple_parameters(root: &Path) -> Vec<String> {
    let all = production(root).into_iter();
    let faults = |source: Source| {
        let path = &source.path;
        let lines = tuples_in(&source.code).into_iter();
        let fault =
            |line| format!("{path}:{line}: a parameter is a tuple: make it two, or a struct");
        lines.map(fault).collect::<Vec<_>>()
    };
    all.flat_map(faults).collect()
}

/// The lines of parameters `(a, b): (A, B)` of functions. Those of closures are patterns on the arguments of a library.
fn tuples_in(code: &str) -> Vec<usize> {
    let is_pattern = |inner: &str| {
        inner.contains(',') && inner.chars().all(|c| c.is_alphanumeric() || "_, &".contains(c))
    };
    let mut lines = Vec::new();
    for (at, _) in code.match_indices("): ") {
        let type_ = code[at + 3..].trim_start_matches('&');
        let Some(open) = code[..at].rfind('(') else {
            continue;
        };
        let before = code[..open].trim_end().trim_end_matches('&').trim_end();
        let is_parameter = before.ends_with(',') || before.ends_with('(');
        let is_closure =
            code[..open].rfind('|').is_some_and(|bar| !code[bar..open].contains("fn "))
                && code[at..]
                    .find('|')
                    .is_some_and(|bar| bar < code[at..].find(['{', ';']).unwrap_or(usize::MAX));
        if type_.starts_with('(') && is_pattern(&code[open + 1..at]) && is_parameter && !is_closure
        {
            lines.push(code[..at].matches('\n').count() + 1);
        }
    }
    lines
}

/// Numbers and texts that name something are newtypes.
pub(crate) fn no_bare_ids(root: &Path) -> Vec<String> {
    let primitives = ["usize", "u8", "u16", "u32", "u64", "i32", "i64", "String", "&'static str"];
    let mut faults = Vec::new();
    for source in production(root) {
        for (n, line) in source.code.lines().enumerate() {
            let Some((name, type_)) = alias(line) else {
                continue;
            };
            if primitives.contains(&type_) {
                faults.push(format!(
                    "{}:{}: `{name}` is any `{type_}`: make it a newtype",
                    source.path,
                    n + 1
                ));
            }
        }
    }
    faults
}

fn alias(line: &str) -> Option<(&str, &str)> {
    let (head, type_) = line.strip_suffix(';')?.split_once(" = ")?;
    let name = head.rsplit_once("type ").filter(|(before, _)| !before.starts_with(' '))?.1;
    Some((name, type_))
}
