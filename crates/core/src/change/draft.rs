//! A state under change, with its corrections and consequences. Whatever a change is, its records are written here.

use super::{Adoption, Change, ChangeRefusal, between, corrections, kinds::task_mut, lost_lines};
use crate::doc::prelude::*;
use crate::{
    event::Event,
    graph::{Graph, Ix, active},
    id::{AtomId, AttemptId, Epoch, UnixMillis},
    state::{
        Atom, AtomStatus, Binding, ChangeGrant, Correction, Entry, EntryKind, MeasureText, State,
        atom_order,
        encode::ChangeSet,
        limits,
        record::{CorrectionRecord, CorrectionType, InDoubtEntry, LostValue, UserCorrectionEntry},
    },
    world::World,
};

/// The consequence of another graph or choice.
pub(super) const GRAPH_REOPENED: &str = "results whose context no longer fits are open again";
/// The consequence for attempts that end without being counted.
pub(super) const FLIGHT_ENDS: &str = "what is in flight ends, and costs no attempt";

pub(super) struct Draft<'d> {
    pub(super) state: State,
    pub(super) by: &'d str,
    /// The time of the new records.
    pub(super) at: String,
    pub(super) effects: Vec<String>,
    /// The values that gave way in a merge.
    pub(super) lost: Vec<LostValue>,
    /// Atoms that were taken out: none of them comes back as a forgotten result.
    pub(super) removed: BTreeSet<AtomId>,
    /// A person's words on all of it.
    pub(super) reason: Option<&'d str>,
    corrections: Vec<CorrectionRecord>,
    /// How many effects a correction holds already.
    attributed: usize,
}

impl<'d> Draft<'d> {
    pub(super) fn new(mut state: State, by: &'d str, now: UnixMillis) -> Self {
        state.serial = state.serial.next();
        Self {
            state,
            by,
            at: now.rfc3339(),
            effects: Vec::new(),
            lost: Vec::new(),
            removed: BTreeSet::new(),
            reason: None,
            corrections: Vec::new(),
            attributed: 0,
        }
    }

    /// Notes what follows from the change, in words.
    pub(super) fn follows(&mut self, what: &str) {
        self.effects.push(what.into());
    }

    /// Notes what follows for these atoms, unless there are none.
    pub(super) fn follows_for(&mut self, what: &str, ids: &[AtomId]) {
        if !ids.is_empty() {
            self.effects.push(format!("{what}: {}", corrections::names(ids)));
        }
    }

    /// Adds a correction that holds the effects since the one before. The caller completes its keys; its id comes last.
    pub(super) fn correct(
        &mut self,
        kind: CorrectionType,
        description: impl Into<String>,
    ) -> &mut CorrectionRecord {
        let effects = self.effects.get(self.attributed..).unwrap_or_default();
        let changes = effects.to_vec();
        self.attributed = self.effects.len();
        let mut description: String = description.into();
        // A skip says its reason itself.
        let is_told = |reason: &str| description.ends_with(&format!(": {reason}"));
        let reason = self.reason.filter(|reason| !is_told(reason));
        if let Some(reason) = reason.filter(|_| self.corrections.is_empty()) {
            description += &format!(" ({reason})");
        }
        self.corrections.push_mut(CorrectionRecord {
            description: Some(description),
            changes,
            reason: self.reason.map(String::from),
            ..CorrectionRecord::new(String::new(), &self.at, kind, self.by)
        })
    }

    /// Adds one correction with all of these texts, unless there are none.
    pub(super) fn correct_all(
        &mut self,
        kind: CorrectionType,
        texts: impl IntoIterator<Item = String>,
    ) {
        let text = texts.into_iter().collect::<Vec<String>>().join("; ");
        if !text.is_empty() {
            self.correct(kind, text);
        }
    }

    pub(super) fn is_unchanged(&self) -> bool {
        self.corrections.is_empty()
    }

    /// The number of corrections so far.
    pub(super) fn corrections(&self) -> usize {
        self.corrections.len()
    }

    /// The descriptions of all corrections.
    pub(super) fn description(&self) -> String {
        described(&self.corrections)
    }

