//! The class of a failure: what it is worth to be told whether the approach was wrong, or its path was closed.
//!
//! Four approaches with four paths each. A plan works where its approach is right and its path open. Nobody proposes a
//! plan again that failed. Only runs in which some plan works are counted.

use descent_core::state::law::LawWeights;
use std::fmt::Write as _;

use descent_core::{law::LawInputs, state::law::Directive};

use super::{
    chance::Chance,
    page,
    steering::{Proposal, Steering, proposal},
};

const APPROACHES: u64 = 4;
const PATHS: u64 = 4;
const ROUNDS: u64 = 10;
/// In a thousand: how often a planner stays with its approach.
const STAYS: u64 = 700;
/// Chances in a hundred that an approach is right, and that a path is open.
const SETTINGS: [(u64, u64); 4] = [(50, 50), (50, 80), (80, 50), (30, 30)];
/// Chances in a hundred that the class is told rightly.
const TOLD: [u64; 6] = [50, 60, 70, 80, 90, 100];

type Cell = (u64, u64);

/// Whether an approach is right, and which of its paths are open.
struct Land {
    chance: Chance,
    right: u64,
    open: u64,
}

impl Land {
    fn is_right(&self, approach: u64) -> bool {
        self.chance.roll("right", [approach, 0]) < self.right * 10
    }

    fn works(&self, (approach, path): Cell) -> bool {
        self.is_right(approach) && self.chance.roll("open", [approach, path]) < self.open * 10
    }

    fn can_be_done(&self) -> bool {
        cells().any(|cell| self.works(cell))
    }
}

fn cells() -> impl Iterator<Item = Cell> {
    (0..APPROACHES).flat_map(|approach| (0..PATHS).map(move |path| (approach, path)))
}

/// How a planner goes on.
#[derive(Clone, Copy)]
enum Policy<'a> {
    /// It stays with its approach so often in a thousand.
    Free(u64),
    /// It obeys the law, which is told the class rightly so often in a hundred.
    Lawful(&'a Steering, &'a [Proposal], u64),
}

/// The next plan among those that are free.
fn next(land: &Land, round: u64, here: u64, stays: u64, free: &[Cell]) -> Option<Cell> {
    let is_here = |cell: &&Cell| cell.0 == here;
    let may_stay = free.iter().any(|cell| cell.0 == here);
    let may_leave = free.iter().any(|cell| cell.0 != here);
    let wants_to = land.chance.roll("stays", [round, 0]) < stays;
    let does_stay = may_stay && (wants_to || !may_leave);
    let order = |cell: &&Cell| {
        let way = land.chance.roll("way", [round, cell.0]);
        (way, cell.0, land.chance.roll("path", [cell.0, cell.1]), cell.1)
    };
    let open = free.iter().filter(|cell| is_here(cell) == does_stay);
    open.min_by_key(order).copied()
}

/// Rounds, and whether it was done.
fn run(land: &Land, policy: Policy<'_>) -> (u64, bool) {
    let mut law = match policy {
        Policy::Lawful(law, ..) => Some(law.clone()),
        Policy::Free(_) => None,
    };
    let first = land.chance.roll("first", [0, 0]) % APPROACHES;
    let all: Vec<Cell> = cells().collect();
    let mut tried: Vec<Cell> = Vec::new();
    let mut plan = next(land, 0, first, 1_000, &all);
    let mut here = first;
    for round in 1..=ROUNDS {
        let mut stays = STAYS;
        if let Some(cell) = plan {
            if land.works(cell) {
                return (round, true);
            }
            tried.push(cell);
            here = cell.0;
        }
        if let Policy::Free(often) = policy {
            stays = often;
        }
        if let (Some(law), Policy::Lawful(_, proposals, told)) = (&mut law, policy) {
            let is_told_rightly = land.chance.roll("told", [round, 0]) < told * 10;
            let is_logical = plan.is_some_and(|cell| land.is_right(cell.0) != is_told_rightly);
            let nothing = Proposal::new();
            let failed = plan.map_or(&nothing, |cell| of(proposals, cell));
            // The base case is one leaf, which fails too.
            let inputs = LawInputs {
                distance: 1_000,
                logical: 1 + u64::from(is_logical),
                environmental: u64::from(!is_logical && plan.is_some()),
                changes: 0,
                budgets: None,
            };
            if law.point(&inputs, failed) == Directive::ChangePath {
                stays = 1_000;
            }
        }
        let is_free = |cell: &Cell| {
            let is_refused = match (&law, policy) {
                (Some(law), Policy::Lawful(_, proposals, _)) => law.refuses(of(proposals, *cell)),
                _ => false,
            };
            !tried.contains(cell) && !is_refused
        };
        let free: Vec<Cell> = all.iter().copied().filter(is_free).collect();
        plan = next(land, round, here, stays, &free);
    }
    (ROUNDS, false)
}

