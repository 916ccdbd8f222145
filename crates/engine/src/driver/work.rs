//! Does each kind of desired work: attempts, merges, rebuilds, judgements. Each ends in an input of the loop. The prompt of
//! an attempt, with the files beside it.

mod attempting;
mod consult;
mod measuring;

use std::{
    convert::Infallible,
    path::{Path, PathBuf},
    time::Duration,
};

use attempting::attempt;
use consult::{Consulting, consult};
use descent_core::{
    desired::Work,
    event::{Input, Merge, Product},
    id::{CommitId, UnixMillis},
    measure,
    state::{Action, Intent, ResultCommit, Role, State, Usage},
    world::{Session, World, earlier},
};
use descent_minds::prompt::{
    self, EarlierPatch, Ending, INSTRUCTIONS_BYTES_MAX, ProjectText, Prompt, PromptFiles,
    PromptInputs, TreeStart,
};
use measuring::{Judging, has_room, judge};
use tokio_util::sync::CancellationToken;

use super::{
    agent_pool::{Agents, action_of},
    executor::{
        BoxedFuture, Executor, NeededCommits, RealExecutor, RunLeftovers, StartSnapshot, with_trees,
    },
    resume::{self, mark_of},
};
use crate::survey;
use descent_agent::agent::{self, InputFile, JobContext, LiveUsage, Maker};
use descent_process::orphans;
use descent_store::{StatePlace, evidence};
use descent_system::{clock::to_next_poll, failure::Failure};
use descent_workspace::{
    self as workspace, KeptPatch, LandingSpec, Warmth, WorkspaceError, Workspaces, Worktrees,
};

pub(crate) use measuring::{CheckSetting, CheckTree, ReadyCheckout};

/// The one executor that touches the project's repository and this machine.
impl Executor for RealExecutor {
    fn sweep(&self) {
        for pid in resume::end_leftovers(&self.place) {
            tracing::info!(pid, "ended a process that an earlier run left");
        }
    }

    fn cut_off(&self) {
        self.programs.cut_off_tools();
    }

    fn count_ended(&self) {
        orphans::begin_count();
    }

    fn ended(&self) -> u64 {
        orphans::ended_count()
    }

    fn resume(&self, state: &State) -> BoxedFuture<RunLeftovers> {
        resume::resume(self, state)
    }

    fn snapshot(&self) -> BoxedFuture<StartSnapshot> {
        on_trees(&self.workspaces, |workspaces| {
            let Some(trees) = workspaces.trees() else { return Ok(StartSnapshot::default()) };
            Ok((Some(trees.start()?), trees.take_notes()))
        })
    }

    fn perform(
        &self,
        world: &World,
        session: &Session,
        effect: Work,
        slot: usize,
        cancel: CancellationToken,
    ) -> BoxedFuture<Option<Input>> {
        let (executor, workspaces) = (self.clone(), self.workspaces.clone());
        let work: BoxedFuture<Option<Input>> = match effect {
            Work::Attempt(intent) => {
                Box::pin(attempt(Attempting::of(executor, world, intent, slot, cancel)))
            }
            Work::Merge { intent, made, onto } => {
                let message = message(world, &intent);
                Box::pin(merge(workspaces, intent, made, onto, message))
            }
            Work::Rebuild { start, from, stays, keep } => Box::pin(async move {
                let built = built(&workspaces, "head".to_owned(), from, keep);
                let (head, rebuilt, dropped) = built.await?;
                let line = stays.into_iter().chain(rebuilt).collect();
                Ok(Some(Input::Built { start, head, line, dropped }))
            }),
            // Merges like the result, but under a reference of its own, which keeps the base of whatever builds on it.
            Work::Stage { speculation, start, wanted, from, keep } => Box::pin(async move {
                let name = format!("beside.{}", speculation.1);
                let (head, _, dropped) = built(&workspaces, name, from, keep).await?;
                Ok(Some(Input::Staged { speculation, start, wanted, head, dropped }))
            }),
            Work::Learn(commit) => Box::pin(async move {
                let wanted = commit.clone();
                let tree = with_trees(&workspaces, move |workspaces| workspaces.tree_of(&wanted));
                Ok(tree.await?.map(|tree| Input::Learned { commit, tree }))
            }),
            Work::Consult(asked) => {
                let (world, session) = (world.clone(), session.clone());
                Box::pin(consult(Consulting { executor, cancel, world, session, consult: asked }))
            }
            Work::Judge { scope, basis, commit, onto, check } => {
                let (world, session) = (world.clone(), session.clone());
                let judging =
                    Judging { executor, cancel, world, session, scope, basis, commit, onto, check };
                Box::pin(judge(judging))
            }
        };
        let workspaces = self.workspaces.clone();
        Box::pin(async move { of_work(&workspaces, work.await) })
    }

