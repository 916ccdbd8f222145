//! The result file that an agent may write: untrusted input.
//!
//! Invariant: reading ends, whatever is at that path, and the result is within the caps below. A
//! key in another form is read as it is meant, and noted.

use std::{
    io,
    path::{Component, Path},
};

use super::usage::{Reading, given, wrong};
use descent_core::{
    doc::{self, Limits, Node, Places},
    event::{AgentReport, Clarity},
    state::{
        Usage,
        binding::{SUMMARY_CHARS_MAX, VALUE_BYTES_MAX},
    },
};
use descent_system::{
    files::{self, Odd, PathKind},
    secrets,
};

const FILE_BYTES_MAX: usize = 1 << 20;
/// The state file has a limit too, and holds the value some levels down.
const DEPTH_MAX: usize = 64;
const NODES_MAX: usize = 100_000;
const HANDOFF_CHARS_MAX: usize = 4_000;
const QUESTION_CHARS_MAX: usize = 1_000;
const OPTIONS_MAX: usize = 8;
const OPTION_CHARS_MAX: usize = 200;
const ARTIFACTS_MAX: usize = 200;
const ARTIFACT_BYTES_MAX: usize = 4_096;
/// Notes of what was read as it was meant, and characters of what stood there.
const READ_AS_MAX: usize = 8;
const SHOWN_CHARS_MAX: usize = 100;
/// The readable part of a result file, or of an answer.
#[derive(Debug)]
pub(super) struct ResultFile {
    pub(super) report: AgentReport,
    pub(super) usage: Usage,
    /// The first key that cannot be read, in one sentence.
    pub(super) fault: Option<String>,
}

/// `None` if there is no such file.
///
/// # Errors
/// Why the file is of no use, in one sentence.
pub(super) fn read(path: &Path) -> Reading<Option<ResultFile>> {
    let of_file = |why: String| format!("{why} (in the result file)");
    match files::read(path, FILE_BYTES_MAX as u64) {
        Ok(bytes) => {
            let file = parse(&bytes).map_err(of_file)?;
            Ok(Some(ResultFile { fault: file.fault.map(of_file), ..file }))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(match Odd::of(&error).map(|odd| odd.what) {
            Some(PathKind::Larger(_)) => "the result file is larger than 1 MiB".to_owned(),
            Some(_) => "the result file is not a regular file".to_owned(),
            None => format!("the result file cannot be read: {error}"),
        }),
    }
}

fn parse(bytes: &[u8]) -> Reading<ResultFile> {
    let limits = Limits { bytes: FILE_BYTES_MAX, depth: DEPTH_MAX, nodes: NODES_MAX };
    let parsed = doc::parse_bytes(bytes, &limits);
    if let Some(fault) = parsed.faults.first() {
        let text = String::from_utf8_lossy(bytes);
        let (line, column) = Places::new(&text).line_col(fault.span.start());
        let message = &fault.message;
        return Err(format!("it is no JSON to use: {line}:{column}: {message}"));
    }
    let node = parsed.node.ok_or("it is empty")?;
    if node.as_object().is_none() {
        let kind = node.kind_name();
        return Err(format!("it holds {kind} where an object is needed"));
    }
    let mut reader = ReportReader { node: &node, read_as: Vec::new(), fault: None };
    let report = AgentReport {
        summary: reader.text("summary", SUMMARY_CHARS_MAX),
        value: reader.value(),
        artifacts: reader.artifacts(),
        clarity: reader.clarity(),
        has_failed: reader.success() == Some(false),
        handoff: Some(reader.text("handoff", HANDOFF_CHARS_MAX)).filter(|text| !text.is_empty()),
        question: Some(reader.text("question", QUESTION_CHARS_MAX)).filter(|text| !text.is_empty()),
        options: reader.options(),
        read_as: reader.read_as,
        ..AgentReport::default()
    };
    let (usage, fault) = match super::usage::of(&node) {
        Ok(usage) => (usage, reader.fault),
        Err(fault) => (Usage::default(), reader.fault.or(Some(fault))),
    };
    Ok(ResultFile { report, usage, fault })
}

/// An object in what an agent said. It is an answer if it says how it went.
pub(super) fn parse_answer(bytes: &[u8]) -> Reading<ResultFile> {
    let answer = parse(bytes)?;
    let report = &answer.report;
    let says_how = report.has_failed || report.clarity == Clarity::Blocked;
    if report.summary.is_empty() && !says_how && answer.fault.is_none() {
        Err("it has no `summary`".to_owned())
    } else {
        Ok(answer)
    }
}

/// Reads the keys of an object.
struct ReportReader<'n> {
    node: &'n Node,
    read_as: Vec<String>,
    fault: Option<String>,
}

