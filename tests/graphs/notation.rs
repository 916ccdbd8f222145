//! Graphs as text, to write and to print: one atom a line. An atom without a line is a task that succeeds at once.
//! - `G: any a b`; with `beside` tried side by side, with `planned` by a step that plans one after another;
//! - `P: all c d after G`;
//! - `x: after G needs b at 2`;
//! - `y: never checked`.
//!
//! Then `attempts 2`, `slots 3`, `want a b`, `refuse c`, `whole`.

use std::fmt;

use super::model::{Ix, Kind, Model, Node};

impl Model {
    pub fn of(text: &str) -> Self {
        let mut model = Model { attempts_max: 2, slots: 1, ..Model::default() };
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            match line.split_once(':') {
                Some((id, words)) => model.atom_line(id, words),
                None => model.base_line(line),
            }
        }
        for x in 0..model.nodes.len() {
            for kid in model.nodes[x].kids.clone() {
                model.nodes[kid].parent = Some(x);
            }
        }
        model
    }

    fn named(&mut self, id: &str) -> Ix {
        self.ix(id).unwrap_or_else(|| {
            self.nodes.push(Node { id: id.to_owned(), succeeds_at: Some(1), ..Node::default() });
            self.nodes.len() - 1
        })
    }

    fn atom_line(&mut self, id: &str, words: &str) {
        let (x, mut key) = (self.named(id), "");
        for word in words.split_whitespace() {
            match word {
                "any" => self.nodes[x].kind = Kind::Any,
                "all" => self.nodes[x].kind = Kind::All,
                "never" => self.nodes[x].succeeds_at = None,
                "checked" => self.nodes[x].is_checked = true,
                "beside" => {
                    self.nodes[x].is_speculative = true;
                    continue;
                }
                "planned" => {
                    self.nodes[x].is_planned = true;
                    continue;
                }
                "after" | "needs" | "at" => {}
                _ => {
                    self.member(x, key, word);
                    continue;
                }
            }
            key = word;
        }
    }

    fn member(&mut self, x: Ix, key: &str, word: &str) {
        if key == "at" {
            self.nodes[x].succeeds_at = Some(word.parse().expect("a number"));
            return;
        }
        let y = self.named(word);
        match key {
            "any" | "all" => self.nodes[x].kids.push(y),
            "after" => self.nodes[x].deps.push(y),
            "needs" => self.nodes[x].needs.push(y),
            _ => panic!("`{word}` after `{key}`"),
        }
    }

    fn base_line(&mut self, line: &str) {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("attempts") => {
                self.attempts_max = words.next().and_then(|n| n.parse().ok()).expect("a number")
            }
            Some("slots") => {
                self.slots = words.next().and_then(|n| n.parse().ok()).expect("a number")
            }
            Some("want") => self.wanted = words.map(|id| self.named(id)).collect(),
            Some("refuse") => self.unwanted = words.map(|id| self.named(id)).collect(),
            Some("whole") => self.wants_whole = true,
            _ => panic!("what is `{line}`?"),
        }
    }

    fn listed(&self, to: &mut fmt::Formatter<'_>, word: &str, ids: &[Ix]) -> fmt::Result {
        if ids.is_empty() { Ok(()) } else { write!(to, " {word} {}", self.names(ids).join(" ")) }
    }
}

impl fmt::Display for Model {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        for node in &self.nodes {
            write!(to, "{}:", node.id)?;
            self.listed(to, if node.kind == Kind::Any { "any" } else { "all" }, &node.kids)?;
            self.listed(to, "after", &node.deps)?;
            self.listed(to, "needs", &node.needs)?;
            match (node.kind, node.succeeds_at) {
                (Kind::Task, None) => write!(to, " never")?,
                (Kind::Task, Some(n)) if n > 1 => write!(to, " at {n}")?,
                _ => {}
            }
            let marks = [
                (node.is_checked, " checked"),
                (node.is_speculative, " beside"),
                (node.is_planned, " planned"),
            ];
            for (_, word) in marks.iter().filter(|(is_so, _)| *is_so) {
                write!(to, "{word}")?;
            }
            writeln!(to)?;
        }
        write!(to, "attempts {}\nslots {}", self.attempts_max, self.slots)?;
        for (word, ids) in [("want", &self.wanted), ("refuse", &self.unwanted)] {
            if !ids.is_empty() {
                write!(to, "\n{word} {}", self.names(ids).join(" "))?;
            }
        }
        writeln!(to, "{}", if self.wants_whole { "\nwhole" } else { "" })
    }
}
