//! Which commands need no shell: plain words, whose first is a program. The guard starts that
//! program itself, because a start of the shell costs as much as that of the program.
//!
//! Invariant: for a command that counts as plain, every POSIX shell does the same: it looks the
//! first word up on PATH and starts it with the others. A command in doubt goes to the shell.
//! Pure: PATH and variables are arguments. Not here: the start (`launch`).

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::shell_words::is_shell_word;

/// A program that acts in another way as the first of its process group, which it is not below a
/// shell.
const NEEDS_A_PARENT: &str = "setsid";

/// Variables that a shell does not hand on as it got them, or that change what it does.
const CHANGED_BY_SHELLS: &str = "BASHOPTS BASH_ENV ENV IFS LINENO OPTIND PPID PWD SHELLOPTS";

/// The words of a plain command.
pub(super) fn words(command: &str) -> Option<Vec<&str>> {
    if !command.bytes().all(is_plain) {
        return None;
    }
    let words: Vec<&str> = command.split([' ', '\t']).filter(|word| !word.is_empty()).collect();
    let program = words.first()?;
    let is_program = !is_shell_word(program)
        && !program.contains(['=', '%'])
        // A shell takes it for an option of its own.
        && !program.starts_with(['-', '+'])
        && !words.iter().any(|word| word.ends_with(NEEDS_A_PARENT));
    is_program.then_some(words)
}

fn has(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|one| one == word)
}

/// Bytes that mean themselves at every place of a word, and blanks.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b" \t_-./:,+@%=".contains(&byte)
}

/// Whether a program gets this variable from every shell as the shell got it.
pub(super) fn is_passed_on(name: &OsStr) -> bool {
    let bytes = name.as_bytes();
    let is_name = bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        && bytes.first().is_some_and(|first| !first.is_ascii_digit());
    is_name && !name.to_str().is_some_and(|name| has(CHANGED_BY_SHELLS, name))
}

/// The files that may be the program, in the order of PATH. An empty part of PATH is the working
/// directory. `None` if PATH has a part that a shell may read as its own.
pub(super) fn files(program: &str, path: &OsStr) -> Option<Vec<OsString>> {
    if program.contains('/') {
        return Some(vec![program.into()]);
    }
    let path = path.as_bytes();
    let of = |part: &[u8]| {
        let gap: &[u8] = if part.is_empty() { b"" } else { b"/" };
        OsString::from_vec([part, gap, program.as_bytes()].concat())
    };
    let is_clear = !path.contains(&b'%') && !path.contains(&b'~');
    is_clear.then(|| path.split(|byte| *byte == b':').map(of).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_words_are_told_from_what_a_shell_must_read() {
        let plain: &[(&str, &[&str])] = &[
            ("make", &["make"]),
            ("  cargo\ttest  -q ", &["cargo", "test", "-q"]),
            ("/bin/true", &["/bin/true"]),
            (
                "./run.sh a=b --x=1,2 @f +3 50% k:v",
                &["./run.sh", "a=b", "--x=1,2", "@f", "+3", "50%", "k:v"],
            ),
            ("sh check.sh exit", &["sh", "check.sh", "exit"]),
            ("bin/echo", &["bin/echo"]),
        ];
        for (command, expected) in plain {
            assert_eq!(words(command).as_deref(), Some(*expected), "{command}");
        }
        let shell = [
            "",
            " ",
            "a; b",
            "a && b",
            "a | b",
            "a &",
            "a > f",
            "a < f",
            "a $B",
            "a `b`",
            "a 'b'",
            "a \"b\"",
            "a \\b",
            "a *",
            "a b?",
            "a [b]",
            "a {b,c}",
            "a ~",
            "a # b",
            "a\nb",
            "a\rb",
            "(a)",
            "! a",
            "a ^ b",
            "A=b cmd",
            "a=b",
            "%1",
            "true",
            "echo x",
            "test -f x",
            "[ x ]",
            "cd x",
            "exit 3",
            ": x",
            ". x",
            "exec x",
            "kill x",
            "if x",
            "time make",
            "type x",
            "é",
            "a é",
            "a\u{a0}b",
            "setsid x",
            "env -i setsid x",
            "/usr/bin/setsid x",
            "a \0",
        ];
        for command in shell {
            assert_eq!(words(command), None, "{command:?}");
        }
    }

    #[test]
    fn a_program_is_looked_for_as_the_shell_does() {
        let check = |program, path: &str, expected: &[&str]| {
            let found = files(program, OsStr::new(path)).unwrap();
            assert_eq!(found, expected, "{program} on {path:?}");
        };
        check("a", "/x:/y/", &["/x/a", "/y//a"]);
        check("a", ":rel::/x:", &["a", "rel/a", "a", "/x/a", "a"]);
        check("a", "", &["a"]);
        check("./a", "/x", &["./a"]);
        check("b/a", "%func", &["b/a"]);
        for odd in ["/x:/y%builtin", "~/bin:/x"] {
            assert_eq!(files("a", OsStr::new(odd)), None, "{odd}");
        }
    }

    #[test]
    fn what_a_shell_does_to_its_variables_is_left_to_it() {
        for name in ["PATH", "LC_ALL", "_", "OLDPWD", "a1"] {
            assert!(is_passed_on(OsStr::new(name)), "{name}");
        }
        for name in ["", "1a", "a.b", "BASH_FUNC_ls%%", "IFS", "PWD", "ENV", "é"] {
            assert!(!is_passed_on(OsStr::new(name)), "{name}");
        }
    }
}
