//! The criteria by which a pass of a run converges: a person's own, and other thresholds for those of the program.
//!
//! Invariant: none of them decides whether the base case holds. Not here: what is concluded (`assessment`).

use alloc::{format, string::String, vec::Vec};

use super::{check::Thousandths, fields::Fields, table::record, value::FieldValue};

/// Criteria at most.
pub const CRITERIA_MAX: usize = 10;
/// The criteria of the program: shares of 0 to 1 from which on they hold, in thousandths.
pub const OWN_CRITERIA: [(&str, Thousandths); 3] = [
    ("completeness", Thousandths(950)),
    ("coherence", Thousandths(900)),
    ("consistency", Thousandths(900)),
];

record! {
    /// Something that whoever assesses a pass scores from 0 to 1
    #[derive(PartialEq)]
    pub struct ConvergenceCriterion {
        /// `completeness`, `coherence` and `consistency` are there anyway: they get another threshold
        required name: String,
        /// Its meaning in words
        filled statement: String,
        /// The score from which on it holds, from 0 to 1
        required at_least: Thousandths,
    }
}

/// The threshold of a criterion of the program.
pub fn threshold(criteria: &[ConvergenceCriterion], name: &str) -> Thousandths {
    let given = criteria.iter().find(|one| one.name == name);
    let own = OWN_CRITERIA.iter().find(|(own, _)| *own == name);
    let own = own.map_or(Thousandths(1_000), |(_, at_least)| *at_least);
    given.map_or(own, |one| one.at_least)
}

/// A person's own criteria, without those of the program.
pub fn others(criteria: &[ConvergenceCriterion]) -> impl Iterator<Item = &ConvergenceCriterion> {
    let is_own = |name: &str| OWN_CRITERIA.iter().any(|(own, _)| *own == name);
    criteria.iter().filter(move |one| !is_own(&one.name))
}

/// Reads the criteria of the constraints.
pub(super) fn criteria(
    fields: &mut Fields<'_, '_>,
    key: &'static str,
) -> Option<Vec<ConvergenceCriterion>> {
    let all = Vec::<ConvergenceCriterion>::take(fields, key)?;
    let mut names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
    names.sort_unstable();
    let twice = names.windows(2).find(|pair| pair[0] == pair[1]);
    let wordless = others(&all).find(|one| one.statement.trim().is_empty());
    let high = all.iter().find(|one| one.at_least.0 > 1_000);
    let message = if all.len() > CRITERIA_MAX {
        format!("more than {CRITERIA_MAX} criteria")
    } else if let Some(pair) = twice {
        format!("two criteria are named `{}`", pair[0])
    } else if let Some(one) = high {
        format!("`at_least` of `{}` is above 1", one.name)
    } else if let Some(one) = wordless {
        format!("`{}` has no `statement`", one.name)
    } else {
        return Some(all);
    };
    let hint = "such as {\"name\": \"tested\", \"statement\": \"every part has a test\", \"at_least\": 0.8}";
    fields.fault_at(key, "bad-criteria", message, Some(hint.into()));
    None
}
