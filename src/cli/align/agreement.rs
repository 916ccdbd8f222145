//! The end of `align`: what is agreed is checked, shown, consented to and written. A proposal is shown before anything
//! of it runs, and may be edited.
//!
//! Invariant: if the agreement does not come about, nothing of it stays; without a yes there is no state.

use std::{io::IsTerminal, ops::ControlFlow, path::Path, sync::Arc};

use descent_core::state::{State, profile::ProfileRecord};
use tokio_util::sync::CancellationToken;

use super::{
    super::{
        End,
        context::{Context, interruptible, signals_are_given_back},
    },
    AlignArgs, asks, preview,
    proposed::{self, DraftDecision},
    questions,
    reading::{FirstState, read},
    unchanged,
};
use descent_agent::config::Config;
use descent_engine::ops::{
    self,
    agents::{AgentLook, AgentUse},
    align::{AgreementDraft, existing, is_same, refuse_unfinished},
    evaluate::CheckBench,
};
use descent_process::programs;
use descent_store::StatePlace;
use descent_system::failure::{Failure, quoted};
use descent_workspace::{Size, Workspaces};

/// How often a proposal is edited at most.
const EDITED_MAX: usize = 1_000;
/// How often additions for a fresh checkout are offered.
const OFFERS_MAX: usize = 5;

/// The setting in which an agreement is made.
struct Agreeing<'a> {
    context: &'a Context,
    config: &'a Config,
    top: &'a Path,
    place: StatePlace,
    asks: bool,
    profile: Option<ProfileRecord>,
    /// Whether another state goes for it.
    replaces: bool,
}

/// A person's answer to an agreement that was shown.
enum ConsentAnswer {
    Agreed(Box<State>),
    /// Nobody was asked, and nothing is to be written.
    Shown,
    /// A proposal is edited first.
    Edit(Box<State>),
    /// It is proposed again by these words.
    Words(String),
    /// It failed in a fresh checkout, which was told: the person says what else.
    SetupFailed(Box<State>),
}

pub(super) fn conclude(
    context: &Context,
    flags: &mut AlignArgs,
    config: &Config,
    top: &Path,
    first: FirstState,
) -> Result<End, Failure> {
    let mut state = first.state;
    let existing = existing(context.place()?)?;
    if let Some(found) = &existing
        && !flags.force
        && is_same(&found.state, &state)
    {
        return unchanged(context, found, config);
    }
    refuse_unfinished(existing.as_deref(), flags.force)?;
    super::gate(context, flags, top, config, first.carried.as_ref())?;
    let profile = match proposed::profile(context, flags, config, top, &state)? {
        Ok(profile) => profile,
        Err(end) => return Ok(end),
    };
    let place = context.place()?.unwrap_or_else(|| StatePlace::at(top, context.state.as_deref()));
    let (asks, replaces) = (asks(context, flags), existing.is_some());
    let agreeing = Agreeing { context, config, top, place, asks, profile, replaces };
    for _ in 0..EDITED_MAX {
        if flags.has_draft() && asks {
            let decision = match proposed::decide(context, flags, &state, config)? {
                Ok(decision) => decision,
                Err(signal) => {
                    context.out.say("");
                    context.out.failure(&proposed::refused(flags, &state));
                    return Ok(End::Signal(signal));
                }
            };
            match decision {
                DraftDecision::Yes => {}
                DraftDecision::Edit => {
                    state = proposed::edit(context, flags, state)?;
                    continue;
                }
                DraftDecision::Words(words) => {
                    if let Some(end) = proposed::another(context, flags, top, config, words)? {
                        return Ok(end);
                    }
                    state = read(flags)?.state;
                    continue;
                }
                DraftDecision::No => return Err(proposed::refused(flags, &state)),
            }
        }
        if let Some(profile) = &agreeing.profile {
            Arc::make_mut(&mut state.run).profile = Some(profile.clone());
        }
        match agreeing.agree(flags, state)? {
            ControlFlow::Break(end) => return Ok(end),
            ControlFlow::Continue(again) => state = again,
        }
    }
    Err(questions::left_with(flags))
}

