//! A report in words, as sections of items, for every format that a person reads.
//!
//! Invariant: every text has a maximum, and says where it was cut. Codes and words are marked inside of a text by
//! control characters, which no text from elsewhere keeps. Not here: escapes and marks of a format.

mod ended;

use std::fmt::Display;

use descent_core::{
    audit::AuditFinding,
    doc::Node,
    event::{Clarity, Event},
    state::{IssueRecord, PassAnswer, PatternRecord, Question, record::Choices},
    view::{
        judged::LawView,
        log::LogEntry,
        report::{AtomReport, FailureGroup, Report, TriedReport},
        why::AttemptView,
    },
};

use super::{flat, plain, tail};
use crate::render::{
    Page, count,
    event::{self, behind},
    field, issues as shared, passes, status, time,
};

/// Characters at most of a goal, a reason, a summary.
const TEXT_MAX: usize = 400;
/// Characters at most of a command, a path, an id.
const CODE_MAX: usize = 200;
/// Lines at most of an output, and characters of a line.
const OUTPUT_LINES_MAX: usize = 15;
const OUTPUT_CHARS_MAX: usize = 200;
/// The same of the words of a person, which stand as they were said.
const WORDS_LINES_MAX: usize = 60;
const WORDS_CHARS_MAX: usize = 400;
/// Names at most in a row.
const NAMES_MAX: usize = 12;
/// Advice that is shown at most: the newest.
const ADVISORIES_MAX: usize = 10;
/// Attempts named at most of a kind of failure.
const ATTEMPTS_MAX: usize = 12;
/// Pieces of evidence at most of an atom.
const EVIDENCE_MAX: usize = 12;
/// An atom may be in more groups; it stands no deeper on a page.
const DEPTH_MAX: usize = 6;
/// The marks inside of a text: where a code or a word begins, and where it ends.
const CODE: char = '\u{1}';
const WORD: char = '\u{2}';
const END: char = '\u{3}';

pub(super) struct Outline {
    pub(super) title: String,
    pub(super) sections: Vec<Section>,
}

pub(super) struct Section {
    pub(super) title: &'static str,
    pub(super) items: Vec<Item>,
    /// The newest items matter most, if it is too long.
    pub(super) keeps_the_end: bool,
}

/// A point, below another by its depth.
pub(super) struct Item {
    pub(super) depth: usize,
    text: String,
    /// A person's words, as they were said.
    pub(super) words: String,
    /// The output of a program: the first to be left out.
    pub(super) output: String,
}

