//! Prompts as text: the templates of `prompts/`, and the values that go in.
//!
//! A template is a list of sections. `[name 4K file.txt ?value]` begins one: its limit of bytes, the file beside the prompt
//! with the whole of it, and the value without which it is left out. A line `# …` after it is its head. `<other: a b>` takes
//! in the sections `a` and `b` of another template, or all of them.
//!
//! `{name}` is a value. `{?name}…{/}` is there if the value is not empty, `{!name}…{/}` if it is. A line whose values are all
//! empty is left out. Nothing in a value is read as a template.

use super::section::{LateValues, PromptSection};
use descent_core::doc::prelude::*;

macro_rules! templates {
    ($($question:literal)*) => {
        templates! {
            @all "agreement" "align" "attempt" "correct" "difference" "project" "tried" $($question)*
        }
    };
    (@all $($name:literal)*) => {
        /// All templates with their texts: those that others take in, those of attempts and aligners, and one a question.
        pub const TEMPLATES: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../prompts/", $name, ".md")))),*];
    };
}

descent_core::with_questions!(templates);

/// The values of a template by their names; `None` for a name that is none.
pub(super) type TemplateValues<'v> = dyn Fn(&str) -> Option<String> + 'v;

/// A section of a template, without values.
#[derive(Debug, Clone)]
pub(super) struct TemplateSection {
    pub(super) name: &'static str,
    pub(super) bytes_max: usize,
    file: Option<&'static str>,
    /// The conditions under which it is there.
    conditions: Vec<&'static str>,
    head: &'static str,
    body: &'static str,
}

/// The sections of a template, in order.
pub(super) fn sections(template: &str) -> Vec<TemplateSection> {
    let mut sections = Vec::new();
    let text = TEMPLATES.iter().find(|(name, _)| *name == template).map_or("", |(_, text)| text);
    for block in blocks(text) {
        let (line, text) = block.split_once('\n').unwrap_or((block, ""));
        let mut words: Vec<&'static str> = line.split([' ', '[', ']', '<', '>', ':']).collect();
        words.retain(|word| !word.is_empty());
        let conditions: Vec<&'static str> =
            words.extract_if(.., |word| is_condition(word)).collect();
        let Some((first, rest)) = words.split_first() else {
            continue;
        };
        if line.starts_with('<') {
            let mut taken = self::sections(first);
            taken.retain(|one| rest.is_empty() || rest.contains(&one.name));
            taken.iter_mut().for_each(|one| one.conditions.extend(&conditions));
            sections.extend(taken);
            continue;
        }
        let (head, body) = match text.strip_prefix("# ") {
            Some(text) => text.split_once('\n').unwrap_or((text, "")),
            None => ("", text),
        };
        sections.push(TemplateSection {
            name: first,
            bytes_max: rest.first().map_or(0, |size| bytes(size)),
            file: rest.get(1).copied(),
            conditions,
            head,
            body,
        });
    }
    sections
}

/// The parts of a text that begin with the line of a section.
fn blocks(text: &'static str) -> Vec<&'static str> {
    let is_first = |at: &usize| {
        let line = text.get(*at..).and_then(|rest| rest.lines().next()).unwrap_or_default();
        line.starts_with('[') && line.ends_with(']') || line.starts_with('<') && line.ends_with('>')
    };
    let after_line = text.match_indices("\n").map(|(at, _)| at + 1);
    let mut starts: Vec<usize> = core::iter::once(0).chain(after_line).filter(is_first).collect();
    starts.push(text.len());
    starts.windows(2).filter_map(|pair| text.get(pair[0]..pair[1])).collect()
}

fn is_condition(word: &str) -> bool {
    word.starts_with(['?', '!'])
}

fn holds(condition: &str, values: &TemplateValues<'_>) -> bool {
    let name = condition.trim_start_matches(['?', '!']);
    value(name, values).is_empty() == condition.starts_with('!')
}

impl TemplateSection {
    /// It with its head, and without a text yet; `None` without its conditions.
    pub(super) fn headed(&self, values: &TemplateValues<'_>) -> Option<PromptSection> {
        let is_there = self.conditions.iter().all(|one| holds(one, values));
        is_there.then(|| PromptSection {
            name: self.name,
            head: filled(self.head, values),
            body: self.body,
            text: String::new(),
            bytes_max: self.bytes_max,
            file: self.file,
        })
    }
}

impl PromptSection {
    /// Gives it its text. One whose text is empty has nothing to say.
    pub(super) fn fill(&mut self, values: &TemplateValues<'_>) {
        self.text = filled(self.body, values);
    }

    /// The bytes that one more value may have beside these.
    pub(super) fn room_for(&self, name: &str, values: &LateValues) -> usize {
        let of = |one: &str| values.get(one).cloned().unwrap_or_default();
        let shortest = |one: &str| Some(if one == name { "x".to_owned() } else { of(one) });
        (self.room() + 1).saturating_sub(filled(self.body, &shortest).len())
    }
}

fn value(name: &str, values: &TemplateValues<'_>) -> String {
    let value = values(name);
    debug_assert!(value.is_some(), "`{name}` has no value");
    let mut value = value.unwrap_or_default();
    value.truncate(value.trim_end_matches('\n').len());
    value
}

/// `64`, or `4K`.
fn bytes(size: &str) -> usize {
    let (digits, unit) = match size.strip_suffix('K') {
        Some(digits) => (digits, 1 << 10),
        None => (size, 1),
    };
    digits.parse::<usize>().unwrap_or_default() * unit
}

/// A text with its values, line by line. A condition that goes over lines is one line.
fn filled(text: &str, values: &TemplateValues<'_>) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let mut line = TemplateLine { values, text: String::new(), names: 0, held: 0 };
        rest = line.fill(rest, true, 0);
        let is_blank = line.text.trim().is_empty() && line.names == 0;
        let follows_blank = lines.last().is_none_or(String::is_empty);
        if is_blank && !follows_blank {
            lines.push(String::new());
        } else if !is_blank && (line.names == 0 || line.held > 0) {
            lines.push(line.text);
        }
    }
    lines.join("\n").trim_end().to_owned()
}

