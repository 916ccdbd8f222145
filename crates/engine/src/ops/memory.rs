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

use super::Client;
use descent_store as store;
use descent_system::{
    failure::{Failure, exit},
    files::{self, private},
};
use descent_workspace::git::Git;

/// Bytes of a file of lessons at most: many times what [`memory::LESSONS_MAX`] lessons need.
const BYTES_MAX: u64 = 4 << 20;

/// The lessons that were found at the name of the file, and why something could not be used.
type FoundBook = (LessonBook, Option<String>);

/// The file of one project.
#[derive(Debug, Clone)]
struct LessonFile {
    dir: PathBuf,
    name: String,
}

impl LessonFile {
    fn find(project: &Path) -> Result<Self, Failure> {
        let dir = directory()?;
        let name = key(project).as_str().trim_start_matches("sha256:").to_owned();
        Ok(Self { dir, name })
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
        let mut found = (memory::new(), None);
        match bytes.map(|bytes| memory::read(&bytes)) {
            None => {}
            Some(Ok(book)) => found.0 = book,
            Some(Err(why)) => {
                let (path, aside) = (path.display(), self.set_aside()?);
                let aside = aside.display();
                found.1 = Some(format!(
                    "{path}: {why}; it is kept as {aside}, and nothing is remembered from it"
                ));
            }
        }
        Ok(found)
    }

    /// Changes the lessons under a lock; written only where `change` says so. Gives whether it wrote, and why something
    /// could not be used.
    fn change(
        &self,
        change: impl FnOnce(&mut LessonBook) -> bool,
    ) -> Result<(bool, Option<String>), Failure> {
        private::make_private(&self.dir)
            .map_err(|error| unwritable(&self.dir.display(), &error))?;
        let lock = self.beside("lock");
        let _held = store::exclusive(&lock).map_err(|error| unwritable(&lock.display(), &error))?;
        let (mut book, note) = self.read()?;
        let is_changed = change(&mut book);
        if is_changed {
            let (name, text) = (format!("{}.json", self.name), memory::write(&book));
            private::write_private(&self.dir, &name, text.as_bytes())
                .map_err(|error| unwritable(&self.path().display(), &error))?;
        }
        Ok((is_changed, note))
    }

    /// Moves what lies there to another name.
    fn set_aside(&self) -> Result<PathBuf, Failure> {
        let (from, to) = (self.path(), self.beside("aside"));
        files::move_to(&from, &to).map_err(|error| unwritable(&from.display(), &error))?;
        Ok(to)
    }
}

fn directory() -> Result<PathBuf, Failure> {
    let nowhere = || unwritable(&"a home", &"neither XDG_DATA_HOME nor HOME names a place");
    private::data_home(private::variable).map(|home| home.join("memory")).ok_or_else(nowhere)
}

/// Whether no project has lessons: then git need not be asked which file is this project's.
fn is_empty(dir: &Path) -> bool {
    match std::fs::read_dir(dir) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
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
pub(crate) struct RunMemory {
    /// Found at the start: a person may be on another line of their repository at the end.
    file: LessonFile,
    /// The lessons for a run that begins.
    pub lessons: Vec<Lesson>,
}

impl RunMemory {
    /// Reads what a run on this state is given; `None` where memory is off, or has no place.
    pub fn of(client: &dyn Client, project: &Path, state: &State) -> Option<Self> {
        if state.objective.constraints.memory() == MemoryUse::Off {
            return None;
        }
        let file = told(client, LessonFile::find(project))?;
        if !memory::begins(state.run.status) {
            let lessons = Vec::new();
            return Some(Self { file, lessons });
        }
        let (book, note) = told(client, file.read())?;
        tell_note(client, note);
        let lessons = memory::given(&book, &World::new(state.clone()));
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
        let learn = |book: &mut LessonBook| memory::learn(book, learnt, this, now);
        if let Some((_, note)) = told(client, self.file.change(learn)) {
            tell_note(client, note);
        }
    }
}

fn tell_note(client: &dyn Client, note: Option<String>) {
    note.iter().for_each(|note| client.tell(&format!("warning: {note}")));
}

/// The lessons that a run on this state would be given, for `align` to show. Trouble with the file is no fault of the
/// agreement.
pub fn shown(client: &dyn Client, project: &Path, state: &State) -> Vec<Lesson> {
    if directory().is_ok_and(|dir| is_empty(&dir)) {
        return Vec::new();
    }
    RunMemory::of(client, project, state).map_or_else(Vec::new, |memory| memory.lessons)
}

/// The value, or a line that says why there is none.
fn told<T>(client: &dyn Client, done: Result<T, Failure>) -> Option<T> {
    let told = |failure: &Failure| {
        client.tell(&format!("warning: {}\n  {}", failure.message, failure.hint));
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
    let file = LessonFile::find(project)?;
    let (book, note) = file.read()?;
    Ok(ProjectLessons { path: file.path(), lessons: book.lessons, note })
}

pub fn forget(project: &Path, id: &LessonId) -> Result<(), Failure> {
    let (is_known, _) = LessonFile::find(project)?.change(|book| memory::forget(book, id))?;
    let unknown = || {
        let what = format!("no lesson is called `{}`", id.as_str().escape_debug());
        Failure::usage(what, "descent memory lists them")
    };
    if is_known { Ok(()) } else { Err(unknown()) }
}

/// Forgets all lessons; gives how many. The endings that left them stay known, so that none leaves them again.
pub fn clear(project: &Path) -> Result<usize, Failure> {
    let mut count = 0;
    LessonFile::find(project)?.change(|book| {
        count = book.lessons.len();
        book.lessons.clear();
        count > 0
    })?;
    Ok(count)
}

/// The same for every clone of a repository, and for no other project in it. Without a first commit that is surely the
/// first, a directory is known by its path.
fn key(project: &Path) -> Digest {
    let project = project.canonicalize().unwrap_or_else(|_| project.to_owned());
    let parts = in_repository(&project)
        .unwrap_or_else(|| ["path".to_owned(), project.display().to_string()]);
    Digest::sha256(serde_json::json!(parts).to_string().as_bytes())
}

fn in_repository(project: &Path) -> Option<[String; 2]> {
    let git = Git::open(project).ok()??;
    let top = git.top().canonicalize().ok()?;
    let inside = project.strip_prefix(top).ok()?.display().to_string();
    Some([git.first_commit()?.to_string(), inside])
}