pub(super) enum Piece<'t> {
    /// Prose, on one line.
    Text(&'t str),
    /// A name, a command or a path, to be copied.
    Code(&'t str),
    /// A word of our own that tells a status.
    Word(&'t str),
}

impl Item {
    fn at(depth: usize, text: impl Into<String>) -> Self {
        Self { depth, text: text.into(), words: String::new(), output: String::new() }
    }

    fn printed(mut self, output: &str) -> Self {
        self.output = tail(output, OUTPUT_LINES_MAX, OUTPUT_CHARS_MAX);
        self
    }

    /// The parts of its text, in order.
    pub(super) fn pieces(&self) -> Vec<Piece<'_>> {
        let mut pieces = Vec::new();
        for part in self.text.split(END) {
            let (prose, marked) = part.split_at(part.find([CODE, WORD]).unwrap_or(part.len()));
            pieces.extend((!prose.is_empty()).then_some(Piece::Text(prose)));
            pieces.extend(marked.strip_prefix(CODE).map(Piece::Code));
            pieces.extend(marked.strip_prefix(WORD).map(Piece::Word));
        }
        pieces
    }
}

fn prose(text: &str) -> String {
    flat(text, TEXT_MAX)
}

/// A text behind its label; nothing where there is no text.
fn after(label: &str, text: &str) -> String {
    behind(label, &prose(text))
}

fn code(text: impl Display) -> String {
    format!("{CODE}{}{END}", flat(&text.to_string(), CODE_MAX))
}

fn word(word: &str) -> String {
    format!("{WORD}{}{END}", flat(word, CODE_MAX))
}

/// Parts in a row, and the number of further ones.
fn row(parts: impl IntoIterator<Item = String>) -> String {
    let mut parts = parts.into_iter();
    let shown: Vec<String> = parts.by_ref().take(NAMES_MAX).collect();
    match parts.count() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn codes<T: Display>(names: impl IntoIterator<Item = T>) -> String {
    row(names.into_iter().map(code))
}

/// `a` = `b`, a pair for each group, behind a label.
fn choices(label: &str, choices: &Choices) -> String {
    let pairs = choices.iter().map(|(group, choice)| format!("{} = {}", code(group), code(choice)));
    behind(label, &row(pairs))
}

/// The first digits of a commit.
fn commit(id: &impl Display) -> String {
    code(id.to_string().get(..12).unwrap_or_default())
}

/// How a check ended, in brackets.
fn facts(facts: impl IntoIterator<Item = Option<String>>) -> String {
    let facts = facts.into_iter().flatten().filter(|fact| !fact.is_empty());
    let facts = facts.collect::<Vec<_>>().join(", ");
    if facts.is_empty() { facts } else { format!(" ({})", prose(&facts)) }
}

/// The beginning of a person's words, line by line.
fn said(words: &str) -> String {
    let text = plain(words);
    let lines: Vec<&str> = text.trim().lines().collect();
    let cut = |line: &&str| crate::render::cut(line, WORDS_CHARS_MAX);
    let mut kept: Vec<String> = lines.iter().take(WORDS_LINES_MAX).map(cut).collect();
    if let more @ 1.. = lines.len().saturating_sub(WORDS_LINES_MAX) {
        kept.push(format!("… and {more} more lines"));
    }
    kept.join("\n")
}

/// Sections without anything to say are left out.
pub(super) fn outline(report: &Report) -> Outline {
    let section = |title, items| Section { title, items, keeps_the_end: false };
    let history = |title, items| Section { title, items, keeps_the_end: true };
    let mut sections = vec![
        section("Outcome", ended::outcome(&report.outcome)),
        section("What was agreed", ended::agreement(&report.agreement)),
        section("Checks", report.agreement.base_case.iter().map(ended::leaf).collect()),
        section("What was done", report.work.iter().flat_map(atom).collect()),
        history("Tried and dropped", story(&report.tried)),
        history("Failures", report.tried.failures.iter().flat_map(failure).collect()),
        section("Judged (advice, not proof)", advice(report)),
        history("Control law", report.law.as_ref().map(law).unwrap_or_default()),
        section("Found by the auditor", report.findings.iter().map(finding).collect()),
        section("Patterns", report.patterns.iter().map(pattern).collect()),
        history("Corrections", report.corrections.iter().flat_map(correction).collect()),
        section("Spent", ended::spent(report)),
        section("Next", report.next.iter().map(ended::next).collect()),
    ];
    sections.retain(|section| !section.items.is_empty());
    let goal = prose(&report.agreement.goal);
    Outline { title: if goal.is_empty() { "No goal is agreed".to_owned() } else { goal }, sections }
}

fn atom(atom: &AtomReport) -> Vec<Item> {
    let depth = atom.node.depth.min(DEPTH_MAX);
    let below = |text: String| Item::at(depth + 1, text);
    let mut items = vec![Item::at(depth, head_of(atom))];
    items.extend(atom.guidance.iter().map(|words| below(after("Guidance: ", words))));
    if let Some(solved) = &atom.solved {
        items.push(below(result(solved)));
        let evidence = solved.evidence.iter().take(EVIDENCE_MAX);
        items.extend(evidence.map(|one| proof(one, depth + 1)));
        if let more @ 1.. = solved.evidence.len().saturating_sub(EVIDENCE_MAX) {
            items.push(below(format!("… and {more} more checks")));
        }
    }
    let held = atom.confidence.iter();
    items.extend(held.map(|one| below(format!("{} of {} of its checks held", one.held, one.of))));
    items.extend(atom.failed.as_ref().map(|failed| {
        let (reason, unclear) = (prose(&failed.reason), clarity(failed.unclear, ""));
        below(format!("Newest failure: {reason} ({}){unclear}", failed.class))
    }));
    items.extend(atom.invalid.as_ref().map(|words| below(after("It cannot be done: ", words))));
    items
}

fn clarity(is_unclear: bool, because: &str) -> String {
    after("; ", &Clarity::words(is_unclear, because).unwrap_or_default())
}

fn head_of(atom: &AtomReport) -> String {
    let node = &atom.node;
    // Under choices that are not in force.
    let failed = if node.tried == Some("failed") { " (it failed)" } else { "" };
    let kind = match node.kind {
        "any" => ", one of",
        "all" => ", all of",
        "plan" => ", a step that plans",
        _ => "",
    };
    let chosen = node.selected.as_ref().map(|choice| format!(": chosen is {}", code(choice)));
    let waits =
        behind(", after ", &codes(node.depends_on.iter().filter(|_| atom.solved.is_none())));
    format!(
        "{}{failed} {}{kind}{}{}{waits}",
        word(&node.state),
        code(&node.id),
        chosen.unwrap_or_default(),
        after(": ", &node.description)
    )
}

fn result(solved: &AttemptView) -> String {
    let by = match (solved.by.as_str(), solved.n) {
        ("person", _) => "By a person".to_owned(),
        (by, 0) => after("By ", by),
        (by, n) => format!("Attempt {n}, by {}", prose(by)),
    };
    let kept = if solved.ended == "solved" { "" } else { ", kept for when its choices come back" };
    let made = solved.commit.as_ref().map(|made| format!(", commit {}", commit(made)));
    // The summary of an action names the first.
    let is_told = |file: &&String| !solved.reason.contains(file.as_str());
    let files: Vec<&String> = solved.files.iter().filter(is_told).collect();
    let files = behind("; files ", &codes(files));
    format!(
        "{by}{kept}{}{}{files}{}",
        made.unwrap_or_default(),
        after(": ", &solved.reason),
        clarity(solved.unclear, &solved.unclear_because)
    )
}

fn proof(one: &Node, depth: usize) -> Item {
    let verdict = match field(one, "verdict") {
        verdict @ ("pass" | "fail") => verdict,
        _ => "unknown",
    };
    let took = one.get("duration_ms").and_then(Node::as_u64).map(|ms| format!("in {}", time(ms)));
    let facts = facts([Some(field(one, "ended").to_owned()), took]);
    let text = format!("{} {}{facts}", word(verdict), code(field(one, "check")));
    Item::at(depth, text).printed(if verdict == "pass" { "" } else { field(one, "output") })
}

/// The choices of which some did not hold, and what was decided since the first start.
fn story(tried: &TriedReport) -> Vec<Item> {
    let choices = tried.choices.iter();
    let choices = choices.filter(|one| !one.failed.is_empty() || !one.refuted.is_empty());
    let choices = choices.map(|one| prose(&status::choice(one).text(false)));
    let story = tried.story.iter().filter_map(|entry| entry.event.as_ref()).map(|one| {
        let (label, what) = event::describe(one);
        prose(&format!("{label}: {what}"))
    });
    choices.chain(story).map(|text| Item::at(0, text)).collect()
}

fn failure(group: &FailureGroup) -> Vec<Item> {
    let number = match group.attempts.len() {
        1 => String::new(),
        n => format!(", {n} times alike"),
    };
    let head = format!("{} ({}{number})", prose(&group.reason), group.class.word());
    let mut items = vec![Item::at(0, head).printed(&group.output)];
    let failed = behind("Did not hold: ", &codes(&group.checks));
    items.extend((!failed.is_empty()).then(|| Item::at(1, failed)));
    let shown = group.attempts.iter().rev().take(ATTEMPTS_MAX);
    items.extend(shown.map(|one| {
        let n = one.n.map(|n| format!(", attempt {n}")).unwrap_or_default();
        let held = one.held.zip(one.of);
        let held = held.map(|(held, of)| format!(", {held} of {of} checks hold"));
        let (held, at) = (held.unwrap_or_default(), after(", at ", &one.at));
        Item::at(1, format!("{}{n}{held}{at}{}", code(&one.atom), choices(", with ", &one.choices)))
    }));
    if let more @ 1.. = group.attempts.len().saturating_sub(ATTEMPTS_MAX) {
        items.push(Item::at(1, format!("… and {more} before")));
    }
    items
}

fn pattern(pattern: &PatternRecord) -> Item {
    let failures = count(pattern.failures, "failure");
    let alike = format!("{failures} alike in {}", count(pattern.atoms.len(), "atom"));
    let (reason, names) = (prose(&pattern.reason), codes(&pattern.atoms));
    Item::at(0, format!("{alike}, often one cause: {reason}: {names}"))
}

fn correction(one: &LogEntry) -> Vec<Item> {
    let kind = one.kind.replace('_', " ");
    let (by, at) = (prose(&one.by), prose(&one.at));
    let Some(Event::Corrected { what, effects, lost, .. }) = &one.event else {
        return vec![Item::at(0, format!("{kind} by {by}, at {at}"))];
    };
    let mut items = vec![Item::at(0, format!("{kind} by {by}, at {at}: {}", prose(what)))];
    items.extend(effects.iter().map(|effect| Item::at(1, prose(effect))));
    items.extend(lost.iter().map(|lost| Item::at(1, after("Not kept: ", lost))));
    items
}

fn advice(report: &Report) -> Vec<Item> {
    let mut items = Vec::new();
    if let Some(known) = &report.profile
        && let Some(words) = shared::kind_words(known)
    {
        items.push(Item::at(0, after("kind of task: ", &words)));
        items.extend(known.history.iter().map(|one| {
            let (was, is, before) = (prose(&one.was), prose(&one.is), one.passes_were);
            let because = after(": ", &one.because);
            let changed = format!("was {was}, is {is} ({}, {before} before)", passes(one.passes));
            Item::at(1, format!("pass {}: {} {changed}{because}", one.pass, code(&one.field)))
        }));
    }
    for said in &report.judged.answers {
        let question = said.question;
        let head = if question == Question::Plan { "" } else { question.word() };
        let words =
            [head, &shared::answer_words(said)].join(if head.is_empty() { "" } else { ": " });
        items.push(Item::at(0, prose(&words)));
        items.extend(said.issues().iter().map(issue));
        items.extend(said.opinion().into_iter().flat_map(opinion));
    }
    for one in &report.judged.replaced {
        items.push(Item::at(0, format!("planned again for these, {}", code(&one.atom))));
        items.extend(one.issues.iter().map(issue));
    }
    let old = report.judged.advisories.len().saturating_sub(ADVISORIES_MAX);
    let advice = report.judged.advisories.iter().skip(old);
    items.extend(advice.filter(|one| !one.proposed_repair.is_empty()).map(|one| {
        let repair = after(": ", &one.proposed_repair);
        Item::at(0, format!("not made, for {}{repair}", code(&one.location)))
    }));
    items.extend(report.attention.iter().map(|mark| Item::at(0, prose(&shared::mark_words(mark)))));
    items.extend(report.questions.iter().map(|one| {
        let (label, text) = shared::question_words(one);
        Item::at(0, format!("{label}, {}: {}", code(&one.atom), prose(&text)))
    }));
    items
}

fn opinion(said: &PassAnswer) -> impl Iterator<Item = Item> {
    let missing = said.missing.iter().map(|one| after("missing: ", one));
    let contradictions = said.contradictions.iter().map(|one| after("contradiction: ", one));
    let scores = said.criteria.iter();
    let scores = scores.map(|one| format!("{}: {}", prose(&one.name), one.score.text()));
    missing.chain(contradictions).chain(scores).map(|text| Item::at(1, text))
}

fn issue(issue: &IssueRecord) -> Item {
    let (severity, at) = (word(issue.severity.word()), code(&issue.location));
    Item::at(1, format!("{severity} {at}: {}", prose(&issue.description)))
}

/// The standing as `status` tells it, and what followed the directives.
fn law(law: &LawView) -> Vec<Item> {
    let mut page = Page::new(usize::MAX);
    shared::law(&mut page, law);
    let lines = page.into_lines().into_iter().map(|line| Item::at(0, prose(&line.text(false))));
    let mut items = Vec::from_iter(lines);
    let given: u64 = law.outcomes.iter().map(|one| one.given).sum();
    if given > 0 {
        let followed: u64 = law.outcomes.iter().map(|one| one.followed).sum();
        let each = law.outcomes.iter().map(|one| {
            let (word, given, followed) = (one.directive.word(), one.given, one.followed);
            format!("{word} {followed} of {given}")
        });
        let (given, each) = (count(given, "directive"), each.collect::<Vec<_>>().join(", "));
        let words = format!("The law: {given}, {followed} followed by progress ({each})");
        items.push(Item::at(0, words));
    }
    items
}

fn finding(one: &AuditFinding) -> Item {
    Item::at(0, format!("{}: {}; {}", word(one.code.word()), prose(&one.what), one.hint))
}
