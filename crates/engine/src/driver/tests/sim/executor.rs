//! A simulated executor: attempts that take a time and end by the model, merges, checks, and faults.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use descent_core::{
    desired::{self, Work},
    event::{Input, Merge, Outcome, Product, Scope},
    id::{AtomId, AttemptId, CommitId, Digest, Epoch},
    state::{Check, Intent, ResultCommit, State},
    verdict::{Basis, CommandEnd, Measurement, MeasurementKind},
    view,
    world::{Session, World},
};
use tokio_util::sync::CancellationToken;

use super::{
    super::super::{
        Executor,
        executor::{BoxedFuture, NeededCommits, RunLeftovers, StartSnapshot},
    },
    model::Model,
    repo::{Piece, Repo, START},
    scene::{Scene, held},
};
use descent_store::testing::lossy::Fate;
use descent_system::{clock::Clock, failure::Failure};

const ATTEMPT_MS: usize = 2_500;
const MERGE_MS: usize = 40;

#[derive(Clone)]
pub(super) struct SimExecutor {
    pub(super) scene: Arc<Scene>,
    pub(super) repo: Arc<Mutex<Repo>>,
    pub(super) model: Arc<Model>,
    pub(super) good_trees: Arc<BTreeSet<BTreeSet<String>>>,
    /// Whether all faults are over.
    pub(super) is_calm: bool,
}

type Sim<T> = Result<T, String>;

impl Executor for SimExecutor {
    fn sweep(&self) {
        self.scene.step("sweep");
        held(&self.repo).life += 1;
    }

    fn cut_off(&self) {}

    fn count_ended(&self) {}

    fn ended(&self) -> u64 {
        0
    }

    fn resume(&self, state: &State) -> BoxedFuture<RunLeftovers> {
        let repo = held(&self.repo);
        let gone: BTreeSet<CommitId> =
            view::commits(state).into_iter().filter(|commit| !repo.holds(commit)).collect();
        let finished: Vec<(AttemptId, Outcome)> = state
            .run
            .in_flight
            .iter()
            .filter_map(|intent| Some((intent.id.clone(), repo.finished.get(&intent.id)?.clone())))
            .collect();
        drop(repo);
        if !gone.is_empty() {
            self.scene.wrong(format!("the repository does not hold {gone:?}"));
        }
        if !finished.is_empty() {
            self.scene.saw("a result lies complete after a crash");
        }
        let scene = Arc::clone(&self.scene);
        Box::pin(async move {
            scene.step("resume");
            Ok(RunLeftovers::new(finished, gone))
        })
    }

    fn snapshot(&self) -> BoxedFuture<StartSnapshot> {
        let start = held(&self.repo).start();
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
        self.scene.step("an effect begins");
        let executor = self.clone();
        match effect {
            Work::Consult(_) => panic!("no judge in these runs"),
            Work::Attempt(intent) => {
                self.may_begin(world, &intent);
                Box::pin(async move { Ok(executor.attempt(intent, cancel).await) })
            }
            Work::Merge { intent, made, onto } => {
                Box::pin(async move { Ok(executor.merge(intent, made, onto).await) })
            }
            Work::Rebuild { start, from, stays, keep } => Box::pin(async move {
                executor.scene.saw("the tree is made anew");
                let built = executor.rebuild(from, stays, keep).await;
                Ok(built.map(|(head, line, dropped)| Input::Built { start, head, line, dropped }))
            }),
            Work::Stage { speculation, start, wanted, from, keep } => Box::pin(async move {
                executor.scene.saw("a tree is made for what is tried beside");
                let built = executor.rebuild(from, Vec::new(), keep).await;
                Ok(built.map(|(head, _, dropped)| Input::Staged {
                    speculation,
                    start,
                    wanted,
                    head,
                    dropped,
                }))
            }),
            Work::Learn(commit) => {
                let tree = held(&self.repo).tree(&commit);
                let event = self.sound(tree).map(|tree| Input::Learned { commit, tree });
                Box::pin(async { Ok(event) })
            }
            Work::Judge { scope, basis, commit, check, .. } => {
                let event = self.judge(world, session, (scope, basis), commit, &check);
                let event = self.sound(event);
                let waits = self.scene.clock.sleep(self.ms(MERGE_MS));
                Box::pin(async move {
                    waits.await;
                    Ok(event)
                })
            }
        }
    }

    fn follow(&self, head: CommitId) -> BoxedFuture<()> {
        self.sound(held(&self.repo).at(&head));
        Box::pin(async { Ok(()) })
    }

    fn deliver(&self, head: CommitId, needed: NeededCommits) -> BoxedFuture<()> {
        self.sound(held(&self.repo).at(&head));
        let executor = self.clone();
        Box::pin(async move {
            executor.scene.step("deliver");
            let mut repo = held(&executor.repo);
            repo.keep_only(&needed.commits);
            repo.delivered = Some(head);
            Ok(())
        })
    }

