//! Issues of a plan as the state keeps them, and who looked at a planner's plan.
//!
//! Invariant: none of it decides a result. Not here: the rules (`judging`), when somebody is asked (`step/gate`).

use super::{
    answer_texts::{line, said, share},
    check::Thousandths,
    fields::Fields,
    rule::Form,
    table::{record, words},
    value::FieldValue,
};
use crate::doc::prelude::*;

/// Issues kept of one report: the heaviest.
pub const ISSUES_MAX: usize = 20;
/// Repairs that were not made, kept at most: the newest.
pub const ADVISORIES_MAX: usize = 20;
/// Digests kept of changes that refiners proposed: the newest.
pub const DELTAS_MAX: usize = 50;

words! {
    /// The subject of an issue
    pub enum IssueType {
        /// Nobody can tell what is to be done, or when it is done
        Specificity = "specificity",
        /// It has no part in the goal
        Relevance = "relevance",
        /// Two parts of the plan do not fit together
        Consistency = "consistency",
        /// It names something that is not there
        Hallucination = "hallucination",
        /// It does something else than it says
        DoSayMismatch = "do_say_mismatch",
    }
}

words! {
    /// The weight of an issue; a high one of a rule refuses a planner's plan
    pub enum Severity {
        High = "high",
        Medium = "medium",
        Low = "low",
    }
}

words! {
    /// Who looked at a planner's plan
    pub enum JudgedBy {
        /// The rules alone
        Code = "code",
        /// The rules and a judging agent
        Model = "model",
        /// The rules; the judging agent gave no answer that could be used
        Nobody = "nobody",
    }
}

words! {
    /// How much a planner's plan is looked at before it is carried out
    pub enum JudgingLevel {
        /// Not at all
        Off = "off",
        /// By rules
        Code = "code",
        /// Also by a judging agent
        Model = "model",
        /// Also all steps together, at the end of a pass
        Full = "full",
    }
}

record! {
    /// Something that is wrong with a plan, as far as somebody can tell
    #[derive(PartialEq)]
    pub struct IssueRecord {
        /// The rule that tells it; absent of a judging agent's
        optional[program] rule: String,
        required[program] kind as "type": IssueType,
        required[program] severity: Severity,
        /// The atom
        required(said)[program] location: String,
        required(said)[program] description: String,
        filled(line)[program] proposed_repair: String,
    }
}

record! {
    /// Who looked at a plan, and with how many issues it may be carried out
    #[derive(PartialEq)]
    pub struct JudgedMark {
        required[program] by: JudgedBy,
        always[program] at: String,
        always[program] issues: u32,
        /// Why the judging agent gave no answer
        filled[program] because: String,
        /// The issues for which it was planned again
        filled[program] found: Vec<IssueRecord>,
    }
}

words! {
    /// A reason for what is said of a pass, by code
    pub enum AssessmentCode {
        /// All that was asked for is done, as far as its judge can tell
        Complete = "complete",
        Incomplete = "incomplete",
        /// Something that the goal needs is no step of the plan
        MissingStep = "missing_step",
        /// Two things that were done contradict each other
        Contradiction = "contradiction",
        Incoherent = "incoherent",
        /// Plan, steps, answer or memory are not aligned with the goal
        Inconsistent = "inconsistent",
        /// An open issue names something that is not there
        HallucinatedTool = "hallucinated_tool",
        BaseCaseUnmet = "base_case_unmet",
        /// A task said that it cannot be done
        BlockedAtoms = "blocked_atoms",
        /// Nobody gave an opinion that can be used
        NotAssessed = "not_assessed",
    }
}

words! {
    /// How hard a task turned out to be
    pub enum Complexity {
        AsExpected = "as_expected",
        Higher = "higher",
        Lower = "lower",
    }
}

record! {
    /// The score of a person's own criterion, from 0 to 1
    #[derive(PartialEq)]
    pub struct CriterionScore {
        required[program] name: String,
        required(share)[program] score: Thousandths {Form::Share},
    }
}

impl Severity {
    /// 0 is the heaviest.
    pub fn rank(self) -> usize {
        self as usize
    }

    /// Whether a plan with it is made again where that is possible.
    pub fn is_heavy(self) -> bool {
        self != Self::Low
    }
}

impl JudgingLevel {
    /// Whether a judging agent is asked.
    pub fn asks(self) -> bool {
        matches!(self, Self::Model | Self::Full)
    }
}

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
