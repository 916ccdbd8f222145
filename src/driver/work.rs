//! Does each kind of desired work: attempts, merges, rebuilds, judgements. Each ends in an input of
//! the loop.

mod consult;
mod judging;
mod kept;
mod prepared;
mod shaped;
mod thinking;
mod told;
mod used;

use std::{path::PathBuf, sync::Arc, time::Duration};

use descent_core::{
    desired::Work,
    event::{Input, Merge, Outcome, Product},
    id::CommitId,
    prompt::{self, Ending, TreeStart},
    state::{Intent, ResultCommit, Role},
    world::{Session, World},
};
use tokio_util::sync::CancellationToken;

use super::{
    agents::Agents,
    blocking::{blocking, with_trees},
    executor::{BoxedFuture, RealExecutor},
    leftovers::{mark_of, note_of},
    pending_outcomes::PendingOutcomes,
    sessions::Sessions,
    usage_reports::UsageReports,
};
use crate::{
    agent::{self, AgentError, Begun, Maker, SessionRecord, UnneededDirs},
    clock::Clock,
    evidence::{EvidenceKeeper, EvidenceStore},
    failure::Failure,
    process::{Programs, environment::Environment},
    secrets,
    store::StatePlace,
    workspace::{self, LandingSpec, MissingPlace, Workspaces},
};

pub use judging::{ReadyCheckout, prepare_checkout};
pub use told::{PromptRequest, ToldPrompt};

use consult::{Consulting, consult};
use judging::{Judging, judge};
use kept::{has_room, keep_failed, made, may_have_changed, without_room};
use prepared::{note_setup, start};
use thinking::shell_faults;

pub(super) fn perform(
    executor: &RealExecutor,
    world: &World,
    session: &Session,
    effect: Work,
    slot: usize,
    cancel: CancellationToken,
) -> BoxedFuture<Option<Input>> {
    let workspaces = executor.workspaces.clone();
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
            let consulting = Consulting::of(executor, world, session, asked);
            Box::pin(consult(consulting, cancel))
        }
        Work::Judge { scope, basis, commit, onto, check } => {
            let judging = Judging {
                workspaces,
                environment: executor.environment.clone(),
                programs: Arc::clone(&executor.programs),
                mark: format!("{}/{}/check", executor.place.mark(), executor.run),
                timeout_ms: world.state.objective.constraints.attempt_timeout_ms(),
                session: session.clone(),
                world: world.clone(),
                scope,
                basis,
                commit,
                onto,
                check,
                measuring: executor.measuring.clone(),
                evidence: Arc::clone(&executor.evidence),
            };
            Box::pin(judge(judging, cancel))
        }
    }
}

/// Everything that an attempt needs, from the state that recorded its intent.
struct Attempting {
    intent: Intent,
    slot: usize,
    world: World,
    /// The atom's action, if it has one.
    action: Option<String>,
    agents: Agents,
    workspaces: Workspaces,
    environment: Environment,
    programs: Arc<dyn Programs>,
    clock: Arc<dyn Clock>,
    evidence: Arc<EvidenceStore>,
    place: StatePlace,
    held: PendingOutcomes,
    unneeded: UnneededDirs,
    sessions: Sessions,
    dir: PathBuf,
    started: PathBuf,
    mark: String,
    timeout_ms: u64,
    /// A worker makes it, or it is a planner: repeating it would cost.
    is_paid: bool,
    usage: UsageReports,
    /// A planner: it gets the remaining budget, and changes nothing.
    is_plan: bool,
}

impl Attempting {
    fn of(executor: &RealExecutor, world: &World, intent: Intent, slot: usize) -> Self {
        let (place, state) = (&executor.place, &world.state);
        let atom = state.atoms.get(&intent.atom);
        let task = atom.and_then(|atom| atom.task());
        let action =
            task.and_then(|task| task.spec.action.as_ref()).map(|action| action.run.clone());
        let own_ms = task.and_then(|task| task.spec.timeout.as_ref()).map(|length| length.ms);
        let is_plan = atom.is_some_and(|atom| atom.plan().is_some());
        Self {
            slot,
            is_paid: is_plan || action.is_none(),
            is_plan,
            started: note_of(place, slot),
            action: action.filter(|_| intent.role != Role::Probe),
            agents: executor.agents.clone(),
            workspaces: executor.workspaces.clone(),
            environment: executor.environment.clone(),
            programs: Arc::clone(&executor.programs),
            clock: Arc::clone(&executor.clock),
            held: executor.held.clone(),
            unneeded: executor.unneeded.clone(),
            sessions: executor.sessions.clone(),
            usage: executor.usage.clone(),
            evidence: Arc::clone(&executor.evidence),
            dir: place.attempts().join(intent.id.as_str()),
            mark: mark_of(place, &executor.run, &intent.id),
            timeout_ms: own_ms.unwrap_or_else(|| state.objective.constraints.attempt_timeout_ms()),
            place: place.clone(),
            world: world.clone(),
            intent,
        }
    }
}

