//! The knowledge of a loop beside the file: its agents, its waits, why it cannot go on. A crash forgets it.

use crate::doc::prelude::*;
use crate::{
    event::{AgentLack, Merge, Outcome},
    id::{AgentName, AtomId, AttemptId, CommitId, Digest, TreeId},
    state::{
        AgentTrouble, Duty, Intent, JudgingLevel, Lesson, Question, ReportedUsage, ResultCommit,
        Role, State, VerdictRecord,
    },
    verdict::{Basis, Evaluator, EvidenceCache},
};

/// The knowledge of a loop beside the file. Without it, the attempts in flight are lost and nothing else.
#[derive(Debug, Clone, Default)]
pub struct Session {
    /// The number of attempts that the host can run side by side.
    pub slots: u32,
    /// The agents of the configuration.
    pub agents: Arc<AgentTable>,
    pub evidence: EvidenceCache,
    /// The lessons of earlier runs for a run that begins; `None` without memory.
    pub remembered: Option<Vec<Lesson>>,
    /// The start of the run that all of this is true of.
    pub(crate) start: Option<CommitId>,
    /// The pass at the end of the last step. In another one a person has changed something.
    pub(crate) pass: u64,
    pub(crate) progress: BTreeMap<AttemptId, AttemptProgress>,
    /// Attempts whose outcomes have arrived and are not observed yet.
    pub(crate) arrived: BTreeSet<AttemptId>,
    /// Attempts that have ended, and whose outcomes are being recorded.
    pub(crate) recorded: BTreeSet<AttemptId>,
    /// Usage that attempts in flight have reported so far, or at their end.
    pub(crate) reported: BTreeMap<AttemptId, ReportedUsage>,
    /// Trees by commit, as far as the host has reported them.
    pub(crate) trees: BTreeMap<CommitId, TreeId>,
    /// The trees of speculations, by group and choice.
    pub(crate) staged: BTreeMap<(AtomId, AtomId), SpeculativeTree>,
    /// Whether the base case was evaluated since the start.
    pub(crate) base_was_seen: bool,
    /// The steps that were open when the last run completed: they are not awaited again.
    pub(crate) left_open: Option<Vec<AtomId>>,
    /// Verdicts that no commit holds yet.
    pub(crate) verdicts: Vec<VerdictRecord>,
    /// Checks that failed at `align` and hold on the same tree now.
    pub(crate) unsteady: Vec<String>,
    /// Why the run had to stop.
    pub(crate) unavailable: Option<Unavailable>,
    /// The basis on which the base case is being evaluated.
    pub(crate) base_target: Option<Basis>,
    /// The beginning of that evaluation, in active time.
    pub(crate) base_since_ms: u64,
    /// The end of a backoff, in active time of this session. Setting a clock or suspending the machine moves none.
    pub(crate) base_again_at_ms: Option<u64>,
    /// Questions whose agents were silent, with their subjects.
    pub(crate) silent: BTreeMap<(Question, Digest), GateWait>,
    pub(crate) waits_until_ms: BTreeMap<(AtomId, Digest), u64>,
    pub(crate) provider_waits: BTreeMap<AgentName, ProviderWait>,
    /// Whether nothing happens but such a wait.
    pub(crate) only_waits: bool,
    /// Failures that may be those of an agent that cannot work at all.
    pub(crate) quick_failures: Vec<QuickFailure>,
    pub(crate) checks_wait_until_ms: BTreeMap<AttemptId, u64>,
    pub(crate) active_ms: u64,
    /// The time that evaluations of the base case took, with their checkouts and the starts of their processes.
    pub(crate) verify_ms: u64,
    /// Active time not yet written into the state.
    pub(crate) unwritten_ms: u64,
    pub trail_limits: TrailLimits,
    pub(crate) trail_watch: Watch,
    /// Whether a step reached its limit before all consequences were handled.
    pub(crate) has_more: bool,
}

impl Session {
    /// Notes that an attempt has ended, before its outcome is observed: a stop in between does not take it back.
    pub fn arrives(&mut self, attempt: &AttemptId) {
        self.arrived.insert(attempt.clone());
    }

