//! Images that a power cut could have left: all writes before the last flush, and some of the later ones.
//!
//! Invariant: a cut and a seed give the same image for good.

use crate::{
    facts::Fact,
    log::{self, Record, What},
};
use std::{fs::File, io, os::unix::fs::FileExt, path::Path};

/// The size of a write that a disk does whole or not at all.
const SECTOR_BYTES: usize = 512;

/// A small generator, so that a seed is enough for a story (SplitMix64).
pub struct Rng(pub u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    fn percent(&mut self, of_hundred: u64) -> bool {
        self.below(100) < of_hundred
    }
}

/// The fate of the writes since the last flush.
enum Fate {
    Lost,
    /// Up to the point that the disk reached, the last one torn.
    UpTo(u64),
    /// Each by itself, in any order: this percentage of writes arrives, and some of them torn.
    Some(u64),
}

/// Places to cut, a line each: `CUT SEED`. A third lie anywhere, a third in the instant that something was reported,
/// and a third before a flush, when the most is under way.
pub fn cuts(log: &Path, facts: &[Fact], count: u64, seed: u64) -> io::Result<()> {
    let first = facts.first().map_or(0, |fact| fact.at);
    let (mut all, mut unflushed) = (Vec::new(), Vec::new());
    let mut before = first;
    log::read(log, u64::MAX, |record| {
        if record.end > first {
            all.push(record.end);
            if matches!(record.what, What::Flush) {
                unflushed.push(before);
            }
        }
        before = record.end;
    })?;
    let reported: Vec<u64> = facts.iter().map(|fact| fact.at).collect();
    let mut rng = Rng(seed);
    for n in 0..count {
        let from = match n % 3 {
            0 => &all,
            1 => &reported,
            _ => &unflushed,
        };
        let chosen = usize::try_from(rng.below(from.len() as u64)).map_err(io::Error::other)?;
        let cut = from
            .get(chosen)
            .ok_or_else(|| io::Error::other("nothing was written and flushed"))?;
        println!("{cut} {}", rng.next());
    }
    Ok(())
}

/// Brings `disk`, a copy from before the log, to a state that a cut could have left.
pub fn make(log: &Path, cut: u64, seed: u64, disk: &Path) -> io::Result<()> {
    let disk = File::options().write(true).open(disk)?;
    let mut pending: Vec<(u64, Vec<u8>)> = Vec::new();
    let mut failed = None;
    let mut settle = |pending: &mut Vec<(u64, Vec<u8>)>| {
        for (offset, data) in pending.drain(..) {
            failed = disk.write_all_at(&data, offset).err().or(failed.take());
        }
    };
    log::read(log, cut, |Record { what, .. }| match what {
        What::Flush => settle(&mut pending),
        What::Write { offset, data } => pending.push((offset, data)),
    })?;
    if let Some(error) = failed {
        return Err(error);
    }
    survive(&disk, pending, &mut Rng(seed))
}

fn survive(disk: &File, pending: Vec<(u64, Vec<u8>)>, rng: &mut Rng) -> io::Result<()> {
    let fate = match rng.below(4) {
        0 => Fate::Lost,
        1 => Fate::UpTo(rng.below(pending.len() as u64 + 1)),
        _ => Fate::Some([10, 50, 90][usize::from(rng.below(3) as u8)]),
    };
    for (n, (offset, data)) in (0_u64..).zip(pending) {
        let (arrives, is_torn) = match fate {
            Fate::Lost => (false, false),
            Fate::UpTo(end) => (n <= end, n == end),
            Fate::Some(of_hundred) => (rng.percent(of_hundred), rng.percent(20)),
        };
        if arrives && is_torn {
            tear(disk, offset, &data, rng)?;
        } else if arrives {
            disk.write_all_at(&data, offset)?;
        }
    }
    Ok(())
}

fn tear(disk: &File, offset: u64, data: &[u8], rng: &mut Rng) -> io::Result<()> {
    for (sector, at) in data
        .chunks(SECTOR_BYTES)
        .zip((offset..).step_by(SECTOR_BYTES))
    {
        if rng.percent(50) {
            disk.write_all_at(sector, at)?;
        }
    }
    Ok(())
}
