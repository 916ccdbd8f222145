//! The abilities of the machine: clocks, ways to end processes, file events, limits, and the terminal.

use std::fs;

use rustix::process::{Resource, getrlimit};

use super::{super::fence::programs, Finding};
use crate::{
    clock, process,
    render::{self, area},
    store::StatePlace,
    workspace::cache_dir,
};

/// Enough for git, pipes and the program's own files, with some attempts side by side.
const FILES_MIN: u64 = 256;
const PROCESSES_MIN: u64 = 128;
/// The columns that a page needs.
const COLUMNS_MIN: usize = 60;

pub(super) fn findings(place: &StatePlace) -> Vec<Finding> {
    vec![clocks(), ending(), fence(place), events(), open_files(), processes(), terminal()]
}

fn clocks() -> Finding {
    let has_boot_id = !process::boot_id().is_empty();
    match (clock::tells_sleep(), has_boot_id) {
        (true, true) => Finding::ok("clocks", "sleep and restarts of the machine can be told"),
        (false, _) => Finding::degraded(
            "clocks",
            "the sleep of the machine cannot be told from work",
            "a loop that slept may be shown as hung until its next beat",
        ),
        (true, false) => Finding::degraded(
            "clocks",
            "restarts of the machine cannot be told",
            "what a killed run left is found by its mark alone",
        ),
    }
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

fn events() -> Finding {
    let read = |name: &str| {
        let path = format!("/proc/sys/fs/inotify/{name}");
        fs::read_to_string(path).ok()?.trim().parse::<u64>().ok()
    };
    let (Some(watches), Some(instances)) = (read("max_user_watches"), read("max_user_instances"))
    else {
        let means = "an edit of the state is noticed by polling, within a second";
        return Finding::degraded("file events", "the system tells no limits of them", means);
    };
    let found = format!("{watches} watches, {instances} watchers for each account");
    if watches < 16 || instances < 4 {
        let means = "an edit of the state may be noticed by polling alone, within a second";
        return Finding::degraded("file events", found, means)
            .mend("sysctl fs.inotify.max_user_instances=128");
    }
    Finding::ok("file events", found)
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

fn terminal() -> Finding {
    if !area::can_draw() {
        return Finding::ok("terminal", "none, or a simple one: nothing is drawn");
    }
    let (columns, rows) = area::size();
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    let is_utf8 = locale.is_some_and(|locale| {
        let locale = locale.to_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    });
    let colour = if render::is_coloured() { "colour" } else { "no colour" };
    let found = format!("{columns} columns, {rows} rows, {colour}");
    if columns < COLUMNS_MIN {
        return Finding::degraded("terminal", found, "lines are cut short");
    }
    if !is_utf8 {
        let means = "marks such as ✓ may look wrong";
        return Finding::degraded("terminal", found, means).mend("export LANG=C.UTF-8");
    }
    Finding::ok("terminal", format!("{found}, UTF-8"))
}
