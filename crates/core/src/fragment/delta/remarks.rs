//! Remarks of a refiner beside its changes: results that contradict, what is unclear about a task. And tasks that go, with
//! their place in the group or plan that they are a part of.
//!
//! Invariants: a remark changes no specification, no choice and no result. Nothing that stays waits for what goes, and no
//! group or plan is left without a part. Not here: the changes (`actions`).

use super::{AcceptedDelta, DeltaRequest};
use crate::doc::prelude::*;
use crate::{
    doc::{self, Fault, Node},
    id::AtomId,
    state::{
        Atom, AtomStatus, Body, OnStuck,
        atom::{AttentionCause, AttentionMark, QUESTIONS_MAX, TaskQuestion},
    },
};

/// Characters of a question, of what is assumed, and of a reason.
const WORDS_CHARS_MAX: usize = 300;

/// A question about a task of the plan or of the answer.
#[derive(Debug)]
pub(super) struct RemarkQuestion {
    about: AtomId,
    asked: TaskQuestion,
    at: String,
}

/// The solved task that an action marks, with the mark.
pub(super) fn contradicted(
    asked: DeltaRequest<'_>,
    action: &Node,
    at: &str,
) -> Result<(AtomId, AttentionMark), Fault> {
    let target = action.get("target").and_then(Node::as_str);
    let id = AtomId::new(target.unwrap_or_default());
    if !asked.state.bindings.contains_key(&id) {
        let at = doc::pointer_push(at, "target");
        let message = format!("`{id}` is not solved, so nothing of it contradicts");
        let hint = Some("change or take out what is pending or blocked");
        return Err(Fault::at("not-solved", &at, message, hint));
    }
    let reason = action.get("reason").and_then(Node::as_str);
    let mark = AttentionMark {
        because: AttentionCause::Contradicted,
        text: doc::one_line(reason.unwrap_or_default(), WORDS_CHARS_MAX),
        extra: Default::default(),
    };
    if mark.text.is_empty() {
        let at = doc::pointer_push(at, "reason");
        Err(Fault::at("missing-key", &at, "`reason` says what contradicts".to_owned(), None))
    } else {
        Ok((id, mark))
    }
}

/// The questions of an answer.
pub(super) fn questions(answer: &Node, faults: &mut Vec<Fault>) -> Vec<RemarkQuestion> {
    let Some(node) = answer.get("questions") else { return Vec::new() };
    let list = node.as_array();
    let Some(list) = list.filter(|list| list.len() <= QUESTIONS_MAX) else {
        let message = format!("`questions` is a list of at most {QUESTIONS_MAX}");
        faults.push(Fault::at("questions", "/questions", message, None));
        return Vec::new();
    };
    let mut questions = Vec::new();
    for (n, node) in list.iter().enumerate() {
        let at = format!("/questions/{n}");
        let text = |key: &str| {
            doc::one_line(node.get(key).and_then(Node::as_str).unwrap_or_default(), WORDS_CHARS_MAX)
        };
        let (about, question, assume) = (text("about"), text("question"), text("assume"));
        if about.is_empty() || question.is_empty() || assume.is_empty() {
            let message = "a question has the texts `about`, `question` and `assume`".to_owned();
            faults.push(Fault::at("questions", &at, message, None));
            continue;
        }
        questions.push(RemarkQuestion {
            about: AtomId::new(about),
            asked: TaskQuestion { question, assume, ..TaskQuestion::default() },
            at,
        });
    }
    questions
}

