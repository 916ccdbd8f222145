//! Checks the form of a fragment, which needs no other part of the graph, and the rules over one that fits. A step in
//! the place of a task gets a closing atom with the checks of that task (contract §9.20).

use super::{AcceptedFragment, FragmentRequest};
use crate::doc::prelude::*;
use crate::{
    doc::{self, Fault, Node},
    graph::{Graph, Ix, validate},
    id::{AtomId, Digest, Lineage},
    judging::{self, Issue, JudgedPlan, PlanFacts},
    law::blocks::{self, BlockedProposal},
    plan::{self, PlanReading},
    state::{
        Action, Atom, Body, Extra, FailureClass, Fragment, Severity, Spec, State, Task, Try,
        TryEnd, answer_texts::misspelt_key, fields::Writer, limits::FRAGMENT_ATOMS_MAX,
    },
};

/// Words that are true of a state and of no answer.
pub(super) const KEPT_AS_IT_IS: &str = ", kept as it is";
/// Keys of an atom that only a person writes.
pub(super) const PERSONS: &[&str] = &["agent", "guidance", "interruptible"];

/// Checks the keys at the top, and those that a planner may not write.
pub(super) fn check(node: &Node) -> Vec<Fault> {
    let Some(members) = node.as_object() else {
        let message = format!("expected an object with `atoms`, found {}", node.kind_name());
        return Vec::from([Fault::at("wrong-type", "", message, None)]);
    };
    let mut faults = Vec::new();
    for member in members {
        let at = doc::pointer_push("", &member.key);
        match member.key.as_str() {
            "atoms" => faults.extend(plan::keys_of_others(&member.node, &at, PERSONS)),
            "reasoning" if member.node.as_str().is_none() => {
                let message = format!("expected a string, found {}", member.node.kind_name());
                faults.push(Fault::at("wrong-type", &at, message, None));
            }
            "reasoning" | "notes" => {}
            key => faults.extend(misspelt_key(key, &["atoms", "reasoning"])),
        }
    }
    if node.get("atoms").is_none() {
        faults.push(Fault::at("missing-key", "", "the key `atoms` is missing".to_owned(), None));
    }
    faults
}

/// The faults of reading the atoms, and of comparing them with each other.
pub(super) fn faults_of(plan: &PlanReading, asked: FragmentRequest<'_>) -> Vec<Fault> {
    let mut faults = plan.faults.clone();
    // Nobody reads a warning here, and a mistyped key means a missing dependency or check.
    faults.extend(plan.warnings.iter().cloned());
    faults.extend(plan.atoms.iter().flat_map(|(id, atom)| not_allowed(id, atom, asked.state)));
    let atoms = plan.atoms.iter();
    faults.extend(atoms.filter_map(|(id, atom)| too_much_context(id, atom, asked.state)));
    if let Some(root) = &plan.root {
        let mut found = validate::check(&alone(plan, asked), root);
        plan.written.put_back(&mut found);
        faults.extend(found);
    }
    for fault in &mut faults {
        fault.message = fault.message.replace(KEPT_AS_IT_IS, "");
        fault.pointer = own_pointer(&fault.pointer).to_string();
        if fault.rule == "unknown-atom" {
            fault.hint = Some(hint_of_stranger(fault, asked));
        }
    }
    faults
}

/// Faults of an atom that an agent proposes, and the agreement does not allow.
pub(super) fn not_allowed(
    id: &AtomId,
    atom: &Atom,
    state: &State,
) -> impl Iterator<Item = Fault> + use<> {
    too_slow(id, atom, state).into_iter().chain(rated(id, atom, state))
}

/// An atom with a new leaf that a judge rates: a person agrees to what is rated.
fn rated(id: &AtomId, atom: &Atom, state: &State) -> Option<Fault> {
    let checks = |atom: &Atom| atom.task()?.spec.checks.clone();
    let own = checks(atom).filter(|own| own.first_quality().is_some())?;
    let agreed = state.atom(id).and_then(|known| checks(known));
    let at = ["work_graph", "atoms", id.as_str(), "checks"];
    let at = at.iter().fold(String::new(), |at, key| doc::pointer_push(&at, key));
    let message = "a planner's task is judged by machines: only a person adds a `quality` leaf";
    let hint = "say it as a `command` that a machine decides";
    let is_new = agreed.as_ref() != Some(&own);
    is_new.then(|| Fault::at("unsupported", &at, message.to_owned(), Some(hint)))
}

/// An atom that takes more time than the agreement gives an attempt.
fn too_slow(id: &AtomId, atom: &Atom, state: &State) -> Option<Fault> {
    let most = state.objective.constraints.attempt_timeout();
    let timeout = atom.task()?.spec.timeout.as_ref()?;
    let at = doc::pointer_push(&doc::pointer_push("/work_graph/atoms", id.as_str()), "timeout");
    let message =
        format!("{} is more than the {} that an attempt has", timeout.as_str(), most.as_str());
    (timeout.ms > most.ms).then(|| Fault::at("too-slow", &at, message, Some("plan smaller steps")))
}

