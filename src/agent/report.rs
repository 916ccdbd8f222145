//! The result file that an agent may write: untrusted input.
//!
//! Invariant: reading ends, whatever is at that path, and the result is within the caps below. A
//! file with any fault is not used at all.

use std::{
    fmt, io,
    path::{Component, Path},
};

use super::keys::{Reading, given, wrong};
use crate::files::{self, Odd, PathKind};
use descent_core::{
    doc::{self, Limits, Node, Places},
    event::{AgentReport, Clarity},
    state::{
        Usage,
        binding::{SUMMARY_CHARS_MAX, VALUE_BYTES_MAX},
    },
};

const FILE_BYTES_MAX: usize = 1 << 20;
/// The state file has a limit too, and holds the value some levels down.
const DEPTH_MAX: usize = 64;
const NODES_MAX: usize = 100_000;
const HANDOFF_CHARS_MAX: usize = 4_000;
const ARTIFACTS_MAX: usize = 200;
const ARTIFACT_BYTES_MAX: usize = 4_096;

/// A result file that was read whole.
#[derive(Debug)]
pub(super) struct ResultFile {
    pub(super) report: AgentReport,
    pub(super) usage: Usage,
}

/// Why a result file is of no use.
#[derive(Debug)]
pub(super) enum ReportFault {
    Unreadable(io::Error),
    /// In one sentence.
    Unusable(String),
}

impl fmt::Display for ReportFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unusable(why) => write!(f, "{why} (in the result file)"),
            Self::Unreadable(error) => match Odd::of(error).map(|odd| odd.what) {
                Some(PathKind::Larger(_)) => f.write_str("the result file is larger than 1 MiB"),
                Some(_) => f.write_str("the result file is not a regular file"),
                None => write!(f, "the result file cannot be read: {error}"),
            },
        }
    }
}

/// `None` if there is no such file.
pub(super) fn read(path: &Path) -> Result<Option<ResultFile>, ReportFault> {
    match files::read(path, FILE_BYTES_MAX as u64) {
        Ok(bytes) => parse(&bytes).map(Some).map_err(ReportFault::Unusable),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(ReportFault::Unreadable(error)),
    }
}

/// Usage told by a result file that is still being written; any fault counts as nothing told.
pub(super) fn usage_so_far(dir: &Path) -> Option<Usage> {
    let file = read(&dir.join(super::inputs::RESULT)).ok().flatten();
    file.map(|file| file.usage)
}

fn parse(bytes: &[u8]) -> Reading<ResultFile> {
    let limits = Limits {
        bytes: FILE_BYTES_MAX,
        depth: DEPTH_MAX,
        nodes: NODES_MAX,
    };
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
    let report = AgentReport {
        summary: text(&node, "summary", SUMMARY_CHARS_MAX)?.unwrap_or_default(),
        value: value(&node)?,
        artifacts: artifacts(&node)?,
        clarity: clarity(&node)?,
        has_failed: flag(&node, "success")? == Some(false),
        handoff: text(&node, "handoff", HANDOFF_CHARS_MAX)?.filter(|text| !text.is_empty()),
    };
    let usage = super::usage::of(&node)?;
    Ok(ResultFile { report, usage })
}

/// An object in what an agent said. It is an answer if it says what it did.
pub(super) fn parse_answer(bytes: &[u8]) -> Reading<AgentReport> {
    let report = parse(bytes)?.report;
    match report.summary.is_empty() {
        true => Err("it has no `summary`".to_owned()),
        false => Ok(report),
    }
}

fn text(node: &Node, key: &str, chars_max: usize) -> Reading<Option<String>> {
    let Some(found) = given(node, key) else {
        return Ok(None);
    };
    let text = found
        .as_str()
        .ok_or_else(|| wrong(key, found, "a string"))?;
    let clean: String = text.chars().filter(|c| is_shown(*c)).collect();
    Ok(Some(clean.trim().chars().take(chars_max).collect()))
}

/// Line breaks are kept; characters that control a terminal or the direction of text are not.
fn is_shown(c: char) -> bool {
    let turns = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    matches!(c, '\n' | '\t') || !(c.is_control() || turns)
}

