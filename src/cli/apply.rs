//! `descent apply`: brings the difference from where the run started to its result into the working tree.

use descent_core::state::RunStatus;

use super::{End, context::Context};
use crate::{
    failure::{Failure, exit},
    git::Applied,
    render,
    workspace::Workspaces,
};

pub(super) fn apply(context: &Context) -> Result<End, Failure> {
    let mut store = context.store()?;
    let _lease = store.lease("apply")?;
    let loaded = store.read()?;
    let run = &loaded.state.run;
    let (Some(start), Some(head)) = (&run.started_from, &run.head) else {
        report(
            context,
            "nothing",
            &[],
            "there is nothing to apply: no run has made a result apart from the working tree",
        );
        return Ok(End::Code(0));
    };
    if run.status != RunStatus::Completed {
        context.out.say(&format!(
            "the run is {}: this is a partial result",
            run.status.word()
        ));
    }
    let state = &loaded.state;
    let workspaces = Workspaces::open(
        &store.place().project,
        &state.lineage,
        &state.objective.constraints,
    )?;
    match workspaces.apply(&start.commit, head)? {
        Applied::Nothing => report(
            context,
            "nothing",
            &[],
            "the working tree has it all already",
        ),
        Applied::FastForward { branch, files } => {
            let branch = branch.unwrap_or_else(|| "HEAD".to_owned());
            report(
                context,
                "fast_forward",
                &files,
                &format!("{branch} now holds the result, a commit an atom"),
            );
        }
        Applied::Files(files) => {
            report(
                context,
                "files",
                &files,
                "the changes are in the files; commit them when you like",
            );
        }
        Applied::Refused(paths) => {
            let hint = "commit or undo your own changes to these files, then `descent apply` again";
            let message = "your files differ from what the run started from, where the result changes them too";
            return Err(Failure::new("E-APPLY-OVERLAP", exit::NOT_SO, message, hint).with(paths));
        }
    }
    Ok(End::Code(0))
}

fn report(context: &Context, how: &str, files: &[String], words: &str) {
    if context.out.json {
        context.out.json(
            &serde_json::json!({"schema": "descent/apply/1", "applied": how, "files": files}),
        );
        return;
    }
    let mut text = String::new();
    for file in files {
        text.push_str(&format!("  {file}\n"));
    }
    context
        .out
        .data(&render::clean(&format!("{text}{words}\nnext: git status")));
}
