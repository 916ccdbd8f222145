//! The roles of agents, the table of questions to those that think, and the ratings that judges gave.
//!
//! Invariant: a question is in the state before it is asked, and its answer before anything follows from it. Not here:
//! what makes one due (`step`), the form of its answer (`answer`), its words (`prompts` of `descent-minds`).
//!
//! A new question is a row of `questions!` and a text file of its name beside the other prompts.

use super::{
    JudgingLevel, Usage,
    check::{QualityLeaf, Thousandths},
    fields::Fields,
    table::{record, words},
};
use crate::doc::prelude::*;
use crate::{
    doc,
    id::{AgentName, AtomId, AttemptId, CommitId, ConsultId, Digest, Epoch},
};

/// Ratings kept at most: the newest.
pub const RATINGS_MAX: usize = 50;

words! {
    /// The kind of work that an agent is asked for
    pub enum Role {
        /// Does a task
        Worker = "worker",
        /// Plans the atoms of a planning step, and answers questions about plans to come
        Planner = "planner",
        /// Finds out, before it is tried, whether something can be done
        Probe = "probe",
        /// Says how good something is that others made
        Judge = "judge",
        /// Proposes an agreement
        Aligner = "aligner",
    }
}

/// The moment at which a question is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Nothing is left to try. Several questions are asked in the order of their rows, each once about one plan.
    DeadEnd,
    /// A planner's plan is there, and nothing of it has started.
    StepPlanned,
    /// A step that builds on the results of a phase is planned next.
    StepDue,
    /// A leaf of the base case lacks nothing but its rating.
    AllElseHolds,
    /// The run has ended.
    Ended,
}

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerForm {
    /// Changes of the plan.
    Change,
    /// The kind of a task.
    Kind,
    /// An opinion of a pass.
    Opinion,
    /// Issues of a plan.
    Issues,
    /// A text, with notes.
    Text,
    /// A score, or levels by a rubric.
    Score,
}

/// All that one question differs by from the others.
#[derive(Debug)]
pub struct QuestionRow {
    pub role: Role,
    /// Whether it is put to an agent that is named for it alone.
    pub is_named: bool,
    /// The lowest level of judging at which it is asked.
    pub level: JudgingLevel,
    pub moment: Moment,
    pub form: AnswerForm,
    /// Its subject in words; of a question about a step `{}` stands for that.
    pub about: &'static str,
}

