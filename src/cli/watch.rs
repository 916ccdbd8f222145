//! `descent watch`: looks at a run from another process. It locks nothing and may die.
//!
//! In a terminal it is a screen (`screen`), elsewhere the lines of `run`; in both it can end or redirect a run that makes
//! no progress (`conditions`).

mod actions;
mod conditions;
mod findings;
mod keys;
mod pages;
mod scene;
mod screen;

use std::{io::IsTerminal, time::Duration};

use clap::Args;
use descent_core::state::RunStatus;

use self::{conditions::Conditions, findings::FindingsWatch};
use super::{End, context::Context, redirect::RedirectArgs, run};
use crate::{
    failure::{Failure, exit},
    ops::watch::{Lookout, WatchReport},
    render::{Page, area, event as event_lines},
};

/// The time between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// A loop that was started may need so many looks to take its lease.
const LOOKS_BEFORE_IDLE: u32 = 5;

#[derive(Debug, Args)]
#[command(
    long_about = "Look at a run from another terminal.\n\nIn a terminal it is a screen: the graph, what runs, what happened, and keys to act. Elsewhere it prints the lines of `run`, and ends with the run's exit code. It only reads: ending it ends nothing else."
)]
pub struct WatchArgs {
    /// End the run when one of these is so: stalled=15m (nothing is solved), hung=60s (no sign of life)
    #[arg(long, value_name = "WHEN=TIME,…", value_delimiter = ',')]
    stop_when: Vec<String>,
    /// Redirect it once when this is so: stalled=15m, with the flags of redirect
    #[arg(long, value_name = "stalled=TIME")]
    redirect_when: Option<String>,
    #[command(flatten)]
    redirect: RedirectArgs,
}

pub(super) fn watch(context: &Context, flags: &WatchArgs) -> Result<End, Failure> {
    let mut lookout = Lookout::new(context.store()?)?;
    let conditions = Conditions::of(context, flags, lookout.store())?;
    let is_screen = context.is_attended
        && !context.out.json
        && !context.out.quiet
        && area::can_draw()
        && std::io::stdout().is_terminal()
        && std::io::stdin().is_terminal();
    if is_screen {
        screen::show(context, lookout, conditions)
    } else {
        follow(context, lookout, conditions)
    }
}

/// Prints the events of the run until it ends.
fn follow(
    context: &Context,
    mut lookout: Lookout,
    mut conditions: Conditions<'_>,
) -> Result<End, Failure> {
    let mut idle = 0;
    let (mut is_told, mut has_events) = (false, false);
    let mut told: Option<String> = None;
    let mut findings = FindingsWatch::default();
    loop {
        let look = lookout.look();
        print_events(context, &look);
        has_events |= !look.events.is_empty();
        if look.work.is_some() && !has_events && !is_told {
            is_told = true;
            context
                .out
                .say("the events of this run are not kept: only its end is told (descent status)");
        }
        if look.trouble.is_some() && look.trouble != told {
            let trouble = look.trouble.as_deref().unwrap_or_default();
            context.out.say(&format!("the state cannot be read now: {trouble}"));
        }
        told.clone_from(&look.trouble);
        if !context.out.json
            && let Some(words) = findings.news(&look)
        {
            context.out.say(&format!("audit     {words}"));
        }
        idle = if look.is_live() { 0 } else { idle + 1 };
        if idle >= LOOKS_BEFORE_IDLE || (idle > 0 && has_ended(&look)) {
            return end(context, &mut lookout);
        }
        if let Some(fired) = conditions.fired(&look) {
            context.out.say(&fired.words);
            match conditions.act(lookout.store(), fired) {
                Ok(true) => {
                    end(context, &mut lookout)?;
                    return Ok(End::Code(exit::STOPPED));
                }
                Ok(false) => {}
                // The other conditions are still looked for.
                Err(failure) => context.out.failure(&failure),
            }
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

fn has_ended(look: &WatchReport) -> bool {
    let run = &look.state().run;
    !run.status.is_active() && run.status != RunStatus::Aligned
}

fn print_events(context: &Context, look: &WatchReport) {
    for happened in &look.events {
        if context.out.json {
            context.out.data(&happened.line);
        } else if !context.out.quiet {
            let mut page = Page::new(usize::MAX);
            page.extend(event_lines(&happened.event, context.out.width()));
            context.out.page(&page);
        }
    }
}

/// Reports the result of the run that has ended, as `run` does.
fn end(context: &Context, lookout: &mut Lookout) -> Result<End, Failure> {
    // The last events may have come between the two looks.
    let look = lookout.look();
    print_events(context, &look);
    let run = &look.state().run;
    match run.status {
        RunStatus::Aligned => {
            context.out.say("nothing runs\nnext: descent run");
            Ok(End::Code(exit::STOPPED))
        }
        // A run that was cut off has no ending, which is an error.
        RunStatus::Running
        | RunStatus::Redirecting
        | RunStatus::Completed
        | RunStatus::Stopped
        | RunStatus::Exhausted
        | RunStatus::NeedsGuidance => {
            run::show_result(context, &lookout.ending(&look)?, true);
            Ok(End::Code(run::code_of(run)))
        }
    }
}
