//! Memory between the runs of a project: which file is a project's, what a run is given of it, and what an ending leaves
//! in it. The file is `$XDG_DATA_HOME/descent/memory/KEY.json`, outside of the repository.
//!
//! Invariant: nothing is written before the outcome of a run is committed. No trouble with the file ends a run: it is told
//! in a line. The file is read only where it is a plain one of our own, and written whole under a lock. One that cannot be
//! used is set aside. Not here: the lessons (`memory` of the core).

use std::{
    fmt,
    path::{Path, PathBuf},
};

use descent_core::{
    id::{Digest, LessonId, RunId},
    memory,
    state::{Extra, LearntRun, Lesson, LessonBook, MemoryUse, State},
    world::World,
};

use super::{Client, Progress};
use crate::{
    failure::{Failure, exit},
    files::{self, private},
    git::Git,
    store,
};

/// Bytes of a file of lessons at most: many times what [`memory::LESSONS_MAX`] lessons need.
const BYTES_MAX: u64 = 4 << 20;
/// Files that are set aside at most; then the oldest name is used again.
const ASIDE_MAX: usize = 5;

/// The lessons that were found at the name of the file.
struct FoundBook {
    /// Empty where nothing could be used.
    book: LessonBook,
    bytes: Vec<u8>,
    /// Why there was something that could not be used, in a line.
    note: Option<String>,
}

/// The file of one project.
#[derive(Debug, Clone)]
struct LessonFile {
    dir: PathBuf,
    name: String,
}

impl LessonFile {
    /// `git` is the repository around the project, if it was opened already.
    fn find(project: &Path, git: Option<&Git>) -> Result<Self, Failure> {
        let Some(home) = private::data_home(private::variable) else {
            return Err(unwritable(&"a home", &"neither XDG_DATA_HOME nor HOME names a place"));
        };
        let name = key(project, git).as_str().trim_start_matches("sha256:").to_owned();
        Ok(Self { dir: home.join("memory"), name })
    }

    fn beside(&self, end: &str) -> PathBuf {
        self.dir.join(format!("{}.{end}", self.name))
    }

    fn path(&self) -> PathBuf {
        self.beside("json")
    }

    /// The lessons. A file that cannot be used is set aside, if it is ours; another's stays as it is.
    fn read(&self) -> Result<FoundBook, Failure> {
        let path = self.path();
        let bytes = private::read_private(&self.dir, &path, BYTES_MAX).map_err(|why| {
            let hint = "remove it, or make it your own (mode 0600)";
            trouble(format!("{} is not used: {why}", path.display()), hint)
        })?;
        let mut found = FoundBook { book: memory::new(), bytes: Vec::new(), note: None };
        match bytes.map(|bytes| (memory::read(&bytes), bytes)) {
            None => {}
            Some((Ok(book), bytes)) => (found.book, found.bytes) = (book, bytes),
            Some((Err(why), _)) => {
                let (path, aside) = (path.display(), self.set_aside()?);
                let aside = aside.display();
                found.note = Some(format!(
                    "{path}: {why}; it is kept as {aside}, and nothing is remembered from it"
                ));
            }
        }
        Ok(found)
    }

    /// Changes the lessons under a lock; written only where `change` says so. Gives what it found, and whether it wrote.
    fn change(
        &self,
        change: impl FnOnce(&mut FoundBook) -> Result<bool, Failure>,
    ) -> Result<(FoundBook, bool), Failure> {
        private::make_private(&self.dir)
            .map_err(|error| unwritable(&self.dir.display(), &error))?;
        let lock = self.beside("lock");
        let _held = store::exclusive(&lock).map_err(|error| unwritable(&lock.display(), &error))?;
        let mut found = self.read()?;
        let is_changed = change(&mut found)?;
        if is_changed {
            self.write("json", memory::write(&found.book).as_bytes())?;
        }
        Ok((found, is_changed))
    }

    fn write(&self, end: &str, bytes: &[u8]) -> Result<(), Failure> {
        let written = private::write_private(&self.dir, &format!("{}.{end}", self.name), bytes);
        written.map_err(|error| unwritable(&self.beside(end).display(), &error))
    }

    /// Moves what lies there to a free name.
    fn set_aside(&self) -> Result<PathBuf, Failure> {
        let name = |n: usize| self.beside(&format!("aside-{n}"));
        let free = (1..ASIDE_MAX).map(name).find(|name| name.symlink_metadata().is_err());
        let (from, to) = (self.path(), free.unwrap_or_else(|| name(ASIDE_MAX)));
        let moved = files::remove(&to).and_then(|()| files::move_to(&from, &to));
        moved.map_err(|error| unwritable(&from.display(), &error))?;
        Ok(to)
    }
}

