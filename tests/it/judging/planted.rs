//! Plans with one planted issue each, and clean ones that tempt the rules (`fixtures/judged`).
//!
//! Not here: each rule by itself (`judging` of the core).

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::{
    chance, passed_over,
    safety::trust::trust_worker,
    undisturbed::side_by_side,
    world::{Ran, World, plan, task},
};

/// Plans at once.
const LANES: u64 = 3;

/// A fixture by its name.
pub(super) struct JudgedPlan {
    pub(super) name: String,
    pub(super) fixture: Value,
}

pub(super) fn fixtures(kind: &str) -> Vec<JudgedPlan> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/judged").join(kind);
    let entries = fs::read_dir(&dir).expect("the fixtures").flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    let read = |path: PathBuf| JudgedPlan {
        name: path.file_stem().unwrap().to_string_lossy().into_owned(),
        fixture: serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap(),
    };
    paths.into_iter().map(read).collect()
}

impl JudgedPlan {
    /// Whether the programs are here that the rules shall find.
    pub(super) fn can_be_judged(&self) -> bool {
        let needed = self.fixture["requires"].as_array().cloned();
        // A program has the name of its package here.
        needed.unwrap_or_default().iter().all(|program| {
            let program = program.as_str().unwrap();
            passed_over::has(program, program)
        })
    }

    /// The files alone: looking at a plan needs no repository.
    fn files(&self) -> World {
        let world = World::bare();
        let files = self.fixture["files"].as_object().unwrap();
        for (path, text) in files {
            let path = world.repo().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text.as_str().unwrap()).unwrap();
        }
        if files.contains_key("worker.sh") {
            world.write(
                "descent.toml",
                "agents.worker.run = \"sh worker.sh\"\nroles.worker = \"worker\"\n",
            );
        }
        world
    }

    pub(super) fn world(&self) -> World {
        let world = self.files();
        world.git(&["init", "-q", "-b", "main"]);
        world.git(&["config", "user.name", "Ada"]);
        world.git(&["config", "user.email", "ada@example.org"]);
        world.commit_all("the project");
        if world.repo().join("descent.toml").exists() {
            trust_worker(&world);
        }
        world
    }

    /// The rules that speak, with their places and weights.
    fn judged(&self, world: &World, plan: &str) -> Vec<[String; 4]> {
        let path = world.out(plan);
        fs::write(&path, self.fixture[plan].to_string()).unwrap();
        let path = path.display().to_string();
        let ran = world.descent(&["validate", &path, "--json"]);
        let issues = told(&ran, &self.name);
        let is_heavy = issues.iter().any(|issue| issue[2] == "high");
        let code = i32::from(is_heavy);
        assert_eq!(ran.code, Some(code), "{}: {}", self.name, ran.stderr);
        issues
    }

    /// The planted issue; none where only a model could tell.
    fn planted(&self) -> Option<[String; 4]> {
        let issue = &self.fixture["issue"];
        let text = |key: &str| issue[key].as_str().map(str::to_owned);
        Some([text("rule")?, text("location")?, text("severity")?, text("type")?])
    }
}

fn told(ran: &Ran, name: &str) -> Vec<[String; 4]> {
    let output: Value = serde_json::from_str(&ran.stdout)
        .unwrap_or_else(|_| panic!("{name}: {}{}", ran.stdout, ran.stderr));
    let issues = output["issues"].as_array().cloned().unwrap_or_default();
    let text = |issue: &Value, key: &str| issue[key].as_str().unwrap().to_owned();
    let one = |issue: &Value| ["rule", "location", "severity", "type"].map(|key| text(issue, key));
    issues.iter().map(one).collect()
}

#[test]
fn the_rules_find_every_planted_issue_that_they_can_tell_and_no_other() {
    let all = fixtures("planted");
    let mut by_type: BTreeMap<String, usize> = BTreeMap::new();
    for one in &all {
        let kind = one.fixture["issue"]["type"].as_str().unwrap();
        *by_type.entry(kind.to_owned()).or_default() += 1;
    }
    let decidable = all.iter().filter(|one| one.planted().is_some()).count();
    assert!(all.len() >= 60 && decidable >= 24, "{} {decidable}", all.len());
    assert!(by_type.len() == 5 && by_type.values().all(|count| *count >= 8));
    side_by_side(LANES, all.len() as u64, |seed| {
        let one = &all[usize::try_from(seed % all.len() as u64).unwrap()];
        if !one.can_be_judged() {
            return;
        }
        let is_of_align = one.fixture["at"] == "align";
        let world = if is_of_align { one.world() } else { one.files() };
        let mut found = one.judged(&world, "plan");
        if is_of_align {
            assert_eq!(found, Vec::<[String; 4]>::new(), "{}", one.name);
            let path = world.out("plan").display().to_string();
            let ran = world.descent(&["align", "-n", "--json", "-f", &path]);
            found = told(&ran, &one.name);
        }
        assert_eq!(found, Vec::from_iter(one.planted()), "{}", one.name);
        let found = one.judged(&world, "mended");
        assert_eq!(found, Vec::<[String; 4]>::new(), "{} mended", one.name);
    });
}

#[test]
fn no_clean_plan_is_weighed_high() {
    let all = fixtures("clean");
    assert!(all.len() >= 24, "{}", all.len());
    side_by_side(LANES, all.len() as u64, |seed| {
        let one = &all[usize::try_from(seed % all.len() as u64).unwrap()];
        if one.can_be_judged() {
            let found = one.judged(&one.files(), "plan");
            let is_high = found.iter().any(|issue| issue[2] == "high");
            assert!(!is_high && found.len() <= 1, "{}: {found:?}", one.name);
        }
    });
}

#[test]
fn a_plan_that_was_mended_runs_to_its_end() {
    let all = fixtures("planted");
    let count = chance::count("MENDED", 8).min(all.len() as u64);
    let step = all.len() as u64 / count;
    side_by_side(LANES, count, |seed| {
        let at = (seed * step) % all.len() as u64;
        let one = &all[usize::try_from(at).unwrap()];
        let world = one.world();
        world.align(&one.fixture["mended"]);
        let ran = world.run();
        assert_eq!(ran.code, Some(0), "{}: {}{}", one.name, ran.stdout, ran.stderr);
    });
}

#[test]
fn what_is_wrong_with_tasks_that_a_redirect_adds_is_shown_and_refuses_nothing() {
    let world = World::new();
    let made = json!({"A": task("echo 1 > done")});
    world.align(&plan(&["test -e done"], json!({}), made));
    let added = json!({"work_graph": {"atoms": {"B": task("no-such-program-at-all")}}});
    let file = world.out("added.json");
    fs::write(&file, added.to_string()).unwrap();
    let file = file.display().to_string();
    let shown = world.descent(&["redirect", "-y", "--add", &file]).expect(0);
    shown.shows("1 issue (1 high) in what it changes; advice, not proof");
    let shown = world.descent(&["redirect", "-n", "--json", "--set", "max_attempts=2"]).expect(0);
    assert_eq!(shown.json()["issues"], json!([]));
}
