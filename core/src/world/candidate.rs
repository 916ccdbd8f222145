//! The progress of a candidate's checks.

use super::{AttemptProgress, speculation::LandingContext};
use crate::{
    event::Merge,
    state::Intent,
    verdict::{Basis, CheckProgress, Evaluator},
};

/// The progress of a candidate's checks on the present head; `None` if it has none to be judged.
pub(crate) fn of_candidate<'c>(
    landing_context: &LandingContext<'c>,
    intent: &Intent,
    serial: u64,
) -> Option<(Basis, CheckProgress<'c>)> {
    let LandingContext { state, session, .. } = *landing_context;
    let Some(AttemptProgress::Merged { onto, merge, .. }) = session.progress.get(&intent.id) else {
        return None;
    };
    let check = state
        .atoms
        .get(&intent.atom)?
        .task()?
        .spec
        .checks
        .as_ref()
        .filter(|_| landing_context.landing(intent).as_ref() == Some(onto))?;
    let basis = basis_of(merge, serial);
    let again_max = state.objective.constraints.max_transient();
    let evaluator = Evaluator {
        cache: &session.evidence,
        basis: &basis,
        corrections: &state.corrections,
        ratings: &state.run.ratings,
        again_max,
    };
    let progress = evaluator.judge(check);
    Some((basis, progress))
}

/// The basis on which an attempt's own checks are measured.
pub(crate) fn basis_of(merge: &Merge, serial: u64) -> Basis {
    match merge {
        Merge::Clean { tree, .. } | Merge::Unchanged { tree: Some(tree) } => {
            Basis::Warm(tree.clone())
        }
        Merge::Unchanged { tree: None } | Merge::Conflict(_) | Merge::Broken(_) => {
            Basis::Serial(serial)
        }
    }
}
