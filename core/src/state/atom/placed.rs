//! Planning steps that the program placed where nothing was left to try (contract §9.20).

use alloc::{string::String, sync::Arc};

use super::Atom;
use crate::state::table::record;

record! {
    /// Who placed a planning step, why, and in whose place
    #[derive(Default)]
    pub struct Placed {
        /// Empty of a step that stands where it was written
        filled[internal] by: String,
        /// The reason: something failed for good there
        filled[internal] reason: String,
        /// The atom that stood there, whole
        optional[internal] was: Arc<Atom>,
    }
}

impl Placed {
    pub fn is_placed(&self) -> bool {
        !self.by.is_empty()
    }
}
