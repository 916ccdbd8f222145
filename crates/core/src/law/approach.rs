//! The approach of an atom: the tools that its action starts, each with its targets (contract §9.33).
//!
//! Invariant: by the words of the text alone, nothing is run. Nobody guesses how a shell expands a text: such a text is
//! the target of the shell as a whole.

use crate::doc::prelude::*;
use crate::{
    fingerprint,
    id::Digest,
    state::{Atom, record::ToolCall},
};

/// Programs whose first word belongs to the tool.
const WITH_SUBCOMMANDS: &[&str] = &[
    "git", "cargo", "npm", "pnpm", "yarn", "go", "make", "docker", "kubectl", "pip", "uv",
    "dotnet", "mvn", "gradle",
];
/// Options before a subcommand that take a value.
const VALUED: &str =
    "-C -c -f -H -j -n --context --git-dir --manifest-path --namespace --prefix --work-tree";
/// Programs that start another one, each with its options that take a value.
const WRAPPERS: &[(&str, &str)] = &[
    ("env", "-u -C"),
    ("time", "-f -o"),
    ("timeout", "-s -k"),
    ("nice", "-n"),
    ("nohup", ""),
    ("sudo", "-u -g"),
    ("xargs", "-n -I -P -L -d"),
    ("exec", "-a"),
    ("command", ""),
    ("eval", ""),
    ("setsid", ""),
];
/// Words of a shell before a command.
const KEYWORDS: &[&str] = &["if", "then", "elif", "else", "while", "until", "do", "!"];
/// Words that start nothing by themselves.
const NOTHING: &[&str] = &[
    "cd", "set", "export", "true", ":", "exit", "wait", "fi", "done", "esac", "for", "case",
    "break", "continue", "return", "shift", "read", "unset",
];
/// Shells, and how deep one is looked for in another.
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh"];
const SHELL_DEPTH_MAX: usize = 3;
/// Programs that say nothing of the approach: they are blocked with a target alone.
const PLAIN: &[&str] = &[
    "sh", "bash", "echo", "printf", "cat", "cp", "mv", "rm", "mkdir", "touch", "test", "[", "ls",
    "grep", "sed", "awk", "head", "tail", "sort", "find", "tee", "ln", "chmod", "false", "sleep",
    "python", "python3", "node", "perl", "ruby",
];
/// The tool of a task that no action does: what its worker will use is not known.
pub(super) const WORKER: &str = "worker";
/// The tool of a text that cannot be split.
pub(super) const SHELL: &str = "sh";
/// A shorter run of hexadecimal digits may be a word.
const DIGEST_MIN: usize = 12;
/// Characters of a tool or target that are kept.
const CHARS_MAX: usize = 120;

/// A tool with one of its targets; without any the target is empty.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Approach {
    pub tool: String,
    pub target: String,
}

impl Approach {
    fn of(tool: &str, target: &str) -> Self {
        let short = |text: &str| text.chars().take(CHARS_MAX).collect();
        Self { tool: short(tool), target: short(target) }
    }
}

/// Whether a tool may be blocked as such.
pub(super) fn has_class(tool: &str) -> bool {
    tool != WORKER && !PLAIN.contains(&tool)
}

/// The approaches of an atom: those of its action, else its description.
pub fn of_atom(atom: &Atom) -> Vec<Approach> {
    let Some(task) = atom.task() else { return Vec::new() };
    match &task.spec.action {
        Some(action) => of_action(&action.run),
        None => Vec::from([of_worker(&atom.description)]),
    }
}

/// The words of a task for a worker, as they are: a number in them may be all that tells it from another.
fn of_worker(description: &str) -> Approach {
    let words: Vec<&str> = description.split_whitespace().collect();
    Approach::of(WORKER, &Digest::sha256(words.join(" ").as_bytes()).to_string())
}

/// The approaches of the calls that a worker reported.
pub fn of_calls(calls: &[ToolCall]) -> Vec<Approach> {
    let one = |call: &ToolCall| Approach::of(&call.tool, &target(&call.target));
    calls.iter().map(one).collect()
}

/// The approaches of a shell command, each once, in order.
pub fn of_action(text: &str) -> Vec<Approach> {
    let mut found: Vec<Approach> = Vec::new();
    let mut add = |approach: Approach| {
        if !found.contains(&approach) {
            found.push(approach);
        }
    };
    match commands(text) {
        Some(commands) => {
            for words in commands {
                of_command(&words, 0).into_iter().for_each(&mut add);
            }
        }
        None => add(Approach::of(SHELL, &digest(text))),
    }
    found
}

fn digest(text: &str) -> String {
    Digest::sha256(fingerprint::plain(text).as_bytes()).to_string().chars().take(19).collect()
}

