//! Signals that whoever started the tests ignores (`nohup`, a shell that puts them in the background) reach the programs
//! that the tests start.
//!
//! A program inherits what its parent ignores, but not what its parent handles. The program's own tests have this file as
//! a module too (`src/main.rs`).

use std::{
    fs,
    sync::{Arc, Once, atomic::AtomicBool},
};

use rustix::process::Signal;

/// From now on: an ignored signal is taken by a handler that does nothing.
pub fn heed_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let ignored = ignored();
        for signal in [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM] {
            let number = signal.as_raw();
            if ignored & 1 << (number - 1) != 0 {
                let nothing = Arc::new(AtomicBool::new(false));
                signal_hook::flag::register(number, nothing).expect("a signal that has handlers");
            }
        }
    });
}

/// A bit for each signal; none where the system does not tell.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let bits = line.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
    bits.unwrap_or(0)
}
