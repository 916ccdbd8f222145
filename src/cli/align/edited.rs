//! A plan that was edited, over what stands here: the difference is taken in as a redirect.
//!
//! Not here: which differences there are (`descent_core::change`).

use std::{path::Path, sync::Arc};

use descent_core::change::Redirect;

use super::{AlignArgs, existing, reading::read_parts, unchanged};
use crate::{
    cli::{
        End,
        context::Context,
        redirect::{self, Manner},
    },
    config::Config,
    failure::Failure,
    ops::{self, align::is_continued, redirect::RedirectOrder},
    plan_file::PlanFile,
};

/// `None` if the plan begins something: nothing stands here, or it is replaced.
pub(super) fn take_in(
    context: &Context,
    flags: &AlignArgs,
    file: &PlanFile,
    top: &Path,
    config: &Config,
) -> Result<Option<End>, Failure> {
    let (Some(path), false) = (&flags.plan, flags.force) else {
        return Ok(None);
    };
    let Some(found) = existing(context.place()?)? else {
        return Ok(None);
    };
    let (state, carried) = read_parts(file, flags, |_| ())?;
    if !is_continued(&found.state, &state) {
        return Ok(None);
    }
    // Told only now: a plan that begins something is read once more.
    read_parts(file, flags, |line| context.out.say(line))?;
    let plan = carried.as_ref().map(|carried| (path.as_path(), carried));
    super::gate(context, flags, top, config, plan)?;
    if found.state.plan.is_none() {
        let words = "no earlier plan is kept here: nothing is taken out, and what the file says is added or changed";
        context.out.say(words);
    }
    let plan = Arc::new(state);
    let order = RedirectOrder {
        redirect: Redirect { plan: Some(Arc::clone(&plan)), ..Redirect::default() },
        reason: None,
        moved: Vec::new(),
    };
    let manner = Manner { command: "align", dry_run: flags.dry_run, yes: flags.yes };
    let mut store = context.store()?;
    if let Some(end) = redirect::carry_out(context, &mut store, &order, &manner)? {
        return Ok(Some(end));
    }
    if !flags.dry_run {
        ops::redirect::keep_plan(&context.client(None), &mut store, &plan)?;
    }
    let found = store.read()?;
    unchanged(context, &found, config).map(Some)
}
