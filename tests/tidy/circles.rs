//! Circles: files of a room that import one another, so that none of them can be read alone.
//!
//! A file and the files in its folder are one: a part may import from the file above it. A part that imports a
//! neighbour through that file makes a circle, so names are followed through `use` to their definition.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::text::{is_ident, modules_of};
use super::tree::sources;
use super::{PACKAGES, Package};

/// `use` after `use`, until a name reaches its definition.
const HOPS_MAX: usize = 8;

/// Each circle inside a room.
pub(crate) fn circles(root: &Path) -> Vec<String> {
    let circles = PACKAGES.iter().flat_map(|package| Modules::read(root, package).circles());
    let fault = |circle: Vec<String>| {
        let files = circle.join(", ");
        format!("{files}: import one another: move down what they share")
    };
    circles.map(fault).collect()
}

/// A path in the code, by its names.
type Names = Vec<String>;

/// A file, by its place and the names in it.
struct Module {
    path: String,
    /// The names that `use` binds in the file.
    aliases: BTreeMap<String, Names>,
    paths: Vec<Names>,
}

/// The files of a package, by the names of their modules.
struct Modules {
    modules: BTreeMap<Names, Module>,
    is_one_room: bool,
}

impl Modules {
    fn read(root: &Path, package: &Package) -> Self {
        let folder = package.sources();
        let is_one_room = package.floors.is_empty();
        let modules = sources(root, &folder).into_iter().map(|source| {
            let names = modules_of(&source.path, &folder);
            let names: Names = names.into_iter().map(str::to_owned).collect();
            let is_root = is_one_room && names == ["lib"];
            let names = if is_root { Names::new() } else { names };
            let (uses, rest) = apart(&source.code);
            let mut paths: Vec<Names> = paths_in(&rest);
            let mut aliases = BTreeMap::new();
            for (alias, path) in uses.iter().flat_map(|one| expand(&[], one)) {
                aliases.insert(alias, path.clone());
                paths.push(path);
            }
            let path = source.path;
            let module = Module { path, aliases, paths };
            (names, module)
        });
        Self { modules: modules.collect(), is_one_room }
    }

    /// The file that defines the last name of a path, if it is one of ours.
    fn target(&self, from: &[String], path: &[String], hops: usize) -> Option<Names> {
        let hops = hops.checked_sub(1)?;
        let mut at = from.to_vec();
        let mut is_anchored = false;
        for (place, name) in path.iter().enumerate() {
            match name.as_str() {
                "crate" => (at, is_anchored) = (Names::new(), true),
                "self" => is_anchored = true,
                "super" => {
                    at.pop();
                    is_anchored = true;
                }
                _ => {
                    let inner: Names = at.iter().chain([name]).cloned().collect();
                    if self.modules.contains_key(&inner) {
                        (at, is_anchored) = (inner, true);
                        continue;
                    }
                    let alias = self.modules.get(&at).and_then(|one| one.aliases.get(name));
                    return match alias {
                        Some(alias) if alias.as_slice() != path => {
                            let rest = &path[place + 1..];
                            let longer: Names = alias.iter().chain(rest).cloned().collect();
                            self.target(&at, &longer, hops)
                        }
                        _ => is_anchored.then_some(at),
                    };
                }
            }
        }
        Some(at)
    }

    /// The files of its room that a file imports from, but for those above it.
    fn imports(&self, names: &Names, module: &Module) -> BTreeSet<&Names> {
        let paths = module.paths.iter();
        let targets = paths.filter_map(|path| self.target(names, path, HOPS_MAX));
        let is_near = |to: &Names| self.is_one_room || to.first() == names.first();
        let others = targets.filter(|to| is_near(to) && !names.starts_with(to));
        others.filter_map(|to| Some(self.modules.get_key_value(&to)?.0)).collect()
    }

    /// The sets of files that reach one another, by their paths.
    fn circles(&self) -> Vec<Vec<String>> {
        let modules = self.modules.iter();
        let imports: BTreeMap<&Names, BTreeSet<&Names>> =
            modules.map(|(names, module)| (names, self.imports(names, module))).collect();
        let reach: BTreeMap<&Names, BTreeSet<&Names>> =
            imports.keys().map(|from| (*from, reached(&imports, from))).collect();
        let mut circles = BTreeSet::new();
        for (one, far) in reach.iter().filter(|(one, far)| far.contains(*one)) {
            let circle = far.iter().filter(|other| reach[*other].contains(one));
            let paths = circle.map(|names| self.modules[*names].path.clone());
            circles.insert(paths.collect::<Vec<String>>());
        }
        circles.into_iter().collect()
    }
}

fn reached<'n>(
    imports: &BTreeMap<&'n Names, BTreeSet<&'n Names>>,
    from: &Names,
) -> BTreeSet<&'n Names> {
    let mut found = BTreeSet::new();
    let mut todo: Vec<&Names> = imports[from].iter().copied().collect();
    while let Some(next) = todo.pop() {
        if found.insert(next) {
            todo.extend(&imports[next]);
        }
    }
    found
}

/// The texts of all `use`, and the code without them.
fn apart(code: &str) -> (Vec<&str>, String) {
    let (mut uses, mut others) = (Vec::new(), String::new());
    let mut rest = code;
    while let Some(at) = rest.find("use ") {
        let is_word = !rest[..at].chars().next_back().is_some_and(is_ident);
        let Some(end) = rest[at..].find(';').filter(|_| is_word) else {
            others.push_str(&rest[..at + 4]);
            rest = &rest[at + 4..];
            continue;
        };
        others.push_str(&rest[..at]);
        uses.push(&rest[at + 4..at + end]);
        rest = &rest[at + end..];
    }
    (uses, others + rest)
}

/// `a::{b, c as d}` binds `b` to `a::b` and `d` to `a::c`; `a::*` binds nothing that is named.
fn expand(prefix: &[String], tree: &str) -> Vec<(String, Names)> {
    let tree = tree.trim();
    let (path, group) = match tree.split_once('{') {
        Some((path, group)) => (path, Some(group.trim_end().trim_end_matches('}'))),
        None => (tree, None),
    };
    let (path, alias) = match path.split_once(" as ") {
        Some((path, alias)) => (path, Some(alias.trim().to_owned())),
        None => (path, None),
    };
    let own = path.split("::").map(str::trim);
    let own = own.filter(|name| !name.is_empty() && *name != "*");
    let mut names: Names = prefix.to_vec();
    names.extend(own.map(str::to_owned));
    match group {
        Some(group) => {
            let parts = members(group).into_iter();
            parts.flat_map(|part| expand(&names, part)).collect()
        }
        None => {
            if names.len() > 1 && names.last().is_some_and(|name| name == "self") {
                names.pop();
            }
            let last = names.last().cloned().unwrap_or_default();
            Vec::from([(alias.unwrap_or(last), names)])
        }
    }
}

/// The members of a group, each with its own groups whole.
fn members(group: &str) -> Vec<&str> {
    let (mut depth, mut start, mut found) = (0usize, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                found.push(&group[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(&group[start..]);
    found.retain(|part| !part.trim().is_empty());
    found
}

/// Every path of two names or more.
fn paths_in(code: &str) -> Vec<Names> {
    let is_part = |c: char| is_ident(c) || c == ':';
    let words = code.split(|c| !is_part(c)).filter(|word| word.contains("::"));
    let paths = words.map(|word| {
        let names = word.split("::").map(|name| name.trim_matches(':'));
        names.filter(|name| !name.is_empty()).map(str::to_owned)
    });
    paths.map(Iterator::collect).filter(|path: &Names| path.len() > 1).collect()
}
