//! Planted plans that come from a planner: their issues reach it, and are mended before anything is tried. The judge tells the
//! truth, errs, or talks prose.
//!
//! Not here: one answer after another (`gate`), plans of a person (`planted`).

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::{
    planted::{JudgedPlan, fixtures},
    scripted::ScriptedAgent,
};
use crate::{
    chance::{self, Rng},
    undisturbed::side_by_side,
    world::{Ran, World},
};

/// Runs at once.
const LANES: u64 = 3;

/// The words of a low issue of the mended plan, which holds nothing up.
const LATER: &str = "its last word could be shorter";

/// Whether the planner has the mended form when it is asked again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Planner {
    Mends,
    Repeats,
}

/// The judge of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Judge {
    /// Says what is planted, and nothing else.
    Truthful,
    /// Misses 30 % of that, and invents an issue in 20 %.
    Erring(u64),
    Prose,
}

/// The names that a planner gave, in the order of the numbers that the program gives them.
fn names(plan: &Value) -> Vec<String> {
    let atoms = plan["work_graph"]["atoms"].as_object().unwrap();
    atoms.keys().cloned().collect()
}

/// A planted plan that a planner prints.
struct Piped<'a> {
    one: &'a JudgedPlan,
    world: World,
    agent: ScriptedAgent,
    /// The number of the first atom of the mended plan.
    mended_from: usize,
}

impl<'a> Piped<'a> {
    fn new(one: &'a JudgedPlan, planner: Planner) -> Self {
        let world = one.world();
        let agent = ScriptedAgent::new(&world);
        let fixture = &one.fixture;
        let before = if one.is_refused_by_rules() { Vec::new() } else { names(&fixture["plan"]) };
        let mended_from = before.len() + 1;
        let all = [before, names(&fixture["mended"])].concat();
        let cases: Vec<String> = all
            .iter()
            .enumerate()
            .map(|(n, name)| format!("N-{}) DESCENT_ATOM={name};;\n", n + 1))
            .collect();
        let worker = format!(
            "#!/bin/sh\ncase $DESCENT_ATOM in\n{}esac\nexport DESCENT_ATOM\nexec sh worker.sh\n",
            cases.concat()
        );
        let worker = world.program("worker", &worker);
        let has_worker = world.repo().join("worker.sh").exists();
        let worker = format!("agents.worker.run = \"{}\"\n", worker.display());
        world.write(
            "descent.toml",
            &format!(
                "{}[agents.v]\n{}\n[roles]\njudge.plan = \"v\"\n{}",
                if has_worker { &worker } else { "" },
                agent.run(),
                if has_worker { "worker = \"worker\"\n" } else { "" }
            ),
        );
        let again = match planner {
            Planner::Mends => "mended",
            Planner::Repeats => "plan",
        };
        let prints = |plan: &str| json!({"atoms": fixture[plan]["work_graph"]["atoms"]});
        let out = world.out("").display().to_string();
        let script = format!(
            "#!/bin/sh\necho call >> {out}calls\nn=$(wc -l < {out}calls)\ncp \"$DESCENT_PROMPT\" {out}planner.$((n))\n\
             if [ $((n)) = 1 ]; then cat <<'END_OF_PLAN'\n{}\nEND_OF_PLAN\nelse cat <<'END_OF_PLAN'\n{}\nEND_OF_PLAN\nfi\n",
            prints("plan"),
            prints(again)
        );
        let script = world.program("planner", &script);
        let mut plan = json!({"objective": fixture["plan"]["objective"], "work_graph": {"atoms": {"N":
            {"kind": "plan", "description": "plan how the goal is reached",
             "action": {"run": script.display().to_string()}}}}});
        plan["objective"]["constraints"]["judging"] = json!("model");
        // One attempt to plan is refused by the rules, and another is mended.
        plan["objective"]["constraints"]["max_attempts"] = json!(2);
        world.align(&plan);
        Self { one, world, agent, mended_from }
    }

    /// Gives the judge its answer about the first plan that comes to it; what it says there.
    fn judged_by(&self, judge: Judge) -> Vec<String> {
        let issue = &self.one.fixture["issue"];
        let at = |name: &Value| {
            let known = names(&self.one.fixture["plan"]);
            let at = known.iter().position(|known| known == name);
            format!("N-{}", at.map_or(1, |at| at + 1))
        };
        let planted = || {
            let severity = match issue["severity"].as_str() {
                Some("low") => "medium",
                known => known.unwrap(),
            };
            json!({"type": issue["type"], "severity": severity, "location": at(&issue["location"]),
                "description": issue["description"], "proposed_repair": issue["proposed_repair"]})
        };
        let mut said = Vec::new();
        match judge {
            Judge::Prose => self.agent.says("plan", "It looks like a fine plan to me."),
            Judge::Truthful => said.push(planted()),
            Judge::Erring(seed) => {
                let mut rng = Rng::new(seed);
                if rng.below(100) >= 30 {
                    said.push(planted());
                }
                if rng.below(100) < 20 {
                    said.push(json!({"type": "relevance", "severity": "high", "location": "N-1",
                        "description": "the moon is not in it", "proposed_repair": "put it in"}));
                }
            }
        }
        // A plan that the rules refuse never comes to the judge: the next one is as it should be.
        if self.one.is_refused_by_rules() || judge == Judge::Prose {
            return Vec::new();
        }
        self.agent.says("plan.1", &json!({ "issues": said }).to_string());
        let later = json!({"type": "specificity", "severity": "low", "description": LATER,
            "location": format!("N-{}", self.mended_from), "proposed_repair": "shorten it"});
        self.agent.says("plan.2", &json!({ "issues": [later] }).to_string());
        let words = said.iter().map(|issue| issue["description"].as_str());
        words.flatten().map(str::to_owned).collect()
    }

