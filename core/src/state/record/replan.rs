//! The entry of a change of the plan (contract §9.20).

use alloc::{string::String, vec::Vec};

use crate::{
    id::{AgentName, AtomId},
    state::table::{record, words},
};

record! {
    part
    /// The plan was changed, or a change of it was tried
    pub struct ReplanEntry {
        /// The step that plans anew, where one was placed
        optional atom: AtomId,
        always place: ReplanPlace = ReplanPlace::Nowhere,
        always reason: String,
        always failed: Vec<AtomId>,
        /// The refiner that proposed it, where one was asked
        optional by: AgentName,
        /// The tasks that it added or changed
        filled atoms: Vec<AtomId>,
        /// The tasks that it took out
        filled removed: Vec<AtomId>,
        /// The reason why no change was admitted
        filled refused: String,
        /// Changes that may still be tried
        always left: u32,
    }
}

words! {
    /// The place of a step that plans anew
    pub enum ReplanPlace {
        /// One more choice of a group
        Choice = "choice",
        /// In the place of what failed
        Atom = "atom",
        /// A failed plan is made once more
        Round = "round",
        /// After all else
        Root = "root",
        /// Tasks are added or changed, where a refiner says so
        Delta = "delta",
        /// Nowhere: nothing was admitted
        Nowhere = "nowhere",
    }
}
