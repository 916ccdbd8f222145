//! The end of `align`: what is agreed is checked, shown, consented to and written. A proposal is shown before anything
//! of it runs, and may be edited.
//!
//! Invariant: if the agreement does not come about, nothing of it stays.

use std::{io::IsTerminal, ops::ControlFlow, path::Path, sync::Arc};

use descent_core::{
    state::{Role, State},
    trust::TrustList,
};

use super::{
    super::{
        End,
        context::{Context, WaitOutcome, interruptible, signals_are_given_back},
    },
    AlignArgs, asks,
    consent::{self, ConsentAnswer},
    draft_edit,
    kind::{self, GivenProfile},
    proposed::{self, DraftDecision},
    questions, unchanged,
};
use crate::{
    config::Config,
    failure::{Failure, quoted},
    ops::{
        self,
        agents::{AgentLook, AgentUse},
        align::{existing, is_same, isolation, refuse_unfinished},
    },
    process::programs,
    store::StatePlace,
    workspace::{Size, Workspaces},
};

/// How often a proposal is edited at most.
const EDITED_MAX: usize = 1_000;

pub(super) fn conclude(
    context: &Context,
    flags: &mut AlignArgs,
    config: &Config,
    top: &Path,
    mut state: State,
    carried: Option<TrustList>,
) -> Result<End, Failure> {
    let existing = existing(context.place()?)?;
    if let Some(found) = &existing
        && !flags.force
        && is_same(&found.state, &state)
    {
        return unchanged(context, found, config);
    }
    refuse_unfinished(existing.as_deref(), flags.force)?;
    let plan = flags.plan.as_deref().zip(carried.as_ref());
    super::gate(context, flags, top, config, plan)?;
    let kind = match kind::ask(context, flags, config, top, &state)? {
        Ok(kind) => kind,
        Err(end) => return Ok(end),
    };
    for _ in 0..EDITED_MAX {
        if flags.draft.is_some() && super::asks(context, flags) {
            match proposed::decide(context, flags, &state, config)? {
                DraftDecision::Yes => {}
                DraftDecision::Edit => {
                    state = draft_edit::edit(context, flags, state)?;
                    continue;
                }
                DraftDecision::No => return Err(questions::left_with(flags)),
            }
        }
        kind.iter().for_each(|given| kind::put(&mut state, given));
        let replaces = existing.is_some();
        match agree(context, flags, config, top, state, kind.as_ref(), replaces)? {
            ControlFlow::Break(end) => return Ok(end),
            ControlFlow::Continue(again) => state = again,
        }
    }
    Err(questions::left_with(flags))
}

/// Runs the checks, shows the agreement, and writes it after a yes. It goes on with a state that the person changed.
fn agree(
    context: &Context,
    flags: &mut AlignArgs,
    config: &Config,
    top: &Path,
    mut state: State,
    kind: Option<&GivenProfile>,
    replaces: bool,
) -> Result<ControlFlow<End, State>, Failure> {
    let asks = asks(context, flags);
    AgentLook {
        config,
        environment: &ops::environment(&state),
        programs: &*programs::real(),
        dir: top,
    }
    .ready(&state, AgentUse::Agreement)?;
    choose_workspace(context, top, asks, &mut state)?;
    let place = context.place()?.unwrap_or_else(|| StatePlace::at(top, context.state.as_deref()));
    let workspaces = Workspaces::open(&place, &state.lineage, &state.objective.constraints)?;
    let agreed = interruptible(|cancel| {
        let agreeing = consent::Consent { context, flags, config, top, place: &place, asks };
        agreeing.agree(state, workspaces.clone(), cancel)
    });
    let open = agreed.and_then(|agreed| match agreed {
        WaitOutcome::Done(ConsentAnswer::Agreed(mut state)) => {
            if let Some((aligner, used)) = &flags.aligner_used {
                let run = Arc::make_mut(&mut state.run);
                run.settle_outside(aligner, Role::Aligner, used.clone());
            }
            kind.into_iter().for_each(|given| kind::settle(&mut state, given));
            let client = context.client(Some(config));
            ops::trust::made_here(&client, &state.lineage, Some(config));
            write(context, flags, top, *state, replaces).map(|()| None)
        }
        other => Ok(Some(other)),
    });
    if let Ok(None) = open {
        flags.draft.iter().for_each(draft_edit::forget);
        let next = if flags.is_found { "" } else { "\nnext: descent run" };
        context.out.say(&format!("{}{next}", how_agreed(context, flags)));
        return Ok(ControlFlow::Break(End::Code(0)));
    }
    // The agreement did not come about, so nothing of it stays.
    if let Some(trees) = workspaces.trees() {
        trees.discard()?;
    }
    place.unmake().ok();
    let again = match open? {
        Some(WaitOutcome::Signal(signal)) => return Ok(ControlFlow::Break(End::Signal(signal))),
        Some(WaitOutcome::Done(ConsentAnswer::Edit(state))) => {
            signals_are_given_back()?;
            draft_edit::edit(context, flags, *state)
        }
        Some(WaitOutcome::Done(ConsentAnswer::SetupFailed(state))) => {
            signals_are_given_back()?;
            questions::another_setup(context.out, flags, *state)
        }
        Some(WaitOutcome::Done(_)) | None => return Ok(ControlFlow::Break(End::Code(0))),
    };
    again.map(ControlFlow::Continue)
}

fn how_agreed(context: &Context, flags: &AlignArgs) -> &'static str {
    match (asks(context, flags) || flags.yes, std::io::stdin().is_terminal()) {
        (true, _) => "agreed",
        (false, false) => "agreed without asking: no terminal",
        (false, true) if context.out.json => "agreed without asking: --json",
        (false, true) => "agreed without asking: asking is switched off",
    }
}

fn write(
    context: &Context,
    flags: &AlignArgs,
    top: &Path,
    state: State,
    replaces: bool,
) -> Result<(), Failure> {
    let mut store = context.open(StatePlace::create(top, context.state.as_deref())?);
    let is_at_home = !replaces || ops::align::is_at_home(&mut store)?;
    let written = flags.written.as_deref();
    if let Some(archived) = ops::align::write(&mut store, state, replaces, written)? {
        let state = quoted(&store.place().state);
        let left = ["; its result was not applied", " && descent apply"];
        let [lacks, applies] = if is_at_home { ["", ""] } else { left };
        let kept = format!("what stood here is kept in {}{lacks}", archived.display());
        let back = format!("to bring it back: cp {} {state}{applies}", quoted(&archived));
        context.out.say(&format!("{kept}\n{back}"));
    }
    Ok(())
}

/// Asks where attempts work if the directory is large and nobody said it.
fn choose_workspace(
    context: &Context,
    top: &Path,
    asks: bool,
    state: &mut State,
) -> Result<(), Failure> {
    let Size::Large { what, largest } = isolation::presume(top, state)? else {
        return Ok(());
    };
    if !asks {
        return Err(isolation::too_large(top, what, &largest));
    }
    let holds = format!("{} holds {what}", top.display());
    let kind = questions::workspace(context.out, &holds, &quoted(&largest))?;
    isolation::set(state, kind);
    Ok(())
}