impl ReportReader<'_> {
    fn note(&mut self, key: &str, found: &Node, meaning: &str) {
        if self.read_as.len() < READ_AS_MAX {
            let found = clean(&doc::write_compact(found), SHOWN_CHARS_MAX);
            self.read_as.push(format!("`{key}` {found} as {meaning}"));
        }
    }

    fn refuse(&mut self, why: String) {
        self.fault.get_or_insert(why);
    }

    fn text(&mut self, key: &str, chars_max: usize) -> String {
        let Some(found) = given(self.node, key) else { return String::new() };
        if let Some(text) = found.as_str() {
            return clean(text, chars_max);
        }
        self.note(key, found, "text");
        let items = found.as_array().unwrap_or(std::slice::from_ref(found));
        let line = |item: &Node| {
            item.as_str().map(str::to_owned).unwrap_or_else(|| doc::write_compact(item))
        };
        let lines: Vec<String> = items.iter().map(line).collect();
        clean(&lines.join("\n"), chars_max)
    }

    fn value(&mut self) -> Option<Node> {
        let value = given(self.node, "value")?;
        let text = doc::write_compact(value);
        let bytes = text.len();
        // Other tasks build on it: it is taken as it is, or not at all.
        if let Some(fault) = secrets::fault_of(&text) {
            self.refuse(format!("`value` cannot be taken: {fault}"));
            return None;
        }
        if bytes > VALUE_BYTES_MAX {
            let most = VALUE_BYTES_MAX >> 10;
            self.refuse(format!(
                "`value` has {bytes} bytes, more than {most} KiB: \
                 what is larger belongs into a file of the tree"
            ));
            return None;
        }
        Some(value.clone())
    }

    fn artifacts(&mut self) -> Vec<String> {
        let Some(found) = given(self.node, "artifacts") else { return Vec::new() };
        let items = found.as_array().unwrap_or(std::slice::from_ref(found));
        let paths = items.iter().filter_map(artifact);
        let paths: Vec<String> = paths.take(ARTIFACTS_MAX).collect();
        if found.as_array().is_none() || paths.len() < items.len() {
            self.note("artifacts", found, &format!("{} paths in the workspace", paths.len()));
        }
        paths
    }

    fn options(&mut self) -> Vec<String> {
        let Some(found) = given(self.node, "options") else { return Vec::new() };
        let items = found.as_array().unwrap_or(std::slice::from_ref(found)).iter();
        let text = |item: &Node| {
            let text = item.as_str().map_or_else(|| doc::write_compact(item), str::to_owned);
            clean(&text, OPTION_CHARS_MAX)
        };
        items.map(text).filter(|text| !text.is_empty()).take(OPTIONS_MAX).collect()
    }

    fn clarity(&mut self) -> Clarity {
        let Some(found) = given(self.node, "clarity") else { return Clarity::Clear };
        let word = found.as_str().unwrap_or_default();
        let plain = word.trim().to_uppercase().replace([' ', '-'], "_");
        let Some((meant, clarity)) = Clarity::WORDS.iter().find(|(known, _)| *known == plain)
        else {
            self.refuse("`clarity` is none of CLEAR, PARTIALLY_CLEAR, BLOCKED".into());
            return Clarity::Clear;
        };
        if *meant != word {
            self.note("clarity", found, meant);
        }
        *clarity
    }

    fn success(&mut self) -> Option<bool> {
        let found = given(self.node, "success")?;
        if let Some(said) = found.as_bool() {
            return Some(said);
        }
        let word = found.as_str().or_else(|| found.number_text());
        let meant = match word.unwrap_or_default().trim().to_lowercase().as_str() {
            "true" | "yes" | "1" => true,
            "false" | "no" | "0" => false,
            _ => {
                self.refuse(wrong("success", found, "true or false"));
                return None;
            }
        };
        self.note("success", found, if meant { "true" } else { "false" });
        Some(meant)
    }
}

fn clean(text: &str, chars_max: usize) -> String {
    let clean: String = secrets::hide(text).chars().filter(|c| is_shown(*c)).collect();
    clean.trim().chars().take(chars_max).collect()
}

/// Line breaks are kept; characters that control a terminal or the direction of text are not.
fn is_shown(c: char) -> bool {
    let turns = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    matches!(c, '\n' | '\t') || !(c.is_control() || turns)
}

/// A relative path in the workspace.
fn artifact(node: &Node) -> Option<String> {
    let path = node.as_str().or_else(|| node.get("path")?.as_str())?;
    let is_inside = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    let is_fit = !path.trim().is_empty()
        && path.len() <= ARTIFACT_BYTES_MAX
        && path.chars().all(|c| !c.is_control() && is_shown(c))
        && Path::new(path).components().all(is_inside);
    is_fit.then(|| secrets::hide(path).into_owned())
}

#[cfg(test)]
mod fuzz;

#[cfg(test)]
mod tests {
    use super::*;

    fn report(text: &str) -> AgentReport {
        parse(text.as_bytes()).unwrap().report
    }

    fn refused(text: &str, part: &str) {
        let fault = parse(text.as_bytes()).map_or_else(Some, |file| file.fault).unwrap();
        assert!(fault.contains(part), "{fault}");
    }