impl Attempting {
    /// It only thinks: what it changes is not kept.
    fn is_thinking(&self) -> bool {
        self.is_plan || self.intent.role == Role::Probe
    }

    /// By which it is made: its action, or the agent of its role.
    fn maker(&self) -> Result<Maker, Failure> {
        if let Some(action) = &self.action {
            return Ok(Maker::Shell {
                command: action.clone(),
                env: self.environment.clone(),
                price: None,
                is_agent: false,
            });
        }
        let intent = &self.intent;
        (self.agents).maker(intent, self.is_plan, &self.environment, self.slot)
    }
}

fn message(world: &World, intent: &Intent) -> String {
    workspace::message(&intent.atom, &prompt::subject(world, &intent.atom))
}

async fn attempt(a: Attempting, cancel: CancellationToken) -> Result<Option<Input>, Failure> {
    if let Some(outcome) = a.held.get(&a.intent) {
        return keep(a, outcome).await;
    }
    let session = a.sessions.take(&a.intent.id);
    let mut made = make(&a, session, &cancel).await?;
    if matches!(made, MadeAttempt::NoSession) {
        made = make(&a, None, &cancel).await?;
    }
    match made {
        MadeAttempt::Ended(outcome) => keep(a, *outcome).await,
        MadeAttempt::Cancelled | MadeAttempt::NoSession => Ok(None),
    }
}

/// How a try to make an attempt ended.
enum MadeAttempt {
    Ended(Box<Outcome>),
    Cancelled,
    /// The agent does not know the session that it should go on with, or its workspace is gone.
    NoSession,
}

/// Runs an attempt to its end: in a new workspace, or on in the session and the workspace of before.
async fn make(
    a: &Attempting,
    session: Option<SessionRecord>,
    cancel: &CancellationToken,
) -> Result<MadeAttempt, Failure> {
    let shape = match shaped::shape(a).await? {
        Ok(shape) => shape,
        Err(outcome) => return Ok(MadeAttempt::Ended(outcome)),
    };
    let maker = a.maker()?;
    let (workspaces, slot, base) = (a.workspaces.clone(), a.slot, a.intent.base.clone());
    let goes_on = session.is_some();
    // A model that is asked works in no directory.
    let needs_tree = goes_on && !matches!(maker, Maker::Model(_));
    let dir = with_trees(&a.workspaces, move || match goes_on && workspaces.is_as_given(slot) {
        true => workspaces.as_left(slot).map(Some),
        false if needs_tree => Ok(None),
        false => workspaces.for_attempt(slot, base.as_ref()).map(Some),
    });
    let Some(dir) = dir.await?? else {
        return Ok(MadeAttempt::NoSession);
    };
    let setup = a.workspaces.setup().filter(|_| dir.is_new).map(str::to_owned);
    let budget = a.is_plan.then(|| prompt::remaining(&a.world, &a.intent).text());
    let (start, laid) = if goes_on { (TreeStart::Clean, Vec::new()) } else { start(a).await? };
    let told = told(a, start, dir.path.clone()).await?;
    let attempt = agent::AttemptJob {
        intent: &a.intent,
        budget,
        keep: Some(EvidenceKeeper { store: &a.evidence, state: &a.world.state }),
        prompt: told.prompt.text(),
        files: told.files(),
        bindings: prompt::bindings(&a.world, &a.intent),
        usage: used::live_usage(a, &maker),
        maker,
        session,
        cwd: dir.path,
        dir: a.dir.clone(),
        reusable: a.unneeded.take(&a.world.state.run.in_flight),
        started: a.started.clone(),
        timeout: Duration::from_millis(a.timeout_ms),
        env: a.environment.clone(),
        programs: &*a.programs,
        mark: a.mark.clone(),
        setup: setup.clone(),
        shape,
        question: thinking::form(a),
    }
    .without_secrets();
    let usage = attempt.usage.clone();
    let (cwd, own) = (attempt.cwd.clone(), attempt.dir.clone());
    // An agent costs: none is started if its result could not be kept.
    [&cwd, &own].into_iter().try_for_each(|at| has_room(at))?;
    let inputs = match agent::begin(&attempt, cancel).await? {
        Begun::Ready(inputs) => inputs,
        Begun::Cancelled => return Ok(MadeAttempt::Cancelled),
        Begun::Failed(failed) => return Ok(ended(a, without_room(*failed, [&cwd, &own]))),
    };
    if setup.is_some() && !a.is_thinking() {
        note_setup(a, laid).await?;
    }
    let made = tokio::select! {
        made = agent::finish(attempt, inputs, cancel) => made,
        never = used::follow(a, &usage) => match never {},
    };
    let outcome = match made {
        Ok(Some(outcome)) => without_room(outcome, [&cwd, &own]),
        Ok(None) => return Ok(MadeAttempt::Cancelled),
        Err(AgentError::NoSession) => return Ok(MadeAttempt::NoSession),
        Err(error) => return Err(error.into()),
    };
    Ok(ended(a, outcome))
}

