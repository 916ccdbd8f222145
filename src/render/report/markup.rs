//! Texts and statuses as markup, for HTML and SVG alike.

/// The class of a status, by which it is coloured.
pub(super) fn look_of(status: &str) -> &'static str {
    match status {
        "resolved" | "completed" | "pass" => "done",
        "running" | "redirecting" => "run",
        "failed" | "invalid" | "fail" | "exhausted" => "fail",
        "needs guidance" | "needs_guidance" | "in doubt" | "unknown" | "unsteady" | "stopped" => {
            "ask"
        }
        "not chosen" | "resting" | "dropped" => "off",
        _ => "open",
    }
}

/// A text that is no markup, neither between elements nor between quotes.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c => safe.push(c),
        }
    }
    safe
}
