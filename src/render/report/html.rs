//! A report as one HTML file that loads nothing and runs nothing, for light and dark screens.
//!
//! Invariant: its policy forbids all but its own styles, and every text is escaped. Not here: the words (`outline`),
//! the graph (`drawing`), escapes (`markup`).

use std::fmt::Write as _;

use descent_core::view::report::Report;

use super::{
    drawing::drawing,
    markup::{escaped, look_of},
    outline::{Item, Piece, Section, outline},
};

/// Items at most of a section.
const ITEMS_MAX: usize = 5_000;
/// Longer sections are folded at first.
const OPEN_MAX: usize = 60;
const STYLE: &str = include_str!("html/style.css");

/// Without the last line feed.
pub fn html(report: &Report) -> String {
    let outline = outline(report);
    let title = escaped(&outline.title);
    let look = look_of(report.outcome.status);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <header><span class=\"word {look}\">{}</span><h1>{title}</h1></header>\n",
        escaped(report.outcome.status)
    );
    for (place, one) in outline.sections.iter().enumerate() {
        page.push_str(&section(one));
        if place == 0 {
            page.push_str(&graph(report));
        }
    }
    let (lineage, serial) = (escaped(report.lineage.as_str()), report.serial);
    page.push_str(&format!(
        "<footer>Of the state <code>{lineage}</code> at serial {serial}.</footer>\n</main>\n</body>\n</html>"
    ));
    page
}

fn graph(report: &Report) -> String {
    let drawn = drawing(&report.work);
    if drawn.is_empty() {
        return String::new();
    }
    let looks = [
        ("done", "resolved"),
        ("run", "running"),
        ("ask", "needs a person"),
        ("fail", "failed"),
        ("open", "open"),
        ("off", "not chosen"),
    ];
    let legend = looks.map(|(look, word)| format!("<span class=\"word {look}\">{word}</span>"));
    let legend = legend.join(" ");
    format!(
        "<section>\n<h2>The work graph</h2>\n<p class=\"legend\">{legend} An arrow leads to what waits. A thick border is \
         chosen.</p>\n{drawn}</section>\n"
    )
}

fn section(section: &Section) -> String {
    let shown = section.items.get(..ITEMS_MAX).unwrap_or(&section.items);
    let mut list = items(shown);
    if let more @ 1.. = section.items.len() - shown.len() {
        list.push_str(&format!(
            "<p>… and {more} more lines: <code>descent report --json</code> has all</p>\n"
        ));
    }
    let title = section.title;
    match section.items.len() {
        0..=OPEN_MAX => format!("<section>\n<h2>{title}</h2>\n{list}</section>\n"),
        lines => format!(
            "<section>\n<h2>{title}</h2>\n<details><summary>{lines} lines</summary>\n{list}</details>\n</section>\n"
        ),
    }
}

/// Lists in lists, by the depth of each item.
fn items(items: &[Item]) -> String {
    let mut html = String::new();
    let mut open = 0;
    for item in items {
        while open > item.depth + 1 {
            html.push_str("</li></ul>");
            open -= 1;
        }
        if open == item.depth + 1 {
            html.push_str("</li>\n");
        }
        while open < item.depth + 1 {
            // A list in a list stands in an item.
            let missing = if open < item.depth { "<ul><li>" } else { "<ul>" };
            html.push_str(missing);
            open += 1;
        }
        html.push_str("<li>");
        html.push_str(&content(item));
    }
    html.push_str(&"</li></ul>".repeat(open));
    html.push('\n');
    html
}

fn content(item: &Item) -> String {
    let mut html = String::new();
    for piece in item.pieces() {
        // Writing to a text does not fail.
        let _ = match piece {
            Piece::Text(text) => write!(html, "{}", escaped(text)),
            Piece::Code(text) => write!(html, "<code>{}</code>", escaped(text)),
            Piece::Word(word) => {
                write!(html, "<span class=\"word {}\">{}</span>", look_of(word), escaped(word))
            }
        };
    }
    for block in [&item.words, &item.output] {
        if !block.is_empty() {
            html.push_str(&format!("<pre>{}</pre>", escaped(block)));
        }
    }
    html
}
