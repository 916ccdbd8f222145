//! Turns a planner's output into atoms, or refuses it with all its faults (contract §5).
//!
//! It works in stages; each checks what the stage before let pass. They are the form, the ids and
//! references, the structure, then the limits: number, depth, planning steps, and the grant. Not
//! here: what follows from either result (`step::planning`).
//!
//! Invariant: an accepted atom has an id made by the program and names only atoms of its fragment.
//! The whole takes no more than its step was granted.

mod budget;
pub mod delta;
mod form;
#[cfg(test)]
mod tests;

use crate::doc::prelude::*;
pub use budget::Remaining;

use crate::{
    doc::{self, Fault, Limits, Node, Parsed},
    event::Outcome,
    graph::{Graph, Ix, active::ActiveGraph},
    id::{AtomId, AttemptId, Digest, LessonId},
    judging::{self, Issue, PlanFacts, PlanQuestions},
    law::blocks,
    plan::{self, PlanReading},
    profile,
    state::{
        Atom, Extra, Fragment, JudgingLevel, State, check::Pattern, fields::Writer, record::Choices,
    },
};

/// Maximum of bytes that a planner prints.
pub const BYTES_MAX: usize = 256 << 10;
/// Faults that a planner is told at once.
const FAULTS_MAX: usize = 8;
const FORM_HINT: &str = "answer with one object: {\"reasoning\": \"…\", \"atoms\": {…}}";
/// Characters kept of a planner's reasons.
const REASON_CHARS_MAX: usize = 2_000;

/// The request that a fragment answers.
#[derive(Debug, Clone, Copy)]
pub struct FragmentRequest<'a> {
    pub state: &'a State,
    pub graph: &'a Graph,
    pub active: &'a ActiveGraph,
    /// The planning step.
    pub plan: &'a AtomId,
    pub context: &'a Digest,
    pub choices: &'a Choices,
    pub attempt: &'a AttemptId,
}

/// A valid fragment.
#[derive(Debug)]
pub struct AcceptedFragment {
    pub atoms: BTreeMap<AtomId, Atom>,
    pub fragment: Fragment,
    /// The issues that refuse nothing.
    pub issues: Vec<Issue>,
    /// Lessons of earlier runs that speak against it, where it was the last attempt of its round.
    pub in_spite_of: Vec<LessonId>,
}

impl FragmentRequest<'_> {
    /// Whether no attempt of the round is left after this one.
    pub fn is_last_attempt(&self) -> bool {
        let task = self.state.atom(self.plan).and_then(|atom| atom.task());
        let made = task.and_then(|task| task.tried(self.context)).map_or(0, |tried| tried.attempts);
        let constraints = &self.state.objective.constraints;
        let most = task.map(|task| constraints.max_attempts(task.spec.action.is_some()));
        most.is_none_or(|most| made.saturating_add(1) >= most)
    }
}

/// A planner's output as a tree: the value of its result file, or what it printed.
pub fn printed(outcome: &Outcome) -> Result<Node, Vec<Fault>> {
    let value = outcome.report.as_ref().and_then(|one| one.value.clone());
    let printed = || read(outcome.stdout.as_deref().unwrap_or_default());
    value.map_or_else(printed, Ok)
}

/// The JSON Schema of a fragment.
pub fn schema() -> String {
    let flags = r#""unknown":{"type":"boolean"},"speculative":{"type":"boolean"},"#;
    let definitions = plan::definitions(None, flags);
    format!(
        r##"{{"type":"object","required":["atoms"],"additionalProperties":false,"properties":{{"reasoning":{{"type":"string"}},"atoms":{{"type":"object","minProperties":1,"additionalProperties":{{"$ref":"#/$defs/atom"}}}}}},{definitions}}}"##
    )
}

/// The faults that keep an answer from being a fragment, in words that a planner can mend it by.
pub fn fault(
    asked: FragmentRequest<'_>,
    answer: &str,
    facts: impl FnOnce(PlanQuestions) -> PlanFacts,
) -> Option<String> {
    let node = read(answer);
    // A planner that cannot plan reports why.
    let is_report = |node: &Node| {
        let has_failed = node.get("success").and_then(Node::as_bool) == Some(false);
        has_failed || node.get("clarity").is_some()
    };
    if node.as_ref().is_ok_and(is_report) {
        return None;
    }
    let facts = |node: &Node| facts(proposed_in(node).questions);
    let faults = node.and_then(|node| judge(asked, &node, &facts(&node))).err()?;
    let lines: Vec<String> = faults.iter().take(FAULTS_MAX).map(line).collect();
    Some(lines.join("; "))
}

