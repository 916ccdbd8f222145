//! Issues of a plan as the state keeps them, and who looked at a planner's plan.
//!
//! Invariant: none of it decides a result. Not here: the rules (`judging`), when somebody is asked (`step/gate`).

use alloc::{format, string::String, vec::Vec};

use super::{
    check::Thousandths,
    fields::Fields,
    table::{record, words},
    value::FieldValue,
};
use crate::id::{AgentName, AtomId, Digest};

/// Issues kept of one report: the heaviest.
pub const ISSUES_MAX: usize = 20;
/// Repairs that were not made, kept at most: the newest.
pub const ADVISORIES_MAX: usize = 20;
/// So many passes that were taken for converged though the base case did not hold are told.
pub const MISTAKEN_TOLD: u32 = 2;
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
        always[program] location: String,
        always[program] description: String,
        filled[program] proposed_repair: String,
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

record! {
    /// The newest report on a plan: advice, not proof
    #[derive(PartialEq)]
    pub struct ValidationRecord {
        /// The planning step whose plan it is
        required[program] atom: AtomId,
        /// A digest of what was judged
        required[program] subject: Digest,
        required[program] by: JudgedBy,
        optional[program] agent: AgentName,
        always[program] at: String,
        filled[program] because: String,
        filled[program] issues: Vec<IssueRecord>,
        /// Issues of the judging agent that name no atom of the plan
        filled[program] unplaced: u32,
    }
}

record! {
    /// The newest report across the phases of a pass: advice, not proof
    #[derive(PartialEq)]
    pub struct ReviewRecord {
        /// A digest of the plan and of what was tried in it
        required[program] subject: Digest,
        required[program] agent: AgentName,
        always[program] pass: u64,
        always[program] at: String,
        /// Why nobody looked
        filled[program] because: String,
        filled[program] issues: Vec<IssueRecord>,
        /// Issues that name no atom of the plan
        filled[program] unplaced: u32,
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
        required[program] score: Thousandths,
    }
}

record! {
    /// The newest opinion of a judging agent about a pass: advice, not proof
    #[derive(PartialEq)]
    pub struct AssessmentRecord {
        /// A digest of the plan and of what was tried in it
        required[program] subject: Digest,
        required[program] agent: AgentName,
        always[program] pass: u64,
        always[program] at: String,
        /// Why nobody assessed it
        filled[program] because: String,
        /// By code, from what the agent said; absent where nobody did
        optional[program] converged: bool,
        /// Words of `AssessmentCode`, and of later versions
        filled[program] reason_codes: Vec<String>,
        optional[program] completeness: Thousandths,
        optional[program] coherence: Thousandths,
        /// The share of plan, step, answer and memory that is aligned with the goal
        optional[program] consistency: Thousandths,
        filled[program] missing: Vec<String>,
        filled[program] contradictions: Vec<String>,
        filled[program] blame: Vec<AtomId>,
        filled[program] criteria: Vec<CriterionScore>,
        optional[program] complexity: Complexity,
    }
}

record! {
    /// The newest question to a refiner, and what came of it
    #[derive(PartialEq)]
    pub struct RefinementRecord {
        /// A digest of the plan and of what was tried in it
        required[program] subject: Digest,
        required[program] agent: AgentName,
        always[program] taken: bool,
        /// Why it was not
        filled[program] because: String,
        always[program] at: String,
    }
}

record! {
    /// The newest question for the wording of a final answer, and why its answer was not used
    #[derive(PartialEq)]
    pub struct WordingRecord {
        /// A digest of the ending: the same is asked about once
        required[program] subject: Digest,
        required[program] agent: AgentName,
        always[program] at: String,
        filled[program] because: String,
        /// The answer in words; absent where none was used
        optional[program] words: WordedAnswer,
    }
}

record! {
    /// The words of an agent about an ending
    #[derive(PartialEq)]
    pub struct WordedAnswer {
        always[program] text: String,
        filled[program] notes: Vec<String>,
        /// Things that were asked for and are not there, or the other way round
        filled[program] drift: Vec<String>,
    }
}

record! {
    /// The newest report and open advice of judging: nothing of it decides
    #[derive(PartialEq, Default)]
    pub struct JudgingRecord {
        optional[program] validation: ValidationRecord,
        optional[program] review: ReviewRecord,
        /// Repairs that were proposed and not made, the oldest first
        filled[program] advisories: Vec<IssueRecord>,
        optional[program] assessment: AssessmentRecord,
        /// Passes that were said to have converged though the base case did not hold
        filled[program] mistaken: u32,
        /// Proposals that were refused for what was not theirs to propose
        filled[program] overstepped: u32,
        optional[program] refinement: RefinementRecord,
        /// Digests of the changes that refiners proposed, the oldest first
        filled[program] deltas: Vec<Digest>,
        optional[program] wording: WordingRecord,
    }
}

impl JudgingRecord {
    /// The issues of the newest report on a plan, and of the newest across phases.
    pub fn issues(&self) -> impl Iterator<Item = &IssueRecord> {
        let of_plan = self.validation.iter().flat_map(|report| &report.issues);
        let across = self.review.iter().flat_map(|report| &report.issues);
        of_plan.chain(across)
    }

    /// Whether whoever assesses passes was wrong so often that it is told.
    pub fn assessor_errs(&self) -> bool {
        self.mistaken >= MISTAKEN_TOLD
    }

    /// Counts a proposal that was refused for what was not its role's to propose.
    pub fn count_overstep(&mut self) {
        self.overstepped = self.overstepped.saturating_add(1);
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