struct TemplateLine<'v> {
    values: &'v TemplateValues<'v>,
    text: String,
    names: usize,
    /// Names that put something into the line.
    held: usize,
}

impl TemplateLine<'_> {
    /// Adds a text up to the end of the line, or of the condition; gives what is left of it.
    fn fill<'t>(&mut self, mut rest: &'t str, is_shown: bool, depth: usize) -> &'t str {
        while let Some(at) = [rest.find('{'), rest.find('\n')].into_iter().flatten().min() {
            let (before, from) = rest.split_at(at);
            self.add(before, is_shown);
            if let Some(left) = from.strip_prefix("{/}").filter(|_| depth > 0) {
                return left;
            }
            if let Some(left) = from.strip_prefix('\n') {
                if depth == 0 {
                    return left;
                }
                self.add("\n", is_shown);
                rest = left;
            } else if let Some((name, left)) = name(from) {
                rest = self.put(name, left, is_shown, depth);
            } else {
                self.add("{", is_shown);
                rest = from.strip_prefix('{').unwrap_or_default();
            }
        }
        self.add(rest, is_shown);
        ""
    }

    fn put<'t>(&mut self, name: &str, left: &'t str, is_shown: bool, depth: usize) -> &'t str {
        self.names += 1;
        if is_condition(name) {
            let is_shown = is_shown && holds(name, self.values);
            self.held += usize::from(is_shown);
            return self.fill(left, is_shown, depth + 1);
        }
        if is_shown {
            let value = value(name, self.values);
            self.held += usize::from(!value.is_empty());
            self.text.push_str(&value);
        }
        left
    }

    fn add(&mut self, text: &str, is_shown: bool) {
        if is_shown {
            self.text.push_str(text);
        }
    }
}

/// The name in braces that a text begins with, and what follows it.
fn name(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = text.strip_prefix('{')?.split_once('}')?;
    let bare = name.trim_start_matches(['?', '!']);
    let is_name = !bare.is_empty() && bare.bytes().all(|one| matches!(one, b'a'..=b'z' | b'_'));
    is_name.then_some((name, rest))
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn each_template_has_sections_with_limits_and_takes_in_templates_that_are_there() {
        for (name, text) in TEMPLATES {
            let sections = sections(name);
            assert!(!sections.is_empty(), "{name}");
            assert!(sections.iter().all(|one| one.bytes_max > 0), "{name}: {sections:?}");
            let includes = blocks(text).into_iter().filter(|block| block.starts_with('<'));
            for include in includes {
                let other = include.split(['<', '>', ':']).nth(1).unwrap_or_default();
                assert!(TEMPLATES.iter().any(|(known, _)| *known == other), "{name}: {other}");
            }
        }
    }

    #[test]
    fn a_line_without_any_value_is_left_out_and_no_value_is_a_template() {
        let values = |name: &str| {
            Some(if name == "full" { "{empty} {?full}".to_string() } else { String::new() })
        };
        for (text, expected) in [
            ("a\n\nb {empty}\n\nc", "a\n\nc"),
            ("{full} and {empty}.", "{empty} {?full} and ."),
            ("- {?full}yes{/}{!full}no{/}", "- yes"),
            ("- {?empty}yes {full}{/}", ""),
            (
                "{!empty}one\n\ntwo {?full}in {!full}not{/}three{/}{/} {\"a\": {}}",
                "one\n\ntwo in three {\"a\": {}}",
            ),
            ("{?full}open", "open"),
        ] {
            assert_eq!(filled(text, &values), expected, "{text}");
        }
    }
}
