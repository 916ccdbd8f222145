//! A redirect as a person gives it: words and names, which become typed changes of one state, or faults, all at once.
//!
//! Not here: the reading of flags and files (`cli`), and what follows from the changes (`draft`).

mod graph;

use super::{
    Adoption, Change, ChangeRefusal, ConstraintChange, between, constraints_with,
    draft::{Draft, FLIGHT_ENDS},
    drawn,
    kinds::set_start,
    unblock,
};
use crate::doc::prelude::*;
use crate::{
    doc::{self, Fault, Node, did_you_mean},
    graph::validate,
    id::{AtomId, UnixMillis},
    plan as agreement,
    proposal::{self, Clarification, ProposalReading},
    state::{
        Atom, AtomStatus, Binding, Intent, Objective, StartedFrom, State,
        binding::{SUMMARY_CHARS_MAX, VALUE_BYTES_MAX},
        decode::decode,
        encode::StateText,
        objective::RequestKind,
    },
    step,
    world::World,
};

/// Changes at most in one redirect.
pub const CHANGES_MAX: usize = 1_000;

/// The things that a person wants to be another. An absent part stays as it is.
#[derive(Debug, Clone, Default)]
pub struct Redirect {
    pub goal: Option<String>,
    pub why: Option<String>,
    pub deliverables: Option<String>,
    pub definition_of_done: Option<String>,
    /// Commands that replace the whole base case, unless there are none.
    pub checks: Vec<String>,
    /// Commands beside those of the base case.
    pub more_checks: Vec<String>,
    pub constraints: Vec<ConstraintChange>,
    /// Questions that the person answered, beside those that stand.
    pub clarifications: Vec<Clarification>,
    /// New atoms, as in the file.
    pub atoms: BTreeMap<AtomId, Atom>,
    /// The group that the topmost new atoms belong to; without one they are roots.
    pub into: Option<AtomId>,
    /// Atoms that go, with all below them.
    pub removed: Vec<AtomId>,
    /// The choices that groups shall have.
    pub selected: BTreeMap<AtomId, AtomId>,
    /// Results by a person's word.
    pub results: BTreeMap<AtomId, String>,
    /// Atoms whose results are taken out: they are made again.
    pub forgotten: Vec<AtomId>,
    /// Atoms whose failures count no more.
    pub retried: Vec<AtomId>,
    /// Blocked tools and targets that planners may propose again, as they are shown.
    pub unblocked: Vec<String>,
    /// The first state of a plan that was edited. It stands for as many changes as it takes.
    pub plan: Option<Arc<State>>,
    /// The start of the run from now on; its objects are kept already.
    pub start: Option<StartedFrom>,
    /// Whether all that is in flight ends, whatever the change.
    pub interrupts: bool,
}

impl Redirect {
    /// Whether it names nothing to change.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    fn count(&self) -> usize {
        let words = [&self.goal, &self.why, &self.deliverables, &self.definition_of_done];
        let words = words.into_iter().flatten().count();
        words
            + self.checks.len()
            + self.more_checks.len()
            + self.constraints.len()
            + self.clarifications.len()
            + self.atoms.len()
            + self.removed.len()
            + self.selected.len()
            + self.results.len()
            + self.forgotten.len()
            + self.retried.len()
            + self.unblocked.len()
            + usize::from(self.plan.is_some())
            + usize::from(self.start.is_some())
    }

    /// The change that it means for that state, at that time; or all of its faults, with places in the state.
    pub fn change(&self, state: &State, at: &str) -> Result<Change, Vec<Fault>> {
        let count = self.count();
        if count > CHANGES_MAX {
            let message = format!("{count} changes in one redirect, the limit is {CHANGES_MAX}");
            return Err(Vec::from([Fault::at("too-many", "", message, None)]));
        }
        let change = Change::to(state.clone());
        let mut reading = Reading { redirect: self, state, at, change, faults: Vec::new() };
        reading.start();
        reading.remove();
        reading.objective();
        reading.results();
        reading.graph();
        reading.retries();
        reading.unblocked();
        reading.plan();
        if reading.faults.is_empty() { Ok(reading.change) } else { Err(reading.faults) }
    }
}

