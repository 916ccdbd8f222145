//! The entry of a probe (contract §9.21).

use alloc::string::String;

use crate::{
    id::{AgentName, AtomId, AttemptId, Digest},
    state::table::record,
};

record! {
    part
    /// A probe found out whether an atom can be done
    pub struct ProbeEntry {
        always atom: AtomId,
        always attempt: AttemptId,
        optional context: Digest,
        optional agent: AgentName,
        /// Absent of a probe that found nothing out
        optional feasible: bool,
        always findings: String,
    }
}
