//! The fence around a state: no job of a run can write it, so that only a person and this program change it.
//!
//! A job behind Landlock whose HOME lies above the state gets a home of links instead, where it can make new files.
//!
//! Invariant: where [`Fence::gap`] finds none, no job with [`Reach::Fenced`] starts without the fence: a start fails
//! rather. Not here: how it is kept (`fence`), and what follows where it does not hold.
#![allow(clippy::disallowed_methods)] // door: the home of links

use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{env, fs, io};

use super::fence::{FenceTask, FenceWay, above, opened};
use super::{Job, Reach, ending};

/// Tools whose place follows from HOME: what they have in the real one still counts.
const TOOL_HOMES: [(&str, &str); 3] = [
    ("CARGO_HOME", ".cargo"),
    ("RUSTUP_HOME", ".rustup"),
    ("GOPATH", "go"),
];

/// The paths around which the fence stands.
#[derive(Debug, Default)]
pub struct Fence {
    project: PathBuf,
    state: Vec<PathBuf>,
    /// Open to a job that works in the project itself.
    git: Vec<PathBuf>,
    /// The place of the home of links.
    home: Option<PathBuf>,
    /// Why the state cannot be closed, wherever a job works.
    loose: Option<String>,
    linked: OnceLock<Option<PathBuf>>,
}

impl Fence {
    /// `state` is the state's file with the directories beside it; `git` what git keeps of the project.
    #[must_use]
    pub fn around(
        project: &Path,
        state: [&Path; 2],
        git: Vec<PathBuf>,
        home: Option<PathBuf>,
    ) -> Self {
        let whole = |path: &Path| path.canonicalize().ok();
        let [file, dir] = state;
        let project = whole(project).unwrap_or_else(|| project.to_owned());
        let folder = file.parent().and_then(whole);
        let beside = whole(dir);
        let mut fence = Self {
            git: git.iter().filter_map(|path| whole(path)).collect(),
            home,
            ..Self::default()
        };
        // A commit gives the file's name to another file: only its whole folder can be closed.
        let is_own = |folder: &PathBuf| !works_below(folder, &project);
        match &folder {
            Some(folder) if Some(folder) == beside.as_ref() || is_own(folder) => {
                fence.state.push(folder.clone());
            }
            _ => fence.loose = Some(format!("jobs write into the folder of {}", file.display())),
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
        let Some(way) = ending::chosen().fence else {
            return Some(
                "this kernel keeps nothing closed to them, by mounts or Landlock".to_owned(),
            );
        };
        if let Some(why) = &self.loose {
            return Some(why.clone());
        }
        match way {
            FenceWay::Mounts => None,
            FenceWay::Landlock => self.landlock_gap(cwd),
        }
    }

    fn landlock_gap(&self, cwd: &Path) -> Option<String> {
        let closed = self.closed(cwd);
        let above = above(&closed);
        let tmp = env::temp_dir();
        let is_above = |path: &Path| path.canonicalize().is_ok_and(|path| above.contains(&path));
        if is_above(cwd) {
            return Some("they work in the project itself".to_owned());
        }
        if is_above(&tmp) {
            return Some(format!("the project lies in {}", tmp.display()));
        }
        if env::home_dir().is_some_and(|home| is_above(&home)) && self.linked_home().is_none() {
            return Some("no home of links can be made in the cache".to_owned());
        }
        opened(&closed)
            .err()
            .map(|error| format!("what lies above it cannot be listed ({error})"))
    }

    fn closed(&self, cwd: &Path) -> Vec<PathBuf> {
        let is_in_place = cwd.starts_with(&self.project);
        let git = self.git.iter().filter(|_| !is_in_place);
        let all: Vec<&PathBuf> = self.state.iter().chain(git).collect();
        // One inside another is closed with it.
        let is_inside = |path: &&PathBuf| {
            all.iter()
                .any(|other| path != other && path.starts_with(other))
        };
        all.iter()
            .filter(|path| !is_inside(path))
            .map(|path| (*path).clone())
            .collect()
    }

    /// The fence of a job; none for the person's own commands, and where it does not hold.
    pub(super) fn task(&self, job: &Job) -> Option<FenceTask> {
        let Reach::Fenced { out } = &job.reach else {
            return None;
        };
        let way = ending::chosen()
            .fence
            .filter(|_| self.gap(&job.cwd).is_none())?;
        let is_apart = !job.cwd.starts_with(&self.project);
        Some(FenceTask {
            way,
            closed: self.closed(&job.cwd),
            open: out
                .iter()
                .filter_map(|out| out.canonicalize().ok())
                .collect(),
            held: is_apart.then(|| self.project.clone()),
        })
    }

    /// The environment of a job behind Landlock whose HOME lies above what is closed.
    pub(super) fn at_home(&self, task: &FenceTask, env: &mut Vec<(OsString, OsString)>) {
        let home = env.iter().position(|(name, _)| name == "HOME");
        let (FenceWay::Landlock, Some(at)) = (task.way, home) else {
            return;
        };
        let real = PathBuf::from(&env[at].1);
        let is_above = real
            .canonicalize()
            .is_ok_and(|real| above(&task.closed).contains(&real));
        let Some(linked) = self.linked_home().filter(|_| is_above) else {
            return;
        };
        env[at].1 = linked.into();
        for (name, dir) in TOOL_HOMES {
            let dir = real.join(dir);
            if dir.is_dir() && env.iter().all(|(other, _)| other != name) {
                env.push((name.into(), dir.into()));
            }
        }
    }

    /// A directory with a link for each entry of HOME, made once a command.
    fn linked_home(&self) -> Option<&PathBuf> {
        let make = || {
            let (at, real) = (self.home.clone()?, env::home_dir()?);
            let made = link_all(&real, &at);
            made.inspect_err(|error| tracing::warn!(%error, "no home of links"))
                .ok()?;
            Some(at)
        };
        self.linked.get_or_init(make).as_ref()
    }
}

/// Whether jobs write into the folder whatever is closed: it holds the project, or a place of theirs.
fn works_below(folder: &Path, project: &Path) -> bool {
    let home = env::home_dir();
    let places = [Some(project.to_owned()), Some(env::temp_dir()), home];
    let mut places = places
        .into_iter()
        .flatten()
        .filter_map(|place| place.canonicalize().ok());
    places.any(|place| place.starts_with(folder))
}

fn link_all(real: &Path, at: &Path) -> io::Result<()> {
    fs::create_dir_all(at)?;
    for entry in fs::read_dir(real)? {
        let entry = entry?;
        match symlink(entry.path(), at.join(entry.file_name())) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    Ok(())
}