    /// Draws the consequences of everything that a person changed since `before`, kind by kind: a consequence may be a
    /// difference that the next kind sees.
    pub(super) fn follow(&mut self, before: &State) {
        let known = self.corrections.len();
        // Read first: the consequences may open atoms too.
        let mut statuses = between::statuses(before, &self.state);
        for id in self.take_statuses() {
            if statuses.iter().all(|(known, _)| *known != id) {
                statuses.push((id, AtomStatus::Pending));
            }
        }
        self.start_changed(before);
        if between::is_other_objective(before, &self.state) {
            self.objective_changed(before);
        }
        let changes = between::constraints(before, &self.state);
        if !changes.is_empty() {
            let (old, new) = (&before.objective.constraints, &self.state.objective.constraints);
            let what = limits::difference(old, new);
            self.grant_anew();
            self.open_within_limits(Some(old));
            self.trees_changed(before);
            self.correct(CorrectionType::ConstraintChange, what);
        }
        // An atom whose binding was taken out comes back before it could be told as removed.
        let changes = between::bindings(before, &self.state);
        self.bindings_changed(before, &changes);
        let changes = between::guidance(before, &self.state);
        self.guidance_changed(before, &changes);
        let changes = between::graph(before, &self.state);
        self.graph_changed(before, &changes);
        corrections::ask_about(&mut self.state, corrections::absent_doubts(before));
        self.statuses_changed(before, &statuses);
        if atom_order::is_other(&before.settled_order(), &self.state.settled_order()) {
            self.correct(CorrectionType::DagAdjustment, atom_order::MOVED);
        }
        let (old, new) = (before.corrections.len(), self.state.corrections.len());
        if new > old {
            let plural = if new - old == 1 { "" } else { "s" };
            let what = format!("{} correction{plural} added by hand", new - old);
            self.correct(CorrectionType::Confirmation, what);
        }
        self.count_pass(known);
    }

    /// Makes a change. `check` looks at the state as it is wanted, before anything follows from it.
    pub(super) fn make(
        &mut self,
        change: Change,
        check: impl FnOnce(&State) -> Result<(), ChangeRefusal>,
    ) -> Result<(), ChangeRefusal> {
        let wanted = State { serial: self.state.serial, ..change.state };
        let before = core::mem::replace(&mut self.state, wanted);
        let wanted = self.state.clone();
        let is_moved =
            before.objective.constraints.workspace() != wanted.objective.constraints.workspace();
        if is_moved && wanted.run.id.is_some() {
            return Err(ChangeRefusal::WorkspaceIsFixed);
        }
        self.removed = change.removed;
        let known = self.corrections();
        if ChangeSet::between(&before, &wanted) != ChangeSet::default() {
            check(&wanted)?;
            self.follow(&before);
            self.other_keys_changed(&before, &wanted);
        }
        let is_alone = self.corrections() == known;
        self.retry(change.retried, is_alone);
        self.unblock(&change.unblocked);
        Ok(())
    }

    /// Records changes by command of keys that no other correction tells of, such as `touches`.
    fn other_keys_changed(&mut self, before: &State, wanted: &State) {
        let told = between::graph(before, &self.state);
        let all = wanted.all_atoms();
        let is_other = |(id, is): &(&AtomId, &Arc<Atom>)| {
            let was = before.atom(id).filter(|was| !Arc::ptr_eq(was, is) && !told.contains(id));
            was.is_some_and(|was| between::other_keys(was, is))
        };
        let changed = all.iter().map(|(id, atom)| (*id, *atom)).filter(is_other);
        let changed: Vec<&AtomId> = changed.map(|(id, _)| id).collect();
        let known = self.corrections();
        let changed = corrections::atoms(before, &self.state, &changed);
        self.correct_all(CorrectionType::DagAdjustment, changed);
        self.count_pass(known);
    }

    /// Records an edit of a state that is not known: only its fact. Ratings in it are not known to be a judge's.
    pub(super) fn follow_unknown(&mut self) {
        self.take_statuses();
        self.grant_anew();
        let mut what = "edited; what stood there before is not kept".to_string();
        if let Some(unrated) = drop_ratings(&mut self.state) {
            what = format!("{what}; {unrated}");
        }
        self.open_within_limits(None);
        self.correct(CorrectionType::DagAdjustment, what);
        self.count_pass(0);
    }

    /// Counts a pass for corrections since the first `known`, and tells the trail of those of the graph.
    pub(super) fn count_pass(&mut self, known: usize) {
        let Some(new) = self.corrections.get(known..).filter(|new| !new.is_empty()) else {
            return;
        };
        let kind = Some(CorrectionType::DagAdjustment);
        if new.iter().any(|one| one.kind == kind) {
            let description = described(new);
            let kind = EntryKind::UserCorrection(UserCorrectionEntry { description });
            self.record(self.state.run.pass, kind);
        }
        Arc::make_mut(&mut self.state.run).pass += 1;
    }

