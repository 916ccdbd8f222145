//! Verdicts on checks, and the final result of a run.

use descent_core::{
    doc::{self, Member, Node},
    state::{SideFile, account::Accountable, final_result::BASE_CASE, side::LiesAt},
    verdict::Verdict,
    view::{self, VerdictView},
};

use super::{Line, Meaning, Page, count, event::behind, field, items, line, time, usage_of_agent};

/// Lines of output that are shown of a check that does not hold.
const OUTPUT_LINES: usize = 10;

/// Verdicts on checks, one per line, with the end of the output of those that do not hold.
pub fn judged(checks: &[VerdictView]) -> Vec<Line> {
    let titles = checks.iter().map(|check| Line::of(line(&check.check)).width());
    let column = titles.max().unwrap_or(0).min(40) + 2;
    let one = |check: &VerdictView| {
        let name = Line::of(line(&check.check));
        let took =
            if check.by_person { String::new() } else { format!(", {}", time(check.duration_ms)) };
        let ended = if check.ended.is_empty() {
            Line::new()
        } else {
            Line::new().dim(format!("({}{took})", check.ended))
        };
        row(check.verdict.word()).then(name.pad(column)).then(ended)
    };
    let with_output = |check: &VerdictView| {
        let mut lines = vec![one(check)];
        if check.verdict != Verdict::Pass {
            lines.extend(end_of(&check.output));
        }
        lines
    };
    checks.iter().flat_map(with_output).collect()
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
pub fn result(result: &Node, path: Option<&str>, lies_at: LiesAt<'_>, width: usize) -> Page {
    let mut page = Page::new(width);
    let head = Line::new().word(field(result, "result")).plain(": ");
    page.wrapped(head, Meaning::Strong, field(result, "summary"), 3);
    answer(&mut page, result);
    let code = field(result, "code");
    if !code.is_empty() {
        page.push(row("error").plain(code));
    }
    for proof in items(result, "evidence") {
        evidence(&mut page, proof);
        // `why` shows the excerpt of a choice's check; a check without a choice is explained nowhere else.
        if let Some(path) = SideFile::named_in(proof).and_then(|one| lies_at(&one)) {
            page.whole(Line::indent(10).dim("its output: ").plain(path));
        }
    }
    for open in items(result, "open") {
        let why = behind(" (failed: ", &line(field(open, "reason")));
        let end = if why.is_empty() { "" } else { ")" };
        let what = format!(": {}{why}{end}", line(field(open, "description")));
        page.push(row("open").strong(field(open, "atom")).plain(what));
    }
    let unsteady = items(result, "unsteady").iter().filter_map(Node::as_str);
    for check in unsteady {
        let head = Line::indent(2).then(Line::new().word("unsteady").pad(10));
        page.push(head.plain(format!("{}: it failed at align on the same files", line(check))));
    }
    for missing in items(result, "missing") {
        let (of, what) = (field(missing, "of"), line(field(missing, "description")));
        let head = row("dropped").strong(field(missing, "atom"));
        page.push(head.plain(format!(" of {of}: {what}")));
    }
    let is_open = |failed: &&Node| {
        let mut open = items(result, "open").iter();
        open.any(|open| field(open, "atom") == field(failed, "atom"))
    };
    // A verdict of before says nothing of a base case that holds now.
    let is_over = |failed: &&Node| {
        field(result, "result") == "completed" && field(failed, "atom") == BASE_CASE
    };
    let failed = items(result, "failed").iter();
    for failed in failed.filter(|one| !is_open(one) && !is_over(one)) {
        let with = behind(" with ", &pairs(failed.get("choices")));
        let head = row("failed").strong(field(failed, "atom"));
        page.push(head.plain(format!("{with}: {}", line(field(failed, "reason")))));
    }
    let accountable = Accountable::of_word(field(result, "accountable"));
    if let Some(role) = accountable.filter(|role| role.is_told()) {
        page.push(row("because").plain(format!("{}: {}", role.word(), role.meaning())));
    }
    for agent in view::usage::of_result(result) {
        page.push(row("usage").plain(usage_of_agent(&agent)));
    }
    if let Some(path) = path {
        page.whole(row("result").plain(path));
        of_result(&mut page, result);
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

/// The words of an agent about the ending, and its notes.
fn answer(page: &mut Page, result: &Node) {
    let output = result.get("output");
    let Some(output) = output.filter(|one| field(one, "by") == "model") else {
        return;
    };
    let text = line(field(output, "text"));
    page.wrapped(row("answer"), Meaning::Plain, &text, ANSWER_LINES_MAX);
    for note in items(output, "notes").iter().filter_map(Node::as_str) {
        page.wrapped(row("note"), Meaning::Plain, &line(note), NOTE_LINES_MAX);
    }
}

/// Lines at most of the final answer, and of a note.
const ANSWER_LINES_MAX: usize = 40;
const NOTE_LINES_MAX: usize = 5;
/// Lines at most of a failed check's output.
const OUTPUT_LINES_MAX: usize = 5;

/// A check with its verdict. If it does not hold, its end and the last lines of its output follow.
fn evidence(page: &mut Page, proof: &Node) {
    let verdict = field(proof, "verdict");
    let row = row(verdict).plain(line(field(proof, "check")));
    if verdict == "pass" {
        return page.push(row);
    }
    let ended = field(proof, "ended");
    let number = proof.get("number").map(doc::write_compact);
    let ended = match number {
        Some(number) => format!("number {number}, {ended}"),
        None => ended.to_owned(),
    };
    let ended = match (verdict, ended.as_str()) {
        (_, "") => String::new(),
        // A person decides it: nothing was measured.
        ("unknown", ended) if proof.get("duration_ms").is_none() => format!("  ({ended})"),
        ("unknown", ended) => format!("  (could not be decided: {ended})"),
        (_, ended) => format!("  ({ended})"),
    };
    page.push(row.dim(ended));
    let output: Vec<&str> =
        field(proof, "output").lines().filter(|line| !line.trim().is_empty()).collect();
    let last = output.len().saturating_sub(OUTPUT_LINES_MAX);
    for one in &output[last..] {
        page.push(Line::indent(10).dim(line(one)));
    }
}

/// Describes a partial result: how many checks hold on it, and the choices that it was made with.
fn of_result(page: &mut Page, result: &Node) {
    let Some(verdict) = result.get("verdict") else {
        return;
    };
    let count = |key: &str| verdict.get(key).and_then(Node::as_u64).unwrap_or(0);
    let (held, of) = (count("held"), count("of"));
    if held == of {
        return;
    }
    let with = behind(", made with ", &pairs(verdict.get("choices")));
    page.push(Line::indent(10).dim(format!("{held} of {of} checks hold on it{with}")));
}

/// The next moves of a person.
pub fn next_moves(page: &mut Page, result: &Node) {
    let moves: Vec<&str> = items(result, "next_moves").iter().filter_map(Node::as_str).collect();
    if let [first, rest @ ..] = moves.as_slice() {
        page.next(first);
        rest.iter().for_each(|more| page.or_next(more));
    }
}

/// `auth = jwt, db = sqlite`.
fn pairs(choices: Option<&Node>) -> String {
    let members = choices.and_then(Node::as_object).unwrap_or_default();
    let pair = |member: &Member| {
        let choice = member.node.as_str().unwrap_or("nothing");
        format!("{} = {choice}", member.key)
    };
    members.iter().map(pair).collect::<Vec<_>>().join(", ")
}
