//! Makes attempts: runs a shell action or a worker's command in a workspace, and reads its report.
//!
//! Invariant: the output is untrusted (`report` caps it), and a cancelled attempt has no outcome.
//! Not here: what an outcome means (the core), where the workspace comes from (`workspace`).

mod directory;
mod inputs;
mod outcome;
mod report;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use descent_core::{
    event::{AgentReport, Outcome},
    fragment,
    id::AtomId,
    state::Intent,
    verdict::CommandEnd,
};
use tokio_util::sync::CancellationToken;

use crate::{
    evidence::EvidenceKeeper,
    failure::{Failure, lack_of},
    files,
    process::{
        self, Job, JobRecord, JobResult, Programs, SpawnError, capture::WholeOutput,
        environment::Environment,
    },
};

pub use outcome::{finished, record};

use inputs::Inputs;
use report::ReportFault;

/// Maximum of bytes of an output's head and tail in an outcome.
const EXCERPT_BYTES_MAX: usize = 2048;

/// One try of one atom.
#[derive(Debug)]
pub struct AttemptJob<'a> {
    pub intent: &'a Intent,
    /// The text of the prompt.
    pub prompt: String,
    /// The bindings that the atom depends on, as JSON.
    pub bindings: String,
    /// The atom's action, or the worker's command.
    pub command: String,
    /// The workspace.
    pub cwd: PathBuf,
    /// The directory of the attempt's own files: inputs, result, logs. It is made if missing.
    pub dir: PathBuf,
    /// The file that records its processes; it replaces the record of the slot's earlier attempt.
    pub started: PathBuf,
    /// The timeout of the command; `setup` has the same for itself.
    pub timeout: Duration,
    pub env: Environment,
    pub programs: &'a dyn Programs,
    /// Unique to the attempt.
    pub mark: String,
    /// A command to run before, in the same directory.
    pub setup: Option<String>,
    /// Keeps an output that is longer than its excerpt.
    pub keep: Option<EvidenceKeeper<'a>>,
    /// For a planner, the remaining budget as JSON. Its standard output is then kept whole.
    pub budget: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    #[error("`{}`, which an attempt needs, cannot be written: {source}", path.display())]
    Unwritable { path: PathBuf, source: io::Error },
    /// A resource is lacking that can become available again: the attempt has not begun and costs
    /// nothing.
    #[error("an attempt cannot be started: {0}")]
    Lacking(#[source] SpawnError),
}

impl AgentError {
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unwritable { .. } => "E-ATTEMPT-DIR",
            Self::Lacking(_) => "E-PROCESSES",
        }
    }

    pub fn exit(&self) -> u8 {
        74
    }

    pub fn hint(&self) -> &'static str {
        match self {
            Self::Unwritable { .. } => "check its permissions and the space on its disk",
            Self::Lacking(error) => error.hint(),
        }
    }
}

impl From<AgentError> for Failure {
    fn from(error: AgentError) -> Self {
        let lack = match &error {
            AgentError::Unwritable { source, .. } => lack_of(source),
            AgentError::Lacking(error) => error.lack(),
        };
        Failure::new(error.code(), error.exit(), &error, error.hint()).lacking(lack)
    }
}

/// How often and at which interval reading a result is retried while a resource is lacking.
const READ_AGAIN_MAX: u32 = 20;
const READ_AGAIN: Duration = Duration::from_millis(500);

/// How many attempts keep their own files.
const KEPT_MAX: usize = 200;

/// Removes the files of all but the newest attempts; they are for people to read. Attempts in
/// flight keep theirs, even if a changed clock makes them look old: their outcome may not be
/// committed yet.
pub fn tidy(attempts: &Path, in_flight: &[Intent]) {
    let spared: BTreeSet<PathBuf> = in_flight
        .iter()
        .map(|intent| attempts.join(intent.id.as_str()))
        .collect();
    let changed = |path: &PathBuf| {
        let meta = path.symlink_metadata().ok().filter(fs::Metadata::is_dir)?;
        meta.modified().ok()
    };
    let mut by_age: Vec<(SystemTime, PathBuf)> = files::entries(attempts)
        .into_iter()
        .filter(|path| !spared.contains(path))
        .filter_map(|path| Some((changed(&path)?, path)))
        .collect();
    by_age.sort_unstable();
    let old = by_age.len().saturating_sub(KEPT_MAX);
    for (_, path) in by_age.into_iter().take(old) {
        // The next run tries again what cannot be removed now.
        let _ = files::remove(&path);
    }
}

