//! A question outside of a loop: without a lease, before there is a state. The kind of a task is asked so at `align`
//! (contract §9.26).
//!
//! Invariants: its agent works on a tree that is thrown away, and none of its processes is left. Nothing of its answer
//! runs here. Without an answer on the kind of a task there is the default, with the reason. Not here: what else is asked
//! (`aligner`).

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use descent_core::{
    answer_forms,
    doc::Node,
    event::{AgentEnd, ConsultAnswer},
    id::{AtomId, AttemptId, Digest, Lineage, UnixMillis},
    json_schema, profile,
    state::{
        Constraints, Duty, Intent, Question, Role, SideEffect, Usage, Workspace,
        answer_records::KindAnswer, profile::ProfileRecord,
    },
    world::World,
};
use descent_minds::prompt::{self, Prompt, QuestionInputs};
use tokio_util::sync::CancellationToken;

use crate::driver::Agents;
use descent_agent::{
    agent::{self, ANSWER_MAX, AttemptJob, JobContext, QUESTION_SLOT, QuestionForm},
    config::{Config, agent_table::ResolvedAgent},
};
use descent_process::{self as process, environment, environment::Environment};
use descent_store::StatePlace;
use descent_system::{failure::Failure, files};
use descent_workspace::{
    Checkout, Size, Warmth, WorkspaceError, Workspaces, cache_dir, git::Git, size_of,
};

/// Reads an answer, whole or not at all; a fault is in words for its author.
pub(super) type AnswerReader<T> = Arc<dyn Fn(&Node) -> Result<T, String> + Send + Sync>;

/// Says what rules find in an answer that can be used, if anything.
pub(super) type AnswerAdvice = Arc<dyn Fn(&Node) -> Option<String> + Send + Sync>;

/// An agent that is asked outside of a loop.
#[derive(Debug)]
pub struct OutsideAgent<'a> {
    pub agent: ResolvedAgent,
    pub(super) config: &'a Config,
    pub(super) top: &'a Path,
    duty: Duty,
    pub(super) now: UnixMillis,
}

/// A question to it, with the form of its answer.
pub(super) struct OutsideQuestion<'a, T> {
    pub(super) prompt: &'a Prompt,
    pub(super) schema: String,
    pub(super) read: AnswerReader<T>,
    /// Its author hears it once, and may answer otherwise.
    pub(super) advice: Option<AnswerAdvice>,
}

/// The end of a question: the answer, or why there is none that can be used.
pub type OutsideAnswer<T> = Result<T, String>;

const ENDED: &str = "it was ended";

impl<'a> OutsideAgent<'a> {
    /// The agent that a configuration names for it; `None` if it names none.
    pub fn of(
        config: &'a Config,
        duty: impl Into<Duty>,
        top: &'a Path,
        now: UnixMillis,
    ) -> Result<Option<Self>, Failure> {
        let duty = duty.into();
        let agent = config.agent(duty, None)?;
        Ok(agent.map(|agent| Self { agent, config, top, duty, now }))
    }

    /// Whether it can propose an agreement.
    pub(super) fn proposes(&self) -> bool {
        self.agent.can_propose()
    }

    /// The same agent in another role.
    pub(super) fn in_role(self, role: Role) -> Self {
        Self { duty: role.into(), ..self }
    }

    /// Asks what kind of task an agreement is.
    pub async fn profile(
        &self,
        world: &World,
        cancel: &CancellationToken,
    ) -> Result<(ProfileRecord, Usage), Failure> {
        let inputs = QuestionInputs::before_run(world, self.now);
        let (said, used) = match prompt::question(Question::Profile, &inputs) {
            Some(prompt) => {
                let schema = json_schema::of_answer(&KindAnswer::RULE, &[]);
                let read = Arc::new(answer_forms::read::<KindAnswer>);
                let question = OutsideQuestion { prompt: &prompt, schema, read, advice: None };
                self.ask(&question, cancel).await?
            }
            None => (Err(ENDED.to_owned()), Usage::default()),
        };
        Ok((profile::record(self.agent.name.clone(), self.now.rfc3339(), said), used))
    }

