//! The fence around the state: no job writes `.descent` or `.git`, and what nobody is known to have written is asked about.

use std::{fs, os::unix::process::CommandExt, process::Command};

use serde_json::json;

use crate::{
    passed_over::{Lack, is_root, passed_over},
    world::{Ran, Running, World, plan, task, wait_for},
};

/// Tries every way to change the project's `.descent` and `.git` that an account has, and says which one worked.
const TRIES: &str = r#"
P=$(cat "$1")
say() { echo "$1" >>"$2/broken"; }
try() { what=$1; shift; if "$@" 2>/dev/null; then say "$what" "$OUT"; fi; }
try create touch "$P/.descent/new"
try create-git touch "$P/.git/new"
try append sh -c "echo >>$P/.descent/state.json"
try append-git sh -c "echo >>$P/.git/config"
try truncate python3 -c "import os; os.truncate('$P/.descent/state.json', 0)"
try unlink rm "$P/.descent/state.json"
try over mv "$OUT/forged" "$P/.descent/state.json"
try link ln "$OUT/forged" "$P/.descent/linked"
try rename mv "$P/.descent" "$P/.descent-old"
try rename-git mv "$P/.git" "$P/.git-old"
try project mv "$P" "$P-old"
try above mv "$(dirname "$P")" "$(dirname "$P")-old"

try hook touch "$P/.git/hooks/post-commit"
try unmount umount "$P/.descent"
try remount mount -o remount,rw,bind "$P/.descent"
try nested unshare -Urm sh -c "umount $P/.descent || mount -o remount,rw,bind $P/.descent; touch $P/.descent/new"
try outcome touch "$(dirname "$DESCENT_PROMPT")/outcome.json"
[ -z "$RECORDS" ] || try consent touch "$RECORDS/new"
try record touch "$(dirname "$DESCENT_PROMPT")/new"
echo '{"summary": "tried"}' >"$DESCENT_RESULT"
"#;

/// The account of a test that is not root's own.
const ACCOUNT: u32 = 4242;

