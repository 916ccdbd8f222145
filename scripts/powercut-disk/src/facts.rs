//! The facts that were reported, each with the length of the log by then: lines `AT WHAT [NUMBER]`.

use crate::log;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs, io,
    path::Path,
    thread,
    time::{Duration, Instant},
};

/// Shorter than a commit.
const LOOK_PAUSE: Duration = Duration::from_micros(500);
/// By then the starter of the look has gone.
const LOOK_MAX: Duration = Duration::from_secs(600);

pub struct Fact {
    pub at: u64,
    what: String,
    number: u64,
}

/// In the order of the log.
pub fn read(path: &Path) -> io::Result<Vec<Fact>> {
    let text = fs::read_to_string(path)?;
    let mut facts = text.lines().filter_map(fact).collect::<Vec<_>>();
    facts.sort_by_key(|fact| fact.at);
    Ok(facts)
}

fn fact(line: &str) -> Option<Fact> {
    let mut words = line.split_whitespace();
    let at = words.next()?.parse().ok()?;
    let what = words.next()?.to_owned();
    let number = words.next().and_then(|word| word.parse().ok());
    Some(Fact {
        at,
        what,
        number: number.unwrap_or(0),
    })
}

/// The highest number of each fact that had been reported by the cut: `WHAT NUMBER`.
pub fn told(facts: &[Fact], cut: u64) {
    let mut told = BTreeMap::new();
    for fact in facts.iter().filter(|fact| fact.at <= cut) {
        let number = told.entry(&fact.what).or_insert(0);
        *number = fact.number.max(*number);
    }
    told.iter()
        .for_each(|(what, number)| println!("{what} {number}"));
}

/// Reads the state over and over. A serial that can be read was not durable yet; the one before it was, since commits
/// follow one another. So each new serial reports its predecessor.
pub fn look(log: &Path, state: &Path) -> io::Result<()> {
    let (end, mut last) = (Instant::now() + LOOK_MAX, 0);
    while Instant::now() < end {
        let serial = fs::read_to_string(state).ok().as_deref().and_then(serial);
        if let Some(serial) = serial.filter(|serial| *serial > last) {
            println!("{} serial {}", log::len(log)?, serial - 1);
            last = serial;
        }
        thread::sleep(LOOK_PAUSE);
    }
    Ok(())
}

/// The lines of `run --json`: the events by their names, and the serial of the result, which is durable.
pub fn stamp(log: &Path) -> io::Result<()> {
    for line in io::stdin().lines() {
        let line = line?;
        let at = log::len(log)?;
        let Ok(value) = serde_json::from_str::<Value>(&line) else {
            continue;
        };
        let text = |key: &str| value[key].as_str().unwrap_or("-").to_owned();
        if let Some(serial) = value["serial"].as_u64() {
            println!("{at} serial {serial}");
        }
        if value["event"].is_string() {
            println!("{at} {}:{}", text("event"), text("atom"));
        }
    }
    Ok(())
}

fn serial(state: &str) -> Option<u64> {
    let state: Value = serde_json::from_str(state).ok()?;
    state["internal"]["serial"].as_u64()
}

/// Prints one value of a JSON file, by its pointer; nothing if there is none.
pub fn value(file: &Path, pointer: &str) -> io::Result<()> {
    let value: Value = serde_json::from_slice(&fs::read(file)?)?;
    match value.pointer(pointer) {
        Some(Value::String(text)) => println!("{text}"),
        Some(other) => println!("{other}"),
        None => {}
    }
    Ok(())
}

/// Prints the facts that no cut may change: the attempts of each bound atom, in each context, and of all.
pub fn ending(state: &Path) -> io::Result<()> {
    let state: Value = serde_json::from_slice(&fs::read(state)?)?;
    println!("all {}", state["run"]["spent"]["attempts"]);
    let bindings = state["bindings"].as_object();
    for atom in bindings.into_iter().flatten().map(|(atom, _)| atom) {
        let tries = state["internal"]["atoms"][atom]["tries"].as_array();
        let tries = tries.into_iter().flatten().map(|tried| &tried["attempts"]);
        let sum: u64 = tries.filter_map(Value::as_u64).sum();
        println!("{atom} {} {sum}", state["internal"]["bindings"][atom]["attempts"]);
    }
    Ok(())
}
