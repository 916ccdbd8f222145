//! Turns measurements into verdicts: the shell measures a leaf, this decides what it means
//! (contract §3).
//!
//! Invariant: `unknown` never counts as a pass, in any position.

pub mod assertions;

use crate::doc::prelude::*;
use crate::{
    id::{Digest, TreeId},
    state::{
        Check, CheckKind, Correction, Intent, Leaf, Rating, SideFile, State,
        check::{CommandLeaf, QualityLeaf},
        table::words,
    },
};

words! {
    pub enum Verdict {
        Pass = "pass",
        Fail = "fail",
        Unknown = "unknown",
    }
}

/// The files that evidence is about. It is void for any other files.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// A reused checkout of that tree. Ignored files may be left over, so the verdict only shows
    /// progress.
    Warm(TreeId),
    /// A new checkout of that tree, with nothing left over: the verdict decides.
    Pristine(TreeId),
    /// In the workspace `shared`: its content at that serial.
    Serial(u64),
}

impl Basis {
    pub fn text(&self) -> String {
        match self {
            Basis::Warm(tree) | Basis::Pristine(tree) => tree.as_str().to_owned(),
            Basis::Serial(serial) => format!("serial {serial}"),
        }
    }

    pub fn tree(&self) -> Option<&TreeId> {
        match self {
            Basis::Warm(tree) | Basis::Pristine(tree) => Some(tree),
            Basis::Serial(_) => None,
        }
    }

    /// The basis of a deciding verdict on the same files.
    pub fn deciding(&self) -> Basis {
        match self {
            Basis::Warm(tree) => Basis::Pristine(tree.clone()),
            Basis::Pristine(_) | Basis::Serial(_) => self.clone(),
        }
    }

    /// Whether a verdict taken here may complete a run or refute a selection.
    pub fn decides(&self) -> bool {
        match self {
            Basis::Warm(_) => false,
            Basis::Pristine(_) | Basis::Serial(_) => true,
        }
    }
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandEnd {
    Exit(i32),
    Signal(i32),
    TimedOut,
    /// It could not be started; the reason.
    NotRun(String),
}

impl CommandEnd {
    /// Its exit code, if it ran to its end. The shell itself uses 126 (not executable) and 127 (not
    /// found), and 129 to 159 for a child that died by a signal.
    pub fn has_run(&self) -> Option<i32> {
        match self {
            CommandEnd::Exit(126 | 127 | 129..=159)
            | CommandEnd::Signal(_)
            | CommandEnd::TimedOut
            | CommandEnd::NotRun(_) => None,
            CommandEnd::Exit(code) => Some(*code),
        }
    }

    /// Whether it did not end by itself, as far as anybody knows. A shell tells a signal of its
    /// child as an exit code.
    pub fn is_cut_off(&self) -> bool {
        matches!(self, CommandEnd::TimedOut | CommandEnd::Signal(_) | CommandEnd::Exit(129..=159))
    }

    pub fn text(&self) -> String {
        match self {
            CommandEnd::Exit(126) => "exit 126 (not executable)".to_owned(),
            CommandEnd::Exit(127) => "exit 127 (not found)".to_owned(),
            CommandEnd::Exit(code @ 129..=159) => {
                format!("exit {code} (killed by signal {})", code - 128)
            }
            CommandEnd::Exit(code) => format!("exit {code}"),
            // These end no process; it was ended because of them.
            CommandEnd::Signal(20..=22) => {
                "stopped by the system (SIGTTIN or SIGTTOU): it asked at a terminal, where nobody answers; let it ask nobody".to_owned()
            }
            CommandEnd::Signal(19) => {
                "stopped by a signal (SIGSTOP), and not continued within 30 s".to_owned()
            }
            CommandEnd::Signal(signal) => format!("killed by signal {signal}"),
            CommandEnd::TimedOut => "timed out".to_owned(),
            CommandEnd::NotRun(why) => format!("could not be run: {why}"),
        }
    }
}

/// The shell's measurement of one leaf.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Measurement {
    pub what: MeasurementKind,
    pub duration_ms: u64,
    /// Head and tail of the output.
    pub excerpt: String,
    /// The whole output, if it is longer than the excerpt and the leaf does not pass.
    pub whole: Option<SideFile>,
}

