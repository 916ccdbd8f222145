//! The control law (contract §9.33): the distance of a result from the base case, what is used up, and the directive for
//! planners that follows.
//!
//! Invariant: it is arithmetic in whole thousandths, the same everywhere. It completes nothing, closes no context and
//! takes no attempt away. Not here: when a point is taken (`step/law_point`).

pub mod approach;
pub mod blocks;
pub mod distance;

use crate::doc::prelude::*;
use core::cmp::Ordering;

use crate::{
    id::Digest,
    state::{
        check::Thousandths,
        law::{
            Directive, DirectiveOutcome, FailureMix, Gradient, LawPoint, LawWeights, Loss,
            SignedThousandths,
        },
    },
};

/// The whole, in thousandths.
pub const ONE: u32 = 1_000;

/// The facts that a point is computed from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LawInputs {
    /// The distance, in thousandths.
    pub distance: u32,
    /// Failures of the pass, with the leaves of the base case that fail now.
    pub logical: u64,
    pub environmental: u64,
    /// The used share of the changes of the plan, in thousandths.
    pub changes: u32,
    /// That of the budget which is used up most; `None` where no budget is set.
    pub budgets: Option<u32>,
}

/// A point that follows another, or none; of which plan and when, its caller says.
pub fn point(
    rules: &LawWeights,
    inputs: &LawInputs,
    before: Option<&LawPoint>,
    failed_criterion: String,
) -> LawPoint {
    let loss = loss_of(rules, inputs);
    let (Thousandths(d), Thousandths(p)) = (loss.d, loss.p);
    let difference = |now: Thousandths, before: Option<Thousandths>| {
        before.map_or(0, |before| i64::from(now.0) - i64::from(before.0))
    };
    let grad_d = difference(loss.d, before.map(|before| before.loss.d));
    let grad_l = difference(loss.l, before.map(|before| before.loss.l));
    let gradient = gradient(rules, d, grad_d);
    let failure_class = match p.cmp(&rules.rho.0) {
        Ordering::Greater => FailureMix::Logical,
        Ordering::Less => FailureMix::Environmental,
        Ordering::Equal => FailureMix::Mixed,
    };
    let mut point = LawPoint {
        subject: Digest::default(),
        pass: 0,
        grad_d: signed(grad_d),
        grad_l: signed(grad_l),
        gradient,
        directive: directive(rules, d, p, loss.omega.0, gradient),
        prev_directive: before.map(|before| before.directive),
        failed_criterion,
        failure_class,
        rationale: String::new(),
        at: String::new(),
        loss,
        extra: Default::default(),
    };
    point.rationale = rationale(rules, &point);
    point
}

/// The numbers of a tree, where no directive is given.
pub fn loss_of(rules: &LawWeights, inputs: &LawInputs) -> Loss {
    let d = inputs.distance.min(ONE);
    let all = u128::from(inputs.logical) + u128::from(inputs.environmental);
    let share = (u128::from(inputs.logical) * u128::from(ONE)).checked_div(all);
    let p = u32::try_from(share.unwrap_or_default()).unwrap_or(ONE);
    let omega = omega(rules, inputs);
    Loss {
        d: Thousandths(d),
        p: Thousandths(p),
        omega: Thousandths(omega),
        l: Thousandths(loss(rules, d, p, omega)),
        extra: Default::default(),
    }
}

/// The change of the distance from a point to a base case that holds.
pub fn to_nothing(point: &LawPoint) -> SignedThousandths {
    signed(-i64::from(point.loss.d.0))
}

fn signed(value: i64) -> SignedThousandths {
    let one = i64::from(ONE);
    SignedThousandths(i32::try_from(value.clamp(-one, one)).unwrap_or_default())
}

/// The used share of changes and budgets. Without a budget the changes alone count.
fn omega(rules: &LawWeights, inputs: &LawInputs) -> u32 {
    let changes = inputs.changes.min(ONE);
    let Some(budgets) = inputs.budgets else { return changes };
    in_thousandths(weigh(rules.w1, changes) + weigh(rules.w2, budgets.min(ONE)))
}

/// It tells all in one number, and decides nothing.
fn loss(rules: &LawWeights, d: u32, p: u32, omega: u32) -> u32 {
    let left = u64::from(ONE - omega);
    let of_failures = u64::from(rules.beta.0) * left * u64::from(p) / u64::from(ONE);
    in_thousandths(weigh(rules.alpha, d) + of_failures + weigh(rules.lambda, omega))
}

