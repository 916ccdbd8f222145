//! A question to a role that only answers: its form, the job that asks it, and the object in its answer.
//!
//! Not here: which question, and what an answer means (the core, `ops::aligner`).

use std::{fmt, sync::Arc, time::Duration};

use descent_core::{
    doc::Node,
    event::{AgentEnd, ConsultAnswer, Outcome},
    profile,
    state::Role,
    validation,
    verdict::CommandEnd,
};

use super::ObjectJudge;

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

impl QuestionForm {
    /// The form of an object that can be used if `read` takes it.
    pub fn new<T>(
        role: Role,
        schema: impl Into<String>,
        read: impl Fn(&Node) -> Result<T, String> + Send + Sync + 'static,
    ) -> Self {
        let fault = move |text: &str| object(text).and_then(|node| read(&node)).err();
        Self { role, schema: schema.into(), fault: Arc::new(fault) }
    }
}

/// The form of the answer to what kind of task a goal is.
pub fn kind_of_task() -> QuestionForm {
    QuestionForm::new(Role::Profile, profile::SCHEMA, profile::read)
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
    validation::read_text(text)
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