/// The parts of proposed atoms that the shell looks at before they are judged.
#[derive(Debug, Default)]
pub struct ProposedParts {
    /// The questions to the machine.
    pub questions: PlanQuestions,
    /// The patterns to compile.
    pub patterns: Vec<Pattern>,
    /// The places of atoms without an action: only a worker could do them.
    pub without_action: Vec<String>,
}

impl ProposedParts {
    /// Those of atoms that were read. `asked` are the ones that may be without an action.
    fn of<'a>(mut plan: PlanReading, asked: impl Iterator<Item = &'a AtomId>) -> Self {
        let lacks = |atom: &Atom| atom.task().is_some_and(|task| task.spec.action.is_none());
        let without = asked.filter(|id| plan.atoms.get(*id).is_some_and(lacks)).map(|id| {
            let flat = doc::pointer_push("/work_graph/atoms", id.as_str());
            form::own_pointer(&plan.written.pointer(&flat)).to_owned()
        });
        let without_action = without.collect();
        for pattern in &mut plan.patterns {
            pattern.pointer = form::own_pointer(&pattern.pointer).to_owned();
        }
        Self {
            questions: judging::questions(plan.atoms.values().filter_map(Atom::task)),
            patterns: plan.patterns,
            without_action,
        }
    }
}

/// The parts of a planner's output to look at.
pub fn proposed(outcome: &Outcome) -> ProposedParts {
    printed(outcome).map(|node| proposed_in(&node)).unwrap_or_default()
}

fn proposed_in(node: &Node) -> ProposedParts {
    let plan = node.get("atoms").map(plan_of).unwrap_or_default();
    let ids: Vec<AtomId> = plan.atoms.keys().cloned().collect();
    ProposedParts::of(plan, ids.iter())
}

/// Whether a proposal reaches for what is not its role's to propose: keys of others, atoms that it may not change, what the
/// control law blocks.
pub fn oversteps(faults: &[Fault]) -> bool {
    const RULES: [&str; 5] =
        ["persons-key", "program-key", "unknown-atom", "not-to-change", "blocked"];
    faults.iter().any(|fault| RULES.contains(&fault.rule))
}

/// Faults by their places and words.
pub fn faults_of_shell(found: &[(String, String)]) -> impl Iterator<Item = Fault> {
    found.iter().map(|(at, message)| Fault::at("cannot-be-done", at, message.clone(), None))
}

/// Reads its atoms like those of a plan.
fn plan_of(atoms: &Node) -> PlanReading {
    let graph = Node::object(Vec::from([("atoms", atoms.clone())]));
    let node = Some(Node::object(Vec::from([("work_graph", graph)])));
    plan::atoms_of_tree(Parsed { node, faults: Vec::new() })
}

fn read(text: &str) -> Result<Node, Vec<Fault>> {
    let limits = Limits { bytes: BYTES_MAX, depth: 64, nodes: 50_000 };
    let parsed = doc::parse_bytes(text.as_bytes(), &limits);
    let (rule, message) = match parsed.node.filter(|_| parsed.faults.is_empty()) {
        Some(node) => return Ok(node),
        None if text.trim().is_empty() => ("empty", "the answer is empty"),
        None if !text.trim_start().starts_with('{') => ("no-object", "it is no JSON object"),
        None => return Err(parsed.faults),
    };
    Err(Vec::from([Fault::at(rule, "", message.to_owned(), Some(FORM_HINT))]))
}

