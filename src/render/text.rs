//! Lines made of pieces with a meaning, measured by their width on the screen: every view consists of them.
//!
//! Invariant: a piece is on one line and holds no control characters, whatever its source; colour comes last.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{clean, style::Meaning};

/// Columns of a heading at the left of a block.
pub const LABEL_WIDTH: usize = 9;

#[derive(Debug, Clone, Default)]
pub struct Line(Vec<(Meaning, String)>);

impl Line {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn of(text: impl AsRef<str>) -> Self {
        Self::new().plain(text)
    }

    /// A heading in the left column.
    pub fn label(name: &str) -> Self {
        Self::new().dim(name).pad(LABEL_WIDTH)
    }

    /// Spaces before the next piece.
    pub fn indent(columns: usize) -> Self {
        Self::of(" ".repeat(columns))
    }

    #[must_use]
    pub fn put(mut self, meaning: Meaning, text: impl AsRef<str>) -> Self {
        let text = on_one_line(text.as_ref());
        self.0.extend((!text.is_empty()).then_some((meaning, text)));
        self
    }

    #[must_use]
    pub fn plain(self, text: impl AsRef<str>) -> Self {
        self.put(Meaning::Plain, text)
    }

    #[must_use]
    pub fn dim(self, text: impl AsRef<str>) -> Self {
        self.put(Meaning::Dim, text)
    }

    #[must_use]
    pub fn strong(self, text: impl AsRef<str>) -> Self {
        self.put(Meaning::Strong, text)
    }

    /// A status word, in its colour.
    #[must_use]
    pub fn word(self, word: &str) -> Self {
        self.put(Meaning::of(word), word)
    }

    #[must_use]
    pub fn then(mut self, other: Line) -> Self {
        self.0.extend(other.0);
        self
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn width(&self) -> usize {
        self.0.iter().map(|(_, text)| text.width()).sum()
    }

    /// Spaces up to that column; at least one, so that columns never touch.
    #[must_use]
    pub fn pad(self, to: usize) -> Self {
        let missing = to.saturating_sub(self.width()).max(1);
        self.plain(" ".repeat(missing))
    }

    /// The line at this width at most; a mark shows that something is missing.
    #[must_use]
    pub fn cut(self, width_max: usize) -> Self {
        if self.width() <= width_max {
            return self;
        }
        let mut left = width_max.saturating_sub(1);
        let mut kept = Vec::new();
        for (meaning, text) in self.0 {
            let part = first_columns(&text, left);
            left -= part.width();
            let is_whole = part.len() == text.len();
            kept.push((meaning, part.to_owned()));
            if !is_whole {
                break;
            }
        }
        if width_max > 0 {
            kept.push((Meaning::Dim, "…".to_owned()));
        }
        Self(kept)
    }

    /// The pieces in order, each on one line and clean.
    pub(super) fn pieces(&self) -> impl Iterator<Item = (Meaning, &str)> {
        self.0.iter().map(|(meaning, text)| (*meaning, text.as_str()))
    }

    pub fn text(&self, is_coloured: bool) -> String {
        let mut out = String::new();
        for (meaning, text) in &self.0 {
            if is_coloured && *meaning != Meaning::Plain {
                let style = meaning.style();
                out.push_str(&format!("{style}{text}{style:#}"));
            } else {
                out.push_str(text);
            }
        }
        let end = out.trim_end_matches(' ').len();
        out.truncate(end);
        out
    }
}

fn on_one_line(text: &str) -> String {
    clean(text).chars().map(|c| if matches!(c, '\n' | '\t') { ' ' } else { c }).collect()
}

fn first_columns(text: &str, columns: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += c.width().unwrap_or(0);
        if used > columns {
            return &text[..at];
        }
    }
    text
}

/// Several lines; prose is cut to a width.
#[derive(Debug, Clone)]
pub struct Page {
    lines: Vec<Line>,
    /// The lines with the next command.
    advice: Vec<usize>,
    pub width: usize,
}

impl Page {
    pub fn new(width: usize) -> Self {
        Self { lines: Vec::new(), advice: Vec::new(), width }
    }

    /// A page from a text made elsewhere: only the next command, and warnings, have a meaning.
    pub fn of(text: &str) -> Self {
        let mut page = Self::new(usize::MAX);
        for line in text.lines() {
            match line.strip_prefix("next: ") {
                Some(command) => page.next(command),
                None => page.whole(coloured(line)),
            }
        }
        page
    }

    /// A line of prose.
    pub fn push(&mut self, line: Line) {
        self.lines.push(line.cut(self.width));
    }

    /// A line that is copied as it is: a path, a command.
    pub fn whole(&mut self, line: Line) {
        self.lines.push(line);
    }

    pub fn extend(&mut self, lines: impl IntoIterator<Item = Line>) {
        lines.into_iter().for_each(|line| self.push(line));
    }

    /// Wraps prose between words, below the first column of `head`, on `lines_max` lines at most.
    pub fn wrapped(&mut self, head: Line, meaning: Meaning, text: &str, lines_max: usize) {
        let room = self.room_beside(&head);
        let mut rows = wrap(text, room);
        let is_cut = rows.len() > lines_max;
        rows.truncate(lines_max);
        if let Some(last) = rows.last_mut().filter(|_| is_cut) {
            while last.width() + 2 > room
                && let Some(word) = last.rfind(' ')
            {
                last.truncate(word);
            }
            last.push_str(" …");
        }
        self.extend(below(head, meaning, &rows));
    }

