//! A change to look at: of the result, of an atom, of an attempt that failed or is at work.
//!
//! Invariant: nothing is changed by a look, and no loop is waited for. Not here: how a change is shown.

use std::collections::BTreeMap;

use descent_core::{
    doc,
    event::Event,
    id::{AtomId, AttemptId, CommitId},
    state::{Atom, State, Workspace, atom::Body},
    view::named::{self, AttemptEnd, KnownAttempt},
};

use serde::Serialize;

use super::result::{self, ResultTree};
use crate::driver;
use descent_store::{StatePlace, Store};
use descent_system::failure::{Failure, exit};
use descent_workspace::{
    self as workspace, Workspaces, Worktrees,
    git::{Change, FileLines},
};

const SCHEMA: &str = "descent/diff/1";
/// Names in a hint at most.
const NAMES_MAX: usize = 20;

/// A change to look at: `descent diff --json`
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiffReport {
    schema: &'static str,
    /// The subject of the change.
    of: DiffSubject,
    pub atom: Option<AtomId>,
    attempt: Option<AttemptId>,
    /// How the attempt ended, where one is shown.
    ended: Option<AttemptEnd>,
    /// The commit that the change is against.
    base: Option<CommitId>,
    /// The commit that holds it; null of a workspace, and where nothing changed.
    commit: Option<CommitId>,
    pub files: Vec<FileLines>,
    /// The patch; null with --stat and --name-only.
    patch: Option<String>,
    /// Why this change is shown, or why there is none.
    pub note: Option<String>,
    /// One command to type next.
    pub next: String,
    #[serde(skip)]
    change: Option<(Worktrees, Change)>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
enum DiffSubject {
    #[default]
    Result,
    Atom,
    Attempt,
}

impl DiffReport {
    /// Puts the patch into it.
    pub fn with_patch(&mut self) -> Result<(), Failure> {
        self.patch = Some(String::from_utf8_lossy(&self.patch()?).into_owned());
        Ok(())
    }

    /// The patch that `git apply` takes.
    pub fn patch(&self) -> Result<Vec<u8>, Failure> {
        Ok(match &self.change {
            Some((trees, change)) => trees.git().patch(change)?,
            None => Vec::new(),
        })
    }

    /// The patch without the bytes of binary files.
    pub fn readable_patch(&self) -> Result<Vec<u8>, Failure> {
        Ok(match &self.change {
            Some((trees, change)) => trees.git().readable_patch(change, &[])?,
            None => Vec::new(),
        })
    }

    fn with(mut self, trees: Worktrees, base: CommitId, change: Change) -> Result<Self, Failure> {
        self.files = trees.git().lines(&change)?;
        self.base = Some(base);
        self.change = Some((trees, change));
        Ok(self)
    }

    fn noted(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }
}

/// The change of what is named: an atom or an attempt, without a name a result.
pub fn diff(
    store: &mut Store,
    name: Option<&str>,
    tree: ResultTree,
) -> Result<DiffReport, Failure> {
    let loaded = store.read()?;
    let state = &loaded.state;
    if state.objective.constraints.workspace() == Workspace::Shared {
        return Err(in_place());
    }
    let Some(name) = name else {
        let report = of_result(state, store.place(), tree)?;
        let next = match tree {
            _ if report.files.is_empty() => "descent status",
            ResultTree::Last => "descent apply --last -n",
            ResultTree::Delivered => "descent apply -n",
        };
        return Ok(DiffReport { schema: SCHEMA, next: next.to_owned(), ..report });
    };
    let events = events(store, state);
    let known = named::known_attempts(state, &events);
    let atoms = state.all_atoms();
    let lookup = NameLookup { state, place: store.place(), known: &known };
    let id = AtomId::new(name);
    if let Some(atom) = atoms.get(&id) {
        return lookup.of_atom(&id, atom);
    }
    match known.get(&AttemptId::new(name)) {
        Some(attempt) => lookup.of_attempt(attempt),
        None => Err(unknown(state, &known, name, "atom or attempt")),
    }
}

/// The events of the journal, the oldest first.
pub(super) fn events(store: &Store, state: &State) -> Vec<Event> {
    let commits = store.history().commits(&state.lineage).into_iter();
    commits.flat_map(|commit| commit.events).collect()
}

fn of_result(state: &State, place: &StatePlace, tree: ResultTree) -> Result<DiffReport, Failure> {
    let Some(result) = result::open(state, place, tree)? else {
        let what = "there is no result yet: no run has made one apart from the working tree";
        let hint = "descent run";
        return Err(Failure::new("E-NO-RESULT", exit::NOT_SO, what, hint));
    };
    let change = Change::between(&result.start, &result.head);
    let applied = workspace::applied(place, &state.lineage);
    let is_applied = result.base == result.head || applied.as_ref() == Some(&result.head);
    let is_begun = result.base != result.start;
    let report = DiffReport { commit: Some(result.head), ..DiffReport::default() };
    let report = report.with(result.trees, result.start, change)?;
    let note = match (report.files.is_empty(), is_applied, is_begun) {
        (true, ..) => "the result changes no file",
        (_, true, _) => "it is applied already: this is all of it, from the start of the run",
        (.., true) => {
            "a part of it is applied already: this is all of it, from the start of the run"
        }
        (.., false) => return Ok(report),
    };
    Ok(report.noted(note))
}

/// The places that a name is looked up in.
struct NameLookup<'a> {
    state: &'a State,
    place: &'a StatePlace,
    known: &'a BTreeMap<AttemptId, KnownAttempt>,
}

