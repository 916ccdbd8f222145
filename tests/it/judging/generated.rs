//! Plans by chance that are clean by construction: whatever they are made of, no rule weighs anything in them high.
//!
//! Not here: plans that tempt one rule each (`planted`).

use serde_json::{Map, Value, json};

use crate::{
    chance::{self, Rng},
    undisturbed::side_by_side,
    world::World,
};

const LANES: u64 = 3;
/// A plan has so many atoms of its top at most.
const ROOTS_MAX: u64 = 6;
const DEPTH_MAX: u64 = 3;

/// A plan that grows. Each atom may build on those beside and around it that came before.
struct Growing {
    rng: Rng,
    atoms: Map<String, Value>,
    count: u64,
}

/// Atoms that a later one may build on: ids to wait for, and what they make and provide whatever is chosen.
#[derive(Clone, Default)]
struct Before {
    atoms: Vec<Made>,
}

#[derive(Clone)]
struct Made {
    id: String,
    /// A file that is there when it is done.
    file: String,
    /// A name that it provides.
    provides: String,
}

impl Growing {
    fn chance(&mut self, percent: u64) -> bool {
        self.rng.below(100) < percent
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[usize::try_from(self.rng.below(of.len() as u64)).unwrap()]
    }

    /// An atom of any kind that leaves this file and provides this name, whatever is chosen inside.
    fn atom(&mut self, depth: u64, before: &Before, leaves: Option<(&str, &str)>) -> Made {
        self.count += 1;
        let n = self.count;
        let made = Made {
            id: format!("a{n}"),
            file: leaves.map_or(format!("made/f{n}.txt"), |(file, _)| file.to_owned()),
            provides: leaves.map_or(format!("part {n}"), |(_, name)| name.to_owned()),
        };
        let deps: Vec<Made> =
            before.atoms.iter().filter(|_| self.rng.below(3) == 0).cloned().collect();
        let ids: Vec<&str> = deps.iter().map(|dep| dep.id.as_str()).collect();
        let kind = if depth < DEPTH_MAX { self.rng.below(10) } else { 0 };
        let mut atom = match kind {
            0..=5 => self.task(&made, &deps),
            6 | 7 => {
                let own = (made.file.as_str(), made.provides.as_str());
                let all: Vec<Made> = (0..1 + self.rng.below(3))
                    .map(|_| self.atom(depth + 1, &Before::default(), Some(own)))
                    .collect();
                let ids: Vec<&str> = all.iter().map(|kid| kid.id.as_str()).collect();
                json!({"kind": "any", "choices": ids})
            }
            _ => {
                let mut inner = Before::default();
                let others = self.rng.below(2);
                for _ in 0..others {
                    let kid = self.atom(depth + 1, &inner, None);
                    inner.atoms.push(kid);
                }
                let own = (made.file.as_str(), made.provides.as_str());
                let last = self.atom(depth + 1, &inner, Some(own));
                inner.atoms.push(last);
                let ids: Vec<&str> = inner.atoms.iter().map(|kid| kid.id.as_str()).collect();
                json!({"kind": "all", "parts": ids})
            }
        };
        atom["depends_on"] = json!(ids);
        self.atoms.insert(made.id.clone(), atom);
        made
    }

    fn task(&mut self, made: &Made, deps: &[Made]) -> Value {
        let file = &made.file;
        let mut task = json!({"kind": "task", "provides": [made.provides], "touches": [file],
            "description": format!("Make {file}, number {}, out of what is there", made.id)});
        let from = deps.first().map_or("src/main.c", |dep| dep.file.as_str());
        let action = match self.rng.below(9) {
            0 => format!("mkdir -p made && cp {from} {file}"),
            1 => format!("make all && mkdir -p made && sort {from} > {file}"),
            2 => format!("sh scripts/make.sh {file}"),
            3 => format!("./scripts/run.sh < {from} > {file}"),
            4 => format!("mkdir -p made; printf '%s\\n' one two > {file}"),
            5 => format!("CC=cc make -C . test; cat {from} | tr a-z A-Z >> {file}"),
            6 => format!("test -e {from} && {{ mkdir -p made; echo made > {file}; }}"),
            7 if !deps.is_empty() => format!("sh {from} > {file}"),
            _ => String::new(),
        };
        if !action.is_empty() {
            task["action"] = json!({"run": action});
        }
        let checks = [
            json!({"file": file}),
            json!({"file": file, "contains": "."}),
            json!({"command": format!("test -s {file}")}),
            json!({"command": format!("grep -q . {file}")}),
            json!({"all": [{"file": file}, {"command": format!("make test < {file}")}]}),
            json!({"any": [{"command": format!("sh scripts/check.sh {file}")}, {"file": file}]}),
        ];
        if action.is_empty() || self.chance(50) {
            task["checks"] = checks[usize::try_from(self.rng.below(6)).unwrap()].clone();
        }
        let needed: Vec<&str> = deps.iter().map(|dep| dep.provides.as_str()).collect();
        if self.chance(60) {
            task["needs"] = json!(needed);
        }
        if self.chance(10) {
            let known = self.pick(&["src/main.c", "README.md"]);
            let needs = task["needs"].as_array().cloned().unwrap_or_default();
            task["needs"] = json!([needs, vec![json!(known)]].concat());
        }
        task
    }
}