#[derive(Debug, Clone, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MeasurementKind {
    Command {
        how: CommandEnd,
        /// Whether `stdout_matches` matched over the whole stream; `None` if it was not required,
        /// or if the stream was too long to keep.
        matched: Option<bool>,
        /// The sum of what `number` found; `None` if it found nothing.
        number: Option<f64>,
    },
    Files {
        found: usize,
        /// Whether one of the files found has the required content and digest.
        fits: bool,
    },
    /// `setup` failed on the tree, so no check could be run there.
    SetupFailed { how: CommandEnd },
}

/// The verdict of a leaf that a machine decides.
pub fn of_leaf(leaf: &Leaf, seen: &Measurement) -> Verdict {
    match (leaf, &seen.what) {
        (_, MeasurementKind::SetupFailed { .. }) => Verdict::Fail,
        (Leaf::Command(leaf), MeasurementKind::Command { how, matched, number }) => {
            of_command(leaf, how, *matched, *number)
        }
        (Leaf::NotCommand(rule), MeasurementKind::Command { how, .. }) => {
            match (how.has_run(), rule.expect_exit) {
                (_, Some(expected)) if *how == CommandEnd::Exit(expected) => Verdict::Pass,
                (None, _) => Verdict::Unknown,
                (Some(_), Some(_)) => Verdict::Fail,
                (Some(code), None) => decided(code != 0),
            }
        }
        (Leaf::File { .. }, MeasurementKind::Files { found, fits }) => decided(*found > 0 && *fits),
        (Leaf::NotFile { .. }, MeasurementKind::Files { found, .. }) => decided(*found == 0),
        (Leaf::Command(_) | Leaf::NotCommand(_), MeasurementKind::Files { .. })
        | (Leaf::File(_) | Leaf::NotFile(_), MeasurementKind::Command { .. })
        | (Leaf::Quality(_) | Leaf::Assertion(_) | Leaf::Newer(_), _) => Verdict::Unknown,
    }
}

fn decided(holds: bool) -> Verdict {
    if holds { Verdict::Pass } else { Verdict::Fail }
}

fn of_command(
    leaf: &CommandLeaf,
    how: &CommandEnd,
    matched: Option<bool>,
    number: Option<f64>,
) -> Verdict {
    let is_expected = *how == CommandEnd::Exit(leaf.expect_exit);
    let expected = is_expected.then_some(leaf.expect_exit);
    let Some(code) = how.has_run().or(expected) else { return Verdict::Unknown };
    if leaf.number.is_none() && code != leaf.expect_exit {
        return Verdict::Fail;
    }
    if leaf.stdout_matches.is_some() {
        match matched {
            None => return Verdict::Unknown,
            Some(false) => return Verdict::Fail,
            Some(true) => {}
        }
    }
    let Some(rule) = &leaf.number else { return Verdict::Pass };
    let Some(number) = number else { return Verdict::Unknown };
    // A limit without a value decides nothing.
    match rule.holds(number) {
        Some(holds) => decided(holds && code == leaf.expect_exit),
        None => Verdict::Unknown,
    }
}

/// The evidence for one leaf on one basis.
#[derive(Debug, Clone)]
pub struct LeafEvidence {
    pub measurement: Measurement,
    pub verdict: Verdict,
    /// How often it was measured while unknown.
    pub asked: u32,
}

/// Evidence by leaf and basis. It is shared, because every step gets a copy.
#[derive(Debug, Clone, Default)]
pub struct EvidenceCache(Arc<BTreeMap<(Digest, Basis), Arc<LeafEvidence>>>);

impl EvidenceCache {
    pub fn get(&self, leaf: &Digest, basis: &Basis) -> Option<&LeafEvidence> {
        self.0.get(&(leaf.clone(), basis.clone())).map(|seen| &**seen)
    }

    /// The leaves whose verdict on this deciding basis is another than the warm one on the same tree.
    pub fn disagreed<'c>(&self, check: &'c Check, basis: &Basis) -> Vec<&'c Check> {
        let Some(tree) = basis.tree().filter(|_| basis.decides()) else { return Vec::new() };
        let warm = Basis::Warm(tree.clone());
        let differs = |leaf: &&Check| {
            let pair = self.decided(leaf, basis).zip(self.decided(leaf, &warm));
            pair.is_some_and(|(verdict, before)| verdict != before)
        };
        check.leaves().into_iter().filter(differs).collect()
    }

    /// The verdict on a leaf, where there is one.
    pub fn decided(&self, leaf: &Check, basis: &Basis) -> Option<Verdict> {
        let verdict = self.get(&leaf.key(), basis)?.verdict;
        Some(verdict).filter(|verdict| *verdict != Verdict::Unknown)
    }

    pub fn record(&mut self, check: &Check, basis: &Basis, measurement: Measurement) {
        let Some(leaf) = check.leaf() else { return };
        let key = (check.key(), basis.clone());
        let asked = self.0.get(&key).map_or(0, |seen| seen.asked) + 1;
        let verdict = of_leaf(leaf, &measurement);
        Arc::make_mut(&mut self.0)
            .insert(key, Arc::new(LeafEvidence { measurement, verdict, asked }));
    }
}

