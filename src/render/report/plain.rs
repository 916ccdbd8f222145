//! Texts from elsewhere without what only a terminal understands.

/// Without sequences for a terminal and control characters, which XML forbids. Lines end with a line feed. Marks that
/// turn the reading direction are spelled out.
pub(super) fn plain(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_sequence(&mut chars),
            '\r' if chars.peek() == Some(&'\n') => {}
            '\r' => kept.push('\n'),
            '\n' | '\t' => kept.push(c),
            '\u{fffe}' | '\u{ffff}' => {}
            c if c.is_control() => {}
            c => kept.push(c),
        }
    }
    super::super::clean(&kept)
}

/// The rest of a sequence that begins with ESC.
fn skip_sequence(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            // Parameters come before the letter that ends it; anything else belongs to the text.
            while chars.next_if(|c| (' '..='?').contains(c)).is_some() {}
            chars.next_if(|c| ('@'..='~').contains(c));
        }
        Some(']') => while chars.next_if(|c| !matches!(c, '\u{7}' | '\u{1b}' | '\n')).is_some() {},
        Some('(' | ')') => {
            chars.next();
            chars.next_if(char::is_ascii_alphanumeric);
        }
        Some(_) | None => {}
    }
}

/// The same on one line, cut to a length.
pub(super) fn flat(text: &str, chars_max: usize) -> String {
    let text = plain(text);
    let words: Vec<&str> = text.split_whitespace().collect();
    super::super::cut(&words.join(" "), chars_max)
}

/// The last lines of an output, each cut to a length, and the number of those before.
pub(super) fn tail(output: &str, lines_max: usize, chars_max: usize) -> String {
    let text = plain(output);
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let end = lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
    let first = end.saturating_sub(lines_max);
    let before = match first {
        0 => None,
        1 => Some("… 1 line before".to_owned()),
        n => Some(format!("… {n} lines before")),
    };
    let lines = lines[first..end].iter().map(|line| super::super::cut(line, chars_max));
    before.into_iter().chain(lines).collect::<Vec<String>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_speaks_to_a_terminal_is_gone_and_the_text_stays() {
        let pairs = [
            ("\u{1b}[1;31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;title\u{7}after", "after"),
            ("a\r\nb\rc\u{0}\u{8}\u{85}\u{ffff}", "a\nb\nc"),
            ("cut \u{1b}[", "cut "),
            ("日本 \u{202e}x", "日本 \\u{202e}x"),
        ];
        for (text, expected) in pairs {
            assert_eq!(plain(text), expected);
        }
    }

    #[test]
    fn an_output_keeps_its_end_and_says_how_much_came_before() {
        assert_eq!(tail("a\nb\nc\n\n", 2, 9), "… 1 line before\nb\nc");
        assert_eq!(tail("a\nb", 2, 9), "a\nb");
        assert_eq!(tail("", 2, 9), "");
    }
}