/// A step whose planner would be told more than the agreement allows.
fn too_much_context(id: &AtomId, atom: &Atom, state: &State) -> Option<Fault> {
    let most = state.objective.constraints.planning.context().chars();
    let chars = atom.plan()?.context.as_ref()?.chars?;
    let at = ["work_graph", "atoms", id.as_str(), "context", "chars"];
    let at = at.iter().fold(String::new(), |at, key| doc::pointer_push(&at, key));
    let message = format!("{chars} characters are more than the {most} that a planner is told");
    let hint = "leave it out: the step has as many then";
    (chars > most).then(|| Fault::at("context", &at, message, Some(hint)))
}

/// The faults of what the control law blocks, at the places that the planner gave.
pub(super) fn blocked(
    state: &State,
    atoms: &BTreeMap<AtomId, Atom>,
    names: &BTreeMap<AtomId, AtomId>,
) -> Vec<Fault> {
    blocks::refused(state, atoms).into_iter().map(|one| refusal(one, names)).collect()
}

/// The id that an answer gave to an atom; any other atom has its own.
pub(super) fn proposed<'n>(names: &'n BTreeMap<AtomId, AtomId>, own: &'n str) -> &'n str {
    let mut names = names.iter();
    names.find(|(_, known)| known.as_str() == own).map_or(own, |(proposed, _)| proposed.as_str())
}

/// A part that may not come again, at the place that the planner gave.
pub(super) fn refusal(one: BlockedProposal, names: &BTreeMap<AtomId, AtomId>) -> Fault {
    let at =
        one.atom.as_ref().map(|own| doc::pointer_push("/atoms", proposed(names, own.as_str())));
    let at = at.unwrap_or_else(|| "/atoms".to_owned());
    Fault::at("blocked", &at, one.message, Some(one.hint))
}

/// The specifications of those atoms that wait for nothing, and of which an attempt's work was wrong.
pub(super) fn wrong_specs(
    state: &State,
    graph: &Graph,
    atoms: impl Iterator<Item = Ix>,
) -> BTreeSet<Digest> {
    let is_logical =
        |tried: &Try| matches!(tried.ended, Some(TryEnd::Failed(FailureClass::Logical)));
    let is_wrong = |x: &Ix| {
        let task = state.atom(graph.id(*x)).and_then(|atom| atom.task());
        graph.vertex(*x).deps.is_empty()
            && task.is_some_and(|task| task.tries.iter().any(is_logical))
    };
    atoms.filter(is_wrong).map(|x| graph.vertex(x).spec.clone()).collect()
}

/// The place in the planner's output for a place in the plan that it was read as.
pub(super) fn own_pointer(pointer: &str) -> &str {
    pointer.strip_prefix("/work_graph").unwrap_or(pointer)
}

fn hint_of_stranger(fault: &Fault, asked: FragmentRequest<'_>) -> String {
    match asked.state.atom(&AtomId::new(fault.message.split('`').nth(1).unwrap_or_default())) {
        Some(_) => {
            "a fragment names its own atoms alone: what its step waited for is done before".into()
        }
        None => fault.hint.clone().unwrap_or_else(|| "name an atom of the fragment".into()),
    }
}

/// The fragment as a graph of its own. Its depth is checked later.
fn alone(read: &PlanReading, asked: FragmentRequest<'_>) -> State {
    let mut objective = (*asked.state.objective).clone();
    objective.constraints.planning.depth = Some(u32::MAX);
    objective.base_case = None;
    let mut state = plan::read(b"{}").into_state(Lineage::new(""));
    state.objective = Arc::new(objective);
    for (id, atom) in &read.atoms {
        state.atoms.insert(id.clone(), Arc::new(atom.clone()));
    }
    state
}

/// Checks the number of atoms, in this fragment and in total.
pub(super) fn count(atoms: usize, asked: FragmentRequest<'_>) -> Vec<Fault> {
    let constraints = &asked.state.objective.constraints;
    let mut faults = Vec::new();
    let mut limit = |most: usize, message: String, hint| {
        if atoms > most {
            faults.push(Fault::at("too-many-atoms", "/atoms", message, Some(hint)));
        }
    };
    let of_one = FRAGMENT_ATOMS_MAX as usize;
    limit(
        of_one,
        format!("{atoms} atoms, the limit of a fragment is {of_one}"),
        "plan in larger steps, or leave a part to a planning step of its own",
    );
    let before = usize::try_from(asked.graph.planned(asked.state)).unwrap_or(usize::MAX);
    let of_all = constraints.planning.atoms() as usize;
    limit(
        of_all.saturating_sub(before),
        format!("{atoms} atoms after {before} that were planned before: the limit is {of_all}"),
        "plan in larger steps",
    );
    if atoms == 0 {
        let message = "a fragment without atoms".to_owned();
        let hint = "name what is to be done; nothing to do is a task that does nothing";
        faults.push(Fault::at("empty-fragment", "/atoms", message, Some(hint)));
    }
    faults
}

