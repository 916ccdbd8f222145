//! Words that a shell takes for its own: no program is looked for then.

/// Words that a shell takes for its own as the first of a command: its grammar, and the commands
/// that live in it, of dash, bash, ksh and ash.
const OF_THE_SHELL: &str = "
    case coproc do done elif else esac fi for function if in select then time until while
    . : [ alias autoload bg bind break builtin caller cd chdir command compgen complete compopt
    continue declare dirs disown echo enable eval exec exit export false fc fg float functions
    getopts global hash help hist history integer jobs kill let local logout mapfile nameref newgrp
    popd print printf pushd pwd r read readarray readonly rename return set shift shopt source stop
    suspend test times trap true type typeset ulimit umask unalias unset wait whence
";

/// Whether some shell may understand the word itself, as the first of a command.
pub fn is_shell_word(word: &str) -> bool {
    OF_THE_SHELL.split_ascii_whitespace().any(|one| one == word)
}
