//! Reads the keys of an aligner's answer, each with its limit, and collects every fault.

use alloc::{
    borrow::ToOwned,
    collections::BTreeMap,
    format,
    string::{String, ToString},
    vec::Vec,
};

use super::{
    ATOMS_MAX, LINE_CHARS_MAX, LIST_MAX, OPTIONS_MAX, OpenQuestion, PERSONS, QUESTIONS_MAX,
    WORDS_CHARS_MAX, count_of, plan,
};
use crate::doc::{self, Node};

pub(super) struct AnswerReading<'a> {
    answer: &'a Node,
    faults: Vec<String>,
}

impl<'a> AnswerReading<'a> {
    pub(super) fn of(answer: &'a Node, known: &[&str]) -> Self {
        let mut reading = Self { answer, faults: Vec::new() };
        reading.keys(answer, "", known);
        reading
    }

    pub(super) fn fault(&mut self, at: &str, what: &str) {
        let at = if at.is_empty() { String::new() } else { format!("{at}: ") };
        self.faults.push(format!("{at}{what}"));
    }

    /// Unknown keys of an object are faults: a mistyped one would be a missing part.
    fn keys(&mut self, node: &Node, at: &str, known: &[&str]) {
        for member in node.as_object().unwrap_or_default() {
            let key = member.key.as_str();
            if known.contains(&key) {
                continue;
            }
            let near = doc::did_you_mean(key, known.iter().copied());
            let near = near.map(|near| format!(" ({near})"));
            let what = format!("unknown key `{key}`{}", near.unwrap_or_default());
            self.fault(at, &what);
        }
    }