    /// Asks, and waits for the end of everything that was started. Cancelled, it ends the agent. Gives what it used, as
    /// far as that is known.
    pub(super) async fn ask<T: 'static>(
        &self,
        question: &OutsideQuestion<'_, T>,
        cancel: &CancellationToken,
    ) -> Result<(OutsideAnswer<T>, Usage), Failure> {
        process::prepare()?;
        let top = self.top.to_owned();
        let made = tokio::task::spawn_blocking(move || QuestionRoom::make(&top));
        let room = match made.await.map_err(Failure::bug)? {
            Ok(room) => room,
            Err(failure) => return Ok((Err(failure.message), Usage::default())),
        };
        if cancel.is_cancelled() {
            return Ok((Err(ENDED.to_owned()), Usage::default()));
        }
        let answer = self.ask_in(&room, question, cancel).await;
        tokio::task::spawn_blocking(move || drop(room)).await.map_err(Failure::bug)?;
        answer
    }

    async fn ask_in<T: 'static>(
        &self,
        room: &QuestionRoom,
        question: &OutsideQuestion<'_, T>,
        cancel: &CancellationToken,
    ) -> Result<(OutsideAnswer<T>, Usage), Failure> {
        let environment = room.environment(environment::for_attempts(std::env::vars_os(), &[]));
        let intent = self.intent();
        let agents = Agents::new(self.config.clone());
        let programs = super::programs(&StatePlace::at(self.top, None));
        let maker = agents.maker(&intent, false, &environment, QUESTION_SLOT)?;
        let context = JobContext {
            intent: &intent,
            maker,
            cwd: room.tree.clone(),
            dir: room.dir.join("question"),
            started: room.dir.join("started.json"),
            env: environment,
            programs: &*programs,
            mark: room.mark(),
            timeout: ANSWER_MAX,
            slot: None,
        };
        let read = Arc::clone(&question.read);
        let (advice, is_heard) = (question.advice.clone(), AtomicBool::new(false));
        let form = QuestionForm::new(self.duty, question.schema.as_str(), move |node| {
            read(node)?;
            let words = advice.as_ref().and_then(|advice| advice(node));
            words.filter(|_| !is_heard.swap(true, Ordering::Relaxed)).map_or(Ok(()), Err)
        });
        let job = AttemptJob::question(context, question.prompt, form);
        Ok(match agent::make(job, cancel).await {
            Ok(Some(outcome)) => {
                let said = agent::answer_of(&outcome);
                (said_by(said, &*question.read), outcome.usage)
            }
            // The usage of a question that is cut off is not known.
            Ok(None) => (Err(ENDED.to_owned()), Usage::default()),
            Err(error) => (Err(error.to_string()), Usage::default()),
        })
    }

    fn intent(&self) -> Intent {
        let role = self.duty.role;
        let name = role.word();
        Intent {
            id: AttemptId::new(name),
            atom: AtomId::new(name),
            context: Digest::of(name.as_bytes()),
            n: 1,
            effect: SideEffect::Tree,
            role,
            agent: Some(self.agent.name.clone()),
            at: self.now.rfc3339(),
            ..Intent::default()
        }
    }
}

fn said_by<T>(
    said: ConsultAnswer,
    read: impl FnOnce(&Node) -> Result<T, String>,
) -> OutsideAnswer<T> {
    let unusable = |fault: String| format!("its answer cannot be used: {fault}");
    Err(match said {
        ConsultAnswer::Value(node) => return read(&node).map_err(unusable),
        ConsultAnswer::Faulty(fault) => unusable(fault),
        ConsultAnswer::Silent(why) => why.trim_end_matches(": ").to_owned(),
        ConsultAnswer::Ended(AgentEnd::Unavailable { words, variable: Some(name), .. }) => {
            format!("{words} (its `env` can pass on {name})")
        }
        ConsultAnswer::Ended(AgentEnd::Unavailable { words, .. }) => words,
        ConsultAnswer::Ended(end) => end.text(),
    })
}

