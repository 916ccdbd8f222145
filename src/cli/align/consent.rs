//! Turns a draft into an agreement: the checks run, differences are offered, all is shown, and the person consents.
//!
//! Invariant: nothing is written here; without a yes there is no state.

use std::path::Path;

use descent_core::state::State;
use tokio_util::sync::CancellationToken;

use super::{
    super::context::Context,
    AlignArgs, offers, preview,
    proposed::{self, DraftDecision},
    questions,
};
use crate::{
    config::Config,
    failure::Failure,
    ops::{self, align::AgreementDraft, compare::CheckoutBench, evaluate::CheckBench},
    store::StatePlace,
    workspace::Workspaces,
};

/// How often additions for a fresh checkout are offered.
const OFFERS_MAX: usize = 5;

/// A person's answer to an agreement that was shown.
pub(super) enum ConsentAnswer {
    Agreed(Box<State>),
    /// Nobody was asked, and nothing is to be written.
    Shown,
    /// A proposal is edited first.
    Edit(Box<State>),
    /// It failed in a fresh checkout, which was told: the person says what else.
    SetupFailed(Box<State>),
}

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
    /// Shows the agreement with today's verdicts, and asks.
    pub(super) async fn agree(
        self,
        state: State,
        workspaces: Workspaces,
        cancel: CancellationToken,
    ) -> Result<ConsentAnswer, Failure> {
        let out = self.context.out;
        let environment = workspaces.environment(ops::environment(&state));
        out.say(if workspaces.trees().is_some() {
            "evaluating the checks as things stand, here and in a fresh checkout…"
        } else {
            "evaluating the checks as things stand…"
        });
        let programs = ops::programs(self.place);
        let bench = CheckBench {
            place: self.place,
            environment: &environment,
            programs: &*programs,
            cancel: &cancel,
        };
        let bench = CheckoutBench { bench, top: self.top, start: None };
        let may_change = self.asks && self.flags.plan.is_none();
        let mut draft = match AgreementDraft::evaluate(state.clone(), workspaces, bench).await {
            Err(failure) if may_change && failure.is_of_setup => {
                out.failure(&failure);
                return Ok(ConsentAnswer::SetupFailed(Box::new(state)));
            }
            draft => draft?,
        };
        for _ in 0..OFFERS_MAX {
            if !self.asks || !draft.comparison.differ() || cancel.is_cancelled() {
                break;
            }
            let mut constraints = draft.state.objective.constraints.clone();
            if !offers::offer(out, self.top, &mut constraints, &draft.comparison, &cancel).await {
                break;
            }
            out.say("evaluating the checks in a fresh checkout again…");
            if let Err(failure) = draft.try_constraints(constraints).await {
                out.failure(&failure);
            }
        }
        if cancel.is_cancelled() {
            // A measurement that was cut off counts for nothing: nothing of it is shown.
            return Ok(ConsentAnswer::Shown);
        }
        draft.record_baselines()?;
        self.show(&draft)?;
        if self.flags.dry_run {
            out.say("nothing was written\nnext: the same without -n");
            return Ok(ConsentAnswer::Shown);
        }
        let decision = if self.asks { self.decides(&cancel).await } else { DraftDecision::Yes };
        match decision {
            DraftDecision::Yes => {
                let state = draft.agreed(self.context.may_ask);
                Ok(ConsentAnswer::Agreed(Box::new(state)))
            }
            DraftDecision::Edit => Ok(ConsentAnswer::Edit(Box::new(draft.state))),
            DraftDecision::No if cancel.is_cancelled() => Err(questions::left()),
            DraftDecision::No => Err(questions::left_with(self.flags)),
        }
    }

    fn show(&self, draft: &AgreementDraft<'_>) -> Result<(), Failure> {
        let (context, out) = (self.context, self.context.out);
        let client = context.client(Some(self.config));
        let view = draft.view(&client, self.config, !self.flags.no_memory)?;
        if out.json {
            out.json(&view);
        } else if !out.quiet || self.asks || self.flags.dry_run {
            let page = preview::page(&view, &self.place.project, &context.dir, out.verbose);
            out.page(&page);
        }
        Ok(())
    }

    /// Ctrl-C is an answer too.
    async fn decides(&self, cancel: &CancellationToken) -> DraftDecision {
        self.context.out.say("");
        let asked = async {
            if self.flags.draft.is_some() {
                return proposed::asks(self.context, "agree?").await;
            }
            if self.context.consents("agree?").await {
                DraftDecision::Yes
            } else {
                DraftDecision::No
            }
        };
        tokio::select! {
            decision = asked => decision,
            () = cancel.cancelled() => DraftDecision::No,
        }
    }
}