fn grow(seed: u64) -> Value {
    let (rng, atoms) = (Rng::new(seed), Map::new());
    let mut plan = Growing { rng, atoms, count: 0 };
    let mut before = Before::default();
    for _ in 0..1 + plan.rng.below(ROOTS_MAX) {
        let made = plan.atom(0, &before, None);
        before.atoms.push(made);
    }
    let last = &before.atoms.last().unwrap().file;
    let workspace = plan.pick(&["git", "shared"]);
    json!({
        "objective": {"goal": "all is made", "background_intent": "it is needed",
            "base_case": {"command": format!("test -e {last}")},
            "constraints": {"protected": ["tests/"], "workspace": workspace}},
        "work_graph": {"atoms": plan.atoms},
    })
}

#[test]
fn no_rule_weighs_anything_high_in_a_plan_that_is_clean_by_construction() {
    let world = World::bare();
    for dir in ["src", "scripts", "tests"] {
        std::fs::create_dir(world.repo().join(dir)).unwrap();
    }
    world.write("src/main.c", "int main;\n");
    world.write("README.md", "A thing.\n");
    world.write("tests/one.sh", "true\n");
    world.write("Makefile", "all:\n\ttrue\n\ntest: all\n\ttrue\n");
    world.write("descent.toml", "agents.worker.run = \"true\"\nroles.worker = \"worker\"\n");
    for name in ["make.sh", "check.sh", "run.sh"] {
        let path = format!("scripts/{name}");
        world.write(&path, "#!/bin/sh\necho made\n");
        let path = world.repo().join(path);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(path, mode).unwrap();
    }
    let (count, first) = (chance::count("CLEAN_PLANS", 200), chance::seed());
    let (kinds, found) = (std::sync::Mutex::new([0; 4]), std::sync::Mutex::new(Vec::new()));
    side_by_side(LANES, count, |seed| {
        let plan = grow(seed);
        let path = world.out(&format!("{seed}.json"));
        std::fs::write(&path, plan.to_string()).unwrap();
        let path = path.display().to_string();
        let ran = world.descent(&["validate", &path, "--json"]);
        let output: Value = serde_json::from_str(&ran.stdout)
            .unwrap_or_else(|_| panic!("seed {seed}: {}{}\n{plan:#}", ran.stdout, ran.stderr));
        let issues = output["issues"].as_array().cloned().unwrap_or_default();
        if ran.code != Some(0) || issues.iter().any(|issue| issue["severity"] == "high") {
            found.lock().unwrap().push(format!("seed {seed}: {issues:#?}\n{plan:#}"));
        }
        let text = plan.to_string();
        let mut kinds = kinds.lock().unwrap();
        for (at, word) in
            ["\"any\",", "\"all\",", "\"needs\":[\"part", "\"action\""].iter().enumerate()
        {
            kinds[at] += usize::from(text.contains(word));
        }
    });
    let (kinds, found) = (kinds.into_inner().unwrap(), found.into_inner().unwrap());
    println!("{count} plans from seed {first}: {kinds:?} with choices, parts, needs, actions");
    assert!(found.is_empty(), "{} of {count}\n{}", found.len(), found[0]);
    assert!(kinds.iter().all(|with| *with as u64 * 4 >= count), "too uniform to tell: {kinds:?}");
}
