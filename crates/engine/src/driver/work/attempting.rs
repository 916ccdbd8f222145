//! Attempts: made in a workspace to their end, and their outcomes and changes kept.

use std::{path::PathBuf, sync::Arc};

use descent_core::{
    event::{Input, NotTaken, Outcome, Product},
    id::CommitId,
    state::CorrectingTurn,
    verdict::CommandEnd,
    world::earlier,
};
use descent_minds::prompt::{self, CorrectingInputs, Ending, TreeStart};

use super::{
    Attempting, PromptRequest, ToldPrompt, consult, consult::shell_faults, has_room, message,
};
use crate::driver::{
    executor::{blocking, with_trees},
    resume::note_of,
};
use descent_agent::agent::{self, AgentError, Begun, LiveUsage, SessionRecord};
use descent_store::evidence::{self, EvidenceKeeper};
use descent_system::{
    failure::Failure,
    files, secrets,
    shape::{Shape, ShapeError},
    space,
};
use descent_workspace::{self as workspace, MadeChange, MissingPlace, Warmth};

pub(super) async fn attempt(a: Attempting) -> Result<Option<Input>, Failure> {
    if let Some(outcome) = a.executor.held.get(&a.intent) {
        return keep(a, outcome).await;
    }
    let attempts = a.executor.place.attempts();
    let of_kill = a.executor.sessions.take(&a.intent.id);
    let of_turn = || a.intent.turn.as_ref().and_then(|_| agent::session(&attempts, &a.intent));
    let session = of_kill.or_else(of_turn);
    let mut warmth = a.warmth();
    let mut made = make(&a, session, warmth).await?;
    while let MadeAttempt::Again(next) = made {
        warmth = next.min(warmth);
        made = make(&a, None, warmth).await?;
    }
    match made {
        MadeAttempt::Ended(outcome) => keep(a, *outcome).await,
        MadeAttempt::Cancelled | MadeAttempt::Again(_) => Ok(None),
    }
}

/// How a try to make an attempt ended.
enum MadeAttempt {
    Ended(Box<Outcome>),
    Cancelled,
    /// It has to begin anew, in a tree of that kind: its agent does not know the session, its workspace is gone, or `setup`
    /// failed on build state.
    Again(Warmth),
}