/// How far a tree of checks is decided.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CheckProgress<'a> {
    Decided(Verdict),
    /// This leaf is measured next.
    Measure(&'a Check),
    /// Only unknown leaves prevent a verdict: this one was measured and is measured again.
    Again(&'a Check),
    /// All that a machine decides holds; a judge must rate this one.
    Rate(&'a Check),
    /// Everything else holds; a person must confirm this one.
    Confirm(&'a Check),
}

impl CheckProgress<'_> {
    /// The verdict, once it is decided.
    pub fn verdict(self) -> Option<Verdict> {
        match self {
            CheckProgress::Decided(verdict) => Some(verdict),
            _ => None,
        }
    }
}

/// The number of leaves of a check, and how many of them hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeafCount {
    pub held: u64,
    pub of: u64,
}

/// Evaluates a tree of checks from the evidence.
#[derive(Debug, Clone, Copy)]
pub struct Evaluator<'a> {
    pub cache: &'a EvidenceCache,
    pub basis: &'a Basis,
    /// The corrections hold people's confirmations of assertions.
    pub corrections: &'a [Arc<Correction>],
    /// The ratings of judges.
    pub ratings: &'a [Rating],
    /// How often an unknown leaf is measured again before it counts as a failure.
    pub again_max: u32,
    /// The attempt whose candidate is judged: a person's word may be on that one alone, and a rating is.
    pub attempt: Option<&'a Intent>,
}

impl<'a> Evaluator<'a> {
    /// By this evidence, and by what people and judges said in a state.
    pub fn new(cache: &'a EvidenceCache, state: &'a State, basis: &'a Basis) -> Self {
        Self {
            cache,
            basis,
            corrections: &state.corrections,
            ratings: &state.run.ratings,
            again_max: state.objective.constraints.max_transient(),
            attempt: None,
        }
    }

    /// The same for the candidate of an attempt.
    pub fn of_candidate(self, attempt: &'a Intent) -> Self {
        Self { attempt: Some(attempt), ..self }
    }