    /// The number of the first atom of a plan that was tried.
    fn first_tried(ran: &Ran) -> Option<usize> {
        let lines = ran.lines();
        let mut started = lines
            .iter()
            .filter(|line| line["event"] == "attempt_started")
            .filter_map(|line| line["atom"].as_str()?.strip_prefix("N-"));
        started.next()?.split('-').next()?.parse().ok()
    }

    fn is_mended_first(&self, ran: &Ran) -> bool {
        let first = Self::first_tried(ran);
        ran.code == Some(0) && first.is_some_and(|first| first >= self.mended_from)
    }
}

impl JudgedPlan {
    /// Whether the rules refuse it as a planner's plan.
    fn is_refused_by_rules(&self) -> bool {
        let issue = &self.fixture["issue"];
        issue["rule"].is_string() && issue["severity"] == "high"
    }
}

/// So many of these plans, spread over all of them.
fn some(count: u64, which: impl Fn(&JudgedPlan) -> bool) -> Vec<JudgedPlan> {
    let all = fixtures("planted").into_iter();
    let all = all.filter(|one| one.can_be_judged() && which(one));
    let all: Vec<JudgedPlan> = all.collect();
    let every = all.len() / usize::try_from(count).unwrap().min(all.len());
    let chosen = all.into_iter().enumerate();
    chosen.filter(|(n, _)| n % every == 0).map(|(_, one)| one).collect()
}

#[test]
fn what_a_planner_can_mend_is_mended_before_anything_of_it_is_tried() {
    let all = some(chance::count("MENDED_BEFORE", 8), |_| true);
    let mended = AtomicUsize::new(0);
    side_by_side(LANES, all.len() as u64, |seed| {
        let one = &all[usize::try_from(seed % all.len() as u64).unwrap()];
        let piped = Piped::new(one, Planner::Mends);
        piped.judged_by(Judge::Truthful);
        let ran = piped.world.run();
        if piped.is_mended_first(&ran) {
            mended.fetch_add(1, Ordering::Relaxed);
        } else {
            println!("{}: {:?}, {:?}", one.name, ran.code, Piped::first_tried(&ran));
        }
    });
    let mended = mended.into_inner();
    println!("{mended} of {} were mended before their first attempt", all.len());
    assert!(mended * 100 >= all.len() * 80);
}

#[test]
fn what_a_planner_cannot_mend_is_gone_on_with() {
    let all = some(chance::count("UNMENDED", 4), |_| true);
    side_by_side(LANES, all.len() as u64, |seed| {
        let one = &all[usize::try_from(seed % all.len() as u64).unwrap()];
        let piped = Piped::new(one, Planner::Repeats);
        piped.judged_by(Judge::Truthful);
        let ran = piped.world.run();
        assert!(matches!(ran.code, Some(0 | 5)), "{}: {}", one.name, ran.stderr);
        let is_tried = Piped::first_tried(&ran).is_some();
        assert_eq!(is_tried, !one.is_refused_by_rules(), "{}: {}", one.name, ran.stdout);
    });
}

#[test]
fn judges_that_tell_the_truth_that_err_and_that_talk_prose_end_the_runs_the_same() {
    // An issue of a rule has the words of the rule.
    let of_model = |one: &JudgedPlan| one.fixture["issue"]["rule"].is_null();
    let all = some(chance::count("JUDGES", 3), of_model);
    let said_total = AtomicUsize::new(0);
    side_by_side(LANES, all.len() as u64, |seed| {
        let one = &all[usize::try_from(seed % all.len() as u64).unwrap()];
        let mut ends = Vec::new();
        for judge in [Judge::Truthful, Judge::Erring(seed), Judge::Prose] {
            let piped = Piped::new(one, Planner::Mends);
            let said = piped.judged_by(judge);
            let ran = piped.world.run();
            said_total.fetch_add(said.len(), Ordering::Relaxed);
            let told = piped.world.left("planner.2");
            let at_gate: u64 = ran
                .lines()
                .iter()
                .filter(|line| line["event"] == "judged" && line["by"] == "model")
                .map(|line| line["high"].as_u64().unwrap() + line["medium"].as_u64().unwrap())
                .sum();
            assert!(at_gate >= said.len() as u64, "{} {judge:?}: {}", one.name, ran.stdout);
            for words in &said {
                assert!(told.contains(words), "{} {judge:?}: {words}\n{told}", one.name);
            }
            let report = piped.world.descent(&["report", "--json"]).expect(0).stdout;
            let is_told = report.contains(LATER);
            assert_eq!(
                is_told,
                judge != Judge::Prose && !said.is_empty(),
                "{}: {report}",
                one.name
            );
            let result = ran.result();
            ends.push((ran.code, result["result"].clone(), result["reason"].clone()));
        }
        assert!(ends.iter().all(|end| *end == ends[0]), "{}: {ends:?}", one.name);
    });
    println!("{} issues were said", said_total.into_inner());
}
