//! Compares the output of commands with their page, and updates pages.
//!
//! Times, durations, digests and ids of any value count as equal. `…` stands for anything in a line, unless the line
//! that is printed has one itself, and alone on a line for any lines. Lines that come and go may be missing, but those of
//! a page have the form of one that is printed. Not here: running anything.

use std::sync::LazyLock;

use regex::Regex;

use super::{
    blocks::{Page, Step, What},
    shell::Outcome,
};

/// Patterns that vary from run to run, and the one word that each is taken for.
static VARIES: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    [
        (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?Z?", "<moment>"),
        (r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "<id>"),
        (r"\b[0-9a-f]{7,64}\b", "<digest>"),
        (r"\b\d+(\.\d+)? ?(ms|s|min|m|h)\b", "<time>"),
        // One below a millisecond is not shown.
        (r", <time>\)", ")"),
        // A column is as wide as its content.
        (r"<time> ago +", "<time> ago "),
        (r"for <time> +", "for <time> "),
        (r#"(ms": ?)\d+"#, "$1<time>"),
        (r"\b(pid|process) \d+", "$1 <pid>"),
        // A script of a page sleeps in a loop: with its `sleep` or without.
        (r"\b\d+ process(es)? ended", "<processes> ended"),
    ]
    .map(|(pattern, word)| (Regex::new(pattern).expect("a pattern"), word))
    .into()
});

/// How far the goal's checks are, at a moment that nothing promises.
static COUNTS: LazyLock<Regex> = LazyLock::new(|| {
    let counts = r"\(\d+ of \d+ checks?(, \d+ not measured)?\)";
    Regex::new(counts).expect("a pattern")
});

/// The goal's checks are evaluated beside the attempts: nothing promises when, or how often.
const COMES_AND_GOES: &str = "checked ";
/// Verdicts that decide nothing.
const STEERS: [&str; 2] = ["does not hold yet", "; still open: "];

/// The fault of a step, beginning with its line.
pub fn fault(step: &Step, outcome: &Outcome) -> Option<String> {
    let code = outcome.code;
    match &step.what {
        What::Hidden(_) | What::File { .. } => {
            let said = format!("{}: ended with {code}:\n{}", step.line, outcome.output);
            (code != 0).then_some(said)
        }
        What::Shown { command, exit, from, output } => {
            let head = format!("{}: $ {command}\n", step.line);
            if *exit != code {
                let got = &outcome.output;
                return Some(format!("{head}  ended with {code}, the page says {exit}:\n{got}"));
            }
            let got = lines(&outcome.output);
            let wrong = difference(output, &got)?;
            let written = wrong_line(output, wrong.0);
            let shown = wrong_line(&got, wrong.1);
            let place = from + 1 + wrong.0.min(output.len());
            let all = got.join("\n");
            Some(format!(
                "{head}  line {place}:\n  - {written}\n  + {shown}\n  all that it said:\n{all}"
            ))
        }
    }
}

/// Whether nothing promises that the line is there.
pub fn comes_and_goes(line: &str) -> bool {
    line.starts_with(COMES_AND_GOES) && STEERS.iter().any(|words| line.contains(words))
}

fn wrong_line(lines: &[String], at: usize) -> &str {
    lines.get(at).map_or("(no more lines)", String::as_str)
}

pub fn lines(output: &str) -> Vec<String> {
    let trimmed = output.lines().map(|line| line.trim_end().to_owned());
    trimmed.collect()
}

/// The first lines, of the page and of the output, that do not fit; `None` if all do.
pub fn difference(written: &[String], said: &[String]) -> Option<(usize, usize)> {
    if let Some(forged) = unlike_any(written, said) {
        return Some(forged);
    }
    let stays = |(_, line): &(usize, &String)| !comes_and_goes(line);
    let written: Vec<_> = written.iter().enumerate().filter(stays).collect();
    let said: Vec<_> = said.iter().enumerate().filter(stays).collect();
    let mut furthest = (0, 0);
    let fits = fits(&written, &said, &mut furthest);
    (!fits).then_some(furthest)
}

/// A line of the page that may be missing, but is not printed in this form; `None` also where no such line was printed.
fn unlike_any(written: &[String], said: &[String]) -> Option<(usize, usize)> {
    let form = |line: &str| COUNTS.replace_all(line.trim_end(), "<counts>").into_owned();
    let passing = |lines: &[String]| -> Vec<(usize, String)> {
        let lines = lines.iter().enumerate();
        let passing = lines.filter(|(_, line)| comes_and_goes(line));
        passing.map(|(at, line)| (at, form(line))).collect()
    };
    let said = passing(said);
    let (first, _) = said.first()?;
    let is_printed = |written: &str| said.iter().any(|(_, line)| is_same(written, line));
    let forged = passing(written).into_iter().find(|(_, line)| !is_printed(line))?;
    Some((forged.0, *first))
}

type Lines<'t> = [(usize, &'t String)];

fn fits(mut written: &Lines<'_>, mut said: &Lines<'_>, furthest: &mut (usize, usize)) -> bool {
    let past = |lines: &Lines<'_>| lines.first().map_or(usize::MAX, |(index, _)| *index);
    while let [(_, line), written_after @ ..] = written {
        *furthest = (*furthest).max((past(written), past(said)));
        if line.trim() == "…" {
            return (0..=said.len()).any(|skip| fits(written_after, &said[skip..], furthest));
        }
        match said {
            [(_, shown), said_after @ ..] if is_same(line, shown) => {
                (written, said) = (written_after, said_after);
            }
            _ => return false,
        }
    }
    *furthest = (*furthest).max((past(written), past(said)));
    said.is_empty()
}

fn is_same(written: &str, said: &str) -> bool {
    if said.contains('…') {
        return plain(written) == plain(said);
    }
    let said = plain(said);
    let parts: Vec<String> = written.split('…').map(|part| regex::escape(&plain(part))).collect();
    let pattern = format!("^{}$", parts.join(".*"));
    Regex::new(&pattern).is_ok_and(|pattern| pattern.is_match(&said))
}

fn plain(line: &str) -> String {
    let mut line = line.trim_end().to_owned();
    for (pattern, word) in VARIES.iter() {
        line = pattern.replace_all(&line, *word).into_owned();
    }
    line
}

/// The page with the present output of every command; fitting lines stay as they are written.
pub fn updated(page: &Page, outcomes: &[Outcome]) -> String {
    let mut lines_now = page.lines.clone();
    for (step, outcome) in page.steps.iter().zip(outcomes).rev() {
        let What::Shown { from, output, .. } = &step.what else {
            continue;
        };
        let said = lines(&outcome.output);
        if difference(output, &said).is_none() {
            continue;
        }
        let new = woven(output, &said);
        lines_now.splice(*from..from + output.len(), new);
    }
    lines_now.join("\n") + "\n"
}

/// The output in the written words as far as those still fit, and with `…` if its end can still be found.
fn woven(written: &[String], said: &[String]) -> Vec<String> {
    let mut new = Vec::new();
    let mut rest = said;
    for (index, line) in written.iter().enumerate() {
        let is_gap = line.trim() == "…";
        let until = if is_gap { written.get(index + 1) } else { Some(line) };
        let end = until
            .map_or(Some(rest.len()), |until| rest.iter().position(|shown| is_same(until, shown)));
        let Some(end) = end else { continue };
        if is_gap {
            rest = &rest[end..];
        } else {
            new.extend_from_slice(&rest[..end]);
            rest = &rest[end + 1..];
        }
        new.push(line.clone());
    }
    new.extend_from_slice(rest);
    new
}