/// Runs an attempt to its end: in a new workspace, or on in the session and the workspace of before.
async fn make(
    a: &Attempting,
    session: Option<SessionRecord>,
    warmth: Warmth,
) -> Result<MadeAttempt, Failure> {
    let shape = match shape(a).await? {
        Ok(shape) => shape,
        // With a schema that cannot be used nothing is started: nobody could judge the value.
        Err(error) => {
            let why = format!("its output_schema cannot be used: {error}");
            return Ok(MadeAttempt::Ended(Box::new(Outcome::ended(CommandEnd::NotRun(why), 0))));
        }
    };
    let (executor, maker) = (&a.executor, a.maker()?);
    let (slot, base) = (a.slot, a.intent.base.clone());
    let goes_on = session.is_some();
    let needs_tree = goes_on && !maker.is_model();
    let lacks_turn = session.as_ref().is_some_and(|session| session.lacks_turn(&a.intent));
    let turn = a.intent.turn.as_ref().filter(|_| lacks_turn);
    let candidate = turn.and_then(|turn| turn.candidate.clone());
    let brought = candidate.clone();
    let dir = with_trees(&executor.workspaces, move |workspaces| {
        let is_in_place = lacks_turn && workspaces.trees().is_none();
        match goes_on && (is_in_place || workspaces.is_as_given(slot)) {
            true if brought.is_some() => {
                workspaces.for_attempt(slot, base.as_ref(), warmth).map(Some)
            }
            true => workspaces.as_left(slot).map(Some),
            false if needs_tree => Ok(None),
            false => workspaces.for_attempt(slot, base.as_ref(), warmth).map(Some),
        }
    });
    let Some(dir) = dir.await? else { return Ok(MadeAttempt::Again(Warmth::Warm)) };
    let is_warm = dir.is_reused;
    let setup = executor.workspaces.setup().filter(|_| dir.is_new).map(str::to_owned);
    let has_setup = setup.is_some();
    let begun = match (goes_on, candidate) {
        (true, None) => Some((TreeStart::Clean, Vec::new())),
        (true, Some(candidate)) => bring(a, candidate).await?,
        (false, _) => Some(start(a, warmth).await?),
    };
    let Some((start, laid)) = begun else { return Ok(MadeAttempt::Again(warmth)) };
    let told = match &a.intent.turn {
        Some(turn) if goes_on => correction(a, turn).await?,
        _ => told(a, start, dir.path.clone()).await?,
    };
    let mut before = agent::kept_usage(&executor.place.attempts(), &a.intent).unwrap_or_default();
    a.intent.turn.iter().for_each(|turn| before.raise_to(&turn.usage));
    let usage = LiveUsage::new(maker.price(), before);
    let context = executor.job(
        &a.intent,
        maker,
        dir.path,
        note_of(&executor.place, slot),
        a.timeout(),
        Some(slot),
    );
    let attempt = agent::AttemptJob {
        budget: a.is_plan.then(|| prompt::remaining(&a.world, &a.intent).text()),
        keep: Some(EvidenceKeeper { store: &executor.evidence, state: &a.world.state }),
        prompt: told.prompt.text(),
        files: told.files(),
        bindings: prompt::bindings(&a.world, &a.intent),
        usage: usage.clone(),
        session,
        setup,
        shape,
        question: consult::form(a),
        context,
    }
    .without_secrets();
    let (cwd, own) = (attempt.context.cwd.clone(), attempt.context.dir.clone());
    // An agent costs: none is started if its result could not be kept.
    [&cwd, &own].into_iter().try_for_each(|at| has_room(at))?;
    match agent::begin(&attempt, &a.cancel).await? {
        Begun::Ready => {}
        Begun::Cancelled => return Ok(MadeAttempt::Cancelled),
        Begun::Failed(_) if is_warm => return Ok(MadeAttempt::Again(Warmth::Cold)),
        Begun::Failed(failed) => return Ok(ended(a, without_room(*failed, [&cwd, &own]))),
    }
    if (has_setup || is_warm) && !a.is_thinking() {
        note_setup(a, laid).await?;
    }
    let made = tokio::select! {
        made = agent::finish(attempt, &a.cancel) => made,
        never = executor.follow(&a.intent, &usage) => match never {},
    };
    let outcome = match made {
        Ok(Some(outcome)) => Outcome { is_warm, ..without_room(outcome, [&cwd, &own]) },
        Ok(None) => return Ok(MadeAttempt::Cancelled),
        Err(AgentError::NoSession) if goes_on => return Ok(MadeAttempt::Again(warmth)),
        Err(AgentError::NoSession) => return Ok(MadeAttempt::Cancelled),
        Err(error) => return Err(error.into()),
    };
    Ok(ended(a, outcome))
}

fn ended(a: &Attempting, outcome: Outcome) -> MadeAttempt {
    let duration_ms = outcome.duration_ms + a.earlier_turns_ms();
    let outcome = Outcome { duration_ms, ..outcome };
    a.executor.held.put(&a.intent, &outcome);
    MadeAttempt::Ended(Box::new(outcome))
}

/// The prompt of an attempt; git is asked for the changes of earlier ones.
async fn told(a: &Attempting, start: TreeStart, tree: PathBuf) -> Result<ToldPrompt, Failure> {
    let executor = a.executor.clone();
    let ending = executor.agents.ending(&a.world.state, &a.intent);
    let (world, intent, now) = (a.world.clone(), a.intent.clone(), executor.clock.now());
    let tell = move || {
        Ok(ToldPrompt::of(&PromptRequest {
            place: &executor.place,
            workspaces: Some(&executor.workspaces),
            world: &world,
            intent: &intent,
            now,
            start: &start,
            ending,
            tree: &tree,
            agents: &executor.agents,
        }))
    };
    match (ending, a.executor.workspaces.trees()) {
        (_, None) if ending != Ending::Answer => tell(),
        // Git is asked, or the words of the project are read from its files.
        _ => blocking(tell).await,
    }
}