fn trouble(what: String, hint: &str) -> Failure {
    Failure::new("E-MEMORY", exit::IO, what, hint)
}

fn unwritable(place: &dyn fmt::Display, why: &dyn fmt::Display) -> Failure {
    let hint = "set XDG_DATA_HOME to a directory of your own that can be written";
    trouble(format!("lessons cannot be remembered in {place}: {why}"), hint)
}

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
        let file = told(client, LessonFile::find(project, git))?;
        if !memory::begins(state.run.status) {
            let lessons = Vec::new();
            return Some(Self { file, lessons });
        }
        let found = told(client, file.read())?;
        tell_note(client, &found);
        let lessons = if found.book.lessons.is_empty() {
            Vec::new()
        } else {
            memory::given(&found.book, &World::new(state.clone()))
        };
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
        let learn = |found: &mut FoundBook| Ok(memory::learn(&mut found.book, learnt, this, now));
        if let Some((found, _)) = told(client, self.file.change(learn)) {
            tell_note(client, &found);
        }
    }
}

fn tell_note(client: &dyn Client, found: &FoundBook) {
    let note = found.note.iter();
    note.for_each(|note| client.tell(&Progress::Note(format!("warning: {note}"))));
}

/// The lessons that a run on this state would be given, for `align` to show. Trouble with the file is no fault of the
/// agreement.
pub fn shown(client: &dyn Client, project: &Path, state: &State) -> Vec<Lesson> {
    RunMemory::of(client, project, None, state).map_or_else(Vec::new, |memory| memory.lessons)
}

/// The value, or a line that says why there is none.
fn told<T>(client: &dyn Client, done: Result<T, Failure>) -> Option<T> {
    let told = |failure: &Failure| {
        let words = format!("warning: {}\n  {}", failure.message, failure.hint);
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
    let file = LessonFile::find(project, None)?;
    let FoundBook { book, note, .. } = file.read()?;
    Ok(ProjectLessons { path: file.path(), lessons: book.lessons, note })
}

pub fn forget(project: &Path, id: &LessonId) -> Result<(), Failure> {
    let file = LessonFile::find(project, None)?;
    match file.change(|found| Ok(memory::forget(&mut found.book, id)))? {
        (_, true) => Ok(()),
        (_, false) => Err(no_lesson(id)),
    }
}

/// Forgets all lessons; gives how many. The endings that left them stay known, so that none leaves them again.
pub fn clear(project: &Path) -> Result<usize, Failure> {
    let mut count = 0;
    LessonFile::find(project, None)?.change(|found| {
        count = found.book.lessons.len();
        found.book.lessons.clear();
        Ok(count > 0)
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
    /// Makes it beside the file. One that could not be used stays as it is: it is a person's text.
    pub fn make(project: &Path) -> Result<Self, Failure> {
        let file = LessonFile::find(project, None)?;
        let FoundBook { book, bytes: before, .. } = file.read()?;
        let text =
            if before.is_empty() { memory::write(&book).into_bytes() } else { before.clone() };
        let path = file.beside("edit.json");
        if !files::read(&path, BYTES_MAX).is_ok_and(|kept| !kept.is_empty()) {
            file.write("edit.json", &text)?;
        }
        Ok(Self { file, before, text, path })
    }

    /// Takes in the text that the copy has now; `None` where it is as it was. The copy stays where it cannot be used.
    pub fn take_in(&self) -> Result<Option<Vec<Lesson>>, Failure> {
        let text = files::read(&self.path, BYTES_MAX);
        let text = text.map_err(|error| unwritable(&self.path.display(), &error))?;
        let taken = if text == self.text { None } else { Some(self.replace(&text)?) };
        // One that stays harms nothing.
        let _ = files::remove_file(&self.path);
        Ok(taken)
    }

    /// Puts a person's text in the place of the bytes that it was made from.
    fn replace(&self, text: &[u8]) -> Result<Vec<Lesson>, Failure> {
        let book = memory::read(text).map_err(|why| {
            let what = format!("{} cannot be used: {why}", self.path.display());
            trouble(what, "descent memory edit goes on with that text")
        })?;
        let replace = |found: &mut FoundBook| {
            if found.bytes != self.before {
                let hint = "the text is kept, and descent memory edit goes on with it; or remove it, to begin anew";
                let path = self.file.path();
                return Err(trouble(format!("{} was changed meanwhile", path.display()), hint));
            }
            found.book = book;
            Ok(true)
        };
        let (found, _) = self.file.change(replace)?;
        Ok(found.book.lessons)
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