fn of(proposals: &[Proposal], (approach, path): Cell) -> &Proposal {
    &proposals[usize::try_from(approach * PATHS + path).expect("small")]
}

#[derive(Debug, Default, Clone, Copy)]
struct Sum {
    rounds: u64,
    done: u64,
}

impl Sum {
    fn add(&mut self, (rounds, is_done): (u64, bool)) {
        self.rounds += rounds;
        self.done += u64::from(is_done);
    }

    /// More rounds than the other, in percent.
    fn against(self, other: Self) -> f64 {
        (self.rounds as f64 / other.rounds as f64 - 1.0) * 100.0
    }
}

/// The sums of a setting: of the planner that stays, of the one that never does, and with the law by what it is told.
struct Figures {
    runs: u64,
    stays: Sum,
    changes: Sum,
    law: [Sum; TOLD.len()],
}

fn measured(right: u64, open: u64, seeds: u64) -> Figures {
    let law = Steering::new(LawWeights::OF_PROGRAM);
    let action = |(approach, path): Cell| proposal(&format!("tool{approach} path{path}"));
    let proposals: Vec<Proposal> = cells().map(action).collect();
    let mut figures = Figures {
        runs: 0,
        stays: Sum::default(),
        changes: Sum::default(),
        law: [Sum::default(); TOLD.len()],
    };
    for seed in 0..seeds {
        let chance = Chance(seed);
        let land = Land { chance, right, open };
        if !land.can_be_done() {
            continue;
        }
        figures.runs += 1;
        figures.stays.add(run(&land, Policy::Free(STAYS)));
        figures.changes.add(run(&land, Policy::Free(0)));
        for (sum, told) in figures.law.iter_mut().zip(TOLD) {
            sum.add(run(&land, Policy::Lawful(&law, &proposals, told)));
        }
    }
    figures
}

impl Figures {
    fn row(&self, right: u64, open: u64) -> String {
        let mut row = format!("| .{} / .{} |", right / 10, open / 10);
        for law in self.law {
            let _ = write!(row, " {} % |", page::signed(law.against(self.stays)));
        }
        let share = |sum: Sum| sum.done as f64 / self.runs as f64;
        let (without, told, always) = (self.stays, self.law[2], self.law[5]);
        let _ = writeln!(
            row,
            " {:.2} → {:.2}, {:.2} | {} % | {} |",
            share(without),
            share(told),
            share(always),
            page::signed(told.against(self.changes)),
            self.even(),
        );
        row
    }

    /// The chance at which the law takes as many rounds as the planner that always changes its approach.
    fn even(&self) -> String {
        let against = self.law.map(|sum| sum.against(self.changes));
        if against[0] <= 0.0 {
            return "below .5".to_owned();
        }
        let crosses = (1..TOLD.len()).find(|at| against[*at] <= 0.0);
        crosses.map_or("never".to_owned(), |at| {
            let (from, to) = (against[at - 1], against[at]);
            let chance = TOLD[at - 1] as f64 + 10.0 * from / (from - to);
            format!(".{chance:.0}")
        })
    }
}

/// The table, held to the limits of the design. Fewer runs scatter more.
fn table(seeds: u64, slack: f64) -> String {
    let mut rows = String::new();
    for (right, open) in SETTINGS {
        let figures = measured(right, open, seeds);
        let row = figures.row(right, open);
        print!("{row}");
        rows += &row;
        let against = |at: usize| figures.law[at].against(figures.stays);
        assert!(against(0) <= 5.0 + slack, "{right}/{open}: {}", against(0));
        assert!(against(2) <= -5.0 + slack, "{right}/{open}: {}", against(2));
    }
    rows
}

const HEAD: &str = "| right / open | c = .5 | .6 | .7 | .8 | .9 | 1 | solved: without → c = .7, 1 | against always changing, c = .7 | even at c |
|---|---|---|---|---|---|---|---|---|---|
";

/// A part of the table in docs/law.md.
#[test]
fn a_class_that_is_told_saves_rounds() {
    table(2_000, 2.0);
}

/// The table in docs/law.md: `cargo test --release -p descent-core --test all the_table_of_classes -- --ignored`, with
/// `DESCENT_UPDATE=1` to write it there.
#[test]
#[ignore = "ten seconds"]
fn the_table_of_classes() {
    page::hold(HEAD, &table(10_000, 0.0));
}