    /// The leaf to measure next. For a deciding verdict against a check every machine leaf of it is
    /// measured, so that trees can be compared by how many leaves hold.
    pub fn next_leaf<'c>(&self, check: &'c Check) -> Option<&'c Check> {
        match self.judge(check) {
            CheckProgress::Measure(leaf) | CheckProgress::Again(leaf) => Some(leaf),
            CheckProgress::Decided(Verdict::Fail) if self.basis.decides() => self.unmeasured(check),
            CheckProgress::Decided(_) | CheckProgress::Rate(_) | CheckProgress::Confirm(_) => None,
        }
    }

    fn unmeasured<'c>(&self, check: &'c Check) -> Option<&'c Check> {
        let is_open = |leaf: &&Check| {
            leaf.leaf().is_some_and(Leaf::is_machine)
                && self.cache.get(&leaf.key(), self.basis).is_none()
        };
        check.leaves().into_iter().find(is_open)
    }

    /// The number of leaves of a check, and how many hold; an unmeasured leaf does not hold.
    pub fn count<'c>(&self, check: &'c Check) -> LeafCount {
        let leaves = check.leaves();
        let holds = |leaf: &&&'c Check| self.judge(leaf) == CheckProgress::Decided(Verdict::Pass);
        LeafCount { held: leaves.iter().filter(holds).count() as u64, of: leaves.len() as u64 }
    }

    /// The leaves that nobody has measured on this basis.
    pub fn count_unmeasured(&self, check: &Check) -> u64 {
        let leaves = check.leaves();
        let is_open = |leaf: &&&Check| matches!(self.judge(leaf), CheckProgress::Measure(_));
        leaves.iter().filter(is_open).count() as u64
    }

    /// Evaluates in written order, assertions last, with short-circuit.
    pub fn judge<'c>(&self, check: &'c Check) -> CheckProgress<'c> {
        match &check.kind {
            CheckKind::Leaf(leaf) => self.leaf(check, leaf),
            CheckKind::All(parts) => self.combine(parts, Verdict::Fail),
            CheckKind::Any(parts) => self.combine(parts, Verdict::Pass),
        }
    }

    /// `decisive` ends it in any position; else the most urgent open leaf counts; else the other verdict.
    fn combine<'c>(&self, parts: &'c [Check], decisive: Verdict) -> CheckProgress<'c> {
        let mut open: Option<CheckProgress<'c>> = None;
        let mut is_unknown = false;
        for part in parts.iter().map(|part| self.judge(part)) {
            match part {
                CheckProgress::Decided(verdict) if verdict == decisive => return part,
                CheckProgress::Decided(verdict) => is_unknown |= verdict == Verdict::Unknown,
                _ if open.is_none_or(|open| urgency(&part) < urgency(&open)) => open = Some(part),
                _ => {}
            }
        }
        open.unwrap_or(CheckProgress::Decided(match decisive {
            _ if is_unknown => Verdict::Unknown,
            Verdict::Fail => Verdict::Pass,
            Verdict::Pass | Verdict::Unknown => Verdict::Fail,
        }))
    }

    /// The newest rating of a leaf: of the candidate, or of the files of the basis.
    pub fn rating(&self, check: &Check) -> Option<&'a Rating> {
        let on = self.attempt.map_or_else(|| self.basis.text(), Intent::work_name);
        rating_on(self.ratings, &check.key(), &on)
    }

    /// A rating that does not suffice.
    pub fn failed_rating<'c>(&self, check: &'c Check) -> Option<(&'a Rating, &'c QualityLeaf)> {
        let Leaf::Quality(leaf) = check.leaf()? else {
            return None;
        };
        let rating = self.rating(check).filter(|rating| rating.passes(leaf) == Some(false))?;
        Some((rating, leaf))
    }

    /// A judge that gave no rating however often it was asked decides nothing. A candidate goes on to wait for one.
    fn quality<'c>(&self, check: &'c Check, leaf: &QualityLeaf) -> CheckProgress<'c> {
        let rating = self.rating(check);
        let is_silent = rating.is_some_and(|rating| rating.silent() > self.again_max);
        match rating.and_then(|rating| rating.passes(leaf)) {
            Some(holds) => CheckProgress::Decided(decided(holds)),
            None if is_silent && self.attempt.is_none() => CheckProgress::Decided(Verdict::Unknown),
            None => CheckProgress::Rate(check),
        }
    }

    fn leaf<'c>(&self, check: &'c Check, leaf: &Leaf) -> CheckProgress<'c> {
        match leaf {
            Leaf::Assertion { .. } => match self.said(check) {
                Some(word) => CheckProgress::Decided(decided(word.affirms())),
                None => CheckProgress::Confirm(check),
            },
            Leaf::Quality(quality) => self.quality(check, quality),
            Leaf::Newer(_) => CheckProgress::Decided(Verdict::Unknown),
            Leaf::Command(_)
            | Leaf::NotCommand { .. }
            | Leaf::File { .. }
            | Leaf::NotFile { .. } => match self.cache.get(&check.key(), self.basis) {
                None => CheckProgress::Measure(check),
                Some(seen) if seen.verdict != Verdict::Unknown => {
                    CheckProgress::Decided(seen.verdict)
                }
                Some(seen) if seen.asked > self.again_max => CheckProgress::Decided(Verdict::Fail),
                Some(_) => CheckProgress::Again(check),
            },
        }
    }
}

fn urgency(progress: &CheckProgress<'_>) -> u8 {
    match progress {
        CheckProgress::Measure(_) => 0,
        CheckProgress::Again(_) => 1,
        CheckProgress::Rate(_) => 2,
        CheckProgress::Confirm(_) => 3,
        CheckProgress::Decided(_) => 4,
    }
}

/// The newest rating of a leaf on a tree, or on the work of an attempt.
pub fn rating_on<'r>(ratings: &'r [Rating], leaf: &Digest, on: &str) -> Option<&'r Rating> {
    let is_it = |one: &&Rating| one.leaf == *leaf && one.on == on;
    ratings.iter().rev().find(is_it)
}
