//! The steps that a page asks for, in order.
//!
//! - a block ```` ```console ````: `$ COMMAND`, `> ` before its further lines, then its output. A command with `# exit
//!   N` at its end ends with N, any other with 0.
//! - a block with `file=PATH` after its language: a file of that text; executable if it begins with `#!`.
//! - a comment `<!-- run`, commands, `-->`: steps that the reader need not see.
//! - a comment `<!-- not run: REASON -->` right above a block: shown only. Every `sh` block needs it.
//!
//! Not here: running the steps.

use std::{fs, path::Path, path::PathBuf};

pub struct Page {
    pub path: PathBuf,
    /// Below the top of the repository.
    pub name: String,
    pub lines: Vec<String>,
    pub steps: Vec<Step>,
    pub faults: Vec<String>,
    not_run: Vec<(usize, String)>,
}

pub struct Step {
    /// Counted from 1.
    pub line: usize,
    pub what: What,
}

pub enum What {
    File {
        path: String,
        text: String,
    },
    Hidden(String),
    Shown {
        command: String,
        exit: i32,
        /// The index of its first line of output in the page, and the output.
        from: usize,
        output: Vec<String>,
    },
}

impl Page {
    pub fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).expect("a page");
        let name = path.strip_prefix(env!("CARGO_MANIFEST_DIR"));
        Self::of(path, &name.unwrap_or(path).display().to_string(), &text)
    }

    pub fn of(path: &Path, name: &str, text: &str) -> Self {
        let mut page = Self {
            path: path.to_owned(),
            name: name.to_owned(),
            lines: text.lines().map(str::to_owned).collect(),
            steps: Vec::new(),
            faults: Vec::new(),
            not_run: Vec::new(),
        };
        let mut at = 0;
        while at < page.lines.len() {
            at = page.take(at);
        }
        page
    }

    /// `file:line: reason`, for each block that is not run.
    pub fn not_run(&self) -> Vec<String> {
        let one = |(line, reason): &(usize, String)| format!("{}:{line}: {reason}", self.name);
        self.not_run.iter().map(one).collect()
    }

    /// Reads the block that begins at a line; returns the line after it.
    fn take(&mut self, at: usize) -> usize {
        let line = self.lines[at].clone();
        if line == "<!-- run" {
            let end = self.end(at, "-->");
            let commands = self.lines[at + 1..end].join("\n");
            self.push(at, What::Hidden(commands));
            return end + 1;
        }
        let Some(info) = line.strip_prefix("```") else {
            return at + 1;
        };
        let end = self.end(at, "```");
        let mut words = info.split_whitespace();
        let language = words.next().unwrap_or_default();
        let file = words.find_map(|word| word.strip_prefix("file="));
        let reason = at.checked_sub(1).and_then(|above| {
            let comment = self.lines[above].strip_prefix("<!-- not run: ")?;
            Some(comment.trim_end_matches("-->").trim().to_owned())
        });
        match (language, file, reason) {
            ("console" | "sh", _, Some(reason)) => self.not_run.push((at + 1, reason)),
            ("console", _, None) => self.transcript(at + 1, end),
            ("sh", None, None) => self.faults.push(format!(
                "{}:{}: a block of commands that nobody runs: make it ```console, or say why not",
                self.name,
                at + 1
            )),
            (_, Some(path), _) => {
                let mut text = self.lines[at + 1..end].join("\n");
                text.push('\n');
                let path = path.to_owned();
                self.push(at, What::File { path, text });
            }
            _ => {}
        }
        end + 1
    }

    fn end(&mut self, at: usize, mark: &str) -> usize {
        let found = self.lines[at + 1..].iter().position(|line| line == mark);
        found.map_or_else(
            || {
                let line = at + 1;
                self.faults.push(format!("{}:{line}: no end", self.name));
                self.lines.len()
            },
            |found| at + 1 + found,
        )
    }

    fn push(&mut self, at: usize, what: What) {
        self.steps.push(Step { line: at + 1, what });
    }

    fn transcript(&mut self, mut at: usize, end: usize) {
        if at < end && !self.lines[at].starts_with("$ ") {
            let said = "a transcript begins with `$ `";
            self.faults.push(format!("{}:{}: {said}", self.name, at + 1));
            return;
        }
        while at < end {
            let begin = at;
            let mut command = self.lines[at][2..].to_owned();
            at += 1;
            while at < end && self.lines[at].starts_with("> ") {
                command.push('\n');
                command.push_str(&self.lines[at][2..]);
                at += 1;
            }
            let from = at;
            while at < end && !self.lines[at].starts_with("$ ") {
                at += 1;
            }
            let shown = What::Shown {
                exit: exit_of(&command),
                command,
                from,
                output: self.lines[from..at].to_vec(),
            };
            self.push(begin, shown);
        }
    }
}

/// The number after `# exit `, at the end of a command or before another remark.
fn exit_of(command: &str) -> i32 {
    let said = command.rsplit_once("# exit ").map(|(_, said)| said);
    let digits = said.map(|said| said.split(|c: char| !c.is_ascii_digit()).next());
    digits.flatten().and_then(|digits| digits.parse().ok()).unwrap_or(0)
}
