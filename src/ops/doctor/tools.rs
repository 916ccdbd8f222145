//! The programs that a run starts: git, the shell.

use std::path::Path;

use descent_core::state::Workspace;

use super::Finding;
use crate::{
    failure::Failure,
    git::{self, Git},
    store::{StatePlace, Store},
};

pub(super) fn findings(place: &StatePlace) -> Vec<Finding> {
    let mut findings = vec![version(place)];
    findings.extend(repository(place));
    findings.push(shell());
    findings
}

fn version(place: &StatePlace) -> Finding {
    match git::version(&place.project) {
        Ok((major, minor)) => {
            Finding::ok("git", format!("{major}.{minor}, syncs what it writes when descent asks"))
        }
        Err(error) => missing("git", error),
    }
}

fn missing(name: &'static str, error: git::GitError) -> Finding {
    let failure = Failure::from(error);
    Finding::missing(name, failure.message, "no copies for attempts can be made").mend(failure.hint)
}

fn repository(place: &StatePlace) -> Vec<Finding> {
    let chosen = chosen(place);
    match chosen {
        Some(Workspace::Shared) => {
            return vec![Finding::ok("repository", "none is used: agents work in place")];
        }
        Some(Workspace::Shadow) => {
            return vec![Finding::ok("repository", "a private one, in the cache")];
        }
        Some(Workspace::Git) | None => {}
    }
    match Git::open(&place.project) {
        Ok(Some(git)) => vec![commits(&git), identity(&git)],
        Ok(None) if chosen == Some(Workspace::Git) => vec![
            Finding::missing(
                "repository",
                "none around this directory",
                "what is agreed says that attempts work in one: workspace = git",
            )
            .mend("git init && git add -A && git commit -m start"),
        ],
        Ok(None) => vec![Finding::ok(
            "repository",
            "none around this directory: descent keeps a private one in the cache",
        )],
        // The finding on git's version reports it already.
        Err(git::GitError::Missing | git::GitError::TooOld { .. }) => Vec::new(),
        Err(error) => vec![missing("repository", error)],
    }
}

/// The workspace that the state names, if there is a state that can be read.
fn chosen(place: &StatePlace) -> Option<Workspace> {
    let loaded = Store::open(place.clone()).read().ok()?;
    Some(loaded.state.objective.constraints.workspace())
}

fn commits(git: &Git) -> Finding {
    let top = git.top().to_owned();
    let failed = match git.head() {
        Ok(head) if head.commit.is_some() => {
            return Finding::ok("repository", top.display().to_string());
        }
        Ok(_) => git::GitError::NoCommits { top },
        Err(error) => error,
    };
    let failure = Failure::from(failed);
    Finding::missing("repository", failure.message, "there is nothing to begin from")
        .mend(failure.hint)
}

fn identity(git: &Git) -> Finding {
    if git.identity_is_default() {
        let means = "commits of the result bear a made-up name";
        return Finding::degraded("identity", "git knows no name of yours", means)
            .mend("git config --global user.name …; … user.email …");
    }
    Finding::ok("identity", "git knows your name")
}

fn shell() -> Finding {
    if Path::new("/bin/sh").exists() {
        return Finding::ok("shell", "/bin/sh");
    }
    Finding::missing("shell", "there is no /bin/sh", "no command can be run")
        .mend("install a POSIX shell there")
}
