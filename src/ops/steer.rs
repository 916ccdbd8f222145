//! A person's wish about single atoms: guidance, a skip, a retry. The loop goes on with everything else.

use std::collections::BTreeMap;

use descent_core::{
    change::{self, ChangeRefusal, Steering},
    doc::Fault,
    id::AtomId,
    state::State,
};

use super::{ChangeDenial, Client, CommitReport, commit_change, current};
use crate::{
    failure::{Failure, exit},
    store::Store,
};

/// A wish, the atoms that it is about, and its reason.
#[derive(Debug)]
pub struct SteeringOrder<'a> {
    pub steering: Steering<'a>,
    pub atoms: Vec<AtomId>,
    pub reason: Option<&'a str>,
}

/// The outcome of a wish.
#[derive(Debug)]
pub enum SteeringOutcome {
    Made(CommitReport),
    /// It stands already.
    Unchanged(Box<State>),
}

/// Commits the wish on top of whatever a loop has committed meanwhile.
pub fn steer(
    client: &dyn Client,
    store: &mut Store,
    order: &SteeringOrder<'_>,
) -> Result<SteeringOutcome, Failure> {
    let committed = commit_change(
        store,
        |store| Ok(current(client, store)?),
        |_, fresh| {
            let (steering, atoms) = (order.steering, order.atoms.as_slice());
            let (by, now) = (client.by(), client.now());
            change::steer(&fresh.state, steering, atoms, order.reason, &by, now)
                .map_err(|refusal| ChangeDenial::on(&fresh.state, refusal))
        },
    )?;
    match committed {
        Ok(report) => Ok(SteeringOutcome::Made(report)),
        Err(ChangeDenial {
            refusal: ChangeRefusal::NoDifference,
            state,
        }) => Ok(SteeringOutcome::Unchanged(state)),
        Err(denial) => Err(refused(denial.refusal)),
    }
}

fn refused(refusal: ChangeRefusal) -> Failure {
    match refusal {
        ChangeRefusal::Invalid(faults) => invalid(&faults),
        ChangeRefusal::NobodyAsks(failed) => {
            let ids: Vec<&str> = failed.iter().map(AtomId::as_str).collect();
            let hint = match ids.as_slice() {
                [] => "name the atoms: descent guide TEXT --for ATOM; descent graph lists them"
                    .to_owned(),
                ids => format!(
                    "these failed: {}; descent guide TEXT --for {}",
                    ids.join(", "),
                    ids.join(" --for ")
                ),
            };
            Failure::usage(refusal_text(&failed), hint)
        }
        refusal => Failure::bug(refusal),
    }
}

fn refusal_text(failed: &[AtomId]) -> String {
    ChangeRefusal::NobodyAsks(failed.to_vec()).to_string()
}

/// All faults at once; nothing was written.
fn invalid(faults: &[Fault]) -> Failure {
    let lines: BTreeMap<&str, String> = faults
        .iter()
        .map(|fault| {
            let hint = fault.hint.as_ref().map(|hint| format!(" ({hint})"));
            let line = format!(
                "{}: {}{}",
                fault.pointer,
                fault.message,
                hint.unwrap_or_default()
            );
            (fault.pointer.as_str(), line)
        })
        .collect();
    let what = format!("this cannot be done: {}", crate::store::count(faults.len()));
    let hint = "mend what is named, then try again; nothing was written";
    Failure::new("E-STEER-INVALID", exit::INVALID, what, hint).with(lines.into_values().collect())
}