    #[test]
    fn a_whole_report_is_read_and_unknown_keys_are_passed_over() {
        let report = report(
            r#"{"summary": "did it", "value": {"n": 1.0}, "artifacts": ["a/b.txt", "./c"],
                "clarity": "PARTIALLY_CLEAR", "handoff": "mind c", "mood": "good"}"#,
        );
        assert_eq!(report.summary, "did it");
        assert_eq!(doc::write_compact(&report.value.unwrap()), r#"{"n":1.0}"#);
        assert_eq!(report.artifacts, ["a/b.txt", "./c"]);
        assert_eq!(report.clarity, Clarity::Partial);
        assert_eq!(report.handoff.as_deref(), Some("mind c"));
    }

    #[test]
    fn an_empty_object_is_a_report_that_says_nothing() {
        let report = report(r#"{"summary": null, "value": null, "handoff": ""}"#);
        assert!(report.summary.is_empty() && report.value.is_none() && report.handoff.is_none());
    }

    #[test]
    fn blocked_is_understood() {
        let blocked = report(r#"{"clarity": "BLOCKED", "summary": "no key"}"#);
        assert_eq!(blocked.clarity, Clarity::Blocked);
    }

    #[test]
    fn texts_lose_what_steers_a_terminal_and_are_cut() {
        let report = report(r#"{"summary": "a\u001b[2Jb\r\nc\u0000\u202ed"}"#);
        assert_eq!(report.summary, "a[2Jb\ncd");
        let long = format!(r#"{{"summary": "{0}", "handoff": "{0}"}}"#, "é".repeat(9_000));
        let report = self::report(&long);
        assert_eq!(report.summary.chars().count(), 2_000);
        assert_eq!(report.handoff.unwrap().chars().count(), 4_000);
    }

    #[test]
    fn what_is_meant_is_read_and_noted_where_its_form_is_another() {
        let said = |text: &str| (report(text).has_failed, report(text).read_as);
        for (text, has_failed) in [("\"yes\"", false), ("\"No\"", true), ("0", true), ("1", false)]
        {
            let meant = if has_failed { "false" } else { "true" };
            let note = format!("`success` {text} as {meant}");
            let text = format!("{{\"success\": {text}}}");
            assert_eq!(said(&text), (has_failed, vec![note]));
        }
        for (text, clarity) in [
            ("clear", Clarity::Clear),
            ("partially clear", Clarity::Partial),
            ("Blocked", Clarity::Blocked),
        ] {
            let report = report(&format!(r#"{{"clarity": "{text}"}}"#));
            assert_eq!((report.clarity, report.read_as.len()), (clarity, 1));
        }
        let lines = report(r#"{"summary": ["a", "b", 3], "handoff": {"n": 1}}"#);
        assert_eq!((&*lines.summary, lines.handoff.as_deref()), ("a\nb\n3", Some(r#"{"n":1}"#)));
        assert_eq!(lines.read_as[0], r#"`summary` ["a","b",3] as text"#);
        let one = report(r#"{"artifacts": "a"}"#);
        assert_eq!(one.artifacts, ["a"]);
        assert_eq!(one.read_as, [r#"`artifacts` "a" as 1 paths in the workspace"#]);
        let some = report(r#"{"artifacts": ["a", "/etc/passwd", {"path": "b"}, 7]}"#);
        assert_eq!((some.artifacts.len(), some.read_as.len()), (2, 1));
        let plain =
            report(r#"{"success": false, "summary": "a", "artifacts": ["a"], "clarity": "CLEAR"}"#);
        assert!(plain.has_failed && plain.read_as.is_empty());
        assert_eq!(report("\u{feff}{\"summary\": \"a\"}").summary, "a");
    }

    #[test]
    fn what_can_be_read_is_kept_beside_what_cannot() {
        let text =
            r#"{"success": false, "summary": "a", "clarity": "hm", "usage": {"calls": "2"}}"#;
        let file = parse(text.as_bytes()).unwrap();
        assert!(file.report.has_failed && file.fault.is_some());
        assert_eq!((&*file.report.summary, file.usage.calls), ("a", 2));
    }

    #[test]
    fn what_cannot_be_used_is_refused_with_its_reason() {
        refused("", "empty");
        refused("[1]", "a list where an object");
        refused("{\"summary\": \"a\",\n \"summary\": \"b\"}", "2:");
        refused(r#"{"clarity": "so so"}"#, "none of CLEAR");
        refused(r#"{"success": "maybe"}"#, "`success` is a string, not true or false");
        refused(r#"{"usage": {"calls": "many"}}"#, "`usage.calls` is a string");
        refused(&format!("{{\"value\": {}1{}}}", "[".repeat(90), "]".repeat(90)), "no JSON to use");
        refused(&format!(r#"{{"value": "{}"}}"#, "x".repeat(VALUE_BYTES_MAX)), "64 KiB");
        let many = vec!["\"a\""; 201].join(",");
        let many = report(&format!("{{\"artifacts\": [{many}]}}"));
        assert_eq!((many.artifacts.len(), many.read_as.len()), (200, 1));
    }

    #[test]
    fn an_artifact_lies_in_the_workspace() {
        for path in ["../x", "/etc/passwd", "a/../../b", "", " ", "a\\u0000b"] {
            let report = report(&format!(r#"{{"artifacts": ["{path}"]}}"#));
            assert!(report.artifacts.is_empty() && report.read_as.len() == 1, "{path}");
        }
    }
}
