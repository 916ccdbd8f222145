//! A question outside of a loop: without a lease, before there is a state.
//!
//! Invariants: its agent works on a tree that is thrown away, and none of its processes is left. Nothing of its answer
//! runs here. Not here: what is asked (`aligner`, `profiler`).

mod room;

use std::path::Path;

use descent_core::{
    doc::{self, Node},
    event::{AgentEnd, ConsultAnswer},
    id::{AtomId, AttemptId, Digest, Epoch, UnixMillis},
    prompt::Prompt,
    state::{Intent, SideEffect, Usage},
};
use tokio_util::sync::CancellationToken;

use crate::{
    agent::{self, ANSWER_MAX, AttemptJob, JobContext, QUESTION_SLOT, QuestionForm},
    config::{Config, agent::ResolvedAgent},
    driver::Agents,
    failure::Failure,
    process::{self, environment},
    store::StatePlace,
};
use room::QuestionRoom;

/// A question to an agent, with the form of its answer.
#[derive(Debug)]
pub(super) struct OutsideQuestion<'a> {
    pub(super) config: &'a Config,
    pub(super) agent: &'a ResolvedAgent,
    pub(super) prompt: &'a Prompt,
    pub(super) form: QuestionForm,
    pub(super) now: UnixMillis,
}

/// The end of a question.
#[derive(Debug)]
pub enum OutsideAnswer {
    /// An object whose form was judged.
    Value(Node),
    /// No answer that can be used, and why.
    None(String),
    Cancelled,
}

impl OutsideQuestion<'_> {
    /// Asks, and waits for the end of everything that was started. Cancelled, it ends the agent. Gives what it used, as
    /// far as that is known.
    pub(super) async fn ask(
        &self,
        top: &Path,
        cancel: &CancellationToken,
    ) -> Result<(OutsideAnswer, Usage), Failure> {
        process::prepare()?;
        let (top, project) = (top.to_owned(), top.to_owned());
        let made = tokio::task::spawn_blocking(move || QuestionRoom::make(&top));
        let unused = Usage::default;
        let room = match made.await.map_err(Failure::bug)? {
            Ok(room) => room,
            Err(failure) => return Ok((OutsideAnswer::None(failure.message), unused())),
        };
        if cancel.is_cancelled() {
            return Ok((OutsideAnswer::Cancelled, unused()));
        }
        let answer = self.ask_in(&room, &project, cancel).await;
        tokio::task::spawn_blocking(move || drop(room)).await.map_err(Failure::bug)?;
        answer
    }

    async fn ask_in(
        &self,
        room: &QuestionRoom,
        top: &Path,
        cancel: &CancellationToken,
    ) -> Result<(OutsideAnswer, Usage), Failure> {
        let environment = room.environment(environment::for_attempts(std::env::vars_os(), &[]));
        let intent = self.intent();
        let agents = Agents::new(self.config.clone());
        let programs = super::programs(&StatePlace::at(top, None));
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
        };
        let job = AttemptJob::question(context, self.prompt, self.form.clone());
        let none = |why: String| Ok((OutsideAnswer::None(why), Usage::default()));
        let outcome = match agent::make(job, cancel).await {
            Ok(Some(outcome)) => outcome,
            // The usage of a question that is cut off is not known.
            Ok(None) => return Ok((OutsideAnswer::Cancelled, Usage::default())),
            Err(error) => return none(error.to_string()),
        };
        let answer = self.answer(agent::answer_of(&outcome));
        Ok((answer, outcome.usage))
    }

    fn answer(&self, said: ConsultAnswer) -> OutsideAnswer {
        match said {
            ConsultAnswer::Value(node) => match (self.form.fault)(&doc::write_compact(&node)) {
                None => OutsideAnswer::Value(node),
                Some(fault) => OutsideAnswer::None(unusable(&fault)),
            },
            ConsultAnswer::Faulty(fault) => OutsideAnswer::None(unusable(&fault)),
            ConsultAnswer::Silent(why) => {
                OutsideAnswer::None(why.trim_end_matches(": ").to_owned())
            }
            ConsultAnswer::Ended(AgentEnd::Unavailable { words, variable, .. }) => {
                OutsideAnswer::None(match variable {
                    Some(name) => format!("{words} (its `env` can pass on {name})"),
                    None => words,
                })
            }
            ConsultAnswer::Ended(end) => OutsideAnswer::None(end.text()),
        }
    }

    fn intent(&self) -> Intent {
        let name = self.form.role.word();
        Intent {
            id: AttemptId::new(name),
            atom: AtomId::new(name),
            context: Digest::of(name.as_bytes()),
            choices: Default::default(),
            epoch: Epoch::default(),
            n: 1,
            effect: SideEffect::Tree,
            base: None,
            role: self.form.role,
            agent: Some(self.agent.name.clone()),
            reserved: Usage::default(),
            at: self.now.rfc3339(),
            extra: Default::default(),
        }
    }
}

fn unusable(fault: &str) -> String {
    format!("its answer cannot be used: {fault}")
}
