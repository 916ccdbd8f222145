//! The table of directives: what it is worth against a planner that always refines, by the share of runs that are solved.
//!
//! The base case is an `all` of leaves. There are four approaches, and a wrong one can never satisfy 30 percent of the
//! leaves. A new approach begins with nothing. Within an approach a refinement mends a failing leaf and breaks a passing
//! one by chance.

use descent_core::state::{check::Thousandths, law::LawWeights};
use std::fmt::Write as _;

use descent_core::{law::LawInputs, state::law::Directive};

use super::{
    chance::Chance,
    page,
    steering::{Proposal, Steering, proposal},
};

const APPROACHES: u64 = 4;
const ROUNDS: u64 = 11;
/// Chances in a hundred that an approach is right.
const RIGHT: [u64; 3] = [30, 50, 90];
const LEAVES: [u64; 4] = [1, 3, 6, 12];
/// Chances in a thousand that a refinement mends a failing leaf, or breaks a passing one: each run has one of each.
const MENDS: [u64; 2] = [300, 500];
const BREAKS: [u64; 2] = [20, 50];
/// Chances in a hundred that the class is told rightly.
const TOLD: [u64; 3] = [50, 70, 90];
/// Planning goes on to the last round, so that a directive decides and no limit.
const TO_THE_END: LawWeights =
    LawWeights { abandon_omega: Thousandths(1_000), ..LawWeights::OF_PROGRAM };

struct Land {
    chance: Chance,
    right: u64,
    leaves: u64,
}

impl Land {
    fn is_right(&self, approach: u64) -> bool {
        self.chance.roll("right", [approach, 0]) < self.right * 10
    }

    /// Whether an approach can satisfy a leaf: 30 percent of them, and one at least, lie beyond a wrong one.
    fn can(&self, approach: u64, leaf: u64) -> bool {
        let beyond = (self.leaves * 3 + 5) / 10;
        let turned = leaf + self.chance.roll("beyond", [approach, 0]);
        self.is_right(approach) || turned % self.leaves >= beyond.max(1)
    }

    /// The leaves that hold after a round of an approach.
    fn refined(&self, round: u64, approach: u64, holds: &[bool]) -> Vec<bool> {
        let one_of = |what: &str, all: [u64; 2]| {
            if self.chance.roll(what, [0, 0]) < 500 { all[0] } else { all[1] }
        };
        let (mends, breaks) = (one_of("mends", MENDS), one_of("breaks", BREAKS));
        let leaves = (0..self.leaves).zip(holds);
        let after = leaves.map(|(leaf, holds)| {
            let roll = self.chance.roll("leaf", [round * 100 + approach, leaf]);
            if *holds { roll >= breaks } else { self.can(approach, leaf) && roll < mends }
        });
        after.collect()
    }
}

/// When a planner changes its approach.
#[derive(Clone, Copy)]
enum Policy<'a> {
    Never,
    /// After two rounds without a change of the distance.
    Flat,
    /// As the law blocks tools. It is told the class rightly so often in a hundred.
    Lawful(&'a Steering, &'a Tools, u64),
    /// The same, where each leaf of the base case that fails is told as work that was wrong.
    Counted(&'a Steering, &'a Tools, u64),
}

/// The failed plan of each approach, and its next one.
struct Tools(Vec<(Proposal, Proposal)>);

impl Tools {
    fn new() -> Self {
        let plan = |approach: u64, target: &str| proposal(&format!("tool{approach} {target}"));
        let pair = |approach| (plan(approach, "done"), plan(approach, "next"));
        Self((0..APPROACHES).map(pair).collect())
    }

    fn of(&self, approach: u64) -> &(Proposal, Proposal) {
        &self.0[usize::try_from(approach).expect("small")]
    }
}

/// The approach after this one: one that was not tried, else any other.
fn another(land: &Land, round: u64, here: u64, tried: &[u64]) -> u64 {
    let is_new = |approach: &u64| !tried.contains(approach);
    let order = |approach: &u64| (land.chance.roll("next", [round, *approach]), *approach);
    let others = || (0..APPROACHES).filter(|approach| *approach != here);
    let new = others().filter(is_new).min_by_key(order);
    new.or_else(|| others().min_by_key(order)).unwrap_or(here)
}

