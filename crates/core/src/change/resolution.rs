//! A person's answers become corrections: about an assertion (`confirmation`, contract §3), and about an effect outside
//! that may or may not have happened (`resolution`, §8, §10).

use super::{Answer, ChangeRefusal, Resolution, draft::Draft, kinds::task_mut};
use crate::doc::prelude::*;
use crate::{
    doc::Node,
    id::{AtomId, AttemptId},
    measure,
    state::{
        AtomStatus, Binding, CorrectionRecord, Extra, TryEnd, Workspace,
        binding::SUMMARY_CHARS_MAX,
        fields::Writer,
        record::{Choices, CorrectionType},
    },
    verdict::assertions::newest,
    world::{World, earlier, results},
};

impl Resolution<'_> {
    pub(super) fn make(
        self,
        draft: &mut Draft<'_>,
        attempt: &AttemptId,
    ) -> Result<(), ChangeRefusal> {
        let doubts = earlier::doubts(&draft.state);
        let doubt = doubts.into_iter().find(|doubt| doubt.attempt == *attempt);
        let atom = doubt.ok_or(ChangeRefusal::NotInDoubt)?.atom;
        if let Some(task) = task_mut(&mut draft.state, &atom) {
            task.status = AtomStatus::Pending;
        }
        let what = match self {
            Resolution::Done(words) => {
                let summary =
                    words.map_or_else(|| format!("done, says {}", draft.by), String::from);
                settle(draft, attempt, &atom, &summary);
                format!("done: {attempt} ({summary})")
            }
            Resolution::Retry(why) => {
                draft.follows("it is made again under the same number");
                let why = why.map_or_else(String::new, |why| format!(" ({why})"));
                format!("to be tried again: {attempt}{why}")
            }
        };
        let correction = draft.correct(CorrectionType::Resolution, what);
        correction.attempt = Some(attempt.clone());
        correction.done = Some(matches!(self, Resolution::Done(_)));
        Ok(())
    }
}

fn settle(draft: &mut Draft<'_>, attempt: &AttemptId, atom: &AtomId, summary: &str) {
    if !bind(draft, attempt, atom, summary) {
        draft.follows("that was for the atom as it was then: as it is now it is made again");
        return;
    }
    draft.follows("what waited for it goes on");
    if draft.state.objective.constraints.workspace() != Workspace::Shared {
        let left_out = "its effect outside counts alone: files that it wrote in its workspace are not in the result";
        draft.follows(left_out);
    }
}

/// Binds the result in the context that the attempt was started in. It is counted like an attempt that the loop saw
/// succeed. Gives whether it is bound: otherwise it is kept for when its context is in force.
fn bind(draft: &mut Draft<'_>, attempt: &AttemptId, atom: &AtomId, summary: &str) -> bool {
    let evidence = evidence(draft);
    let state = &mut draft.state;
    let world = World::new(state.clone());
    let Some(x) = world.graph.ix(atom) else {
        return false;
    };
    let in_force = world.active.context(x).cloned();
    let recorded = earlier::entry_of(state, attempt).and_then(|doubt| doubt.context.clone());
    let Some(context) = recorded.or_else(|| in_force.clone()) else {
        return false;
    };
    let task = world.state.atoms.get(atom).and_then(|atom| atom.task());
    let most = task.map_or(1, |task| measure::attempts_max(state, task));
    let is_in_force = in_force.as_ref() == Some(&context);
    let chosen =
        if is_in_force { world.active.choices(&world.graph, x) } else { Choices::default() };
    let Some(task) = task_mut(state, atom) else {
        return false;
    };
    let is_action = task.spec.action.is_some();
    let tried = task.tried_mut(&context, &chosen);
    // Otherwise it is a repair.
    let is_counted = tried.attempts < most;
    tried.attempts += u32::from(is_counted);
    let inputs = results::inputs(&world.graph, &world.active, &world.state, x);
    let mut binding = Binding {
        summary: summary.chars().take(SUMMARY_CHARS_MAX).collect(),
        evidence: Vec::from([evidence]),
        context: Some(context.clone()),
        inputs: is_in_force.then_some(inputs),
        attempts: tried.attempts,
        by: if is_action { "action" } else { "worker" }.to_string(),
        at: draft.at.clone(),
        ..Binding::default()
    };
    let run = Arc::make_mut(&mut state.run);
    run.spent.attempts += u64::from(is_counted);
    run.iteration += 1;
    if is_counted {
        results::recount(state, &world.graph, atom, |is_limited, attempts| {
            *attempts = attempts.saturating_add(u32::from(is_limited));
        });
    }
    if is_in_force {
        if let Some(of) = state.atoms.remove(atom) {
            binding.of = of;
            state.bindings.insert(atom.clone(), Arc::new(binding));
        }
    } else if let Some(task) = task_mut(state, atom) {
        task.tried_mut(&context, &chosen).ended = Some(TryEnd::Parked(Arc::new(binding)));
    }
    is_in_force
}

fn evidence(draft: &Draft<'_>) -> Node {
    let mut to = Writer::default();
    to.text("check", "a person says that its effect happened")
        .text("verdict", "pass")
        .text("by", draft.by)
        .text("at", &draft.at);
    to.finish(&Extra::default())
}

impl Answer<'_> {
    /// Records the answer; refused if the same was recorded already.
    pub(super) fn make(&self, draft: &mut Draft<'_>) -> Result<(), ChangeRefusal> {
        let state = &draft.state;
        let on = self.on.map(|tree| tree.as_str().to_string());
        let (name, statement) = (&self.assertion.name, &self.assertion.statement);
        let attempt = self.assertion.attempt(state).cloned();
        let counts = |earlier: &CorrectionRecord| {
            let is_of_attempt = earlier.attempt.is_none() || earlier.attempt == attempt;
            is_of_attempt && (earlier.on.is_none() || earlier.on == on)
        };
        if let Some(earlier) = newest(&state.corrections, name, statement, counts)
            && earlier.affirms() == self.holds
        {
            return Err(ChangeRefusal::SameAnswer(Box::new(earlier.clone())));
        }
        let commit = on.as_ref().and_then(|_| state.run.result().cloned());
        let what = self.describe();
        let correction = draft.correct(CorrectionType::Confirmation, what);
        correction.name = Some(name.clone());
        correction.holds = Some(self.holds);
        correction.on = on;
        correction.attempt = attempt;
        correction.commit = commit;
        correction.reason = self.reason.map(ToString::to_string);
        Ok(())
    }

    fn describe(&self) -> String {
        let verb = if self.holds { "confirmed" } else { "denied" };
        let why = self.reason.map(|why| format!(" ({why})"));
        format!("{verb}: {}{}", self.assertion.name, why.unwrap_or_default())
    }
}
