//! The methods of ending, and those that a machine lacks. A run finds them, and so does the test without the program: a
//! method that broke must not pass for one that is lacking.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Mutex, PoisonError},
};

use serde_json::json;

use super::{command, end_of};
use crate::world::{Running, World, plan, task};

pub(super) const METHODS: [&str; 3] = ["namespace", "cgroup", "guard"];

/// Why a method cannot be tried on this machine, if so. Found out once.
pub(super) fn lacks(method: &'static str) -> Option<String> {
    static FOUND: Mutex<BTreeMap<&str, Option<String>>> = Mutex::new(BTreeMap::new());
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    found.entry(method).or_insert_with(|| tried(method)).clone()
}

fn tried(method: &str) -> Option<String> {
    let world = World::new();
    world.align(&plan(&["test -f done"], json!({}), json!({"A1": task("touch done")})));
    let ran = end_of(&mut Running::of(command(&world, method)));
    let why_not = (ran.code == Some(69)).then_some(ran.stderr);
    assert!(
        why_not.is_none() || !must_work(method),
        "{method} works on this machine, and was found not to: {why_not:?}"
    );
    why_not
}

/// A method that the program finds lacking is not used: so the machine is asked without it.
fn must_work(method: &str) -> bool {
    let mut unshare = Command::new("unshare");
    let unshare = unshare.args(["--pid", "--fork", "true"]).stderr(Stdio::null());
    match method {
        "guard" => true,
        "namespace" => unshare.status().is_ok_and(|status| status.success()),
        "cgroup" => own_group().is_some_and(|own| can_kill_by_group(&own)),
        other => panic!("no method `{other}`"),
    }
}

/// The directory of the control group that this process is in, of the second version.
fn own_group() -> Option<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let mut mounts = mounts.lines().map(|line| line.split(' '));
    let at = mounts.find_map(|mut fields| {
        let at = fields.nth(1)?;
        (fields.next()? == "cgroup2").then(|| at.to_owned())
    })?;
    Some(Path::new(&at).join(own.trim_start_matches('/')))
}

/// Whether a group can be made below, and whoever is in it be killed at once.
fn can_kill_by_group(own: &Path) -> bool {
    let group = own.join(format!("test-{}", std::process::id()));
    if fs::create_dir(&group).is_err() {
        return false;
    }
    let mut nap = Command::new("sleep").arg("60").spawn().expect("a process");
    let works = fs::write(group.join("cgroup.procs"), nap.id().to_string()).is_ok()
        && fs::write(group.join("cgroup.kill"), "1").is_ok();
    let _ = nap.kill();
    let _ = nap.wait();
    let _ = fs::remove_dir(&group);
    works
}
