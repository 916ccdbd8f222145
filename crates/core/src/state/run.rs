//! The loop's own notebook (contract §9): attempts in flight, the result's commits, costs, the last result.

pub mod account;
pub mod final_result;
mod spent;

use crate::doc::prelude::*;
use final_result::{EndingFacts, JudgedLeaves};
pub use spent::{ACTION, AgentSpent, Spent};

use super::{
    AnswerRecord, Consult, FreeValue, IssueRecord, JudgingRecord, MemoryUsed, Question, Rating,
    Role, Shared, SideEffect, SideFile, Usage,
    consult::RATINGS_MAX,
    encode::labels::keys_of,
    fields::{Extra, Fields},
    law::LawRecord,
    profile::{PassCount, ProfileRecord},
    record::{Choices, ToolCall},
    rule::Form,
    table::{record, words},
    value::FieldValue,
    verdicts::{Agreed, VerdictRecord},
};
use crate::{
    doc::{self, Node},
    id::{AgentName, AtomId, AttemptId, CommitId, ConsultId, Digest, Epoch, RunId, TreeId},
};

record! {
    /// The loop's own notebook
    pub struct Run {
        optional[internal] id: RunId,
        /// How it goes
        always[program] status: RunStatus = RunStatus::Aligned,
        part[program] ending: EndingFacts,
        /// Counts the redirects
        filled[internal] epoch: Epoch,
        filled[internal] iteration: u64,
        filled[internal] pass: u64 = 1,
        /// Counts every attempt ever started, so that no id comes twice
        filled[internal] attempts_started: u64,
        filled[internal] in_flight: Vec<Intent>,
        /// The integrated commit; references, worktrees and checkouts for checks only follow it
        optional[internal] head: CommitId,
        /// The commits of the result after its start, in order
        filled[internal] line: Shared<Vec<ResultCommit>>,
        /// The commit that the last ending delivered, if it is not the head
        optional[internal] delivered: CommitId,
        optional[internal] started_from: StartedFrom,
        /// The findings of `align`
        optional[internal] agreed: Agreed,
        /// The best verdict on the base case and the newest 15, oldest first
        filled[internal] verdicts: Shared<Vec<VerdictRecord>>,
        /// The newest 50 kinds of failures, oldest first
        filled[internal] patterns: Shared<Vec<PatternRecord>>,
        filled[program] spent: Spent = Spent::default(),
        /// The part of each agent, of the first 20, by its role
        filled[internal] spent_by_agent: Shared<Vec<AgentSpent>>,
        /// Atoms that wait until a provider takes more
        filled[program] waits: Vec<AgentWait>,
        /// Whether unknown atoms are probed: an agent had that role when the run started
        filled[internal] probes: bool,
        /// The questions for which there was an agent when the run started
        filled[internal] questions: Vec<Question>,
        /// Whether an action that failed on build state of an earlier tree is made once more without it
        filled[internal] cold_tries: bool,
        /// The question in flight
        optional[internal] consult: Consult,
        /// The newest 50 ratings of judges, oldest first
        filled[internal] ratings: Shared<Vec<Rating>>,
        /// The kind of task, by an agent
        optional[internal] profile: ProfileRecord,
        /// Issues of plans: advice alone
        optional[internal] judging: JudgingRecord,
        optional[internal] passes: PassCount,
        optional[internal] measure: MeasureText,
        /// The changes of the plan that a configured planner may still make
        optional[internal] grant: ChangeGrant,
        /// The distance from the goal, and what follows for planners
        optional[internal] law: LawRecord,
        /// The lessons of earlier runs that this one was given
        optional[internal] memory_used: MemoryUsed,
        optional[internal] judged: JudgedLeaves,
        /// The lineage and serial that this one was forked from
        optional[internal] parent: FreeValue,
    }
    with Default;
    check pass_labels;
}

/// Short ids and verdicts in the half for people are labels.
fn pass_labels(fields: &mut Fields<'_, '_>, _: &Run) {
    keys_of(Run::RULE.name).for_each(|label| fields.pass_over(label));
}

words! {
    pub enum RunStatus {
        Aligned = "aligned",
        Running = "running",
        Redirecting = "redirecting",
        Completed = "completed",
        Stopped = "stopped",
        Exhausted = "exhausted",
        NeedsGuidance = "needs_guidance",
    }
}

record! {
    /// An attempt that was started, or is about to be: durable before its first effect
    pub struct Intent {
        required(Fields::attempt)[program] id: AttemptId,
        required[program] atom: AtomId,
        required[program] context: Digest,
        filled[program] choices: Choices,
        always[program] epoch: Epoch,
        /// Its number in this context, from 1
        always[program] n: u32 = 1,
        part[program] effect: SideEffect,
        optional[program] base: CommitId,
        filled[program] role: Role = Role::Worker,
        /// The agent that does it; absent for an action
        optional[program] agent: AgentName,
        /// An estimate of what it will use, by earlier attempts
        filled[program] reserved: Usage,
        always[program] at: String,
        /// The turn in which its agent corrects its work
        optional[program] turn: CorrectingTurn,
    }
    with Default;
}

