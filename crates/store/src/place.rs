//! The place of a state: its file, its sidecars, and the project it is about.
//!
//! Invariant: two state files share no sidecar, and one file reached by two names has one set. A
//! symbolic link in the path is resolved once, here. Not here: reading or writing the state.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use descent_core::trust::Hand;

use super::{StoreError, disk};
use descent_system::files;

const DIR: &str = ".descent";
const FILE: &str = "state.json";
const SCHEMA: &str = "state.schema.json";
/// The prefix of directories that hold sidecars set aside.
pub(super) const ASIDE: &str = "aside-";
/// Sidecars by their names.
const LOCKS: [&str; 3] = ["commit.lock", "run.lock", "redirect.lock"];
const DIRECTORIES: [&str; 7] =
    ["journal", "evidence", "attempts", "repository", "events", "inputs", "log"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatePlace {
    /// The directory of the sidecars: locks, journal, evidence. Its name is that of the state with `.d`.
    pub dir: PathBuf,
    /// If the name is a link, the directory of sidecars beside the link, if there is one.
    named: Option<PathBuf>,
    pub state: PathBuf,
    pub project: PathBuf,
}

impl StatePlace {
    /// The named file, whether it exists or not; without a name, the file of the nearest directory
    /// upwards, in the working tree that `start` is in.
    pub fn find(start: &Path, explicit: Option<&Path>) -> Option<Self> {
        let start = start.canonicalize().unwrap_or_else(|_| start.to_owned());
        if let Some(file) = explicit {
            return Some(Self::named(&start.join(file)));
        }
        let project = files::upwards(&start).find(|dir| dir.join(DIR).is_dir())?;
        Some(Self::of_project(project))
    }

    /// The nearest project above that has a state, beyond the working tree that `start` is in: it is another's affair.
    pub fn project_beyond(start: &Path) -> Option<PathBuf> {
        let start = start.canonicalize().ok()?;
        let beyond = start.ancestors().skip(files::upwards(&start).count());
        let mut beyond = beyond.filter(|dir| dir.join(DIR).join(FILE).is_file());
        beyond.next().map(Path::to_owned)
    }

    /// The place of a new state. The directory of its sidecars is made, the file is not.
    pub fn create(project: &Path, explicit: Option<&Path>) -> Result<Self, StoreError> {
        let project =
            project.canonicalize().map_err(|error| StoreError::io("find", project, error))?;
        let place = Self::at(&project, explicit.map(|file| project.join(file)).as_deref());
        place.make_dir()?;
        // The project folder may be a link: the same file has one place for everybody.
        Ok(Self::of_file(&place.state, place.project))
    }

    /// The place that the state of a project would have; nothing is made.
    pub fn at(project: &Path, explicit: Option<&Path>) -> Self {
        match explicit {
            Some(file) => Self::named(&project.join(file)),
            None => Self::of_project(project),
        }
    }

    /// Whether commands find this state in the project by themselves.
    pub fn is_usual(&self) -> bool {
        self.state == self.usual_path()[1]
    }

    /// The directory and the file by which commands find a state in the project.
    pub fn usual_path(&self) -> [PathBuf; 2] {
        let dir = self.project.join(DIR);
        [dir.clone(), dir.join(FILE)]
    }

    /// The project whose usual place the state file is in, after all links.
    pub fn project_of_state(&self) -> Option<&Path> {
        self.parent().parent().filter(|_| self.parent().ends_with(DIR))
    }

    /// Fails if a file already has the name of the state.
    ///
    /// # Errors
    /// [`StoreError::Exists`].
    pub fn is_free(&self) -> Result<(), StoreError> {
        match self.state.symlink_metadata() {
            Ok(_) => Err(StoreError::Exists { path: self.state.clone() }),
            Err(_) => Ok(()),
        }
    }

    /// The directory of the files of attempts, one directory each.
    pub fn attempts(&self) -> PathBuf {
        self.dir.join("attempts")
    }

    /// The schema of the state, for editors.
    pub fn schema(&self) -> PathBuf {
        self.own().join(SCHEMA)
    }

    /// The schema as the state names it.
    pub(super) fn schema_in_state(&self) -> String {
        let path = self.schema();
        let beside = path.strip_prefix(self.parent()).unwrap_or(&path);
        format!("./{}", beside.display())
    }

    /// The directory of long evidence, one file for each content.
    pub fn evidence(&self) -> PathBuf {
        self.dir.join("evidence")
    }

    /// The directory of the logs of detached runs.
    pub fn logs(&self) -> PathBuf {
        self.dir.join("log")
    }

    /// The mark of processes that belong to this state file and to no copy of it: an inode is not
    /// copied.
    pub fn mark(&self) -> String {
        use std::os::unix::fs::MetadataExt;
        let meta = std::fs::metadata(&self.dir);
        meta.map_or_else(
            |_| format!("new-{}", std::process::id()),
            |meta| format!("{:x}-{:x}", meta.dev(), meta.ino()),
        )
    }

    /// Owner and mode of the directory that is the state's own; `None` if it does not exist.
    pub fn hand(&self) -> Option<Hand> {
        use std::os::unix::fs::MetadataExt;
        let meta = std::fs::metadata(self.own()).ok()?;
        Some(Hand { uid: meta.uid(), mode: meta.mode() })
    }

    /// The directory of the lineages' repositories, one directory each.
    pub fn repositories(&self) -> PathBuf {
        self.dir.join("repository")
    }

    /// Makes the directory of the sidecars, hidden from git.
    pub fn make(&self) -> std::io::Result<()> {
        files::make_dir_durably(self.own())?;
        disk::ignore_all(self.own())?;
        files::make_dir_durably(&self.dir)
    }

    /// Removes it again if nothing else is in it.
    pub fn unmake(&self) -> std::io::Result<()> {
        if self.own() != self.dir {
            files::remove_empty(&self.dir)?;
        }
        files::remove(&self.schema())?;
        disk::remove_unused(self.own())
    }

    /// The directory in which nothing is a person's but the state: the usual one, else that of the sidecars.
    pub fn own(&self) -> &Path {
        if self.parent().ends_with(DIR) { self.parent() } else { &self.dir }
    }

    pub(super) fn make_dir(&self) -> Result<(), StoreError> {
        self.make().map_err(|error| StoreError::io("make", &self.dir, error))
    }

    /// Fails if a lock is replaced by a link, a pipe or the like, or a directory by a link: writing
    /// there would write elsewhere. Any other obstacle costs no more than the sidecar itself.
    pub(super) fn has_plain_sidecars(&self) -> Result<(), StoreError> {
        let refused = |path: &Path, error| StoreError::io("open", path, error);
        for path in LOCKS.map(|name| self.dir.join(name)) {
            files::plain_file(&path).map_err(|error| refused(&path, error))?;
        }
        let directories = DIRECTORIES.map(|name| self.dir.join(name));
        for path in directories.iter().chain([&self.dir]) {
            files::no_link(path).map_err(|error| refused(path, error))?;
        }
        Ok(())
    }

    /// Everything that lies beside the state and is its own, except what was set aside before.
    pub(super) fn sidecars(&self) -> Vec<PathBuf> {
        let prefix = format!(".{}.", self.file_name());
        let rescued = format!("{}.rescued-", self.file_name());
        let beside = files::entries(self.parent()).into_iter().filter(|path| {
            let name = name_of(path);
            name.starts_with(&prefix) || name.starts_with(&rescued)
        });
        let own = files::entries(&self.dir).into_iter().filter(|path| {
            let is_aside = name_of(path).starts_with(ASIDE) && files::plain_dir(path).is_ok();
            !is_aside && !disk::is_own_ignore(path)
        });
        let mut found: Vec<PathBuf> = beside.chain(own).collect();
        found.sort();
        found
    }

    fn of_project(project: &Path) -> Self {
        Self::of_file(&project.join(DIR).join(FILE), project.to_owned())
    }

    fn named(file: &Path) -> Self {
        let parent = file.parent().unwrap_or(Path::new("/"));
        let project = parent.parent().filter(|_| parent.ends_with(DIR));
        Self::of_file(file, project.unwrap_or(parent).to_owned())
    }

    fn of_file(file: &Path, project: PathBuf) -> Self {
        let state = resolved(file);
        let dir = sidecars(&state);
        let named = file.parent().and_then(|parent| parent.canonicalize().ok());
        let named = named.zip(file.file_name()).map(|(parent, name)| sidecars(&parent.join(name)));
        let named = named.filter(|named| *named != dir && named.is_dir());
        let project = project.canonicalize().unwrap_or(project);
        Self { dir, named, state, project }
    }

    /// The directory that holds the state file itself.
    pub(super) fn parent(&self) -> &Path {
        self.state.parent().unwrap_or(Path::new("/"))
    }

    pub(super) fn file_name(&self) -> String {
        let name = self.state.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// The directories of a loop's lease: beside the state and, if the name is a link, beside the
    /// link. The loop's state may have been there when it began.
    pub(super) fn lease_dirs(&self) -> impl Iterator<Item = &Path> {
        [Some(&self.dir), self.named.as_ref()].into_iter().flatten().map(PathBuf::as_path)
    }

    pub(super) fn commit_lock(&self) -> PathBuf {
        self.dir.join("commit.lock")
    }

    pub(super) fn redirect_lock(&self) -> PathBuf {
        self.dir.join("redirect.lock")
    }

    pub(super) fn journal(&self) -> PathBuf {
        self.dir.join("journal")
    }
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn sidecars(state: &Path) -> PathBuf {
    let mut name = OsString::from(state);
    name.push(".d");
    name.into()
}

fn resolved(file: &Path) -> PathBuf {
    if let Ok(whole) = file.canonicalize() {
        return whole;
    }
    match (file.parent().map(Path::canonicalize), file.file_name()) {
        (Some(Ok(parent)), Some(name)) => parent.join(name),
        _ => file.to_owned(),
    }
}
