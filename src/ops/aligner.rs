//! A question to the aligner: outside of a loop, without a lease, before there is a state.
//!
//! Invariants: it works on a tree that is thrown away, and none of its processes is left. Its answer is read as a
//! plan is, and nothing of it runs here. Not here: what a person is asked and shown (`cli`).

mod judge;
mod room;

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use descent_core::{
    doc::{self, Node},
    event::ConsultAnswer,
    id::{AtomId, AttemptId, Digest, Epoch, UnixMillis},
    prompt::{AligningInputs, ProjectWords, aligning},
    proposal::{self, Clarification},
    state::{Intent, Role, SideEffect, State, Usage},
};
use tokio_util::sync::CancellationToken;

use crate::{
    agent::{self, ObjectJudge, QUESTION_SLOT, QuestionForm, QuestionJob},
    config::{Config, agent::ResolvedAgent, transport::Transport},
    driver::Agents,
    failure::Failure,
    process::{self, environment, programs},
    survey::{self, Survey},
};

pub use crate::agent::ANSWER_MAX;
pub use descent_core::prompt::AligningTask;
pub use judge::{ProposedAgreement, ProposedChange};
use room::AlignerRoom;

const NAME: &str = "aligner";

/// A question, with all that it is told.
#[derive(Debug)]
pub struct AlignerQuestion<'a> {
    pub task: AligningTask<'a>,
    /// The person's sentence, as it was typed.
    pub words: &'a str,
    pub why: &'a str,
    /// Parts of the agreement that the person has given already.
    pub given: &'a [String],
    pub answers: &'a [Clarification],
    /// Its proposal before these answers.
    pub before: Option<&'a Node>,
    /// Whether it may ask something in its turn.
    pub may_ask: bool,
}

/// The end of a question.
#[derive(Debug)]
pub enum AlignerAnswer {
    /// An object whose form was judged.
    Value(Node),
    /// No answer that can be used, and why.
    None(String),
    Cancelled,
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
    pub fn of(
        config: &'a Config,
        top: &'a Path,
        survey: &Survey,
        now: UnixMillis,
    ) -> Result<Option<Self>, Failure> {
        let agent = config.agent(Role::Aligner, None)?;
        Ok(agent.map(|agent| Self {
            agent,
            config,
            top,
            project: survey::words(top, survey),
            now,
            used: Mutex::default(),
        }))
    }

    /// The usage of all that it was asked.
    pub fn used(&self) -> Usage {
        let used = self.used.lock();
        used.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Asks, and waits for the end of everything that was started. Cancelled, it ends the agent.
    pub async fn ask(
        &self,
        question: &AlignerQuestion<'_>,
        cancel: &CancellationToken,
    ) -> Result<AlignerAnswer, Failure> {
        process::prepare()?;
        let top = self.top.to_owned();
        let made = tokio::task::spawn_blocking(move || AlignerRoom::make(&top));
        let room = match made.await.map_err(Failure::bug)? {
            Ok(room) => room,
            Err(failure) => return Ok(AlignerAnswer::None(failure.message)),
        };
        if cancel.is_cancelled() {
            return Ok(AlignerAnswer::Cancelled);
        }
        let answer = self.ask_in(&room, question, cancel).await;
        tokio::task::spawn_blocking(move || drop(room))
            .await
            .map_err(Failure::bug)?;
        answer
    }

    async fn ask_in(
        &self,
        room: &AlignerRoom,
        question: &AlignerQuestion<'_>,
        cancel: &CancellationToken,
    ) -> Result<AlignerAnswer, Failure> {
        let environment = environment::for_attempts(std::env::vars_os(), &[]);
        let intent = self.intent();
        let agents = Agents::new(self.config.clone());
        let maker = agents.maker(&intent, false, &environment, QUESTION_SLOT)?;
        let lines = self.agent_lines();
        let prompt = aligning(&AligningInputs {
            task: question.task,
            words: question.words,
            why: question.why,
            given: question.given,
            answers: question.answers,
            before: question.before,
            project: &self.project,
            can_look: !matches!(self.agent.transport, Transport::Model(_)),
            agents: &lines,
            may_ask: question.may_ask,
            now: self.now,
        });
        let job = QuestionJob {
            intent: &intent,
            prompt: &prompt,
            maker,
            cwd: room.tree.clone(),
            dir: room.dir.join("question"),
            started: room.dir.join("started.json"),
            env: environment,
            programs: &*programs::real(),
            mark: room.mark(),
            form: self.form(question),
        };
        let judge = self.judge_of(question);
        let outcome = match agent::make(job.into(), cancel).await {
            Ok(Some(outcome)) => outcome,
            // The usage of a question that is cut off is not known.
            Ok(None) => return Ok(AlignerAnswer::Cancelled),
            Err(error) => return Ok(AlignerAnswer::None(error.to_string())),
        };
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.add(&outcome.usage);
        drop(used);
        Ok(match agent::answer_of(&outcome) {
            ConsultAnswer::Value(node) => match judge(&doc::write_compact(&node)) {
                None => AlignerAnswer::Value(node),
                Some(fault) => AlignerAnswer::None(format!("its answer cannot be used: {fault}")),
            },
            ConsultAnswer::Faulty(fault) => {
                AlignerAnswer::None(format!("its answer cannot be used: {fault}"))
            }
            ConsultAnswer::Silent(why) => {
                AlignerAnswer::None(why.trim_end_matches(": ").to_owned())
            }
            ConsultAnswer::Limited { .. } => {
                AlignerAnswer::None("its provider takes no more for now".to_owned())
            }
            ConsultAnswer::Unavailable {
                words, variable, ..
            } => AlignerAnswer::None(match variable {
                Some(name) => format!("{words} (its `env` can pass on {name})"),
                None => words,
            }),
        })
    }

    fn form(&self, question: &AlignerQuestion<'_>) -> QuestionForm {
        let schema = match question.task {
            AligningTask::Agreement => proposal::agreement_schema(question.may_ask),
            AligningTask::Change(_) => proposal::change_schema(question.may_ask),
        };
        QuestionForm {
            role: Role::Aligner,
            schema: doc::write_compact(&schema),
            fault: self.judge_of(question),
        }
    }

    /// Judges an object: `None` if it can be used.
    fn judge_of(&self, question: &AlignerQuestion<'_>) -> ObjectJudge {
        let (config, may_ask) = (self.config.clone(), question.may_ask);
        match question.task {
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
    pub fn agreement(&self, answer: &Node, may_ask: bool) -> Result<ProposedAgreement, String> {
        judge::agreement_of(&doc::write_compact(answer), may_ask, self.config)
    }

    /// The change of this state in an answer that was judged.
    pub fn change(
        &self,
        answer: &Node,
        may_ask: bool,
        state: &State,
    ) -> Result<ProposedChange, String> {
        let (text, at) = (doc::write_compact(answer), self.now.rfc3339());
        judge::change_of(&text, may_ask, self.config, state, &at)
    }

    fn intent(&self) -> Intent {
        Intent {
            id: AttemptId::new(NAME),
            atom: AtomId::new(NAME),
            context: Digest::of(NAME.as_bytes()),
            choices: Default::default(),
            epoch: Epoch::default(),
            n: 1,
            effect: SideEffect::Tree,
            base: None,
            role: Role::Aligner,
            agent: Some(self.agent.name.clone()),
            reserved: Usage::default(),
            at: self.now.rfc3339(),
            extra: Default::default(),
        }
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