// The place of one question: a directory below the person's cache, and a tree of the project in it.
//
// Invariant: all of it is removed when this is dropped. The next question removes the leftovers of
// a killed process.

/// The directory of all questions, below the cache.
const ROOMS: &str = "aligning";

struct QuestionRoom {
    dir: PathBuf,
    tree: PathBuf,
    workspaces: Option<Workspaces>,
}

impl QuestionRoom {
    fn make(top: &Path) -> Result<Self, Failure> {
        let cache = cache_dir().ok_or(WorkspaceError::NoHome)?;
        let rooms = cache.join(ROOMS);
        remove_left(&rooms);
        let dir = rooms.join(format!("{}-{}", std::process::id(), uuid::Uuid::now_v7()));
        let unwritable = |error| Failure::io("the place of the question cannot be made", &error);
        files::make_dirs(&dir).map_err(unwritable)?;
        let mut room = Self { tree: dir.join("empty"), dir, workspaces: None };
        match room.copy(top)? {
            Some(tree) => room.tree = tree,
            None => files::make_dirs(&room.tree).map_err(unwritable)?,
        }
        Ok(room)
    }

    /// The tree; `None` where there is nothing to copy it from, or too much.
    fn copy(&mut self, top: &Path) -> Result<Option<PathBuf>, Failure> {
        let mut constraints = Constraints::default();
        match Git::open(top)? {
            Some(git) if git.head()?.commit.is_none() => return Ok(None),
            Some(_) => constraints.workspace = Some(Workspace::Git),
            None => match size_of(top, &constraints)? {
                Size::Usual => constraints.workspace = Some(Workspace::Shadow),
                Size::Large { .. } => return Ok(None),
            },
        }
        let mut place = StatePlace::at(top, Some(&self.dir.join("state.json")));
        place.project = top.to_owned();
        place
            .make()
            .map_err(|error| Failure::io("the place of the question cannot be made", &error))?;
        let lineage = Lineage::new(uuid::Uuid::now_v7().to_string());
        let workspaces = Workspaces::open(&place, &lineage, &constraints)?;
        let workspaces = self.workspaces.insert(workspaces);
        let start = workspaces.snapshot()?.map(|start| start.commit);
        let made = workspaces.for_checks(Checkout::Consult, start.as_ref(), Warmth::Cold)?;
        Ok(Some(made.path))
    }

    /// The variables of a program that works there.
    fn environment(&self, theirs: Environment) -> Environment {
        match &self.workspaces {
            Some(workspaces) => workspaces.environment(theirs),
            None => theirs,
        }
    }

    /// The mark of its processes.
    fn mark(&self) -> String {
        let name = self.dir.file_name().unwrap_or_default();
        format!("{}/aligner", name.to_string_lossy())
    }
}

impl Drop for QuestionRoom {
    fn drop(&mut self) {
        if let Some(trees) = self.workspaces.as_ref().and_then(Workspaces::trees)
            && let Err(error) = trees.discard()
        {
            tracing::warn!(%error, "the tree of a question is left in the cache");
        }
        if let Err(error) = files::remove(&self.dir) {
            tracing::warn!(%error, "the place of a question is left in the cache");
        }
        // It stays while another process asks too.
        let _ = self.dir.parent().map(files::remove_empty);
    }
}

/// Removes what processes that are gone left behind.
fn remove_left(rooms: &Path) {
    for room in files::entries(rooms) {
        let name = room.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let pid = name.split('-').next().and_then(|pid| pid.parse().ok());
        if pid.is_some_and(|pid: u32| process::entry(pid).is_none()) {
            // The next question tries again what cannot be removed now.
            let _ = files::remove(&room);
        }
    }
}