    /// A part that is there; `null` says nothing.
    fn part(&self, key: &str) -> Option<&'a Node> {
        self.answer.get(key).filter(|node| !node.is_null())
    }

    fn line(&mut self, node: &Node, at: &str, chars_max: usize) -> Option<String> {
        let Some(text) = node.as_str() else {
            self.fault(at, &format!("expected a text, found {}", node.kind_name()));
            return None;
        };
        let text = text.trim();
        let chars = text.chars().count();
        if chars > chars_max {
            let what = format!("{chars} characters, the limit is {chars_max}");
            self.fault(at, &what);
        } else if text.is_empty() {
            self.fault(at, "it is empty");
        }
        Some(text.to_owned())
    }

    pub(super) fn text(&mut self, key: &str, is_needed: bool) -> Option<String> {
        let at = format!("/{key}");
        match self.part(key) {
            Some(node) => self.line(node, &at, WORDS_CHARS_MAX),
            None => {
                if is_needed {
                    self.fault("", &format!("the key `{key}` is missing"));
                }
                None
            }
        }
    }

    pub(super) fn object(&mut self, key: &str, is_needed: bool) -> Option<Node> {
        let found = self.part(key);
        match found {
            Some(node) if node.as_object().is_some() => Some(node.clone()),
            Some(node) => {
                let what = format!("expected an object, found {}", node.kind_name());
                self.fault(&format!("/{key}"), &what);
                None
            }
            None => {
                if is_needed {
                    self.fault("", &format!("the key `{key}` is missing"));
                }
                None
            }
        }
    }

    pub(super) fn texts(&mut self, key: &str, count_max: usize) -> Vec<String> {
        let Some(node) = self.part(key) else {
            return Vec::new();
        };
        self.list(node, &format!("/{key}"), count_max)
    }

    fn list(&mut self, node: &Node, at: &str, count_max: usize) -> Vec<String> {
        let Some(items) = node.as_array() else {
            let what = format!("expected a list of texts, found {}", node.kind_name());
            self.fault(at, &what);
            return Vec::new();
        };
        if items.len() > count_max {
            let what = format!("{} of them, the limit is {count_max}", items.len());
            self.fault(at, &what);
            return Vec::new();
        }
        let mut texts = Vec::new();
        for (n, item) in items.iter().enumerate() {
            texts.extend(self.line(item, &format!("{at}/{n}"), LINE_CHARS_MAX));
        }
        texts
    }

    pub(super) fn pairs(&mut self, key: &str) -> BTreeMap<String, String> {
        let mut pairs = BTreeMap::new();
        let Some(node) = self.object(key, false) else {
            return pairs;
        };
        let members = node.as_object().unwrap_or_default();
        if members.len() > LIST_MAX {
            let what = format!("{} of them, the limit is {LIST_MAX}", members.len());
            self.fault(&format!("/{key}"), &what);
            return pairs;
        }
        for member in members {
            let at = doc::pointer_push(&format!("/{key}"), &member.key);
            let value = self.line(&member.node, &at, LINE_CHARS_MAX);
            pairs.extend(value.map(|value| (member.key.clone(), value)));
        }
        pairs
    }

    pub(super) fn atoms(&mut self, key: &str, is_needed: bool) -> Option<Node> {
        let at = format!("/{key}");
        let Some(node) = self.part(key) else {
            if is_needed {
                self.fault("", &format!("the key `{key}` is missing"));
            }
            return None;
        };
        if node.as_array().is_none() && node.as_object().is_none() {
            let what = format!("expected a list of atoms, found {}", node.kind_name());
            self.fault(&at, &what);
            return None;
        }
        let count = count_of(node);
        match count {
            0 => self.fault(&at, "there is no atom"),
            1..=ATOMS_MAX => {}
            _ => self.fault(&at, &format!("{count} atoms, the limit is {ATOMS_MAX}")),
        }
        for fault in plan::keys_of_others(node, &at, PERSONS) {
            let hint = fault.hint.map(|hint| format!(" ({hint})"));
            let what = format!("{}{}", fault.message, hint.unwrap_or_default());
            self.fault(&fault.pointer, &what);
        }
        Some(node.clone())
    }

    pub(super) fn questions(&mut self, may_ask: bool) -> Vec<OpenQuestion> {
        let Some(node) = self.part("questions").filter(|_| may_ask) else {
            return Vec::new();
        };
        let Some(items) = node.as_array() else {
            let what = format!("expected a list of questions, found {}", node.kind_name());
            self.fault("/questions", &what);
            return Vec::new();
        };
        if items.len() > QUESTIONS_MAX {
            let count = items.len();
            let what =
                format!("{count} questions, the limit is {QUESTIONS_MAX}: ask what matters most");
            self.fault("/questions", &what);
            return Vec::new();
        }
        let items = items.iter().enumerate();
        items.filter_map(|(n, item)| self.question(item, n)).collect()
    }

    fn question(&mut self, node: &Node, n: usize) -> Option<OpenQuestion> {
        let at = format!("/questions/{n}");
        if node.as_object().is_none() {
            let what = format!("expected an object, found {}", node.kind_name());
            self.fault(&at, &what);
            return None;
        }
        self.keys(node, &at, &["question", "why", "options"]);
        let Some(question) = node.get("question") else {
            self.fault(&at, "the key `question` is missing");
            return None;
        };
        let question = self.line(question, &format!("{at}/question"), LINE_CHARS_MAX)?;
        let why = node.get("why").filter(|why| !why.is_null());
        let why = why.and_then(|why| self.line(why, &format!("{at}/why"), LINE_CHARS_MAX));
        let options = node.get("options").filter(|node| !node.is_null());
        let options = options.map(|node| self.list(node, &format!("{at}/options"), OPTIONS_MAX));
        Some(OpenQuestion {
            question,
            why: why.unwrap_or_default(),
            options: options.unwrap_or_default(),
        })
    }

    pub(super) fn done<T>(self, made: impl FnOnce() -> T) -> Result<T, Vec<String>> {
        if self.answer.as_object().is_none() {
            let found = self.answer.kind_name().to_string();
            return Err(Vec::from([format!("expected an object, found {found}")]));
        }
        if self.faults.is_empty() { Ok(made()) } else { Err(self.faults) }
    }
}