record! {
    /// A turn of an agent that is told why the checks of its work do not hold, and goes on in the same session
    #[derive(Default, PartialEq)]
    pub struct CorrectingTurn {
        /// Counts from 1
        always[program] n: u32 = 1,
        /// Why the checks do not hold
        always[program] reason: String,
        /// Head and end of what was printed
        filled[program] output: String,
        /// The side file with all of it
        optional[program] whole: SideFile,
        /// Milliseconds of the turns before it
        filled[program] ms: u64,
        /// Usage of these turns
        filled[program] usage: Usage,
        /// The newest tools that they called
        filled[program] tried: Vec<ToolCall>,
        /// The candidate, where the head has moved: the workspace is brought to it
        optional[program] candidate: CommitId,
    }
}

record! {
    /// A commit of the result, and the atom that made it
    pub struct ResultCommit {
        required[program] atom: AtomId,
        required[program] commit: CommitId,
    }
}

/// Two are the same whatever unknown keys stand beside.
impl PartialEq for ResultCommit {
    fn eq(&self, other: &Self) -> bool {
        (&self.atom, &self.commit) == (&other.atom, &other.commit)
    }
}

impl ResultCommit {
    pub fn new(atom: AtomId, commit: CommitId) -> Self {
        let extra = Extra::default();
        Self { atom, commit, extra }
    }
}

record! {
    /// The person's working tree at the beginning of the first run
    #[derive(PartialEq)]
    pub struct StartedFrom {
        required[program] commit: CommitId,
        required[program] tree: TreeId,
        /// The person's HEAD at that time
        required[program] head: CommitId,
        optional[program] branch: String,
        /// Whether the working tree had changes that HEAD lacks
        always[program] dirty: bool,
    }
}

record! {
    /// An atom, or a question, that waits until the provider of its agent takes more
    #[derive(PartialEq)]
    pub struct AgentWait {
        /// The agent that is waited for
        required[program] agent: AgentName,
        /// Absent for a question that is no atom's
        optional[program] atom: AtomId,
        /// Such a question
        optional[program] question: Question,
        /// When it is asked again
        always[program] until: String,
        /// Why
        always[program] because: String,
    }
}

record! {
    /// Failures that are alike
    #[derive(PartialEq)]
    pub struct PatternRecord {
        required[program] fingerprint: Digest,
        always[program] failures: u64,
        /// The atoms that failed so: the first 20
        always[program] atoms: Vec<AtomId>,
        /// The reason of the newest, in one line
        always[program] reason: String,
        /// Whether it was told that several atoms fail so
        filled[program] told: bool,
    }
}

record! {
    /// The attempts and verdicts that are left
    #[derive(PartialEq)]
    pub struct MeasureText {
        optional[program] attempts: DecimalText,
        /// Whole selections that the base case has not refuted
        optional[program] verdicts: DecimalText,
    }
}

record! {
    /// The most that each change of the plan by a planner may open, and how many are left
    #[derive(Default, PartialEq)]
    pub struct ChangeGrant {
        /// Attempts; absent where it is granted anew at the next commit of a loop with a planner
        optional[program] attempts: DecimalText,
        optional[program] verdicts: DecimalText,
        /// The rest that earlier changes left of theirs
        optional[program] over: MeasureText,
        /// Changes that may still be tried
        always[program] left: u32,
        /// Changes that were tried, taken or not
        filled[program] tried: u32,
    }
}

impl ChangeGrant {
    /// The same after a person's correction: granted anew, but what was tried stays tried.
    pub fn anew(&self) -> Self {
        Self { attempts: None, verdicts: None, over: None, left: 0, ..self.clone() }
    }

    /// Whether changes are granted to planners now.
    pub fn is_in_force(&self) -> bool {
        self.attempts.is_some()
    }
}

/// A count without a largest value, as decimal text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecimalText(String);

impl DecimalText {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for DecimalText {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl FieldValue for DecimalText {
    fn form() -> Form {
        Form::Count
    }

    fn take(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<Self> {
        let node = fields.take(key)?;
        let count = node.as_u64().map(|count| format!("{count}"));
        count.or_else(|| node.as_str().map(ToOwned::to_owned)).map(Self)
    }

    fn node(&self) -> Node {
        let count = self.0.parse();
        count.map_or_else(|_| Node::string(self.as_str()), Node::uint)
    }
}

impl RunStatus {
    pub fn is_active(self) -> bool {
        matches!(self, RunStatus::Running | RunStatus::Redirecting)
    }
}

/// The beginning of the name of every question.
const NAME: &str = "consult-";

impl Run {
    /// The newest verdict on the delivered tree.
    pub fn verdict_on_result(&self) -> Option<&VerdictRecord> {
        let commit = self.result()?;
        self.verdicts.iter().rev().find(|one| one.commit == *commit)
    }

