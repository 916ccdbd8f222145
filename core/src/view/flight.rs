//! Attempts in flight, and the question that a judging role is asked: what a status tells of the present work.
//!
//! Not here: its stages, which only the loop knows (`work`).

use alloc::{borrow::ToOwned, string::String};

use serde::Serialize;

use crate::{
    id::{AgentName, AtomId, AttemptId},
    measure,
    state::{Check, Consult, Intent, Role, State},
    wording,
};

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlightView {
    pub id: AttemptId,
    pub atom: AtomId,
    /// The role of its agent; absent of a worker or an action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<&'static str>,
    pub n: u32,
    /// Maximum of attempts in this context.
    pub of: u32,
    pub since: String,
    pub description: String,
}

/// A question to a judging role that has no answer yet.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QuestionView {
    pub role: &'static str,
    pub agent: AgentName,
    /// The quality leaf that is rated.
    pub about: String,
    pub since: String,
}

pub(super) fn flight(state: &State, intent: &Intent) -> FlightView {
    let atom = state.atom(&intent.atom);
    FlightView {
        id: intent.id.clone(),
        atom: intent.atom.clone(),
        role: (intent.role != Role::Worker).then(|| intent.role.word()),
        n: intent.n,
        of: attempts_of(state, intent),
        since: intent.at.clone(),
        description: atom.map_or_else(String::new, |atom| atom.description.clone()),
    }
}

/// The most attempts that the context of this one may have. A probe comes once.
pub(super) fn attempts_of(state: &State, intent: &Intent) -> u32 {
    let task = state.atoms.get(&intent.atom).and_then(|atom| atom.task());
    let task = task.filter(|_| intent.role != Role::Probe);
    let most = task.map_or(intent.n, |task| measure::attempts_max(state, task));
    most.max(intent.n)
}

/// A run that has ended is asked for words as long as its loop lives, and never again.
pub(super) fn question(state: &State, is_live: bool) -> Option<QuestionView> {
    let consult = state.run.consult.as_ref()?;
    if consult.role == Role::Answer && !(is_live && wording::is_of_ending(state, consult)) {
        return None;
    }
    Some(QuestionView {
        role: consult.role.word(),
        agent: consult.agent.clone(),
        about: about(state, consult),
        since: consult.at.clone(),
    })
}

fn about(state: &State, consult: &Consult) -> String {
    if let Some(id) = &consult.atom {
        let atom = state.atom(id);
        let title = atom.map_or("", |atom| atom.title(id));
        return Consult::about_step(consult.role, id, title);
    }
    if let Some(about) = Consult::about_whole_plan(consult.role) {
        return about.to_owned();
    }
    let leaves = state.objective.base_case.iter().flat_map(Check::leaves);
    let mut asked = leaves.filter(|leaf| Some(leaf.key()) == consult.leaf);
    let title = asked.next().map(|leaf| leaf.title());
    title.unwrap_or_else(|| "the result".to_owned())
}
