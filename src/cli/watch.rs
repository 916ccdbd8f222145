//! `descent watch`: looks at a run from another process. It locks nothing and may die.
//!
//! In a terminal it is a screen (`screen`), elsewhere the lines of `run`.

mod scene;
mod screen;

use std::{io::IsTerminal, time::Duration};

use descent_core::{
    audit::{self, AuditFinding},
    state::RunStatus,
    world::World,
};

use super::{Context, End, Failure, clock, exit, run};
use crate::{render, render::area};
use descent_engine::ops::watch::{Lookout, WatchReport};

/// The time between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// A loop that was started may need so many looks to take its lease.
const LOOKS_BEFORE_IDLE: u32 = 5;

pub(super) const ABOUT: &str = "Look at a run from another terminal.\n\nIn a terminal it is a screen: the graph, what runs, what happened, and keys to act. Elsewhere it prints the lines of `run`, and ends with the run's exit code. It only reads: ending it ends nothing else.";

pub(super) fn watch(context: &Context) -> Result<End, Failure> {
    let lookout = Lookout::new(context.store()?)?;
    let is_screen = context.is_attended
        && !context.out.json
        && !context.out.quiet
        && area::can_draw()
        && std::io::stdout().is_terminal()
        && std::io::stdin().is_terminal();
    if is_screen { screen::show(context, lookout) } else { follow(context, lookout) }
}

/// Prints the events of the run until it ends.
fn follow(context: &Context, mut lookout: Lookout) -> Result<End, Failure> {
    let mut idle = 0;
    let mut told: Option<String> = None;
    let mut findings = FindingsWatch::default();
    loop {
        let look = lookout.look();
        print_events(context, &look);
        if let Some(trouble) = look.trouble.as_ref().filter(|_| look.trouble != told) {
            context.out.say(&format!("the state cannot be read now: {trouble}"));
        }
        told.clone_from(&look.trouble);
        if !context.out.json
            && let Some(words) = findings.news(&look)
        {
            context.out.say(&format!("audit     {words}"));
        }
        idle = if look.is_live() { 0 } else { idle + 1 };
        let status = look.state().run.status;
        let has_ended = !status.is_active() && status != RunStatus::Aligned;
        if idle >= LOOKS_BEFORE_IDLE || (idle > 0 && has_ended) {
            return end(context, &mut lookout);
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

fn print_events(context: &Context, look: &WatchReport) {
    for happened in &look.events {
        if context.out.json {
            context.out.data(&happened.line);
        } else if !context.out.quiet {
            context.out.lines(render::event(&happened.event, context.out.width()));
        }
    }
}

/// Reports the result of the run that has ended, as `run` does.
fn end(context: &Context, lookout: &mut Lookout) -> Result<End, Failure> {
    // The last events may have come between the two looks.
    let look = lookout.look();
    print_events(context, &look);
    let run = &look.state().run;
    if run.status == RunStatus::Aligned {
        context.out.say("nothing runs\nnext: descent run");
        return Ok(End::Code(exit::STOPPED));
    }
    // A run that was cut off has no ending, which is an error.
    run::show_result(context, &lookout.ending(&look)?, true);
    Ok(End::Code(run::code_of(run)))
}

/// Between two looks for findings.
const AUDIT_EVERY_MS: u64 = 5 * 60_000;

/// The auditor's findings while a run is watched.
#[derive(Default)]
struct FindingsWatch {
    looked_ms: Option<u64>,
    told: Vec<AuditFinding>,
}

impl FindingsWatch {
    /// The findings in short, where they are others than before.
    fn news(&mut self, look: &WatchReport) -> Option<String> {
        let now_ms = clock::since_boot().awake_ms;
        let is_due = |before: u64| now_ms.saturating_sub(before) >= AUDIT_EVERY_MS;
        if !self.looked_ms.is_none_or(is_due) {
            return None;
        }
        self.looked_ms = Some(now_ms);
        let found = audit::audit(&World::new(look.state().clone()));
        let is_news = found != self.told;
        self.told = found;
        let words = render::findings_in_short(&self.told).filter(|_| is_news)?;
        Some(format!("{words} (descent report --audit)"))
    }
}

/// The keys in one row.
const FOOT: &str =
    "? help  q leave  ↑↓ ⏎ output  d diff  w why  s stop  g guide  r redirect  e edit";

/// The help, a key a line.
const HELP: [(&str, &str); 13] = [
    ("q, Ctrl-C", "leave; the run goes on"),
    ("Esc", "go back, or take a question back"),
    ("↑ ↓ k j", "select an atom, or scroll"),
    ("PgUp PgDn", "ten rows"),
    ("Home End", "the first, the last"),
    ("Enter, o", "follow what its newest attempt prints"),
    ("d", "the difference that its newest attempt has made so far"),
    ("w", "why it stands as it does"),
    ("s", "ask the loop to end"),
    ("g", "say something to those who work on it"),
    ("c", "say whether an assertion holds"),
    ("r", "redirect the run: opens the command"),
    ("e", "edit the state: opens the editor"),
];

/// Rows of a page key.
const PAGE: usize = 10;
