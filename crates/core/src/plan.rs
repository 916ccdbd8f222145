//! Turns a plan (`{objective, work_graph}`), or the flags of `align`, into the first state.
//!
//! Here: reading the tree of a plan into records, whatever text it came from. `flat` flattens nested atoms into the one
//! form of the file. Not here: asking for missing parts (`cli`), the gate (`graph::validate`).
//!
//! Invariant: faults name the place in the plan as it was written, nested or not.

mod first_half;
mod flat;
mod keys;
mod taken;
#[cfg(test)]
mod tests;

use self::keys::is_programs;
use crate::doc::prelude::*;
use crate::{
    doc::{self, Fault, Limits, Node, Parsed},
    id::{AgentName, AtomId, Lineage, Serial},
    state::{
        Action, Atom, Body, Check, CheckKind, Control, Extra, Objective, PlanningStep, Records,
        Run, Shared, Spec, State, Task, VERSION,
        check::{self, Pattern},
        fields::{Fields, Findings},
        near_miss,
    },
};

pub use flat::PointerMap;
pub(crate) use flat::derived;
pub use keys::{RULE, definitions, keys_of_others};
pub use taken::TakenPlan;
pub(crate) use taken::{Values, unmeasured};

/// A plan as far as it could be read.
#[derive(Debug, Default)]
pub struct PlanReading {
    pub objective: Objective,
    pub atoms: BTreeMap<AtomId, Atom>,
    /// The atoms as they were written.
    pub(crate) order: Vec<AtomId>,
    pub faults: Vec<Fault>,
    pub warnings: Vec<Fault>,
    pub patterns: Vec<Pattern>,
    /// In the form of the file: every atom a member of `work_graph.atoms`. Places are those of the text.
    pub root: Option<Node>,
    /// Brings pointers into `root` back to the plan as it was written.
    pub written: PointerMap,
    extra: Extra,
    work_graph_extra: Extra,
    /// The plan without what flags added, once these are about to.
    taken: Option<Node>,
    /// The step that was added last.
    last_step: Option<AtomId>,
    /// Atoms that had a result or an attempt, in the state that it is the first half of.
    tried: BTreeSet<AtomId>,
}

/// Reads a plan in JSON.
pub fn read(bytes: &[u8]) -> PlanReading {
    of_tree(doc::parse_bytes(bytes, &Limits::default()))
}

/// Reads a plan from its tree, with the faults of its text.
pub fn of_tree(parsed: Parsed) -> PlanReading {
    read_parts(parsed, true)
}

/// Reads atoms for an agreement that stands already, in the forms of a plan.
pub fn atoms_of_tree(parsed: Parsed) -> PlanReading {
    read_parts(parsed, false)
}

fn read_parts(parsed: Parsed, is_whole: bool) -> PlanReading {
    let mut plan = PlanReading { faults: parsed.faults, ..PlanReading::default() };
    let Some(root) = parsed.node else {
        return plan;
    };
    let (mut root, written, faults) = flat::flatten(root, &plan.faults);
    let mut left_out = first_half::take(&mut root);
    plan.tried = core::mem::take(&mut left_out.tried);
    let mut found = Findings { faults, near_miss: Some(near_miss::of), ..Findings::default() };
    found.warnings.extend(left_out.warning());
    read_into(&mut plan, &root, &mut found, is_whole);
    written.put_back(&mut found.faults);
    written.put_back(&mut found.warnings);
    for pattern in &mut plan.patterns {
        pattern.pointer = written.pointer(&pattern.pointer);
    }
    plan.faults.extend(found.faults);
    plan.warnings = found.warnings;
    plan.root = Some(root);
    plan.written = written;
    plan
}

