//! A verdict in words: the end of the check, its last line, and two verdicts that differ.

use descent_core::{verdict::Verdict, view::VerdictView};

use crate::render;

/// Columns of a page.
pub(super) const WIDTH: usize = 80;

pub(super) fn ended(judged: &VerdictView) -> String {
    match judged.ended.as_str() {
        "" => String::new(),
        ended if judged.by_person || judged.duration_ms == 0 => ended.to_owned(),
        ended => format!("{ended}, {}", render::time(judged.duration_ms)),
    }
}

/// Two verdicts that differ.
pub(super) fn two(here: &VerdictView, fresh: &VerdictView) -> String {
    let line = |place: &str, judged: &VerdictView| {
        let (word, ended) = (judged.verdict.word(), ended(judged));
        let output = last_line(judged).map(|output| format!("\n{:12}{output}", ""));
        let output = output.unwrap_or_default();
        format!("{:10}{place}: {word}, {ended}{output}", "")
    };
    format!(
        "  differs {}\n{}\n{}",
        render::line(&here.check),
        line("here", here),
        line("in a fresh checkout", fresh)
    )
}

/// The last output line of a check that does not pass.
pub(super) fn last_line(judged: &VerdictView) -> Option<String> {
    let mut lines = judged.output.lines().rev().map(str::trim);
    let output = lines.find(|line| !line.is_empty())?;
    (judged.verdict != Verdict::Pass).then(|| fit(output, WIDTH - 14))
}

fn fit(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width - 1).chain(['…']).collect()
}
