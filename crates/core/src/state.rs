//! The state: the content of the file as typed records, and nothing that could be derived from it.
//!
//! Each section of the contract has a sub-module with its types, and their reading and writing. `decode` reads a whole
//! file and collects every fault; `encode` is the one canonical writer. Not here: the meaning of the graph (`graph`),
//! the next step (`step`).

pub mod answer_records;
pub mod answer_texts;
pub mod atom;
pub mod atom_order;
pub mod check;
pub mod consult;
pub mod decode;
pub mod encode;
pub mod fields;
pub mod judged;
pub mod law;
pub mod limits;
mod memory;
pub(crate) mod near_miss;
pub mod objective;
pub mod patch;
pub mod planner_context;
pub mod profile;
pub mod record;
pub mod records;
pub mod rule;
pub mod run;
pub mod side;
pub(crate) mod table;
mod tool_call;
pub mod usage;
pub mod value;
pub mod verdicts;

use crate::doc::prelude::*;
pub use answer_records::{
    AnswerRecord, IssuesAnswer, JudgingRecord, KeptAnswer, PassAnswer, TextAnswer,
};
pub use atom::{
    Action, Atom, AtomStatus, BlockedReport, Body, FailureClass, Fragment, Grant, GrantEntry,
    PhaseBudget, PhaseEnd, PhaseLimit, PlanningStep, ShownStatus, SideEffect, Spec, Task, Try,
    TryEnd, binding,
};
pub use binding::Binding;
pub use check::{Check, CheckKind, Leaf};
pub use consult::{AnswerForm, Consult, Duty, Moment, Question, QuestionRow, Rating, Role};
pub use fields::{Extra, Span};
pub use judged::{
    ADVISORIES_MAX, AssessmentCode, Complexity, CriterionScore, DELTAS_MAX, ISSUES_MAX,
    IssueRecord, IssueType, JudgedBy, JudgedMark, JudgingLevel, Severity,
};
pub use memory::{LearntRun, Lesson, LessonBook, LessonKind, LessonSource, MemoryUsed};
pub use objective::{
    Constraints, Control, LawUse, MemoryUse, Objective, OnStuck, Request, RetryFrom, WarmUse,
    Workspace,
};
pub use planner_context::{ContextMode, PlannerContext};
pub use record::{Correction, CorrectionRecord, Entry, EntryKind, FailureEntry, RefutedEntry};
pub use records::{Records, Shared};
pub use run::account;
pub use run::final_result::{self, AgentTrouble, Reason};
pub use run::{
    AgentSpent, AgentWait, ChangeGrant, CorrectingTurn, DecimalText, Intent, MeasureText,
    PatternRecord, ResultCommit, Run, RunStatus, Spent, StartedFrom,
};
pub use side::SideFile;
pub use usage::Micros;
pub use usage::{ReportedUsage, Tokens, Usage, UsageLimit};
pub use verdicts::{Agreed, VerdictRecord};

use crate::id::{AtomId, Digest, Lineage, Serial};

/// The contract's version that this program writes.
pub const VERSION: Version = Version { major: 3, minor: 0 };

/// `major.minor` of the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
}

impl core::fmt::Display for Version {
    fn fmt(&self, to: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(to, "{}.{}", self.major, self.minor)
    }
}

/// Evidence, values and other content that the program carries and never decides by.
pub type FreeValue = crate::doc::Node;

/// The whole state file, decoded. Its parts are shared: a copy costs one reference for each part. A change of a part
/// costs one reference for each of its records.
#[derive(Debug, Clone)]
pub struct State {
    pub version: Version,
    pub lineage: Lineage,
    pub serial: Serial,
    /// The seal in the file; `None` before the first commit.
    pub seal: Option<Digest>,
    pub objective: Arc<Objective>,
    pub control: Arc<Control>,
    pub atoms: Records<Atom>,
    /// The order in which all atoms were written, resolved ones too.
    pub order: Arc<Vec<AtomId>>,
    /// Statuses that a person wrote; none in a state that is adopted.
    pub said: BTreeMap<AtomId, ShownStatus>,
    pub bindings: Records<Binding>,
    pub trail: Shared<Vec<Arc<Entry>>>,
    pub corrections: Shared<Vec<Arc<Correction>>>,
    pub run: Arc<Run>,
    /// The plan that was taken in last: digests of its values, for the next one to be compared with.
    pub plan: Option<Arc<FreeValue>>,
    pub extra: Extra,
    /// Unknown keys of `work_graph`.
    pub work_graph_extra: Extra,
}

impl State {
    /// A task or group, resolved or not.
    pub fn atom(&self, id: &AtomId) -> Option<&Arc<Atom>> {
        self.atoms.get(id).or_else(|| self.bindings.get(id).map(|binding| &binding.of))
    }

    /// Every atom of the graph, resolved ones included, in id order.
    pub fn all_atoms(&self) -> BTreeMap<&AtomId, &Arc<Atom>> {
        let bound = self.bindings.iter().map(|(id, binding)| (id, &binding.of));
        bound.chain(self.atoms.iter()).collect()
    }

    /// The failures that the trail keeps, each with its entry, the newest first.
    pub fn failures(&self) -> impl Iterator<Item = (&Entry, &FailureEntry)> {
        let newest_first = self.trail.iter().rev();
        newest_first.filter_map(|entry| Some((&**entry, entry.failure()?)))
    }

    /// The selections that the base case refuted, the newest first, each with its entry.
    pub fn refutations(&self) -> impl Iterator<Item = (&Entry, &RefutedEntry)> {
        let entries = self.trail.iter().rev();
        entries.filter_map(|entry| Some((&**entry, entry.refuted()?)))
    }

    /// The tries of every task, with its atom.
    pub fn all_tries(&self) -> impl Iterator<Item = (&AtomId, &Try)> {
        let atoms = self.all_atoms().into_iter();
        let tasks = atoms.filter_map(|(id, atom)| Some((id, atom.task()?)));
        tasks.flat_map(|(id, task)| task.tries.iter().map(move |tried| (id, tried)))
    }

    /// The side files that it names: no other is kept.
    pub fn side_files(&self) -> BTreeSet<Digest> {
        let failed = self.failures().filter_map(|(_, failure)| failure.whole.as_ref());
        let refuted = self.refutations().flat_map(|(_, refuted)| &refuted.evidence);
        let judged = self.run.judged.iter().flat_map(|judged| &judged.evidence);
        let measured = refuted.chain(judged).filter_map(|one| one.whole.as_ref());
        let bound = self.bindings.values().map(AsRef::as_ref);
        let parked = self.all_tries().filter_map(|(_, tried)| tried.parked());
        let results = bound.chain(parked).flat_map(|result| &result.evidence);
        let shown = results.filter_map(SideFile::named_in).map(|one| one.digest);
        let turns = self.run.in_flight.iter().filter_map(|one| one.turn.as_ref()?.whole.as_ref());
        failed.chain(measured).chain(turns).map(|one| one.digest.clone()).chain(shown).collect()
    }

    /// The newest failure of an atom that the trail keeps, with its entry.
    pub fn newest_failure(&self, id: &AtomId) -> Option<(&Entry, &FailureEntry)> {
        self.failures().find(|(_, failure)| failure.atom == *id)
    }
}
