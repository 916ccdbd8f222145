//! A simulated executor: an attempt takes a time and adds its atom to a tree in memory, and checks read that tree. An
//! attempt whose intent is not in the state file yet panics.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use descent_core::{
    desired::{self, Work},
    event::{Input, Merge, Outcome, Scope},
    id::{AttemptId, CommitId, Digest, TreeId},
    state::{Check, Intent, StartedFrom, State, Workspace, fields::Extra},
    verdict::{Basis, CommandEnd, Measurement, MeasurementKind},
    world::{Session, World},
};
use tokio_util::sync::CancellationToken;

use super::super::{
    Executor,
    executor::{BoxedFuture, NeededCommits, RunLeftovers, StartSnapshot},
};
use descent_store::{StatePlace, Store};
use descent_system::{clock::Clock, failure::Failure};

const START: &str = "start";

/// The trees outlive the executor, as a repository outlives a process.
#[derive(Debug, Default)]
pub(super) struct Trees {
    commits: Mutex<BTreeMap<CommitId, BTreeSet<String>>>,
    /// Attempts begun, in order.
    pub(super) begun: Mutex<Vec<String>>,
    pub(super) delivered: Mutex<Option<CommitId>>,
    /// Attempts that are being recorded.
    recorded: Mutex<BTreeSet<AttemptId>>,
}

pub(super) struct PlayedHands {
    /// The state that must hold the intent of an attempt before it begins.
    pub(super) place: StatePlace,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) trees: Arc<Trees>,
    /// The duration of each attempt.
    pub(super) attempt: Duration,
    /// The exit codes of attempts by number, from the first; all later ones succeed.
    pub(super) codes: Vec<i32>,
    /// Called as an attempt ends, before it is recorded.
    pub(super) at_end: fn(&StatePlace, &Intent),
    /// The duration of its recording.
    pub(super) recording: Duration,
}

impl Trees {
    fn at(&self, commit: Option<&CommitId>) -> BTreeSet<String> {
        let commits = self.commits.lock().unwrap();
        commit.and_then(|commit| commits.get(commit)).cloned().unwrap_or_default()
    }

    fn put(&self, onto: &CommitId, atom: &str) -> Merge {
        let mut tree = self.at(Some(onto));
        tree.insert(atom.to_owned());
        let commit = CommitId::new(format!("{onto}+{atom}"));
        let id = tree_id(&tree);
        self.commits.lock().unwrap().insert(commit.clone(), tree);
        Merge::Clean {
            commit,
            tree: id,
            change: Digest::sha256(atom.as_bytes()),
            files: vec![atom.to_owned()],
            protected: Vec::new(),
        }
    }
}

fn tree_id(tree: &BTreeSet<String>) -> TreeId {
    TreeId::new(format!("{tree:?}"))
}

impl Executor for PlayedHands {
    fn sweep(&self) {}

    fn cut_off(&self) {}

    fn count_ended(&self) {}

    fn ended(&self) -> u64 {
        0
    }

    fn resume(&self, _state: &State) -> BoxedFuture<RunLeftovers> {
        Box::pin(async { Ok(RunLeftovers::default()) })
    }

    fn snapshot(&self) -> BoxedFuture<StartSnapshot> {
        let loaded = Store::open(self.place.clone()).read().unwrap();
        if loaded.state.objective.constraints.workspace() == Workspace::Shared {
            return Box::pin(async { Ok((None, Vec::new())) });
        }
        let start = StartedFrom {
            commit: CommitId::new(START),
            tree: tree_id(&BTreeSet::new()),
            head: CommitId::new(START),
            branch: None,
            dirty: false,
            extra: Extra::default(),
        };
        Box::pin(async { Ok((Some(start), Vec::new())) })
    }

