//! Does each kind of desired work: attempts, merges, rebuilds, judgements. Each ends in an input of
//! the loop.

mod attempting;
mod consult;
mod judging;
mod kept;
mod thinking;
mod told;

use std::{path::PathBuf, time::Duration};

use descent_core::{
    desired::Work,
    event::{Input, Merge, Product},
    id::CommitId,
    prompt,
    state::{Intent, ResultCommit, Role},
    world::{Session, World},
};
use tokio_util::sync::CancellationToken;

use super::{
    blocking::with_trees,
    executor::{BoxedFuture, RealExecutor},
    leftovers::mark_of,
};
use crate::{
    agent::{JobContext, Maker},
    failure::Failure,
    workspace::{self, LandingSpec, Workspaces},
};

pub use judging::{ReadyCheckout, prepare_checkout};
pub use told::{PromptRequest, ToldPrompt};

use attempting::attempt;
use consult::{Consulting, consult};
use judging::{Judging, judge};
use kept::has_room;

pub(super) fn perform(
    executor: &RealExecutor,
    world: &World,
    session: &Session,
    effect: Work,
    slot: usize,
    cancel: CancellationToken,
) -> BoxedFuture<Option<Input>> {
    let (executor, workspaces) = (executor.clone(), executor.workspaces.clone());
    match effect {
        Work::Attempt(intent) => {
            Box::pin(attempt(Attempting::of(executor, world, intent, slot), cancel))
        }
        Work::Merge { intent, made, onto } => {
            let message = message(world, &intent);
            Box::pin(merge(workspaces, intent, made, onto, message))
        }
        Work::Rebuild { start, from, stays, keep } => Box::pin(async {
            let built = built(workspaces, "head".to_owned(), from, keep);
            let (head, rebuilt, dropped) = built.await?;
            let line = stays.into_iter().chain(rebuilt).collect();
            Ok(Some(Input::Built { start, head, line, dropped }))
        }),
        // Merges like the result, but under a reference of its own, which keeps the base of whatever builds on it.
        Work::Stage { speculation, start, wanted, from, keep } => Box::pin(async {
            let name = format!("beside.{}", speculation.1);
            let (head, _, dropped) = built(workspaces, name, from, keep).await?;
            Ok(Some(Input::Staged { speculation, start, wanted, head, dropped }))
        }),
        Work::Learn(commit) => Box::pin(learn(workspaces, commit)),
        Work::Consult(asked) => {
            let (world, session) = (world.clone(), session.clone());
            let consulting = Consulting { executor, world, session, consult: asked };
            Box::pin(consult(consulting, cancel))
        }
        Work::Judge { scope, basis, commit, onto, check } => {
            let (world, session) = (world.clone(), session.clone());
            let judging = Judging { executor, world, session, scope, basis, commit, onto, check };
            Box::pin(judge(judging, cancel))
        }
    }
}

/// An attempt, with the state that recorded its intent.
struct Attempting {
    executor: RealExecutor,
    world: World,
    intent: Intent,
    slot: usize,
    /// The atom's action, if it has one.
    action: Option<String>,
    /// A planner: it gets the remaining budget, and changes nothing.
    is_plan: bool,
}

impl Attempting {
    fn of(executor: RealExecutor, world: &World, intent: Intent, slot: usize) -> Self {
        let atom = world.state.atoms.get(&intent.atom);
        let action = atom.and_then(|atom| atom.task()?.spec.action.as_ref());
        let action = action.filter(|_| intent.role != Role::Probe);
        Self {
            action: action.map(|action| action.run.clone()),
            is_plan: atom.is_some_and(|atom| atom.plan().is_some()),
            executor,
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
        Duration::from_millis(ms)
    }

    /// By which it is made: its action, or the agent of its role.
    fn maker(&self) -> Result<Maker, Failure> {
        let RealExecutor { environment, agents, .. } = &self.executor;
        if let Some(action) = &self.action {
            return Ok(Maker::Shell {
                command: action.clone(),
                env: environment.clone(),
                price: None,
                is_agent: false,
            });
        }
        agents.maker(&self.intent, self.is_plan, environment, self.slot)
    }
}

impl RealExecutor {
    /// The directory of the own files of an attempt, or of a question.
    fn dir_of(&self, intent: &Intent) -> PathBuf {
        self.place.attempts().join(intent.id.as_str())
    }

    /// The context of a job that works in `cwd`, and whose processes are recorded in `started`.
    fn job<'a>(
        &'a self,
        intent: &'a Intent,
        maker: Maker,
        cwd: PathBuf,
        started: PathBuf,
        timeout: Duration,
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
    let attempt = intent.id.clone();
    let target = onto.clone();
    let theirs = workspaces.clone();
    let merge = with_trees(&theirs, move || {
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
        Ok::<_, workspace::WorkspaceError>(merge)
    })
    .await??;
    Ok(Some(Input::Tried { attempt, onto, merge }))
}

/// Rebuilds a line of commits. A reference of that name keeps it before anything builds on it.
async fn built(
    workspaces: Workspaces,
    name: String,
    from: CommitId,
    keep: Vec<ResultCommit>,
) -> Result<workspace::RebuildResult, Failure> {
    let theirs = workspaces.clone();
    let built = with_trees(&theirs, move || {
        let Some(trees) = workspaces.trees() else {
            return Ok((from, keep, Vec::new()));
        };
        let built = trees.rebuild(&from, &keep)?;
        trees.keep(&name, &built.0, &from)?;
        Ok::<_, workspace::WorkspaceError>(built)
    });
    Ok(built.await??)
}

async fn learn(workspaces: Workspaces, commit: CommitId) -> Result<Option<Input>, Failure> {
    let (theirs, wanted) = (workspaces.clone(), commit.clone());
    let tree = with_trees(&theirs, move || workspaces.tree_of(&wanted)).await??;
    Ok(tree.map(|tree| Input::Learned { commit, tree }))
}