    fn objective_changed(&mut self, before: &State) {
        self.follows("the trail is cleared, every failed atom is open again");
        let objective = Arc::make_mut(&mut self.state.objective);
        if objective.raw_input.is_empty() && objective.goal != before.objective.goal {
            objective.raw_input.clone_from(&before.objective.goal);
        }
        // Entries that a person is still asked about stay.
        self.state.trail = corrections::doubt_entries(&self.state).into();
        self.reopen_failed(|_, _| true);
        let run = Arc::make_mut(&mut self.state.run);
        run.grant = run.grant.as_ref().map(ChangeGrant::anew);
        run.verdicts = Default::default();
        // A judge is told the objective, so it is asked anew.
        run.drop_ratings();
        run.agreed = None;
        // It was said of another goal.
        run.profile = None;
        run.epoch = Epoch(run.epoch.0 + 1);
        run.agree_anew();
        let what = corrections::objective(before, &self.state);
        self.correct(CorrectionType::ObjectiveChange, what).trail_cleared = Some(true);
    }

    fn graph_changed(&mut self, before: &State, changes: &[AtomId]) {
        let (mut added, mut removed, mut changed) = (Vec::new(), Vec::new(), Vec::new());
        for id in changes {
            match (before.atom(id), self.state.atom(id)) {
                (None, _) => added.push(id),
                (Some(_), None) => removed.push(id),
                (Some(_), Some(_)) => changed.push(id),
            }
        }
        if !changes.is_empty() {
            self.grant_anew();
            self.follows(GRAPH_REOPENED);
        }
        changed.iter().for_each(|id| self.take_mark(id));
        self.drop_verdicts(before, changed.iter().chain(&removed).copied());
        let kids = |state: &State| -> BTreeSet<AtomId> {
            let all = state.all_atoms();
            all.values().flat_map(|atom| atom.kids()).cloned().collect()
        };
        let (were, are) = (kids(before), kids(&self.state));
        let alone = were.difference(&are);
        let alone = alone.filter(|id| self.state.atom(id).is_some());
        let alone: Vec<AtomId> = alone.cloned().collect();
        let roots = "nobody's part any more, and to be solved like every other root";
        self.follows_for(roots, &alone);
        let changed = corrections::atoms(before, &self.state, &changed);
        let lists = [("added", added), ("removed", removed)];
        let lists = corrections::lists(&lists).into_iter().chain(changed);
        self.correct_all(CorrectionType::DagAdjustment, lists);
    }

