//! Makes attempts in a workspace: by a shell command, or by an agent that is talked with. Each way is a
//! file of its own (`shell`, `headless`, `acp`), and ends in one outcome.
//!
//! Invariant: the output is untrusted (`report` caps it), and a cancelled attempt has no outcome.
//! Not here: what an outcome means (the core), where the workspace comes from (`workspace`).

mod acp;
mod answer;
mod conversation;
mod directory;
mod headless;
mod heard;
mod http_model;
mod report;
mod shell;
mod talk;
#[cfg(test)]
mod tests;
mod trouble;
mod usage;

use std::{
    borrow::Cow,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use descent_core::{
    event::{Clarity, Outcome},
    fragment,
    state::{Action, Intent, Role, Usage},
    verdict::CommandEnd,
};
use descent_minds::prompt::{DIRECTIVE_FILE, Prompt, PromptFile};
use tokio_util::sync::CancellationToken;

use crate::{
    config::{
        agent_table::{Price, ResolvedAgent, Transport},
        program::missing_program_in,
    },
    model::Asker,
};
use descent_process::{Capture, Job, Programs, Reach, SpawnError, environment::Environment};
use descent_store::evidence::EvidenceKeeper;
use descent_system::{
    failure::{Failure, exit, lack_of},
    files,
    ports::SlotPorts,
    secrets,
    shape::Shape,
};

pub use answer::{
    ANSWER_BYTES_MAX, ANSWER_MAX, ObjectJudge, QUESTION_SLOT, QuestionForm, WORDING_MAX, answer_of,
    last_object, object,
};
pub use directory::{SessionRecord, finished, record, session};
pub use usage::{LiveUsage, keep_usage, kept_usage, told_so_far};

use directory::{BINDINGS, OUT, PROMPT, RESULT, SCHEMA};

/// Maximum of bytes of an output's head and tail in an outcome.
const EXCERPT_BYTES_MAX: usize = 2048;

/// A file beside the prompt, under a plain name, or under one in a folder there.
#[derive(Debug)]
pub struct InputFile {
    pub name: String,
    pub bytes: Vec<u8>,
}

impl From<&PromptFile> for InputFile {
    fn from(file: &PromptFile) -> Self {
        Self { name: file.name.clone(), bytes: file.text.clone().into_bytes() }
    }
}

/// The parts that every job of an agent has, whatever it is asked for.
#[derive(Debug)]
pub struct JobContext<'a> {
    /// Its identity: what is kept of it is bound to that.
    pub intent: &'a Intent,
    pub maker: Maker,
    /// The workspace, or the tree that it reads.
    pub cwd: PathBuf,
    /// The directory of its own files: inputs, result, logs. It is made if missing.
    pub dir: PathBuf,
    /// The file that records its processes; it replaces the record of the slot's earlier attempt.
    pub started: PathBuf,
    /// The timeout of the command; `setup` has the same for itself.
    pub timeout: Duration,
    pub env: Environment,
    pub programs: &'a dyn Programs,
    /// Unique to it.
    pub mark: String,
    /// The slot of an attempt, with its ports; none for a question.
    pub slot: Option<SlotPorts>,
}

/// One try of one atom, or a question that is none.
pub struct AttemptJob<'a> {
    pub context: JobContext<'a>,
    /// The text of the prompt.
    pub prompt: String,
    /// The files beside it that it names.
    pub files: Vec<InputFile>,
    /// The bindings that the atom depends on, as JSON.
    pub bindings: String,
    /// A command to run before, in the same directory.
    pub setup: Option<String>,
    /// The session of the same attempt, cut off by a kill of the loop or to be told what to correct, in the same workspace.
    pub session: Option<SessionRecord>,
    /// Shows the usage while the attempt goes on.
    pub usage: LiveUsage,
    /// Keeps an output that is longer than its excerpt.
    pub keep: Option<EvidenceKeeper<'a>>,
    /// The schema of the value that it shall give.
    pub shape: Option<Shape>,
    /// For a planner, the remaining budget as JSON.
    pub budget: Option<String>,
    /// For a role that only thinks, the form of its answer. Its standard output is then kept whole.
    pub question: Option<QuestionForm>,
}

