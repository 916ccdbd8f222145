//! A question to the aligner: outside of a loop, without a lease, before there is a state.
//!
//! Invariants: it works on a tree that is thrown away, and none of its processes is left. Its answer is read as a
//! plan is, and nothing of it runs here. Not here: what a person is asked and shown (`cli`).

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use descent_core::{
    change::Redirect,
    doc::{self, Fault, Node, Parsed},
    graph::validate::{MissingPart, missing_parts},
    id::{Lineage, UnixMillis},
    plan::{self, PlanReading},
    proposal::{self, Clarification, OpenQuestion, ProposalReading},
    state::{Atom, Role, State, Usage},
    world::World,
};
use descent_minds::prompt::{AligningInputs, ProjectWords, aligning};
use tokio_util::sync::CancellationToken;

use super::{
    align::survey_of,
    file_faults,
    outside::{AnswerAdvice, OutsideAgent, OutsideAnswer, OutsideQuestion},
};
use crate::{
    plan_file::{self, Notation, PlanFile},
    survey,
};
use descent_agent::config::{Config, agent_table::Transport};
use descent_store as store;
use descent_system::failure::Failure;

pub use descent_agent::agent::ANSWER_MAX;
pub use descent_minds::prompt::AligningTask;

/// A question, without the person's answers.
pub struct AlignerQuestion<'a, T> {
    pub task: AligningTask<'a>,
    /// The person's sentence, as it was typed.
    pub words: &'a str,
    pub why: &'a str,
    /// Parts of the agreement that the person has given already.
    pub given: &'a [String],
    read: ProposalReader<T>,
    advice: Option<AnswerAdvice>,
}

/// Answers and an earlier proposal, beside the question.
#[derive(Debug, Default)]
pub struct Given<'a> {
    /// The person's words about its proposals.
    pub answers: &'a [Clarification],
    /// Its proposal before them.
    pub before: Option<&'a Node>,
    /// Nobody is there to be asked.
    pub is_alone: bool,
}

/// Reads a proposal; whether it may ask.
type ProposalReader<T> = Arc<dyn Fn(&Node, bool) -> ProposalReading<T> + Send + Sync>;

/// The aligner of a project.
#[derive(Debug)]
pub struct Aligner<'a> {
    pub asked: OutsideAgent<'a>,
    project: ProjectWords,
    used: Mutex<Usage>,
}

impl<'a> Aligner<'a> {
    /// The aligner that a configuration names, else a planner or worker that can propose; `None` if it names none.
    pub fn of(config: &'a Config, top: &'a Path, now: UnixMillis) -> Result<Option<Self>, Failure> {
        let mut asked = OutsideAgent::of(config, Role::Aligner, top, now)?;
        for role in [Role::Planner, Role::Worker] {
            if asked.is_none() {
                asked = OutsideAgent::of(config, role, top, now)?.filter(OutsideAgent::proposes);
            }
        }
        let asked = asked.map(|asked| asked.in_role(Role::Aligner));
        Ok(asked.map(|asked| {
            let project = survey::words(top, &survey_of(top));
            Self { asked, project, used: Mutex::default() }
        }))
    }

    /// The usage of all that it was asked.
    pub fn used(&self) -> Usage {
        let used = self.used.lock();
        used.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The question for a first agreement.
    pub fn agreement(
        &self,
        words: &'a str,
        why: &'a str,
        given: &'a [String],
    ) -> AlignerQuestion<'a, PlanFile> {
        let (task, config) = (AligningTask::Agreement, self.asked.config.clone());
        let read = Arc::new(move |node: &_, may_ask| read_agreement(node, may_ask, &config));
        let top = self.asked.top.to_owned();
        let advice: AnswerAdvice = Arc::new(move |node: &_| issues_of(node, &top));
        AlignerQuestion { task, words, why, given, read, advice: Some(advice) }
    }

