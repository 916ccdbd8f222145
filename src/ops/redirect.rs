//! A redirect: a person's changes as one commit, whatever runs meanwhile, and the loop's answer to it.
//!
//! Not here: the meaning of a redirect (`descent_core::change`), flags and files (`cli`).

use std::{sync::Arc, time::Duration};

use descent_core::{
    change::{self, Adoption, ChangeRefusal, Consequence, Redirect},
    doc::Fault,
    id::Serial,
    state::{Intent, RunStatus, State},
};

use super::{
    ChangeError, Client, commit_change,
    current::{basis, restless},
    liveness,
};
use crate::{
    failure::{Failure, exit},
    store::{LoadedState, Store},
};

/// Between two looks for the loop's next commit.
const LOOK_MS: u64 = 10;
/// Between two looks whether it hangs.
const PULSE_MS: u64 = 500;
/// A loop that has nothing to start makes no commit.
const ANSWER_MS_MAX: u64 = 10_000;

/// The changes that a person wants, and their reason.
#[derive(Debug)]
pub struct RedirectOrder {
    pub redirect: Redirect,
    pub reason: Option<String>,
}

/// A redirect that is committed, or could be.
#[derive(Debug)]
pub struct RedirectReport {
    pub before: State,
    pub after: State,
    pub effects: Vec<Consequence>,
}

/// The loop's answer to a redirect.
#[derive(Debug)]
pub struct RedirectAnswer {
    pub serial: Serial,
    pub status: RunStatus,
    pub started: Vec<Intent>,
}

/// Everything that is wanted stands already.
#[derive(Debug)]
pub struct Unchanged;

type RedirectOutcome = Result<RedirectReport, Unchanged>;

/// Plans the redirect of that state; nothing is written.
pub fn plan(
    client: &dyn Client,
    before: &State,
    order: &RedirectOrder,
) -> Result<RedirectOutcome, Failure> {
    match adopt(client, before, order) {
        Ok(adoption) => Ok(Ok(RedirectReport {
            before: before.clone(),
            after: adoption.state,
            effects: adoption.effects,
        })),
        Err(refusal) => refused(refusal).map(Err),
    }
}

/// Commits the redirect on top of whatever a loop has committed meanwhile.
pub fn redirect(
    client: &dyn Client,
    store: &mut Store,
    loaded: Arc<LoadedState>,
    order: &RedirectOrder,
) -> Result<RedirectOutcome, Failure> {
    let lineage = loaded.state.lineage.clone();
    let mut known = Some(loaded);
    let mut before = None;
    let committed = commit_change(
        store,
        |store| Ok(basis(&mut known, client, store)?),
        |_, fresh| {
            if fresh.state.lineage != lineage {
                return Err(ChangeError::Refused(Refused::OtherLineage));
            }
            before = Some(fresh.state.clone());
            adopt(client, &fresh.state, order)
                .map_err(|refusal| ChangeError::Refused(Refused::Change(refusal)))
        },
    )?;
    match (committed, before) {
        (Ok(report), Some(before)) => Ok(Ok(RedirectReport {
            before,
            after: report.loaded.state.clone(),
            effects: report.effects,
        })),
        (Err(Refused::Change(refusal)), _) => refused(refusal).map(Err),
        (Err(Refused::OtherLineage), _) | (Ok(_), None) => Err(restless(store)),
    }
}

enum Refused {
    Change(ChangeRefusal),
    OtherLineage,
}

fn adopt(
    client: &dyn Client,
    before: &State,
    order: &RedirectOrder,
) -> Result<Adoption, ChangeRefusal> {
    let now = client.now();
    let changes = order.redirect.changes(before, &now.rfc3339());
    let changes = changes.map_err(ChangeRefusal::Invalid)?;
    let (reason, by) = (order.reason.as_deref(), client.by());
    change::redirect(before, &changes, reason, &by, now)
}

fn refused(refusal: ChangeRefusal) -> Result<Unchanged, Failure> {
    match refusal {
        ChangeRefusal::NoDifference => Ok(Unchanged),
        ChangeRefusal::Invalid(faults) => Err(invalid(&faults)),
        ChangeRefusal::WorkspaceIsFixed => {
            let hint = "align --force --set workspace=… archives this run and begins anew";
            Err(Failure::usage(refusal, hint))
        }
        refusal => Err(Failure::bug(refusal)),
    }
}

fn invalid(faults: &[Fault]) -> Failure {
    let line = |fault: &Fault| {
        let hint = fault.hint.as_ref().map(|hint| format!(" ({hint})"));
        let (at, message) = (&fault.pointer, &fault.message);
        format!("{at}: {message}{}", hint.unwrap_or_default())
    };
    let count = crate::store::count(faults.len());
    let hint = "mend the flags, then try again; nothing was written";
    Failure::new(
        "E-REDIRECT-INVALID",
        exit::INVALID,
        format!("the redirect has {count}"),
        hint,
    )
    .with(faults.iter().map(line).collect())
}

/// Waits for the loop's next commit; `None` if it has none to make, or has ended.
pub fn wait_for_answer(
    store: &mut Store,
    after: Serial,
) -> Result<Option<RedirectAnswer>, Failure> {
    let mut waited_ms = 0;
    while waited_ms < ANSWER_MS_MAX {
        let is_live = store.is_live();
        let loaded = store.read()?;
        if loaded.state.serial > after {
            let run = &loaded.state.run;
            return Ok(Some(RedirectAnswer {
                serial: loaded.state.serial,
                status: run.status,
                started: run.in_flight.clone(),
            }));
        }
        if !is_live {
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(LOOK_MS));
        waited_ms += LOOK_MS;
        if waited_ms.is_multiple_of(PULSE_MS) {
            let so_far = "the redirect is committed, but ";
            liveness::observe(store, RunStatus::Running).goes_on(so_far)?;
        }
    }
    Ok(None)
}
