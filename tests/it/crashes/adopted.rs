//! An attempt that had ended when the loop was killed is taken as it is; what is torn, foreign or late is not.

use std::{fs, path::PathBuf};

use serde_json::json;

use crate::{
    passed_over::can_trace,
    world::{World, long_nap, plan, processes, task, with},
};

/// A run that is killed in the check of its only atom, which has ended and says so outside.
struct Cut {
    world: World,
    nap: String,
}

impl Cut {
    fn new(effect: &str) -> Self {
        let (world, nap) = (World::new(), long_nap());
        let (ended, hold, at) = (world.out("ended"), world.out("hold"), world.out("at"));
        let run = format!(
            "echo \"$DESCENT_ATTEMPT\" >> {}; echo made > done; \
             echo '{{\"summary\": \"said\", \"value\": {{\"n\": 1.50}}}}' > \"$DESCENT_RESULT\"",
            ended.display()
        );
        let check = format!(
            "if [ -e {} ]; then touch {}; sleep {nap}; fi; test -f done",
            hold.display(),
            at.display()
        );
        let atom =
            with(task(&run), json!({"effect": effect, "checks": {"all": [{"command": check}]}}));
        world.align(&plan(&["test -f done"], json!({}), json!({"A1": atom})));
        world.touch("hold");
        let run = world.start(&["run"]);
        world.wait_for_file("at");
        run.kill();
        fs::remove_file(world.out("hold")).unwrap();
        Self { world, nap }
    }

    fn record(&self) -> PathBuf {
        let id = self.world.state()["run"]["in_flight"][0]["id"].clone();
        let attempts = self.world.repo().join(".descent/state.json.d/attempts");
        attempts.join(id.as_str().unwrap()).join("outcome.json")
    }

    /// Runs to the end; `begun` attempts were made in all, each the first of its context.
    #[track_caller]
    fn check(&self, begun: usize, adopted: usize) {
        let ran = self.world.run().expect(0);
        assert_eq!(ran.count("adopted"), adopted, "{}", ran.stdout);
        assert_eq!(self.world.left("ended"), "1\n".repeat(begun));
        assert_eq!(self.world.result_file("done"), "made\n");
        let binding = &self.world.state()["bindings"]["A1"];
        assert_eq!(binding["summary"], "said");
        assert_eq!(binding["attempts"], 1);
        assert!(self.world.state_text().contains("1.50"), "the number's own text");
        let interruptions = &binding["of"]["interruptions"];
        assert_eq!(interruptions.as_u64().unwrap_or(0), begun as u64 - 1);
        assert_eq!(processes(&self.nap), Vec::<String>::new());
    }
}

#[test]
fn what_had_ended_is_adopted_and_not_made_again() {
    Cut::new("tree").check(1, 1);
}

#[test]
fn an_effect_outside_that_had_ended_is_in_no_doubt() {
    Cut::new("external").check(1, 1);
}

#[test]
fn it_is_adopted_without_the_workspace_that_it_was_made_in() {
    let cut = Cut::new("tree");
    fs::remove_dir_all(cut.world.cache()).unwrap();
    cut.check(1, 1);
}

#[test]
fn a_torn_record_is_void_and_the_attempt_is_made_again_under_its_number() {
    let cut = Cut::new("tree");
    let whole = fs::read(cut.record()).unwrap();
    fs::write(cut.record(), &whole[..whole.len() / 2]).unwrap();
    cut.check(2, 0);
}

#[test]
fn a_record_of_another_epoch_is_void() {
    let cut = Cut::new("tree");
    let late = fs::read(cut.record()).unwrap();
    // The same attempt again, of a later run: what is there is the result of an earlier one.
    cut.world.touch("hold");
    fs::remove_file(cut.world.out("at")).unwrap();
    fs::remove_file(cut.record()).unwrap();
    let run = cut.world.start(&["run"]);
    cut.world.wait_for_file("at");
    run.kill();
    fs::remove_file(cut.world.out("hold")).unwrap();
    fs::write(cut.record(), late).unwrap();
    cut.check(3, 0);
}

