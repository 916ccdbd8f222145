//! A question to the aligner: outside of a loop, without a lease, before there is a state.
//!
//! Invariants: it works on a tree that is thrown away, and none of its processes is left. Its answer is read as a
//! plan is, and nothing of it runs here. Not here: what a person is asked and shown (`cli`).

mod judge;

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use descent_core::{
    change::Redirect,
    doc::{self, Node},
    id::UnixMillis,
    prompt::{AligningInputs, ProjectWords, aligning},
    proposal::{self, Clarification},
    state::{Role, State, Usage},
};
use tokio_util::sync::CancellationToken;

use super::{
    align::survey_of,
    outside::{OutsideAnswer, OutsideQuestion},
};
use crate::{
    agent::{ObjectJudge, QuestionForm},
    config::{Config, agent::ResolvedAgent, transport::Transport},
    failure::Failure,
    plan_file::PlanFile,
    survey,
};

pub use crate::agent::ANSWER_MAX;
pub use descent_core::prompt::AligningTask;
pub use judge::Proposed;

/// A question, without the person's answers.
#[derive(Debug, Clone, Copy)]
pub struct AlignerQuestion<'a> {
    pub task: AligningTask<'a>,
    /// The person's sentence, as it was typed.
    pub words: &'a str,
    pub why: &'a str,
    /// Parts of the agreement that the person has given already.
    pub given: &'a [String],
}

/// The aligner of a project.
#[derive(Debug)]
pub struct Aligner<'a> {
    pub agent: ResolvedAgent,
    config: &'a Config,
    top: &'a Path,
    project: ProjectWords,
    now: UnixMillis,
    used: Mutex<Usage>,
}

impl<'a> Aligner<'a> {
    /// The aligner that a configuration names; `None` if it names none.
    pub fn of(config: &'a Config, top: &'a Path, now: UnixMillis) -> Result<Option<Self>, Failure> {
        let agent = config.agent(Role::Aligner, None)?;
        Ok(agent.map(|agent| Self {
            agent,
            config,
            top,
            project: survey::words(top, &survey_of(top)),
            now,
            used: Mutex::default(),
        }))
    }

    /// The usage of all that it was asked.
    pub fn used(&self) -> Usage {
        let used = self.used.lock();
        used.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Asks, and waits for the end of everything that was started. Cancelled, it ends the agent. It may ask something in
    /// its turn, unless these are answers to its proposal `before`.
    pub async fn ask(
        &self,
        question: AlignerQuestion<'_>,
        answers: &[Clarification],
        before: Option<&Node>,
        cancel: &CancellationToken,
    ) -> Result<OutsideAnswer, Failure> {
        let lines = self.agent_lines();
        let prompt = aligning(&AligningInputs {
            task: question.task,
            words: question.words,
            why: question.why,
            given: question.given,
            answers,
            before,
            project: &self.project,
            can_look: !matches!(self.agent.transport, Transport::Model(_)),
            agents: &lines,
            may_ask: before.is_none(),
            now: self.now,
        });
        let outside = OutsideQuestion {
            config: self.config,
            agent: &self.agent,
            prompt: &prompt,
            form: self.form(question.task, before.is_none()),
            now: self.now,
        };
        let (answer, used) = outside.ask(self.top, cancel).await?;
        let mut known = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        known.add(&used);
        Ok(answer)
    }

    fn form(&self, task: AligningTask<'_>, may_ask: bool) -> QuestionForm {
        let schema = match task {
            AligningTask::Agreement => proposal::agreement_schema(may_ask),
            AligningTask::Change(_) => proposal::change_schema(may_ask),
        };
        QuestionForm {
            role: Role::Aligner,
            schema: doc::write_compact(&schema),
            fault: self.judge_of(task, may_ask),
        }
    }

    /// Judges an object: `None` if it can be used.
    fn judge_of(&self, task: AligningTask<'_>, may_ask: bool) -> ObjectJudge {
        let config = self.config.clone();
        match task {
            AligningTask::Agreement => {
                Arc::new(move |text| judge::agreement_of(text, may_ask, &config).err())
            }
            AligningTask::Change(world) => {
                let (state, at) = (world.state.clone(), self.now.rfc3339());
                Arc::new(move |text| judge::change_of(text, may_ask, &config, &state, &at).err())
            }
        }
    }

    /// The agreement in an answer that was judged.
    pub fn agreement(&self, answer: &Node, may_ask: bool) -> Result<Proposed<PlanFile>, String> {
        judge::agreement_of(&doc::write_compact(answer), may_ask, self.config)
    }

    /// The change of this state in an answer that was judged.
    pub fn change(
        &self,
        answer: &Node,
        may_ask: bool,
        state: &State,
    ) -> Result<Proposed<Redirect>, String> {
        let (text, at) = (doc::write_compact(answer), self.now.rfc3339());
        judge::change_of(&text, may_ask, self.config, state, &at)
    }

    /// The agents that an atom may name.
    fn agent_lines(&self) -> Vec<String> {
        let worker = self.config.agent(Role::Worker, None).ok().flatten();
        let first = match &worker {
            Some(worker) => format!("`{}`: does every atom that names no other", worker.name),
            None => "nobody yet: the person names a worker before the run".to_owned(),
        };
        let is_worker = |name: &descent_core::id::AgentName| {
            worker.as_ref().is_some_and(|worker| worker.name == *name)
        };
        let others = self.config.names().into_iter();
        let others = others.filter(|name| !is_worker(name) && *name != self.agent.name);
        let others = others.map(|name| format!("`{name}`, where an atom has it as its `agent`"));
        std::iter::once(first).chain(others).collect()
    }
}
