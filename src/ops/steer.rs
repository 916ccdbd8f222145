//! A person's instruction for single atoms: guidance, a skip, a retry. The loop goes on with everything else.

use descent_core::{
    change::{self, ChangeRefusal, Steering},
    id::AtomId,
    state::State,
};

use super::{ChangeDenial, Client, CommitReport, commit::faulty, commit_change, current};
use crate::{failure::Failure, store::Store};

/// An instruction, its atoms and its reason.
#[derive(Debug)]
pub struct SteeringOrder<'a> {
    pub steering: Steering<'a>,
    pub atoms: Vec<AtomId>,
    pub reason: Option<&'a str>,
}

/// The outcome of an instruction.
#[derive(Debug)]
pub enum SteeringOutcome {
    Made(CommitReport),
    /// It stands already.
    Unchanged(Box<State>),
}

/// Carries the instruction out on top of whatever a loop has committed meanwhile.
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
        Err(ChangeDenial { refusal: ChangeRefusal::NoDifference, state }) => {
            Ok(SteeringOutcome::Unchanged(state))
        }
        Err(denial) => Err(refused(denial.refusal)),
    }
}

fn refused(refusal: ChangeRefusal) -> Failure {
    let hint = match &refusal {
        ChangeRefusal::Invalid(faults) => {
            let hint = "mend what is named, then try again; nothing was written";
            return faulty("E-INVALID", "this has", faults, hint);
        }
        ChangeRefusal::NobodyAsks(failed) if failed.is_empty() => {
            "name the atoms: descent guide TEXT --for ATOM; descent graph lists them".to_owned()
        }
        ChangeRefusal::NobodyAsks(failed) => {
            let ids: Vec<&str> = failed.iter().map(AtomId::as_str).collect();
            let (all, each) = (ids.join(", "), ids.join(" --for "));
            format!("these failed: {all}; descent guide TEXT --for {each}")
        }
        _ => return Failure::bug(refusal),
    };
    Failure::usage(refusal, hint)
}
