//! What one commit of the store costs, against write + fsync + rename + fsync of the directory with the same bytes.
//!
//! Both take turns, so that a busy disk slows both alike; medians of the time and of the CPU's part in it (Linux). `scripts/bench` runs it, with a directory as its
//! argument. Not here: the rest of a step.
#![allow(clippy::print_stdout, clippy::disallowed_methods, clippy::unwrap_used, clippy::panic)] // a measuring tool

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use descent_core::id::{AtomId, Lineage, Serial};
use descent_core::plan;
use descent_core::state::State;
use descent_core::state::encode::ChangeSet;
use descent_store::{CommitContent, CommitError, StatePlace, Store};

const TURNS: usize = 60;
const SIZES_KB: [usize; 3] = [10, 100, 1_000];

fn main() {
    // `cargo bench` adds `--bench`.
    let named = std::env::args().skip(1).find(|arg| arg != "--bench");
    let dir = PathBuf::from(named.unwrap_or_else(|| ".".to_owned()));
    println!(
        "{:>8}  {:>12}  {:>12}  {:>6}  {:>12}  {:>12}",
        "bytes", "commit", "raw", "ratio", "commit CPU", "raw CPU"
    );
    for kb in SIZES_KB {
        compare(&dir.join(format!("{kb}kb")), kb * 1_000);
    }
}

fn compare(dir: &Path, bytes: usize) {
    fs::create_dir_all(dir).unwrap();
    let mut store = Store::open(StatePlace::create(dir, None).unwrap());
    let written = store.create(state_of(bytes)).unwrap().bytes().to_vec();
    let (mut commits, mut raws) = (Vec::new(), Vec::new());
    for turn in 0..TURNS {
        commits.push(cost(|| commit(&mut store, turn)));
        raws.push(cost(|| raw(dir, &written)));
    }
    let (commit, commit_cpu) = medians(commits);
    let (raw, raw_cpu) = medians(raws);
    println!(
        "{:>8}  {commit:>9} µs  {raw:>9} µs  {:>6.2}  {commit_cpu:>9} µs  {raw_cpu:>9} µs",
        written.len(),
        commit as f64 / raw as f64
    );
}

/// One atom and the serial change, as in most commits of a run.
fn commit(store: &mut Store, turn: usize) {
    let done: Result<_, CommitError<()>> = store.commit(|now| {
        let mut state = now.state.clone();
        let id = AtomId::new("A0");
        let mut atom = (**state.atoms.get(&id).expect("an atom")).clone();
        atom.description = format!("turn {turn:03}");
        state.atoms.insert(id.clone(), atom.into());
        state.serial = Serial(state.serial.0 + 1);
        let touched = ChangeSet { atoms: [id].into(), ..ChangeSet::default() };
        Ok(Some(CommitContent { state, touched, at: String::new(), events: Vec::new() }))
    });
    done.unwrap();
}

fn raw(dir: &Path, bytes: &[u8]) {
    let (new, name) = (dir.join("raw.new"), dir.join("raw"));
    let mut file = File::create(&new).unwrap();
    file.write_all(bytes).unwrap();
    file.sync_all().unwrap();
    fs::rename(&new, &name).unwrap();
    File::open(dir).unwrap().sync_all().unwrap();
}

/// A state of independent tasks, about that long.
fn state_of(bytes: usize) -> State {
    let atom = |n: usize| {
        format!(
            r#""A{n}": {{"description": "{}", "action": {{"run": "/bin/true"}}}}"#,
            "x".repeat(200)
        )
    };
    let atoms: Vec<String> = (0..bytes.div_ceil(400)).map(atom).collect();
    let objective = r#"{"goal": "g", "background_intent": "w", "deliverables": "d", "definition_of_done": "d", "base_case": {"all": [{"command": "true"}]}}"#;
    let text = format!(
        r#"{{"objective": {objective}, "work_graph": {{"atoms": {{{}}}}}}}"#,
        atoms.join(",")
    );
    plan::read(text.as_bytes()).into_state(Lineage::new("00000000-0000-7000-8000-000000000000"))
}

/// Microseconds: passed, and of the CPU.
fn cost(work: impl FnOnce()) -> (u128, u128) {
    let (start, cpu) = (Instant::now(), cpu_nanos());
    work();
    (start.elapsed().as_micros(), (cpu_nanos() - cpu) / 1_000)
}

/// What this thread has had of a CPU; 0 where the system does not tell.
fn cpu_nanos() -> u128 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let first = text.split(' ').next().unwrap_or_default();
    first.parse().unwrap_or_default()
}

fn medians(all: Vec<(u128, u128)>) -> (u128, u128) {
    let (times, cpus): (Vec<u128>, Vec<u128>) = all.into_iter().unzip();
    (median(times), median(cpus))
}

fn median(mut all: Vec<u128>) -> u128 {
    all.sort_unstable();
    all[all.len() / 2]
}
