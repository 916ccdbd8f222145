//! Memory between the runs of a project: which file is a project's, what a run is given of it, and what an ending leaves
//! in it.
//!
//! Invariant: nothing is written before the outcome of a run is committed. No trouble with the file ends a run: it is told
//! in a line. Not here: the file (`remembered`), the lessons (`memory` of the core).

use std::path::{Path, PathBuf};

use descent_core::{
    id::{Digest, LessonId, RunId},
    memory,
    state::{Extra, LearntRun, Lesson, LessonBook, MemoryUse, State},
    world::World,
};

use super::{Client, Progress};
use crate::{
    failure::{Failure, exit},
    git::Git,
    remembered::{FoundBook, LessonFile, MemoryError},
};

/// The memory of a run, where it has one.
#[derive(Debug)]
pub struct RunMemory {
    file: LessonFile,
    /// The lessons for a run that begins.
    pub lessons: Vec<Lesson>,
}

impl RunMemory {
    /// Reads what a run on this state is given; `None` where memory is off, or has no place. `git` is the repository
    /// around the project, if it was opened already.
    pub fn of(
        client: &dyn Client,
        project: &Path,
        git: Option<&Git>,
        state: &State,
    ) -> Option<Self> {
        if state.objective.constraints.memory() == MemoryUse::Off {
            return None;
        }
        let file = told(client, LessonFile::find(&key(project, git)))?;
        if !memory::begins(state.run.status) {
            let lessons = Vec::new();
            return Some(Self { file, lessons });
        }
        let found = told(client, file.read())?;
        let note = found.note.into_iter();
        note.for_each(|note| client.tell(&Progress::Note(format!("warning: {note}"))));
        let lessons = given(&found.book, state);
        Some(Self { file, lessons })
    }

    /// Writes down what the ending of this run taught.
    pub fn learn(&self, client: &dyn Client, world: &World, run: &RunId) {
        let state = &world.state;
        let is_its = state.run.id.as_ref() == Some(run);
        if !is_its || state.objective.constraints.memory() == MemoryUse::Off {
            return;
        }
        let learnt = memory::of_ending(world);
        if learnt.is_empty() {
            return;
        }
        let this =
            LearntRun { lineage: state.lineage.clone(), run: run.clone(), extra: Extra::default() };
        let now = client.now();
        let changed = self.file.change(|book| memory::learn(book, learnt, this, now));
        if let Some((found, _)) = told(client, changed) {
            let note = found.note.into_iter();
            note.for_each(|note| client.tell(&Progress::Note(format!("warning: {note}"))));
        }
    }
}

/// The lessons that a run on this state is given.
fn given(book: &LessonBook, state: &State) -> Vec<Lesson> {
    if book.lessons.is_empty() {
        Vec::new()
    } else {
        memory::given(book, &World::new(state.clone()))
    }
}

/// The lessons that a run on this state would be given, for `align` to show. Trouble with the file is no fault of the
/// agreement.
pub fn shown(client: &dyn Client, project: &Path, state: &State) -> Vec<Lesson> {
    RunMemory::of(client, project, None, state).map_or_else(Vec::new, |memory| memory.lessons)
}

/// The value, or a line that says why there is none.
fn told<T>(client: &dyn Client, done: Result<T, MemoryError>) -> Option<T> {
    let told = |error: &MemoryError| {
        let words = format!("warning: {error}\n  {}", error.hint());
        client.tell(&Progress::Note(words));
    };
    done.inspect_err(told).ok()
}

/// A project's lessons, and where they are kept.
#[derive(Debug)]
pub struct ProjectLessons {
    pub path: PathBuf,
    pub lessons: Vec<Lesson>,
    /// Why something that lay there could not be used.
    pub note: Option<String>,
}

pub fn list(project: &Path) -> Result<ProjectLessons, Failure> {
    let file = file_of(project)?;
    let FoundBook { book, note, .. } = file.read()?;
    Ok(ProjectLessons { path: file.path(), lessons: book.lessons, note })
}

pub fn forget(project: &Path, id: &LessonId) -> Result<(), Failure> {
    let file = file_of(project)?;
    match file.change(|book| memory::forget(book, id))? {
        (_, true) => Ok(()),
        (_, false) => Err(no_lesson(id)),
    }
}

/// Forgets all lessons; gives how many. The endings that left them stay known, so that none leaves them again.
pub fn clear(project: &Path) -> Result<usize, Failure> {
    let mut count = 0;
    file_of(project)?.change(|book| {
        count = book.lessons.len();
        book.lessons.clear();
        count > 0
    })?;
    Ok(count)
}

/// A copy of the lessons for a person's editor.
#[derive(Debug)]
pub struct LessonsCopy {
    file: LessonFile,
    /// The bytes of the file; the copy begins with the same, or with the text of no lessons.
    before: Vec<u8>,
    text: Vec<u8>,
    pub path: PathBuf,
}

impl LessonsCopy {
    pub fn make(project: &Path) -> Result<Self, Failure> {
        let file = file_of(project)?;
        let found = file.read()?;
        let text = if found.bytes.is_empty() {
            memory::write(&found.book).into_bytes()
        } else {
            found.bytes.clone()
        };
        let path = file.copy(&text)?;
        let before = found.bytes;
        Ok(Self { file, before, text, path })
    }

    /// Takes in the text that the copy has now; `None` where it is as it was. The copy stays where it cannot be used.
    pub fn take_in(&self) -> Result<Option<Vec<Lesson>>, Failure> {
        let text = self.file.read_copy(&self.path)?;
        let taken = if text == self.text {
            None
        } else {
            Some(self.file.replace(&self.before, &text, &self.path)?.lessons)
        };
        self.file.remove_copy(&self.path);
        Ok(taken)
    }
}

pub fn no_lesson(id: &LessonId) -> Failure {
    let hint = "descent memory lists them";
    Failure::new(
        "E-USAGE",
        exit::USAGE,
        format!("no lesson is called `{}`", id.as_str().escape_debug()),
        hint,
    )
}

fn file_of(project: &Path) -> Result<LessonFile, MemoryError> {
    LessonFile::find(&key(project, None))
}

/// The same for every clone of a repository, and for no other project in it. Without a first commit that is surely the
/// first, a directory is known by its path.
fn key(project: &Path, git: Option<&Git>) -> Digest {
    let project = project.canonicalize().unwrap_or_else(|_| project.to_owned());
    let parts = in_repository(&project, git)
        .unwrap_or_else(|| ["path".to_owned(), project.display().to_string()]);
    Digest::sha256(serde_json::json!(parts).to_string().as_bytes())
}

fn in_repository(project: &Path, known: Option<&Git>) -> Option<[String; 2]> {
    let git = match known {
        Some(git) => git.clone(),
        None => Git::open(project).ok()??,
    };
    let top = git.top().canonicalize().ok()?;
    let inside = project.strip_prefix(top).ok()?.display().to_string();
    Some([git.first_commit()?.to_string(), inside])
}
