//! Decides from its text whether a shell command can end with anything but 0.
//!
//! It is no shell: commands with compound words, top-level substitutions or options that change the
//! rules are left alone.

use alloc::{format, string::String, vec::Vec};

/// Maximum of bytes of a command that is examined.
const COMMAND_BYTES_MAX: usize = 16 * 1024;

/// Programs that hide the exit code of the command piped into them.
const SWALLOWS: &[&str] = &["tee", "head", "tail", "cat", "wc", "sort", "uniq"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Joint {
    /// `;`, `&`, a line break.
    Then,
    And,
    Or,
    Pipe,
}

/// The reason why the command always ends with 0; `None` if it may fail, and in doubt.
pub fn never_fails(command: &str) -> Option<String> {
    if command.len() > COMMAND_BYTES_MAX || changes_the_rules(command) {
        return None;
    }
    let parts = split(command)?;
    let last = parts.iter().rposition(|(joint, _)| *joint == Joint::Then)?;
    // A command that ends the shell early may make it fail.
    let is_cut =
        |text: &str| words(text).any(|word| matches!(word, "exit" | "return" | "exec" | "kill"));
    if parts[..parts.len() - 1]
        .iter()
        .any(|(_, text)| is_cut(text))
    {
        return None;
    }
    let mut pipelines: Vec<(Joint, Vec<&str>)> = Vec::new();
    for (joint, text) in &parts[last..] {
        match (joint, pipelines.last_mut()) {
            (Joint::Pipe, Some((_, stages))) => stages.push(text),
            _ => pipelines.push((*joint, Vec::from([*text]))),
        }
    }
    let mut why: Option<String> = None;
    for (joint, stages) in &pipelines {
        let here = pipeline_never_fails(stages);
        why = match joint {
            Joint::Or => why.or_else(|| here.map(|_| or_words(stages))),
            Joint::And => why.and(here),
            Joint::Then | Joint::Pipe => here.map(|why| match parts[..last].is_empty() {
                true => why,
                false => format!(
                    "it ends with `{}`, whatever came before",
                    stages.join(" | ")
                ),
            }),
        };
    }
    why
}

fn or_words(stages: &[&str]) -> String {
    format!("`|| {}` hides every failure", stages.join(" | "))
}

/// Options and words after which the text alone is not conclusive.
fn changes_the_rules(command: &str) -> bool {
    const COMPOUND: &[&str] = &[
        "if", "for", "while", "until", "case", "function", "trap", "{", "!", "select",
    ];
    command.contains("pipefail")
        || command.contains("<<")
        || command.contains("()")
        || words(command).any(|word| COMPOUND.contains(&word) || word == "set")
}

fn pipeline_never_fails(stages: &[&str]) -> Option<String> {
    let last = *stages.last()?;
    if let Some(why) = simple_never_fails(last) {
        return Some(why);
    }
    let program = words(last).next()?;
    let is_plain = !last.contains(['>', '<', '$', '`', '(']);
    // A file to read or write may make it fail; only `tee` normally writes one.
    let operands = words(last)
        .skip(1)
        .filter(|word| !word.starts_with('-') && !word.chars().all(|c| c.is_ascii_digit()));
    let may_fail = program != "tee" && operands.count() > 0;
    (stages.len() > 1 && is_plain && SWALLOWS.contains(&program) && !may_fail)
        .then(|| format!("it ends as `{program}` does, not as what is piped into it"))
}

fn simple_never_fails(text: &str) -> Option<String> {
    let mut said = words(text);
    let program = said.next()?;
    // A redirection may fail, and a substitution is not examined.
    let is_plain = !text
        .replace(">/dev/null", "")
        .replace("> /dev/null", "")
        .replace("2>&1", "")
        .contains(['>', '<', '`', '('])
        && !text.contains("$(");
    let always = match program {
        "true" | ":" | "/bin/true" | "/usr/bin/true" => true,
        "echo" | "printf" => is_plain,
        "exit" => said.next() == Some("0"),
        _ => false,
    };
    (always && is_plain).then(|| format!("`{}` always ends with 0", text.trim()))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace()
}

/// The command split at its joints, outside of quotes; `None` if brackets, comments or escapes make
/// that doubtful.
fn split(command: &str) -> Option<Vec<(Joint, &str)>> {
    let bytes = command.as_bytes();
    let mut parts = Vec::new();
    let (mut from, mut at, mut joint) = (0, 0, Joint::Then);
    let mut quote: Option<u8> = None;
    let mut depth = 0_usize;
    while at < bytes.len() {
        let byte = bytes[at];
        let next = bytes.get(at + 1).copied();
        if let Some(open) = quote {
            if byte == b'\\' && open == b'"' {
                at += 1;
            } else if byte == open {
                quote = None;
            }
            at += 1;
            continue;
        }
        let found = match byte {
            b'\'' | b'"' | b'`' => {
                quote = Some(byte);
                None
            }
            b'\\' => {
                at += 1;
                None
            }
            b'(' => {
                depth += 1;
                None
            }
            b')' => {
                depth = depth.checked_sub(1)?;
                None
            }
            b'#' if at == 0 || bytes[at - 1].is_ascii_whitespace() => return None,
            _ if depth > 0 => None,
            b'|' if next == Some(b'|') => Some((Joint::Or, 2)),
            b'|' if next == Some(b'&') => Some((Joint::Pipe, 2)),
            b'|' if at > 0 && bytes[at - 1] == b'>' => None,
            b'|' => Some((Joint::Pipe, 1)),
            b'&' if next == Some(b'&') => Some((Joint::And, 2)),
            b'&' if next == Some(b'>') || (at > 0 && matches!(bytes[at - 1], b'>' | b'<')) => None,
            b'&' | b';' | b'\n' => Some((Joint::Then, 1)),
            _ => None,
        };
        if let Some((after, width)) = found {
            parts.push((joint, command[from..at].trim()));
            joint = after;
            at += width;
            from = at;
        } else {
            at += 1;
        }
    }
    if quote.is_some() || depth > 0 {
        return None;
    }
    parts.push((joint, command.get(from..)?.trim()));
    // A joint with nothing before it, such as a line break at the end or after `&&`.
    let mut kept: Vec<(Joint, &str)> = Vec::new();
    for (joint, text) in parts {
        match (text.is_empty(), joint) {
            (true, Joint::Then) => {}
            (true, _) => return None,
            (false, _) => kept.push((joint, text)),
        }
    }
    let first = kept.first_mut()?;
    first.0 = Joint::Then;
    Some(kept)
}

#[cfg(test)]
mod tests {
    use super::never_fails;

    #[test]
    fn what_always_ends_with_0_is_known_and_in_doubt_nothing_is() {
        for command in [
            "true",
            ":",
            " true ",
            "echo done",
            "cargo test || true",
            "cargo test || :",
            "cargo test || echo failed",
            "cargo test; exit 0",
            "cargo test; true",
            "cargo test\ntrue\n",
            "make && true || true",
            "true && echo ok",
            "cargo test | tee log",
            "cargo test 2>&1 | tail -n 20",
            "cargo test 2>&1 | cat",
            "npm test | head -5",
            "echo 'a || b'",
            "echo x >/dev/null",
            "make & true",
        ] {
            assert!(never_fails(command).is_some(), "{command}");
        }
        for command in [
            "cargo test",
            "false || cargo test",
            "true && cargo test",
            "true; cargo test",
            "cargo test || exit 1",
            "cargo test || exit 1; exit 0",
            "cargo test || exit 1 || true",
            "set -e; cargo test; true",
            "set -o pipefail; cargo test | tee log",
            "cargo test | grep -q ok",
            "! true",
            "if false; then true; fi",
            "echo x > /no/such/file",
            "echo \"$(cat x)\" && false",
            "grep -q '|| true' Makefile",
            "test -f x # || true",
            "(cargo test || true) && cargo build",
            "for f in *; do true; done",
            "f() { true; }; f",
            "cargo test && echo ok",
            "cat a b | sort c",
            "",
            "||",
            "'",
            "&&&",
            "| true |",
            "\\",
            "exit 1",
            "exit",
        ] {
            assert_eq!(never_fails(command), None, "{command}");
        }
    }
}
