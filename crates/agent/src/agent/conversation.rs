//! Attempts by an agent that is talked with: its sessions, its turns, and the outcome of it all.
//!
//! Invariant: what an agent says about its own work decides nothing; its exit code means nothing.

use std::{path::Path, time::Duration};

use descent_core::{
    event::{AgentEnd, AgentLack, Clarity, Outcome},
    verdict::CommandEnd,
};
use tokio_util::sync::CancellationToken;

use super::{
    AgentError, AttemptJob, EXCERPT_BYTES_MAX, HiredAgent,
    acp::AcpTalk,
    answer,
    answer::Repairs,
    completed,
    directory::{RESULT, SessionRecord},
    headless::{ClaudeStreamJson, CodexExecJson, EventDialect, HeadlessTalk, PlainText},
    heard::{EarlierUsage, Heard, HeardSoFar},
    job, not_started, report, shell,
    talk::{Conversation, Talked, talk},
};
use crate::config::{
    agent_table::{Access, Dialect, Headless, Transport},
    program::{ProgramLook, find_program, is_relative},
};
use descent_process::{Capture, Job, JobEnd, JobRecord, SpawnError, Timer};

/// Told to an agent whose session goes on after a kill of the loop.
const GO_ON: &str = "You were cut off. Go on from where you were: look at what is there, finish the task, \
                     and end with your answer as it was asked for.";

/// The first pause before an agent goes on whose provider went down while it was at work; each further one is twice as
/// long.
const OUTAGE_FIRST: Duration = Duration::from_secs(2);
const OUTAGE_LONGEST: Duration = Duration::from_secs(300);
/// All such pauses of an attempt at most. Then its work is lost, and it waits as one that had not begun.
const OUTAGES_MAX: Duration = Duration::from_secs(1_200);

/// One start of an agent's process.
struct Turn {
    words: String,
    resume: Option<String>,
}

/// Talks with an agent until it has an answer or cannot have one; `None` if it was cancelled.
pub(super) async fn made(
    attempt: &AttemptJob<'_>,
    hired: &HiredAgent,
    cancel: &CancellationToken,
) -> Result<Option<Outcome>, AgentError> {
    if let Some(missing) = hired.missing(&attempt.context.cwd) {
        return Ok(Some(missing));
    }
    let since = Timer::start();
    let log = attempt.context.dir.join("output.log");
    let mut turn = first_turn(attempt, hired);
    let mut is_going_on = turn.resume.is_some();
    let mut paused = Duration::ZERO;
    let earlier = if is_going_on {
        EarlierUsage::OfThisSession(attempt.usage.before())
    } else {
        EarlierUsage::OfOtherSessions(attempt.usage.before())
    };
    let heard = Heard::new(&log, earlier)
        .map_err(|source| AgentError::Unwritable { path: log.clone(), source })?;
    attempt.usage.follow(&heard);
    let name = hired.agent.name.as_str();
    let session = turn.resume.as_deref().unwrap_or_default();
    let record = SessionRecord::new(attempt.context.intent, hired.slot, name, session);
    // After a kill the workspace is not brought to the candidate again: the agent may have changed it.
    if attempt.begins_turn() {
        record.keep(&attempt.context.dir);
    }
    heard.with(|heard| heard.record = Some((record, attempt.context.dir.clone())));
    let result = attempt.context.beside(RESULT);
    let mut repairs = Repairs::new(attempt, move || result.exists());
    loop {
        let heard = &heard;
        let started = Started { attempt, hired, heard, cancel, since, paused };
        let talked = match started.talk(turn, &mut repairs).await {
            Ok(Some(talked)) => talked,
            Ok(None) => return Ok(None),
            // Its workspace went after it was looked at.
            Err(SpawnError::NoDirectory(_)) if is_going_on => return Err(AgentError::NoSession),
            Err(error) => return Ok(Some(Outcome::ended(not_started(error)?, 0))),
        };
        if is_going_on && heard.with(|heard| heard.is_session_unknown()) {
            return Err(AgentError::NoSession);
        }
        is_going_on = false;
        let session = heard.with(|heard| heard.session.clone());
        let again = session.filter(|_| hired.agent.transport.goes_on() && !talked.is_timed_out);
        // As long as all before it, and the first.
        let pause = (paused + OUTAGE_FIRST).min(OUTAGE_LONGEST);
        let may_pause = again.is_some() && paused + pause <= OUTAGES_MAX;
        let words = match &again {
            Some(_) if may_pause && heard.with(|heard| heard.was_cut_off()) => {
                let line = format!("[waits {} s: its provider is down]\n", pause.as_secs());
                heard.with(|heard| heard.log(&line));
                heard.with(HeardSoFar::next_process);
                tokio::select! {
                    () = cancel.cancelled() => return Ok(None),
                    () = tokio::time::sleep(pause) => {}
                }
                (paused, is_going_on) = (paused + pause, true);
                Some(GO_ON.to_owned())
            }
            Some(_) => repairs.next(heard),
            None => None,
        };
        let (Some(words), Some(session)) = (words, &again) else {
            let mut outcome = outcome(attempt, heard, talked.is_timed_out, since);
            outcome.goes_on = again.is_some();
            outcome.agent_end = outcome.agent_end.map(|end| with_mend(end, hired));
            return Ok(Some(outcome));
        };
        turn = Turn { words, resume: Some(session.clone()) };
    }
}

