//! Whether judging plans pays: the cost of a plan with and without it, by simulation (docs/judging.md).
//!
//! No model is asked, so nothing here is the accuracy of one. The judge of the simulation finds 70 % of the defects and
//! cries wolf about 10 % of the sound atoms; its repairs work in 70 %. A defective atom fails three attempts, and is planned
//! again by one call. The unit is an attempt.

use std::fmt::Write as _;

const FINDS: u64 = 70;
const CRIES_WOLF: u64 = 10;
const REPAIRS: u64 = 70;
const ATTEMPTS: u64 = 3;
const PLANS: u64 = 20_000;
/// Plans with the same chances: sizes, and thousandths of an attempt that a call costs.
const ROWS: [(u64, u64); 5] = [(3, 300), (8, 300), (8, 1_000), (20, 300), (20, 1_000)];
/// Chances in a hundred that an atom is defective.
const DEFECTS: [u64; 5] = [2, 5, 10, 20, 30];

/// SplitMix64.
struct Chance(u64);

impl Chance {
    fn percent(&mut self, chance: u64) -> bool {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % 100 < chance
    }
}

/// The cost of carrying a plan out, in thousandths of an attempt. Whatever replaces a defective atom may be defective too.
fn carry_out(defects: &mut u64, atoms: u64, call: u64, q: u64, chance: &mut Chance) -> u64 {
    let mut cost = (atoms - *defects) * 1_000;
    while *defects > 0 {
        *defects -= 1;
        cost += ATTEMPTS * 1_000 + call;
        if chance.percent(q) { *defects += 1 } else { cost += 1_000 }
    }
    cost
}

/// Costs with judging and without, of the same plans.
fn compare(atoms: u64, call: u64, q: u64) -> (u64, u64) {
    let mut chance = Chance(atoms * 1_000_003 + call * 101 + q);
    let (mut with, mut without) = (0, 0);
    for _ in 0..PLANS {
        let bad: Vec<bool> = (0..atoms).map(|_| chance.percent(q)).collect();
        let mut defects = bad.iter().filter(|bad| **bad).count() as u64;
        let mut left = defects;
        without += carry_out(&mut defects, atoms, call, q, &mut chance);
        // One question, and one more call where anything is said.
        let (mut cost, mut is_said) = (call, false);
        for bad in bad {
            match bad {
                true if chance.percent(FINDS) => {
                    is_said = true;
                    left -= u64::from(chance.percent(REPAIRS));
                }
                false => is_said |= chance.percent(CRIES_WOLF),
                true => {}
            }
        }
        cost += u64::from(is_said) * call;
        with += cost + carry_out(&mut left, atoms, call, q, &mut chance);
    }
    (with, without)
}

#[test]
fn the_table_of_what_judging_costs_is_that_of_the_page() {
    let mut table = String::from(
        "| atoms | a call costs | q = .02 | .05 | .10 | .20 | .30 |\n|---|---|---|---|---|---|---|\n",
    );
    let mut signs = [0, 0];
    for (atoms, call) in ROWS {
        let _ = write!(table, "| {atoms} | .{} attempt |", call / 100);
        for q in DEFECTS {
            let (with, without) = compare(atoms, call, q);
            let (with, without) = (i64::try_from(with).unwrap(), i64::try_from(without).unwrap());
            // Tenths of a percent, half away from zero.
            let share = (with - without) * 1_000 / without;
            let percent = (share + 5 * share.signum()) / 10;
            signs[usize::from(percent > 0)] += 1;
            let sign = match percent {
                0 => "",
                ..0 => "−",
                _ => "+",
            };
            let _ = write!(table, " {sign}{} % |", percent.abs());
        }
        table.push('\n');
    }
    let table = table.replace(".10 attempt", "1 attempt");
    println!("{table}");
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/judging.md");
    let text = std::fs::read_to_string(page).expect("the page");
    assert!(text.contains(&table), "docs/judging.md has another table:\n{table}");
    assert!(signs[0] > 3 && signs[1] > 3, "it pays nowhere, or everywhere");
}
