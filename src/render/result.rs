//! Verdicts on checks, and the final result of a run.

use descent_core::{
    doc::Node,
    state::{SideFile, side::LiesAt},
    view::Judged,
};

use super::{Line, Meaning, Page, field, items, line, time};

/// Verdicts on checks, one a line.
pub fn judged(checks: &[Judged]) -> Vec<Line> {
    let titles = checks
        .iter()
        .map(|check| Line::of(line(&check.check)).width());
    let column = titles.max().unwrap_or(0).min(40) + 2;
    let one = |check: &Judged| {
        let verdict = Line::new().word(check.verdict.word()).pad(8);
        let name = Line::of(line(&check.check));
        let took = if check.by_person {
            String::new()
        } else {
            format!(", {}", time(check.duration_ms))
        };
        let ended = if check.ended.is_empty() {
            Line::new()
        } else {
            Line::new().dim(format!("({}{took})", check.ended))
        };
        Line::indent(2)
            .then(verdict)
            .then(name.pad(column))
            .then(ended)
    };
    checks.iter().map(one).collect()
}

/// The final result, for a person.
pub fn result(result: &Node, path: Option<&str>, lies_at: LiesAt<'_>, width: usize) -> Page {
    let mut page = Page::new(width);
    let head = Line::new().word(field(result, "result")).plain(": ");
    page.wrapped(head, Meaning::Strong, field(result, "summary"), 3);
    for proof in items(result, "evidence") {
        let verdict = Line::new().word(field(proof, "verdict")).pad(8);
        page.push(
            Line::indent(2)
                .then(verdict)
                .plain(line(field(proof, "check"))),
        );
        // The excerpt is left to who asks why; a check that no choice hangs on is explained nowhere else.
        if let Some(path) = SideFile::beside(proof).and_then(|one| lies_at(&one)) {
            page.whole(Line::indent(10).dim("all that it printed: ").plain(path));
        }
    }
    for missing in items(result, "missing") {
        let head = Line::indent(2).then(Line::new().word("dropped").pad(8));
        let head = head.strong(field(missing, "atom"));
        let (of, what) = (field(missing, "of"), line(field(missing, "description")));
        page.push(head.plain(format!(" of {of}: {what}")));
    }
    for failed in items(result, "failed") {
        let choices = super::log::pairs(failed.get("choices"));
        let with = if choices.is_empty() {
            String::new()
        } else {
            format!(" with {choices}")
        };
        let head = Line::indent(2).then(Line::new().word("failed").pad(8));
        let head = head.strong(field(failed, "atom"));
        page.push(head.plain(format!("{with}: {}", line(field(failed, "reason")))));
    }
    if let Some(path) = path {
        page.whole(
            Line::indent(2)
                .then(Line::new().dim("result").pad(8))
                .plain(path),
        );
    }
    page
}

/// What a person can do then.
pub fn moves(page: &mut Page, result: &Node) {
    let moves: Vec<&str> = items(result, "next_moves")
        .iter()
        .filter_map(Node::as_str)
        .collect();
    if let [first, rest @ ..] = moves.as_slice() {
        page.next(first);
        rest.iter()
            .for_each(|more| page.whole(Line::new().dim("  or: ").plain(more)));
    }
}
