//! Sequences of attempts, selections, verdicts and endings of 2,000 graphs, as they were recorded: a change of form decides
//! nothing else.
//!
//! `DESCENT_UPDATE=1` records the families of `CHANGED` anew, each with its reason.
#![allow(clippy::disallowed_methods)] // door: writes the record

use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path};

use descent_core::{event::Event, id::Digest};
use serde_json::Value;

use super::{
    model::{Kind, Model},
    planners::{ADVERSARIES, Planner},
    random::STORMY,
    resting,
    rng::Rng,
    sim::{CALM, Faults, Sim},
};

const RECORD: &str = "tests/search/recorded.txt";
const EACH: u64 = 200;

/// Families whose decisions changed on purpose since the record was begun, with the reason.
const CHANGED: [(&str, &str); 3] = [
    ("planners", "tasks start in written order: those of a plan come behind their step"),
    (
        "judges",
        "the same; a silent judge is counted for each plan by itself, so it is asked more often about one",
    ),
    (
        "kills",
        "of trees that are as near the fullest is delivered: after a kill it is judged once more",
    ),
];

/// The parts of an event that say what was decided. Digests, ids of attempts and words are left out.
const KEYS: [&str; 18] = [
    "event", "atom", "atoms", "group", "choice", "choices", "changes", "n", "class", "verdict",
    "pristine", "result", "place", "removed", "parts", "alike", "repair", "limit",
];

/// One way to make a graph and its driver from a seed.
struct GraphFamily {
    name: &'static str,
    model: fn(u64) -> Model,
    faults: Faults,
    judges: bool,
    planner: fn(u64) -> Option<Planner>,
}

const FAMILIES: [GraphFamily; 4] = [
    GraphFamily {
        name: "kills",
        model: |seed| Model::random(&mut Rng::new(seed)),
        faults: STORMY,
        judges: false,
        planner: |_| None,
    },
    GraphFamily {
        name: "planners",
        model: |seed| {
            let mut model = Model::random_with(&mut Rng::new(seed), 40);
            model.budgets(&mut Rng::new(seed));
            model
        },
        faults: Faults { transient: 5, crash: 2, ..CALM },
        judges: false,
        planner: |seed| Some(ADVERSARIES[seed as usize % ADVERSARIES.len()]),
    },
    GraphFamily {
        name: "judges",
        model: |seed| {
            let mut model = Model::random_with(&mut Rng::new(seed), 40);
            model.constraints.push_str(r#", "judging": "model""#);
            model
        },
        faults: CALM,
        judges: true,
        planner: |seed| (seed % 2 == 0).then_some(Planner::Mends),
    },
    GraphFamily {
        name: "rests",
        model: |seed| {
            let mut model = resting::stubborn(seed, 0);
            model.constraints.clear();
            model
        },
        faults: Faults { conflict: 5, dropped: 5, ..CALM },
        judges: false,
        planner: |_| None,
    },
];

/// The decisions of a run, one a line.
fn decisions(family: &GraphFamily, seed: u64) -> String {
    let model = (family.model)(seed);
    let slots = 1 + u32::try_from(seed % 3).expect("small");
    let mut sim = Sim::new(&model, seed, slots, family.faults);
    if let Some(planner) = (family.planner)(seed) {
        sim = sim.with_planner(planner);
    }
    if family.judges {
        sim = sim.with_judge();
    }
    sim.run();
    let lines = sim.events.iter().filter_map(decided);
    lines.map(|line| line + "\n").collect()
}

fn decided(event: &Event) -> Option<String> {
    if matches!(event, Event::Consulting { .. } | Event::Consulted { .. } | Event::Law { .. }) {
        return None;
    }
    let mut value = serde_json::to_value(event).expect("JSON");
    value.as_object_mut()?.retain(|key, _| KEYS.contains(&key.as_str()));
    Some(sorted(value).to_string())
}

/// A feature of `serde_json`, which another package may turn on, keeps keys in the order of their fields.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(all) => {
            let all: BTreeMap<String, Value> =
                all.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            Value::Object(all.into_iter().collect())
        }
        Value::Array(all) => Value::Array(all.into_iter().map(sorted).collect()),
        other => other,
    }
}

#[test]
fn what_was_decided_is_decided_again() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(RECORD);
    let known = fs::read_to_string(&path).unwrap_or_default();
    let known: BTreeMap<&str, &str> =
        known.lines().filter_map(|line| line.split_once(": ")).collect();
    let is_update = std::env::var_os("DESCENT_UPDATE").is_some();
    let (mut now, mut others) = (String::new(), Vec::new());
    let mut ends: BTreeMap<String, usize> = BTreeMap::new();
    for family in &FAMILIES {
        for seed in 0..EACH {
            let story = decisions(family, seed);
            let digest = Digest::sha256(story.as_bytes()).to_string();
            let last: Value =
                serde_json::from_str(story.lines().last().expect("an ending")).expect("JSON");
            *ends.entry(last["result"].to_string()).or_default() += 1;
            let (name, count) = (format!("{} {seed}", family.name), story.lines().count());
            let line = format!("{count} {} {}", last["result"], &digest["sha256:".len()..][..16]);
            let is_known = known.get(&*name) == Some(&&*line);
            let is_anew = is_update && CHANGED.iter().any(|(changed, _)| *changed == family.name);
            if !is_known && !is_anew {
                others.push((name.clone(), story));
            }
            let _ = writeln!(now, "{name}: {line}");
        }
    }
    assert!(ends.values().filter(|count| **count > 80).count() > 1, "too uniform: {ends:?}");
    let names: Vec<&str> = others.iter().map(|(name, _)| &**name).collect();
    let first = others.first().map_or("", |(_, story)| story);
    assert!(
        others.is_empty(),
        "{} differ: {names:?}\nthe first decides now:\n{first}",
        names.len()
    );
    if is_update {
        fs::write(&path, now).expect("the record can be written");
    }
}

#[test]
fn the_record_has_what_it_is_to_hold() {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for family in &FAMILIES {
        for seed in 0..15 {
            for line in decisions(family, seed).lines() {
                let value: Value = serde_json::from_str(line).expect("JSON");
                *seen.entry(value["event"].as_str().unwrap_or_default().to_owned()).or_default() +=
                    1;
            }
        }
    }
    for event in [
        "attempt_started",
        "solved",
        "attempt_failed",
        "chosen",
        "refuted",
        "backtracked",
        "base_case",
        "ended",
        "planned",
        "planned_again",
        "replanned",
        "rested",
        "woken",
        "interrupted",
        "judged",
        "repair",
    ] {
        assert!(seen.contains_key(event), "no `{event}` in {seen:?}");
    }
    let model = (FAMILIES[1].model)(0);
    assert!(model.nodes.iter().any(|node| node.kind == Kind::Plan));
}