    /// Notes which attempts have ended and are being recorded: an end of the run waits for them.
    pub fn are_recorded(&mut self, attempts: BTreeSet<AttemptId>) {
        self.recorded = attempts;
    }

    /// The session of a new loop that can run `slots` attempts side by side.
    pub fn new(slots: u32) -> Self {
        Self { slots, ..Self::default() }
    }

    /// Judges by the evidence that is known for `basis`.
    pub fn evaluator<'a>(&'a self, state: &'a State, basis: &'a Basis) -> Evaluator<'a> {
        Evaluator::new(&self.evidence, state, basis)
    }

    /// Whether the provider of an agent is waited for.
    pub(crate) fn awaits_provider(&self, agent: &AgentName) -> bool {
        self.provider_waits.get(agent).is_some_and(|wait| wait.until_ms > self.active_ms)
    }

    /// Forgets what is true of another start of the run: trees made from it, and verdicts on them. A correction may have
    /// taken results out of the trees of the last pass, and out of the one that is being judged.
    pub(crate) fn begin_at(&mut self, start: Option<&CommitId>, pass: u64) {
        if self.pass != pass {
            self.pass = pass;
            self.verdicts.clear();
            self.base_target = None;
        }
        if self.start.as_ref() == start {
            return;
        }
        self.start = start.cloned();
        self.staged.clear();
        self.verdicts.clear();
        self.base_target = None;
        self.base_again_at_ms = None;
        self.base_was_seen = false;
    }

    /// The tree of a commit, if it is known.
    pub(crate) fn tree_of(&self, state: &State, commit: &CommitId) -> Option<TreeId> {
        let start = state.run.started_from.as_ref();
        let start = start.filter(|start| start.commit == *commit);
        start.map(|start| start.tree.clone()).or_else(|| self.trees.get(commit).cloned())
    }

    /// Forgets the trees of commits that nothing needs any more.
    pub(crate) fn forget_trees(&mut self, of_run: &[CommitId]) {
        let candidates = self.progress.values().filter_map(|progress| match progress {
            AttemptProgress::Merged { merge, .. } => match &**merge {
                Merge::Clean { commit, .. } => Some(commit),
                Merge::Unchanged { .. } | Merge::Conflict(_) | Merge::Broken(_) => None,
            },
            AttemptProgress::Finished(_) => None,
        });
        let needed: BTreeSet<&CommitId> = candidates.chain(of_run).collect();
        let target = self.base_target.as_ref();
        self.trees.retain(|commit, tree| {
            needed.contains(commit) || target.and_then(Basis::tree) == Some(tree)
        });
    }
}

/// A question about a plan that nobody answered yet.
#[derive(Debug, Clone)]
pub(crate) struct GateWait {
    pub(crate) asked: u32,
    /// In active time of this session.
    pub(crate) again_at_ms: u64,
}

/// The waits of an agent for its provider, one after another; all times are active ones of this session.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProviderWait {
    /// The last moment at which the provider may have been up.
    pub(crate) up_ms: u64,
    pub(crate) until_ms: u64,
    /// How many there were.
    pub(crate) n: u32,
}

/// A failure of an agent that ended at once and did nothing.
#[derive(Debug, Clone)]
pub(crate) struct QuickFailure {
    pub(crate) intent: Intent,
    pub(crate) fingerprint: Digest,
}

/// The progress of an attempt that succeeded.
#[derive(Debug, Clone)]
pub(crate) enum AttemptProgress {
    Finished(Arc<Outcome>),
    Merged { outcome: Arc<Outcome>, onto: Option<CommitId>, merge: Arc<Merge> },
}

/// The tree of a speculation, as the host made it.
#[derive(Debug, Clone)]
pub(crate) struct SpeculativeTree {
    pub(crate) line: Vec<ResultCommit>,
    pub(crate) head: CommitId,
    /// Whether all commits applied.
    pub(crate) is_whole: bool,
}

