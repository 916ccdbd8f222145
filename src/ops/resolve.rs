//! A person's report on an effect outside that was cut off.

use descent_core::{
    change::{self, Change, Resolution},
    id::AttemptId,
};

use super::{ChangeDenial, Client, CommitReport, commit_change, current};
use crate::{failure::Failure, store::Store};

/// Records what became of an attempt.
pub fn resolve(
    client: &dyn Client,
    store: &mut Store,
    attempt: &AttemptId,
    resolution: Resolution<'_>,
) -> Result<Result<CommitReport, ChangeDenial>, Failure> {
    commit_change(
        store,
        |store| Ok(current(client, store)?),
        |_, fresh| {
            let change = [Change::Resolution(attempt, resolution)];
            change::apply(&fresh.state, &change, &client.by(), client.now())
                .map_err(|refusal| ChangeDenial::on(&fresh.state, refusal))
        },
    )
}