#[test]
fn a_record_whose_commit_the_repository_lost_is_void() {
    let cut = Cut::new("tree");
    let record = fs::read_to_string(cut.record()).unwrap();
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    let (dir, name) = record["outcome"]["made"]["commit"].as_str().unwrap().split_at(2);
    fs::remove_file(cut.world.repository().join("objects").join(dir).join(name)).unwrap();
    cut.check(2, 0);
}

#[test]
fn a_redirect_that_came_before_the_resume_throws_the_result_away() {
    let cut = Cut::new("tree");
    let asked = "\"redirect_requested\": true";
    cut.world.replace_in_state("\"redirect_requested\": false", asked);
    let ran = cut.world.run().expect(0);
    assert_eq!(ran.count("attempt_started"), 1);
    assert_eq!(cut.world.left("ended"), "1\n1\n");
}

/// Runs to the end; the calls that sync and that replace the state, in their order.
fn traced(world: &World) -> String {
    let trace = world.out("trace");
    let program = env!("CARGO_BIN_EXE_descent");
    let command = world.command(&[]);
    let traced = std::process::Command::new("strace")
        .args(["-f", "-y", "-qq", "-e", "trace=fsync,fdatasync,syncfs,renameat2", "-o"])
        .arg(&trace)
        .args([program, "run"])
        .env_clear()
        .envs(command.get_envs().filter_map(|(key, value)| Some((key, value?))))
        .current_dir(world.repo())
        .stdin(std::process::Stdio::null())
        .output();
    let traced = traced.expect("strace was there just now");
    assert!(traced.status.success(), "{traced:?}");
    fs::read_to_string(&trace).unwrap()
}

/// The commit of `atom`, the reference that keeps it, and `others` are synced before the last commit of the state.
#[track_caller]
fn check_synced(world: &World, calls: &str, (atom, kept): (&str, &str), others: &[&str]) {
    let calls: Vec<&str> = calls.lines().collect();
    let commit = world.state()["bindings"][atom]["commit"].clone();
    let (dir, name) = commit.as_str().unwrap().split_at(2);
    let mut places = vec![
        format!("/objects/{dir}>"),
        format!("/objects/{dir}/{name}>"),
        "/keep>".to_owned(),
        format!("/keep/.new-{kept}>"),
    ];
    places.extend(others.iter().map(|place| (*place).to_owned()));
    let last_commit = calls.iter().rposition(|line| line.contains("state.json"));
    for what in places {
        let synced = |line: &&str| line.contains("sync(") && line.contains(&what);
        let place = calls.iter().position(synced);
        let place = place.unwrap_or_else(|| panic!("{what} is not synced:\n{calls:#?}"));
        assert!(Some(place) < last_commit, "{what} is synced too late");
    }
}

#[test]
fn objects_and_references_are_synced_before_the_state_names_them() {
    if !can_trace() {
        return;
    }
    let world = World::new();
    world.align(&plan(
        &["test -f done"],
        json!({}),
        json!({"A1": with(task("echo made > done"), json!({"effect": "external"}))}),
    ));
    let calls = traced(&world);
    let record = ["/attempts/A1.1>", "/attempts/A1.1/.new-"];
    check_synced(&world, &calls, ("A1", "A1.1.made"), &record);
}

#[test]
fn a_change_that_is_brought_to_another_head_is_synced_before_the_state_names_it() {
    if !can_trace() {
        return;
    }
    let world = World::new();
    let begun = world.out("begun").display().to_string();
    let state = world.state_path().display().to_string();
    let is_bound = format!("! grep -q '\"bindings\": {{}}' {state}");
    let atoms = json!({
        "A1": task(&format!("until [ -e {begun} ]; do sleep 0.02; done; echo a > a")),
        "B1": task(&format!("touch {begun}; until {is_bound}; do sleep 0.02; done; echo b > b")),
    });
    world.align(&plan(&["test -f a -a -f b"], json!({}), atoms));
    let calls = traced(&world);
    check_synced(&world, &calls, ("B1", "B1.2"), &["/keep/.new-B1.2.made>"]);
}