    /// Wraps prose between words, below the first column of `head`, and leaves nothing out: a word that is too wide has a
    /// row of its own, to be copied.
    pub fn prose(&mut self, head: Line, meaning: Meaning, text: &str) {
        let rows = wrap(text, self.room_beside(&head));
        self.lines.extend(below(head, meaning, &rows));
    }

    /// The same for a text that a person decides about: a word that is too wide goes on in the next row.
    pub fn unabridged(&mut self, head: Line, meaning: Meaning, text: &str) {
        let room = self.room_beside(&head);
        let rows = wrap(text, room);
        let rows: Vec<&str> = rows.iter().flat_map(|row| broken(row, room)).collect();
        self.lines.extend(below(head, meaning, &rows));
    }

    fn room_beside(&self, head: &Line) -> usize {
        self.width.saturating_sub(head.width()).max(20)
    }

    /// A free line between two blocks.
    pub fn into_lines(self) -> Vec<Line> {
        self.lines
    }

    pub fn gap(&mut self) {
        if self.lines.last().is_some_and(|line| !line.is_empty()) {
            self.lines.push(Line::new());
        }
    }

    /// The command to type next, at the end of every view.
    pub fn next(&mut self, command: &str) {
        self.advise("next: ", command);
    }

    /// Another command that could be typed instead.
    pub fn or_next(&mut self, command: &str) {
        self.advise("  or: ", command);
    }

    fn advise(&mut self, label: &'static str, command: &str) {
        self.advice.push(self.lines.len());
        self.whole(Line::new().dim(label).put(Meaning::Next, super::placed(command)));
    }

    /// The page without advice, for `--quiet`.
    #[must_use]
    pub fn without_advice(&self) -> Self {
        let mut page = Self::new(self.width);
        let kept = self.lines.iter().enumerate().filter(|(at, _)| !self.advice.contains(at));
        page.lines = kept.map(|(_, line)| line.clone()).collect();
        while page.lines.pop_if(|last| last.is_empty()).is_some() {}
        page
    }

    pub fn text(&self, is_coloured: bool) -> String {
        let lines: Vec<String> = self.lines.iter().map(|line| line.text(is_coloured)).collect();
        lines.join("\n")
    }
}

fn coloured(line: &str) -> Line {
    match line.strip_prefix("warning: ") {
        Some(what) => Line::new().put(Meaning::Unknown, "warning: ").plain(what),
        None => Line::of(line),
    }
}

/// Rows below the first column of `head`.
fn below(head: Line, meaning: Meaning, rows: &[impl AsRef<str>]) -> Vec<Line> {
    let left = head.width();
    let Some((first, others)) = rows.split_first() else { return vec![head] };
    let others = others.iter().map(|row| Line::indent(left).put(meaning, row));
    std::iter::once(head.put(meaning, first)).chain(others).collect()
}

/// The words of a text in rows; a word that is too wide has a row of its own.
fn wrap(text: &str, room: usize) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    for word in on_one_line(text).split_whitespace() {
        match rows.last_mut() {
            Some(row) if row.width() + 1 + word.width() <= room => {
                row.push(' ');
                row.push_str(word);
            }
            _ => rows.push(word.to_owned()),
        }
    }
    rows
}

/// A row in pieces that fit.
fn broken(mut row: &str, room: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    while row.width() > room {
        // One that is wider than the room by itself goes alone.
        let first = row.chars().next().map_or(0, char::len_utf8);
        let end = first_columns(row, room).len().max(first);
        let (piece, rest) = row.split_at(end);
        pieces.push(piece);
        row = rest;
    }
    pieces.push(row);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_decided_about_is_wrapped_and_never_cut() {
        let mut page = Page::new(30);
        let words = "one two ".repeat(40);
        let wide = "x".repeat(75);
        let text = format!("{words}{wide} the end");
        page.unabridged(Line::of("goal: "), Meaning::Plain, &text);
        let shown = page.text(false);
        assert!(shown.lines().all(|row| row.width() <= 30), "{shown}");
        assert!(!shown.contains('…'), "{shown}");
        let shown = shown.strip_prefix("goal: ").unwrap();
        let bare = |text: &str| text.split_whitespace().collect::<String>();
        assert_eq!(bare(shown), bare(&text));
    }

    #[test]
    fn a_line_is_as_wide_as_it_looks_and_is_cut_by_columns() {
        let line = Line::of("日本語 text");
        assert_eq!(line.width(), 11);
        assert_eq!(line.clone().cut(11).text(false), "日本語 text");
        assert_eq!(line.clone().cut(6).text(false), "日本…");
        assert_eq!(line.cut(0).text(false), "");
    }

    #[test]
    fn what_comes_from_outside_cannot_break_the_line_or_speak_to_the_terminal() {
        let line = Line::new().put(Meaning::Fail, "a\nb\u{1b}[2Jc\td");
        assert_eq!(line.text(false), "a b␛[2Jc d");
        assert_eq!(line.text(true), "\u{1b}[31ma b␛[2Jc d\u{1b}[0m");
    }

    #[test]
    fn prose_is_broken_between_words_and_says_where_it_was_cut() {
        let mut page = Page::new(30);
        let text = "one two three four five six seven eight nine ten eleven twelve";
        page.wrapped(Line::label("goal"), Meaning::Plain, text, 2);
        assert_eq!(page.text(false), "goal     one two three four\n         five six seven …");
    }
}
