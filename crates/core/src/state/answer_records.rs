//! The answers of agents that think: the form of each, and what the state keeps of one.
//!
//! Invariant: an answer is taken whole or not at all. An unknown key says nothing, unless it is a misspelt one. Not here:
//! which question has which form (`consult`), the JSON Schemas (`answer_forms`).

use super::{
    AnswerForm, AssessmentCode, Complexity, CriterionScore, IssueRecord, JudgedBy, Question,
    answer_texts::{
        ATTEMPTS_MAX, TEXT_CHARS_MAX, attempts, dollars, few, few_ids, few_texts, findings, line,
        share, text,
    },
    check::Thousandths,
    fields::{DurationText, Fields},
    judged::{self, ConvergenceCriterion},
    profile::TaskProfile,
    rule::Form,
    table::record,
    usage::Micros,
    value::FieldValue,
};
use crate::doc::prelude::*;
use crate::{
    doc::Node,
    id::{AgentName, AtomId, Digest},
};

/// So many passes that were taken for converged though the base case did not hold are told.
pub const MISTAKEN_TOLD: u32 = 2;

record! {
    /// An answer in words
    #[derive(PartialEq)]
    pub struct TextAnswer {
        required(text)[program] text: String {Form::Short(TEXT_CHARS_MAX)},
        /// A reader should know these beside it
        filled(few)[program] notes: Vec<String> {few_texts()},
        /// Wishes that are not there, and things that nobody asked for
        filled(few)[program] drift: Vec<String> {few_texts()},
    }
}

record! {
    /// The issues of a plan: none is a good answer
    #[derive(PartialEq, Default)]
    pub struct IssuesAnswer {
        required[program] issues: Vec<IssueRecord>,
        /// Those that name no atom of the plan
        filled[program] unplaced: u32,
    }
}

record! {
    /// The parts of a run that are aligned with its goal
    #[derive(PartialEq)]
    pub struct AlignedParts {
        required[program] plan: bool,
        required[program] step: bool,
        required[program] answer: bool,
        required[program] memory: bool,
    }
}

record! {
    /// An opinion of a pass: advice, not proof
    #[derive(PartialEq)]
    pub struct PassAnswer {
        required(share)[program] completeness: Thousandths {Form::Share},
        required(share)[program] coherence: Thousandths {Form::Share},
        required[program] aligned: AlignedParts,
        filled(few)[program] missing: Vec<String> {few_texts()},
        filled(few)[program] contradictions: Vec<String> {few_texts()},
        /// Atoms to blame
        filled(few_ids)[program] blame: Vec<AtomId> {few_texts()},
        /// A score from 0 to 1 of each criterion that was given
        filled[program] criteria: Vec<CriterionScore>,
        optional[program] complexity: Complexity,
        /// Misfits across the steps
        filled[program] issues: Vec<IssueRecord>,
    }
}

record! {
    /// The kind of a task, with the reasons
    #[derive(PartialEq)]
    pub struct KindAnswer {
        part[program] profile: TaskProfile,
        /// The reasons, in two sentences
        filled(line)[program] raw_inference: String,
    }
}

record! {
    /// The estimate of a probe, as it says it
    #[derive(PartialEq, Default)]
    pub struct CostEstimate {
        /// Attempts that it may take
        optional(attempts) attempts: u32 {Form::Whole(1, ATTEMPTS_MAX)},
        /// Active time that it may take
        optional time: DurationText,
        optional(dollars) cost_usd: Micros,
    }
}

record! {
    /// The finding of a probe
    #[derive(PartialEq)]
    pub struct ProbeAnswer {
        required[program] feasible: bool,
        required(findings)[program] findings: String,
        optional[program] cost_estimate: CostEstimate,
    }
}

record! {
    /// The newest answer to a question, or why there is none: advice, not proof
    #[derive(PartialEq)]
    pub struct AnswerRecord {
        required[program] question: Question,
        /// The planning step that it is about
        optional[program] atom: AtomId,
        /// A digest of all that it is about: the same is asked about once
        required[program] subject: Digest,
        /// Absent where rules alone answered
        optional[program] agent: AgentName,
        filled[program] pass: u64,
        always[program] at: String,
        /// Why there is no answer, or none that was taken
        filled[program] because: String,
        /// Conclusions of code, in words for programs
        filled[program] codes: Vec<String>,
        optional[program] answer: KeptAnswer,
    }
}

/// An answer that the state keeps.
#[derive(Debug, Clone, PartialEq)]
pub enum KeptAnswer {
    Text(TextAnswer),
    Issues(IssuesAnswer),
    Opinion(PassAnswer),
}

impl FieldValue for KeptAnswer {
    fn form() -> Form {
        Form::Either(Vec::from([
            Form::Record(&PassAnswer::RULE),
            Form::Record(&IssuesAnswer::RULE),
            Form::Record(&TextAnswer::RULE),
        ]))
    }

