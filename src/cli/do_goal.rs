//! `descent do`: the whole way from a sentence to a result in the person's files. It agrees, runs, shows and applies.
//!
//! Invariant: it asks before it begins and before it applies, and each stage leaves what its own command leaves; the same command goes on.

use clap::Args;
use descent_core::state::{RunStatus, State, Workspace};
use descent_engine::ops::{self, align::refuse_unfinished, diff::DiffReport};

use super::{
    Context, End, Failure,
    align::{self, AlignArgs, ErrandFlags},
    apply::{self, ApplyArgs, listed, tree},
    ask::{self, ChoiceAnswer},
    context::signals_are_given_back,
    phrase, render,
    run::{self, RunArgs},
    runtime,
};
use descent_workspace as workspace;

pub(super) const ABOUT: &str = "The whole way from a sentence to a result: agree on a goal, run, look at the result, apply it.\n\nAn agent of descent.toml proposes checks and work. It asks twice: before it begins, and before it changes your files. Where the checks need what git does not keep, it asks how to get it. Ctrl-C leaves everything as a stop does, and the same command goes on.";

#[derive(Debug, Args)]
pub struct DoArgs {
    #[command(flatten)]
    agreement: AlignArgs,
    /// Bring the result into the working tree without being asked
    #[arg(long, conflicts_with = "no_apply")]
    apply: bool,
    /// Leave the working tree as it is, without being asked
    #[arg(short = 'n', long)]
    no_apply: bool,
    /// Take the work that an agent proposes, but none of its checks, where nobody can be asked
    #[arg(long)]
    accept_work: bool,
}

pub(super) fn run_errand(context: &Context, flags: DoArgs) -> Result<End, Failure> {
    let DoArgs { mut agreement, apply, no_apply, accept_work } = flags;
    agreement.errand = Some(ErrandFlags { accept_work, is_unseen: false });
    let asks = context.may_ask && !context.out.json && !apply && !no_apply;
    match stage(context, &agreement)? {
        ErrandStage::Begin => match align::align(context, agreement)? {
            End::Code(0) => signals_are_given_back()?,
            end => return Ok(end),
        },
        ErrandStage::Run => {}
        ErrandStage::Done => {
            context.out.say("nothing is left to do; --force begins anew\nnext: descent status");
            return Ok(End::Code(0));
        }
        ErrandStage::Apply if apply => return apply::apply(context, &ApplyArgs::default()),
        ErrandStage::Apply => return bring_home(context, asks),
    }
    match run::run(context, &RunArgs::of_errand(apply, asks))? {
        End::Code(0) if asks => {
            signals_are_given_back()?;
            bring_home(context, asks)
        }
        end => Ok(end),
    }
}

/// The stage that comes first.
enum ErrandStage {
    Begin,
    Run,
    /// The result is there, and not in the person's files.
    Apply,
    /// Nothing is left to do.
    Done,
}

/// The first stage, by the run that is here: an unfinished one goes on where its goal is the same, or the person says so.
fn stage(context: &Context, flags: &AlignArgs) -> Result<ErrandStage, Failure> {
    // A plan is taken in as an edit of the agreement that is here.
    let found = ops::align::existing(context.place()?)?;
    let Some(found) = found.filter(|_| !flags.force && flags.plan.is_none()) else {
        return Ok(ErrandStage::Begin);
    };
    let state = &found.state;
    let is_same = flags.has_goal(state);
    let place = context.store()?;
    let is_home = workspace::applied(place.place(), &state.lineage).is_some();
    match state.run.status {
        RunStatus::Completed if is_same => {
            context.out.say("the run of this goal has completed");
            let is_done = is_home || state.run.line.is_empty();
            return Ok(if is_done { ErrandStage::Done } else { ErrandStage::Apply });
        }
        RunStatus::Completed => return Ok(ErrandStage::Begin),
        _ => {}
    }
    let may_ask = context.may_ask && !context.out.json;
    if is_same || may_ask {
        context.out.say(&format!(
            "there is a run here, {}: {}",
            state.run.status.word(),
            goal(state)
        ));
    }
    let goes_on = is_same || may_ask && runtime()?.block_on(context.consents("go on with it?"));
    if !goes_on {
        refuse_unfinished(Some(&found), false)?;
    }
    Ok(ErrandStage::Run)
}

fn goal(state: &State) -> String {
    phrase::visible(&phrase::line(&state.objective.goal))
}

/// Shows what the result changes, and applies it after a yes.
fn bring_home(context: &Context, asks: bool) -> Result<End, Failure> {
    let mut store = context.store()?;
    if store.read()?.state.objective.constraints.workspace() == Workspace::Shared {
        context.out.say("the result is in your files already\nnext: git diff");
        return Ok(End::Code(0));
    }
    let report = ops::diff::diff(&mut store, None, tree(false))?;
    if report.files.is_empty() {
        context.out.say("the result changes no file");
        return Ok(End::Code(0));
    }
    context.out.say(&format!("the result changes:\n{}", listed(&report.files).trim_end()));
    if asks && is_wanted(context, &report)? {
        return apply::apply(context, &ApplyArgs::default());
    }
    context.out.say("the result is kept\nnext: descent diff, then descent apply");
    Ok(End::Code(0))
}

/// Asks whether the result is applied, and shows the difference as often as the person wants to see it.
fn is_wanted(context: &Context, report: &DiffReport) -> Result<bool, Failure> {
    let question = "apply it to your files? y: yes, d: show the difference [y/d/N] ";
    let words: [&[&str]; 3] = [&["y", "yes"], &["d", "diff"], &["", "n", "no"]];
    let help = "y for yes, d to see the difference, n for no";
    loop {
        let answer = ask::choice(context.out, question, &words, false, help);
        let answer = runtime()?.block_on(answer);
        if answer != Some(ChoiceAnswer::Chosen(1)) {
            return Ok(answer == Some(ChoiceAnswer::Chosen(0)));
        }
        let text = report.readable_patch()?;
        context.out.page(&render::patch(&String::from_utf8_lossy(&text)));
    }
}