fn first_turn(attempt: &AttemptJob<'_>, hired: &HiredAgent) -> Turn {
    let session = attempt.session.as_ref();
    match session.filter(|session| session.agent == hired.agent.name.as_str()) {
        Some(session) if hired.agent.transport.goes_on() => {
            let words = match &attempt.context.intent.turn {
                Some(_) if attempt.begins_turn() => attempt.prompt.clone(),
                Some(_) => format!("{GO_ON}\n\n{}", attempt.prompt),
                None => GO_ON.to_owned(),
            };
            Turn { words, resume: Some(session.session.clone()) }
        }
        _ => Turn { words: attempt.prompt.clone(), resume: None },
    }
}

impl HiredAgent {
    /// The outcome of an attempt whose agent is not installed. A plan or an edit in mid-run may name such a one.
    /// A relative path is looked for in the workspace.
    fn missing(&self, cwd: &Path) -> Option<Outcome> {
        let program = self.agent.transport.program();
        let is_missing = find_program(program, &self.env.path_in(cwd)) == ProgramLook::Missing
            || is_relative(program) && !cwd.join(program).exists();
        if !is_missing {
            return None;
        }
        Some(shell::missing(cwd, program, self.agent.preset.map(|preset| &*preset.install)))
    }
}

/// An attempt that was started, with all that each of its processes needs.
struct Started<'a> {
    attempt: &'a AttemptJob<'a>,
    hired: &'a HiredAgent,
    heard: &'a Heard,
    cancel: &'a CancellationToken,
    since: Timer,
    /// The pauses so far, which are no time of the attempt.
    paused: Duration,
}

impl Started<'_> {
    async fn talk(&self, turn: Turn, repairs: &mut Repairs) -> Result<Option<Talked>, SpawnError> {
        let attempt = self.attempt;
        let access = Access::of(attempt.context.intent.role);
        let Turn { words: prompt, resume } = turn;
        match &self.hired.agent.transport {
            Transport::Headless(headless) => {
                let argv = match &resume {
                    Some(session) => headless.go_on(access, session),
                    None => {
                        let session = uuid::Uuid::now_v7().to_string();
                        if headless.session.is_some() {
                            self.heard.with(|heard| heard.session(&session));
                        }
                        headless.start(access, &session)
                    }
                };
                let dialect: Box<dyn EventDialect> = match headless.dialect {
                    Dialect::ClaudeStreamJson => Box::<ClaudeStreamJson>::default(),
                    Dialect::CodexExecJson => Box::new(CodexExecJson),
                    Dialect::Text => Box::new(PlainText),
                };
                self.run(&argv, HeadlessTalk { dialect, prompt, repairs }).await
            }
            Transport::Acp(acp) => {
                let meta = acp.session_meta.as_deref();
                let conversation = AcpTalk {
                    cwd: attempt.context.cwd.clone(),
                    prompt,
                    access,
                    mode: acp.modes.of(access).map(str::to_owned),
                    meta: meta.and_then(|meta| serde_json::from_str(meta).ok()),
                    resume,
                    repairs,
                };
                self.run(&acp.argv, conversation).await
            }
            // Nobody talks with these.
            Transport::Shell(_) | Transport::Model(_) => Ok(None),
        }
    }

    /// Runs the program of an agent. Its standard error goes to the log.
    async fn run(
        &self,
        argv: &[String],
        conversation: impl Conversation,
    ) -> Result<Option<Talked>, SpawnError> {
        let (attempt, hired) = (self.attempt, self.hired);
        let quoted = shlex::try_join(argv.iter().map(String::as_str));
        // An argument with a zero byte cannot be passed on; the start reports it.
        let command = format!("exec {}", quoted.unwrap_or_else(|_| argv.join(" ")));
        let job = job(attempt, command, &hired.env, "errors.log");
        let total = attempt.context.timeout + self.paused;
        let job = Job { timeout: total.saturating_sub(self.since.elapsed()), ..job };
        let limits = hired.agent.limits;
        // Without that file a sweep still finds the job by its mark.
        let note = |started: &JobRecord| drop(attempt.context.note_started(started));
        let programs = attempt.context.programs;
        let talked =
            talk(job, limits, conversation, self.heard, programs, self.cancel, note).await?;
        if let Some(talked) = &talked {
            let is_text = matches!(
                &hired.agent.transport,
                Transport::Headless(Headless { dialect: Dialect::Text, .. })
            );
            // Text has no event that could be missing: such an agent has nothing to say.
            let may_be_silent = is_text && talked.result.how == JobEnd::Exit(0);
            self.heard.with(|heard| end_without_word(heard, talked, may_be_silent));
        }
        Ok(talked)
    }
}