impl<'a> AttemptJob<'a> {
    /// A question that is no attempt of an atom.
    pub fn question(context: JobContext<'a>, prompt: &Prompt, form: QuestionForm) -> Self {
        Self {
            prompt: prompt.text(),
            files: prompt.files.iter().map(InputFile::from).collect(),
            bindings: String::new(),
            setup: None,
            session: None,
            usage: LiveUsage::new(context.maker.price(), Usage::default()),
            keep: None,
            shape: None,
            budget: None,
            question: Some(form),
            context,
        }
        .without_secrets()
    }

    /// The same with names in the place of secrets in all that its agent reads.
    #[must_use]
    pub fn without_secrets(mut self) -> Self {
        let secrets = secrets::all();
        secrets::hide_in(&mut self.prompt);
        secrets::hide_in(&mut self.bindings);
        for file in &mut self.files {
            if let Cow::Owned(hidden) = secrets.hide_bytes(&file.bytes) {
                file.bytes = hidden;
            }
        }
        self
    }

    /// The correcting turn that its session is in; 0 before the first.
    fn turn(&self) -> u32 {
        self.session.as_ref().map_or(0, |_| self.context.intent.turn_n())
    }

    /// Whether it begins a correcting turn of its session.
    fn begins_turn(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.lacks_turn(self.context.intent))
    }

    /// Whether its answer is an object that is judged elsewhere, and no report.
    fn prints_object(&self) -> bool {
        self.question.is_some()
    }

    /// Whether it answers a question, and plans nothing.
    fn only_answers(&self) -> bool {
        self.question.is_some() && self.budget.is_none()
    }

    /// Bytes at most of the standard output that are kept whole.
    fn stdout_bytes_max(&self) -> usize {
        match (&self.question, &self.budget) {
            (_, Some(_)) => fragment::BYTES_MAX,
            (Some(_), None) => ANSWER_BYTES_MAX,
            (None, None) => 0,
        }
    }
}

/// By which an attempt is made.
#[derive(Debug, Clone)]
pub enum Maker {
    /// The atom's action.
    Action {
        action: Action,
        env: Environment,
    },
    Agent(Box<HiredAgent>),
}

impl Maker {
    pub fn price(&self) -> Option<Price> {
        match self {
            Self::Action { .. } => None,
            Self::Agent(hired) => hired.agent.price,
        }
    }

    /// Whether such an end of its command is said to be one that may pass.
    pub(crate) fn may_pass(&self, outcome: &Outcome) -> bool {
        let (exit, output) = match self {
            Self::Action { action, .. } => match &action.transient {
                Some(ends) => (&ends.exit, &ends.output),
                None => return false,
            },
            Self::Agent(hired) => (&hired.agent.transient.exit, &hired.agent.transient.output),
        };
        let fits = |pattern: &String| {
            regex::Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(&outcome.excerpt))
        };
        let CommandEnd::Exit(code @ 1..) = outcome.how else { return false };
        exit.contains(&code) || output.as_ref().is_some_and(fits)
    }

    /// Whether it is a model that is asked: it works in no directory.
    pub fn is_model(&self) -> bool {
        matches!(self, Self::Agent(hired) if matches!(hired.agent.transport, Transport::Model(_)))
    }
}

/// An agent for one attempt, with its own environment.
#[derive(Debug, Clone)]
pub struct HiredAgent {
    pub agent: ResolvedAgent,
    pub env: Environment,
    /// Asks the models of all attempts.
    pub asker: Asker,
    pub slot: usize,
}

#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    #[error("`{}`, which an attempt needs, cannot be written: {source}", path.display())]
    Unwritable { path: PathBuf, source: io::Error },
    /// A resource is lacking that can become available again: the attempt has not begun and costs
    /// nothing.
    #[error("an attempt cannot be started: {0}")]
    Lacking(#[source] SpawnError),
    /// The attempt can be made anew.
    #[error("the session of the agent cannot go on")]
    NoSession,
}