    fn is_recording(&self, intent: &Intent) -> bool {
        self.held.get(intent).is_some()
    }

    fn notes(&self) -> Vec<String> {
        self.workspaces.trees().map_or_else(Vec::new, Worktrees::take_notes)
    }

    fn follow(&self, head: CommitId) -> BoxedFuture<()> {
        on_trees(&self.workspaces, move |workspaces| {
            let trees = workspaces.trees();
            trees.map_or(Ok(()), |trees| trees.follow(&head))
        })
    }

    fn deliver(&self, head: CommitId, needed: NeededCommits) -> BoxedFuture<()> {
        on_trees(&self.workspaces, move |workspaces| {
            let Some(trees) = workspaces.trees() else { return Ok(()) };
            trees.follow(&head)?;
            trees.release(&needed.commits, &needed.shown)?;
            trees.deliver(&head).map(drop)
        })
    }

    fn save_state(&self, bytes: &[u8]) -> Result<PathBuf, Failure> {
        Ok(self.workspaces.save_state(bytes)?)
    }
}

/// The result of work, unless a place is missing that it needs.
fn of_work(
    workspaces: &Workspaces,
    done: Result<Option<Input>, Failure>,
) -> Result<Option<Input>, Failure> {
    match done {
        Ok(Some(Input::Judged { .. })) => match workspaces.missing() {
            Some(missing) => Err(missing.into()),
            None => done,
        },
        done => of_trees(workspaces, done),
    }
}

/// The missing place that explains a failure without a cause, if there is one.
fn of_trees<T>(workspaces: &Workspaces, done: Result<T, Failure>) -> Result<T, Failure> {
    done.map_err(|failure| match failure.cause {
        None => workspaces.missing().map_or(failure, Failure::from),
        Some(_) => failure,
    })
}

fn on_trees<T: Send + 'static>(
    workspaces: &Workspaces,
    work: impl FnOnce(&Workspaces) -> Result<T, WorkspaceError> + Send + 'static,
) -> BoxedFuture<T> {
    let workspaces = workspaces.clone();
    Box::pin(async move { of_trees(&workspaces, with_trees(&workspaces, work).await) })
}

/// An attempt, with the state that recorded its intent.
struct Attempting {
    executor: RealExecutor,
    cancel: CancellationToken,
    world: World,
    intent: Intent,
    slot: usize,
    /// The atom's action, if it has one.
    action: Option<Action>,
    /// A planner: it gets the remaining budget, and changes nothing.
    is_plan: bool,
}

impl Attempting {
    fn of(
        executor: RealExecutor,
        world: &World,
        intent: Intent,
        slot: usize,
        cancel: CancellationToken,
    ) -> Self {
        let atom = world.state.atoms.get(&intent.atom);
        let action = action_of(&world.state, &intent);
        Self {
            action: action.cloned(),
            is_plan: atom.is_some_and(|atom| atom.plan().is_some()),
            executor,
            cancel,
            world: world.clone(),
            intent,
            slot,
        }
    }

    /// It only thinks: what it changes is not kept.
    fn is_thinking(&self) -> bool {
        self.is_plan || self.intent.role == Role::Probe
    }

    /// An agent makes it: repeating it would cost.
    fn is_paid(&self) -> bool {
        self.action.is_none()
    }

    /// The directory of its own files.
    fn dir(&self) -> PathBuf {
        self.executor.dir_of(&self.intent)
    }

    fn timeout(&self) -> Duration {
        let state = &self.world.state;
        let task = state.atoms.get(&self.intent.atom).and_then(|atom| atom.task());
        let own_ms = task.and_then(|task| task.spec.timeout.as_ref()).map(|length| length.ms);
        let ms = own_ms.unwrap_or_else(|| state.objective.constraints.attempt_timeout_ms());
        Duration::from_millis(ms.saturating_sub(self.earlier_turns_ms()))
    }

