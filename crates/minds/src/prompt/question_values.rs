//! Questions about a run: the values that their templates name.
//!
//! Invariant: everything that an agent made stands in a fence that it cannot close, and is called data. A judge that rates
//! never sees the words of a worker. Not here: when a question is put (`step`), the form of its answer (the core).

use super::{
    Prompt, preamble,
    question_texts::{
        RatedDifference, atom_line, by_code, changed, criterion, done, ended, evidence, failed,
        form, is_without_patch, known_kind, marks, measured, open, phase_results, plan,
        whole_files,
    },
    replan,
    section::{cut, data, flag, title},
    workplace,
};
use descent_core::doc::prelude::*;
use descent_core::{
    answer_forms,
    graph::unjudged::{self, UnjudgedPlan},
    id::{AgentName, UnixMillis},
    measure::granted,
    profile as kind_of_task,
    state::{
        Check, Consult, JudgingLevel, Leaf, Moment, Question,
        check::{LEVEL_MAX, QualityLeaf},
        final_result::FinalResultRecord,
        judged,
        limits::FRAGMENT_ATOMS_MAX,
        profile::{ConfidenceNeed, OutputBreadth, ToolUsage},
    },
    step::run_end,
    world::{
        Session, World,
        long_phase::{self, LongPhase},
    },
};

/// Bytes of a difference that are shown; of a longer one the names of the files alone.
pub const DIFFERENCE_BYTES_MAX: usize = 200 << 10;
const TITLE_BYTES_MAX: usize = 2_000;

/// Everything that a question is made from.
#[derive(Debug, Clone, Copy)]
pub struct QuestionInputs<'a> {
    pub world: &'a World,
    pub now: UnixMillis,
    /// The question as the state has it; `None` before a run.
    pub consult: Option<&'a Consult>,
    /// The evidence of machine checks.
    pub session: Option<&'a Session>,
    pub difference: Option<&'a RatedDifference>,
    /// Who does a task without an action.
    pub worker: Option<&'a AgentName>,
}

impl<'a> QuestionInputs<'a> {
    /// Those of a question before a run.
    pub fn before_run(world: &'a World, now: UnixMillis) -> Self {
        Self { world, now, consult: None, session: None, difference: None, worker: None }
    }
}

/// The words of a question; `None` if its subject is no more.
pub fn question(question: Question, inputs: &QuestionInputs<'_>) -> Option<Prompt> {
    let asked = AskedQuestion::of(question, inputs);
    let is_there = match question.row().moment {
        Moment::StepPlanned => asked.judged.is_some(),
        Moment::StepDue => asked.phase.is_some(),
        Moment::AllElseHolds => asked.leaf.is_some(),
        Moment::Ended => asked.result.is_some(),
        Moment::DeadEnd => true,
    };
    let value = |name: &str| asked.value(name);
    is_there.then(|| Prompt::of_template(question.word(), &value))
}

/// A question with its subject.
struct AskedQuestion<'a> {
    question: Question,
    inputs: &'a QuestionInputs<'a>,
    judged: Option<UnjudgedPlan>,
    phase: Option<LongPhase>,
    leaf: Option<(&'a Check, &'a QualityLeaf)>,
    result: Option<FinalResultRecord>,
}

impl<'a> AskedQuestion<'a> {
    fn of(question: Question, inputs: &'a QuestionInputs<'a>) -> Self {
        let (world, consult) = (inputs.world, inputs.consult);
        let (graph, state) = (&world.graph, &world.state);
        let phase = consult.and_then(|one| Some((one.atom.as_ref()?, &one.subject)));
        Self {
            question,
            inputs,
            judged: consult
                .filter(|_| question == Question::Plan)
                .and_then(|one| unjudged::find(graph, state, &one.subject)),
            phase: phase.and_then(|(plan, subject)| long_phase::find(world, plan, subject)),
            leaf: consult.and_then(|one| {
                let check = answer_forms::rated_leaf(state, one)?;
                match check.leaf()? {
                    Leaf::Quality(leaf) => Some((check, leaf)),
                    _ => None,
                }
            }),
            result: (question == Question::Word).then(|| run_end::last_result(world)).flatten(),
        }
    }