impl From<AgentError> for Failure {
    fn from(error: AgentError) -> Self {
        let (code, hint, lack) = match &error {
            AgentError::Unwritable { source, .. } => {
                let hint = "check its permissions and the space on its disk";
                ("E-IO", hint, lack_of(source))
            }
            AgentError::Lacking(error) => ("E-MACHINE", error.hint(), error.lack()),
            AgentError::NoSession => ("E-MACHINE", "run again: the attempt is made anew", None),
        };
        Failure::new(code, exit::IO, &error, hint).lacking(lack)
    }
}

/// How many attempts keep their own files.
const KEPT_MAX: usize = 200;

/// Removes the files of all attempts but the newest: those are for people to read. Attempts in flight keep theirs, even if
/// a changed clock makes them look old: their outcome may not be committed yet.
pub fn remove_old(attempts: &Path, in_flight: &[Intent]) {
    let is_spared =
        |path: &PathBuf| in_flight.iter().any(|intent| *path == attempts.join(intent.id.as_str()));
    let changed =
        |path: &PathBuf| path.symlink_metadata().ok().filter(fs::Metadata::is_dir)?.modified().ok();
    let there = files::entries(attempts).into_iter().filter(|path| !is_spared(path));
    let mut by_age: Vec<(SystemTime, PathBuf)> =
        there.filter_map(|path| Some((changed(&path)?, path))).collect();
    by_age.sort_unstable();
    let old = by_age.len().saturating_sub(KEPT_MAX);
    for (_, path) in by_age.into_iter().take(old) {
        // The next run tries again what cannot be removed now.
        let _ = files::remove(&path);
    }
}

/// How the beginning of an attempt ended.
#[derive(Debug)]
pub enum Begun {
    Cancelled,
    /// `setup` failed.
    Failed(Box<Outcome>),
    Ready,
}

/// Writes the inputs of an attempt, and runs its `setup`.
pub async fn begin(
    attempt: &AttemptJob<'_>,
    cancel: &CancellationToken,
) -> Result<Begun, AgentError> {
    attempt.write_inputs()?;
    match &attempt.setup {
        Some(setup) if !attempt.context.maker.is_model() => {
            shell::set_up(attempt, setup, cancel).await
        }
        _ => Ok(Begun::Ready),
    }
}

/// Runs an attempt to its end; `None` if it was cancelled.
pub async fn make(
    attempt: AttemptJob<'_>,
    cancel: &CancellationToken,
) -> Result<Option<Outcome>, AgentError> {
    match begin(&attempt, cancel).await? {
        Begun::Cancelled => Ok(None),
        Begun::Failed(failed) => Ok(Some(*failed)),
        Begun::Ready => finish(attempt, cancel).await,
    }
}

/// The same for an attempt that has begun.
pub async fn finish(
    attempt: AttemptJob<'_>,
    cancel: &CancellationToken,
) -> Result<Option<Outcome>, AgentError> {
    let cwd = &attempt.context.cwd;
    let hired = match &attempt.context.maker {
        Maker::Action { action, env } => {
            let command = env.command_in(&action.run, cwd);
            return shell::made(&attempt, command, env, cancel).await;
        }
        Maker::Agent(hired) => hired,
    };
    match &hired.agent.transport {
        // The program of an agent is the person's own, wherever it lies.
        Transport::Shell(command) => {
            match missing_program_in(cwd, command, &hired.env.path_in(cwd)) {
                Some(program) => Ok(Some(shell::missing(cwd, &program, None))),
                None => shell::made(&attempt, command.clone(), &hired.env, cancel).await,
            }
        }
        Transport::Headless(_) | Transport::Acp(_) => {
            conversation::made(&attempt, hired, cancel).await
        }
        Transport::Model(provider) => http_model::made(&attempt, hired, provider, cancel).await,
    }
}

/// A job of an attempt, in its workspace.
fn job(attempt: &AttemptJob<'_>, command: String, env: &Environment, log: &str) -> Job {
    let context = &attempt.context;
    Job {
        command,
        cwd: context.cwd.clone(),
        env: environment(attempt, env),
        timeout: context.timeout,
        mark: context.mark.clone(),
        input: None,
        whole_stdout_bytes_max: 0,
        log: Some(context.dir.join(log)),
        reach: Reach::Fenced { out: Some(context.beside(OUT)) },
    }
}

