//! Ways that lead from a checkout back into the project: links of the tree, and what lies in linked paths. And the paths that
//! a person's variables name there.
//!
//! A symbolic link of the tree counts by its absolute path. In linked paths it is every link, and the files by which Python
//! finds a package that is installed in place. Other files are not read. A way into a linked or ignored path is none back:
//! no commit holds what lies there.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use descent_core::id::CommitId;

use super::{Checkout, Result, WorkspaceError, Worktrees};
use descent_process::{
    environment::Environment,
    project_paths::{ProjectPaths, python_named_in},
};

/// Entries of linked paths that are looked at.
const ENTRIES_MAX: usize = 500_000;

/// Directories of packages that tests need.
const PACKAGES: [&str; 3] = ["node_modules", ".venv", "venv"];

impl Worktrees {
    /// The person's variables for jobs in these trees.
    pub fn environment(&self, theirs: Environment) -> Environment {
        theirs.of_project(self.git.top(), &self.prefix)
    }

    /// The ignored paths that a checkout lacks and that variables name, each with their names, or that hold packages. Without
    /// a checkout they are those that nobody links.
    pub fn lacking(
        &self,
        environment: &Environment,
        which: Option<Checkout>,
    ) -> Result<Vec<(PathBuf, BTreeSet<String>)>> {
        let named = environment.project_paths();
        let top = self.git.top().join(&self.prefix);
        let mut packages = PACKAGES.iter().map(|name| top.join(name));
        if named.is_empty() && !packages.any(|path| path.exists()) {
            return Ok(Vec::new());
        }
        let root = which.map(|which| self.checks(which)).transpose()?;
        let linked = self.linked_in(Path::new(""));
        let lacks = |path: &PathBuf| match &root {
            Some(root) => !root.join(path).exists(),
            None => !is_in(path, &linked),
        };
        let with_names = self.git.ignored(None)?.into_iter().filter(lacks).map(|path| {
            let named = named.iter().filter(|(_, to)| to.starts_with(&path));
            let names: BTreeSet<String> = named.map(|(name, _)| name.clone()).collect();
            let inside = path.strip_prefix(&self.prefix).map(Path::to_owned);
            (inside.unwrap_or(path), names)
        });
        let is_needed = |path: &Path, names: &BTreeSet<String>| {
            !names.is_empty() || PACKAGES.iter().any(|name| path == Path::new(name))
        };
        Ok(with_names.filter(|(path, names)| is_needed(path, names)).collect())
    }

    /// Refuses what leads from a checkout of that commit back into the project.
    pub fn refuse_ways_back(&self, commit: Option<&CommitId>) -> Result<()> {
        commit.map_or(Ok(()), |commit| self.refuse_links_back(commit))?;
        self.links.iter().try_for_each(|link| self.refuse_in_linked(link))
    }

    /// Whether nothing in that path of the project would lead back, if it were linked.
    pub fn may_be_linked(&self, path: &Path) -> bool {
        !matches!(self.refuse_in_linked(path), Err(WorkspaceError::LeadsBack { .. }))
    }

    /// The same of its links alone.
    pub(super) fn refuse_links_back(&self, commit: &CommitId) -> Result<()> {
        let mut links = self.git.links_in(commit)?;
        links.retain(|(_, to)| to.is_absolute());
        self.refuse(links, None)
    }

    /// Why a change holds a link that no result can: one back into the project, or into the very workspace.
    pub(super) fn link_out(
        &self,
        slot: usize,
        links: Vec<(PathBuf, PathBuf)>,
    ) -> Result<Option<String>> {
        let workspace = self.slot(slot);
        if let Some((at, _)) = links.iter().find(|(_, to)| to.starts_with(&workspace)) {
            let at = at.display();
            return Ok(Some(format!(
                "the symbolic link `{at}` leads into the workspace by an absolute path: make it a relative link"
            )));
        }
        let from = |at: &Path| workspace.join(at.parent().unwrap_or(at));
        let links = links.into_iter().map(|(at, to)| (at.clone(), from(&at).join(to)));
        match self.refuse(links.collect(), None) {
            Ok(()) => Ok(None),
            Err(error @ WorkspaceError::LeadsBack { .. }) => Ok(Some(error.to_string())),
            Err(error) => Err(error),
        }
    }

    fn refuse_in_linked(&self, link: &Path) -> Result<()> {
        let root = self.project.join(link);
        let (mut open, mut looked, mut said) = (vec![root.clone()], 0, Vec::new());
        while let Some(path) = open.pop() {
            looked += 1;
            if looked > ENTRIES_MAX {
                self.note([format!(
                    "`{}` has more than {ENTRIES_MAX} entries: it is not known whether each stays out of the project",
                    link.display()
                )]);
                break;
            }
            let at = path.strip_prefix(&self.project).unwrap_or(&path);
            said.extend(leads_to(&path).into_iter().map(|to| (at.to_owned(), to)));
            if path == root || path.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
                let entries = fs::read_dir(&path).into_iter().flatten().flatten();
                open.extend(entries.map(|entry| entry.path()));
            }
        }
        self.refuse(said, Some(link))
    }

    /// Refuses the first of these places that says a path of the project, if a commit can hold what is there.
    fn refuse(&self, said: Vec<(PathBuf, PathBuf)>, link: Option<&Path>) -> Result<()> {
        let top = self.git.top();
        let (paths, mut ways) = (ProjectPaths::of(top, &self.prefix), Vec::new());
        let mut others = self.linked_in(Path::new(""));
        others.extend([".git", ".descent"].map(PathBuf::from));
        for (at, text) in said {
            for path in paths.found_in(text.as_os_str()) {
                if !is_in(&path.leads_to, &others) && top.join(&path.leads_to).exists() {
                    ways.push((at.clone(), path.leads_to));
                }
            }
        }
        if ways.is_empty() {
            return Ok(());
        }
        let ignored = self.git.ignored(None)?;
        ways.into_iter().find(|(_, to)| !is_in(to, &ignored)).map_or(Ok(()), |(at, to)| {
            Err(WorkspaceError::LeadsBack {
                at,
                to: top.join(to).components().collect(),
                link: link.map(Path::to_owned),
            })
        })
    }
}

fn is_in(path: &Path, places: &[PathBuf]) -> bool {
    places.iter().any(|place| path.starts_with(place))
}

/// The target of a link, or what a file by which Python finds packages names.
fn leads_to(path: &Path) -> Vec<PathBuf> {
    match fs::read_link(path) {
        Ok(to) => vec![path.parent().unwrap_or(path).join(to)],
        Err(_) => python_named_in(path),
    }
}