    /// The value of that name.
    fn value(&self, name: &str) -> Option<String> {
        let (world, difference) = (self.inputs.world, self.inputs.difference);
        let (state, leaf) = (&world.state, self.leaf.map(|(_, leaf)| leaf));
        let words = |words: &[&str]| words.join(", ");
        let result = |text: fn(&FinalResultRecord) -> String| {
            data(&self.result.as_ref().map(text).unwrap_or_default())
        };
        let is_empty = |one: &RatedDifference| is_without_patch(one) && one.files.is_empty();
        Some(match name {
            // The plan, and a pass of it.
            "changes_left" => granted::changes_left(state).to_string(),
            "atoms_max" => FRAGMENT_ATOMS_MAX.to_string(),
            "who_works" => workplace::who_works(self.inputs.worker),
            "failed" => failed(world),
            "plan" => plan(world, |_| String::new()),
            "marked_plan" => plan(world, |x| marks(world, x)),
            "judged_plan" => {
                let atoms = self.judged.iter().flat_map(|one| &one.atoms);
                data(&atoms.map(|id| atom_line(world, id, "")).collect::<String>())
            }
            "issues" => data(&state.run.issues().map(replan::issue).collect::<String>()),
            "known_issues" => data(&self.known_issues()),
            "opinion" => data(&replan::said(world)),
            "step" => {
                let step = match (&self.judged, &self.phase) {
                    (Some(judged), _) => judged.step.map(|_| &judged.atom),
                    (None, phase) => phase.as_ref().map(|phase| &phase.plan),
                };
                step.map(|id| cut(title(world, id), TITLE_BYTES_MAX)).unwrap_or_default()
            }
            "phase_results" => {
                let results = self.phase.as_ref().map(|phase| phase_results(world, phase));
                data(&results.unwrap_or_default())
            }
            // The kind of task, and the form of an answer.
            "known" => {
                let known = state.run.profile.as_ref();
                known.map(|one| known_kind(&one.profile, &one.raw_inference)).unwrap_or_default()
            }
            "tool_usages" => words(&ToolUsage::WORDS.map(|(word, _)| word)),
            "output_breadths" => words(&OutputBreadth::WORDS.map(|(word, _)| word)),
            "confidence_needs" => words(&ConfidenceNeed::WORDS.map(|(word, _)| word)),
            "criteria" => {
                let others = judged::others(&state.objective.constraints.convergence);
                others.map(|one| format!("- `{}`: {}\n", one.name, one.statement)).collect()
            }
            "schema" => answer_forms::schema(world, self.question, self.inputs.consult),
            "full" => flag(kind_of_task::judging(state) == JudgingLevel::Full),
            // The ending, and the difference that the work made.
            "ended" => result(ended),
            "evidence" => result(|result| result.evidence.iter().map(evidence).collect()),
            "open" => result(open),
            "by_code" => result(by_code),
            "done" => done(world),
            "done_as_data" => data(&done(world)),
            "compares" => flag(difference.is_some()),
            "changed" => difference.map(changed).unwrap_or_default(),
            "too_long" => {
                flag(difference.is_some_and(|one| is_without_patch(one) && !is_empty(one)))
            }
            "same" => flag(difference.is_some_and(is_empty)),
            // A leaf that is rated.
            "rated_step" => {
                let step = self.inputs.consult.filter(|_| leaf.is_some())?.atom.as_ref();
                data(&step.map(|id| atom_line(world, id, "")).unwrap_or_default())
            }
            "whole_files" => difference.map(whole_files).unwrap_or_default(),
            "measured" => self.measured(),
            "statement" => leaf.map(|leaf| leaf.statement.trim().to_string()).unwrap_or_default(),
            "scope" => leaf.and_then(|leaf| leaf.scope.clone()).unwrap_or_default(),
            "level_max" => LEVEL_MAX.to_string(),
            "rubric" => leaf.iter().flat_map(|leaf| &leaf.rubric).map(criterion).collect(),
            "form" => leaf.map(form).unwrap_or_default(),
            _ => return preamble::value(&state.objective, self.inputs.now, name),
        })
    }

    /// The issues that rules found in the plan that is judged.
    fn known_issues(&self) -> String {
        let report = self.inputs.world.state.run.kept(Question::Plan);
        let subject = self.inputs.consult.map(|one| &one.subject);
        let report = report.filter(|report| Some(&report.subject) == subject);
        report.iter().flat_map(|report| report.issues()).map(replan::issue).collect()
    }

    /// The machine checks on what is rated.
    fn measured(&self) -> String {
        let state = &self.inputs.world.state;
        let all = self.inputs.session.zip(self.inputs.consult);
        let all = all.map(|(session, one)| answer_forms::measured(state, session, one));
        all.iter().flatten().map(measured).collect()
    }
}