/// In millionths.
fn weigh(weight: Thousandths, value: u32) -> u64 {
    u64::from(weight.0) * u64::from(value)
}

fn in_thousandths(millionths: u64) -> u32 {
    let rounded = (millionths + u64::from(ONE) / 2) / u64::from(ONE);
    u32::try_from(rounded).unwrap_or(ONE).min(ONE)
}

fn gradient(rules: &LawWeights, d: u32, change: i64) -> Gradient {
    let least = i64::from(rules.epsilon.0);
    match () {
        // Without a least change none counts as one.
        () if change < 0 && -change >= least => Gradient::Improving,
        () if change > 0 && change >= least => Gradient::Worsening,
        () if d > rules.delta.0 => Gradient::Plateau,
        () => Gradient::Stable,
    }
}

/// The table of directives, in its order.
fn directive(rules: &LawWeights, d: u32, p: u32, omega: u32, gradient: Gradient) -> Directive {
    if omega >= rules.abandon_omega.0 {
        return Directive::Abandon;
    }
    if d <= rules.delta.0 {
        return Directive::Refine;
    }
    let is_logical = p > rules.rho.0;
    match (gradient, is_logical) {
        (Gradient::Improving, _) => Directive::Refine,
        (Gradient::Plateau | Gradient::Stable, true) => Directive::BreakSymmetry,
        (Gradient::Plateau | Gradient::Stable, false) => Directive::ChangePath,
        (Gradient::Worsening, true) => Directive::ChangeApproach,
        (Gradient::Worsening, false) => Directive::Refine,
    }
}

/// A directive in words.
pub fn meaning(directive: Directive) -> &'static str {
    match directive {
        Directive::Refine => "keep the tools, mend what fails",
        Directive::ChangePath => "take the same approach to another target",
        Directive::ChangeApproach => "use another class of tool",
        Directive::BreakSymmetry => "use nothing of what was tried",
        Directive::Abandon => "no more planning: what the plan holds is tried to its end",
    }
}

/// Why a directive was given.
fn rationale(rules: &LawWeights, point: &LawPoint) -> String {
    let (Loss { d, omega, .. }, failed) = (&point.loss, &point.failed_criterion);
    let why = match point.directive {
        Directive::Abandon => {
            let limit = rules.abandon_omega.text();
            format!("{} of changes and budgets is used up, the limit is {limit}", omega.text())
        }
        _ if d.0 <= rules.delta.0 => {
            format!("the result is near: {} of the base case lacks", d.text())
        }
        _ => {
            let failures = match point.failure_class {
                FailureMix::Logical => "the work was wrong more often than hindered",
                FailureMix::Environmental => "the work was hindered more often than wrong",
                FailureMix::Mixed => "the work was wrong as often as hindered",
            };
            let is_first = point.prev_directive.is_none();
            let gradient = match point.gradient {
                Gradient::Improving => "the result came nearer",
                Gradient::Worsening => "the result is farther off than before",
                Gradient::Plateau | Gradient::Stable if is_first => "nothing to compare with yet",
                Gradient::Plateau | Gradient::Stable => "the result came no nearer",
            };
            format!("{gradient}, and {failures}")
        }
    };
    if failed.is_empty() { why } else { format!("{why}; it fails: {failed}") }
}

/// Whether the distance fell by as much as counts.
pub fn fell(rules: &LawWeights, grad_d: SignedThousandths) -> bool {
    grad_d.0 < 0 && i64::from(-grad_d.0) >= i64::from(rules.epsilon.0)
}