    /// The question for a change of what is agreed.
    pub fn change<'w>(&self, words: &'w str, world: &'w World) -> AlignerQuestion<'w, Redirect> {
        let (config, at) = (self.asked.config.clone(), self.asked.now.rfc3339());
        let state = world.state.clone();
        let read =
            Arc::new(move |node: &_, may_ask| read_change(node, may_ask, &config, &state, &at));
        let task = AligningTask::Change(world);
        AlignerQuestion { task, words, why: "", given: &[], read, advice: None }
    }

    /// Asks, and waits for the end of everything that was started. Cancelled, it ends the agent. It may ask something in
    /// its turn, unless a person answered its proposal, or nobody is there.
    pub async fn ask<T: 'static>(
        &self,
        question: &AlignerQuestion<'_, T>,
        given: &Given<'_>,
        cancel: &CancellationToken,
    ) -> Result<OutsideAnswer<Proposed<T>>, Failure> {
        let Given { answers, before, is_alone } = *given;
        let (lines, may_ask) = (self.agent_lines(), before.is_none() && !is_alone);
        let prompt = aligning(&AligningInputs {
            task: question.task,
            words: question.words,
            why: question.why,
            given: question.given,
            answers,
            before,
            project: &self.project,
            can_look: !matches!(self.asked.agent.transport, Transport::Model(_)),
            agents: &lines,
            may_ask,
            now: self.asked.now,
        });
        let schema = match question.task {
            AligningTask::Agreement => proposal::agreement_schema(may_ask),
            AligningTask::Change(_) => proposal::change_schema(may_ask),
        };
        let read = Arc::clone(&question.read);
        let outside = OutsideQuestion {
            prompt: &prompt,
            schema: doc::write_compact(&schema),
            read: Arc::new(move |node| match read(node, may_ask) {
                Ok((value, questions)) => Ok(Proposed { value, questions, answer: node.clone() }),
                Err(faults) => Err(told(&faults)),
            }),
            advice: question.advice.clone(),
        };
        let (answer, used) = self.asked.ask(&outside, cancel).await?;
        let mut known = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        known.add(&used);
        Ok(answer)
    }

    /// The agents that an atom may name.
    fn agent_lines(&self) -> Vec<String> {
        let OutsideAgent { agent, config, .. } = &self.asked;
        let worker = config.agent(Role::Worker, None).ok().flatten();
        let first = match &worker {
            Some(worker) => format!("`{}`: does every atom that names no other", worker.name),
            None => "nobody yet: the person names a worker before the run".to_owned(),
        };
        let is_worker = |name: &descent_core::id::AgentName| {
            worker.as_ref().is_some_and(|worker| worker.name == *name)
        };
        let others = config.names().into_iter();
        let others = others.filter(|name| !is_worker(name) && *name != agent.name);
        let others = others.map(|name| format!("`{name}`, where an atom has it as its `agent`"));
        std::iter::once(first).chain(others).collect()
    }
}

// Judges an aligner's answer by code: its form, the plan in it, its patterns, and the agents that it names.
//
// Invariant: a warning of a plan is a fault here, since a mistyped key means a missing part.

/// Faults that are told at most.
const FAULTS_MAX: usize = 20;
/// The name of a proposal in a fault's place.
const NAME: &str = "proposal";

/// A plan or a redirect that is proposed, with questions about it.
#[derive(Debug)]
pub struct Proposed<T> {
    pub value: T,
    pub questions: Vec<OpenQuestion>,
    /// The answer itself.
    pub answer: Node,
}