impl Redirect {
    /// Reads a proposed change, without its atoms: these are in the form of a plan without an objective. `may_ask` tells
    /// whether its questions are heeded.
    pub fn proposed(answer: &Node, may_ask: bool) -> ProposalReading<(Self, Option<Node>)> {
        let ((redirect, atoms), questions) = proposal::read(answer, may_ask, |fields| {
            let ids = |texts: Vec<String>| texts.into_iter().map(AtomId::new).collect();
            let atoms = proposal::atoms(fields);
            let redirect = Redirect {
                goal: proposal::text(fields, "goal"),
                deliverables: proposal::text(fields, "deliverables"),
                definition_of_done: proposal::text(fields, "definition_of_done"),
                checks: proposal::texts(fields, "checks"),
                more_checks: proposal::texts(fields, "add_checks"),
                into: proposal::text(fields, "into").map(AtomId::new),
                removed: ids(proposal::texts(fields, "remove")),
                selected: proposal::pairs(fields, "select"),
                retried: ids(proposal::texts(fields, "retry")),
                ..Redirect::default()
            };
            (redirect, atoms)
        })?;
        let is_empty = redirect.is_empty() && redirect.into.is_none() && atoms.is_none();
        if is_empty && questions.is_empty() {
            return Err(Vec::from(["it changes nothing, and asks nothing".to_owned()]));
        }
        let atoms = atoms.map(|graph| Node::object(Vec::from([("work_graph", graph)])));
        Ok(((redirect, atoms), questions))
    }
}

/// The state after a redirect, as one commit. All that is in flight ends by a change of what every attempt was told or
/// works in; else only what the redirect changes itself.
pub fn redirect(
    before: &State,
    redirect: &Redirect,
    reason: Option<&str>,
    by: &str,
    now: UnixMillis,
) -> Result<Adoption, ChangeRefusal> {
    let wanted = redirect.change(before, &now.rfc3339()).map_err(ChangeRefusal::Invalid)?;
    // A planner at work was told what is blocked.
    let ends_all = redirect.interrupts
        || !redirect.unblocked.is_empty()
        || between::ends_all(before, &wanted.state);
    let ended = step::begin_change(&World::new(before.clone()), now, ends_all);
    let ended = ended.map_err(ChangeRefusal::Step)?;
    let mut state = ended.world.facts.state;
    state.serial = before.serial;
    let mut draft = Draft::new(state, by, now);
    draft.reason = reason;
    let change = redirect.change(&draft.state, &draft.at).map_err(ChangeRefusal::Invalid)?;
    let atoms = |intents: &[Intent]| -> Vec<AtomId> {
        let atoms: BTreeSet<AtomId> = intents.iter().map(|intent| intent.atom.clone()).collect();
        atoms.into_iter().collect()
    };
    if ends_all {
        draft.follows_for(FLIGHT_ENDS, &atoms(&before.run.in_flight));
    }
    let mut adoption = drawn(draft, before, |draft| {
        draft.make(change, check)?;
        Arc::make_mut(&mut draft.state.run).agree_anew();
        draft.measure();
        if !ends_all {
            draft.follows_for(FLIGHT_ENDS, &atoms(&ended_by(before, &draft.state, now)));
        }
        Ok(())
    })?;
    adoption.events.splice(0..0, ended.events);
    Ok(adoption)
}

/// The attempts that end by a change: those that it took out of flight, and those that a loop ends when it sees it.
pub fn ended_by(before: &State, after: &State, now: UnixMillis) -> Vec<Intent> {
    let mut ended = before.run.in_flight.clone();
    if !after.run.in_flight.is_empty() {
        let left = step::in_line(&World::new(after.clone()), now);
        let left =
            left.map_or_else(|_| after.run.in_flight.clone(), |state| state.run.in_flight.clone());
        ended.retain(|intent| left.iter().all(|one| one.id != intent.id));
    }
    ended
}

/// The state that keeps a plan for the next comparison, where nothing else would be another; nothing is ended.
pub fn keep_plan(before: &State, plan: &State, now: UnixMillis) -> Result<Adoption, ChangeRefusal> {
    if before.plan == plan.plan {
        return Err(ChangeRefusal::NoDifference);
    }
    let mut state = before.clone();
    state.serial = before.serial.next();
    state.plan.clone_from(&plan.plan);
    Ok(Adoption::of(before, state, now.rfc3339(), Vec::new()))
}