/// Bytes of an output that are read for its end; a kept output has fewer.
const OUTPUT_READ_MAX: u64 = 4 << 20;

/// The prompt of a correcting turn, with the end of what the check printed.
async fn correction(a: &Attempting, turn: &CorrectingTurn) -> Result<ToldPrompt, Failure> {
    let (place, turn, left) = (a.executor.place.clone(), turn.clone(), a.timeout());
    let of = a.world.state.objective.constraints.corrections();
    blocking(move || {
        let path = turn.whole.as_ref().and_then(|one| evidence::find(&place, one));
        let whole = path.as_ref().and_then(|path| files::read_some(path, OUTPUT_READ_MAX).ok());
        let output = whole.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let path = path.map(|path| path.display().to_string());
        let (output, path) = (output.as_deref(), path.as_deref());
        let inputs = CorrectingInputs { turn: &turn, of, left, output, path };
        Ok(ToldPrompt::alone(prompt::correcting(&inputs)))
    })
    .await
}

/// Makes an outcome survive the loop. If space is lacking, the failure says so, and the held
/// outcome is tried again.
async fn keep(a: Attempting, mut outcome: Outcome) -> Result<Option<Input>, Failure> {
    let message = message(&a.world, &a.intent);
    let (executor, intent, is_paid) = (a.executor.clone(), a.intent.clone(), a.is_paid());
    let keep = move || {
        if let Some(missing @ MissingPlace::Cache(_)) = a.executor.workspaces.missing() {
            return Err(missing.into());
        }
        if outcome.is_success() && a.is_plan {
            outcome.shell_faults = shell_faults(&outcome, a.executor.agents.worker().is_some());
            outcome.facts = consult::facts(&a, &outcome);
        } else if outcome.may_land() && !a.is_thinking() {
            if let Some(mut made) = made(&a, &message)? {
                secrets::hide_in_each(&mut made.files);
                if let Product::Broken(why) = &mut made.product {
                    secrets::hide_in(why);
                }
                outcome.made = Some(made.product);
                outcome.changed = Arc::new(made.files);
                outcome.not_taken = made.not_taken;
            }
        } else if !a.is_thinking() && may_have_changed(&outcome.how) {
            let (mut changed, not_taken) = keep_failed(&a, &message);
            secrets::hide_in_each(&mut changed);
            (outcome.changed, outcome.not_taken) = (Arc::new(changed), not_taken);
        }
        // From here on a loop after a crash uses this record and repeats nothing.
        agent::record(&a.dir(), &a.intent, &outcome, is_paid)?;
        Ok(Some(Input::Ended {
            attempt: a.intent.id,
            epoch: a.intent.epoch,
            outcome: Box::new(outcome),
        }))
    };
    let takes_long = is_paid || executor.workspaces.trees().is_some();
    let kept = if takes_long { blocking(keep).await } else { keep() };
    if kept.is_ok() {
        // The loop hears of it in the same turn: until then a stop knows that it is being recorded.
        executor.held.drop(&intent);
    }
    kept
}

/// The schema of the atom of an attempt, if it has one.
async fn shape(a: &Attempting) -> Result<Result<Option<Shape>, ShapeError>, Failure> {
    let atom = a.world.state.atoms.get(&a.intent.atom);
    let task = atom.filter(|_| !a.is_thinking()).and_then(|atom| atom.task());
    let Some(schema) = task.and_then(|task| task.spec.output_schema.clone()) else {
        return Ok(Ok(None));
    };
    Ok(blocking(move || Ok(Shape::compile(&schema))).await?.map(Some))
}

