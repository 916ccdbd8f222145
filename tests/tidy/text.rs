//! Just enough reading of Rust and of a manifest: code, tests, and paths.
//!
//! Not a parser. It never fails: on text that is not Rust it gives some answer, and the compiler says the rest.

use std::collections::BTreeSet;

/// `src/cli/run.rs` is `["cli", "run"]`; `crates/workspace/src/git/mod.rs` is `["git"]`.
pub(crate) fn modules_of<'a>(path: &'a str, folder: &str) -> Vec<&'a str> {
    let inner = path.strip_prefix(folder).unwrap_or(path).trim_start_matches('/');
    inner.trim_end_matches(".rs").trim_end_matches("/mod").split('/').collect()
}

/// The line and first name after `crate::`, or after the chain of `super::` that leads there from `depth` modules down.
/// Inside an inline module such a chain ends lower, so that it counts only if it names a room.
pub(crate) fn paths_named(
    code: &str,
    depth: usize,
    is_room: impl Fn(&str) -> bool,
) -> BTreeSet<(usize, String)> {
    let mut found = BTreeSet::new();
    let up = "super::".repeat(depth);
    for (root, must_be_room) in [("crate::", false), (up.as_str(), true)] {
        for (at, _) in code.match_indices(root).filter(|(at, _)| starts_path(code, *at)) {
            let line = code[..at].matches('\n').count() + 1;
            let names = first_names(&code[at + root.len()..]);
            let counted = names.into_iter().filter(|name| !must_be_room || is_room(name));
            found.extend(counted.map(|name| (line, name)));
        }
    }
    found
}

/// The first name of a path, or of each path in a group: `{a::B, c::{d, e}}` gives `a`, `c`.
fn first_names(rest: &str) -> Vec<String> {
    let first = |path: &str| path.trim().chars().take_while(|c| is_ident(*c)).collect::<String>();
    let Some(group) = rest.trim_start().strip_prefix('{') else {
        return vec![first(rest)];
    };
    let (mut depth, mut start, mut names) = (0usize, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            ',' | '}' if depth == 0 => {
                names.push(first(&group[start..at]));
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            '}' => depth -= 1,
            _ => {}
        }
    }
    names.retain(|name| !name.is_empty() && name != "self");
    names
}

/// Comments and literals as spaces, so that only code is left; line ends stay.
pub(crate) fn without_words(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let follows_ident = code.chars().next_back().is_some_and(is_ident);
        let length = word_length(rest, follows_ident);
        let taken = if length == 0 { c.len_utf8() } else { length };
        if length == 0 {
            code.push(c);
        } else {
            code.extend(rest[..taken].chars().map(|c| if c == '\n' { c } else { ' ' }));
        }
        rest = &rest[taken..];
    }
    code
}

/// How many bytes the comment or literal at the start of `rest` has; 0 if there is none.
fn word_length(rest: &str, follows_ident: bool) -> usize {
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        return block_comment_length(rest);
    }
    let prefix = if follows_ident { "" } else { rest.get(..literal_prefix(rest)).unwrap_or("") };
    let bare = &rest[prefix.len()..];
    let hashes = bare.len() - bare.trim_start_matches('#').len();
    if prefix.ends_with('r') && bare[hashes..].starts_with('"') {
        let close = format!("\"{}", "#".repeat(hashes));
        let open = prefix.len() + hashes + 1;
        return rest[open..].find(&close).map_or(rest.len(), |at| open + at + close.len());
    }
    if bare.starts_with('"') {
        return prefix.len() + quoted_length(bare, '"');
    }
    let mut chars = bare.chars().skip(1);
    let (second, third) = (chars.next(), chars.next());
    if bare.starts_with('\'') && (second == Some('\\') || third == Some('\'')) {
        return prefix.len() + quoted_length(bare, '\'');
    }
    0
}

fn literal_prefix(rest: &str) -> usize {
    let letters = rest.len() - rest.trim_start_matches(['b', 'c', 'r']).len();
    let opens = rest[letters..].trim_start_matches('#').starts_with(['"', '\'']);
    if letters <= 2 && opens { letters } else { 0 }
}

fn quoted_length(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn block_comment_length(text: &str) -> usize {
    let (mut depth, mut at) = (0usize, 0);
    while at < text.len() {
        match &text.as_bytes()[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// Every item under `#[cfg(test)]` as spaces; a file under `#![cfg(test)]` wholly.
pub(crate) fn without_tests(code: &str) -> String {
    if code.contains("#![cfg(test)]") {
        return String::new();
    }
    let marker = "#[cfg(test)]";
    let (mut kept, mut rest) = (String::new(), code);
    while let Some(at) = rest.find(marker) {
        let end = at + marker.len() + item_length(&rest[at + marker.len()..]);
        kept.push_str(&rest[..at]);
        kept.extend(rest[at..end].chars().filter(|c| *c == '\n'));
        rest = &rest[end..];
    }
    kept + rest
}

/// Up to the `;` that ends an item, or the brace that closes its body.
fn item_length(code: &str) -> usize {
    let mut depth = 0usize;
    for (at, c) in code.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => {
                depth = depth.saturating_sub(1);
                if c == '}' && depth == 0 {
                    return at + 1;
                }
            }
            ';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    code.len()
}

/// The names under `[dependencies]`, `[build-dependencies]` and their kin of a target.
pub(crate) fn dependencies(manifest: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut inside = false;
    for line in manifest.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[') {
            let header = header.trim_end_matches(']');
            let (table, name) = header.split_once("dependencies.").unwrap_or((header, ""));
            let counts = !header.contains("dev-dependencies") && !header.starts_with("workspace");
            inside = counts && table.ends_with("dependencies");
            if counts && !name.is_empty() {
                names.insert(name.to_owned());
            }
        } else if inside && !line.starts_with('#') && line.contains('=') {
            let name = line.split(['=', '.', ' ']).next().unwrap_or(line);
            names.insert(name.trim_matches('"').to_owned());
        }
    }
    names
}

pub(crate) fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| starts_word(text, at))
}

/// Neither the tail of a longer name nor of a longer path.
fn starts_path(text: &str, at: usize) -> bool {
    starts_word(text, at) && !text[..at].ends_with("::")
}

fn starts_word(text: &str, at: usize) -> bool {
    !text[..at].chars().next_back().is_some_and(is_ident)
}

pub(crate) fn is_ident(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

pub(crate) fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(at, line)| (at + 1, line))
}
