//! Reads the journal: every commit that is kept, and the state of each, byte for byte.
//!
//! Invariant: every state returned has the seal that was committed; damaged ones are missing.
//! Nothing is written. Not here: the state file itself.

use std::path::PathBuf;

use descent_core::difference;
use descent_core::id::{Lineage, Serial};
use descent_core::state::State;
use descent_core::state::encode::StateText;
use descent_core::state::patch::Patch;

use super::super::load::{self, LoadedState};
use super::line::{self, Body, Commit, ReadLine};
use super::segments::{self, Allowance};

impl Commit {
    /// Whether this is a person's save, and not the commit made of it.
    pub fn is_edit(&self) -> bool {
        self.command == "edit"
    }

    /// `descent` for a commit of the loop, otherwise the person.
    pub fn author(&self) -> &str {
        match self.command.as_str() {
            "run" => "descent",
            _ => &self.by,
        }
    }

    /// Whether this edit precedes the commit `next` that adopted it.
    fn stands_before(&self, next: &Self) -> bool {
        self.serial < next.serial
            || (self.serial == next.serial && self.is_edit() && !next.is_edit())
    }

    pub fn describe(&self) -> String {
        match (self.is_edit(), self.changes.is_empty()) {
            (true, _) => "the file was saved by hand".to_owned(),
            (false, true) => match self.command.as_str() {
                "align" => "agreed".to_owned(),
                "fork" => "forked".to_owned(),
                _ => "kept as it was found".to_owned(),
            },
            (false, false) => difference::words(&self.changes),
        }
    }
}

/// A state of the past.
#[derive(Debug, Clone)]
pub struct PastState {
    pub state: State,
    pub bytes: Vec<u8>,
}

/// The kept history of a state file.
#[derive(Debug)]
pub struct History {
    dir: PathBuf,
}

