//! A question to a role that only answers: its form, the job that asks it, and the object in its answer.
//!
//! Not here: which question, and what an answer means (the core, `ops::aligner`).

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use descent_core::{
    doc::{self, Node},
    event::{AgentEnd, ConsultAnswer, Outcome},
    profile::inferred,
    prompt::Prompt,
    state::{Intent, Role, Usage},
    verdict::CommandEnd,
};

use super::{AttemptJob, InputFile, LiveUsage, Maker, ObjectJudge};
use crate::process::{Programs, environment::Environment};

/// How long an answer may take, with its repairs.
pub const ANSWER_MAX: Duration = Duration::from_secs(5 * 60);
/// The same of the wording of a final answer: somebody waits for the run.
pub const WORDING_MAX: Duration = Duration::from_secs(30);
/// Bytes at most of an answer.
pub const ANSWER_BYTES_MAX: usize = 64 << 10;
/// The slot of a question that is no attempt of an atom: no attempt has it.
pub const QUESTION_SLOT: usize = usize::MAX;
/// The exit code of a command that asks to be tried again.
const TRY_AGAIN: i32 = 75;

/// The form of an answer: one JSON object.
#[derive(Clone)]
pub struct QuestionForm {
    pub role: Role,
    /// The JSON Schema of the object.
    pub schema: String,
    /// Says how an object is wrong, in words that its author can mend it by.
    pub fault: ObjectJudge,
}

impl fmt::Debug for QuestionForm {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("QuestionForm")
            .field("role", &self.role)
            .field("schema", &self.schema)
            .finish_non_exhaustive()
    }
}

/// The form of the answer to what kind of task a goal is.
pub fn kind_of_task() -> QuestionForm {
    let fault = |text: &str| object(text).and_then(|node| inferred::read(&node)).err();
    QuestionForm {
        role: Role::Profile,
        schema: inferred::SCHEMA.to_owned(),
        fault: Arc::new(fault),
    }
}

/// A question that is no attempt of an atom.
#[derive(Debug)]
pub struct QuestionJob<'a> {
    /// Its identity: a kept answer is bound to it.
    pub intent: &'a Intent,
    pub prompt: &'a Prompt,
    pub maker: Maker,
    /// The tree that it reads.
    pub cwd: PathBuf,
    /// The directory of its own files.
    pub dir: PathBuf,
    /// The file that records its processes.
    pub started: PathBuf,
    pub env: Environment,
    pub programs: &'a dyn Programs,
    /// Unique to it.
    pub mark: String,
    pub form: QuestionForm,
    pub timeout: Duration,
}

impl<'a> From<QuestionJob<'a>> for AttemptJob<'a> {
    fn from(job: QuestionJob<'a>) -> Self {
        Self {
            intent: job.intent,
            prompt: job.prompt.text(),
            files: job.prompt.files.iter().map(InputFile::from).collect(),
            bindings: String::new(),
            usage: LiveUsage::new(job.maker.price(), Usage::default()),
            maker: job.maker,
            cwd: job.cwd,
            dir: job.dir,
            reusable: None,
            started: job.started,
            timeout: job.timeout,
            env: job.env,
            programs: job.programs,
            mark: job.mark,
            setup: None,
            session: None,
            keep: None,
            shape: None,
            budget: None,
            question: Some(job.form),
        }
        .without_secrets()
    }
}

/// A text that is one JSON object.
///
/// # Errors
/// If it is something else; in words for its author.
pub fn object(text: &str) -> Result<Node, String> {
    if text.len() > ANSWER_BYTES_MAX {
        let most = ANSWER_BYTES_MAX >> 10;
        return Err(format!("it has more than {most} KiB"));
    }
    let parsed = doc::parse(text.trim(), &doc::Limits::default());
    let node = parsed.node.filter(|_| parsed.faults.is_empty());
    let node = node.filter(|node| node.as_object().is_some());
    node.ok_or_else(|| "it is no JSON object".to_owned())
}

/// The answer in the outcome of a question, not judged yet.
pub fn answer_of(outcome: &Outcome) -> ConsultAnswer {
    match &outcome.agent_end {
        Some(AgentEnd::Done) | None => {}
        Some(end @ AgentEnd::Unavailable { .. }) => return ConsultAnswer::Ended(end.clone()),
        Some(end) if end.is_of_provider() => return ConsultAnswer::Ended(end.clone()),
        Some(end) => return ConsultAnswer::Silent(end.text()),
    }
    let last = outcome.last_line.as_deref().unwrap_or_default();
    let with_last = |what: &str| match last.trim() {
        "" => what.to_owned(),
        last => format!("{what}: {last}"),
    };
    match &outcome.how {
        CommandEnd::Exit(0) => {}
        CommandEnd::Exit(TRY_AGAIN) => {
            return ConsultAnswer::Silent(with_last("it asks to be tried again"));
        }
        how => return ConsultAnswer::Silent(with_last(&how.text())),
    }
    if let Some(fault) = &outcome.report_fault {
        return ConsultAnswer::Faulty(fault.clone());
    }
    match object(outcome.stdout.as_deref().unwrap_or_default()) {
        Ok(object) => ConsultAnswer::Value(object),
        Err(_) => ConsultAnswer::Faulty("its answer holds no JSON object".to_owned()),
    }
}