fn read_into(plan: &mut PlanReading, root: &Node, found: &mut Findings, is_whole: bool) {
    let Some(mut fields) = Fields::open(root, "", found) else {
        return;
    };
    for key in ["version", "$schema"].into_iter().chain(first_half::STATE_KEYS) {
        let _ = fields.take(key);
    }
    let members = root.as_object().unwrap_or_default();
    let is_misplaced = members.iter().any(|one| near_miss::is_of_objective(&one.key));
    let objective =
        if is_misplaced || !is_whole { fields.take("objective") } else { fields.need("objective") };
    if !is_whole {
        leave_out_objective(&mut fields);
    } else if let Some(node) = objective {
        plan.objective = Objective::read(node, "/objective", fields.found).unwrap_or_default();
        if let Some(base_case) = node.get("base_case") {
            check::patterns(base_case, "/objective/base_case", &mut plan.patterns);
        }
    }
    if let Some(node) = fields.take("work_graph")
        && let Some(mut graph) = Fields::open(node, "/work_graph", fields.found)
    {
        read_atoms(plan, &mut graph);
        plan.work_graph_extra = graph.finish();
    }
    plan.extra = fields.finish();
}

/// Warns that new atoms change no agreement.
fn leave_out_objective(fields: &mut Fields<'_, '_>) {
    let Some(member) = fields.node.member("objective") else {
        return;
    };
    fields.found.warnings.push(Fault {
        span: member.key_span,
        pointer: fields.at("objective"),
        rule: "state-key",
        message: "`objective` stays as it was agreed: left out".to_owned(),
        hint: None,
    });
}

fn read_atoms(plan: &mut PlanReading, graph: &mut Fields<'_, '_>) {
    let patterns = &mut plan.patterns;
    let Some(node) = graph.take("atoms") else {
        return;
    };
    if Fields::open(node, "/work_graph/atoms", graph.found).is_none() {
        return;
    }
    for member in node.as_object().unwrap_or_default() {
        let at = doc::pointer_push("/work_graph/atoms", &member.key);
        if !AtomId::is_valid(&member.key) {
            let hint =
                Some("a letter, then letters, digits, `_` or `-`, at most 64 in all".to_owned());
            let message = format!("`{}` cannot name an atom", member.key);
            graph.found.fault("bad-id", (&at, member.key_span), message, hint);
        }
        check::patterns_of_atom(&member.node, &at, patterns);
        patterns.extend(check::schema(&member.node, &at));
        if let Some(atom) = Atom::read(&member.node, &at, graph.found) {
            let id = AtomId::new(member.key.as_str());
            plan.order.push(id.clone());
            plan.atoms.insert(id, atom);
        }
    }
}

/// The words of a planning step that a flag adds: the goal stands in its prompt.
const PLANNING: &str = "Plan the work that reaches the goal";

impl PlanReading {
    /// Adds a step: a task with a shell action, or one for the worker; each waits for the one before.
    pub fn add_step(&mut self, text: &str) {
        let (description, run) = match text.split_once('=') {
            Some((description, run)) => (description.trim(), Some(run.trim())),
            None => (text.trim(), None),
        };
        let action = run.filter(|run| !run.is_empty()).map(|run| Action {
            run: run.to_owned(),
            transient: None,
            extra: Extra::default(),
        });
        let task = Task::new(Spec { action, ..Spec::default() });
        self.add_last(description, Body::Task(Box::new(task)));
    }

    /// Adds a planning step by an agent; it waits for the last step.
    pub fn add_planning(&mut self, agent: AgentName) {
        let agent = Some(agent);
        let task = Task::new(Spec { agent, ..Spec::default() });
        self.add_last(PLANNING, Body::Plan(Box::new(PlanningStep::new(task))));
    }

    fn add_last(&mut self, description: &str, body: Body) {
        let atom = Atom {
            description: description.to_owned(),
            depends_on: self.last_step.take().into_iter().collect(),
            body,
            ..Atom::default()
        };
        let id = (self.atoms.len() + 1..)
            .map(|n| AtomId::new(format!("S{n}")))
            .find(|id| !self.atoms.contains_key(id))
            .expect("BUG: there are more numbers than atoms");
        self.last_step = Some(id.clone());
        self.order.push(id.clone());
        self.atoms.insert(id, atom);
    }