    fn save_state(&self, _bytes: &[u8]) -> Result<PathBuf, Failure> {
        Ok(PathBuf::from("saved"))
    }
}

impl SimExecutor {
    /// Reports an impossible observation; then nothing comes of it.
    fn sound<T>(&self, of: Sim<T>) -> Option<T> {
        of.map_err(|what| self.scene.wrong(what)).ok()
    }

    fn ms(&self, most: usize) -> Duration {
        Duration::from_millis(1 + self.scene.below(most) as u64)
    }

    fn chance(&self, percent: usize) -> bool {
        !self.is_calm && self.scene.percent(percent)
    }

    /// Checks intent before effect, and that nothing solved is made again.
    fn may_begin(&self, world: &World, intent: &Intent) {
        let watchman = held(&self.scene.watchman);
        let stands = watchman.stands_in_flight(&intent.id);
        drop(watchman);
        if !stands {
            self.scene.wrong(format!("{} begins, and no lasting commit says so", intent.id));
        }
        if world.state.bindings.contains_key(&intent.atom) {
            self.scene.wrong(format!("{} is solved, and {} begins", intent.atom, intent.id));
        }
        self.scene
            .tell(format_args!("begins {} of {}, number {}", intent.id, intent.atom, intent.n));
    }

    fn is_swept(&self, life: u32) -> bool {
        held(&self.repo).life > life
    }

    async fn attempt(&self, intent: Intent, cancel: CancellationToken) -> Option<Input> {
        let life = held(&self.repo).life;
        let node = &self.model.nodes[self.model.ix(intent.atom.as_str())];
        let is_deaf = self.chance(15);
        for half in 0..2 {
            let sleep = self.scene.clock.sleep(self.ms(ATTEMPT_MS / 2));
            tokio::select! {
                biased;
                () = cancel.cancelled(), if !is_deaf => {
                    self.scene.saw("an attempt is cancelled");
                    return None;
                }
                () = sleep => {}
            }
            if self.is_swept(life) {
                self.scene.saw("a process of a dead loop is ended");
                return None;
            }
            if half == 0 && node.is_external {
                self.happens_outside(&intent);
            }
        }
        let outcome = self.outcome(&intent)?;
        held(&self.repo).finished.insert(intent.id.clone(), outcome.clone());
        if self.chance(20) {
            self.scene.clock.sleep(self.ms(MERGE_MS)).await;
        }
        if cancel.is_cancelled() {
            self.scene.saw("a result comes after its attempt was cancelled");
        }
        let is_of_old = !node.is_external && self.chance(3);
        let epoch = if is_of_old { Epoch(intent.epoch.0.saturating_sub(1)) } else { intent.epoch };
        if is_of_old {
            self.scene.saw("a result comes with an old epoch");
        }
        Some(Input::Ended { attempt: intent.id, epoch, outcome: Box::new(outcome) })
    }

    fn happens_outside(&self, intent: &Intent) {
        let atom = intent.atom.to_string();
        let mut repo = held(&self.repo);
        let allowed = repo.allowed.get(&atom).copied().unwrap_or(1);
        let times = repo.effects.entry(atom).or_default();
        *times += 1;
        let is_too_often = *times > allowed;
        drop(repo);
        self.scene.saw("an effect happens outside");
        if is_too_often && !held(&self.scene.watchman).is_excused {
            self.scene.wrong(format!("the effect of {} happens twice", intent.atom));
        }
    }

    fn outcome(&self, intent: &Intent) -> Option<Outcome> {
        let node = &self.model.nodes[self.model.ix(intent.atom.as_str())];
        let code = if !node.is_external && self.chance(8) {
            self.scene.saw("an attempt fails for a while");
            75
        } else {
            i32::from(!node.has_check && !self.succeeds(intent))
        };
        if code != 75 {
            held(&self.scene.watchman).ended.insert(intent.id.clone());
        }
        let made = match (&intent.base, code) {
            (_, 1 | 75) | (None, _) => None,
            (Some(_), _) if node.is_silent => Some(Product::Unchanged),
            (Some(_), _) => Some(Product::Commit(self.lasting(intent)?)),
        };
        Some(Outcome { made, ..Outcome::ended(CommandEnd::Exit(code), 1) })
    }

    /// The change of this attempt alone, made durable.
    fn lasting(&self, intent: &Intent) -> Option<CommitId> {
        let put = held(&self.repo).put(&CommitId::new(START), self.piece(intent));
        let commit = self.sound(put)?;
        self.stays(&commit);
        Some(commit)
    }

    fn stays(&self, commit: &CommitId) {
        held(&self.repo).make_durable(commit);
        held(&self.scene.watchman).durable.insert(commit.clone());
    }

    fn piece(&self, intent: &Intent) -> Piece {
        let is_good = self.succeeds(intent);
        let content = format!("{} {}", intent.context, if is_good { 0 } else { intent.n });
        Piece { atom: intent.atom.to_string(), content, is_good }
    }

