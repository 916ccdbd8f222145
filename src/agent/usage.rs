//! The usage that an agent tells of in its result file, and how keys of that file are read: untrusted input.

use descent_core::{
    doc::Node,
    state::{Micros, Tokens, Usage},
};

pub(super) type Reading<T> = Result<T, String>;

/// More than any account holds; larger amounts are cut.
const COUNT_MAX: u64 = 1 << 50;
const COST_MAX: Micros = Micros(COUNT_MAX);

pub(super) fn given<'n>(node: &'n Node, key: &str) -> Option<&'n Node> {
    node.get(key).filter(|node| !node.is_null())
}

pub(super) fn wrong(key: &str, found: &Node, wanted: &str) -> String {
    format!("`{key}` is {}, not {wanted}", found.kind_name())
}

/// The key `usage` of a result file.
pub(super) fn of(result: &Node) -> Reading<Usage> {
    let Some(usage) = given(result, "usage") else {
        return Ok(Usage::default());
    };
    if usage.as_object().is_none() {
        return Err(wrong("usage", usage, "an object"));
    }
    let count = |key| count(usage, key);
    let estimated = given(usage, "estimated");
    let estimated = estimated.map(|flag| {
        let flag = flag.as_bool();
        flag.ok_or_else(|| wrong("usage.estimated", usage, "true or false"))
    });
    Ok(Usage {
        calls: count("calls")?,
        tokens: Tokens::new(
            count("input_tokens")?,
            count("output_tokens")?,
            count("cached_tokens")?,
        ),
        cost: cost(usage)?,
        is_estimated: estimated.transpose()?.unwrap_or(false),
        ..Usage::default()
    })
}

fn count(usage: &Node, key: &str) -> Reading<u64> {
    let Some(node) = given(usage, key) else {
        return Ok(0);
    };
    let count = node.as_u64().or_else(|| node.as_str()?.parse().ok());
    let count = count.map(|count| count.min(COUNT_MAX));
    count.ok_or_else(|| wrong(&format!("usage.{key}"), node, "a whole number from 0 on"))
}

/// Programs print many digits: the rest of a millionth is rounded up.
fn cost(usage: &Node) -> Reading<Option<Micros>> {
    let Some(node) = given(usage, "cost_usd") else {
        return Ok(None);
    };
    let text = node.number_text().or_else(|| node.as_str());
    let cost = text.and_then(Micros::rounded_up);
    let cost = cost.map(|cost| cost.min(COST_MAX));
    let cost = cost.ok_or_else(|| wrong("usage.cost_usd", node, "an amount of dollars"))?;
    Ok(Some(cost))
}

#[cfg(test)]
mod tests {
    use super::*;
    use descent_core::doc;

    fn read(text: &str) -> Reading<Usage> {
        let parsed = doc::parse(text, &doc::Limits::default());
        of(&parsed.node.unwrap())
    }

    #[test]
    fn usage_is_read_with_all_its_parts() {
        let usage = read(
            r#"{"usage": {"calls": 2, "input_tokens": 10, "output_tokens": 3, "cached_tokens": 4,
                "cost_usd": "0.12", "estimated": true}}"#,
        );
        let usage = usage.unwrap();
        assert_eq!((usage.calls, usage.tokens.total()), (2, 17));
        assert_eq!((usage.cost, usage.is_estimated), (Some(Micros(120_000)), true));
        assert!(read("{}").unwrap().is_none());
    }

    #[test]
    fn money_is_read_as_programs_print_it_and_rounded_up() {
        for (text, micros) in [
            ("0.0123456789", 12_346),
            ("1e-05", 10),
            ("1.5e1", 15_000_000),
            ("3", 3_000_000),
            ("\"0.1\"", 100_000),
            ("1e300", COUNT_MAX),
        ] {
            let usage = read(&format!(r#"{{"usage": {{"cost_usd": {text}}}}}"#)).unwrap();
            assert_eq!(usage.cost, Some(Micros(micros)), "{text}");
        }
    }

    #[test]
    fn usage_that_cannot_be_is_refused() {
        for text in [
            r#"{"usage": 1}"#,
            r#"{"usage": {"calls": -1}}"#,
            r#"{"usage": {"calls": 1.5}}"#,
            r#"{"usage": {"input_tokens": "many"}}"#,
            r#"{"usage": {"cost_usd": -0.1}}"#,
            r#"{"usage": {"cost_usd": "free"}}"#,
            r#"{"usage": {"estimated": 1}}"#,
        ] {
            let fault = read(text).unwrap_err();
            assert!(fault.contains("`usage"), "{fault}");
        }
    }
}