    /// Judges the last step by the base case if a worker does it: nothing later could make the base case hold. A failed
    /// last step is then tried again, with the reason.
    pub fn judge_last_step(&mut self) {
        let base = self.objective.base_case.as_ref();
        let is_rated = base.is_some_and(|base| base.first_quality().is_some());
        let last = self.last_step.clone().or_else(|| self.last_of_all()).filter(|_| !is_rated);
        let last = last.and_then(|id| self.atoms.get_mut(&id));
        if let Some(Body::Task(task)) = last.map(|last| &mut last.body)
            && task.spec.action.is_none()
            && task.spec.checks.is_none()
        {
            Arc::make_mut(&mut task.spec).checks.clone_from(&self.objective.base_case);
        }
    }

    /// The one atom that waits for all others, if there is one: its context has every choice, so that its failure closes
    /// nothing that another choice could open.
    fn last_of_all(&self) -> Option<AtomId> {
        let waited_for: BTreeSet<_> =
            self.atoms.values().flat_map(|atom| &atom.depends_on).chain(self.kids()).collect();
        let mut open = self.atoms.keys().filter(|id| !waited_for.contains(id));
        let last = open.next()?;
        open.next().is_none().then(|| last.clone())
    }

    fn kids(&self) -> impl Iterator<Item = &AtomId> {
        self.atoms.values().flat_map(|atom| atom.kids())
    }

    /// Adds a command to the base case.
    pub fn add_check(&mut self, command: &str) {
        add_check(&mut self.objective.base_case, command);
    }

    /// Removes every check: nobody saw what they start.
    pub fn drop_checks(&mut self) {
        self.objective.base_case = None;
        for task in self.atoms.values_mut().filter_map(Atom::task_mut) {
            Arc::make_mut(&mut task.spec).checks = None;
        }
    }

    /// Keeps the plan as it stands: what flags add from here on belongs to no file.
    pub fn keep(&mut self) {
        self.taken = Some(taken::node(&self.objective, &self.atoms));
    }

    /// The first state.
    pub fn into_state(mut self, lineage: Lineage) -> State {
        let taken = self.taken.take();
        let taken = taken.unwrap_or_else(|| taken::node(&self.objective, &self.atoms));
        first_half::doubt(&mut self.atoms, &self.tried);
        let objective = &mut self.objective;
        if objective.raw_input == objective.goal {
            objective.raw_input.clear();
        }
        let mut state = State {
            version: VERSION,
            lineage,
            serial: Serial(1),
            seal: None,
            objective: Arc::new(self.objective),
            control: Arc::new(Control::default()),
            atoms: self.atoms.into_iter().map(|(id, atom)| (id, Arc::new(atom))).collect(),
            order: Arc::new(self.order),
            said: BTreeMap::new(),
            bindings: Records::default(),
            trail: Shared::default(),
            corrections: Shared::default(),
            run: Arc::new(Run::default()),
            plan: Some(Arc::new(taken)),
            extra: self.extra,
            work_graph_extra: self.work_graph_extra,
        };
        state.settle_order();
        state
    }
}

/// The plan of a state that is not agreed yet: without what only a state has.
pub fn text_of(state: &State) -> Node {
    let mut objective = (*state.objective).clone();
    objective.base_case = objective.base_case.as_ref().map(Check::unmeasured);
    let is_said = |node: &Node| node.as_str() != Some("");
    let is_empty = |node: &Node| node.as_object().is_some_and(<[_]>::is_empty);
    let order = state.settled_order();
    let atoms = order.iter().filter_map(|id| {
        let atom = state.atom(id)?.node().filtered(|key, _| !is_programs(key));
        Some((id.to_string(), atom))
    });
    let atoms = Node::object(atoms.collect());
    let objective = objective.node();
    let objective = objective.filtered(|_, node| is_said(node) && !is_empty(node));
    Node::object(Vec::from([
        ("objective", objective),
        ("work_graph", Node::object(Vec::from([("atoms", atoms)]))),
    ]))
}

/// Adds a command to a base case.
pub fn add_check(base_case: &mut Option<Check>, command: &str) {
    let check = Check::command(command);
    let mut parts = match base_case.take() {
        None => Vec::new(),
        Some(Check { kind: CheckKind::All(parts), name: None, .. }) => parts,
        Some(other) => Vec::from([other]),
    };
    parts.push(check);
    *base_case = Some(Check::of(CheckKind::All(parts)));
}
