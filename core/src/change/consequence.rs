//! The consequences of a change, beside the change itself: as data, and in words.

use alloc::vec::Vec;
use core::fmt;

use crate::id::AtomId;

/// One consequence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Consequence {
    TrailCleared,
    /// The graph changed: results in other contexts are open again.
    GraphReopened,
    /// Former parts that are roots now.
    NewRoots(Vec<AtomId>),
    DependentsReopened,
    /// A person wrote the results of atoms that had none.
    ResultsWithoutFiles(Vec<AtomId>),
    /// A limit was raised.
    LimitReopened,
    /// An effect outside counts as done, and its atom as solved.
    DoubtSettled,
    /// A change of the tree by the attempt is not part of the result.
    ChangeLeftOut,
    /// The effect counts as done for an atom that has changed since.
    DoubtOutdated,
    DoubtRetried,
    /// These atoms have one more context, with a person's words in it.
    Guided(Vec<AtomId>),
    /// Whether the effects of these atoms happened must be answered before they are made again.
    EffectsDoubted(Vec<AtomId>),
    TrailRestored,
    /// The run starts from where it did then, and the trail is the one of then.
    StartRestored,
    /// Attempts end without being counted.
    FlightEnds(Vec<AtomId>),
    FilesStay,
    ResultRestored,
    ResultRemade,
    /// The effects of these atoms outside of the tree are not taken back.
    OutsideStays(Vec<AtomId>),
    /// The repository no longer holds their results.
    LostReopened(Vec<AtomId>),
    SpentStays,
    /// Solved atoms keep their results where these apply to the new start.
    ResultCarried,
    /// Whatever failed, and whatever the base case refuted, may be tried again.
    FailuresForgotten,
    /// Nothing that these atoms did outside of the tree is done again.
    OutsideDone(Vec<AtomId>),
}

impl fmt::Display for Consequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (words, atoms) = self.words();
        f.write_str(words)?;
        for (n, atom) in atoms.iter().enumerate() {
            let before = if n == 0 { ": " } else { ", " };
            write!(f, "{before}{atom}")?;
        }
        Ok(())
    }
}

impl Consequence {
    fn words(&self) -> (&'static str, &[AtomId]) {
        let words = match self {
            Self::NewRoots(ids) => {
                let words = "nobody's part any more, and to be solved like every other root";
                return (words, ids);
            }
            Self::EffectsDoubted(ids) => {
                let words = "in doubt, and not made again before `descent confirm` says so";
                return (words, ids);
            }
            Self::ResultsWithoutFiles(ids) => {
                return ("no file comes with a result that you write", ids);
            }
            Self::Guided(ids) => return ("tried anew with these words", ids),
            Self::FlightEnds(ids) => return ("what is in flight ends, and costs no attempt", ids),
            Self::OutsideStays(ids) => {
                return ("what these did outside of the tree is not taken back", ids);
            }
            Self::LostReopened(ids) => {
                return ("open again, for git no longer holds their results", ids);
            }
            Self::OutsideDone(ids) => return ("not made again, for it happened outside", ids),
            Self::ResultCarried => {
                "what is solved is carried onto the new start where it applies, and made again where not"
            }
            Self::FailuresForgotten => {
                "every failed atom is open again, and no selection counts as refuted"
            }
            Self::TrailCleared => "the trail is cleared, every failed atom is open again",
            Self::GraphReopened => "results whose context no longer fits are open again",
            Self::DependentsReopened => "what depends on them is open again",
            Self::LimitReopened => "what a raised limit had ended is open again",
            Self::DoubtSettled => "what waited for it goes on",
            Self::ChangeLeftOut => {
                "its effect outside counts alone: files that it wrote in its workspace are not in the result"
            }
            Self::DoubtOutdated => {
                "that was for the atom as it was then: as it is now it is made again"
            }
            Self::DoubtRetried => "it is made again under the same number",
            Self::TrailRestored => "the trail is that of the objective that is back",
            Self::StartRestored => "the start of the run and the trail are those of then",
            Self::FilesStay => {
                "agents work in place here: the files stay as they are, only the record goes back"
            }
            Self::ResultRestored => "the result is the tree that it was then",
            Self::ResultRemade => "the result is made again from what stays, when the loop runs",
            Self::SpentStays => "what is spent stays spent; what is left is counted anew",
        };
        (words, &[])
    }
}
