//! A report as JUnit's XML, for the test view of a CI: a case for each leaf of the base case, and for each atom.
//!
//! Invariant: well-formed XML 1.0, whatever an agent printed. In a completed run nothing counts as a failure. Not here:
//! how long an atom took, which no state keeps.

use descent_core::view::report::{AtomReport, LeafReport, Report};

use crate::render::usage_of_agent;

use super::{
    markup::escaped,
    plain::{flat, plain},
};

/// Characters at most of a name or a message.
const TEXT_MAX: usize = 300;

/// How a case ended, with its message and what was printed.
enum CaseResult {
    Passed,
    Failed(CaseNote),
    /// It could not be decided, or a person is needed.
    Unclear(CaseNote),
    Skipped(CaseNote),
}

struct CaseNote {
    message: String,
    kind: String,
    output: String,
}

struct TestCase {
    name: String,
    seconds: Option<String>,
    result: CaseResult,
}

impl CaseNote {
    fn of(kind: &str, message: &str) -> Self {
        Self { message: message.to_owned(), kind: kind.to_owned(), output: String::new() }
    }
}

/// Without the last line feed.
pub fn junit(report: &Report) -> String {
    let leaves = report.agreement.base_case.iter();
    let leaves: Vec<TestCase> = leaves.map(|one| leaf(report, one)).collect();
    let atoms: Vec<TestCase> = report.work.iter().map(|one| atom(report, one)).collect();
    let all = Counts::of(leaves.iter().chain(&atoms));
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let goal = attribute(&flat(&report.agreement.goal, TEXT_MAX));
    xml.push_str(&format!("<testsuites name=\"{goal}\" {}>\n", all.attributes()));
    suite(&mut xml, report, "base case", &leaves);
    suite(&mut xml, report, "work", &atoms);
    xml.push_str("</testsuites>");
    xml
}

#[derive(Default)]
struct Counts {
    tests: usize,
    failures: usize,
    errors: usize,
    skipped: usize,
}

impl Counts {
    fn of<'c>(cases: impl Iterator<Item = &'c TestCase>) -> Self {
        let mut counts = Self::default();
        for case in cases {
            counts.tests += 1;
            match case.result {
                CaseResult::Passed => {}
                CaseResult::Failed(_) => counts.failures += 1,
                CaseResult::Unclear(_) => counts.errors += 1,
                CaseResult::Skipped(_) => counts.skipped += 1,
            }
        }
        counts
    }

    fn attributes(&self) -> String {
        format!(
            "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"",
            self.tests, self.failures, self.errors, self.skipped
        )
    }
}

fn suite(xml: &mut String, report: &Report, name: &str, cases: &[TestCase]) {
    let counts = Counts::of(cases.iter()).attributes();
    let outcome = &report.outcome;
    let time = outcome.at.as_deref().map(|at| format!(" timestamp=\"{}\"", attribute(at)));
    xml.push_str(&format!("  <testsuite name=\"{name}\" {counts}{}>\n", time.unwrap_or_default()));
    let properties = [
        ("status", outcome.status),
        ("summary", &outcome.summary),
        ("lineage", report.lineage.as_str()),
        ("commit", outcome.commit.as_ref().map_or("", |commit| commit.as_str())),
    ];
    let agents = report.spent.by_agent.iter();
    let agents: Vec<String> = agents.map(usage_of_agent).collect();
    let agents = agents.iter().map(|agent| ("usage", agent.as_str()));
    let properties = properties.into_iter().chain(agents);
    xml.push_str("    <properties>\n");
    for (key, value) in properties.filter(|(_, value)| !value.is_empty()) {
        let value = attribute(&flat(value, TEXT_MAX));
        xml.push_str(&format!("      <property name=\"{key}\" value=\"{value}\"/>\n"));
    }
    xml.push_str("    </properties>\n");
    for case in cases {
        write_case(xml, name, case);
    }
    xml.push_str("  </testsuite>\n");
}

fn write_case(xml: &mut String, suite: &str, case: &TestCase) {
    let name = attribute(&flat(&case.name, TEXT_MAX));
    let seconds = case.seconds.as_ref().map(|time| format!(" time=\"{time}\""));
    let head = format!(
        "    <testcase classname=\"{suite}\" name=\"{name}\"{}",
        seconds.unwrap_or_default()
    );
    xml.push_str(&head);
    let (element, note) = match &case.result {
        CaseResult::Passed => return xml.push_str("/>\n"),
        CaseResult::Failed(note) => ("failure", note),
        CaseResult::Unclear(note) => ("error", note),
        CaseResult::Skipped(note) => ("skipped", note),
    };
    let message = attribute(&flat(&note.message, TEXT_MAX));
    // A skipped case has a message alone.
    let kind = match element {
        "skipped" => String::new(),
        _ => format!(" type=\"{}\"", attribute(&note.kind)),
    };
    xml.push_str(&format!(">\n      <{element} message=\"{message}\"{kind}>"));
    xml.push_str(&content(&note.output));
    xml.push_str(&format!("</{element}>\n    </testcase>\n"));
}