impl Agreeing<'_> {
    /// Runs the checks, shows the agreement, and writes it after a yes. It goes on with a state that the person changed.
    fn agree(
        &self,
        flags: &mut AlignArgs,
        mut state: State,
    ) -> Result<ControlFlow<End, State>, Failure> {
        let context = self.context;
        AgentLook {
            config: self.config,
            environment: &ops::environment(&state),
            programs: &*programs::real(),
            dir: self.top,
        }
        .ready(&state, AgentUse::Agreement)?;
        if let Size::Large { what, largest } = ops::align::presume_workspace(self.top, &mut state)?
        {
            return Err(ops::align::too_large(self.top, what, &largest));
        }
        let workspaces = Workspaces::of(&self.place, &state)?;
        let answered =
            interruptible(|cancel| self.consent(flags, state, workspaces.clone(), cancel));
        let open = answered.and_then(|answered| match answered {
            Ok(ConsentAnswer::Agreed(state)) => self.write(flags, *state).map(|()| None),
            other => Ok(Some(other)),
        });
        if let Ok(None) = open {
            flags.text.iter().for_each(proposed::forget);
            let goes_on = flags.is_found || flags.errand.is_some();
            let next = if goes_on { "" } else { "\nnext: descent run" };
            context.out.say(&format!("{}{next}", self.how_agreed(flags)));
            return Ok(ControlFlow::Break(End::Code(0)));
        }
        // The agreement did not come about, so nothing of it stays.
        if let Some(trees) = workspaces.trees() {
            trees.discard()?;
        }
        self.place.unmake().ok();
        let again = match open? {
            Some(Err(signal)) => {
                if flags.has_draft() {
                    context.out.failure(&proposed::refused(flags, &read(flags)?.state));
                }
                return Ok(ControlFlow::Break(End::Signal(signal)));
            }
            Some(Ok(ConsentAnswer::Edit(state))) => {
                signals_are_given_back()?;
                proposed::edit(context, flags, *state)
            }
            Some(Ok(ConsentAnswer::Words(words))) => {
                signals_are_given_back()?;
                match proposed::another(context, flags, self.top, self.config, words)? {
                    Some(end) => return Ok(ControlFlow::Break(end)),
                    None => read(flags).map(|again| again.state),
                }
            }
            Some(Ok(ConsentAnswer::SetupFailed(state))) => {
                signals_are_given_back()?;
                questions::another_setup(context.out, flags, *state)
            }
            Some(Ok(_)) | None => return Ok(ControlFlow::Break(End::Code(0))),
        };
        again.map(ControlFlow::Continue)
    }

    /// Shows the agreement with today's verdicts, and asks.
    async fn consent(
        &self,
        flags: &AlignArgs,
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
        let programs = ops::programs(&self.place);
        let bench = CheckBench {
            top: self.top,
            place: &self.place,
            environment: &environment,
            programs: &*programs,
            cancel: &cancel,
        };
        let may_change = self.asks && flags.plan.is_none();
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
            let (top, comparison) = (self.top, &draft.comparison);
            let is_mended =
                questions::mend_checkout(out, top, &mut constraints, comparison, &cancel).await;
            if !is_mended {
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
        self.show(flags, &draft)?;
        if flags.dry_run {
            out.say("nothing was written\nnext: the same without -n");
            return Ok(ConsentAnswer::Shown);
        }
        let decision = async {
            // `do` asks once: a draft was agreed to as it was shown, before its checks ran.
            if !self.asks || flags.errand.is_some() && flags.has_draft() {
                return DraftDecision::Yes;
            }
            out.say("");
            // Ctrl-C is an answer too.
            tokio::select! {
                decision = proposed::asks(self.context, flags, "agree?") => decision,
                () = cancel.cancelled() => DraftDecision::No,
            }
        };
        match decision.await {
            DraftDecision::Yes => {
                let state = draft.agreed(self.context.may_ask);
                Ok(ConsentAnswer::Agreed(Box::new(state)))
            }
            DraftDecision::Edit => Ok(ConsentAnswer::Edit(Box::new(draft.state))),
            DraftDecision::Words(words) => Ok(ConsentAnswer::Words(words)),
            DraftDecision::No if cancel.is_cancelled() => Err(questions::left()),
            DraftDecision::No => Err(proposed::refused(flags, &draft.state)),
        }
    }

    fn show(&self, flags: &AlignArgs, draft: &AgreementDraft<'_>) -> Result<(), Failure> {
        let (context, out) = (self.context, self.context.out);
        let mut view = draft.view(&context.client(Some(self.config)), self.config)?;
        view.notes.extend(flags.ceiling());
        if out.json {
            out.json(&view);
        } else if !out.quiet || self.asks || flags.dry_run {
            let page = preview::page(&view, &self.place.project, &context.dir, out.verbose);
            out.page(&page);
        }
        Ok(())
    }

    fn how_agreed(&self, flags: &AlignArgs) -> &'static str {
        match (self.asks || flags.yes, std::io::stdin().is_terminal()) {
            (true, _) => "agreed",
            (false, false) => "agreed without asking: no terminal",
            (false, true) if self.context.out.json => "agreed without asking: --json",
            (false, true) => "agreed without asking: asking is switched off",
        }
    }

    fn write(&self, flags: &AlignArgs, mut state: State) -> Result<(), Failure> {
        let context = self.context;
        for (agent, duty, used) in &flags.used {
            Arc::make_mut(&mut state.run).settle(agent, *duty, used, true);
        }
        let client = context.client(Some(self.config));
        ops::trust::made_here(&client, &state.lineage, Some(self.config));
        let mut store = context.open(StatePlace::create(self.top, context.state.as_deref())?);
        let is_at_home = !self.replaces || ops::align::is_at_home(&mut store)?;
        let written = flags.written.as_deref();
        if let Some(archived) = ops::align::write(&mut store, state, self.replaces, written)? {
            let state = quoted(&store.place().state);
            let left = ["; its result was not applied", " && descent apply"];
            let [lacks, applies] = if is_at_home { ["", ""] } else { left };
            let kept = format!("what stood here is kept in {}{lacks}", archived.display());
            let back = format!("to bring it back: cp {} {state}{applies}", quoted(&archived));
            context.out.say(&format!("{kept}\n{back}"));
        }
        Ok(())
    }
}