fn ended(a: &Attempting, outcome: Outcome) -> MadeAttempt {
    a.held.put(&a.intent, &outcome);
    MadeAttempt::Ended(Box::new(outcome))
}

/// The prompt of an attempt; git is asked for the changes of earlier ones.
async fn told(a: &Attempting, start: TreeStart, tree: PathBuf) -> Result<ToldPrompt, Failure> {
    let ending =
        if a.action.is_some() { Ending::ResultFile } else { a.agents.ending(&a.intent, a.is_plan) };
    let (place, workspaces) = (a.place.clone(), a.workspaces.clone());
    let agents = a.agents.clone();
    let (world, intent, now) = (a.world.clone(), a.intent.clone(), a.clock.now());
    let tell = move || {
        ToldPrompt::of(&PromptRequest {
            place: &place,
            workspaces: Some(&workspaces),
            world: &world,
            intent: &intent,
            now,
            start: &start,
            ending,
            tree: &tree,
            agents: &agents,
        })
    };
    match ending {
        // The words of a project are read from its files.
        Ending::Answer => blocking(tell).await,
        _ => with_trees(&a.workspaces, tell).await,
    }
}

/// Makes an outcome survive the loop. If space is lacking, the failure says so, and the held
/// outcome is tried again.
async fn keep(a: Attempting, mut outcome: Outcome) -> Result<Option<Input>, Failure> {
    let message = message(&a.world, &a.intent);
    let (workspaces, is_synced) = (a.workspaces.clone(), a.is_paid);
    let (held, intent) = (a.held.clone(), a.intent.clone());
    let keep = move || {
        if let Some(missing @ MissingPlace::Cache(_)) = a.workspaces.missing() {
            return Err(missing.into());
        }
        if outcome.is_success() && a.is_plan {
            outcome.shell_faults = shell_faults(&outcome, a.agents.worker().is_some());
            outcome.facts = thinking::facts(&a, &outcome);
        } else if outcome.may_land() && !a.is_thinking() {
            if let Some(mut made) = made(&a.workspaces, a.slot, &a.intent, &message)? {
                secrets::hide_in_each(&mut made.files);
                if let Product::Broken(why) = &mut made.product {
                    secrets::hide_in(why);
                }
                outcome.made = Some(made.product);
                outcome.changed = Arc::new(made.files);
                outcome.not_taken = made.not_taken;
            }
        } else if !a.is_thinking() && may_have_changed(&outcome.how) {
            let (mut changed, not_taken) = keep_failed(&a.workspaces, a.slot, &a.intent, &message);
            secrets::hide_in_each(&mut changed);
            (outcome.changed, outcome.not_taken) = (Arc::new(changed), not_taken);
        }
        // From here on a loop after a crash uses this record and repeats nothing.
        agent::record(&a.dir, &a.intent, &outcome, a.is_paid)?;
        if !a.is_paid && outcome.is_success() {
            a.unneeded.offer(&a.intent.id, &a.dir);
        }
        Ok(Some(Input::Ended {
            attempt: a.intent.id,
            epoch: a.intent.epoch,
            outcome: Box::new(outcome),
        }))
    };
    let kept =
        if is_synced { blocking(keep).await? } else { with_trees(&workspaces, keep).await? };
    if kept.is_ok() {
        // The loop hears of it in the same turn: until then a stop knows that it is being recorded.
        held.drop(&intent);
    }
    kept
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
