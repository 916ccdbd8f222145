//! Checks every commit for violations of the invariants.
//!
//! Not here: the end that the run should reach (`story`).

use std::collections::{BTreeMap, BTreeSet};

use descent_core::{
    id::{AttemptId, CommitId, Serial},
    state::{RunStatus, State, TryEnd},
    view,
};

use descent_store::{LoadedState, testing::whole};

/// A person's edit of one place.
#[derive(Debug)]
pub(super) struct Edit {
    pub(super) atom: String,
    /// The text of that place since then.
    pub(super) words: String,
    /// Whether it was seen in a commit.
    is_in: bool,
    /// The power was cut before that, or the person overwrote it: it may be gone.
    may_be_gone: bool,
}

#[derive(Debug, Default)]
pub(super) struct Watchman {
    /// The newest durable commit.
    last: Option<State>,
    /// Every file that a person saved, whole or not.
    saves: BTreeSet<Vec<u8>>,
    pub(super) edits: Vec<Edit>,
    /// The newest commit that has, or had, the name, until it is durable.
    shown: Option<LoadedState>,
    /// Whether a call failed since.
    has_failed: bool,
    /// Whether a save is not adopted yet.
    is_edited: bool,
    /// Whether the next serial follows that of a save.
    may_jump: bool,
    /// The newest serial that was reported.
    reported: Serial,
    landed: BTreeSet<AttemptId>,
    /// The attempts among them that landed in `last`.
    landed_last: Vec<AttemptId>,
    /// Attempts whose end counts.
    pub(super) ended: BTreeSet<AttemptId>,
    /// Commits that no power cut takes back.
    pub(super) durable: BTreeSet<CommitId>,
    /// A person's old file took the place of commits that nobody else held, and then the loop died.
    pub(super) is_excused: bool,
    pub(super) max_attempts: u32,
    pub(super) corrections: usize,
    pub(super) repairs: u64,
    bound: Option<u64>,
    /// The measure includes a correction's reopened work from the next commit on.
    counts_anew: bool,
}

type Looked = Result<Vec<String>, String>;

impl Watchman {
    /// Takes the bytes under the name: a whole state of the program, or a person's file.
    pub(super) fn shown(&mut self, bytes: &[u8]) -> Result<(), String> {
        let before = self.shown.take();
        if self.saves.contains(bytes) {
            self.saved();
            return Ok(());
        }
        let gave_way = self.gives_way();
        (self.is_edited, self.has_failed) = (false, false);
        let shown = whole(bytes).filter(|loaded| !loaded.is_foreign);
        let shown = shown.ok_or("a reader sees what is neither whole nor a person's")?;
        // A commit that could not be made durable was read and gone on from.
        let was_read = |before: &LoadedState| !gave_way && before.state.serial < shown.state.serial;
        if let Some(before) = before.filter(was_read) {
            self.take(before)?;
        }
        self.shown = Some(shown);
        Ok(())
    }

    /// A person's file has the name.
    pub(super) fn saved(&mut self) {
        self.is_edited = true;
        self.may_jump = true;
    }

    pub(super) fn may_save(&mut self, bytes: &[u8]) {
        self.saves.insert(bytes.to_vec());
    }

    pub(super) fn edits(&mut self, atom: &str, words: &str) {
        for edit in self.edits.iter_mut().filter(|edit| edit.atom == atom) {
            edit.may_be_gone = true;
        }
        self.edits.push(Edit {
            atom: atom.to_owned(),
            words: words.to_owned(),
            is_in: false,
            may_be_gone: false,
        });
    }

    /// Whether the commit shown last could not be made to stay and a person's save has its name. Then the loop goes on
    /// from its earlier state, and makes the same step again.
    fn gives_way(&self) -> bool {
        self.is_edited && self.has_failed
    }

    /// Notes a failing disk call.
    pub(super) fn failed(&mut self) {
        self.has_failed = self.shown.is_some();
    }

    /// The commit shown last stays, whatever a person puts over it.
    pub(super) fn kept(&mut self) -> Looked {
        let gave_way = self.gives_way();
        let shown = self.shown.take().filter(|_| !gave_way);
        shown.map_or_else(|| Ok(Vec::new()), |loaded| self.take(loaded))
    }

