//! Finds what an earlier run left: finished attempts, and commits that the repository lost.
//!
//! Invariant: the lease is held and leftover processes are ended, so nobody writes any of this any
//! more.

use std::{collections::BTreeSet, sync::Arc};

use descent_core::{
    event::{Outcome, Product},
    id::CommitId,
    state::{Intent, State, named_files},
    view,
};

use super::{
    Loop, blocking,
    executor::{BoxedFuture, RealExecutor, RunLeftovers},
};
use crate::{agent, failure::Failure};

pub(super) fn resume(executor: &RealExecutor, state: &State) -> BoxedFuture<RunLeftovers> {
    let attempts = executor.place.attempts();
    let workspaces = executor.workspaces.clone();
    let (state, evidence) = (state.clone(), Arc::clone(&executor.evidence));
    let find = move || {
        let in_flight = state.run.in_flight.iter();
        let recorded: Vec<(&Intent, Outcome)> = in_flight
            .filter_map(|intent| Some((intent, agent::finished(&attempts, intent)?)))
            .collect();
        agent::tidy(&attempts, &state.run.in_flight);
        let mut named = named_files::named_by(&state);
        let wholes = recorded.iter().filter_map(|(_, one)| one.whole.as_ref());
        named.extend(wholes.map(|whole| whole.digest.clone()));
        evidence.tidy(&named);
        let mut commits = view::commits(&state);
        let start = state.run.started_from.as_ref();
        commits.extend(
            recorded
                .iter()
                .filter_map(|(_, outcome)| commit_of(outcome)),
        );
        if let Some(start) = start {
            commits.remove(&start.commit);
        }
        let gone = match workspaces.trees() {
            Some(trees) => trees.mend(start, &commits)?,
            None => BTreeSet::new(),
        };
        let is_whole = |(_, outcome): &(&Intent, Outcome)| {
            commit_of(outcome).is_none_or(|commit| !gone.contains(&commit))
        };
        let whole = recorded.into_iter().filter(is_whole);
        let finished = whole
            .map(|(intent, outcome)| (intent.id.clone(), outcome))
            .collect();
        Ok::<_, Failure>(RunLeftovers { finished, gone })
    };
    Box::pin(async move { blocking(find).await? })
}

impl Loop<'_> {
    pub(super) async fn find_what_was_left(&mut self) -> Result<RunLeftovers, Failure> {
        let looking = self.host.executor.resume(&self.world.state);
        let found = self.patiently(looking).await?;
        if !found.gone.is_empty() {
            (self.observer.on_note)(&format!(
                "the repository lost {} that the state names; what stood on them is made again: {}",
                count(found.gone.len()),
                names(&found.gone)
            ));
        }
        Ok(found)
    }
}

/// The result of an attempt has a value only while its commit can be read.
fn commit_of(outcome: &Outcome) -> Option<CommitId> {
    match &outcome.made {
        Some(Product::Commit(commit)) => Some(commit.clone()),
        Some(Product::Unchanged | Product::Broken(_)) | None => None,
    }
}

fn count(commits: usize) -> String {
    match commits {
        1 => "1 commit".to_owned(),
        many => format!("{many} commits"),
    }
}

/// Maximum of commits named in a message.
const NAMED_MAX: usize = 5;

fn names(gone: &BTreeSet<CommitId>) -> String {
    let short = |commit: &CommitId| commit.as_str().chars().take(12).collect::<String>();
    let mut names: Vec<String> = gone.iter().take(NAMED_MAX).map(short).collect();
    if gone.len() > NAMED_MAX {
        names.push("…".to_owned());
    }
    names.join(", ")
}