/// How a job ended that could not be started. If it can be later, nothing has begun.
fn not_started(error: SpawnError) -> Result<CommandEnd, AgentError> {
    match error {
        // The log file is ours, like the prompt.
        SpawnError::Log { path, source } => Err(AgentError::Unwritable { path, source }),
        error if error.lack().is_some() => Err(AgentError::Lacking(error)),
        error => Ok(CommandEnd::NotRun(format!("{error} ({})", error.hint()))),
    }
}

/// The whole environment of a program of an attempt.
fn environment(attempt: &AttemptJob<'_>, env: &Environment) -> Vec<(OsString, OsString)> {
    let context = &attempt.context;
    let (intent, mut vars) = (context.intent, env.vars_in(&context.cwd));
    vars.push(("DESCENT_ROLE".into(), intent.role.word().into()));
    let question = attempt.question.as_ref().and_then(|form| form.duty.question);
    vars.extend(question.map(|one| ("DESCENT_QUESTION".into(), one.word().into())));
    let ours: [(&str, OsString); 5] = [
        ("DESCENT_ATOM", intent.atom.as_str().into()),
        ("DESCENT_ATTEMPT", intent.n.to_string().into()),
        ("DESCENT_BINDINGS", context.beside(BINDINGS).into()),
        ("DESCENT_RESULT", context.beside(RESULT).into()),
        ("DESCENT_PROMPT", context.beside(PROMPT).into()),
    ];
    let is_given = |name: &str| match intent.role {
        _ if question.is_some() => name == "DESCENT_PROMPT",
        Role::Worker | Role::Planner => true,
        Role::Probe => !["DESCENT_BINDINGS", "DESCENT_RESULT"].contains(&name),
        _ => name == "DESCENT_PROMPT",
    };
    let ours = ours.into_iter().filter(|(name, _)| is_given(name));
    vars.extend(ours.map(|(name, value)| (name.into(), value)));
    if attempt.question.is_some() {
        vars.push(("DESCENT_SCHEMA".into(), context.beside(SCHEMA).into()));
    }
    if attempt.files.iter().any(|file| file.name == DIRECTIVE_FILE) {
        vars.push(("DESCENT_DIRECTIVE".into(), context.beside(DIRECTIVE_FILE).into()));
    }
    // Keeps a git in an attempt's own directory, which is below the project, from finding the person's repository (git(1)).
    let above = context.dir.parent().and_then(Path::parent);
    let above = above.and_then(|above| std::path::absolute(above).ok());
    vars.extend(above.map(|above| ("GIT_CEILING_DIRECTORIES".into(), above.into())));
    if let Some(SlotPorts { slot, ports }) = &context.slot {
        vars.push(("DESCENT_SLOT".into(), slot.to_string().into()));
        vars.extend(ports.iter().map(|ports| ("DESCENT_PORTS".into(), ports.into())));
    }
    let budget = attempt.budget.as_ref();
    vars.extend(budget.map(|budget| ("DESCENT_BUDGET".into(), budget.into())));
    vars
}

/// Hides secrets, compares the value with its schema, and adds the whole output of a failed attempt if the excerpt is shorter.
fn completed(outcome: Outcome, attempt: &AttemptJob<'_>, output: Option<&Capture>) -> Outcome {
    let mut outcome = directory::without_secrets(outcome);
    if let (Some(shape), true) = (&attempt.shape, outcome.may_land()) {
        outcome.misfits = shape.misfits_of(outcome.report.as_ref());
    }
    let has_failed = outcome.how != CommandEnd::Exit(0)
        || outcome.report_fault.is_some()
        || !outcome.misfits.is_empty()
        || outcome
            .report
            .as_ref()
            .is_some_and(|report| report.has_failed || report.clarity == Clarity::Blocked);
    let long = output.filter(|output| output.total_bytes() > EXCERPT_BYTES_MAX as u64);
    if let (true, Some(output), Some(keep)) = (has_failed, long, &attempt.keep) {
        outcome.whole = keep.keep(&output.long());
    }
    outcome
}
