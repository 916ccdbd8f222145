//! Attempts by a shell command, and the `setup` before any attempt.

use std::{path::Path, time::Duration};

use descent_core::{
    event::{AgentEnd, AgentLack, Outcome},
    state::Usage,
    verdict::CommandEnd,
};
use tokio_util::sync::CancellationToken;

use super::{
    AgentError, AttemptJob, Begun, EXCERPT_BYTES_MAX, answer, completed, directory::RESULT, job,
    not_started, report,
};
use crate::config::program::is_relative;
use descent_process::{
    self as process, Job, JobEnd, JobRecord, JobResult, capture::WholeOutput,
    environment::Environment,
};

pub(super) async fn set_up(
    attempt: &AttemptJob<'_>,
    command: &str,
    cancel: &CancellationToken,
) -> Result<Begun, AgentError> {
    let (env, cwd) = (&attempt.context.env, &attempt.context.cwd);
    let job = job(attempt, env.command_in(command, cwd), env, "setup.log");
    Ok(match run(attempt, job, cancel).await? {
        None => Begun::Cancelled,
        Some((CommandEnd::Exit(0), _)) => Begun::Ready,
        Some((how, ended)) => {
            let output = ended.as_ref().map(|ended| &ended.output);
            Begun::Failed(Box::new(completed(setup_failed(&how, ended.as_ref()), attempt, output)))
        }
    })
}

/// The outcome of an attempt whose agent has no program here: nothing is started, and the work has not failed. The
/// workspace decides of a path in it: setup, or an earlier step, may have made what it names.
pub(super) fn missing(cwd: &Path, program: &str, install: Option<&str>) -> Outcome {
    let words = match is_relative(program) {
        _ if install.is_some() => install.unwrap_or_default().to_owned(),
        // A run keeps its start: what is changed in the project comes into it by a redirect alone.
        true if cwd.join(program).exists() => format!(
            "`{program}` is not executable in its workspace: chmod +x, then descent redirect --from ."
        ),
        true => format!("`{program}` is no program in its workspace"),
        false if program.contains('/') => format!("`{program}` is not there"),
        false => format!("`{program}` is not on the PATH"),
    };
    Outcome {
        agent_end: Some(AgentEnd::Unavailable { kind: AgentLack::Missing, words, variable: None }),
        ..Outcome::ended(CommandEnd::NotRun(format!("`{program}` is not there")), 0)
    }
}

/// Runs the command of an attempt to its end; `None` if it was cancelled.
pub(super) async fn made(
    attempt: &AttemptJob<'_>,
    command: String,
    env: &Environment,
    cancel: &CancellationToken,
) -> Result<Option<Outcome>, AgentError> {
    let bytes_max = attempt.stdout_bytes_max();
    let job = job(attempt, command, env, "output.log");
    let job = Job { whole_stdout_bytes_max: bytes_max, ..job };
    let Some((how, ended)) = run(attempt, job, cancel).await? else { return Ok(None) };
    let (report, usage, fault) = match report::read(&attempt.context.beside(RESULT)) {
        Ok(Some(file)) => (Some(file.report), file.usage, file.fault),
        Ok(None) => (None, Usage::default(), None),
        Err(fault) => (None, Usage::default(), Some(fault)),
    };
    let stdout = ended.as_ref().and_then(|ended| ended.stdout.as_ref());
    // Half of a plan is useless.
    let is_too_long = stdout.is_some_and(|stdout| stdout.truncated);
    let too_long = || format!("it printed more than {} KiB", bytes_max >> 10);
    let outcome = Outcome {
        report,
        usage: attempt.usage.priced(usage),
        report_fault: fault.or_else(|| is_too_long.then(too_long)),
        stdout: stdout.map(|stdout| printed(stdout, attempt.only_answers())),
        ..outcome(how, ended.as_ref())
    };
    let may_pass = attempt.context.maker.may_pass(&outcome);
    let outcome = Outcome { may_pass, ..outcome };
    Ok(Some(completed(outcome, attempt, ended.as_ref().map(|ended| &ended.output))))
}

/// The text that a command printed; of a role that only answers, the object in it.
fn printed(stdout: &WholeOutput, is_answer: bool) -> String {
    let text = String::from_utf8_lossy(&stdout.bytes);
    if is_answer { answer::last_object(&text) } else { text.into_owned() }
}

/// Runs a command to its end; `None` if it was cancelled. If nothing could be started, there is no result.
async fn run(
    attempt: &AttemptJob<'_>,
    job: Job,
    cancel: &CancellationToken,
) -> Result<Option<(CommandEnd, Option<JobResult>)>, AgentError> {
    // Without that file a sweep still finds the job by its mark.
    let note = |started: &JobRecord| drop(attempt.context.note_started(started));
    let run = || attempt.context.programs.run(&job, None, cancel, Box::new(note));
    let ended = match process::start_patiently(cancel, run).await {
        Ok(ended) => ended,
        Err(error) => return Ok(Some((not_started(error)?, None))),
    };
    let how = match ended.how {
        JobEnd::Cancelled => return Ok(None),
        JobEnd::Exit(code) => CommandEnd::Exit(code),
        JobEnd::Signal(signal) => CommandEnd::Signal(signal),
        JobEnd::TimedOut => CommandEnd::TimedOut,
    };
    Ok(Some((how, Some(ended))))
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