    fn take(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<Self> {
        let question = fields.node.get("question").and_then(Node::as_str);
        let form = question.and_then(Question::of_word)?.row().form;
        match form {
            AnswerForm::Issues => FieldValue::take(fields, key).map(Self::Issues),
            AnswerForm::Opinion => FieldValue::take(fields, key).map(Self::Opinion),
            _ => FieldValue::take(fields, key).map(Self::Text),
        }
    }

    fn node(&self) -> Node {
        match self {
            Self::Text(answer) => answer.node(),
            Self::Issues(answer) => answer.node(),
            Self::Opinion(answer) => answer.node(),
        }
    }
}

impl AnswerRecord {
    /// Who looked, of a report on a plan: rules always did.
    pub fn by(&self) -> JudgedBy {
        match (&self.agent, self.because.as_str()) {
            (Some(_), "") => JudgedBy::Model,
            (None, "") => JudgedBy::Code,
            _ => JudgedBy::Nobody,
        }
    }

    /// The issues in it.
    pub fn issues(&self) -> &[IssueRecord] {
        match &self.answer {
            Some(KeptAnswer::Issues(found)) => &found.issues,
            Some(KeptAnswer::Opinion(said)) => &said.issues,
            _ => &[],
        }
    }

    /// The words in it; none without an answer in words.
    pub fn text(&self) -> Option<&TextAnswer> {
        match &self.answer {
            Some(KeptAnswer::Text(answer)) => Some(answer),
            _ => None,
        }
    }

    /// The opinion of a pass in it.
    pub fn opinion(&self) -> Option<&PassAnswer> {
        match &self.answer {
            Some(KeptAnswer::Opinion(answer)) => Some(answer),
            _ => None,
        }
    }
}

impl IssuesAnswer {
    pub fn of(issues: Vec<IssueRecord>) -> Self {
        Self { issues, ..Self::default() }
    }
}

impl PassAnswer {
    /// The share of the parts that are aligned with the goal.
    pub fn consistency(&self) -> Thousandths {
        let AlignedParts { plan, step, answer, memory, .. } = &self.aligned;
        Thousandths([plan, step, answer, memory].map(|holds| u32::from(*holds) * 250).iter().sum())
    }

    /// Whether the pass did all that was asked of it, as far as its judge can tell.
    pub fn has_converged(&self, criteria: &[ConvergenceCriterion]) -> bool {
        let holds = |score: Thousandths, name| score >= judged::threshold(criteria, name);
        holds(self.completeness, "completeness")
            && holds(self.coherence, "coherence")
            && holds(self.consistency(), "consistency")
            && self.failing(criteria).next().is_none()
    }

    /// The person's own criteria that do not hold.
    fn failing<'a>(
        &'a self,
        criteria: &'a [ConvergenceCriterion],
    ) -> impl Iterator<Item = &'a CriterionScore> {
        self.criteria.iter().filter(|one| {
            let mut all = criteria.iter();
            all.any(|known| known.name == one.name && one.score < known.at_least)
        })
    }

    /// Its content in codes, in the order of their list; a criterion's is `criterion:` and its name.
    pub fn codes(&self, criteria: &[ConvergenceCriterion]) -> Vec<String> {
        let holds = |score: Thousandths, name| score >= judged::threshold(criteria, name);
        let is_complete = holds(self.completeness, "completeness");
        let all = [
            (is_complete, AssessmentCode::Complete),
            (!is_complete, AssessmentCode::Incomplete),
            (!self.missing.is_empty(), AssessmentCode::MissingStep),
            (!self.contradictions.is_empty(), AssessmentCode::Contradiction),
            (!holds(self.coherence, "coherence"), AssessmentCode::Incoherent),
            (!holds(self.consistency(), "consistency"), AssessmentCode::Inconsistent),
        ];
        let said = all.into_iter().filter(|(holds, _)| *holds);
        let said = said.map(|(_, code)| code.word().into());
        let failing = self.failing(criteria);
        said.chain(failing.map(|one| format!("criterion:{}", one.name))).collect()
    }
}

record! {
    /// The newest report and open advice of judging: nothing of it decides
    #[derive(PartialEq, Default)]
    pub struct JudgingRecord {
        /// The newest answer to each question
        filled[program] answers: Vec<AnswerRecord>,
        /// Repairs that were proposed and not made, the oldest first
        filled[program] advisories: Vec<IssueRecord>,
        /// Passes that were said to have converged though the base case did not hold
        filled[program] mistaken: u32,
        /// Proposals that were refused for what was not theirs to propose
        filled[program] overstepped: u32,
        /// Digests of the changes that refiners proposed, the oldest first
        filled[program] deltas: Vec<Digest>,
    }
}

impl JudgingRecord {
    /// The newest answer to a question.
    pub fn kept(&self, question: Question) -> Option<&AnswerRecord> {
        self.answers.iter().find(|known| known.question == question)
    }

    /// Keeps an answer in the place of the one before.
    pub fn keep(&mut self, answer: AnswerRecord) {
        self.answers.retain(|known| known.question != answer.question);
        self.answers.push(answer);
    }

    /// The issues of the newest report on a plan, and of the newest across phases.
    pub fn issues(&self) -> impl Iterator<Item = &IssueRecord> {
        let reports = [Question::Plan, Question::Pass].into_iter();
        reports.filter_map(|question| self.kept(question)).flat_map(AnswerRecord::issues)
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
