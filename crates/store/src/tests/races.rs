//! Writers in place against commits, for real: threads, files, the system's own disk.
//!
//! `DESCENT_SOAK_INPLACE` sets the number of saves; `DESCENT_SOAK_SEED` chooses them.

use std::collections::BTreeSet;
use std::io::{Seek, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::lines::{merged, notes, with_line};
use super::*;
use crate::testing::faulty::Faulty;

const SAVES: u64 = 120;
const SEED: u64 = 4;
/// After this time a wait counts as a hang.
const DEADLINE: Duration = Duration::from_secs(600);

fn figure(name: &str, usual: u64) -> u64 {
    let asked = std::env::var(name).ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// A small generator: every run of a seed is the same but for the scheduler.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % bound
    }
}

/// Saves like an editor that truncates and writes in pieces, and may pause in between.
fn save_in_place(file: &Path, line: &str, dice: &mut Dice) -> io::Result<bool> {
    let mut open = fs::OpenOptions::new().read(true).write(true).open(file)?;
    let mut text = String::new();
    io::Read::read_to_string(&mut open, &mut text)?;
    if load(file, text.clone().into_bytes()).is_err() {
        return Ok(false);
    }
    let text = with_line(&text, line);
    let half = text.len() / 2;
    open.set_len(0)?;
    open.rewind()?;
    open.write_all(&text.as_bytes()[..half])?;
    if dice.below(4) == 0 {
        std::thread::sleep(Duration::from_millis(dice.below(8)));
    }
    open.write_all(&text.as_bytes()[half..])?;
    Ok(true)
}

/// Commits without rest until the person is done and the files are quiet.
fn commit_until(store: &mut Store, is_over: &AtomicBool) -> (BTreeSet<String>, u64) {
    let (mut known, mut serial) = (BTreeSet::new(), 7);
    let start = Instant::now();
    let mut quiet = 0;
    while quiet < 2 {
        assert!(start.elapsed() < DEADLINE, "the race does not end");
        let over = is_over.load(Ordering::SeqCst);
        let mut seen = known.clone();
        let done = store.commit(|now| {
            let (mut next, all) = merged(&known, now);
            seen = all;
            next.state.serial = Serial(serial.max(now.state.serial.0) + 1);
            Ok::<_, Infallible>(Some(next))
        });
        match done {
            Ok(loaded) => {
                known = seen;
                serial = loaded.state.serial.0;
            }
            // Half a save has the name: it is waited for.
            Err(CommitError::Store(error)) => {
                assert!(error.is_about_content() || error.facts().1 == 75, "{error}");
            }
            Err(CommitError::Decide(never)) => match never {},
        }
        if over && store.tend(later()).is_ok() && !store.read().unwrap().is_foreign {
            quiet += 1;
        }
    }
    (known, serial)
}

fn race(lacks: &'static [&'static str]) {
    let saves = figure("DESCENT_SOAK_INPLACE", SAVES);
    let seed = figure("DESCENT_SOAK_SEED", SEED);
    let world = World::on_disk();
    let (file, is_over) = (world.file(), AtomicBool::new(false));
    let mut store = world.store_on(Faulty::default().lacking(lacks));
    let ((known, serial), saved) = std::thread::scope(|scope| {
        let person = scope.spawn(|| {
            let (mut dice, mut saved) = (Dice(seed), BTreeSet::new());
            for n in 0..saves {
                let line = format!("n{n}");
                while !save_in_place(&file, &line, &mut dice).unwrap_or(false) {
                    std::thread::yield_now();
                }
                saved.insert(line);
                std::thread::sleep(Duration::from_micros(dice.below(4_000)));
            }
            is_over.store(true, Ordering::SeqCst);
            saved
        });
        let committed = commit_until(&mut store, &is_over);
        (committed, person.join().unwrap())
    });
    // Two saves within one commit that is put back: the older one is kept for the person to see.
    let rescued = store.rescued();
    let beside = rescued.iter().map(|path| fs::read(path).unwrap());
    let beside = beside.filter_map(|bytes| load(&file, bytes).ok());
    let beside: BTreeSet<String> = beside.flat_map(|loaded| notes(&loaded.state)).collect();
    let (rescued, kept) = (rescued.len(), known.union(&beside).cloned().collect());
    let lost: Vec<&String> = saved.difference(&kept).collect();
    println!(
        "{saves} saves in place, {} commits, seed {seed}, without {lacks:?}: {} lost, {rescued} rescued",
        serial - 7,
        lost.len()
    );
    assert!(lost.is_empty(), "{lost:?}");
    assert!(known.is_subset(&saved), "invented: {known:?}");
    assert!(rescued == 0 || lacks.contains(&"lease"), "{rescued} rescued");
}

#[test]
fn no_save_in_place_is_lost_against_commits_without_rest() {
    race(&[]);
}

#[test]
fn no_save_in_place_is_lost_without_leases_either_while_it_is_short() {
    race(&["lease"]);
}
