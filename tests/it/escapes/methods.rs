//! Which methods of ending there are, and which of them a machine lacks: found out by a run, and, so that a method that
//! broke does not pass for one that is lacking, without the program too.

use std::{
    collections::BTreeMap,
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
    world.align(&plan(
        &["test -f done"],
        json!({}),
        json!({"A1": task("touch done")}),
    ));
    let ran = end_of(&mut Running::of(command(&world, method)));
    let why_not = (ran.code == Some(69)).then_some(ran.stderr);
    assert!(
        why_not.is_none() || !must_work(method),
        "{method} works on this machine, and was found not to: {why_not:?}"
    );
    why_not
}

/// What the program finds lacking, it does not use: so the machine is asked without it.
fn must_work(method: &str) -> bool {
    let mut unshare = Command::new("unshare");
    let unshare = unshare
        .args(["--pid", "--fork", "true"])
        .stderr(Stdio::null());
    match method {
        "guard" => true,
        "namespace" => unshare.status().is_ok_and(|status| status.success()),
        _ => false,
    }
}
