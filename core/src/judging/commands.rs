//! Commands that do nothing, or that cannot fail, as far as is seen without a shell.
//!
//! Invariant: by the plainest of signs alone. A command that no rule here knows counts as one that works.

use alloc::{string::String, vec::Vec};

use crate::{
    state::{
        Leaf,
        check::{CommandLeaf, NotCommandLeaf},
    },
    verdict::Verdict,
};

const NO_OPS: &[&str] = &["true", ":", "exit 0"];

/// Whether a command ends with 0 whatever the goal.
#[must_use]
pub fn never_fails(command: &str) -> bool {
    let text = plain(command);
    let is_no_op = |part: &str| NO_OPS.contains(&part.trim());
    let after = |mark: &str| text.rsplit_once(mark).map(|(_, last)| last);
    // Both could end it before its last command.
    let may_leave = text.contains("set -") || text.matches("exit").count() > 1;
    is_idle(command)
        || after("||").is_some_and(is_no_op)
        || after(";").is_some_and(|last| is_no_op(last) && !may_leave)
}

/// The verdict of a leaf whose command ends the same way whatever the goal.
#[must_use]
pub fn constant(leaf: &Leaf) -> Option<Verdict> {
    match leaf {
        Leaf::Command(CommandLeaf {
            command,
            expect_exit: 0,
            stdout_matches: None,
            number: None,
            ..
        }) if never_fails(command) => Some(Verdict::Pass),
        Leaf::NotCommand(NotCommandLeaf { command, expect_exit: None, .. })
            if never_fails(command) =>
        {
            Some(Verdict::Fail)
        }
        Leaf::NotCommand(NotCommandLeaf { command, expect_exit: None, .. })
            if matches!(command.trim(), "false" | "exit 1") =>
        {
            Some(Verdict::Pass)
        }
        _ => None,
    }
}

/// Whether a command goes on where its first part fails: what that part lacks is no fault then.
pub(super) fn copes_with_failure(command: &str) -> bool {
    let goes_on = [";", "\n", "||", "| ", "MAKEFILES="];
    !command.contains("set -e") && goes_on.iter().any(|mark| command.contains(mark))
}

/// Whether a command changes nothing and cannot fail.
pub(super) fn is_idle(command: &str) -> bool {
    let text = plain(command);
    let parts = text.split("&&").flat_map(|part| part.split([';', '\n']));
    let parts: Vec<&str> = parts.map(str::trim).filter(|part| !part.is_empty()).collect();
    let is_idle = |part: &&str| {
        let word = part.split_whitespace().next().unwrap_or_default();
        let says = matches!(word, "echo" | "printf")
            && !part.contains(['>', '|', '&', '<', '`', '$', '(']);
        NO_OPS.contains(part) || says
    };
    !parts.is_empty() && parts.iter().all(is_idle)
}

/// The text without its comments, and with quoted words that hold nothing for a shell replaced by a letter.
fn plain(command: &str) -> String {
    let mut text = String::new();
    let mut rest = command;
    while let Some(at) = rest.find(['\'', '"', '#', '\\']) {
        let (before, from) = rest.split_at(at);
        text.push_str(before);
        let quote = from.chars().next().unwrap_or_default();
        let inside = &from[quote.len_utf8()..];
        let is_comment = quote == '#' && (text.is_empty() || text.ends_with(char::is_whitespace));
        if is_comment {
            rest = inside.find('\n').map_or("", |end| &inside[end..]);
            continue;
        }
        let end = inside.find(quote).filter(|_| matches!(quote, '\'' | '"'));
        let word = end.map(|end| &inside[..end]);
        let is_quiet = |word: &&str| quote == '\'' || !word.contains(['$', '`', '\\']);
        match (end, word.filter(is_quiet)) {
            (Some(end), Some(_)) => {
                text.push('q');
                rest = &inside[end + 1..];
            }
            _ => {
                text.push(quote);
                rest = inside;
            }
        }
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_nothing_is_seen_through_quotes_and_comments() {
        for idle in [
            "true",
            " : ",
            "echo",
            "echo 'a; b > c'",
            "printf \"done\\n\" && true",
            "true # later",
            "echo a; echo b",
        ] {
            assert!(is_idle(idle), "{idle}");
        }
        for works in [
            "",
            "make",
            "echo a > b",
            "echo $(make)",
            "echo \"$(make)\"",
            "echo a | sh",
            "echo `make`",
            "true && make",
            "./true",
            "echoes",
        ] {
            assert!(!is_idle(works), "{works}");
        }
    }

    #[test]
    fn a_command_that_goes_on_after_a_failure_copes_with_it() {
        for copes in ["make clean || true; make", "a; b", "a | b", "a\nb"] {
            assert!(copes_with_failure(copes), "{copes}");
        }
        for ends in ["make", "a && b", "set -e; a; b", "make -j4 all"] {
            assert!(!copes_with_failure(ends), "{ends}");
        }
    }

    #[test]
    fn what_never_fails_ends_with_a_command_that_does_not() {
        for never in ["make || true", "make test; true", "make; exit 0", "echo done", "make || :"] {
            assert!(never_fails(never), "{never}");
        }
        for may in [
            "make",
            "set -e; make; true",
            "cd x || exit 1; exit 0",
            "test \"a || true\"",
            "false",
            "make || true && false",
        ] {
            assert!(!never_fails(may), "{may}");
        }
    }
}
