//! `descent verify`: evaluates the base case now in a pristine checkout: of the person's files, of the run's result, or
//! of a commit.

use clap::Args;
use descent_core::{
    id::CommitId,
    state::State,
    verdict::Verdict,
    view::{self, VerdictView},
    world::World,
};
use serde::Serialize;

use super::{
    Context, End, Failure, Line, Meaning, Page, exit, interruptible, live::drawn, render, run,
    surroundings,
};
use descent_engine::ops::{
    self,
    evaluate::{self, CheckBench},
};
use descent_workspace::{Checkout, Workspaces};

#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// A commit, tag or branch, instead of the working tree as it is
    #[arg(value_name = "REV", conflicts_with = "result")]
    rev: Option<String>,
    /// The result of the run, instead of the working tree as it is
    #[arg(long)]
    result: bool,
}

/// Whether the base case holds: `descent verify --json`
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct VerifyOutput<'a> {
    schema: &'static str,
    holds: bool,
    verdict: Verdict,
    /// The judged files, in words.
    of: &'a str,
    /// The commit that was looked at; null in the workspace `shared`.
    on: Option<&'a CommitId>,
    linked: Vec<String>,
    checks: &'a [VerdictView],
}

pub(super) fn verify(context: &Context, flags: &VerifyArgs) -> Result<End, Failure> {
    let mut store = context.store()?;
    ops::ready(&mut store)?;
    let loaded = ops::trust::gate(&context.client(None), &mut store)?;
    let state = &ops::seen(&context.client(None), &store, &loaded).state;
    let workspaces = Workspaces::of(store.place(), state)?;
    let (commit, name) = subject(flags, state, &workspaces)?;
    if let Some(trees) = workspaces.trees() {
        trees.refuse_ways_back(commit.as_ref())?;
    }
    let environment = workspaces.environment(ops::environment(state));
    let programs = ops::programs(store.place());
    let judged = interruptible(async |cancel| {
        let bench = CheckBench {
            top: &store.place().project,
            place: store.place(),
            environment: &environment,
            programs: &*programs,
            cancel: &cancel,
        };
        bench.base_case(state, &workspaces, commit.clone(), &drawn(context)).await
    })?;
    let judged = match judged {
        Ok(judged) => judged,
        Err(signal) => return Ok(End::Signal(signal)),
    };
    let verdict = evaluate::whole(state, &judged);
    let output = VerifyOutput {
        schema: "descent/verify/1",
        holds: verdict == Verdict::Pass,
        verdict,
        of: &name,
        on: commit.as_ref(),
        linked: run::linked(&workspaces, Checkout::Judging),
        checks: &judged,
    };
    context.answer_page(&output, || {
        let word = match verdict {
            Verdict::Pass => "the base case holds",
            Verdict::Fail => "the base case does not hold",
            Verdict::Unknown => "the base case cannot be decided",
        };
        let mut page = Page::new(context.out.width());
        let head = Line::new().put(Meaning::of(verdict.word()), word).plain(" ");
        page.wrapped(head, Meaning::Dim, &format!("on {name}"), 2);
        page.extend(render::judged(&judged));
        run::judged_where(&mut page, &workspaces, Checkout::Judging);
        page.next(&view::after_verify(&World::new(state.clone()), &surroundings(&store, state)));
        page
    });
    Ok(End::Code(if verdict == Verdict::Pass { 0 } else { exit::NOT_SO }))
}

/// The commit whose files are checked, none in `shared`, and its name.
fn subject(
    flags: &VerifyArgs,
    state: &State,
    workspaces: &Workspaces,
) -> Result<(Option<CommitId>, String), Failure> {
    if flags.result {
        let none = "the run has no result yet";
        let none = || Failure::new("E-NO-RESULT", exit::NOT_SO, none, "descent run");
        let commit = state.run.result().cloned().ok_or_else(none)?;
        let name = format!("the result ({})", short(&commit));
        return Ok((Some(commit), name));
    }
    if let Some(rev) = &flags.rev {
        let trees = workspaces.trees();
        let commit = trees.map_or(Ok(None), |trees| trees.git().resolve(rev))?;
        let commit = commit.ok_or_else(|| ops::start::no_such_rev(rev))?;
        let name = format!("{rev} ({})", short(&commit));
        return Ok((Some(commit), name));
    }
    let start = workspaces.snapshot()?;
    let name = match start.as_ref().map(|start| (start, &start.branch)) {
        None => "the files as they are".to_owned(),
        Some((_, None)) => "your files as they are".to_owned(),
        Some((start, Some(branch))) => {
            let more = if start.dirty { ", and what is not committed" } else { "" };
            format!("your files as they are ({branch} at {}{more})", short(&start.head))
        }
    };
    Ok((start.map(|start| start.commit), name))
}

fn short(commit: &CommitId) -> &str {
    commit.as_str().get(..12).unwrap_or_default()
}