/// Rounds, and whether all leaves held after one of them.
fn run(land: &Land, policy: Policy<'_>) -> (u64, bool) {
    let mut law = match policy {
        Policy::Lawful(law, ..) | Policy::Counted(law, ..) => Some(law.clone()),
        Policy::Never | Policy::Flat => None,
    };
    let nothing = vec![false; usize::try_from(land.leaves).expect("small")];
    let (mut here, mut tried) = (0, vec![0]);
    let (mut holds, mut before, mut flat) = (nothing.clone(), None, 0);
    for round in 1..=ROUNDS {
        holds = land.refined(round, here, &holds);
        let failing = holds.iter().filter(|holds| !**holds).count() as u64;
        if failing == 0 {
            return (round, true);
        }
        let distance = (failing * 1_000).div_ceil(land.leaves);
        let does_change = match policy {
            Policy::Never => false,
            Policy::Flat => {
                flat = if before.is_some_and(|before: u64| before.abs_diff(distance) < 100) {
                    flat + 1
                } else {
                    0
                };
                flat >= 2
            }
            Policy::Lawful(_, tools, told) | Policy::Counted(_, tools, told) => {
                let is_told_rightly = land.chance.roll("told", [round, 0]) < told * 10;
                let is_logical = land.is_right(here) != is_told_rightly;
                let of_leaves = match policy {
                    Policy::Counted(..) => failing,
                    // A run counts them as one failure together.
                    _ => 1,
                };
                let inputs = LawInputs {
                    distance: u32::try_from(distance).expect("small"),
                    logical: of_leaves + u64::from(is_logical),
                    environmental: u64::from(!is_logical),
                    changes: u32::try_from(round * 1_000 / ROUNDS).expect("small"),
                    budgets: None,
                };
                let law = law.as_mut().expect("the law of the policy");
                let (done, next) = tools.of(here);
                let directive = law.point(&inputs, done);
                if directive == Directive::Abandon {
                    return (round, false);
                }
                law.refuses(next)
            }
        };
        before = Some(distance);
        if does_change {
            here = another(land, round, here, &tried);
            tried.push(here);
            (holds, flat) = (nothing.clone(), 0);
        }
    }
    (ROUNDS, false)
}

/// Shares of solved runs in percent by setting, and the mean of rounds.
struct Solved {
    shares: [[f64; LEAVES.len()]; RIGHT.len()],
    rounds: f64,
}

impl Solved {
    fn of(policy: Policy<'_>, runs: u64) -> Self {
        let (mut shares, mut rounds) = ([[0.0; LEAVES.len()]; RIGHT.len()], 0);
        for (row, right) in shares.iter_mut().zip(RIGHT) {
            for (share, leaves) in row.iter_mut().zip(LEAVES) {
                let mut solved = 0;
                for seed in 0..runs {
                    let land = Land { chance: Chance(seed), right, leaves };
                    let (taken, is_solved) = run(&land, policy);
                    rounds += taken;
                    solved += u64::from(is_solved);
                }
                *share = 100.0 * solved as f64 / runs as f64;
            }
        }
        let settings = (RIGHT.len() * LEAVES.len()) as f64;
        let rounds = rounds as f64 / runs as f64 / settings;
        Self { shares, rounds }
    }

    fn mean(&self) -> f64 {
        let all = self.shares.as_flattened();
        all.iter().sum::<f64>() / all.len() as f64
    }

    /// Points more than the other where the approach is right in 9 of 10, by the number of leaves.
    fn mostly_right(&self, other: &Self) -> Vec<f64> {
        let [.., these] = &self.shares;
        let [.., those] = &other.shares;
        these.iter().zip(those).map(|(one, other)| one - other).collect()
    }
}

fn points(all: &[f64]) -> String {
    let all: Vec<String> = all.iter().map(|one| page::signed(*one)).collect();
    all.join(" ")
}

