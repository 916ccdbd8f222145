//! Disks for tests: one that fails at chosen calls, one that forgets at a power cut. The simulations of the loop use them too.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, clippy::panic)] // door: the disks of tests
#![cfg_attr(not(test), allow(dead_code))] // the simulations use a part

pub mod faulty;
pub mod lossy;

use std::path::Path;

use crate::{LoadedState, load};

/// A whole state, where the bytes are one.
pub fn whole(bytes: &[u8]) -> Option<LoadedState> {
    load::read(Path::new("state"), bytes.to_vec()).ok().map(|(loaded, _)| loaded)
}