    fn succeeds(&self, intent: &Intent) -> bool {
        let choice = |group: usize| {
            let id = intent.choices.get(self.model.nodes[group].id.as_str())?;
            Some(self.model.ix(id.as_str()))
        };
        self.model.succeeds(self.model.ix(intent.atom.as_str()), intent.n, choice)
    }

    async fn merge(
        &self,
        intent: Intent,
        made: Option<Product>,
        onto: Option<CommitId>,
    ) -> Option<Input> {
        let life = held(&self.repo).life;
        let base = onto.clone()?;
        if let Some(Product::Commit(commit)) = &made {
            self.sound(held(&self.repo).at(commit))?;
        }
        let node = &self.model.nodes[self.model.ix(intent.atom.as_str())];
        let merge = if node.is_silent {
            let tree = held(&self.repo).tree(&base);
            Merge::Unchanged { tree: Some(self.sound(tree)?) }
        } else if self.chance(4) {
            self.scene.saw("a merge conflicts");
            Merge::Conflict(vec!["file".to_owned()])
        } else {
            let piece = self.piece(&intent);
            let commit = self.built(&base, piece.clone(), life).await?;
            let tree = held(&self.repo).tree(&commit);
            Merge::Clean {
                tree: self.sound(tree)?,
                commit,
                change: Digest::sha256(format!("{piece:?}").as_bytes()),
                files: vec![intent.atom.to_string()],
                protected: Vec::new(),
            }
        };
        Some(Input::Tried { attempt: intent.id, onto, merge })
    }

    /// Builds in three steps: between them the loop can die, and the power be cut.
    async fn built(&self, onto: &CommitId, piece: Piece, life: u32) -> Option<CommitId> {
        self.scene.clock.sleep(self.ms(MERGE_MS)).await;
        if self.is_swept(life) {
            return None;
        }
        let put = held(&self.repo).put(onto, piece);
        let commit = self.sound(put)?;
        self.scene.clock.sleep(self.ms(MERGE_MS)).await;
        if self.is_swept(life) {
            return None;
        }
        self.stays(&commit);
        self.scene.clock.sleep(self.ms(MERGE_MS)).await;
        Some(commit)
    }

    async fn rebuild(
        &self,
        from: CommitId,
        stays: Vec<ResultCommit>,
        keep: Vec<ResultCommit>,
    ) -> Option<(CommitId, Vec<ResultCommit>, Vec<AtomId>)> {
        let life = held(&self.repo).life;
        let (mut line, mut dropped, mut head) = (stays, Vec::new(), from);
        for placed in keep {
            if self.chance(10) {
                dropped.push(placed.atom);
                continue;
            }
            let pieces = held(&self.repo).at(&placed.commit);
            let piece = self.sound(pieces)?.pop()?;
            if piece.atom != placed.atom.as_str() {
                self.scene.wrong(format!("{} is not of {}", placed.commit, placed.atom));
            }
            head = self.built(&head, piece, life).await?;
            line.push(ResultCommit::new(placed.atom, head.clone()));
        }
        Some((head, line, dropped))
    }

    fn judge(
        &self,
        world: &World,
        session: &Session,
        (scope, basis): (Scope, Basis),
        commit: Option<CommitId>,
        check: &Check,
    ) -> Sim<Input> {
        let commit = commit.ok_or("a commit to check out")?;
        let pieces = held(&self.repo).at(&commit)?;
        let (mut session, mut seen) = (session.clone(), Vec::new());
        while let Some(leaf) = desired::next_leaf(&session, world, check, &basis) {
            let key = leaf.key();
            if seen.iter().any(|(known, _)| *known == key) {
                break;
            }
            let measurement = self.measure(world, &scope, &pieces, &key);
            session.evidence.record(leaf, &basis, measurement.clone());
            seen.push((key, measurement));
        }
        Ok(Input::Judged { scope, basis, seen })
    }

    fn measure(
        &self,
        world: &World,
        scope: &Scope,
        pieces: &[Piece],
        leaf: &Digest,
    ) -> Measurement {
        let holds = match scope {
            Scope::BaseCase => {
                let atoms: BTreeSet<String> =
                    pieces.iter().map(|piece| piece.atom.clone()).collect();
                pieces.iter().all(|piece| piece.is_good) && self.good_trees.contains(&atoms)
            }
            Scope::Atom(id) => {
                let intent = world.state.run.in_flight.iter().find(|intent| intent.id == *id);
                let atom = intent.map(|intent| intent.atom.to_string()).unwrap_or_default();
                pieces.iter().any(|piece| piece.atom == atom && piece.is_good)
            }
        };
        let asked = (leaf.to_string(), format!("{pieces:?}"));
        let is_new = held(&self.repo).asked.insert(asked);
        let is_unknown = is_new && self.chance(5);
        let code = if is_unknown { 127 } else { i32::from(!holds) };
        let what =
            MeasurementKind::Command { how: CommandEnd::Exit(code), matched: None, number: None };
        Measurement { what, duration_ms: 0, excerpt: String::new(), whole: None }
    }
}