impl History {
    pub(in super::super) fn of(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// The commits of a lineage, the oldest first; of several with one serial the last.
    pub fn commits(&self, lineage: &Lineage) -> Vec<Commit> {
        let mut found: Vec<Commit> = Vec::new();
        for commit in self.all(|commit| (commit.lineage == *lineage).then_some(commit)) {
            // An older file was put back meanwhile: the commits after it are gone.
            while found.last().is_some_and(|last| !last.stands_before(&commit)) {
                found.pop();
            }
            found.push(commit);
        }
        found
    }

    /// Earlier lineages whose commits are kept, each with its last serial, the oldest first.
    pub fn lineages(&self) -> Vec<(Lineage, Serial)> {
        let mut found: Vec<(Lineage, Serial)> = Vec::new();
        for (lineage, serial) in self.all(|commit| Some((commit.lineage, commit.serial))) {
            found.retain(|(other, _)| *other != lineage);
            found.push((lineage, serial));
        }
        found
    }

    /// The lineage of the newest line.
    pub(crate) fn newest_lineage(&self) -> Option<Lineage> {
        let mut newest = self.newest_first().filter_map(|mut lines| lines.pop());
        let newest = self.last_line().or_else(|| newest.next());
        newest.map(|line| line.commit.lineage)
    }

    /// Whether the newest line is the commit of that very state. No other line is looked at.
    pub(in super::super) fn ends_with(&self, loaded: &LoadedState) -> bool {
        let is_it = |line: ReadLine| {
            let is_same = match &line.body {
                Body::Whole(text) => text == loaded.text(),
                Body::Patch(patch) => patch.leads_to(&loaded.state),
                Body::Edit(_) => false,
            };
            is_same && line.commit.lineage == loaded.state.lineage
        };
        self.last_line().is_some_and(is_it)
    }

    fn last_line(&self) -> Option<ReadLine> {
        let newest = segments::segments(&self.dir).pop()?;
        let lines = segments::read(&newest, &mut Allowance::new());
        let whole = lines.strip_suffix(b"\n")?;
        let start = whole.iter().rposition(|byte| *byte == b'\n');
        line::decode(&whole[start.map_or(0, |end| end + 1)..]).pop()
    }

    /// The serial of the newest commit of a lineage.
    pub fn newest(&self, lineage: &Lineage) -> Option<Serial> {
        let last = self.last_line();
        if let Some(line) = last.filter(|line| line.commit.lineage == *lineage) {
            return Some(line.commit.serial);
        }
        let mut newest = self.lines_of(lineage).filter_map(|mut lines| lines.pop());
        newest.next().map(|line| line.commit.serial)
    }

    /// The lines of each segment, the newest segment first, as far as the allowance reaches. A segment is read when it
    /// is asked for.
    fn newest_first(&self) -> impl Iterator<Item = Vec<ReadLine>> {
        let mut allowance = Allowance::new();
        let segments = segments::segments(&self.dir).into_iter().rev();
        segments.map(move |segment| line::decode(&segments::read(&segment, &mut allowance)))
    }

    fn lines_of(&self, lineage: &Lineage) -> impl Iterator<Item = Vec<ReadLine>> {
        self.newest_first().map(|mut lines| {
            lines.retain(|line| line.commit.lineage == *lineage);
            lines
        })
    }

    /// The wanted part of each commit, the oldest first.
    fn all<T>(&self, wanted: impl Fn(Commit) -> Option<T>) -> Vec<T> {
        let of_segment = |lines: Vec<ReadLine>| -> Vec<T> {
            let commits = lines.into_iter().map(|line| line.commit);
            commits.filter_map(&wanted).collect()
        };
        let segments: Vec<Vec<T>> = self.newest_first().map(of_segment).collect();
        segments.into_iter().rev().flatten().collect()
    }

    /// The state of a serial, byte for byte as it was committed.
    pub fn state(&self, lineage: &Lineage, serial: Serial) -> Option<PastState> {
        let mut lines: Vec<ReadLine> = Vec::new();
        // Most questions are about new states: older files are read only if needed.
        for mut older in self.lines_of(lineage) {
            older.append(&mut lines);
            lines = older;
            let first = lines.first().map(|line| line.commit.serial);
            let has_it = lines.iter().any(|line| line.commit.serial >= serial);
            if first.is_some_and(|first| first <= serial)
                && has_it
                && let Some(past) = replayed(&lines, serial)
            {
                return Some(past);
            }
        }
        None
    }

    /// The edit of a person that the commit of this serial adopted.
    pub fn edit(&self, lineage: &Lineage, serial: Serial) -> Option<Vec<u8>> {
        let text = |line: ReadLine| match line.body {
            Body::Edit(text) if line.commit.serial == serial => {
                Some(text.into_owned().into_bytes())
            }
            Body::Edit(_) | Body::Whole(_) | Body::Patch(_) => None,
        };
        self.lines_of(lineage).find_map(|lines| lines.into_iter().rev().find_map(text))
    }
}

/// Replays the lines, from whole states over patches; the newest state of that serial counts.
fn replayed(lines: &[ReadLine], serial: Serial) -> Option<PastState> {
    let mut way = Way { serial, now: None, found: None };
    for line in lines {
        // If the line before is lost, its patch is here too.
        let mended = line.before.as_ref().and_then(|patch| way.over(patch));
        if let Some(state) = mended {
            way.take(state);
        }
        match &line.body {
            Body::Edit(_) => {}
            Body::Whole(text) => {
                if let Some(state) = whole(text) {
                    way.begin(state, text);
                }
            }
            Body::Patch(patch) => match way.over(patch) {
                Some(state) => way.take(state),
                None => way.now = None,
            },
        }
    }
    way.found
}

struct Way {
    serial: Serial,
    now: Option<State>,
    found: Option<PastState>,
}

impl Way {
    fn over(&self, patch: &Patch) -> Option<State> {
        patch.apply(self.now.as_ref()?)
    }

    /// A whole state was held against its seal when it was read.
    fn begin(&mut self, state: State, text: &str) {
        if state.serial == self.serial {
            self.found = Some(PastState { state: state.clone(), bytes: text.as_bytes().to_vec() });
        }
        self.now = Some(state);
    }

    fn take(&mut self, state: State) {
        if state.serial == self.serial {
            self.found = proved(&state).or(self.found.take());
        }
        self.now = Some(state);
    }
}

fn whole(text: &str) -> Option<State> {
    let loaded = load::read_past(text.to_owned().into_bytes()).ok()?;
    (!loaded.is_foreign).then_some(loaded.state)
}

/// The state with its bytes, if they have its seal.
fn proved(state: &State) -> Option<PastState> {
    let rendered = StateText::of(state);
    (state.seal.as_ref() == Some(&rendered.seal(state)))
        .then(|| PastState { bytes: rendered.text(state).into_bytes(), state: state.clone() })
}
