//! The distance of a result from the base case, from 0 to 1 in thousandths.
//!
//! Invariant: it is 0 exactly when the base case holds. It is rounded up, so that it is 0 only where nothing is missing.

use super::ONE;
use crate::{
    state::{
        Check, CheckKind, Leaf, Rating, Run,
        check::{NumberRule, QualityLeaf, number_of},
    },
    verdict::{CheckProgress, Evaluator, MeasurementKind, Verdict},
};

/// The least distance of something that does not hold.
const LEAST: u32 = 1;

/// The first number of a leaf on the wrong side of its limit.
fn first_number(run: &Run, leaf: &Check) -> Option<f64> {
    let key = leaf.key();
    let known = run.law.as_ref()?.firsts.iter().find(|one| one.leaf == key)?;
    number_of(&known.value)
}

/// The distance of a check on the tree that is looked at. An `all` is as far as its members on average, an `any` as its
/// nearest member. A run knows the first numbers of its leaves, and the pass that ratings are of.
pub fn distance(evaluator: Evaluator<'_>, check: &Check, run: &Run) -> u32 {
    match &check.kind {
        CheckKind::Leaf(leaf) => of_leaf(evaluator, check, leaf, run),
        CheckKind::All(parts) => {
            let sum: u64 = parts.iter().map(|part| u64::from(distance(evaluator, part, run))).sum();
            let count = parts.len() as u64;
            let mean = sum.checked_add(count.saturating_sub(1));
            let mean = mean.and_then(|sum| sum.checked_div(count)).unwrap_or(0);
            u32::try_from(mean).unwrap_or(ONE).min(ONE)
        }
        CheckKind::Any(parts) => {
            parts.iter().map(|part| distance(evaluator, part, run)).min().unwrap_or(ONE)
        }
    }
}

fn of_leaf(evaluator: Evaluator<'_>, check: &Check, leaf: &Leaf, run: &Run) -> u32 {
    match (evaluator.judge(check), leaf) {
        (CheckProgress::Decided(Verdict::Pass), _) => return 0,
        (CheckProgress::Decided(Verdict::Fail), Leaf::Quality(leaf)) => {
            return failed_share(evaluator, check, leaf, run.pass);
        }
        _ => {}
    }
    let far = wrong_number(evaluator, check, leaf)
        .map(|(rule, value)| how_far(rule, value, first_number(run, check).unwrap_or(value)));
    far.flatten().unwrap_or(ONE)
}

/// The share of the ratings of a leaf that do not pass: of those of this pass, and that of this tree.
fn failed_share(evaluator: Evaluator<'_>, check: &Check, leaf: &QualityLeaf, pass: u64) -> u32 {
    let (key, on) = (check.key(), evaluator.basis.text());
    let is_of =
        |one: &&Rating| one.leaf == key && one.atom.is_none() && (one.pass == pass || one.on == on);
    let ratings = evaluator.ratings.iter().filter(is_of);
    let (mut failed, mut rated) = (0_u32, 0_u32);
    for passes in ratings.filter_map(|one| one.passes(leaf)) {
        rated = rated.saturating_add(1);
        failed = failed.saturating_add(u32::from(!passes));
    }
    let share = failed.saturating_mul(ONE).checked_add(rated.saturating_sub(1));
    share.and_then(|share| share.checked_div(rated)).unwrap_or(ONE).clamp(LEAST, ONE)
}

/// The number of a leaf that was measured and is on the wrong side of its limit.
pub fn wrong_number<'c>(
    evaluator: Evaluator<'_>,
    check: &Check,
    leaf: &'c Leaf,
) -> Option<(&'c NumberRule, f64)> {
    let Leaf::Command(leaf) = leaf else { return None };
    let rule = leaf.number.as_ref()?;
    match evaluator.cache.get(&check.key(), evaluator.basis)?.measurement.what {
        MeasurementKind::Command { number: Some(value), .. }
            if rule.holds(value) == Some(false) =>
        {
            Some((rule, value))
        }
        _ => None,
    }
}