    /// A tree with a result that a person took out, replaced or asked for in another way is not to be delivered.
    fn drop_verdicts<'i>(&mut self, before: &State, changed: impl Iterator<Item = &'i AtomId>) {
        let has_result = |id: &&AtomId| {
            let task = before.atom(id).and_then(|atom| atom.task());
            let mut tries = task.into_iter().flat_map(|task| &task.tries);
            before.bindings.contains_key(*id) || tries.any(|one| one.parked().is_some())
        };
        let changed: Vec<&AtomId> = changed.filter(has_result).collect();
        if changed.is_empty() || self.state.run.verdicts.is_empty() {
            return;
        }
        let graph = Graph::of(before);
        let changed: Vec<Ix> = changed.into_iter().filter_map(|id| graph.ix(id)).collect();
        let is_stale = |choices: &_| changed.iter().any(|x| active::is_under(&graph, *x, choices));
        let run = Arc::make_mut(&mut self.state.run);
        run.verdicts.retain(|one| !is_stale(&one.choices));
    }

    /// A person looked at the atom and changed it, its result, or what is said to it.
    pub(super) fn take_mark(&mut self, id: &AtomId) {
        let task = self.state.atom(id).and_then(|atom| atom.task());
        if task.is_some_and(|task| task.attention.is_some())
            && let Some(task) = task_mut(&mut self.state, id)
        {
            task.attention = None;
        }
    }

    /// Grants changes of the plan anew, by the plan as it is now.
    pub(super) fn grant_anew(&mut self) {
        if let Some(grant) = self.state.run.grant.as_ref().map(ChangeGrant::anew) {
            Arc::make_mut(&mut self.state.run).grant = Some(grant);
        }
    }

    fn bindings_changed(&mut self, before: &State, changes: &[(AtomId, Option<Arc<Binding>>)]) {
        let (mut overwritten, mut forgotten) = (Vec::new(), Vec::new());
        let mut given_back = Vec::new();
        for (id, to) in changes {
            if to.is_some() {
                self.overwrite(id);
                overwritten.push(id);
            } else {
                let attempts = self.forget(before, id);
                given_back.push((id.clone(), attempts));
                self.take_mark(id);
                forgotten.push(id);
            }
        }
        self.drop_verdicts(before, overwritten.iter().chain(&forgotten).copied());
        self.drop_unfounded(&forgotten);
        self.give_back(&given_back);
        let changed = overwritten.iter().chain(&forgotten).copied();
        let has_dependents = self.reopen_downstream(changed);
        // An atom that is taken out with its result is told as removed.
        forgotten.retain(|id| !self.removed.contains(*id) || self.state.atom(id).is_some());
        if has_dependents && !(overwritten.is_empty() && forgotten.is_empty()) {
            self.follows("what depends on them is open again");
        }
        let is_bare = |id: &&&AtomId| {
            let binding = self.state.bindings.get(**id);
            !before.bindings.contains_key(**id) && binding.is_some_and(|binding| !binding.is_skip())
        };
        let bare: Vec<AtomId> =
            overwritten.iter().filter(is_bare).map(|id| (*id).clone()).collect();
        self.follows_for("no file comes with a result that you write", &bare);
        let overwritten = corrections::results(before, &self.state, &overwritten);
        let forgotten = corrections::lists(&[("bindings forgotten:", forgotten)]);
        let all = overwritten.into_iter().chain(forgotten);
        self.correct_all(CorrectionType::BindingsOverride, all);
    }

    /// Retries a failed, invalid or doubtful atom that a person set to pending. Only the program decides whether an
    /// atom has come to its end: a status is no refutation.
    fn statuses_changed(&mut self, before: &State, changes: &[(AtomId, AtomStatus)]) {
        let (mut opened, mut asked) = (Vec::new(), Vec::new());
        for (id, status) in changes {
            if self.set_by_hand(before, id, status) {
                match status {
                    AtomStatus::Pending => opened.push(id),
                    AtomStatus::Failed
                    | AtomStatus::Invalid(_)
                    | AtomStatus::NeedsGuidance
                    | AtomStatus::InDoubt(_) => asked.push(id),
                }
            }
        }
        let lists = corrections::lists(&[("to be tried again:", opened), ("in doubt:", asked)]);
        self.correct_all(CorrectionType::Resolution, lists);
    }

    /// Puts the effect of a result in doubt, whose atom is open or gone now. Without a context no attempt made it.
    pub(super) fn doubt_result(
        &mut self,
        atom: &AtomId,
        result: &Binding,
        reason: &str,
    ) -> Option<AttemptId> {
        let context = result.context.clone()?;
        let attempt = Arc::make_mut(&mut self.state.run).next_attempt(atom);
        self.record_doubt(InDoubtEntry {
            atom: atom.clone(),
            attempt: attempt.clone(),
            started: result.at.clone(),
            context: Some(context),
            reason: reason.into(),
        });
        Some(attempt)
    }

    pub(super) fn record_doubt(&mut self, doubt: InDoubtEntry) {
        self.record(self.state.run.pass + 1, EntryKind::InDoubt(doubt));
    }

    fn record(&mut self, pass: u64, kind: EntryKind) {
        let n = Entry::next(&self.state.trail);
        let entry = Entry::new(n, &self.at, self.state.serial.0, pass, kind);
        self.state.trail.push(Arc::new(entry));
    }

    /// Counts what can still be tried, for a state that is told before a loop takes it.
    pub(super) fn measure(&mut self) {
        let record = World::new(self.state.clone()).measure().record();
        let run = Arc::make_mut(&mut self.state.run);
        let extra = run.measure.take().map(|old| old.extra).unwrap_or_default();
        run.measure = Some(MeasureText { extra, ..record });
    }

    /// Writes the corrections. `before` is the committed state that the draft began from; without it every record is
    /// written anew. `what` describes the whole.
    pub(super) fn close(mut self, before: Option<&State>, what: String) -> Adoption {
        let lost_lines = lost_lines(&self.lost);
        let kind = match self.corrections.as_slice() {
            [one] => one.told_as(),
            _ => None,
        };
        for mut record in self.corrections {
            record.id = Some(Correction::free_id(&self.state.corrections));
            record.lost = core::mem::take(&mut self.lost);
            let correction = Correction::new(record);
            self.state.corrections.push(Arc::new(correction));
        }
        self.state.settle_order();
        let touched = match before {
            Some(before) => ChangeSet::between(before, &self.state),
            None => ChangeSet::all(&self.state),
        };
        Adoption {
            touched,
            state: self.state,
            at: self.at,
            events: Vec::from([Event::Corrected {
                kind,
                what,
                effects: self.effects,
                lost: lost_lines,
            }]),
        }
    }
}

fn described(corrections: &[CorrectionRecord]) -> String {
    let texts = corrections.iter().filter_map(|one| one.description.as_deref());
    texts.collect::<Vec<&str>>().join("; ")
}

/// Drops the ratings of a state with its question to a judge; the words for it, if there were ratings.
pub(super) fn drop_ratings(state: &mut State) -> Option<String> {
    if state.run.ratings.is_empty() && state.run.consult.is_none() {
        return None;
    }
    match Arc::make_mut(&mut state.run).drop_ratings() {
        0 => None,
        1 => Some("1 rating is dropped: it is asked for again".to_string()),
        n => Some(format!("{n} ratings are dropped: they are asked for again")),
    }
}