fn read_agreement(answer: &Node, may_ask: bool, config: &Config) -> ProposalReading<PlanFile> {
    let (tree, questions) = proposal::read_agreement(answer, may_ask)?;
    let plan = plan::of_tree(whole(tree.clone()));
    let mut faults = of_agents(&plan, config);
    let draft = plan_file::draft(plan, Lineage::new(NAME));
    faults.extend(fault_lines(draft.faults.iter().chain(&draft.warnings)));
    if faults.is_empty() {
        let missing = missing_parts(&draft.state).into_iter();
        // The person may give the why.
        let missing = missing.filter(|part| *part != MissingPart::Why);
        faults.extend(missing.map(|part| {
            let [pointer, message, _] = part.words();
            format!("{}: {message}", own(pointer))
        }));
    }
    let (name, bytes) = (NAME.into(), doc::write(&tree).into_bytes());
    let file = PlanFile { name, bytes, notation: Notation::Json };
    if faults.is_empty() { Ok((file, questions)) } else { Err(faults) }
}

/// The issues that the rules find in a proposed agreement, in words for its author.
fn issues_of(answer: &Node, top: &Path) -> Option<String> {
    let (tree, _) = proposal::read_agreement(answer, true).ok()?;
    let draft = plan_file::draft(plan::of_tree(whole(tree)), Lineage::new(NAME));
    let issues = file_faults::look(&draft.state, top);
    let lines = issues.iter().map(|issue| {
        format!("{}: {} ({})", issue.location, issue.description, issue.proposed_repair)
    });
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| told(&lines))
}

/// The change in an answer, for the state that it changes, at that time.
fn read_change(
    answer: &Node,
    may_ask: bool,
    config: &Config,
    state: &State,
    at: &str,
) -> ProposalReading<Redirect> {
    let ((mut redirect, atoms), questions) = Redirect::proposed(answer, may_ask)?;
    let atoms = atoms.map(|atoms| plan::atoms_of_tree(whole(atoms)));
    let mut atoms = atoms.unwrap_or_default();
    let mut faults = of_agents(&atoms, config);
    let found = std::mem::take(&mut atoms.faults).into_iter();
    let found = found.chain(std::mem::take(&mut atoms.warnings));
    let found = found.chain(store::pattern_faults(&atoms.patterns));
    faults.extend(fault_lines(found.collect::<Vec<_>>().iter()));
    redirect.atoms = atoms.atoms;
    // A change that only asks has nothing to be judged yet.
    if faults.is_empty() && !redirect.is_empty() {
        let refused = redirect.change(state, at).err();
        faults.extend(fault_lines(refused.unwrap_or_default().iter()));
    }
    if faults.is_empty() { Ok((redirect, questions)) } else { Err(faults) }
}

fn whole(node: Node) -> Parsed {
    Parsed { node: Some(node), faults: Vec::new() }
}

/// Atoms may name agents of the configuration alone.
fn of_agents(plan: &PlanReading, config: &Config) -> Vec<String> {
    let named = |atom: &Atom| atom.task().and_then(|task| task.spec.agent.clone());
    let named = plan.atoms.iter().filter_map(|(id, atom)| Some((id, named(atom)?)));
    let unknown = named.filter_map(|(id, name)| {
        let error = config.by_name(&name, "an atom").err()?;
        Some(format!("/atoms/{id}/agent: {error}"))
    });
    unknown.collect()
}

fn fault_lines<'f>(faults: impl Iterator<Item = &'f Fault>) -> Vec<String> {
    faults.map(|fault| proposal::told(fault, own(&fault.pointer))).collect()
}

/// The place in the answer for a place in the plan that it became.
fn own(pointer: &str) -> &str {
    let inner = pointer.strip_prefix("/objective/constraints");
    let inner = inner.or_else(|| pointer.strip_prefix("/objective"));
    inner.or_else(|| pointer.strip_prefix("/work_graph")).unwrap_or(pointer)
}

fn told(faults: &[String]) -> String {
    let shown = faults.iter().take(FAULTS_MAX).cloned();
    let mut shown: Vec<String> = shown.collect();
    let more = faults.len().saturating_sub(FAULTS_MAX);
    if more > 0 {
        shown.push(format!("and {more} more"));
    }
    shown.join("; ")
}