impl NameLookup<'_> {
    fn trees(&self) -> Result<Worktrees, Failure> {
        let workspaces = Workspaces::of(self.place, self.state)?;
        workspaces.trees().cloned().ok_or_else(in_place)
    }

    fn of_atom(&self, id: &AtomId, atom: &Atom) -> Result<DiffReport, Failure> {
        if let Body::All { .. } | Body::Any { .. } = &atom.body {
            let what = format!("{id} is a group: what changes files are the tasks inside it");
            return Err(Failure::usage(what, format!("descent why {id}")));
        }
        let report = of_atom(id);
        if let Some(binding) = self.state.bindings.get(id) {
            return match &binding.commit {
                Some(commit) => self.of_commit(report, commit),
                None => Ok(report.noted(format!("{id} changed no file: {}", binding.summary))),
            };
        }
        match named::newest_of(self.known, id) {
            Some(attempt) => {
                let mut found = self.of_attempt(attempt)?;
                let open = format!("{id} is not solved: this is its attempt {}", attempt.id);
                found.note.get_or_insert_with(|| format!("{open}, which {}", how(attempt)));
                Ok(found)
            }
            None => Ok(report.noted(format!("{id} has not been tried yet"))),
        }
    }

    fn of_attempt(&self, attempt: &KnownAttempt) -> Result<DiffReport, Failure> {
        let report = DiffReport {
            of: DiffSubject::Attempt,
            attempt: Some(attempt.id.clone()),
            ended: Some(attempt.end),
            ..of_atom(&attempt.atom)
        };
        let trees = self.trees()?;
        let result = attempt.commit.as_ref();
        let made = match result {
            Some(commit) if trees.is_there(commit)? => Some(commit.clone()),
            Some(_) | None => trees.made_by(&attempt.id)?,
        };
        if let Some(commit) = made {
            return self.of_commit(report, &commit);
        }
        if let (AttemptEnd::Running, Some(base)) = (attempt.end, &attempt.base) {
            return self.at_work(report, trees, &attempt.id, base);
        }
        let has_changed_nothing = attempt.end == AttemptEnd::Solved && result.is_none()
            || attempt.end == AttemptEnd::Failed && attempt.is_in_full && attempt.changed == 0;
        if has_changed_nothing {
            Ok(report.noted(format!("{} changed no file", attempt.id)))
        } else {
            Err(gone(attempt))
        }
    }

    fn of_commit(&self, report: DiffReport, commit: &CommitId) -> Result<DiffReport, Failure> {
        let trees = self.trees()?;
        let kind = self.state.objective.constraints.workspace();
        let missing = || result::commit_missing(commit, kind);
        if !trees.is_there(commit)? {
            return Err(missing());
        }
        let base = trees.git().parent_of(commit)?.ok_or_else(missing)?;
        let change = Change::between(&base, commit);
        let report = DiffReport { commit: Some(commit.clone()), ..report };
        report.with(trees, base, change)
    }

    /// The files of an attempt in flight, as they are now.
    fn at_work(
        &self,
        report: DiffReport,
        trees: Worktrees,
        attempt: &AttemptId,
        base: &CommitId,
    ) -> Result<DiffReport, Failure> {
        let run = self.state.run.id.as_ref();
        let slot = run.and_then(|run| driver::slot_of(self.place, run, attempt));
        let note = format!("{attempt} has changed no file yet");
        let change = slot.map(|at| trees.change_in(at, base)).transpose()?;
        let Some(change) = change.flatten() else {
            return Ok(report.noted(note));
        };
        let report = report.with(trees, base.clone(), change)?;
        Ok(match report.files.is_empty() {
            true => report.noted(note),
            false => {
                report.noted(format!("{attempt} is in flight: these are its files as they are now"))
            }
        })
    }
}