fn of_command(words: &[String], depth: usize) -> Vec<Approach> {
    let words = unwrapped(words);
    let Some((program, rest)) = words.split_first() else { return Vec::new() };
    let program = name_of(program);
    if NOTHING.contains(&program) {
        return Vec::new();
    }
    let is_script = |word: &String| word.starts_with('-') && word.ends_with('c');
    let at = rest.iter().position(is_script);
    let at = at.filter(|_| SHELLS.contains(&program) && depth < SHELL_DEPTH_MAX);
    let Some(at) = at else { return of_plain(program, rest) };
    let inner = rest.get(at + 1).map(String::as_str).unwrap_or_default();
    match commands(inner) {
        Some(inner) => {
            let each = inner.iter().map(|words| of_command(words, depth + 1));
            each.flatten().collect()
        }
        None => Vec::from([Approach::of(SHELL, &digest(inner))]),
    }
}

fn name_of(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// The same without looking into another shell.
fn of_plain(program: &str, rest: &[String]) -> Vec<Approach> {
    let (mut tool, mut rest) = (program.to_string(), rest);
    if WITH_SUBCOMMANDS.contains(&program) {
        rest = after_options(rest, VALUED);
        if let Some((subcommand, after)) = rest.split_first() {
            tool = format!("{program} {subcommand}");
            rest = after;
        }
    }
    let targets = rest.iter().filter(|word| !word.starts_with('-'));
    let targets: BTreeSet<String> = targets.map(|word| target(word)).collect();
    if targets.is_empty() {
        Vec::from([Approach::of(&tool, "")])
    } else {
        targets.iter().map(|target| Approach::of(&tool, target)).collect()
    }
}

/// The words after a program's own options, with the values of those that take one.
fn after_options<'w>(words: &'w [String], valued: &str) -> &'w [String] {
    let mut rest = words;
    while let Some((word, after)) = rest.split_first() {
        rest = match word.starts_with(['-', '+']) {
            true if valued.split(' ').any(|known| known == word) => {
                after.get(1..).unwrap_or_default()
            }
            true => after,
            false => break,
        };
    }
    rest
}

/// A target without what differs from one attempt to the next: an absolute path is its last part, an address has no query,
/// and a digest is one sign. A number stays, since it may be all that tells two targets apart.
fn target(word: &str) -> String {
    let (scheme, rest) = word.split_once("://").unwrap_or(("", word));
    if !scheme.is_empty() {
        return rest.split(['?', '#']).next().unwrap_or(rest).to_string();
    }
    let last = if word.starts_with('/') {
        word.trim_end_matches('/').rsplit('/').next().unwrap_or(word)
    } else {
        word.trim_start_matches("./")
    };
    let is_digest = last.len() >= DIGEST_MIN && last.chars().all(|c| c.is_ascii_hexdigit());
    if is_digest { "#".to_string() } else { last.to_string() }
}

/// The words after assignments, words of the shell, and programs that start another.
fn unwrapped(words: &[String]) -> &[String] {
    let mut rest = words;
    while let Some((first, after)) = rest.split_first() {
        let is_assignment = first.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        });
        let wrapper = WRAPPERS.iter().find(|(name, _)| *name == name_of(first));
        rest = match wrapper {
            _ if is_assignment || KEYWORDS.contains(&first.as_str()) => after,
            Some((name, valued)) => {
                let after = after_options(after, valued);
                // The time that it gives.
                after.get(usize::from(*name == "timeout")..).unwrap_or_default()
            }
            None => break,
        };
    }
    rest
}

/// The simple commands of a text, each in its words; none where a shell would expand something.
fn commands(text: &str) -> Option<Vec<Vec<String>>> {
    let mut split = SplitCommands::default();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\'' | '"' => {
                let inside = split.word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        end if end == c => break,
                        '$' | '`' | '\\' if c == '"' => return None,
                        other => inside.push(other),
                    }
                }
            }
            '\\' if chars.next_if_eq(&'\n').is_some() => {}
            '#' if split.word.is_none() => while chars.next_if(|c| *c != '\n').is_some() {},
            '$' | '`' | '(' | ')' | '{' | '}' | '*' | '?' | '\\' | '~' => return None,
            // The lines that follow are no commands.
            '<' if chars.peek() == Some(&'<') => return None,
            '&' if chars.peek() == Some(&'>') => split.end_word(),
            ';' | '\n' | '|' | '&' => split.end_command(),
            '>' | '<' => {
                split.begin_file();
                chars.next_if_eq(&'>');
                if chars.next_if_eq(&'&').is_some() {
                    split.is_file = false;
                    while chars.next_if(|c| c.is_ascii_digit() || *c == '-').is_some() {}
                }
            }
            c if c.is_whitespace() => split.end_word(),
            c => split.word.get_or_insert_default().push(c),
        }
    }
    split.end_command();
    Some(split.all)
}

