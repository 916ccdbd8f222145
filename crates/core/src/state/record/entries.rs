//! The data of each kind of entry of the trail (contract §7), and pieces of evidence: how one is made, and what it says.

use super::Choices;
use crate::doc::prelude::*;
use crate::{
    doc::Node,
    id::{AgentName, AtomId, AttemptId, CommitId, Digest},
    state::{
        Check, FailureClass, FreeValue, PhaseLimit, SideFile, Usage,
        fields::{Extra, Fields, Writer},
        rule::FieldRule,
        table::{Part, record, rule, words},
        tool_call::ToolCall,
        value::FieldValue,
    },
};

record! {
    part
    /// A group got a choice
    pub struct ChoiceEntry {
        always group: AtomId,
        always choice: AtomId,
        always untried: Vec<AtomId>,
        /// As some versions wrote it
        optional commit: CommitId,
        /// As some versions wrote it
        optional reason: String,
    }
}

record! {
    part
    /// An attempt that failed; an older one stands as a line
    #[derive(PartialEq)]
    pub struct FailureEntry {
        always atom: AtomId,
        always attempt: AttemptId,
        filled started: String,
        /// 1-based, in its context
        optional nth: u32,
        always class: FailureClass = FailureClass::Logical,
        always reason: String,
        optional context: Digest,
        /// The end of what was printed
        filled output: String,
        /// The side file with all of it
        optional whole: SideFile,
        filled criteria: Vec<FreeValue>,
        /// Files of solved atoms that the output names
        filled files: Vec<String>,
        /// Files that the attempt had changed
        filled changed: Vec<String>,
        optional conflict: Choices,
        /// Equal for failures that are alike
        optional fingerprint: Digest,
        /// The report of the attempt
        filled summary: String,
        /// The value that it reported, up to 4 KiB
        optional value: FreeValue,
        optional handoff: String,
        /// Its agent says that it was only partly clear
        filled unclear: bool,
        /// The form of its answer alone was wrong: its work was not judged
        filled by_form: bool,
        optional agent: AgentName,
        /// Tools that it called
        filled tried: Vec<ToolCall>,
        filled usage: Usage,
    }
}

impl FailureEntry {
    /// How many of its checks held, and how many there are; none where it was not judged by any.
    pub fn confidence(&self) -> Option<(u64, u64)> {
        let verdicts = self.criteria.iter().map(|one| one.get("verdict"));
        let held = verdicts.filter(|one| one.and_then(Node::as_str) == Some("pass"));
        let of = self.criteria.len() as u64;
        (of > 0).then(|| (held.count() as u64, of))
    }
}

record! {
    part
    /// The checks of an attempt did not hold, and its agent corrects its work
    pub struct TurnEntry {
        always atom: AtomId,
        always attempt: AttemptId,
        /// Counts the turns of the attempt
        always turn: u32,
        always of: u32,
        always reason: String,
    }
}

record! {
    part
    /// An attempt ended with a question to a person
    pub struct AskedEntry {
        always atom: AtomId,
        always attempt: AttemptId,
        always question: String,
        filled options: Vec<String>,
    }
}

record! {
    part
    /// The base case did not hold under a whole selection, with every step done
    pub struct RefutedEntry {
        always conflict: Choices,
        optional context: Digest,
        filled files: Vec<String>,
        always evidence: Vec<EvidenceRecord>,
    }
}

record! {
    part
    /// Groups got other choices
    pub struct BacktrackEntry {
        part changes: ChoiceChanges,
        always reason: String,
    }
}

record! {
    part
    /// A planning step came to a fragment
    pub struct PlanEntry {
        always atom: AtomId,
        always attempt: AttemptId,
        optional fragment: Digest,
        always parts: Vec<AtomId>,
        /// How it differs from the one before it
        filled differs: String,
    }
}

record! {
    part
    /// A step is planned again
    pub struct RefineEntry {
        always atom: AtomId,
        always round: u32,
        always reason: String,
        always failed: Vec<AtomId>,
    }
}

record! {
    part
    /// Parts of a fragment were dropped at the end of its budget
    pub struct DropEntry {
        always atom: AtomId,
        optional limit: PhaseLimit,
        always used: u64,
        filled partial: bool,
        always missing: Vec<AtomId>,
    }
}

record! {
    part
    /// Nobody knows whether an effect outside happened
    pub struct InDoubtEntry {
        always atom: AtomId,
        always attempt: AttemptId,
        always started: String,
        optional context: Digest,
        always reason: String,
    }
}

record! {
    part
    /// A request that is not obeyed any more
    pub struct RequestRetiredEntry {
        always request: String,
        always by: String,
        required why: RetireReason,
    }
}

words! {
    pub enum RetireReason {
        /// It was for a run that is over
        EarlierRun = "earlier_run",
        /// The process that asked is gone
        AskerGone = "asker_gone",
        /// Who asked took it back
        TakenBack = "taken_back",
    }
}

record! {
    part
    /// A correction of the graph
    pub struct UserCorrectionEntry {
        always description: String,
    }
}

/// The changes of a backtrack, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChoiceChanges(pub Vec<ChoiceChange>);

