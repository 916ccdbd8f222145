//! The grants of changes of the plan that planners may still make (contract §9.20).

use super::{DecimalText, MeasureText};
use crate::state::table::record;

record! {
    /// The most that each change of the plan by a planner may open, and how many are left
    #[derive(PartialEq)]
    pub struct ChangeGrant {
        /// Attempts; absent where it is granted anew at the next commit of a loop with a planner
        optional[program] attempts: DecimalText,
        optional[program] verdicts: DecimalText,
        /// The rest that earlier changes left of theirs
        optional[program] over: MeasureText,
        /// Changes that may still be tried
        always[program] left: u32,
        /// Changes that were tried, taken or not
        filled[program] tried: u32,
    }
}

impl ChangeGrant {
    /// The same after a person's correction: granted anew, but what was tried stays tried.
    pub fn anew(&self) -> Self {
        Self { attempts: None, verdicts: None, over: None, left: 0, ..self.clone() }
    }

    /// Whether changes are granted to planners now.
    pub fn is_in_force(&self) -> bool {
        self.attempts.is_some()
    }
}
