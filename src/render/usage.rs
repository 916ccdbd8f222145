//! Model calls, tokens and money, in words.

use descent_core::view::usage::{AgentUsageView, UsageView};

use super::count;

/// Stands before what is estimated.
const ABOUT: &str = "≈ ";

/// `3 calls, 12.3k tokens, $0.75`, with `≈` before an estimate.
pub fn usage(view: &UsageView) -> String {
    let tokens = view.tokens.total();
    let parts = [
        (view.calls > 0).then(|| count(view.calls, "call")),
        (tokens > 0).then(|| format!("{} tokens", short(tokens))),
        view.cost_usd.as_ref().map(|cost| format!("${cost}")),
    ];
    let words: Vec<String> = parts.into_iter().flatten().collect();
    let about = if view.estimated { ABOUT } else { "" };
    format!("{about}{}", words.join(", "))
}

/// The same of an agent, with its name.
pub fn usage_of_agent(view: &AgentUsageView) -> String {
    format!("{}: {}", view.agent, usage(&view.usage))
}

/// A count of four digits at most.
fn short(n: u64) -> String {
    match n {
        0..10_000 => n.to_string(),
        10_000..1_000_000 => format!("{}.{}k", n / 1_000, n % 1_000 / 100),
        _ => format!("{}.{}M", n / 1_000_000, n % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use descent_core::view::usage::TokensView;

    #[test]
    fn what_was_not_told_is_left_out_and_an_estimate_is_marked() {
        let mut view = UsageView { calls: 1, ..UsageView::default() };
        assert_eq!(usage(&view), "1 call");
        view.tokens = TokensView { input: 12_000, output: 345, cached: 0 };
        view.cost_usd = Some("0.75".to_owned());
        view.estimated = true;
        assert_eq!(usage(&view), "≈ 1 call, 12.3k tokens, $0.75");
        assert_eq!([9_999, 10_000, 2_500_000].map(short), ["9999", "10.0k", "2.5M"]);
    }
}