/// The state with a redirect taken back that waits for its change.
pub fn abort_redirect(before: &State, now: UnixMillis) -> Result<Adoption, ChangeRefusal> {
    if !is_redirect_open(before) {
        return Err(ChangeRefusal::NoDifference);
    }
    let aborted = step::abort_redirect(&World::new(before.clone()), now);
    Ok(aborted.map_err(ChangeRefusal::Step)?.into())
}

/// Whether a process asked for a redirect, and has not made its change.
pub fn is_redirect_open(state: &State) -> bool {
    let request = state.control.request.as_ref();
    request.is_some_and(|request| request.kind == RequestKind::Redirect)
}

/// Checks a state as if it were read from a file.
pub(super) fn check(after: &State) -> Result<(), ChangeRefusal> {
    let faults = faults_of(after, true);
    if faults.is_empty() { Ok(()) } else { Err(ChangeRefusal::Invalid(faults)) }
}

/// The faults of a state that no text was read for, with what stops a run where `is_gated`.
pub fn faults_of(state: &State, is_gated: bool) -> Vec<Fault> {
    let decoded = decode(StateText::of(state).text(state).as_bytes());
    let mut faults = decoded.faults;
    if let (Some(state), Some(root)) = (&decoded.state, &decoded.root) {
        faults.extend(validate::check(state, root));
        faults.extend(is_gated.then(|| validate::gate(state, root)).into_iter().flatten());
    }
    faults
}

/// A redirect on its way to changes.
struct Reading<'r> {
    redirect: &'r Redirect,
    state: &'r State,
    at: &'r str,
    /// The atoms that it takes out are in it already: nothing else may be about them.
    change: Change,
    faults: Vec<Fault>,
}

impl Reading<'_> {
    fn fault(&mut self, rule: &'static str, pointer: &str, message: String, hint: Option<&str>) {
        self.faults.push(Fault::at(rule, pointer, message, hint));
    }

    /// The person's tree moved on; the same commit is no change.
    fn start(&mut self) {
        let Some(start) = &self.redirect.start else {
            return;
        };
        let known = self.state.run.started_from.as_ref();
        if known.is_none_or(|known| known.commit != start.commit) {
            set_start(&mut self.change.state, start);
        }
    }

    fn objective(&mut self) {
        let redirect = self.redirect;
        let mut objective: Objective = (*self.change.state.objective).clone();
        if !redirect.checks.is_empty() {
            objective.base_case = None;
        }
        for command in redirect.checks.iter().chain(&redirect.more_checks) {
            agreement::add_check(&mut objective.base_case, command);
        }
        let stands = objective.clarifications.take();
        objective.clarifications = Clarification::added(stands.as_ref(), &redirect.clarifications);
        let words = [
            (&mut objective.goal, &redirect.goal),
            (&mut objective.background_intent, &redirect.why),
            (&mut objective.deliverables, &redirect.deliverables),
            (&mut objective.definition_of_done, &redirect.definition_of_done),
        ];
        for (field, text) in words {
            if let Some(text) = text {
                field.clone_from(text);
            }
        }
        if let Ok(constraints) = constraints_with(&objective.constraints, &redirect.constraints) {
            objective.constraints = constraints;
        }
        if doc::canonical(&objective.node()) != doc::canonical(&self.state.objective.node()) {
            self.change.state.objective = Arc::new(objective);
        }
    }

    fn results(&mut self) {
        let (redirect, state) = (self.redirect, self.state);
        for id in &redirect.forgotten {
            if state.bindings.contains_key(id) && !self.change.removed.contains(id) {
                self.take_result(id);
            } else if let Some(atom) = self.atom(id) {
                let of_task = "descent redirect --retry tries an atom again that failed";
                let hint = atom.task().map_or_else(|| below(id), |_| of_task.to_owned());
                let message = format!("{id} has no result");
                self.fault("not-resolved", &place(id), message, Some(&hint));
            }
        }
        for (id, text) in &redirect.results {
            let Some(atom) = self.atom(id) else {
                continue;
            };
            match binding(state, id, atom, text, self.at) {
                Some(binding) => {
                    self.change.state.atoms.remove(id);
                    self.change.state.bindings.insert(id.clone(), Arc::new(binding));
                }
                None => {
                    let bytes = text.len();
                    let limit = format!("the limit is {VALUE_BYTES_MAX}");
                    let message = format!("the result of {id} has {bytes} bytes, {limit}");
                    let hint = "put it into a file of the project, and name that file";
                    let at = doc::pointer_push("/bindings", id.as_str());
                    self.fault("too-large", &at, message, Some(hint));
                }
            }
        }
    }

    fn retries(&mut self) {
        let redirect = self.redirect;
        for id in &redirect.retried {
            let Some(atom) = self.atom(id) else {
                continue;
            };
            if self.state.bindings.contains_key(id) {
                let hint = format!("descent redirect --forget {id} makes it again");
                self.fault("not-failed", &place(id), format!("{id} is solved"), Some(&hint));
            } else if atom.task().is_none() {
                let message = format!("{id} is a group, and does not fail itself");
                self.fault("not-failed", &place(id), message, Some(&below(id)));
            } else {
                match in_doubt(self.state, id) {
                    Some(fault) => self.faults.push(fault),
                    None => self.change.retried.push(id.clone()),
                }
            }
        }
    }

    fn unblocked(&mut self) {
        let (redirect, state) = (self.redirect, self.state);
        for text in &redirect.unblocked {
            match unblock::named(state, text) {
                Ok(named) => self.change.unblocked.extend(named.into_iter().cloned()),
                Err(fault) => self.faults.push(fault),
            }
        }
    }

    /// Takes a result out: its atom is open again.
    fn take_result(&mut self, id: &AtomId) {
        let result = self.change.state.bindings.remove(id);
        let atom = result.map(|result| (id.clone(), Arc::clone(&result.of)));
        self.change.state.atoms.extend(atom);
    }

    /// The atom, or a fault that names the nearest one.
    fn atom(&mut self, id: &AtomId) -> Option<Arc<Atom>> {
        let state = self.state;
        if self.change.removed.contains(id) {
            let message = format!("{id} is taken out by this redirect");
            let hint = "leave out one of the two";
            self.fault("taken-out", &place(id), message, Some(hint));
            return None;
        }
        let found = state.atom(id).cloned();
        if found.is_none() {
            self.faults.push(no_such_atom(state, id));
        }
        found
    }
}