/// The part of the way from the first number to the limit that is still to go; none where the limit is of the other side.
fn how_far(rule: &NumberRule, value: f64, first: f64) -> Option<u32> {
    let limit = rule.limit_broken_by(value)?;
    // Halves, so that two numbers of different signs do not overflow.
    let (left, whole) = (limit / 2.0 - value / 2.0, limit / 2.0 - first / 2.0);
    // The first number was on the other side: there is no way to compare with.
    if whole == 0.0 || (left > 0.0) != (whole > 0.0) {
        return Some(ONE);
    }
    let share = left / whole * f64::from(ONE);
    let mut thousandths = ONE;
    if share < f64::from(ONE) {
        thousandths = share as u32;
        thousandths += u32::from(f64::from(thousandths) < share);
    }
    Some(thousandths.clamp(LEAST, ONE))
}

#[cfg(test)]
mod tests {
    use alloc::{string::String, vec::Vec};

    use super::*;
    use crate::{
        doc,
        id::{AgentName, TreeId},
        state::{
            check::{Thousandths, number_node},
            fields::Findings,
            law::{FirstNumber, LawRecord},
        },
        verdict::{Basis, CommandEnd, EvidenceCache, Measurement},
    };

    fn check(text: &str) -> Check {
        let node = doc::parse(text, &doc::Limits::default()).node.unwrap();
        let mut found = Findings::default();
        let check = Check::read(&node, "", &mut found).unwrap();
        assert_eq!(found.faults, [], "{text}");
        check
    }

    /// The distance, where each leaf by its name ended with a code, and told a number.
    fn of(text: &str, seen: &[(&str, i32, Option<f64>)], firsts: &[(&str, f64)]) -> (u32, bool) {
        let check = check(text);
        let basis = Basis::Pristine(TreeId::new("t"));
        let mut cache = EvidenceCache::default();
        for leaf in check.leaves() {
            let name = leaf.name.as_deref().unwrap();
            let Some((_, code, number)) = seen.iter().find(|(one, ..)| *one == name) else {
                continue;
            };
            let measurement = Measurement {
                what: MeasurementKind::Command {
                    how: CommandEnd::Exit(*code),
                    matched: None,
                    number: *number,
                },
                duration_ms: 0,
                excerpt: String::new(),
                whole: None,
            };
            cache.record(leaf, &basis, measurement);
        }
        let evaluator = Evaluator {
            cache: &cache,
            basis: &basis,
            corrections: &[],
            ratings: &[],
            again_max: 0,
            attempt: None,
        };
        let leaves = check.leaves().into_iter();
        let first = leaves.filter_map(|leaf| {
            let (_, value) = firsts.iter().find(|(name, _)| leaf.name.as_deref() == Some(name))?;
            let (leaf, value) = (leaf.key(), number_node(*value));
            Some(FirstNumber { leaf, value, extra: Default::default() })
        });
        let law = LawRecord { firsts: first.collect(), ..LawRecord::default() };
        let holds = evaluator.judge(&check) == CheckProgress::Decided(Verdict::Pass);
        let run = Run { law: Some(law), pass: 1, ..Run::default() };
        (distance(evaluator, &check, &run), holds)
    }