/// Puts the questions to their tasks: a person is asked where one can answer, else the answer is assumed.
pub(super) fn ask(
    asked: DeltaRequest<'_>,
    questions: Vec<RemarkQuestion>,
    names: &BTreeMap<AtomId, AtomId>,
    taken: &mut AcceptedDelta,
) -> Vec<Fault> {
    let asks = asked.state.objective.constraints.on_stuck() == OnStuck::Ask;
    let mut faults = Vec::new();
    for question in questions {
        let id = names.get(&question.about).unwrap_or(&question.about);
        if !taken.atoms.contains_key(id) {
            let is_gone = taken.removed.contains(id);
            let may = if is_gone { Err("is taken out") } else { asked.may_change(id) };
            if let Err(why) = may {
                let at = doc::pointer_push(&question.at, "about");
                faults.push(Fault::at("not-to-ask", &at, format!("`{id}` {why}"), None));
                continue;
            }
            let known = asked.state.atom(id).map(|atom| Atom::clone(atom));
            taken.atoms.extend(known.map(|atom| (id.clone(), atom)));
        }
        let task = taken.atoms.get_mut(id).and_then(Atom::task_mut);
        let Some(task) = task else { continue };
        if task.questions.iter().any(|one| one.question == question.asked.question) {
            let at = doc::pointer_push(&question.at, "question");
            let message = format!("the same was asked about `{id}` already");
            faults.push(Fault::at("not-to-ask", &at, message, None));
            continue;
        }
        task.questions.push(question.asked);
        let old = task.questions.len().saturating_sub(QUESTIONS_MAX);
        task.questions.drain(..old);
        if asks {
            task.status = AtomStatus::NeedsGuidance;
            taken.asked.push(id.clone());
        }
    }
    faults
}

/// Takes the tasks out of their parents.
pub(super) fn take_out(
    asked: DeltaRequest<'_>,
    removed: &BTreeMap<AtomId, String>,
    taken: &mut AcceptedDelta,
) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (id, at) in removed {
        let parent = asked.graph.ix(id).and_then(|x| asked.graph.above(x).next());
        let Some(parent) = parent.map(|x| asked.graph.id(x)) else { continue };
        let known = asked.state.atom(parent).map(|atom| Atom::clone(atom));
        let known = taken.atoms.get(parent).cloned().or(known);
        let Some(mut atom) = known else { continue };
        match without(&mut atom, id) {
            Ok(()) => {
                taken.atoms.insert(parent.clone(), atom);
            }
            Err(why) => {
                let message = format!("`{id}` {why} `{parent}`");
                faults.push(Fault::at("not-to-remove", at, message, Some("change it instead")));
            }
        }
    }
    faults.extend(waited_for(asked, removed, taken));
    faults
}

fn without(parent: &mut Atom, id: &AtomId) -> Result<(), &'static str> {
    let kids = match &mut parent.body {
        Body::Task(_) => return Ok(()),
        // Its first part is what a plan is known by.
        Body::Plan(plan) => {
            return plan.remove_part(id).then_some(()).ok_or("stands for the plan of");
        }
        Body::All { parts } => parts,
        Body::Any { choices, selected, .. } => {
            *selected = selected.take().filter(|one| one != id);
            choices
        }
    };
    kids.retain(|kid| kid != id);
    if kids.is_empty() { Err("is the last of") } else { Ok(()) }
}

/// Faults of tasks that something waits for that stays.
fn waited_for(
    asked: DeltaRequest<'_>,
    removed: &BTreeMap<AtomId, String>,
    taken: &AcceptedDelta,
) -> Vec<Fault> {
    let mut faults = Vec::new();
    let kept = asked.state.all_atoms();
    let kept = kept.iter().map(|(id, atom)| (*id, taken.atoms.get(*id).unwrap_or(atom)));
    let new = taken.added.iter().filter_map(|id| Some((id, taken.atoms.get(id)?)));
    for (id, atom) in kept.chain(new).filter(|(id, _)| !removed.contains_key(*id)) {
        let target = atom.plan().and_then(|plan| plan.convergence_target.as_ref());
        for needed in atom.depends_on.iter().chain(target) {
            if let Some(at) = removed.get(needed) {
                let message = format!("`{id}` waits for `{needed}`");
                let hint = Some("change or take out what waits for it too");
                faults.push(Fault::at("waited-for", at, message, hint));
            }
        }
    }
    faults
}