fn leaf(report: &Report, leaf: &LeafReport) -> TestCase {
    let ended = leaf.ended.clone().unwrap_or_default();
    let note = |kind: &str, message: &str| CaseNote {
        output: leaf.output.clone(),
        ..CaseNote::of(kind, message)
    };
    let is_completed = report.outcome.status == "completed";
    // A stopped run goes on where it was.
    let is_over = report.outcome.ended && report.outcome.status != "stopped";
    let result = match leaf.verdict.as_deref() {
        Some("pass") => CaseResult::Passed,
        Some("fail") if leaf.spared => {
            CaseResult::Skipped(note("fail", "it failed, and another choice of its `any` holds"))
        }
        Some("fail") if is_completed => {
            CaseResult::Skipped(note("fail", "it failed before the base case held"))
        }
        Some("fail") => CaseResult::Failed(note("fail", &format!("it does not hold: {ended}"))),
        Some(_) if leaf.by_person => {
            CaseResult::Skipped(note("unknown", "a person must confirm it"))
        }
        Some(_) => {
            CaseResult::Unclear(note("unknown", &format!("it could not be decided: {ended}")))
        }
        None if is_over && !leaf.spared && !is_completed => {
            CaseResult::Unclear(note("unknown", "it was not evaluated before the run ended"))
        }
        None => CaseResult::Skipped(note("unknown", "it was not evaluated")),
    };
    let name = match &leaf.rule {
        Some(rule) => format!("{}: {rule}", leaf.check),
        None => leaf.check.clone(),
    };
    TestCase {
        name,
        seconds: leaf.duration_ms.map(|ms| format!("{}.{:03}", ms / 1_000, ms % 1_000)),
        result,
    }
}

fn atom(report: &Report, atom: &AtomReport) -> TestCase {
    let name = match atom.node.description.as_str() {
        "" => atom.node.id.to_string(),
        text => format!("{}: {text}", atom.node.id),
    };
    TestCase { name, seconds: None, result: result_of(report, atom) }
}

fn result_of(report: &Report, atom: &AtomReport) -> CaseResult {
    let failed = atom.failed.as_ref();
    let reason = failed.map_or("", |one| &one.reason);
    let with_output = |message: &str| {
        let kind = failed.map_or("failed", |one| one.class.word());
        CaseNote {
            output: failed.map(|one| one.output.clone()).unwrap_or_default(),
            ..CaseNote::of(kind, message)
        }
    };
    let is_completed = report.outcome.status == "completed";
    let solved = atom.solved.as_ref().filter(|one| one.in_force);
    match (atom.node.state.as_str(), solved) {
        ("resolved", Some(one)) if one.skipped => {
            CaseResult::Skipped(CaseNote::of("person", &one.summary))
        }
        ("resolved", _) => CaseResult::Passed,
        ("failed" | "invalid" | "needs guidance" | "in doubt", _) if is_completed => {
            let message = format!("open, and the base case holds without it: {reason}");
            CaseResult::Skipped(CaseNote::of("open", &message))
        }
        ("failed", _) => CaseResult::Failed(with_output(reason)),
        ("invalid", _) => {
            let words = atom.invalid.as_deref().unwrap_or_default();
            CaseResult::Failed(with_output(&format!("it cannot be done: {words}")))
        }
        ("needs guidance", _) => {
            CaseResult::Unclear(with_output(&format!("it needs guidance: {reason}")))
        }
        ("in doubt", _) => {
            let words = "nobody knows whether its effect happened";
            CaseResult::Unclear(CaseNote::of("in doubt", words))
        }
        (state, _) => {
            let tried = atom.node.tried.filter(|tried| *tried == "failed");
            let message = match tried {
                Some(_) => format!("{state}: it failed: {reason}"),
                None => state.to_owned(),
            };
            CaseResult::Skipped(CaseNote::of(state, &message))
        }
    }
}

/// A text between two elements: `>` is escaped too, since `]]>` may not stand there.
fn content(text: &str) -> String {
    escaped(&plain(text))
}

/// A text between quotes, where a line feed would be read as a blank.
fn attribute(text: &str) -> String {
    content(text).replace('\n', "&#10;").replace('\t', "&#9;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_xml_forbids_is_gone_and_no_text_ends_its_element() {
        let text = "a \u{1b}[31m<b>\u{0}]]>\u{ffff} & \"c\"\n";
        assert_eq!(content(text), "a &lt;b&gt;]]&gt; &amp; &quot;c&quot;\n");
        assert_eq!(attribute(text), "a &lt;b&gt;]]&gt; &amp; &quot;c&quot;&#10;");
    }
}