/// Lays the change that the attempt begins with on its tree. Gives its paths where `setup` follows.
async fn start(a: &Attempting, warmth: Warmth) -> Result<(TreeStart, Vec<PathBuf>), Failure> {
    let clean = (TreeStart::Clean, Vec::new());
    let (Some(earlier), Some(base)) =
        (earlier::begins_with(&a.world.state, &a.intent), a.intent.base.clone())
    else {
        return Ok(clean);
    };
    let slot = a.slot;
    let start = with_trees(&a.executor.workspaces, move |workspaces| {
        let Some(trees) = workspaces.trees() else { return Ok(clean) };
        let start = trees.begin_with(&earlier, Some((slot, warmth)), &base)?;
        let laid = match (&start, workspaces.setup()) {
            (TreeStart::Laid(_), setup) if setup.is_some() || warmth == Warmth::Warm => {
                trees.changed_in_slot(slot)?
            }
            _ => Vec::new(),
        };
        Ok((start, laid))
    });
    start.await
}

/// Brings the tree of a slot to the candidate that was judged; `None` if it is gone.
async fn bring(
    a: &Attempting,
    candidate: CommitId,
) -> Result<Option<(TreeStart, Vec<PathBuf>)>, Failure> {
    let (slot, base) = (a.slot, a.intent.base.clone());
    let brought = with_trees(&a.executor.workspaces, move |workspaces| {
        let (Some(trees), Some(base)) = (workspaces.trees(), base) else { return Ok(None) };
        let is_there = trees.bring_to_candidate(slot, &candidate, &base)?;
        let laid = if is_there { trees.changed_in_slot(slot)? } else { Vec::new() };
        Ok(is_there.then_some((TreeStart::Clean, laid)))
    });
    brought.await
}

/// Notes what `setup` and build state changed, which is no part of the attempt's change.
async fn note_setup(a: &Attempting, laid: Vec<PathBuf>) -> Result<(), Failure> {
    let (slot, base) = (a.slot, a.intent.base.clone());
    let note =
        with_trees(&a.executor.workspaces, move |workspaces| match (workspaces.trees(), base) {
            (Some(trees), Some(base)) => trees.note_setup(slot, &base, laid),
            _ => Ok(()),
        });
    note.await
}

/// Whether an attempt that failed may have changed files. A transient one is made again, and one that was not run did
/// nothing.
pub(super) fn may_have_changed(how: &CommandEnd) -> bool {
    match how {
        CommandEnd::Exit(code) => *code != TRANSIENT,
        CommandEnd::Signal(_) | CommandEnd::TimedOut => true,
        CommandEnd::NotRun(_) => false,
    }
}

/// The content of the workspace, as a commit that outlives it.
pub(super) fn made(a: &Attempting, message: &str) -> Result<Option<MadeChange>, Failure> {
    let (Some(base), Some(trees)) = (&a.intent.base, a.executor.workspaces.trees()) else {
        return Ok(None);
    };
    let made = trees.made(a.slot, base, message, workspace::time_of(&a.intent.at))?;
    if let Product::Commit(commit) = &made.product {
        trees.keep_made(&a.intent.id, commit, base)?;
    }
    Ok(Some(made))
}

/// The files that a failed attempt changed, and what no commit takes of the others. It is only for a person to look at,
/// so an obstacle is no error.
pub(super) fn keep_failed(a: &Attempting, message: &str) -> (Vec<String>, NotTaken) {
    let (Some(base), Some(trees)) = (&a.intent.base, a.executor.workspaces.trees()) else {
        return Default::default();
    };
    let at = workspace::time_of(&a.intent.at);
    let kept = trees.keep_failed(&a.intent.id, a.slot, base, message, at);
    kept.unwrap_or_else(|error| {
        tracing::warn!(%error, attempt = %a.intent.id, "the change of a failed attempt is not kept");
        Default::default()
    })
}

/// A failure on a full disk proves nothing about the atom: it is retried like any transient
/// failure.
pub(super) fn without_room(outcome: Outcome, places: [&PathBuf; 2]) -> Outcome {
    if outcome.how == CommandEnd::Exit(0) {
        return outcome;
    }
    match places.into_iter().find(|place| space::is_used_up(place)) {
        None => outcome,
        Some(place) => Outcome {
            how: CommandEnd::Exit(TRANSIENT),
            agent_end: None,
            last_line: Some(format!("no room is left on the disk of {}", place.display())),
            ..outcome
        },
    }
}

/// The exit code that asks for a retry, by the contract.
const TRANSIENT: i32 = 75;
