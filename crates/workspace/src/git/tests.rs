//! The verbs against real repositories in temporary directories, with a home of their own.
#![allow(clippy::disallowed_methods)] // door: tests

mod apply;
mod candidate;
mod checkout;
mod durable;
mod ignored;
mod open;
mod private;
mod rebuild;
mod snapshot;
mod tracked;

use super::*;
use descent_core::{id::UnixMillis, state::StartedFrom};
use std::{fs, os::unix::fs::PermissionsExt, process::Command};
use tempfile::TempDir;

pub(super) const AT: UnixMillis = UnixMillis(1_700_000_000_000);

/// A home, a project in it with one commit, a scratch directory and a cache.
pub(super) struct World {
    dir: TempDir,
    env: Env,
}

impl World {
    pub(super) fn empty() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["home", "home/p", "scratch", "cache"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        let home = dir.path().join("home");
        let env = vec![
            ("PATH".into(), std::env::var_os("PATH").unwrap()),
            ("HOME".into(), home.into()),
            ("GIT_CONFIG_NOSYSTEM".into(), "1".into()),
        ];
        let world = Self { dir, env };
        world.git(&["init", "-q", "-b", "main"]);
        world.git(&["config", "--global", "user.name", "Ada Person"]);
        world.git(&["config", "--global", "user.email", "ada@example.org"]);
        world
    }

    pub(super) fn new() -> Self {
        let world = Self::empty();
        world.write("a.txt", "one\ntwo\nthree\nfour\nfive\n");
        world.write("dir/b.txt", "b\n");
        world.write(".gitignore", "*.log\nbuild/\n.descent/\n");
        world.commit("start");
        world
    }

    pub(super) fn top(&self) -> PathBuf {
        self.dir.path().join("home/p").canonicalize().unwrap()
    }

    pub(super) fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    pub(super) fn scratch(&self) -> PathBuf {
        self.dir.path().join("scratch")
    }

    pub(super) fn tree(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("cache").join(name)
    }

    pub(super) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        put(&self.top(), path, text);
    }

    pub(super) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.top().join(path)).unwrap()
    }

    pub(super) fn git_in(&self, dir: &Path, args: &[&str]) -> String {
        self.raw_git_in(dir, &[&["-c", "core.hooksPath=/dev/null"], args].concat())
    }

    fn raw_git_in(&self, dir: &Path, args: &[&str]) -> String {
        let mut git = Command::new("git");
        git.env_clear().envs(self.env.iter().cloned());
        let ran = git.current_dir(dir).args(args).output().unwrap();
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(ran.status.success(), "git {args:?}: {said}");
        let said = String::from_utf8_lossy(&ran.stdout);
        said.trim_end_matches('\n').to_owned()
    }

    pub(super) fn git(&self, args: &[&str]) -> String {
        self.git_in(&self.top(), args)
    }

    pub(super) fn commit(&self, message: &str) -> CommitId {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", message]);
        self.at("HEAD")
    }

    pub(super) fn at(&self, rev: &str) -> CommitId {
        CommitId::new(self.git(&["rev-parse", rev]))
    }

    pub(super) fn parent(&self, commit: &CommitId) -> CommitId {
        let parent = format!("{commit}^@");
        CommitId::new(self.git_of_ours(&["rev-parse", &parent]))
    }

    pub(super) fn open(&self) -> Git {
        self.open_in(&self.top()).unwrap().unwrap()
    }

    /// Our own repository, which borrows from the one around `dir`.
    pub(super) fn open_in(&self, dir: &Path) -> Result<Option<Git>, GitError> {
        let person = Git::open_with(descent_process::programs::real(), dir, &self.env)?;
        person.map(|person| person.lineage(&self.repository())).transpose()
    }

    pub(super) fn repository(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("own/1")
    }

    /// In our own repository.
    pub(super) fn git_of_ours(&self, args: &[&str]) -> String {
        let _ = self.open();
        let repository = self.repository().display().to_string();
        self.git(&[&["--git-dir", &repository], args].concat())
    }

    pub(super) fn with_env(mut self, key: &str, value: impl AsRef<OsStr>) -> Self {
        self.env.push((key.into(), value.as_ref().to_owned()));
        self
    }

    pub(super) fn snapshot(&self) -> StartedFrom {
        self.taken().0
    }

    /// The same, with the notes for the person.
    pub(super) fn taken(&self) -> (StartedFrom, Vec<String>) {
        self.open().snapshot(&self.scratch(), "snapshot", &self.scratch()).unwrap()
    }

    /// The files of a commit, by name.
    pub(super) fn files(&self, commit: &CommitId) -> Vec<String> {
        let said = self.git_of_ours(&["ls-tree", "-r", "-z", "--name-only", commit.as_str()]);
        said.split_terminator('\0').map(str::to_owned).collect()
    }

    pub(super) fn blob(&self, commit: &CommitId, path: &str) -> String {
        self.git_of_ours(&["cat-file", "blob", &format!("{commit}:{path}")])
    }

    /// Hooks that leave a mark when they run (the helpers here run git without hooks).
    pub(super) fn plant_hooks(&self) -> PathBuf {
        let mark = self.dir.path().join("hook-ran");
        for name in [
            "post-checkout",
            "pre-commit",
            "reference-transaction",
            "post-index-change",
            "post-merge",
            "commit-msg",
        ] {
            let hook = self.top().join(".git/hooks").join(name);
            fs::create_dir_all(hook.parent().unwrap()).unwrap();
            fs::write(&hook, format!("#!/bin/sh\necho {name} >> '{}'\n", mark.display())).unwrap();
            make_executable(&hook);
        }
        self.raw_git_in(&self.top(), &["update-ref", "refs/tags/control", "HEAD"]);
        assert!(mark.exists(), "the hooks work");
        fs::remove_file(&mark).unwrap();
        mark
    }

    /// Everything in the project, `.git` too, but for the objects and refs of ours.
    pub(super) fn picture(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        let mut dirs = vec![self.top()];
        while let Some(dir) = dirs.pop() {
            for entry in fs::read_dir(dir).unwrap().flatten() {
                let path = entry.path();
                if path.ends_with(".git/objects") {
                } else if entry.file_type().unwrap().is_dir() {
                    dirs.push(path);
                } else if path.is_symlink() {
                    let to = fs::read_link(&path).unwrap();
                    found.push((path, to.as_os_str().as_bytes().to_vec()));
                } else {
                    let bytes = fs::read(&path).unwrap();
                    found.push((path, bytes));
                }
            }
        }
        found.sort();
        found
    }
}

pub(super) fn put(dir: &Path, path: &str, text: impl AsRef<[u8]>) {
    let path = dir.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

pub(super) fn make_executable(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}
