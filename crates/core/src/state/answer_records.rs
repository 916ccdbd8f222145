//! The answers of agents that think: the form of each, and what the state keeps of one.
//!
//! Invariant: an answer is taken whole or not at all. An unknown key says nothing, unless it is a misspelt one. Not here:
//! which question has which form (`consult`), the JSON Schemas (`answer_forms`).

use alloc::{format, string::String, vec::Vec};

use super::{
    AnswerForm, AssessmentCode, Complexity, CriterionScore, IssueRecord, JudgedBy, Question,
    check::Thousandths,
    fields::{DurationText, Fields},
    judged::{self, ConvergenceCriterion},
    profile::TaskProfile,
    rule::Form,
    table::record,
    usage::Micros,
    value::FieldValue,
};
use crate::{
    doc::{Node, Value},
    id::{AgentName, AtomId, Digest},
};

/// Characters of a text, and of a finding.
const TEXT_CHARS_MAX: usize = 4_000;
const FINDINGS_CHARS_MAX: usize = 2_000;
/// Texts of one list, and characters kept of each.
const LIST_MAX: usize = 5;
const LINE_CHARS_MAX: usize = 300;
/// Characters kept of reasons, and of a repair.
const REASON_CHARS_MAX: usize = 600;
/// Attempts in an estimate at most.
const ATTEMPTS_MAX: u32 = 1_000;

record! {
    /// An answer in words
    #[derive(PartialEq)]
    pub struct TextAnswer {
        required(text)[program] text: String {Form::Short(TEXT_CHARS_MAX)},
        /// What a reader should know beside it
        filled(few)[program] notes: Vec<String> {few_texts()},
        /// What was asked for and is not there, or is there and nobody asked for
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
        /// What does not fit across the steps
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
    part
    /// What a task may cost
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
    /// The estimate of a probe, as it says it
    #[derive(PartialEq, Default)]
    pub struct ProbeEstimate {
        part estimate: CostEstimate,
    }
}

record! {
    /// What a probe found out
    #[derive(PartialEq)]
    pub struct ProbeAnswer {
        required[program] feasible: bool,
        required(findings)[program] findings: String,
        optional[program] cost_estimate: ProbeEstimate,
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
        /// What code concludes from it, in words for programs
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

    /// What it says, in codes in the order of their list; a criterion's is `criterion:` and its name.
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

/// The words of a text on one line, without what a terminal would obey.
pub fn in_a_line(text: &str, chars_max: usize) -> String {
    let is_break = |c: char| c.is_whitespace() || c.is_control();
    let words: Vec<&str> = text.split(is_break).filter(|word| !word.is_empty()).collect();
    let line: String = words.join(" ").chars().take(chars_max).collect();
    line.trim_end().into()
}

fn few_texts() -> Form {
    Form::AtMost(LIST_MAX, alloc::boxed::Box::new(Form::Text))
}

fn few(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<Vec<String>> {
    let all = Vec::<String>::take(fields, key)?;
    if all.len() > LIST_MAX {
        let message = format!("`{key}` is a list of at most {LIST_MAX} texts");
        fields.fault_at(key, "too-many", message, None);
        return None;
    }
    let lines = all.iter().map(|one| in_a_line(one, LINE_CHARS_MAX));
    Some(lines.filter(|line| !line.is_empty()).collect())
}

fn few_ids(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<Vec<AtomId>> {
    Some(few(fields, key)?.into_iter().map(AtomId::new).collect())
}

/// A text of several lines.
fn text(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<String> {
    let text = fields.text(key)?;
    let is_shown = |c: &char| !c.is_control() || *c == '\n';
    let text: String = text.trim().chars().filter(is_shown).collect();
    if text.chars().count() > TEXT_CHARS_MAX {
        let message = format!("`{key}` has more than {TEXT_CHARS_MAX} characters");
        fields.fault_at(key, "too-long", message, None);
        return None;
    }
    fields.filled(key, text)
}

/// Words that are not left out, cut to a line.
pub(super) fn said(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<String> {
    let text = fields.text(key)?;
    fields.filled(key, in_a_line(&text, LINE_CHARS_MAX))
}

/// Words that may be left out, cut to a line.
pub(super) fn line(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<String> {
    fields.text(key).map(|text| in_a_line(&text, REASON_CHARS_MAX))
}

fn findings(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<String> {
    let text = fields.text(key)?;
    fields.filled(key, text.trim().chars().take(FINDINGS_CHARS_MAX).collect())
}

/// A number from 0 to 1.
pub(super) fn share(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<Thousandths> {
    let share = Thousandths::take(fields, key)?;
    let is_share = share.0 <= 1_000;
    if !is_share {
        fields.fault_at(key, "bad-share", format!("`{key}` is a number from 0 to 1"), None);
    }
    is_share.then_some(share)
}

fn attempts(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<u32> {
    let attempts = u32::take(fields, key)?;
    let is_within = (1..=ATTEMPTS_MAX).contains(&attempts);
    if !is_within {
        let message = format!("`{key}` is a whole number from 1 to {ATTEMPTS_MAX}");
        fields.fault_at(key, "bad-count", message, None);
    }
    is_within.then_some(attempts)
}

/// Dollars as programs print them: what is below a millionth is rounded up.
fn dollars(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<Micros> {
    let node = fields.take(key)?;
    let read = match &node.value {
        Value::Number(text) => Micros::rounded_up(text),
        _ => node.as_str().and_then(Micros::parse),
    };
    if read.is_none() {
        fields.fault_at(key, "bad-amount", format!("`{key}` is no amount of dollars"), None);
    }
    read
}