/// # Errors
/// All its faults: no plan, one that does not fit, or one that the rules refuse.
pub fn judge(
    asked: FragmentRequest<'_>,
    node: &Node,
    facts: &PlanFacts,
) -> Result<AcceptedFragment, Vec<Fault>> {
    let mut faults = form::check(node);
    let Some(atoms) = node.get("atoms").filter(|_| faults.is_empty()) else { return Err(faults) };
    let plan = plan_of(atoms);
    faults.extend(form::faults_of(&plan, asked));
    let closing = form::closing_atom(asked);
    faults.extend(form::count(plan.atoms.len() + usize::from(closing.is_some()), asked));
    if !faults.is_empty() {
        return Err(faults);
    }
    let digest = Digest::of(doc::canonical(atoms).as_bytes());
    let (names, parts) = name(asked, &plan);
    let mut taken = AcceptedFragment {
        fragment: Fragment {
            context: asked.context.clone(),
            choices: asked.choices.clone(),
            digest,
            attempt: asked.attempt.clone(),
            parts,
            ..Fragment::default()
        },
        atoms: renamed(asked, plan.atoms, &names, node),
        issues: Vec::new(),
        in_spite_of: Vec::new(),
    };
    if let Some(closing) = closing {
        form::add_closing(asked, &mut taken, closing);
    }
    let state = with(asked, &taken);
    let graph = Graph::of(&state);
    let mut faults = limits(asked, &graph, &mut taken, &names);
    if faults.is_empty() && profile::judging(asked.state) != JudgingLevel::Off {
        faults.extend(form::refused_by_rules(asked, &state, &graph, &names, &mut taken, facts));
    }
    faults.extend(form::blocked(asked.state, &taken.atoms, &names));
    faults.extend(remembered(asked, &mut taken, &names));
    if faults.is_empty() { Ok(taken) } else { Err(faults) }
}

/// The faults of what failed in earlier runs. The last attempt of a round is taken in spite of them, so that no lesson alone
/// ends a run.
fn remembered(
    asked: FragmentRequest<'_>,
    taken: &mut AcceptedFragment,
    names: &BTreeMap<AtomId, AtomId>,
) -> Vec<Fault> {
    let found = blocks::remembered(asked.state, &taken.atoms);
    if !asked.is_last_attempt() {
        let blocked = found.into_iter().map(|(blocked, _)| blocked);
        return blocked.map(|one| form::refusal(one, names)).collect();
    }
    for (_, lesson) in found {
        if !taken.in_spite_of.contains(&lesson.id) {
            taken.in_spite_of.push(lesson.id.clone());
        }
    }
    Vec::new()
}

/// The program's own id for each proposed one, and the ids of the atoms that have no parent.
fn name(asked: FragmentRequest<'_>, plan: &PlanReading) -> (BTreeMap<AtomId, AtomId>, Vec<AtomId>) {
    let step = asked.graph.ix(asked.plan);
    let known = step.map_or(0, |step| asked.graph.subtree(step).len() - 1);
    let ids = (known + 1..).map(|n| derived(asked.plan, n));
    let free = ids.filter(|id| asked.state.atom(id).is_none());
    let names: BTreeMap<AtomId, AtomId> = plan.order.iter().cloned().zip(free).collect();
    let is_member = |id: &AtomId| plan.atoms.values().any(|atom| atom.kids().contains(id));
    let roots = plan.order.iter().filter(|id| !is_member(id));
    let parts = roots.filter_map(|id| names.get(id).cloned()).collect();
    (names, parts)
}

fn derived(plan: &AtomId, n: usize) -> AtomId {
    AtomId::new(plan::derived(plan.as_str(), n))
}

/// Gives an atom the program's own id in the place of the proposed one.
fn own(names: &BTreeMap<AtomId, AtomId>, id: &mut AtomId) {
    if let Some(own) = names.get(id) {
        *id = own.clone();
    }
}

fn renamed(
    asked: FragmentRequest<'_>,
    atoms: BTreeMap<AtomId, Atom>,
    names: &BTreeMap<AtomId, AtomId>,
    node: &Node,
) -> BTreeMap<AtomId, Atom> {
    let reason = node.get("reasoning").and_then(Node::as_str);
    let reason: Option<String> =
        reason.map(|reason| reason.chars().take(REASON_CHARS_MAX).collect());
    let one = |(proposed, mut atom): (AtomId, Atom)| {
        atom.rename(|id| own(names, id));
        let mut origin = Writer::default();
        origin
            .text("by", "planner")
            .put("pass", Node::uint(asked.state.run.pass))
            .text("fragment", asked.attempt.as_str())
            .some("reason", reason.as_deref().map(Node::string))
            .text("proposed", proposed.as_str());
        atom.origin = Some(origin.finish(&Extra::default()));
        (names.get(&proposed).cloned().unwrap_or(proposed), atom)
    };
    atoms.into_iter().map(one).collect()
}