/// Commands as far as a text was read.
#[derive(Default)]
struct SplitCommands {
    all: Vec<Vec<String>>,
    words: Vec<String>,
    /// The files that streams of the command lead to, after its words.
    files: Vec<String>,
    word: Option<String>,
    is_file: bool,
}

impl SplitCommands {
    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        match core::mem::take(&mut self.is_file) {
            true if word == "/dev/null" => {}
            true => self.files.push(word),
            false => self.words.push(word),
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        self.words.append(&mut self.files);
        if !self.words.is_empty() {
            self.all.push(core::mem::take(&mut self.words));
        }
    }

    /// The number of a stream is no word; its file is.
    fn begin_file(&mut self) {
        let is_stream = |word: &String| word.parse::<u8>().is_ok();
        if self.word.as_ref().is_some_and(is_stream) {
            self.word = None;
        }
        self.end_word();
        self.is_file = true;
    }
}

/// How much two sets of approaches have in common, in thousandths: 1,000 where they are the same.
pub fn likeness(one: &BTreeSet<Approach>, other: &BTreeSet<Approach>) -> u32 {
    let shared = one.intersection(other).count();
    let share = (shared * 1_000).checked_div(one.union(other).count()).unwrap_or_default();
    u32::try_from(share).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Vec<String> {
        let found = of_action(text).into_iter();
        found.map(|one| format!("{} {}", one.tool, one.target).trim().to_string()).collect()
    }

    #[test]
    fn a_tool_is_its_program_with_its_subcommand_and_each_target_stands_alone() {
        for (text, wanted) in [
            ("cargo test calc --release", &["cargo test calc"][..]),
            ("cargo test", &["cargo test"]),
            ("RUST_LOG=x timeout 5 cargo test calc", &["cargo test calc"]),
            ("sudo env A=1 npm run build", &["npm run build"]),
            ("cd src && make all; ./run.sh a b", &["make all", "run.sh a", "run.sh b"]),
            ("sh -c 'pytest tests/a.py'", &["pytest tests/a.py"]),
            ("curl -s 'https://example.org/a/b?c=17'", &["curl example.org/a/b"]),
            ("echo 10 > out/n 2>&1", &["echo 10", "echo out/n"]),
            ("/usr/bin/python3 fit.py 1.5", &["python3 1.5", "python3 fit.py"]),
            ("true", &[]),
            ("", &[]),
            ("/usr/bin/env -u A git cat-file x", &["git cat-file x"]),
            ("timeout -s KILL 5 git cat-file x", &["git cat-file x"]),
            ("git -C sub -c a=b cat-file x", &["git cat-file x"]),
            ("git >/dev/null 2>&1 cat-file x", &["git cat-file x"]),
            ("git cat-file x # again", &["git cat-file x"]),
            ("git \\\ncat-file x", &["git cat-file x"]),
            ("sh -ec \"bash -c 'git cat-file x'\"", &["git cat-file x"]),
            ("command git cat-file x", &["git cat-file x"]),
            ("cargo +nightly test calc", &["cargo test calc"]),
            ("if test -e a; then make all; else ! make b; fi", &["test a", "make all", "make b"]),
            ("while false; do true; done; cp a n", &["false", "cp a", "cp n"]),
        ] {
            assert_eq!(told(text), wanted, "{text}");
        }
    }

    #[test]
    fn what_a_shell_would_expand_is_one_target() {
        let one = of_action("for f in *.c; do cc $f; done");
        assert_eq!((one.len(), one[0].tool.as_str()), (1, "sh"));
        assert_eq!(one, of_action("for  f in *.c; do cc $f;  done"));
        assert_ne!(one, of_action("for f in *.d; do cc $f; done"));
        assert_eq!(of_action("echo 'never closed").len(), 1);
        let here = of_action("cat > n <<EOF\nmake all\nEOF");
        assert_eq!((here.len(), here[0].tool.as_str()), (1, "sh"));
    }

    #[test]
    fn plans_are_alike_by_the_share_of_their_approaches() {
        let set = |texts: &[&str]| -> BTreeSet<Approach> {
            texts.iter().flat_map(|text| of_action(text)).collect()
        };
        let five = set(&["cc a", "cc b", "cc c", "cc d", "cc e"]);
        assert_eq!(likeness(&five, &five), 1_000);
        assert_eq!(likeness(&five, &set(&["cc a", "cc b", "cc c", "cc d"])), 800);
        assert_eq!(likeness(&five, &set(&["cc z"])), 0);
        assert_eq!(likeness(&set(&[]), &set(&[])), 0);
    }
}
