//! Escapes of Markdown, as GitHub reads it: CommonMark, its extensions, and what it makes of plain words afterwards.
//!
//! Invariant: a text gives itself back when it is read, plus characters without width where a word would become a link,
//! a mention or a reference. A line stays a line.

/// Stands where words would become a mention, a reference or a link after the marks were read. A backslash does not
/// help there.
const BREAK: &str = "&#8203;";
/// Marks inside a line.
const MARKS: &str = "\\`*_[]<>#|~&$";

/// A text at the beginning of a block.
pub(super) fn text(words: &str) -> String {
    let inside = inside(words);
    let digits = inside.chars().take_while(char::is_ascii_digit).count();
    let after = inside.get(digits..).unwrap_or_default();
    match inside.chars().next() {
        Some('-' | '+' | '=' | ':') => format!("\\{inside}"),
        Some('0'..='9') if after.starts_with(['.', ')']) => {
            format!("{}\\{after}", inside.get(..digits).unwrap_or_default())
        }
        Some(_) | None => inside,
    }
}

/// A text on a line that has begun.
pub(super) fn inside(words: &str) -> String {
    let mut safe = String::with_capacity(words.len());
    let mut rest = words;
    while let Some(c) = rest.chars().next() {
        let after = rest.get(c.len_utf8()..).unwrap_or_default();
        match c {
            '\n' => safe.push(' '),
            '@' => {
                safe.push('@');
                safe.push_str(BREAK);
            }
            '#' if after.starts_with(|c: char| c.is_ascii_digit()) => {
                safe.push_str("\\#");
                safe.push_str(BREAK);
            }
            ':' if after.starts_with("//") => {
                safe.push(':');
                safe.push_str(BREAK);
            }
            '.' if ends_with_www(&safe) => {
                safe.push_str(BREAK);
                safe.push('.');
            }
            '-' if is_short_reference(&safe, after) => {
                safe.push_str(BREAK);
                safe.push('-');
            }
            c if MARKS.contains(c) => {
                safe.push('\\');
                safe.push(c);
            }
            c => safe.push(c),
        }
        rest = after;
    }
    safe
}

fn ends_with_www(text: &str) -> bool {
    ends_with_word(text, "www")
}

/// `GH-12`.
fn is_short_reference(before: &str, after: &str) -> bool {
    ends_with_word(before, "gh") && after.starts_with(|c: char| c.is_ascii_digit())
}

fn ends_with_word(text: &str, word: &str) -> bool {
    let start = text.len().checked_sub(word.len());
    start.and_then(|start| text.get(start..)).is_some_and(|end| end.eq_ignore_ascii_case(word))
}

/// A text to be copied, on one line. Nothing inside of it has a meaning.
pub(super) fn code(words: &str) -> String {
    let words = words.replace('\n', " ");
    if words.trim().is_empty() {
        return "(empty)".to_owned();
    }
    let ticks = "`".repeat(longest_run(&words) + 1);
    let is_padded = words.starts_with(['`', ' ']) || words.ends_with(['`', ' ']);
    let blank = if is_padded { " " } else { "" };
    format!("{ticks}{blank}{words}{blank}{ticks}")
}

/// A block of lines as they are, below an item.
pub(super) fn fence(block: &str, indent: &str) -> String {
    let ticks = "`".repeat((longest_run(block) + 1).max(3));
    let line = |line: &str| format!("{indent}{line}").trim_end().to_owned();
    let lines = block.lines().map(line);
    let lines: Vec<String> = lines.collect();
    format!("{indent}{ticks}text\n{}\n{indent}{ticks}", lines.join("\n"))
}

/// The longest run of backticks.
fn longest_run(text: &str) -> usize {
    let runs = text.split(|c| c != '`').map(str::len);
    runs.max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_no_block_no_html_no_link_and_no_mention() {
        let pairs = [
            ("# big", "\\# big"),
            ("- item", "\\- item"),
            ("12. item", "12\\. item"),
            ("3) item", "3\\) item"),
            ("> quote", "\\> quote"),
            ("=== ", "\\=== "),
            ("a <b>&amp;</b>", "a \\<b\\>\\&amp;\\</b\\>"),
            ("[x](y) ![z](w)", "\\[x\\](y) !\\[z\\](w)"),
            ("*a* _b_ ~~c~~ `d`", "\\*a\\* \\_b\\_ \\~\\~c\\~\\~ \\`d\\`"),
            ("by @ada, a@b.example", "by @&#8203;ada, a@&#8203;b.example"),
            ("fixes #12, GH-3", "fixes \\#&#8203;12, GH&#8203;-3"),
            ("https://x.example", "https:&#8203;//x.example"),
            ("www.x.example", "www&#8203;.x.example"),
            ("a\\*b | c\nd", "a\\\\\\*b \\| c d"),
            ("日本語", "日本語"),
        ];
        for (words, expected) in pairs {
            assert_eq!(text(words), expected);
        }
    }

    #[test]
    fn no_backtick_ends_a_code() {
        let pairs = [
            ("make test", "`make test`"),
            ("a `b`", "`` a `b` ``"),
            ("``", "``` `` ```"),
            (" ", "(empty)"),
        ];
        for (words, expected) in pairs {
            assert_eq!(code(words), expected);
        }
        let block = fence("a\n```\n\nb", "  ");
        assert_eq!(block, "  ````text\n  a\n  ```\n\n  b\n  ````");
    }
}
