//! The abilities of the machine: ways to end processes, the fence, and limits.

use rustix::process::{Resource, getrlimit};

use super::{super::fence::programs, Finding};
use crate::{process, store::StatePlace, workspace::cache_dir};

/// Enough for git, pipes and the program's own files, with some attempts side by side.
const FILES_MIN: u64 = 256;
const PROCESSES_MIN: u64 = 128;

pub(super) fn findings(place: &StatePlace) -> Vec<Finding> {
    vec![ending(), fence(place), open_files(), processes()]
}

/// The fence that keeps attempts from writing the state.
fn fence(place: &StatePlace) -> Finding {
    let cwd = cache_dir().unwrap_or_else(std::env::temp_dir);
    match programs(place).gap(&cwd) {
        None => Finding::ok("fence", "attempts and checks cannot write .descent and .git"),
        Some(why) => Finding::degraded(
            "fence",
            format!("attempts can write the state file: {why}"),
            "a change of it while they work waits for `descent trust`",
        ),
    }
}

/// The ways to end all that an attempt started, each tried.
fn ending() -> Finding {
    if let Err(refused) = process::ending::check_requested() {
        let means = "a run would not begin";
        return Finding::missing("ending", refused.message, means).mend(refused.hint);
    }
    let tried = process::ending::methods();
    let found: Vec<String> = tried.iter().map(process::ending::MethodProbe::text).collect();
    let found = found.join("; ");
    if tried.iter().any(|one| one.why_not.is_none()) {
        return Finding::ok("ending", found);
    }
    Finding::degraded(
        "ending",
        found,
        "a process that leaves the group of its attempt may outlive it",
    )
    .mend("mount -t proc proc /proc, and see docs/processes.md")
}

fn open_files() -> Finding {
    let most = getrlimit(Resource::Nofile).current;
    limit("open files", "ulimit -n 1024", most, FILES_MIN)
}

fn processes() -> Finding {
    let most = getrlimit(Resource::Nproc).current;
    limit("processes", "ulimit -u 4096", most, PROCESSES_MIN)
}

fn limit(name: &'static str, mend: &str, most: Option<u64>, enough: u64) -> Finding {
    match most {
        None => Finding::ok(name, "no limit"),
        Some(most) if most >= enough => Finding::ok(name, format!("at most {most}")),
        Some(most) => {
            let means = "a run may have to wait for others to end";
            Finding::degraded(name, format!("at most {most}"), means).mend(mend)
        }
    }
}