/// A group that changed its choice.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChoiceChange {
    pub group: AtomId,
    pub from: Option<AtomId>,
    pub to: AtomId,
}

/// The keys of the one change, or a list where several groups changed.
impl Part for ChoiceChanges {
    fn rules() -> Vec<FieldRule> {
        Vec::from([
            rule::<AtomId>("group", "The group that changed its choice"),
            rule::<AtomId>("from", "Absent where nothing was chosen before"),
            rule::<AtomId>("to", ""),
            rule::<Vec<FreeValue>>("changes", "The same three keys of each, where several changed"),
        ])
    }

    fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        let of_several = fields.take("changes").and_then(Node::as_array).unwrap_or_default();
        let id = |node: &Node, key: &str| node.get(key).and_then(Node::as_str).map(AtomId::new);
        let change = |node: &Node| {
            let (group, to) = (id(node, "group")?, id(node, "to")?);
            Some(ChoiceChange { group, from: id(node, "from"), to })
        };
        let _ = ["group", "from", "to"].map(|key| fields.take(key));
        let one = change(fields.node);
        Some(Self(one.into_iter().chain(of_several.iter().filter_map(change)).collect()))
    }

    fn write(&self, to: &mut Writer) {
        match self.0.as_slice() {
            [one] => one.write(to),
            several => {
                let node = |one: &ChoiceChange| {
                    let mut to = Writer::default();
                    one.write(&mut to);
                    to.finish(&Extra::default())
                };
                to.put("changes", Node::array(several.iter().map(node).collect()));
            }
        }
    }
}

impl ChoiceChange {
    fn write(&self, to: &mut Writer) {
        to.text("group", self.group.as_str());
        to.some("from", self.from.as_ref().map(AtomId::node));
        to.text("to", self.to.as_str());
    }
}

record! {
    part
    /// A probe found out whether an atom can be done
    pub struct ProbeEntry {
        always atom: AtomId,
        always attempt: AttemptId,
        optional context: Digest,
        optional agent: AgentName,
        /// Absent of a probe that found nothing out
        optional feasible: bool,
        always findings: String,
    }
}

record! {
    part
    /// The plan was changed, or a change of it was tried
    pub struct ReplanEntry {
        /// The step that plans anew, where one was placed
        optional atom: AtomId,
        always place: ReplanPlace = ReplanPlace::Nowhere,
        always reason: String,
        always failed: Vec<AtomId>,
        /// The refiner that proposed it, where one was asked
        optional by: AgentName,
        /// The tasks that it added or changed
        filled atoms: Vec<AtomId>,
        /// The tasks that it took out
        filled removed: Vec<AtomId>,
        /// The reason why no change was admitted
        filled refused: String,
        /// Changes that may still be tried
        always left: u32,
    }
    with Default;
}

words! {
    /// The place of a step that plans anew
    pub enum ReplanPlace {
        /// One more choice of a group
        Choice = "choice",
        /// In the place of what failed
        Atom = "atom",
        /// A failed plan is made once more
        Round = "round",
        /// After all else
        Root = "root",
        /// Tasks are added or changed, where a refiner says so
        Delta = "delta",
        /// Nowhere: nothing was admitted
        Nowhere = "nowhere",
    }
}

/// The end of a command that says no more than that it succeeded.
const EXIT_0: &str = "exit 0";

record! {
    /// The verdict on one leaf, and what it was taken on
    #[derive(Default)]
    pub struct EvidenceRecord {
        optional check: String,
        /// Digest of the rule of the check, whatever it is called
        optional key: Digest,
        optional verdict: String,
        /// The basis
        optional on: String,
        /// How its command ended, or who said so
        optional ended: String,
        optional number: FreeValue,
        /// How many files were found
        optional found: u64,
        optional duration_ms: u64,
        filled output: String,
        /// The side file with all of the output
        optional whole: SideFile,
    }
}

impl EvidenceRecord {
    pub fn of(check: &Check, verdict: &str, on: String) -> Self {
        Self {
            check: Some(check.title()),
            key: Some(check.key()),
            verdict: Some(verdict.into()),
            on: Some(on),
            ..Self::default()
        }
    }

    /// As a result keeps it: of what passed, nothing that follows from that or from the result.
    pub fn of_result(self) -> Self {
        if !self.passes() {
            return self;
        }
        Self {
            check: self.check,
            verdict: self.verdict,
            ended: self.ended.filter(|ended| ended != EXIT_0),
            number: self.number,
            whole: self.whole,
            ..Self::default()
        }
    }

    /// Whether it is about this very check: a name may be another check's by now, but not within a result.
    pub fn is_of(&self, check: &Check) -> bool {
        match &self.key {
            Some(key) => *key == check.key(),
            None => self.check.as_deref() == Some(check.title().as_str()),
        }
    }

    pub fn passes(&self) -> bool {
        self.verdict.as_deref() == Some("pass")
    }

    /// Whether it spoke against what it was taken on: not an assertion of which nobody said anything.
    pub fn speaks_against(&self) -> bool {
        match self.verdict.as_deref() {
            Some("pass") => false,
            Some("unknown") => self.duration_ms.is_some(),
            _ => true,
        }
    }
}