    /// The time of the turns before the one of its intent.
    fn earlier_turns_ms(&self) -> u64 {
        self.intent.turn.as_ref().map_or(0, |turn| turn.ms)
    }

    /// Whether its tree may begin with build state of an earlier one.
    fn warmth(&self) -> Warmth {
        let (state, intent) = (&self.world.state, &self.intent);
        let task = state.atoms.get(&intent.atom).and_then(|atom| atom.task());
        match task {
            Some(task) if measure::decides_alone(state, task, intent.n) => Warmth::Cold,
            _ => Warmth::Warm,
        }
    }

    /// By which it is made: its action, or the agent of its role.
    fn maker(&self) -> Result<Maker, Failure> {
        let RealExecutor { environment, agents, .. } = &self.executor;
        if let Some(action) = &self.action {
            return Ok(Maker::Action { action: action.clone(), env: environment.clone() });
        }
        agents.maker(&self.intent, self.is_plan, environment, self.slot)
    }
}

impl RealExecutor {
    /// The directory of the own files of an attempt, or of a question.
    fn dir_of(&self, intent: &Intent) -> PathBuf {
        self.place.attempts().join(intent.id.as_str())
    }

    /// Hands on the usage of an attempt or a question under way: a limit may be set at any time.
    async fn follow(&self, intent: &Intent, usage: &LiveUsage) -> Infallible {
        let (dir, mut last, mut seen) = (self.dir_of(intent), Usage::default(), None);
        loop {
            self.clock.sleep(to_next_poll(&*self.clock)).await;
            let so_far = usage.so_far(&dir, &mut seen);
            let Some(usage) = so_far.filter(|usage| !usage.is_none() && *usage != last) else {
                continue;
            };
            self.usage.report(intent, usage.clone());
            if let Err(error) = agent::keep_usage(&dir, intent, &usage) {
                tracing::debug!(%error, "the usage of an attempt is not kept");
            }
            last = usage;
        }
    }

    /// The context of a job that works in `cwd`, and whose processes are recorded in `started`.
    fn job<'a>(
        &'a self,
        intent: &'a Intent,
        maker: Maker,
        cwd: PathBuf,
        started: PathBuf,
        timeout: Duration,
        slot: Option<usize>,
    ) -> JobContext<'a> {
        JobContext {
            intent,
            maker,
            cwd,
            dir: self.dir_of(intent),
            started,
            timeout,
            env: self.environment.clone(),
            programs: &*self.programs,
            mark: mark_of(&self.place, &self.run, &intent.id),
            slot: slot.map(|slot| self.ports.of_slot(slot)),
        }
    }
}

fn message(world: &World, intent: &Intent) -> String {
    workspace::message(&intent.atom, &prompt::subject(world, &intent.atom))
}

async fn merge(
    workspaces: Workspaces,
    intent: Intent,
    made: Option<Product>,
    onto: Option<CommitId>,
    message: String,
) -> Result<Option<Input>, Failure> {
    let (attempt, target) = (intent.id.clone(), onto.clone());
    let merge = with_trees(&workspaces, move |workspaces| {
        let (Some(base), Some(onto), Some(made), Some(trees)) =
            (&intent.base, &target, &made, workspaces.trees())
        else {
            // An attempt without a tree of its own made nothing that could be merged.
            return Ok(Merge::Unchanged { tree: None });
        };
        let landing =
            LandingSpec { base, onto, message: &message, at: workspace::time_of(&intent.at) };
        let merge = trees.land(made, &landing)?;
        if let Merge::Clean { commit, .. } = &merge
            && *made != Product::Commit(commit.clone())
        {
            // The objects are safe from gc and a power cut before the state names them. The
            // attempt's own objects were kept when it had ended.
            trees.keep(intent.id.as_str(), commit, onto)?;
        }
        Ok(merge)
    });
    Ok(Some(Input::Tried { attempt, onto, merge: merge.await? }))
}

/// Rebuilds a line of commits. A reference of that name keeps it before anything builds on it.
async fn built(
    workspaces: &Workspaces,
    name: String,
    from: CommitId,
    keep: Vec<ResultCommit>,
) -> Result<workspace::RebuildResult, Failure> {
    let built = with_trees(workspaces, move |workspaces| {
        let Some(trees) = workspaces.trees() else { return Ok((from, keep, Vec::new())) };
        let built = trees.rebuild(&from, &keep)?;
        trees.keep(&name, &built.0, &from)?;
        Ok(built)
    });
    built.await
}