/// Counts what followed a directive: a fall of the distance that counts, or none.
pub fn count_outcome(
    rules: &LawWeights,
    outcomes: &mut alloc::vec::Vec<DirectiveOutcome>,
    before: Directive,
    grad_d: SignedThousandths,
) {
    let fell = fell(rules, grad_d);
    let known = outcomes.iter_mut().find(|one| one.directive == before);
    match known {
        Some(one) => {
            one.given += 1;
            one.followed += u64::from(fell);
        }
        None => outcomes.push(DirectiveOutcome {
            directive: before,
            given: 1,
            followed: u64::from(fell),
            extra: Default::default(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> LawWeights {
        LawWeights::OF_PROGRAM
    }

    fn inputs(distance: u32, logical: u64, environmental: u64) -> LawInputs {
        LawInputs { distance, logical, environmental, changes: 0, budgets: None }
    }

    fn point(d: u32) -> LawPoint {
        LawPoint {
            subject: crate::id::Digest::of(b""),
            pass: 1,
            loss: Loss {
                d: Thousandths(d),
                p: Thousandths(0),
                omega: Thousandths(0),
                l: Thousandths(0),
                extra: Default::default(),
            },
            grad_d: SignedThousandths(0),
            grad_l: SignedThousandths(0),
            gradient: Gradient::Plateau,
            directive: Directive::Refine,
            prev_directive: None,
            failed_criterion: String::new(),
            failure_class: FailureMix::Mixed,
            rationale: String::new(),
            at: String::new(),
            extra: Default::default(),
        }
    }

    #[test]
    fn the_table_holds_in_every_cell_and_in_its_order() {
        use Directive::{Abandon, BreakSymmetry, ChangeApproach, ChangePath, Refine};
        for (before, now, logical, environmental, omega, wanted) in [
            // A used-up budget comes before everything, nearness before the rest.
            (Some(900), 1_000, 1, 0, 800, Abandon),
            (Some(1_000), 300, 1, 0, 800, Abandon),
            (Some(100), 300, 1, 0, 799, Refine),
            (Some(1_000), 900, 1, 0, 0, Refine),
            (Some(1_000), 900, 0, 1, 0, Refine),
            (Some(1_000), 901, 1, 0, 0, BreakSymmetry),
            (Some(1_000), 901, 1, 1, 0, ChangePath),
            (Some(1_000), 901, 0, 1, 0, ChangePath),
            (Some(1_000), 901, 0, 0, 0, ChangePath),
            (Some(500), 600, 1, 0, 0, ChangeApproach),
            (Some(500), 600, 1, 1, 0, Refine),
            (Some(500), 599, 1, 0, 0, BreakSymmetry),
            (None, 1_000, 1, 0, 0, BreakSymmetry),
            (None, 1_000, 0, 0, 0, ChangePath),
            (None, 300, 1, 0, 0, Refine),
        ] {
            let inputs = LawInputs { changes: omega, ..inputs(now, logical, environmental) };
            let before = before.map(point);
            let told = super::point(&rules(), &inputs, before.as_ref(), String::new());
            assert_eq!(told.directive, wanted, "{before:?} {now} {logical} {omega}");
        }
    }

    #[test]
    fn every_number_is_from_0_to_1_whatever_it_is_computed_from() {
        let extremes = [0, 1, 500, 999, 1_000, u32::MAX];
        let counts = [0, 1, u64::MAX];
        let weights = [0, 333, 1_000].map(Thousandths);
        for distance in extremes {
            for changes in extremes {
                for budgets in extremes.map(Some).into_iter().chain([None]) {
                    for logical in counts {
                        for weight in weights {
                            let rules = LawWeights {
                                alpha: weight,
                                beta: weight,
                                lambda: weight,
                                w1: weight,
                                w2: weight,
                                epsilon: weight,
                                ..rules()
                            };
                            let inputs =
                                LawInputs { distance, logical, environmental: 1, changes, budgets };
                            let before = point(500);
                            let told = super::point(&rules, &inputs, Some(&before), String::new());
                            let all = [told.loss.d, told.loss.p, told.loss.omega, told.loss.l];
                            assert!(all.iter().all(|one| one.0 <= ONE), "{inputs:?}");
                            assert!(told.grad_d.0.abs() <= 1_000 && told.grad_l.0.abs() <= 1_000);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn the_loss_is_the_sum_of_the_design() {
        let inputs = LawInputs {
            distance: 400,
            logical: 2,
            environmental: 1,
            changes: 300,
            budgets: Some(300),
        };
        // 0.6 · 0.4 + 0.3 · 0.7 · 0.666 + 0.4 · 0.3 = 0.4999
        let told = super::point(&rules(), &inputs, None, String::new());
        assert_eq!((told.loss.p.0, told.loss.omega.0, told.loss.l.0), (666, 300, 500));
        assert_eq!(told.failure_class, FailureMix::Logical);
    }
}