/// Checks the limits in the resulting graph, and sets the grants of planning steps inside.
fn limits(
    asked: FragmentRequest<'_>,
    graph: &Graph,
    taken: &mut AcceptedFragment,
    names: &BTreeMap<AtomId, AtomId>,
) -> Vec<Fault> {
    let mut faults = Vec::new();
    let at = |id: &AtomId| doc::pointer_push("/atoms", form::proposed(names, id.as_str()));
    if let Some(plan) = graph.ix(asked.plan) {
        faults.extend(depth(asked, graph, plan, taken, at));
    }
    faults.extend(budget::handed(asked, taken, at));
    faults.extend(same(asked, &taken.fragment));
    faults.extend(phases(asked, taken));
    faults.extend(budget::fit(asked, taken));
    faults
}

/// The resulting state.
fn with(asked: FragmentRequest<'_>, taken: &AcceptedFragment) -> State {
    let mut state = asked.state.clone();
    for (id, atom) in &taken.atoms {
        state.atoms.insert(id.clone(), Arc::new(atom.clone()));
    }
    if let Some(atom) = state.atoms.get_mut(asked.plan)
        && let Some(plan) = Arc::make_mut(atom).plan_mut()
    {
        plan.add(taken.fragment.clone(), true);
    }
    state
}

/// The depth that is left to a planner, as it is told.
fn depth_max(asked: FragmentRequest<'_>) -> u32 {
    let constraints = &asked.state.objective.constraints;
    let above = asked.graph.ix(asked.plan).map_or(0, |plan| asked.graph.above(plan).count());
    let above = u32::try_from(above).unwrap_or(u32::MAX);
    constraints.planning.depth().saturating_sub(above).min(profile::fragment_depth(asked.state))
}

fn depth(
    asked: FragmentRequest<'_>,
    graph: &Graph,
    plan: Ix,
    taken: &AcceptedFragment,
    at: impl Fn(&AtomId) -> String,
) -> Vec<Fault> {
    let most = depth_max(asked);
    let mut faults = Vec::new();
    for id in taken.atoms.keys() {
        let Some(x) = graph.ix(id) else { continue };
        let deep = graph.above(x).take_while(|y| *y != plan).count() + 1;
        if deep > most as usize {
            let message = format!("it stands {deep} deep in the fragment, the limit is {most}");
            let hint = "nest less: parts that wait for one another need no group";
            faults.push(Fault::at("too-deep", &at(id), message, Some(hint)));
        }
    }
    faults
}

/// A fault if the very same plan has failed in this context.
fn same(asked: FragmentRequest<'_>, fragment: &Fragment) -> Option<Fault> {
    let atom = asked.state.atom(asked.plan)?;
    let mut made = atom.plan()?.made_in(asked.context).chain(form::others_in_place(asked));
    let known = made.find(|made| made.digest == fragment.digest)?;
    let message = format!("it is the plan of {}, which failed", known.attempt);
    let hint = "plan another way, by what failed";
    Some(Fault::at("same-plan", "/atoms", message, Some(hint)))
}

/// Checks the number of planning steps at the same time: those in force, and those that the
/// fragment would add.
fn phases(asked: FragmentRequest<'_>, taken: &AcceptedFragment) -> Option<Fault> {
    let inside = taken.atoms.values().filter(|atom| atom.plan().is_some()).count();
    too_many_phases(asked.state, live_plans(asked), inside)
}

/// The fault of more planning steps than there may be at the same time.
fn too_many_phases(state: &State, now: usize, inside: usize) -> Option<Fault> {
    let most = state.objective.constraints.planning.phases();
    let is_over = now + inside > most as usize && inside > 0;
    is_over.then(|| {
        let message = format!("{now} planning steps and {inside} more: the limit is {most}");
        let hint = "write the tasks out instead of a step that plans them";
        Fault::at("too-many-phases", "/atoms", message, Some(hint))
    })
}

fn live_plans(asked: FragmentRequest<'_>) -> usize {
    asked.graph.plans().filter(|x| asked.active.is_live(*x)).count()
}

/// A fault as a line for the planner, who reads it in the next attempt.
pub fn line(fault: &Fault) -> String {
    let at = match fault.pointer.as_str() {
        "" => String::new(),
        pointer => pointer.to_string() + ": ",
    };
    let hint = fault.hint.as_ref().map(|hint| format!(" ({hint})"));
    format!("{at}{}{}", fault.message, hint.unwrap_or_default())
}