    fn take(&mut self, loaded: LoadedState) -> Looked {
        for edit in self.edits.iter_mut().filter(|edit| !edit.is_in) {
            edit.is_in = loaded.text().contains(&edit.words);
        }
        let next = loaded.state;
        self.commits_are_there(&next)?;
        let mut lines = Vec::new();
        if let Some(last) = self.last.take() {
            // The first was not durable, and the person's save over it is in the second.
            if last.serial == next.serial {
                // Attempts that landed in the first alone are in flight again.
                for id in self.landed_last.drain(..) {
                    self.landed.remove(&id);
                }
                self.counts_anew |= last.corrections.len() != next.corrections.len();
                self.last = Some(next);
                return Ok(lines);
            }
            let line = line(&last, &next);
            self.follows(&last, &next).map_err(|what| format!("{what} in {line}"))?;
            lines.push(line);
        }
        self.bound = self.bound.or_else(|| Some(measure(&next)?.0));
        self.may_jump = false;
        self.corrections = next.corrections.len();
        self.repairs = next.run.spent.repairs;
        self.last = Some(next);
        Ok(lines)
    }

    fn follows(&mut self, last: &State, next: &State) -> Result<(), String> {
        let is_next = next.serial.0 == last.serial.0 + 1;
        if !(is_next || self.is_excused || self.may_jump && next.serial > last.serial) {
            return Err(format!("serial {} after {}", next.serial.0, last.serial.0));
        }
        let landed = self.land(last, next)?;
        let is_corrected = next.corrections.len() != last.corrections.len();
        let counts_anew = self.counts_anew;
        self.counts_anew = is_corrected || counts_anew && self.may_jump;
        if is_corrected || self.is_excused {
            return Ok(());
        }
        let counted = landed.iter().filter(|id| self.ended.contains(*id)).count() as u64;
        let more = next.run.spent.attempts.saturating_sub(last.run.spent.attempts);
        if more > counted {
            return Err(format!("{more} attempts counted, {counted} had ended: {landed:?}"));
        }
        self.contexts(next)?;
        let is_one_run = last.run.id == next.run.id && !counts_anew;
        match (measure(last), measure(next)) {
            (Some(before), Some(after)) if is_one_run && after > before => {
                Err(format!("the measure rose from {before:?} to {after:?}"))
            }
            _ => Ok(()),
        }
    }

    /// Checks that no landed attempt is in flight again, and that each new landing was in flight.
    fn land(&mut self, last: &State, next: &State) -> Result<Vec<AttemptId>, String> {
        let ids = |state: &State| -> BTreeSet<AttemptId> {
            state.run.in_flight.iter().map(|intent| intent.id.clone()).collect()
        };
        let (before, after) = (ids(last), ids(next));
        let again = after.iter().find(|id| self.landed.contains(*id));
        if let Some(id) = again.filter(|_| !self.is_excused) {
            return Err(format!("{id} is in flight again"));
        }
        let landed: Vec<AttemptId> = before.difference(&after).cloned().collect();
        self.landed.extend(landed.iter().cloned());
        self.landed_last.clone_from(&landed);
        Ok(landed)
    }

    fn contexts(&self, state: &State) -> Result<(), String> {
        for (id, atom) in state.all_atoms() {
            let tries = atom.task().into_iter().flat_map(|task| &task.tries);
            for tried in tries.filter(|tried| tried.repairs == 0) {
                if tried.attempts > self.max_attempts {
                    return Err(format!("{} attempts of {id} in one context", tried.attempts));
                }
            }
        }
        Ok(())
    }

    fn commits_are_there(&self, state: &State) -> Result<(), String> {
        let named = view::commits(state);
        let gone = named.iter().find(|commit| !self.durable.contains(*commit));
        gone.map_or(Ok(()), |gone| {
            Err(format!("the state names {gone}, which a power cut can take back"))
        })
    }

    /// Notes that this commit was reported.
    pub(super) fn reported(&mut self, serial: Serial) {
        self.reported = self.reported.max(serial);
    }

