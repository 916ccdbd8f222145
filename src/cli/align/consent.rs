//! Turns a draft into an agreement: the checks run, differences are offered, all is shown, and the person consents.
//!
//! Invariant: nothing is written here; without a yes there is no state.

use std::{path::Path, sync::Arc};

use descent_core::{
    state::{Agreed, Extra, OnStuck, State},
    world::World,
};
use tokio_util::sync::CancellationToken;

use super::{
    super::{context::Context, evaluate::drawn},
    AlignArgs, costs, offers, preview, proposals, questions,
};
use crate::{
    config::Config,
    failure::Failure,
    ops::{baseline, compare::CheckoutBench, evaluate::Evaluation},
    process::programs::RealPrograms,
    store::StatePlace,
    workspace::{Checkout, Workspaces},
};

/// How often additions for a fresh checkout are offered.
const OFFERS_MAX: usize = 5;

/// The setting in which an agreement is made.
pub(super) struct Consent<'a> {
    pub(super) context: &'a Context,
    pub(super) flags: &'a AlignArgs,
    pub(super) config: &'a Config,
    pub(super) top: &'a Path,
    pub(super) place: &'a StatePlace,
    pub(super) asks: bool,
}

impl Consent<'_> {
    /// Shows the agreement with today's verdicts; gives the state if it is to be written.
    pub(super) async fn agree(
        self,
        mut state: State,
        mut workspaces: Workspaces,
        cancel: CancellationToken,
    ) -> Result<Option<State>, Failure> {
        let out = self.context.out;
        costs::refuse_setup_of_links(&state, self.top)?;
        baseline::forget(&mut state);
        let start = workspaces.snapshot()?;
        let environment = self.context.environment(&state);
        let bench = CheckoutBench {
            environment: &environment,
            programs: &RealPrograms,
            top: self.top,
            place: self.place,
            start: start.as_ref().map(|start| start.commit.clone()),
            cancel,
        };
        out.say(match start {
            Some(_) => "evaluating the checks as things stand, here and in a fresh checkout…",
            None => "evaluating the checks as things stand…",
        });
        let mut looks = bench.look(&state, &workspaces).await?;
        for _ in 0..OFFERS_MAX {
            if !self.asks || !looks.differ() || bench.cancel.is_cancelled() {
                break;
            }
            let before = state.clone();
            if !offers::offer(out, self.top, &mut state, &looks, &bench.cancel).await {
                break;
            }
            out.say("evaluating the checks in a fresh checkout again…");
            let constraints = &state.objective.constraints;
            let looked = match Workspaces::open(self.place, &state.lineage, constraints) {
                Ok(opened) => {
                    workspaces = opened;
                    bench.look_fresh(&state, &workspaces, &mut looks).await
                }
                Err(error) => Err(error.into()),
            };
            if let Err(failure) = looked {
                out.failure(&failure);
                state = before;
            }
        }
        if bench.cancel.is_cancelled() {
            // A measurement that was cut off counts for nothing: nothing of it is shown.
            return Ok(None);
        }
        {
            let evaluation = Evaluation {
                place: self.place,
                workspaces: &workspaces,
                commit: bench.start.clone(),
                checkout: Checkout::Verify,
                environment: &environment,
                programs: &RealPrograms,
                cancel: &bench.cancel,
                on_check: &drawn(self.context),
            };
            baseline::measure(&evaluation, &mut state, &looks.fresh).await?;
        }
        let uncommitted = workspaces.uncommitted()?;
        let world = World::new(state);
        if out.json {
            out.json(&preview::json(&world, &looks, self.config));
        } else if !out.quiet || self.asks || self.flags.dry_run {
            let shown = preview::Preview {
                looks: &looks,
                top: self.top,
                workspaces: &workspaces,
                start: start.as_ref(),
                uncommitted,
                config: self.config,
                is_whole: out.verbose,
            };
            out.page(&preview::page(&world, &shown));
        }
        if self.flags.dry_run {
            out.say("nothing was written\nnext: the same without -n");
            return Ok(None);
        }
        if self.asks && !self.consents(&bench.cancel).await {
            let left = questions::left();
            return Err(match bench.cancel.is_cancelled() {
                true => left,
                false => proposals::again(left, self.flags),
            });
        }
        let mut state = world.state;
        Arc::make_mut(&mut state.run).agreed = start.map(|start| Agreed {
            tree: start.tree,
            failed: looks.failed(),
            extra: Extra::default(),
        });
        if self.context.may_ask {
            ask_when_stuck(&mut state);
        }
        Ok(Some(state))
    }

    /// Ctrl-C is an answer too.
    async fn consents(&self, cancel: &CancellationToken) -> bool {
        self.context.out.say("");
        tokio::select! {
            yes = self.context.consents("agree?") => yes,
            () = cancel.cancelled() => false,
        }
    }
}

/// If align has a terminal, somebody can be asked later too (contract §4).
fn ask_when_stuck(state: &mut State) {
    let constraints = &mut Arc::make_mut(&mut state.objective).constraints;
    constraints.on_stuck.get_or_insert(OnStuck::Ask);
}