// The agents of a loop, by role. The shell reads it off the configuration at a run's start.

/// The agents of a loop. An atom without one is done by an action, or by nobody.
#[derive(Debug, Clone, Default)]
pub struct AgentTable {
    by_duty: BTreeMap<Duty, AgentName>,
    /// Whether an agent is configured for the role of a planner, and not only a worker.
    pub has_planner: bool,
    /// Whether an agent tells its cost, as far as that is known.
    tells_cost: BTreeMap<AgentName, bool>,
}

impl AgentTable {
    pub fn set(&mut self, duty: impl Into<Duty>, agent: AgentName) {
        self.by_duty.insert(duty.into(), agent);
    }

    /// Has an agent of its own do what planners do.
    pub fn set_planner(&mut self, agent: AgentName) {
        self.set(Role::Planner, agent);
        self.has_planner = true;
    }

    /// Whether the plan may be changed where nothing is left to try: by a planner or by a refiner.
    pub fn changes_plans(&self, judging: JudgingLevel) -> bool {
        self.has_planner || self.questions(judging).contains(&Question::Refine)
    }

    /// The questions that somebody is there for. A refiner is asked at a level alone, and counts in the measure.
    pub fn questions(&self, judging: JudgingLevel) -> Vec<Question> {
        let all = Question::WORDS.into_iter().map(|(_, question)| question);
        let is_of_level = |question: Question| judging >= question.row().level;
        let all = all.filter(|question| self.in_role(*question).is_some());
        all.filter(|one| *one != Question::Refine || is_of_level(*one)).collect()
    }

    /// Whether this agent tells its cost, or has a price by which it can be known.
    pub fn set_tells_cost(&mut self, agent: AgentName, tells: bool) {
        self.tells_cost.insert(agent, tells);
    }

    /// `None` where nobody knows before it has worked.
    pub fn tells_cost(&self, agent: &AgentName) -> Option<bool> {
        self.tells_cost.get(agent).copied()
    }

    /// The agent of a role, or for a question.
    pub fn in_role(&self, duty: impl Into<Duty>) -> Option<&AgentName> {
        self.by_duty.get(&duty.into())
    }
}

// The reason that nothing more can start in a run, with its stable code and the next moves of a person.

#[derive(Debug, Clone)]
pub(crate) struct Unavailable {
    pub why: String,
    /// None if no agent is to blame.
    pub trouble: Option<AgentTrouble>,
    pub moves: Vec<String>,
}

impl Unavailable {
    /// The setup or the place of checks is to blame.
    pub fn outside(why: String) -> Self {
        Self { why, trouble: None, moves: vec![then_run(MEND)] }
    }

    /// An agent told what it lacks; a variable that was withheld from it may be the cause.
    pub fn lack(agent: &AgentName, lack: AgentLack, words: &str, variable: Option<&str>) -> Self {
        let (what, first) = match lack {
            AgentLack::Login => {
                ("the agent AGENT is not logged in", "log in with the program of AGENT")
            }
            AgentLack::Credit => (
                "the account of the agent AGENT has no credit left",
                "give the account of AGENT credit, or name another agent",
            ),
            AgentLack::Key => {
                ("the key of the agent AGENT is missing or wrong", "give AGENT a key that works")
            }
            AgentLack::Missing => ("the agent AGENT is not installed", MEND),
            AgentLack::NoKey => ("the agent AGENT has no key", MEND),
            AgentLack::Model => (
                "the agent AGENT names a model that is not there",
                "name a model that its server has in descent.toml (agents.AGENT.model)",
            ),
            AgentLack::Provider => ("the server of the agent AGENT refuses", MEND),
            AgentLack::Context => ("the context of the agent AGENT is too small", MEND),
            AgentLack::Unreachable => (
                "the server of the agent AGENT is not there",
                "start the server, or mend agents.AGENT.base_url in descent.toml",
            ),
            AgentLack::Down => {
                ("the provider of the agent AGENT does not answer", "wait until it answers again")
            }
        };
        let named = |text: &str| text.replace("AGENT", agent.as_str());
        let withheld = |name| format!(" ({name} is withheld: name it in the agent's `env`)");
        let words = match words.trim() {
            "" => String::new(),
            words => format!(": {}", crate::event::short(words)),
        };
        let why = named(what) + &variable.map(withheld).unwrap_or_default() + &words;
        let name_it = variable.map(|name| {
            format!("name it in descent.toml: agents.{agent}.env = [\"{name}\"], then descent run")
        });
        let mut moves: Vec<String> = name_it.into_iter().collect();
        moves.push(then_run(&named(first)));
        moves.push(TRY.into());
        Self { why, trouble: Some(lack.trouble()), moves }
    }

