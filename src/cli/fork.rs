//! `descent fork`: a second state that begins at this one, to try another way from the same point.

use std::path::{Path, PathBuf};

use clap::Args;
use descent_core::{
    change,
    id::{CommitId, Lineage, Serial},
    state::{State, Workspace},
};
use serde::Serialize;

use super::{End, context::Context};
use crate::{
    config,
    failure::{Failure, exit, quoted},
    git::Git,
    ops::{self, result::commit_missing},
    render,
    store::{StatePlace, Store},
    workspace::{Workspaces, Worktrees},
};

/// Names tried if none is given.
const NAMES_MAX: u32 = 1000;

#[derive(Debug, Args)]
#[command(
    long_about = "Begin a second state where this one stands, to try another way from the same point.\n\nThe fork has its own lineage, with this one recorded as its parent. It takes along what was agreed, the work graph, its results, and what was tried; not what is in flight, asked for or spent. It gets a copy of what was made; repository, cache, journal and locks are each one's own.\n\nWithout a name it is .descent/fork-1.json here. A directory is another worktree or clone of the same project: the fork becomes the state there."
)]
pub struct ForkArgs {
    /// A file for the fork's state, or a directory of the same project
    #[arg(value_name = "DIR|FILE")]
    to: Option<PathBuf>,
}

pub(super) fn fork(context: &Context, flags: &ForkArgs) -> Result<End, Failure> {
    let mut store = context.store()?;
    let config = config::load(&store.place().project)?;
    // The fork is made here, so its commands must be our own, or allowed, first.
    let client = context.client(Some(&config));
    let parent = ops::current(&client, &mut store)?;
    let place = place_of(context, store.place(), flags.to.as_deref())?;
    let lineage = Lineage::new(uuid::Uuid::now_v7().to_string());
    let state = change::fork(&parent.state, lineage.clone());
    let constraints = &state.objective.constraints;
    let kind = constraints.workspace();
    let is_shared = kind == Workspace::Shared;
    if let (false, Some(head)) = (is_shared, &state.run.head) {
        let of_parent = Workspaces::open(store.place(), &parent.state.lineage, constraints)?;
        let workspaces = Workspaces::open(&place, &lineage, constraints)?;
        if let (Some(fork), Some(parent)) = (workspaces.trees(), of_parent.trees()) {
            let taken = take_over(fork, parent, &state, head);
            if taken.is_err() {
                // The fork did not come about, so nothing of it stays.
                fork.discard()?;
                place.unmake().ok();
            }
            taken?;
        }
    }
    let mut made = Store::open(StatePlace::create(&place.project, Some(&place.state))?);
    made.set_author("fork", &Context::by());
    made.create(state)?;
    ops::trust::made_here(&client, &lineage, &config);
    made.write_journal();
    report(context, &parent.state, &lineage, made.place(), is_shared);
    Ok(End::Code(0))
}

/// Copies the commits that the state names into the fork's own repository, before that state is written.
fn take_over(
    fork: &Worktrees,
    parent: &Worktrees,
    state: &State,
    head: &CommitId,
) -> Result<(), Failure> {
    let start = state.run.started_from.as_ref();
    fork.take_over(parent, start)?;
    for commit in start.map(|start| &start.commit).into_iter().chain([head]) {
        if !fork.is_there(commit)? {
            let kind = state.objective.constraints.workspace();
            return Err(commit_missing(commit, kind));
        }
    }
    Ok(fork.follow(head)?)
}

/// The place of the fork; a file that exists there is never overwritten.
fn place_of(
    context: &Context,
    parent: &StatePlace,
    to: Option<&Path>,
) -> Result<StatePlace, Failure> {
    let place = match to {
        None => unnamed(parent)?,
        Some(to) => {
            let to = context.dir.join(to);
            match to.is_dir() {
                true => in_worktree(parent, &to)?,
                false => place_of_file(parent, &to)?,
            }
        }
    };
    if place.state.symlink_metadata().is_ok() {
        let message = format!("{} is there already", place.state.display());
        let hint = "name another file, or another worktree: git worktree add ../other, then descent fork ../other";
        return Err(Failure::new("E-FORK-EXISTS", exit::USAGE, message, hint));
    }
    Ok(place)
}

/// A directory of another worktree, at the same path below its top as the project: then paths in checks exist there.
fn in_worktree(parent: &StatePlace, dir: &Path) -> Result<StatePlace, Failure> {
    let place = StatePlace::at(dir, None);
    let open = |project: &Path| Git::open(project).ok().flatten();
    let (Some(ours), Some(theirs)) = (open(&parent.project), open(&place.project)) else {
        return Ok(place);
    };
    let within = |project: &Path, git: &Git| {
        let (project, top) = (project.canonicalize().ok()?, git.top().canonicalize().ok()?);
        project.strip_prefix(top).map(Path::to_owned).ok()
    };
    if within(&parent.project, &ours) == within(&place.project, &theirs) {
        return Ok(place);
    }
    Err(elsewhere(dir, &place.project))
}

/// A state file concerns the directory that it lies in.
fn place_of_file(parent: &StatePlace, file: &Path) -> Result<StatePlace, Failure> {
    let place = StatePlace::at(&parent.project, Some(file));
    if place.project == parent.project {
        return Ok(place);
    }
    Err(elsewhere(file, &place.project))
}

fn elsewhere(at: &Path, project: &Path) -> Failure {
    let (at, project) = (at.display(), project.display());
    let what = format!("a state at {at} would be about {project}");
    let hint = "descent fork without a name, a file at the top of the project, or the directory of another worktree";
    Failure::usage(what, hint)
}

fn unnamed(parent: &StatePlace) -> Result<StatePlace, Failure> {
    let dir = parent.project.join(".descent");
    for n in 1..NAMES_MAX {
        let file = dir.join(format!("fork-{n}.json"));
        if file.symlink_metadata().is_err() {
            return Ok(StatePlace::at(&parent.project, Some(&file)));
        }
    }
    let hint = "give a name: descent fork FILE";
    Err(Failure::usage("there are very many forks here", hint))
}

/// The place of a fork: `descent fork --json`
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ForkOutput<'a> {
    schema: &'static str,
    state: String,
    lineage: &'a Lineage,
    parent: ForkParent<'a>,
    next: String,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ForkParent<'a> {
    lineage: &'a Lineage,
    serial: Serial,
}

fn report(
    context: &Context,
    parent: &descent_core::state::State,
    lineage: &Lineage,
    place: &StatePlace,
    is_shared: bool,
) {
    let next = match place.is_usual() {
        true => format!("descent -C {} run", quoted(&place.project)),
        false => format!("descent --state {} run", quoted(&place.state)),
    };
    if context.out.json {
        context.out.json(&ForkOutput {
            schema: "descent/fork/1",
            state: place.state.display().to_string(),
            lineage,
            parent: ForkParent {
                lineage: &parent.lineage,
                serial: parent.serial,
            },
            next,
        });
        return;
    }
    if is_shared {
        context
            .out
            .say("agents work in place here: two runs in one directory get in each other's way");
    }
    let words = format!(
        "{} begins where serial {} stands, with a lineage of its own",
        place.state.display(),
        parent.serial.0
    );
    context
        .out
        .data(&render::clean(&format!("{words}\nnext: {next}")));
}