    /// The facts about the ending of the last run, unless another was agreed on or began since.
    pub fn last_ending(&self) -> Option<&EndingFacts> {
        Some(&self.ending).filter(|ending| ending.is_known() && !self.status.is_active())
    }

    /// Another agreement is in force: the last ending is past.
    pub fn agree_anew(&mut self) {
        if !self.status.is_active() {
            self.status = RunStatus::Aligned;
            self.ending = EndingFacts::default();
        }
    }

    /// The commit of the result: the one that the last ending delivered, else the head.
    pub fn result(&self) -> Option<&CommitId> {
        self.delivered.as_ref().or(self.head.as_ref())
    }

    /// The newest answer to a question.
    pub fn kept(&self, question: Question) -> Option<&AnswerRecord> {
        self.judging.as_ref()?.kept(question)
    }

    /// Whether there was an agent for a question when the run started.
    pub fn asks(&self, question: Question) -> bool {
        self.questions.contains(&question)
    }

    /// The open issues of plans, and across phases.
    pub fn issues(&self) -> impl Iterator<Item = &IssueRecord> {
        self.judging.iter().flat_map(JudgingRecord::issues)
    }

    /// Another plan is in force from here on.
    pub fn begin_pass(&mut self) {
        self.pass += 1;
        if let Some(passes) = &mut self.passes {
            passes.begun = passes.begun.saturating_add(1);
        }
    }

    /// The record of judging, made where there is none.
    pub fn judging_mut(&mut self) -> &mut JudgingRecord {
        self.judging.get_or_insert_with(JudgingRecord::default)
    }

    /// The id of one more attempt: never one that was given before.
    pub fn next_attempt(&mut self, atom: &AtomId) -> AttemptId {
        self.attempts_started += 1;
        AttemptId::new(format!("{atom}.{}", self.attempts_started))
    }

    /// The id of one more question: never one that was given before.
    pub fn next_consult(&mut self) -> ConsultId {
        self.spent.consults += 1;
        ConsultId::new(format!("{NAME}{}", self.spent.consults))
    }

    /// Takes a rating in the place of an earlier one of the same leaf and tree.
    pub fn rate(&mut self, new: Rating) {
        let ratings: &mut Vec<Rating> = &mut self.ratings;
        ratings.retain(|old| (&old.leaf, &old.on) != (&new.leaf, &new.on));
        ratings.push(new);
        let old = ratings.len().saturating_sub(RATINGS_MAX);
        ratings.drain(..old);
    }

    /// Drops all ratings, and the question in flight, of which nobody here knows who gave or asked them. Gives how many
    /// ratings that were.
    pub fn drop_ratings(&mut self) -> usize {
        self.consult = None;
        let ratings: &mut Vec<Rating> = &mut self.ratings;
        core::mem::take(ratings).len()
    }
}

impl CorrectingTurn {
    /// Its number and cause, in words.
    pub fn words(&self) -> String {
        format!("it corrects its work (turn {}): {}", self.n, self.reason)
    }
}

impl Intent {
    /// The number of its correcting turn; 0 before the first.
    pub fn turn_n(&self) -> u32 {
        self.turn.as_ref().map_or(0, |turn| turn.n)
    }

    /// The name of what it made in its present turn: a rating is of that.
    pub fn work_name(&self) -> String {
        match self.turn_n() {
            0 => self.id.to_string(),
            n => format!("{} turn {n}", self.id),
        }
    }

    /// The intent that the directory of a question is bound to, and with it its answer and its usage.
    pub fn of_question(consult: &Consult) -> Self {
        Self {
            id: consult.attempt(),
            atom: AtomId::new(consult.id.as_str()),
            context: consult.digest(),
            epoch: consult.epoch,
            n: consult.n,
            base: consult.commit.clone(),
            role: consult.question.row().role,
            agent: Some(consult.agent.clone()),
            at: consult.at.clone(),
            ..Self::default()
        }
    }

    /// The digest that distinguishes this intent from every other, also from one with the same number.
    pub fn digest(&self) -> Digest {
        Digest::of(doc::canonical(&self.node()).as_bytes())
    }

    /// The digest that stays while an attempt goes on: another run gives it another epoch, and a turn another base. No two attempts share it, of
    /// another agreement neither, since it holds the moment of the intent.
    pub fn identity(&self) -> Digest {
        let epoch = Epoch::default();
        Self { epoch, base: None, turn: None, ..self.clone() }.digest()
    }
}