/// Runs an attempt to its end; `None` if it was cancelled.
pub async fn make(
    attempt: AttemptJob<'_>,
    cancel: &CancellationToken,
) -> Result<Option<Outcome>, AgentError> {
    let inputs = Inputs::write(&attempt)?;
    if let Some(setup) = &attempt.setup {
        let setup = CommandStep {
            command: setup,
            log: "setup.log",
            stdout_bytes_max: 0,
        };
        match run(&attempt, &inputs, &setup, cancel).await? {
            CommandOutcome::Cancelled => return Ok(None),
            CommandOutcome::Ended(CommandEnd::Exit(0), _) => {}
            CommandOutcome::Ended(how, ended) => {
                let failed = setup_failed(&how, ended.as_ref());
                return Ok(Some(with_whole(failed, &attempt, ended.as_ref())));
            }
        }
    }
    let own = CommandStep {
        command: &attempt.command,
        log: "output.log",
        stdout_bytes_max: attempt.budget.as_ref().map_or(0, |_| fragment::BYTES_MAX),
    };
    Ok(match run(&attempt, &inputs, &own, cancel).await? {
        CommandOutcome::Cancelled => None,
        CommandOutcome::Ended(how, ended) => {
            let (report, report_fault) = match read_result(&inputs.result(), cancel).await {
                Ok(report) => (report, None),
                Err(fault) => (None, Some(fault.to_string())),
            };
            let stdout = ended.as_ref().and_then(|ended| ended.stdout.as_ref());
            let outcome = Outcome {
                report,
                report_fault: report_fault.or(stdout.and_then(too_long)),
                stdout: stdout.map(|stdout| String::from_utf8_lossy(&stdout.bytes).into_owned()),
                ..outcome(how, ended.as_ref())
            };
            Some(with_whole(outcome, &attempt, ended.as_ref()))
        }
    })
}

/// Adds the whole output of a failed attempt, if the excerpt is shorter.
fn with_whole(
    mut outcome: Outcome,
    attempt: &AttemptJob<'_>,
    ended: Option<&JobResult>,
) -> Outcome {
    let has_failed = outcome.how != CommandEnd::Exit(0)
        || outcome.report_fault.is_some()
        || outcome
            .report
            .as_ref()
            .is_some_and(|report| report.is_blocked);
    let output = ended.map(|ended| &ended.output);
    let long = output.filter(|output| output.total_bytes() > EXCERPT_BYTES_MAX as u64);
    if let (true, Some(output), Some(keep)) = (has_failed, long, &attempt.keep) {
        outcome.whole = keep.keep(&output.long());
    }
    outcome
}

/// Half of a plan is useless.
fn too_long(stdout: &WholeOutput) -> Option<String> {
    let most = fragment::BYTES_MAX >> 10;
    let what = || format!("it printed more than {most} KiB");
    stdout.truncated.then(what)
}

/// A temporary lack of resources is no fault of the attempt's.
async fn read_result(
    path: &Path,
    cancel: &CancellationToken,
) -> Result<Option<AgentReport>, ReportFault> {
    for _ in 0..READ_AGAIN_MAX {
        match report::read(path) {
            Err(ReportFault::Unreadable(error))
                if lack_of(&error).is_some() && !cancel.is_cancelled() =>
            {
                tokio::time::sleep(READ_AGAIN).await;
            }
            other => return other,
        }
    }
    report::read(path)
}