/// A result by a person. It takes the place of the atom's own words, and leaves its change of the tree.
pub(super) fn binding(
    state: &State,
    id: &AtomId,
    atom: Arc<Atom>,
    text: &str,
    at: &str,
) -> Option<Binding> {
    let text = text.trim();
    let is_long = text.chars().count() > SUMMARY_CHARS_MAX;
    let value = is_long.then(|| Node::string(text));
    if value.as_ref().is_some_and(|value| doc::write_compact(value).len() > VALUE_BYTES_MAX) {
        return None;
    }
    let earlier = state.bindings.get(id);
    let earlier = earlier.map(|binding| (**binding).clone());
    Some(Binding {
        summary: text.chars().take(SUMMARY_CHARS_MAX).collect(),
        value,
        by: "person".to_owned(),
        at: at.to_owned(),
        unclear: false,
        unclear_because: String::new(),
        read_as: Vec::new(),
        ..earlier.unwrap_or_else(|| Binding { of: atom, ..Binding::default() })
    })
}

/// The fault of an atom whose effect may have happened: a person tells that first.
pub(super) fn in_doubt(state: &State, id: &AtomId) -> Option<Fault> {
    let task = state.atoms.get(id).and_then(|atom| atom.task())?;
    let AtomStatus::InDoubt(attempt) = &task.status else {
        return None;
    };
    let message = format!("the effect of {id} is in doubt");
    let hint = format!("descent confirm {attempt}, with --no if it did not happen");
    Some(Fault::at("in-doubt", &place(id), message, Some(&hint)))
}

/// The fault of a name that nothing has, with the nearest one.
pub(super) fn no_such_atom(state: &State, id: &AtomId) -> Fault {
    let atoms = state.all_atoms();
    let hint = did_you_mean(id.as_str(), atoms.keys().map(|id| id.as_str()));
    Fault::at("no-such-atom", &place(id), format!("no atom is named {id}"), hint.as_deref())
}

fn below(group: &AtomId) -> String {
    format!("name the tasks below {group}")
}

pub(super) fn place(id: &AtomId) -> String {
    doc::pointer_push("/work_graph/atoms", id.as_str())
}