/// An agent that ended without a word of its end broke its protocol.
pub(super) fn end_without_word(heard: &mut HeardSoFar, talked: &Talked, may_be_silent: bool) {
    if heard.has_ended_well() {
        return;
    }
    let stderr = talked.result.output.tail();
    if !stderr.trim().is_empty() {
        heard.log("\n(standard error:)\n");
        heard.log(&stderr);
    }
    if heard.end.is_some() || talked.is_timed_out {
        return;
    }
    if may_be_silent || heard.was_left_unmended() {
        // It is asked again in another process, else its answer is the fault.
        heard.end = Some(AgentEnd::Done);
        return;
    }
    if let JobEnd::Signal(signal @ 19..=22) = talked.result.how {
        heard.end = Some(AgentEnd::Protocol(CommandEnd::Signal(signal).text()));
        return;
    }
    // The last line that speaks of an error: advice may follow it.
    let mut lines = stderr.lines().rev().map(str::trim);
    let telling = lines.find(|line| line.to_lowercase().contains("error")).map(str::to_owned);
    let words = telling.or_else(|| talked.result.output.last_line());
    let words = format!("it ended without a result: {}", words.unwrap_or_default());
    heard.end = Some(match super::trouble::of_error(None, &stderr) {
        // A warning may speak of a network, too.
        AgentEnd::Down(_) if super::trouble::outage(&words).is_none() => AgentEnd::Protocol(words),
        AgentEnd::Protocol(_) => AgentEnd::Protocol(words.trim_end_matches(": ").to_owned()),
        trouble => trouble,
    });
}

/// The outcome of all that was heard.
pub(super) fn outcome(
    attempt: &AttemptJob<'_>,
    heard: &Heard,
    is_timed_out: bool,
    since: Timer,
) -> Outcome {
    let given = report::read(&attempt.context.beside(RESULT));
    let written = given.as_ref().ok().and_then(Option::as_ref).map(|file| file.usage.clone());
    let mut heard = heard.clone().into_inner();
    heard.end_line();
    let usage = Some(heard.usage()).filter(|usage| !usage.is_none());
    let is_done = heard.end == Some(AgentEnd::Done) && !is_timed_out;
    let (report, report_fault) = match given {
        Ok(Some(file)) => (Some(file.report), file.fault),
        Err(fault) => (None, Some(fault)),
        // A planner says it only if it cannot plan.
        Ok(None) if attempt.only_answers() => (None, None),
        Ok(None) if attempt.budget.is_some() => {
            let report = answer::report(&heard).ok().map(|read| read.report);
            (report.filter(|report| report.clarity == Clarity::Blocked), None)
        }
        Ok(None) => match answer::report(&heard) {
            Ok(read) => (Some(read.report), read.fault.filter(|_| is_done)),
            Err(fault) if is_done => (None, Some(fault)),
            Err(_) => (None, None),
        },
    };
    let how = match &heard.end {
        _ if is_timed_out => CommandEnd::TimedOut,
        Some(AgentEnd::Done) => CommandEnd::Exit(0),
        _ => CommandEnd::Exit(1),
    };
    let ms = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
    let unheard = Capture::default();
    let output = heard.output().unwrap_or(&unheard);
    let outcome = Outcome {
        excerpt: output.excerpt(EXCERPT_BYTES_MAX),
        last_line: output.last_line(),
        stdout: attempt.prints_object().then(|| answer::last_object(heard.answer_text())),
        report,
        report_fault,
        usage: attempt.usage.priced(usage.or(written).unwrap_or_default()),
        tried: heard.tried.clone(),
        agent_end: heard.end.clone().filter(|_| !is_timed_out),
        ..Outcome::ended(how, ms)
    };
    completed(outcome, attempt, Some(output))
}

/// Names the variable that holds a key for this agent and was withheld from it, else the command by which a person logs in.
fn with_mend(end: AgentEnd, hired: &HiredAgent) -> AgentEnd {
    let AgentEnd::Unavailable { kind, words, .. } = end else { return end };
    let preset = hired.agent.preset;
    let known = preset.iter().flat_map(|preset| &preset.variables);
    let is_withheld =
        |name: &&String| hired.env.withheld.contains(name) && !hired.env.passes_on(name);
    let variable = known.filter(|name| is_withheld(name)).min().cloned();
    let log_in = preset.filter(|_| kind == AgentLack::Login && variable.is_none());
    let words = match log_in {
        Some(preset) => format!("{} (log in: {})", words.trim(), preset.log_in),
        None => words,
    };
    AgentEnd::Unavailable { kind, words: words.trim().to_owned(), variable }
}