/// The variables that identify the attempt.
fn variables(atom: &AtomId, n: u32, inputs: &Inputs) -> [(&'static str, OsString); 5] {
    [
        ("DESCENT_ATOM", atom.as_str().into()),
        ("DESCENT_ATTEMPT", n.to_string().into()),
        ("DESCENT_BINDINGS", inputs.bindings().into()),
        ("DESCENT_RESULT", inputs.result().into()),
        ("DESCENT_PROMPT", inputs.prompt().into()),
    ]
}

/// Keeps a git in an attempt's own directory, which is below the project, from finding the person's
/// repository (git(1), `GIT_CEILING_DIRECTORIES`).
fn ceiling(dir: &Path) -> Option<(OsString, OsString)> {
    let above = dir.parent()?.parent()?;
    let above = std::path::absolute(above).ok()?;
    Some(("GIT_CEILING_DIRECTORIES".into(), above.into()))
}

/// One command of an attempt.
struct CommandStep<'a> {
    command: &'a str,
    log: &'a str,
    stdout_bytes_max: usize,
}

/// If nothing could be started, nothing ended.
enum CommandOutcome {
    Cancelled,
    Ended(CommandEnd, Option<JobResult>),
}

async fn run(
    attempt: &AttemptJob<'_>,
    inputs: &Inputs,
    step: &CommandStep<'_>,
    cancel: &CancellationToken,
) -> Result<CommandOutcome, AgentError> {
    let mut env = attempt.env.vars.clone();
    let ours = variables(&attempt.intent.atom, attempt.intent.n, inputs);
    env.extend(ours.map(|(name, value)| (name.into(), value)));
    env.extend(ceiling(&attempt.dir));
    let budget = attempt.budget.as_ref();
    env.extend(budget.map(|budget| ("DESCENT_BUDGET".into(), budget.into())));
    let job = Job {
        command: step.command.to_owned(),
        cwd: attempt.cwd.clone(),
        env,
        timeout: attempt.timeout,
        mark: attempt.mark.clone(),
        input: None,
        whole_stdout_bytes_max: step.stdout_bytes_max,
        log: Some(attempt.dir.join(step.log)),
    };
    // Without that file a sweep still finds the job by its mark.
    let note = |started: &JobRecord| drop(inputs.note_started(started));
    Ok(
        match attempt.programs.run(&job, cancel, Box::new(note)).await {
            // The log file is ours, like the prompt: nothing has begun.
            Err(SpawnError::Log { path, source }) => {
                return Err(AgentError::Unwritable { path, source });
            }
            Err(error) if error.lack().is_some() => return Err(AgentError::Lacking(error)),
            Err(error) => CommandOutcome::Ended(
                CommandEnd::NotRun(format!("{error} ({})", error.hint())),
                None,
            ),
            Ok(ended) => match ended.how {
                process::JobEnd::Cancelled => CommandOutcome::Cancelled,
                process::JobEnd::Exit(code) => {
                    CommandOutcome::Ended(CommandEnd::Exit(code), Some(ended))
                }
                process::JobEnd::Signal(signal) => {
                    CommandOutcome::Ended(CommandEnd::Signal(signal), Some(ended))
                }
                process::JobEnd::TimedOut => {
                    CommandOutcome::Ended(CommandEnd::TimedOut, Some(ended))
                }
            },
        },
    )
}

fn outcome(how: CommandEnd, ended: Option<&JobResult>) -> Outcome {
    let duration = ended.map_or(Duration::ZERO, |ended| ended.duration);
    Outcome {
        excerpt: ended.map_or_else(String::new, |ended| ended.output.excerpt(EXCERPT_BYTES_MAX)),
        last_line: ended.and_then(|ended| ended.output.last_line()),
        ..Outcome::ended(how, u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
    }
}

fn setup_failed(how: &CommandEnd, ended: Option<&JobResult>) -> Outcome {
    let mut why = format!("setup failed: {}", how.text());
    if let Some(line) = ended.and_then(|ended| ended.output.last_line()) {
        why = format!("{why}: {line}");
    }
    outcome(CommandEnd::NotRun(why), ended)
}