fn of_atom(id: &AtomId) -> DiffReport {
    DiffReport {
        schema: SCHEMA,
        of: DiffSubject::Atom,
        atom: Some(id.clone()),
        next: format!("descent why {id}"),
        ..DiffReport::default()
    }
}

fn how(attempt: &KnownAttempt) -> &'static str {
    match attempt.end {
        AttemptEnd::Running => "is in flight",
        AttemptEnd::Solved => "solved it once",
        AttemptEnd::Failed => "failed",
        AttemptEnd::Conflict => "did not merge",
        AttemptEnd::InDoubt => "is in doubt",
        AttemptEnd::Other => "was cut off",
    }
}

fn in_place() -> Failure {
    let what = "the workspace is `shared`: every attempt changes your own files in place, so no change is kept apart";
    let hint = "look with your own tools: git diff";
    Failure::new("E-GONE", exit::UNAVAILABLE, what, hint)
}

fn gone(attempt: &KnownAttempt) -> Failure {
    let what =
        format!("the change of {} is not kept (any more), or it changed no file", attempt.id);
    let hint = format!("descent why {} tells what is kept of it", attempt.atom);
    Failure::new("E-GONE", exit::UNAVAILABLE, what, hint)
}

/// A name that nothing has; `kind` says what was looked for.
pub(super) fn unknown(
    state: &State,
    known: &BTreeMap<AttemptId, KnownAttempt>,
    name: &str,
    kind: &str,
) -> Failure {
    let atoms = state.all_atoms();
    let mut names: Vec<&str> = known.keys().map(AttemptId::as_str).collect();
    names.extend(atoms.keys().map(|id| id.as_str()));
    // Another attempt of the same atom is meant sooner than one of the same number.
    let atom = name.rsplit_once('.').map(|(atom, _)| AtomId::new(atom));
    let of_atom = known.values().filter(|one| Some(&one.atom) == atom.as_ref());
    let near = doc::did_you_mean(name, of_atom.map(|one| one.id.as_str()));
    let near = near.or_else(|| doc::did_you_mean(name, names.iter().copied()));
    let hint = match near {
        Some(near) => near,
        None if names.is_empty() => "nothing was tried yet: descent run".to_owned(),
        None => {
            names.reverse();
            names.truncate(NAMES_MAX);
            format!("one of {}", names.join(", "))
        }
    };
    Failure::usage(format!("there is no {kind} `{name}`"), hint)
}
