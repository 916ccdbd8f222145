//! Refusals of a step that only a mistake in the code can cause.

use num_bigint::BigUint;

use super::{Refusal, transaction::hold};
use crate::measure::Measure;

#[test]
fn a_measure_that_rises_is_refused_with_both_values() {
    let measure = |attempts: u32, verdicts: u32| Measure {
        attempts: BigUint::from(attempts),
        verdicts: BigUint::from(verdicts),
    };
    let before = measure(3, 2);
    for after in [measure(3, 2), measure(3, 1), measure(2, 9)] {
        assert_eq!(hold(&before, &after), Ok(()), "{after:?}");
    }
    for (after, told) in [(measure(3, 3), "3, 3"), (measure(4, 0), "4, 0")] {
        let refusal = Refusal::MeasureRose { before: "3, 2".into(), after: told.into() };
        assert_eq!(hold(&before, &after), Err(refusal));
    }
}
