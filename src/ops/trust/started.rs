//! Whether a project's configuration may start anything where nobody is asked.
//!
//! Not here: whose file it is (`origin`), and what it can start (`configured`).

use std::path::Path;

use descent_core::trust::{Origin, TrustList};

use super::{BY_ATTEMPT, by_attempt, configured, origin};
use crate::{
    config::{self, Config},
    store::{StatePlace, Store},
    trust::{Fact, RecordState, Records},
};

/// Why a project's configuration is no person's own, with its words; `None` if it is.
pub(super) fn doubt(project: &Path, carried: &TrustList, records: &Records) -> Option<String> {
    match origin::origin_of(project, &project.join(config::FILE_NAME)) {
        Origin::Another(why) => Some(why),
        Origin::Own => {
            by_attempt::has_written(project, carried, records).then(|| BY_ATTEMPT.to_owned())
        }
    }
}

/// Why nothing of a project's configuration may be started or read here; `None` if it is the person's own, or was
/// allowed. Nobody is asked, and nothing is recorded.
pub fn refused_configuration(place: &StatePlace, config: &Config) -> Option<String> {
    let carried = configured::of_project(Some(config))?;
    let records = Records::find();
    let why = doubt(&place.project, &carried, &records)?;
    let by_itself = Fact::Content(carried.digest());
    let with_state = Store::open(place.clone()).read().ok();
    let with_state =
        with_state.map(|loaded| Fact::Worker(loaded.state.lineage.clone(), carried.digest()));
    // As at the gate of a run, words of an attempt are allowed by themselves alone.
    let with_state = with_state.filter(|_| why != BY_ATTEMPT);
    let mut allowed = [Some(by_itself), with_state].into_iter().flatten();
    let is_allowed = allowed.any(|fact| records.holds(&fact) == RecordState::Yes);
    (!is_allowed).then_some(why)
}