    /// Whether the newest durable commit holds this attempt as begun.
    pub(super) fn stands_in_flight(&self, id: &AttemptId) -> bool {
        let last = self.last.iter().flat_map(|state| &state.run.in_flight);
        last.into_iter().any(|intent| intent.id == *id)
    }

    /// The file as the next loop finds it.
    pub(super) fn found(&mut self, bytes: &[u8]) -> Looked {
        self.shown = None;
        if self.saves.contains(bytes) {
            let serial = whole(bytes).map(|loaded| loaded.state.serial);
            self.saved();
            // Commits that the save lacks are nowhere else, unless the journal had time to keep them.
            if serial.is_none_or(|serial| serial < self.reported) {
                self.is_excused = true;
            }
            return Ok(Vec::new());
        }
        let Some(loaded) = whole(bytes).filter(|loaded| !loaded.is_foreign) else {
            return Err("the file is neither whole nor a person's".to_owned());
        };
        let serial = loaded.state.serial;
        if serial < self.reported && !self.is_excused {
            let (reported, serial) = (self.reported.0, serial.0);
            return Err(format!("{reported} was told as committed, and {serial} is there"));
        }
        // The commit of a dead loop may not be durable and can still be lost: nothing was begun on it.
        if self.last.as_ref().is_some_and(|last| last.serial < serial) {
            self.shown = Some(loaded);
            return Ok(Vec::new());
        }
        self.take(loaded)
    }

    pub(super) fn is_edited(&self) -> bool {
        self.is_edited
    }

    pub(super) fn power_was_cut(&mut self) {
        for edit in self.edits.iter_mut().filter(|edit| !edit.is_in) {
            edit.may_be_gone = true;
        }
    }

    /// Checks that every edit is in the state, named among the lost values, or kept beside the state.
    pub(super) fn no_edit_is_lost(&self, texts: &[String]) -> Result<(), String> {
        let is_there = |edit: &&Edit| texts.iter().any(|text| text.contains(&edit.words));
        let lost = self.edits.iter().find(|edit| !edit.may_be_gone && !is_there(edit));
        lost.map_or(Ok(()), |lost| Err(format!("the edit {} of {} is lost", lost.words, lost.atom)))
    }

    /// Checks that there were never more attempts than the bound at the start.
    pub(super) fn is_within_bound(&self) -> Result<(), String> {
        let (Some(bound), Some(last)) = (self.bound, &self.last) else {
            return Ok(());
        };
        let attempts = last.run.spent.attempts;
        let is_plain = self.corrections == 0 && self.repairs == 0 && !has_environmental(last);
        if is_plain && attempts > bound {
            Err(format!("{attempts} attempts, the bound was {bound}"))
        } else {
            Ok(())
        }
    }
}

fn has_environmental(state: &State) -> bool {
    let text = state.trail.iter().any(|entry| {
        let class = entry.node.get("class").and_then(|class| class.as_str());
        class == Some("environmental")
    });
    let atoms = state.all_atoms();
    let mut tries = atoms.values().filter_map(|atom| atom.task()).flat_map(|task| &task.tries);
    text || tries.any(|tried| {
        matches!(
            tried.ended,
            Some(TryEnd::Failed(descent_core::state::FailureClass::Environmental))
        )
    })
}

fn measure(state: &State) -> Option<(u64, u64)> {
    let measure = state.run.measure.as_ref()?;
    Some((
        measure.attempts.as_ref()?.as_str().parse().ok()?,
        measure.verdicts.as_ref()?.as_str().parse().ok()?,
    ))
}

fn line(last: &State, next: &State) -> String {
    let in_flight: Vec<String> =
        next.run.in_flight.iter().map(|intent| format!("{}#{}", intent.atom, intent.n)).collect();
    let solved: Vec<String> = next.bindings.keys().map(ToString::to_string).collect();
    let status = match next.run.status {
        RunStatus::Running => "",
        other => other.word(),
    };
    let corrected =
        match next.corrections.len() - last.corrections.len().min(next.corrections.len()) {
            0 => "",
            _ => " corrected",
        };
    format!("serial {}: flying {in_flight:?} solved {solved:?} {status}{corrected}", next.serial.0)
}

/// Counts by name, over several stories.
pub(super) type Counts = BTreeMap<&'static str, u32>;
