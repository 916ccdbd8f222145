//! One graph through the program: aligned, run to its end (perhaps killed on the way), and checked.

use std::time::Duration;

use super::{
    account::{self, Held, hold},
    model::{Ids, Model},
    reader::is_read_alike,
    rng::Rng,
    world::{Ran, Workspace, World},
};

const KILLS_MAX: usize = 3;

/// The outcome of a run, for tests that look at many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    pub is_completed: bool,
    pub backtracks: usize,
    pub kills: usize,
    /// Attempts that may have been ended before their own end: by a kill, or as the base case held.
    pub cut_off: usize,
}

/// The events before the run that is looked at.
#[derive(Default)]
struct Before {
    is_resumed: bool,
    kills: usize,
    interrupted: usize,
}

pub fn run(model: &Model, workspace: Workspace) -> Result<Outcome, String> {
    let world = World::new(workspace);
    let bound = align(model, &world)?;
    let outcome = look(model, &world, &Before::default(), bound)?;
    account::measure_fell(&world, model.slots, outcome.cut_off)?;
    Ok(outcome)
}

/// Killed (-9) at moments from the seed, then run until it ends by itself.
pub fn run_killed(model: &Model, seed: u64) -> Result<Outcome, String> {
    let world = World::new(Workspace::of(seed));
    let bound = align(model, &world)?;
    let mut rng = Rng::new(seed);
    let mut before = Before { is_resumed: true, ..Before::default() };
    for _ in 0..1 + rng.below(KILLS_MAX) {
        let after = Duration::from_millis(u64::try_from(rng.below(40)).expect("small"));
        let ran = world.run_killed(rng.below(12), after);
        before.interrupted += interrupted(&ran);
        match ran.code {
            None => {
                is_read_alike(&world)?;
                before.kills += 1;
            }
            Some(0 | 5) => break,
            Some(_) => return Err(told("a run that was to be killed", &ran)),
        }
    }
    look(model, &world, &before, bound)
}

/// Attempts that a run ended before their own end.
fn interrupted(ran: &Ran) -> usize {
    let lines = ran.stdout.lines();
    lines.filter(|line| line.contains(r#""event":"interrupted""#)).count()
}

fn align(model: &Model, world: &World) -> Result<usize, String> {
    let ran = world.align(model);
    let bound = ran.last()["bound"]["attempts"].as_u64();
    hold(ran.code == Some(0), || told("align", &ran))?;
    usize::try_from(bound.ok_or_else(|| told("no bound", &ran))?).map_err(|error| error.to_string())
}

fn look(model: &Model, world: &World, before: &Before, bound: usize) -> Result<Outcome, String> {
    let ran = world.descent(&["run", "--json"]);
    let cut_off = before.kills + before.interrupted + interrupted(&ran);
    let looked = ended_rightly(model, world, &ran, before.is_resumed).and_then(|()| {
        account::attempts_were_bounded(model, world, cut_off, bound)?;
        account::state_counts_every_attempt(model, world, cut_off)?;
        let valid = world.descent(&["validate"]);
        hold(valid.code == Some(0), || told("validate", &valid))?;
        is_read_alike(world)
    });
    looked.map_err(|what| format!("{what}\n{}\nattempts:\n{}", told("run", &ran), world.log()))?;
    let state = world.state();
    let trail = state["trail"].as_array().cloned().unwrap_or_default();
    let backtracks = trail.iter().filter(|entry| entry["type"] == "backtrack").count();
    Ok(Outcome { is_completed: ran.code == Some(0), backtracks, kills: before.kills, cut_off })
}

fn ended_rightly(model: &Model, world: &World, ran: &Ran, is_resumed: bool) -> Held {
    let (result, solutions) = (ran.last(), model.solutions());
    let is_completed = ran.code == Some(0);
    let (word, reason) =
        if is_completed { ("completed", "base_case") } else { ("exhausted", "no_choice") };
    // A resumed run evaluates the base case first, and may find the work done.
    let is_found = is_resumed && result["reason"] == "already_held";
    let is_told = result["result"] == word && (result["reason"] == reason || is_found);
    hold(is_told && (is_completed || ran.code == Some(5)), || "another ending".to_owned())?;
    let names = |files: &Ids| model.names(files).join(" ");
    let files = account::delivered(model, world, &result)?;
    account::could_be_made(model, &files)?;
    if !is_completed {
        return hold(solutions.is_empty(), || {
            format!("exhausted, yet it can be made: {}", names(solutions.first().unwrap_or(&files)))
        });
    }
    hold(model.is_taken(&files), || format!("completed with {}", names(&files)))?;
    hold(!model.wants_whole || solutions.contains(&files), || {
        format!("completed with half: {}", names(&files))
    })
}

fn told(what: &str, ran: &Ran) -> String {
    format!("{what}: code {:?}\n{}\n{}", ran.code, ran.stdout, ran.stderr)
}
