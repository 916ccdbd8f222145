//! The fence around a state: no job of a run can write it, so that only a person and this program change it.
//!
//! Invariant: where [`Fence::gap`] finds none, no job with [`Reach::Fenced`] starts without the fence: a start fails
//! rather. Not here: how it is kept (`fence`), and what follows where it does not hold.

use std::env;
use std::path::{Path, PathBuf};

use super::guard::{FenceTask, FenceWay, above, opened};
use super::{Job, Reach, layers, methods};

/// The paths around which the fence stands.
#[derive(Debug, Default)]
pub struct Fence {
    project: PathBuf,
    state: Vec<PathBuf>,
    /// Open to a job that works in the project itself.
    git: Vec<PathBuf>,
    /// The person's records and settings. Landlock cannot close them: nothing new could be made in a home then.
    own: Vec<PathBuf>,
    /// The workspaces lie there, also where that is in the project.
    cache: Option<PathBuf>,
    /// Why the state cannot be closed, wherever a job works.
    loose: Option<String>,
}

impl Fence {
    /// `state` is the state's file with the directories beside it; `git` what git keeps of the project; `own` the person's
    /// records and settings of this program.
    #[must_use]
    pub fn around(
        project: &Path,
        state: [&Path; 2],
        git: &[PathBuf],
        own: &[PathBuf],
        cache: Option<PathBuf>,
    ) -> Self {
        let whole = |path: &Path| path.canonicalize().ok();
        let [file, dir] = state;
        let project = whole(project).unwrap_or_else(|| project.to_owned());
        let folder = file.parent().and_then(whole);
        let beside = whole(dir);
        let mut fence = Self {
            git: git.iter().filter_map(|path| whole(path)).collect(),
            own: own.iter().filter_map(|path| whole(path)).collect(),
            cache,
            ..Self::default()
        };
        // A commit gives the file's name to another file: only its whole folder can be closed.
        let is_own = |folder: &PathBuf| !works_below(folder, &project);
        match &folder {
            Some(folder) if Some(folder) == beside.as_ref() || is_own(folder) => {
                fence.state.push(folder.clone());
            }
            // It is not made yet: there is nothing to close.
            None => {}
            Some(_) => {
                fence.loose = Some(format!("jobs write into the folder of {}", file.display()));
            }
        }
        fence.state.extend(beside);
        fence.state.dedup();
        fence.project = project;
        let is_odd = |path: &PathBuf| path.to_str().is_none();
        if fence.state.iter().chain(&fence.git).any(is_odd) {
            fence.loose = Some("the path of the project is not UTF-8".to_owned());
        }
        fence
    }

    /// Why jobs that work in `cwd` can write the state; `None` if they cannot.
    #[must_use]
    pub fn gap(&self, cwd: &Path) -> Option<String> {
        let Some(way) = methods::chosen().fence else {
            return Some(
                "this kernel keeps nothing closed to them, by mounts or Landlock".to_owned(),
            );
        };
        if let Some(why) = &self.loose {
            return Some(why.clone());
        }
        match way {
            FenceWay::Mounts | FenceWay::UserMounts => None,
            FenceWay::Landlock => self.landlock_gap(cwd),
        }
    }

    /// Nothing new can be made in a directory above what Landlock closes, and jobs need that in these.
    fn landlock_gap(&self, cwd: &Path) -> Option<String> {
        let closed = self.closed(cwd);
        let above = above(&closed);
        let is_above = |path: &Path| path.canonicalize().is_ok_and(|path| above.contains(&path));
        if is_above(cwd) {
            return Some("they work in the project itself".to_owned());
        }
        let theirs = [Some(env::temp_dir()), env::home_dir()];
        if let Some(place) = theirs.into_iter().flatten().find(|place| is_above(place)) {
            return Some(format!("the project lies in {}", place.display()));
        }
        opened(&closed).err().map(|error| format!("what lies above it cannot be listed ({error})"))
    }

    fn closed(&self, cwd: &Path) -> Vec<PathBuf> {
        let is_own =
            |cache: &PathBuf| cwd.starts_with(cache.canonicalize().as_ref().unwrap_or(cache));
        let is_in_place =
            cwd.starts_with(&self.project) && !self.cache.as_ref().is_some_and(is_own);
        let git = self.git.iter().filter(|_| !is_in_place);
        let all: Vec<&PathBuf> = self.state.iter().chain(git).collect();
        // One inside another is closed with it.
        let is_inside =
            |path: &&PathBuf| all.iter().any(|other| path != other && path.starts_with(other));
        all.iter().filter(|path| !is_inside(path)).map(|path| (*path).clone()).collect()
    }

    /// The fence of a job, and the layers of the tree that it works in. None for the person's own commands, and where it
    /// does not hold.
    pub(super) fn task(&self, job: &Job) -> Option<FenceTask> {
        let way = methods::chosen().fence?;
        let mut task = FenceTask::empty(way);
        if let (Some(cache), FenceWay::Mounts | FenceWay::UserMounts) = (&self.cache, way) {
            task.layers = layers::mounts_of(&job.cwd, cache);
        }
        let Reach::Fenced { out } = &job.reach else {
            return None;
        };
        if self.gap(&job.cwd).is_some() {
            return (!task.layers.is_empty()).then_some(task);
        }
        task.closed = self.closed(&job.cwd);
        let top = Path::new("/");
        // An outer directory comes before those in it.
        task.held = above(&task.closed).into_iter().filter(|dir| dir != top).collect();
        if way != FenceWay::Landlock {
            task.closed.extend(self.own.iter().cloned());
        }
        task.open = out.iter().filter_map(|out| out.canonicalize().ok()).collect();
        Some(task)
    }
}

/// Whether jobs write into the folder whatever is closed: it holds the project, or a place of theirs.
fn works_below(folder: &Path, project: &Path) -> bool {
    let home = env::home_dir();
    let places = [Some(project.to_owned()), Some(env::temp_dir()), home];
    let mut places = places.into_iter().flatten().filter_map(|place| place.canonicalize().ok());
    places.any(|place| place.starts_with(folder))
}
