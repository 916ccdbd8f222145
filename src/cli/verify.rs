//! `descent verify`: the base case, evaluated now, in a clean checkout of the result (or of what a run would start from).

use descent_core::verdict::Verdict;

use super::{
    End, align,
    context::{Context, Waited, interruptible},
    judging, newer, trust,
};
use crate::{
    clock,
    failure::{Failure, exit},
    render::{self, Line, Meaning, Page},
    workspace::{Checkout, Workspaces},
};

pub(super) fn verify(context: &Context) -> Result<End, Failure> {
    let mut store = context.store()?;
    let loaded = store.read()?;
    newer::gate(&store, &loaded)?;
    if !loaded.gate().is_empty() {
        return Err(align::not_aligned(loaded.gate()));
    }
    let state = &loaded.state;
    trust::gate(context, &store, state, None)?;
    let workspaces = Workspaces::open(
        &store.place().project,
        &state.lineage,
        &state.objective.constraints,
    )?;
    let commit = match &state.run.head {
        Some(head) => Some(head.clone()),
        None => workspaces.snapshot(clock::now())?.map(|start| start.commit),
    };
    let judged = interruptible(|cancel| {
        let (place, on) = (store.place(), commit.clone());
        judging::all_leaves(
            context,
            place,
            state,
            &workspaces,
            on,
            Checkout::Judging,
            cancel,
        )
    })?;
    let judged = match judged {
        Waited::Done(judged) => judged,
        Waited::Signal(signal) => return Ok(End::Signal(signal)),
    };
    let verdict = judging::whole(state, &judged);
    if context.out.json {
        context.out.json(&serde_json::json!({
            "schema": "descent/verify/1",
            "holds": verdict == Verdict::Pass,
            "verdict": verdict,
            "on": commit.as_ref().map(ToString::to_string),
            "checks": judged,
        }));
    } else {
        let on = commit
            .map(|commit| format!(" on {}", commit.as_str().get(..12).unwrap_or_default()))
            .unwrap_or_default();
        let word = match verdict {
            Verdict::Pass => "the base case holds",
            Verdict::Fail => "the base case does not hold",
            Verdict::Unknown => "the base case cannot be decided",
        };
        let meaning = Meaning::of(verdict.word());
        let mut page = Page::new(context.out.width());
        page.push(Line::new().put(meaning, word).dim(on));
        page.extend(render::judged(&judged));
        page.next("descent status");
        context.out.page(&page);
    }
    Ok(End::Code(if verdict == Verdict::Pass {
        0
    } else {
        exit::NOT_SO
    }))
}
