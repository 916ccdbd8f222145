//! The answer of an agent is asked for again if it cannot be read.
//!
//! Invariant: at most [`TURNS_MAX`] more turns an attempt, however often its process is started.

use std::sync::Arc;

use descent_core::event::{AgentReport, Misfit};

use super::{
    AttemptJob, answer,
    heard::{Heard, HeardSoFar},
    report::ResultFile,
    usage::Reading,
};
use crate::{secrets, shape::Shape};

/// Further turns in which an answer is mended.
pub(super) const TURNS_MAX: u32 = 2;

/// Bytes at most of a schema that is told again.
const SCHEMA_BYTES_MAX: usize = 4 << 10;

/// Says what is wrong with an object, if anything is.
pub type ObjectJudge = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Looks at each answer, and asks again for one that is no use.
pub(super) struct Repairs {
    turns: u32,
    /// The schema of the value in a report.
    shape: Option<Shape>,
    /// Judges an object that is no report, as a planner's fragment.
    judge: Option<ObjectJudge>,
    /// Whether an answer is read from messages: a result file wins.
    is_given: Box<dyn Fn() -> bool + Send + Sync>,
}

impl Repairs {
    pub(super) fn new(
        attempt: &AttemptJob<'_>,
        is_given: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Self {
        let judge = attempt.question.as_ref().map(|form| Arc::clone(&form.fault));
        Self { turns: 0, shape: attempt.shape.clone(), judge, is_given: Box::new(is_given) }
    }

    /// The next prompt, if the turn that ended has no answer that can be used.
    pub(super) fn next(&mut self, heard: &Heard) -> Option<String> {
        if self.turns >= TURNS_MAX || (self.is_given)() {
            return None;
        }
        let fault =
            heard.with(|heard| if heard.has_ended_well() { self.fault(heard) } else { None })?;
        self.turns += 1;
        heard.with(HeardSoFar::mending_turn);
        let form = match (&self.judge, &self.shape) {
            (Some(_), _) => ", as it was asked for.".to_owned(),
            (None, Some(shape)) => shaped(shape),
            (None, None) => REPORT_FORM.to_owned(),
        };
        Some(format!(
            "Your answer cannot be used: {fault}. Answer with one JSON object and nothing else{form}"
        ))
    }

    fn fault(&self, heard: &HeardSoFar) -> Option<String> {
        let Some(judge) = &self.judge else {
            return match report(heard) {
                Ok(read) => read.fault.or_else(|| self.misfit(&read.report)),
                Err(fault) => Some(fault),
            };
        };
        let object = answer::last_object(heard.answer_text());
        if let Some(fault) = secrets::fault_of(&object) {
            return Some(fault);
        }
        match object.trim_start().starts_with('{') {
            true => judge(&object),
            false => Some("it holds no JSON object".to_owned()),
        }
    }

    fn misfit(&self, report: &AgentReport) -> Option<String> {
        let shape = self.shape.as_ref().filter(|_| !report.has_failed)?;
        let misfits = shape.misfits_of(Some(report));
        (!misfits.is_empty()).then(|| Misfit::reason(&misfits))
    }
}

const REPORT_FORM: &str = ": {\"success\": true, \"summary\": \"what was done\", \"value\": null, \
                           \"artifacts\": [], \"clarity\": \"CLEAR\", \"handoff\": null}";

/// The form with a place for the value, and the schema that it fits.
fn shaped(shape: &Shape) -> String {
    let form = REPORT_FORM.replace("\"value\": null", "\"value\": VALUE");
    match shape.text(SCHEMA_BYTES_MAX) {
        Some(schema) => format!("{form}\nVALUE fits this JSON Schema: {schema}"),
        None => format!("{form}\nVALUE fits the JSON Schema of the task."),
    }
}

/// The report of an agent that ended its turn.
pub(super) fn report(heard: &HeardSoFar) -> Reading<ResultFile> {
    answer::read(heard.answer_text())
}
