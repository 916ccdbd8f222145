//! The approach of an atom: the tools that its action starts, each with its targets (contract §9.33).
//!
//! Invariant: by the words of the text alone, nothing is run. Nobody guesses how a shell expands a text: such a text is
//! the target of the shell as a whole.

use alloc::{
    collections::BTreeSet,
    format,
    string::{String, ToString},
    vec::Vec,
};

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
/// Programs that start another one.
const WRAPPERS: &[&str] = &[
    "env", "time", "timeout", "nice", "nohup", "sudo", "xargs", "exec",
];
/// Words that start nothing by themselves.
const NOTHING: &[&str] = &[
    "cd", "set", "export", "true", ":", "exit", "wait", "then", "do",
];
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
        Self {
            tool: short(tool),
            target: short(target),
        }
    }

    /// Whether its tool may be blocked as such.
    pub fn has_class(&self) -> bool {
        self.tool != WORKER && !PLAIN.contains(&self.tool.as_str())
    }
}

/// The approaches of an atom: those of its action, else its description.
pub fn of_atom(atom: &Atom) -> Vec<Approach> {
    let Some(task) = atom.task() else {
        return Vec::new();
    };
    match &task.spec.action {
        Some(action) => of_action(&action.run),
        None => Vec::from([of_worker(&atom.description)]),
    }
}

/// The words of a task for a worker, as they are: a number in them may be all that tells it from another.
fn of_worker(description: &str) -> Approach {
    let words: Vec<&str> = description.split_whitespace().collect();
    let digest = Digest::of(words.join(" ").as_bytes()).to_string();
    Approach::of(WORKER, &digest)
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
                of_command(&words).into_iter().for_each(&mut add);
            }
        }
        None => add(Approach::of(SHELL, &digest(text))),
    }
    found
}

fn digest(text: &str) -> String {
    let words = fingerprint::plain(text);
    let digest = Digest::of(words.as_bytes()).to_string();
    digest.chars().take(19).collect()
}

fn of_command(words: &[String]) -> Vec<Approach> {
    let words = unwrapped(words);
    let Some((program, rest)) = words.split_first() else {
        return Vec::new();
    };
    let program = program.rsplit('/').next().unwrap_or(program);
    if NOTHING.contains(&program) {
        return Vec::new();
    }
    let is_shell = matches!(program, "sh" | "bash");
    if let (true, Some(at)) = (is_shell, rest.iter().position(|word| word == "-c")) {
        let inner = rest.get(at + 1).map(String::as_str).unwrap_or_default();
        return match commands(inner) {
            Some(inner) => inner.iter().flat_map(|words| of_plain(words)).collect(),
            None => Vec::from([Approach::of(SHELL, &digest(inner))]),
        };
    }
    of_plain(words)
}

/// The same without looking into another shell.
fn of_plain(words: &[String]) -> Vec<Approach> {
    let Some((program, rest)) = words.split_first() else {
        return Vec::new();
    };
    let program = program.rsplit('/').next().unwrap_or(program);
    let mut targets = rest.iter().filter(|word| !word.starts_with('-'));
    let mut tool = program.to_string();
    if WITH_SUBCOMMANDS.contains(&program)
        && let Some(subcommand) = targets.next()
    {
        tool = format!("{program} {subcommand}");
    }
    let targets: BTreeSet<String> = targets.map(|word| target(word)).collect();
    match targets.is_empty() {
        true => Vec::from([Approach::of(&tool, "")]),
        false => targets
            .iter()
            .map(|target| Approach::of(&tool, target))
            .collect(),
    }
}

/// A target without what differs from one attempt to the next: an absolute path is its last part, an address has no query,
/// and a digest is one sign. A number stays, since it may be all that tells two targets apart.
fn target(word: &str) -> String {
    let (scheme, rest) = word.split_once("://").unwrap_or(("", word));
    if !scheme.is_empty() {
        return rest.split(['?', '#']).next().unwrap_or(rest).to_string();
    }
    let last = match word.starts_with('/') {
        true => word
            .trim_end_matches('/')
            .rsplit('/')
            .next()
            .unwrap_or(word),
        false => word.trim_start_matches("./"),
    };
    let is_digest = last.len() >= DIGEST_MIN && last.chars().all(|c| c.is_ascii_hexdigit());
    match is_digest {
        true => "#".to_string(),
        false => last.to_string(),
    }
}