    fn perform(
        &self,
        world: &World,
        session: &Session,
        effect: Work,
        _slot: usize,
        cancel: CancellationToken,
    ) -> BoxedFuture<Option<Input>> {
        match effect {
            Work::Attempt(intent) => self.attempt(intent, cancel),
            Work::Consult(_) => panic!("no judge in these runs"),
            Work::Merge { intent, onto, .. } => {
                let onto = onto.expect("a head");
                let merge = self.trees.put(&onto, intent.atom.as_str());
                soon(Input::Tried { attempt: intent.id, onto: Some(onto), merge })
            }
            Work::Learn(commit) => {
                soon(Input::Learned { tree: tree_id(&self.trees.at(Some(&commit))), commit })
            }
            Work::Judge { scope, basis, commit, check, .. } => {
                soon(self.judge(world, session, (scope, basis), commit, &check))
            }
            Work::Rebuild { .. } | Work::Stage { .. } => {
                panic!("nothing is taken back, or tried beside, here")
            }
        }
    }

    fn is_recording(&self, intent: &Intent) -> bool {
        self.trees.recorded.lock().unwrap().contains(&intent.id)
    }

    fn follow(&self, _head: CommitId) -> BoxedFuture<()> {
        Box::pin(async { Ok(()) })
    }

    fn deliver(&self, head: CommitId, _needed: NeededCommits) -> BoxedFuture<()> {
        *self.trees.delivered.lock().unwrap() = Some(head);
        Box::pin(async { Ok(()) })
    }

    fn save_state(&self, _bytes: &[u8]) -> Result<PathBuf, Failure> {
        Ok(PathBuf::from("saved"))
    }
}

impl PlayedHands {
    fn attempt(&self, intent: Intent, cancel: CancellationToken) -> BoxedFuture<Option<Input>> {
        let committed = Store::open(self.place.clone()).read().unwrap();
        let in_flight = &committed.state.run.in_flight;
        assert!(
            in_flight.iter().any(|known| known.id == intent.id),
            "{} begins before its intent is in the file",
            intent.id
        );
        let mut begun = self.trees.begun.lock().unwrap();
        begun.push(intent.atom.to_string());
        let code = self.codes.get(begun.len() - 1).copied().unwrap_or(0);
        let sleep = self.clock.sleep(self.attempt);
        let (at_end, place) = (self.at_end, self.place.clone());
        let (trees, clock, recording) =
            (Arc::clone(&self.trees), Arc::clone(&self.clock), self.recording);
        Box::pin(async move {
            tokio::select! {
                () = sleep => {}
                () = cancel.cancelled() => return Ok(None),
            }
            trees.recorded.lock().unwrap().insert(intent.id.clone());
            at_end(&place, &intent);
            if !recording.is_zero() {
                tokio::select! {
                    () = clock.sleep(recording) => {}
                    () = cancel.cancelled() => return Ok(None),
                }
            }
            trees.recorded.lock().unwrap().remove(&intent.id);
            let outcome = Outcome::ended(CommandEnd::Exit(code), 1);
            Ok(Some(Input::Ended {
                attempt: intent.id,
                epoch: intent.epoch,
                outcome: Box::new(outcome),
            }))
        })
    }

    /// The base case needs the last of the steps.
    fn judge(
        &self,
        world: &World,
        session: &Session,
        (scope, basis): (Scope, Basis),
        commit: Option<CommitId>,
        check: &Check,
    ) -> Input {
        let code = i32::from(!self.trees.at(commit.as_ref()).contains("c"));
        let (mut session, mut seen) = (session.clone(), Vec::new());
        while let Some(leaf) = desired::next_leaf(&session, world, check, &basis) {
            let key = leaf.key();
            if seen.iter().any(|(known, _)| *known == key) {
                break;
            }
            let measurement = Measurement {
                what: MeasurementKind::Command {
                    how: CommandEnd::Exit(code),
                    matched: None,
                    number: None,
                },
                duration_ms: 0,
                excerpt: String::new(),
                whole: None,
            };
            session.evidence.record(leaf, &basis, measurement.clone());
            seen.push((key, measurement));
        }
        Input::Judged { scope, basis, seen }
    }
}

fn soon(event: Input) -> BoxedFuture<Option<Input>> {
    Box::pin(async { Ok(Some(event)) })
}
