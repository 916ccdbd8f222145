//! The questions of a run to judging roles, and the ratings that came of them.
//!
//! Not here: their records (`consult`).

use alloc::{format, vec::Vec};

use super::Run;
use crate::{
    id::ConsultId,
    state::consult::{RATINGS_MAX, Rating},
};

/// The beginning of the name of every question.
const NAME: &str = "consult-";

impl Run {
    /// The id of one more question: never one that was given before.
    pub fn next_consult(&mut self) -> ConsultId {
        self.spent.consults += 1;
        ConsultId::new(format!("{NAME}{}", self.spent.consults))
    }

    /// Takes a rating in the place of an earlier one of the same leaf and tree.
    pub fn rate(&mut self, new: Rating) {
        let ratings: &mut Vec<Rating> = &mut self.ratings;
        ratings.retain(|old| (&old.leaf, &old.on) != (&new.leaf, &new.on));
        ratings.push(new);
        let old = ratings.len().saturating_sub(RATINGS_MAX);
        ratings.drain(..old);
    }

    /// Drops all ratings, and the question in flight, of which nobody here knows who gave or asked them. Gives how many
    /// ratings that were.
    pub fn drop_ratings(&mut self) -> usize {
        self.consult = None;
        let ratings: &mut Vec<Rating> = &mut self.ratings;
        core::mem::take(ratings).len()
    }
}