/// The words after assignments and programs that start another.
fn unwrapped(words: &[String]) -> &[String] {
    let mut rest = words;
    while let Some((first, after)) = rest.split_first() {
        let is_assignment = first.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        });
        if is_assignment {
            rest = after;
        } else if WRAPPERS.contains(&first.as_str()) {
            let is_of_it = |word: &String| {
                word.starts_with('-') || word.starts_with(|c: char| c.is_ascii_digit())
            };
            let own = after.iter().take_while(|word| is_of_it(word)).count();
            rest = after.get(own..).unwrap_or_default();
        } else {
            break;
        }
    }
    rest
}

/// The simple commands of a text, each in its words; none where a shell would expand something.
fn commands(text: &str) -> Option<Vec<Vec<String>>> {
    let mut all: Vec<Vec<String>> = Vec::from([Vec::new()]);
    let mut word: Option<String> = None;
    let mut chars = text.chars().peekable();
    let end_word = |all: &mut Vec<Vec<String>>, word: &mut Option<String>| {
        if let (Some(word), Some(command)) = (word.take(), all.last_mut()) {
            command.push(word);
        }
    };
    while let Some(c) = chars.next() {
        match c {
            '\'' | '"' => {
                let inside = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        end if end == c => break,
                        '$' | '`' | '\\' if c == '"' => return None,
                        other => inside.push(other),
                    }
                }
            }
            '$' | '`' | '(' | ')' | '{' | '}' | '*' | '?' | '\\' | '#' | '~' => return None,
            ';' | '\n' | '|' => {
                end_word(&mut all, &mut word);
                all.push(Vec::new());
            }
            '&' if chars.peek() == Some(&'>') => end_word(&mut all, &mut word),
            '&' => {
                end_word(&mut all, &mut word);
                all.push(Vec::new());
            }
            // The number of a stream is none of the words; its file is.
            '>' | '<' => {
                if word
                    .as_ref()
                    .is_some_and(|word| word.parse::<u8>().is_err())
                {
                    end_word(&mut all, &mut word);
                }
                word = None;
                if chars.next_if_eq(&'&').is_some() {
                    while chars.next_if(|c| c.is_ascii_digit() || *c == '-').is_some() {}
                }
            }
            c if c.is_whitespace() => end_word(&mut all, &mut word),
            c => word.get_or_insert_default().push(c),
        }
    }
    end_word(&mut all, &mut word);
    all.retain(|words| !words.is_empty());
    Some(all)
}

/// How much two sets of approaches have in common, in thousandths: 1,000 where they are the same.
pub fn likeness(one: &BTreeSet<Approach>, other: &BTreeSet<Approach>) -> u32 {
    let shared = one.intersection(other).count();
    let all = one.union(other).count();
    let share = (shared * 1_000).checked_div(all).unwrap_or_default();
    u32::try_from(share).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Vec<String> {
        let found = of_action(text).into_iter();
        found
            .map(|one| format!("{} {}", one.tool, one.target).trim().to_string())
            .collect()
    }

    #[test]
    fn a_tool_is_its_program_with_its_subcommand_and_each_target_stands_alone() {
        for (text, wanted) in [
            ("cargo test calc --release", &["cargo test calc"][..]),
            ("cargo test", &["cargo test"]),
            ("RUST_LOG=x timeout 5 cargo test calc", &["cargo test calc"]),
            ("sudo env A=1 npm run build", &["npm run build"]),
            (
                "cd src && make all; ./run.sh a b",
                &["make all", "run.sh a", "run.sh b"],
            ),
            ("sh -c 'pytest tests/a.py'", &["pytest tests/a.py"]),
            (
                "curl -s 'https://example.org/a/b?c=17'",
                &["curl example.org/a/b"],
            ),
            ("echo 10 > out/n 2>&1", &["echo 10", "echo out/n"]),
            (
                "/usr/bin/python3 fit.py 1.5",
                &["python3 1.5", "python3 fit.py"],
            ),
            ("true", &[]),
            ("", &[]),
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
    }

    #[test]
    fn plans_are_alike_by_the_share_of_their_approaches() {
        let set = |texts: &[&str]| -> BTreeSet<Approach> {
            texts.iter().flat_map(|text| of_action(text)).collect()
        };
        let five = set(&["cc a", "cc b", "cc c", "cc d", "cc e"]);
        assert_eq!(likeness(&five, &five), 1_000);
        assert_eq!(
            likeness(&five, &set(&["cc a", "cc b", "cc c", "cc d"])),
            800
        );
        assert_eq!(likeness(&five, &set(&["cc z"])), 0);
        assert_eq!(likeness(&set(&[]), &set(&[])), 0);
    }
}
