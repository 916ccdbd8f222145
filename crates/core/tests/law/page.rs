//! Tables that stand in docs/law.md.

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/law.md");

/// Compares a table with that of the page below the same head, or writes it there with `DESCENT_UPDATE`.
pub(crate) fn hold(head: &str, rows: &str) {
    let table = format!("{head}{rows}");
    println!("{table}");
    let page = std::fs::read_to_string(PAGE).expect("the page");
    let (before, rest) = page.split_once(head).expect("the head of the table");
    let (known, after) = rest.split_once("\n\n").expect("its end");
    if std::env::var_os("DESCENT_UPDATE").is_some() {
        let page = format!("{before}{table}\n{after}");
        #[allow(clippy::disallowed_methods)] // door: a page of this repository
        std::fs::write(PAGE, page).expect("the page is written");
        return;
    }
    assert_eq!(known, rows.trim_end(), "docs/law.md has another table");
}

/// A change in percent or in points, with its sign.
pub(crate) fn signed(change: f64) -> String {
    let rounded = change.round();
    match rounded {
        _ if rounded > 0.0 => format!("+{rounded}"),
        _ if rounded < 0.0 => format!("−{}", -rounded),
        _ => "0".to_owned(),
    }
}