/// Who runs the program, and how its jobs are ended.
#[derive(Clone, Copy)]
enum By {
    Root(&'static str),
    /// With a home above the project.
    Account,
}

fn command(world: &World, by: By, args: &[&str]) -> Command {
    let mut command = world.command(args);
    command.env("TMPDIR", world.root().join("tmp"));
    match by {
        By::Root(ending) => command.env("DESCENT_ENDING", ending),
        By::Account => command.env("HOME", world.root()).uid(ACCOUNT).gid(ACCOUNT),
    };
    command
}

fn ran(world: &World, by: By, args: &[&str]) -> Ran {
    Running::of(command(world, by, args)).wait()
}

fn world() -> World {
    let world = World::new();
    fs::create_dir(world.root().join("tmp")).unwrap();
    fs::write(world.out("forged"), "{}").unwrap();
    world
}

/// Gives all of the world to the account.
fn give(world: &World) {
    let owner = format!("{ACCOUNT}:{ACCOUNT}");
    let mut chown = Command::new("chown");
    let given = chown.args(["-R", &owner]).arg(world.root()).status();
    assert!(given.unwrap().success());
}

/// Another account may not reach the program, where it was built in root's own home.
fn account_can_start() -> bool {
    let mut look = Command::new(env!("CARGO_BIN_EXE_descent"));
    look.arg("--version").current_dir("/").uid(ACCOUNT);
    let can_start = has_root() && look.output().is_ok();
    if !can_start {
        let why = "another account cannot start the program";
        passed_over("the fence", Lack::Machine(why));
    }
    can_start
}

/// Runs the tries as an attempt and as a check, which is a job too.
fn tried(by: By, is_worker: bool) {
    let world = world();
    let program = world.program("tries.sh", TRIES);
    let (out, repo) = (world.root().join("out"), world.repo());
    // A command that names the project would be led to the checkout.
    let named = world.out("repo");
    fs::write(&named, repo.display().to_string()).unwrap();
    let (out, repo) = (out.display(), named.display());
    let records = match by {
        // Landlock leaves them open.
        By::Root("guard") => String::new(),
        By::Root(_) => world.root().join("home/.local/state/descent").display().to_string(),
        By::Account => world.root().join(".local/state/descent").display().to_string(),
    };
    let tries = format!("OUT={out} RECORDS={records} sh {} {repo}", program.display());
    let atom = if is_worker {
        json!({"kind": "task", "description": "try"})
    } else {
        task(&format!("{tries}; touch done"))
    };
    world.write(
        "descent.toml",
        &format!("agents.worker.run = '{tries}; touch done'\nroles.worker = \"worker\"\n"),
    );
    let check = format!("test $PWD = $(cat {repo}) || DESCENT_PROMPT=/x/y {tries}; test -f done");
    let file = world.plan(&plan(&[&check], json!({}), json!({"A1": atom})));
    if matches!(by, By::Account) {
        give(&world);
    }
    ran(&world, by, &["align", "-f", &file, "-y"]).expect(0);
    let log = || fs::read(world.repo().join(".git/logs/HEAD")).unwrap();
    let before = log();
    let ran = ran(&world, by, &["run"]).expect(0);
    assert!(!ran.stderr.contains("no fence"), "{}", ran.stderr);
    ran.shows("completed");
    assert_eq!(world.left("broken"), "");
    assert_eq!(log(), before);
    let state = world.state();
    assert_eq!(state["corrections"], json!([]), "nobody edited it");
    assert_eq!(state["bindings"]["A1"]["summary"], "tried");
}

/// Only root has mounts without a user namespace, and can be another account.
fn has_root() -> bool {
    let is_root = is_root();
    if !is_root {
        passed_over("the fence", Lack::Machine("not root"));
    }
    is_root
}

#[test]
fn no_attempt_and_no_check_writes_the_state_or_the_repository_behind_mounts() {
    if has_root() {
        tried(By::Root("namespace"), false);
    }
}

#[test]
fn no_worker_and_no_check_writes_the_state_or_the_repository_behind_landlock() {
    tried(By::Root("guard"), true);
}

#[test]
fn no_attempt_of_an_ordinary_account_writes_the_state_or_the_repository_below_its_home() {
    if account_can_start() {
        tried(By::Account, false);
    }
}

#[test]
fn an_ordinary_account_has_its_own_home_behind_the_fence() {
    if !account_can_start() {
        return;
    }
    let world = world();
    let keeps = task("echo kept >~/new && mv ~/new ~/old && touch got");
    let check = "grep -q kept ~/old";
    let file = world.plan(&plan(&[check], json!({}), json!({"A1": keeps})));
    give(&world);
    ran(&world, By::Account, &["align", "-f", &file, "-y"]).expect(0);
    ran(&world, By::Account, &["run"]).expect(0).shows("completed");
    let kept = fs::read_to_string(world.root().join("old")).unwrap();
    assert_eq!(kept, "kept\n");
}

/// A step in the project itself, without mounts, that edits the state and waits.
fn edited(edit: &str) -> (World, Running) {
    let world = world();
    let state = world.state_path();
    let step = format!(
        "sed -i '{edit}' {}; touch edited; until test -f go; do sleep 0.05; done",
        state.display()
    );
    let plan = plan(&["test -f never"], json!({"workspace": "shared"}), json!({"A1": task(&step)}));
    let file = world.plan(&plan);
    ran(&world, By::Root("guard"), &["align", "-f", &file, "-y"]).expect(0);
    let running = Running::of(command(&world, By::Root("guard"), &["run"]));
    (world, running)
}

/// Waits until the edit of a step is noticed and refused, and ends the run.
fn refused(edit: &str) -> World {
    let (world, mut running) = edited(edit);
    wait_for("the edit is noticed", || running.said().contains("nobody knows who changed it"));
    fs::write(world.repo().join("go"), "").unwrap();
    running.signal(rustix::process::Signal::INT);
    let ended = running.wait();
    assert!(!ended.stderr.contains("completed"), "{}", ended.stderr);
    ended.says("no fence: attempts can write the state file");
    let refused = ran(&world, By::Root("guard"), &["run"]).expect(77);
    refused.says("it was changed while attempts ran that can write it");
    world
}

#[test]
fn a_forged_answer_waits_for_consent_where_no_fence_holds() {
    let answer = r#"{"id": "c1", "timestamp": "2026-01-01T00:00:00.000Z", "type": "confirmation", "description": "d", "trail_cleared": false, "by": "person", "changes": [], "name": "it looks right", "holds": true}"#;
    refused(&format!(r#"s/"corrections": \[\]/"corrections": [{answer}]/"#));
}

#[test]
fn a_forged_base_case_waits_for_consent_where_no_fence_holds() {
    let world = refused("s/test -f never/true/");
    let hash = ran(&world, By::Root("guard"), &["trust", "--json"]).json()["hash"].clone();
    ran(&world, By::Root("guard"), &["trust", "--hash", hash.as_str().unwrap()]).expect(0);
    ran(&world, By::Root("guard"), &["run"]).expect(0).shows("completed");
    let state = world.state();
    let corrections = state["corrections"].as_array().unwrap();
    assert!(!corrections.is_empty() && corrections.iter().all(|one| one["by"] == "unknown"));
}