    fn leaf(name: &str) -> String {
        alloc::format!(r#"{{"name": "{name}", "command": "{name}"}}"#)
    }

    fn number(limits: &str) -> String {
        alloc::format!(r#"{{"name": "n", "command": "n", "number": "(\\d+)", {limits}}}"#)
    }

    #[test]
    fn an_all_is_the_mean_and_an_any_the_nearest_rounded_up() {
        let (a, b, c) = (leaf("a"), leaf("b"), leaf("c"));
        let all = alloc::format!(r#"{{"all": [{a}, {b}, {c}]}}"#);
        assert_eq!(of(&all, &[("a", 0, None), ("b", 0, None)], &[]).0, 334);
        let any = alloc::format!(r#"{{"any": [{a}, {all}]}}"#);
        assert_eq!(of(&any, &[("b", 0, None)], &[]).0, 667);
        assert_eq!(of(&any, &[("a", 0, None)], &[]), (0, true));
        assert_eq!(of(&leaf("a"), &[("a", 1, None)], &[]).0, 1_000);
    }

    #[test]
    fn a_number_is_as_far_as_the_part_of_its_way_that_is_left() {
        let most = number(r#""at_most": 0"#);
        for (value, first, wanted) in [
            (17.0, None, 1_000),
            (17.0, Some(17.0), 1_000),
            (20.0, Some(17.0), 1_000),
            (8.5, Some(17.0), 500),
            (1.0, Some(17.0), 59),
            (0.000_1, Some(17.0), 1),
            (5.0, Some(-3.0), 1_000),
        ] {
            let firsts: Vec<(&str, f64)> = first.map(|first| ("n", first)).into_iter().collect();
            assert_eq!(of(&most, &[("n", 0, Some(value))], &firsts).0, wanted, "{value}");
        }
        let least = number(r#""at_least": 10"#);
        assert_eq!(of(&least, &[("n", 0, Some(8.0))], &[("n", 6.0)]).0, 500);
        // The number fits, and the command failed: nothing is near.
        assert_eq!(of(&least, &[("n", 1, Some(12.0))], &[("n", 6.0)]).0, 1_000);
        assert_eq!(of(&least, &[("n", 0, None)], &[]).0, 1_000);
    }

    #[test]
    fn it_is_0_exactly_when_the_check_holds() {
        let (a, b, c) = (leaf("a"), leaf("b"), number(r#""at_least": 10, "at_most": 20"#));
        let tree =
            alloc::format!(r#"{{"all": [{{"any": [{a}, {b}]}}, {c}, {{"all": [{a}, {c}]}}]}}"#);
        for a in [None, Some(0), Some(1), Some(127)] {
            for b in [None, Some(0), Some(1)] {
                for n in [None, Some(9.9), Some(10.0), Some(20.0), Some(1e300), Some(-1e300)] {
                    let mut seen = Vec::new();
                    seen.extend(a.map(|code| ("a", code, None)));
                    seen.extend(b.map(|code| ("b", code, None)));
                    seen.push(("n", 0, n));
                    let (distance, holds) = of(&tree, &seen, &[("n", 5.0)]);
                    assert_eq!(distance == 0, holds, "{seen:?}");
                    assert!(distance <= ONE);
                }
            }
        }
    }

    /// The distance of a quality leaf on the tree `t` in pass 2, by ratings (their tree, pass and score).
    fn rated(ratings: &[(&str, u64, Option<u32>)]) -> (u32, bool) {
        let check = check(r#"{"quality": "readable", "pass_threshold": 0.8}"#);
        let basis = |tree: &str| Basis::Pristine(TreeId::new(tree));
        let one = |(tree, pass, score): &(&str, u64, Option<u32>)| Rating {
            leaf: check.key(),
            on: basis(tree).text(),
            atom: None,
            samples: Vec::new(),
            by: AgentName::from("j"),
            score: score.map(Thousandths),
            asked: 1,
            because: String::new(),
            pass: *pass,
            at: String::new(),
            extra: Default::default(),
        };
        let ratings: Vec<Rating> = ratings.iter().map(one).collect();
        let evaluator = Evaluator {
            cache: &EvidenceCache::default(),
            basis: &basis("t"),
            corrections: &[],
            ratings: &ratings,
            again_max: 0,
            attempt: None,
        };
        let run = Run { pass: 2, ..Run::default() };
        let holds = evaluator.judge(&check) == CheckProgress::Decided(Verdict::Pass);
        (distance(evaluator, &check, &run), holds)
    }

    #[test]
    fn a_quality_leaf_is_as_far_as_the_share_of_ratings_of_the_pass_that_do_not_pass() {
        let (good, bad) = (Some(900), Some(100));
        for (ratings, wanted) in [
            (&[][..], 1_000),
            (&[("t", 2, bad)], 1_000),
            (&[("u", 2, good), ("t", 2, bad)], 500),
            (&[("u", 2, good), ("v", 2, good), ("t", 2, bad)], 334),
            (&[("u", 2, bad), ("v", 2, good), ("t", 2, bad)], 667),
            // One of an earlier pass counts on this tree alone, and one without a score nowhere.
            (&[("u", 1, good), ("t", 2, bad)], 1_000),
            (&[("u", 2, good), ("t", 1, bad)], 500),
            (&[("u", 2, good), ("v", 2, None), ("t", 2, bad)], 500),
            // Nobody rated this tree.
            (&[("u", 2, good)], 1_000),
            (&[("u", 2, good), ("t", 2, None)], 1_000),
            (&[("u", 2, bad), ("t", 2, good)], 0),
        ] {
            assert_eq!(rated(ratings).0, wanted, "{ratings:?}");
        }
    }

    #[test]
    fn a_quality_leaf_is_at_0_exactly_when_it_holds() {
        let scores = [None, Some(0), Some(799), Some(800), Some(1_000)];
        for here in scores {
            for (others, pass) in [(0, 2), (1, 2), (7, 1), (49, 2)] {
                for other in scores {
                    let mut ratings: Vec<_> = (0..others).map(|_| ("u", pass, other)).collect();
                    ratings.push(("t", 2, here));
                    let (distance, holds) = rated(&ratings);
                    assert_eq!(distance == 0, holds, "{ratings:?}");
                    assert!(distance <= ONE);
                }
            }
        }
    }

    /// A number below `most` from a seed.
    fn chance(seed: &mut u64, most: u64) -> u64 {
        *seed =
            seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 33) % most
    }

    /// A base case by chance, and what its leaves showed: pass, fail, undecided, not measured, and numbers.
    fn grown(seed: &mut u64, depth: u64, seen: &mut Vec<(String, i32, Option<f64>)>) -> String {
        if depth < 4 && (depth == 0 || chance(seed, 100) < 45) {
            let parts: Vec<String> =
                (0..1 + chance(seed, 4)).map(|_| grown(seed, depth + 1, seen)).collect();
            let kind = ["all", "any"][chance(seed, 2) as usize];
            return alloc::format!(r#"{{"{kind}": [{}]}}"#, parts.join(", "));
        }
        let name = alloc::format!("n{}", seen.len());
        let code = [0, 0, 0, 1, 127][chance(seed, 5) as usize];
        let value = [0.0, 4.9, 5.0, 7.0, 10.0, 10.1, 1e300, -1e300, f64::NAN];
        let value = value.get(chance(seed, 11) as usize).copied();
        let limits = [r#""at_most": 5"#, r#""at_least": 10"#, r#""at_least": 5, "at_most": 10"#];
        let limits = limits[chance(seed, 3) as usize];
        let is_number = chance(seed, 2) == 0;
        let code = if chance(seed, 8) == 0 { i32::MIN } else { code };
        seen.push((name.clone(), code, value));
        if is_number {
            alloc::format!(
                r#"{{"name": "{name}", "command": "{name}", "number": "(\\d+)", {limits}}}"#
            )
        } else {
            leaf(&name)
        }
    }

    #[test]
    fn of_base_cases_by_chance_too_it_is_0_exactly_when_the_check_holds() {
        let mut held = 0;
        for number in 0..4_000_u64 {
            let (mut seed, mut seen) = (number * 7_919, Vec::new());
            let tree = grown(&mut seed, 0, &mut seen);
            let measured = seen.iter().filter(|(_, code, _)| *code != i32::MIN);
            let measured: Vec<(&str, i32, Option<f64>)> =
                measured.map(|(name, code, value)| (name.as_str(), *code, *value)).collect();
            let firsts: Vec<(&str, f64)> = seen
                .iter()
                .filter(|_| chance(&mut seed, 2) == 0)
                .map(|(name, ..)| (name.as_str(), [3.0, 8.0, 12.0, -1e300][measured.len() % 4]))
                .collect();
            let (distance, holds) = of(&tree, &measured, &firsts);
            assert_eq!(distance == 0, holds, "{number}: {tree} {measured:?}");
            assert!(distance <= ONE, "{number}: {tree} {measured:?}");
            held += usize::from(holds);
        }
        assert!(held > 400 && held < 3_600, "{held} held: too uniform");
    }
}
