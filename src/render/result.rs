//! Verdicts on checks, and the final result of a run.

use descent_core::{
    doc::write_compact,
    state::{
        JudgedBy, RunStatus,
        final_result::{FailedAtom, FinalResultRecord},
        record::{Choices, EvidenceRecord},
        side::LiesAt,
    },
    verdict::Verdict,
    view::{VerdictView, usage::by_agent},
};

use super::{
    Line, Meaning, Page, count,
    event::{behind, bracketed},
    line, time, usage_of_agent,
};

/// Lines of output that are shown of a check that does not hold.
const OUTPUT_LINES: usize = 10;

/// Verdicts on checks, one per line, with the end of the output of those that do not hold.
pub fn judged(checks: &[VerdictView]) -> Vec<Line> {
    let name = |check: &VerdictView| Line::of(line(&check.check));
    let column = checks.iter().map(|check| name(check).width()).max().unwrap_or(0).min(40) + 2;
    let lines = |check: &VerdictView| {
        let took = (!check.by_person).then(|| format!(", {}", time(check.duration_ms)));
        let took = took.unwrap_or_default();
        let ended = (!check.ended.is_empty()).then(|| format!("({}{took})", check.ended));
        let head = row(check.verdict.word()).then(name(check).pad(column));
        let mut lines = vec![head.dim(ended.unwrap_or_default())];
        if check.verdict != Verdict::Pass {
            lines.extend(end_of(&check.output));
        }
        lines
    };
    checks.iter().flat_map(lines).collect()
}

/// The last lines of the output of a check.
fn end_of(output: &str) -> Vec<Line> {
    let all: Vec<&str> = output.lines().collect();
    let before = all.len().saturating_sub(OUTPUT_LINES);
    let more = (before > 0).then(|| {
        let words = format!("… {} before, in --json", count(before, "line"));
        Line::indent(10).dim(words)
    });
    let last = all[before..].iter().map(|text| Line::indent(10).plain(line(text)));
    more.into_iter().chain(last).collect()
}

/// The final result, for a person.
pub fn result(
    result: &FinalResultRecord,
    path: Option<&str>,
    lies_at: LiesAt<'_>,
    width: usize,
) -> Page {
    let mut page = Page::new(width);
    let head = Line::new().word(result.result.map_or("", RunStatus::word)).plain(": ");
    page.wrapped(head, Meaning::Strong, &result.summary, 3);
    // The words of an agent about the ending, and its notes.
    if let Some(said) = result.output.as_ref().filter(|said| said.by == Some(JudgedBy::Model)) {
        let mut head = row("answer");
        for text in said.text.lines().filter(|text| !text.trim().is_empty()) {
            page.wrapped(head, Meaning::Plain, &line(text), ANSWER_LINES_MAX);
            head = row("");
        }
        for note in &said.notes {
            page.wrapped(row("note"), Meaning::Plain, &line(note), NOTE_LINES_MAX);
        }
    }
    page.extend(result.code.map(|code| row("error").plain(code.word())));
    for proof in &result.evidence {
        evidence(&mut page, proof);
        // `why` shows the excerpt of a choice's check; a check without a choice is explained nowhere else.
        if let Some(path) = proof.whole.as_ref().and_then(lies_at) {
            page.whole(Line::indent(10).dim("its output: ").plain(path));
        }
    }
    for open in &result.open {
        let why = bracketed("failed: ", open.reason.as_deref().unwrap_or_default());
        let what = format!(": {}{why}", line(&open.description));
        page.push(row("open").strong(open.atom.as_str()).plain(what));
    }
    for check in &result.unsteady {
        let head = Line::indent(2).then(Line::new().word("unsteady").pad(10));
        page.push(head.plain(format!("{}: it failed at align on the same files", line(check))));
    }
    for missing in &result.missing {
        let head = row("dropped").strong(missing.atom.as_str());
        page.push(head.plain(format!(" of {}: {}", missing.of, line(&missing.description))));
    }
    for asked in &result.questions {
        let head = row("asks").strong(asked.atom.as_str());
        let options = bracketed("", &asked.options.join(" | "));
        page.wrapped(head, Meaning::Plain, &format!(": {}{options}", line(&asked.question)), 3);
    }
    let is_open = |failed: &&FailedAtom| {
        result.open.iter().any(|open| open.atom.as_str() == failed.atom.as_str())
    };
    for failed in result.still_failed().filter(|one| !is_open(one)) {
        let with = behind(" with ", &failed.choices.as_ref().map(pairs).unwrap_or_default());
        let head = row("failed").strong(&failed.atom);
        page.push(head.plain(format!("{with}: {}", line(&failed.reason))));
    }
    if let Some(role) = result.accountable.filter(|role| role.is_told()) {
        page.push(row("because").plain(format!("{}: {}", role.word(), role.meaning())));
    }
    for agent in by_agent(&result.spent_by_agent) {
        page.push(row("usage").plain(usage_of_agent(&agent)));
    }
    if let Some(path) = path {
        page.whole(row("result").plain(path));
        // A partial result: how many checks hold on it, and the choices that it was made with.
        if let Some(verdict) = result.verdict.as_ref().filter(|one| one.held != one.of) {
            let with = behind(", made with ", &pairs(&verdict.choices));
            let held = format!("{} of {} checks hold on it{with}", verdict.held, verdict.of);
            page.push(Line::indent(10).dim(held));
        }
    }
    page
}

/// The head of a row: a word that tells a status is coloured, any other is dim.
pub fn row(word: &str) -> Line {
    let meaning = match Meaning::of(word) {
        Meaning::Plain if !matches!(word, "error" | "open") => Meaning::Dim,
        meaning => meaning,
    };
    Line::indent(2).then(Line::new().put(meaning, word).pad(8))
}

/// Lines at most of the final answer, and of a note.
const ANSWER_LINES_MAX: usize = 40;
const NOTE_LINES_MAX: usize = 5;
/// Lines at most of a failed check's output.
const OUTPUT_LINES_MAX: usize = 5;

/// A check with its verdict. If it does not hold, its end and the last lines of its output follow.
fn evidence(page: &mut Page, proof: &EvidenceRecord) {
    let verdict = proof.verdict.as_deref().unwrap_or_default();
    let row = row(verdict).plain(line(proof.check.as_deref().unwrap_or_default()));
    if verdict == "pass" {
        return page.push(row);
    }
    let number = proof.number.as_ref().map(|number| format!("number {}, ", write_compact(number)));
    let ended = proof.ended.as_deref().unwrap_or_default();
    let ended = number.unwrap_or_default() + ended;
    page.push(row.dim(match verdict {
        _ if ended.is_empty() => ended,
        // Without a duration a person decides it: nothing was measured.
        "unknown" if proof.duration_ms.is_some() => format!("  (could not be decided: {ended})"),
        _ => format!("  ({ended})"),
    }));
    let output: Vec<&str> = proof.output.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = output.len().saturating_sub(OUTPUT_LINES_MAX);
    page.extend(output[last..].iter().map(|one| Line::indent(10).dim(line(one))));
}

/// The next moves of a person.
pub fn next_moves(page: &mut Page, result: &FinalResultRecord) {
    if let [first, rest @ ..] = result.next_moves.as_slice() {
        page.next(first);
        rest.iter().for_each(|more| page.or_next(more));
    }
}

/// `auth = jwt, db = sqlite`.
pub(super) fn pairs(choices: &Choices) -> String {
    let pairs = choices.iter().map(|(group, choice)| format!("{group} = {choice}"));
    pairs.collect::<Vec<_>>().join(", ")
}