    /// A limit of money is set, and this agent tells no cost.
    pub fn without_cost(agent: &AgentName) -> Self {
        let price =
            format!("give it a price in descent.toml (agents.{agent}.price), then descent run");
        let why = format!("the agent {agent} tells no cost, so `budget.cost_usd` cannot limit it");
        let moves = vec![price, "descent run --set budget.cost_usd=null".into()];
        Self { why, trouble: Some(AgentTrouble::Cost), moves }
    }

    /// The base case has a leaf that a judge rates, and no judge is configured.
    pub fn no_judge(leaf: &str) -> Self {
        let why = format!("no judge is configured, and the base case needs one: {leaf}");
        let moves = vec!["name a judge in descent.toml (roles.judge = …), then descent run".into()];
        Self { why, trouble: Some(AgentTrouble::NoJudge), moves }
    }

    /// A judge gave no rating, however often it was asked.
    pub fn no_rating(agent: &AgentName, leaf: &str, why: &str) -> Self {
        let why = crate::event::short(why);
        let why = format!("the judge {agent} gave no rating of `{leaf}` ({why})");
        let moves = vec![then_run(MEND), TRY.into()];
        Self { why, trouble: Some(AgentTrouble::NoRating), moves }
    }

    /// The state is as large as it may be.
    pub fn no_room(why: String) -> Self {
        let make_room = "descent edit (make room: shorten or remove what is large)";
        let moves = vec![make_room.into(), "descent run".into()];
        Self { why, trouble: Some(AgentTrouble::NoRoom), moves }
    }

    /// So many attempts of an agent ended at once and alike.
    pub fn ends_at_once(agent: &AgentName, attempts: usize, atom: &AtomId, reason: &str) -> Self {
        let ended = format!("{attempts} attempts ended alike ({})", crate::event::short(reason));
        let why = format!("the agent {agent} fails at once, and does nothing: {ended}");
        let moves = vec![then_run(MEND), TRY.into(), format!("descent why {atom}")];
        Self { why, trouble: Some(AgentTrouble::Protocol), moves }
    }
}

const MEND: &str = "mend what it says";
const TRY: &str = "descent doctor";

fn then_run(first: &str) -> String {
    format!("{first}, then descent run")
}

// The limits of the trail, and when it is checked against them. Not here: the shortening (`step::trail`).

/// How many of the newest entries stay, of each kind.
#[derive(Debug, Clone, Copy)]
pub struct TrailLimits {
    /// Failures of one atom and context that stay in full.
    pub failures: usize,
    /// Older ones of the same that stay as a line.
    pub failure_lines: usize,
    /// Choices and backtracks together.
    pub steps: usize,
    /// Failures in full, and refuted selections, that keep their output.
    pub failures_long: usize,
    pub refuted_long: usize,
    /// How many more may stay while a run goes on; a fraction of the trail, if that is more.
    pub surplus: usize,
}

impl Default for TrailLimits {
    fn default() -> Self {
        Self {
            failures: 3,
            failure_lines: 50,
            steps: 200,
            failures_long: 200,
            refuted_long: 8,
            surplus: 8,
        }
    }
}

/// When the trail is checked again: by its length, which only grows.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Watch {
    /// Its length at the last check; a shorter trail is another one.
    pub(crate) len: usize,
    pub(crate) look_at: usize,
}