/// The table of questions: a word, the words for people, and a row each. The first token is a dollar sign, for the macro
/// that it makes.
macro_rules! questions {
    ($dollar:tt $( $(#[doc = $doc:literal])* $question:ident = $word:literal => $row:expr, )*) => {
        words! {
            /// A question to an agent that thinks
            pub enum Question {
                $( $(#[doc = $doc])* $question = $word ),*
            }
        }

        /// Calls a macro with the words of all questions, as literals.
        #[macro_export]
        macro_rules! with_questions {
            ($dollar callback:ident) => {
                $dollar callback! { $($word)* }
            };
        }

        impl Question {
            pub fn row(self) -> QuestionRow {
                match self {
                    $( Self::$question => $row, )*
                }
            }
        }
    };
}

questions! { $
    /// how complete and coherent a pass of the run was; with `judging: full` also what does not fit across its steps
    Pass = "pass" => QuestionRow {
        role: Role::Judge,
        is_named: false,
        level: JudgingLevel::Model,
        moment: Moment::DeadEnd,
        form: AnswerForm::Opinion,
        about: "the pass that came to its end",
    },
    /// what kind of task the goal is; at `align`, and again where a pass was incomplete
    Profile = "profile" => QuestionRow {
        role: Role::Planner,
        is_named: true,
        level: JudgingLevel::Off,
        moment: Moment::DeadEnd,
        form: AnswerForm::Kind,
        about: "the kind of task",
    },
    /// for a change of the plan with which it goes on
    Refine = "refine" => QuestionRow {
        role: Role::Planner,
        is_named: true,
        level: JudgingLevel::Code,
        moment: Moment::DeadEnd,
        form: AnswerForm::Change,
        about: "the plan, where nothing is left to try",
    },
    /// for the results of a phase in short, where the mode of a planner is `summary`
    Summarise = "summarise" => QuestionRow {
        role: Role::Planner,
        is_named: false,
        level: JudgingLevel::Off,
        moment: Moment::StepDue,
        form: AnswerForm::Text,
        about: "the results of {}",
    },
    /// what is wrong with the plan
    Plan = "plan" => QuestionRow {
        role: Role::Judge,
        is_named: false,
        level: JudgingLevel::Model,
        moment: Moment::StepPlanned,
        form: AnswerForm::Issues,
        about: "the plan of {}",
    },
    /// how well the result meets a `quality` leaf
    Rate = "rate" => QuestionRow {
        role: Role::Judge,
        is_named: false,
        level: JudgingLevel::Off,
        moment: Moment::AllElseHolds,
        form: AnswerForm::Score,
        about: "the result",
    },
    /// for the words of the final answer
    Word = "word" => QuestionRow {
        role: Role::Judge,
        is_named: false,
        level: JudgingLevel::Model,
        moment: Moment::Ended,
        form: AnswerForm::Text,
        about: "the final answer",
    },
}

record! {
    part
    /// The work of an agent: in a role, and the question where it is one
    #[derive(Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub struct Duty {
        filled[program] role: Role = Role::Worker,
        optional[program] question: Question,
    }
    with Default;
}

record! {
    /// A question to an agent that thinks: durable before it is asked
    #[derive(PartialEq)]
    pub struct Consult {
        required(plain_name)[program] id: ConsultId,
        required[program] question: Question,
        /// A digest of all that it is about: of anything else the answer is void
        required[program] subject: Digest,
        required[program] agent: AgentName,
        always[program] epoch: Epoch,
        /// How often the same is asked, from 1
        always[program] n: u32 = 1,
        /// The planning step whose plan is judged, or whose results are put in short; the task whose work is rated
        optional[program] atom: AtomId,
        /// The quality leaf that is rated
        optional[program] leaf: Digest,
        /// The tree that is looked at, or the work of an attempt
        optional[program] on: String,
        /// The commit that the work of an attempt was laid on
        optional[program] from: CommitId,
        optional[program] commit: CommitId,
        /// An estimate of what it will use, by earlier ones
        filled[program] reserved: Usage,
        always[program] at: String,
    }
}

record! {
    /// A judge's rating of a quality leaf on one tree, or on the work of an attempt
    #[derive(PartialEq)]
    pub struct Rating {
        required[program] leaf: Digest,
        /// The tree that it is of, or the work of an attempt
        required[program] on: String,
        /// The task of that attempt
        optional[program] atom: AtomId,
        required[program] by: AgentName,
        /// A share of the highest score: the middle of all samples; absent until they are there
        optional[program] score: Thousandths,
        /// The scores of a leaf with more than one sample, in the order of the answers
        filled[program] samples: Vec<Thousandths>,
        /// How often it was asked for
        always[program] asked: u32 = 1,
        /// The judge's reason, or why there is no score
        filled[program] because: String,
        /// The pass that it was given in; 0 where that is not known
        filled[program] pass: u64,
        always[program] at: String,
    }
}

impl Consult {
    /// The digest that distinguishes this question from every other, also from one with the same name.
    pub fn digest(&self) -> Digest {
        Digest::of(doc::canonical(&self.node()).as_bytes())
    }

    /// Its name among attempts: it has a directory like theirs, and tells its usage as they do.
    pub fn attempt(&self) -> AttemptId {
        AttemptId::new(self.id.as_str())
    }

    /// The subject of a quality leaf on a tree, by one agent.
    pub fn subject_of_leaf(leaf: &Digest, on: &str, agent: &AgentName) -> Digest {
        Digest::of(format!("{leaf}\n{on}\n{agent}").as_bytes())
    }
}

impl Moment {
    /// It in words, behind "when".
    pub fn words(self) -> &'static str {
        match self {
            Self::DeadEnd => "nothing is left to try",
            Self::StepPlanned => "a planner's plan is there, before anything of it starts",
            Self::StepDue => "a step that builds on them is planned next",
            Self::AllElseHolds => "all else of the base case holds",
            Self::Ended => "the run has ended by itself",
        }
    }
}

impl Question {
    /// Its subject in words; `step` is the planning step that it is about.
    pub fn about(self, step: Option<(&AtomId, &str)>) -> String {
        let step = step.map(|(id, title)| format!("{id}: {title}"));
        self.row().about.replace("{}", &step.unwrap_or_default())
    }

    /// The questions of a moment, in the order in which they are asked.
    pub fn at(moment: Moment) -> impl Iterator<Item = Self> {
        let all = Self::WORDS.into_iter().map(|(_, question)| question);
        all.filter(move |question| question.row().moment == moment)
    }
}

impl From<Role> for Duty {
    fn from(role: Role) -> Self {
        Self { role, question: None }
    }
}

impl From<Question> for Duty {
    fn from(question: Question) -> Self {
        Self { role: question.row().role, question: Some(question) }
    }
}

impl Duty {
    /// Every duty that an agent may be named for: the roles, then the questions.
    pub fn all() -> impl Iterator<Item = Self> {
        let roles = Role::WORDS.into_iter().map(|(_, role)| role.into());
        roles.chain(Question::WORDS.into_iter().map(|(_, question)| question.into()))
    }

    /// The duty of a text as `judge` or `judge.plan`.
    pub fn parse(text: &str) -> Option<Self> {
        Self::all().find(|duty| duty.text() == text)
    }

    pub fn text(self) -> String {
        let question = self.question.map(|question| format!(".{}", question.word()));
        self.role.word().to_string() + &question.unwrap_or_default()
    }
}

impl Rating {
    /// Whether it passes; `None` without a score.
    pub fn passes(&self, leaf: &QualityLeaf) -> Option<bool> {
        self.score.map(|score| leaf.passes(score))
    }

    /// How often it was asked for since the last score, or since the first time.
    pub fn silent(&self) -> u32 {
        let scores =
            self.samples.len() + usize::from(self.samples.is_empty() && self.score.is_some());
        self.asked.saturating_sub(u32::try_from(scores).unwrap_or(u32::MAX))
    }

    /// Takes a score: of more than one the middle counts, once all are there.
    pub fn take(&mut self, score: Thousandths, leaf: &QualityLeaf) {
        let wanted = leaf.samples() as usize;
        if wanted == 1 {
            self.score = Some(score);
            return;
        }
        self.samples.push(score);
        let mut scores = self.samples.clone();
        scores.sort_unstable();
        let middle = scores.get(wanted.saturating_sub(1) / 2).copied();
        self.score = middle.filter(|_| scores.len() >= wanted);
    }

    /// It in words, for evidence.
    pub fn text(&self, leaf: &QualityLeaf) -> String {
        let because =
            if self.because.is_empty() { String::new() } else { format!(": {}", self.because) };
        match self.score {
            Some(score) => {
                let (score, wanted) = (score.text(), leaf.threshold_text());
                let all: Vec<String> = self.samples.iter().map(|one| one.text()).collect();
                let all = all.join(", ");
                let middle = if all.is_empty() { all } else { format!(", the middle of {all}") };
                format!("rated {score}{middle} by {} (wanted {wanted}){because}", self.by)
            }
            None => format!("{} gave no rating{because}", self.by),
        }
    }
}

/// The id of a question: a plain name, since its files lie under it.
fn plain_name(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<ConsultId> {
    let name = fields.attempt(key)?;
    Some(ConsultId::new(name.as_str()))
}
