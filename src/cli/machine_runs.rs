//! `descent status --all`: the runs of this machine, from wherever it is typed.

use descent_core::view::liveness::{Activity, WaitsFor};

use super::{End, context::Context};
use crate::{
    clock,
    ops::ps::{self, KnownRun},
    render::{self, Line, Meaning, Page},
};

/// Columns of the first word, of the time and of the work.
const WORD_WIDTH: usize = 16;
const TIME_WIDTH: usize = 10;
const WORK_WIDTH: usize = 10;

pub(super) fn print_all(context: &Context) -> End {
    let listing = ps::list();
    for warning in &listing.warnings {
        context.out.say(warning);
    }
    context.answer_page(&listing, || {
        let mut page = Page::new(context.out.width());
        if listing.runs.is_empty() {
            page.push(Line::of("no run is known on this machine"));
        }
        for run in &listing.runs {
            lines(&mut page, run);
        }
        page.next(&listing.next);
        page
    })
}

fn lines(page: &mut Page, run: &KnownRun) {
    let age = render::since(&run.since, clock::now()).map(render::age);
    let age = age.unwrap_or_default();
    let when = if run.live { format!("for {age}") } else { format!("{age} ago") };
    let work = format!("{} of {}", run.resolved, run.resolved + run.unresolved);
    let goal = match (&run.goal, &run.problem) {
        (Some(goal), _) => render::line(goal),
        (None, Some(problem)) => render::line(problem),
        (None, None) => String::new(),
    };
    let (meaning, word) = word(run);
    let head = Line::new().put(meaning, word).pad(WORD_WIDTH);
    let head = head.then(Line::of(when).pad(TIME_WIDTH));
    page.push(head.then(Line::of(work).pad(WORK_WIDTH)).plain(goal));
    let place = if run.is_usual { &run.project } else { &run.state };
    let process = run.pid.map(|pid| {
        if run.detached { format!("  pid {pid}, detached") } else { format!("  pid {pid}") }
    });
    let place = Line::indent(WORD_WIDTH).plain(place.display().to_string());
    page.whole(place.dim(process.unwrap_or_default()));
}

/// How the run stands, in a word or two.
fn word(run: &KnownRun) -> (Meaning, &'static str) {
    match (run.activity, run.status) {
        (Activity::Idle, _) if run.live => (Meaning::Unknown, waits(run.waits_for)),
        (Activity::Idle, Some(status)) => (Meaning::of(status), status),
        (Activity::Idle, None) => (Meaning::Fail, "unreadable"),
        (Activity::Running, _) => (Meaning::Running, "running"),
        (Activity::Hung, _) => (Meaning::Fail, "hung"),
        (Activity::Asleep, _) => (Meaning::Unknown, "asleep"),
        (Activity::Dead, Some(_)) => (Meaning::Unknown, "cut off"),
        (Activity::Dead, None) => (Meaning::Fail, "unreadable"),
    }
}

fn waits(what: Option<WaitsFor>) -> &'static str {
    match what {
        Some(WaitsFor::File) => "waits for file",
        Some(WaitsFor::Disk) => "waits for disk",
        Some(WaitsFor::Repository) => "waits for repository",
        Some(WaitsFor::Redirect) => "redirecting",
        Some(WaitsFor::Backoff) | None => "waits",
    }
}
