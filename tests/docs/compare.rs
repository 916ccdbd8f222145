//! Whether a command did what its page says, and the page as it should be.
//!
//! The same are: times, durations, digests and ids of any value. `…` stands for anything in a line, and alone on a line
//! for any lines. Not here: running anything.

use std::sync::LazyLock;

use regex::Regex;

use crate::{
    blocks::{Page, Step, What},
    shell::Outcome,
};

/// What varies from run to run, and the one word that it is taken for.
static VARIES: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    [
        (
            r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?Z?",
            "<moment>",
        ),
        (r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "<id>"),
        (r"\b[0-9a-f]{7,64}\b", "<digest>"),
        (r"\b\d+(\.\d+)? ?(ms|s|min|m|h)\b", "<time>"),
        (r#"(ms": ?)\d+"#, "$1<time>"),
        (r"\b(pid|process) \d+", "$1 <pid>"),
    ]
    .map(|(pattern, word)| (Regex::new(pattern).expect("a pattern"), word))
    .into()
});

/// What is wrong with a step, beginning with its line.
pub fn fault(step: &Step, outcome: &Outcome) -> Option<String> {
    let code = outcome.code;
    match &step.what {
        What::Hidden(_) | What::File { .. } => {
            let said = format!("{}: ended with {code}:\n{}", step.line, outcome.output);
            (code != 0).then_some(said)
        }
        What::Shown {
            command,
            exit,
            from,
            output,
        } => {
            let head = format!("{}: $ {command}\n", step.line);
            if *exit != code {
                let got = &outcome.output;
                return Some(format!(
                    "{head}  ended with {code}, the page says {exit}:\n{got}"
                ));
            }
            let got = lines(&outcome.output);
            let wrong = difference(output, &got)?;
            let written = wrong_line(output, wrong.0);
            let shown = wrong_line(&got, wrong.1);
            let place = from + 1 + wrong.0;
            let all = got.join("\n");
            Some(format!(
                "{head}  line {place}:\n  - {written}\n  + {shown}\n  all that it said:\n{all}"
            ))
        }
    }
}

fn wrong_line(lines: &[String], at: usize) -> &str {
    lines.get(at).map_or("(no more lines)", String::as_str)
}

pub fn lines(output: &str) -> Vec<String> {
    let trimmed = output.lines().map(|line| line.trim_end().to_owned());
    trimmed.collect()
}

/// The first lines, of what is written and of what was said, that do not fit; `None` where all fits.
pub fn difference(written: &[String], said: &[String]) -> Option<(usize, usize)> {
    let mut furthest = (0, 0);
    let fits = fits(written, said, (0, 0), &mut furthest);
    (!fits).then_some(furthest)
}

fn fits(
    written: &[String],
    said: &[String],
    at: (usize, usize),
    furthest: &mut (usize, usize),
) -> bool {
    let (mut w, mut s) = at;
    while let Some(line) = written.get(w) {
        *furthest = (*furthest).max((w, s));
        if line.trim() == "…" {
            return (s..=said.len()).any(|s| fits(written, said, (w + 1, s), furthest));
        }
        if !said.get(s).is_some_and(|said| is_same(line, said)) {
            return false;
        }
        (w, s) = (w + 1, s + 1);
    }
    *furthest = (*furthest).max((w, s));
    s == said.len()
}

fn is_same(written: &str, said: &str) -> bool {
    let said = plain(said);
    let parts: Vec<String> = written
        .split('…')
        .map(|part| regex::escape(&plain(part)))
        .collect();
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

/// The page with the present output of every command; what fits stays as it is written.
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
        let kept = |line: &String| {
            let known = output
                .iter()
                .find(|known| known.trim() != "…" && is_same(known, line));
            known.unwrap_or(line).clone()
        };
        let new: Vec<String> = said.iter().map(kept).collect();
        lines_now.splice(*from..from + output.len(), new);
    }
    lines_now.join("\n") + "\n"
}