/// The heavy issues of a fragment in the graph that it would make, as faults in the words of the planner; the others stay
/// with the fragment. `names` has the program's id of each atom, by the proposed one.
pub(super) fn refused_by_rules(
    asked: FragmentRequest<'_>,
    state: &State,
    graph: &Graph,
    names: &BTreeMap<AtomId, AtomId>,
    taken: &mut AcceptedFragment,
    facts: &PlanFacts,
) -> Vec<Fault> {
    let step = asked.state.atom(asked.plan).and_then(|atom| atom.plan());
    let plan = JudgedPlan {
        state,
        graph,
        atoms: names.values().filter_map(|id| graph.ix(id)).collect(),
        facts,
        failed: failed(asked),
        has_target: step.is_some_and(|step| step.convergence_target.is_some()),
    };
    let (heavy, light): (Vec<Issue>, Vec<Issue>) =
        judging::judge(&plan).into_iter().partition(|issue| issue.severity == Severity::High);
    taken.issues = light;
    heavy.iter().map(|issue| issue_fault(issue, names)).collect()
}

/// The specifications that earlier plans of this step and context began with, and that were wrong.
fn failed(asked: FragmentRequest<'_>) -> BTreeSet<Digest> {
    let step = asked.state.atom(asked.plan).and_then(|atom| atom.plan());
    let parts = step
        .into_iter()
        .flat_map(|step| step.made_in(asked.context).flat_map(|fragment| &fragment.parts));
    let inside = parts.filter_map(|id| asked.graph.ix(id)).flat_map(|x| asked.graph.subtree(x));
    wrong_specs(asked.state, asked.graph, inside)
}

/// The place and the words with the ids that the planner gave.
pub(super) fn issue_fault(issue: &Issue, names: &BTreeMap<AtomId, AtomId>) -> Fault {
    let words: Vec<&str> = issue.description.split('`').map(|id| proposed(names, id)).collect();
    let at = doc::pointer_push("/atoms", proposed(names, &issue.location)) + &issue.at;
    let message = format!("{} [{}]", words.join("`"), issue.rule.word());
    Fault::at(issue.rule.word(), &at, message, Some(&issue.proposed_repair))
}

/// The atom that keeps the checks of the task that stood in the place of the step. `None` where it had none.
pub(super) fn closing_atom(asked: FragmentRequest<'_>) -> Option<Atom> {
    let was = asked.state.atom(asked.plan)?.plan()?.placed.was.as_ref()?;
    let checks = was.task()?.spec.checks.clone()?;
    let spec = Spec {
        action: Some(Action { run: "true".into(), transient: None, extra: Extra::default() }),
        checks: Some(checks),
        ..Spec::default()
    };
    Some(Atom {
        description: format!("the checks of {}", was.title(asked.plan)),
        body: Body::Task(Box::new(Task::new(spec))),
        ..Atom::default()
    })
}

/// Adds the closing atom, which waits for all other parts.
pub(super) fn add_closing(
    asked: FragmentRequest<'_>,
    taken: &mut AcceptedFragment,
    mut atom: Atom,
) {
    atom.depends_on.clone_from(&taken.fragment.parts);
    let mut origin = Writer::default();
    origin
        .text("by", "planner")
        .text("fragment", asked.attempt.as_str())
        .text("reason", &format!("it keeps the checks of {}", asked.plan));
    atom.origin = Some(origin.finish(&Extra::default()));
    let is_free = |id: &AtomId| asked.state.atom(id).is_none() && !taken.atoms.contains_key(id);
    let mut ids = (1..).map(|n| super::derived(asked.plan, n));
    if let Some(id) = ids.find(is_free) {
        taken.fragment.parts.push(id.clone());
        taken.atoms.insert(id, atom);
    }
}

/// Fragments of other placed steps in the same place: the same atoms again would fail again. A root waits for all that
/// was there, so it has no context in common with an earlier one.
pub(super) fn others_in_place<'s>(
    asked: FragmentRequest<'s>,
) -> impl Iterator<Item = &'s Fragment> {
    let own = asked.state.atoms.get(asked.plan).and_then(|atom| atom.plan());
    let is_placed = own.is_some_and(|plan| plan.placed.is_placed());
    let is_root = is_placed_root(asked, asked.plan);
    let others = asked.state.atoms.iter().filter(move |(id, atom)| {
        let plan = atom.plan().filter(|plan| plan.placed.is_placed());
        is_placed && plan.is_some() && *id != asked.plan && is_root == is_placed_root(asked, id)
    });
    others
        .filter_map(|(_, atom)| atom.plan())
        .flat_map(|plan| plan.fragments())
        .filter(move |one| is_root || one.context == *asked.context)
}

fn is_placed_root(asked: FragmentRequest<'_>, id: &AtomId) -> bool {
    let plan = asked.state.atoms.get(id).and_then(|atom| atom.plan());
    let is_new = plan.is_some_and(|plan| plan.placed.is_placed() && plan.placed.was.is_none());
    let x = asked.graph.ix(id);
    is_new && x.is_some_and(|x| asked.graph.vertex(x).parent.is_none())
}