/// A prompt with the facts that only the shell knows.
#[derive(Debug)]
pub struct ToldPrompt {
    pub prompt: Prompt,
    patches: Vec<KeptPatch>,
}

/// The facts about an attempt that its prompt names.
#[derive(Debug, Clone, Copy)]
pub struct PromptRequest<'a> {
    pub place: &'a StatePlace,
    /// Without them nothing is told of earlier changes.
    pub workspaces: Option<&'a Workspaces>,
    pub world: &'a World,
    pub intent: &'a Intent,
    pub now: UnixMillis,
    pub start: &'a TreeStart,
    pub ending: Ending,
    /// The tree that is told of where the agent cannot look.
    pub tree: &'a Path,
    pub agents: &'a Agents,
}

impl PromptRequest<'_> {
    /// The project's instructions as the run started from them, unless the agent reads that file by itself. An action is
    /// told nothing.
    fn instructions(&self) -> Option<ProjectText> {
        let (state, intent) = (&self.world.state, self.intent);
        let atom = state.atom(&intent.atom)?;
        let is_plan = atom.plan().is_some();
        atom.task().filter(|task| task.spec.action.is_none())?;
        let trees = self.workspaces.and_then(Workspaces::trees);
        let text = match (&state.run.started_from, trees) {
            (Some(start), Some(trees)) => {
                let (path, text) = trees.words_of_start(&start.commit, &survey::INSTRUCTIONS)?;
                survey::beginning_of(&path, &text, INSTRUCTIONS_BYTES_MAX)
            }
            // It has not begun, or all work in these very files.
            _ => survey::instructions(&self.place.project),
        }?;
        (!self.agents.reads(intent, is_plan, &text.path)).then_some(text)
    }
}

impl ToldPrompt {
    /// A prompt beside which no patch lies.
    fn alone(prompt: Prompt) -> Self {
        Self { prompt, patches: Vec::new() }
    }

    pub fn of(request: &PromptRequest<'_>) -> Self {
        let PromptRequest { place, world, .. } = request;
        let changes = earlier::changes(&world.state, request.intent, None);
        let trees = request.workspaces.and_then(Workspaces::trees);
        let patches = trees.map(|trees| trees.patches(&changes)).unwrap_or_default();
        let dir = place.attempts().join(request.intent.id.as_str());
        let dir = std::path::absolute(&dir).unwrap_or(dir);
        let lies_at = |one: &_| Some(evidence::find(place, one)?.display().to_string());
        let is_blind = request.ending == Ending::Answer;
        let instructions = request.instructions();
        let mut words = is_blind.then(|| survey::words_of(request.tree));
        if let (Some(words), Some(text)) = (&mut words, &instructions) {
            words.texts.retain(|one| one.path != text.path);
        }
        let prompt = prompt::attempt(&PromptInputs {
            world,
            intent: request.intent,
            now: request.now,
            files: PromptFiles {
                lies_at: &lies_at,
                patches: &named(&patches, &dir),
                start: request.start,
            },
            project: words.as_ref(),
            instructions: instructions.as_ref(),
            worker: request.agents.worker().as_ref(),
            ending: request.ending,
        });
        Self { prompt, patches }
    }

    /// The files beside the prompt.
    pub fn files(&self) -> Vec<InputFile> {
        let whole = self.prompt.files.iter().map(InputFile::from);
        let patches = self.patches.iter().enumerate();
        let of_patch = |(n, patch): (usize, &KeptPatch)| InputFile {
            name: name(n),
            bytes: patch.bytes.clone(),
        };
        whole.chain(patches.map(of_patch)).collect()
    }
}

fn named(patches: &[KeptPatch], dir: &Path) -> Vec<EarlierPatch> {
    let one = |(place, patch): (usize, &KeptPatch)| EarlierPatch {
        attempt: patch.attempt.clone(),
        path: dir.join(name(place)).display().to_string(),
    };
    patches.iter().enumerate().map(one).collect()
}

/// The newest is the first.
fn name(place: usize) -> String {
    format!("earlier-{}.patch", place + 1)
}