fn value(node: &Node) -> Reading<Option<Node>> {
    let value = given(node, "value");
    let bytes = value.map_or(0, |value| doc::write_compact(value).len());
    if bytes > VALUE_BYTES_MAX {
        let most = VALUE_BYTES_MAX >> 10;
        return Err(format!(
            "`value` has {bytes} bytes, more than {most} KiB: \
             what is larger belongs into a file of the tree"
        ));
    }
    Ok(value.cloned())
}

fn artifacts(node: &Node) -> Reading<Vec<String>> {
    let Some(found) = given(node, "artifacts") else {
        return Ok(Vec::new());
    };
    let items = found
        .as_array()
        .ok_or_else(|| wrong("artifacts", found, "a list"))?;
    if items.len() > ARTIFACTS_MAX {
        let count = items.len();
        return Err(format!(
            "`artifacts` names {count} paths, more than {ARTIFACTS_MAX}"
        ));
    }
    items.iter().map(artifact).collect()
}

fn artifact(node: &Node) -> Reading<String> {
    let path = node
        .as_str()
        .ok_or_else(|| wrong("artifacts", node, "a path"))?;
    let is_inside = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    let is_fit = !path.trim().is_empty()
        && path.len() <= ARTIFACT_BYTES_MAX
        && path.chars().all(|c| !c.is_control() && is_shown(c))
        && Path::new(path).components().all(is_inside);
    if is_fit {
        return Ok(path.to_owned());
    }
    let shown: String = path.chars().take(100).collect();
    Err(format!(
        "`artifacts` names {shown:?}, no relative path in the workspace"
    ))
}

fn clarity(node: &Node) -> Reading<Clarity> {
    let Some(found) = given(node, "clarity") else {
        return Ok(Clarity::Clear);
    };
    match found.as_str() {
        Some("CLEAR") => Ok(Clarity::Clear),
        Some("PARTIALLY_CLEAR") => Ok(Clarity::Partial),
        Some("BLOCKED") => Ok(Clarity::Blocked),
        Some(_) => Err("`clarity` is none of CLEAR, PARTIALLY_CLEAR, BLOCKED".into()),
        None => Err(wrong("clarity", found, "a string")),
    }
}

fn flag(node: &Node, key: &str) -> Reading<Option<bool>> {
    let found = given(node, key);
    let flag = found.map(|found| {
        found
            .as_bool()
            .ok_or_else(|| wrong(key, found, "true or false"))
    });
    flag.transpose()
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
        let fault = parse(text.as_bytes()).unwrap_err();
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
        let long = format!(
            r#"{{"summary": "{0}", "handoff": "{0}"}}"#,
            "é".repeat(9_000)
        );
        let report = self::report(&long);
        assert_eq!(report.summary.chars().count(), 2_000);
        assert_eq!(report.handoff.unwrap().chars().count(), 4_000);
    }

    #[test]
    fn what_cannot_be_used_is_refused_with_its_reason() {
        refused("", "empty");
        refused("[1]", "a list where an object");
        refused("{\"summary\": \"a\",\n \"summary\": \"b\"}", "2:");
        refused(r#"{"summary": 1}"#, "`summary` is a number, not a string");
        refused(r#"{"clarity": "blocked"}"#, "none of CLEAR");
        refused(r#"{"artifacts": "a"}"#, "not a list");
        refused(
            &format!("{{\"value\": {}1{}}}", "[".repeat(90), "]".repeat(90)),
            "no JSON to use",
        );
        refused(
            &format!(r#"{{"value": "{}"}}"#, "x".repeat(VALUE_BYTES_MAX)),
            "64 KiB",
        );
        let many = vec!["\"a\""; 201].join(",");
        refused(&format!("{{\"artifacts\": [{many}]}}"), "more than 200");
    }

    #[test]
    fn an_artifact_lies_in_the_workspace() {
        for path in ["../x", "/etc/passwd", "a/../../b", "", " ", "a\\u0000b"] {
            refused(
                &format!(r#"{{"artifacts": ["{path}"]}}"#),
                "no relative path",
            );
        }
    }
}