/// The row of what is told the class with each chance, against the planner that always refines.
fn row(name: &str, each: &[Solved; TOLD.len()], refines: &Solved) -> String {
    let mut row = format!("| {name} |");
    for solved in each {
        let _ = write!(row, " {:.1} |", solved.mean());
    }
    for solved in &each[..2] {
        let _ = write!(row, " {} |", points(&solved.mostly_right(refines)));
    }
    row + "\n"
}

struct Figures {
    refines: Solved,
    flat: Solved,
    law: [Solved; TOLD.len()],
    counted: [Solved; TOLD.len()],
    ended: [Solved; TOLD.len()],
}

fn measured(runs: u64) -> Figures {
    let tools = Tools::new();
    let (whole, ends) = (Steering::new(TO_THE_END), Steering::new(LawWeights::OF_PROGRAM));
    Figures {
        refines: Solved::of(Policy::Never, runs),
        flat: Solved::of(Policy::Flat, runs),
        law: TOLD.map(|told| Solved::of(Policy::Lawful(&whole, &tools, told), runs)),
        counted: TOLD.map(|told| Solved::of(Policy::Counted(&whole, &tools, told), runs)),
        ended: TOLD.map(|told| Solved::of(Policy::Lawful(&ends, &tools, told), runs)),
    }
}

impl Figures {
    fn rows(&self) -> String {
        let (refines, flat) = (&self.refines, &self.flat);
        let mut rows =
            format!("| always refine | {0:.1} | {0:.1} | {0:.1} | | |\n", refines.mean());
        rows += &row("the law", &self.law, refines);
        let _ = writeln!(
            rows,
            "| another approach after two flat rounds | {0:.1} | {0:.1} | {0:.1} | {1} | {1} |",
            flat.mean(),
            points(&flat.mostly_right(refines)),
        );
        rows + &row("the law, each failing leaf counted", &self.counted, refines)
    }

    /// Points of solved runs lost, and rounds saved in percent, where planning ends before its last changes.
    fn abandon(&self) -> String {
        let mut rows = String::new();
        for ((ended, whole), told) in self.ended.iter().zip(&self.law).zip(TOLD) {
            let points = ended.mean() - whole.mean();
            let rounds = (ended.rounds / whole.rounds - 1.0) * 100.0;
            let (points, rounds) = (page::signed(points), page::signed(rounds));
            let _ = writeln!(rows, "| .{} | {points} | {rounds} % |", told / 10);
        }
        rows
    }

    /// The limits of the design.
    fn hold(&self, slack: f64) {
        let more = |at: usize| self.law[at].mean() - self.refines.mean();
        let worst = |at: usize| {
            let all = self.law[at].mostly_right(&self.refines).into_iter();
            all.fold(f64::INFINITY, f64::min)
        };
        assert!(more(0) >= 5.0 - slack, "c = .5: {:+.1}", more(0));
        assert!(more(1) >= 12.0 - slack, "c = .7: {:+.1}", more(1));
        assert!(worst(0) >= -12.0 - slack, "c = .5: {:+.1}", worst(0));
        assert!(worst(1) >= -3.0 - slack, "c = .7: {:+.1}", worst(1));
    }
}

const HEAD: &str = "| | c = .5 | .7 | .9 | right in 9 of 10, c = .5: 1, 3, 6, 12 leaves | c = .7 |
|---|---|---|---|---|---|
";
const ABANDON: &str = "| c | points | rounds |
|---|---|---|
";

/// A part of the table in docs/law.md.
#[test]
fn directives_solve_more_than_refinement_alone() {
    let figures = measured(300);
    println!("{HEAD}{}\n{ABANDON}{}", figures.rows(), figures.abandon());
    figures.hold(2.0);
}

/// The tables in docs/law.md: `cargo test --release -p descent-core --test all the_table_of_directives -- --ignored`, with
/// `DESCENT_UPDATE=1` to write them there.
#[test]
#[ignore = "ten seconds"]
fn the_table_of_directives() {
    let figures = measured(4_000);
    println!("{HEAD}{}\n{ABANDON}{}", figures.rows(), figures.abandon());
    figures.hold(0.0);
    page::hold(HEAD, &figures.rows());
    page::hold(ABANDON, &figures.abandon());
}
