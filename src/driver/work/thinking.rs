//! Answers of planners and probes: their form, and faults that the core cannot see.

use std::{ffi::OsString, path::PathBuf, sync::Arc};

use descent_core::{
    doc::Node,
    event::Outcome,
    finding,
    fragment::{
        self,
        delta::{self, DeltaRequest},
    },
    id::ConsultId,
    judging::{PlanFacts, PlanQuestions},
    state::{Constraints, Role, check::Pattern},
    world::World,
};

use super::Attempting;
use crate::{
    agent::{ObjectJudge, QuestionForm},
    judging::PlanPlace,
    store,
};

/// The form of the answer of an attempt that only thinks.
pub(super) fn form(a: &Attempting) -> Option<QuestionForm> {
    let (schema, fault): (String, ObjectJudge) = if a.intent.role == Role::Probe {
        let fault = |object: &str| finding::read(object).err();
        (finding::SCHEMA.to_owned(), Arc::new(fault))
    } else if a.is_plan {
        let (world, intent, look) = (a.world.clone(), a.intent.clone(), PlanLook::of(a));
        let fault = move |object: &str| {
            let asked = world.fragment_request(&intent);
            fragment::fault(asked, object, |questions| look.facts(questions))
        };
        (fragment::schema(), Arc::new(fault))
    } else {
        return None;
    };
    Some(QuestionForm { role: a.intent.role, schema, fault })
}

/// The place in which a plan would be carried out: the tree of its attempt.
struct PlanLook {
    /// Unknown where the attempt has no tree: everything counts as being there then.
    project: Option<PathBuf>,
    path: OsString,
    constraints: Constraints,
}

impl PlanLook {
    fn of(a: &Attempting) -> Self {
        Self {
            project: a.executor.workspaces.as_left(a.slot).ok().map(|dir| dir.path),
            path: a.executor.environment.path(),
            constraints: a.world.state.objective.constraints.clone(),
        }
    }

    fn facts(&self, questions: PlanQuestions) -> PlanFacts {
        let Some(project) = &self.project else {
            return PlanFacts::default();
        };
        let place = PlanPlace { project, path: &self.path, constraints: &self.constraints };
        place.facts(questions)
    }
}

/// The things that a plan names and the machine lacks.
pub(super) fn facts(a: &Attempting, outcome: &Outcome) -> PlanFacts {
    PlanLook::of(a).facts(fragment::questions(outcome))
}

/// Faults of a plan that the core cannot see.
pub(super) fn shell_faults(outcome: &Outcome, has_worker: bool) -> Vec<(String, String)> {
    let without = if has_worker { Vec::new() } else { fragment::without_action(outcome) };
    unseen(&fragment::patterns(outcome), without)
}

fn unseen(patterns: &[Pattern], without_action: Vec<String>) -> Vec<(String, String)> {
    let patterns = store::pattern_faults(patterns).into_iter();
    let patterns = patterns.map(|fault| (fault.pointer, fault.message));
    let what = "it has no `action`, and there is no worker to do it";
    let nobody = without_action.into_iter().map(|at| (at, what.to_owned()));
    patterns.chain(nobody).collect()
}

/// A refiner's change beside the plan that it changes, and the place in which it would be carried out.
pub(super) struct DeltaLook {
    pub(super) world: World,
    pub(super) consult: ConsultId,
    pub(super) tree: PathBuf,
    pub(super) path: OsString,
    pub(super) has_worker: bool,
}

impl DeltaLook {
    fn request(&self) -> DeltaRequest<'_> {
        DeltaRequest { state: &self.world.state, graph: &self.world.graph, consult: &self.consult }
    }

    pub(super) fn facts(&self, answer: &Node) -> PlanFacts {
        let place = PlanPlace {
            project: &self.tree,
            path: &self.path,
            constraints: &self.world.state.objective.constraints,
        };
        place.facts(delta::questions(self.request(), answer))
    }

    pub(super) fn shell_faults(&self, answer: &Node) -> Vec<(String, String)> {
        let without = if self.has_worker {
            Vec::new()
        } else {
            delta::without_action(self.request(), answer)
        };
        unseen(&delta::patterns(self.request(), answer), without)
    }

    /// # Errors
    /// What keeps an answer from being a change, in words to mend it by.
    pub(super) fn fault(&self, answer: &Node) -> Result<(), String> {
        let judged = delta::judge(self.request(), answer, &self.facts(answer));
        let mut faults = judged.err().unwrap_or_default();
        let unseen = self.shell_faults(answer);
        faults.extend(fragment::faults_of_shell(&unseen));
        let lines: Vec<String> = faults.iter().map(fragment::line).collect();
        if lines.is_empty() { Ok(()) } else { Err(lines.join("; ")) }
    }
}
